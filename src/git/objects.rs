//! Objects and refs of the repository on this machine.
//!
//! Commits are built on any base without an index or a work tree, so a dirty work tree never matters; refs move by
//! compare-and-swap alone.

mod beside;

use std::io::Write as _;
use std::path::Path;

use git2::build::TreeUpdateBuilder;
use git2::{ConfigLevel, ErrorCode, FileMode, ObjectType, Oid, Repository, Signature, Time, Tree};

use super::signature::Person;
use crate::model::time::Timestamp;

/// Deeper nesting than any URL path; a tree that is deeper is hostile.
const DEPTH_MAX: usize = 64;

/// Far more rows than a site has articles and channels.
const FILES_MAX: usize = 500_000;

/// A repository.
pub struct Objects {
    repository: Repository,
    /// Read by libgit2 as long as the repository is open.
    _durable_settings: Option<tempfile::NamedTempFile>,
}

/// Whether what is written must survive a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Objects, refs and their directories are synced: this disk is the ledger's only home.
    Synced,
    /// They are not: only what was pushed counts.
    Scratch,
}

/// What is checked out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Head {
    /// A branch, which may have no commit yet.
    Branch(String),
    /// A commit.
    Detached,
}

/// A file of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeFile {
    /// Its path, relative to the directory that was listed.
    pub path: String,
    /// Its blob.
    pub blob: Oid,
    /// What it is.
    pub kind: FileKind,
}

/// What an entry of a tree is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// An ordinary file.
    Plain,
    /// A file marked as executable.
    Executable,
    /// A symbolic link.
    Link,
    /// A commit of another repository.
    Submodule,
}

impl FileKind {
    /// Returns the words for it in messages.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Plain => "a file",
            Self::Executable => "an executable file",
            Self::Link => "a symbolic link",
            Self::Submodule => "a submodule",
        }
    }
}

/// A file to write into a commit, or to remove from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// Path below the repository's top.
    pub path: String,
    /// The new content; none: the file goes.
    pub blob: Option<Oid>,
}

/// A commit to build.
#[derive(Clone, Copy, Debug)]
pub struct NewCommit<'a> {
    /// Its one parent; none makes a root commit.
    pub base: Option<Oid>,
    /// What it changes.
    pub files: &'a [FileChange],
    /// Its message.
    pub message: &'a str,
    /// Who wrote it.
    pub author: &'a Person,
    /// Who committed it.
    pub committer: &'a Person,
    /// Its date.
    pub at: Timestamp,
}

/// What a compare-and-swap of a ref came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a ref may not have moved"]
pub enum Swap {
    /// The ref moved.
    Moved,
    /// It was not what was expected.
    Beaten,
}

/// Why the repository could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ObjectsError {
    /// No repository there.
    #[error("there is no git repository at {0} or above")]
    NoRepository(String),
    /// libgit2 does not trust a directory of another user, as git itself doesn't.
    #[error("the git repository at {path} belongs to another user")]
    Ownership {
        /// The repository.
        path: String,
        /// libgit2's words.
        #[source]
        source: git2::Error,
    },
    /// SHA-256, reftable or something newer.
    #[error("the git repository at {path} is of a format that is not supported")]
    Format {
        /// The repository.
        path: String,
        /// libgit2's words.
        #[source]
        source: git2::Error,
    },
    /// Objects that a partial clone has not fetched.
    #[error("{} objects are missing in this repository", .0.len())]
    Missing(Vec<Oid>),
    /// Something else than a directory stands where the ledger should be.
    #[error("`{path}` is {kind}, not a directory")]
    NotADirectory {
        /// The path.
        path: String,
        /// What it is.
        kind: &'static str,
    },
    /// More than any ledger holds.
    #[error("`{0}` has too many files or is nested too deep")]
    TooMuch(String),
    /// A blob that is bigger than its reader takes.
    #[error("it has {bytes} bytes, more than the {bytes_max} that are read")]
    TooBig {
        /// Its size.
        bytes: usize,
        /// The limit.
        bytes_max: usize,
    },
    /// Another process holds a lock, or died holding it.
    #[error("git's lock is held by another process, or was left by one that died: {0}")]
    Locked(String),
    /// Everything else that libgit2 says.
    #[error("{doing} failed")]
    Git {
        /// What was tried.
        doing: &'static str,
        /// libgit2's words.
        #[source]
        source: git2::Error,
    },
    /// The disk.
    #[error("{doing} failed")]
    Disk {
        /// What was tried.
        doing: &'static str,
        /// The system's answer.
        #[source]
        source: std::io::Error,
    },
}

