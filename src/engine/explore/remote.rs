//! The ledger's remote: a branch and its witness, moved together by compare-and-swap.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::ledger::{
    Baseline, Batch, BlobId, CommitId, Header, PushReport, Snapshot, Standing, StoredRow,
};
use crate::model::mutant::{Mutant, on};
use crate::model::row::{DeliveryId, Row};

/// The ledger at one commit.
#[derive(Clone, Debug, Default)]
pub(super) struct Tree {
    pub(super) rows: BTreeMap<DeliveryId, StoredRow>,
    pub(super) header: Option<Header>,
    pub(super) baseline: Baseline,
}

/// A commit as a run built it.
#[derive(Clone, Debug)]
pub(super) struct Commit {
    pub(super) base: Option<CommitId>,
    pub(super) tree: Arc<Tree>,
    pub(super) blobs: BTreeMap<DeliveryId, BlobId>,
    /// Which run, counted from 1; 0 is a person.
    pub(super) run: usize,
}

/// The remote.
#[derive(Clone, Debug, Default)]
pub(super) struct Remote {
    pub(super) tip: Option<CommitId>,
    pub(super) witness: Option<CommitId>,
    pub(super) tree: Arc<Tree>,
    /// Every commit that was ever at the tip, oldest first.
    pub(super) history: Vec<CommitId>,
    /// Commits that may still be pushed.
    pub(super) built: BTreeMap<CommitId, Arc<Commit>>,
    /// Pushes without an answer that may still land.
    pub(super) late: Vec<CommitId>,
    made: usize,
}

/// Rows that a push changed: before and after.
pub(super) type Changes = Vec<(Option<Row>, Row)>;

impl Remote {
    pub(super) fn read(&self) -> Snapshot {
        let standing = if self.witness == self.tip || on(Mutant::NoWitness) {
            Standing::Sound { notice: None }
        } else {
            Standing::Rewound {
                reason: "the branch is not where its witness is".to_owned(),
            }
        };
        Snapshot {
            tip: self.tip.clone(),
            rows: self.tree.rows.clone(),
            unreadable: Vec::new(),
            header: self.tree.header.clone(),
            baseline: self.tree.baseline.clone(),
            standing,
        }
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = &Row> {
        self.tree.rows.values().map(|stored| &stored.row)
    }

    pub(super) fn row(&self, id: &DeliveryId) -> Option<&Row> {
        self.tree.rows.get(id).map(|stored| &stored.row)
    }

    /// Builds the commit of a batch. On another tip than today's it can never land, and is not worth keeping.
    pub(super) fn build(&mut self, batch: &Batch, run: usize) -> CommitId {
        self.made += 1;
        let id = CommitId(format!("{:040}", self.made));
        let Some(base) = self.tree_of(batch.base.as_ref()) else {
            return id;
        };
        let mut tree = (*base).clone();
        let mut blobs = BTreeMap::new();
        for change in &batch.changes {
            let delivery = change.row.delivery_id();
            let standing = tree.rows.get(&delivery).map(|stored| &stored.blob);
            assert_eq!(
                standing,
                change.expected.as_ref(),
                "a row is written only over what was read"
            );
            let blob = BlobId(format!("{:040}x{}", self.made, blobs.len()));
            blobs.insert(delivery.clone(), blob.clone());
            let row = change.row.clone();
            tree.rows.insert(delivery, StoredRow { row, blob });
        }
        if let Some(header) = &batch.header {
            tree.header = Some(header.clone());
        }
        if let Some(baseline) = &batch.baseline {
            tree.baseline.clone_from(baseline);
        }
        let commit = Commit {
            base: batch.base.clone(),
            tree: Arc::new(tree),
            blobs,
            run,
        };
        self.built.insert(id.clone(), Arc::new(commit));
        id
    }

    fn tree_of(&self, base: Option<&CommitId>) -> Option<Arc<Tree>> {
        if base == self.tip.as_ref() {
            return Some(Arc::clone(&self.tree));
        }
        let commit = self.built.get(base?)?;
        Some(Arc::clone(&commit.tree))
    }

    /// Whether a push of this commit moves the tip.
    pub(super) fn takes(&self, id: &CommitId) -> bool {
        let Some(commit) = self.built.get(id) else {
            return false;
        };
        let is_next = commit.base == self.tip;
        let is_new = self.tip.as_ref() != Some(id);
        match () {
            () if on(Mutant::PushedByForce) => is_new,
            () if on(Mutant::PushedPlainly) => is_new && self.descends(commit),
            () if on(Mutant::NoWitness) => is_next,
            () => is_next && self.witness == self.tip,
        }
    }

    /// Whether the tip is behind a commit.
    fn descends(&self, commit: &Commit) -> bool {
        let mut base = &commit.base;
        while *base != self.tip {
            let Some(before) = base.as_ref().and_then(|base| self.built.get(base)) else {
                return false;
            };
            base = &before.base;
        }
        true
    }

    /// What a store says that does not look whether a push landed.
    pub(super) fn claims_to_have_landed(&self, id: &CommitId) -> PushReport {
        let commit = self.built.get(id);
        PushReport::Landed {
            commit: id.clone(),
            blobs: commit.map_or_else(BTreeMap::new, |commit| commit.blobs.clone()),
            notice: None,
        }
    }

    /// Lands a commit that the remote takes.
    pub(super) fn land(&mut self, id: &CommitId) -> (PushReport, Changes, usize) {
        let commit = Arc::clone(&self.built[id]);
        let differing = commit.tree.rows.iter().filter_map(|(delivery, stored)| {
            let before = self.row(delivery).cloned();
            (before.as_ref() != Some(&stored.row)).then(|| (before, stored.row.clone()))
        });
        let changes = differing.collect();
        self.move_to(id.clone(), &commit);
        self.witness = self.tip.clone();
        let report = PushReport::Landed {
            commit: id.clone(),
            blobs: commit.blobs.clone(),
            notice: None,
        };
        (report, changes, commit.run)
    }

    fn move_to(&mut self, id: CommitId, commit: &Commit) {
        self.tree = Arc::clone(&commit.tree);
        self.history.push(id.clone());
        self.tip = Some(id);
    }

    /// Somebody resets the branch to the commit before, and leaves the witness where it is.
    pub(super) fn roll_back(&mut self) {
        self.history.pop();
        self.tip = self.history.last().cloned();
        self.tree = self
            .tip
            .as_ref()
            .map_or_else(Arc::default, |tip| Arc::clone(&self.built[tip].tree));
    }

    /// Forgets what can't land any more.
    pub(super) fn prune(&mut self) {
        let tip = self.tip.clone();
        self.built
            .retain(|id, commit| commit.base == tip || Some(id) == tip.as_ref());
        self.late.retain(|id| self.built.contains_key(id));
        let last = self.history.len().saturating_sub(1);
        self.history.drain(..last);
    }

    /// A person writes a row.
    pub(super) fn write(&mut self, row: Row) {
        self.made += 1;
        let id = CommitId(format!("{:040}", self.made));
        let mut tree = (*self.tree).clone();
        let blob = BlobId(format!("{:040}x0", self.made));
        tree.rows.insert(row.delivery_id(), StoredRow { row, blob });
        let commit = Commit {
            base: self.tip.clone(),
            tree: Arc::new(tree),
            blobs: BTreeMap::new(),
            run: 0,
        };
        self.built.insert(id.clone(), Arc::new(commit.clone()));
        self.move_to(id, &commit);
        self.witness = self.tip.clone();
    }
}
