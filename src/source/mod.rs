//! The site's articles, read from what the generator wrote and joined by canonical URL.
//!
//! | source | lists articles | adds to those listed |
//! |---|---|---|
//! | `manifest`, `feed` | always | everything they have |
//! | `sitemap` | always, those whose page says that it is an article | when it was changed |
//! | `pages` | only standing alone | canonical URL, OpenGraph, dates, language |
//! | `markdown` | only if nothing else does and `site.permalink` is set | body, front matter |
//!
//! Invariant: reading sources sends nothing anywhere (a source given as a URL is fetched) and writes nothing.
//! Start reading at [`load`]; how sources are joined is in `join`.

mod as_written;
mod dates;
mod feed;
mod fields;
mod files;
mod front_matter;
mod groups;
mod join;
mod kept_back;
mod languages;
mod listed;
mod manifest;
mod markdown;
mod nearness;
mod page;
mod patterns;
mod permalink;
mod picture;
mod settings;
mod sitemap;
mod text;
mod worded_dates;

use std::collections::BTreeSet;
use std::path::Path;

use url::Url;

use crate::config::Site;
use crate::model::address::same_address;
use crate::model::ids::ChannelName;
use crate::model::item::Item;
use crate::model::time::Timestamp;

pub use picture::read_picture;

use dates::DateField;
use languages::Languages;
use listed::{Listed, Origin};
use markdown::MarkdownFile;
use page::Pages;
use permalink::{NoAddress, PLACEHOLDERS};
use sitemap::Sitemap;

/// What the sources say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Catalog {
    /// Every article of the site, oldest first (by date, then id), those out of scope included.
    pub items: Vec<Item>,
    /// URLs that a source lists and that are not below the site's URL.
    pub foreign: Vec<String>,
    /// Things that people should know, in plain sentences with file and line where there is one.
    pub notices: Vec<String>,
    /// What is wrong with single items or files: they are left out, the rest goes on, exit 2.
    pub problems: Vec<String>,
}

/// How a source given as a URL is fetched.
pub trait Fetch {
    /// Returns what is at `url`, or says in plain words why it can't be had.
    fn fetch(&self, url: &str) -> Result<Vec<u8>, String>;
}

/// Fetches nothing: for commands that must not touch the network.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoNetwork;

impl Fetch for NoNetwork {
    fn fetch(&self, _url: &str) -> Result<Vec<u8>, String> {
        Err("this command does not use the network".to_owned())
    }
}

/// Tells whether an article's page is live: it is there, and its canonical link, if it has one, is the article's own
/// address. Says in plain words why not.
pub fn check_live(canonical_url: &str, fetch: &dyn Fetch) -> Result<(), String> {
    let html = fetch.fetch(canonical_url)?;
    let base = Url::parse(canonical_url).map_err(|error| error.to_string())?;
    match page::canonical_link(&html, &base) {
        Some(link) if !same_address(&link, canonical_url) => Err(format!(
            "{canonical_url} shows another page: its canonical link is {link}"
        )),
        Some(_) | None => Ok(()),
    }
}

