//! Building: a batch becomes a commit on its base, and nothing moves yet.
//!
//! Invariant: a row is written only over the blob that its decision was made from, and only if it reads back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use git2::Oid;

use super::GitStore;
use crate::git::objects::{FileChange, NewCommit, ObjectsError, lock_remedy};
use crate::git::signature::{Role, person};
use crate::ledger::contents::Contents;
use crate::ledger::header::{self, HeaderError, StoredHeader};
use crate::ledger::message::{Said, message};
use crate::ledger::row::{self, RowError, is_safe_item};
use crate::ledger::{Batch, BlobId, Change, Header, baseline};
use crate::model::row::{DeliveryId, Row};

/// A commit that was built from a batch.
#[derive(Clone, Debug)]
pub(super) struct Built {
    pub(super) commit: Oid,
    pub(super) base: Option<Oid>,
    pub(super) files: Vec<FileChange>,
    /// What stood under the changed paths, for the work tree.
    pub(super) before: BTreeMap<String, Oid>,
    pub(super) blobs: BTreeMap<DeliveryId, BlobId>,
    /// The ledger says that the witness must not be pushed.
    pub(super) witness_refused: bool,
}

/// Why no commit was built.
#[derive(Debug, thiserror::Error)]
pub(super) enum BuildError {
    #[error("the ledger was written by a newer version, which must write it: {0}")]
    TooNew(String),
    #[error("the base `{0}` is not a commit that is known here")]
    Base(String),
    #[error("{0}")]
    Ledger(String),
    #[error("`{0}` can't be a path in git")]
    Path(String),
    #[error("{0} stands twice in one batch")]
    Twice(DeliveryId),
    #[error("the row of {0} is not the one that the decision was made from")]
    Stale(DeliveryId),
    #[error("the row of {delivery} can't be written: {source}")]
    Row {
        delivery: DeliveryId,
        source: RowError,
    },
    #[error("the row of {0} would not read back as it is")]
    Unfaithful(DeliveryId),
    #[error("no random numbers: {0}")]
    Random(getrandom::Error),
    #[error("{}", objects_words(.0))]
    Objects(#[from] ObjectsError),
}

/// The files of a commit as they are gathered.
#[derive(Default)]
struct Files {
    changes: Vec<FileChange>,
    before: BTreeMap<String, Oid>,
}

impl GitStore {
    /// Builds the commit of a batch.
    pub(super) fn build(&mut self, batch: &Batch) -> Result<Built, BuildError> {
        let base = batch
            .base
            .as_ref()
            .map(|base| {
                base.0
                    .parse()
                    .map_err(|_error: git2::Error| BuildError::Base(base.0.clone()))
            })
            .transpose()?;
        let contents = self
            .contents_of(base)
            .map_err(|error| BuildError::Ledger(error.message))?
            .unwrap_or_else(|| Arc::new(Contents::default()));
        if let Some(HeaderError::TooNew { .. }) = &contents.header_error {
            let words = contents.header_error.as_ref().map(ToString::to_string);
            return Err(BuildError::TooNew(words.unwrap_or_default()));
        }
        let mut files = Files::default();
        let mut blobs = BTreeMap::new();
        let mut before = BTreeMap::new();
        let mut met = BTreeSet::new();
        for change in &batch.changes {
            let delivery = change.row.delivery_id();
            if !met.insert(delivery.clone()) {
                return Err(BuildError::Twice(delivery));
            }
            let blob = self.put_row(change, &contents, &mut files)?;
            blobs.insert(delivery.clone(), BlobId(blob.to_string()));
            if let Some(stored) = contents.rows.get(&delivery) {
                before.insert(delivery, stored.row.clone());
            }
        }
        for (delivery, blob) in &batch.removed {
            let row = take_row(delivery, blob, &contents, &mut before, &batch.changes)?;
            for path in row {
                files.add(self.full_path(&path), None, contents.files.get(&path));
            }
        }
        let stored = self.header_for(batch, contents.header.as_ref())?;
        self.put(
            header::FILE,
            &header::encode(&stored),
            &contents,
            &mut files,
        )?;
        if let Some(new) = &batch.baseline {
            self.put(
                baseline::FILE,
                &baseline::encode(new),
                &contents,
                &mut files,
            )?;
        }
        let commit = self.commit(batch, base, &files.changes, &before)?;
        Ok(Built {
            commit,
            base,
            files: files.changes,
            before: files.before,
            blobs,
            witness_refused: stored.header.witness_refused,
        })
    }

    fn commit(
        &self,
        batch: &Batch,
        base: Option<Oid>,
        files: &[FileChange],
        before: &BTreeMap<DeliveryId, Row>,
    ) -> Result<Oid, BuildError> {
        let environment = &self.options.environment;
        let message = message(Said {
            changes: &batch.changes,
            before,
            subject: batch.subject.as_deref(),
            decision: batch.decision.as_deref(),
            skip_ci: &self.options.config.skip_ci,
        });
        let commit = self.objects.commit(NewCommit {
            base,
            files,
            message: &message,
            author: &person(Role::Author, environment, &self.settings),
            committer: &person(Role::Committer, environment, &self.settings),
            at: batch.at,
        })?;
        Ok(commit)
    }

