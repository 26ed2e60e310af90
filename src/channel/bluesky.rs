//! Bluesky and other AT Protocol servers: a post is a record under a key that we choose.
//!
//! The claim holds the record key and the whole record, times included. `putRecord` with `swapRecord: null` makes it
//! only where nothing is; where the very same record is already, the server says 200 and makes no commit. So the
//! same claim may be sent any number of times, for ever, and makes one post.
//!
//! Everything goes to the account's own server (PDS): it reads what it wrote; the AppView may lag.

mod did;
mod found;
pub(crate) mod home;
mod later;

use std::time::Duration;

use serde_json::{Value, json};
use ureq::http::header::AUTHORIZATION;
use url::Url;

use self::home::{Home, Whereabouts};
use super::Channel;
use super::answer::Answer;
use super::common::{Closed, below, cannot_tell, check_account, refused, single_claim, trouble_of};
use super::http::{Fence, Http, Request, is_loopback};
use super::pictures::Pictures;
use crate::model::claim::{Claim, PushedClaim};
use crate::model::ids::Account;
use crate::model::media::{Picture, Prepared, Wants};
use crate::model::outcome::{
    Evidence, Listing, Lookup, Opening, Outcome, Refusal, Remote, SeenPost, SeenSort, ServerLimits,
    Session, Trouble, Wait,
};
use crate::model::time::Timestamp;
use crate::secret::Secret;

/// The collection of posts.
const COLLECTION: &str = "app.bsky.feed.post";

/// Access tokens live for two hours; a login is cheap beside a write that is refused for its token.
const LOGIN_AGE_MAX: Duration = Duration::from_hours(1);

/// The server's own maximum for one page of a list.
const PAGE_SIZE: usize = 100;

/// Most pages of recent posts: 500 posts reach back further than any precheck needs.
const PAGES_MAX: usize = 5;

/// How long to wait after a write that was refused for its token: the next attempt logs in first.
const RELOGIN_WAIT: Duration = Duration::from_secs(1);

/// One account.
#[derive(Debug)]
pub(crate) struct Bluesky {
    http: Http,
    whereabouts: Whereabouts,
    identifier: String,
    password: Secret,
    /// Where the account was found, if it had to be looked for.
    home: Option<Home>,
    login: Option<Login>,
    /// Until when the account's writes are used up, as the answer to the last one told.
    spent_until: Option<Timestamp>,
    pictures: Pictures,
    /// The last list that was asked for was read as far back as it was asked for.
    reached: bool,
}

/// What a login gave.
#[derive(Clone, Debug)]
struct Login {
    did: String,
    /// How people write the account: its handle, or the DID where it has no valid one.
    name: String,
    server: Url,
    token: Secret,
    clock_skew: Option<Duration>,
    made_at: Duration,
}

impl Bluesky {
    /// Takes an account's handle or DID, its app password, and where it is.
    pub(crate) fn new(
        http: Http,
        whereabouts: Whereabouts,
        identifier: String,
        password: Secret,
    ) -> Self {
        Self {
            http,
            whereabouts,
            identifier,
            password,
            home: None,
            login: None,
            spent_until: None,
            pictures: Pictures::new(found::PICTURE_BYTES_MAX),
            reached: false,
        }
    }

    /// Returns the login at hand, or logs in.
    ///
    /// A session is not refreshed but made anew: that needs one way less, and the limit of 300 logins a day is far.
    fn ensure_login(&mut self) -> Result<Login, Closed> {
        let now = self.http.clock().elapsed();
        if let Some(login) = &self.login
            && now.saturating_sub(login.made_at) < LOGIN_AGE_MAX
        {
            return Ok(login.clone());
        }
        self.login = None;
        let login = self.log_in(now)?;
        self.http.scrubber().add(&login.token);
        self.login = Some(login.clone());
        Ok(login)
    }

