//! What is decided and not yet on the remote, and the push that brings it there.
//!
//! An entry keeps the events, not only the row: when a push lost the race, they are told anew to the row that stands
//! at the remote's tip now, or dropped. A row is only ever written over the one that the decision was made from.

#[cfg(test)]
#[path = "explore/contents.rs"]
mod contents;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::ledger::{
    Baseline, Batch, BlobId, Change, CommitId, Header, PushReport, Snapshot, StoredRow,
};
use crate::model::claim::Claim;
use crate::model::delivery::{self, IllegalMove, Operation};
use crate::model::ids::Token;
use crate::model::mutant::{Mutant, on};
use crate::model::row::{DeliveryId, Row};
use crate::model::time::Timestamp;

use super::backoff::remote_backoff;
use super::retelling::{fold, told_anew};

/// How often the same commit is pushed before it is given up: each try is read back, so more would only delay the
/// answer that the remote is away.
const PUSH_TRIES_MAX: u32 = 5;

/// One delivery's change on its way to the remote.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// The row that the events were told to; none: there was none.
    pub(super) decided_on: Option<Row>,
    /// What happened, and to which operation.
    pub(super) events: Vec<(Operation, delivery::Event)>,
    /// The row afterwards.
    pub(super) row: Row,
    /// What becomes of it when the row at the tip is another one.
    pub(super) sort: Sort,
    /// Worth a push of its own.
    pub(super) urgent: bool,
}

/// What becomes of an entry when the row at the tip is another one.
#[derive(Clone, Debug)]
pub(super) enum Sort {
    /// A claim: rebuilt with a fresh token and fresh times, if it is still due.
    Claim(Box<Claim>),
    /// What came of this run's own claim: told to the row as long as it carries our token.
    Outcome(Token),
    /// What was found out about somebody's claim: found out again, unless it is a receipt.
    Finding,
}

/// The push under way, or what is being found out about it.
#[derive(Clone, Debug)]
enum Committer {
    Idle,
    Reading,
    Pushing(Shipment),
    /// The push was doubtful; the tip is being read.
    Checking(Shipment),
    /// The tip did not move; the same commit goes again at this moment.
    Waiting(Shipment, Timestamp),
}

#[derive(Clone, Debug)]
struct Shipment {
    entries: BTreeMap<DeliveryId, Entry>,
    header: Option<Header>,
    baseline: Option<Baseline>,
    base: Option<CommitId>,
    commit: Option<CommitId>,
    tries: u32,
}

/// What the desk asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Errand {
    Read,
    Push(Box<Batch>),
    PushAgain(CommitId),
}

/// What an observation of the remote came to.
#[derive(Debug, Default)]
pub(super) struct Landed {
    /// Claims that are now on the remote under our token.
    pub(super) claims: Vec<Claim>,
    /// Something to tell people.
    pub(super) notice: Option<String>,
    /// Somebody else moved the tip first.
    pub(super) lost_race: bool,
    /// The remote can't be written, for good.
    pub(super) fatal: Option<String>,
}

/// The ledger as this run knows it.
#[derive(Clone, Debug)]
pub(super) struct Outbox {
    snapshot: Option<Snapshot>,
    entries: BTreeMap<DeliveryId, Entry>,
    header: Option<Header>,
    baseline: Option<Baseline>,
    committer: Committer,
    last_push_at: Option<Timestamp>,
    read_at: Option<Timestamp>,
    failures: u32,
    failing_since: Option<Timestamp>,
    /// Why the last read failed.
    failure: Option<String>,
    next_try_at: Option<Timestamp>,
    /// Since when pushes are not confirmed, though the tip may be readable.
    push_failing_since: Option<Timestamp>,
    /// What the remote or git said of the last of them.
    push_failure: Option<String>,
    /// Races for the tip that were lost in a row.
    races: u32,
    /// Claims that were given up unsent: their push may still land.
    abandoned: BTreeSet<Token>,
}

impl Outbox {
    pub(super) const fn new() -> Self {
        Self {
            snapshot: None,
            entries: BTreeMap::new(),
            header: None,
            baseline: None,
            committer: Committer::Idle,
            last_push_at: None,
            read_at: None,
            failures: 0,
            failing_since: None,
            failure: None,
            next_try_at: None,
            push_failing_since: None,
            push_failure: None,
            races: 0,
            abandoned: BTreeSet::new(),
        }
    }

    pub(super) const fn snapshot(&self) -> Option<&Snapshot> {
        self.snapshot.as_ref()
    }

