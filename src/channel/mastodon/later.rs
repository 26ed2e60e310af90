//! Edits and deletions of statuses.
//!
//! An edit says everything anew: what it leaves out is gone afterwards, pictures too. So what stands is read first, and
//! what the claim says nothing of is kept. Servers that can't edit (snac of old, GoToSocial before 0.18) answer as to an address that they don't have.

use std::slice;

use serde::Deserialize as _;
use serde_json::{Map, Value, json};
use ureq::http::Method;
use ureq::http::header::AUTHORIZATION;

use super::media::{for_picture, media_ids};
use super::{Id, Mastodon, Reach, Status};
use crate::channel::answer::Answer;
use crate::channel::common::{below, cannot_tell, check_account, refused};
use crate::channel::http::{Fence, Request};
use crate::channel::later::{
    Presence, Takedown, effect_of_retraction, evened, reason_of, settle_retraction, target_of,
    text_of_html,
};
use crate::model::address::same_address;
use crate::model::claim::{Claim, PushedClaim};
use crate::model::delivery::Operation;
use crate::model::media::Picture;
use crate::model::outcome::{Evidence, Lookup, Outcome, Refusal, Remote};
use crate::model::post::Post;
use crate::model::time::Timestamp;

const NO_SUCH_POST: &str = "there is no such post of this account";

/// Whether a status shows a text.
enum Shows {
    Yes,
    No,
    Unclear(String),
}

impl Mastodon {
    pub(super) fn edit(&mut self, pushed: &PushedClaim) -> Outcome {
        let fence = Fence::of(slice::from_ref(pushed), self.http.clock());
        self.try_edit(pushed.claim(), fence)
            .unwrap_or_else(|outcome| outcome)
    }

    pub(super) fn delete(&mut self, pushed: &PushedClaim) -> Outcome {
        let fence = Fence::of(slice::from_ref(pushed), self.http.clock());
        self.try_delete(pushed.claim(), fence)
            .unwrap_or_else(|outcome| outcome)
    }

    pub(super) fn effect_of(&mut self, claim: &Claim) -> Lookup {
        self.try_effect(claim)
            .unwrap_or_else(|outcome| cannot_tell(reason_of(outcome)))
    }

    fn try_effect(&mut self, claim: &Claim) -> Result<Lookup, Outcome> {
        let target = self.own_target(claim)?;
        let id = self.id_of(target)?;
        let seen = self.status(&id);
        Ok(match (claim.operation, seen) {
            (Operation::Retract, seen) => effect_of_retraction(target, seen),
            (Operation::Update(_) | Operation::Publish, Presence::Stands(status)) => {
                match self.shows(&id, &status, &claim.post) {
                    Shows::Yes => Lookup::Found(receipt(&status).unwrap_or_else(|| target.clone())),
                    Shows::No => Lookup::Absent,
                    Shows::Unclear(reason) => cannot_tell(reason),
                }
            }
            // What is gone shows nothing.
            (Operation::Update(_) | Operation::Publish, Presence::Gone) => Lookup::Absent,
            (Operation::Update(_) | Operation::Publish, Presence::Unknown(reason)) => {
                cannot_tell(reason)
            }
        })
    }

    fn try_edit(&mut self, claim: &Claim, fence: Fence) -> Result<Outcome, Outcome> {
        let no_such_post = || refused(Refusal::Permanent, NO_SUCH_POST.to_owned());
        let text = claim.post.string("text").ok_or_else(|| {
            let reason = "a post without `text` can't be sent to Mastodon";
            refused(Refusal::Permanent, reason.to_owned())
        })?;
        let target = self.own_target(claim)?;
        let id = self.id_of(target)?;
        let standing = match self.status(&id) {
            Presence::Stands(status) => status,
            Presence::Gone => return Err(no_such_post()),
            Presence::Unknown(reason) => return Err(Outcome::NotSent { reason }),
        };
        let pictures = Picture::replacing(&claim.post);
        let media = match &pictures {
            Some(pictures) => Some(self.attach(pictures, &fence)?),
            None => None,
        };
        let pictures = pictures.unwrap_or_default();
        let url = below(&self.server, &format!("/api/v1/statuses/{id}"));
        let mut body = edited(text, &claim.post, &standing);
        insert_media(&mut body, media, &pictures, &standing);
        let request = Request::write(url, &Value::Object(body), fence)
            .header(AUTHORIZATION, self.authorization());
        let answer = self.http.send(&request.by(Method::PUT)).of_write()?;
        let outcome = self.outcome_of_edit(&answer, &id);
        if matches!(outcome, Outcome::Accepted { .. }) {
            let uploaded = pictures
                .iter()
                .filter(|(picture, _)| picture.attached.is_none());
            for (picture, _alt) in uploaded {
                self.pictures.forget(picture);
            }
        }
        // Without the new ones the edit may be taken. A server that can't edit at all won't.
        let is_new = |(picture, _alt): &(Picture, String)| picture.attached.is_none();
        let may_be_theirs = matches!(answer.status, 400 | 422) && pictures.iter().any(is_new);
        Ok(for_picture(outcome, may_be_theirs))
    }

