//! The account: logging in, and who it is.

use serde_json::{Map, Value, json};

use super::session::{Scope, Token};
use super::{
    APP_PASSWORD, Bluesky, Effect, LOGINS_MAX, LOGINS_WINDOW, Limit, Refusal, error, invalid,
};
use crate::model::time::Timestamp;
use crate::sandbox::message::{Reply, Request};
use crate::sandbox::service::Answer;

impl Bluesky {
    pub(super) fn create_session(&self, request: &Request, now: Timestamp) -> Answer<Effect> {
        let used = self
            .logins
            .iter()
            .filter(|at| now.since(**at) < LOGINS_WINDOW)
            .count();
        let used = u64::try_from(used).unwrap_or(u64::MAX);
        let first = self
            .logins
            .iter()
            .find(|at| now.since(**at) < LOGINS_WINDOW)
            .copied();
        let reset = first.unwrap_or(now).plus(LOGINS_WINDOW);
        let limit = Limit {
            max: LOGINS_MAX,
            window: LOGINS_WINDOW,
            reset,
        };
        if used >= LOGINS_MAX {
            return limit.refuse(now).into();
        }
        let body = request.json().unwrap_or_default();
        let string = |field: &str| body.get(field).and_then(Value::as_str);
        let (Some(identifier), Some(password)) = (string("identifier"), string("password")) else {
            let missing = if string("identifier").is_none() {
                "identifier"
            } else {
                "password"
            };
            let message = format!("Missing required key \"{missing}\" at $");
            return Answer::from(error(400, "InvalidRequest", &message));
        };
        let right = password == APP_PASSWORD && !identifier.is_empty();
        let is_handle = !identifier.starts_with("did:") && !identifier.contains('@');
        let handle = if is_handle {
            identifier.trim_start_matches('@').to_ascii_lowercase()
        } else {
            self.handle.clone()
        };
        let reply = if right {
            Reply::json(200, &self.session(&handle, now))
        } else {
            error(
                401,
                "AuthenticationRequired",
                "Invalid identifier or password",
            )
        };
        Answer {
            reply: limit.show(reply, LOGINS_MAX - used - 1),
            effects: vec![Effect::Login {
                at: now,
                handle: right.then_some(handle),
            }],
        }
    }

    pub(super) fn refresh_session(
        &self,
        request: &Request,
        now: Timestamp,
    ) -> Result<Answer<Effect>, Refusal> {
        self.authorize(request, Scope::Refresh, now)?;
        Ok(Reply::json(200, &self.session(&self.handle, now)).into())
    }

    pub(super) fn session(&self, handle: &str, now: Timestamp) -> Value {
        let token = |scope| json!(Token::issue(scope, &self.did, now).text());
        let mut session = Map::new();
        session.insert("accessJwt".to_owned(), token(Scope::Access));
        session.insert("refreshJwt".to_owned(), token(Scope::Refresh));
        session.extend(self.account());
        session.insert("handle".to_owned(), json!(handle));
        Value::Object(session)
    }

    pub(super) fn account(&self) -> Map<String, Value> {
        let mut account = Map::new();
        account.insert("did".to_owned(), json!(self.did));
        account.insert("didDoc".to_owned(), self.document());
        account.insert("handle".to_owned(), json!(self.handle));
        account.insert("email".to_owned(), json!("blog@rehearsal.example"));
        account.insert("emailConfirmed".to_owned(), json!(true));
        account.insert("active".to_owned(), json!(true));
        account
    }

    pub(super) fn document(&self) -> Value {
        json!({
            "@context": ["https://www.w3.org/ns/did/v1"],
            "id": self.did,
            "alsoKnownAs": [format!("at://{}", self.handle)],
            "service": [{
                "id": "#atproto_pds",
                "type": "AtprotoPersonalDataServer",
                "serviceEndpoint": self.identity.url
            }]
        })
    }

    pub(super) fn describe_server(&self) -> Value {
        json!({
            "did": format!("did:web:{}", self.identity.public_host()),
            "availableUserDomains": [],
            "inviteCodeRequired": true,
            "links": {},
            "contact": {}
        })
    }

    pub(super) fn resolve_handle(&self, request: &Request) -> Result<Answer<Effect>, Refusal> {
        let handle = request.parameter("handle").unwrap_or_default();
        let is_ours = handle == self.handle;
        // As long as nobody has logged in, whoever is asked for is the account.
        if handle.is_empty() || !(is_ours || self.logins.is_empty()) {
            return Err(invalid("Unable to resolve handle"));
        }
        let named = (!is_ours).then_some(Effect::Named { handle });
        Ok(Answer {
            reply: Reply::json(200, &json!({ "did": self.did })),
            effects: named.into_iter().collect(),
        })
    }

    pub(super) fn authorize(
        &self,
        request: &Request,
        scope: Scope,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        let Some(text) = request.bearer() else {
            return Err(error(401, "AuthMissing", "Authentication Required"));
        };
        match Token::read(text, &self.did) {
            Some(token) if token.scope() != scope => {
                Err(error(400, "InvalidToken", "Token could not be verified"))
            }
            Some(token) if token.expired(now) => {
                Err(error(400, "ExpiredToken", "Token has expired"))
            }
            Some(_) => Ok(()),
            None => Err(error(400, "InvalidToken", "Token could not be verified")),
        }
    }
}
