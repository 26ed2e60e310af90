//! When the remote is away: how long to wait, and the journal on this machine's disk for what must not be lost.

use std::sync::Arc;
use std::time::Duration;

use crate::model::delivery::{self, Counts, Operation, Record, State};
use crate::model::mutant::{Mutant, on};
use crate::model::notice::Notice;
use crate::model::row::Row;
use crate::model::time::Timestamp;

use super::action::Action;
use super::core::Core;
use super::outbox::Sort;

/// Without a deadline: how long results wait for a remote that is away, before they go to the journal.
const REMOTE_PATIENCE_WITH_RESULTS: Duration = Duration::from_mins(5);
/// How long a run that has nothing to save waits for a remote that is away.
const REMOTE_PATIENCE: Duration = Duration::from_mins(1);
/// Rows on their way to the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Journal {
    Idle,
    Writing,
}

impl Core {
    /// Brings what an earlier run on this machine could not push.
    pub(super) fn merge_journal(&mut self, now: Timestamp) {
        if on(Mutant::JournalNotMerged) {
            return;
        }
        let setup = Arc::clone(&self.setup);
        for row in &setup.journal {
            for (operation, saved) in &row.operations {
                self.merge_saved(now, row, *operation, saved);
            }
        }
    }

    fn merge_saved(&mut self, now: Timestamp, row: &Row, operation: Operation, saved: &Record) {
        let id = row.delivery_id();
        let standing = self.outbox.row(&id);
        let standing = standing.and_then(|row| row.operations.get(&operation));
        // A person asked for a new edition meanwhile: what became of the one before it is no answer.
        if standing.is_some_and(|record| record.edition > saved.edition) {
            return;
        }
        let event = match (&saved.remote, saved.evidence) {
            (Some(remote), Some(evidence)) => delivery::Event::Proved {
                remote: remote.clone(),
                evidence,
                at: saved.settled_at.unwrap_or(now),
            },
            (_, _) => match journaled_event(saved, standing, now) {
                Some(event) => event,
                None => return,
            },
        };
        // What was settled meanwhile, by a lookup or under a later claim, is known better there.
        let is_open = standing.is_some_and(|record| {
            record.state == State::InFlight && record.token() == saved.token()
        });
        let Some(token) = saved.token().cloned() else {
            return;
        };
        let is_receipt = matches!(event, delivery::Event::Proved { .. });
        let known = standing.is_some_and(|record| says(record, saved));
        if !known && (is_open || is_receipt) {
            let identity = self.outbox.row(&id).unwrap_or(row).clone();
            self.record_on(identity, operation, vec![event], Sort::Outcome(token), true);
            self.tell(Notice::Plain(format!(
                "{id}: an earlier run could not push its outcome; it is taken from the journal"
            )));
        }
    }

    /// Ends waiting for a remote that is away.
    pub(super) fn impatience(&mut self, now: Timestamp) {
        let Some(since) = self.outbox.failing_since() else {
            return;
        };
        let patience = match (self.setup.limits.deadline, self.outbox.unsaved().is_empty()) {
            (None, true) => REMOTE_PATIENCE,
            (Some(deadline), true) => REMOTE_PATIENCE.min(deadline.since(since)),
            (Some(deadline), false) => deadline.minus(Duration::from_secs(5)).since(since),
            (None, false) => REMOTE_PATIENCE_WITH_RESULTS,
        };
        let give_up_at = since.plus(patience);
        if now >= give_up_at || self.stop.is_some() {
            let unconfirmed = "the ledger's remote confirms no push";
            let reason = match (self.outbox.failure(), self.outbox.push_failure()) {
                (Some(unreadable), _) => unreadable.to_owned(),
                (None, Some(words)) => format!("{unconfirmed}: {words}"),
                (None, None) => unconfirmed.to_owned(),
            };
            self.give_up(reason);
        } else {
            self.wakes
                .push((give_up_at, "the ledger's remote".to_owned()));
        }
    }

