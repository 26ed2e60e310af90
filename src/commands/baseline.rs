//! `baseline`: what is online now was announced before, by other means or not at all.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::anyhow;

use crate::cli::{BaselineArgs, Format};
use crate::clock::{Clock, SystemClock};
use crate::environment::Environment;
use crate::error::Failure;
use crate::exit::Exit;
use crate::ledger::{Baseline, Header, Snapshot};
use crate::model::delivery::Decision;
use crate::model::item::ItemId;
use crate::model::row::DeliveryId;
use crate::model::time::Timestamp;
use crate::plan::survey::{Selection, survey};
use crate::report::human::number;
use crate::report::terminal::Terminal;

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
    let mut added = Baseline::new();
    drop(commit(&mut store, sound, |snapshot| {
        let now = clock.now();
        let selection = world.selection(&arguments.output, snapshot)?;
        let (baseline, new) = extended(&world, snapshot, &selection, now);
        let count: usize = new.values().map(BTreeSet::len).sum();
        added = new;
        if count == 0 {
            return Ok(None);
        }
        let mut header = snapshot.header.clone().unwrap_or_else(Header::blank);
        for channel in &world.config.channels {
            header.channels.entry(channel.name().clone()).or_default();
        }
        Ok(Some(Commit {
            header: Some(header),
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
        let new: BTreeSet<ItemId> = all
            .items
            .keys()
            .filter(|id| selection.items.is_empty() || selection.items.contains(*id))
            .filter(|id| !known.contains(*id))
            .filter(|id| {
                let delivery = DeliveryId {
                    item: (*id).clone(),
                    channel: name.clone(),
                };
                !snapshot.rows.contains_key(&delivery)
            })
            .cloned()
            .collect();
        known.extend(new.iter().cloned());
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
                .map(|(channel, ids)| (channel.as_str(), ids.iter().map(ItemId::as_str).collect()))
                .collect();
            let report = serde_json::json!({ "schema": 1, "added": added });
            format!("{report:#}\n")
        }
    }
}