    fn outcome_of_edit(&self, answer: &Answer, id: &str) -> Outcome {
        let reason = self.http.describe(answer);
        match (answer.status, answer.json_error()) {
            (200 | 201, _) => {
                let remote = answer.json().as_ref().and_then(receipt);
                match remote.filter(|remote| remote.id.as_deref() == Some(id)) {
                    Some(remote) => Outcome::Accepted {
                        remote,
                        evidence: Evidence::Response,
                    },
                    None => Outcome::InDoubt { reason },
                }
            }
            (401, _) | (403, Some(_)) => refused(Refusal::Credentials, reason),
            // It stood a moment ago: a server that says so has no edits.
            (404 | 405 | 410 | 501, _) => {
                let advice = "the post is gone, or this server can't change posts";
                refused(Refusal::Permanent, format!("{advice}: {reason}"))
            }
            (400 | 422, Some(_)) => refused(Refusal::Permanent, reason),
            (429, _) => refused(Refusal::RateLimited(answer.wait()), reason),
            _ => Outcome::InDoubt { reason },
        }
    }

    fn try_delete(&mut self, claim: &Claim, fence: Fence) -> Result<Outcome, Outcome> {
        let target = self.own_target(claim)?;
        let id = self.id_of(target)?;
        let url = below(&self.server, &format!("/api/v1/statuses/{id}"));
        let request = Request::any(Method::DELETE, url, None, Some(fence))
            .header(AUTHORIZATION, self.authorization());
        let takedown = match self.http.send(&request).of_write() {
            Ok(answer) => self.takedown(&answer)?,
            Err(outcome) => Takedown::of(outcome)?,
        };
        let seen = self.status(&id);
        Ok(settle_retraction(target, takedown, seen))
    }

    fn takedown(&self, answer: &Answer) -> Result<Takedown, Outcome> {
        let reason = self.http.describe(answer);
        match (answer.status, answer.json_error()) {
            // The deleted status may be long; that it was answered is enough.
            (200 | 202 | 204, _) => Ok(Takedown::Answered(format!("HTTP {}", answer.status))),
            (404 | 410, _) => Ok(Takedown::Answered(reason)),
            (401, _) | (403, Some(_)) => Err(refused(Refusal::Credentials, reason)),
            (405 | 501, _) | (400 | 422, Some(_)) => Err(refused(Refusal::Permanent, reason)),
            (429, _) => Err(refused(Refusal::RateLimited(answer.wait()), reason)),
            _ => Ok(Takedown::Doubt(reason)),
        }
    }

    /// Returns the claim's target, if the token is its account's.
    fn own_target<'c>(&mut self, claim: &'c Claim) -> Result<&'c Remote, Outcome> {
        let target = target_of(claim)?;
        let whoami = self.ensure_whoami().map_err(super::Closed::unsent_write)?;
        check_account(claim, &whoami.account)?;
        Ok(target)
    }

    /// Finds the id of a post of which a person told the address alone. One that is not in the list need not be gone:
    /// people write addresses in many ways.
    pub(super) fn id_of(&mut self, target: &Remote) -> Result<String, Outcome> {
        if let Some(id) = &target.id {
            return Ok(id.clone());
        }
        let list = self.own_statuses(Timestamp::EPOCH);
        let told = target.url.as_deref().unwrap_or_default();
        let is_it = |status: &&Status| {
            let addresses = [&status.url, &status.uri];
            let mut addresses = addresses.into_iter().flatten();
            addresses.any(|address| same_address(told, address))
        };
        if let Some(status) = list.entries.iter().find(is_it) {
            return Ok(status.id.clone().text());
        }
        match list.reach {
            Reach::Enough | Reach::Short => {
                let reason = format!("no post of this account is seen at {told}");
                Err(refused(Refusal::Permanent, reason))
            }
            Reach::Broken(reason) => Err(Outcome::NotSent { reason }),
        }
    }

    /// Reads one status, authenticated: without a token the answer may be cached.
    pub(super) fn status(&mut self, id: &str) -> Presence<Value> {
        let answer = match self.get(&format!("/api/v1/statuses/{id}"), &[]) {
            Ok(answer) => answer,
            Err(reason) => return Presence::Unknown(reason),
        };
        if let Err(reason) = answer.check_fresh() {
            return Presence::Unknown(reason);
        }
        let is_it = |status: &Value| {
            let shown = status.get("id").and_then(Id::of);
            shown.is_some_and(|shown| shown.text() == id)
        };
        match answer.status {
            200 => match answer.json().filter(is_it) {
                Some(status) => Presence::Stands(status),
                None => Presence::Unknown(self.http.describe(&answer)),
            },
            404 | 410 if answer.json_error().is_some() => Presence::Gone,
            // snac says it in HTML, and so does any server that has no such API: it must know us all the same.
            404 | 410 => match self.verify_credentials() {
                Ok(_whoami) => Presence::Gone,
                Err(closed) => Presence::Unknown(closed.reason),
            },
            _ => Presence::Unknown(self.http.describe(&answer)),
        }
    }

    /// Compares what the author wrote; where the server doesn't tell it, what people read.
    fn shows(&mut self, id: &str, status: &Value, post: &Post) -> Shows {
        let wanted = [
            post.string("text").unwrap_or_default(),
            post.string("content_warning").unwrap_or_default(),
        ]
        .map(evened);
        let text = |value: &Value, field: &str| {
            evened(value.get(field).and_then(Value::as_str).unwrap_or_default())
        };
        let answer = match self.get(&format!("/api/v1/statuses/{id}/source"), &[]) {
            Ok(answer) => answer,
            Err(reason) => return Shows::Unclear(reason),
        };
        let source = answer
            .json()
            .filter(|source| answer.status == 200 && source.get("text").is_some());
        let pictures = shows_pictures(status, post);
        if let Some(source) = source {
            let shown = [text(&source, "text"), text(&source, "spoiler_text")];
            return if shown == wanted { pictures } else { Shows::No };
        }
        let content = status.get("content").and_then(Value::as_str);
        let shown = [
            text_of_html(content.unwrap_or_default()),
            text(status, "spoiler_text"),
        ];
        if shown == wanted {
            return pictures;
        }
        // A server may show a text otherwise than it was written.
        Shows::Unclear(format!(
            "the post reads otherwise, and the server does not tell its source: {}",
            self.http.describe(&answer)
        ))
    }
}

