//! `baseline`: what is online now was announced before, by other means or not at all.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::anyhow;

use crate::cli::{BaselineArgs, Format};
use crate::clock::{Clock, SystemClock};
use crate::environment::Environment;
use crate::error::Failure;
use crate::exit::Exit;
use crate::ledger::git_store::GitStore;
use crate::ledger::{Baseline, Baselined, Header, Snapshot};
use crate::model::delivery::Decision;
use crate::model::ids::ChannelName;
use crate::model::item::ItemId;
use crate::model::row::DeliveryId;
use crate::model::time::Timestamp;
use crate::plan::survey::{Selection, survey};
use crate::report::adoption::Adoption;
use crate::report::human::number;
use crate::report::terminal::Terminal;

use super::adopt::{Errand, Which, exit, read_accounts, show, write_or_show};
use super::commit::{Commit, commit, sound};
use super::world::{Place, World};

/// Marks what is online as announced before.
pub(super) fn baseline(
    place: &Place,
    arguments: &BaselineArgs,
    environment: &Environment,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let world = World::read(place, &clock)?;
    if let Some(problem) = world.catalog.problems.first() {
        return Err(Failure::new(
            Exit::Usage,
            anyhow!("the list of articles is not complete: {problem}"),
        )
        .hinted("mend it first: what is not seen now can't be baselined"));
    }
    let mut store = world.store(environment, &clock)?;
    let who = store.who();
    if arguments.from_remote {
        return from_remote(&world, &mut store, arguments, environment, &clock, terminal);
    }
    let mut added = Baseline::new();
    drop(commit(&mut store, sound, |snapshot| {
        let now = clock.now();
        let selection = world.selection(&arguments.output, snapshot)?;
        let (baseline, new) = extended(&world, snapshot, &selection, now);
        let count: usize = new.values().map(Baselined::len).sum();
        added = new;
        if count == 0 {
            return Ok(None);
        }
        Ok(Some(Commit {
            header: Some(known(&world, snapshot)),
            baseline: Some(baseline),
            subject: Some(format!(
                "ledger: baseline of {}",
                number(count, "delivery", "deliveries")
            )),
            decision: Some(Decision {
                who: who.clone(),
                at: now,
                verb: "baseline".to_owned(),
                why: arguments.reason.why.clone(),
            }),
            at: now,
            ..Commit::default()
        }))
    })?);
    terminal.result(&told(&added, arguments.output.format));
    Ok(Exit::Proved)
}

/// Returns the header in which every channel is known: none of them is a new one from then on.
fn known(world: &World, snapshot: &Snapshot) -> Header {
    let mut header = snapshot.header.clone().unwrap_or_else(Header::blank);
    for channel in &world.config.channels {
        header.channels.entry(channel.name().clone()).or_default();
    }
    header
}

/// Looks what is on the accounts first: what is found there is recorded with its own address, the rest is marked. A channel
/// whose account can't be read is left as it is.
fn from_remote(
    world: &World,
    store: &mut GitStore,
    arguments: &BaselineArgs,
    environment: &Environment,
    clock: &Arc<dyn Clock>,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let accounts = read_accounts(world, store, &arguments.output, environment, clock)?;
    let errand = Errand {
        world,
        accounts: &accounts,
        which: Which::WhateverMatches,
    };
    let left_out: BTreeSet<&ChannelName> = accounts
        .unread
        .iter()
        .filter(|unread| unread.exit != Exit::Proved)
        .map(|unread| &unread.channel)
        .collect();
    let who = store.who();
    let mut adoption = Adoption::default();
    write_or_show(store, arguments.dry_run, &mut |snapshot| {
        let now = clock.now();
        let selection = world.selection(&arguments.output, snapshot)?;
        let by = Decision {
            who: who.clone(),
            at: now,
            verb: "baseline --from-remote".to_owned(),
            why: arguments.reason.why.clone(),
        };
        let gathered = errand.gather(snapshot, &selection, &by)?;
        let (_, mut added) = extended(world, snapshot, &selection, now);
        added.retain(|channel, _| !left_out.contains(channel));
        let mut baseline = snapshot.baseline.clone();
        for (channel, items) in &mut added {
            items.retain(|item, _| {
                !gathered.adopted.contains(&DeliveryId {
                    item: item.clone(),
                    channel: channel.clone(),
                })
            });
            let known = baseline.entry(channel.clone()).or_default();
            known.extend(items.clone());
        }
        let marked: usize = added.values().map(Baselined::len).sum();
        adoption = gathered.adoption;
        adoption.added = Some(added);
        if marked == 0 && gathered.changes.is_empty() {
            return Ok(None);
        }
        let adopted = gathered.changes.len();
        Ok(Some(Commit {
            changes: gathered.changes,
            header: Some(known(world, snapshot)),
            baseline: Some(baseline),
            subject: Some(format!(
                "ledger: baseline of {}, and {adopted} adopted",
                number(marked, "delivery", "deliveries")
            )),
            decision: Some(by),
            at: now,
            ..Commit::default()
        }))
    })?;
    adoption.dry_run = arguments.dry_run;
    show(&adoption, world, arguments.output.format, terminal);
    Ok(exit(&adoption, &accounts))
}

/// Returns the baseline with what is online and has no row, and what that adds.
fn extended(
    world: &World,
    snapshot: &Snapshot,
    selection: &Selection,
    now: Timestamp,
) -> (Baseline, Baseline) {
    let all = survey(
        &world.catalog,
        &world.config,
        snapshot,
        &Selection::default(),
        now,
    );
    let mut baseline = snapshot.baseline.clone();
    let mut added = Baseline::new();
    for channel in &world.config.channels {
        let name = channel.name();
        if !selection.channels.is_empty() && !selection.channels.contains(name) {
            continue;
        }
        let known = baseline.entry(name.clone()).or_default();
        let new: Baselined = all
            .items
            .keys()
            .filter(|id| selection.items.is_empty() || selection.items.contains(*id))
            .filter(|id| !known.contains_key(*id))
            .filter(|id| {
                let delivery = DeliveryId {
                    item: (*id).clone(),
                    channel: name.clone(),
                };
                !snapshot.rows.contains_key(&delivery)
            })
            .map(|id| {
                let said = all.said.get(id).filter(|_| channel.rules.follow_edits);
                (id.clone(), said.map(|said| said.on(name).clone()))
            })
            .collect();
        known.extend(new.clone());
        added.insert(name.clone(), new);
    }
    (baseline, added)
}

fn told(added: &Baseline, format: Format) -> String {
    match format {
        Format::Text => {
            let lines: Vec<_> = added
                .iter()
                .map(|(channel, ids)| match ids.len() {
                    0 => format!("{channel}: nothing new to baseline\n"),
                    1 => format!("{channel}: 1 article is marked as announced before\n"),
                    count => {
                        format!("{channel}: {count} articles are marked as announced before\n")
                    }
                })
                .collect();
            lines.concat()
        }
        Format::Json => {
            let added: BTreeMap<_, Vec<_>> = added
                .iter()
                .map(|(channel, ids)| (channel.as_str(), ids.keys().map(ItemId::as_str).collect()))
                .collect();
            let report = serde_json::json!({ "schema": 1, "added": added });
            format!("{report:#}\n")
        }
    }
}
