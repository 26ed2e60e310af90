//! Reading: the tip, the witness, and whether they agree.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use git2::Oid;
use serde::{Deserialize, Serialize};

use super::{
    FETCHED_WITNESS, GitStore, Home, Seen, WITNESS, commit_id, objects_error, remote_error,
};
use crate::git::objects::ObjectsError;
use crate::git::remote::RemoteError;
use crate::ledger::contents::Contents;
use crate::ledger::header::{self, HeaderError};
use crate::ledger::standing::rewound;
use crate::ledger::{FetchedFrom, LastFetched, Snapshot, Standing, StoreError, baseline};
use crate::model::time::Timestamp;

/// Reads of the refs until a rollback is believed: a push that lands between the reads of two refs looks like one.
const REWOUND_READS: usize = 3;

/// Tries of a fetch: two runs in one repository compete for the same refs.
const FETCH_TRIES: u32 = 4;

/// Rounds of fetching what a partial clone lacks, one for each level of directories at worst.
const MISSING_ROUNDS: usize = 80;

/// Ledgers that are kept parsed: the tip, the witness, and the base of what is being built.
const RECENT_KEPT: usize = 3;

/// What is noted of the last fetch.
#[derive(Serialize, Deserialize)]
struct FetchNote {
    remote: String,
    branch: String,
    at: String,
}

/// What is known of the witness.
enum Witness<'a> {
    /// The ledger at the witness.
    At(&'a Contents),
    /// The remote has none.
    None,
    /// Nobody asked: without a remote, or without the network.
    NotAsked,
}

impl GitStore {
    pub(super) fn read_remote(&mut self) -> Result<Snapshot, StoreError> {
        let mut listed = self.list()?;
        for _ in 1..REWOUND_READS {
            self.bring(&mut listed)?;
            let snapshot = self.snapshot(&listed)?;
            if !matches!(snapshot.standing, Standing::Rewound { .. }) {
                return Ok(snapshot);
            }
            let again = self.list()?;
            if again.tip == listed.tip && again.witness == listed.witness {
                return Ok(snapshot);
            }
            listed = again;
        }
        self.bring(&mut listed)?;
        self.snapshot(&listed)
    }

    pub(super) fn read_branch(&mut self) -> Result<Snapshot, StoreError> {
        let tip = self
            .objects
            .reference(&self.branch_ref())
            .map_err(|error| objects_error(&error))?;
        self.seen = Seen { tip, witness: None };
        self.finish_follow()?;
        let contents = self.contents_of(tip)?;
        self.finish(tip, contents.as_deref(), &Witness::NotAsked)
    }

    /// Finishes what a killed run left undone in index and work tree.
    pub(super) fn finish_follow(&mut self) -> Result<(), StoreError> {
        if self.home != Home::CheckedOut {
            return Ok(());
        }
        let contents = self.contents_of(self.seen.tip)?;
        let directory = format!("{}/", self.options.config.dir);
        self.work_tree()
            .recover(|path| {
                let below = path.strip_prefix(&directory)?;
                contents.as_ref()?.files.get(below).copied()
            })
            .map_err(|error| StoreError {
                lasting: false,
                message: error.to_string(),
                hint: None,
                source: std::error::Error::source(&error).map(|cause| anyhow::anyhow!("{cause}")),
            })
    }

