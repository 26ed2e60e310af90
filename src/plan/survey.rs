//! Articles, channels and rows joined into deliveries, with the guards against floods.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::{ChannelConfig, Config};
use crate::ledger::{Baseline, Header, Snapshot};
use crate::model::address::normal_address;
use crate::model::channel::ChannelRules;
use crate::model::delivery::State;
use crate::model::ids::ChannelName;
use crate::model::item::{Item, ItemChannelSettings, ItemId};
use crate::model::row::{DeliveryId, Row};
use crate::model::time::Timestamp;
use crate::source::Catalog;

/// Every delivery there is, oldest item first, and what is kept back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey {
    /// The items in scope, under the ids that the ledger knows them by.
    pub items: BTreeMap<ItemId, Item>,
    /// The deliveries, oldest item first, channels in the order of the configuration.
    pub deliveries: Vec<Surveyed>,
    /// Items that are never a delivery, with the reason.
    pub out_of_scope: Vec<(ItemId, String)>,
    /// Channels that a flood guard keeps back.
    pub kept_back: BTreeMap<ChannelName, KeptBack>,
    /// Channels that are new beside others: what is online is baselined for them.
    pub new_channels: Baseline,
    /// Things to tell, in plain sentences.
    pub notices: Vec<String>,
}

/// One delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surveyed {
    /// Which.
    pub id: DeliveryId,
    /// Whether it takes part.
    pub verdict: Verdict,
}

/// Whether a delivery takes part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes by its record.
    InPlay,
    /// Never to be announced, by baseline or by the author.
    Skipped(String),
    /// Its channel is kept back.
    KeptBack(String),
    /// Its row can't be read: hands off.
    Unreadable(String),
    /// The article is gone, though it should still be listed.
    Withdrawn,
    /// It looks like an article that is known under another address.
    Renamed(String),
}

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
    /// A later run would announce too much that was never seen.
    TooManyNew {
        /// How many.
        due: usize,
        /// What is allowed.
        max: usize,
    },
}

impl KeptBack {
    /// Says it in one sentence, with what to do.
    pub fn sentence(&self, channel: &ChannelName) -> String {
        match self {
            Self::FirstRun { due, max } => format!(
                "{channel} is left out: its first run would announce {due} articles, more than `site.first_run_max` ({max}); \
                 `sayonce baseline --channel {channel}` marks them as announced before, or raise `site.first_run_max`"
            ),
            Self::TooManyNew { due, max } => format!(
                "{channel} is left out: {due} articles were never seen before, more than `site.max_new` ({max}); \
                 `sayonce baseline --channel {channel}` marks them as announced before, or raise `site.max_new`"
            ),
        }
    }
}

/// Which deliveries a command is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Item ids; empty: all.
    pub items: BTreeSet<ItemId>,
    /// Channels; empty: all.
    pub channels: BTreeSet<ChannelName>,
}

impl Selection {
    /// Returns whether a delivery is selected.
    pub fn contains(&self, id: &DeliveryId) -> bool {
        (self.items.is_empty() || self.items.contains(&id.item))
            && (self.channels.is_empty() || self.channels.contains(&id.channel))
    }
}

