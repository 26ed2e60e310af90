//! The stand-in of an AT Protocol server (a PDS) with one account, and of the directory that has its document.
//!
//! Its repository takes client-chosen record keys: with `swapRecord: null` a `putRecord` creates or changes nothing.

mod account;
mod cbor;
mod cid;
mod record;
mod repo;
mod session;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::record::POST;
use self::session::Scope;
use super::journal::wire_time;
use super::message::{Reply, Request};
use super::service::{Answer, Checks, Failure, Identity, SandboxPost, Service};
use super::text;
use crate::model::time::Timestamp;

/// The app password that this server accepts, in the form that the service gives out.
pub(crate) const APP_PASSWORD: &str = "rehe-arsa-lpas-swrd";

/// Points an hour: creating costs 3, updating 2, deleting 1.
const POINTS_MAX: u64 = 5000;
const POINTS_WINDOW: Duration = Duration::from_hours(1);
const LOGINS_MAX: u64 = 30;
const LOGINS_WINDOW: Duration = Duration::from_mins(5);

/// The server.
#[derive(Debug)]
pub(crate) struct Bluesky {
    identity: Identity,
    did: String,
    /// The handle of the last login: the stand-in is whoever the user is.
    handle: String,
    records: BTreeMap<RecordKey, Stored>,
    blobs: BTreeMap<String, Blob>,
    commits: u64,
    last_revision: u64,
    points: Vec<(Timestamp, u64)>,
    logins: Vec<Timestamp>,
}

/// Where a record lies in the repository.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct RecordKey {
    collection: String,
    rkey: String,
}

#[derive(Clone, Debug)]
struct Stored {
    cid: String,
    value: Value,
    at: Timestamp,
}

#[derive(Clone, Debug)]
struct Blob {
    mime_type: String,
    size: u64,
    /// Whether a record named it: what it is was held against its upload then, and never again.
    is_named: bool,
}

/// What changes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub(crate) enum Effect {
    /// Somebody tried to log in; a handle stands here if it worked.
    Login {
        #[serde(with = "wire_time")]
        at: Timestamp,
        handle: Option<String>,
    },
    /// Somebody asked for a handle before anybody logged in.
    Named { handle: String },
    /// A blob was uploaded.
    Uploaded {
        cid: String,
        mime_type: String,
        size: u64,
    },
    /// A record was written.
    Put {
        key: RecordKey,
        cid: String,
        value: Value,
        revision: u64,
        #[serde(with = "wire_time")]
        at: Timestamp,
    },
    /// A record was deleted.
    Deleted { key: RecordKey, revision: u64 },
    /// Points were used up.
    Spent {
        #[serde(with = "wire_time")]
        at: Timestamp,
        points: u64,
    },
}

/// A method of the API that this server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    CreateSession,
    RefreshSession,
    GetSession,
    DescribeServer,
    ResolveHandle,
    GetRecord,
    ListRecords,
    CreateRecord,
    PutRecord,
    DeleteRecord,
    UploadBlob,
}

impl Method {
    fn of(name: &str) -> Option<Self> {
        match name {
            "com.atproto.server.createSession" => Some(Self::CreateSession),
            "com.atproto.server.refreshSession" => Some(Self::RefreshSession),
            "com.atproto.server.getSession" => Some(Self::GetSession),
            "com.atproto.server.describeServer" => Some(Self::DescribeServer),
            "com.atproto.identity.resolveHandle" => Some(Self::ResolveHandle),
            "com.atproto.repo.getRecord" => Some(Self::GetRecord),
            "com.atproto.repo.listRecords" => Some(Self::ListRecords),
            "com.atproto.repo.createRecord" => Some(Self::CreateRecord),
            "com.atproto.repo.putRecord" => Some(Self::PutRecord),
            "com.atproto.repo.deleteRecord" => Some(Self::DeleteRecord),
            "com.atproto.repo.uploadBlob" => Some(Self::UploadBlob),
            _ => None,
        }
    }

    fn http_method(self) -> &'static str {
        match self {
            Self::GetSession
            | Self::DescribeServer
            | Self::ResolveHandle
            | Self::GetRecord
            | Self::ListRecords => "GET",
            Self::CreateSession
            | Self::RefreshSession
            | Self::CreateRecord
            | Self::PutRecord
            | Self::DeleteRecord
            | Self::UploadBlob => "POST",
        }
    }

    /// What a write costs; none for what is not one.
    fn points(self) -> Option<u64> {
        match self {
            Self::CreateRecord => Some(3),
            Self::PutRecord => Some(2),
            Self::DeleteRecord => Some(1),
            Self::CreateSession
            | Self::RefreshSession
            | Self::GetSession
            | Self::DescribeServer
            | Self::ResolveHandle
            | Self::GetRecord
            | Self::ListRecords
            | Self::UploadBlob => None,
        }
    }
}