    pub(super) fn read_what_is_here(&mut self) -> Result<(Snapshot, LastFetched), StoreError> {
        let read = |name: &str| {
            self.objects
                .reference(name)
                .map_err(|error| objects_error(&error))
        };
        if self.home != Home::Remote {
            let tip = read(&self.branch_ref())?;
            let contents = self.contents_of(tip)?;
            let snapshot = self.finish(tip, contents.as_deref(), &Witness::NotAsked)?;
            let fetched = LastFetched {
                from: FetchedFrom::LocalBranch,
                at: None,
            };
            return Ok((snapshot, fetched));
        }
        let remote = self.options.config.remote.clone();
        let own = read(&self.fetched_ref())?;
        let tracking = read(&format!("refs/remotes/{remote}/{}", self.branch))?;
        let (tip, from) = match (own, tracking) {
            (None, None) => (None, FetchedFrom::Nowhere),
            (Some(own), Some(tracking))
                if tracking != own && self.objects.descends(tracking, own) =>
            {
                (Some(tracking), FetchedFrom::TrackingRef)
            }
            (None, Some(tracking)) => (Some(tracking), FetchedFrom::TrackingRef),
            (Some(own), _) => (Some(own), FetchedFrom::OwnFetch),
        };
        let at = match from {
            FetchedFrom::OwnFetch => self.last_fetch(),
            FetchedFrom::TrackingRef => self.last_fetch_of_user(),
            FetchedFrom::LocalBranch | FetchedFrom::Nowhere => None,
        };
        let contents = self.contents_here(tip)?;
        let witness = match read_witness_here(self)? {
            Some(witness) => self.contents_here(Some(witness))?,
            None => None,
        };
        let witness = witness.as_deref().map_or(Witness::NotAsked, Witness::At);
        let snapshot = self.finish(tip, contents.as_deref(), &witness)?;
        Ok((snapshot, LastFetched { from, at }))
    }

    pub(super) fn read_at_witness(&mut self) -> Result<Option<Snapshot>, StoreError> {
        let Some(witness) = self.seen.witness else {
            return Ok(None);
        };
        let contents = self.contents_of(Some(witness))?;
        self.finish(Some(witness), contents.as_deref(), &Witness::NotAsked)
            .map(Some)
    }

    /// Asks the remote what branch and witness are at.
    pub(super) fn list(&self) -> Result<Seen, StoreError> {
        let branch = self.branch_ref();
        let listed = self
            .remote()
            .list(&[&branch, WITNESS])
            .map_err(|error| self.remote_error(&error))?;
        Ok(Seen {
            tip: listed.get(&branch).copied(),
            witness: listed.get(WITNESS).copied(),
        })
    }

    fn remote_error(&self, error: &RemoteError) -> StoreError {
        remote_error(&self.options.config.remote, error)
    }

    /// Fetches what was listed, if it is not here; `listed` becomes what was fetched, which may be newer.
    fn bring(&mut self, listed: &mut Seen) -> Result<(), StoreError> {
        let has = |object: Option<Oid>| object.is_none_or(|object| self.objects.has(object));
        let branch = self.branch_ref();
        let fetched = self.fetched_ref();
        if !has(listed.tip) || !has(listed.witness) {
            let pairs: Vec<(&str, &str)> = [
                (listed.tip, branch.as_str(), fetched.as_str()),
                (listed.witness, WITNESS, FETCHED_WITNESS),
            ]
            .into_iter()
            .filter(|(object, _, _)| object.is_some())
            .map(|(_, theirs, ours)| (theirs, ours))
            .collect();
            self.fetch_patiently(&pairs)?;
            let read = |name: &str| {
                self.objects
                    .reference(name)
                    .map_err(|error| objects_error(&error))
            };
            // Another run in this repository may have taken our refs away meanwhile: what was listed is here now.
            if listed.tip.is_some() {
                listed.tip = read(&fetched)?.or(listed.tip);
            }
            if listed.witness.is_some() {
                listed.witness = read(FETCHED_WITNESS)?.or(listed.witness);
            }
        }
        self.seen = listed.clone();
        self.note_fetched();
        Ok(())
    }

    fn fetch_patiently(&self, pairs: &[(&str, &str)]) -> Result<(), StoreError> {
        let mut tries = 1;
        loop {
            match self.remote().fetch(pairs) {
                Ok(()) => return Ok(()),
                Err(RemoteError::Failed { words, .. })
                    if tries < FETCH_TRIES && is_passing(&words) =>
                {
                    let pause = Duration::from_millis(50) * tries * tries;
                    self.options.clock.sleep(self.options.clock.told(pause));
                    tries += 1;
                }
                Err(error) => return Err(self.remote_error(&error)),
            }
        }
    }