/// The sources as a whole can't be read, so that nothing new is announced.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// Nothing is configured.
    #[error(
        "no source is configured: set `site.feed`, or one of `site.manifest`, `site.sitemap`, `site.pages`, and `site.markdown`"
    )]
    NoneConfigured,
    /// Markdown files have no addresses by themselves.
    #[error(
        "`site.markdown` alone gives no addresses: set `site.feed`, or `site.permalink` to how the site builds them, such as `/:year/:month/:title/`"
    )]
    MarkdownAlone,
    /// A sitemap has only addresses.
    #[error(
        "`site.sitemap` alone gives no titles and dates: set `site.pages` to the directory of built pages, or use `site.feed`"
    )]
    SitemapAlone,
    /// A file or directory can't be read.
    #[error("can't read `{path}`: build the site first, or correct `site.{key}`")]
    Unreadable {
        /// The key of the configuration.
        key: &'static str,
        /// As the configuration writes it.
        path: String,
        /// What the system said.
        #[source]
        cause: std::io::Error,
    },
    /// A file is not a source at all.
    #[error("`{path}` is larger than {limit_bytes} bytes: correct `site.{key}`")]
    TooLarge {
        /// The key of the configuration.
        key: &'static str,
        /// As the configuration writes it.
        path: String,
        /// The limit.
        limit_bytes: u64,
    },
    /// A directory is not a site at all.
    #[error("`{path}` names more than {limit} files: correct `site.{key}`")]
    TooManyFiles {
        /// The key of the configuration.
        key: &'static str,
        /// As the configuration writes it.
        path: String,
        /// The limit.
        limit: usize,
    },
    /// A source given as a URL can't be had.
    #[error("can't fetch `{url}` (`site.{key}`): {reason}")]
    Fetch {
        /// The key of the configuration.
        key: &'static str,
        /// The URL.
        url: String,
        /// What was seen.
        reason: String,
    },
    /// The feed is none.
    #[error("`{place}` is no feed that can be read (Atom, RSS, or JSON Feed): {reason}")]
    NotAFeed {
        /// The file or URL.
        place: String,
        /// What was seen.
        reason: String,
    },
    /// The sitemap is none.
    #[error("`{place}` is no sitemap that can be read: {reason}")]
    NotASitemap {
        /// The file or URL.
        place: String,
        /// What was seen.
        reason: String,
    },
    /// The manifest has a mistake.
    #[error("{place}:{line}: {reason}")]
    BadManifest {
        /// The file or URL.
        place: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// The glob can't be read.
    #[error("`site.markdown` is no pattern that can be read, `{pattern}`: {reason}")]
    BadPattern {
        /// As the configuration writes it.
        pattern: String,
        /// What is wrong.
        reason: String,
    },
    /// The permalink can't be filled in.
    #[error(
        "`site.permalink` has `{part}` in `{pattern}`, which is unknown: it takes {PLACEHOLDERS}"
    )]
    BadPermalink {
        /// As the configuration writes it.
        pattern: String,
        /// The placeholder.
        part: String,
    },
    /// The glob matches nothing, so that what authors set there would be ignored.
    #[error("`site.markdown` names no file: `{pattern}` matches nothing; correct or remove it")]
    NoFiles {
        /// As the configuration writes it.
        pattern: String,
    },
}

/// Reads every configured source and joins what they say.
///
/// `known_channels` are those of the configuration, which front matter may name. Paths are relative to `repo`. What
/// is wrong with a single article is in the catalog; an error means that the list itself can't be trusted.
pub fn load(
    site: &Site,
    known_channels: &BTreeSet<ChannelName>,
    repo: &Path,
    now: Timestamp,
    fetch: &dyn Fetch,
) -> Result<Catalog, SourceError> {
    let context = Context {
        site,
        known_channels,
        repo,
        now,
        fetch,
    };
    let pages = site
        .pages
        .as_deref()
        .map(|directory| Pages::open(repo, directory, &site.url, site.timezone))
        .transpose()?;
    let files = site
        .markdown
        .as_deref()
        .map(|pattern| markdown::read_all(&context, pattern))
        .transpose()?
        .unwrap_or_default();
    let lists = Lists::read(&context, pages.as_ref(), &files)?;
    if let (Some(pattern), true, true) = (&site.markdown, files.is_empty(), lists.list_anything()) {
        return Err(SourceError::NoFiles {
            pattern: pattern.clone(),
        });
    }
    let mut catalog = join::join(&context, lists, pages.as_ref(), &files);
    if catalog.items.is_empty() && catalog.problems.is_empty() {
        catalog.problems.extend(all_foreign(site, &catalog.foreign));
    }
    let left = site.markdown.as_deref();
    let left = left.and_then(|pattern| markdown::left_beside(&context, pattern, &files));
    catalog.notices.extend(left);
    // They quote what the sources hold.
    for said in [
        &mut catalog.foreign,
        &mut catalog.notices,
        &mut catalog.problems,
    ] {
        for text in said {
            *text = text::showable(std::mem::take(text));
        }
    }
    Ok(catalog)
}

/// Says that every article is another site's; none if that is not so, or there are none.
fn all_foreign(site: &Site, foreign: &[String]) -> Option<String> {
    let first = foreign.first()?;
    let articles = match foreign.len() {
        1 => "the only article is".to_owned(),
        count => format!("none of {count} articles is"),
    };
    let not = if foreign.len() == 1 { "not " } else { "" };
    Some(format!(
        "{articles} {not}below `site.url` (`{}`), see `{first}`: is `site.url` the site's address?",
        site.url
    ))
}

/// What every part of the work needs.
#[derive(Clone, Copy)]
struct Context<'a> {
    site: &'a Site,
    known_channels: &'a BTreeSet<ChannelName>,
    repo: &'a Path,
    now: Timestamp,
    fetch: &'a dyn Fetch,
}

