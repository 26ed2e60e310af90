//! The stand-in of an `IndexNow` endpoint: it takes URLs and counts them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::Url;

use super::journal::wire_time;
use super::message::{Reply, Request};
use super::service::{Answer, Checks, Failure, Identity, SandboxPost, Service};
use crate::model::time::Timestamp;

/// Most URLs in one submission.
const URLS_MAX: usize = 10_000;
/// Shortest and longest key.
const KEY_LENGTH: std::ops::RangeInclusive<usize> = 8..=128;

/// The endpoint.
#[derive(Debug)]
pub(crate) struct IndexNow {
    identity: Identity,
    submitted: BTreeMap<String, Submitted>,
    /// In the order of their first submission.
    order: Vec<String>,
    /// Keys whose file was fetched once.
    known_keys: BTreeSet<String>,
}

#[derive(Clone, Copy, Debug)]
struct Submitted {
    first: Timestamp,
    times: usize,
}

/// A submission that was taken.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Submission {
    key: String,
    urls: Vec<String>,
    #[serde(with = "wire_time")]
    at: Timestamp,
}

/// What a client asks for, by either method.
struct Asked {
    host: String,
    key: String,
    key_location: Option<String>,
    urls: Vec<String>,
}

/// Why nothing was taken.
enum Refusal {
    /// 400: not a submission.
    Form(&'static str),
    /// 403: the key is not this host's.
    Key(&'static str),
    /// 422: a URL or the key breaks the rules.
    Rule(String),
}

impl IndexNow {
    /// Makes an endpoint that nobody used yet.
    pub(crate) fn new(identity: Identity) -> Self {
        Self {
            identity,
            submitted: BTreeMap::new(),
            order: Vec::new(),
            known_keys: BTreeSet::new(),
        }
    }

    fn take(&self, asked: &Asked) -> Result<(), Refusal> {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if !KEY_LENGTH.contains(&asked.key.len()) || !asked.key.bytes().all(legal) {
            return Err(Refusal::Rule(
                "the key must have 8 to 128 characters of a-z, A-Z, 0-9 and -".to_owned(),
            ));
        }
        if asked.urls.is_empty() {
            return Err(Refusal::Form("urlList is empty"));
        }
        if asked.urls.len() > URLS_MAX {
            return Err(Refusal::Form("urlList has more than 10,000 URLs"));
        }
        let directory = match &asked.key_location {
            None => None,
            Some(location) => Some(key_directory(location, &asked.host).ok_or_else(|| {
                Refusal::Rule(format!("keyLocation {location} is not on the host"))
            })?),
        };
        for url in &asked.urls {
            let on_host = parse(url).is_some_and(|parsed| {
                has_host(&parsed, &asked.host)
                    && directory
                        .as_ref()
                        .is_none_or(|directory| parsed.path().starts_with(directory))
            });
            if !on_host {
                return Err(Refusal::Rule(format!("{url} does not belong to the host")));
            }
        }
        // The engine would fetch the key from the host: the rehearsed site is the only one that has it.
        if asked
            .host
            .eq_ignore_ascii_case(without_port(&self.identity.site_host))
        {
            Ok(())
        } else {
            Err(Refusal::Key("the key file was not found on the host"))
        }
    }
}

impl Service for IndexNow {
    type Effect = Submission;

    fn is_write(request: &Request) -> bool {
        let submits = request.method == "POST"
            || request.method == "GET" && request.parameter("url").is_some();
        request.path == "/indexnow" && submits
    }

    fn key(_request: &Request) -> Option<String> {
        None
    }

    fn answer(&self, request: &Request, now: Timestamp, _checks: Checks) -> Answer<Submission> {
        if request.path != "/indexnow" {
            return error(404, "NotFound", "there is nothing here").into();
        }
        let asked = match request.method.as_str() {
            "POST" => read_json(&request.body),
            "GET" => read_query(request),
            _ => {
                let reply = error(405, "MethodNotAllowed", "use GET or POST");
                return reply.with("Allow", "GET, POST").into();
            }
        };
        let taken = asked.and_then(|asked| self.take(&asked).map(|()| asked));
        match taken {
            Ok(asked) => {
                // A key that was never seen is checked later.
                let status = if self.known_keys.contains(&asked.key) {
                    200
                } else {
                    202
                };
                Answer {
                    reply: Reply::text(status, "text/plain", ""),
                    effects: vec![Submission {
                        key: asked.key,
                        urls: asked.urls,
                        at: now,
                    }],
                }
            }
            Err(Refusal::Form(message)) => error(400, "InvalidRequestParameters", message).into(),
            // The spelling is the service's own.
            Err(Refusal::Key(message)) => error(403, "UserForbiddedToAccessSite", message).into(),
            Err(Refusal::Rule(message)) => error(422, "InvalidRequestParameters", &message).into(),
        }
    }

    fn apply(&mut self, submission: Submission) {
        for url in submission.urls {
            let submitted = self.submitted.entry(url.clone()).or_insert_with(|| {
                self.order.push(url);
                Submitted {
                    first: submission.at,
                    times: 0,
                }
            });
            submitted.times += 1;
        }
        self.known_keys.insert(submission.key);
    }

    fn fail(&self, failure: Failure, _now: Timestamp) -> Reply {
        let reply = match failure.code {
            200..=399 => Reply::text(failure.code, "text/plain", ""),
            429 => error(429, "TooManyRequests", "too many requests (potential spam)"),
            500..=599 => error(failure.code, "InternalServerError", "an error has occurred"),
            _ => error(failure.code, "InvalidRequestParameters", "bad request"),
        };
        match failure.retry_after {
            Some(seconds) => reply.with("Retry-After", seconds.to_string()),
            None => reply,
        }
    }

    fn posts(&self) -> Vec<SandboxPost> {
        self.order
            .iter()
            .filter_map(|url| Some((url, self.submitted.get(url)?)))
            .map(|(url, submitted)| SandboxPost {
                pictures: Vec::new(),
                channel: self.identity.channel.clone(),
                canonical_url: Some(url.clone()),
                id: url.clone(),
                url: url.clone(),
                title_or_text: url.clone(),
                created_at: submitted.first,
                times: submitted.times,
                draft: false,
            })
            .collect()
    }
}

fn error(status: u16, code: &str, message: &str) -> Reply {
    Reply::json(
        status,
        &json!({ "errorCode": code, "message": message, "details": null }),
    )
}

fn read_json(body: &[u8]) -> Result<Asked, Refusal> {
    let body: Value =
        serde_json::from_slice(body).map_err(|_unreadable| Refusal::Form("not JSON"))?;
    let string = |field: &str| body.get(field).and_then(Value::as_str).map(str::to_owned);
    let urls = body
        .get("urlList")
        .and_then(Value::as_array)
        .and_then(|list| {
            list.iter()
                .map(|url| url.as_str().map(str::to_owned))
                .collect::<Option<Vec<_>>>()
        });
    Ok(Asked {
        host: string("host")
            .map(|host| without_port(&host).to_owned())
            .ok_or(Refusal::Form("host is missing"))?,
        key: string("key").ok_or(Refusal::Form("key is missing"))?,
        key_location: string("keyLocation"),
        urls: urls.ok_or(Refusal::Form("urlList is not a list of strings"))?,
    })
}

fn read_query(request: &Request) -> Result<Asked, Refusal> {
    let url = request
        .parameter("url")
        .ok_or(Refusal::Form("url is missing"))?;
    let host = parse(&url)
        .and_then(|url| url.host_str().map(str::to_owned))
        .ok_or_else(|| Refusal::Rule(format!("{url} is not a URL")))?;
    Ok(Asked {
        host,
        key: request
            .parameter("key")
            .ok_or(Refusal::Form("key is missing"))?,
        key_location: request.parameter("keyLocation"),
        urls: vec![url],
    })
}

fn parse(url: &str) -> Option<Url> {
    Url::parse(url)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https"))
}

fn has_host(url: &Url, host: &str) -> bool {
    url.host_str()
        .is_some_and(|own| own.eq_ignore_ascii_case(host))
}

/// A site on a port of its own is still the same host.
fn without_port(host: &str) -> &str {
    host.split(':').next().unwrap_or(host)
}

/// A key file answers only for what lies in its own directory and below.
fn key_directory(location: &str, host: &str) -> Option<String> {
    let url = parse(location).filter(|url| has_host(url, host))?;
    let (directory, _file) = url.path().rsplit_once('/')?;
    Some(format!("{directory}/"))
}
