//! The stand-in of a Mastodon server, of the 4.5 line: a repeated `Idempotency-Key` gets the first status again for
//! an hour, but two requests in flight at once don't see each other.

mod fields;
mod html;
mod media;
mod show;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::fields::{Fields, counted_length, is_true};
use self::media::Attachment;
use self::show::source;
use super::journal::wire_time;
use super::message::{Reply, Request};
use super::service::{Answer, Checks, Failure, Identity, SandboxPost, Service};
use super::text;
use crate::model::time::Timestamp;

/// The token that this server accepts.
pub(crate) const ACCESS_TOKEN: &str = "rehearsal-mastodon-access-token";

const VERSION: &str = "4.5.9";
const CHARACTERS_MAX: usize = 500;
/// What a link counts, however long it is.
const LINK_LENGTH: usize = 23;
/// How long a key is remembered, from the success.
const KEY_LIFETIME: Duration = Duration::from_hours(1);
/// New statuses and edits in a window.
const WRITES_MAX: usize = 300;
/// Windows are aligned to the epoch.
const WINDOW_SECONDS: i64 = 3 * 60 * 60;
const PAGE_DEFAULT: usize = 20;
const PAGE_MAX: usize = 40;
/// The account's id: of the form, and made before every status.
const ACCOUNT_ID: &str = "109348684220931874";

/// The server.
#[derive(Debug)]
pub(crate) struct Mastodon {
    identity: Identity,
    statuses: BTreeMap<u64, Status>,
    last_id: u64,
    media: BTreeMap<u64, Attachment>,
    keys: BTreeMap<String, (u64, Timestamp)>,
    /// When statuses were made or edited: what the rate limit counts.
    written: Vec<Timestamp>,
}

/// A status.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Status {
    id: u64,
    #[serde(with = "wire_time")]
    created_at: Timestamp,
    edited_at: Option<String>,
    fields: Fields,
}

/// What changes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub(crate) enum Effect {
    /// A status was made.
    Posted { status: Status, key: Option<String> },
    /// A status was edited.
    Edited {
        status: Status,
        #[serde(with = "wire_time")]
        at: Timestamp,
    },
    /// A picture was uploaded, or has another description.
    Uploaded { attachment: Attachment },
    /// A status was deleted.
    Deleted { id: u64 },
}

/// Where a request goes.
enum Route {
    Verify,
    InstanceV1,
    InstanceV2,
    Media,
    Medium(String),
    Statuses,
    Status(String),
    Source(String),
    Account(String),
    AccountStatuses(String),
}

impl Route {
    fn of(request: &Request) -> Option<Self> {
        let segments = request.segments();
        let segments: Vec<_> = segments.iter().map(String::as_str).collect();
        match segments.as_slice() {
            ["api", "v1", "accounts", "verify_credentials"] => Some(Self::Verify),
            ["api", "v1", "instance"] => Some(Self::InstanceV1),
            ["api", "v2", "instance"] => Some(Self::InstanceV2),
            ["api", "v1" | "v2", "media"] => Some(Self::Media),
            ["api", "v1", "media", id] => Some(Self::Medium((*id).to_owned())),
            ["api", "v1", "statuses"] => Some(Self::Statuses),
            ["api", "v1", "statuses", id] => Some(Self::Status((*id).to_owned())),
            ["api", "v1", "statuses", id, "source"] => Some(Self::Source((*id).to_owned())),
            ["api", "v1", "accounts", id] => Some(Self::Account((*id).to_owned())),
            ["api", "v1", "accounts", id, "statuses"] => {
                Some(Self::AccountStatuses((*id).to_owned()))
            }
            _ => None,
        }
    }
}

impl Mastodon {
    /// Makes a server with one account and no status.
    pub(crate) fn new(identity: Identity) -> Self {
        Self {
            identity,
            statuses: BTreeMap::new(),
            last_id: 0,
            media: BTreeMap::new(),
            keys: BTreeMap::new(),
            written: Vec::new(),
        }
    }

