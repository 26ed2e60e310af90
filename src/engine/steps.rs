//! What comes next for each delivery of a channel, and what this run does not do though the ledger alone would have it.

use crate::config::ChannelConfig;
use crate::model::delivery::{Operation, State};
use crate::model::mutant::{Mutant, on};
use crate::model::row::{DeliveryId, Row};
use crate::model::time::Timestamp;
use crate::plan::decide::{Again, Step};
use crate::plan::later::{Stand, stand, step};
use crate::plan::survey::{Announce, Surveyed, Verdict};
use crate::render::change::says_otherwise;

use super::core::Core;
use super::desk::{Desk, FAILURES_MAX};

impl Core {
    /// Returns the next step of each delivery that takes part, oldest item first.
    pub(super) fn steps(&self, now: Timestamp, channel: &ChannelConfig) -> Vec<(DeliveryId, Step)> {
        let Some(survey) = &self.survey else {
            return Vec::new();
        };
        survey
            .deliveries
            .iter()
            .filter(|surveyed| surveyed.id.channel == *channel.name())
            .filter(|surveyed| !self.outbox.is_unsettled(&surveyed.id))
            .filter_map(|surveyed| {
                Some((surveyed.id.clone(), self.step_of(now, channel, surveyed)?))
            })
            .collect()
    }