    /// The password is sent to the configured server, or else to the account's own, and nowhere else.
    fn log_in(&mut self, now: Duration) -> Result<Login, Closed> {
        let (entrance, home) = if let Some(service) = &self.whereabouts.service {
            (service.clone(), None)
        } else {
            let home = self.home()?;
            (home.entrance(), Some(home))
        };
        let body = json!({
            "identifier": self.identifier,
            "password": self.password.expose(),
        });
        let request = Request::post(xrpc(&entrance, "com.atproto.server.createSession"), &body);
        let answer = self
            .http
            .send(&request)
            .of_read()
            .map_err(|reason| closed(Trouble::Unreachable, reason))?;
        if answer.status != 200 {
            let error = answer.json_error();
            let trouble = match error.as_deref() {
                Some("AccountTakedown" | "AccountDeactivated" | "InvalidRequest") => {
                    Trouble::Credentials
                }
                _ => trouble_of(&answer),
            };
            let mut reason = self.http.describe(&answer);
            // A server says the same of a wrong password and of an account that is not its own.
            if home.is_none()
                && error.as_deref() == Some("AuthenticationRequired")
                && let Some(elsewhere) = self.elsewhere(&entrance)
            {
                reason = format!("{reason}; {elsewhere}");
            }
            return Err(closed(trouble, reason));
        }
        let session = answer.json().unwrap_or_default();
        let text = |field: &str| session.get(field).and_then(Value::as_str);
        // The answer is not quoted: it carries the tokens.
        let (Some(did), Some(token)) = (text("did"), text("accessJwt").and_then(Secret::new))
        else {
            return Err(closed(
                Trouble::Unreachable,
                "the answer to the login is not a session".to_owned(),
            ));
        };
        if session.get("active") == Some(&Value::Bool(false)) {
            let status = text("status").unwrap_or("not active");
            let reason = format!("the account is {}", self.http.scrubber().line(status));
            return Err(closed(Trouble::Credentials, reason));
        }
        let name = match text("handle") {
            Some(handle) if handle != "handle.invalid" => handle,
            _ => did,
        };
        let server = match home {
            None => own_server(&entrance, session.get("didDoc"))?,
            Some(home) if home.did == did => home.server,
            Some(home) => {
                let did = self.http.scrubber().line(did);
                let reason = format!(
                    "`{}` is {}, but {entrance} logs us in as {did}: nothing is sent",
                    self.identifier, home.did
                );
                return Err(closed(Trouble::Credentials, reason));
            }
        };
        Ok(Login {
            did: did.to_owned(),
            name: name.to_owned(),
            server,
            token,
            clock_skew: answer.clock_skew(),
            made_at: now,
        })
    }

    /// Reads from the account's own server, with one new login if the token is no longer taken.
    fn read(&mut self, method: &str, query: &[(&str, &str)]) -> Result<(Login, Answer), String> {
        let mut login = self.ensure_login().map_err(|closed| closed.reason)?;
        let mut answer = self.read_once(&login, method, query)?;
        if is_token_trouble(&answer) {
            self.login = None;
            login = self.ensure_login().map_err(|closed| closed.reason)?;
            answer = self.read_once(&login, method, query)?;
        }
        Ok((login, answer))
    }

    fn read_once(
        &mut self,
        login: &Login,
        method: &str,
        query: &[(&str, &str)],
    ) -> Result<Answer, String> {
        let mut url = xrpc(&login.server, method);
        url.query_pairs_mut()
            .append_pair("repo", &login.did)
            .append_pair("collection", COLLECTION)
            .extend_pairs(query);
        let request = Request::get(url).header(AUTHORIZATION, bearer(&login.token));
        self.http.send(&request).of_read()
    }

    /// A write that is going to be refused is not sent: refused ones count as well.
    fn check_quota(&self) -> Result<(), Outcome> {
        let now = self.http.clock().now();
        match self.spent_until.filter(|until| now < *until) {
            None => Ok(()),
            Some(until) => Err(refused(
                Refusal::RateLimited(Some(Wait::Until(until))),
                format!("nothing was sent: the service takes no more writes until {until}"),
            )),
        }
    }

    fn outcome(&mut self, claim: &Claim, key: &str, login: &Login, answer: &Answer) -> Outcome {
        if answer.status == 401 || is_token_trouble(answer) {
            self.login = None;
        }
        self.spent_until = answer.spent_until();
        let reason = self.http.describe(answer);
        match (answer.status, answer.json_error().as_deref()) {
            (200, _) => accepted(claim, key, login, answer).unwrap_or(Outcome::InDoubt { reason }),
            (400 | 401, Some("ExpiredToken" | "InvalidToken")) => {
                // Nothing was done. The write is not repeated here: its window may be over.
                let wait = Wait::For(RELOGIN_WAIT);
                refused(Refusal::Temporary(Some(wait)), reason)
            }
            (401, _)
            | (403, Some(_))
            | (400, Some("AccountTakedown" | "AccountDeactivated" | "AuthMissing")) => {
                refused(Refusal::Credentials, reason)
            }
            (400, Some("InvalidRequest" | "BlobNotFound"))
                if !Picture::all_of(&claim.post).is_empty() =>
            {
                // The server may be stricter about pictures than its lexicon.
                refused(Refusal::Picture, reason)
            }
            (400, Some("InvalidRequest" | "BlobNotFound")) | (413, Some("PayloadTooLarge")) => {
                refused(Refusal::Permanent, reason)
            }
            (429, _) => refused(Refusal::RateLimited(answer.wait()), reason),
            // Among them 400 `InvalidSwap`: something else is under this key, so somebody must look.
            _ => Outcome::InDoubt { reason },
        }
    }
}