/// Joins articles, channels and rows.
///
/// The guards look at all items, whatever `selection` says, so that `--item` can't be used to get past them by accident.
pub fn survey(
    catalog: &Catalog,
    config: &Config,
    snapshot: &Snapshot,
    selection: &Selection,
    now: Timestamp,
) -> Survey {
    let known = KnownItems::of(snapshot);
    let mut survey = Survey {
        items: BTreeMap::new(),
        deliveries: Vec::new(),
        out_of_scope: Vec::new(),
        kept_back: BTreeMap::new(),
        new_channels: Baseline::new(),
        notices: Vec::new(),
    };
    let mut order = Vec::new();
    let mut renamed = BTreeMap::new();
    let listed: BTreeSet<&ItemId> = catalog.items.iter().map(|item| &item.id).collect();
    for item in &catalog.items {
        let id = known.id_of(item);
        if let Some(reason) = &item.out_of_scope {
            survey.out_of_scope.push((id, reason.to_string()));
            continue;
        }
        if id != item.id {
            survey.notices.push(format!(
                "{} is the article that the ledger knows as {id}: it is not announced again",
                item.canonical_url
            ));
        } else if let Some(old) = known.looks_like(item, &listed) {
            renamed.insert(id.clone(), old);
        }
        order.push(id.clone());
        survey.items.insert(id.clone(), Item { id, ..item.clone() });
    }
    for channel in &config.channels {
        guard(
            &mut survey,
            channel,
            config,
            snapshot,
            &order,
            &renamed,
            now,
        );
    }
    let gone = gone_items(config, snapshot, &survey, catalog);
    for id in gone.iter().map(|(id, _)| id).chain(&order) {
        for channel in &config.channels {
            let delivery = DeliveryId {
                item: id.clone(),
                channel: channel.name().clone(),
            };
            let Some(verdict) = verdict(&survey, channel, snapshot, &delivery, &gone, &renamed)
            else {
                continue;
            };
            if selection.contains(&delivery) {
                survey.deliveries.push(Surveyed {
                    id: delivery,
                    verdict,
                });
            }
        }
    }
    survey
}

/// Keeps a channel back, or baselines it, before anything else is decided for it.
fn guard(
    survey: &mut Survey,
    channel: &ChannelConfig,
    config: &Config,
    snapshot: &Snapshot,
    order: &[ItemId],
    renamed: &BTreeMap<ItemId, ItemId>,
    now: Timestamp,
) {
    let name = channel.name();
    let online: Vec<&ItemId> = order
        .iter()
        .filter(|id| {
            survey
                .items
                .get(*id)
                .is_some_and(|item| in_channel_scope(item, &channel.rules))
        })
        .collect();
    let has_rows = snapshot.rows.keys().any(|id| id.channel == *name)
        || snapshot
            .unreadable
            .iter()
            .any(|file| file.delivery.as_ref().is_some_and(|id| id.channel == *name));
    let baselined = snapshot.baseline.get(name);
    let known_channel = snapshot
        .header
        .as_ref()
        .and_then(|header| header.channels.get(name));
    let others_have_rows = snapshot.rows.keys().any(|id| id.channel != *name);
    if !has_rows && baselined.is_none() && known_channel.is_none() && others_have_rows {
        survey.notices.push(format!(
            "{name} is new beside channels that are in use: the {} articles that are online now are not announced there; \
             it starts with the next one",
            online.len()
        ));
        survey
            .new_channels
            .insert(name.clone(), online.into_iter().cloned().collect());
        return;
    }
    let never_seen = online
        .into_iter()
        .filter(|id| {
            let delivery = DeliveryId {
                item: (*id).clone(),
                channel: name.clone(),
            };
            let item = survey.items.get(*id);
            !snapshot.rows.contains_key(&delivery)
                && baselined.is_none_or(|ids| !ids.contains(*id))
                && known_channel.is_none_or(|known| !known.admitted.contains(*id))
                && !renamed.contains_key(*id)
                && item.is_some_and(|item| !excluded_by_author(item, name))
                // What is planned for later is not part of a flood now.
                && item.is_some_and(|item| item.settings.publish_at.is_none_or(|at| at <= now))
        })
        .count();
    let first = !has_rows && baselined.is_none();
    if first && never_seen > config.site.first_run_max {
        let kept = KeptBack::FirstRun {
            due: never_seen,
            max: config.site.first_run_max,
        };
        survey.kept_back.insert(name.clone(), kept);
    } else if !first && never_seen > config.site.max_new {
        let kept = KeptBack::TooManyNew {
            due: never_seen,
            max: config.site.max_new,
        };
        survey.kept_back.insert(name.clone(), kept);
    }
}