    /// When the remote was last read or written with success.
    pub(super) const fn read_at(&self) -> Option<Timestamp> {
        self.read_at
    }

    /// Since when the remote can't be read, or pushes to it are not confirmed.
    pub(super) fn failing_since(&self) -> Option<Timestamp> {
        self.failing_since
            .into_iter()
            .chain(self.push_failing_since)
            .min()
    }

    /// Races for the tip that were lost in a row.
    pub(super) const fn races(&self) -> u32 {
        self.races
    }

    /// Holds the next push back, so that losers of a race don't meet again.
    pub(super) fn hold_until(&mut self, at: Timestamp) {
        self.next_try_at = Some(at);
    }

    /// Claims that are decided and not known to be on the remote.
    pub(super) fn claims_under_way(&self) -> usize {
        let shipped = self
            .shipment()
            .into_iter()
            .flat_map(|shipment| shipment.entries.values());
        shipped
            .chain(self.entries.values())
            .filter(|entry| matches!(entry.sort, Sort::Claim(_)))
            .count()
    }

    /// The header as it will stand when everything that is decided has landed.
    pub(super) fn header(&self) -> Option<&Header> {
        let shipped = self
            .shipment()
            .and_then(|shipment| shipment.header.as_ref());
        let stored = self
            .snapshot
            .as_ref()
            .and_then(|snapshot| snapshot.header.as_ref());
        self.header.as_ref().or(shipped).or(stored)
    }

    /// Why the ledger can't be read, in the store's words.
    pub(super) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Returns what was said of the last push that was not confirmed.
    pub(super) fn push_failure(&self) -> Option<&str> {
        self.push_failure.as_deref()
    }

    /// Returns the row as it is decided, be it on the remote already or not.
    pub(super) fn row(&self, id: &DeliveryId) -> Option<&Row> {
        let shipped = self
            .shipment()
            .and_then(|shipment| shipment.entries.get(id));
        let decided = self.entries.get(id).or(shipped).map(|entry| &entry.row);
        decided.or_else(|| self.stored(id))
    }

    fn stored(&self, id: &DeliveryId) -> Option<&Row> {
        let snapshot = self.snapshot.as_ref()?;
        snapshot.rows.get(id).map(|stored| &stored.row)
    }

    /// Returns every row as it is decided.
    pub(super) fn rows(&self) -> BTreeMap<&DeliveryId, &Row> {
        let stored = self.snapshot.iter().flat_map(|snapshot| &snapshot.rows);
        let mut rows: BTreeMap<_, _> = stored.map(|(id, stored)| (id, &stored.row)).collect();
        let shipped = self
            .shipment()
            .into_iter()
            .flat_map(|shipment| &shipment.entries);
        rows.extend(
            shipped
                .chain(&self.entries)
                .map(|(id, entry)| (id, &entry.row)),
        );
        rows
    }

    fn shipment(&self) -> Option<&Shipment> {
        match &self.committer {
            Committer::Idle | Committer::Reading => None,
            Committer::Pushing(shipment)
            | Committer::Checking(shipment)
            | Committer::Waiting(shipment, _) => Some(shipment),
        }
    }

    /// Whether something is decided about this delivery that is not on the remote.
    pub(super) fn is_unsettled(&self, id: &DeliveryId) -> bool {
        self.entries.get(id).is_some_and(|entry| entry.urgent) || self.is_shipped(id)
    }

    fn is_shipped(&self, id: &DeliveryId) -> bool {
        self.shipment()
            .is_some_and(|shipment| shipment.entries.contains_key(id))
    }

    /// Tells `events` to an operation's record. `blank` is the row where there is none yet, or with fresh identity.
    pub(super) fn tell(
        &mut self,
        blank: Row,
        operation: Operation,
        events: Vec<delivery::Event>,
        sort: Sort,
        urgent: bool,
    ) -> Result<(), IllegalMove> {
        let id = blank.delivery_id();
        let events: Vec<_> = events.into_iter().map(|event| (operation, event)).collect();
        let decided_on = self.row(&id).cloned();
        let row = fold(decided_on.as_ref(), blank, &events)?;
        if decided_on.as_ref() == Some(&row) {
            // A receipt that is known already is not worth a commit.
            return Ok(());
        }
        let earlier = self.entries.remove(&id);
        let entry = match earlier {
            Some(mut earlier) => {
                earlier.events.extend(events);
                Entry {
                    row,
                    sort,
                    urgent: urgent || earlier.urgent,
                    ..earlier
                }
            }
            None => Entry {
                decided_on,
                events,
                row,
                sort,
                urgent,
            },
        };
        self.entries.insert(id, entry);
        Ok(())
    }

