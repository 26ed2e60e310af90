//! Making a claim: what exactly will be sent, under which key, and the row that says so.

use std::collections::BTreeSet;

use url::Url;

use crate::config::ChannelConfig;
use crate::model::claim::Claim;
use crate::model::delivery::{self, ClaimRecord, Operation, Record};
use crate::model::ids::{Account, ChannelName, IdempotencyKey, LogicalAction, Token};
use crate::model::item::Item;
use crate::model::media::{Picture, Prepared};
use crate::model::mutant::{Mutant, on};
use crate::model::notice::Notice;
use crate::model::outcome::ServerLimits;
use crate::model::post::Post;
use crate::model::row::{DeliveryId, Row};
use crate::model::time::Timestamp;
use crate::plan::decide::Again;
use crate::render::{Stamp, compose, compose_with, picture_left_out};

use super::core::Core;
use super::outbox::Sort;

impl Core {
    /// Makes one claim, if it can be made; it counts once it is on the remote.
    pub(super) fn claim_one(
        &mut self,
        now: Timestamp,
        channel: &ChannelConfig,
        id: &DeliveryId,
        again: Again,
    ) -> bool {
        let Some(account) = self
            .desks
            .get(channel.name())
            .and_then(|desk| desk.session())
            .map(|session| session.account.clone())
        else {
            return false;
        };
        let operation = self.stand(channel, id).operation;
        let Some(mut row) = self.fresh_row(channel, id, again) else {
            return false;
        };
        row.account = Some(account.clone());
        let earlier = row.operations.get(&operation).cloned();
        let made = match operation {
            Operation::Publish => self.post_for(now, channel, id, earlier.as_ref(), again),
            Operation::Update(_) | Operation::Retract => {
                self.later_post(now, channel, id, operation, again)
            }
        };
        let (post, edition) = match made {
            Ok(made) => made,
            Err(reason) => {
                self.unsendable(id, reason);
                return false;
            }
        };
        let key = self.key_for(id, &account, operation, earlier.as_ref(), edition);
        let mut token = self.entropy.token();
        if on(Mutant::TokenIsShared) {
            let attempt = earlier.as_ref().map_or(0, |record| record.attempt);
            token = Token::from_bytes([u8::try_from(attempt).unwrap_or(0); 16]);
        }
        // Another machine reads the quiet point by its own clock: one that is far off allows for that.
        let limits = &self.setup.limits;
        let skew = limits
            .clock_skew
            .saturating_add(self.skewed.unwrap_or_default());
        let record = ClaimRecord {
            token: token.clone(),
            key,
            fingerprint: post.fingerprint(),
            post,
            run: self.setup.run.clone(),
            claimed_at: now,
            first_claimed_at: now,
            send_before: channel.rules.send_before(now),
            quiet_until: channel.rules.quiet_until(now, skew),
        };
        let event = delivery::Event::Claimed {
            claim: Box::new(record),
            edition,
        };
        let after = match delivery::next(earlier.as_ref(), event.clone()) {
            Ok(after) => after,
            Err(illegal) => {
                self.unsendable(id, illegal.to_string());
                return false;
            }
        };
        row.operations.insert(operation, after);
        let Some(claim) = claim_of(&row, channel) else {
            return false;
        };
        let mut identity = row;
        identity.operations.clear();
        let sort = Sort::Claim(Box::new(claim));
        match self
            .outbox
            .tell(identity, operation, vec![event], sort, true)
        {
            Ok(()) => {
                if let (Again::Fresh, Some(what)) = (again, self.picture_left_out(channel, id)) {
                    self.tell_left_out(id, what);
                }
                if let Some(desk) = self.desks.get_mut(channel.name()) {
                    desk.use_up(id, operation, channel);
                    desk.own.insert(token, (id.clone(), operation));
                }
                true
            }
            Err(illegal) => {
                self.unsendable(id, illegal.to_string());
                false
            }
        }
    }

