//! From what the sources say of an article to the item: which source is believed for what.
//!
//! | field | first to last |
//! |---|---|
//! | canonical URL | page link, front matter, list |
//! | title | manifest, feed, front matter, page |
//! | date | manifest, feed, front matter, page, file name, address, the feed's date of the last change |
//! | description | manifest, front matter, page, feed |
//! | tags, authors | manifest, front matter, feed, page |
//! | language | manifest, front matter, page, feed |
//! | series | front matter |
//! | picture | manifest, page, front matter, feed |
//! | body | manifest, Markdown file, feed |

use std::collections::{BTreeMap, BTreeSet};

use url::Url;

use crate::model::item::{Body, FrontMatter, Item, ItemId, ItemSettings, OutOfScope};
use crate::model::time::Timestamp;

use super::dates::{self, DateField};
use super::groups::{self, Group, counted, examples, is_same_address, two_addresses};
use super::kept_back::KeptBack;
use super::listed::{Listed, Origin};
use super::markdown::{self, MarkdownFile, Parsed};
use super::page::{PageHead, Pages, absolute};
use super::settings::AuthorSays;
use super::text::{collapse, showable, showable_link};
use super::{Catalog, Context, Lists};

/// Joins everything into the catalog.
pub(super) fn join(
    context: &Context<'_>,
    mut lists: Lists,
    pages: Option<&Pages<'_>>,
    files: &[MarkdownFile],
) -> Catalog {
    let mut catalog = Catalog {
        notices: std::mem::take(&mut lists.notices),
        problems: std::mem::take(&mut lists.problems),
        ..Catalog::default()
    };
    let files_list = lists
        .listed
        .iter()
        .any(|(origin, _listed)| *origin == Origin::Markdown);
    let mut groups = groups::gather(context, lists, pages, &mut catalog);
    let mut used = groups::match_files(context, &mut groups, files, &mut catalog);
    let kept_back = KeptBack::new(context, &groups, files);
    let mut plain_pages = Vec::new();
    let mut items = Vec::new();
    for group in groups.iter().filter(|group| !group.is_left_out) {
        let facts = Facts::of(group, files);
        if facts.is_plain_page() {
            plain_pages.push(group.link.as_str());
        } else if let Some(item) = facts.item(context, &mut catalog) {
            let kept_back = kept_back.of(group, &item);
            used.extend(kept_back.iter().flat_map(|found| &found.files));
            match kept_back {
                Some(found) => catalog.problems.push(found.problem),
                None => items.push(item),
            }
        }
    }
    if !files_list {
        let unused = groups::unused_notices(context, files, &used);
        catalog.notices.extend(unused);
    }
    if !plain_pages.is_empty() {
        catalog.notices.push(format!(
            "not taken as articles, since their pages don't say that they are: {} ({})",
            counted(
                plain_pages.len(),
                "address of the sitemap",
                "addresses of the sitemap"
            ),
            examples(&plain_pages)
        ));
    }
    if pages.is_some() {
        catalog.notices.extend(pageless_notice(&groups, &items));
    }
    let items = without_duplicates(items, &mut catalog);
    catalog.items = with_own_names(items, &context.site.url, &mut catalog);
    catalog
        .items
        .sort_by(|one, other| (one.published, &one.id).cmp(&(other.published, &other.id)));
    catalog.notices.extend(template_notice(&catalog.items));
    catalog
}

/// All that is known of one article, by source.
#[derive(Debug)]
struct Facts<'a> {
    group: &'a Group,
    manifest: Option<&'a Listed>,
    feed: Option<&'a Listed>,
    sitemap: Option<&'a Listed>,
    page: Option<&'a PageHead>,
    file: Option<&'a MarkdownFile>,
    parsed: Option<&'a Parsed>,
}

impl<'a> Facts<'a> {
    fn of(group: &'a Group, files: &'a [MarkdownFile]) -> Self {
        let file = group.file.and_then(|number| files.get(number));
        Self {
            group,
            manifest: group.from(Origin::Manifest),
            feed: group.from(Origin::Feed),
            sitemap: group.from(Origin::Sitemap),
            page: group.page.as_ref(),
            file,
            parsed: file.and_then(|file| file.parsed.as_ref().ok()),
        }
    }

    /// A sitemap lists everything: what nothing calls an article is none.
    fn is_plain_page(&self) -> bool {
        self.group
            .listed
            .keys()
            .all(|origin| *origin == Origin::Sitemap)
            && self.parsed.is_none()
            && !self.page.is_some_and(|page| page.is_article)
    }

