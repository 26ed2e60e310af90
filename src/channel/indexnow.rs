//! IndexNow: tells search engines which addresses are new. One `POST` for any number of them.
//!
//! Nothing can be read back and there is no receipt, and a repeat is harmless: the status alone is the acceptance.

use serde_json::json;
use url::Url;

use super::Channel;
use super::answer::Answer;
use super::common::{cannot_tell, refused};
use super::http::{Fence, Http, Request};
use crate::model::claim::{Claim, PushedClaim};
use crate::model::ids::Account;
use crate::model::outcome::{
    Evidence, Listing, Lookup, Opening, Outcome, Refusal, Remote, Session,
};
use crate::model::time::Timestamp;

const UNREADABLE: &str = "IndexNow has nothing that could be read back";

/// One engine, one site.
#[derive(Debug)]
pub(crate) struct IndexNow {
    http: Http,
    endpoint: Url,
    host: String,
    key: String,
    key_location: String,
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
            key_location: key_location.into(),
        }
    }

    /// Each code of the protocol's own table but the two that accept says that nothing was done.
    fn outcome(&self, answer: &Answer) -> Outcome {
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
            403 => refused(Refusal::Temporary(None), reason),
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
            text_limit: None,
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
        let body = json!({
            "host": self.host,
            "key": self.key,
            "keyLocation": self.key_location,
            "urlList": urls,
        });
        let request = Request::write(self.endpoint.clone(), &body, fence);
        match self.http.send(&request).of_write() {
            Ok(answer) => self.outcome(&answer),
            Err(outcome) => outcome,
        }
    }

    fn lookup(&mut self, _claim: &Claim) -> Lookup {
        cannot_tell(UNREADABLE)
    }
}