    fn route(&self, request: &Request, now: Timestamp, checks: Checks) -> Answer<Effect> {
        let Some(route) = Route::of(request) else {
            return error(404, "Not Found").into();
        };
        let signed_in = match authorize(request) {
            Ok(signed_in) => signed_in,
            Err(reply) => return reply.into(),
        };
        match (request.method.as_str(), route) {
            ("GET", Route::InstanceV1) => Reply::json(200, &self.instance_v1()).into(),
            ("GET", Route::InstanceV2) => Reply::json(200, &self.instance_v2()).into(),
            ("GET", Route::AccountStatuses(id)) => self.list(request, &id, signed_in).into(),
            ("GET", Route::Account(id)) if id == ACCOUNT_ID => {
                Reply::json(200, &self.account()).into()
            }
            ("GET", Route::Account(_)) => not_found().into(),
            ("GET", Route::Status(id)) => match self.status(&id) {
                Some(status) => Reply::json(200, &self.show(status)).into(),
                None => not_found().into(),
            },
            (
                "GET" | "POST" | "PUT" | "DELETE",
                Route::Verify
                | Route::Media
                | Route::Medium(_)
                | Route::Statuses
                | Route::Status(_)
                | Route::Source(_),
            ) if signed_in == SignedIn::No => unauthorized(NO_USER).into(),
            ("GET", Route::Verify) => Reply::json(200, &self.credential_account()).into(),
            ("GET", Route::Source(id)) => match self.status(&id) {
                Some(status) => Reply::json(200, &source(status)).into(),
                None => not_found().into(),
            },
            ("POST", Route::Media) => self.upload(request),
            ("GET", Route::Medium(id)) => {
                let found = id.parse().ok().and_then(|id: u64| self.media.get(&id));
                found
                    .map_or_else(not_found, |found| Reply::json(200, &self.show_media(found)))
                    .into()
            }
            ("POST", Route::Statuses) => self.post(request, now, checks),
            ("PUT", Route::Status(id)) => self.edit(request, &id, now),
            ("DELETE", Route::Status(id)) => self.delete(&id),
            (_, _) => error(405, "Method Not Allowed").into(),
        }
    }

    fn post(&self, request: &Request, now: Timestamp, checks: Checks) -> Answer<Effect> {
        let key = request
            .header("idempotency-key")
            .filter(|key| !key.is_empty())
            .map(str::to_owned);
        let known = key
            .as_ref()
            .filter(|_| checks == Checks::Due)
            .and_then(|key| self.keys.get(key))
            .filter(|(_, at)| now.since(*at) < KEY_LIFETIME);
        if let Some((id, _)) = known {
            // The key outlives its status: what was deleted within the hour is "not found", not posted again.
            return match self.statuses.get(id) {
                Some(status) => Reply::json(200, &self.show(status)).into(),
                None => not_found().into(),
            };
        }
        let fields = match Fields::read(request, &Fields::default()).and_then(|fields| {
            self.validate(&fields)?;
            self.check_media(&fields, None)?;
            Ok(fields)
        }) {
            Ok(fields) => fields,
            Err(reply) => return reply.into(),
        };
        if self.written_in_window(now) >= WRITES_MAX {
            return error(429, "Too many requests").into();
        }
        let status = Status {
            id: self.next_id(now),
            created_at: now,
            edited_at: None,
            fields,
        };
        Answer {
            reply: Reply::json(200, &self.show(&status)),
            effects: vec![Effect::Posted { status, key }],
        }
    }

    fn edit(&self, request: &Request, id: &str, now: Timestamp) -> Answer<Effect> {
        let Some(status) = self.status(id) else {
            return not_found().into();
        };
        let fields = match Fields::edited(request, &status.fields).and_then(|fields| {
            self.validate(&fields)?;
            self.check_media(&fields, Some(status.id))?;
            Ok(fields)
        }) {
            Ok(fields) => fields,
            Err(reply) => return reply.into(),
        };
        let is_marked = status.fields.sensitive || !status.fields.spoiler_text.is_empty();
        let standing = Fields {
            sensitive: is_marked,
            ..status.fields.clone()
        };
        let mended = self.mended(request, &fields);
        if fields == standing && mended.is_empty() {
            return Reply::json(200, &self.show(status)).into();
        }
        if self.written_in_window(now) >= WRITES_MAX {
            return error(429, "Too many requests").into();
        }
        let status = Status {
            edited_at: Some(now.to_string()),
            fields,
            ..status.clone()
        };
        let reply = Reply::json(200, &self.show_mended(&status, &mended));
        let mut effects: Vec<_> = mended
            .into_iter()
            .map(|attachment| Effect::Uploaded { attachment })
            .collect();
        effects.push(Effect::Edited { status, at: now });
        Answer { reply, effects }
    }

    fn delete(&self, id: &str) -> Answer<Effect> {
        let Some(status) = self.status(id) else {
            return not_found().into();
        };
        let mut shown = self.show(status);
        if let Value::Object(fields) = &mut shown {
            fields.insert("text".to_owned(), json!(status.fields.text));
        }
        Answer {
            reply: Reply::json(200, &shown),
            effects: vec![Effect::Deleted { id: status.id }],
        }
    }