fn verdict(
    survey: &Survey,
    channel: &ChannelConfig,
    snapshot: &Snapshot,
    delivery: &DeliveryId,
    gone: &[(ItemId, Gone)],
    renamed: &BTreeMap<ItemId, ItemId>,
) -> Option<Verdict> {
    let row = snapshot.rows.get(delivery).map(|stored| &stored.row);
    let unreadable = snapshot
        .unreadable
        .iter()
        .find(|file| file.delivery.as_ref() == Some(delivery));
    if let Some(file) = unreadable {
        return Some(Verdict::Unreadable(format!(
            "{} can't be read: {}",
            file.path, file.reason
        )));
    }
    let Some(item) = survey.items.get(&delivery.item) else {
        // An article that is no longer listed keeps what it has in the ledger.
        let row = row?;
        let gone = gone
            .iter()
            .find(|(id, _)| *id == delivery.item)
            .map(|(_, gone)| *gone);
        return Some(match (gone, row.publish().map(|record| record.state)) {
            (Some(Gone::Withdrawn), Some(State::Retry)) => Verdict::Withdrawn,
            (_, _) => Verdict::InPlay,
        });
    };
    if row.is_some() {
        return Some(Verdict::InPlay);
    }
    if !in_channel_scope(item, &channel.rules) {
        return None;
    }
    let baselined = |baseline: &Baseline| {
        baseline
            .get(channel.name())
            .is_some_and(|ids| ids.contains(&delivery.item))
    };
    if baselined(&snapshot.baseline) || baselined(&survey.new_channels) {
        return Some(Verdict::Skipped(
            "online before this channel was used (baseline)".to_owned(),
        ));
    }
    if excluded_by_author(item, channel.name()) {
        return Some(Verdict::Skipped(format!(
            "`{}: false` in its front matter",
            channel.name()
        )));
    }
    if let Some(kept) = survey.kept_back.get(channel.name()) {
        return Some(Verdict::KeptBack(kept.sentence(channel.name())));
    }
    if let Some(old) = renamed.get(&delivery.item) {
        return Some(Verdict::Renamed(format!(
            "it looks like {old} under a new address; `sayonce rename {old} {new}` if it is the same article, \
             `sayonce approve {new} {channel}` if it is another",
            new = delivery.item,
            channel = channel.name(),
        )));
    }
    Some(Verdict::InPlay)
}

fn in_channel_scope(item: &Item, rules: &ChannelRules) -> bool {
    match (rules.since, item.published) {
        (Some(since), Some(published)) => published >= since,
        (Some(_) | None, _) => true,
    }
}

fn excluded_by_author(item: &Item, channel: &ChannelName) -> bool {
    match item.settings.channels.get(channel) {
        Some(ItemChannelSettings::Excluded) => true,
        Some(ItemChannelSettings::Custom { .. }) | None => false,
    }
}

/// What became of an article that has rows and is not listed any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gone {
    /// The list shows only its newest entries, and this one is older.
    LeftTheList,
    /// The list reaches back past its date and does not have it.
    Withdrawn,
}

/// Items with rows on configured channels that no source lists, oldest first.
fn gone_items(
    config: &Config,
    snapshot: &Snapshot,
    survey: &Survey,
    catalog: &Catalog,
) -> Vec<(ItemId, Gone)> {
    let out_of_scope: BTreeSet<&ItemId> = survey.out_of_scope.iter().map(|(id, _)| id).collect();
    let oldest_listed = catalog.items.iter().filter_map(|item| item.published).min();
    let mut gone: BTreeMap<&ItemId, (Option<Timestamp>, Gone)> = BTreeMap::new();
    for (id, stored) in &snapshot.rows {
        let configured = config
            .channels
            .iter()
            .any(|channel| *channel.name() == id.channel);
        let unfinished = stored
            .row
            .publish()
            .is_some_and(|record| !matches!(record.state, State::Done | State::Skipped));
        let hidden = out_of_scope.contains(&id.item) && !unfinished;
        if !configured || hidden || survey.items.contains_key(&id.item) {
            continue;
        }
        let what = match (stored.row.published, oldest_listed) {
            (Some(published), Some(oldest)) if published >= oldest => Gone::Withdrawn,
            (_, _) => Gone::LeftTheList,
        };
        gone.entry(&id.item).or_insert((stored.row.published, what));
    }
    let mut gone: Vec<_> = gone.into_iter().collect();
    gone.sort_by(|one, other| (one.1.0, one.0).cmp(&(other.1.0, other.0)));
    gone.into_iter()
        .map(|(id, (_, what))| (id.clone(), what))
        .collect()
}

