//! Is every delivery proved? What is open, since when, and what frees it.

use crate::exit::Exit;
use crate::ledger::Snapshot;
use crate::model::delivery::{Operation, Record, State};
use crate::model::row::DeliveryId;
use crate::model::time::Timestamp;
use crate::source::Catalog;

use super::alarms::{DOUBT_ALARM, Facts, short_feed};
use super::outlook::{Outlook, Standing, Way};
use super::survey::Survey;

/// What an audit found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "an audit that is not reported was for nothing"]
pub struct Audit {
    /// Every delivery that is not proved, oldest item first.
    pub findings: Vec<Finding>,
    /// What somebody should look at, in plain sentences.
    pub alarms: Vec<String>,
    /// What is wrong with sources, channels or the ledger's files, in plain sentences.
    pub problems: Vec<String>,
    /// The exit code's meaning; only [`Exit::Proved`] is a yes.
    pub exit: Exit,
}

impl Audit {
    /// Adds something that somebody should look at.
    pub fn alarm(&mut self, sentence: String, exit: Exit) {
        self.alarms.push(sentence);
        self.exit = self.exit.or_worse(exit);
    }

    /// Adds something that is wrong.
    pub fn problem(&mut self, sentence: String, exit: Exit) {
        self.problems.push(sentence);
        self.exit = self.exit.or_worse(exit);
    }
}

/// A delivery that is not proved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Which.
    pub id: DeliveryId,
    /// What is open.
    pub open: Open,
    /// Since when; none where nobody knows.
    pub since: Option<Timestamp>,
    /// Why, or what comes next, in plain words.
    pub reason: Option<String>,
    /// What frees it; none: time alone, or the reason says what to do.
    pub ways: Vec<Way>,
}

/// How a delivery is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Open {
    /// Due, and surely not delivered.
    Hole,
    /// Claimed and past its quiet point, or in doubt for too long.
    Stuck,
    /// Waits for a person.
    Held,
    /// Refused for good.
    Failed,
    /// Its row can't be read.
    Unreadable,
    /// Not due yet, or the next run settles it.
    Waiting,
    /// Nothing new is announced while `site.enabled` is `false`.
    SwitchedOff,
}

impl Open {
    /// Every way, in the order of urgency for people.
    pub const ALL: [Self; 7] = [
        Self::Hole,
        Self::Stuck,
        Self::Held,
        Self::Failed,
        Self::Unreadable,
        Self::Waiting,
        Self::SwitchedOff,
    ];

    /// Returns the word that JSON uses.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Hole => "hole",
            Self::Stuck => "stuck",
            Self::Held => "held",
            Self::Failed => "failed",
            Self::Unreadable => "unreadable",
            Self::Waiting => "waiting",
            Self::SwitchedOff => "switched_off",
        }
    }

    const fn exit(self) -> Exit {
        match self {
            Self::Hole | Self::Stuck | Self::Held => Exit::NeedsPerson,
            Self::Failed => Exit::Refused,
            Self::Unreadable => Exit::Ledger,
            // Nobody has to act, but it is not proved either: a switch that was forgotten must not look like success.
            Self::Waiting | Self::SwitchedOff => Exit::WorkRemains,
        }
    }
}

/// Judges every delivery by the ledger.
pub fn audit(facts: &Facts<'_>, catalog: &Catalog, survey: &Survey, snapshot: &Snapshot) -> Audit {
    let mut audit = Audit {
        findings: Vec::new(),
        alarms: Vec::new(),
        problems: Vec::new(),
        exit: Exit::Proved,
    };
    for problem in &catalog.problems {
        audit.problem(problem.clone(), Exit::Usage);
    }
    for (channel, kept) in &survey.kept_back {
        let any = facts.deliveries.iter().any(|delivery| {
            delivery.id.channel == *channel && delivery.standing == Standing::KeptBack
        });
        if any {
            audit.problem(kept.sentence(channel), kept.exit());
        }
    }
    for file in &snapshot.unreadable {
        let sentence = format!(
            "{} can't be read and is left as it is: {}",
            file.path, file.reason
        );
        audit.problem(sentence, Exit::Ledger);
    }
    if let Some(trouble) = snapshot.standing.trouble() {
        audit.alarm(trouble, Exit::Ledger);
    }
    let feed = short_feed(
        facts.config,
        catalog,
        survey,
        &snapshot.baseline,
        &facts.rows,
    );
    for sentence in [
        facts.adoptions(),
        facts.doubts(),
        facts.overdue(),
        facts.other_accounts(),
        feed,
    ]
    .concat()
    {
        audit.alarm(sentence, Exit::NeedsPerson);
    }
    for delivery in facts.deliveries {
        let Some(found) = finding(delivery, facts, snapshot) else {
            continue;
        };
        audit.exit = audit.exit.or_worse(found.open.exit());
        audit.findings.push(found);
    }
    audit
}

