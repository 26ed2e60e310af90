//! Mastodon and the servers that speak its client API: GoToSocial, Pleroma, Mitra, snac and others.
//!
//! The `Idempotency-Key` is sent always and relied on never: Mastodon keeps it for an hour, some of its versions
//! answer a repeat with 500, and GoToSocial and snac don't know it. What counts is reading back.

mod instance;
mod later;
mod media;

use serde::Deserialize;
use serde_json::{Map, Value};
use ureq::http::HeaderName;
use ureq::http::header::AUTHORIZATION;
use url::Url;

use super::Channel;
use super::answer::Answer;
use super::common::{
    Closed, below, cannot_tell, check_account, found, refused, single_claim, trouble_of,
};
use super::http::{Fence, Http, Request};
use super::matching::html_links;
use super::pictures::Pictures;
use crate::config::Visibility;
use crate::model::address::same_address;
use crate::model::claim::{Claim, PushedClaim};
use crate::model::ids::Account;
use crate::model::media::{Picture, Prepared, Wants};
use crate::model::outcome::{
    Evidence, Listing, Lookup, Opening, Outcome, Refusal, Remote, SeenPost, SeenSort, Session,
    Trouble,
};
use crate::model::time::Timestamp;
use crate::secret::Secret;
use media::for_picture;

/// The servers' maximum for one page of statuses.
const PAGE_SIZE: &str = "40";

/// Most pages that one lookup reads; 400 statuses since a claim are no blog's.
const PAGES_MAX: usize = 10;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// What logging in, reading back, and posting take.
const SCOPES_NEEDED: [&str; 3] = ["read:accounts", "read:statuses", "write:statuses"];

/// Pleroma says so when it answers from memory.
const IDEMPOTENT_REPLAYED: &str = "idempotent-replayed";

/// One account.
#[derive(Debug)]
pub(crate) struct Mastodon {
    http: Http,
    server: Url,
    token: Secret,
    visibility: Visibility,
    whoami: Option<Whoami>,
    pictures: Pictures,
    /// The last list that was asked for was read as far back as it was asked for.
    reached: bool,
}

/// Who the token belongs to.
#[derive(Clone, Debug)]
struct Whoami {
    id: String,
    account: String,
}

/// The account's own statuses, newest first.
struct Statuses {
    entries: Vec<Status>,
    reach: Reach,
    /// The moment that was asked for, on the server's clock.
    since: Timestamp,
}

/// How far a list goes back.
enum Reach {
    /// Past the moment that was asked for, or to the very first status.
    Enough,
    /// Not that far: the account posts too much, or the server can't page.
    Short,
    /// Reading it failed on the way.
    Broken(String),
}

/// A status, as far as it is read. Servers leave out what they don't have.
#[derive(Debug, Deserialize)]
struct Status {
    id: Id,
    url: Option<String>,
    uri: Option<String>,
    created_at: Option<String>,
    content: Option<String>,
    card: Option<Card>,
    in_reply_to_id: Option<Value>,
    reblog: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Card {
    url: Option<String>,
}

/// Ids are strings and opaque; a few servers write numbers.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(untagged)]
enum Id {
    Text(String),
    Number(u64),
}

impl Mastodon {
    /// Takes a server and an account's access token.
    pub(crate) fn new(http: Http, server: Url, token: Secret, visibility: Visibility) -> Self {
        Self {
            http,
            server,
            token,
            visibility,
            whoami: None,
            pictures: Pictures::new(media::PICTURE_BYTES_MAX),
            reached: false,
        }
    }

    fn get(&mut self, path: &str, query: &[(&str, &str)]) -> Result<Answer, String> {
        let mut url = below(&self.server, path);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let request = Request::get(url).header(AUTHORIZATION, self.authorization());
        self.http.send(&request).of_read()
    }

    fn authorization(&self) -> String {
        format!("Bearer {}", self.token.expose())
    }

    fn verify_credentials(&mut self) -> Result<(Whoami, Answer), Closed> {
        let answer = self
            .get("/api/v1/accounts/verify_credentials", &[])
            .map_err(|reason| Closed {
                trouble: Trouble::Unreachable,
                reason,
            })?;
        let whoami = answer
            .json()
            .filter(|_| answer.status == 200)
            .and_then(|account| self.read_whoami(&account));
        if let Some(whoami) = whoami {
            self.whoami = Some(whoami.clone());
            return Ok((whoami, answer));
        }
        let trouble = match answer.status {
            // So snac answers an unknown token.
            422 => Trouble::Credentials,
            _ => trouble_of(&answer),
        };
        Err(Closed {
            trouble,
            reason: self.http.describe(&answer),
        })
    }

