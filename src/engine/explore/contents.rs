//! What only tests ask of an outbox.

use std::collections::{BTreeMap, BTreeSet};

use crate::ledger::{CommitId, Header, fixture};
use crate::model::delivery::{self, Counts, Operation};
use crate::model::ids::Token;
use crate::model::row::{DeliveryId, Row};
use crate::model::time::Timestamp;

use super::{Committer, Entry, Outbox, Shipment, Sort, fold};

/// Everything that an outbox holds beside what it read: states are told apart by it.
pub(in crate::engine) struct Contents<'a> {
    pub(in crate::engine) stage: u8,
    pub(in crate::engine) entries: [&'a BTreeMap<DeliveryId, Entry>; 2],
    pub(in crate::engine) headers: [Option<&'a Header>; 2],
    pub(in crate::engine) baselines: [bool; 2],
    pub(in crate::engine) commits: [Option<&'a CommitId>; 2],
    pub(in crate::engine) times: [Option<Timestamp>; 6],
    pub(in crate::engine) counts: [u32; 3],
    pub(in crate::engine) abandoned: &'a BTreeSet<Token>,
}

impl Outbox {
    pub(in crate::engine) fn contents(&self) -> Contents<'_> {
        static NOTHING: BTreeMap<DeliveryId, Entry> = BTreeMap::new();
        let shipment = self.shipment();
        let (stage, again_at) = match &self.committer {
            Committer::Idle => (0, None),
            Committer::Reading => (1, None),
            Committer::Pushing(_) => (2, None),
            Committer::Checking(_) => (3, None),
            Committer::Waiting(_, at) => (4, Some(*at)),
        };
        Contents {
            stage,
            entries: [
                &self.entries,
                shipment.map_or(&NOTHING, |shipment| &shipment.entries),
            ],
            headers: [
                self.header.as_ref(),
                shipment.and_then(|shipment| shipment.header.as_ref()),
            ],
            baselines: [
                self.baseline.is_some(),
                shipment.is_some_and(|shipment| shipment.baseline.is_some()),
            ],
            commits: [
                shipment.and_then(|shipment| shipment.base.as_ref()),
                shipment.and_then(|shipment| shipment.commit.as_ref()),
            ],
            times: [
                again_at,
                self.last_push_at,
                self.read_at,
                self.failing_since,
                self.next_try_at,
                self.push_failing_since,
            ],
            counts: [
                self.failures,
                self.races,
                shipment.map_or(0, |shipment| shipment.tries),
            ],
            abandoned: &self.abandoned,
        }
    }
}

impl Shipment {
    /// What a run must never do with outcomes that it could not push.
    pub(super) fn with_outcomes_forgotten(&self, now: Timestamp) -> Option<Self> {
        let mut spoilt = self.clone();
        let outcomes = spoilt.entries.values_mut();
        let outcomes = outcomes.filter(|entry| matches!(entry.sort, Sort::Outcome(_)));
        let mut any = None;
        for entry in outcomes {
            let event = delivery::Event::Deferred {
                reason: "its outcome could not be pushed".to_owned(),
                not_before: now,
                counts: Counts::Nothing,
                at: now,
            };
            entry.events = vec![(Operation::Publish, event)];
            let before = entry.decided_on.as_ref();
            entry.row = fold(before, entry.row.clone(), &entry.events).ok()?;
            any = Some(());
        }
        any.map(|()| spoilt)
    }
}

#[test]
fn a_receipt_that_is_told_anew_leaves_the_row_its_account() {
    let account = |row: &Row| {
        row.account
            .as_ref()
            .map(|account| account.as_str().to_owned())
    };
    let claimed = fixture::row("news/a", "mastodon", [fixture::claimed(1)]);
    let mut identity = fixture::row("news/a", "mastodon", []);
    identity.account = None;
    let after = fold(
        Some(&claimed),
        identity,
        &[(Operation::Publish, fixture::proved("1"))],
    );
    let after = after.expect("a receipt always wins");
    assert!(account(&claimed).is_some());
    assert_eq!(account(&after), account(&claimed));
}