fn finding(delivery: &Outlook, facts: &Facts<'_>, snapshot: &Snapshot) -> Option<Finding> {
    let record = facts.rows.get(&delivery.id).and_then(|row| row.record());
    let open = how_open(delivery, record, facts)?;
    let since = match open {
        Open::Hole => facts.due_since(delivery),
        Open::Stuck => facts.doubt_since(&delivery.id),
        Open::Held | Open::Failed => record.and_then(|record| record.settled_at),
        Open::Unreadable | Open::Waiting | Open::SwitchedOff => None,
    };
    Some(Finding {
        id: delivery.id.clone(),
        open,
        since,
        reason: delivery.reason.clone(),
        ways: ways(delivery, open, snapshot),
    })
}

fn how_open(delivery: &Outlook, record: Option<&Record>, facts: &Facts<'_>) -> Option<Open> {
    match delivery.standing {
        Standing::Unreadable => return Some(Open::Unreadable),
        Standing::KeptBack | Standing::NeedsPerson => return Some(Open::Hole),
        Standing::SwitchedOff => return Some(Open::SwitchedOff),
        Standing::ByState => {}
    }
    let is_later = delivery.due_at.is_some_and(|at| at > facts.now);
    match delivery.state {
        None | Some(State::Retry) if is_later => Some(Open::Waiting),
        None | Some(State::Retry) => Some(Open::Hole),
        Some(State::InFlight) => {
            let claim = record.and_then(|record| record.claim.as_ref());
            let is_quiet = claim.is_none_or(|claim| claim.quiet_until < facts.now);
            Some(if is_quiet { Open::Stuck } else { Open::Waiting })
        }
        Some(State::InDoubt) => {
            let since = facts.doubt_since(&delivery.id);
            let lasts = since.is_none_or(|since| facts.now.since(since) > DOUBT_ALARM);
            Some(if lasts { Open::Stuck } else { Open::Waiting })
        }
        Some(State::Held) => Some(Open::Held),
        Some(State::Failed) => Some(Open::Failed),
        Some(State::Done | State::Skipped) => None,
    }
}

fn ways(delivery: &Outlook, open: Open, snapshot: &Snapshot) -> Vec<Way> {
    let (item, channel) = (&delivery.id.item, &delivery.id.channel);
    match open {
        // The reason names the commands, or there is none: the article has to change.
        Open::Hole if delivery.standing == Standing::NeedsPerson => Vec::new(),
        Open::Hole if delivery.standing == Standing::KeptBack => Vec::new(),
        Open::Hole => vec![Way::new("sayonce run".to_owned(), "")],
        Open::Stuck if delivery.operation != Operation::Publish => {
            vec![Way::new("sayonce run".to_owned(), "looks what came of it")]
        }
        Open::Stuck => vec![
            Way::new("sayonce run".to_owned(), "looks for it"),
            Way::new(
                format!("sayonce resolve {item} {channel} --posted URL"),
                "if you see it",
            ),
        ],
        Open::Held | Open::Failed => delivery.ways(),
        Open::Unreadable => {
            let mut files = snapshot.unreadable.iter();
            let file = files.find(|file| file.delivery.as_ref() == Some(&delivery.id));
            let shown = file.map(|file| {
                Way::new(
                    format!("git log -p -- {}", file.path),
                    "shows how it was: mend it, and commit that",
                )
            });
            shown.into_iter().collect()
        }
        Open::Waiting | Open::SwitchedOff => Vec::new(),
    }
}