    fn read_whoami(&self, account: &Value) -> Option<Whoami> {
        let text = |field: &str| account.get(field).and_then(Value::as_str);
        let id = Id::deserialize(account.get("id")?).ok()?.text();
        let name = text("url").map_or_else(
            || Some(below(&self.server, &format!("/@{}", text("acct")?)).into()),
            |url| Some(url.to_owned()),
        );
        Some(Whoami { id, account: name? })
    }

    fn ensure_whoami(&mut self) -> Result<Whoami, Closed> {
        match &self.whoami {
            Some(whoami) => Ok(whoami.clone()),
            None => self.verify_credentials().map(|(whoami, _answer)| whoami),
        }
    }

    /// Reads the account's own statuses back past `since`, authenticated: without a token the answer may be cached.
    fn own_statuses(&mut self, since: Timestamp) -> Statuses {
        let mut list = Statuses {
            entries: Vec::new(),
            reach: Reach::Short,
            since: since.floor_to_second(),
        };
        list.reach = self
            .read_pages(&mut list, since)
            .unwrap_or_else(Reach::Broken);
        list
    }

    fn read_pages(&mut self, list: &mut Statuses, since: Timestamp) -> Result<Reach, String> {
        let whoami = self.ensure_whoami().map_err(|closed| closed.reason)?;
        let path = format!("/api/v1/accounts/{}/statuses", whoami.id);
        let mut max_id: Option<String> = None;
        for _page in 0..PAGES_MAX {
            let mut query = vec![
                ("limit", PAGE_SIZE),
                ("exclude_replies", "true"),
                ("exclude_reblogs", "true"),
            ];
            query.extend(max_id.as_deref().map(|id| ("max_id", id)));
            let answer = self.get(&path, &query)?;
            let page: Vec<Status> = answer.list().ok_or_else(|| self.http.describe(&answer))?;
            // A server whose clock is behind shows our post as made before the claim.
            list.since = list
                .since
                .min(since.minus(answer.clock_behind()).floor_to_second());
            let next = next_max_id(&answer).filter(|next| max_id.as_ref() != Some(next));
            let is_empty = page.is_empty();
            let known = list.entries.len();
            for status in page {
                if list.entries.iter().all(|other| other.id != status.id) {
                    list.entries.push(status);
                }
            }
            answer.check_fresh()?;
            let oldest = list.entries.last().filter(|_| list.entries.len() > known);
            max_id = match oldest {
                Some(oldest) if oldest.made_before(list.since) => return Ok(Reach::Enough),
                Some(oldest) => next.or_else(|| Some(oldest.id.clone().text())),
                // Filters may leave a page short or empty: it is the end if there is no next one.
                None if is_empty && next.is_none() => return Ok(Reach::Enough),
                None if is_empty => next,
                // A server that shows what it has shown can't page: this need not be its end.
                None => return Ok(Reach::Short),
            };
        }
        Ok(Reach::Short)
    }

    fn outcome(&self, answer: &Answer) -> Outcome {
        let reason = self.http.describe(answer);
        let error = answer.json_error().map(|error| error.to_lowercase());
        let outcome = match (answer.status, error) {
            (200 | 201, _) => accepted(answer).unwrap_or(Outcome::InDoubt { reason }),
            // So Pixelfed answers a post without a picture.
            (403, Some(error)) if error.contains("empty statuses") => {
                let advice = "give the article `image` and `alt` for this channel";
                refused(Refusal::Permanent, format!("{reason}: {advice}"))
            }
            (401, _) | (403, Some(_)) => refused(Refusal::Credentials, reason),
            // Pixelfed answers a known key with 400, Mastodon an unlucky race with 422: both mean look.
            (400 | 422, Some(error))
                if !error.contains("idempotency") && !error.contains("duplicate") =>
            {
                refused(Refusal::Permanent, reason)
            }
            (429, _) => refused(Refusal::RateLimited(answer.wait()), reason),
            // Among them 404 (a repeat whose status was deleted), 409 and 503 (a repeat while the first one runs),
            // 500 (a repeat on Mastodon 4.6), and every refusal that is not in the API's own shape.
            _ => Outcome::InDoubt { reason },
        };
        match outcome {
            // Pleroma remembers whole answers for six hours, refusals too: what was wrong then need not be wrong now.
            Outcome::Refused { reason, .. } if is_replay(answer) => {
                let words = "the server repeats what it said to an earlier request";
                refused(Refusal::Replayed, format!("{words}: {reason}"))
            }
            Outcome::Refused { .. }
            | Outcome::Accepted { .. }
            | Outcome::NotSent { .. }
            | Outcome::InDoubt { .. } => outcome,
        }
    }
}

impl Channel for Mastodon {
    fn open(&mut self) -> Opening {
        self.http.begin();
        match self.verify_credentials() {
            Ok((whoami, answer)) => Opening::Ready(Session {
                account: Account::new(whoami.account),
                limits: self.limits(),
                clock_skew: answer.clock_skew(),
            }),
            Err(closed) => closed.opening(),
        }
    }

