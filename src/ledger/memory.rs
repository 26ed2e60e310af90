//! A ledger in memory, with the same compare-and-swap and the same file format, for tests of what stands on it.
//!
//! Many handles share one remote, as many runs do, and the next push can be told to go wrong in every way that a
//! real one does.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::row;
use super::{
    Baseline, Batch, BlobId, Change, CommitId, Header, JournalWriter, PushReport, Snapshot,
    Standing, Store, StoreError, StoredRow,
};
use crate::model::ids::sha256_hex;
use crate::model::row::{DeliveryId, Row};

/// What goes wrong with a push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushFault {
    /// It lands, and the answer is lost.
    LoseAnswer,
    /// It does not land, and there is no answer.
    LoseRequest,
    /// There is no answer, and it lands after so many further reads.
    LandLate {
        /// Reads that still see the old tip.
        reads: usize,
    },
    /// It lands, and is reported as beaten: git's client sent it twice.
    LandAndReject,
    /// A rule forbids it.
    Refuse,
    /// The disk is full.
    NoCommit,
}

/// The remote that handles share.
#[derive(Clone, Debug, Default)]
pub struct MemoryRemote {
    state: Arc<Mutex<State>>,
}

/// One run's handle on a ledger in memory.
#[derive(Clone, Debug)]
pub struct MemoryStore {
    remote: MemoryRemote,
    journal: Arc<Mutex<BTreeMap<DeliveryId, Row>>>,
}

#[derive(Debug, Default)]
struct State {
    /// Every commit that was built, landed or not.
    commits: Vec<Tree>,
    tip: Option<usize>,
    /// The tips in their order.
    history: Vec<usize>,
    /// What the next pushes come to, in order.
    faults: VecDeque<PushFault>,
    /// A push that is on its way: the reads it waits for, and its commit.
    late: Option<(usize, usize)>,
    is_away: bool,
    standing: Option<Standing>,
    pushes: usize,
}

#[derive(Clone, Debug, Default)]
struct Tree {
    base: Option<usize>,
    files: BTreeMap<DeliveryId, File>,
    header: Option<Header>,
    baseline: Baseline,
    blobs: BTreeMap<DeliveryId, BlobId>,
}

/// A row as its files, so that what is stored here is what git would store.
#[derive(Clone, Debug)]
struct File {
    text: String,
    body: Option<String>,
}

impl MemoryRemote {
    /// An empty remote.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a handle with a journal of its own, as another machine has.
    pub fn handle(&self) -> MemoryStore {
        MemoryStore {
            remote: self.clone(),
            journal: Arc::default(),
        }
    }

    /// Lets the next push go wrong; several are taken in order.
    pub fn fail_next_push(&self, fault: PushFault) {
        self.lock().faults.push_back(fault);
    }

    /// Takes the remote away, or brings it back: reads fail and pushes are without an answer.
    pub fn set_away(&self, is_away: bool) {
        self.lock().is_away = is_away;
    }

    /// Sets what the witness says; none: it agrees.
    pub fn set_standing(&self, standing: Option<Standing>) {
        self.lock().standing = standing;
    }

    /// Lands a push that was to land late, now.
    pub fn land_late_push(&self) {
        let mut state = self.lock();
        state.late_push_arrives();
    }

    /// Returns how many pushes were tried.
    pub fn pushes(&self) -> usize {
        self.lock().pushes
    }