    /// Forgets claims that were not pushed yet.
    pub(super) fn drop_claims(&mut self) -> Vec<Claim> {
        let mut dropped = Vec::new();
        self.entries.retain(|_, entry| match &entry.sort {
            Sort::Claim(claim) => {
                dropped.push((**claim).clone());
                false
            }
            Sort::Outcome(_) | Sort::Finding => true,
        });
        dropped
    }

    /// Lets the next push write `ledger.json`.
    pub(super) fn write_header(&mut self, header: Header) {
        self.header = Some(header);
    }

    /// Lets the next push write `baseline.json`, which is worth a push of its own.
    pub(super) fn write_baseline(&mut self, baseline: Baseline) {
        self.baseline = Some(baseline);
    }

    /// Rows that a run that ends now would lose: what came of requests, and what was found.
    pub(super) fn unsaved(&self) -> Vec<Row> {
        let shipped = self
            .shipment()
            .into_iter()
            .flat_map(|shipment| shipment.entries.values());
        shipped
            .chain(self.entries.values())
            .filter(|entry| entry.urgent)
            .filter(|entry| match entry.sort {
                Sort::Outcome(_) | Sort::Finding => true,
                Sort::Claim(_) => false,
            })
            .map(|entry| entry.row.clone())
            .collect()
    }

    pub(super) const fn is_idle(&self) -> bool {
        matches!(self.committer, Committer::Idle)
    }

    /// Whether nothing waits for a push.
    pub(super) fn is_clear(&self) -> bool {
        self.is_idle() && self.entries.is_empty() && self.baseline.is_none()
    }

    /// Returns the next errand, if one can be run at `now`. `gap`: least time between two pushes. `flush`: also
    /// what is not worth a push of its own.
    pub(super) fn errand(&mut self, now: Timestamp, gap: Duration, flush: bool) -> Option<Errand> {
        if self.next_try_at.is_some_and(|at| at > now) {
            return None;
        }
        match &mut self.committer {
            Committer::Reading | Committer::Pushing(_) | Committer::Checking(_) => None,
            Committer::Waiting(shipment, at) => {
                let commit = shipment.commit.clone().filter(|_| *at <= now)?;
                shipment.tries += 1;
                self.committer = match std::mem::replace(&mut self.committer, Committer::Idle) {
                    Committer::Waiting(shipment, _) => Committer::Pushing(shipment),
                    other @ (Committer::Idle
                    | Committer::Reading
                    | Committer::Pushing(_)
                    | Committer::Checking(_)) => other,
                };
                Some(Errand::PushAgain(commit))
            }
            Committer::Idle => {
                let worth = self.baseline.is_some()
                    || self.entries.values().any(|entry| entry.urgent)
                    || (flush && !self.entries.is_empty());
                let due = self.push_at(gap).is_none_or(|at| at <= now);
                (worth && due && self.snapshot.is_some()).then(|| self.ship(now))
            }
        }
    }

    /// Asks for a read of the tip, if nothing else is under way.
    pub(super) fn read(&mut self, now: Timestamp) -> Option<Errand> {
        let due = self.next_try_at.is_none_or(|at| at <= now);
        (self.is_idle() && due).then(|| {
            self.committer = Committer::Reading;
            Errand::Read
        })
    }

    /// When the next push may go, as far as the gap is concerned.
    pub(super) fn push_at(&self, gap: Duration) -> Option<Timestamp> {
        self.last_push_at.map(|at| at.plus(gap))
    }

    /// When something has to be tried again.
    pub(super) fn wake_at(&self, gap: Duration) -> Option<Timestamp> {
        let again = match &self.committer {
            Committer::Waiting(_, at) => Some(*at),
            Committer::Idle
            | Committer::Reading
            | Committer::Pushing(_)
            | Committer::Checking(_) => None,
        };
        let gap_over = self.push_at(gap).filter(|_| !self.entries.is_empty());
        [again, gap_over, self.next_try_at]
            .into_iter()
            .flatten()
            .max()
    }

