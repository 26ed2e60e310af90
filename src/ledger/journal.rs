//! The journal: rows that could not be pushed, on this machine's disk, for the next run to merge.
//!
//! One file per claim, `<git dir>/sayonce/journal/<token>.json`, which holds the row's own JSON.
//!
//! Invariant: once [`Journal::write_rows`] has returned, a power cut loses nothing.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::row;
use super::{JournalWriter, StoreError};
use crate::model::ids::sha256_hex;
use crate::model::row::Row;

/// A run leaves one file per claim in flight; far more would be something else's.
const FILES_MAX: usize = 20_000;

/// The longest row with its bodies inside.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The journal of one repository.
#[derive(Debug)]
pub(super) struct Journal {
    directory: PathBuf,
}

impl JournalWriter for Journal {
    fn write(&mut self, rows: &[Row]) -> Result<String, StoreError> {
        self.write_rows(rows)
    }

    fn clear(&mut self, landed: &[Row]) -> Result<(), StoreError> {
        self.clear_rows(landed)
    }
}

impl Journal {
    /// Takes the git directory that all work trees share: a linked work tree may be gone by the next run.
    pub(super) fn of(git_directory: &Path) -> Self {
        Self {
            directory: git_directory.join("sayonce").join("journal"),
        }
    }

    /// Writes rows and returns where they are.
    pub(super) fn write_rows(&self, rows: &[Row]) -> Result<String, StoreError> {
        fs::create_dir_all(&self.directory).map_err(|error| self.error("made", error))?;
        for row in rows {
            let text = row::encode_whole(row).map_err(|error| StoreError {
                lasting: false,
                message: format!("the row of {} can't be written", row.delivery_id()),
                hint: None,
                source: Some(error.into()),
            })?;
            let write = || -> std::io::Result<()> {
                let mut file = tempfile::NamedTempFile::new_in(&self.directory)?;
                file.write_all(text.as_bytes())?;
                file.as_file().sync_all()?;
                file.persist(self.directory.join(file_name(row)))?;
                Ok(())
            };
            write().map_err(|error| self.error("written", error))?;
        }
        sync_directory(&self.directory).map_err(|error| self.error("synced", error))?;
        Ok(self.directory.display().to_string())
    }

    /// Reads the rows of earlier runs.
    pub(super) fn read(&self) -> Result<Vec<Row>, StoreError> {
        self.files()?
            .into_iter()
            .map(|path| Self::read_file(&path))
            .collect()
    }

    /// Removes the files of rows that have landed.
    pub(super) fn clear_rows(&self, landed: &[Row]) -> Result<(), StoreError> {
        for row in landed {
            match fs::remove_file(self.directory.join(file_name(row))) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(self.error("cleared", error));
                }
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    fn files(&self) -> Result<Vec<PathBuf>, StoreError> {
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(self.error("read", error)),
        };
        let mut files = Vec::new();
        for entry in entries.take(FILES_MAX) {
            let path = entry.map_err(|error| self.error("read", error))?.path();
            if path
                .extension()
                .is_some_and(|extension| extension == "json")
            {
                files.push(path);
            }
        }
        files.sort();
        Ok(files)
    }

    fn read_file(path: &Path) -> Result<Row, StoreError> {
        let unreadable = |cause: anyhow::Error| StoreError {
            lasting: false,
            message: format!("the journal's file {} can't be read", path.display()),
            hint: Some(format!(
                "it holds the outcome of a send that could not be pushed; a newer version may read it; \
                 to go on without it: mv '{0}' '{0}.unreadable'",
                path.display()
            )),
            source: Some(cause),
        };
        let length = fs::metadata(path)
            .map_err(|error| unreadable(error.into()))?
            .len();
        if length > FILE_BYTES_MAX {
            return Err(unreadable(anyhow::anyhow!("it has {length} bytes")));
        }
        let bytes = fs::read(path).map_err(|error| unreadable(error.into()))?;
        row::decode_whole(&bytes).map_err(|error| unreadable(error.into()))
    }

    fn error(&self, done: &str, error: std::io::Error) -> StoreError {
        StoreError {
            lasting: false,
            message: format!(
                "the journal at {} can't be {done}",
                self.directory.display()
            ),
            hint: Some(
                "check that the disk is not full and that the directory is yours".to_owned(),
            ),
            source: Some(error.into()),
        }
    }
}

/// The newest claim's token names the file; a row without a claim has a name made from its delivery.
fn file_name(row: &Row) -> String {
    let newest = row
        .operations
        .values()
        .filter_map(|record| record.claim.as_ref())
        .max_by_key(|claim| claim.claimed_at);
    let name = newest.map_or_else(
        || {
            let mut digest = sha256_hex(row.delivery_id().to_string().as_bytes());
            digest.truncate(32);
            digest
        },
        |claim| claim.token.to_string(),
    );
    format!("{name}.json")
}

#[cfg(unix)]
fn sync_directory(directory: &Path) -> std::io::Result<()> {
    File::open(directory)?.sync_all()
}

/// Only Unix can open a directory as a file; elsewhere the file system's own journal has to do.
#[cfg(not(unix))]
fn sync_directory(_directory: &Path) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::fixture::{claimed, claimed_with, held, post, proved, row};

    #[test]
    fn what_is_journaled_is_there_until_it_has_landed() {
        let directory = tempfile::tempdir().unwrap();
        let journal = Journal::of(directory.path());
        assert_eq!(journal.read().unwrap(), []);
        let body = "x".repeat(5_000);
        let long = post(&[("title", "Hello"), ("body_markdown", &body)]);
        let rows = [
            row("news/a", "mastodon", [claimed(1), proved("7")]),
            row("news/b", "devto", [claimed_with(2, long)]),
            row("news/c", "mastodon", [held()]),
        ];
        let place = journal.write_rows(&rows).unwrap();
        assert!(
            Path::new(&place)
                .join("01010101010101010101010101010101.json")
                .exists()
        );
        let mut read = Journal::of(directory.path()).read().unwrap();
        read.sort_by_key(|row| row.item.to_string());
        assert_eq!(read, rows);
        journal.clear_rows(&rows[..2]).unwrap();
        assert_eq!(journal.read().unwrap(), rows[2..]);
        journal.clear_rows(&rows).unwrap();
        assert_eq!(journal.read().unwrap(), []);
    }

    #[test]
    fn a_file_that_can_not_be_read_is_named_with_the_way_round_it() {
        let directory = tempfile::tempdir().unwrap();
        let journal = Journal::of(directory.path());
        let place = journal.write_rows(&[]).unwrap();
        let path = Path::new(&place).join("broken.json");
        fs::write(&path, "{").unwrap();
        let error = journal.read().unwrap_err();
        let name = path.display();
        assert_eq!(
            error.message,
            format!("the journal's file {name} can't be read")
        );
        assert!(
            error
                .hint
                .unwrap()
                .ends_with(&format!("mv '{name}' '{name}.unreadable'"))
        );
    }
}
