//! What somebody should look at, in the same words whether a run or an audit tells it.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::config::Config;
use crate::exit::Exit;
use crate::ledger::{Baseline, Header};
use crate::model::delivery::{Operation, State};
use crate::model::ids::{Account, ChannelName};
use crate::model::item::{Item, ItemId};
use crate::model::outcome::{Evidence, Remote};
use crate::model::row::{DeliveryId, Row};
use crate::model::time::{Timestamp, duration_text};
use crate::source::Catalog;

use super::outlook::Outlook;
use super::survey::{Survey, Verdict};

/// A doubt that lasts longer is an alarm.
pub const DOUBT_ALARM: Duration = Duration::from_mins(5);

/// A post that was there already is news for a day: its run told it, and nobody may have been there to read it.
const ADOPTION_ALARM: Duration = Duration::from_hours(24);

/// A list of fewer articles is a young site's, not a short feed.
const FEED_ITEMS_MIN: usize = 5;

/// What the alarms are found in.
#[derive(Debug)]
pub struct Facts<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// The items in scope, under the ids that the ledger knows them by.
    pub items: &'a BTreeMap<ItemId, Item>,
    /// `ledger.json`.
    pub header: Option<&'a Header>,
    /// `baseline.json`.
    pub baseline: Option<&'a Baseline>,
    /// The rows.
    pub rows: BTreeMap<&'a DeliveryId, &'a Row>,
    /// Every delivery.
    pub deliveries: &'a [Outlook],
    /// The present.
    pub now: Timestamp,
}

impl Facts<'_> {
    /// Returns what is in doubt, or claimed and not settled, for too long.
    pub fn doubts(&self) -> Vec<String> {
        let selected = self.deliveries.iter().map(|delivery| (&delivery.id, ""));
        // Runs don't look for what is on a channel that is switched off, so somebody has to know of it.
        let off = self.rows.keys().filter_map(|id| {
            self.config.disabled.contains(&id.channel).then_some((
                *id,
                "; its channel is switched off (`enabled = false`), so nobody looks for it: switch it on for one run",
            ))
        });
        let doubts = selected.chain(off).filter_map(|(id, more)| {
            let since = self.doubt_since(id)?;
            let lasts = self.now.since(since);
            (lasts > DOUBT_ALARM).then(|| {
                let lasts = duration_text(lasts);
                format!("{id}: in doubt for {lasts}, since {since}{more}")
            })
        });
        doubts.collect()
    }

    /// Returns since when it is not known whether a delivery was made; none if it is known.
    pub fn doubt_since(&self, id: &DeliveryId) -> Option<Timestamp> {
        let record = self.rows.get(id)?.record()?;
        match record.state {
            State::InDoubt => record.doubt_since,
            State::InFlight => record.claim.as_ref().map(|claim| claim.claimed_at),
            State::Retry | State::Done | State::Failed | State::Held | State::Skipped => None,
        }
    }

    /// Returns what is due and unproved for longer than `site.overdue`.
    pub fn overdue(&self) -> Vec<String> {
        let unfinished = self
            .deliveries
            .iter()
            .filter(|delivery| delivery.weight() == Exit::WorkRemains);
        let overdue = unfinished.filter_map(|delivery| {
            let lasts = self.now.since(self.due_since(delivery)?);
            (lasts > self.config.site.overdue).then(|| {
                format!(
                    "{}: due for {} and not proved",
                    delivery.id,
                    duration_text(lasts)
                )
            })
        });
        overdue.collect()
    }

    /// Returns since when a delivery is due; what was due before its channel was first used counts from then. None
    /// where no run has used the channel yet.
    pub fn due_since(&self, delivery: &Outlook) -> Option<Timestamp> {
        let item = self.items.get(&delivery.id.item);
        let row = self.rows.get(&delivery.id);
        if delivery.operation != Operation::Publish {
            // The article's own date says nothing of when it was edited, or unwanted.
            let record = row?.operations.get(&delivery.operation)?;
            let claimed_at = record.claim.as_ref().map(|claim| claim.first_claimed_at);
            let decided_at = record.by.as_ref().map(|by| by.at);
            return decided_at.or(claimed_at).or(record.settled_at);
        }
        let name = &delivery.id.channel;
        let baselined = self.baseline.and_then(|baseline| baseline.get(name));
        if baselined.is_some_and(|items| items.contains_key(&delivery.id.item)) {
            // An old article that changed: its own date says nothing of when.
            let record = row?.publish()?;
            let claimed_at = record.claim.as_ref().map(|claim| claim.first_claimed_at);
            let decided_at = record.by.as_ref().map(|by| by.at);
            return decided_at.or(claimed_at).or(record.settled_at);
        }
        let published =
            item.map_or_else(|| row.and_then(|row| row.published), |item| item.published);
        let channel = self
            .config
            .channels
            .iter()
            .find(|channel| channel.name() == name)?;
        let delayed = published.map(|at| at.plus(channel.rules.delay));
        let planned = item.and_then(|item| item.settings.publish_at);
        let known = self.header?.channels.get(name)?.since?;
        Some(known).max(delayed).max(planned)
    }

    /// Returns what was taken for an announcement within the last day, because it was there.
    pub fn adoptions(&self) -> Vec<String> {
        let adopted = self.deliveries.iter().filter_map(|delivery| {
            let record = self.rows.get(&delivery.id)?.publish()?;
            let is_news = record
                .settled_at
                .is_some_and(|at| self.now.since(at) < ADOPTION_ALARM);
            // Whoever looked the account through knows it.
            let by_person = record.by.as_ref().map(|by| by.at) == record.settled_at;
            (record.state == State::Done
                && record.evidence == Some(Evidence::Adopted)
                && is_news
                && !by_person)
                .then(|| Some(adopted(&delivery.id, record.remote.as_ref()?)))?
        });
        adopted.collect()
    }

    /// Returns channels whose unsettled deliveries are of another account than the newest claim's: that account's lists
    /// say nothing about them, so runs leave them alone.
    pub fn other_accounts(&self) -> Vec<String> {
        let changed = self.config.channels.iter().filter_map(|channel| {
            let rows = self
                .rows
                .values()
                .filter(|row| row.channel == *channel.name());
            let newest = newest_account(rows.clone().copied(), channel.name())?;
            let left: Vec<_> = rows
                .filter(|row| row.record().is_some_and(|record| !record.state.is_settled()))
                .filter_map(|row| {
                    let account = row.account.as_ref()?;
                    (account != newest).then_some((row, account))
                })
                .collect();
            let (row, account) = left.first()?;
            Some(format!(
                "{}: the account changed from {account} to {newest}, and {} is left alone{}: `sayonce resolve {} {} \
                 --posted URL` (or --not-posted) settles it",
                channel.name(),
                row.item,
                match left.len() {
                    1 => String::new(),
                    more => format!(", with {} more", more - 1),
                },
                row.item,
                row.channel,
            ))
        });
        changed.collect()
    }
}

