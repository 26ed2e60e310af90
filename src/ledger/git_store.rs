//! The ledger in a git repository.
//!
//! With a remote, rows are read from the remote's tip and commits are pushed with exact leases; the user's branch,
//! index and work tree are left alone. Without one, the local branch is the ledger, and index and work tree follow.
//!
//! Invariant: a report of `Landed` is git's own report, or a read of the remote's ref, that the branch is at our
//! commit. Start reading at [`GitStore::open`] and the `Store` implementation.

mod build;
mod checkout;
mod export;
mod open;
pub mod probe;
mod publish;
mod read;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use git2::Oid;

use super::contents::{Contents, Place, RowCache};
use super::journal::Journal;
use super::repository::Identity;
use super::{Batch, CommitId, JournalWriter, LastFetched, PushReport, Snapshot, Store, StoreError};
use crate::clock::Clock;
use crate::config::LedgerConfig;
use crate::environment::Environment;
use crate::git::objects::{Objects, ObjectsError, lock_remedy};
use crate::git::process::Git;
use crate::git::remote::{Remote, RemoteError};
use crate::git::signature::Settings;
use crate::git::worktree::WorkTree;
use crate::model::row::Row;

/// The ref that moves with the branch, so that a rollback of the branch alone is seen.
const WITNESS: &str = "refs/sayonce/witness";

/// Where the remote's witness is kept here.
const FETCHED_WITNESS: &str = "refs/sayonce/fetched-witness";

/// Commits whose push may be asked for once more.
const PUSHED_KEPT: usize = 16;

/// What a store is opened with.
#[derive(Clone, Debug)]
pub struct GitStoreOptions {
    /// The repository, or a directory in it.
    pub repo: PathBuf,
    /// `[ledger]`.
    pub config: LedgerConfig,
    /// Everything that git and the choice of the branch take from the environment.
    pub environment: Environment,
    /// For the waits between tries, and for how old a fetch is.
    pub clock: Arc<dyn Clock>,
    /// Longest time for one push, in the machine's own time.
    pub push_timeout: Duration,
}

/// A ledger in a git repository.
#[derive(Debug)]
pub struct GitStore {
    options: GitStoreOptions,
    objects: Objects,
    git: Git,
    settings: Settings,
    branch: String,
    home: Home,
    identity: Identity,
    cache: RowCache,
    /// The ledger in the commits that were read last: the tip and the witness.
    recent: VecDeque<(Oid, Arc<Contents>)>,
    seen: Seen,
    pushed: VecDeque<Pushed>,
    /// The host refused the witness in this run; the next commit says so.
    witness_refused: bool,
}

/// Where the ledger is at home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Home {
    /// On the remote.
    Remote,
    /// On this disk, its branch checked out here.
    CheckedOut,
    /// On this disk, on a branch that is not checked out.
    Aside,
}

/// What the refs were when they were last read or moved.
#[derive(Clone, Debug, Default)]
struct Seen {
    tip: Option<Oid>,
    witness: Option<Oid>,
}

/// A commit that was pushed, as it can be pushed again.
#[derive(Clone, Debug)]
struct Pushed {
    commit: Oid,
    base: Option<Oid>,
    /// The witness that is moved with it; none where the host refuses the witness.
    witness: Option<WitnessLease>,
    blobs: std::collections::BTreeMap<crate::model::row::DeliveryId, super::BlobId>,
    files: Vec<crate::git::objects::FileChange>,
}

/// What the witness must be for a push to go through.
#[derive(Clone, Copy, Debug)]
struct WitnessLease {
    old: Option<Oid>,
}

impl GitStore {
    /// Whether claims are pushed, so that they outlive this machine.
    pub fn is_pushed(&self) -> bool {
        self.home == Home::Remote
    }

    /// Returns the ledger's branch.
    pub fn branch(&self) -> &str {
        &self.branch
    }

    /// Returns the top of the work tree.
    pub fn top(&self) -> &std::path::Path {
        self.objects.top()
    }

    /// Returns what `ledger.json` should name as the ledger's repository; none for a path on this machine.
    pub fn repository(&self) -> Option<&str> {
        self.identity.repository.as_deref()
    }

    /// Reads the tip that was last fetched, without the network; without a remote, the local branch.
    pub fn read_local(&mut self) -> Result<(Snapshot, LastFetched), StoreError> {
        self.read_what_is_here()
    }

