//! Index and work tree, which follow the ledger's own files where there is no remote.
//!
//! Moving a checked-out branch alone would leave every new row as "deleted" in `git status`, and the user's next
//! `git commit -a` would take it back. So the row's own paths are checked, noted, moved and brought up to date, in
//! this order; what a kill interrupts, the next run finishes from the note.
//!
//! Invariant: a path that the user changed is never written.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use git2::Oid;
use serde::{Deserialize, Serialize};

use super::objects::{FileChange, Objects, lock_remedy};
use super::process::{Finished, Git, LOCAL_TIMEOUT, ProcessError};

/// Paths on one command line; Windows ends at 32,000 letters.
const PATHS_PER_CALL: usize = 100;

/// A row and the body beside it.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The work tree whose branch is moved.
#[derive(Debug)]
pub struct WorkTree<'a> {
    /// The program, in the top of the work tree.
    pub git: &'a Git,
    /// The top of the work tree.
    pub top: &'a Path,
    /// Its own git directory, where its index lies.
    pub git_directory: &'a Path,
}

/// Why index and work tree can't follow.
#[derive(Debug, thiserror::Error)]
pub enum WorkTreeError {
    /// The user changed what we were about to write.
    #[error(
        "`{path}` was changed here by hand; commit it or restore it with `git restore --staged --worktree {path}`"
    )]
    Dirty {
        /// The path.
        path: String,
    },
    /// The index is locked.
    #[error("git's index is locked: {path} exists; {remedy}")]
    Locked {
        /// The lock.
        path: String,
        /// The command that removes it.
        remedy: String,
    },
    /// git did not start.
    #[error("the git program could not be run")]
    Process(#[from] ProcessError),
    /// git failed.
    #[error("git could not bring index and work tree up to date: {0}")]
    Git(String),
    /// The note could not be written or read.
    #[error("{path} could not be written or read")]
    Note {
        /// The note.
        path: String,
        /// The system's answer.
        #[source]
        source: std::io::Error,
    },
}

/// What is about to happen to index and work tree.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    files: Vec<NotedFile>,
}

#[derive(Debug, Serialize, Deserialize)]
struct NotedFile {
    path: String,
    old: Option<String>,
    new: Option<String>,
}

