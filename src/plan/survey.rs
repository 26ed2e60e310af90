//! Articles, channels and rows joined into deliveries, with the guards against floods.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::{ChannelConfig, Config};
use crate::ledger::{Baseline, Snapshot};
use crate::model::channel::ReceiptKind;
use crate::model::delivery::State;
use crate::model::ids::{ChannelName, Fingerprint};
use crate::model::item::{Item, ItemId, Said};
use crate::model::row::{DeliveryId, Row};
use crate::model::time::Timestamp;
use crate::source::Catalog;

use super::guard::{Guarded, KeptBack, excluded_by_author, guard, in_channel_scope};
use super::known::{KnownItems, Recognised};

/// Every delivery there is, oldest item first, and what is kept back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey {
    /// The items in scope, under the ids that the ledger knows them by.
    pub items: BTreeMap<ItemId, Item>,
    /// What they say, where a channel follows their changes.
    pub said: BTreeMap<ItemId, Said>,
    /// The deliveries, oldest item first, channels in the order of the configuration.
    pub deliveries: Vec<Surveyed>,
    /// Items that are never a delivery, with the reason.
    pub out_of_scope: Vec<(ItemId, String)>,
    /// Channels that a flood guard keeps back.
    pub kept_back: BTreeMap<ChannelName, KeptBack>,
    /// Articles that look like one that is known under another address.
    pub renamed: BTreeMap<ItemId, ItemId>,
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

/// Which deliveries a command is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Item ids; empty: all.
    pub items: BTreeSet<ItemId>,
    /// Channels; empty: all.
    pub channels: BTreeSet<ChannelName>,
    /// Whether new deliveries may start.
    pub announce: Announce,
    /// Articles that are named go out whatever the baseline and the flood guards say: in a rehearsal nobody is flooded.
    pub rehearses: bool,
}

/// Whether new deliveries may start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Announce {
    /// They may.
    #[default]
    New,
    /// Only what the ledger holds is settled: the sources can't be read, or `site.enabled` is `false`.
    NothingNew,
}

impl Survey {
    /// Returns an article and what it says, where a channel follows its changes.
    pub fn article(&self, id: &ItemId) -> Option<(&Item, &Said)> {
        self.items.get(id).zip(self.said.get(id))
    }
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
        said: BTreeMap::new(),
        deliveries: Vec::new(),
        out_of_scope: Vec::new(),
        kept_back: BTreeMap::new(),
        renamed: BTreeMap::new(),
        new_channels: Baseline::new(),
        notices: Vec::new(),
    };
    let mut order = Vec::new();
    let listed: BTreeSet<&ItemId> = catalog.items.iter().map(|item| &item.id).collect();
    for item in &catalog.items {
        let (id, looks_like) = match known.recognise(item, &listed) {
            Recognised::Moved(id) if !survey.items.contains_key(&id) => (id, None),
            Recognised::Moved(id) | Recognised::LooksLike(id) => (item.id.clone(), Some(id)),
            Recognised::Itself => (item.id.clone(), None),
        };
        if let Some(reason) = &item.out_of_scope {
            survey.out_of_scope.push((id, reason.to_string()));
            continue;
        }
        if id != item.id {
            survey.notices.push(format!(
                "{} is the article that the ledger knows as {id}: it is not announced again",
                item.canonical_url
            ));
        }
        if let Some(old) = looks_like {
            survey.renamed.insert(id.clone(), old);
        }
        order.push(id.clone());
        survey.items.insert(id.clone(), Item { id, ..item.clone() });
    }
    if config
        .channels
        .iter()
        .any(|channel| channel.rules.follow_edits)
    {
        let said = |(id, item): (&ItemId, &Item)| (id.clone(), item.said());
        survey.said = survey.items.iter().map(said).collect();
    }
    for channel in &config.channels {
        let name = channel.name().clone();
        match guard(&survey, channel, config, snapshot, selection.announce, now) {
            Guarded::Open => {}
            Guarded::KeptBack(kept) => {
                survey.kept_back.insert(name, kept);
            }
            Guarded::New(online) => {
                let what = match online.len() {
                    0 => "it starts with the next article".to_owned(),
                    1 => "the article that is online now is not announced there; it starts with the next one".to_owned(),
                    count => format!(
                        "the {count} articles that are online now are not announced there; it starts with the next one"
                    ),
                };
                survey.notices.push(format!(
                    "{name} is new beside channels that are in use: {what}"
                ));
                let online = online.into_iter().map(|id| {
                    let said = survey.said.get(&id).filter(|_| channel.rules.follow_edits);
                    let said = said.map(|said| said.on(&name).clone());
                    (id, said)
                });
                let online = online.collect();
                survey.new_channels.insert(name, online);
            }
        }
    }
    let gone = gone_items(config, snapshot, &survey, catalog);
    for id in gone.iter().map(|(id, _)| id).chain(&order) {
        for channel in &config.channels {
            let delivery = DeliveryId {
                item: id.clone(),
                channel: channel.name().clone(),
            };
            let is_let_through = selection.rehearses && selection.items.contains(id);
            let verdict = verdict(&survey, channel, snapshot, &delivery, &gone, is_let_through);
            let Some(verdict) = verdict else {
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

fn verdict(
    survey: &Survey,
    channel: &ChannelConfig,
    snapshot: &Snapshot,
    delivery: &DeliveryId,
    gone: &[(ItemId, Gone)],
    is_let_through: bool,
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
        return Some(match (gone, row.publish()) {
            (Some(Gone::Withdrawn), Some(record)) if !record.state.is_settled() => {
                Verdict::Withdrawn
            }
            (_, _) => Verdict::InPlay,
        });
    };
    if let Some(record) = row.and_then(Row::publish) {
        // The author may change their mind as long as nothing was sent.
        let unsent = record.state == State::Retry && !record.frozen;
        return Some(if unsent && excluded_by_author(item, channel.name()) {
            Verdict::Skipped(format!("`{}: false` in its front matter", channel.name()))
        } else {
            Verdict::InPlay
        });
    }
    if !in_channel_scope(item, &channel.rules) {
        return None;
    }
    let baselined = |baseline: &Baseline| {
        let items = baseline.get(channel.name())?;
        items.get(&delivery.item).cloned()
    };
    let baselined = baselined(&snapshot.baseline).or_else(|| baselined(&survey.new_channels));
    let is_old = baselined.is_some_and(|then| !is_news(survey, channel, delivery, then));
    if is_old && !is_let_through {
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
    let kept_back = survey.kept_back.get(channel.name());
    if let Some(kept) = kept_back.filter(|_| !is_let_through) {
        return Some(Verdict::KeptBack(kept.sentence(channel.name())));
    }
    if let Some(old) = survey.renamed.get(&delivery.item) {
        return Some(Verdict::Renamed(format!(
            "it looks like {old} under a new address; `sayonce rename {old} {new}` if it is the same article, \
             `sayonce approve {new} {channel}` if it is another",
            new = delivery.item,
            channel = channel.name(),
        )));
    }
    Some(Verdict::InPlay)
}

/// Whether an article that was online before is told of all the same: it was edited, and the channel carries notices of that
/// and no announcements.
fn is_news(
    survey: &Survey,
    channel: &ChannelConfig,
    delivery: &DeliveryId,
    then: Option<Fingerprint>,
) -> bool {
    let said = survey.said.get(&delivery.item);
    let now = said.map(|said| said.on(channel.name()));
    channel.rules.follow_edits
        && channel.traits().receipt == ReceiptKind::None
        && then.zip(now).is_some_and(|(then, now)| then != *now)
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
            .record()
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
