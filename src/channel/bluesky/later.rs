//! Taking a post down. There is no changing one: the `AppView` keeps what it read first, so an edited record would be
//! shown nowhere but on its own server.

use std::slice;

use serde_json::{Value, json};
use ureq::http::header::AUTHORIZATION;

use super::{
    Bluesky, COLLECTION, Closed, Login, RELOGIN_WAIT, bearer, is_token_trouble, remote, xrpc,
};
use crate::channel::answer::Answer;
use crate::channel::common::{cannot_tell, check_account, refused};
use crate::channel::http::{Fence, Request};
use crate::channel::later::{
    Presence, Takedown, effect_of_retraction, reason_of, settle_retraction, target_of,
};
use crate::model::address::same_address;
use crate::model::claim::{Claim, PushedClaim};
use crate::model::delivery::Operation;
use crate::model::outcome::{Lookup, Outcome, Refusal, Remote, Wait};

impl Bluesky {
    pub(super) fn delete(&mut self, pushed: &PushedClaim) -> Outcome {
        let fence = Fence::of(slice::from_ref(pushed), self.http.clock());
        self.try_delete(pushed.claim(), fence)
            .unwrap_or_else(|outcome| outcome)
    }

    pub(super) fn effect_of(&mut self, claim: &Claim) -> Lookup {
        match claim.operation {
            Operation::Retract => {}
            Operation::Publish | Operation::Update(_) => {
                return cannot_tell("a post can't be changed on this service");
            }
        }
        let target = self
            .own_target(claim)
            .map(|(target, _login, key)| (target, key));
        match target {
            Ok((target, key)) => effect_of_retraction(target, self.standing(&key)),
            Err(outcome) => cannot_tell(reason_of(outcome)),
        }
    }

    fn try_delete(&mut self, claim: &Claim, fence: Fence) -> Result<Outcome, Outcome> {
        let (target, login, key) = self.own_target(claim)?;
        self.check_quota()?;
        let body = json!({ "repo": login.did, "collection": COLLECTION, "rkey": key });
        let url = xrpc(&login.server, "com.atproto.repo.deleteRecord");
        let request = Request::write(url, &body, fence).header(AUTHORIZATION, bearer(&login.token));
        let takedown = match self.http.send(&request).of_write() {
            Ok(answer) => self.takedown(&answer)?,
            Err(outcome) => Takedown::of(outcome)?,
        };
        let seen = self.standing(&key);
        Ok(settle_retraction(target, takedown, seen))
    }

    fn takedown(&mut self, answer: &Answer) -> Result<Takedown, Outcome> {
        if answer.status == 401 || is_token_trouble(answer) {
            self.login = None;
        }
        self.spent_until = answer.spent_until();
        let reason = self.http.describe(answer);
        match (answer.status, answer.json_error().as_deref()) {
            // Also where no such record was: deleting ensures that there is none.
            (200, _) => Ok(Takedown::Answered("HTTP 200".to_owned())),
            (400 | 401, Some("ExpiredToken" | "InvalidToken")) => {
                let wait = Wait::For(RELOGIN_WAIT);
                Err(refused(Refusal::Temporary(Some(wait)), reason))
            }
            (401, _)
            | (403, Some(_))
            | (400, Some("AccountTakedown" | "AccountDeactivated" | "AuthMissing")) => {
                Err(refused(Refusal::Credentials, reason))
            }
            (400, Some("InvalidRequest")) => Err(refused(Refusal::Permanent, reason)),
            (429, _) => Err(refused(Refusal::RateLimited(answer.wait()), reason)),
            _ => Ok(Takedown::Doubt(reason)),
        }
    }

    /// Returns the claim's target with its record key, if it is the account's that we are.
    fn own_target<'c>(&mut self, claim: &'c Claim) -> Result<(&'c Remote, Login, String), Outcome> {
        let target = target_of(claim)?;
        let login = self.ensure_login().map_err(Closed::unsent_write)?;
        check_account(claim, &login.did)?;
        let key = key_of(target, &login).ok_or_else(|| {
            let named = target.id.as_deref().or(target.url.as_deref());
            let named = named.unwrap_or("a receipt without id and address");
            let reason = format!("this names no post of the account: {named}");
            refused(Refusal::Permanent, reason)
        })?;
        Ok((target, login, key))
    }

    /// Reads one record off the account's own server.
    fn standing(&mut self, key: &str) -> Presence<Value> {
        let (_login, answer) = match self.read("com.atproto.repo.getRecord", &[("rkey", key)]) {
            Ok(read) => read,
            Err(reason) => return Presence::Unknown(reason),
        };
        if let Err(reason) = answer.check_fresh() {
            return Presence::Unknown(reason);
        }
        let record = answer.json().filter(|_| answer.status == 200);
        match record.filter(|record| record.get("value").is_some()) {
            Some(record) => Presence::Stands(record),
            None if answer.status == 400
                && answer.json_error().as_deref() == Some("RecordNotFound") =>
            {
                Presence::Gone
            }
            None => Presence::Unknown(self.http.describe(&answer)),
        }
    }
}

/// Returns the record key of a post of ours: its id has it, and so has the address that people see.
fn key_of(target: &Remote, login: &Login) -> Option<String> {
    let place = match (&target.id, &target.url) {
        (Some(id), _) => id,
        (None, url) => url.as_ref()?,
    };
    let (_, key) = place.trim_end_matches('/').rsplit_once('/')?;
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:~".contains(&byte);
    if key.is_empty() || !key.bytes().all(legal) {
        return None;
    }
    let ours = remote(key, login);
    let by_id = target.id.is_some() && target.id == ours.id;
    let by_address = || {
        let url = target.url.as_deref()?;
        let with_did = format!("https://bsky.app/profile/{}/post/{key}", login.did);
        let known = [ours.url.as_deref()?, with_did.as_str()];
        let url = url.trim_end_matches('/');
        Some(known.into_iter().any(|known| same_address(known, url)))
    };
    (by_id || (target.id.is_none() && by_address() == Some(true))).then(|| key.to_owned())
}