/// Returns the account of the newest claim on a channel.
pub fn newest_account<'a>(
    rows: impl IntoIterator<Item = &'a Row>,
    channel: &ChannelName,
) -> Option<&'a Account> {
    let of_channel = rows.into_iter().filter(|row| row.channel == *channel);
    let accounts = of_channel.filter_map(|row| {
        let claimed_at = row.publish()?.claim.as_ref()?.claimed_at;
        Some((claimed_at, row.account.as_ref()?))
    });
    accounts.max().map(|(_, newest)| newest)
}

/// Says that a channel posts as somebody else than its newest claim; none if it does not.
pub fn account_changed<'a>(
    rows: impl IntoIterator<Item = &'a Row>,
    channel: &ChannelName,
    now: &Account,
) -> Option<String> {
    let before = newest_account(rows, channel).filter(|before| *before != now)?;
    Some(format!(
        "{channel}: the account changed from {before} to {now}: what is new is posted there, and what {before} posted \
         can't be read back any more"
    ))
}

/// Says that a post was there before anything was sent, and what to do if it is not the announcement.
pub fn adopted(id: &DeliveryId, remote: &Remote) -> String {
    let place = remote
        .url
        .as_deref()
        .map_or_else(String::new, |url| format!(": {url}"));
    format!(
        "{id}: not sent, because a post with its link was there already{place}; `sayonce again {} {}` announces it all \
         the same",
        id.item, id.channel
    )
}

/// Says that an announcement stands twice, and why that can be.
pub fn twice(id: &DeliveryId, first: Option<&Remote>, second: &Remote) -> String {
    let place = |remote: &Remote| remote.url.clone().or_else(|| remote.id.clone());
    let places: Vec<_> = first
        .into_iter()
        .chain([second])
        .filter_map(place)
        .collect();
    format!(
        "{id}: it stands twice, {}: the service was longer at work on a request than `quarantine` says; delete one of \
         them, and raise `quarantine`",
        places.join(" and ")
    )
}