    fn item(&self, context: &Context<'_>, catalog: &mut Catalog) -> Option<Item> {
        let site = &context.site.url;
        let page_link = self.page.and_then(|page| page.canonical.as_ref());
        let own_link = self.parsed.and_then(|parsed| parsed.canonical.as_ref());
        let link = page_link.or(own_link).unwrap_or(&self.group.link);
        let canonical_url = showable_link(link.clone());
        let Ok(id) = ItemId::from_url(site, &canonical_url) else {
            catalog.foreign.push(canonical_url);
            return None;
        };
        let title = self.title();
        let published = self.published(context);
        let is_kept_back = self.is_excluded() || self.is_draft();
        let fault = match (&title, &published) {
            (None, _) => Some("it has no title".to_owned()),
            (_, DateField::Missing) => Some("it has no date".to_owned()),
            (_, DateField::Unreadable(text)) => Some(format!("its date can't be read: `{text}`")),
            (Some(_), DateField::At(_)) => None,
        };
        if let Some(fault) = fault {
            // What will never be announced needs neither.
            if !is_kept_back {
                let place = self.first().described();
                catalog.problems.push(format!(
                    "{place}: {fault}, so `{canonical_url}` is left out"
                ));
            }
            return None;
        }
        let published = published.at();
        let base = Url::parse(&canonical_url).unwrap_or_else(|_no_url| site.clone());
        Some(Item {
            id,
            guid: self.listed(|listed| listed.guid.clone()).map(showable),
            aliases: self.aliases(&canonical_url),
            title: title.unwrap_or_default(),
            description: self.description(),
            published,
            updated: self.updated().filter(|updated| {
                // The date of the last change may be all there is.
                self.changed().and_then(DateField::at) != Some(*updated)
                    || published != Some(*updated)
            }),
            authors: self.authors(),
            tags: self.tags(),
            language: self.language().map(showable),
            series: self
                .parsed
                .and_then(|parsed| parsed.series.clone())
                .map(showable),
            image: self.image().and_then(|image| absolute(&image, &base)),
            body: self.body(),
            source_file: self.file.map(|file| file.path.clone()),
            out_of_scope: self.out_of_scope(context, published),
            front_matter: self.front_matter(),
            settings: self.settings(),
            canonical_url,
        })
    }

    fn title(&self) -> Option<String> {
        let filled = |title: &String| !title.is_empty();
        self.listed(|listed| listed.title.clone().filter(filled))
            .or_else(|| self.parsed?.title.clone().filter(filled))
            .or_else(|| self.page?.title.clone().filter(filled))
    }

    fn published(&self, context: &Context<'_>) -> DateField {
        let fields: Vec<&DateField> = [
            self.manifest.map(|listed| &listed.published),
            self.feed.map(|listed| &listed.published),
            self.parsed.map(|parsed| &parsed.published),
            self.page.map(|page| &page.published),
        ]
        .into_iter()
        .flatten()
        .collect();
        let midnight = |date| dates::midnight(date, context.site.timezone).map(DateField::At);
        let of_name = || midnight(self.file.and_then(|file| file.name_date)?);
        let of_address = || midnight(dates::day_in_path(self.group.canonical())?);
        let of_change = || self.changed().cloned();
        let readable = fields.iter().find(|field| field.at().is_some());
        let unreadable = || fields.iter().find(|field| ***field != DateField::Missing);
        // Where the generator looks the date up, what it wrote elsewhere is that date.
        let mistaken = || {
            unreadable().filter(|field| match field {
                DateField::Unreadable(text) => !markdown::is_told_by_the_generator(text),
                DateField::Missing | DateField::At(_) => true,
            })
        };
        // A file's name is as good as its front matter; what else there is may be another date than the one meant.
        readable
            .map(|field| (*field).clone())
            .or_else(of_name)
            .or_else(|| mistaken().map(|field| (*field).clone()))
            .or_else(of_address)
            .or_else(of_change)
            .or_else(|| unreadable().map(|field| (*field).clone()))
            .unwrap_or_default()
    }

