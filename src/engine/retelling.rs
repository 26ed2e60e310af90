//! Telling a row what happened, and telling it anew to the row that stands at the tip when another run was first.

use crate::model::delivery::{self, IllegalMove, Operation};
use crate::model::ids::Token;
use crate::model::mutant::{Mutant, on};
use crate::model::row::Row;

use super::outbox::{Entry, Sort};

/// Whether the tip has nothing of a delivery that this run has sent: the row was removed, or the ledger was set back
/// whole. What this run knows is then all there is, and without it the article would be sent again.
fn is_bereft(tip_row: Option<&Row>, entry: &Entry) -> bool {
    let Sort::Outcome(ours) = &entry.sort else {
        return false;
    };
    let Some(operation) = entry.row.claimed_by(ours) else {
        return false;
    };
    tip_row.is_none_or(|row| !row.operations.contains_key(&operation))
}

/// Tells an entry's events to another row than they were decided on, where that is right.
pub(super) fn told_anew(tip_row: Option<Row>, entry: Entry) -> Option<Entry> {
    if is_bereft(tip_row.as_ref(), &entry) {
        return Some(Entry {
            decided_on: tip_row,
            ..entry
        });
    }
    let stands = |token: &Token| {
        let row = tip_row.as_ref();
        row.is_some_and(|row| row.claimed_by(token).is_some())
    };
    let events: Vec<_> = match &entry.sort {
        Sort::Claim(_) if on(Mutant::LostClaimKept) => entry.events,
        Sort::Claim(_) => return None,
        Sort::Outcome(_) | Sort::Finding if on(Mutant::LateReceiptDropped) => return None,
        Sort::Outcome(ours) if stands(ours) => entry.events,
        // A receipt always wins, also one that comes after another run took over.
        Sort::Outcome(_) | Sort::Finding => entry
            .events
            .into_iter()
            .filter(|(_, event)| matches!(event, delivery::Event::Proved { .. }))
            .collect(),
    };
    if events.is_empty() {
        return None;
    }
    // What others wrote of the article meanwhile (an alias, a later text) stands; a claim brings its own.
    let identity = match (&entry.sort, &tip_row) {
        (Sort::Outcome(_) | Sort::Finding, Some(tip)) => tip.clone(),
        (Sort::Claim(_), _) | (_, None) => entry.row,
    };
    let row = fold(tip_row.as_ref(), identity, &events).ok()?;
    if tip_row.as_ref() == Some(&row) {
        // The tip says it already: it landed, or another run found the same.
        return None;
    }
    Some(Entry {
        decided_on: tip_row,
        events,
        row,
        sort: entry.sort,
        urgent: entry.urgent,
    })
}

/// Returns `identity` with the records of `before` after `events`.
pub(super) fn fold(
    before: Option<&Row>,
    identity: Row,
    events: &[(Operation, delivery::Event)],
) -> Result<Row, IllegalMove> {
    let mut row = identity;
    if let Some(before) = before {
        // Decided on a row that had no account yet; meanwhile it got one.
        row.account = row.account.or_else(|| before.account.clone());
        row.operations.clone_from(&before.operations);
        row.unknown.clone_from(&before.unknown);
    }
    for (operation, event) in events {
        let record = delivery::next(row.operations.get(operation), event.clone())?;
        row.operations.insert(*operation, record);
        if matches!(operation, Operation::Update(_)) {
            row.forget_replaced();
        }
    }
    Ok(row)
}
