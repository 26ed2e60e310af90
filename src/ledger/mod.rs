//! The ledger: rows in a git tree, moved by compare-and-swap.
//!
//! Invariant: the ledger knows no channel; unreadable is never absent; a row is written only over the blob that
//! the decision was made from.

pub mod baseline;
mod contents;
#[cfg(test)]
pub(crate) mod fixture;
pub mod git_store;
pub mod header;
mod journal;
mod json;
pub mod memory;
mod message;
mod repository;
pub mod row;
#[cfg(test)]
mod row_tests;
mod row_wire;
pub mod standing;

use std::collections::{BTreeMap, BTreeSet};

use crate::model::claim::Landing;
use crate::model::delivery::Decision;
use crate::model::ids::{ChannelName, Fingerprint};
use crate::model::item::ItemId;
use crate::model::outcome::ServerLimits;
use crate::model::row::{DeliveryId, Row};
use crate::model::time::Timestamp;

/// The schema of the ledger's files that this version writes, and the newest that it reads.
pub const SCHEMA: u32 = 1;

/// Where the ledger lives. Calls block; the git store talks to the network.
pub trait Store: Send {
    /// Reads the remote's tip (without a remote: the local branch).
    fn read(&mut self) -> Result<Snapshot, StoreError>;

    /// Builds a commit of `batch` on `batch.base` and pushes it once, with an exact lease.
    fn push(&mut self, batch: &Batch) -> PushReport;

    /// Pushes the commit of an earlier [`Store::push`] once more, byte for byte the same.
    fn push_again(&mut self, commit: &CommitId) -> PushReport;

    /// Returns why the articles here are not the newest that the remote's branch has; none: they are.
    fn behind(&mut self) -> Result<Option<String>, StoreError> {
        Ok(None)
    }

    /// Returns a way to change the journal that works also while a push hangs.
    fn journal_writer(&self) -> Box<dyn JournalWriter>;

    /// Reads the journal's rows of earlier runs.
    fn read_journal(&mut self) -> Result<Vec<Row>, StoreError>;
}

/// Writes rows to the journal on this machine's disk, for the next run to merge.
pub trait JournalWriter: Send {
    /// Writes rows durably. Returns where they are.
    fn write(&mut self, rows: &[Row]) -> Result<String, StoreError>;

    /// Removes what stands at the remote's tip, or was overtaken there.
    fn clear(&mut self, landed: &[Row]) -> Result<(), StoreError>;
}

/// A commit's id, opaque.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommitId(pub String);

/// A blob's id, opaque.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobId(pub String);

/// The ledger at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The tip it was read from; none where the branch does not exist yet.
    pub tip: Option<CommitId>,
    /// The readable rows.
    pub rows: BTreeMap<DeliveryId, StoredRow>,
    /// Files that could not be read as rows: left byte for byte, their deliveries excluded.
    pub unreadable: Vec<Unreadable>,
    /// `ledger.json`; none before the first commit.
    pub header: Option<Header>,
    /// `baseline.json`: what was never to be announced.
    pub baseline: Baseline,
    /// Whether the witness agrees.
    pub standing: Standing,
}

impl Snapshot {
    /// A ledger in which nothing stands.
    pub const fn empty() -> Self {
        Self {
            tip: None,
            rows: BTreeMap::new(),
            unreadable: Vec::new(),
            header: None,
            baseline: Baseline::new(),
            standing: Standing::Sound { notice: None },
        }
    }

    /// Attests which claims stand at this tip.
    pub fn landing(&self) -> Landing {
        Landing::attest(
            self.rows
                .values()
                .flat_map(|stored| stored.row.operations.values())
                .filter_map(|record| record.token().cloned()),
        )
    }
}

/// Where a tip came from that was read without the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastFetched {
    /// Which ref.
    pub from: FetchedFrom,
    /// When it was fetched; none if that is not known, or if nothing had to be fetched.
    pub at: Option<Timestamp>,
}

/// Which ref a tip was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchedFrom {
    /// What a run or `--fetch` fetched.
    OwnFetch,
    /// What the user fetched.
    TrackingRef,
    /// The ledger's own branch: there is no remote.
    LocalBranch,
    /// Nothing was fetched yet, or the remote has no such branch.
    Nowhere,
}

/// A row and the blob that it was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRow {
    /// The row.
    pub row: Row,
    /// Its blob.
    pub blob: BlobId,
}

/// A file in the ledger that is not a row that this version may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Path below the repository's top.
    pub path: String,
    /// The delivery that the path names, if it names one; its item may be named without a known channel.
    pub delivery: Option<DeliveryId>,
    /// What is wrong, and with which version it could be read.
    pub reason: String,
}

/// `ledger.json`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The schema of the rows.
    pub schema: u32,
    /// The oldest schema version whose programs may write here.
    pub least_reader: u32,
    /// Random; another lineage is another ledger.
    pub lineage: String,
    /// The repository that the ledger belongs to, normalised; none for a local one.
    pub repository: Option<String>,
    /// The host refused the witness ref; it is not tried again.
    pub witness_refused: bool,
    /// The channels that runs have met.
    pub channels: BTreeMap<ChannelName, KnownChannel>,
}

