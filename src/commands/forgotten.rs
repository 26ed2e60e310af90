//! What a rewound ledger forgets when a person takes it as it is: where nothing is ever sent twice by itself, that is
//! held, so that taking the ledger is not taken for leave to send again.

use crate::config::Config;
use crate::ledger::{Change, Snapshot, Standing};
use crate::model::channel::Policy;
use crate::model::delivery::{Event, Operation, Record, next};
use crate::model::ids::ChannelName;
use crate::model::time::Timestamp;

use super::ledger::lost;

/// Returns what is held of the rows that the witness has and the tip lacks, or has in an older version.
pub(super) fn held(
    witness: Option<&Snapshot>,
    tip: &Snapshot,
    config: &Config,
    now: Timestamp,
) -> Vec<Change> {
    let Some(witness) = witness.filter(|_| matches!(tip.standing, Standing::Rewound { .. })) else {
        return Vec::new();
    };
    let lost = lost(witness, tip).into_iter();
    lost.filter(|change| is_never_sent_twice(config, &change.row.channel))
        .filter_map(|change| hold(change, tip, now))
        .collect()
}

fn is_never_sent_twice(config: &Config, name: &ChannelName) -> bool {
    let mut channels = config.channels.iter();
    channels.any(|channel| channel.name() == name && channel.rules.policy == Policy::AtMostOnce)
}

/// What the tip has in flight or in doubt is never sent again anyway, and stays as it is.
fn hold(change: Change, tip: &Snapshot, now: Timestamp) -> Option<Change> {
    let Change { row, expected } = change;
    let before = row.publish()?;
    let stands = tip.rows.get(&row.delivery_id());
    let event = Event::Held {
        reason: reason(before),
        at: now,
    };
    let record = next(stands.and_then(|stored| stored.row.publish()), event).ok()?;
    let mut row = stands.map_or(row, |stored| stored.row.clone());
    row.operations.insert(Operation::Publish, record);
    Some(Change { row, expected })
}

fn reason(before: &Record) -> String {
    let remote = before.remote.as_ref();
    let place = remote
        .and_then(|remote| remote.url.as_deref())
        .map_or_else(String::new, |url| format!(", {url}"));
    format!(
        "the ledger was rewound and taken as it is; before, this was {}{place}",
        before.state
    )
}