    fn recent(&mut self, since: Timestamp) -> Listing {
        self.http.begin();
        let list = self.own_statuses(since);
        if let Reach::Broken(reason) = list.reach {
            return Listing::CannotTell { reason };
        }
        self.reached = matches!(list.reach, Reach::Enough);
        Listing::Posts(
            list.entries
                .into_iter()
                .filter(|status| !status.is_boost())
                .map(Status::into_seen_post)
                .collect(),
        )
    }

    fn reached(&self) -> bool {
        self.reached
    }

    fn missing_rights(&mut self) -> Option<Vec<String>> {
        self.http.begin();
        // Since Mastodon 4.3; others have no such address, or leave the scopes out.
        let answer = self.get("/api/v1/apps/verify_credentials", &[]).ok()?;
        let application = answer.json().filter(|_| answer.status == 200)?;
        let scopes: Vec<&str> = application
            .get("scopes")?
            .as_array()?
            .iter()
            .filter_map(Value::as_str)
            .collect();
        Some(missing_scopes(&scopes))
    }

    fn publish(&mut self, claims: &[PushedClaim]) -> Outcome {
        self.http.begin();
        let fence = Fence::of(claims, self.http.clock());
        let claim = match single_claim(claims) {
            Ok(claim) => claim,
            Err(outcome) => return outcome,
        };
        let Some(text) = claim.post.string("text") else {
            return refused(
                Refusal::Permanent,
                "a post without `text` can't be sent to Mastodon".to_owned(),
            );
        };
        let whoami = match self.ensure_whoami() {
            Ok(whoami) => whoami,
            Err(closed) => return closed.unsent_write(),
        };
        if let Err(outcome) = check_account(claim, &whoami.account) {
            return outcome;
        }
        // GoToSocial's own default is unlisted: the visibility is always said.
        let visibility = claim
            .post
            .string("visibility")
            .unwrap_or(self.visibility.label());
        let mut body = Map::new();
        body.insert("status".to_owned(), text.into());
        body.insert("visibility".to_owned(), visibility.into());
        for (field, name) in [
            ("language", "language"),
            ("content_warning", "spoiler_text"),
        ] {
            if let Some(value) = claim.post.string(field) {
                body.insert(name.to_owned(), value.into());
            }
        }
        let pictures = Picture::with_alts(&claim.post);
        let media = match self.attach(&pictures, &fence) {
            Ok(media) => media,
            Err(outcome) => return outcome,
        };
        if !media.is_empty() {
            body.insert("media_ids".to_owned(), Value::from(media));
        }
        let url = below(&self.server, "/api/v1/statuses");
        let request = Request::write(url, &Value::Object(body), fence)
            .header(AUTHORIZATION, self.authorization())
            .header(IDEMPOTENCY_KEY, claim.key.as_str());
        let outcome = match self.http.send(&request).of_write() {
            Ok(answer) => self.outcome(&answer),
            Err(outcome) => outcome,
        };
        match outcome {
            Outcome::Accepted { .. } => {
                for (picture, _alt) in &pictures {
                    self.pictures.forget(picture);
                }
                outcome
            }
            Outcome::Refused { .. } => for_picture(outcome, !pictures.is_empty()),
            Outcome::NotSent { .. } | Outcome::InDoubt { .. } => outcome,
        }
    }

