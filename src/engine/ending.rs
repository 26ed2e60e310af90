//! How a run ended: every delivery, the counts, and the exit code.

use crate::exit::Exit;
use crate::model::delivery::State;
use crate::model::ids::ChannelName;
use crate::model::row::Row;
use crate::model::time::Timestamp;
use crate::plan::alarms::Facts;
use crate::plan::outlook::{Aside, Circumstances, Outlook, Standing, outlook};

use super::core::Core;
use super::desk::{Desk, Phase};

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
    /// What posts of this run went without, in plain sentences.
    pub notices: Vec<String>,
    /// Items that are never a delivery, with the reason.
    pub out_of_scope: Vec<(String, String)>,
    /// Rows whose outcome is not on the remote.
    pub unsaved: Vec<Row>,
    /// What is due next; none: nothing is left to do by itself.
    pub next_due: Option<NextDue>,
    /// The exit code's meaning.
    pub exit: Exit,
}

/// What a later run does first by itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NextDue {
    /// When it is due: the present, if whatever runs next may do it.
    pub at: Timestamp,
    /// Which delivery.
    pub what: String,
    /// Whether it lies ahead.
    pub is_later: bool,
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
        let mut weighed = self.problems(&deliveries);
        let mut alarms: Vec<String> = self.ledger_trouble().into_iter().collect();
        if let Some(survey) = &self.survey {
            let snapshot = self.outbox.snapshot();
            let facts = Facts {
                config: &self.setup.config,
                items: &survey.items,
                header: snapshot.and_then(|snapshot| snapshot.header.as_ref()),
                baseline: snapshot.map(|snapshot| &snapshot.baseline),
                rows: self.outbox.rows(),
                deliveries: &deliveries,
                now,
            };
            let overdue = facts.overdue();
            if !overdue.is_empty() {
                weighed.exit = weighed.exit.or_worse(Exit::NeedsPerson);
            }
            alarms.extend([facts.doubts(), overdue, facts.other_accounts()].concat());
        }
        alarms.extend(self.alarms.iter().cloned());
        for delivery in &deliveries {
            weighed.exit = weighed.exit.or_worse(delivery.weight());
        }
        let told = self.left_out.iter();
        let notices =
            told.flat_map(|(id, all)| all.iter().map(move |what| format!("{id}: {what}")));
        Ending {
            alarms,
            notices: notices.collect(),
            next_due: next_due(&deliveries, now),
            out_of_scope: self
                .survey
                .iter()
                .flat_map(|survey| &survey.out_of_scope)
                .map(|(id, reason)| (id.to_string(), reason.clone()))
                .collect(),
            unsaved: self.outbox.unsaved(),
            deliveries,
            summary,
            problems: weighed.problems,
            exit: weighed.exit,
        }
    }

    /// What went wrong beside single deliveries, and what it means for the exit code.
    fn problems(&self, deliveries: &[Outlook]) -> Weighed {
        let mut weighed = Weighed {
            problems: Vec::new(),
            exit: Exit::Proved,
        };
        for problem in &self.setup.catalog.problems {
            weighed.add(problem.clone(), Exit::Usage);
        }
        if self.ledger_trouble().is_some() {
            // An alarm says why.
            weighed.exit = weighed.exit.or_worse(Exit::Ledger);
        } else if let Some(reason) = self.fatal() {
            weighed.add(reason.to_owned(), Exit::Ledger);
        } else if !self.outbox.unsaved().is_empty() {
            weighed.add(
                "outcomes are not on the ledger's remote".to_owned(),
                Exit::Ledger,
            );
        } else if self.survey.is_none() && self.is_stopping() {
            weighed.add(
                "the run was stopped before the ledger was read".to_owned(),
                Exit::WorkRemains,
            );
        } else if self.survey.is_none() {
            weighed.add("the ledger was not read".to_owned(), Exit::Ledger);
        }
        for (name, desk) in &self.desks {
            if let Phase::Closed { reason, exit } = &desk.phase
                && matters(name, deliveries, *exit)
            {
                weighed.add(reason.clone(), *exit);
            }
        }
        for (channel, kept) in self.survey.iter().flat_map(|survey| &survey.kept_back) {
            let any = deliveries.iter().any(|delivery| {
                delivery.id.channel == *channel && delivery.standing == Standing::KeptBack
            });
            if any {
                weighed.add(kept.sentence(channel), kept.exit());
            }
        }
        let snapshot = self.outbox.snapshot();
        for file in snapshot.iter().flat_map(|snapshot| &snapshot.unreadable) {
            let problem = format!(
                "{} can't be read and is left as it is: {}",
                file.path, file.reason
            );
            weighed.add(problem, Exit::Ledger);
        }
        weighed
    }

    /// Why nothing may be sent from the ledger as it was read last: it went backwards, or is not ours.
    fn ledger_trouble(&self) -> Option<String> {
        let snapshot = self.outbox.snapshot()?;
        snapshot.standing.trouble()
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
                let elsewhere = self.waits_for_its_account(&surveyed.id);
                let unread = desk.and_then(|desk| desk.unread.get(&surveyed.id));
                let unread = unread.map(|unread| &unread.reason);
                let not_yet = unread.or(not_live.as_ref());
                let aside = match (elsewhere.as_ref().or(unsendable), not_yet) {
                    (Some(reason), _) => Some(Aside::Unsendable(reason)),
                    (None, Some(reason)) => Some(Aside::NotYet(reason)),
                    (None, None) => None,
                };
                let mut outlook = outlook(
                    surveyed,
                    self.outbox.row(&surveyed.id),
                    survey,
                    channel,
                    Circumstances {
                        put_off: self.checkout.put_off(),
                        limits: self.limits(channel.name()),
                        paused_until: self.paused_until(channel.name()),
                        announce: self.setup.selection.announce,
                        closed: desk.and_then(Desk::needs_person),
                    },
                    aside,
                    now,
                );
                let told = self.left_out.get(&surveyed.id).into_iter().flatten();
                for what in told {
                    if !outlook.notes.contains(what) {
                        outlook.notes.push(what.clone());
                    }
                }
                Some(outlook)
            })
            .collect()
    }
}

/// Problems with what they mean for the exit code.
struct Weighed {
    problems: Vec<String>,
    exit: Exit,
}

impl Weighed {
    fn add(&mut self, problem: String, exit: Exit) {
        // Two channels on one account are closed for the same reason, which is said once.
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
        self.exit = self.exit.or_worse(exit);
    }
}

/// A closed channel matters if something on it is left to do; a missing secret matters if anything is there at all.
fn matters(name: &ChannelName, deliveries: &[Outlook], exit: Exit) -> bool {
    deliveries
        .iter()
        .filter(|delivery| delivery.id.channel == *name)
        .any(|delivery| {
            exit == Exit::Usage || delivery.state.is_none_or(|state| !state.is_settled())
        })
}

/// Returns what is due next of what a later run does by itself.
pub(crate) fn next_due(deliveries: &[Outlook], now: Timestamp) -> Option<NextDue> {
    deliveries
        .iter()
        .filter(|delivery| delivery.weight() == Exit::WorkRemains)
        .map(|delivery| {
            let at = delivery.due_at.unwrap_or(now);
            NextDue {
                at,
                what: delivery.id.to_string(),
                is_later: at > now,
            }
        })
        .min()
}
