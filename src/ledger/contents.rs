//! The ledger's directory in one commit, read whole.
//!
//! Invariant: every file is accounted for: a row, a body beside one, one of the two files of the ledger itself, or
//! unreadable with a reason. A file that can't be read is never taken as not there.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use git2::Oid;

use super::header::{self, HeaderError, StoredHeader};
use super::row;
use super::standing::Side;
use super::{Baseline, BlobId, StoredRow, Unreadable, baseline};
use crate::git::objects::{FileKind, Objects, ObjectsError, TreeFile};
use crate::model::row::{DeliveryId, Row};

/// What a ledger's directory holds.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// The directory's tree; none if it is not there.
    pub(super) tree: Option<Oid>,
    /// Every file, by its path below the directory.
    pub(super) files: BTreeMap<String, Oid>,
    /// The readable rows.
    pub(super) rows: BTreeMap<DeliveryId, StoredRow>,
    /// The others.
    pub(super) unreadable: Vec<Unreadable>,
    /// Deliveries whose row is unreadable.
    pub(super) unreadable_deliveries: BTreeSet<DeliveryId>,
    /// `ledger.json`.
    pub(super) header: Option<StoredHeader>,
    /// Why `ledger.json` can't be used, if so.
    pub(super) header_error: Option<HeaderError>,
    /// `baseline.json`.
    pub(super) baseline: Baseline,
    /// Why `baseline.json` can't be used, if so.
    pub(super) baseline_error: Option<String>,
}

impl Contents {
    /// Returns what the comparison with a witness looks at.
    pub(super) fn side(&self) -> Side<'_> {
        Side {
            rows: &self.rows,
            unreadable: &self.unreadable_deliveries,
            header: self.header.as_ref().map(|stored| &stored.header),
            baseline: &self.baseline,
        }
    }

    /// Whether there is no ledger at all.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
            && self.unreadable.is_empty()
            && self.header.is_none()
            && self.header_error.is_none()
    }
}

/// Rows that were parsed before, by everything that the result depends on.
#[derive(Debug, Default)]
pub(super) struct RowCache {
    rows: HashMap<RowKey, Result<Row, String>>,
}

/// Parsed rows that are kept: enough for the tip, the witness and what is being built.
const CACHED_ROWS_MAX: usize = 300_000;

type RowKey = (String, Oid, Option<Oid>);

/// Where a ledger lies and how it is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub(super) objects: &'a Objects,
    /// The ledger's directory.
    pub(super) directory: &'a str,
    /// In a partial clone blobs are fetched together, before any is read.
    pub(super) is_partial: bool,
}

impl Place<'_> {
    /// Reads the ledger in `commit`. [`ObjectsError::Missing`] names what a partial clone has to fetch first.
    pub(super) fn read(self, commit: Oid, cache: &mut RowCache) -> Result<Contents, ObjectsError> {
        let (tree, files) = self.objects.files(commit, self.directory)?;
        if self.is_partial {
            self.require(&files)?;
        }
        if cache.rows.len() > CACHED_ROWS_MAX {
            cache.rows.clear();
        }
        let mut contents = Contents {
            tree,
            files: files
                .iter()
                .map(|file| (file.path.clone(), file.blob))
                .collect(),
            ..Contents::default()
        };
        for file in &files {
            self.take(&mut contents, file, cache)?;
        }
        Ok(contents)
    }

    fn require(self, files: &[TreeFile]) -> Result<(), ObjectsError> {
        let missing: Vec<Oid> = files
            .iter()
            .filter(|file| file.kind != FileKind::Submodule && !self.objects.has(file.blob))
            .map(|file| file.blob)
            .collect();
        if missing.is_empty() {
            Ok(())
        } else {
            Err(ObjectsError::Missing(missing))
        }
    }

    fn take(
        self,
        contents: &mut Contents,
        file: &TreeFile,
        cache: &mut RowCache,
    ) -> Result<(), ObjectsError> {
        if file.path == header::FILE {
            match self.blob(file, header::BYTES_MAX)? {
                Ok(bytes) => match header::decode(&bytes) {
                    Ok(stored) => contents.header = Some(stored),
                    Err(error) => contents.header_error = Some(error),
                },
                Err(reason) => contents.header_error = Some(HeaderError::Shape(reason)),
            }
        } else if file.path == baseline::FILE {
            let read = self
                .blob(file, baseline::BYTES_MAX)?
                .and_then(|bytes| baseline::decode(&bytes).map_err(|error| error.to_string()));
            match read {
                Ok(baseline) => contents.baseline = baseline,
                Err(reason) => contents.baseline_error = Some(reason),
            }
        } else if is_row_name(&file.path) {
            self.take_row(contents, file, cache)?;
        }
        Ok(())
    }

    fn take_row(
        self,
        contents: &mut Contents,
        file: &TreeFile,
        cache: &mut RowCache,
    ) -> Result<(), ObjectsError> {
        let delivery = row::delivery_of(&file.path);
        let read = match &delivery {
            Some(delivery) => self.row(contents, file, delivery, cache)?,
            None => Err("its path is not that of a row: `<item id>/<channel>.json`".to_owned()),
        };
        match (read, delivery) {
            (Ok(row), Some(delivery)) => {
                let blob = BlobId(file.blob.to_string());
                contents.rows.insert(delivery, StoredRow { row, blob });
            }
            (Ok(_), None) => {}
            (Err(reason), delivery) => {
                contents.unreadable_deliveries.extend(delivery.clone());
                contents.unreadable.push(Unreadable {
                    path: format!("{}/{}", self.directory, file.path),
                    delivery,
                    reason,
                });
            }
        }
        Ok(())
    }

    fn row(
        self,
        contents: &Contents,
        file: &TreeFile,
        delivery: &DeliveryId,
        cache: &mut RowCache,
    ) -> Result<Result<Row, String>, ObjectsError> {
        let body_path = row::body_path_below(delivery);
        let body = contents.files.get(&body_path).copied();
        let key = (file.path.clone(), file.blob, body);
        if let Some(known) = cache.rows.get(&key) {
            return Ok(known.clone());
        }
        let read = match self.blob(file, row::ROW_BYTES_MAX)? {
            Ok(bytes) => {
                let body = match body {
                    Some(id) => self.objects.blob(id, row::BODY_BYTES_MAX).ok(),
                    None => None,
                };
                row::decode_at(delivery, &bytes, body.as_deref()).map_err(|error| error.to_string())
            }
            Err(reason) => Err(reason),
        };
        cache.rows.insert(key, read.clone());
        Ok(read)
    }

    /// The content, or why this is not a file to read; only a missing object or a broken repository is an error.
    fn blob(
        self,
        file: &TreeFile,
        bytes_max: usize,
    ) -> Result<Result<Vec<u8>, String>, ObjectsError> {
        match file.kind {
            FileKind::Plain => {}
            FileKind::Executable | FileKind::Link | FileKind::Submodule => {
                return Ok(Err(format!(
                    "it is {}, not a plain file",
                    file.kind.label()
                )));
            }
        }
        match self.objects.blob(file.blob, bytes_max) {
            Ok(bytes) => Ok(Ok(bytes)),
            Err(error @ ObjectsError::TooBig { .. }) => Ok(Err(error.to_string())),
            Err(error) => Err(error),
        }
    }
}

/// Rows end in `.json` whatever a file system thinks of upper case; a person's notes beside them don't.
fn is_row_name(path: &str) -> bool {
    path.to_ascii_lowercase().ends_with(".json")
}
