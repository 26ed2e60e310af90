//! Whether the ledger went backwards: the witness's tree against the branch's.
//!
//! Only two trees are compared. Ancestry is never read, because a shallow clone has none and because commits beside
//! the ledger don't matter; and the work tree, the reflog and the run's memory all die with the machine.

use std::collections::{BTreeMap, BTreeSet};

use super::{Baseline, Header, StoredRow};
use crate::model::delivery::{Record, State};
use crate::model::outcome::Remote;
use crate::model::row::{DeliveryId, Row};

/// What the comparison looks at, of either tree.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// The readable rows.
    pub rows: &'a BTreeMap<DeliveryId, StoredRow>,
    /// Deliveries whose file is there and can't be read: neither gone nor gone back.
    pub unreadable: &'a BTreeSet<DeliveryId>,
    /// `ledger.json`.
    pub header: Option<&'a Header>,
    /// `baseline.json`.
    pub baseline: &'a Baseline,
}

/// Returns what went backwards from the witness to the tip; none if every change is a move that a person or a run
/// may make.
pub fn rewound(witness: Side<'_>, tip: Side<'_>) -> Option<String> {
    if let Some(header) = witness.header {
        match tip.header {
            None => return Some("`ledger.json` is gone".to_owned()),
            Some(now) if now.lineage != header.lineage => {
                return Some(format!(
                    "it is another ledger: its lineage is {}, and was {}",
                    now.lineage, header.lineage
                ));
            }
            Some(_) => {}
        }
    }
    let mut findings = witness.rows.iter().filter_map(|(delivery, before)| {
        let found = match tip.rows.get(delivery) {
            Some(now) if now.blob == before.blob => None,
            Some(now) => row_went_back(&before.row, &now.row),
            None if tip.unreadable.contains(delivery) => None,
            None => Some("is gone".to_owned()),
        }?;
        Some(format!("the row of {delivery} {found}"))
    });
    if let Some(first) = findings.next() {
        return Some(match findings.count() {
            0 => first,
            more => format!("{first}, and {more} more rows went backwards"),
        });
    }
    witness.baseline.iter().find_map(|(channel, items)| {
        let now = tip.baseline.get(channel);
        let lost = items
            .keys()
            .filter(|item| now.is_none_or(|now| !now.contains_key(*item)))
            .count();
        (lost > 0).then(|| format!("{lost} items of the baseline of {channel} are gone"))
    })
}

/// Returns what went backwards from one version of a row to another.
pub fn row_went_back(before: &Row, now: &Row) -> Option<String> {
    before.operations.iter().find_map(|(operation, earlier)| {
        let Some(later) = now.operations.get(operation) else {
            return Some(format!("lost its operation `{operation}`"));
        };
        record_went_back(earlier, later).map(|found| format!("{found} (`{operation}`)"))
    })
}

fn record_went_back(before: &Record, now: &Record) -> Option<String> {
    if now.attempt < before.attempt {
        return Some(format!(
            "fell from attempt {} to {}",
            before.attempt, now.attempt
        ));
    }
    if now.edition < before.edition {
        return Some(format!(
            "fell from edition {} to {}",
            before.edition, now.edition
        ));
    }
    // A deliberate second announcement starts with receipts of its own.
    if now.edition == before.edition
        && receipts(before).any(|lost| !receipts(now).any(|kept| kept == lost))
    {
        return Some("lost a receipt".to_owned());
    }
    let same_claims = now.attempt == before.attempt && now.edition == before.edition;
    if same_claims && progress(now.state) < progress(before.state) {
        return Some(format!("went back from {} to {}", before.state, now.state));
    }
    None
}

fn receipts(record: &Record) -> impl Iterator<Item = &Remote> {
    record
        .remote
        .iter()
        .chain(record.receipts.iter().map(|receipt| &receipt.remote))
}

