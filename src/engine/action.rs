//! What the core asks for and what it is told.

use crate::ledger::{Batch, CommitId, PushReport, Snapshot};
use crate::model::claim::{Claim, PushedClaim};
use crate::model::delivery::Operation;
use crate::model::ids::{ChannelName, Token};
use crate::model::item::ItemId;
use crate::model::media::{Prepared, Wants};
use crate::model::notice::Notice;
use crate::model::outcome::{Listing, Lookup, Opening, Outcome};
use crate::model::row::{DeliveryId, Row};
use crate::model::time::Timestamp;

/// An observation.
#[derive(Clone, Debug)]
pub enum Event {
    /// The run begins, or time has passed.
    Tick,
    /// The ledger was read.
    LedgerRead(Result<Box<Snapshot>, ReadFailure>),
    /// A push ended.
    Pushed(PushReport),
    /// Rows were written to the journal; or not, with the reason.
    Journaled(Result<String, String>),
    /// A channel was opened, or not.
    Opened {
        /// Which.
        channel: ChannelName,
        /// How.
        opening: Opening,
    },
    /// The account's recent posts.
    Listed {
        /// Which channel.
        channel: ChannelName,
        /// When the read began.
        began_at: Timestamp,
        /// What it says.
        listing: Listing,
    },
    /// A request ended.
    Sent {
        /// Which channel.
        channel: ChannelName,
        /// The claims that it carried.
        tokens: Vec<Token>,
        /// What came of it.
        outcome: Outcome,
    },
    /// A lookup ended.
    Looked {
        /// Which delivery.
        delivery: DeliveryId,
        /// What of it was looked for.
        operation: Operation,
        /// When it began.
        began_at: Timestamp,
        /// What it says.
        lookup: Lookup,
    },
    /// What a post needs was looked for.
    Prepared(DeliveryId, Prepared),
    /// Why this checkout is not the branch's newest commit; none: it is.
    CheckoutSeen(Option<String>),
    /// A page was looked at: live, or why not.
    Checked(ItemId, Result<(), String>),
    /// A signal: start nothing new, save what is known, leave.
    Stop,
}

/// Why the ledger could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadFailure {
    /// The store's words.
    pub reason: String,
    /// It will not pass by itself, so that waiting for it is for nothing.
    pub lasting: bool,
}

/// Something for the driver to do.
#[derive(Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(Clone))]
pub enum Action {
    /// Read the remote's tip.
    ReadLedger,
    /// Commit and push.
    Push(Batch),
    /// Push the same commit again.
    PushAgain(CommitId),
    /// Write rows to this machine's disk.
    Journal(Vec<Row>),
    /// Remove from the journal what is on the remote.
    ForgetJournal(Vec<Row>),
    /// Open a channel.
    Open(ChannelName),
    /// Read the account's recent posts, back to a moment.
    List(ChannelName, Timestamp),
    /// Find what a post needs before its claim.
    Prepare(DeliveryId, Wants),
    /// Send one request. The claims are on the remote.
    Send(ChannelName, Vec<PushedClaim>),
    /// Look for a claim's post.
    Look(ChannelName, Claim),
    /// Look whether this checkout is the branch's newest commit.
    SeeCheckout,
    /// Look whether an article's page is online.
    CheckLive(ItemId, String),
    /// Tell people.
    Tell(Notice),
}