    /// Returns every version that the ledger had, oldest first.
    pub fn history(&self) -> Vec<BTreeMap<DeliveryId, Row>> {
        let state = self.lock();
        state
            .history
            .iter()
            .filter_map(|commit| state.commits.get(*commit))
            .map(|tree| {
                tree.files
                    .iter()
                    .map(|(delivery, file)| (delivery.clone(), file.read(delivery)))
                    .collect()
            })
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A test that panicked elsewhere has its own message; this one may go on.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MemoryStore {
    fn journal_rows(&self) -> MutexGuard<'_, BTreeMap<DeliveryId, Row>> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl File {
    fn read(&self, delivery: &DeliveryId) -> Row {
        let body = self.body.as_deref().map(str::as_bytes);
        row::decode_at(delivery, self.text.as_bytes(), body)
            .expect("only rows that read back are stored")
    }

    fn blob(&self) -> BlobId {
        BlobId(sha256_hex(self.text.as_bytes()))
    }
}

impl State {
    fn late_push_arrives(&mut self) {
        if let Some((_, commit)) = self.late.take() {
            self.land(commit);
        }
    }

    /// The remote's own compare-and-swap.
    fn land(&mut self, commit: usize) -> bool {
        let base = self.commits.get(commit).and_then(|tree| tree.base);
        let fits = base == self.tip;
        if fits {
            self.tip = Some(commit);
            self.history.push(commit);
        }
        fits
    }

    fn tree(&self, commit: Option<usize>) -> Tree {
        commit
            .and_then(|commit| self.commits.get(commit))
            .cloned()
            .unwrap_or_default()
    }

    fn build(&mut self, batch: &Batch) -> Result<usize, String> {
        let base = match &batch.base {
            Some(base) => Some(number(base).ok_or("the base is not known")?),
            None => None,
        };
        let mut tree = self.tree(base);
        tree.base = base;
        tree.blobs.clear();
        for Change { row, expected } in &batch.changes {
            let delivery = row.delivery_id();
            let there = tree.files.get(&delivery).map(File::blob);
            if there != *expected {
                return Err(format!(
                    "the row of {delivery} is not the one that the decision was made from"
                ));
            }
            let encoded = row::encode(row)
                .map_err(|error| format!("the row of {delivery} can't be written: {error}"))?;
            let file = File {
                text: encoded.text,
                body: encoded.body,
            };
            row::decode_at(
                &delivery,
                file.text.as_bytes(),
                file.body.as_deref().map(str::as_bytes),
            )
            .map_err(|error| format!("the row of {delivery} would not read back: {error}"))?;
            tree.blobs.insert(delivery.clone(), file.blob());
            tree.files.insert(delivery, file);
        }
        for (delivery, blob) in &batch.removed {
            if tree.files.remove(delivery).map(|file| file.blob()).as_ref() != Some(blob) {
                return Err(format!(
                    "the row of {delivery} is not the one that the decision was made from"
                ));
            }
        }
        let header = batch.header.clone().or(tree.header.take());
        tree.header = Some(header.unwrap_or_else(|| Header::new([7; 16], None)));
        if let Some(baseline) = &batch.baseline {
            tree.baseline = baseline.clone();
        }
        self.commits.push(tree);
        Ok(self.commits.len() - 1)
    }

    fn push(&mut self, commit: usize) -> PushReport {
        self.pushes += 1;
        let id = id(commit);
        let unknown = |reason: &str| PushReport::Unknown {
            commit: id.clone(),
            reason: reason.to_owned(),
        };
        if self.is_away {
            return unknown("the remote could not be reached");
        }
        match self.faults.pop_front() {
            None if self.tip == Some(commit) => PushReport::Rejected {
                commit: id,
                reason: "the remote already had this commit".to_owned(),
            },
            None if self.land(commit) => PushReport::Landed {
                commit: id,
                blobs: self.tree(Some(commit)).blobs,
                notice: None,
            },
            None => PushReport::Rejected {
                commit: id,
                reason: "stale info".to_owned(),
            },
            Some(PushFault::LoseAnswer) => {
                self.land(commit);
                unknown("the answer was lost")
            }
            Some(PushFault::LoseRequest) => unknown("the connection was cut"),
            Some(PushFault::LandLate { reads }) => {
                self.late = Some((reads, commit));
                unknown("the push did not end in time")
            }
            Some(PushFault::LandAndReject) => {
                self.land(commit);
                PushReport::Rejected {
                    commit: id,
                    reason: "failed to update ref".to_owned(),
                }
            }
            Some(PushFault::Refuse) => PushReport::Refused {
                reason: "pre-receive hook declined".to_owned(),
                hint: "set ledger.branch".to_owned(),
            },
            Some(PushFault::NoCommit) => PushReport::NotBuilt {
                reason: "no space left on device".to_owned(),
            },
        }
    }
}

impl Store for MemoryStore {
    fn read(&mut self) -> Result<Snapshot, StoreError> {
        let mut state = self.remote.lock();
        if state.is_away {
            return Err(StoreError {
                lasting: false,
                message: "the remote could not be reached".to_owned(),
                hint: None,
                source: None,
            });
        }
        match &mut state.late {
            Some((0, _)) => state.late_push_arrives(),
            Some((reads, _)) => *reads -= 1,
            None => {}
        }
        let tree = state.tree(state.tip);
        let rows = tree
            .files
            .iter()
            .map(|(delivery, file)| {
                let stored = StoredRow {
                    row: file.read(delivery),
                    blob: file.blob(),
                };
                (delivery.clone(), stored)
            })
            .collect();
        let sound = Standing::Sound { notice: None };
        Ok(Snapshot {
            tip: state.tip.map(id),
            rows,
            unreadable: Vec::new(),
            header: tree.header,
            baseline: tree.baseline,
            standing: state.standing.clone().unwrap_or(sound),
        })
    }

    fn push(&mut self, batch: &Batch) -> PushReport {
        let mut state = self.remote.lock();
        match state.build(batch) {
            Ok(commit) => state.push(commit),
            Err(reason) => PushReport::NotBuilt { reason },
        }
    }

    fn push_again(&mut self, commit: &CommitId) -> PushReport {
        let mut state = self.remote.lock();
        match number(commit).filter(|number| *number < state.commits.len()) {
            Some(commit) => state.push(commit),
            None => PushReport::NotBuilt {
                reason: format!("the commit {} was not made here", commit.0),
            },
        }
    }

    fn journal_writer(&self) -> Box<dyn JournalWriter> {
        Box::new(MemoryJournal(Arc::clone(&self.journal)))
    }

    fn read_journal(&mut self) -> Result<Vec<Row>, StoreError> {
        Ok(self.journal_rows().values().cloned().collect())
    }
}

fn id(commit: usize) -> CommitId {
    CommitId(format!("memory-{commit}"))
}

fn number(commit: &CommitId) -> Option<usize> {
    commit.0.strip_prefix("memory-")?.parse().ok()
}

/// The journal of one handle's machine.
struct MemoryJournal(Arc<Mutex<BTreeMap<DeliveryId, Row>>>);

impl JournalWriter for MemoryJournal {
    fn write(&mut self, rows: &[Row]) -> Result<String, StoreError> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(rows.iter().map(|row| (row.delivery_id(), row.clone())));
        Ok("memory".to_owned())
    }

    fn clear(&mut self, landed: &[Row]) -> Result<(), StoreError> {
        let mut journal = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for row in landed {
            journal.remove(&row.delivery_id());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::fixture;
    use crate::model::delivery::{Event, State as DeliveryState};

    fn batch(snapshot: &Snapshot, row: Row) -> Batch {
        Batch {
            base: snapshot.tip.clone(),
            changes: vec![Change {
                expected: snapshot
                    .rows
                    .get(&row.delivery_id())
                    .map(|stored| stored.blob.clone()),
                row,
            }],
            removed: BTreeMap::new(),
            header: None,
            baseline: None,
            at: fixture::start(),
            subject: None,
            decision: None,
        }
    }

    fn row(events: impl IntoIterator<Item = Event>) -> Row {
        fixture::row("news/a", "mastodon", events)
    }

    #[test]
    fn of_two_handles_one_wins() {
        let remote = MemoryRemote::new();
        let (mut one, mut other) = (remote.handle(), remote.handle());
        let (seen_by_one, seen_by_other) = (one.read().unwrap(), other.read().unwrap());
        let first = one.push(&batch(&seen_by_one, row([fixture::claimed(1)])));
        assert!(matches!(first, PushReport::Landed { .. }), "{first:?}");
        let second = other.push(&batch(&seen_by_other, row([fixture::claimed(2)])));
        assert!(matches!(second, PushReport::Rejected { .. }), "{second:?}");
        let now = other.read().unwrap();
        assert_eq!(
            now.rows.values().next().unwrap().row,
            row([fixture::claimed(1)])
        );
        assert_eq!(remote.history().len(), 1);
        assert_eq!(remote.pushes(), 2);
    }

    #[test]
    fn a_push_without_an_answer_may_have_landed_or_not_or_later() {
        let check = |fault, reads: usize| {
            let remote = MemoryRemote::new();
            remote.fail_next_push(fault);
            let mut store = remote.handle();
            let seen = store.read().unwrap();
            let report = store.push(&batch(&seen, row([fixture::claimed(1)])));
            let landed = (0..reads)
                .map(|_| store.read().unwrap().rows.len())
                .collect::<Vec<_>>();
            (matches!(report, PushReport::Unknown { .. }), landed)
        };
        assert_eq!(check(PushFault::LoseAnswer, 1), (true, vec![1]));
        assert_eq!(check(PushFault::LoseRequest, 2), (true, vec![0, 0]));
        assert_eq!(
            check(PushFault::LandLate { reads: 1 }, 3),
            (true, vec![0, 1, 1])
        );
        assert_eq!(check(PushFault::LandAndReject, 1), (false, vec![1]));
        assert_eq!(check(PushFault::Refuse, 1), (false, vec![0]));
        assert_eq!(check(PushFault::NoCommit, 1), (false, vec![0]));
    }

    #[test]
    fn the_same_commit_can_be_pushed_again() {
        let remote = MemoryRemote::new();
        remote.fail_next_push(PushFault::LoseRequest);
        let mut store = remote.handle();
        let seen = store.read().unwrap();
        let PushReport::Unknown { commit, .. } =
            store.push(&batch(&seen, row([fixture::claimed(1)])))
        else {
            panic!("the request was to be lost");
        };
        let again = store.push_again(&commit);
        assert!(matches!(again, PushReport::Landed { .. }), "{again:?}");
        let thrice = store.push_again(&commit);
        assert!(matches!(thrice, PushReport::Rejected { .. }), "{thrice:?}");
        remote.set_away(true);
        assert!(store.read().is_err());
    }

    #[test]
    fn a_row_is_not_written_over_another_than_it_was_decided_from() {
        let remote = MemoryRemote::new();
        let mut store = remote.handle();
        let seen = store.read().unwrap();
        let claim = row([fixture::claimed(1)]);
        drop(store.push(&batch(&seen, claim.clone())));
        let now = store.read().unwrap();
        let mut stale = batch(&now, row([fixture::claimed(1), fixture::proved("7")]));
        stale.changes[0].expected = None;
        assert!(matches!(store.push(&stale), PushReport::NotBuilt { .. }));
        let fresh = batch(&now, row([fixture::claimed(1), fixture::proved("7")]));
        assert!(matches!(store.push(&fresh), PushReport::Landed { .. }));
        let states: Vec<_> = remote
            .history()
            .iter()
            .map(|rows| rows.values().next().unwrap().publish().unwrap().state)
            .collect();
        assert_eq!(states, [DeliveryState::InFlight, DeliveryState::Done]);
    }

    #[test]
    fn each_machine_has_its_own_journal() {
        let remote = MemoryRemote::new();
        let (mut one, mut other) = (remote.handle(), remote.handle());
        let lost = row([fixture::claimed(1), fixture::proved("7")]);
        assert_eq!(
            one.journal_writer()
                .write(std::slice::from_ref(&lost))
                .unwrap(),
            "memory"
        );
        assert_eq!(other.read_journal().unwrap(), []);
        let lost = std::slice::from_ref(&lost);
        assert_eq!(one.read_journal().unwrap(), lost);
        one.journal_writer().clear(lost).unwrap();
        assert_eq!(one.read_journal().unwrap(), []);
    }
}