/// What the listing sources list.
#[derive(Debug, Default)]
struct Lists {
    listed: Vec<(Origin, Vec<Listed>)>,
    /// Articles of the manifest to leave out, by URL where it is known, with the reason.
    broken: Vec<(Option<String>, String)>,
    notices: Vec<String>,
    problems: Vec<String>,
}

impl Lists {
    fn read(
        context: &Context<'_>,
        pages: Option<&Pages<'_>>,
        files: &[MarkdownFile],
    ) -> Result<Self, SourceError> {
        let site = context.site;
        let mut lists = Self::default();
        if let Some(source) = &site.manifest {
            let bytes = files::read_list(context.repo, "manifest", source, context.fetch)?;
            let manifest = manifest::read(
                &bytes,
                source,
                &site.url,
                site.timezone,
                context.known_channels,
            )?;
            lists.listed.push((Origin::Manifest, manifest.items));
            lists.broken = manifest.broken;
        }
        if let Some(source) = &site.feed {
            let bytes = files::read_list(context.repo, "feed", source, context.fetch)?;
            let base = feed_base(context, source);
            let entries = feed::read(&bytes, source, &base, site.timezone).map_err(|reason| {
                SourceError::NotAFeed {
                    place: source.clone(),
                    reason: text::showable(reason),
                }
            })?;
            lists.listed.push((Origin::Feed, entries));
        }
        if let Some(source) = &site.sitemap {
            if lists.listed.is_empty() && pages.is_none() && site.markdown.is_none() {
                return Err(SourceError::SitemapAlone);
            }
            let entries = read_sitemap(context, source)?;
            lists.listed.push((Origin::Sitemap, entries));
        }
        if lists.listed.is_empty() {
            lists.read_without_list(context, pages, files)?;
        }
        Ok(lists)
    }

    /// Lists by pages, else by Markdown files, where no other source lists.
    fn read_without_list(
        &mut self,
        context: &Context<'_>,
        pages: Option<&Pages<'_>>,
        files: &[MarkdownFile],
    ) -> Result<(), SourceError> {
        match (pages, &context.site.permalink) {
            (_, Some(pattern)) if context.site.markdown.is_some() => {
                let listed = list_markdown(context, pattern, files, self)?;
                self.listed.push((Origin::Markdown, listed));
            }
            (Some(pages), _) => {
                let (mut listed, nameless): (Vec<_>, Vec<_>) = pages
                    .articles()?
                    .into_iter()
                    .partition(|head| head.canonical.is_some());
                if let Some(first) = nameless.first() {
                    self.notices.push(format!(
                        "left out for want of a `<link rel=\"canonical\">`: {}, the first being {}",
                        groups::counted(nameless.len(), "article page", "article pages"),
                        first.place
                    ));
                }
                // The article itself comes before its parts and copies.
                listed.sort_by_key(|head| !groups::is_its_own(head));
                let listed = listed.into_iter().map(|head| Listed {
                    place: head.place.clone(),
                    url: head.canonical.clone(),
                    page: Some(head),
                    ..Listed::default()
                });
                self.listed.push((Origin::Pages, listed.collect()));
            }
            (None, _) if context.site.markdown.is_some() => return Err(SourceError::MarkdownAlone),
            (None, _) => return Err(SourceError::NoneConfigured),
        }
        Ok(())
    }

    fn list_anything(&self) -> bool {
        self.listed
            .iter()
            .any(|(_origin, listed)| !listed.is_empty())
    }
}

