//! What is due now as the matrix of a job of GitHub Actions: by channel, or in shards of the articles.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use crate::exit::Exit;
use crate::model::delivery::State;
use crate::model::ids::ChannelName;
use crate::model::item::ItemId;
use crate::model::time::Timestamp;

use super::outlook::Outlook;

/// A run without a deadline waits for what lies at most this far ahead; what is later is for a later run.
const AHEAD_MAX: Duration = Duration::from_mins(30);

/// One job: what it is limited to, each list separated by spaces; an empty one is no limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Channels.
    pub channels: String,
    /// Items.
    pub items: String,
}

/// Returns an entry for each channel on which something is due; `items` limits each of them.
pub fn by_channel(deliveries: &[Outlook], items: &[ItemId], now: Timestamp) -> Vec<Entry> {
    let mut channels: Vec<&ChannelName> = Vec::new();
    for delivery in due(deliveries, now) {
        if !channels.contains(&&delivery.id.channel) {
            channels.push(&delivery.id.channel);
        }
    }
    let items = joined(items.iter().map(ItemId::as_str));
    let entries = channels.into_iter().map(|channel| Entry {
        channels: channel.to_string(),
        items: items.clone(),
    });
    entries.collect()
}

/// Returns an entry for each shard in which something is due; `channels` limits each of them.
///
/// An item is always in the same shard, so that a later matrix cuts the articles in the same way.
pub fn by_shard(
    deliveries: &[Outlook],
    channels: &[ChannelName],
    shards: u32,
    now: Timestamp,
) -> Vec<Entry> {
    let mut items: BTreeMap<u32, BTreeSet<&str>> = BTreeMap::new();
    for delivery in due(deliveries, now) {
        let item = delivery.id.item.as_str();
        items.entry(shard(item, shards)).or_default().insert(item);
    }
    let channels = joined(channels.iter().map(ChannelName::as_str));
    let entries = items.into_values().map(|items| Entry {
        channels: channels.clone(),
        items: joined(items),
    });
    entries.collect()
}

fn due(deliveries: &[Outlook], now: Timestamp) -> impl Iterator<Item = &Outlook> {
    deliveries.iter().filter(move |delivery| {
        let is_soon = delivery.due_at.is_none_or(|at| at <= now.plus(AHEAD_MAX));
        // What may be there already is looked for at any time.
        let is_open = matches!(delivery.state, Some(State::InFlight | State::InDoubt));
        delivery.weight() == Exit::WorkRemains && (is_soon || is_open)
    })
}

fn shard(item: &str, shards: u32) -> u32 {
    let hash = Sha256::digest(item.as_bytes());
    let first = hash
        .iter()
        .take(4)
        .fold(0_u32, |sum, byte| (sum << 8) | u32::from(*byte));
    first % shards.max(1)
}

fn joined<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_stays_in_its_shard() {
        let shards = ["news/a", "news/b", "news/c", "index"].map(|item| shard(item, 4));
        // Another program, or another version, gives the same: it is the hash's first four bytes, modulo 4.
        assert_eq!(shards, [2, 2, 3, 2]);
        assert!((0..100).all(|number| shard(&format!("news/{number}"), 3) < 3));
        let used: BTreeSet<_> = (0..100)
            .map(|number| shard(&format!("news/{number}"), 8))
            .collect();
        assert_eq!(used.len(), 8);
        assert_eq!(shard("news/a", 1), 0);
    }
}