    fn put_row(
        &self,
        change: &Change,
        contents: &Contents,
        files: &mut Files,
    ) -> Result<Oid, BuildError> {
        let row = &change.row;
        let delivery = row.delivery_id();
        if !is_safe_item(delivery.item.as_str()) {
            return Err(BuildError::Path(delivery.item.to_string()));
        }
        let path = row::path_below(&delivery);
        let there = contents.files.get(&path).map(ToString::to_string);
        if there != change.expected.as_ref().map(|blob| blob.0.clone()) {
            return Err(BuildError::Stale(delivery));
        }
        let failed = |source| BuildError::Row {
            delivery: delivery.clone(),
            source,
        };
        let encoded = row::encode(row).map_err(failed)?;
        let body = encoded.body.as_deref();
        let read = row::decode_at(&delivery, encoded.text.as_bytes(), body.map(str::as_bytes))
            .map_err(failed)?;
        if row::encode(&read).map_err(failed)? != encoded {
            return Err(BuildError::Unfaithful(delivery));
        }
        let body_path = row::body_path_below(&delivery);
        match body {
            Some(body) => self.put(&body_path, body, contents, files)?,
            None if contents.files.contains_key(&body_path) => {
                files.add(
                    self.full_path(&body_path),
                    None,
                    contents.files.get(&body_path),
                );
            }
            None => {}
        }
        let blob = self.objects.write_blob(encoded.text.as_bytes())?;
        files.add(self.full_path(&path), Some(blob), contents.files.get(&path));
        Ok(blob)
    }

    /// Writes a file, unless it stands there already.
    fn put(
        &self,
        path: &str,
        text: &str,
        contents: &Contents,
        files: &mut Files,
    ) -> Result<(), BuildError> {
        let blob = self.objects.write_blob(text.as_bytes())?;
        let before = contents.files.get(path);
        if before != Some(&blob) {
            files.add(self.full_path(path), Some(blob), before);
        }
        Ok(())
    }

    fn full_path(&self, below: &str) -> String {
        format!("{}/{below}", self.options.config.dir)
    }

    /// The header that the commit shall hold: the batch's, else the one that stands there, else a new one.
    fn header_for(
        &self,
        batch: &Batch,
        before: Option<&StoredHeader>,
    ) -> Result<StoredHeader, BuildError> {
        let ours = self.identity.repository.as_ref();
        let mut header = match (&batch.header, before) {
            (Some(header), _) => header.clone(),
            (None, Some(before)) => before.header.clone(),
            (None, None) => Header::new(random()?, None),
        };
        if header.lineage.is_empty() {
            header.lineage = Header::new(random()?, None).lineage;
        }
        let same_id = self.identity.id.is_some()
            && before.is_some_and(|before| before.repository_id == self.identity.id);
        // A ledger that was local until now, or whose repository was renamed.
        if header.repository.is_none() || (batch.header.is_none() && same_id) {
            header.repository = ours.cloned().or(header.repository);
        }
        header.witness_refused |= self.witness_refused;
        let known_id = before
            .filter(|before| before.header.repository == header.repository)
            .and_then(|before| before.repository_id.clone());
        let repository_id = if header.repository.is_some() && header.repository.as_ref() == ours {
            self.identity.id.clone().or(known_id)
        } else {
            known_id
        };
        let mut stored = match before {
            Some(before) => before.with(header),
            None => StoredHeader::new(header, None),
        };
        stored.repository_id = repository_id;
        Ok(stored)
    }
}

/// Returns the paths of a row that is taken away. What moves to another channel's name is no news: the commit's message
/// compares it with what it was.
fn take_row(
    delivery: &DeliveryId,
    blob: &BlobId,
    contents: &Contents,
    before: &mut BTreeMap<DeliveryId, Row>,
    changes: &[Change],
) -> Result<Vec<String>, BuildError> {
    let stored = contents
        .rows
        .get(delivery)
        .filter(|stored| stored.blob == *blob)
        .ok_or_else(|| BuildError::Stale(delivery.clone()))?;
    let moved = changes
        .iter()
        .map(|change| &change.row)
        .find(|row| row.item == delivery.item && row.operations == stored.row.operations);
    if let Some(row) = moved {
        before
            .entry(row.delivery_id())
            .or_insert_with(|| stored.row.clone());
    }
    let paths = [row::path_below(delivery), row::body_path_below(delivery)];
    let there = |path: &String| contents.files.contains_key(path);
    Ok(paths.into_iter().filter(there).collect())
}

impl Files {
    fn add(&mut self, path: String, blob: Option<Oid>, before: Option<&Oid>) {
        if let Some(before) = before {
            self.before.insert(path.clone(), *before);
        }
        self.changes.push(FileChange { path, blob });
    }
}

fn random() -> Result<[u8; 16], BuildError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(BuildError::Random)?;
    Ok(bytes)
}

/// The whole chain in one sentence, because a report carries no sources.
fn objects_words(error: &ObjectsError) -> String {
    let mut words = error.to_string();
    if let Some(cause) = std::error::Error::source(error) {
        words.push_str(": ");
        words.push_str(&cause.to_string());
    }
    if let Some(remedy) = lock_remedy(&words) {
        words.push_str("; ");
        words.push_str(&remedy);
    }
    words
}