fn list_markdown(
    context: &Context<'_>,
    pattern: &str,
    files: &[MarkdownFile],
    lists: &mut Lists,
) -> Result<Vec<Listed>, SourceError> {
    let mut listed = Vec::new();
    let languages = Languages::new(files);
    let mut translations = Vec::new();
    for (index, file) in files.iter().enumerate() {
        let Ok(parsed) = &file.parsed else { continue };
        let has_address = parsed.permalink.is_some() || parsed.canonical.is_some();
        if languages.is_translation(file) && !has_address {
            translations.push(file.path.as_str());
            continue;
        }
        let own = parsed.permalink.as_ref().or(parsed.canonical.as_ref());
        let (key, pattern) = match &parsed.permalink_pattern {
            Some(own) => ("its `permalink`", own.as_str()),
            None => ("`site.permalink`", permalink::spelled_out(pattern)),
        };
        let site = &context.site.url;
        let filled = || permalink::fill(pattern, file, parsed, site, context.site.timezone);
        let url = match own.cloned().map_or_else(filled, Ok) {
            Ok(url) => Some(url),
            Err(NoAddress::Unknown(part)) if parsed.permalink_pattern.is_none() => {
                return Err(SourceError::BadPermalink {
                    pattern: pattern.to_owned(),
                    part,
                });
            }
            Err(_kept_back) if file.wish_is_silence() => continue,
            Err(NoAddress::Unknown(part)) => {
                lists.problems.push(format!(
                    "{}: its `permalink` has `{part}`, which can't be filled in here, so it is left out; placeholders are {PLACEHOLDERS}",
                    file.path,
                ));
                continue;
            }
            Err(NoAddress::NoDate) => {
                let without =
                    |fault: &str| format!("{}: {fault}, so {key} gives it no address", file.path);
                match &parsed.published {
                    DateField::Unreadable(text) => lists
                        .problems
                        .push(without(&format!("its date can't be read: `{text}`"))),
                    DateField::Missing | DateField::At(_) => {
                        lists.notices.push(without("it has no date"));
                    }
                }
                continue;
            }
        };
        listed.push(Listed {
            place: file.path.clone(),
            url,
            file: Some(index),
            ..Listed::default()
        });
    }
    if !translations.is_empty() {
        lists.problems.push(format!(
            "`site.permalink` has no languages, so {} left out; set `permalink` in each, or use `site.feed`: {}",
            groups::counted(translations.len(), "file is", "files are"),
            groups::examples(&translations)
        ));
    }
    Ok(listed)
}

/// Relative links in a feed start at the feed's own address, which a file among the built pages has too.
fn feed_base(context: &Context<'_>, source: &str) -> Url {
    if let Ok(url) = Url::parse(source) {
        return url;
    }
    let below = context
        .site
        .pages
        .as_deref()
        .and_then(|pages| source.strip_prefix(pages.trim_end_matches('/')))
        .and_then(|path| path.strip_prefix('/'))
        .unwrap_or_default();
    context
        .site
        .url
        .join(below)
        .unwrap_or_else(|_no_url| context.site.url.clone())
}

/// More parts are no list of a blog's articles; each is one more call over the network.
const SITEMAP_PARTS_MAX: usize = 500;

/// Reads a sitemap, and those that it lists if it is an index; an index in an index is against the standard.
fn read_sitemap(context: &Context<'_>, source: &str) -> Result<Vec<Listed>, SourceError> {
    let read = |source: &str| {
        let bytes = files::read_list(context.repo, "sitemap", source, context.fetch)?;
        sitemap::read(&bytes, source, context.site.timezone).map_err(|reason| {
            SourceError::NotASitemap {
                place: source.to_owned(),
                reason: text::showable(reason),
            }
        })
    };
    let urls = match read(source)? {
        Sitemap::Pages(listed) => return Ok(listed),
        Sitemap::Index(urls) => urls,
    };
    if urls.len() > SITEMAP_PARTS_MAX {
        return Err(SourceError::NotASitemap {
            place: source.to_owned(),
            reason: format!(
                "it lists {} sitemaps, and this program reads at most {SITEMAP_PARTS_MAX}; name the one with the articles",
                urls.len()
            ),
        });
    }
    let mut all = Vec::new();
    for url in urls {
        // Whoever writes the index could have any file of this machine read by its path.
        let is_address = Url::parse(&url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
        if !is_address {
            return Err(SourceError::NotASitemap {
                place: source.to_owned(),
                reason: format!(
                    "it lists `{}`, which is not an absolute http or https URL",
                    text::showable(url)
                ),
            });
        }
        let url = text::showable_link(url);
        let part = sitemap_part(context, source, &url);
        match read(&part)? {
            Sitemap::Pages(listed) => all.extend(listed),
            Sitemap::Index(_) => {
                return Err(SourceError::NotASitemap {
                    place: part,
                    reason: "it is an index inside an index".to_owned(),
                });
            }
        }
    }
    Ok(all)
}

/// An index that is a file lists addresses whose files lie among the built pages, else beside it.
fn sitemap_part(context: &Context<'_>, index: &str, url: &str) -> String {
    let below = Url::parse(url)
        .ok()
        .and_then(|url| page::path_below(&context.site.url, &url));
    match below {
        Some(path) if !files::is_url(index) => {
            let beside = index.rsplit_once('/').map(|(directory, _name)| directory);
            match context.site.pages.as_deref().or(beside) {
                Some(directory) => format!("{}/{path}", directory.trim_end_matches('/')),
                None => path,
            }
        }
        _ => url.to_owned(),
    }
}
