//! One line for each action: short enough to be read, and exact enough that two histories with the same lines are the same.

use std::hash::{DefaultHasher, Hasher as _};

use sayonce::engine::action::Action;
use sayonce::model::claim::Claim;
use sayonce::model::row::Row;

/// Says what is done; the number at the end is that of every byte of it.
pub(super) fn told(action: &Action) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(format!("{action:?}").as_bytes());
    format!("{} #{:016x}", short(action), hasher.finish())
}

fn short(action: &Action) -> String {
    match action {
        Action::ReadLedger => "reads the ledger".to_owned(),
        Action::Push(batch) => {
            let rows = batch.changes.iter().map(|change| change.row.clone());
            format!("pushes {}", rows_told(&rows.collect::<Vec<_>>()))
        }
        Action::PushAgain(commit) => format!("pushes {} again", commit.0),
        Action::Journal(rows) => format!("keeps on disk {}", rows_told(rows)),
        Action::ForgetJournal(rows) => format!("forgets on disk {}", rows_told(rows)),
        Action::Open(channel) => format!("opens {channel}"),
        Action::List(channel, _) => format!("lists {channel}"),
        Action::Send(_, claims) => {
            let claims = claims.iter().map(|pushed| claim_told(pushed.claim()));
            format!("sends {}", claims.collect::<Vec<_>>().join(", "))
        }
        Action::Look(_, claim) => format!("looks for {}", claim_told(claim)),
        Action::Prepare(delivery, wants) => format!("prepares {delivery}: {wants:?}"),
        Action::SeeCheckout => "looks whether its checkout is the newest".to_owned(),
        Action::CheckLive(item, _) => format!("looks whether {item} is online"),
        Action::Tell(notice) => format!("tells {notice:?}"),
    }
}

fn rows_told(rows: &[Row]) -> String {
    let told = rows.iter().map(|row| {
        let record = row.publish();
        let (state, attempt) = record.map_or(("nothing", 0), |record| {
            (record.state.label(), record.attempt)
        });
        format!("{}: {state} ({attempt})", row.delivery_id())
    });
    told.collect::<Vec<_>>().join(", ")
}

fn claim_told(claim: &Claim) -> String {
    format!("{} on {} ({})", claim.item, claim.channel, claim.attempt)
}