    /// Keeps what was seen in refs of our own: `plan` and `status` read them, and git's housekeeping sees that the
    /// objects are in use. Whatever goes wrong here is no harm to the run.
    pub(super) fn note_fetched(&self) {
        for (name, seen) in [
            (self.fetched_ref(), self.seen.tip),
            (FETCHED_WITNESS.to_owned(), self.seen.witness),
        ] {
            let noted = match seen {
                Some(object) if self.objects.reference(&name).ok() == Some(Some(object)) => Ok(()),
                Some(object) => self.objects.set_reference(&name, object),
                None => self.objects.remove_reference(&name),
            };
            drop(noted);
        }
        let note = FetchNote {
            remote: self.options.config.remote.clone(),
            branch: self.branch.clone(),
            at: self.options.clock.now().to_string(),
        };
        let path = self.fetch_note_path();
        let text = serde_json::to_string(&note).expect("a note's fields can be written");
        if let Some(directory) = path.parent() {
            drop(std::fs::create_dir_all(directory));
        }
        drop(std::fs::write(path, text));
    }

    fn fetch_note_path(&self) -> PathBuf {
        self.objects
            .common_directory()
            .join("sayonce")
            .join("last-fetch.json")
    }

    fn last_fetch(&self) -> Option<Timestamp> {
        let text = std::fs::read_to_string(self.fetch_note_path()).ok()?;
        let note: FetchNote = serde_json::from_str(&text).ok()?;
        let is_ours = note.remote == self.options.config.remote && note.branch == self.branch;
        is_ours.then(|| Timestamp::parse(&note.at).ok()).flatten()
    }

    /// When the user last fetched anything; git keeps no date for a single ref.
    fn last_fetch_of_user(&self) -> Option<Timestamp> {
        let file = self.objects.own_directory().join("FETCH_HEAD");
        let modified = std::fs::metadata(file).ok()?.modified().ok()?;
        let since_epoch = modified.duration_since(std::time::UNIX_EPOCH).ok()?;
        Some(Timestamp::EPOCH.plus(since_epoch))
    }

    fn snapshot(&mut self, listed: &Seen) -> Result<Snapshot, StoreError> {
        let tip = self.contents_of(listed.tip)?;
        let witness = self.contents_of(listed.witness)?;
        let witness = witness.as_deref().map_or(Witness::None, Witness::At);
        self.finish(listed.tip, tip.as_deref(), &witness)
    }

    /// Reads the ledger in a commit, fetching what a partial clone lacks.
    pub(super) fn contents_of(
        &mut self,
        commit: Option<Oid>,
    ) -> Result<Option<Arc<Contents>>, StoreError> {
        for _ in 0..MISSING_ROUNDS {
            match self.try_contents(commit) {
                Ok(contents) => return Ok(contents),
                Err(ObjectsError::Missing(objects)) if self.can_fetch_missing() => {
                    self.remote()
                        .fetch_objects(&objects)
                        .map_err(|error| self.remote_error(&error))?;
                }
                Err(error) => return Err(objects_error(&error)),
            }
        }
        self.try_contents(commit)
            .map_err(|error| objects_error(&error))
    }

    /// The same, without the network.
    fn contents_here(&mut self, commit: Option<Oid>) -> Result<Option<Arc<Contents>>, StoreError> {
        self.try_contents(commit).map_err(|error| {
            if self.can_fetch_missing() && matches!(error, ObjectsError::Missing(_)) {
                StoreError {
                    lasting: false,
                    message: "the ledger was not fetched yet in this partial clone".to_owned(),
                    hint: Some("fetch it with `--fetch`".to_owned()),
                    source: None,
                }
            } else {
                objects_error(&error)
            }
        })
    }

    fn can_fetch_missing(&self) -> bool {
        self.home == Home::Remote && self.settings.is_partial_clone()
    }

    fn try_contents(&mut self, commit: Option<Oid>) -> Result<Option<Arc<Contents>>, ObjectsError> {
        let Some(commit) = commit else {
            return Ok(None);
        };
        if let Some((_, contents)) = self.recent.iter().find(|(known, _)| *known == commit) {
            return Ok(Some(contents.clone()));
        }
        let mut cache = std::mem::take(&mut self.cache);
        let read = self.place().read(commit, &mut cache);
        self.cache = cache;
        let contents = Arc::new(read?);
        self.recent.push_front((commit, contents.clone()));
        self.recent.truncate(RECENT_KEPT);
        Ok(Some(contents))
    }