    /// Returns the date of the last change, where the feed has no other.
    fn changed(&self) -> Option<&'a DateField> {
        self.feed
            .map(|listed| &listed.changed)
            .filter(|changed| **changed != DateField::Missing)
    }

    fn updated(&self) -> Option<Timestamp> {
        self.listed(|listed| listed.updated)
            .or_else(|| self.parsed?.updated)
            .or_else(|| self.page?.modified.at())
            .or_else(|| self.sitemap?.updated)
    }

    fn description(&self) -> Option<String> {
        let found = self
            .manifest
            .and_then(|listed| listed.description.clone())
            .or_else(|| self.parsed?.description.clone())
            .or_else(|| self.page?.description.clone())
            .or_else(|| self.feed?.description.clone());
        found.filter(|text| !text.is_empty())
    }

    fn tags(&self) -> Vec<String> {
        first_filled([
            self.manifest.map(|listed| &listed.tags),
            self.parsed.map(|parsed| &parsed.tags),
            self.feed.map(|listed| &listed.tags),
            self.page.map(|page| &page.tags),
        ])
    }

    fn authors(&self) -> Vec<String> {
        first_filled([
            self.manifest.map(|listed| &listed.authors),
            self.parsed.map(|parsed| &parsed.authors),
            self.feed.map(|listed| &listed.authors),
            self.page.map(|page| &page.authors),
        ])
    }

    fn language(&self) -> Option<String> {
        self.manifest
            .and_then(|listed| listed.language.clone())
            .or_else(|| self.parsed?.language.clone())
            .or_else(|| self.page?.language.clone())
            .or_else(|| self.feed?.language.clone())
    }

    fn image(&self) -> Option<String> {
        self.manifest
            .and_then(|listed| listed.image.clone())
            .or_else(|| self.page?.image.clone())
            .or_else(|| self.parsed?.image.clone())
            .or_else(|| self.feed?.image.clone())
    }

    fn body(&self) -> Option<Body> {
        self.manifest
            .and_then(|listed| listed.body.clone())
            .or_else(|| self.parsed?.body.clone())
            .or_else(|| self.feed?.body.clone())
    }

    fn front_matter(&self) -> FrontMatter {
        self.manifest
            .and_then(|listed| listed.front_matter.clone())
            .or_else(|| Some(self.parsed?.front_matter.clone()))
            .unwrap_or_default()
    }

    fn aliases(&self, canonical_url: &str) -> Vec<String> {
        let own = self.parsed.map(|parsed| &parsed.aliases);
        let relative = self.parsed.map(|parsed| &parsed.relative_aliases);
        // Beside the article, not below it.
        let base = Url::parse(canonical_url.trim_end_matches('/')).ok();
        let beside: Vec<String> = relative
            .into_iter()
            .flatten()
            .filter_map(|alias| absolute(alias, base.as_ref()?))
            .collect();
        let mut aliases: Vec<String> = Vec::new();
        let own = own.into_iter().flatten().chain(&beside);
        for alias in self.group.links.iter().chain(own) {
            let is_known = std::iter::once(canonical_url)
                .chain(aliases.iter().map(String::as_str))
                .any(|known| is_same_address(known, alias));
            if !is_known {
                aliases.push(showable_link(alias.clone()));
            }
        }
        aliases
    }

    fn out_of_scope(
        &self,
        context: &Context<'_>,
        published: Option<Timestamp>,
    ) -> Option<OutOfScope> {
        let is_old = || Some(published? < context.site.since?).filter(|is_old| *is_old);
        let online_from = self.parsed.and_then(|parsed| parsed.online_from);
        let online_until = self.parsed.and_then(|parsed| parsed.online_until);
        let future = || {
            published
                .max(online_from)
                .filter(|date| *date > context.now)
                .map(OutOfScope::Future)
        };
        let expired = || {
            online_until
                .filter(|date| *date <= context.now)
                .map(OutOfScope::Expired)
        };
        if self.is_excluded() {
            return Some(OutOfScope::Excluded);
        }
        if self.is_draft() {
            return Some(OutOfScope::Draft);
        }
        is_old()
            .map(|_is_old| OutOfScope::BeforeSince)
            .or_else(future)
            .or_else(expired)
    }

    fn is_draft(&self) -> bool {
        self.parsed.is_some_and(|parsed| parsed.is_draft)
    }

    fn is_excluded(&self) -> bool {
        self.author_says().any(|says| says == &AuthorSays::Exclude)
    }

    fn settings(&self) -> ItemSettings {
        self.author_says()
            .find_map(|says| match says {
                AuthorSays::Announce(settings) => Some(settings.clone()),
                AuthorSays::Exclude => None,
            })
            .unwrap_or_default()
    }

    fn author_says(&self) -> impl Iterator<Item = &'a AuthorSays> {
        let manifest = self.manifest.and_then(|listed| listed.author_says.as_ref());
        let parsed = self.parsed.and_then(|parsed| parsed.author_says.as_ref());
        manifest.into_iter().chain(parsed)
    }

    /// Returns what the manifest says, else the feed.
    fn listed<T>(&self, field: impl Fn(&Listed) -> Option<T>) -> Option<T> {
        [self.manifest, self.feed]
            .into_iter()
            .flatten()
            .find_map(field)
    }

    fn first(&self) -> &Listed {
        self.group
            .listed
            .values()
            .next()
            .expect("a group begins with a listed entry")
    }
}

