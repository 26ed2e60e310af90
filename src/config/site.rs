//! `[site]`: where the articles are and which of them count.

use chrono_tz::Tz;
use std::time::Duration;

use toml::de::DeValue;
use url::Url;

use super::Site;
use super::document::{Findings, Given, Section, Wrong};
use super::keys::SITE_KEYS;
use super::load::place_of_key;
use super::values::{
    address, duration, end_in_slash, flag, moment, number, text, timezone, web_url,
};

const FIRST_RUN_MAX_DEFAULT: usize = 5;
const MAX_NEW_DEFAULT: usize = 5;
const OVERDUE_DEFAULT: Duration = Duration::from_hours(24);
/// More posts than this at once look like spam to people and to services.
const FLOOD: usize = 50;
/// A job that waits longer for a page holds its runner for nothing.
const WAIT_LIVE_LONG: Duration = Duration::from_hours(1);
/// The keys that name a source.
const SOURCES: [&str; 5] = ["feed", "pages", "sitemap", "markdown", "manifest"];

/// `[site]` as far as it could be read; channels need parts of it even when others are wrong.
#[derive(Debug)]
pub(super) struct SiteRead {
    /// The whole; none if there was a problem.
    pub(super) site: Option<Site>,
    pub(super) url: Option<Url>,
    pub(super) timezone: Tz,
}

pub(super) fn read(root: &Section<'_>, findings: &mut Findings<'_>) -> SiteRead {
    if root.value("site").is_none() {
        findings.problem(
            None,
            "`[site]` is missing",
            Some("begin with `[site]` and `url = \"https://blog.example\"`"),
        );
    }
    let Some(section) = root.section("site", findings) else {
        return SiteRead {
            site: None,
            url: None,
            timezone: Tz::UTC,
        };
    };
    let url = section
        .require(
            "url",
            "write the site's address, such as `url = \"https://blog.example\"`",
            findings,
            root_url,
        )
        .map(|given| given.value);
    let timezone = section
        .read("timezone", findings, timezone)
        .map_or(Tz::UTC, |given| given.value);
    let sources = read_sources(&section, findings);
    let since = section.read("since", findings, |value| moment(value, timezone));
    let permalink = section.read("permalink", findings, text);
    let first_run_max = section.read("first_run_max", findings, number);
    let max_new = section.read("max_new", findings, number);
    let wait_live = section.read("wait_live", findings, duration);
    let overdue = section.read("overdue", findings, duration);
    let enabled = section.read("enabled", findings, flag);
    section.refuse_unknown(&SITE_KEYS, findings, place_of_key);
    refuse_no_source(&section, findings);
    if let Some(given) = enabled.as_ref().filter(|given| !given.value) {
        findings.warning(
            given.place,
            "`site.enabled` is `false`: nothing new is announced",
        );
    }
    for (key, given) in [("first_run_max", &first_run_max), ("max_new", &max_new)] {
        warn_of_flood(key, given.as_ref(), findings);
    }
    if let Some(given) = wait_live
        .as_ref()
        .filter(|given| given.value > WAIT_LIVE_LONG)
    {
        findings.warning(
            given.place,
            "`site.wait_live` is over an hour: a run would sleep that long for a page that never comes",
        );
    }
    let site = url.clone().map(|url| Site {
        url,
        feed: sources.feed,
        pages: sources.pages,
        sitemap: sources.sitemap,
        markdown: sources.markdown,
        manifest: sources.manifest,
        timezone,
        since: value_of(since),
        permalink: value_of(permalink),
        first_run_max: value_of(first_run_max).unwrap_or(FIRST_RUN_MAX_DEFAULT),
        max_new: value_of(max_new).unwrap_or(MAX_NEW_DEFAULT),
        wait_live: value_of(wait_live).unwrap_or(Duration::ZERO),
        overdue: value_of(overdue).unwrap_or(OVERDUE_DEFAULT),
        enabled: value_of(enabled).unwrap_or(true),
    });
    SiteRead {
        site,
        url,
        timezone,
    }
}

pub(super) fn value_of<T>(given: Option<Given<T>>) -> Option<T> {
    given.map(|given| given.value)
}

#[derive(Debug)]
struct Sources {
    feed: Option<String>,
    pages: Option<String>,
    sitemap: Option<String>,
    markdown: Option<String>,
    manifest: Option<String>,
}

fn read_sources(section: &Section<'_>, findings: &mut Findings<'_>) -> Sources {
    Sources {
        feed: value_of(section.read("feed", findings, path_or_url)),
        pages: value_of(section.read("pages", findings, path)),
        sitemap: value_of(section.read("sitemap", findings, path_or_url)),
        markdown: value_of(section.read("markdown", findings, path_glob)),
        manifest: value_of(section.read("manifest", findings, path_or_url)),
    }
}

fn refuse_no_source(section: &Section<'_>, findings: &mut Findings<'_>) {
    let given: Vec<&str> = SOURCES
        .into_iter()
        .filter(|key| section.value(key).is_some())
        .collect();
    if given.is_empty() {
        findings.problem(
            section.place,
            "`[site]` names no source of articles",
            Some("give at least one of feed, pages, sitemap, markdown, manifest, such as `feed = \"_site/feed.xml\"`"),
        );
    } else if given == ["markdown"] && section.value("permalink").is_none() {
        findings.problem(
            section.place,
            "`site.markdown` alone doesn't tell the articles' addresses",
            Some("add a feed or a sitemap, or `permalink = \"/:year/:month/:title/\"`"),
        );
    }
}

fn warn_of_flood(key: &str, given: Option<&Given<usize>>, findings: &mut Findings<'_>) {
    if let Some(given) = given.filter(|given| given.value > FLOOD) {
        findings.warning(
            given.place,
            format!(
                "`site.{key}` is {}: a mistake in a source would post that many articles at once",
                given.value
            ),
        );
    }
}

fn root_url(value: &DeValue<'_>) -> Result<Url, Wrong> {
    let mut url = web_url(&text(value)?)?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err(Wrong::new(
            "has a query or a fragment",
            "write the address of the site's root alone",
        ));
    }
    end_in_slash(&mut url);
    Ok(url)
}

fn path_or_url(value: &DeValue<'_>) -> Result<String, Wrong> {
    let source = text(value)?;
    if source.contains("://") {
        address(value)?;
    }
    Ok(source)
}

fn path(value: &DeValue<'_>) -> Result<String, Wrong> {
    let source = text(value)?;
    if source.contains("://") {
        return Err(Wrong::new(
            "is an address",
            "write a path: only feed, sitemap, and manifest can be fetched",
        ));
    }
    Ok(source)
}

fn path_glob(value: &DeValue<'_>) -> Result<String, Wrong> {
    let source = path(value)?;
    glob::Pattern::new(&source).map_err(|error| {
        Wrong::new(
            format!("is no pattern: {}", error.msg),
            "write a path or a pattern, such as `\"_posts/**/*.md\"`",
        )
    })?;
    Ok(source)
}
