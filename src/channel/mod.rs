//! The services. One trait, one file per service, one HTTP agent.
//!
//! Invariant: a channel knows nothing of the ledger, never retries a write by itself, and classifies by what
//! is *known*: what is not in its own table of refusals is [`Outcome::InDoubt`].

mod answer;
mod bluesky;
mod checked;
mod common;
mod declared;
mod devto;
pub mod http;
pub(crate) mod indexnow;
mod later;
mod mastodon;
mod matching;
mod pictures;
mod redact;
pub mod registry;

use crate::model::claim::{Claim, PushedClaim};
use crate::model::media::{Prepared, Wants};
use crate::model::outcome::{Listing, Lookup, Opening, Outcome, Refusal};
use crate::model::time::Timestamp;

/// A service, as the engine's worker uses it. Calls block, at most for the channel's timeout.
pub trait Channel: Send {
    /// Logs in where needed, and asks the server for the account and its limits. Sends nothing that shows.
    fn open(&mut self) -> Opening;

    /// Reads the account's own recent posts, authenticated and uncached, back to `since` where possible.
    fn recent(&mut self, since: Timestamp) -> Listing;

    /// Whether the last [`Channel::recent`] reached back to its `since`; if not, it ends with the oldest post listed.
    fn reached(&self) -> bool {
        true
    }

    /// Returns what the credentials may not do and would have to, where the service tells; none: it does not tell.
    fn missing_rights(&mut self) -> Option<Vec<String>> {
        None
    }

    /// Returns the server that keeps the account and where it was logged in, where [`Channel::open`] had to find them.
    fn found_on(&self) -> Option<String> {
        None
    }

    /// Finds what a post needs before its claim. `pictures` are what was read of each picture that it wants, or why it
    /// could not be. Sends nothing that shows; what is missing is left out of the post.
    fn prepare(&mut self, _wants: &Wants, _pictures: Vec<Result<Vec<u8>, String>>) -> Prepared {
        Prepared::default()
    }

    /// Sends one request that carries all `claims` (one, except where the service takes batches).
    ///
    /// Called after [`Channel::open`] succeeded. All claims share the outcome.
    fn publish(&mut self, claims: &[PushedClaim]) -> Outcome;

    /// Looks for the post of `claim` on the account's own server.
    fn lookup(&mut self, claim: &Claim) -> Lookup;

    /// Changes the post `target` of the claim to the claim's post, with one request. Never makes a second post: where
    /// there is nothing to change, nothing is done, and that is a refusal.
    ///
    /// Called only where [`KindTraits::updates`](crate::model::channel::KindTraits) says so.
    fn update(&mut self, _claim: &PushedClaim) -> Outcome {
        Outcome::Refused {
            refusal: Refusal::Permanent,
            reason: "a post can't be changed on this service".to_owned(),
        }
    }

    /// Takes the post `target` of the claim down. Accepted only when reading shows that it is gone, whatever the request
    /// was answered; gone already is accepted too, with the receipt that the claim names.
    ///
    /// Called only where [`KindTraits::retracts`](crate::model::channel::KindTraits) says so.
    fn retract(&mut self, _claim: &PushedClaim) -> Outcome {
        Outcome::Refused {
            refusal: Refusal::Permanent,
            reason: "a post can't be taken down on this service".to_owned(),
        }
    }

    /// Whether what an update or a retraction asks for is so by now: found, the post `target` shows the claim's post,
    /// or is gone; absent, it shows something else, or still stands.
    fn effect(&mut self, _claim: &Claim) -> Lookup {
        Lookup::CannotTell {
            reason: "this service can't be read".to_owned(),
        }
    }
}