    /// Says that an article's picture is not in its post, where that is so by what its author wrote.
    fn picture_left_out(&self, channel: &ChannelConfig, id: &DeliveryId) -> Option<&'static str> {
        let item = self.survey.as_ref()?.items.get(&id.item)?;
        picture_left_out(item, channel)
    }

    /// Returns the name of the logical action: the earlier one's while nothing else is asked for.
    fn key_for(
        &self,
        id: &DeliveryId,
        account: &Account,
        operation: Operation,
        earlier: Option<&Record>,
        edition: u32,
    ) -> IdempotencyKey {
        let survey = self.survey.as_ref();
        let item = survey.and_then(|survey| survey.items.get(&id.item));
        let publish_at = item
            .and_then(|item| item.settings.publish_at)
            .map_or_else(String::new, |at| at.to_string());
        match earlier {
            Some(Record {
                claim: Some(claim),
                edition: before,
                ..
            }) if *before == edition || on(Mutant::KeyReused) => claim.key.clone(),
            Some(_) | None => IdempotencyKey::derive(&LogicalAction {
                site: self.setup.config.site.url.as_str(),
                item: id.item.as_str(),
                channel: id.channel.as_str(),
                account: account.as_str(),
                operation: &operation.to_string(),
                publish_at: &publish_at,
                edition,
            }),
        }
    }

    /// Returns exactly what will be sent, and the rendering's number.
    fn post_for(
        &mut self,
        now: Timestamp,
        channel: &ChannelConfig,
        id: &DeliveryId,
        earlier: Option<&Record>,
        again: Again,
    ) -> Result<(Post, u32), String> {
        let entropy = self.entropy.bits();
        let again = if on(Mutant::FrozenRenderedAnew) || on(Mutant::RecordKeyRenewed) {
            Again::Fresh
        } else {
            again
        };
        let item = self
            .survey
            .as_ref()
            .and_then(|survey| survey.items.get(&id.item));
        let limits = self.limits(channel.name());
        let prepared = self.prepared_for(id);
        let unchanged = |item: &Item, post: &Post| {
            compose(item, channel, limits, Stamp::Of(post))
                .is_ok_and(|rendered| rendered.post == *post && !on(Mutant::RecordKeyRenewed))
        };
        let desk = self.desks.get(channel.name());
        let is_key_used = desk.is_some_and(|desk| desk.used_keys.contains(id));
        let edition_floor = earlier.map_or(1, |record| record.edition);
        let earlier =
            earlier.and_then(|record| Some((record.edition, &record.claim.as_ref()?.post)));
        match (earlier, item, again) {
            (Some((edition, post)), item, Again::Frozen) => {
                let edited = item.is_some_and(|item| !unchanged(item, post));
                if edited {
                    self.tell(Notice::Plain(format!(
                        "{id}: the article was edited meanwhile; what may already have been sent is sent again unchanged"
                    )));
                }
                Ok((post.clone(), edition))
            }
            // The article is gone from the list, and surely undelivered: as it was rendered.
            (Some((edition, post)), None, Again::Fresh) => Ok((post.clone(), edition)),
            (Some((edition, post)), Some(item), Again::Fresh)
                if edition >= item.settings.edition
                    && !is_key_used
                    && unchanged(item, post)
                    && Picture::all_of(post) == prepared.pictures
                    && Prepared::made_of(post) == prepared.made =>
            {
                Ok((post.clone(), edition))
            }
            (earlier, Some(item), Again::Fresh | Again::Frozen) => {
                let stamp = Stamp::Fresh { now, entropy };
                let rendered = compose_with(item, channel, limits, stamp, &prepared)
                    .map_err(|error| error.about(item, channel.name()))?;
                // A changed rendering is another action than the one that surely failed, and so is one that is to be looked at.
                let edition = earlier
                    .map_or(edition_floor, |(edition, _)| edition + 1)
                    .max(item.settings.edition);
                Ok((rendered.post, edition))
            }
            (None, None, Again::Fresh | Again::Frozen) => {
                Err("its article is not listed any more".to_owned())
            }
        }
    }

    /// Returns the server's own limits, told in this run or recorded earlier.
    pub(super) fn limits(&self, name: &ChannelName) -> ServerLimits {
        let told = self.desks.get(name).and_then(|desk| desk.session());
        let header = self
            .outbox
            .snapshot()
            .and_then(|snapshot| snapshot.header.as_ref());
        match told {
            Some(session) => session.limits,
            None => header
                .and_then(|header| header.channels.get(name))
                .map_or_else(ServerLimits::default, |known| known.limits),
        }
    }

    /// Returns the host of the address that a delivery's request will name, as far as it has one.
    pub(super) fn host_of(&self, id: &DeliveryId, again: Again) -> Option<String> {
        let claim = self.outbox.row(id).and_then(Row::record);
        let frozen = claim
            .and_then(|record| record.claim.as_ref()?.post.string("url"))
            .filter(|_| again == Again::Frozen);
        let survey = self.survey.as_ref();
        let item = survey.and_then(|survey| survey.items.get(&id.item));
        let url = frozen.or_else(|| item.map(|item| item.canonical_url.as_str()))?;
        Url::parse(url).ok()?.host_str().map(str::to_owned)
    }

    fn unsendable(&mut self, id: &DeliveryId, reason: String) {
        self.tell(Notice::Warning(format!("{id} can't be sent: {reason}")));
        if let Some(desk) = self.desks.get_mut(&id.channel) {
            desk.unsendable.insert(id.clone(), reason);
        }
    }

    /// Returns the delivery's row with what the article says today; its operations are kept.
    fn fresh_row(&self, channel: &ChannelConfig, id: &DeliveryId, again: Again) -> Option<Row> {
        let stored = self.outbox.row(id).cloned();
        let survey = self.survey.as_ref();
        let said = survey.and_then(|survey| survey.said.get(&id.item));
        let article = match (&stored, said) {
            // What is sent once more is what it said then: a later edit still has to follow.
            (Some(stored), _) if again == Again::Frozen => stored.article.clone(),
            (stored, None) => stored.as_ref().and_then(|row| row.article.clone()),
            (_, Some(said)) => {
                let said = said.on(channel.name());
                channel.rules.follow_edits.then(|| said.clone())
            }
        };
        let blank = self.blank_row(id).map(|blank| Row { article, ..blank });
        match (stored, blank) {
            (Some(stored), Some(blank)) => {
                let former =
                    (stored.canonical_url != blank.canonical_url).then_some(stored.canonical_url);
                let aliases: BTreeSet<String> = stored
                    .aliases
                    .into_iter()
                    .chain(blank.aliases.iter().cloned())
                    .chain(former)
                    .collect();
                Some(Row {
                    account: stored.account,
                    operations: stored.operations,
                    unknown: stored.unknown,
                    aliases: aliases.into_iter().collect(),
                    ..blank
                })
            }
            (stored, blank) => stored.or(blank),
        }
    }

    /// Returns the row of a delivery to which nothing has happened.
    pub(super) fn blank_row(&self, id: &DeliveryId) -> Option<Row> {
        let item = self.survey.as_ref()?.items.get(&id.item)?;
        let account = self
            .desks
            .get(&id.channel)
            .and_then(|desk| desk.session())
            .map(|session| session.account.clone());
        Some(Row::blank(item, &id.channel, account))
    }
}

/// Returns the claim that stands in a row, as a channel needs it.
pub(super) fn claim_of(row: &Row, channel: &ChannelConfig) -> Option<Claim> {
    let record = row.record()?;
    let claim = record.claim.as_ref()?;
    let operation = row.current();
    let target = match operation {
        Operation::Publish => None,
        Operation::Update(_) | Operation::Retract => row.target().cloned(),
    };
    Some(Claim {
        item: row.item.clone(),
        channel: channel.name().clone(),
        account: row.account.clone()?,
        operation,
        target,
        token: claim.token.clone(),
        key: claim.key.clone(),
        attempt: record.attempt,
        post: claim.post.clone(),
        canonical_url: row.canonical_url.clone(),
        first_claimed_at: claim.first_claimed_at,
        send_before: claim.send_before,
    })
}