    fn validate(&self, fields: &Fields) -> Result<(), Reply> {
        let blank = fields.text.trim().is_empty() && fields.spoiler_text.trim().is_empty();
        let problem = if blank {
            "Validation failed: Text can't be blank".to_owned()
        } else if counted_length(fields) > CHARACTERS_MAX {
            format!("Validation failed: Text character limit of {CHARACTERS_MAX} exceeded")
        } else if fields
            .in_reply_to
            .is_some_and(|id| !self.statuses.contains_key(&id))
        {
            return Err(error(
                404,
                "The post you are trying to reply to does not appear to exist.",
            ));
        } else {
            return Ok(());
        };
        Err(error(422, &problem))
    }

    fn list(&self, request: &Request, account: &str, signed_in: SignedIn) -> Reply {
        if account != ACCOUNT_ID {
            return not_found();
        }
        let number = |name: &str| {
            request
                .parameter(name)
                .and_then(|id| id.parse::<u64>().ok())
        };
        let truth = |name: &str| request.parameter(name).is_some_and(|value| is_true(&value));
        let limit = request
            .parameter("limit")
            .and_then(|limit| limit.parse::<usize>().ok())
            .filter(|limit| *limit > 0)
            .map_or(PAGE_DEFAULT, |limit| limit.min(PAGE_MAX));
        let oldest = number("since_id").max(number("min_id")).unwrap_or(0);
        let newest = number("max_id").unwrap_or(u64::MAX);
        // `exclude_replies` keeps replies to oneself, and others' posts can't be answered here.
        let none = truth("pinned") || truth("only_media");
        let mut page: Vec<_> = self
            .statuses
            .values()
            .filter(|status| !none && status.id > oldest && status.id < newest)
            .filter(|status| signed_in == SignedIn::Yes || status.is_public())
            .collect();
        if number("min_id").is_some() {
            // `min_id` is the page just above, `since_id` the newest page down to it.
            page.truncate(limit);
            page.reverse();
        } else {
            page.reverse();
            page.truncate(limit);
        }
        let shown: Vec<_> = page.iter().map(|status| self.show(status)).collect();
        let reply = Reply::json(200, &Value::Array(shown));
        let reply = match self.link(request, &page, limit) {
            Some(link) => reply.with("Link", link),
            None => reply,
        };
        match signed_in {
            SignedIn::Yes => reply.with("Cache-Control", "private, no-store"),
            SignedIn::No => reply.with(
                "Cache-Control",
                "public, max-age=15, stale-while-revalidate=30, stale-if-error=86400",
            ),
        }
    }

    fn link(&self, request: &Request, page: &[&Status], limit: usize) -> Option<String> {
        let kept: Vec<_> = url::form_urlencoded::parse(request.query.as_bytes())
            .filter(|(name, _)| !matches!(name.as_ref(), "max_id" | "since_id" | "min_id"))
            .collect();
        let link = |name: &str, id: u64, relation: &str| {
            let query = url::form_urlencoded::Serializer::new(String::new())
                .extend_pairs(&kept)
                .append_pair(name, &id.to_string())
                .finish();
            let Self { identity, .. } = self;
            format!(
                "<{}{}?{query}>; rel=\"{relation}\"",
                identity.url, request.path
            )
        };
        let newest = page.first()?;
        let oldest = page.last()?;
        let previous = link("min_id", newest.id, "prev");
        Some(if page.len() == limit {
            format!("{}, {previous}", link("max_id", oldest.id, "next"))
        } else {
            previous
        })
    }

    fn status(&self, id: &str) -> Option<&Status> {
        self.statuses.get(&id.parse().ok()?)
    }

    /// Returns a snowflake: the time, with a counter where the real ones have random bits.
    fn next_id(&self, now: Timestamp) -> u64 {
        let by_time = u64::try_from(now.as_millis()).unwrap_or(0) << 16;
        by_time.max(self.last_id + 1)
    }

    fn written_in_window(&self, now: Timestamp) -> usize {
        let window = |time: Timestamp| time.as_millis().div_euclid(WINDOW_SECONDS * 1000);
        self.written
            .iter()
            .filter(|at| window(**at) == window(now))
            .count()
    }

    fn limited(&self, reply: Reply, now: Timestamp, written: usize) -> Reply {
        let remaining = WRITES_MAX.saturating_sub(self.written_in_window(now) + written);
        let window = now.as_millis().div_euclid(WINDOW_SECONDS * 1000);
        let reset = Timestamp::from_millis((window + 1) * WINDOW_SECONDS * 1000);
        limit_fields(reply, remaining, reset)
    }
}

