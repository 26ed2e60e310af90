//! The ledger's remote: one branch, moved by compare-and-swap, with pushes that can go wrong.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use sayonce::ledger::{
    Baseline, Batch, BlobId, Change, CommitId, Header, PushReport, Snapshot, Standing, StoredRow,
};
use sayonce::model::row::{DeliveryId, Row};
use sayonce::model::time::Timestamp;

use super::moves::wrong_move;

/// How long a push or a fetch takes.
const LATENCY: Duration = Duration::from_millis(200);
/// How long until a client gives up on a remote that does not answer.
const GIVE_UP: Duration = Duration::from_secs(10);

/// What goes wrong with one push, by its number from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PushFault {
    /// It lands, the answer is lost.
    LostAnswer,
    /// It is lost.
    LostPush,
    /// A rule forbids it.
    Refused,
    /// No answer; it lands this much later, if the tip still allows it.
    Late(Duration),
}

/// The remote.
#[derive(Clone, Default)]
pub(crate) struct Remote {
    tip: Option<CommitId>,
    rows: BTreeMap<DeliveryId, StoredRow>,
    pub(crate) header: Option<Header>,
    pub(crate) baseline: Baseline,
    commits: BTreeMap<CommitId, Arc<Batch>>,
    late: Vec<(Timestamp, CommitId)>,
    /// The lineage of every `ledger.json` that was written.
    pub(crate) lineages: Vec<String>,
    /// How often a row went from one version to the next.
    pub(crate) moves: usize,
    pub(crate) pushes: usize,
    pub(crate) faults: BTreeMap<usize, PushFault>,
    /// Not reachable between these moments.
    pub(crate) away: Option<(Timestamp, Timestamp)>,
}

impl Remote {
    fn is_away(&self, now: Timestamp) -> bool {
        self.away.is_some_and(|(from, to)| from <= now && now < to)
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.values().map(|stored| &stored.row)
    }

    pub(crate) fn commits(&self) -> usize {
        self.commits.len()
    }

    /// Lets pushes arrive that took their time.
    fn settle_late(&mut self, now: Timestamp) {
        let (due, later) = self.late.drain(..).partition(|(at, _)| *at <= now);
        self.late = later;
        let due: Vec<_> = due;
        for (_, commit) in due {
            drop(self.land(&commit));
        }
    }

    pub(crate) fn read(&mut self, now: Timestamp) -> (Duration, Result<Snapshot, String>) {
        self.settle_late(now);
        if self.is_away(now) {
            return (GIVE_UP, Err("the remote does not answer".to_owned()));
        }
        let snapshot = Snapshot {
            tip: self.tip.clone(),
            rows: self.rows.clone(),
            unreadable: Vec::new(),
            header: self.header.clone(),
            baseline: self.baseline.clone(),
            standing: Standing::Sound { notice: None },
        };
        (LATENCY, Ok(snapshot))
    }

    pub(crate) fn push(&mut self, now: Timestamp, batch: Batch) -> (Duration, PushReport) {
        self.settle_late(now);
        let commit = CommitId(format!("commit-{}", self.commits.len() + 1));
        self.commits.insert(commit.clone(), Arc::new(batch));
        self.arrive(now, commit)
    }

    pub(crate) fn push_again(
        &mut self,
        now: Timestamp,
        commit: &CommitId,
    ) -> (Duration, PushReport) {
        self.settle_late(now);
        self.arrive(now, commit.clone())
    }

    fn arrive(&mut self, now: Timestamp, commit: CommitId) -> (Duration, PushReport) {
        self.pushes += 1;
        let fault = self.faults.get(&self.pushes).copied();
        let unknown = |commit| PushReport::Unknown {
            commit,
            reason: "no answer".to_owned(),
        };
        match fault {
            Some(PushFault::Late(delay)) => {
                self.late.push((now.plus(delay), commit.clone()));
                (GIVE_UP, unknown(commit))
            }
            Some(PushFault::LostPush) => (GIVE_UP, unknown(commit)),
            _ if self.is_away(now) => (GIVE_UP, unknown(commit)),
            Some(PushFault::LostAnswer) => {
                drop(self.land(&commit));
                (GIVE_UP, unknown(commit))
            }
            Some(PushFault::Refused) => {
                let report = PushReport::Refused {
                    reason: "protected branch".to_owned(),
                    hint: "set `ledger.branch`".to_owned(),
                };
                (LATENCY, report)
            }
            None => (LATENCY, self.land(&commit)),
        }
    }

    /// The compare-and-swap.
    fn land(&mut self, commit: &CommitId) -> PushReport {
        let batch = self
            .commits
            .get(commit)
            .expect("a commit that was built")
            .clone();
        if self.tip.as_ref() == Some(commit) || self.tip != batch.base {
            return PushReport::Rejected {
                commit: commit.clone(),
                reason: "stale info".to_owned(),
            };
        }
        let blobs = batch
            .changes
            .iter()
            .map(|change| self.write(commit, change))
            .collect();
        if let Some(header) = batch.header.clone() {
            self.lineages.push(header.lineage.clone());
            self.header = Some(header);
        }
        if let Some(baseline) = batch.baseline.clone() {
            self.baseline = baseline;
        }
        self.tip = Some(commit.clone());
        PushReport::Landed {
            commit: commit.clone(),
            blobs,
            notice: None,
        }
    }

    /// Writes one row. Every move that any test makes is checked here.
    fn write(&mut self, commit: &CommitId, change: &Change) -> (DeliveryId, BlobId) {
        let id = change.row.delivery_id();
        let before = self.rows.get(&id);
        assert_eq!(
            before.map(|stored| &stored.blob),
            change.expected.as_ref(),
            "a row is written only over what was read: {id}"
        );
        let wrong = wrong_move(before.map(|stored| &stored.row), &change.row);
        assert_eq!(wrong, None, "an illegal move of {id}");
        self.moves += 1;
        let blob = BlobId(format!("{}:{id}", commit.0));
        let stored = StoredRow {
            row: change.row.clone(),
            blob: blob.clone(),
        };
        self.rows.insert(id.clone(), stored);
        (id, blob)
    }
}
