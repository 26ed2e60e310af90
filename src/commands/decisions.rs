//! A person's decisions: one table of which verb is right for which state, and one way to write them down.
//!
//! Each decision is a commit like everything else, with who and why in the row.

use std::sync::Arc;

use anyhow::anyhow;
use url::Url;

use crate::cli::{ApproveArgs, DecisionArgs, RenameArgs, ResolveArgs};
use crate::clock::{Clock, SystemClock};
use crate::environment::Environment;
use crate::error::Failure;
use crate::exit::Exit;
use crate::ledger::git_store::GitStore;
use crate::ledger::{Change, Snapshot};
use crate::model::delivery::{self, Decision, Event, Operation, Record, State};
use crate::model::outcome::Remote;
use crate::model::row::{DeliveryId, Row};
use crate::model::time::Timestamp;
use crate::plan::guard::KeptBack;
use crate::plan::survey::{Selection, Survey, survey};
use crate::report::terminal::Terminal;

use super::commit::{Commit, commit, sound};
use super::world::{Place, World};

/// What a person says about one delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    /// It may be sent for the first time.
    Approve,
    /// It is there.
    Posted(Remote),
    /// It is not there.
    NotPosted,
    /// One more send of what is held or failed.
    Retry,
    /// A second announcement of what is done.
    Again,
    /// Never announce it.
    Skip,
}

impl Verb {
    /// Returns the word on the command line and in the row.
    const fn word(&self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Posted(_) => "resolve --posted",
            Self::NotPosted => "resolve --not-posted",
            Self::Retry => "retry",
            Self::Again => "again",
            Self::Skip => "skip",
        }
    }
}

/// `approve`: one delivery, or all that a flood guard keeps back.
pub(super) fn approve(
    place: &Place,
    arguments: &ApproveArgs,
    environment: &Environment,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let desk = Desk::open(place, environment)?;
    match (&arguments.item, &arguments.channel, arguments.all_new) {
        (Some(item), Some(channel), false) => desk.decide(
            item,
            channel,
            &Verb::Approve,
            arguments.why.as_deref(),
            terminal,
        ),
        (None, None, true) => desk.approve_all_new(&arguments.only, terminal),
        (_, _, _) => Err(Failure::new(
            Exit::Usage,
            anyhow!("name an ITEM and a CHANNEL, or --all-new"),
        )),
    }
}

/// `resolve`: the facts of a delivery that nobody is sure of.
pub(super) fn resolve(
    place: &Place,
    arguments: &ResolveArgs,
    environment: &Environment,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let verb = match &arguments.posted {
        Some(url) => {
            if Url::parse(url).is_err() {
                return Err(Failure::new(
                    Exit::Usage,
                    anyhow!("`{url}` is not a URL; --posted takes the address of the post"),
                ));
            }
            Verb::Posted(Remote {
                id: None,
                url: Some(url.clone()),
            })
        }
        None => Verb::NotPosted,
    };
    let decision = &arguments.decision;
    Desk::open(place, environment)?.decide(
        &decision.item,
        &decision.channel,
        &verb,
        decision.why.as_deref(),
        terminal,
    )
}

/// `retry`, `again` and `skip`.
pub(super) fn one(
    verb: &Verb,
    place: &Place,
    arguments: &DecisionArgs,
    environment: &Environment,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    Desk::open(place, environment)?.decide(
        &arguments.item,
        &arguments.channel,
        verb,
        arguments.why.as_deref(),
        terminal,
    )
}

/// `rename`: the same article under a new address.
pub(super) fn rename(
    place: &Place,
    arguments: &RenameArgs,
    environment: &Environment,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    Desk::open(place, environment)?.rename(&arguments.old, &arguments.new, terminal)
}

/// Where decisions are made.
struct Desk {
    world: World,
    store: GitStore,
    clock: Arc<dyn Clock>,
}

