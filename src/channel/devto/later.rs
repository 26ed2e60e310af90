//! Changes of articles, and taking them down.
//!
//! The API deletes nothing: an article that is taken down is a draft afterwards, which its author alone sees. So a
//! change leaves out whether the article is published: what a person decided about that stays. What it takes away its claim
//! says, as `null` or an empty text.

use std::collections::BTreeSet;
use std::slice;

use serde::Deserialize as _;
use serde_json::{Value, json};
use ureq::http::Method;

use super::{Article, Devto};
use crate::channel::answer::Answer;
use crate::channel::common::{below, cannot_tell, check_account, refused};
use crate::channel::http::{Fence, Request};
use crate::channel::later::{
    Presence, Takedown, effect_of_retraction, evened, reason_of, settle_retraction, target_of,
};
use crate::model::address::same_address;
use crate::model::claim::{Claim, PushedClaim};
use crate::model::delivery::Operation;
use crate::model::ids::sha256_hex;
use crate::model::outcome::{Evidence, Lookup, Outcome, Refusal, Remote};
use crate::model::post::Post;

impl Devto {
    pub(super) fn change(&mut self, pushed: &PushedClaim) -> Outcome {
        let fence = Fence::of(slice::from_ref(pushed), self.http.clock());
        self.try_change(pushed.claim(), fence)
            .unwrap_or_else(|outcome| outcome)
    }

    pub(super) fn unpublish(&mut self, pushed: &PushedClaim) -> Outcome {
        let fence = Fence::of(slice::from_ref(pushed), self.http.clock());
        self.try_unpublish(pushed.claim(), fence)
            .unwrap_or_else(|outcome| outcome)
    }

    pub(super) fn effect_of(&mut self, claim: &Claim) -> Lookup {
        self.try_effect(claim)
            .unwrap_or_else(|outcome| cannot_tell(reason_of(outcome)))
    }

    fn try_change(&mut self, claim: &Claim, fence: Fence) -> Result<Outcome, Outcome> {
        let target = self.own_target(claim)?;
        let id = self.id_of(target)?;
        let mut fields = claim.post.fields().clone();
        fields.shift_remove("published");
        let answer = self.put(&id, &json!({ "article": fields }), fence)?;
        let article = answer
            .json()
            .and_then(|body| Article::deserialize(body).ok())
            .filter(|article| answer.status == 200 && article.id.to_string() == id);
        if let Some(article) = article {
            return Ok(Outcome::Accepted {
                remote: self.remote(&article),
                evidence: Evidence::Response,
            });
        }
        self.refusal(&answer)?;
        let reason = self.http.describe(&answer);
        match (answer.status, answer.json_error()) {
            (404, Some(_)) => {
                let advice = "there is no such article of this account";
                Err(refused(Refusal::Permanent, format!("{advice}: {reason}")))
            }
            _ => Ok(Outcome::InDoubt { reason }),
        }
    }

    fn try_unpublish(&mut self, claim: &Claim, fence: Fence) -> Result<Outcome, Outcome> {
        let target = self.own_target(claim)?;
        let id = self.id_of(target)?;
        let body = json!({ "article": { "published": false } });
        let takedown = match self.put(&id, &body, fence) {
            Ok(answer) => {
                self.refusal(&answer)?;
                match answer.status {
                    // The answer has the whole text; that it came is enough.
                    200 => Takedown::Answered("HTTP 200".to_owned()),
                    404 => Takedown::Answered(self.http.describe(&answer)),
                    _ => Takedown::Doubt(self.http.describe(&answer)),
                }
            }
            Err(outcome) => Takedown::of(outcome)?,
        };
        let seen = self.standing(&id);
        Ok(settle_retraction(target, takedown, seen))
    }

    fn try_effect(&mut self, claim: &Claim) -> Result<Lookup, Outcome> {
        let target = self.own_target(claim)?;
        let id = self.id_of(target)?;
        let seen = match claim.operation {
            Operation::Retract => return Ok(effect_of_retraction(target, self.standing(&id))),
            Operation::Update(_) | Operation::Publish => self.article(&id),
        };
        Ok(match seen {
            Presence::Stands(article) => match article.shows(&claim.post) {
                Some(true) => Lookup::Found(self.remote(&article)),
                Some(false) => Lookup::Absent,
                None => cannot_tell("the list does not show all that the change is about"),
            },
            Presence::Gone => Lookup::Absent,
            Presence::Unknown(reason) => cannot_tell(reason),
        })
    }

    fn put(&mut self, id: &str, body: &Value, fence: Fence) -> Result<Answer, Outcome> {
        let url = below(&self.server, &format!("/api/articles/{id}"));
        let request = self.with_key(Request::write(url, body, fence));
        self.http.send(&request.by(Method::PUT)).of_write()
    }

