//! What the ledger knows about one operation of one delivery, and how that may change.
//!
//! | state | who may leave it |
//! |---|---|
//! | `in_flight` | its owner; others after the quiet point (a lookup that finds: anyone, any time) |
//! | `in_doubt` | any run |
//! | `retry` | any run, at `not_before` |
//! | `done` | nobody; receipts may be added |
//! | `failed`, `held`, `skipped` | a person (`held` also by a receipt) |
//!
//! Invariant: a record changes only through [`next`], so that no code can write a move that the protocol forbids.

use std::fmt;

use serde_json::{Map, Value};

use super::ids::{Fingerprint, IdempotencyKey, RunId, Token};
use super::mutant::{Mutant, on};
use super::outcome::{Evidence, Remote};
use super::post::Post;
use super::time::Timestamp;

/// One write of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// The announcement itself.
    Publish,
    /// The n-th change of what was announced.
    Update(u32),
    /// Taking it down.
    Retract,
}

impl Operation {
    /// Reads the word that rows use.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "publish" => Some(Self::Publish),
            "retract" => Some(Self::Retract),
            _ => text
                .strip_prefix("update:")
                .and_then(|number| number.parse().ok())
                .map(Self::Update),
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Publish => formatter.write_str("publish"),
            Self::Update(number) => write!(formatter, "update:{number}"),
            Self::Retract => formatter.write_str("retract"),
        }
    }
}

/// The state of an operation. No record at all means pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// The claim is on the remote; whether it was sent is not known to others.
    InFlight,
    /// Sent or maybe sent, outcome not known.
    InDoubt,
    /// Surely not delivered; due again at `not_before`.
    Retry,
    /// There is a receipt.
    Done,
    /// Definitely and permanently refused.
    Failed,
    /// Needs a person.
    Held,
    /// Not to be announced.
    Skipped,
}

impl State {
    /// Every state, in the order of the documentation.
    pub const ALL: [Self; 7] = [
        Self::InFlight,
        Self::InDoubt,
        Self::Retry,
        Self::Done,
        Self::Failed,
        Self::Held,
        Self::Skipped,
    ];

    /// Returns the word that rows and JSON use.
    pub const fn label(self) -> &'static str {
        match self {
            Self::InFlight => "in_flight",
            Self::InDoubt => "in_doubt",
            Self::Retry => "retry",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Held => "held",
            Self::Skipped => "skipped",
        }
    }

    /// Whether no run does anything about it any more.
    pub const fn is_settled(self) -> bool {
        match self {
            Self::Done | Self::Failed | Self::Held | Self::Skipped => true,
            Self::InFlight | Self::InDoubt | Self::Retry => false,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.label())
    }
}

/// What the ledger holds of one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Where it stands.
    pub state: State,
    /// How many claims were made; never falls.
    pub attempt: u32,
    /// How many of them surely sent nothing, or were only rate-limited: they don't count against `max_attempts`.
    pub uncounted: u32,
    /// Counts the renderings that were sent under a key of their own, from 1.
    pub edition: u32,
    /// The latest claim; none before the first (a delivery held or skipped from the start, or adopted).
    pub claim: Option<ClaimRecord>,
    /// Some attempt may have been sent, so every later one sends the same bytes.
    pub frozen: bool,
    /// An earlier attempt may be there and nobody has looked since: what a repeat is answered says nothing of it.
    pub doubtful: bool,
    /// When an outcome was last recorded.
    pub settled_at: Option<Timestamp>,
    /// When the doubt began.
    pub doubt_since: Option<Timestamp>,
    /// Not due again before this.
    pub not_before: Option<Timestamp>,
    /// Why it is not done, in plain words.
    pub reason: Option<String>,
    /// Why `done` is believed.
    pub evidence: Option<Evidence>,
    /// The receipt.
    pub remote: Option<Remote>,
    /// Receipts beyond the first: late answers, duplicates.
    pub receipts: Vec<LateReceipt>,
    /// Lookups of the present doubt, oldest first.
    pub lookups: Vec<LookupRecord>,
    /// The person who decided last.
    pub by: Option<Decision>,
    /// Fields of the file that this version does not know; they are written back as they are.
    pub unknown: Map<String, Value>,
}

