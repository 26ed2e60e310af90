//! A row: what the ledger holds of one delivery, whatever the file format.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};

use super::delivery::{Operation, Record};
use super::ids::{Account, ChannelName, Fingerprint};
use super::item::{Item, ItemId};
use super::time::Timestamp;

/// One (item, channel) pair: the unit of state.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeliveryId {
    /// The item.
    pub item: ItemId,
    /// The channel.
    pub channel: ChannelName,
}

impl fmt::Display for DeliveryId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} on {}", self.item, self.channel)
    }
}

/// The ledger's row of one delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The item.
    pub item: ItemId,
    /// The channel.
    pub channel: ChannelName,
    /// Who posts; none before the channel was first opened.
    pub account: Option<Account>,
    /// The article's address when it was claimed.
    pub canonical_url: String,
    /// The id that the feed gave it.
    pub guid: Option<String>,
    /// Other addresses it was known under.
    pub aliases: Vec<String>,
    /// The article's title when it was claimed.
    pub title: String,
    /// The article's own date: with the title it recognises an article under a new address.
    pub published: Option<Timestamp>,
    /// The file it was written in, relative to the repository's top.
    pub source: Option<String>,
    /// Fingerprint of the article's body.
    pub body: Option<Fingerprint>,
    /// What was done, by operation.
    pub operations: BTreeMap<Operation, Record>,
    /// Fields of the file that this version does not know; they are written back as they are.
    pub unknown: Map<String, Value>,
}

impl Row {
    /// The row of a delivery to which nothing has happened.
    pub fn blank(item: &Item, channel: &ChannelName, account: Option<Account>) -> Self {
        Self {
            item: item.id.clone(),
            channel: channel.clone(),
            account,
            canonical_url: item.canonical_url.clone(),
            guid: item.guid.clone(),
            aliases: item.aliases.clone(),
            title: item.title.clone(),
            published: item.published,
            source: item.source_file.clone(),
            body: item.body_fingerprint(),
            operations: BTreeMap::new(),
            unknown: Map::new(),
        }
    }

    /// Returns which delivery this is.
    pub fn delivery_id(&self) -> DeliveryId {
        DeliveryId {
            item: self.item.clone(),
            channel: self.channel.clone(),
        }
    }

    /// Returns the record of the announcement itself.
    pub fn publish(&self) -> Option<&Record> {
        self.operations.get(&Operation::Publish)
    }
}
