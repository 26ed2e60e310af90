//! The ledger's remote: one branch, moved by compare-and-swap, with pushes that can go wrong.

use std::collections::BTreeMap;
use std::time::Duration;

use sayonce::ledger::{
    Baseline, Batch, BlobId, CommitId, Header, PushReport, Snapshot, Standing, StoredRow,
};
use sayonce::model::row::{DeliveryId, Row};
use sayonce::model::time::Timestamp;

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
#[derive(Default)]
pub(crate) struct Remote {
    tip: Option<CommitId>,
    rows: BTreeMap<DeliveryId, StoredRow>,
    pub(crate) header: Option<Header>,
    pub(crate) baseline: Baseline,
    commits: BTreeMap<CommitId, Batch>,
    pub(crate) late: Vec<(Timestamp, CommitId)>,
    pub(crate) lineages: Vec<String>,
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

    fn settle_late(&mut self, now: Timestamp) {
        let due: Vec<_> = self
            .late
            .iter()
            .filter(|(at, _)| *at <= now)
            .cloned()
            .collect();
        self.late.retain(|(at, _)| *at > now);
        for (_, commit) in due {
            let pushes = self.pushes;
            self.pushes = 1_000_000;
            drop(self.land(now, commit));
            self.pushes = pushes;
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

    pub(crate) fn push(&mut self, now: Timestamp, batch: &Batch) -> (Duration, PushReport) {
        self.settle_late(now);
        let commit = CommitId(format!("commit-{}", self.commits.len() + 1));
        self.commits.insert(commit.clone(), batch.clone());
        self.land(now, commit)
    }

    pub(crate) fn push_again(
        &mut self,
        now: Timestamp,
        commit: &CommitId,
    ) -> (Duration, PushReport) {
        self.settle_late(now);
        self.land(now, commit.clone())
    }

    fn land(&mut self, now: Timestamp, commit: CommitId) -> (Duration, PushReport) {
        self.pushes += 1;
        let fault = self.faults.get(&self.pushes).copied();
        let unknown = |reason: &str| PushReport::Unknown {
            commit: commit.clone(),
            reason: reason.to_owned(),
        };
        if let Some(PushFault::Late(delay)) = fault {
            self.late.push((now.plus(delay), commit.clone()));
            return (GIVE_UP, unknown("no answer"));
        }
        if self.is_away(now) || fault == Some(PushFault::LostPush) {
            return (GIVE_UP, unknown("no answer"));
        }
        if fault == Some(PushFault::Refused) {
            let report = PushReport::Refused {
                reason: "protected branch".to_owned(),
                hint: "set `ledger.branch`".to_owned(),
            };
            return (LATENCY, report);
        }
        let batch = self
            .commits
            .get(&commit)
            .expect("a commit that was built")
            .clone();
        if self.tip == Some(commit.clone()) || self.tip != batch.base {
            let reason = "stale info".to_owned();
            return (LATENCY, PushReport::Rejected { commit, reason });
        }
        let mut blobs = BTreeMap::new();
        for change in &batch.changes {
            let id = change.row.delivery_id();
            let standing = self.rows.get(&id).map(|stored| stored.blob.clone());
            assert_eq!(
                standing, change.expected,
                "a row is written only over what was read: {id}"
            );
            let blob = BlobId(format!("{}:{id}", commit.0));
            blobs.insert(id.clone(), blob.clone());
            self.rows.insert(
                id,
                StoredRow {
                    row: change.row.clone(),
                    blob,
                },
            );
        }
        if let Some(header) = batch.header {
            self.lineages.push(header.lineage.clone());
            self.header = Some(header);
        }
        if let Some(baseline) = batch.baseline {
            self.baseline = baseline;
        }
        self.tip = Some(commit.clone());
        match fault {
            Some(PushFault::LostAnswer) => (GIVE_UP, unknown("the answer was lost")),
            Some(PushFault::LostPush | PushFault::Refused | PushFault::Late(_)) | None => (
                LATENCY,
                PushReport::Landed {
                    commit,
                    blobs,
                    notice: None,
                },
            ),
        }
    }
}