impl Desk {
    fn open(place: &Place, environment: &Environment) -> Result<Self, Failure> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let world = World::read(place, &clock)?;
        let store = world.store(environment, &clock)?;
        Ok(Self {
            world,
            store,
            clock,
        })
    }

    fn decide(
        mut self,
        item: &str,
        channel: &str,
        verb: &Verb,
        why: Option<&str>,
        terminal: &mut Terminal,
    ) -> Result<Exit, Failure> {
        let who = self.store.who();
        let (world, clock) = (&self.world, &self.clock);
        let told = commit(&mut self.store, sound, |snapshot| {
            let now = clock.now();
            let delivery = world.delivery(item, channel, snapshot)?;
            let by = Decision {
                who: who.clone(),
                at: now,
                verb: verb.word().to_owned(),
                why: why.map(str::to_owned),
            };
            let all = survey(
                &world.catalog,
                &world.config,
                snapshot,
                &Selection::default(),
                now,
            );
            let row = decided(&delivery, snapshot, &all, verb, by, now)?;
            let stored = snapshot.rows.get(&delivery);
            Ok(Some(Commit {
                changes: vec![Change {
                    row,
                    expected: stored.map(|stored| stored.blob.clone()),
                }],
                told: format!("{delivery}: {}\n", said(verb)),
                at: now,
                ..Commit::default()
            }))
        })?;
        terminal.result(&told);
        Ok(Exit::Proved)
    }

    fn approve_all_new(
        mut self,
        only: &[String],
        terminal: &mut Terminal,
    ) -> Result<Exit, Failure> {
        let (world, clock) = (&self.world, &self.clock);
        let told = commit(&mut self.store, sound, |snapshot| {
            let now = clock.now();
            let all = survey(
                &world.catalog,
                &world.config,
                snapshot,
                &Selection::default(),
                now,
            );
            let mut header = snapshot
                .header
                .clone()
                .unwrap_or_else(crate::ledger::Header::blank);
            let mut lines = Vec::new();
            for (channel, kept) in &all.kept_back {
                if !only.is_empty() && !only.iter().any(|name| name == channel.as_str()) {
                    continue;
                }
                let due = match kept {
                    KeptBack::FirstRun { due, .. } | KeptBack::TooManyNew { due, .. } => *due,
                    KeptBack::Renamed { .. } => continue,
                };
                let known = header.channels.entry(channel.clone()).or_default();
                known.admitted = all.items.keys().cloned().collect();
                lines.push(format!(
                    "{channel}: {due} articles will be announced by the next run\n"
                ));
            }
            if lines.is_empty() {
                return Err(Failure::new(
                    Exit::Usage,
                    anyhow!("no channel is kept back"),
                ));
            }
            Ok(Some(Commit {
                header: Some(header),
                subject: Some("ledger: all new articles are approved".to_owned()),
                told: lines.concat(),
                at: now,
                ..Commit::default()
            }))
        })?;
        terminal.result(&told);
        Ok(Exit::Proved)
    }

    fn rename(mut self, old: &str, new: &str, terminal: &mut Terminal) -> Result<Exit, Failure> {
        let (world, clock) = (&self.world, &self.clock);
        let told = commit(&mut self.store, sound, |snapshot| {
            let old_id = world.item(old, snapshot)?;
            let new_id = world.item(new, snapshot)?;
            let Some(item) = world.catalog.items.iter().find(|item| item.id == new_id) else {
                return Err(Failure::new(
                    Exit::Usage,
                    anyhow!("`{new}` is not an article of the site now"),
                ));
            };
            let rows: Vec<_> = snapshot
                .rows
                .iter()
                .filter(|(id, _)| id.item == old_id)
                .collect();
            if rows.is_empty() {
                return Err(Failure::new(
                    Exit::Usage,
                    anyhow!("the ledger has nothing of `{old}`"),
                ));
            }
            if let Some(clash) = snapshot.rows.keys().find(|id| id.item == new_id) {
                return Err(Failure::new(
                    Exit::Usage,
                    anyhow!(
                        "`{new}` has rows of its own in the ledger ({clash}), so it is another article"
                    ),
                ));
            }
            let changes: Vec<_> = rows
                .into_iter()
                .map(|(_, stored)| Change {
                    row: with_alias(&stored.row, &item.canonical_url),
                    expected: Some(stored.blob.clone()),
                })
                .collect();
            Ok(Some(Commit {
                told: format!(
                    "{} is {old_id} from now on: it is not announced again\n",
                    item.canonical_url
                ),
                changes,
                at: clock.now(),
                ..Commit::default()
            }))
        })?;
        terminal.result(&told);
        Ok(Exit::Proved)
    }
}

fn with_alias(row: &Row, url: &str) -> Row {
    let mut row = row.clone();
    if !row.aliases.iter().any(|alias| alias == url) {
        row.aliases.push(url.to_owned());
    }
    row
}

/// Returns the row after the decision; a wrong verb is answered with the right one.
fn decided(
    delivery: &DeliveryId,
    snapshot: &Snapshot,
    survey: &Survey,
    verb: &Verb,
    by: Decision,
    now: Timestamp,
) -> Result<Row, Failure> {
    let row = snapshot.rows.get(delivery).map(|stored| stored.row.clone());
    let record = row.as_ref().and_then(Row::publish);
    if let Some(hint) = wrong_verb(verb, record, delivery, now) {
        let state = record.map_or("not sent yet", |record| record.state.label());
        return Err(Failure::new(
            Exit::Usage,
            anyhow!("{delivery} is {state}: `{}` is not for that", verb.word()),
        )
        .hinted(hint));
    }
    let event = match verb {
        Verb::Approve | Verb::NotPosted | Verb::Retry => Event::Released { by },
        Verb::Posted(remote) => Event::Confirmed {
            remote: remote.clone(),
            by,
        },
        Verb::Again => Event::Again { by },
        Verb::Skip => Event::Skipped { by },
    };
    let after =
        delivery::next(record, event).map_err(|illegal| Failure::new(Exit::Internal, illegal))?;
    let mut row = match (row, survey.items.get(&delivery.item)) {
        (Some(row), _) => row,
        (None, Some(item)) => Row::blank(item, &delivery.channel, None),
        (None, None) => {
            return Err(Failure::new(
                Exit::Usage,
                anyhow!("`{}` is out of scope", delivery.item),
            ));
        }
    };
    row.operations.insert(Operation::Publish, after);
    Ok(row)
}

