//! By what the ledger recognises an article: an edited article or a new address is no new article.

use std::collections::{BTreeMap, BTreeSet};

use crate::ledger::Snapshot;
use crate::model::address::normal_address;
use crate::model::item::{Item, ItemId};
use crate::model::row::Row;

/// What the ledger says of an article.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Recognised {
    /// It is known under its own id, or not at all.
    Itself,
    /// It is the item that the ledger knows under this id.
    Moved(ItemId),
    /// It may be that item; a person has to say.
    LooksLike(ItemId),
}

/// By what the ledger recognises an article.
pub(super) struct KnownItems<'a> {
    ids: BTreeSet<&'a ItemId>,
    by_guid: BTreeMap<&'a str, &'a ItemId>,
    by_url: BTreeMap<String, &'a ItemId>,
    rows: Vec<&'a Row>,
}

impl<'a> KnownItems<'a> {
    pub(super) fn of(snapshot: &'a Snapshot) -> Self {
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

    /// Returns what the ledger says of an article: a known guid or alias is the same item.
    ///
    /// `listed`: the ids that the site's own list gives its articles. One that is listed can't have moved.
    pub(super) fn recognise(&self, item: &Item, listed: &BTreeSet<&ItemId>) -> Recognised {
        if self.ids.contains(&item.id) {
            return Recognised::Itself;
        }
        let by_guid = item.guid.as_deref().and_then(|guid| self.by_guid.get(guid));
        let by_url = || {
            item.aliases
                .iter()
                .chain([&item.canonical_url])
                .find_map(|url| self.by_url.get(&address(url)))
        };
        match by_guid.or_else(by_url) {
            Some(id) if listed.contains(*id) => Recognised::LooksLike((*id).clone()),
            Some(id) => Recognised::Moved((*id).clone()),
            None => self
                .looks_like(item, listed)
                .map_or(Recognised::Itself, Recognised::LooksLike),
        }
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
