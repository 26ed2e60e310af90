//! `update` and `retract`: a person wants a post changed, or taken down. The next run does it, under a claim like any
//! other write.

use anyhow::anyhow;

use crate::cli::LaterArgs;
use crate::config::ChannelConfig;
use crate::environment::Environment;
use crate::error::Failure;
use crate::exit::Exit;
use crate::ledger::{Change, Snapshot};
use crate::model::delivery::{self, Decision, Event, Operation, Record, State};
use crate::model::item::{Item, ItemId};
use crate::model::row::{DeliveryId, Row};
use crate::model::time::Timestamp;
use crate::plan::guard::excluded_by_author;
use crate::plan::survey::{Selection, Survey, survey};
use crate::report::terminal::Terminal;

use super::commit::{Commit, commit, sound};
use super::decisions::Desk;
use super::world::Place;

/// What is to become of a post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Later {
    /// It shows what the article says now.
    Update,
    /// It goes.
    Retract,
}

impl Later {
    const fn word(self) -> &'static str {
        match self {
            Self::Update => "update",
            Self::Retract => "retract",
        }
    }

    const fn told(self) -> &'static str {
        match self {
            Self::Update => "the next run changes the post to what the article says now",
            Self::Retract => "the next run takes the post down, and looks whether it is gone",
        }
    }
}

/// `update` and `retract`: on the channels that are named, or on all where the article is posted.
pub(super) fn later(
    what: Later,
    place: &Place,
    arguments: &LaterArgs,
    environment: &Environment,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let mut desk = Desk::open(place, environment)?;
    let who = desk.store.who();
    let (world, clock) = (&desk.world, &desk.clock);
    let named = arguments
        .channels
        .iter()
        .map(|name| world.channel(name))
        .collect::<Result<Vec<_>, _>>()?;
    let told = commit(&mut desk.store, sound, |snapshot| {
        let now = clock.now();
        let item = world.item(&arguments.item, snapshot)?;
        let by = Decision {
            who: who.clone(),
            at: now,
            verb: what.word().to_owned(),
            why: arguments.reason.why.clone(),
        };
        let all = survey(
            &world.catalog,
            &world.config,
            snapshot,
            &Selection::default(),
            now,
        );
        let wish = Wish {
            what,
            item: &item,
            by: &by,
            now,
        };
        let channels = if named.is_empty() {
            world.config.channels.iter().collect()
        } else {
            named.clone()
        };
        let mut changes = Vec::new();
        let mut told = String::new();
        let mut refusals = Vec::new();
        for channel in channels {
            match wish.decided(channel, snapshot, &all) {
                Ok(change) => {
                    told = format!("{told}{}: {}\n", change.row.delivery_id(), what.told());
                    changes.push(change);
                }
                Err(refusal) if named.is_empty() => refusals.push(refusal),
                Err(refusal) => return Err(refusal.into_failure()),
            }
        }
        if changes.is_empty() {
            return Err(nothing(what, &item, refusals));
        }
        Ok(Some(Commit {
            changes,
            told,
            at: now,
            ..Commit::default()
        }))
    })?;
    terminal.result(&told);
    if what == Later::Update
        && let Some(why) = desk.store.checkout_behind_here()?
    {
        terminal.error_line(&format!("note: a run from here changes nothing: {why}"));
    }
    Ok(Exit::Proved)
}

/// Why a wish can't be granted on one channel, and what to do instead.
struct Refusal {
    what: String,
    hint: String,
}

impl Refusal {
    fn into_failure(self) -> Failure {
        Failure::new(Exit::Usage, anyhow!("{}", self.what)).hinted(self.hint)
    }
}

fn nothing(what: Later, item: &ItemId, mut refusals: Vec<Refusal>) -> Failure {
    if refusals.len() == 1
        && let Some(only) = refusals.pop()
    {
        return only.into_failure();
    }
    let each: Vec<_> = refusals
        .iter()
        .map(|refusal| format!("{}; {}", refusal.what, refusal.hint))
        .collect();
    let hint = if each.is_empty() {
        "no channel is switched on".to_owned()
    } else {
        each.join("\n")
    };
    Failure::new(
        Exit::Usage,
        anyhow!("there is nothing of {item} to {}", what.word()),
    )
    .hinted(hint)
}

struct Wish<'a> {
    what: Later,
    item: &'a ItemId,
    by: &'a Decision,
    now: Timestamp,
}