/// The durable statement "this run is about to send this".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimRecord {
    /// The claim's random name.
    pub token: Token,
    /// The logical action's name.
    pub key: IdempotencyKey,
    /// Fingerprint of the post.
    pub fingerprint: Fingerprint,
    /// Exactly what is sent.
    pub post: Post,
    /// Who claimed.
    pub run: RunId,
    /// When.
    pub claimed_at: Timestamp,
    /// When the first claim that may have been sent was made.
    pub first_claimed_at: Timestamp,
    /// A request may start until then.
    pub send_before: Timestamp,
    /// After this no request of this claim can take effect unseen.
    pub quiet_until: Timestamp,
}

/// A receipt that came when the operation was done already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LateReceipt {
    /// The id and URL.
    pub remote: Remote,
    /// When it was learned.
    pub at: Timestamp,
    /// How it is known.
    pub evidence: Evidence,
}

/// One lookup and what it said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookupRecord {
    /// When it began.
    pub at: Timestamp,
    /// What it said.
    pub finding: Finding,
}

/// What a lookup said, as the ledger keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Finding {
    /// The post is there.
    Found,
    /// It is not there.
    Absent,
    /// Not known.
    CannotTell,
}

impl Finding {
    /// Every finding.
    pub const ALL: [Self; 3] = [Self::Found, Self::Absent, Self::CannotTell];

    /// Returns the word that rows use.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Found => "found",
            Self::Absent => "absent",
            Self::CannotTell => "cannot_tell",
        }
    }
}

/// A person's decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Who.
    pub who: String,
    /// When.
    pub at: Timestamp,
    /// The verb.
    pub verb: String,
    /// Why, in the person's words.
    pub why: Option<String>,
}

/// Something that happened to an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A run is about to send.
    Claimed {
        /// The claim; its `first_claimed_at` is set by [`next`].
        claim: Box<ClaimRecord>,
        /// The rendering's number.
        edition: u32,
    },
    /// There is a receipt.
    Proved {
        /// The id and URL.
        remote: Remote,
        /// How it is known.
        evidence: Evidence,
        /// When.
        at: Timestamp,
    },
    /// Surely not delivered; may be tried again.
    Deferred {
        /// Why.
        reason: String,
        /// Not due before.
        not_before: Timestamp,
        /// Whether the attempt counts.
        counts: Counts,
        /// When.
        at: Timestamp,
    },
    /// Permanently refused.
    Refused {
        /// The service's words.
        reason: String,
        /// When.
        at: Timestamp,
    },
    /// The outcome is not known; also: another run's claim is past its quiet point.
    Doubted {
        /// What was seen.
        reason: String,
        /// When.
        at: Timestamp,
    },
    /// A lookup that did not find the post.
    Looked(LookupRecord),
    /// Absent for certain: due again, with the same bytes.
    Absent {
        /// Not due before.
        not_before: Timestamp,
        /// When.
        at: Timestamp,
    },
    /// A person is needed.
    Held {
        /// Why.
        reason: String,
        /// When.
        at: Timestamp,
    },
    /// A person decided that it is not to be announced.
    Skipped {
        /// Who decided.
        by: Decision,
    },
    /// A person released it: one more attempt.
    Released {
        /// Who decided.
        by: Decision,
    },
    /// A person says that it is there, or had the account looked through for it.
    Confirmed {
        /// Where.
        remote: Remote,
        /// How it is known: by their word, or by the account's list.
        evidence: Evidence,
        /// Who decided.
        by: Decision,
    },
    /// The article or the configuration changed since it was refused, and nothing was ever sent: due again.
    Revised {
        /// When.
        at: Timestamp,
    },
    /// A person wants what is done announced once more, as a new edition.
    Again {
        /// Who decided.
        by: Decision,
    },
}

/// Whether an attempt counts against `max_attempts`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// It may have been sent, or was refused.
    Attempt,
    /// Surely not sent, or rate-limited.
    Nothing,
}

/// A move that the protocol forbids.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a delivery that is {} can't take the event `{event}`", state.map_or("pending", State::label))]
pub struct IllegalMove {
    /// The state before.
    pub state: Option<State>,
    /// The event's name.
    pub event: &'static str,
}