/// Returns what to do instead, if the verb is not for this state.
fn wrong_verb(
    verb: &Verb,
    record: Option<&Record>,
    id: &DeliveryId,
    now: Timestamp,
) -> Option<String> {
    let (item, channel) = (&id.item, &id.channel);
    let state = record.map(|record| record.state);
    let quiet = record
        .and_then(|record| record.claim.as_ref())
        .map(|claim| claim.quiet_until);
    let right = match (verb, state) {
        (Verb::Approve, None | Some(State::Skipped))
        | (
            Verb::Posted(_),
            None
            | Some(
                State::InFlight
                | State::InDoubt
                | State::Retry
                | State::Failed
                | State::Held
                | State::Skipped,
            ),
        )
        | (Verb::NotPosted, Some(State::Held))
        | (Verb::Retry, Some(State::Held | State::Failed))
        | (Verb::Again, Some(State::Done))
        | (Verb::Skip, None | Some(State::Retry | State::Held | State::Failed)) => return None,
        (Verb::NotPosted, Some(State::InDoubt)) if quiet.is_none_or(|quiet| quiet < now) => {
            return None;
        }
        (
            Verb::NotPosted | Verb::Retry | Verb::Approve | Verb::Skip | Verb::Again,
            Some(State::InFlight | State::InDoubt),
        ) => {
            let until = quiet.map_or_else(String::new, |quiet| format!(", not before {quiet}"));
            format!(
                "a request may still be under way{until}: the next run looks for it by itself; if you see the post, \
                 `sayonce resolve {item} {channel} --posted URL`"
            )
        }
        (Verb::Posted(_) | Verb::NotPosted | Verb::Retry | Verb::Approve, Some(State::Done)) => {
            format!(
                "it is posted and proved; `sayonce again {item} {channel}` announces it once more"
            )
        }
        (Verb::Skip, Some(State::Done)) => {
            "it is posted: delete the post where it stands".to_owned()
        }
        (Verb::Approve | Verb::Again, Some(State::Held | State::Failed)) => format!(
            "`sayonce retry {item} {channel}` sends it once more; if it is there, \
             `sayonce resolve {item} {channel} --posted URL`"
        ),
        (Verb::NotPosted, Some(State::Failed)) => {
            format!(
                "it was refused, so it is not there; `sayonce retry {item} {channel}` sends it once more"
            )
        }
        (_, Some(State::Retry)) => format!(
            "the next run sends it by itself; `sayonce skip {item} {channel}` if it shall not be announced"
        ),
        (_, Some(State::Skipped)) => {
            format!("`sayonce approve {item} {channel}` lets the next run announce it")
        }
        (_, None) => format!(
            "nothing was sent yet: the next run does; `sayonce skip {item} {channel}` if it shall not be announced"
        ),
    };
    Some(right)
}

const fn said(verb: &Verb) -> &'static str {
    match verb {
        Verb::Approve => "approved; the next run sends it",
        Verb::Posted(_) => "taken as posted, on your word",
        Verb::NotPosted => "taken as not posted, on your word; the next run sends it once more",
        Verb::Retry => "the next run sends it once more",
        Verb::Again => "the next run announces it once more, as a new edition",
        Verb::Skip => "will not be announced",
    }
}

impl World {
    fn delivery(
        &self,
        item: &str,
        channel: &str,
        snapshot: &Snapshot,
    ) -> Result<DeliveryId, Failure> {
        let item = self.item(item, snapshot)?;
        let known = self
            .config
            .channels
            .iter()
            .find(|known| known.name().as_str() == channel);
        let Some(known) = known else {
            return Err(self.no_channel(channel));
        };
        let delivery = DeliveryId {
            item,
            channel: known.name().clone(),
        };
        let unreadable = snapshot
            .unreadable
            .iter()
            .find(|file| file.delivery.as_ref() == Some(&delivery));
        match unreadable {
            Some(file) => Err(Failure::new(
                Exit::Ledger,
                anyhow!("{} can't be read: {}", file.path, file.reason),
            )
            .hinted("mend the file first; nothing is decided about a row that can't be read")),
            None => Ok(delivery),
        }
    }
}