/// An error reply, so that `?` leaves with it.
type Refusal = Reply;

impl Bluesky {
    /// Makes a server whose account has an empty repository.
    pub(crate) fn new(identity: Identity) -> Self {
        let handle = identity.public_host();
        Self {
            did: cid::did(identity.channel.as_str()),
            identity,
            handle,
            records: BTreeMap::new(),
            blobs: BTreeMap::new(),
            commits: 0,
            last_revision: 0,
            points: Vec::new(),
            logins: Vec::new(),
        }
    }

    fn route(&self, request: &Request, now: Timestamp) -> Result<Answer<Effect>, Refusal> {
        if request.path == "/xrpc/_health" {
            return Ok(Reply::json(200, &json!({ "version": "0.4.217" })).into());
        }
        if request.method == "GET" && request.path.strip_prefix('/') == Some(&self.did) {
            return Ok(Reply::json(200, &self.document()).into());
        }
        let Some(name) = request.path.strip_prefix("/xrpc/") else {
            return Err(error(404, "NotFound", "Not Found"));
        };
        let Some(method) = Method::of(name) else {
            return Err(error(501, "MethodNotImplemented", "Method Not Implemented"));
        };
        if request.method != method.http_method() {
            let message = format!(
                "Incorrect HTTP method ({}) expected {}",
                request.method,
                method.http_method()
            );
            return Err(error(405, "InvalidRequest", &message));
        }
        match method {
            Method::CreateSession => Ok(self.create_session(request, now)),
            Method::RefreshSession => self.refresh_session(request, now),
            Method::GetSession => {
                self.authorize(request, Scope::Access, now)?;
                Ok(Reply::json(200, &Value::Object(self.account())).into())
            }
            Method::DescribeServer => Ok(Reply::json(200, &self.describe_server()).into()),
            Method::ResolveHandle => self.resolve_handle(request),
            Method::GetRecord => self.get_record(request),
            Method::ListRecords => self.list_records(request),
            Method::CreateRecord => self.write(request, now, Self::create_record),
            Method::PutRecord => self.write(request, now, Self::put_record),
            Method::DeleteRecord => self.write(request, now, Self::delete_record),
            Method::UploadBlob => self.upload_blob(request, now),
        }
    }

    fn spent(&self, now: Timestamp) -> u64 {
        self.points
            .iter()
            .filter(|(at, _)| now.since(*at) < POINTS_WINDOW)
            .map(|(_, points)| points)
            .sum()
    }

    fn points_limit(&self, now: Timestamp) -> Limit {
        let first = self
            .points
            .iter()
            .map(|(at, _)| *at)
            .find(|at| now.since(*at) < POINTS_WINDOW);
        Limit {
            max: POINTS_MAX,
            window: POINTS_WINDOW,
            reset: first.unwrap_or(now).plus(POINTS_WINDOW),
        }
    }
}

impl Service for Bluesky {
    type Effect = Effect;

    fn is_write(request: &Request) -> bool {
        request.method == "POST" && write_points(request).is_some()
    }

    fn key(request: &Request) -> Option<String> {
        write_points(request)?;
        let body = request.json()?;
        body.get("rkey")?.as_str().map(str::to_owned)
    }

    fn answer(&self, request: &Request, now: Timestamp, _checks: Checks) -> Answer<Effect> {
        // A repository has one writer at a time: also a slow write is decided when it is stored.
        let Some(points) = write_points(request) else {
            return self.route(request, now).unwrap_or_else(Answer::from);
        };
        let limit = self.points_limit(now);
        let spent = self.spent(now) + points;
        if spent > POINTS_MAX {
            return limit.refuse(now).into();
        }
        match self.route(request, now) {
            Ok(mut answer) => {
                answer.effects.push(Effect::Spent { at: now, points });
                answer.reply = limit.show(answer.reply, POINTS_MAX - spent);
                answer
            }
            Err(refusal) => limit.show(refusal, POINTS_MAX - spent).into(),
        }
    }

