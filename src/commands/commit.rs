//! Writing a decision down: read the tip, decide, push; and again if somebody else was first.

use std::collections::BTreeMap;

use anyhow::anyhow;

use crate::error::Failure;
use crate::exit::Exit;
use crate::ledger::git_store::GitStore;
use crate::ledger::{Baseline, Batch, BlobId, Change, Header, PushReport, Snapshot, Store as _};
use crate::model::delivery::Decision;
use crate::model::row::DeliveryId;
use crate::model::time::Timestamp;

/// How often a commit is built anew when somebody else was first.
const TRIES_MAX: u32 = 8;

/// What a command wants to write.
#[derive(Debug, Default)]
pub(super) struct Commit {
    /// Rows.
    pub(super) changes: Vec<Change>,
    /// Rows that are taken away, because they are among `changes` under another channel.
    pub(super) removed: BTreeMap<DeliveryId, BlobId>,
    /// A new `ledger.json`.
    pub(super) header: Option<Header>,
    /// A new `baseline.json`.
    pub(super) baseline: Option<Baseline>,
    /// The commit's subject, where the rows alone don't say what happened.
    pub(super) subject: Option<String>,
    /// The person's decision that it is, where the rows don't hold one.
    pub(super) decision: Option<Decision>,
    /// The commit's date.
    pub(super) at: Timestamp,
    /// What is printed when it is on the remote.
    pub(super) told: String,
}

/// Lets `decide` look at the tip, and pushes what it wants. Returns what to print.
///
/// A push whose answer was lost is looked for at the tip: the same decision is not written twice.
pub(super) fn commit(
    store: &mut GitStore,
    check: fn(&Snapshot) -> Result<(), Failure>,
    mut decide: impl FnMut(&Snapshot) -> Result<Option<Commit>, Failure>,
) -> Result<String, Failure> {
    let mut reason = String::new();
    let mut pushed: Option<Commit> = None;
    for _ in 0..TRIES_MAX {
        let snapshot = store.read()?;
        check(&snapshot)?;
        if let Some(pushed) = pushed.take().filter(|pushed| stands(pushed, &snapshot)) {
            return Ok(pushed.told);
        }
        let Some(wanted) = decide(&snapshot)? else {
            return Ok(String::new());
        };
        let report = store.push(&Batch {
            base: snapshot.tip.clone(),
            changes: wanted.changes.clone(),
            removed: wanted.removed.clone(),
            header: wanted.header.clone(),
            baseline: wanted.baseline.clone(),
            at: wanted.at,
            subject: wanted.subject.clone(),
            decision: wanted.decision.clone().map(Box::new),
        });
        match report {
            PushReport::Landed { .. } => return Ok(wanted.told),
            PushReport::Rejected { reason: why, .. } | PushReport::Unknown { reason: why, .. } => {
                reason = why;
                pushed = Some(wanted);
            }
            PushReport::Refused { reason, hint } => {
                return Err(Failure::new(Exit::Ledger, anyhow!("{reason}")).hinted(hint));
            }
            PushReport::NotBuilt { reason } => {
                return Err(Failure::new(Exit::Ledger, anyhow!("{reason}")));
            }
        }
    }
    Err(
        Failure::new(Exit::Ledger, anyhow!("it could not be pushed: {reason}"))
            .hinted("run the same command again"),
    )
}

/// Ends a command whose ledger may not be written.
pub(super) fn sound(snapshot: &Snapshot) -> Result<(), Failure> {
    match snapshot.standing.trouble() {
        None => Ok(()),
        Some(reason) => Err(Failure::new(Exit::Ledger, anyhow!("{reason}"))),
    }
}

/// Whether everything that was to be written stands at the tip.
fn stands(wanted: &Commit, snapshot: &Snapshot) -> bool {
    let rows = wanted.changes.iter().all(|change| {
        let stored = snapshot.rows.get(&change.row.delivery_id());
        stored.is_some_and(|stored| stored.row == change.row)
    });
    let removed = wanted
        .removed
        .keys()
        .all(|delivery| !snapshot.rows.contains_key(delivery));
    let header = wanted.header.as_ref().is_none_or(|header| {
        let stored = snapshot.header.as_ref();
        stored.is_some_and(|stored| stored.channels == header.channels)
    });
    let baseline = wanted
        .baseline
        .as_ref()
        .is_none_or(|baseline| snapshot.baseline == *baseline);
    rows && removed && header && baseline
}
