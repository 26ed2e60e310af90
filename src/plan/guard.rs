//! The guards against floods: a first run, a later one, and a channel that is new beside others.
//!
//! Invariant: no run announces more than `first_run_max` or `max_new` articles that nobody let through, and a channel
//! whose first run was cut short is never taken for a new one.

use std::collections::BTreeSet;

use crate::config::{ChannelConfig, Config};
use crate::exit::Exit;
use crate::ledger::{Header, Snapshot};
use crate::model::channel::ChannelRules;
use crate::model::delivery::State;
use crate::model::ids::ChannelName;
use crate::model::item::{Item, ItemChannelSettings, ItemId};
use crate::model::row::{DeliveryId, Row};
use crate::model::time::Timestamp;

use super::decide::planned;
use super::survey::{Announce, Survey};

/// Why a channel is left out of this run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeptBack {
    /// The first run on this channel would announce too much.
    FirstRun {
        /// How many.
        due: usize,
        /// What is allowed.
        max: usize,
    },
    /// It looks like a channel that stands in the ledger under another name.
    Renamed {
        /// The name that is gone from the configuration.
        old: ChannelName,
    },
    /// A later run would announce too much that was never seen.
    TooManyNew {
        /// How many.
        due: usize,
        /// What is allowed.
        max: usize,
    },
}

impl KeptBack {
    /// Returns what it means for the exit code.
    pub const fn exit(&self) -> Exit {
        match self {
            Self::FirstRun { .. } | Self::Renamed { .. } => Exit::Usage,
            Self::TooManyNew { .. } => Exit::NeedsPerson,
        }
    }

    /// Says it in one sentence, with what to do.
    pub fn sentence(&self, channel: &ChannelName) -> String {
        match self {
            Self::FirstRun { due, max } => format!(
                "{channel} is left out: its first run would announce {due} articles, more than `site.first_run_max` ({max}); \
                 `sayonce baseline --channel {channel}` marks them as announced before, \
                 `sayonce approve --all-new --channel {channel}` lets them all be announced"
            ),
            Self::Renamed { old } => format!(
                "{channel} is left out: it is new, and {old}, which has rows in the ledger, is gone. If it is the same \
                 channel, `sayonce adopt --rename {old} {channel}` moves its rows; if it is another, `sayonce baseline --channel {channel}` lets it start \
                 with the next article"
            ),
            Self::TooManyNew { due, max } => format!(
                "{channel} is left out: {due} articles were never seen before, more than `site.max_new` ({max}); \
                 `sayonce baseline --channel {channel}` marks them as announced before, \
                 `sayonce approve --all-new --channel {channel}` lets them all be announced"
            ),
        }
    }
}

/// What a guard decides for one channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Guarded {
    /// Go on.
    Open,
    /// Leave it out of this run.
    KeptBack(KeptBack),
    /// It is new beside others: these are online already and are not announced there.
    New(BTreeSet<ItemId>),
}

/// Looks at one channel before anything else is decided for it.
pub(super) fn guard(
    survey: &Survey,
    channel: &ChannelConfig,
    config: &Config,
    snapshot: &Snapshot,
    announce: Announce,
    now: Timestamp,
) -> Guarded {
    let name = channel.name();
    let used = || {
        let rows = snapshot.rows.iter();
        rows.filter(|(_, stored)| !is_word_alone(&stored.row))
    };
    let has_rows = used().any(|(id, _)| id.channel == *name)
        || snapshot
            .unreadable
            .iter()
            .any(|file| file.delivery.as_ref().is_some_and(|id| id.channel == *name));
    let is_baselined = snapshot.baseline.contains_key(name);
    let is_known = is_known(snapshot, name);
    let others_have_rows = used().any(|(id, _)| id.channel != *name);
    if !has_rows && !is_baselined && !is_known && others_have_rows {
        // Rows go by the channel's name: under another one everything would count as never announced.
        if let Some(old) = gone_channel(config, snapshot) {
            return Guarded::KeptBack(KeptBack::Renamed { old });
        }
        // What can't be seen can't be baselined; nothing is announced in such a run anyway.
        return match announce {
            Announce::New => Guarded::New(online(survey, channel, now)),
            Announce::NothingNew => Guarded::Open,
        };
    }
    let due = never_seen(survey, channel, snapshot, now)
        .iter()
        .filter(|id| !is_admitted(snapshot, name, id))
        .count();
    let first = !has_rows && !is_baselined;
    let max = if first {
        config.site.first_run_max
    } else {
        config.site.max_new
    };
    match (due > max, first) {
        (false, _) => Guarded::Open,
        (true, true) => Guarded::KeptBack(KeptBack::FirstRun { due, max }),
        (true, false) => Guarded::KeptBack(KeptBack::TooManyNew { due, max }),
    }
}