impl Wish<'_> {
    fn decided(
        &self,
        channel: &ChannelConfig,
        snapshot: &Snapshot,
        survey: &Survey,
    ) -> Result<Change, Refusal> {
        let delivery = DeliveryId {
            item: self.item.clone(),
            channel: channel.name().clone(),
        };
        let refused = |what: String, hint: String| Refusal { what, hint };
        if let Some(file) = snapshot
            .unreadable
            .iter()
            .find(|file| file.delivery.as_ref() == Some(&delivery))
        {
            return Err(refused(
                format!("{} can't be read: {}", file.path, file.reason),
                "mend the file first; nothing is decided about a row that can't be read".to_owned(),
            ));
        }
        let traits = channel.traits();
        let (able, way) = match self.what {
            Later::Update => (traits.updates, "can't be changed"),
            Later::Retract => (traits.retracts, "can't be taken down by a program"),
        };
        let stored = snapshot.rows.get(&delivery);
        let Some((stored, row)) = stored.map(|stored| (stored, &stored.row)) else {
            return Err(refused(
                format!("{delivery} is not sent yet"),
                format!(
                    "`sayonce skip {} {}` if it shall not be announced",
                    delivery.item, delivery.channel
                ),
            ));
        };
        if !able {
            return Err(refused(
                format!("{delivery}: on {} a post {way}", channel.service_name()),
                "if you can, do it where the post stands".to_owned(),
            ));
        }
        if let Some(hint) = wrong_later(self.what, row, self.now) {
            let state = row
                .record()
                .map_or("not sent yet", |record| record.state.label());
            return Err(refused(
                format!(
                    "{delivery} is {state}: `{}` is not for that",
                    self.what.word()
                ),
                hint,
            ));
        }
        let item = survey.items.get(&delivery.item);
        if self.what == Later::Update
            && let Some(problem) = unchangeable(item, &delivery)
        {
            return Err(problem);
        }
        let edition = row.publish().map_or(1, |record| record.edition);
        let operation = match (self.what, row.current()) {
            (Later::Retract, _) => Operation::Retract,
            (Later::Update, Operation::Update(number))
                if row
                    .record()
                    .is_some_and(|record| record.state == State::Skipped && !record.frozen) =>
            {
                Operation::Update(number)
            }
            (Later::Update, _) => row.next_update(),
        };
        let record =
            due(row.operations.get(&operation), edition, self.by.clone()).map_err(|illegal| {
                refused(illegal.to_string(), "this is a fault of sayonce".to_owned())
            })?;
        let mut after = row.clone();
        after.operations.insert(operation, record);
        Ok(Change {
            row: after,
            expected: Some(stored.blob.clone()),
        })
    }
}

fn unchangeable(item: Option<&Item>, delivery: &DeliveryId) -> Option<Refusal> {
    match item {
        None => Some(Refusal {
            what: format!("`{}` is not an article of the site now", delivery.item),
            hint: format!(
                "`sayonce retract {} {}` takes its post down",
                delivery.item, delivery.channel
            ),
        }),
        Some(item) if excluded_by_author(item, &delivery.channel) => Some(Refusal {
            what: format!("the author excluded {delivery}"),
            hint: format!(
                "remove `{}: false` from its front matter first",
                delivery.channel
            ),
        }),
        Some(_) => None,
    }
}

/// Returns the record of an operation that is due by a person's word. What an earlier edition's was is kept.
fn due(
    before: Option<&Record>,
    edition: u32,
    by: Decision,
) -> Result<Record, delivery::IllegalMove> {
    let event = match before.map(|record| record.state) {
        Some(State::Done) => Event::Again { by },
        None | Some(_) => Event::Released { by },
    };
    let record = delivery::next(before, event)?;
    Ok(Record { edition, ..record })
}

/// Returns what to do instead, if the delivery is not one whose post stands.
fn wrong_later(what: Later, row: &Row, now: Timestamp) -> Option<String> {
    let (item, channel) = (&row.item, &row.channel);
    let record = row.record();
    let state = record.map(|record| record.state);
    let quiet = record
        .and_then(|record| record.claim.as_ref())
        .map(|claim| claim.quiet_until)
        .filter(|quiet| *quiet >= now);
    match (row.current(), state) {
        (Operation::Retract, Some(State::Done)) => Some(format!(
            "it was taken down; `sayonce again {item} {channel}` announces it once more"
        )),
        (Operation::Publish | Operation::Update(_), Some(State::Done))
        | (Operation::Update(_) | Operation::Retract, None | Some(State::Skipped)) => None,
        // A change that was refused or given up does not keep the post from going.
        (Operation::Update(_), Some(State::Failed | State::Held)) if what == Later::Retract => None,
        (_, Some(State::InFlight | State::InDoubt)) => Some(match quiet {
            Some(quiet) => format!(
                "a request may still be under way until {quiet}: wait for the next run's word"
            ),
            None => "the next run looks for it by itself: wait for its word".to_owned(),
        }),
        (Operation::Update(_) | Operation::Retract, Some(State::Retry)) => Some(
            "the next run does what was asked for last; `sayonce skip` takes that back".to_owned(),
        ),
        (_, Some(State::Failed | State::Held)) if row.current() != Operation::Publish => {
            Some(format!(
                "`sayonce retry {item} {channel}` tries it once more; `sayonce skip {item} {channel}` leaves the post as it is"
            ))
        }
        (_, Some(State::Retry | State::Failed | State::Held)) => Some(format!(
            "nothing of it is known to stand there; `sayonce skip {item} {channel}` if it shall not be announced"
        )),
        (Operation::Publish, None | Some(State::Skipped)) => {
            Some("it is not announced, so there is no post".to_owned())
        }
    }
}
