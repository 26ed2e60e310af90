//! `ledger accept` and `ledger repair`: a fork's or moved ledger, and a rewound one.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::anyhow;

use crate::cli::WhyArgs;
use crate::clock::{Clock, SystemClock};
use crate::config::Config;
use crate::environment::Environment;
use crate::error::Failure;
use crate::exit::Exit;
use crate::ledger::git_store::GitStore;
use crate::ledger::standing::row_went_back;
use crate::ledger::{Change, Header, Snapshot, Standing, Store as _};
use crate::model::delivery::Decision;
use crate::report::human::number;
use crate::report::terminal::Terminal;

use super::commit::{Commit, commit};
use super::forgotten::held;
use super::world::{Place, open_store};

/// Takes the ledger as it is now: a fork's own, or a rewound one.
pub(super) fn accept(
    place: &Place,
    arguments: &WhyArgs,
    environment: &Environment,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let (mut store, clock, config) = open(place, environment)?;
    store.read()?;
    let witness = store.read_witness()?;
    let repository = store.repository().map(str::to_owned);
    let who = store.who();
    let told = commit(&mut store, in_trouble, |snapshot| {
        let mut header = snapshot.header.clone().unwrap_or_else(Header::blank);
        header.repository.clone_from(&repository);
        Ok(Some(Commit {
            changes: held(witness.as_ref(), snapshot, &config, clock.now()),
            header: Some(header),
            subject: Some("ledger: accepted as it is".to_owned()),
            decision: Some(Decision {
                who: who.clone(),
                at: clock.now(),
                verb: "ledger accept".to_owned(),
                why: arguments.why.clone(),
            }),
            told: "the ledger is taken as it is now; `sayonce plan` shows what that makes due\n"
                .to_owned(),
            at: clock.now(),
            ..Commit::default()
        }))
    })?;
    terminal.result(&told);
    Ok(Exit::Proved)
}

/// Brings back rows that went backwards, from the ledger at the witness.
pub(super) fn repair(
    place: &Place,
    arguments: &WhyArgs,
    environment: &Environment,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let (mut store, clock, _config) = open(place, environment)?;
    store.read()?;
    let who = store.who();
    let Some(witness) = store.read_witness()? else {
        return Err(Failure::new(
            Exit::Ledger,
            anyhow!("the remote has no witness, so nothing remembers how the ledger was"),
        )
        .hinted("`sayonce ledger accept` takes the ledger as it is now"));
    };
    let told = commit(&mut store, rewound, |snapshot| {
        let changes = lost(&witness, snapshot);
        let mut baseline = snapshot.baseline.clone();
        for (channel, items) in &witness.baseline {
            let known = baseline.entry(channel.clone()).or_default();
            known.extend(items.clone());
        }
        let count = changes.len();
        Ok(Some(Commit {
            told: format!(
                "{} brought back from the witness\n",
                number(count, "row was", "rows were")
            ),
            changes,
            removed: BTreeMap::new(),
            header: witness.header.clone(),
            baseline: (!baseline.is_empty()).then_some(baseline),
            subject: Some("ledger: repaired from its witness".to_owned()),
            decision: Some(Decision {
                who: who.clone(),
                at: clock.now(),
                verb: "ledger repair".to_owned(),
                why: arguments.why.clone(),
            }),
            at: clock.now(),
        }))
    })?;
    terminal.result(&told);
    Ok(Exit::Proved)
}

fn open(
    place: &Place,
    environment: &Environment,
) -> Result<(GitStore, Arc<dyn Clock>, Config), Failure> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let top = place.top()?;
    let config = Config::load(&place.config_path(&top))?;
    let store = open_store(&top, &config.ledger, environment, &clock)?;
    Ok((store, clock, config))
}

/// The witness's rows that are missing at the tip, or older there.
pub(super) fn lost(witness: &Snapshot, tip: &Snapshot) -> Vec<Change> {
    witness
        .rows
        .iter()
        .filter_map(|(id, before)| {
            let now = tip.rows.get(id);
            let went_back = now.is_none_or(|now| row_went_back(&before.row, &now.row).is_some());
            went_back.then(|| Change {
                row: before.row.clone(),
                expected: now.map(|now| now.blob.clone()),
            })
        })
        .collect()
}

fn in_trouble(snapshot: &Snapshot) -> Result<(), Failure> {
    match &snapshot.standing {
        Standing::Rewound { .. } | Standing::Foreign { .. } => Ok(()),
        Standing::TooNew { reason } => Err(Failure::new(Exit::Ledger, anyhow!("{reason}"))),
        Standing::Sound { .. } => Err(Failure::new(
            Exit::Usage,
            anyhow!("the ledger is sound: there is nothing to accept"),
        )),
    }
}

fn rewound(snapshot: &Snapshot) -> Result<(), Failure> {
    match &snapshot.standing {
        Standing::Rewound { .. } => Ok(()),
        Standing::TooNew { reason } => Err(Failure::new(Exit::Ledger, anyhow!("{reason}"))),
        Standing::Foreign { reason } => Err(Failure::new(Exit::Usage, anyhow!("{reason}"))
            .hinted("`sayonce ledger accept` if this copy shall announce by itself")),
        Standing::Sound { .. } => Err(Failure::new(
            Exit::Usage,
            anyhow!("the ledger is sound: there is nothing to repair"),
        )),
    }
}
