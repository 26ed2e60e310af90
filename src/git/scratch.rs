//! Scratch repositories for rehearsals: a bare remote that holds one root commit, and a clone of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use git2::build::{RepoBuilder, TreeUpdateBuilder};
use git2::{FileMode, Repository, RepositoryInitOptions, Signature, Time};

use crate::model::time::Timestamp;

/// The scratch repository can't be made or read.
#[derive(Debug, thiserror::Error)]
#[error("can't {action} the scratch repository {path}")]
pub struct ScratchError {
    action: &'static str,
    path: String,
    #[source]
    source: git2::Error,
}

/// One commit of a scratch repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logged {
    /// The commit's abbreviated id.
    pub id: String,
    /// When it was made.
    pub at: Timestamp,
    /// Its subject.
    pub subject: String,
}

/// Makes `DIR/remote.git` with one root commit that holds `files`, and a clone of it in `DIR/work`; what is there
/// already is used as it is. `git -C DIR log` reads the remote's history. Returns the clone.
pub fn clone_in(
    directory: &Path,
    branch: &str,
    files: &BTreeMap<String, Vec<u8>>,
    at: Timestamp,
) -> Result<PathBuf, ScratchError> {
    let remote = directory.join("remote.git");
    let work = directory.join("work");
    let failed = |action, path: &Path| {
        let path = path.display().to_string();
        move |source| ScratchError {
            action,
            path,
            source,
        }
    };
    if !remote.join("HEAD").exists() {
        let mut options = RepositoryInitOptions::new();
        options.bare(true).initial_head(branch);
        let repository =
            Repository::init_opts(&remote, &options).map_err(failed("make", &remote))?;
        root_commit(&repository, branch, files, at).map_err(failed("fill", &remote))?;
    }
    // So that git finds the ledger's history from the directory itself.
    let link = directory.join(".git");
    if !link.exists() {
        std::fs::write(&link, "gitdir: remote.git\n").map_err(|error| ScratchError {
            action: "link",
            path: link.display().to_string(),
            source: git2::Error::from_str(&error.to_string()),
        })?;
    }
    if !work.join(".git").exists() {
        let from = remote.display().to_string();
        let cloned = RepoBuilder::new().branch(branch).clone(&from, &work);
        drop(cloned.map_err(failed("clone", &remote))?);
    }
    Ok(work)
}

fn root_commit(
    repository: &Repository,
    branch: &str,
    files: &BTreeMap<String, Vec<u8>>,
    at: Timestamp,
) -> Result<(), git2::Error> {
    let mut update = TreeUpdateBuilder::new();
    for (path, bytes) in files {
        update.upsert(path.as_str(), repository.blob(bytes)?, FileMode::Blob);
    }
    let empty = repository.find_tree(repository.treebuilder(None)?.write()?)?;
    let tree = repository.find_tree(update.create_updated(repository, &empty)?)?;
    let time = Time::new(at.as_millis().div_euclid(1000), 0);
    let author = Signature::new("sayonce", "sayonce@localhost", &time)?;
    let reference = format!("refs/heads/{branch}");
    let message = "The ledger as it is now, for a rehearsal\n";
    repository.commit(Some(&reference), &author, &author, message, &tree, &[])?;
    Ok(())
}

/// Returns the commits of a branch of `DIR/remote.git`, oldest first, the root commit aside.
pub fn log(directory: &Path, branch: &str) -> Result<Vec<Logged>, ScratchError> {
    let remote = directory.join("remote.git");
    let read = || -> Result<Vec<Logged>, git2::Error> {
        let repository = Repository::open_bare(&remote)?;
        let mut walk = repository.revwalk()?;
        walk.push_ref(&format!("refs/heads/{branch}"))?;
        walk.simplify_first_parent()?;
        let mut log = Vec::new();
        for id in walk {
            let commit = repository.find_commit(id?)?;
            if commit.parent_count() == 0 && !log.is_empty() {
                continue;
            }
            let id: String = commit.id().to_string().chars().take(9).collect();
            log.push(Logged {
                id,
                at: Timestamp::from_millis(commit.time().seconds().saturating_mul(1000)),
                subject: commit
                    .summary()
                    .ok()
                    .flatten()
                    .unwrap_or_default()
                    .to_owned(),
            });
        }
        log.reverse();
        Ok(log)
    };
    read().map_err(|source| ScratchError {
        action: "read",
        path: remote.display().to_string(),
        source,
    })
}