    /// Reads the ledger as the witness last had it, for repairing a branch that was rewound. Call it after
    /// [`Store::read`].
    pub fn read_witness(&mut self) -> Result<Option<Snapshot>, StoreError> {
        self.read_at_witness()
    }

    fn branch_ref(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }

    fn fetched_ref(&self) -> String {
        format!("refs/sayonce/fetched/{}", self.branch)
    }

    fn remote(&self) -> Remote<'_> {
        Remote::new(&self.git, &self.options.config.remote)
    }

    fn place(&self) -> Place<'_> {
        Place {
            objects: &self.objects,
            directory: &self.options.config.dir,
            is_partial: self.settings.is_partial_clone(),
        }
    }

    fn work_tree(&self) -> WorkTree<'_> {
        WorkTree {
            git: &self.git,
            top: self.objects.top(),
            git_directory: self.objects.own_directory(),
        }
    }

    fn journal_here(&self) -> Journal {
        Journal::of(self.objects.common_directory())
    }
}

impl Store for GitStore {
    fn read(&mut self) -> Result<Snapshot, StoreError> {
        match self.home {
            Home::Remote => self.read_remote(),
            Home::CheckedOut | Home::Aside => self.read_branch(),
        }
    }

    fn push(&mut self, batch: &Batch) -> PushReport {
        self.publish(batch)
    }

    fn push_again(&mut self, commit: &CommitId) -> PushReport {
        self.publish_again(commit)
    }

    fn behind(&mut self) -> Result<Option<String>, StoreError> {
        self.checkout_behind()
    }

    fn journal_writer(&self) -> Box<dyn JournalWriter> {
        Box::new(self.journal_here())
    }

    fn read_journal(&mut self) -> Result<Vec<Row>, StoreError> {
        self.journal_here().read()
    }
}

fn commit_id(commit: Oid) -> CommitId {
    CommitId(commit.to_string())
}

/// An error of the repository with what can be done about it.
fn objects_error(error: &ObjectsError) -> StoreError {
    let hint = match error {
        ObjectsError::NoRepository(_) => {
            Some("run `git init`, or name the repository with `--repo DIR`".to_owned())
        }
        ObjectsError::Ownership { path, .. } => Some(format!(
            "if you trust it: git config --global --add safe.directory '{path}'"
        )),
        ObjectsError::Format { .. } => Some(
            "only SHA-1 repositories with ordinary refs are supported yet; keep the ledger in such a repository"
                .to_owned(),
        ),
        ObjectsError::Missing(_) => Some(
            "the clone is damaged or its remote is gone; `git fsck` tells more".to_owned(),
        ),
        ObjectsError::NotADirectory { .. } => {
            Some("move it away, or set another `dir` under `[ledger]`".to_owned())
        }
        ObjectsError::Locked(words) => lock_remedy(words),
        ObjectsError::TooMuch(_)
        | ObjectsError::TooBig { .. }
        | ObjectsError::Git { .. }
        | ObjectsError::Disk { .. } => None,
    };
    StoreError {
        lasting: false,
        message: error.to_string(),
        hint,
        source: std::error::Error::source(error).map(|cause| anyhow::anyhow!("{cause}")),
    }
}

/// An error of the remote with what can be done about it.
fn remote_error(remote: &str, error: &RemoteError) -> StoreError {
    let words = error.to_string();
    let hint = match error {
        RemoteError::Process(_) => Some("install git, version 2.29 or later".to_owned()),
        RemoteError::Failed { cause: Some(_), .. } => Some(format!(
            "check the address and the credentials with `git ls-remote {remote}`"
        )),
        RemoteError::Failed { cause: None, .. } => lock_remedy(&words),
        RemoteError::TwoAddresses { .. } => Some(format!(
            "the ledger needs one address for both: remove `remote.{remote}.pushurl` and \
             `url.*.pushInsteadOf`, or name another remote under `[ledger]`"
        )),
        RemoteError::Unreadable(_) => None,
    };
    StoreError {
        lasting: matches!(
            error,
            RemoteError::Failed { cause: Some(_), .. } | RemoteError::TwoAddresses { .. }
        ),
        message: format!("the remote `{remote}` can't be used: {words}"),
        hint,
        source: std::error::Error::source(error).map(|cause| anyhow::anyhow!("{cause}")),
    }
}