    /// What becomes of a change that was answered with one of the service's own refusals.
    fn refusal(&self, answer: &Answer) -> Result<(), Outcome> {
        let reason = || self.http.describe(answer);
        match (answer.status, answer.json_error()) {
            (401, _) | (403, Some(_)) => Err(refused(Refusal::Credentials, reason())),
            // The edge in front of the service: the request never got there.
            (403, None) if answer.body_complete => Err(refused(Refusal::Temporary(None), reason())),
            (422, Some(_)) => Err(refused(Refusal::Permanent, reason())),
            (429, _) => Err(refused(Refusal::RateLimited(answer.wait()), reason())),
            _ => Ok(()),
        }
    }

    /// Returns the claim's target, if the key is its account's.
    fn own_target<'c>(&mut self, claim: &'c Claim) -> Result<&'c Remote, Outcome> {
        let target = target_of(claim)?;
        let account = self.ensure_account().map_err(super::Closed::unsent_write)?;
        check_account(claim, &account)?;
        Ok(target)
    }

    /// Finds the id of an article of which a person told the address alone. One that is not in the list need not be
    /// gone: people write addresses in many ways.
    fn id_of(&mut self, target: &Remote) -> Result<String, Outcome> {
        if let Some(id) = &target.id {
            return Ok(id.clone());
        }
        let (articles, read) = self.own_articles();
        let told = target.url.as_deref().unwrap_or_default();
        let article = articles.iter().find(|article| {
            let url = article.url.as_deref();
            url.is_some_and(|url| same_address(told, url))
        });
        if let Some(article) = article {
            return Ok(article.id.to_string());
        }
        read.map_err(|reason| Outcome::NotSent { reason })?;
        let reason = format!("no article of this account is seen at {told}");
        Err(refused(Refusal::Permanent, reason))
    }

    /// Reads whether an article can be seen: in the account's own list, as the public one is cached.
    fn standing(&mut self, id: &str) -> Presence<Article> {
        match self.article(id) {
            Presence::Stands(article) if !article.is_published() => Presence::Gone,
            seen @ (Presence::Stands(_) | Presence::Gone | Presence::Unknown(_)) => seen,
        }
    }

    fn article(&mut self, id: &str) -> Presence<Article> {
        let (articles, read) = self.own_articles();
        let found = articles
            .into_iter()
            .find(|article| article.id.to_string() == id);
        match (found, read) {
            (Some(article), _) => Presence::Stands(article),
            (None, Ok(())) => Presence::Gone,
            (None, Err(reason)) => Presence::Unknown(reason),
        }
    }
}

impl Article {
    /// Whether it reads as a post does; none if that can't be told: pictures come back under other addresses, and series
    /// not at all.
    fn shows(&self, post: &Post) -> Option<bool> {
        let is_same = |field: &str, shown: Option<&String>| {
            let wanted = post.string(field).map(evened);
            // What is shown in the place of nothing is the service's own.
            let wanted = wanted.filter(|text| !text.is_empty());
            wanted.is_none() || wanted == shown.map(|shown| evened(shown))
        };
        let body = post.string("body_markdown").map(digest);
        let shown_url = self.canonical_url.as_deref().unwrap_or_default();
        let canonical = post.string("canonical_url");
        let is_shown = is_same("title", self.title.as_ref())
            && is_same("description", self.description.as_ref())
            && canonical.is_none_or(|url| same_address(url, shown_url))
            && (body.is_none() || body == self.body_digest);
        let wanted_tags = post.fields().get("tags").and_then(tags_of);
        let shown_tags = self.tag_list.as_ref().and_then(tags_of);
        let has_tags = match (wanted_tags, shown_tags) {
            (Some(wanted), Some(shown)) => Some(wanted == shown),
            (Some(_), None) => None,
            (None, _) => Some(true),
        };
        let unseen = ["main_image", "series"];
        let is_unseen = |field: &&str| post.fields().contains_key(*field);
        let is_taken_away = post.string("description") == Some("");
        if !is_shown || has_tags == Some(false) {
            return Some(false);
        }
        let is_all_seen = !is_taken_away && !unseen.iter().any(is_unseen);
        (has_tags.is_some() && is_all_seen).then_some(true)
    }
}

/// Reads tags, whose order and case do not count.
fn tags_of(value: &Value) -> Option<BTreeSet<String>> {
    let texts: Vec<&str> = match value {
        Value::String(text) => text.split(',').collect(),
        Value::Array(entries) => entries.iter().filter_map(Value::as_str).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
    };
    let tags = texts.into_iter().map(|tag| tag.trim().to_lowercase());
    Some(tags.filter(|tag| !tag.is_empty()).collect())
}

/// Returns what is kept of a long text, to know it again.
pub(super) fn digest(text: &str) -> String {
    sha256_hex(evened(text).as_bytes())
}