impl Channel for Bluesky {
    fn open(&mut self) -> Opening {
        self.http.begin();
        match self.ensure_login() {
            Ok(login) => Opening::Ready(Session {
                account: Account::new(login.did),
                limits: ServerLimits::default(),
                clock_skew: login.clock_skew,
            }),
            Err(closed) => closed.opening(),
        }
    }

    fn recent(&mut self, since: Timestamp) -> Listing {
        self.http.begin();
        self.reached = false;
        let mut posts = Vec::new();
        let mut cursor: Option<String> = None;
        for _page in 0..PAGES_MAX {
            let size = PAGE_SIZE.to_string();
            let mut query = vec![("limit", size.as_str())];
            query.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
            let (login, answer) = match self.read("com.atproto.repo.listRecords", &query) {
                Ok(read) => read,
                Err(reason) => return Listing::CannotTell { reason },
            };
            let page = answer.json().filter(|_| answer.status == 200);
            let Some(records) = page
                .as_ref()
                .and_then(|page| page.get("records")?.as_array())
            else {
                return Listing::CannotTell {
                    reason: self.http.describe(&answer),
                };
            };
            let seen: Vec<SeenPost> = records
                .iter()
                .filter_map(|record| seen_post(record, &login))
                .collect();
            // The list is sorted by key, and a key may be back-dated: all of the page must be old.
            let reaches_back = seen
                .iter()
                .filter_map(|post| post.created_at)
                .max()
                .is_none_or(|newest| newest < since);
            posts.extend(seen);
            let next = page
                .as_ref()
                .and_then(|page| page.get("cursor")?.as_str())
                .map(str::to_owned);
            if reaches_back || next.is_none() || next == cursor {
                self.reached = true;
                break;
            }
            cursor = next;
        }
        Listing::Posts(posts)
    }

    fn reached(&self) -> bool {
        self.reached
    }

    fn found_on(&self) -> Option<String> {
        self.home.as_ref().map(Home::tell)
    }

    fn publish(&mut self, claims: &[PushedClaim]) -> Outcome {
        self.http.begin();
        let fence = Fence::of(claims, self.http.clock());
        let claim = match single_claim(claims) {
            Ok(claim) => claim,
            Err(outcome) => return outcome,
        };
        let (Some(key), Some(record)) = (
            claim.post.string("rkey"),
            claim
                .post
                .fields()
                .get("record")
                .filter(|record| record.is_object()),
        ) else {
            return refused(
                Refusal::Permanent,
                "a post without `rkey` and `record` can't be sent to Bluesky".to_owned(),
            );
        };
        let login = match self.ensure_login() {
            Ok(login) => login,
            Err(closed) => return closed.unsent_write(),
        };
        if let Err(outcome) = check_account(claim, &login.did).and_then(|()| self.check_quota()) {
            return outcome;
        }
        let pictures = Picture::all_of(&claim.post);
        // All pictures together leave time for the record.
        let half = fence.first_half(self.http.clock());
        let trouble = pictures
            .iter()
            .find_map(|picture| self.upload(picture, &login, half.clone()).err());
        let body = json!({
            "repo": login.did,
            "collection": COLLECTION,
            "rkey": key,
            "record": record,
            "swapRecord": null,
        });
        let url = xrpc(&login.server, "com.atproto.repo.putRecord");
        let request = Request::write(url, &body, fence).header(AUTHORIZATION, bearer(&login.token));
        let outcome = match self.http.send(&request).of_write() {
            Ok(answer) => self.outcome(claim, key, &login, &answer),
            Err(outcome) => outcome,
        };
        match (outcome, trouble) {
            (outcome @ Outcome::Accepted { .. }, _) => {
                for picture in &pictures {
                    self.pictures.forget(picture);
                }
                outcome
            }
            (
                Outcome::Refused {
                    refusal: Refusal::Picture,
                    reason,
                },
                Some(trouble),
            ) => refused(
                Refusal::Picture,
                format!("{reason} (its upload: {trouble})"),
            ),
            (outcome, _) => outcome,
        }
    }

    fn prepare(&mut self, wants: &Wants, pictures: Vec<Result<Vec<u8>, String>>) -> Prepared {
        self.find(wants, pictures)
    }

    fn retract(&mut self, claim: &PushedClaim) -> Outcome {
        self.http.begin();
        self.delete(claim)
    }

    fn effect(&mut self, claim: &Claim) -> Lookup {
        self.http.begin();
        self.effect_of(claim)
    }

