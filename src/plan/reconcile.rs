//! From a delivery in doubt and what the lookups said to the next step.
//!
//! *Found* counts at any time and is handled where the lookup is received. *Absent* counts only from lookups that
//! began after the quiet point, and two of them are needed: before it, the service may still be working on the
//! request (a client gave up at 10 s, the server was done at 12 s).

use std::time::Duration;

use crate::model::channel::{ChannelRules, Gate, Policy};
use crate::model::delivery::{ClaimRecord, Finding, Record};
use crate::model::mutant::{Mutant, on};
use crate::model::time::Timestamp;

/// Lookups after the quiet point that must all say "absent" before a post may be sent again: one alone may have been
/// answered by a replica that lags.
const ABSENT_LOOKUPS_NEEDED: usize = 2;
/// Least time between those two.
const ABSENT_LOOKUPS_APART: Duration = Duration::from_secs(30);
/// An account that can't be read for this long needs a person.
const UNREADABLE_MAX: Duration = Duration::from_hours(24);
/// Longest wait between two lookups of an account that can't be read.
const UNREADABLE_WAIT_MAX: Duration = Duration::from_mins(15);

/// The next step of a delivery in doubt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reconciled {
    /// Look for the post at this moment.
    LookAt(Timestamp),
    /// Send the same bytes again under a new token, from this moment on.
    RepeatAt(Timestamp),
    /// It is certainly not there: due again.
    Absent,
    /// A person is needed.
    Hold(String),
}

/// Returns the next step of a delivery whose record is `in_doubt`.
///
/// `readable`: whether the service can be asked at all.
pub fn reconcile(
    record: &Record,
    claim: &ClaimRecord,
    rules: &ChannelRules,
    readable: bool,
    now: Timestamp,
) -> Reconciled {
    let doubt_since = record
        .doubt_since
        .or(record.settled_at)
        .unwrap_or(claim.claimed_at);
    match rules.policy {
        Policy::AtLeastOnce => again(record, rules, retry_at(record, rules, doubt_since)),
        // A person will be asked, and should be told what is known by then.
        Policy::Keyed if readable && rules.gate == Gate::Confirm => look(record, claim, rules, doubt_since, now),
        Policy::Keyed => {
            if readable && record.lookups.is_empty() {
                return Reconciled::LookAt(retry_at(record, rules, doubt_since));
            }
            let looked_at = record.lookups.last().map_or(doubt_since, |lookup| lookup.at);
            again(record, rules, looked_at.max(retry_at(record, rules, doubt_since)))
        }
        Policy::Verified => look(record, claim, rules, doubt_since, now),
        Policy::AtMostOnce if readable => look(record, claim, rules, doubt_since, now),
        Policy::AtMostOnce => Reconciled::Hold(
            "it may have been posted and this service can't be asked; it is never sent again by itself".to_owned(),
        ),
    }
}

/// A repeat is allowed at `at`, if attempts are left and no person has to be asked.
fn again(record: &Record, rules: &ChannelRules, at: Timestamp) -> Reconciled {
    if record.attempts_counted() >= rules.max_attempts {
        return Reconciled::Hold(attempts_used_up(record));
    }
    match rules.gate {
        Gate::Auto | Gate::Manual => Reconciled::RepeatAt(at),
        Gate::Confirm => Reconciled::Hold(
            "its outcome is not known, and `gate = \"confirm\"` lets only a person send it again"
                .to_owned(),
        ),
    }
}

fn look(
    record: &Record,
    claim: &ClaimRecord,
    rules: &ChannelRules,
    doubt_since: Timestamp,
    now: Timestamp,
) -> Reconciled {
    let quiet = claim.quiet_until;
    let late: Vec<_> = record
        .lookups
        .iter()
        .filter(|lookup| lookup.at > quiet || on(Mutant::AbsentCountsEarly))
        .collect();
    let absent = late
        .iter()
        .rev()
        .take_while(|lookup| lookup.finding == Finding::Absent)
        .count();
    if absent >= ABSENT_LOOKUPS_NEEDED || (absent > 0 && on(Mutant::OneAbsentIsEnough)) {
        return absent_for_certain(record, rules);
    }
    if let Some(last) = late.last() {
        return match last.finding {
            Finding::Absent => Reconciled::LookAt(last.at.plus(ABSENT_LOOKUPS_APART)),
            Finding::Found | Finding::CannotTell if now.since(doubt_since) > UNREADABLE_MAX => {
                Reconciled::Hold("the account could not be read for a day, so nobody knows whether it was posted".to_owned())
            }
            Finding::Found | Finding::CannotTell => {
                let tries = late.len().min(6);
                let wait = ABSENT_LOOKUPS_APART * 2_u32.saturating_pow(u32::try_from(tries - 1).unwrap_or(0));
                Reconciled::LookAt(last.at.plus(wait.min(UNREADABLE_WAIT_MAX)))
            }
        };
    }
    let first_late = quiet.max(doubt_since).plus(Duration::from_millis(1));
    // Early lookups can only find; they make the common case, a lost answer, quick.
    let looked_at = record.lookups.last().map(|lookup| lookup.at);
    let next = rules
        .lookups
        .iter()
        .find(|delay| looked_at.is_none_or(|at| doubt_since.plus(**delay) > at));
    match next {
        Some(delay) if doubt_since.plus(*delay) < quiet => {
            Reconciled::LookAt(doubt_since.plus(*delay))
        }
        Some(_) | None => Reconciled::LookAt(first_late),
    }
}

fn absent_for_certain(record: &Record, rules: &ChannelRules) -> Reconciled {
    if record.attempts_counted() >= rules.max_attempts {
        return Reconciled::Hold(attempts_used_up(record));
    }
    if on(Mutant::SentMoreThanOnce) || on(Mutant::ConfirmIgnored) {
        return Reconciled::Absent;
    }
    match (rules.policy, rules.gate) {
        (Policy::AtMostOnce, _) => Reconciled::Hold(
            "it was sent, its outcome was not seen, and it is not there; `at_most_once` never sends again by itself".to_owned(),
        ),
        (_, Gate::Confirm) => Reconciled::Hold(
            "it is not there after the quiet point, and `gate = \"confirm\"` lets only a person send it again".to_owned(),
        ),
        (Policy::AtLeastOnce | Policy::Keyed | Policy::Verified, Gate::Auto | Gate::Manual) => Reconciled::Absent,
    }
}

/// The n-th doubt is followed up after the n-th of the channel's lookup delays, the last one doubled for each further.
fn retry_at(record: &Record, rules: &ChannelRules, doubt_since: Timestamp) -> Timestamp {
    let doubts = record.attempts_counted().saturating_sub(1);
    let index = usize::try_from(doubts).unwrap_or(usize::MAX);
    let delay = match (rules.lookups.get(index), rules.lookups.last()) {
        (Some(delay), _) => *delay,
        (None, Some(last)) => {
            let beyond = index.saturating_sub(rules.lookups.len()).min(8) + 1;
            last.saturating_mul(2_u32.saturating_pow(u32::try_from(beyond).unwrap_or(9)))
        }
        (None, None) => Duration::ZERO,
    };
    doubt_since.plus(delay)
}

fn attempts_used_up(record: &Record) -> String {
    let attempts = record.attempts_counted();
    let last = record
        .reason
        .as_ref()
        .map_or_else(String::new, |reason| format!("; the last one: {reason}"));
    format!("{attempts} attempts were made and none is known to have been delivered{last}")
}
