//! What a run tells people while it works. The engine emits, the reporters write.

use std::time::Duration;

use super::delivery::{Operation, State};
use super::ids::ChannelName;
use super::outcome::{Evidence, Remote};
use super::row::DeliveryId;
use super::time::Timestamp;

/// One thing that happened, or that people should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Earlier runs left these unsettled.
    Inherited {
        /// Which.
        delivery: DeliveryId,
        /// How they stood.
        state: State,
        /// When they were claimed.
        claimed_at: Option<Timestamp>,
    },
    /// A claim is on the remote, the request leaves now.
    Sending {
        /// Which.
        delivery: DeliveryId,
        /// What is done to it.
        operation: Operation,
        /// The attempt's number.
        attempt: u32,
    },
    /// There is a receipt.
    Proved {
        /// Which.
        delivery: DeliveryId,
        /// What was done to it.
        operation: Operation,
        /// Where it is, or was.
        remote: Remote,
        /// How that is known.
        evidence: Evidence,
    },
    /// It was there already; how to undo that is part of the message.
    Adopted {
        /// Which.
        delivery: DeliveryId,
        /// Where it is.
        remote: Remote,
    },
    /// Surely not delivered; later again.
    Deferred {
        /// Which.
        delivery: DeliveryId,
        /// Why.
        reason: String,
        /// When again.
        not_before: Timestamp,
    },
    /// Not known whether it was delivered.
    Doubted {
        /// Which.
        delivery: DeliveryId,
        /// What comes of it, in plain words.
        next: &'static str,
        /// What was seen.
        reason: String,
    },
    /// Looked up, and not there (yet), or not to be told.
    NotFound {
        /// Which.
        delivery: DeliveryId,
        /// What the lookup said.
        finding: String,
        /// When it will be looked up again.
        again_at: Option<Timestamp>,
    },
    /// Permanently refused.
    Refused {
        /// Which.
        delivery: DeliveryId,
        /// The service's words.
        reason: String,
    },
    /// A person is needed.
    Held {
        /// Which.
        delivery: DeliveryId,
        /// Why.
        reason: String,
    },
    /// A channel can't be used in this run.
    ChannelClosed {
        /// Which.
        channel: ChannelName,
        /// Why.
        reason: String,
    },
    /// Nothing can be done before `until`.
    Waiting {
        /// For what, in plain words.
        what: String,
        /// Until when.
        until: Timestamp,
        /// How long.
        duration: Duration,
    },
    /// The run was asked to stop.
    Stopping,
    /// Anything else, in a plain sentence.
    Plain(String),
    /// Something that is wrong but stops nothing, in a plain sentence.
    Warning(String),
}