impl Service for Mastodon {
    type Effect = Effect;

    fn is_write(request: &Request) -> bool {
        match Route::of(request) {
            Some(Route::Statuses) => request.method == "POST",
            Some(Route::Status(_)) => matches!(request.method.as_str(), "PUT" | "DELETE"),
            Some(
                Route::Verify
                | Route::InstanceV1
                | Route::InstanceV2
                | Route::Media
                | Route::Medium(_)
                | Route::Source(_)
                | Route::Account(_)
                | Route::AccountStatuses(_),
            )
            | None => false,
        }
    }

    fn key(request: &Request) -> Option<String> {
        request.header("idempotency-key").map(str::to_owned)
    }

    fn answer(&self, request: &Request, now: Timestamp, checks: Checks) -> Answer<Effect> {
        let answer = self.route(request, now, checks);
        let written = answer
            .effects
            .iter()
            .filter(|effect| matches!(effect, Effect::Posted { .. } | Effect::Edited { .. }))
            .count();
        Answer {
            reply: self.limited(answer.reply, now, written),
            effects: answer.effects,
        }
    }

    fn apply(&mut self, effect: Effect) {
        match effect {
            Effect::Posted { status, key } => {
                self.last_id = self.last_id.max(status.id);
                self.written.push(status.created_at);
                if let Some(key) = key {
                    self.keys.insert(key, (status.id, status.created_at));
                }
                self.statuses.insert(status.id, status);
            }
            Effect::Edited { status, at } => {
                self.written.push(at);
                self.statuses.insert(status.id, status);
            }
            Effect::Uploaded { attachment } => {
                self.media.insert(attachment.id, attachment);
            }
            Effect::Deleted { id } => {
                self.statuses.remove(&id);
            }
        }
    }

    fn fail(&self, failure: Failure, now: Timestamp) -> Reply {
        let reply = match failure.code {
            200..=399 => Reply::json(failure.code, &json!({})),
            429 => error(429, "Too many requests"),
            503 => error(
                503,
                "There was a temporary problem serving your request, please try again",
            ),
            500..=599 => error(failure.code, "This page is not correct"),
            code => error(code, "Bad Request"),
        };
        // The real service has no Retry-After; it says when the limit is lifted.
        let reply = match failure.retry_after {
            Some(seconds) => reply.with("Retry-After", seconds.to_string()),
            None => reply,
        };
        if failure.code == 429 {
            let wait = Duration::from_secs(failure.retry_after.unwrap_or(60));
            limit_fields(reply, 0, now.plus(wait))
        } else {
            self.limited(reply, now, 0)
        }
    }

    fn posts(&self) -> Vec<SandboxPost> {
        self.statuses
            .values()
            .map(|status| SandboxPost {
                channel: self.identity.channel.clone(),
                canonical_url: text::article_link(
                    text::links(&status.fields.text),
                    &self.identity.site_host,
                ),
                id: status.id.to_string(),
                url: self.status_url(status.id),
                title_or_text: status.fields.text.clone(),
                pictures: self.descriptions(status),
                created_at: status.created_at,
                times: 1,
                draft: false,
            })
            .collect()
    }
}

impl Status {
    fn is_public(&self) -> bool {
        matches!(self.fields.visibility.as_str(), "public" | "unlisted")
    }
}

/// Whether a request carries the account's token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SignedIn {
    Yes,
    No,
}

const NO_USER: &str = "This method requires an authenticated user";

fn authorize(request: &Request) -> Result<SignedIn, Reply> {
    match request.bearer() {
        None => Ok(SignedIn::No),
        Some(ACCESS_TOKEN) => Ok(SignedIn::Yes),
        Some(_) => Err(unauthorized("The access token is invalid").with(
            "WWW-Authenticate",
            "Bearer realm=\"Doorkeeper\", error=\"invalid_token\", error_description=\"The access token is invalid\"",
        )),
    }
}

fn unauthorized(message: &str) -> Reply {
    error(401, message)
}

fn not_found() -> Reply {
    error(404, "Record not found")
}

fn error(status: u16, message: &str) -> Reply {
    Reply::json(status, &json!({ "error": message }))
}

fn limit_fields(reply: Reply, remaining: usize, reset: Timestamp) -> Reply {
    reply
        .with("X-RateLimit-Limit", WRITES_MAX.to_string())
        .with("X-RateLimit-Remaining", remaining.to_string())
        .with(
            "X-RateLimit-Reset",
            reset
                .to_chrono()
                .format("%Y-%m-%dT%H:%M:%S%.6fZ")
                .to_string(),
        )
}
