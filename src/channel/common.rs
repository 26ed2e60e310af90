//! What the adapters have in common.

use url::Url;

use super::answer::Answer;
use crate::model::claim::{Claim, PushedClaim};
use crate::model::outcome::{Lookup, Opening, Outcome, Refusal, Remote, Trouble};

/// Why a channel can't be used now.
#[derive(Clone, Debug)]
pub(crate) struct Closed {
    /// Whether the credentials are at fault, or the network.
    pub(crate) trouble: Trouble,
    /// What was seen, scrubbed.
    pub(crate) reason: String,
}

impl Closed {
    /// Returns what [`super::Channel::open`] says.
    pub(crate) fn opening(self) -> Opening {
        Opening::Closed {
            trouble: self.trouble,
            reason: self.reason,
        }
    }

    /// Returns what becomes of a write that could not be sent for this: nothing of it left.
    pub(crate) fn unsent_write(self) -> Outcome {
        let Self { trouble, reason } = self;
        match trouble {
            Trouble::Credentials => refused(Refusal::Credentials, reason),
            Trouble::RateLimited(wait) => refused(Refusal::RateLimited(wait), reason),
            Trouble::Unreachable => Outcome::NotSent { reason },
        }
    }
}

/// Returns what an answer other than the expected one says of a channel, for the codes on which the services agree.
///
/// What is not here is the service's trouble, not ours: later it may be well.
pub(crate) fn trouble_of(answer: &Answer) -> Trouble {
    match answer.status {
        401 => Trouble::Credentials,
        429 => Trouble::RateLimited(answer.wait()),
        // Without JSON it is a page of whatever stands in front of the service.
        403 if answer.json_error().is_some() => Trouble::Credentials,
        _ => Trouble::Unreachable,
    }
}

/// Returns a refusal.
pub(crate) fn refused(refusal: Refusal, reason: String) -> Outcome {
    Outcome::Refused { refusal, reason }
}

/// Returns a lookup that says nothing.
pub(crate) fn cannot_tell(reason: impl Into<String>) -> Lookup {
    Lookup::CannotTell {
        reason: reason.into(),
    }
}

/// Returns what matching posts come to, if there are any.
pub(crate) fn found(mut matches: Vec<Remote>) -> Option<Lookup> {
    let last = matches.pop()?;
    if matches.is_empty() {
        return Some(Lookup::Found(last));
    }
    matches.push(last);
    Some(Lookup::Several(matches))
}

/// Returns the claim of a service that takes one at a time.
pub(crate) fn single_claim(claims: &[PushedClaim]) -> Result<&Claim, Outcome> {
    match claims {
        [pushed] => Ok(pushed.claim()),
        _ => Err(Outcome::NotSent {
            reason: format!("{} claims were given where one is sent", claims.len()),
        }),
    }
}

/// Checks that who posts is who claimed to.
pub(crate) fn check_account(claim: &Claim, account: &str) -> Result<(), Outcome> {
    if claim.account.as_str() == account {
        return Ok(());
    }
    Err(Outcome::NotSent {
        reason: format!(
            "the claim is for {}, but the service says that we are {account}",
            claim.account
        ),
    })
}

/// Returns the address of `path` on a server, below the server's own path if it has one.
pub(crate) fn below(server: &Url, path: &str) -> Url {
    let mut url = server.clone();
    url.set_path(&format!("{}{path}", server.path().trim_end_matches('/')));
    url.set_query(None);
    url.set_fragment(None);
    url
}
