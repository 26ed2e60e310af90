//! What a post needs before its claim, asked of the channel's worker: a picture, the accounts that it mentions.
//!
//! Invariant: trouble with any of it is told, and never keeps a post from being claimed; only a post that is to be changed
//! has to be read first.

use crate::config::ChannelConfig;
use crate::model::delivery::{self, Counts, Operation, Record};
use crate::model::item::Item;
use crate::model::media::{Picture, PictureWish, Prepared, Standing, Wants};
use crate::model::notice::Notice;
use crate::model::outcome::Wait;
use crate::model::row::{DeliveryId, Row};
use crate::model::time::Timestamp;
use crate::plan::decide::Again;
use crate::render::wants;

use super::action::Action;
use super::backoff::backoff;
use super::core::Core;
use super::desk::Unread;

impl Core {
    /// Whether everything that a delivery's post needs is at hand, as far as it can be had; asks for it if not.
    pub(super) fn is_prepared(
        &mut self,
        channel: &ChannelConfig,
        id: &DeliveryId,
        operation: Operation,
        again: Again,
    ) -> bool {
        let wanted = self.wanted(channel, id, operation, again);
        let Some(desk) = self.desks.get_mut(channel.name()) else {
            return false;
        };
        if desk.prepared.contains_key(id) || wanted.is_empty() {
            return true;
        }
        desk.is_working = true;
        self.actions.push(Action::Prepare(id.clone(), wanted));
        false
    }

    /// A frozen post is sent as it is: of what it needs only the pictures' bytes may be missing here.
    fn wanted(
        &self,
        channel: &ChannelConfig,
        id: &DeliveryId,
        operation: Operation,
        again: Again,
    ) -> Wants {
        let row = self.outbox.row(id);
        let record = row.and_then(|row| row.operations.get(&operation));
        let item = self
            .survey
            .as_ref()
            .and_then(|survey| survey.items.get(&id.item));
        match (again, item) {
            (Again::Fresh, Some(item)) if operation == Operation::Publish => wants(item, channel),
            (Again::Fresh, Some(item)) => wants_of_change(item, channel, row),
            (Again::Fresh | Again::Frozen, _) => Wants {
                pictures: record
                    .map(named_pictures)
                    .unwrap_or_default()
                    .into_iter()
                    .filter(|picture| picture.attached.is_none())
                    .map(|picture| PictureWish {
                        url: picture.source,
                        sha256: Some(picture.sha256),
                    })
                    .collect(),
                ..Wants::default()
            },
        }
    }

    /// Takes what was found.
    pub(super) fn found(&mut self, now: Timestamp, id: DeliveryId, prepared: Prepared) {
        // The request that changes a post would fail on that, too. It is the post's trouble, and not the channel's.
        if let Some(reason) = &prepared.unread {
            let reason = format!("its post can't be read before it is changed: {reason}");
            self.tell(Notice::Warning(format!("{id}: {reason}")));
            if let Some(desk) = self.desks.get_mut(&id.channel) {
                desk.is_working = false;
                let tries = desk.unread.get(&id).map_or(1, |unread| unread.tries + 1);
                let until = now.plus(backoff(tries));
                desk.unread.insert(
                    id,
                    Unread {
                        tries,
                        until,
                        reason,
                    },
                );
            }
            return;
        }
        for note in &prepared.notes {
            self.tell_left_out(&id, note);
        }
        if let Some(desk) = self.desks.get_mut(&id.channel) {
            desk.is_working = false;
            desk.unread.remove(&id);
            desk.prepared.insert(id, prepared);
        }
    }

    /// Returns what was found for a post that is written anew.
    pub(super) fn prepared_for(&self, id: &DeliveryId) -> Prepared {
        let desk = self.desks.get(&id.channel);
        desk.and_then(|desk| desk.prepared.get(id))
            .cloned()
            .unwrap_or_default()
    }

    /// Takes the refusal of a picture: where nothing was sent before, the post is written anew without it.
    pub(super) fn picture_refused(
        &mut self,
        now: Timestamp,
        id: &DeliveryId,
        operation: Operation,
        record: &Record,
        reason: &str,
    ) -> delivery::Event {
        // What may have been sent is sent again with the same bytes, or not at all.
        if record.frozen {
            let wait = backoff(record.attempts_counted().max(1));
            return self.deferred(now, id, None, wait, reason, Counts::Attempt);
        }
        let without = match operation {
            Operation::Publish => "it goes without",
            Operation::Update(_) | Operation::Retract => "those of the post stay as they are",
        };
        if let Some(desk) = self.desks.get_mut(&id.channel) {
            let prepared = desk.prepared.entry(id.clone()).or_default();
            prepared.pictures.clear();
            prepared.replaces = false;
        }
        let reason = format!("its picture was not taken, so {without}: {reason}");
        let at_once = Some(Wait::Until(now));
        self.deferred(now, id, at_once, backoff(1), &reason, Counts::Attempt)
    }
}

/// A change needs the pictures that the post is to show, and to know of those that it shows.
fn wants_of_change(item: &Item, channel: &ChannelConfig, row: Option<&Row>) -> Wants {
    let pictures = wants(item, channel).pictures;
    let shown = row.and_then(Row::shown);
    let recorded = shown.map(Picture::with_alts).unwrap_or_default();
    match row.and_then(Row::target) {
        Some(target) if !pictures.is_empty() || !recorded.is_empty() => Wants {
            pictures,
            standing: Some(Standing {
                target: target.clone(),
                pictures: recorded,
            }),
            ..Wants::default()
        },
        Some(_) | None => Wants::default(),
    }
}

fn named_pictures(record: &Record) -> Vec<Picture> {
    let claim = record.claim.as_ref();
    claim.map_or_else(Vec::new, |claim| Picture::sent_with(&claim.post))
}