    fn prepare(&mut self, wants: &Wants, pictures: Vec<Result<Vec<u8>, String>>) -> Prepared {
        match &wants.standing {
            Some(standing) => {
                self.http.begin();
                self.find_for_change(wants, standing, pictures)
            }
            None => self.find(wants, pictures),
        }
    }

    fn update(&mut self, claim: &PushedClaim) -> Outcome {
        self.http.begin();
        self.edit(claim)
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
        let list = self.own_statuses(claim.first_claimed_at);
        let shows_article = |status: &Status| {
            !status.is_boost()
                && status
                    .links()
                    .iter()
                    .any(|link| same_address(link, &claim.canonical_url))
        };
        let mut matches = Vec::new();
        for status in list.entries.iter().filter(|status| shows_article(status)) {
            match status.created_at() {
                Some(made_at) if made_at >= list.since => matches.push(status.remote()),
                Some(_older) => {}
                None => return cannot_tell("a post of this article has no date"),
            }
        }
        found(matches).unwrap_or_else(|| match list.reach {
            Reach::Enough => Lookup::Absent,
            Reach::Short => cannot_tell("the list of posts does not reach back past the claim"),
            Reach::Broken(reason) => cannot_tell(reason),
        })
    }
}

impl Status {
    fn created_at(&self) -> Option<Timestamp> {
        Timestamp::parse(self.created_at.as_deref()?).ok()
    }

    fn made_before(&self, moment: Timestamp) -> bool {
        self.created_at().is_some_and(|made_at| made_at < moment)
    }

    fn is_boost(&self) -> bool {
        self.reblog.as_ref().is_some_and(|reblog| !reblog.is_null())
    }

    fn links(&self) -> Vec<String> {
        let mut links = html_links(self.content.as_deref().unwrap_or_default());
        links.extend(self.card.as_ref().and_then(|card| card.url.clone()));
        links
    }

    fn remote(&self) -> Remote {
        Remote {
            id: Some(self.id.clone().text()),
            url: self.url.clone().or_else(|| self.uri.clone()),
        }
    }

    fn into_seen_post(self) -> SeenPost {
        SeenPost {
            remote: self.remote(),
            links: self.links(),
            created_at: self.created_at(),
            sort: if self.in_reply_to_id.is_some_and(|id| !id.is_null()) {
                SeenSort::Reply
            } else {
                SeenSort::TopLevel
            },
        }
    }
}

impl Id {
    fn of(value: &Value) -> Option<Self> {
        Self::deserialize(value).ok()
    }

    fn text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Number(number) => number.to_string(),
        }
    }
}

/// A right is given by its own name, or by the first word of it for all of its kind.
fn missing_scopes(scopes: &[&str]) -> Vec<String> {
    let missing = SCOPES_NEEDED.into_iter().filter(|needed| {
        let kind = needed.split(':').next().unwrap_or(needed);
        !scopes.contains(needed) && !scopes.contains(&kind)
    });
    missing.map(str::to_owned).collect()
}

fn is_replay(answer: &Answer) -> bool {
    answer.header(IDEMPOTENT_REPLAYED) == Some("true")
}

fn accepted(answer: &Answer) -> Option<Outcome> {
    let status = Status::deserialize(answer.json()?).ok()?;
    Some(Outcome::Accepted {
        remote: status.remote(),
        evidence: if is_replay(answer) {
            Evidence::KeyReplay
        } else {
            Evidence::Response
        },
    })
}

/// Reads where the next page starts from the `Link` header. Its URL itself is not used: behind a proxy a server may
/// not know its own scheme, and some drop the filters from it.
fn next_max_id(answer: &Answer) -> Option<String> {
    let link = answer
        .header("Link")?
        .split(',')
        .find(|link| link.contains("rel=\"next\""))?;
    let (_, target) = link.split_once('<')?;
    let (target, _) = target.split_once('>')?;
    let url = Url::parse(target).ok()?;
    url.query_pairs()
        .find(|(name, _)| name == "max_id")
        .map(|(_, id)| id.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_right_is_had_by_its_own_name_or_its_kinds() {
        assert_eq!(missing_scopes(&["read", "write"]), [""; 0]);
        assert_eq!(
            missing_scopes(&["profile", "read:statuses", "read:accounts", "write:media"]),
            ["write:statuses"]
        );
        assert_eq!(
            missing_scopes(&["write"]),
            ["read:accounts", "read:statuses"]
        );
    }
}