/// Returns the first list that has anything in it, without empty names and duplicates.
fn first_filled<'a>(lists: impl IntoIterator<Item = Option<&'a Vec<String>>>) -> Vec<String> {
    let first = lists.into_iter().flatten().find(|list| !list.is_empty());
    let mut seen = BTreeSet::new();
    first
        .into_iter()
        .flatten()
        .map(|name| collapse(name))
        .filter(|name| !name.is_empty() && seen.insert(name.clone()))
        .collect()
}

/// Leaves out articles whose final addresses give one id: the ledger could not tell them apart.
fn without_duplicates(items: Vec<Item>, catalog: &mut Catalog) -> Vec<Item> {
    let mut first_urls: BTreeMap<ItemId, String> = BTreeMap::new();
    let mut doubled: BTreeSet<ItemId> = BTreeSet::new();
    for item in &items {
        if let Some(first) = first_urls.get(&item.id) {
            catalog
                .problems
                .push(two_addresses(first, &item.canonical_url, &item.id));
            doubled.insert(item.id.clone());
        } else {
            first_urls.insert(item.id.clone(), item.canonical_url.clone());
        }
    }
    items
        .into_iter()
        .filter(|item| !doubled.contains(&item.id))
        .collect()
}

/// Takes away ids and aliases that don't name one article alone: the ledger would take one article for another.
fn with_own_names(mut items: Vec<Item>, site: &Url, catalog: &mut Catalog) -> Vec<Item> {
    let mut guids: BTreeMap<String, usize> = BTreeMap::new();
    for guid in items.iter().filter_map(|item| item.guid.clone()) {
        *guids.entry(guid).or_default() += 1;
    }
    for (guid, count) in guids.iter().filter(|(_guid, count)| **count > 1) {
        catalog.notices.push(format!(
            "{count} articles have the feed id `{guid}`: it is not used to recognise them"
        ));
    }
    let ids: BTreeSet<ItemId> = items.iter().map(|item| item.id.clone()).collect();
    for item in &mut items {
        item.guid = item.guid.take().filter(|guid| guids.get(guid) == Some(&1));
        let own = item.id.clone();
        item.aliases.retain(|alias| {
            ItemId::from_url(site, alias).is_ok_and(|id| id == own || !ids.contains(&id))
        });
    }
    items
}

/// Says which articles were not found among the built pages, so that a wrong directory is seen.
fn pageless_notice(groups: &[Group], items: &[Item]) -> Option<String> {
    let links: Vec<&str> = groups
        .iter()
        .filter(|group| group.page.is_none())
        .map(|group| group.link.as_str())
        .filter(|link| {
            items
                .iter()
                .any(|item| item.canonical_url == *link && item.out_of_scope.is_none())
        })
        .collect();
    (!links.is_empty()).then(|| {
        format!(
            "{} no page below `site.pages`: {}",
            counted(links.len(), "article has", "articles have"),
            examples(&links)
        )
    })
}

/// Says which bodies hold a generator's own tags, which other services would show as they are.
fn template_notice(items: &[Item]) -> Option<String> {
    let has_tags = |item: &&Item| match &item.body {
        Some(Body::Markdown(text)) => ["{%", "{{<", "{{%"].iter().any(|tag| text.contains(tag)),
        Some(Body::Html(_)) | None => false,
    };
    let files: Vec<&str> = items
        .iter()
        .filter(|item| item.out_of_scope.is_none())
        .filter(has_tags)
        .map(|item| item.source_file.as_deref().unwrap_or(item.id.as_str()))
        .collect();
    (!files.is_empty()).then(|| {
        format!(
            "{} the generator's own tags (`{{% … %}}`) in the Markdown; dev.to gets the description and the link where it would refuse them, and any other channel that takes the body shows them as they are: {}",
            counted(files.len(), "article has", "articles have"),
            examples(&files)
        )
    })
}
