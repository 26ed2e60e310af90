//! IndexNow: tells search engines which addresses are new. One is a `GET`, several of one host are a `POST`.
//!
//! Nothing can be read back and there is no receipt, and a repeat is harmless: the status alone is the acceptance.

use serde_json::json;
use ureq::http::Method;
use url::Url;

use super::Channel;
use super::answer::Answer;
use super::common::{cannot_tell, refused};
use super::http::{Fence, Http, Request};
use crate::model::claim::{Claim, PushedClaim};
use crate::model::ids::Account;
use crate::model::outcome::{
    Evidence, Listing, Lookup, Opening, Outcome, Refusal, Remote, ServerLimits, Session,
};
use crate::model::time::Timestamp;

/// Longest address that goes into a request's own address; longer ones go into a body.
const GET_URL_BYTES_MAX: usize = 2_000;

const UNREADABLE: &str = "IndexNow has nothing that could be read back";

/// One engine, one site.
#[derive(Debug)]
pub(crate) struct IndexNow {
    http: Http,
    endpoint: Url,
    host: String,
    key: String,
    key_location: Url,
}

impl IndexNow {
    /// Takes the engine's endpoint and the site's key; the key's file is at the site's top unless told otherwise.
    pub(crate) fn new(
        http: Http,
        endpoint: Url,
        site: &Url,
        key: &str,
        key_location: Option<&Url>,
    ) -> Self {
        let key_location = key_file(site, key, key_location);
        Self {
            http,
            endpoint,
            host: site.host_str().unwrap_or_default().to_owned(),
            key: key.to_owned(),
            key_location,
        }
    }

    /// Returns the host that all addresses belong to, by name; none where they belong to several. What is no address
    /// is left to the engine to refuse.
    fn host_of(&self, urls: &[&str]) -> Option<String> {
        let mut hosts = urls.iter().map(|url| {
            let host = Url::parse(url)
                .ok()
                .and_then(|url| url.host_str().map(str::to_owned));
            host.unwrap_or_else(|| self.host.clone())
        });
        let first = hosts.next()?;
        hosts.all(|host| host == first).then_some(first)
    }

    /// Returns where the key is on a host: what the configuration says is about the site's own.
    fn key_location_on(&self, host: &str) -> Url {
        if host == self.host {
            return self.key_location.clone();
        }
        let mut top = self.key_location.clone();
        // A name that was taken from an address is one that an address can have.
        if top.set_host(Some(host)).is_err() {
            return top;
        }
        key_file(&top, &self.key, None)
    }

    fn request(&self, host: &str, urls: &[&str], fence: Fence) -> Request {
        let key_location = self.key_location_on(host);
        match urls {
            [url] if url.len() <= GET_URL_BYTES_MAX => {
                let mut address = self.endpoint.clone();
                address
                    .query_pairs_mut()
                    .append_pair("url", url)
                    .append_pair("key", &self.key)
                    .append_pair("keyLocation", key_location.as_str());
                Request::any(Method::GET, address, None, Some(fence))
            }
            urls => {
                let body = json!({
                    "host": host,
                    "key": self.key,
                    "keyLocation": key_location.as_str(),
                    "urlList": urls,
                });
                Request::write(self.endpoint.clone(), &body, fence)
            }
        }
    }

    /// Each code of the protocol's own table but the two that accept says that nothing was done.
    fn outcome(&self, answer: &Answer, host: &str) -> Outcome {
        let reason = self.http.describe(answer);
        match answer.status {
            200 | 202 => Outcome::Accepted {
                remote: Remote {
                    id: None,
                    url: None,
                },
                evidence: Evidence::Response,
            },
            400 | 422 => refused(Refusal::Permanent, reason),
            // The key's file may only not be online yet.
            403 => {
                let advice = format!(
                    "is {} online, with the key and nothing else in it?",
                    self.key_location_on(host)
                );
                refused(Refusal::Temporary(None), format!("{reason} ({advice})"))
            }
            429 => refused(Refusal::RateLimited(answer.wait()), reason),
            _ => Outcome::InDoubt { reason },
        }
    }
}

/// Returns where the file with the key is: at the site's top unless told otherwise.
pub(crate) fn key_file(site: &Url, key: &str, key_location: Option<&Url>) -> Url {
    key_location.cloned().unwrap_or_else(|| {
        let mut location = site.clone();
        location.set_path(&format!("/{key}.txt"));
        location.set_query(None);
        location.set_fragment(None);
        location
    })
}

impl Channel for IndexNow {
    fn open(&mut self) -> Opening {
        let engine = self.endpoint.host_str().unwrap_or_default();
        Opening::Ready(Session {
            account: Account::new(format!("{engine}/{}", self.host)),
            limits: ServerLimits::default(),
            clock_skew: None,
        })
    }

    fn recent(&mut self, _since: Timestamp) -> Listing {
        Listing::CannotTell {
            reason: UNREADABLE.to_owned(),
        }
    }

    fn publish(&mut self, claims: &[PushedClaim]) -> Outcome {
        self.http.begin();
        let fence = Fence::of(claims, self.http.clock());
        let urls: Option<Vec<&str>> = claims
            .iter()
            .map(|pushed| pushed.claim().post.string("url"))
            .collect();
        let Some(urls) = urls else {
            return refused(
                Refusal::Permanent,
                "a post without `url` can't be sent to IndexNow".to_owned(),
            );
        };
        let Some(host) = self.host_of(&urls) else {
            return Outcome::NotSent {
                reason: "addresses of several hosts don't go into one request".to_owned(),
            };
        };
        let request = self.request(&host, &urls, fence);
        match self.http.send(&request).of_write() {
            Ok(answer) => self.outcome(&answer, &host),
            Err(outcome) => outcome,
        }
    }

    /// An address that was submitted is submitted again: that is how engines are told that it changed.
    fn update(&mut self, claim: &PushedClaim) -> Outcome {
        self.publish(std::slice::from_ref(claim))
    }

    fn lookup(&mut self, _claim: &Claim) -> Lookup {
        cannot_tell(UNREADABLE)
    }
}