impl WorkTree<'_> {
    /// Refuses if one of `paths` differs between commit, index and work tree, or the index is locked.
    pub fn check(&self, paths: &[&str]) -> Result<(), WorkTreeError> {
        let lock = self.git_directory.join("index.lock");
        if lock.exists() {
            let path = lock.display().to_string();
            return Err(WorkTreeError::Locked {
                remedy: lock_remedy(&format!("'{path}'")).unwrap_or_default(),
                path,
            });
        }
        for some in paths.chunks(PATHS_PER_CALL) {
            let mut arguments = vec![
                "--no-optional-locks",
                "--literal-pathspecs",
                "status",
                "--porcelain=v1",
                "-z",
                "--untracked-files=all",
                "--ignored=matching",
                "--no-renames",
                "--",
            ];
            arguments.extend(some);
            let status = self.run(&arguments)?;
            // Two letters for index and work tree, a space, and the path.
            let changed = status.stdout.split('\0').find_map(|entry| entry.get(3..));
            if let Some(path) = changed {
                return Err(WorkTreeError::Dirty {
                    path: path.to_owned(),
                });
            }
        }
        Ok(())
    }

    /// Notes what [`Self::follow`] will do, on disk, before the branch moves.
    pub fn note(
        &self,
        files: &[FileChange],
        before: &BTreeMap<String, Oid>,
    ) -> Result<(), WorkTreeError> {
        let note = Note {
            files: files
                .iter()
                .map(|file| NotedFile {
                    path: file.path.clone(),
                    old: before.get(&file.path).map(ToString::to_string),
                    new: file.blob.map(|blob| blob.to_string()),
                })
                .collect(),
        };
        let path = self.note_path();
        let text = serde_json::to_vec(&note).expect("a note's fields can be written");
        let write = || -> std::io::Result<()> {
            let directory = path.parent().unwrap_or(self.git_directory);
            std::fs::create_dir_all(directory)?;
            let mut file = tempfile::NamedTempFile::new_in(directory)?;
            file.write_all(&text)?;
            file.as_file().sync_all()?;
            file.persist(&path)?;
            Ok(())
        };
        write().map_err(|source| self.note_error(source))
    }

    /// Brings index and work tree to what the branch now holds, and drops the note.
    pub fn follow(&self, files: &[FileChange]) -> Result<(), WorkTreeError> {
        for some in files.chunks(PATHS_PER_CALL) {
            let infos: Vec<String> = some
                .iter()
                .filter_map(|file| Some(format!("100644,{},{}", file.blob?, file.path)))
                .collect();
            if !infos.is_empty() {
                let mut arguments = vec!["update-index", "--add"];
                for info in &infos {
                    arguments.extend(["--cacheinfo", info]);
                }
                self.run(&arguments)?;
                let mut arguments = vec!["checkout-index", "--force", "--index", "--quiet", "--"];
                arguments.extend(written(some));
                self.run(&arguments)?;
            }
            let gone = removed(some);
            if !gone.is_empty() {
                let mut arguments = vec!["update-index", "--force-remove", "--"];
                arguments.extend(&gone);
                self.run(&arguments)?;
                for path in gone {
                    // Whether it was there or not: it is not there any more.
                    drop(std::fs::remove_file(self.top.join(path)));
                }
            }
        }
        self.drop_note()
    }

    /// Finishes what a killed run left: every noted path that still is as it was before, or as it should be.
    /// `now` is what the branch holds under each path.
    pub fn recover(&self, now: impl Fn(&str) -> Option<Oid>) -> Result<(), WorkTreeError> {
        let Some(note) = self.read_note()? else {
            return Ok(());
        };
        let mut files = Vec::new();
        for file in note.files {
            let index = self.index_entry(&file.path)?;
            let tree = self.file_id(&file.path);
            let known = |found: &Option<String>| *found == file.old || *found == file.new;
            if known(&index) && known(&tree) {
                files.push(FileChange {
                    blob: now(&file.path),
                    path: file.path,
                });
            }
        }
        self.follow(&files)
    }

    fn index_entry(&self, path: &str) -> Result<Option<String>, WorkTreeError> {
        let listed = self.run(&[
            "--literal-pathspecs",
            "ls-files",
            "--stage",
            "-z",
            "--",
            path,
        ])?;
        // `<mode> <object> <stage> TAB <path>`
        Ok(listed.stdout.split(' ').nth(1).map(str::to_owned))
    }

    /// Names the file's content as a blob, whichever line ends the checkout gave it.
    fn file_id(&self, path: &str) -> Option<String> {
        let path = self.top.join(path);
        let length = path.symlink_metadata().ok()?.len();
        if length > FILE_BYTES_MAX {
            return Some("too big".to_owned());
        }
        let content = String::from_utf8_lossy(&std::fs::read(path).ok()?).replace("\r\n", "\n");
        let id = Objects::blob_id(content.as_bytes()).ok()?;
        Some(id.to_string())
    }

    fn read_note(&self) -> Result<Option<Note>, WorkTreeError> {
        match std::fs::read(self.note_path()) {
            // A note that can't be read was not written by us; it says nothing.
            Ok(text) => Ok(serde_json::from_slice(&text).ok()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(self.note_error(source)),
        }
    }

    fn drop_note(&self) -> Result<(), WorkTreeError> {
        match std::fs::remove_file(self.note_path()) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                Err(self.note_error(source))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn note_path(&self) -> PathBuf {
        self.git_directory.join("sayonce").join("follow.json")
    }

    fn note_error(&self, source: std::io::Error) -> WorkTreeError {
        WorkTreeError::Note {
            path: self.note_path().display().to_string(),
            source,
        }
    }

    fn run(&self, arguments: &[&str]) -> Result<Finished, WorkTreeError> {
        let finished = self.git.run(arguments, LOCAL_TIMEOUT)?;
        if finished.succeeded() {
            Ok(finished)
        } else {
            Err(WorkTreeError::Git(finished.words()))
        }
    }
}

fn written(files: &[FileChange]) -> Vec<&str> {
    files
        .iter()
        .filter(|file| file.blob.is_some())
        .map(|file| file.path.as_str())
        .collect()
}

fn removed(files: &[FileChange]) -> Vec<&str> {
    files
        .iter()
        .filter(|file| file.blob.is_none())
        .map(|file| file.path.as_str())
        .collect()
}
