//! How a run ended: every delivery, the counts, and the exit code.

use std::time::Duration;

use crate::exit::Exit;
use crate::model::delivery::State;
use crate::model::ids::ChannelName;
use crate::model::row::Row;
use crate::model::time::Timestamp;
use crate::plan::outlook::{Aside, Outlook, Standing, outlook};
use crate::plan::survey::KeptBack;

use super::core::Core;
use super::desk::Phase;

/// A doubt that lasts longer is an alarm.
const DOUBT_ALARM: Duration = Duration::from_mins(5);

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "an ending that is not reported leaves people guessing"]
pub struct Ending {
    /// Every delivery, oldest item first.
    pub deliveries: Vec<Outlook>,
    /// Counts by state.
    pub summary: Summary,
    /// What somebody should look at, in plain sentences.
    pub alarms: Vec<String>,
    /// What went wrong with channels, the ledger or single items, in plain sentences.
    pub problems: Vec<String>,
    /// Items that are never a delivery, with the reason.
    pub out_of_scope: Vec<(String, String)>,
    /// When the next thing is due, and what; none: nothing is left to do by itself.
    pub next_due: Option<(Timestamp, String)>,
    /// The exit code's meaning.
    pub exit: Exit,
}

/// How many deliveries are in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Posted, proved.
    pub done: usize,
    /// Refused.
    pub failed: usize,
    /// Needs a person.
    pub held: usize,
    /// Sent or maybe sent, outcome not known.
    pub in_doubt: usize,
    /// Surely not delivered, due again.
    pub retry: usize,
    /// Nothing was tried.
    pub pending: usize,
    /// Not to be announced.
    pub skipped: usize,
    /// Claimed, by whoever, and not settled.
    pub busy: usize,
}

impl Summary {
    /// Counts deliveries by state.
    pub fn of(deliveries: &[Outlook]) -> Self {
        let mut summary = Self::default();
        for delivery in deliveries {
            *match delivery.state {
                None => &mut summary.pending,
                Some(State::InFlight) => &mut summary.busy,
                Some(State::InDoubt) => &mut summary.in_doubt,
                Some(State::Retry) => &mut summary.retry,
                Some(State::Done) => &mut summary.done,
                Some(State::Failed) => &mut summary.failed,
                Some(State::Held) => &mut summary.held,
                Some(State::Skipped) => &mut summary.skipped,
            } += 1;
        }
        summary
    }
}

impl Core {
    /// Returns how the run ended.
    pub fn ending(&self, now: Timestamp) -> Ending {
        let deliveries = self.outlooks(now);
        let summary = Summary::of(&deliveries);
        let mut exit = Exit::Proved;
        let mut problems = Vec::new();
        for problem in &self.setup.catalog.problems {
            problems.push(problem.clone());
            exit = exit.or_worse(Exit::Usage);
        }
        if let Some(reason) = self.fatal() {
            problems.push(reason.to_owned());
            exit = exit.or_worse(Exit::Ledger);
        }
        for (name, desk) in &self.desks {
            if let Phase::Closed {
                reason,
                exit: by_channel,
            } = &desk.phase
                && matters(name, &deliveries, *by_channel)
            {
                problems.push(reason.clone());
                exit = exit.or_worse(*by_channel);
            }
        }
        let kept_back = self.survey.iter().flat_map(|survey| &survey.kept_back);
        for (channel, kept) in kept_back {
            problems.push(kept.sentence(channel));
            exit = exit.or_worse(match kept {
                KeptBack::FirstRun { .. } => Exit::Usage,
                KeptBack::TooManyNew { .. } => Exit::NeedsPerson,
            });
        }
        let snapshot = self.outbox.snapshot();
        for file in snapshot.iter().flat_map(|snapshot| &snapshot.unreadable) {
            problems.push(format!(
                "{} can't be read and is left as it is: {}",
                file.path, file.reason
            ));
            exit = exit.or_worse(Exit::Ledger);
        }
        for delivery in &deliveries {
            exit = exit.or_worse(weight(delivery));
        }
        Ending {
            alarms: self.alarms(now),
            next_due: next_due(&deliveries, now),
            out_of_scope: self
                .survey
                .iter()
                .flat_map(|survey| &survey.out_of_scope)
                .map(|(id, reason)| (id.to_string(), reason.clone()))
                .collect(),
            deliveries,
            summary,
            problems,
            exit,
        }
    }