    fn finish(
        &self,
        tip: Option<Oid>,
        contents: Option<&Contents>,
        witness: &Witness<'_>,
    ) -> Result<Snapshot, StoreError> {
        let nothing = Contents::default();
        let standing = self.standing(contents, witness);
        let contents = contents.unwrap_or(&nothing);
        let too_new = matches!(standing, Standing::TooNew { .. });
        if let Some(error) = &contents.header_error
            && !too_new
        {
            return Err(self.unreadable_file(header::FILE, &error.to_string()));
        }
        if let Some(reason) = &contents.baseline_error
            && !too_new
        {
            // Without it, everything that was never to be announced would be due.
            return Err(self.unreadable_file(baseline::FILE, reason));
        }
        Ok(Snapshot {
            tip: tip.map(commit_id),
            rows: contents.rows.clone(),
            unreadable: contents.unreadable.clone(),
            header: contents.header.as_ref().map(|stored| stored.header.clone()),
            baseline: contents.baseline.clone(),
            standing,
        })
    }

    fn unreadable_file(&self, file: &str, reason: &str) -> StoreError {
        let path = format!("{}/{file}", self.options.config.dir);
        StoreError {
            lasting: true,
            message: format!("{path} on `{}` can't be read: {reason}", self.branch),
            hint: Some(format!(
                "find its last good version with `git log -p {} -- {path}` and commit that",
                self.branch
            )),
            source: None,
        }
    }

    fn standing(&self, tip: Option<&Contents>, witness: &Witness<'_>) -> Standing {
        let header = tip.and_then(|tip| tip.header.as_ref());
        if let Some(HeaderError::TooNew { least_reader }) =
            tip.and_then(|tip| tip.header_error.as_ref())
        {
            return Standing::TooNew {
                reason: format!(
                    "the ledger was written by a newer version: writing it takes one that knows schema {least_reader}"
                ),
            };
        }
        if let Some(stored) = header
            && self.identity.is_foreign_to(
                stored.header.repository.as_deref(),
                stored.repository_id.as_deref(),
            )
        {
            return Standing::Foreign {
                reason: format!(
                    "the ledger belongs to {}, and this repository is {}",
                    stored
                        .header
                        .repository
                        .as_deref()
                        .unwrap_or("another repository"),
                    self.identity
                        .repository
                        .as_deref()
                        .unwrap_or("not that one"),
                ),
            };
        }
        let refused = header.is_some_and(|stored| stored.header.witness_refused);
        let sound = Standing::Sound { notice: None };
        let lost = tip.is_some_and(|tip| !tip.is_empty() && tip.header.is_none());
        match (tip, witness) {
            (_, Witness::At(_) | Witness::None | Witness::NotAsked) if refused => sound,
            (_, Witness::None | Witness::NotAsked) if lost => Standing::Rewound {
                reason: format!("`{}/ledger.json` is gone", self.options.config.dir),
            },
            (None, Witness::None | Witness::NotAsked) | (Some(_), Witness::NotAsked) => sound,
            (Some(tip), Witness::None) if tip.is_empty() || self.witness_refused => sound,
            (Some(_), Witness::None) => Standing::Sound {
                notice: Some(format!(
                    "`{}` has no {WITNESS}: the ledger is taken over as it stands, and a rollback is \
                     noticed from the next commit on",
                    self.options.config.remote
                )),
            },
            (None, Witness::At(_)) => Standing::Rewound {
                reason: format!(
                    "the branch `{}` is gone from `{}`, but its witness is there",
                    self.branch, self.options.config.remote
                ),
            },
            (Some(tip), Witness::At(witness)) if tip.tree == witness.tree => sound,
            (Some(tip), Witness::At(witness)) => rewound(witness.side(), tip.side())
                .map_or(sound, |reason| Standing::Rewound { reason }),
        }
    }
}

fn read_witness_here(store: &GitStore) -> Result<Option<Oid>, StoreError> {
    store
        .objects
        .reference(FETCHED_WITNESS)
        .map_err(|error| objects_error(&error))
}

/// What passes by itself: another run's lock on the refs, or a remote that was in the middle of a push.
fn is_passing(words: &str) -> bool {
    [
        "cannot lock ref",
        "File exists",
        "not our ref",
        "couldn't find remote ref",
    ]
    .iter()
    .any(|passing| words.contains(passing))
}
