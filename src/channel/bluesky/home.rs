//! Finding the server that keeps an account: from its handle to its DID, to its document, to its server.
//!
//! Invariant: these are reads without any secret, and what strangers name in them is https on the public net; this
//! machine only where the configuration's own resolver and directory are on it.

use std::time::Duration;

use serde_json::Value;
use ureq::http::header::ACCEPT;
use url::Url;

use super::did::{Reach, document_url, is_did, server_of, well_known};
use super::{Bluesky, closed, xrpc};
use crate::channel::answer::Answer;
use crate::channel::common::Closed;
use crate::channel::http::{Request, is_loopback};
use crate::model::outcome::Trouble;

/// The most that one of the reads may take: the login after them has to fit into the same timeout.
const LOOK_TIME_MAX: Duration = Duration::from_secs(8);

/// Bluesky's own servers, which log nobody in: their accounts do so at [`ENTRYWAY`].
const HOSTED_BELOW: &str = ".host.bsky.network";
const ENTRYWAY: &str = "https://bsky.social/";

/// What the configuration says of where an account is.
#[derive(Clone, Debug)]
pub(crate) struct Whereabouts {
    /// The server that logs it in; none: it is looked for.
    pub(crate) service: Option<Url>,
    /// Who knows the DID of a handle.
    pub(crate) resolver: Url,
    /// Who knows the document of a `did:plc`.
    pub(crate) plc_directory: Url,
}

/// Where an account was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Home {
    pub(super) did: String,
    /// The server that keeps the records.
    pub(super) server: Url,
}

impl Home {
    /// Returns the server that logs the account in.
    pub(super) fn entrance(&self) -> Url {
        let is_hosted = self
            .server
            .domain()
            .is_some_and(|name| name.ends_with(HOSTED_BELOW));
        if is_hosted {
            Url::parse(ENTRYWAY).expect("the constant is a URL")
        } else {
            self.server.clone()
        }
    }

    /// Says it in words.
    pub(super) fn tell(&self) -> String {
        let (server, entrance) = (self.server.as_str(), self.entrance());
        let server = server.trim_end_matches('/');
        if entrance == self.server {
            return server.to_owned();
        }
        let entrance = entrance.as_str().trim_end_matches('/');
        format!("{server}, logged in at {entrance}")
    }
}

impl Whereabouts {
    /// A configuration that finds accounts by this machine's servers is one of a network on this machine.
    fn reach(&self) -> Reach {
        if is_loopback(&self.resolver) && is_loopback(&self.plc_directory) {
            Reach::ThisMachine
        } else {
            Reach::Public
        }
    }

    /// Whether a wrong server may be looked into: what is on this machine asks nobody outside.
    pub(super) fn may_explain(&self, service: &Url) -> bool {
        !is_loopback(service) || self.reach() == Reach::ThisMachine
    }
}

impl Bluesky {
    /// Returns where the account is. It is looked for once.
    pub(super) fn home(&mut self) -> Result<Home, Closed> {
        if let Some(home) = &self.home {
            return Ok(home.clone());
        }
        let home = self.find_home()?;
        self.distrust(&home.server);
        self.home = Some(home.clone());
        Ok(home)
    }

    /// Says where an account is that the configured server did not log in, if that is somewhere else.
    pub(super) fn elsewhere(&mut self, service: &Url) -> Option<String> {
        if !self.whereabouts.may_explain(service) {
            return None;
        }
        let home = self.find_home().ok()?;
        let is_there = [&home.server, &home.entrance()]
            .iter()
            .any(|known| known.origin() == service.origin());
        (!is_there).then(|| {
            let server = home.entrance();
            format!(
                "{} is at {}: leave `service` out, or name that",
                self.identifier,
                server.as_str().trim_end_matches('/')
            )
        })
    }

    fn find_home(&mut self) -> Result<Home, Closed> {
        let did = if self.identifier.starts_with("did:") {
            self.identifier.clone()
        } else {
            self.did_of_handle()?
        };
        let document = self.document_of(&did)?;
        let handle = (did != self.identifier).then_some(self.identifier.as_str());
        let found = server_of(&document, &did, handle, self.whereabouts.reach());
        let server = found.map_err(|reason| {
            let reason = self.http.scrubber().line(&reason);
            closed(Trouble::Credentials, reason)
        })?;
        Ok(Home { did, server })
    }