    fn ship(&mut self, now: Timestamp) -> Errand {
        let entries = std::mem::take(&mut self.entries);
        let snapshot = self.snapshot.as_ref();
        let shipment = Shipment {
            header: self.header.take(),
            baseline: self.baseline.take(),
            base: snapshot.and_then(|snapshot| snapshot.tip.clone()),
            commit: None,
            tries: 1,
            entries,
        };
        let changes = shipment
            .entries
            .iter()
            .map(|(id, entry)| Change {
                row: entry.row.clone(),
                expected: snapshot
                    .and_then(|snapshot| snapshot.rows.get(id))
                    .map(|stored| stored.blob.clone()),
            })
            .collect();
        let batch = Batch {
            base: shipment.base.clone(),
            changes,
            removed: BTreeMap::new(),
            header: shipment.header.clone(),
            baseline: shipment.baseline.clone(),
            at: now,
            subject: None,
            decision: None,
        };
        self.last_push_at = Some(now);
        self.committer = Committer::Pushing(shipment);
        Errand::Push(Box::new(batch))
    }

    /// Takes the report of a push.
    pub(super) fn pushed(&mut self, now: Timestamp, report: PushReport) -> Landed {
        let Committer::Pushing(mut shipment) =
            std::mem::replace(&mut self.committer, Committer::Idle)
        else {
            return Landed::default();
        };
        match report {
            PushReport::Landed {
                commit,
                blobs,
                notice,
            } => {
                self.reached(now);
                self.push_failing_since = None;
                self.races = 0;
                let claims = self.land(shipment, commit, &blobs);
                Landed {
                    claims,
                    notice,
                    ..Landed::default()
                }
            }
            PushReport::Rejected { commit, reason } | PushReport::Unknown { commit, reason } => {
                shipment.commit = Some(commit);
                self.push_failure = Some(reason);
                self.push_failing_since.get_or_insert(now);
                self.committer = Committer::Checking(shipment);
                Landed::default()
            }
            PushReport::Refused { reason, hint } => {
                self.put_back(shipment);
                // Nobody will ever see them, so they are no claims.
                drop(self.drop_claims());
                Landed {
                    fatal: Some(format!("{reason}; {hint}")),
                    ..Landed::default()
                }
            }
            PushReport::NotBuilt { reason } => {
                self.put_back(shipment);
                drop(self.drop_claims());
                Landed {
                    fatal: Some(reason),
                    ..Landed::default()
                }
            }
        }
    }

    /// Whether the tip has to be read to learn what came of a push.
    pub(super) const fn is_checking(&self) -> bool {
        matches!(self.committer, Committer::Checking(_))
    }

    /// Takes a read of the tip.
    pub(super) fn was_read(&mut self, now: Timestamp, read: Result<Snapshot, String>) -> Landed {
        let snapshot = match read {
            Ok(snapshot) => snapshot,
            Err(reason) => {
                self.failure = Some(reason);
                self.failures += 1;
                self.failing_since.get_or_insert(now);
                let again_at = now.plus(remote_backoff(self.failures));
                self.next_try_at = Some(again_at);
                // A doubtful push stays doubtful: the same commit is pushed again, which is harmless if it landed.
                self.committer = match std::mem::replace(&mut self.committer, Committer::Idle) {
                    Committer::Checking(shipment) => Committer::Waiting(shipment, again_at),
                    Committer::Idle
                    | Committer::Reading
                    | Committer::Pushing(_)
                    | Committer::Waiting(..) => Committer::Idle,
                };
                return Landed::default();
            }
        };
        self.reached(now);
        let before = std::mem::replace(&mut self.committer, Committer::Idle);
        self.snapshot = Some(snapshot);
        // Both are decided anew from the tip.
        self.header = None;
        self.baseline = None;
        let mut landed = Landed::default();
        if let Committer::Checking(shipment) = before {
            self.check(now, shipment, &mut landed);
        }
        // While the same commit goes again, the tip is the one that it was built on, and what was decided since
        // builds on its rows.
        if self.shipment().is_none() {
            self.rebase(&mut landed);
        }
        landed
    }