/// What an edit says, its pictures aside: the claim's text, and of what stands all that the claim says nothing of.
fn edited(text: &str, post: &Post, standing: &Value) -> Map<String, Value> {
    let warning = post.string("content_warning").unwrap_or_default();
    let warned = standing.get("spoiler_text").and_then(Value::as_str);
    // Of a status with a warning it is the warning that marks it; without one, a person marked it.
    let marked = standing.get("sensitive") == Some(&Value::Bool(true))
        && warned.unwrap_or_default().is_empty();
    let mut body = Map::new();
    body.insert("status".to_owned(), text.into());
    body.insert("spoiler_text".to_owned(), warning.into());
    body.insert(
        "sensitive".to_owned(),
        Value::Bool(marked || !warning.is_empty()),
    );
    if let Some(language) = post.string("language") {
        body.insert("language".to_owned(), language.into());
    }
    body
}

/// Names the pictures of the claim, else those that stand. Of those that stand only a new text is said: by the claim, not
/// by what is shown, so that a repeat says the same.
fn insert_media(
    body: &mut Map<String, Value>,
    media: Option<Vec<String>>,
    pictures: &[(Picture, String)],
    standing: &Value,
) {
    let is_said = media.is_some();
    let ids = media.unwrap_or_else(|| media_ids(standing));
    if is_said || !ids.is_empty() {
        body.insert("media_ids".to_owned(), Value::from(ids));
    }
    let mended: Vec<Value> = pictures
        .iter()
        .filter_map(|(picture, alt)| {
            let attached = picture.attached.as_ref()?;
            (attached.alt != *alt).then(|| json!({ "id": attached.id, "description": alt }))
        })
        .collect();
    // Servers that don't know it pass over it.
    if !mended.is_empty() {
        body.insert("media_attributes".to_owned(), Value::Array(mended));
    }
}

/// Whether a status shows the pictures of a post and the texts that stand for them, as far as the post says which.
fn shows_pictures(status: &Value, post: &Post) -> Shows {
    let Some(wanted) = Picture::replacing(post) else {
        return Shows::Yes;
    };
    let Some(media) = status.get("media_attachments").and_then(Value::as_array) else {
        return Shows::Unclear("the server does not tell the pictures of the post".to_owned());
    };
    let ids = media_ids(status);
    let are_shown = media.len() == wanted.len()
        && media.iter().zip(&wanted).all(|(shown, (_, alt))| {
            let description = shown.get("description").and_then(Value::as_str);
            evened(description.unwrap_or_default()) == evened(alt)
        })
        && ids.iter().zip(&wanted).all(|(id, (picture, _))| {
            let attached = picture.attached.as_ref();
            attached.is_none_or(|attached| attached.id == *id)
        });
    if !are_shown {
        return Shows::No;
    }
    // What was uploaded for an attempt of which nothing was heard has an id that nobody knows.
    if wanted.iter().all(|(picture, _)| picture.attached.is_some()) {
        return Shows::Yes;
    }
    Shows::Unclear(
        "whether the post shows its new pictures can't be told by their texts".to_owned(),
    )
}

fn receipt(status: &Value) -> Option<Remote> {
    Some(Status::deserialize(status).ok()?.remote())
}