impl Objects {
    /// Opens the repository that `directory` lies in: its top, a linked work tree, or a directory below.
    pub fn open(directory: &Path, durability: Durability) -> Result<Self, ObjectsError> {
        let repository =
            Repository::discover(directory).map_err(|source| open_error(directory, source))?;
        let durable_settings = match durability {
            Durability::Scratch => None,
            Durability::Synced => Some(sync_everything(&repository)?),
        };
        Ok(Self {
            repository,
            _durable_settings: durable_settings,
        })
    }

    /// Returns the top of the work tree, or the git directory of a bare repository.
    pub fn top(&self) -> &Path {
        self.repository
            .workdir()
            .unwrap_or_else(|| self.repository.path())
    }

    /// Whether there is a work tree.
    pub fn is_bare(&self) -> bool {
        self.repository.is_bare()
    }

    /// Returns the git directory that all linked work trees share.
    pub fn common_directory(&self) -> &Path {
        self.repository.commondir()
    }

    /// Returns the git directory of this work tree alone.
    pub fn own_directory(&self) -> &Path {
        self.repository.path()
    }

    /// Returns what is checked out.
    pub fn head(&self) -> Result<Head, ObjectsError> {
        let head = self
            .repository
            .find_reference("HEAD")
            .map_err(git("reading HEAD"))?;
        let target = head.symbolic_target().map_err(git("reading HEAD"))?;
        Ok(target
            .and_then(|target| target.strip_prefix("refs/heads/"))
            .map_or(Head::Detached, |branch| Head::Branch(branch.to_owned())))
    }

    /// Whether a branch is checked out in another work tree of this repository.
    pub fn is_checked_out_elsewhere(&self, branch: &str) -> bool {
        let common = self.common_directory();
        let linked = std::fs::read_dir(common.join("worktrees"))
            .into_iter()
            .flatten()
            .filter_map(Result::ok)
            .map(|entry| entry.path());
        std::iter::once(common.to_owned())
            .chain(linked)
            .filter(|directory| !is_same(directory, self.own_directory()))
            .any(|directory| is_head_of(&directory, branch))
    }

    /// Returns what a ref points at; none if it is not there.
    pub fn reference(&self, name: &str) -> Result<Option<Oid>, ObjectsError> {
        match self.repository.refname_to_id(name) {
            Ok(id) => Ok(Some(id)),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(source) => Err(git("reading a ref")(source)),
        }
    }

    /// Moves a ref, if it is what it is expected to be; expecting none makes it.
    pub fn compare_and_swap(
        &self,
        name: &str,
        new: Oid,
        expected: Option<Oid>,
        log: &str,
    ) -> Result<Swap, ObjectsError> {
        let expected = expected.unwrap_or(Oid::ZERO_SHA1);
        match self
            .repository
            .reference_matching(name, new, true, expected, log)
        {
            Ok(_) => Ok(Swap::Moved),
            Err(error) if matches!(error.code(), ErrorCode::Modified | ErrorCode::NotFound) => {
                Ok(Swap::Beaten)
            }
            Err(source) => Err(git("moving a ref")(source)),
        }
    }

    /// Sets a ref of our own, whatever it was.
    pub fn set_reference(&self, name: &str, new: Oid) -> Result<(), ObjectsError> {
        self.repository
            .reference(name, new, true, "sayonce")
            .map(drop)
            .map_err(git("setting a ref"))
    }

    /// Removes a ref of our own, if it is there.
    pub fn remove_reference(&self, name: &str) -> Result<(), ObjectsError> {
        match self.repository.find_reference(name) {
            Ok(mut reference) => reference.delete().map_err(git("removing a ref")),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(()),
            Err(source) => Err(git("removing a ref")(source)),
        }
    }

    /// Whether an object is on this machine.
    pub fn has(&self, object: Oid) -> bool {
        self.repository
            .odb()
            .is_ok_and(|database| database.exists(object))
    }

    /// Whether `later` has `earlier` among its ancestors, as far as this clone knows them.
    pub fn descends(&self, later: Oid, earlier: Oid) -> bool {
        self.repository
            .graph_descendant_of(later, earlier)
            .unwrap_or(false)
    }

    /// Returns the files below `directory` in a commit, in the order of their paths, and the directory's own id.
    pub fn files(
        &self,
        commit: Oid,
        directory: &str,
    ) -> Result<(Option<Oid>, Vec<TreeFile>), ObjectsError> {
        let Some(tree) = self.tree_at(commit, directory)? else {
            return Ok((None, Vec::new()));
        };
        let mut files = Vec::new();
        let mut missing = Vec::new();
        self.collect(&tree, "", 0, &mut files, &mut missing)?;
        if missing.is_empty() {
            Ok((Some(tree.id()), files))
        } else {
            Err(ObjectsError::Missing(missing))
        }
    }

