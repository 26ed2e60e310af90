//! What this run knows of one channel.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::ChannelConfig;
use crate::exit::Exit;
use crate::model::claim::PushedClaim;
use crate::model::delivery::Operation;
use crate::model::ids::Token;
use crate::model::media::Prepared;
use crate::model::outcome::Session;
use crate::model::row::DeliveryId;
use crate::model::time::Timestamp;

/// Doubts in one run after which a channel is closed for the run: the service is unwell.
pub(super) const DOUBTS_MAX: u32 = 5;
/// Failures in a row to reach a channel after which it is closed for the run.
pub(super) const FAILURES_MAX: u32 = 5;

/// One channel in this run.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Desk {
    pub(super) phase: Phase,
    /// The worker is at work; it does one thing at a time.
    pub(super) is_working: bool,
    /// Claims that are on the remote and may be sent.
    pub(super) ready: Vec<PushedClaim>,
    /// Claims of this run, with what they are for. An answer may come after another run took over.
    pub(super) own: BTreeMap<Token, (DeliveryId, Operation)>,
    /// When the list of recent posts was asked for that was last read in this run.
    pub(super) listed_at: Option<Timestamp>,
    /// An attempt has failed since that list was asked for, or another run wrote to the ledger.
    pub(super) list_is_old: bool,
    /// A request about several articles was refused: which of them is at fault shows one by one.
    pub(super) singly: bool,
    /// Deliveries of other runs that were looked for once in this run.
    pub(super) looked_for: BTreeSet<DeliveryId>,
    /// Nothing is tried before this: a rate limit, a failure to connect.
    pub(super) not_before: Option<Timestamp>,
    /// Failures in a row to reach it or to send; only an accepted post ends the row.
    pub(super) failures: u32,
    /// Rate limits in a row.
    pub(super) limits: u32,
    /// Claims in a row that were on the remote only after their send window.
    pub(super) late: u32,
    /// The service asked for a pause that long, so that later runs should know.
    pub(super) asked_until: Option<Timestamp>,
    pub(super) doubts: u32,
    /// What was found for posts before their claims.
    pub(super) prepared: BTreeMap<DeliveryId, Prepared>,
    /// Deliveries whose key the service has an old answer for.
    pub(super) used_keys: BTreeSet<DeliveryId>,
    /// Deliveries that can't be sent as they are, with the reason.
    pub(super) unsendable: BTreeMap<DeliveryId, String>,
    /// Deliveries whose post has to be read before it is changed and could not be.
    pub(super) unread: BTreeMap<DeliveryId, Unread>,
}

/// A post that could not be read before its change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unread {
    /// How often that was tried in this run.
    pub(super) tries: u32,
    /// When it is tried again.
    pub(super) until: Timestamp,
    pub(super) reason: String,
}

/// Whether a channel can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Not asked yet.
    New,
    /// Logged in.
    Open(Session),
    /// Not in this run.
    Closed { reason: String, exit: Exit },
}

impl Desk {
    /// Forgets what was made for a claim, or could not be, where the service has a first request: it is for this attempt
    /// alone, and a later one has its own. What a post shows that is changed may be another thing next time, too.
    pub(super) fn use_up(
        &mut self,
        id: &DeliveryId,
        operation: Operation,
        channel: &ChannelConfig,
    ) {
        self.used_keys.remove(id);
        let declaration = channel.declaration();
        let is_made = declaration.is_some_and(|declaration| declaration.prepare.is_some());
        if is_made || operation != Operation::Publish {
            self.prepared.remove(id);
        }
    }

    pub(super) const fn new() -> Self {
        Self {
            phase: Phase::New,
            is_working: false,
            ready: Vec::new(),
            own: BTreeMap::new(),
            listed_at: None,
            list_is_old: false,
            singly: false,
            looked_for: BTreeSet::new(),
            not_before: None,
            failures: 0,
            limits: 0,
            late: 0,
            asked_until: None,
            doubts: 0,
            prepared: BTreeMap::new(),
            used_keys: BTreeSet::new(),
            unsendable: BTreeMap::new(),
            unread: BTreeMap::new(),
        }
    }

    pub(super) fn session(&self) -> Option<&Session> {
        match &self.phase {
            Phase::Open(session) => Some(session),
            Phase::New | Phase::Closed { .. } => None,
        }
    }

    pub(super) const fn is_closed(&self) -> bool {
        matches!(self.phase, Phase::Closed { .. })
    }

    /// Why it is closed, if only a person can open it.
    pub(super) fn needs_person(&self) -> Option<&str> {
        match &self.phase {
            Phase::Closed {
                reason,
                exit: Exit::NeedsPerson | Exit::Usage,
            } => Some(reason),
            Phase::New | Phase::Open(_) | Phase::Closed { .. } => None,
        }
    }
}
