//! Which entries of the sources, pages, and Markdown files are one article.
//!
//! A file joins an article by the address in its front matter, else when the article's address ends in its slug and
//! their days are at most one apart. Where a feed gives only the day of the last change, an edited article is far from
//! its file's day, so that the file's own day wins: an article that nothing else fits is joined with a file that is
//! older than the change, if it is the only one. An undated file never joins by its slug. Two candidates: none joins.
//! What an author keeps back in a file that doesn't join is looked after in `kept_back`.

use std::collections::{BTreeMap, BTreeSet};

use chrono::NaiveDate;
use chrono_tz::Tz;
use url::Url;

use crate::model::item::{ItemId, ItemIdError};

use super::dates::{self, DateField};
use super::languages::Languages;
use super::listed::{Listed, Origin};
use super::markdown::{self, MarkdownFile};
use super::nearness;
use super::page::{PageHead, Pages};
use super::permalink;
use super::{Catalog, Context, Lists};

/// Everything that is known of one article.
#[derive(Debug)]
pub(super) struct Group {
    /// By the page's canonical link, else the address that a source lists.
    pub(super) id: ItemId,
    /// The address that the first source lists.
    pub(super) link: String,
    /// Every address that a source lists.
    pub(super) links: Vec<String>,
    pub(super) page: Option<PageHead>,
    pub(super) listed: BTreeMap<Origin, Listed>,
    /// The index of its Markdown file.
    pub(super) file: Option<usize>,
    /// The articles whose pages name one address, if there are several.
    rivals: Vec<String>,
    /// It must not become an item; the reason is among the problems.
    pub(super) is_left_out: bool,
}

impl Group {
    /// Returns the address by which it was found.
    pub(super) fn canonical(&self) -> &str {
        self.page
            .as_ref()
            .and_then(|page| page.canonical.as_deref())
            .unwrap_or(&self.link)
    }

    /// Returns what a source says, if it lists this article.
    pub(super) fn from(&self, origin: Origin) -> Option<&Listed> {
        self.listed.get(&origin)
    }

    /// Whether another entry of the same source is another article, although their pages name one address. A sitemap,
    /// and a directory of pages, hold copies and parts of an article, too: the title tells those.
    fn is_rival(&self, first: &Listed, other: &Self, origin: Origin) -> bool {
        let title_of = |page: &Option<PageHead>| page.as_ref()?.title.clone();
        let is_article =
            |page: &Option<PageHead>| page.as_ref().is_some_and(|page| page.is_article);
        let are_different = match origin {
            Origin::Manifest | Origin::Feed | Origin::Markdown => {
                let link = first.url.as_deref().unwrap_or(&self.link);
                !is_same_address(link, &other.link)
            }
            Origin::Sitemap | Origin::Pages => {
                is_article(&other.page) && title_of(&self.page) != title_of(&other.page)
            }
        };
        // Copies and parts of an article name the article itself; a theme's mistake names neither.
        let address = |group: &Self| match origin {
            Origin::Pages => Some(group.page.as_ref()?.address.clone()),
            Origin::Sitemap => Some(group.link.clone()),
            Origin::Manifest | Origin::Feed | Origin::Markdown => None,
        };
        let is_own = [address(self), address(other)]
            .iter()
            .flatten()
            .any(|address| is_page_of(address, other.canonical()));
        are_different && !is_own && is_same_address(self.canonical(), other.canonical())
    }

    /// Returns the article's day, as the sources other than Markdown know it.
    pub(super) fn day(&self, timezone: Tz) -> Option<NaiveDate> {
        let published = self
            .listed
            .values()
            .map(|listed| &listed.published)
            .chain(self.page.as_ref().map(|page| &page.published))
            .find_map(DateField::at)
            .map(|time| dates::day(time, timezone));
        let changed = self.changed(timezone);
        published
            .or_else(|| changed.and_then(|_changed| dates::day_in_path(self.canonical())))
            .or(changed)
    }