    /// What a delivery stands at.
    pub(super) fn stand(&self, channel: &ChannelConfig, id: &DeliveryId) -> Stand<'_> {
        let survey = self.survey.as_ref();
        stand(
            self.outbox.row(id),
            survey.and_then(|survey| survey.article(&id.item)),
            channel,
            self.limits(channel.name()),
            self.checkout.put_off(),
        )
    }

    /// Whether a change waits for being told that this checkout is the newest: one of an edited article, or one that is
    /// written anew because it surely was not made yet.
    pub(super) fn is_change_put_off(&self, channel: &ChannelConfig) -> bool {
        if self.checkout.put_off().is_none() {
            return false;
        }
        let survey = self.survey.iter().flat_map(|survey| &survey.deliveries);
        survey
            .filter(|surveyed| surveyed.id.channel == *channel.name())
            .map(|surveyed| self.stand(channel, &surveyed.id))
            .any(|stand| stand.put_off.is_some() || stand.is_written_anew())
    }

    pub(super) fn step_of(
        &self,
        now: Timestamp,
        channel: &ChannelConfig,
        surveyed: &Surveyed,
    ) -> Option<Step> {
        let row = self.outbox.row(&surveyed.id);
        let item = self
            .survey
            .as_ref()
            .and_then(|survey| survey.items.get(&surveyed.id.item));
        let stand = self.stand(channel, &surveyed.id);
        let readable = match stand.operation {
            Operation::Publish => channel.traits().readable,
            Operation::Update(_) | Operation::Retract => channel.shows_posts(),
        };
        if self.is_of_another_account(&surveyed.id) {
            return None;
        }
        let is_new = stand.record.is_none();
        let step = step(&stand, row, item, channel, now);
        // An older checkout would write the older text.
        if stand.is_written_anew()
            && matches!(
                step,
                Step::Send {
                    again: Again::Fresh
                }
            )
            && self.checkout.put_off().is_some()
        {
            return None;
        }
        let desk = self.desks.get(channel.name());
        let unsendable = desk.is_some_and(|desk| desk.unsendable.contains_key(&surveyed.id));
        let unread = desk.and_then(|desk| desk.unread.get(&surveyed.id));
        match (&surveyed.verdict, step) {
            (Verdict::InPlay, Step::Send { .. })
                if is_new && self.setup.selection.announce == Announce::NothingNew =>
            {
                None
            }
            (Verdict::InPlay | Verdict::Withdrawn, Step::Send { .. }) if unsendable => None,
            (Verdict::InPlay | Verdict::Withdrawn, Step::Send { .. })
                if unread.is_some_and(|unread| unread.tries >= FAILURES_MAX) =>
            {
                None
            }
            (Verdict::InPlay | Verdict::Withdrawn, Step::Send { .. })
                if unread.is_some_and(|unread| unread.until > now) =>
            {
                unread.map(|unread| Step::Later {
                    until: unread.until,
                    why: unread.reason.clone(),
                })
            }
            (Verdict::Withdrawn, Step::Send { again }) => {
                Some(self.withdrawn(&surveyed.id, again, readable))
            }
            // A clock that is far off says nothing about when a claim of another run is quiet.
            (
                Verdict::InPlay | Verdict::Withdrawn,
                Step::TakeOver
                | Step::Absent
                | Step::Send {
                    again: Again::Frozen,
                },
            ) if self.skewed.is_some()
                && !self.is_own(&surveyed.id)
                && !on(Mutant::SkewIgnored) =>
            {
                None
            }
            // What it does not find is not noted, so that it looks once.
            (Verdict::InPlay | Verdict::Withdrawn, Step::Look)
                if !self.tells_time_for(&surveyed.id) && self.was_looked_for(&surveyed.id) =>
            {
                None
            }
            (Verdict::InPlay | Verdict::Withdrawn, step) => Some(step),
            (
                Verdict::Skipped(_)
                | Verdict::KeptBack(_)
                | Verdict::Unreadable(_)
                | Verdict::Renamed(_),
                _,
            ) => None,
        }
    }

    /// An article that went away is not sent again: it is looked for once, if it may be there, and then held.
    pub(super) fn withdrawn(&self, id: &DeliveryId, again: Again, readable: bool) -> Step {
        if again == Again::Frozen && readable && !self.was_looked_for(id) {
            return Step::Look;
        }
        Step::Hold("the article went away before it could be sent again (withdrawn)".to_owned())
    }

    /// Whether the moment of a lookup, by this machine's clock, says anything about a delivery's quiet point.
    pub(super) fn tells_time_for(&self, id: &DeliveryId) -> bool {
        self.skewed.is_none() || self.is_own(id) || on(Mutant::MisdatedLookupCounts)
    }

    pub(super) fn was_looked_for(&self, id: &DeliveryId) -> bool {
        let desk = self.desks.get(&id.channel);
        desk.is_some_and(|desk| desk.looked_for.contains(id))
    }

    /// Whether a row belongs to another account than the one that is logged in: what that one's lists say is no answer.
    pub(super) fn is_of_another_account(&self, id: &DeliveryId) -> bool {
        let row = self.outbox.row(id).filter(|row| row.publish().is_some());
        let session = self.desks.get(&id.channel).and_then(Desk::session);
        let account = row.and_then(|row| row.account.as_ref());
        !on(Mutant::OtherAccountBelieved)
            && account
                .zip(session)
                .is_some_and(|(account, session)| *account != session.account)
    }

    /// Says that a row is left alone because another account is logged in; none if that is not so.
    pub(super) fn waits_for_its_account(&self, id: &DeliveryId) -> Option<String> {
        let row = self
            .outbox
            .row(id)
            .filter(|_| self.is_of_another_account(id))?;
        let settled = row.record().is_some_and(|record| record.state.is_settled());
        let session = self.desks.get(&id.channel).and_then(Desk::session)?;
        let account = row.account.as_ref().filter(|_| !settled)?;
        Some(format!(
            "it was claimed as {account}, and {} logs in as {} now: nothing is sent or looked for until it is that account again",
            id.channel, session.account
        ))
    }

    /// An article that was refused, and of which nothing was ever sent, is due again when it or its text has changed.
    pub(super) fn is_revised(&self, channel: &ChannelConfig, id: &DeliveryId) -> bool {
        let row = self.outbox.row(id);
        let record = row.filter(|row| row.current() != Operation::Retract);
        let record = record.and_then(Row::record);
        let item = self
            .survey
            .as_ref()
            .and_then(|survey| survey.items.get(&id.item));
        let Some((record, item)) = record.zip(item) else {
            return false;
        };
        let is_change = row.is_some_and(|row| row.current() != Operation::Publish);
        if is_change && self.checkout.put_off().is_some() {
            return false;
        }
        let refused = record.state == State::Failed && !record.frozen;
        let limit = self.limits(channel.name());
        refused
            && record
                .claim
                .as_ref()
                .is_some_and(|claim| says_otherwise(item, channel, limit, &claim.post))
    }
}