/// Whether a row is nothing but what a person said, or wrote: that is no use of its channel, so it makes no other one new beside it.
fn is_word_alone(row: &Row) -> bool {
    row.publish().is_some_and(|record| {
        record.attempt == 0 && (record.by.is_some() || record.state != State::Done)
    })
}

/// Returns a channel that has rows and is not in the configuration any more, not even switched off.
fn gone_channel(config: &Config, snapshot: &Snapshot) -> Option<ChannelName> {
    let is_configured = |name: &ChannelName| {
        config.disabled.contains(name)
            || config.channels.iter().any(|channel| channel.name() == name)
    };
    snapshot
        .rows
        .keys()
        .map(|id| &id.channel)
        .find(|name| !is_configured(name))
        .cloned()
}

fn is_known(snapshot: &Snapshot, name: &ChannelName) -> bool {
    let header = snapshot.header.as_ref();
    header.is_some_and(|header| header.channels.contains_key(name))
}

fn is_admitted(snapshot: &Snapshot, name: &ChannelName, id: &ItemId) -> bool {
    let header = snapshot.header.as_ref();
    let known = header.and_then(|header| header.channels.get(name));
    known.is_some_and(|known| known.admitted.contains(id))
}

/// Articles that are online now, as far as this channel is concerned; what is planned for later is not.
pub fn online(survey: &Survey, channel: &ChannelConfig, now: Timestamp) -> BTreeSet<ItemId> {
    survey
        .items
        .values()
        .filter(|item| in_channel_scope(item, &channel.rules))
        .filter(|item| planned(item, &channel.rules, now).is_none())
        .map(|item| item.id.clone())
        .collect()
}

/// Articles that would be announced on this channel now and of which the ledger has never heard.
fn never_seen(
    survey: &Survey,
    channel: &ChannelConfig,
    snapshot: &Snapshot,
    now: Timestamp,
) -> BTreeSet<ItemId> {
    let name = channel.name();
    let baselined = snapshot.baseline.get(name);
    online(survey, channel, now)
        .into_iter()
        .filter(|id| {
            let delivery = DeliveryId {
                item: id.clone(),
                channel: name.clone(),
            };
            !snapshot.rows.contains_key(&delivery)
        })
        .filter(|id| baselined.is_none_or(|ids| !ids.contains_key(id)))
        .filter(|id| !survey.renamed.contains_key(id))
        .filter(|id| {
            let item = survey.items.get(id);
            item.is_some_and(|item| !excluded_by_author(item, name))
        })
        .collect()
}

/// Returns the header as a run leaves it: every configured channel is known from then on, so that a channel whose
/// first run was cut short is never taken for a new one and baselined.
pub fn registered(
    header: &Header,
    config: &Config,
    survey: &Survey,
    snapshot: &Snapshot,
    announce: Announce,
    now: Timestamp,
) -> Header {
    let mut registered = header.clone();
    if announce == Announce::NothingNew {
        return registered;
    }
    for channel in &config.channels {
        let name = channel.name();
        let known = registered.channels.entry(name.clone()).or_default();
        known.since.get_or_insert(now);
        if survey.kept_back.contains_key(name) || survey.new_channels.contains_key(name) {
            continue;
        }
        let waiting = never_seen(survey, channel, snapshot, now);
        // Few enough are let through by the guard anyway, and a list that still covers them stays as it is: the file
        // is small and seldom changes.
        if waiting.len() > config.site.max_new && !waiting.is_subset(&known.admitted) {
            known.admitted = waiting;
        }
    }
    registered
}

pub(super) fn in_channel_scope(item: &Item, rules: &ChannelRules) -> bool {
    match (rules.since, item.published) {
        (Some(since), Some(published)) => published >= since,
        (Some(_) | None, _) => true,
    }
}

/// Whether the author said `false` for this channel.
pub fn excluded_by_author(item: &Item, channel: &ChannelName) -> bool {
    match item.settings.channels.get(channel) {
        Some(ItemChannelSettings::Excluded) => true,
        Some(ItemChannelSettings::Custom { .. }) | None => false,
    }
}
