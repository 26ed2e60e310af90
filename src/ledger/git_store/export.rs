//! What commands ask of the ledger's repository besides rows.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{GitStore, objects_error};
use crate::git::objects::{Durability, Objects};
use crate::git::signature::{Role, person};
use crate::ledger::{CommitId, Snapshot, StoreError};

/// A ledger's file is never larger than this; a body of an article is the largest.
const FILE_BYTES_MAX: usize = 4 * 1024 * 1024;

impl GitStore {
    /// Returns the top of the work tree that `directory` lies in.
    pub fn top_of(directory: &Path) -> Result<PathBuf, StoreError> {
        let objects =
            Objects::open(directory, Durability::Scratch).map_err(|error| objects_error(&error))?;
        Ok(objects.top().to_owned())
    }

    /// Returns who decides, as git knows them.
    pub fn who(&self) -> String {
        let person = person(Role::Author, &self.options.environment, &self.settings);
        format!("{} <{}>", person.name, person.email)
    }

    /// Whether the remote is GitHub, which recommends few pushes.
    pub fn is_on_github(&self) -> bool {
        self.identity
            .repository
            .as_deref()
            .is_some_and(|repository| repository.starts_with("github.com/"))
    }

    /// Returns the ledger's files of a snapshot, byte for byte, by their paths below the repository's top.
    pub fn files_of(
        &mut self,
        snapshot: &Snapshot,
    ) -> Result<BTreeMap<String, Vec<u8>>, StoreError> {
        let Some(CommitId(tip)) = &snapshot.tip else {
            return Ok(BTreeMap::new());
        };
        let commit = tip.parse().ok();
        let Some(contents) = self.contents_of(commit)? else {
            return Ok(BTreeMap::new());
        };
        let mut files = BTreeMap::new();
        for (path, blob) in &contents.files {
            let bytes = self
                .objects
                .blob(*blob, FILE_BYTES_MAX)
                .map_err(|error| objects_error(&error))?;
            files.insert(format!("{}/{path}", self.options.config.dir), bytes);
        }
        Ok(files)
    }
}
