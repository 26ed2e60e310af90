//! The last look at what an adapter read off a service, before it can reach a row, a commit or a report.
//!
//! Invariant: no id, address, account or reason leaves here with a control character (a terminal would obey it, and a
//! line break would forge a line) or with the channel's secret. What has one is no receipt, so it proves nothing.

use super::Channel;
use super::common::{Closed, cannot_tell};
use super::redact::Scrubber;
use crate::model::claim::{Claim, PushedClaim};
use crate::model::media::{Prepared, Wants};
use crate::model::outcome::{Listing, Lookup, Opening, Outcome, Remote, Trouble};
use crate::model::time::Timestamp;

/// What is said of an id that can't be one.
const NO_ID: &str = "the service gave an id that can't be one";

/// A channel whose texts are looked at.
pub(super) struct Checked<C> {
    inner: C,
    scrubber: Scrubber,
}

impl<C: Channel> Checked<C> {
    /// Takes an adapter and what knows its secret.
    pub(super) fn new(inner: C, scrubber: Scrubber) -> Self {
        Self { inner, scrubber }
    }

    /// Returns a reason as it stands, or made fit to be shown.
    fn reason(&self, reason: String) -> String {
        if self.scrubber.passes(&reason) {
            reason
        } else {
            self.scrubber.line(&reason)
        }
    }

    /// Returns a receipt whose id is one; an address that is none is left out. None has no id to begin with where the
    /// service gives none.
    fn receipt(&self, remote: Remote) -> Option<Remote> {
        let is_id = |id: &String| !id.trim().is_empty() && self.scrubber.passes(id);
        remote.id.as_ref().is_none_or(is_id).then(|| Remote {
            id: remote.id,
            url: remote.url.filter(|url| self.scrubber.passes(url)),
        })
    }

    fn outcome(&self, outcome: Outcome) -> Outcome {
        match outcome {
            Outcome::Accepted { remote, evidence } => match self.receipt(remote) {
                Some(remote) => Outcome::Accepted { remote, evidence },
                None => Outcome::InDoubt {
                    reason: NO_ID.to_owned(),
                },
            },
            Outcome::Refused { refusal, reason } => Outcome::Refused {
                refusal,
                reason: self.reason(reason),
            },
            Outcome::NotSent { reason } => Outcome::NotSent {
                reason: self.reason(reason),
            },
            Outcome::InDoubt { reason } => Outcome::InDoubt {
                reason: self.reason(reason),
            },
        }
    }

    fn looked(&self, lookup: Lookup) -> Lookup {
        match lookup {
            Lookup::Found(remote) => self
                .receipt(remote)
                .map_or_else(|| cannot_tell(NO_ID), Lookup::Found),
            Lookup::Several(remotes) => remotes
                .into_iter()
                .map(|remote| self.receipt(remote))
                .collect::<Option<_>>()
                .map_or_else(|| cannot_tell(NO_ID), Lookup::Several),
            Lookup::Absent => Lookup::Absent,
            Lookup::CannotTell { reason } => cannot_tell(self.reason(reason)),
        }
    }
}

impl<C: Channel> Channel for Checked<C> {
    fn open(&mut self) -> Opening {
        match self.inner.open() {
            Opening::Ready(session) => {
                let account = session.account.as_str();
                if !account.is_empty() && self.scrubber.passes(account) {
                    return Opening::Ready(session);
                }
                Closed {
                    trouble: Trouble::Unreachable,
                    reason: "the service gave an account that can't be one".to_owned(),
                }
                .opening()
            }
            Opening::Closed { trouble, reason } => Opening::Closed {
                trouble,
                reason: self.reason(reason),
            },
        }
    }

    fn recent(&mut self, since: Timestamp) -> Listing {
        match self.inner.recent(since) {
            Listing::Posts(posts) => {
                let checked: Option<Vec<_>> = posts
                    .into_iter()
                    .map(|mut post| {
                        post.remote = self.receipt(post.remote)?;
                        Some(post)
                    })
                    .collect();
                // Left out, it could be the very post that is looked for.
                checked.map_or_else(
                    || Listing::CannotTell {
                        reason: NO_ID.to_owned(),
                    },
                    Listing::Posts,
                )
            }
            Listing::CannotTell { reason } => Listing::CannotTell {
                reason: self.reason(reason),
            },
        }
    }

    fn reached(&self) -> bool {
        self.inner.reached()
    }

    fn missing_rights(&mut self) -> Option<Vec<String>> {
        self.inner.missing_rights()
    }

    fn found_on(&self) -> Option<String> {
        self.inner.found_on().map(|found| self.reason(found))
    }

    fn prepare(&mut self, wants: &Wants, pictures: Vec<Result<Vec<u8>, String>>) -> Prepared {
        let mut found = self.inner.prepare(wants, pictures);
        found.mentions.retain(|_name, id| self.scrubber.passes(id));
        found.made = found.made.filter(|id| self.scrubber.passes(id));
        found.unread = found.unread.map(|reason| self.reason(reason));
        found.notes = found
            .notes
            .into_iter()
            .map(|note| self.reason(note))
            .collect();
        found
    }

    fn publish(&mut self, claims: &[PushedClaim]) -> Outcome {
        let outcome = self.inner.publish(claims);
        self.outcome(outcome)
    }

    fn lookup(&mut self, claim: &Claim) -> Lookup {
        let lookup = self.inner.lookup(claim);
        self.looked(lookup)
    }

    fn update(&mut self, claim: &PushedClaim) -> Outcome {
        let outcome = self.inner.update(claim);
        self.outcome(outcome)
    }

    fn retract(&mut self, claim: &PushedClaim) -> Outcome {
        let outcome = self.inner.retract(claim);
        self.outcome(outcome)
    }

    fn effect(&mut self, claim: &Claim) -> Lookup {
        let lookup = self.inner.effect(claim);
        self.looked(lookup)
    }
}
