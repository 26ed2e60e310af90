//! A person's decisions, and one way to write them down; `verbs` says which is right for which state.
//!
//! Each decision is a commit like everything else, with who and why in the row.

use std::collections::BTreeSet;
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
use crate::model::address::same_address;
use crate::model::delivery::{self, Decision, Event, Operation, State};
use crate::model::ids::ChannelName;
use crate::model::outcome::{Evidence, Remote};
use crate::model::row::{DeliveryId, Row};
use crate::model::time::Timestamp;
use crate::plan::guard::{KeptBack, excluded_by_author};
use crate::plan::survey::{Selection, Survey, Verdict, survey};
use crate::report::human::number;
use crate::report::notices::clock_time;
use crate::report::terminal::Terminal;

use super::commit::{Commit, commit, sound};
use super::verbs::{Verb, said, wrong_verb};
use super::world::{Place, World};

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
        (None, None, true) => {
            desk.approve_all_new(&arguments.only, arguments.why.as_deref(), terminal)
        }
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
    Desk::open(place, environment)?.rename(arguments, terminal)
}

/// Where decisions are made.
pub(super) struct Desk {
    pub(super) world: World,
    pub(super) store: GitStore,
    pub(super) clock: Arc<dyn Clock>,
}

impl Desk {
    pub(super) fn open(place: &Place, environment: &Environment) -> Result<Self, Failure> {
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
            let row_operation = row.current();
            let not_before = row.record().and_then(|record| record.not_before);
            let until = not_before
                .filter(|at| *at > now)
                .map_or_else(String::new, |at| {
                    let time = clock_time(at, world.config.site.timezone);
                    format!(", after {time}: until then its last request may still be under way")
                });
            let stored = snapshot.rows.get(&delivery);
            if let Verb::Posted(remote) = verb {
                world.is_elsewhere(remote, &row)?;
            }
            Ok(Some(Commit {
                changes: vec![Change {
                    row,
                    expected: stored.map(|stored| stored.blob.clone()),
                }],
                told: format!("{delivery}: {}{until}\n", said(verb, row_operation)),
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
        why: Option<&str>,
        terminal: &mut Terminal,
    ) -> Result<Exit, Failure> {
        let who = self.store.who();
        let (world, clock) = (&self.world, &self.clock);
        let only: Vec<ChannelName> = only
            .iter()
            .map(|name| world.channel(name).map(|channel| channel.name().clone()))
            .collect::<Result<_, _>>()?;
        let told = commit(&mut self.store, sound, |snapshot| {
            let now = clock.now();
            let by = Decision {
                who: who.clone(),
                at: now,
                verb: "approve --all-new".to_owned(),
                why: why.map(str::to_owned),
            };
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
                if !only.is_empty() && !only.contains(channel) {
                    continue;
                }
                let due = match kept {
                    KeptBack::FirstRun { due, .. } | KeptBack::TooManyNew { due, .. } => *due,
                    // Not too much, but perhaps all of it a second time.
                    KeptBack::Renamed { .. } => continue,
                };
                let waiting = all.deliveries.iter().filter(|surveyed| {
                    let kept_back = matches!(surveyed.verdict, Verdict::KeptBack(_));
                    surveyed.id.channel == *channel && kept_back
                });
                let waiting: BTreeSet<_> =
                    waiting.map(|surveyed| surveyed.id.item.clone()).collect();
                lines.push(format!(
                    "{channel}: {} will be announced by the next run\n",
                    number(due, "article", "articles")
                ));
                let known = header.channels.entry(channel.clone()).or_default();
                known.admitted = waiting;
                known.admitted_by = Some(by.clone());
            }
            if lines.is_empty() {
                let names: Vec<_> = only.iter().map(ChannelName::as_str).collect();
                return Err(match names.as_slice() {
                    [] => Failure::new(
                        Exit::Usage,
                        anyhow!("no channel is left out for too many new articles"),
                    ),
                    names => Failure::new(
                        Exit::Usage,
                        anyhow!(
                            "{}: not left out for too many new articles",
                            names.join(", ")
                        ),
                    ),
                }
                .hinted("`sayonce plan` says what would be sent, and why the rest would not"));
            }
            Ok(Some(Commit {
                header: Some(header),
                subject: Some("ledger: all new articles are approved".to_owned()),
                decision: Some(by),
                told: lines.concat(),
                at: now,
                ..Commit::default()
            }))
        })?;
        terminal.result(&told);
        Ok(Exit::Proved)
    }

    fn rename(mut self, arguments: &RenameArgs, terminal: &mut Terminal) -> Result<Exit, Failure> {
        let (old, new) = (&arguments.old, &arguments.new);
        let who = self.store.who();
        let (world, clock) = (&self.world, &self.clock);
        let told = commit(&mut self.store, sound, |snapshot| {
            let old_id = world.item(old, snapshot)?;
            let new_id = world.item(new, snapshot)?;
            if old_id == new_id {
                return Err(Failure::new(
                    Exit::Usage,
                    anyhow!("`{old}` and `{new}` are the same article, {old_id}, already"),
                ));
            }
            let Some(item) = world.catalog.items.iter().find(|item| item.id == new_id) else {
                return Err(Failure::new(
                    Exit::Usage,
                    anyhow!("`{new}` is not an article of the site now"),
                ));
            };
            // The article that is listed under the old address keeps what the ledger has for it.
            if world.catalog.items.iter().any(|item| item.id == old_id) {
                return Err(Failure::new(
                    Exit::Usage,
                    anyhow!("`{old}` is still an article of the site, so `{new}` is another one"),
                )
                .hinted(format!("`sayonce approve {new_id} CHANNEL` announces it")));
            }
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
                subject: Some(format!("ledger: {old_id} moved to {}", item.canonical_url)),
                decision: Some(Decision {
                    who: who.clone(),
                    at: clock.now(),
                    verb: "rename".to_owned(),
                    why: arguments.reason.why.clone(),
                }),
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
    let current = row.as_ref().map_or(Operation::Publish, Row::current);
    let record = row.as_ref().and_then(Row::record);
    if let Some(hint) = wrong_verb(verb, current, record, delivery, now) {
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
            evidence: Evidence::Person,
            by,
        },
        Verb::Again => Event::Again { by },
        Verb::Skip => Event::Skipped { by },
    };
    // Announcing it once more is about the announcement, whatever was done to it since.
    let operation = match verb {
        Verb::Again => Operation::Publish,
        Verb::Approve | Verb::Posted(_) | Verb::NotPosted | Verb::Retry | Verb::Skip => current,
    };
    let record = row.as_ref().and_then(|row| row.operations.get(&operation));
    let after =
        delivery::next(record, event).map_err(|illegal| Failure::new(Exit::Internal, illegal))?;
    let item = survey.items.get(&delivery.item);
    let to_be_rendered =
        after.state == State::Retry && !after.frozen && operation != Operation::Retract;
    if to_be_rendered && item.is_some_and(|item| excluded_by_author(item, &delivery.channel)) {
        return Err(
            Failure::new(Exit::Usage, anyhow!("the author excluded {delivery}")).hinted(format!(
                "remove `{}: false` from its front matter first",
                delivery.channel
            )),
        );
    }
    let mut row = match (row, item) {
        (Some(row), _) => row,
        (None, Some(item)) => Row::blank(item, &delivery.channel, None),
        (None, None) => {
            return Err(Failure::new(
                Exit::Usage,
                anyhow!("`{}` is out of scope", delivery.item),
            ));
        }
    };
    row.operations.insert(operation, after);
    if let (Verb::Skip, Operation::Update(_), Some((_, said))) =
        (verb, operation, survey.article(&delivery.item))
    {
        // This edit is left out, the next one is not.
        row.article = Some(said.article.clone());
    }
    Ok(row)
}

impl World {
    /// A post that can be read stands somewhere else than the article that it links to.
    fn is_elsewhere(&self, remote: &Remote, row: &Row) -> Result<(), Failure> {
        let mut channels = self.config.channels.iter();
        let readable = channels
            .find(|channel| *channel.name() == row.channel)
            .is_some_and(|channel| channel.traits().readable);
        match &remote.url {
            Some(url) if readable && same_address(url, &row.canonical_url) => Err(Failure::new(
                Exit::Usage,
                anyhow!(
                    "`{url}` is the article itself; --posted takes the address of its post on {}",
                    row.channel
                ),
            )),
            Some(_) | None => Ok(()),
        }
    }

    fn delivery(
        &self,
        item: &str,
        channel: &str,
        snapshot: &Snapshot,
    ) -> Result<DeliveryId, Failure> {
        let item = self.item(item, snapshot)?;
        let delivery = DeliveryId {
            item,
            channel: self.channel(channel)?.name().clone(),
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