    /// Returns the day of the last change, where a source gives no other and neither the page nor the address does.
    fn last_change(&self, timezone: Tz) -> Option<NaiveDate> {
        self.changed(timezone)
            .filter(|changed| self.day(timezone) == Some(*changed))
    }

    fn changed(&self, timezone: Tz) -> Option<NaiveDate> {
        self.listed
            .values()
            .find_map(|listed| listed.changed.at())
            .map(|time| dates::day(time, timezone))
    }
}

/// Brings together what is listed under one address, with its page.
pub(super) fn gather(
    context: &Context<'_>,
    lists: Lists,
    pages: Option<&Pages<'_>>,
    catalog: &mut Catalog,
) -> Vec<Group> {
    let site = &context.site.url;
    let mut groups: Vec<Group> = Vec::new();
    let mut by_id: BTreeMap<ItemId, usize> = BTreeMap::new();
    for (origin, entries) in lists.listed {
        for mut listed in entries {
            let Some(link) = listed.url.clone() else {
                catalog.problems.push(format!(
                    "{}: it has no link, so it is left out",
                    listed.described()
                ));
                continue;
            };
            let page = listed.page.take().or_else(|| pages?.at(&link));
            let canonical = page
                .as_ref()
                .and_then(|page| page.canonical.as_ref())
                .unwrap_or(&link);
            let id = match ItemId::from_url(site, canonical) {
                Ok(id) => id,
                Err(ItemIdError::Foreign(url)) => {
                    catalog.foreign.push(url);
                    continue;
                }
                Err(error @ ItemIdError::NotAUrl(_)) => {
                    catalog.problems.push(format!(
                        "{}: {error}, so it is left out",
                        listed.described()
                    ));
                    continue;
                }
            };
            let group = Group {
                id: id.clone(),
                links: vec![link.clone()],
                link,
                page,
                file: listed.file,
                listed: BTreeMap::from([(origin, listed)]),
                rivals: Vec::new(),
                is_left_out: false,
            };
            if let Some(known) = by_id.get(&id).and_then(|index| groups.get_mut(*index)) {
                merge(known, group, origin, catalog);
            } else {
                by_id.insert(id, groups.len());
                groups.push(group);
            }
        }
    }
    catalog
        .problems
        .extend(groups.iter().filter_map(one_canonical));
    for (url, message) in lists.broken {
        let page = url.as_deref().and_then(|url| pages?.at(url));
        let canonical = page.and_then(|page| page.canonical).or(url);
        let id = canonical.and_then(|canonical| ItemId::from_url(site, &canonical).ok());
        let group = id
            .and_then(|id| by_id.get(&id))
            .and_then(|index| groups.get_mut(*index));
        if let Some(group) = group {
            group.is_left_out = true;
        }
        catalog
            .problems
            .push(format!("{message}; the article is left out"));
    }
    groups
}

/// Whether two entries at one address say of themselves that they are two articles.
fn is_another_article(first: &Listed, second: &Listed) -> bool {
    let differ = |one: &Option<String>, other: &Option<String>| {
        one.as_ref()
            .zip(other.as_ref())
            .is_some_and(|(one, other)| one != other)
    };
    differ(&first.guid, &second.guid) && differ(&first.title, &second.title)
}

