//! What a command found, for reports beside its own: the summary, the annotations, and the outputs of a CI job.

use std::collections::BTreeMap;

use chrono_tz::Tz;

use crate::engine::ending::{NextDue, Summary};
use crate::exit::Exit;
use crate::model::delivery::State;
use crate::model::item::ItemId;
use crate::model::time::Timestamp;
use crate::plan::outlook::{Outlook, Standing};

use super::human::Titles;

/// What a command found.
#[derive(Clone, Debug)]
pub struct Digest {
    /// Every delivery, oldest item first.
    pub deliveries: Vec<Outlook>,
    /// Headings.
    pub titles: Titles,
    /// The Markdown files of the items, relative to the repository's top.
    pub sources: BTreeMap<ItemId, String>,
    /// What is wrong, in plain sentences.
    pub problems: Vec<String>,
    /// What somebody should look at, in plain sentences.
    pub alarms: Vec<String>,
    /// What people should know, in plain sentences.
    pub notices: Vec<String>,
    /// How many articles are out of scope.
    pub out_of_scope: usize,
    /// What is due next.
    pub next_due: Option<NextDue>,
    /// Who makes the next run.
    pub next_run: NextRun,
    /// When the run began; none: nothing was sent.
    pub began_at: Option<Timestamp>,
    /// Which deliveries are worth a line.
    pub shown: Shown,
    /// What this means for the exit code of a run.
    pub exit: Exit,
    /// The whole report as JSON.
    pub report: String,
    /// More outputs for the steps that follow.
    pub outputs: Vec<(&'static str, String)>,
    /// For times.
    pub timezone: Tz,
}

/// Which deliveries are worth a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// All.
    All,
    /// What is not settled, with the text that would be sent.
    Unsettled,
    /// What is not settled, and what this run settled.
    ThisRun,
    /// All, which no person need or can do anything about.
    Rehearsed,
}

/// Who makes the next run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextRun {
    /// A schedule does, at this time.
    At(Timestamp),
    /// There is a schedule, which can't be read.
    Scheduled,
    /// Nobody does; a sentence that says so, with the lines to add.
    Nobody(String),
    /// That is not known here.
    Unknown,
}

impl Digest {
    /// Counts by state.
    pub fn summary(&self) -> Summary {
        Summary::of(&self.deliveries)
    }

    /// Whether nothing that is due is unproved.
    pub fn settled(&self) -> bool {
        self.exit == Exit::Proved
            && self.deliveries.iter().all(|delivery| {
                delivery.weight() == Exit::Proved && delivery.standing != Standing::KeptBack
            })
    }

    /// Whether a delivery was settled by this run.
    pub fn of_this_run(&self, delivery: &Outlook) -> bool {
        let began_at = self.began_at;
        began_at.is_some_and(|began| delivery.updated_at.is_some_and(|at| at >= began))
    }

    /// Returns the addresses of what this run posted, or found posted.
    pub fn urls(&self) -> Vec<&str> {
        self.deliveries
            .iter()
            .filter(|delivery| delivery.state == Some(State::Done) && self.of_this_run(delivery))
            .filter_map(|delivery| delivery.remote.as_ref()?.url.as_deref())
            .collect()
    }

    /// Returns the deliveries that are worth a line, newest item first.
    pub fn lines(&self) -> Vec<&Outlook> {
        let mut items: Vec<Vec<&Outlook>> = Vec::new();
        for delivery in self.deliveries.iter().filter(|one| self.is_shown(one)) {
            match items.last_mut() {
                Some(item) if item.iter().all(|other| other.id.item == delivery.id.item) => {
                    item.push(delivery);
                }
                Some(_) | None => items.push(vec![delivery]),
            }
        }
        items.into_iter().rev().flatten().collect()
    }

    /// Returns the commands that free a delivery which waits for a person, without the program's name.
    pub fn remedies(&self, delivery: &Outlook) -> Vec<String> {
        match self.shown {
            // The ledger knows nothing of it.
            Shown::Rehearsed => Vec::new(),
            Shown::All | Shown::Unsettled | Shown::ThisRun => remedies(delivery),
        }
    }

    fn is_shown(&self, delivery: &Outlook) -> bool {
        let is_settled = matches!(delivery.state, Some(State::Done | State::Skipped));
        match self.shown {
            Shown::All | Shown::Rehearsed => true,
            Shown::Unsettled => !is_settled,
            Shown::ThisRun => !is_settled || self.of_this_run(delivery),
        }
    }
}

fn remedies(delivery: &Outlook) -> Vec<String> {
    let commands = delivery.commands();
    let words = commands
        .iter()
        .filter_map(|command| command.strip_prefix("sayonce "));
    words.map(str::to_owned).collect()
}