    fn apply(&mut self, effect: Effect) {
        match effect {
            Effect::Login { at, handle } => {
                self.logins.push(at);
                if let Some(handle) = handle {
                    self.handle = handle;
                }
            }
            Effect::Named { handle } => self.handle = handle,
            Effect::Uploaded {
                cid,
                mime_type,
                size,
            } => {
                // What the first upload said stays.
                self.blobs.entry(cid).or_insert(Blob {
                    mime_type,
                    size,
                    is_named: false,
                });
            }
            Effect::Put {
                key,
                cid,
                value,
                revision,
                at,
            } => {
                self.commits += 1;
                self.last_revision = revision;
                self.name_blobs(&value);
                if let Some(old) = self.records.insert(key, Stored { cid, value, at }) {
                    self.drop_blobs(&old.value);
                }
            }
            Effect::Deleted { key, revision } => {
                self.commits += 1;
                self.last_revision = revision;
                if let Some(old) = self.records.remove(&key) {
                    self.drop_blobs(&old.value);
                }
            }
            Effect::Spent { at, points } => self.points.push((at, points)),
        }
    }

    fn fail(&self, failure: Failure, now: Timestamp) -> Reply {
        let (name, message) = match failure.code {
            200..=399 => return Reply::json(failure.code, &json!({})),
            401 => ("AuthenticationRequired", "Authentication Required"),
            403 => ("Forbidden", "Forbidden"),
            413 => ("PayloadTooLarge", "request entity too large"),
            429 => ("RateLimitExceeded", "Rate Limit Exceeded"),
            501 => ("MethodNotImplemented", "Method Not Implemented"),
            502 => ("UpstreamFailure", "Upstream Failure"),
            503 => ("NotEnoughResources", "Not Enough Resources"),
            504 => ("UpstreamTimeout", "Upstream Timeout"),
            500..=599 => ("InternalServerError", "Internal Server Error"),
            _ => ("InvalidRequest", "Invalid Request"),
        };
        let reply = error(failure.code, name, message);
        let limit = self.points_limit(now);
        let reply = match (failure.code, failure.retry_after) {
            (429, wait) => {
                let wait = Duration::from_secs(wait.unwrap_or(60));
                let reset = now.plus(wait);
                Limit { reset, ..limit }.show(reply, 0)
            }
            _ => limit.show(reply, POINTS_MAX.saturating_sub(self.spent(now))),
        };
        match failure.retry_after {
            Some(seconds) => reply.with("Retry-After", seconds.to_string()),
            None => reply,
        }
    }

    fn posts(&self) -> Vec<SandboxPost> {
        let mut posts: Vec<_> = self
            .records
            .iter()
            .filter(|(key, _)| key.collection == POST)
            .map(|(key, stored)| SandboxPost {
                channel: self.identity.channel.clone(),
                canonical_url: text::article_link(
                    record::links(&stored.value),
                    &self.identity.site_host,
                ),
                id: key.uri(&self.did),
                url: format!("https://bsky.app/profile/{}/post/{}", self.did, key.rkey),
                title_or_text: record::text(&stored.value).to_owned(),
                pictures: record::pictures(&stored.value),
                created_at: stored.at,
                times: 1,
                draft: false,
            })
            .collect();
        // Record keys may be back-dated.
        posts.sort_by_key(|post| post.created_at);
        posts
    }
}

/// A rate limit as the headers tell it.
#[derive(Clone, Copy, Debug)]
struct Limit {
    max: u64,
    window: Duration,
    reset: Timestamp,
}

impl Limit {
    fn show(self, reply: Reply, remaining: u64) -> Reply {
        let window = self.window.as_secs();
        reply
            .with("RateLimit-Limit", self.max.to_string())
            .with("RateLimit-Remaining", remaining.to_string())
            .with(
                "RateLimit-Reset",
                self.reset.as_millis().div_euclid(1000).to_string(),
            )
            .with("RateLimit-Policy", format!("{};w={window}", self.max))
    }

    fn refuse(self, now: Timestamp) -> Reply {
        let reply = error(429, "RateLimitExceeded", "Rate Limit Exceeded");
        let wait = self.reset.since(now).as_secs() + 1;
        self.show(reply, 0).with("Retry-After", wait.to_string())
    }
}

fn write_points(request: &Request) -> Option<u64> {
    Method::of(request.path.strip_prefix("/xrpc/")?)?.points()
}

fn invalid(message: &str) -> Refusal {
    error(400, "InvalidRequest", message)
}

fn error(status: u16, name: &str, message: &str) -> Refusal {
    Reply::json(status, &json!({ "error": name, "message": message }))
}