/// Adds what another entry says of the same id.
fn merge(known: &mut Group, other: Group, origin: Origin, catalog: &mut Catalog) {
    if let Some(first) = known.from(origin).cloned() {
        if known.is_rival(&first, &other, origin) {
            known.is_left_out = true;
            let name = |link: &str, listed: &Listed| match origin {
                Origin::Pages => listed.place.clone(),
                Origin::Manifest | Origin::Feed | Origin::Sitemap | Origin::Markdown => {
                    link.to_owned()
                }
            };
            if known.rivals.is_empty() {
                known.rivals.push(name(&known.link, &first));
            }
            let other = other
                .listed
                .values()
                .map(|listed| name(&other.link, listed));
            known.rivals.extend(other);
        } else if let Some(second) = other
            .from(origin)
            .filter(|second| is_another_article(&first, second))
            .filter(|_| is_same_address(known.canonical(), other.canonical()))
        {
            known.is_left_out = true;
            catalog.problems.push(format!(
                "`{}` is the address of two articles, {} and {}: none of them is announced; give each its own",
                known.canonical(),
                first.described(),
                second.described(),
            ));
        } else if is_same_address(known.canonical(), other.canonical()) {
            catalog.notices.push(format!(
                "`{}` is listed twice; what stands first counts ({})",
                known.canonical(),
                first.place
            ));
        } else {
            known.is_left_out = true;
            catalog.problems.push(two_addresses(
                known.canonical(),
                other.canonical(),
                &known.id,
            ));
        }
        return;
    }
    known.links.extend(other.links);
    known.page = known.page.take().or(other.page);
    known.file = known.file.or(other.file);
    known.listed.extend(other.listed);
}

/// Says that the pages of several articles name one address, which a mistake in a theme's head makes of a whole site.
fn one_canonical(group: &Group) -> Option<String> {
    if group.rivals.is_empty() {
        return None;
    }
    let links: Vec<&str> = group.rivals.iter().map(String::as_str).collect();
    Some(format!(
        "{} articles have pages with one canonical link, `{}`: all are left out; mend the `<link rel=\"canonical\">` of {}",
        links.len(),
        group.canonical(),
        examples(&links)
    ))
}

/// Says that two addresses name one item, so that a ledger row could not tell which was announced.
pub(super) fn two_addresses(one: &str, other: &str, id: &ItemId) -> String {
    format!(
        "`{one}` and `{other}` would both be the item `{id}`: both are left out; give each article an address of its own"
    )
}

/// Whether a page's canonical link is its own address.
pub(super) fn is_its_own(page: &PageHead) -> bool {
    page.canonical
        .as_ref()
        .is_some_and(|canonical| is_page_of(&page.address, canonical))
}

/// Whether an address is one of those under which a page may be online: `/a/index.html`, `/a/`, `/a`, `/a.html`.
fn is_page_of(one: &str, other: &str) -> bool {
    let bare = |address: &str| {
        let address = address.strip_suffix("index.html").unwrap_or(address);
        let address = address.strip_suffix(".html").unwrap_or(address);
        address.trim_end_matches('/').to_owned()
    };
    is_same_address(&bare(one), &bare(other))
}

/// Whether two addresses differ at most in `http` and `https`, in an empty query, and in the fragment.
pub(super) fn is_same_address(one: &str, other: &str) -> bool {
    let normal = |text: &str| {
        Url::parse(text).ok().map(|mut url| {
            url.set_fragment(None);
            if url.query() == Some("") {
                url.set_query(None);
            }
            let text = String::from(url);
            text.strip_prefix("http://")
                .map(|rest| format!("https://{rest}"))
                .unwrap_or(text)
        })
    };
    normal(one) == normal(other)
}