    /// Returns the id of a directory in a commit; none if it is not there.
    pub fn directory(&self, commit: Oid, directory: &str) -> Result<Option<Oid>, ObjectsError> {
        Ok(self.tree_at(commit, directory)?.map(|tree| tree.id()))
    }

    fn tree_at(&self, commit: Oid, directory: &str) -> Result<Option<Tree<'_>>, ObjectsError> {
        let root = self
            .repository
            .find_commit(commit)
            .map_err(missing_or(commit, "reading a commit"))?
            .tree_id();
        let mut tree = self.tree(root)?;
        for segment in directory.split('/') {
            let Some((kind, id)) = tree
                .get_name(segment)
                .map(|entry| (entry.filemode(), entry.id()))
            else {
                return Ok(None);
            };
            if kind != i32::from(FileMode::Tree) {
                return Err(ObjectsError::NotADirectory {
                    path: directory.to_owned(),
                    kind: file_kind(kind).label(),
                });
            }
            tree = self.tree(id)?;
        }
        Ok(Some(tree))
    }

    fn tree(&self, id: Oid) -> Result<Tree<'_>, ObjectsError> {
        self.repository
            .find_tree(id)
            .map_err(missing_or(id, "reading a tree"))
    }

    fn collect(
        &self,
        tree: &Tree<'_>,
        prefix: &str,
        depth: usize,
        files: &mut Vec<TreeFile>,
        missing: &mut Vec<Oid>,
    ) -> Result<(), ObjectsError> {
        if depth > DEPTH_MAX || files.len() > FILES_MAX {
            return Err(ObjectsError::TooMuch(prefix.to_owned()));
        }
        for entry in tree {
            let name = String::from_utf8_lossy(entry.name_bytes());
            let path = match prefix {
                "" => name.into_owned(),
                prefix => format!("{prefix}/{name}"),
            };
            if entry.filemode() == i32::from(FileMode::Tree) {
                match self.tree(entry.id()) {
                    Ok(below) => self.collect(&below, &path, depth + 1, files, missing)?,
                    Err(ObjectsError::Missing(ids)) => missing.extend(ids),
                    Err(error) => return Err(error),
                }
            } else {
                files.push(TreeFile {
                    path,
                    blob: entry.id(),
                    kind: file_kind(entry.filemode()),
                });
            }
        }
        Ok(())
    }

    /// Reads a blob of at most `bytes_max` bytes.
    pub fn blob(&self, id: Oid, bytes_max: usize) -> Result<Vec<u8>, ObjectsError> {
        let (bytes, _kind) = self
            .repository
            .odb()
            .and_then(|database| database.read_header(id))
            .map_err(missing_or(id, "reading a blob's size"))?;
        if bytes > bytes_max {
            return Err(ObjectsError::TooBig { bytes, bytes_max });
        }
        let blob = self
            .repository
            .find_blob(id)
            .map_err(missing_or(id, "reading a blob"))?;
        Ok(blob.content().to_vec())
    }

    /// Writes a blob.
    pub fn write_blob(&self, content: &[u8]) -> Result<Oid, ObjectsError> {
        self.repository.blob(content).map_err(git("writing a blob"))
    }

    /// Returns the id that a blob with this content has.
    pub fn blob_id(content: &[u8]) -> Result<Oid, ObjectsError> {
        Oid::hash_object(ObjectType::Blob, content).map_err(git("naming a blob"))
    }

    /// Builds a commit and moves nothing.
    pub fn commit(&self, new: NewCommit<'_>) -> Result<Oid, ObjectsError> {
        let parent = new
            .base
            .map(|base| {
                self.repository
                    .find_commit(base)
                    .map_err(missing_or(base, "reading the base commit"))
            })
            .transpose()?;
        let before = match &parent {
            Some(parent) => self.tree(parent.tree_id())?,
            None => self.empty_tree()?,
        };
        let mut update = TreeUpdateBuilder::new();
        for file in new.files {
            match file.blob {
                Some(blob) => update.upsert(file.path.as_str(), blob, FileMode::Blob),
                None => update.remove(file.path.as_str()),
            };
        }
        let tree = update
            .create_updated(&self.repository, &before)
            .map_err(git("writing a tree"))?;
        let tree = self.tree(tree)?;
        let time = Time::new(new.at.as_millis().div_euclid(1000), 0);
        let sign = |person: &Person| {
            Signature::new(&person.name, &person.email, &time).map_err(git("signing a commit"))
        };
        let parents: Vec<_> = parent.iter().collect();
        self.repository
            .commit(
                None,
                &sign(new.author)?,
                &sign(new.committer)?,
                new.message,
                &tree,
                &parents,
            )
            .map_err(git("writing a commit"))
    }

    fn empty_tree(&self) -> Result<Tree<'_>, ObjectsError> {
        let id = self
            .repository
            .treebuilder(None)
            .and_then(|builder| builder.write())
            .map_err(git("writing an empty tree"))?;
        self.tree(id)
    }
}

