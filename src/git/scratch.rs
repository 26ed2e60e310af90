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

/// Moves with the branch; the ledger's module says why.
const WITNESS: &str = "refs/sayonce/witness";

/// How git is told that its directory is elsewhere.
const LINK: &[u8] = b"gitdir: remote.git\n";

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
        make(&remote, |part| {
            let mut options = RepositoryInitOptions::new();
            options.bare(true).initial_head(branch);
            root_commit(&Repository::init_opts(part, &options)?, branch, files, at)
        })
        .map_err(failed("make", &remote))?;
    }
    // So that git finds the ledger's history from the directory itself.
    let link = directory.join(".git");
    if std::fs::read(&link).ok().as_deref() != Some(LINK) {
        std::fs::write(&link, LINK).map_err(|error| ScratchError {
            action: "link",
            path: link.display().to_string(),
            source: git2::Error::from_str(&error.to_string()),
        })?;
    }
    if !work.join(".git").exists() {
        let from = remote.display().to_string();
        make(&work, |part| {
            RepoBuilder::new()
                .branch(branch)
                .clone(&from, part)
                .map(drop)
        })
        .map_err(failed("clone", &remote))?;
    }
    Ok(work)
}

/// Makes a repository aside and moves it to its place: a kill leaves it whole or not at all.
fn make(
    path: &Path,
    fill: impl FnOnce(&Path) -> Result<(), git2::Error>,
) -> Result<(), git2::Error> {
    let part = path.with_extension("part");
    let disk = |error: std::io::Error| git2::Error::from_str(&error.to_string());
    if part.exists() {
        std::fs::remove_dir_all(&part).map_err(disk)?;
    }
    fill(&part)?;
    std::fs::rename(&part, path).map_err(disk)
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
    let commit = repository.commit(Some(&reference), &author, &author, message, &tree, &[])?;
    if !files.is_empty() {
        // A ledger without its witness would be worth a remark, and this one is only a copy.
        repository.reference(WITNESS, commit, false, "")?;
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_kill_left_half_made_is_finished() {
        let directory = tempfile::tempdir().unwrap();
        let check = |prepare: &dyn Fn(&Path)| {
            let here = tempfile::tempdir_in(directory.path()).unwrap();
            prepare(here.path());
            let files = BTreeMap::from([("ledger/ledger.json".to_owned(), b"{}".to_vec())]);
            let work = clone_in(here.path(), "main", &files, Timestamp::EPOCH).unwrap();
            let repository = Repository::open(&work).unwrap();
            assert!(repository.refname_to_id("refs/remotes/origin/main").is_ok());
            assert!(work.join("ledger/ledger.json").exists());
            for part in ["remote.part", "work.part"] {
                assert!(!here.path().join(part).exists());
            }
        };
        check(&|_nothing| {});
        check(&|here| drop(Repository::init_bare(here.join("remote.part")).unwrap()));
        check(&|here| std::fs::create_dir_all(here.join("remote.part/refs/main.lock")).unwrap());
        check(&|here| drop(Repository::init(here.join("work.part")).unwrap()));
    }
}