/// Finds each article's Markdown file: by the address in its front matter, else by slug and day. Returns those that fit
/// an article.
pub(super) fn match_files(
    context: &Context<'_>,
    groups: &mut [Group],
    files: &[MarkdownFile],
    catalog: &mut Catalog,
) -> BTreeSet<usize> {
    let index = FileIndex::new(context, groups, files);
    let mut candidates = index.all_candidates(context, groups, files);
    nearness::narrow(groups, &mut candidates, files);
    let mut claims: BTreeMap<usize, usize> = BTreeMap::new();
    for file in candidates.iter().flatten() {
        *claims.entry(*file).or_default() += 1;
    }
    let mut problems: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    let mut used: BTreeSet<usize> = BTreeSet::new();
    for (group, candidates) in groups.iter_mut().zip(&candidates) {
        used.extend(candidates);
        let paths = || {
            let paths = candidates.iter().filter_map(|file| files.get(*file));
            paths
                .map(|file| format!("`{}`", file.path))
                .collect::<Vec<_>>()
                .join(" and ")
        };
        // A file that can't be read may say that its article must not go out: none that it fits does.
        let broken = candidates
            .iter()
            .filter(|file| files.get(**file).is_some_and(|file| file.parsed.is_err()));
        for file in broken {
            group.is_left_out = true;
            problems
                .entry(*file)
                .or_default()
                .push(format!("`{}`", group.id));
        }
        match candidates.as_slice() {
            [] => {}
            [file] if claims.get(file) == Some(&1) => group.file = Some(*file),
            [file] => catalog.notices.push(format!(
                "{} fits more articles than one, among them `{}`: it is not used for that; set `canonical_url` in it",
                files.get(*file).map(|file| file.path.as_str()).unwrap_or_default(),
                group.link
            )),
            _ => catalog.notices.push(format!(
                "`{}` fits more Markdown files than one, {}: none is used; set `canonical_url` in the right one",
                group.link,
                paths()
            )),
        }
    }
    for (number, file) in files.iter().enumerate() {
        if let Err(message) = &file.parsed {
            let left_out = problems.remove(&number).map_or_else(String::new, |ids| {
                format!("; left out until it is mended: {}", ids.join(", "))
            });
            catalog.problems.push(format!("{message}{left_out}"));
        }
    }
    used
}

/// How many names a notice gives as examples.
pub(super) const EXAMPLES_MAX: usize = 3;

/// Returns a number with the words that go with it: "1 article has", "2 articles have".
pub(super) fn counted(number: usize, one: &str, many: &str) -> String {
    let words = if number == 1 { one } else { many };
    format!("{number} {words}")
}

/// Returns the first few of a list of names.
pub(super) fn examples(names: &[&str]) -> String {
    let more = if names.len() > EXAMPLES_MAX {
        ", …"
    } else {
        ""
    };
    let shown: Vec<&str> = names.iter().copied().take(EXAMPLES_MAX).collect();
    format!("{}{more}", shown.join(", "))
}

/// Says which files fit no article, first those whose author set something: it is without effect.
pub(super) fn unused_notices(
    context: &Context<'_>,
    files: &[MarkdownFile],
    used: &BTreeSet<usize>,
) -> Vec<String> {
    let mut unused: Vec<&MarkdownFile> = files
        .iter()
        .enumerate()
        .filter(|(number, file)| {
            !used.contains(number) && file.parsed.is_ok() && !file.is_yet_to_come(context.now)
        })
        .map(|(_number, file)| file)
        .collect();
    unused.sort_by_key(|file| file.wish().is_none());
    let undated: Vec<String> = unused
        .iter()
        .filter_map(|file| Some(format!("{} (`{}`)", file.path, file.unreadable_date()?)))
        .collect();
    let undated: Vec<&str> = undated.iter().map(String::as_str).collect();
    let undated_notice = (!undated.is_empty()).then(|| {
        format!(
            "{} a date that can't be read, so that the name alone joins no article with it: {}",
            counted(undated.len(), "Markdown file has", "Markdown files have"),
            examples(&undated)
        )
    });
    let unused: Vec<&str> = unused
        .iter()
        .filter(|file| file.unreadable_date().is_none())
        .map(|file| file.path.as_str())
        .collect();
    undated_notice
        .into_iter()
        .chain(unused_notice(&unused))
        .collect()
}

fn unused_notice(unused: &[&str]) -> Option<String> {
    match unused {
        [] => None,
        [one] => Some(format!(
            "{one} belongs to no article that is listed (a feed shows only its newest)"
        )),
        many => Some(format!(
            "{} Markdown files belong to no article that is listed (a feed shows only its newest): {}",
            many.len(),
            examples(many)
        )),
    }
}

/// Files by what may name their article.
#[derive(Debug, Default)]
struct FileIndex {
    by_address: BTreeMap<ItemId, Vec<usize>>,
    by_slug: BTreeMap<String, Vec<usize>>,
    languages: Languages,
}