    /// Asks the resolver, which reads the DNS record and the file as the protocol orders them, and then the account's own
    /// site: it answers for itself when the resolver is away.
    fn did_of_handle(&mut self) -> Result<String, Closed> {
        let handle = self.identifier.to_ascii_lowercase();
        let mut url = xrpc(
            &self.whereabouts.resolver,
            "com.atproto.identity.resolveHandle",
        );
        url.query_pairs_mut().append_pair("handle", &handle);
        let trouble = match self.look(&Request::get(url)) {
            Ok(answer) if answer.status == 200 => match did_in(&answer) {
                Some(did) => return Ok(did),
                None => Some(self.unreachable(&answer)),
            },
            // The resolver's own words for a handle that nobody has.
            Ok(answer) if answer.status == 400 && answer.json_error().is_some() => None,
            Ok(answer) => Some(self.unreachable(&answer)),
            Err(reason) => Some(closed(Trouble::Unreachable, reason)),
        };
        let file = well_known(&handle);
        if let Some(file) = &file {
            let request = Request::get(file.clone()).header(ACCEPT, "text/plain");
            let answer = self.look(&request).ok();
            let text = answer
                .filter(|answer| answer.status == 200 && answer.body_complete)
                .and_then(|answer| String::from_utf8(answer.body).ok());
            // A site may answer every address with a page.
            if let Some(did) = text.as_deref().map(str::trim).filter(|did| is_did(did)) {
                return Ok(did.to_owned());
            }
        }
        let file = file.map_or_else(String::new, |file| format!(", or {file}"));
        Err(trouble.unwrap_or_else(|| {
            closed(
                Trouble::Credentials,
                format!(
                    "the handle `{handle}` leads to no account: check its spelling, its DNS record `_atproto.{handle}`{file}"
                ),
            )
        }))
    }

    fn document_of(&mut self, did: &str) -> Result<Value, Closed> {
        let url = document_url(
            did,
            &self.whereabouts.plc_directory,
            self.whereabouts.reach(),
        )
        .map_err(|reason| {
            let reason = self.http.scrubber().line(&reason);
            closed(Trouble::Credentials, reason)
        })?;
        self.distrust(&url);
        let answer = self
            .look(&Request::get(url.clone()))
            .map_err(|reason| closed(Trouble::Unreachable, reason))?;
        match answer.status {
            200 => answer
                .json()
                .filter(Value::is_object)
                .ok_or_else(|| self.unreachable(&answer)),
            404 | 410 => Err(closed(
                Trouble::Credentials,
                format!("{did} is no account: {url} answers HTTP {}", answer.status),
            )),
            _ => Err(self.unreachable(&answer)),
        }
    }

    fn look(&mut self, request: &Request) -> Result<Answer, String> {
        self.http.send_within(request, LOOK_TIME_MAX).of_read()
    }

    /// Whoever helps to find the account has no say on its credentials.
    fn unreachable(&self, answer: &Answer) -> Closed {
        let trouble = if answer.status == 429 {
            Trouble::RateLimited(answer.wait())
        } else {
            Trouble::Unreachable
        };
        closed(trouble, self.http.describe(answer))
    }

    /// What strangers name is reached on the public net only; what the configuration names too is as good as named there.
    fn distrust(&self, named: &Url) {
        let Whereabouts {
            service,
            resolver,
            plc_directory,
        } = &self.whereabouts;
        let configured = [Some(resolver), Some(plc_directory), service.as_ref()];
        let own_site = well_known(&self.identifier);
        let is_configured = configured
            .into_iter()
            .flatten()
            .chain(&own_site)
            .any(|known| known.host() == named.host());
        if !is_configured && !is_loopback(named) {
            self.http.distrust(named);
        }
    }
}

fn did_in(answer: &Answer) -> Option<String> {
    let found = answer.json()?;
    let did = found.get("did")?.as_str()?;
    is_did(did).then(|| did.to_owned())
}