/// Returns the channels on which articles may have come and left the feed between two runs: even the oldest article
/// that the feed lists is newer than the newest that the ledger has.
///
/// To be asked before what is listed now gets rows.
pub fn short_feed(
    config: &Config,
    catalog: &Catalog,
    survey: &Survey,
    baseline: &Baseline,
    rows: &BTreeMap<&DeliveryId, &Row>,
) -> Vec<String> {
    let site = &config.site;
    let only_feed = site.feed.is_some() && site.sitemap.is_none() && site.manifest.is_none();
    let oldest = catalog.items.iter().filter_map(|item| item.published).min();
    let (true, true, Some(oldest)) = (only_feed, catalog.items.len() >= FEED_ITEMS_MIN, oldest)
    else {
        return Vec::new();
    };
    let channels = config.channels.iter().filter_map(|channel| {
        let name = channel.name();
        let newest = rows
            .iter()
            .filter(|(id, _)| id.channel == *name)
            .filter_map(|(_, row)| row.published)
            .max()
            .filter(|newest| *newest < oldest)?;
        // What is known of the list shows that it reaches back far enough.
        let known = |id: &ItemId| baseline.get(name).is_some_and(|ids| ids.contains_key(id));
        let mut listed = survey
            .deliveries
            .iter()
            .filter(|surveyed| surveyed.id.channel == *name)
            .filter(|surveyed| survey.items.contains_key(&surveyed.id.item));
        let reaches = listed
            .clone()
            .any(|surveyed| known(&surveyed.id.item) || rows.contains_key(&surveyed.id));
        let has_new = listed.any(|surveyed| match surveyed.verdict {
            Verdict::InPlay | Verdict::KeptBack(_) | Verdict::Renamed(_) => true,
            Verdict::Skipped(_) | Verdict::Unreadable(_) | Verdict::Withdrawn => false,
        });
        (has_new && !reaches).then(|| {
            format!(
                "{name}: articles may have come and gone unseen: the oldest that the feed lists is of {oldest}, the \
                 newest announced is of {newest}; let the feed list more articles, or name a sitemap or a manifest \
                 beside it"
            )
        })
    });
    channels.collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::ledger::fixture::{claimed, doubted, proved, row};
    use crate::model::delivery::{Decision, Event};
    use crate::plan::outlook::blank;

    const CONFIG: &str = "[site]\nurl = \"https://blog.example\"\nfeed = \"feed.xml\"\n\
                          [channels.mastodon]\nkind = \"mastodon\"\nserver = \"https://mastodon.example\"\n";

    fn check(rows: &[Row]) -> Vec<String> {
        let config = Config::parse(Path::new("sayonce.toml"), CONFIG).unwrap();
        let ids: Vec<_> = rows.iter().map(Row::delivery_id).collect();
        let facts = Facts {
            config: &config,
            items: &BTreeMap::new(),
            header: None,
            baseline: None,
            rows: ids.iter().zip(rows).collect(),
            deliveries: &[],
            now: Timestamp::EPOCH,
        };
        facts.other_accounts()
    }

    #[test]
    fn what_was_baselined_and_approved_is_due_since_the_approval() {
        let config = Config::parse(Path::new("sayonce.toml"), CONFIG).unwrap();
        let at = Timestamp::parse("2026-11-29T10:00:00Z").unwrap();
        let by = Decision {
            who: "me".to_owned(),
            at,
            verb: "approve".to_owned(),
            why: None,
        };
        let row = row("a", "mastodon", [Event::Released { by }]);
        let id = row.delivery_id();
        let baseline = Baseline::from([(
            id.channel.clone(),
            [(id.item.clone(), None)].into_iter().collect(),
        )]);
        let due_since = |rows: BTreeMap<&DeliveryId, &Row>| {
            let facts = Facts {
                config: &config,
                items: &BTreeMap::new(),
                header: None,
                baseline: Some(&baseline),
                rows,
                deliveries: &[],
                now: at,
            };
            facts.due_since(&blank(&id, Operation::Publish, row.publish()))
        };
        assert_eq!(due_since([(&id, &row)].into()), Some(at));
        assert_eq!(due_since(BTreeMap::new()), None);
    }

    #[test]
    fn what_another_account_left_unsettled_is_named() {
        let of = |account: &str, row: Row| Row {
            account: Some(Account::new(account)),
            ..row
        };
        let unsettled = |item: &str| of("@old", row(item, "mastodon", [claimed(1), doubted()]));
        let settled = of("@old", row("c", "mastodon", [claimed(1), proved("1")]));
        let newest = of("@new", row("d", "mastodon", [claimed(2), proved("2")]));
        assert_eq!(check(&[settled.clone(), newest.clone()]), [""; 0]);
        assert_eq!(check(&[unsettled("a"), settled]), [""; 0]);
        assert_eq!(
            check(&[unsettled("a"), unsettled("b"), newest]),
            [
                "mastodon: the account changed from @old to @new, and a is left alone, with 1 more: `sayonce resolve a \
                 mastodon --posted URL` (or --not-posted) settles it"
            ]
        );
    }
}