impl FileIndex {
    fn new(context: &Context<'_>, groups: &[Group], files: &[MarkdownFile]) -> Self {
        let id_of = |url: &str| ItemId::from_url(&context.site.url, url).ok();
        let listed: BTreeSet<ItemId> = groups
            .iter()
            .flat_map(|group| {
                let links = group.links.iter().filter_map(|link| id_of(link));
                links.chain(std::iter::once(group.id.clone()))
            })
            .collect();
        let mut index = Self {
            languages: Languages::new(files),
            ..Self::default()
        };
        for (number, file) in files.iter().enumerate() {
            let mut addresses: BTreeSet<ItemId> = file
                .parsed
                .iter()
                .flat_map(|parsed| parsed.canonical.iter().chain(&parsed.permalink))
                .filter_map(|url| id_of(url))
                .collect();
            // What is filled in may be wrong: the generator knows more placeholders.
            let filled = file.parsed.as_ref().ok().and_then(|parsed| {
                let pattern = parsed.permalink_pattern.as_deref()?;
                let site = context.site;
                permalink::fill(pattern, file, parsed, &site.url, site.timezone).ok()
            });
            addresses.extend(
                filled
                    .and_then(|url| id_of(&url))
                    .filter(|id| listed.contains(id)),
            );
            // An address in front matter says which article it is; the slug is a guess beside it.
            if addresses.is_empty() {
                for slug in file.slug_forms() {
                    index.by_slug.entry(slug).or_default().push(number);
                }
            }
            for address in addresses {
                index.by_address.entry(address).or_default().push(number);
            }
        }
        index
    }

    /// Returns the files that may be each article's, those first that fit its day.
    fn all_candidates(
        &self,
        context: &Context<'_>,
        groups: &[Group],
        files: &[MarkdownFile],
    ) -> Vec<Vec<usize>> {
        let timezone = context.site.timezone;
        let mut all: Vec<Vec<usize>> = groups
            .iter()
            .map(|group| match group.file {
                Some(file) => vec![file],
                None => self.candidates(context, group, files),
            })
            .collect();
        let taken: BTreeSet<usize> = all.iter().flatten().copied().collect();
        for (group, candidates) in groups.iter().zip(&mut all) {
            let Some(changed) = group.last_change(timezone) else {
                continue;
            };
            if candidates.is_empty() {
                let is_older =
                    |file: &MarkdownFile| file.day(timezone).is_some_and(|day| day <= changed);
                candidates.extend(self.by_slug(group, files).filter(|number| {
                    !taken.contains(number) && files.get(*number).is_some_and(is_older)
                }));
            }
        }
        all
    }

    fn candidates(
        &self,
        context: &Context<'_>,
        group: &Group,
        files: &[MarkdownFile],
    ) -> Vec<usize> {
        let link_ids = group
            .links
            .iter()
            .filter_map(|link| ItemId::from_url(&context.site.url, link).ok());
        let named: BTreeSet<usize> = std::iter::once(group.id.clone())
            .chain(link_ids)
            .filter_map(|id| self.by_address.get(&id))
            .flatten()
            .copied()
            .collect();
        if !named.is_empty() {
            return named.into_iter().collect();
        }
        let timezone = context.site.timezone;
        let day = group.day(timezone);
        let fits = |file: &MarkdownFile| match (day, file.day(timezone)) {
            (Some(one), Some(other)) => dates::about_same_day(one, other),
            // A sitemap has no dates; a file without one is a page such as "about".
            (None, Some(_)) => true,
            // Its date can't be read: better one article too many left out than one that its author kept back.
            (_, None) => file.parsed.is_err(),
        };
        self.by_slug(group, files)
            .filter(|number| files.get(*number).is_some_and(fits))
            .collect()
    }

    fn by_slug(&self, group: &Group, files: &[MarkdownFile]) -> impl Iterator<Item = usize> {
        markdown::last_segment(group.canonical())
            .and_then(|segment| self.by_slug.get(&segment))
            .into_iter()
            .flatten()
            .copied()
            .filter(|number| {
                let file = files.get(*number);
                file.is_some_and(|file| self.languages.fits(file, group.canonical()))
            })
    }
}