    fn lookup(&mut self, claim: &Claim) -> Lookup {
        self.http.begin();
        let (Some(key), Some(record)) =
            (claim.post.string("rkey"), claim.post.fields().get("record"))
        else {
            return cannot_tell("the claim names no record key");
        };
        let (login, answer) = match self.read("com.atproto.repo.getRecord", &[("rkey", key)]) {
            Ok(read) => read,
            Err(reason) => return cannot_tell(reason),
        };
        if claim.account.as_str() != login.did {
            return cannot_tell("the claim is another account's");
        }
        let stored = answer.json().filter(|_| answer.status == 200);
        if let Some(value) = stored.as_ref().and_then(|stored| stored.get("value")) {
            // The server gives the fields back in an order of its own; equality of objects does not see order.
            if value == record {
                return Lookup::Found(remote(key, &login));
            }
            return cannot_tell("another record stands under the claim's key");
        }
        match (answer.status, answer.json_error().as_deref()) {
            (400, Some("RecordNotFound")) => match answer.check_fresh() {
                Ok(()) => Lookup::Absent,
                Err(reason) => cannot_tell(reason),
            },
            _ => cannot_tell(self.http.describe(&answer)),
        }
    }
}

/// A success counts only with the URI of our own record and its content's hash.
fn accepted(claim: &Claim, key: &str, login: &Login, answer: &Answer) -> Option<Outcome> {
    let written = answer.json()?;
    written.get("cid")?.as_str()?;
    let remote = remote(key, login);
    if written.get("uri")?.as_str() != remote.id.as_deref() {
        return None;
    }
    // Without a commit nothing was written: the same record was there already, from an earlier attempt.
    let evidence = if written.get("commit").is_none() && claim.attempt > 1 {
        Evidence::KeyReplay
    } else {
        Evidence::Response
    };
    Some(Outcome::Accepted { remote, evidence })
}

fn remote(key: &str, login: &Login) -> Remote {
    Remote {
        id: Some(format!("at://{}/{COLLECTION}/{key}", login.did)),
        url: Some(format!(
            "https://bsky.app/profile/{}/post/{key}",
            login.name
        )),
    }
}

fn seen_post(record: &Value, login: &Login) -> Option<SeenPost> {
    let key = record.get("uri")?.as_str()?.rsplit('/').next()?;
    let value = record.get("value")?;
    let facets = value.get("facets").and_then(Value::as_array);
    let links_in_text = facets
        .into_iter()
        .flatten()
        .filter_map(|facet| facet.get("features")?.as_array())
        .flatten()
        .filter_map(|feature| feature.get("uri")?.as_str());
    let links_in_card = ["/embed/external/uri", "/embed/media/external/uri"]
        .into_iter()
        .filter_map(|place| value.pointer(place)?.as_str());
    Some(SeenPost {
        remote: remote(key, login),
        links: links_in_text
            .chain(links_in_card)
            .map(str::to_owned)
            .collect(),
        created_at: value
            .get("createdAt")
            .and_then(Value::as_str)
            .and_then(|text| Timestamp::parse(text).ok()),
        sort: if value.get("reply").is_some_and(|reply| !reply.is_null()) {
            SeenSort::Reply
        } else {
            SeenSort::TopLevel
        },
    })
}

/// Returns the account's own server as its DID document names it; without a document, the one that logged us in.
fn own_server(service: &Url, document: Option<&Value>) -> Result<Url, Closed> {
    let endpoint = document
        .and_then(|document| document.get("service")?.as_array())
        .into_iter()
        .flatten()
        .find(|entry| {
            let id = entry.get("id").and_then(Value::as_str).unwrap_or_default();
            // Both `#atproto_pds` and `did:plc:…#atproto_pds` are met.
            id.ends_with("#atproto_pds")
        })
        .and_then(|entry| entry.get("serviceEndpoint")?.as_str());
    let Some(endpoint) = endpoint else {
        return Ok(service.clone());
    };
    let server = Url::parse(endpoint).ok().filter(|url| {
        // A server on the net must not send our token to this machine, nor over plain http.
        url.host().is_some()
            && if is_loopback(url) {
                is_loopback(service)
            } else {
                url.scheme() == "https"
            }
    });
    match server {
        Some(mut server) => {
            server.set_path("/");
            server.set_query(None);
            server.set_fragment(None);
            Ok(server)
        }
        None => Err(closed(
            Trouble::Unreachable,
            "the account's DID document names a server that is not https".to_owned(),
        )),
    }
}

/// Token troubles are 400 or 401, by the version of the server.
fn is_token_trouble(answer: &Answer) -> bool {
    matches!(answer.status, 400 | 401)
        && matches!(
            answer.json_error().as_deref(),
            Some("ExpiredToken" | "InvalidToken" | "AuthMissing" | "AuthenticationRequired")
        )
}

fn xrpc(server: &Url, method: &str) -> Url {
    below(server, &format!("/xrpc/{method}"))
}

fn bearer(token: &Secret) -> String {
    format!("Bearer {}", token.expose())
}

fn closed(trouble: Trouble, reason: String) -> Closed {
    Closed { trouble, reason }
}