/// How far one attempt has come. What a person may undo (held, failed, skipped) stands beside what may be due again.
const fn progress(state: State) -> u8 {
    match state {
        State::InFlight => 0,
        State::InDoubt => 1,
        State::Retry | State::Failed | State::Held | State::Skipped => 2,
        State::Done => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::BlobId;
    use crate::ledger::fixture;
    use crate::model::delivery::Event;
    use crate::model::ids::ChannelName;
    use crate::model::item::ItemId;

    #[derive(Clone)]
    struct Ledger {
        rows: BTreeMap<DeliveryId, StoredRow>,
        unreadable: BTreeSet<DeliveryId>,
        header: Option<Header>,
        baseline: Baseline,
    }

    impl Ledger {
        fn of(rows: impl IntoIterator<Item = Row>) -> Self {
            let stored = |row: Row| StoredRow {
                blob: BlobId(format!("{row:?}")),
                row,
            };
            Self {
                rows: rows
                    .into_iter()
                    .map(|row| (row.delivery_id(), stored(row)))
                    .collect(),
                unreadable: BTreeSet::new(),
                header: Some(Header::new([1; 16], None)),
                baseline: Baseline::new(),
            }
        }

        fn side(&self) -> Side<'_> {
            Side {
                rows: &self.rows,
                unreadable: &self.unreadable,
                header: self.header.as_ref(),
                baseline: &self.baseline,
            }
        }
    }

    fn check(before: &Ledger, now: &Ledger) -> Option<String> {
        rewound(before.side(), now.side())
    }

    fn row(events: impl IntoIterator<Item = Event>) -> Row {
        fixture::row("news/a", "mastodon", events)
    }

    #[test]
    fn no_legal_move_goes_backwards() {
        use fixture::{absent, claimed, doubted, held, proved, refused, released, skipped};
        for history in [
            vec![claimed(1), proved("1"), proved("2")],
            vec![claimed(1), doubted(), absent(), claimed(2), proved("1")],
            vec![
                claimed(1),
                doubted(),
                held(),
                released(),
                claimed(2),
                refused(),
            ],
            vec![
                claimed(1),
                refused(),
                released(),
                claimed(2),
                doubted(),
                proved("1"),
            ],
            vec![held(), released(), skipped()],
        ] {
            let states: Vec<Ledger> = (0..=history.len())
                .map(|length| match length {
                    0 => Ledger::of([]),
                    _ => Ledger::of([row(history.iter().take(length).cloned())]),
                })
                .collect();
            for (late, now) in states.iter().enumerate() {
                for before in states.iter().take(late + 1) {
                    assert_eq!(
                        check(before, now),
                        None,
                        "{:?} to {:?}",
                        before.rows,
                        now.rows
                    );
                }
            }
        }
    }

    #[test]
    fn a_row_that_goes_back_is_noticed() {
        use fixture::{absent, claimed, doubted, proved};
        let back = |before: &[Event], now: &[Event]| {
            let ledger = |events: &[Event]| Ledger::of([row(events.iter().cloned())]);
            check(&ledger(before), &ledger(now)).unwrap()
        };
        assert_eq!(
            back(&[claimed(1), doubted()], &[claimed(1)]),
            "the row of news/a on mastodon went back from in_doubt to in_flight (`publish`)"
        );
        assert_eq!(
            back(&[claimed(1), doubted(), absent()], &[claimed(1), doubted()]),
            "the row of news/a on mastodon went back from retry to in_doubt (`publish`)"
        );
        assert_eq!(
            back(
                &[claimed(1), doubted(), absent(), claimed(2)],
                &[claimed(1), doubted(), absent()]
            ),
            "the row of news/a on mastodon fell from attempt 2 to 1 (`publish`)"
        );
        assert_eq!(
            back(
                &[claimed(1), proved("1"), proved("2")],
                &[claimed(1), proved("1")]
            ),
            "the row of news/a on mastodon lost a receipt (`publish`)"
        );
    }

    #[test]
    fn what_is_lost_is_named() {
        use fixture::{claimed, proved};
        let done = Ledger::of([row([claimed(1), proved("1")])]);
        assert_eq!(
            check(&done, &Ledger::of([])).unwrap(),
            "the row of news/a on mastodon is gone"
        );
        assert_eq!(
            check(&done, &Ledger::of([row([claimed(1)])])).unwrap(),
            "the row of news/a on mastodon lost a receipt (`publish`)"
        );
        assert_eq!(
            check(&done, &Ledger::of([row([claimed(1), proved("2")])])).unwrap(),
            "the row of news/a on mastodon lost a receipt (`publish`)"
        );
        let mut headless = done.clone();
        headless.header = None;
        assert_eq!(check(&done, &headless).unwrap(), "`ledger.json` is gone");
        let mut other = done.clone();
        other.header = Some(Header::new([2; 16], None));
        assert_eq!(
            check(&done, &other).unwrap(),
            "it is another ledger: its lineage is 02020202020202020202020202020202, \
             and was 01010101010101010101010101010101"
        );
        let many =
            |count: u8| {
                Ledger::of((0..count).map(|number| {
                    fixture::row(&format!("news/{number}"), "mastodon", [claimed(1)])
                }))
            };
        assert_eq!(
            check(&many(4), &many(1)).unwrap(),
            "the row of news/1 on mastodon is gone, and 2 more rows went backwards"
        );
        let mut baselined = done.clone();
        baselined.baseline.insert(
            ChannelName::new("mastodon").unwrap(),
            [(ItemId::from_stored("old"), None)].into(),
        );
        assert_eq!(check(&done, &baselined), None);
        assert_eq!(
            check(&baselined, &done).unwrap(),
            "1 items of the baseline of mastodon are gone"
        );
    }

    #[test]
    fn a_row_that_became_unreadable_is_not_gone() {
        let done = Ledger::of([row([fixture::claimed(1), fixture::proved("1")])]);
        let mut broken = Ledger::of([]);
        broken.unreadable.extend(done.rows.keys().cloned());
        assert_eq!(check(&done, &broken), None);
    }

    #[test]
    fn a_deliberate_second_announcement_has_receipts_of_its_own() {
        let first = row([fixture::claimed(1), fixture::proved("1")]);
        let mut second = first.clone();
        for record in second.operations.values_mut() {
            record.edition = 2;
            record.attempt = 2;
            record.state = State::InFlight;
            record.remote = None;
            record.evidence = None;
        }
        assert_eq!(
            check(&Ledger::of([first.clone()]), &Ledger::of([second.clone()])),
            None
        );
        assert!(check(&Ledger::of([second]), &Ledger::of([first])).is_some());
    }
}
