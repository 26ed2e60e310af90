//! `baseline`: what is online now was announced before, by other means or not at all.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::anyhow;

use crate::cli::{BaselineArgs, Format};
use crate::clock::{Clock, SystemClock};
use crate::config::Config;
use crate::environment::Environment;
use crate::error::Failure;
use crate::exit::Exit;
use crate::ledger::git_store::GitStore;
use crate::ledger::{Baseline, Batch, Header, PushReport, SCHEMA, Snapshot, Standing, Store as _};
use crate::model::item::ItemId;
use crate::model::row::DeliveryId;
use crate::model::time::Timestamp;
use crate::plan::survey::{Selection, survey};
use crate::report::terminal::Terminal;

use super::world::{Place, World, seed};

/// How often a commit is built anew when somebody else was first.
const TRIES_MAX: u32 = 8;

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
    let mut reason = String::new();
    for _ in 0..TRIES_MAX {
        let snapshot = store.read()?;
        if let Standing::Rewound { reason }
        | Standing::Foreign { reason }
        | Standing::TooNew { reason } = &snapshot.standing
        {
            return Err(Failure::new(Exit::Ledger, anyhow!("{reason}")));
        }
        let selection = world.selection(&arguments.output, Some(&snapshot))?;
        let (baseline, added) = extended(&world, &snapshot, &selection, clock.now());
        if added.values().all(BTreeSet::is_empty) {
            terminal.result(&told(&added, arguments.output.format));
            return Ok(Exit::Proved);
        }
        match push(
            &mut store,
            &world.config,
            &snapshot,
            baseline.clone(),
            &added,
            clock.now(),
        )? {
            Pushed::Landed => {
                terminal.result(&told(&added, arguments.output.format));
                return Ok(Exit::Proved);
            }
            Pushed::Again(why) => reason = why,
        }
        if store.read()?.baseline == baseline {
            terminal.result(&told(&added, arguments.output.format));
            return Ok(Exit::Proved);
        }
    }
    Err(Failure::new(
        Exit::Ledger,
        anyhow!("the baseline could not be pushed: {reason}"),
    )
    .hinted("run the same command again"))
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

/// What one push of the baseline came to.
enum Pushed {
    Landed,
    Again(String),
}

fn push(
    store: &mut GitStore,
    config: &Config,
    snapshot: &Snapshot,
    baseline: Baseline,
    added: &Baseline,
    now: Timestamp,
) -> Result<Pushed, Failure> {
    let mut header = match &snapshot.header {
        Some(header) => header.clone(),
        None => Header {
            schema: SCHEMA,
            least_reader: SCHEMA,
            lineage: crate::model::ids::hex(&seed()?).chars().take(32).collect(),
            repository: None,
            witness_refused: false,
            channels: BTreeMap::new(),
        },
    };
    for channel in &config.channels {
        header.channels.entry(channel.name().clone()).or_default();
    }
    let count: usize = added.values().map(BTreeSet::len).sum();
    let report = store.push(&Batch {
        base: snapshot.tip.clone(),
        changes: Vec::new(),
        header: Some(header),
        baseline: Some(baseline),
        at: now,
        subject: Some(format!("ledger: baseline of {count} deliveries")),
    });
    match report {
        PushReport::Landed { .. } => Ok(Pushed::Landed),
        PushReport::Rejected { reason, .. } | PushReport::Unknown { reason, .. } => {
            Ok(Pushed::Again(reason))
        }
        PushReport::Refused { reason, hint } => {
            Err(Failure::new(Exit::Ledger, anyhow!("{reason}")).hinted(hint))
        }
        PushReport::NotBuilt { reason } => Err(Failure::new(Exit::Ledger, anyhow!("{reason}"))),
    }
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
