//! The ledger's remote: one branch and its witness, moved by compare-and-swap, with pushes that can go wrong, and people
//! who write to it past the program.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use sayonce::ledger::standing::{Side, rewound, row_went_back};
use sayonce::ledger::{
    Baseline, Batch, BlobId, Change, CommitId, Header, PushReport, Snapshot, Standing, StoredRow,
    Unreadable,
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

/// The ledger at one commit.
#[derive(Clone, Default)]
struct Tree {
    rows: BTreeMap<DeliveryId, StoredRow>,
    header: Option<Header>,
    baseline: Baseline,
}

impl Tree {
    fn side<'a>(&'a self, unreadable: &'a BTreeSet<DeliveryId>) -> Side<'a> {
        Side {
            rows: &self.rows,
            unreadable,
            header: self.header.as_ref(),
            baseline: &self.baseline,
        }
    }
}

/// A commit as a run built it, and where its run saw the witness: that is the push's lease.
#[derive(Clone)]
struct Commit {
    batch: Arc<Batch>,
    witness: Option<CommitId>,
}

/// The remote.
#[derive(Clone, Default)]
pub(crate) struct Remote {
    tip: Option<CommitId>,
    rows: BTreeMap<DeliveryId, StoredRow>,
    pub(crate) header: Option<Header>,
    pub(crate) baseline: Baseline,
    /// Rows that somebody broke, as they were before.
    broken: BTreeMap<DeliveryId, StoredRow>,
    witness: Option<CommitId>,
    /// The ledger at the witness, where the branch is somewhere else.
    witnessed: Option<Arc<Tree>>,
    commits: BTreeMap<CommitId, Commit>,
    late: Vec<(Timestamp, CommitId)>,
    /// The branch's last commits before the tip, for somebody to reset it to.
    past: Vec<(Option<CommitId>, Arc<Tree>)>,
    pub(crate) keeps_past: bool,
    by_people: usize,
    /// The lineage of every `ledger.json` that was written.
    pub(crate) lineages: Vec<String>,
    /// How often a row went from one version to the next.
    pub(crate) moves: usize,
    pub(crate) pushes: usize,
    pub(crate) faults: BTreeMap<usize, PushFault>,
    /// Not reachable between these moments.
    pub(crate) away: Option<(Timestamp, Timestamp)>,
    /// Reads are answered by a mirror that stopped here.
    pub(crate) mirror: Option<Snapshot>,
}

impl Remote {
    fn is_away(&self, now: Timestamp) -> bool {
        self.away.is_some_and(|(from, to)| from <= now && now < to)
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.values().map(|stored| &stored.row)
    }

    /// The row as the branch has it or, if somebody broke or reset it, as it was before.
    pub(crate) fn remembered(&self, id: &DeliveryId) -> impl Iterator<Item = &Row> {
        let witnessed = self.witnessed.as_ref().and_then(|tree| tree.rows.get(id));
        let rows = [self.rows.get(id), self.broken.get(id), witnessed];
        rows.into_iter().flatten().map(|stored| &stored.row)
    }

    pub(crate) fn commits(&self) -> usize {
        self.commits.len()
    }

    pub(crate) const fn witness(&self) -> Option<&CommitId> {
        self.witness.as_ref()
    }

    fn tree(&self) -> Tree {
        Tree {
            rows: self.rows.clone(),
            header: self.header.clone(),
            baseline: self.baseline.clone(),
        }
    }

    /// Lets pushes arrive that took their time.
    pub(crate) fn settle_late(&mut self, now: Timestamp) {
        if self.late.iter().all(|(at, _)| *at > now) {
            return;
        }
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
        let unreadable = self.broken.keys().map(|id| Unreadable {
            path: format!("ledger/{}/{}.json", id.item, id.channel),
            delivery: Some(id.clone()),
            reason: "it is no JSON".to_owned(),
        });
        if let Some(mirror) = &self.mirror {
            return (LATENCY, Ok(mirror.clone()));
        }
        let snapshot = Snapshot {
            tip: self.tip.clone(),
            rows: self.rows.clone(),
            unreadable: unreadable.collect(),
            header: self.header.clone(),
            baseline: self.baseline.clone(),
            standing: self.standing(),
        };
        (LATENCY, Ok(snapshot))
    }

    fn standing(&self) -> Standing {
        let rewound = self.witnessed.as_ref().and_then(|witnessed| {
            let (nothing, broken) = (BTreeSet::new(), self.broken.keys().cloned().collect());
            let tree = self.tree();
            rewound(witnessed.side(&nothing), tree.side(&broken))
        });
        match rewound {
            None => Standing::Sound { notice: None },
            Some(reason) => Standing::Rewound { reason },
        }
    }

    /// Whether nothing may be sent from this ledger.
    pub(crate) fn is_rewound(&self) -> bool {
        self.standing().trouble().is_some()
    }

    pub(crate) fn push(
        &mut self,
        now: Timestamp,
        batch: Batch,
        witness: Option<CommitId>,
    ) -> (Duration, PushReport) {
        self.settle_late(now);
        let broken = |change: &Change| self.broken.contains_key(&change.row.delivery_id());
        if self.tip == batch.base && batch.changes.iter().any(broken) {
            let reason = "the row is not the one that the decision was made from".to_owned();
            return (Duration::ZERO, PushReport::NotBuilt { reason });
        }
        let id = CommitId(format!("commit-{}", self.commits.len() + 1));
        let commit = Commit {
            batch: Arc::new(batch),
            witness,
        };
        self.commits.insert(id.clone(), commit);
        self.arrive(now, id)
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

    /// The compare-and-swap of both refs.
    fn land(&mut self, id: &CommitId) -> PushReport {
        let Commit { batch, witness } = self
            .commits
            .get(id)
            .expect("a commit that was built")
            .clone();
        let fits = self.tip == batch.base && self.witness == witness;
        if self.tip.as_ref() == Some(id) || !fits {
            return PushReport::Rejected {
                commit: id.clone(),
                reason: "stale info".to_owned(),
            };
        }
        self.remember();
        let blobs = batch
            .changes
            .iter()
            .map(|change| self.write(id, change))
            .collect();
        if let Some(header) = batch.header.clone() {
            self.lineages.push(header.lineage.clone());
            self.header = Some(header);
        }
        if let Some(baseline) = batch.baseline.clone() {
            self.baseline = baseline;
        }
        self.tip = Some(id.clone());
        self.witness = Some(id.clone());
        self.witnessed = None;
        PushReport::Landed {
            commit: id.clone(),
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
        assert!(
            !self.broken.contains_key(&id),
            "a row that can't be read was written over: {id}"
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

    fn remember(&mut self) {
        if self.keeps_past {
            self.past.push((self.tip.clone(), Arc::new(self.tree())));
            if self.past.len() > PAST_MAX {
                self.past.remove(0);
            }
        }
    }
}

/// How far back somebody may reset the branch.
const PAST_MAX: usize = 4;

/// What people do, with a command or past the program.
impl Remote {
    /// A command writes a row: it moves both refs, as a run does, and only if the ledger is sound.
    pub(crate) fn decide(&mut self, row: Row) {
        assert!(!self.is_rewound(), "no command writes to a rewound ledger");
        let change = Change {
            expected: self
                .rows
                .get(&row.delivery_id())
                .map(|stored| stored.blob.clone()),
            row,
        };
        let id = self.next_by_people();
        self.remember();
        drop(self.write(&id, &change));
        self.tip = Some(id.clone());
        self.witness = Some(id);
        self.witnessed = None;
    }

    /// Somebody edits, adds or removes a row by hand and pushes: the branch moves, and its witness does not.
    pub(crate) fn edit_by_hand(&mut self, id: &DeliveryId, row: Option<Row>) {
        let commit = self.leave_witness();
        match row {
            None => drop(self.rows.remove(id)),
            Some(row) => {
                let blob = BlobId(format!("{}:{id}", commit.0));
                self.rows.insert(id.clone(), StoredRow { row, blob });
            }
        }
        self.tip = Some(commit);
    }

    /// Somebody leaves a row that can't be read.
    pub(crate) fn break_row(&mut self, id: &DeliveryId) {
        let commit = self.leave_witness();
        if let Some(stored) = self.rows.remove(id) {
            self.broken.insert(id.clone(), stored);
        }
        // A tree remembers no broken rows, so nobody resets the branch past one.
        self.past.clear();
        self.tip = Some(commit);
    }

    /// Somebody puts the rows back that can't be read.
    pub(crate) fn mend_rows(&mut self) {
        if !self.broken.is_empty() {
            let commit = self.leave_witness();
            self.rows.append(&mut self.broken);
            self.past.clear();
            self.tip = Some(commit);
        }
    }

    /// Somebody resets the branch to a commit before. Returns whether there was one.
    pub(crate) fn reset(&mut self) -> bool {
        if !self.broken.is_empty() {
            return false;
        }
        let Some((tip, tree)) = self.past.pop() else {
            return false;
        };
        if self.witnessed.is_none() {
            self.witnessed = Some(Arc::new(self.tree()));
        }
        self.rows.clone_from(&tree.rows);
        self.header.clone_from(&tree.header);
        self.baseline.clone_from(&tree.baseline);
        self.tip = tip;
        true
    }

    /// `ledger repair`: rows that went backwards come back from the witness.
    pub(crate) fn repair(&mut self) {
        let Some(witnessed) = self.witnessed.take() else {
            return;
        };
        let id = self.next_by_people();
        for (delivery, before) in &witnessed.rows {
            let now = self.rows.get(delivery);
            let unreadable = self.broken.contains_key(delivery);
            let lost =
                now.is_none_or(|now| row_went_back(&before.row, &now.row).is_some()) && !unreadable;
            if lost {
                let stored = StoredRow {
                    row: before.row.clone(),
                    blob: BlobId(format!("{}:{delivery}", id.0)),
                };
                self.rows.insert(delivery.clone(), stored);
            }
        }
        self.header.clone_from(&witnessed.header);
        for (channel, items) in &witnessed.baseline {
            let known = self.baseline.entry(channel.clone()).or_default();
            known.extend(items.clone());
        }
        self.past.clear();
        self.tip = Some(id.clone());
        self.witness = Some(id);
    }

    /// The next commit of a person, who knows nothing of the witness.
    fn leave_witness(&mut self) -> CommitId {
        self.remember();
        if self.witnessed.is_none() {
            self.witnessed = Some(Arc::new(self.tree()));
        }
        self.next_by_people()
    }

    fn next_by_people(&mut self) -> CommitId {
        self.by_people += 1;
        CommitId(format!("by-hand-{}", self.by_people))
    }
}