/// By what the ledger recognises an article.
struct KnownItems<'a> {
    ids: BTreeSet<&'a ItemId>,
    by_guid: BTreeMap<&'a str, &'a ItemId>,
    by_url: BTreeMap<String, &'a ItemId>,
    rows: Vec<&'a Row>,
}

impl<'a> KnownItems<'a> {
    fn of(snapshot: &'a Snapshot) -> Self {
        let mut known = Self {
            ids: BTreeSet::new(),
            by_guid: BTreeMap::new(),
            by_url: BTreeMap::new(),
            rows: Vec::new(),
        };
        for stored in snapshot.rows.values() {
            let row = &stored.row;
            known.ids.insert(&row.item);
            if let Some(guid) = &row.guid {
                known.by_guid.insert(guid, &row.item);
            }
            for url in row.aliases.iter().chain([&row.canonical_url]) {
                known.by_url.insert(address(url), &row.item);
            }
            known.rows.push(row);
        }
        known
    }

    /// Returns the id under which the ledger knows the article: a known guid or alias is the same item.
    fn id_of(&self, item: &Item) -> ItemId {
        if self.ids.contains(&item.id) {
            return item.id.clone();
        }
        let by_guid = item.guid.as_deref().and_then(|guid| self.by_guid.get(guid));
        let by_url = || {
            item.aliases
                .iter()
                .chain([&item.canonical_url])
                .find_map(|url| self.by_url.get(&address(url)))
        };
        by_guid
            .or_else(by_url)
            .map_or_else(|| item.id.clone(), |id| (*id).clone())
    }

    /// Returns the known item that a new one looks like: same source file, same date and title, or same body.
    /// Only an item that is not listed any more can have moved.
    fn looks_like(&self, item: &Item, listed: &BTreeSet<&ItemId>) -> Option<ItemId> {
        if self.ids.contains(&item.id) {
            return None;
        }
        self.rows
            .iter()
            .filter(|row| !listed.contains(&row.item))
            .find(|row| {
                let same_source = row.source.is_some() && row.source == item.source_file;
                let same_date_and_title = row.published.is_some()
                    && row.published == item.published
                    && row.title == item.title;
                let same_body = row.body.is_some() && row.body == item.body_fingerprint();
                same_source || same_date_and_title || same_body
            })
            .map(|row| row.item.clone())
    }
}

fn address(url: &str) -> String {
    normal_address(url).unwrap_or_else(|| url.to_owned())
}

/// Returns the header as the first commit of a run leaves it: every configured channel is known from then on, so that
/// a channel whose first run was cut short is never taken for a new one and baselined.
pub fn registered(
    header: &Header,
    config: &Config,
    survey: &Survey,
    snapshot: &Snapshot,
) -> Header {
    let mut registered = header.clone();
    for channel in &config.channels {
        let name = channel.name();
        let known = registered.channels.entry(name.clone()).or_default();
        if survey.kept_back.contains_key(name) || survey.new_channels.contains_key(name) {
            continue;
        }
        let waiting: BTreeSet<ItemId> = survey
            .items
            .values()
            .filter(|item| in_channel_scope(item, &channel.rules))
            .map(|item| item.id.clone())
            .filter(|id| {
                let delivery = DeliveryId {
                    item: id.clone(),
                    channel: name.clone(),
                };
                let baselined = snapshot
                    .baseline
                    .get(name)
                    .is_some_and(|ids| ids.contains(id));
                !snapshot.rows.contains_key(&delivery) && !baselined
            })
            .collect();
        // Few enough are let through by the guard anyway, and a list that still covers them stays as it is: the file
        // is small and seldom changes.
        if waiting.len() > config.site.max_new && !waiting.is_subset(&known.admitted) {
            known.admitted = waiting;
        }
    }
    registered
}