    fn outlooks(&self, now: Timestamp) -> Vec<Outlook> {
        let Some(survey) = &self.survey else {
            return Vec::new();
        };
        survey
            .deliveries
            .iter()
            .filter_map(|surveyed| {
                let channel = self
                    .setup
                    .config
                    .channels
                    .iter()
                    .find(|channel| *channel.name() == surveyed.id.channel)?;
                let desk = self.desks.get(channel.name());
                let unsendable = desk.and_then(|desk| desk.unsendable.get(&surveyed.id));
                let not_live = self
                    .not_live(&surveyed.id.item)
                    .filter(|_| self.outbox.row(&surveyed.id).is_none());
                let aside = match (unsendable, &not_live) {
                    (Some(reason), _) => Some(Aside::Unsendable(reason)),
                    (None, Some(reason)) => Some(Aside::NotYet(reason)),
                    (None, None) => None,
                };
                Some(outlook(
                    surveyed,
                    self.outbox.row(&surveyed.id),
                    survey.items.get(&surveyed.id.item),
                    channel,
                    self.text_limit(channel.name()),
                    aside,
                    now,
                ))
            })
            .collect()
    }

    fn alarms(&self, now: Timestamp) -> Vec<String> {
        let Some(survey) = &self.survey else {
            return Vec::new();
        };
        survey
            .deliveries
            .iter()
            .filter_map(|surveyed| {
                let record = self.outbox.row(&surveyed.id).and_then(Row::publish)?;
                let since = match record.state {
                    State::InDoubt => record.doubt_since,
                    State::InFlight => record.claim.as_ref().map(|claim| claim.claimed_at),
                    State::Retry | State::Done | State::Failed | State::Held | State::Skipped => {
                        None
                    }
                }?;
                let lasts = now.since(since);
                (lasts > DOUBT_ALARM).then(|| {
                    format!(
                        "{}: in doubt for {}, since {since}",
                        surveyed.id,
                        crate::model::time::duration_text(lasts)
                    )
                })
            })
            .collect()
    }
}

/// A closed channel matters if something on it is left to do; a missing secret always does.
fn matters(name: &ChannelName, deliveries: &[Outlook], exit: Exit) -> bool {
    exit == Exit::Usage
        || deliveries
            .iter()
            .filter(|delivery| delivery.id.channel == *name)
            .any(|delivery| match delivery.state {
                None | Some(State::InFlight | State::InDoubt | State::Retry) => true,
                Some(State::Done | State::Failed | State::Held | State::Skipped) => false,
            })
}

/// What one delivery means for the exit code.
fn weight(delivery: &Outlook) -> Exit {
    let by_state = match delivery.state {
        None | Some(State::InFlight | State::InDoubt | State::Retry) => Exit::WorkRemains,
        Some(State::Done | State::Skipped) => Exit::Proved,
        Some(State::Failed) => Exit::Refused,
        Some(State::Held) => Exit::NeedsPerson,
    };
    match delivery.standing {
        Standing::ByState => by_state,
        // Its channel's sentence says it already, with its own code.
        Standing::KeptBack => Exit::Proved,
        Standing::Unreadable => Exit::Ledger,
        Standing::NeedsPerson => Exit::NeedsPerson,
    }
}

fn next_due(deliveries: &[Outlook], now: Timestamp) -> Option<(Timestamp, String)> {
    deliveries
        .iter()
        .filter(|delivery| weight(delivery) == Exit::WorkRemains)
        .map(|delivery| (delivery.due_at.unwrap_or(now), delivery.id.to_string()))
        .min()
}
