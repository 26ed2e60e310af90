//! The moves that a row may make from one version at the remote to the next, written down a second time.
//!
//! It knows nothing of how the engine folds events: what is checked here is what everybody may rely on who reads two
//! versions of a row.

use sayonce::model::delivery::{Operation, Record, State};
use sayonce::model::outcome::Remote;
use sayonce::model::row::Row;

/// Returns what is wrong with a move; none if it is legal.
pub(crate) fn wrong_move(before: Option<&Row>, after: &Row) -> Option<String> {
    let Some(now) = after.publish() else {
        return Some("it has no record of its announcement".to_owned());
    };
    let Some(before) = before else {
        return wrong_beginning(now);
    };
    if (&before.item, &before.channel) != (&after.item, &after.channel) {
        return Some("it became another delivery".to_owned());
    }
    if before.account.is_some() && before.account != after.account {
        return Some("it went to another account".to_owned());
    }
    if before == after {
        return Some("nothing changed".to_owned());
    }
    let kept = |operation: &Operation| after.operations.contains_key(operation);
    if !before.operations.keys().all(kept) {
        return Some("it lost an operation".to_owned());
    }
    after.operations.iter().find_map(|(operation, now)| {
        let Some(was) = before.operations.get(operation) else {
            return wrong_beginning(now).map(|wrong| format!("{operation}: {wrong}"));
        };
        // A change that was replaced by a newer one keeps its outcome alone.
        let replaced = matches!(operation, Operation::Update(_)) && now.claim.is_none();
        if was == now || (replaced && now.state == State::Done && was.state == State::Done) {
            return None;
        }
        let wrong = wrong_receipts(was, now)
            .or_else(|| wrong_count(was, now))
            .or_else(|| wrong_claim(was, now))
            .or_else(|| wrong_state(was, now))?;
        Some(format!(
            "{operation}: {wrong}: {} (attempt {}) became {} (attempt {})",
            was.state, was.attempt, now.state, now.attempt
        ))
    })
}

/// A row begins with a claim, or without one if nothing is to be sent.
fn wrong_beginning(now: &Record) -> Option<String> {
    let begins_well = match now.state {
        State::InFlight => now.attempt == 1 && now.claim.is_some(),
        State::Done | State::Held | State::Skipped => now.attempt == 0 && now.claim.is_none(),
        // A person may let something be sent that waits for one.
        State::Retry => now.attempt == 0 && now.claim.is_none() && now.by.is_some(),
        State::InDoubt | State::Failed => false,
    };
    (!begins_well).then(|| format!("it began as {} (attempt {})", now.state, now.attempt))
}

fn wrong_receipts(was: &Record, now: &Record) -> Option<&'static str> {
    let kept = receipts(now);
    receipts(was)
        .iter()
        .any(|receipt| !kept.contains(receipt))
        .then_some("a receipt was lost")
}

fn receipts(record: &Record) -> Vec<&Remote> {
    let late = record.receipts.iter().map(|receipt| &receipt.remote);
    record.remote.iter().chain(late).collect()
}

fn wrong_count(was: &Record, now: &Record) -> Option<&'static str> {
    if now.attempt < was.attempt || now.uncounted < was.uncounted || now.edition < was.edition {
        return Some("a count fell");
    }
    if now.attempt > was.attempt + 1 || now.uncounted > now.attempt {
        return Some("a claim was never on the remote");
    }
    None
}

/// A claim never changes; a new one is on the remote before anything comes of it, and what may have been sent is
/// sent again as it was.
fn wrong_claim(was: &Record, now: &Record) -> Option<&'static str> {
    if now.edition > was.edition {
        return None;
    }
    if was.frozen && !now.frozen {
        return Some("it was forgotten that something may have been sent");
    }
    if now.attempt == was.attempt {
        return (was.claim != now.claim).then_some("a claim was changed");
    }
    if now.state != State::InFlight || was.token() == now.token() {
        return Some("something came of a claim before it was on the remote");
    }
    let (Some(earlier), Some(later)) = (&was.claim, &now.claim) else {
        return None;
    };
    let same_bytes = earlier.post == later.post
        && earlier.fingerprint == later.fingerprint
        && earlier.key == later.key
        && earlier.first_claimed_at == later.first_claimed_at;
    (now.frozen && !same_bytes).then_some("other bytes were to be sent than may have been before")
}

fn wrong_state(was: &Record, now: &Record) -> Option<&'static str> {
    let claimed = now.attempt > was.attempt;
    let by_person = was.by != now.by;
    match (was.state, now.state) {
        (State::Done, State::Done)
        | (State::Retry, State::Retry | State::Held)
        | (State::Failed, State::Failed)
        | (State::Held, State::Held)
        | (State::Skipped, State::Skipped) => None,
        (State::Done, _) if now.edition > was.edition && by_person => None,
        (State::Done, _) => Some("what is done was left"),
        (State::InFlight, State::InFlight) if !(claimed && now.frozen) => {
            Some("a claim was taken over without a doubt")
        }
        (State::InFlight, State::Skipped) => Some("what may be sent was skipped"),
        (State::InFlight, _) | (_, State::Done) => None,
        (State::InDoubt | State::Retry, State::InFlight) if claimed => None,
        (State::Failed, State::InFlight) if claimed && !was.frozen => None,
        (_, State::InFlight) => Some("a claim came back"),
        (State::InDoubt, _) => None,
        (State::Failed, State::Retry) if !was.frozen => None,
        (State::Retry | State::Failed | State::Held | State::Skipped, _) if by_person => None,
        (State::Retry | State::Failed | State::Held | State::Skipped, _) => {
            Some("only a person may do that")
        }
    }
}
