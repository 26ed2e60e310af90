//! The next step of one delivery.

use crate::model::channel::{ChannelRules, Gate};
use crate::model::delivery::{Record, State};
use crate::model::item::Item;
use crate::model::mutant::{Mutant, on};
use crate::model::time::Timestamp;

use super::reconcile::{Reconciled, reconcile};

/// The next step of one delivery, or why there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Due: claim it and send it. `again`: the same bytes as before, because they may have been sent.
    Send {
        /// From what.
        again: Again,
    },
    /// Due later.
    Later {
        /// Not before.
        until: Timestamp,
        /// What is waited for, in plain words.
        why: String,
    },
    /// Another run's claim, or one of this run that is under way: left alone until then.
    Busy {
        /// The quiet point.
        until: Timestamp,
    },
    /// Another run's claim past its quiet point: whoever sees it takes it over.
    TakeOver,
    /// In doubt: look for it now.
    Look,
    /// In doubt, and certainly not there.
    Absent,
    /// A person is needed from now on.
    Hold(String),
    /// Nothing to do: `done`, `failed`, `held`, `skipped`.
    Rest,
    /// Waits for a person before its first send.
    NeedsApproval,
}

/// What a send starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// The first attempt, or every earlier one is surely undelivered: rendered anew.
    Fresh,
    /// An earlier attempt may have been sent: the frozen bytes.
    Frozen,
}

/// Returns the next step of a delivery with `record` (none: pending).
pub fn decide(
    record: Option<&Record>,
    item: Option<&Item>,
    rules: &ChannelRules,
    readable: bool,
    now: Timestamp,
) -> Step {
    let Some(record) = record else {
        return match (rules.gate, not_yet(item, rules, now)) {
            (_, Some(later)) => later,
            (Gate::Manual, None) => Step::NeedsApproval,
            (Gate::Auto | Gate::Confirm, None) => Step::Send {
                again: Again::Fresh,
            },
        };
    };
    match (record.state, &record.claim) {
        (State::Done | State::Failed | State::Held | State::Skipped, _) => Step::Rest,
        (State::InFlight, Some(claim)) if now > claim.quiet_until || on(Mutant::TakenOverEarly) => {
            Step::TakeOver
        }
        (State::InFlight, Some(claim)) => Step::Busy {
            until: claim.quiet_until,
        },
        (State::InDoubt, Some(claim)) => match reconcile(record, claim, rules, readable, now) {
            Reconciled::LookAt(at) if at <= now => Step::Look,
            Reconciled::LookAt(at) => Step::Later {
                until: at,
                why: "to look whether it is there".to_owned(),
            },
            Reconciled::RepeatAt(at) if at <= now => Step::Send {
                again: Again::Frozen,
            },
            Reconciled::RepeatAt(at) => Step::Later {
                until: at,
                why: "to send the same again".to_owned(),
            },
            Reconciled::Absent => Step::Absent,
            Reconciled::Hold(reason) => Step::Hold(reason),
        },
        (State::Retry, _) if record.attempts_counted() >= rules.max_attempts => {
            Step::Hold(format!(
                "{} attempts were refused or lost",
                record.attempts_counted()
            ))
        }
        (State::Retry, _) => match record.due_at() {
            Some(until) if until > now => Step::Later {
                until,
                why: record
                    .reason
                    .clone()
                    .unwrap_or_else(|| "its next attempt".to_owned()),
            },
            Some(_) | None => {
                let again = if record.frozen {
                    Again::Frozen
                } else {
                    Again::Fresh
                };
                let later = match again {
                    Again::Fresh => not_yet(item, rules, now),
                    Again::Frozen => not_open(rules, now),
                };
                later.unwrap_or(Step::Send { again })
            }
        },
        // A row that a person wrote by hand without a claim: nothing can be looked up.
        (State::InFlight | State::InDoubt, None) => {
            Step::Hold("the row says that it was sent, but not what and when".to_owned())
        }
    }
}

/// A first send waits for the planned date, the channel's delay and its hours.
fn not_yet(item: Option<&Item>, rules: &ChannelRules, now: Timestamp) -> Option<Step> {
    planned(item?, rules, now).or_else(|| not_open(rules, now))
}

/// Whether an article is planned for later on a channel.
pub(super) fn planned(item: &Item, rules: &ChannelRules, now: Timestamp) -> Option<Step> {
    let open = |at: Timestamp| rules.hours.map_or(at, |hours| hours.next_open(at));
    if let Some(until) = item.settings.publish_at.filter(|until| *until > now) {
        return Some(Step::Later {
            until: open(until),
            why: "its `publish_at`".to_owned(),
        });
    }
    if let Some(published) = item.published {
        let until = published.plus(rules.delay);
        if !rules.delay.is_zero() && until > now {
            return Some(Step::Later {
                until: open(until),
                why: "the channel's `delay`".to_owned(),
            });
        }
    }
    None
}

fn not_open(rules: &ChannelRules, now: Timestamp) -> Option<Step> {
    let until = rules.hours?.next_open(now);
    (until > now).then(|| Step::Later {
        until,
        why: "the channel's `hours`".to_owned(),
    })
}