/// What `ledger.json` remembers of a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownChannel {
    /// What the server told of its limits.
    pub limits: ServerLimits,
    /// When a run first met it; what was due before counts as due since then.
    pub since: Option<Timestamp>,
    /// The service asked to be left alone until then.
    pub not_before: Option<Timestamp>,
    /// Items that were let through a flood guard and have no row yet.
    pub admitted: BTreeSet<ItemId>,
    /// Who let them through last, and why; none: few enough for the guard itself.
    pub admitted_by: Option<Decision>,
}

/// What was already online and is never to be announced, by channel.
pub type Baseline = BTreeMap<ChannelName, Baselined>;

/// The articles that were online before a channel was used, each with what it said then, where the channel follows edits
/// and tells of the article once it is another one.
pub type Baselined = BTreeMap<ItemId, Option<Fingerprint>>;

/// Whether sends are allowed from this ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The witness agrees, or may be moved up.
    Sound {
        /// Something to tell once, such as a witness that was taken over.
        notice: Option<String>,
    },
    /// Rows went backwards, or it is another lineage: nothing is sent.
    Rewound {
        /// What was seen.
        reason: String,
    },
    /// The ledger belongs to another repository (a fork, a template copy): nothing is sent.
    Foreign {
        /// What was seen.
        reason: String,
    },
    /// Written by a newer version that older ones must not write.
    TooNew {
        /// What was seen.
        reason: String,
    },
}

impl Standing {
    /// Returns why nothing may be sent, with the commands that answer it; none if sends are allowed.
    pub fn trouble(&self) -> Option<String> {
        match self {
            Self::Sound { .. } => None,
            Self::Rewound { reason } => Some(format!(
                "the ledger was rewound: {reason}; nothing is sent. `sayonce ledger repair` brings back what its witness \
                 remembers, `sayonce ledger accept` takes the ledger as it is now; to start afresh, delete the branch \
                 and `refs/sayonce/witness`, and run `sayonce baseline` next, or what is online is announced again"
            )),
            Self::Foreign { reason } => Some(format!(
                "{reason}; nothing is sent. `sayonce ledger accept` if this copy shall announce by itself"
            )),
            Self::TooNew { reason } => Some(format!("{reason}; nothing is sent")),
        }
    }
}

/// Rows that move together, in one commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The tip that the decisions were made from.
    pub base: Option<CommitId>,
    /// The rows to write.
    pub changes: Vec<Change>,
    /// Rows to take away, with the blobs that this was decided from: only what moves to another channel's name.
    pub removed: BTreeMap<DeliveryId, BlobId>,
    /// A new `ledger.json`, if it changes.
    pub header: Option<Header>,
    /// A new `baseline.json`, if it changes.
    pub baseline: Option<Baseline>,
    /// The commit's date.
    pub at: Timestamp,
    /// The commit's subject, where the rows alone don't say what happened (`ledger: baseline of ...`).
    pub subject: Option<String>,
    /// The person's decision that it is, where the rows don't hold one.
    pub decision: Option<Box<Decision>>,
}

/// A row to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The row as it shall be.
    pub row: Row,
    /// The blob that it was decided from; none if there was no file.
    pub expected: Option<BlobId>,
}

/// What one push came to. "Landed" is not said of what git only claims to have done: see each variant.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a push whose report is not read is not a push"]
pub enum PushReport {
    /// Git reported both refs as moved to our commit: the claims in it may be sent.
    Landed {
        /// The new tip.
        commit: CommitId,
        /// The blobs of the rows that it wrote.
        blobs: BTreeMap<DeliveryId, BlobId>,
        /// A notice for people, such as a witness ref that the host refuses.
        notice: Option<String>,
    },
    /// Git says that it was beaten, or that there was nothing to do: read the tip and compare.
    Rejected {
        /// The commit that was pushed.
        commit: CommitId,
        /// Git's words.
        reason: String,
    },
    /// Killed, cut, timed out: read the tip, and push the same commit again, or give up without sending.
    Unknown {
        /// The commit that was pushed.
        commit: CommitId,
        /// What was seen.
        reason: String,
    },
    /// A rule of the host forbids it, or we may not write: nothing can be sent.
    Refused {
        /// Git's words.
        reason: String,
        /// What to do about it.
        hint: String,
    },
    /// No commit could be built: a full disk, a conflict with a file that is not ours.
    NotBuilt {
        /// What failed.
        reason: String,
    },
}

/// Why the ledger could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct StoreError {
    /// It will not pass by itself: a damaged file, wrong credentials.
    pub lasting: bool,
    /// What failed, in plain words.
    pub message: String,
    /// What to do about it, naming the command.
    pub hint: Option<String>,
    /// The cause.
    #[source]
    pub source: Option<anyhow::Error>,
}

impl StoreError {
    /// Says it in one line: what failed, why, and what to do.
    pub fn in_full(&self) -> String {
        let source = self.source.as_ref().map(|source| format!(": {source:#}"));
        let hint = self.hint.as_ref().map(|hint| format!("; {hint}"));
        [Some(self.message.clone()), source, hint]
            .into_iter()
            .flatten()
            .collect()
    }
}
