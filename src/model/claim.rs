//! A claim, and the proof that it is on the remote.

use std::collections::BTreeSet;

use super::delivery::Operation;
use super::ids::{Account, ChannelName, IdempotencyKey, Token};
use super::item::ItemId;
use super::outcome::Remote;
use super::post::Post;
use super::time::Timestamp;

/// What a channel needs to know of a claim, to send it or to look for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The item.
    pub item: ItemId,
    /// The channel.
    pub channel: ChannelName,
    /// Who posts.
    pub account: Account,
    /// What is to be done.
    pub operation: Operation,
    /// The post that is changed or taken down; none: this claim makes it.
    pub target: Option<Remote>,
    /// The claim's random name.
    pub token: Token,
    /// The logical action's name, for services that take one.
    pub key: IdempotencyKey,
    /// Which attempt this is, from 1.
    pub attempt: u32,
    /// Exactly what is sent.
    pub post: Post,
    /// The article's address.
    pub canonical_url: String,
    /// When the first claim that may have been sent was made: lookups must reach back past it.
    pub first_claimed_at: Timestamp,
    /// When a request of this claim may start at the latest.
    pub send_before: Timestamp,
}

/// The tokens that stand at the remote's tip, as a confirmed push or a read showed them.
///
/// Invariant: only the ledger makes one, from what it read back or what git reported as landed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Landing {
    tokens: BTreeSet<Token>,
}

impl Landing {
    /// Attests that rows with these tokens are on the remote.
    pub fn attest(tokens: impl IntoIterator<Item = Token>) -> Self {
        Self {
            tokens: tokens.into_iter().collect(),
        }
    }
}

/// A claim that is on the remote under our token. Only such a claim can be sent, and it is used up by that.
#[derive(Debug, PartialEq, Eq)]
// No program can copy the right to send. The explorer of all interleavings can: it goes on from one moment many times.
#[cfg_attr(test, derive(Clone))]
#[must_use = "a pushed claim that is not sent must be given back"]
pub struct PushedClaim(Claim);

impl PushedClaim {
    /// Turns a claim into one that may be sent, if the landing shows its token.
    pub fn prove(claim: Claim, landing: &Landing) -> Option<Self> {
        landing.tokens.contains(&claim.token).then_some(Self(claim))
    }

    /// Returns the claim.
    pub fn claim(&self) -> &Claim {
        &self.0
    }
}