    /// Keeps what is known and not on the remote, just before a stopped run must be out.
    pub(super) fn save_before_leaving(&mut self, now: Timestamp) {
        let Some(save_at) = self.save_at() else {
            return;
        };
        if now >= save_at && !self.outbox.unsaved().is_empty() {
            self.give_up(
                "the run was stopped before its outcomes were on the ledger's remote".to_owned(),
            );
        }
    }

    /// Returns when a stopped run saves what it could not push: half-way between the last answer and the way out.
    pub(super) fn save_at(&self) -> Option<Timestamp> {
        let limits = &self.setup.limits;
        let last = limits.stop_out.saturating_sub(limits.stop_answer) / 2;
        self.stop
            .map(|at| at.plus(limits.stop_answer.saturating_add(last)))
    }

    /// Ends the run: the ledger can't be used, so nothing may be sent.
    pub(super) fn give_up(&mut self, reason: String) {
        if self.fatal.is_none() {
            self.fatal = Some(reason);
            self.outbox.abandon_waiting();
            self.drop_claims();
            self.save_to_journal();
        }
    }

    pub(super) fn save_to_journal(&mut self) {
        if on(Mutant::JournalNotWritten) {
            return;
        }
        let rows = self.outbox.unsaved();
        // An answer that comes after the remote was given up is kept as well.
        if self.journal == Journal::Idle && rows != self.journaled {
            self.journaled.clone_from(&rows);
            self.journal = Journal::Writing;
            self.actions.push(Action::Journal(rows));
        }
    }

    /// Lets go of the journal, once all that it holds is on the remote or was overtaken there.
    pub(super) fn forget_journal(&mut self) {
        let setup = Arc::clone(&self.setup);
        if self.merged_journal
            && !self.forgot_journal
            && !setup.journal.is_empty()
            && self.outbox.is_clear()
        {
            self.forgot_journal = true;
            self.actions
                .push(Action::ForgetJournal(setup.journal.clone()));
        }
    }

    pub(super) fn journaled(&mut self, result: Result<String, String>) {
        self.journal = Journal::Idle;
        match result {
            Ok(place) => self.tell(Notice::Warning(format!(
                "outcomes that could not be pushed are kept in {place}; the next run on this machine brings them to the ledger"
            ))),
            Err(reason) => self.tell(Notice::Warning(format!("outcomes could neither be pushed nor kept on disk: {reason}"))),
        }
    }

    /// Returns why the run had to end, if the ledger was at fault.
    pub fn fatal(&self) -> Option<&str> {
        self.fatal.as_deref()
    }
}

/// Whether the ledger's record says what the journal's says.
fn says(stands: &Record, saved: &Record) -> bool {
    let receipts = |record: &Record| -> Vec<_> {
        let late = record.receipts.iter().map(|receipt| receipt.remote.clone());
        record.remote.iter().cloned().chain(late).collect()
    };
    let known = receipts(stands);
    stands.state == saved.state
        && receipts(saved)
            .iter()
            .all(|receipt| known.contains(receipt))
}

/// What a row in the journal says happened to the claim that it shares with the ledger's row.
fn journaled_event(
    saved: &Record,
    stands: Option<&Record>,
    now: Timestamp,
) -> Option<delivery::Event> {
    let at = saved.settled_at.unwrap_or(now);
    let reason = saved.reason.clone().unwrap_or_default();
    match saved.state {
        State::Retry => Some(delivery::Event::Deferred {
            reason,
            not_before: saved.not_before.unwrap_or(at),
            counts: if stands.is_some_and(|stands| saved.uncounted > stands.uncounted) {
                Counts::Nothing
            } else {
                Counts::Attempt
            },
            at,
        }),
        State::Failed => Some(delivery::Event::Refused { reason, at }),
        State::InDoubt => Some(delivery::Event::Doubted { reason, at }),
        State::InFlight | State::Done | State::Held | State::Skipped => None,
    }
}