    /// Decides what came of a doubtful push, now that the tip was read.
    fn check(&mut self, now: Timestamp, shipment: Shipment, landed: &mut Landed) {
        let tip = self
            .snapshot
            .as_ref()
            .and_then(|snapshot| snapshot.tip.clone());
        #[cfg(test)]
        if on(Mutant::FailedPushIsRetry)
            && let Some(spoilt) = shipment.with_outcomes_forgotten(now)
        {
            return self.put_back(spoilt);
        }
        if tip != shipment.base {
            // It landed, or somebody else was first and it can't land any more: row by row, the tip tells.
            self.push_failing_since = None;
            let ours = tip == shipment.commit;
            self.races = if ours { 0 } else { self.races + 1 };
            self.put_back(shipment);
            if !ours {
                landed.lost_race = true;
            }
        } else if shipment.tries < PUSH_TRIES_MAX {
            let wait = remote_backoff(shipment.tries);
            self.committer = Committer::Waiting(shipment, now.plus(wait));
        } else {
            self.failures += 1;
            self.failing_since.get_or_insert(now);
            self.next_try_at = Some(now.plus(remote_backoff(self.failures)));
            self.put_back(shipment);
            for claim in self.drop_claims() {
                self.abandoned.insert(claim.token);
            }
            landed.notice =
                Some("the ledger could not be pushed; claims were given up unsent".to_owned());
        }
    }

    /// Puts the entries of a push back, under what was decided since.
    fn put_back(&mut self, shipment: Shipment) {
        for (id, mut earlier) in shipment.entries {
            if let Some(later) = self.entries.remove(&id) {
                earlier.events.extend(later.events);
                earlier.row = later.row;
                earlier.sort = later.sort;
                earlier.urgent |= later.urgent;
            }
            self.entries.insert(id, earlier);
        }
    }

    /// Holds every entry against the row at the tip.
    fn rebase(&mut self, landed: &mut Landed) {
        for (id, entry) in std::mem::take(&mut self.entries) {
            let tip_row = self.stored(&id).cloned();
            if tip_row.as_ref() == Some(&entry.row) {
                if let Sort::Claim(claim) = entry.sort {
                    landed.claims.push(*claim);
                }
                continue;
            }
            // A claim that lost the race is rebuilt with fresh times and a fresh token.
            let lost = landed.lost_race && !on(Mutant::LostClaimKept);
            let stale = lost && matches!(entry.sort, Sort::Claim(_));
            let stands = tip_row == entry.decided_on || on(Mutant::RowOverwritten);
            if stands && !stale {
                self.entries.insert(id, entry);
                continue;
            }
            if let Some(entry) = told_anew(tip_row, entry) {
                self.entries.insert(id, entry);
            }
        }
    }

    fn land(
        &mut self,
        shipment: Shipment,
        commit: CommitId,
        blobs: &BTreeMap<DeliveryId, BlobId>,
    ) -> Vec<Claim> {
        let Some(snapshot) = self.snapshot.as_mut() else {
            return Vec::new();
        };
        snapshot.tip = Some(commit);
        if let Some(header) = shipment.header {
            snapshot.header = Some(header);
        }
        if let Some(baseline) = shipment.baseline {
            snapshot.baseline = baseline;
        }
        let mut claims = Vec::new();
        for (id, entry) in shipment.entries {
            if let Sort::Claim(claim) = entry.sort {
                claims.push(*claim);
            }
            if let Some(blob) = blobs.get(&id) {
                snapshot.rows.insert(
                    id,
                    StoredRow {
                        row: entry.row,
                        blob: blob.clone(),
                    },
                );
            }
        }
        claims
    }

    /// Returns claims of this run that were given up unsent and landed all the same.
    pub(super) fn landed_late(&self) -> Vec<(DeliveryId, Token)> {
        let rows = self.snapshot.iter().flat_map(|snapshot| &snapshot.rows);
        rows.filter_map(|(id, stored)| {
            let record = stored.row.record()?;
            let token = record.token()?;
            let ours = record.state == delivery::State::InFlight && self.abandoned.contains(token);
            let given_back = self.entries.contains_key(id) || self.is_shipped(id);
            (ours && !given_back).then(|| (id.clone(), token.clone()))
        })
        .collect()
    }

    /// Gives up pushing claims that wait for another try: after a stop they must not land any more.
    pub(super) fn abandon_waiting(&mut self) {
        self.committer = match std::mem::replace(&mut self.committer, Committer::Idle) {
            Committer::Waiting(shipment, _) => {
                self.put_back(shipment);
                Committer::Idle
            }
            other @ (Committer::Idle
            | Committer::Reading
            | Committer::Pushing(_)
            | Committer::Checking(_)) => other,
        };
        for claim in self.drop_claims() {
            self.abandoned.insert(claim.token);
        }
    }

    fn reached(&mut self, now: Timestamp) {
        self.failures = 0;
        self.failing_since = None;
        self.failure = None;
        self.next_try_at = None;
        self.read_at = Some(now);
    }
}