impl std::fmt::Debug for Objects {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_tuple("Objects")
            .field(&self.repository.path())
            .finish()
    }
}

/// Returns the command that removes the lock that a message names, for people to run once they are sure.
pub fn lock_remedy(message: &str) -> Option<String> {
    let path = lock_in(message)?;
    Some(format!(
        "if no other git is at work in this repository, remove the stale lock: rm '{path}'"
    ))
}

/// The same for a lock that a remote speaks of.
pub fn remote_lock_remedy(message: &str) -> Option<String> {
    let path = lock_in(message)?;
    Some(format!(
        "if no other push is at work there, remove the stale lock on the remote: rm '{path}'"
    ))
}

fn lock_in(message: &str) -> Option<&str> {
    message
        .split('\'')
        .find(|part| part.strip_suffix(".lock").is_some() && !part.contains('\n'))
}

/// Whether a ref's name is legal for a branch.
pub fn is_branch_name(branch: &str) -> bool {
    git2::Branch::name_is_valid(branch).unwrap_or(false)
}

fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_gone| path.to_owned());
    real(one) == real(other)
}

fn is_head_of(git_directory: &Path, branch: &str) -> bool {
    std::fs::read_to_string(git_directory.join("HEAD"))
        .is_ok_and(|head| head.trim_end().strip_prefix("ref: refs/heads/") == Some(branch))
}

fn file_kind(mode: i32) -> FileKind {
    if mode == i32::from(FileMode::Link) {
        FileKind::Link
    } else if mode == i32::from(FileMode::Commit) {
        FileKind::Submodule
    } else if mode == i32::from(FileMode::BlobExecutable) {
        FileKind::Executable
    } else {
        FileKind::Plain
    }
}

/// libgit2 syncs what it writes only by a setting of the repository's configuration. Ours is laid over it in
/// memory, read from a file that goes when the repository is closed, so that the user's stays as it is.
fn sync_everything(repository: &Repository) -> Result<tempfile::NamedTempFile, ObjectsError> {
    let disk = |source| ObjectsError::Disk {
        doing: "writing a temporary file",
        source,
    };
    let mut file = tempfile::NamedTempFile::new().map_err(disk)?;
    file.write_all(b"[core]\n\tfsyncObjectFiles = true\n")
        .and_then(|()| file.flush())
        .map_err(disk)?;
    let mut config = repository
        .config()
        .map_err(git("reading git's configuration"))?;
    config
        .add_file(file.path(), ConfigLevel::App, false)
        .map_err(git("laying a setting over git's configuration"))?;
    Ok(file)
}

fn open_error(directory: &Path, source: git2::Error) -> ObjectsError {
    let path = directory.display().to_string();
    let words = source.message().to_lowercase();
    let is_of_format = ["object format", "extension", "repository version"]
        .iter()
        .any(|format| words.contains(format));
    if source.code() == ErrorCode::NotFound {
        ObjectsError::NoRepository(path)
    } else if source.code() == ErrorCode::Owner {
        // git takes no `.` as a safe directory, and the repository's top may be further up: libgit2 names it.
        let named = source.message().split('\'').nth(1).map(str::to_owned);
        let path = named.unwrap_or(path);
        ObjectsError::Ownership { path, source }
    } else if is_of_format {
        ObjectsError::Format { path, source }
    } else {
        ObjectsError::Git {
            doing: "opening the git repository",
            source,
        }
    }
}

fn git(doing: &'static str) -> impl Fn(git2::Error) -> ObjectsError {
    move |source| {
        if source.code() == ErrorCode::Locked || source.message().contains(".lock'") {
            ObjectsError::Locked(source.message().to_owned())
        } else {
            ObjectsError::Git { doing, source }
        }
    }
}

fn missing_or(id: Oid, doing: &'static str) -> impl Fn(git2::Error) -> ObjectsError {
    move |source| {
        if source.code() == ErrorCode::NotFound {
            ObjectsError::Missing(vec![id])
        } else {
            git(doing)(source)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_named_with_the_command_that_removes_it() {
        assert_eq!(
            lock_remedy("failed to lock file '/srv/site/.git/refs/heads/main.lock' for writing: ")
                .unwrap(),
            "if no other git is at work in this repository, remove the stale lock: \
             rm '/srv/site/.git/refs/heads/main.lock'"
        );
        assert_eq!(
            lock_remedy("fatal: Unable to create '/srv/site/.git/index.lock': File exists.")
                .unwrap(),
            "if no other git is at work in this repository, remove the stale lock: \
             rm '/srv/site/.git/index.lock'"
        );
        assert_eq!(lock_remedy("fatal: it's broken"), None);
    }
}
