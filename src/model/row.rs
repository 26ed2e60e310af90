//! A row: what the ledger holds of one delivery, whatever the file format.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};

use super::delivery::{Operation, Record, State};
use super::ids::{Account, ChannelName, Fingerprint, Token};
use super::item::{Item, ItemId, Said};
use super::outcome::Remote;
use super::post::Post;
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
    /// Fingerprint of what the article said when it was claimed, on channels that follow its changes.
    pub article: Option<Fingerprint>,
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
            article: None,
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

    /// Returns the operation that the delivery stands at: the announcement until it is done, then its newest change, or
    /// its retraction. A later edition of the announcement leaves behind what was done to the one before it.
    pub fn current(&self) -> Operation {
        let Some(publish) = self.publish().filter(|record| record.state == State::Done) else {
            return Operation::Publish;
        };
        let of_this_edition = self
            .operations
            .iter()
            .filter(|(_, record)| record.edition == publish.edition)
            // Somebody took back that it goes.
            .filter(|(operation, record)| {
                **operation != Operation::Retract || record.state != State::Skipped
            });
        // Announcement, changes by number, retraction: the order of the operations is the order of their times.
        of_this_edition
            .map(|(operation, _)| *operation)
            .max()
            .unwrap_or(Operation::Publish)
    }

    /// Returns the record of the operation that the delivery stands at.
    pub fn record(&self) -> Option<&Record> {
        self.operations.get(&self.current())
    }

    /// Returns the operation whose latest claim has this token.
    pub fn claimed_by(&self, token: &Token) -> Option<Operation> {
        let mut claimed = self.operations.iter();
        claimed
            .find(|(_, record)| record.token() == Some(token))
            .map(|(operation, _)| *operation)
    }

    /// Returns the change that would come next.
    pub fn next_update(&self) -> Operation {
        let numbers = self
            .operations
            .keys()
            .filter_map(|operation| match operation {
                Operation::Update(number) => Some(*number),
                Operation::Publish | Operation::Retract => None,
            });
        Operation::Update(numbers.max().map_or(1, |last| last.saturating_add(1)))
    }

    /// Takes the posts out of changes that newer ones have replaced: a row that grew with each edit would once be too big.
    pub fn forget_replaced(&mut self) {
        let done = |record: &Record| record.state == State::Done;
        let changes = self
            .operations
            .iter_mut()
            .rev()
            .filter(|(operation, record)| {
                matches!(operation, Operation::Update(_)) && done(record)
            });
        for (_, record) in changes.skip(1) {
            record.claim = None;
            record.lookups.clear();
        }
    }

    /// Whether the article says something else than when it was claimed.
    pub fn is_outdated(&self, item: &Item, said: &Said) -> bool {
        if let Some(article) = &self.article {
            return article != said.on(&self.channel);
        }
        // Claimed before its changes were followed: by what every row has.
        let bodies = self.body.as_ref().zip(said.body.as_ref());
        self.title != item.title || bodies.is_some_and(|(then, now)| then != now)
    }

    /// Returns the receipt of the post that stands, with its id where any receipt has it: a person's word has none.
    pub fn target(&self) -> Option<&Remote> {
        let record = self.publish()?;
        // A change may have moved it.
        let changes = self.operations.iter().rev().filter(|(operation, change)| {
            matches!(operation, Operation::Update(_)) && change.edition == record.edition
        });
        let mut moved = changes.filter_map(|(_, change)| change.remote.as_ref());
        if let Some(moved) = moved.find(|remote| remote.id.is_some()) {
            return Some(moved);
        }
        let first = record.remote.as_ref()?;
        let mut others = record.receipts.iter().map(|receipt| &receipt.remote);
        let named = others.find(|other| other.id.is_some() && other.is_same_post(first));
        named.filter(|_| first.id.is_none()).or(Some(first))
    }

    /// Returns the post that is shown, as it was claimed last; none: it was found, or a person told of it.
    pub fn shown(&self) -> Option<&Post> {
        let edition = self.publish()?.edition;
        let done = self.operations.iter().rev().filter(|(operation, record)| {
            **operation != Operation::Retract
                && record.state == State::Done
                && record.edition == edition
        });
        done.map(|(_, record)| record)
            .find_map(|record| record.claim.as_ref())
            .map(|claim| &claim.post)
    }
}