impl Event {
    /// Returns the word for logs and the protocol's table.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Claimed { .. } => "claimed",
            Self::Proved { .. } => "proved",
            Self::Deferred { .. } => "deferred",
            Self::Refused { .. } => "refused",
            Self::Doubted { .. } => "doubted",
            Self::Looked(_) => "looked",
            Self::Absent { .. } => "absent",
            Self::Held { .. } => "held",
            Self::Skipped { .. } => "skipped",
            Self::Released { .. } => "released",
            Self::Confirmed { .. } => "confirmed",
            Self::Revised { .. } => "revised",
            Self::Again { .. } => "again",
        }
    }
}

/// Lookups kept in a row; the oldest go first, so that a long outage does not grow it for ever.
const LOOKUPS_KEPT: usize = 8;

/// Returns the record after `event`. No record means pending.
pub fn next(record: Option<&Record>, event: Event) -> Result<Record, IllegalMove> {
    let state = record.map(|record| record.state);
    let label = event.label();
    let mut after = record.cloned().unwrap_or_else(Record::pending);
    match (state, event) {
        (
            _,
            Event::Proved {
                remote,
                evidence,
                at,
            },
        ) => after.prove(remote, evidence, at),
        (None | Some(State::Retry | State::InDoubt), Event::Claimed { claim, edition }) => {
            after.claim(*claim, edition);
        }
        (
            Some(State::InFlight),
            Event::Deferred {
                reason,
                not_before,
                counts,
                at,
            },
        ) => {
            if counts == Counts::Nothing {
                after.uncounted += 1;
            }
            after.defer(reason, not_before, at);
        }
        // What a repeat is answered says nothing of the attempt before it.
        (Some(State::InFlight), Event::Refused { reason, at })
            if after.doubtful && !on(Mutant::RepeatAnswersForAll) =>
        {
            after.doubt(reason, at);
        }
        (Some(State::InFlight), Event::Refused { reason, at }) => {
            after.settle(State::Failed, Some(reason), at);
        }
        (Some(State::InFlight), Event::Doubted { reason, at }) => after.doubt(reason, at),
        (Some(State::InDoubt), Event::Looked(lookup)) => {
            after.lookups.push(lookup);
            let surplus = after.lookups.len().saturating_sub(LOOKUPS_KEPT);
            after.lookups.drain(..surplus);
        }
        (Some(State::InDoubt), Event::Absent { not_before, at }) => {
            let reason = "looked up after the quiet point and not there".to_owned();
            after.settle(State::Retry, Some(reason), at);
            after.doubtful = false;
            after.not_before = Some(not_before);
        }
        (None | Some(State::InDoubt | State::Retry), Event::Held { reason, at }) => {
            after.settle(State::Held, Some(reason), at);
        }
        (None | Some(State::Retry | State::Held | State::Failed), Event::Skipped { by }) => {
            after.decide(State::Skipped, by);
        }
        (
            None | Some(State::InDoubt | State::Held | State::Failed | State::Skipped),
            Event::Released { by },
        ) => after.release(by),
        (
            _,
            Event::Confirmed {
                remote,
                evidence,
                by,
            },
        ) => {
            after.prove(remote, evidence, by.at);
            after.by = Some(by);
        }
        (Some(State::Failed), Event::Revised { at }) if !after.frozen => {
            let reason = "the article or the configuration changed since it was refused".to_owned();
            after.settle(State::Retry, Some(reason), at);
            after.not_before = Some(at);
            after.uncounted = after.attempt;
        }
        (Some(State::Done), Event::Again { by }) => after.again(by),
        (
            _,
            Event::Claimed { .. }
            | Event::Deferred { .. }
            | Event::Refused { .. }
            | Event::Doubted { .. }
            | Event::Looked(_)
            | Event::Absent { .. }
            | Event::Held { .. }
            | Event::Skipped { .. }
            | Event::Released { .. }
            | Event::Revised { .. }
            | Event::Again { .. },
        ) => {
            return Err(IllegalMove {
                state,
                event: label,
            });
        }
    }
    Ok(after)
}

impl Record {
    /// The record of a delivery to which nothing has happened; never stored.
    fn pending() -> Self {
        Self {
            state: State::Retry,
            attempt: 0,
            uncounted: 0,
            edition: 1,
            claim: None,
            frozen: false,
            doubtful: false,
            settled_at: None,
            doubt_since: None,
            not_before: None,
            reason: None,
            evidence: None,
            remote: None,
            receipts: Vec::new(),
            lookups: Vec::new(),
            by: None,
            unknown: Map::new(),
        }
    }

    /// Returns how many attempts count against `max_attempts`.
    pub fn attempts_counted(&self) -> u32 {
        if on(Mutant::AttemptsNotCounted) {
            return 0;
        }
        self.attempt.saturating_sub(self.uncounted)
    }

    /// Returns when it is due again, if it waits for that. What somebody set from doubt to `retry` by hand waits for the
    /// quiet point, as what is released with a command does: no run leaves a doubt in that state.
    pub fn due_at(&self) -> Option<Timestamp> {
        let doubted = self.claim.as_ref().filter(|_| self.doubtful);
        self.not_before.max(doubted.map(|claim| claim.quiet_until))
    }

    /// Returns the token of the latest claim.
    pub fn token(&self) -> Option<&Token> {
        self.claim.as_ref().map(|claim| &claim.token)
    }

    fn doubt(&mut self, reason: String, at: Timestamp) {
        self.settle(State::InDoubt, Some(reason), at);
        self.doubt_since = Some(at);
        self.frozen = true;
        self.doubtful = true;
    }

    fn defer(&mut self, reason: String, not_before: Timestamp, at: Timestamp) {
        if self.doubtful {
            self.doubt(reason, at);
        } else {
            self.settle(State::Retry, Some(reason), at);
            self.not_before = Some(not_before);
        }
    }

    /// A receipt always wins, also a late one.
    fn prove(&mut self, remote: Remote, evidence: Evidence, at: Timestamp) {
        if self.state != State::Done || self.remote.is_none() {
            self.settle(State::Done, None, at);
            self.doubtful = false;
            self.evidence = Some(evidence);
            self.remote = Some(remote);
            return;
        }
        let known = self.remote.as_ref() == Some(&remote)
            || self.receipts.iter().any(|receipt| receipt.remote == remote);
        if !known {
            self.receipts.push(LateReceipt {
                remote,
                at,
                evidence,
            });
        }
    }

    fn claim(&mut self, claim: ClaimRecord, edition: u32) {
        let first_claimed_at = match &self.claim {
            Some(earlier) if self.frozen => earlier.first_claimed_at,
            Some(_) | None => claim.claimed_at,
        };
        self.state = State::InFlight;
        self.attempt += 1;
        self.edition = edition;
        self.claim = Some(ClaimRecord {
            first_claimed_at,
            ..claim
        });
        self.not_before = None;
        self.settled_at = None;
        self.doubt_since = None;
        self.reason = None;
        self.lookups.clear();
    }

    fn decide(&mut self, state: State, by: Decision) {
        self.settle(state, by.why.clone(), by.at);
        self.by = Some(by);
    }

    /// One more attempt, whatever the earlier ones counted. A person may know that it is not there, and not that it will
    /// not get there: what may have been sent waits for its quiet point.
    fn release(&mut self, by: Decision) {
        let at = by.at;
        let quiet = self
            .claim
            .as_ref()
            .filter(|_| self.frozen && self.state != State::Done);
        let not_before = quiet.map_or(at, |claim| claim.quiet_until.max(at));
        self.decide(State::Retry, by);
        self.not_before = Some(not_before);
        self.uncounted = self.attempt;
        self.doubtful = false;
    }

    /// A new edition starts with a post, a key and attempts of its own; the receipts so far are kept.
    fn again(&mut self, by: Decision) {
        let earlier = self.remote.take().zip(self.evidence.take());
        if let Some((remote, evidence)) = earlier {
            let at = self.settled_at.unwrap_or(by.at);
            self.receipts.push(LateReceipt {
                remote,
                at,
                evidence,
            });
        }
        self.release(by);
        self.edition += 1;
        self.claim = None;
        self.frozen = false;
        self.lookups.clear();
    }

    fn settle(&mut self, state: State, reason: Option<String>, at: Timestamp) {
        self.state = state;
        self.reason = reason;
        self.settled_at = Some(at);
        self.not_before = None;
        if state != State::InDoubt {
            self.doubt_since = None;
        }
    }
}
