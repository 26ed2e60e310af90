//! Feeds: Atom, RSS, and JSON Feed.
//!
//! Invariant: what the library adds of its own (ids, normalised links) never becomes part of an item: ids and links
//! are those that stand in the feed.

use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::Tz;
use feed_rs::model::{Entry, Feed, Link, MediaObject, Text};
use feed_rs::parser::Builder;
use serde_json::Value;
use url::Url;

use crate::model::item::Body;
use crate::model::time::Timestamp;
use crate::panics;

use super::as_written::AsWritten;
use super::dates::DateField;
use super::listed::Listed;
use super::text::{collapse, html_to_text, resolve_links, text_to_html};

/// Reads a feed. `place` names it for people; relative links are resolved against `base`.
pub(super) fn read(
    bytes: &[u8],
    place: &str,
    base: &Url,
    timezone: Tz,
) -> Result<Vec<Listed>, String> {
    let unreadable_dates = UnreadableDates::default();
    let parser = Builder::new()
        .base_uri(Some(base))
        // An id that the library makes up would look like one that the site gave.
        .id_generator(|_links, _title, _uri| String::new())
        .sanitize_content(false)
        .timestamp_parser({
            let unreadable_dates = unreadable_dates.clone();
            move |text| unreadable_dates.parse(text, timezone)
        })
        .build();
    // The library cuts authors' names at bytes, which panics inside a character, and panics on some encodings. A feed
    // that it can't read must not take down a run that has claims in flight.
    let mended = with_text_ids(bytes);
    let bytes = mended.as_deref().unwrap_or(bytes);
    let parsed = panics::catch(|| parser.parse(bytes));
    let feed = parsed
        .map_err(|_panic| "the feed library failed on it".to_owned())?
        .map_err(|error| error.to_string())?;
    let written = AsWritten::scan(bytes, base);
    Ok(feed
        .entries
        .iter()
        .enumerate()
        .map(|(index, entry)| {
            let mut listed = read_entry(entry, &feed, &written, base, &unreadable_dates);
            if let Some(extra) = written.xml_entry(index, feed.entries.len()) {
                listed.body = body(entry, listed.url.as_deref(), extra.base.as_ref(), base);
                listed.image = listed.image.or_else(|| extra.picture.clone());
            }
            listed.place = format!("{place}, entry {}", index + 1);
            if let Some(extra) = written.json_items.get(index) {
                listed.image = extra.image.clone().or(listed.image);
                listed.language = extra.language.clone().or(listed.language);
            }
            listed
        })
        .collect())
}

/// Returns a JSON Feed with ids that the library takes: it refuses the whole feed over a number. An item without an
/// address takes an id that is one, as the format's description wants.
fn with_text_ids(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut feed: Value = serde_json::from_slice(bytes).ok()?;
    for item in feed.get_mut("items")?.as_array_mut()? {
        let Some(fields) = item.as_object_mut() else {
            continue;
        };
        let id = match fields.get("id") {
            Some(Value::String(id)) => id.clone(),
            Some(Value::Number(id)) => id.to_string(),
            Some(Value::Bool(_) | Value::Null | Value::Array(_) | Value::Object(_)) | None => {
                fields.remove("id");
                continue;
            }
        };
        let is_address = id.starts_with("http://") || id.starts_with("https://");
        let has_address = fields
            .get("url")
            .and_then(Value::as_str)
            .is_some_and(|url| !url.trim().is_empty());
        if is_address && !has_address {
            fields.insert("url".to_owned(), Value::String(id.clone()));
        }
        fields.insert("id".to_owned(), Value::String(id));
    }
    serde_json::to_vec(&feed).ok()
}

fn read_entry(
    entry: &Entry,
    feed: &Feed,
    written: &AsWritten,
    base: &Url,
    unreadable_dates: &UnreadableDates,
) -> Listed {
    let id = entry.id.trim();
    let url = article_link(&entry.links)
        .map(|link| written.link(&link.href, base))
        // RSS: without a link the id is the address, unless it says that it is none.
        .or_else(|| written.permalinks.contains(id).then(|| id.to_owned()));
    let published = unreadable_dates.field(entry.published);
    let updated = unreadable_dates.field(entry.updated);
    let changed = match &published {
        DateField::Missing => updated.clone(),
        DateField::Unreadable(_) | DateField::At(_) => DateField::Missing,
    };
    let authors = if entry.authors.is_empty() {
        &feed.authors
    } else {
        &entry.authors
    };
    Listed {
        guid: (!id.is_empty()).then(|| id.to_owned()),
        title: entry.title.as_ref().and_then(plain_text),
        description: entry.summary.as_ref().and_then(plain_text),
        // For RSS the library copies the date.
        updated: updated
            .at()
            .filter(|updated| published.at() != Some(*updated)),
        published,
        changed,
        authors: authors
            .iter()
            .filter_map(|person| person.name.as_deref())
            .map(|name| collapse(name.trim_matches(['(', ')'])))
            .filter(|name| !name.is_empty())
            .collect(),
        tags: entry
            .categories
            .iter()
            .map(|category| {
                // The label is for people, the term for programs.
                let label = category.label.as_deref().map(collapse);
                label
                    .filter(|label| !label.is_empty())
                    .unwrap_or_else(|| collapse(&category.term))
            })
            .collect(),
        language: entry.language.clone().or_else(|| feed.language.clone()),
        image: entry.media.iter().find_map(picture),
        body: body(entry, url.as_deref(), None, base),
        url,
        ..Listed::default()
    }
}

/// `type="html"` is parsed and its text taken; `text` is never parsed as HTML.
fn plain_text(text: &Text) -> Option<String> {
    let plain = if text.content_type.as_str() == "text/plain" {
        collapse(&text.content)
    } else {
        html_to_text(&text.content)
    };
    (!plain.is_empty()).then_some(plain)
}

/// The link to the article itself: not to its comments, not to a file that comes with it.
fn article_link(links: &[Link]) -> Option<&Link> {
    links.iter().find(|link| {
        link.target.is_none()
            && link.rel.as_deref().is_none_or(|rel| rel == "alternate")
            && link
                .media_type
                .as_deref()
                .is_none_or(|media_type| media_type.contains("html"))
    })
}

/// The text starts its links at `xml_base`, where the feed says such a thing; else at the article, since most feeds hold
/// the article's own HTML.
fn body(entry: &Entry, url: Option<&str>, xml_base: Option<&Url>, base: &Url) -> Option<Body> {
    let content = entry.content.as_ref()?;
    let text = content
        .body
        .as_deref()
        .filter(|body| !body.trim().is_empty())?;
    let html = match content.content_type.as_str() {
        "text/plain" => return Some(Body::Html(text_to_html(text))),
        "text/html" | "application/xhtml+xml" => text,
        _other => return None,
    };
    let base = url
        .and_then(|url| base.join(url).ok())
        .unwrap_or_else(|| base.clone());
    Some(Body::Html(resolve_links(html, xml_base.unwrap_or(&base))))
}

fn picture(media: &MediaObject) -> Option<String> {
    let thumbnail = media
        .thumbnails
        .first()
        .map(|thumbnail| thumbnail.image.uri.clone());
    thumbnail.or_else(|| {
        media
            .content
            .iter()
            .find(|content| {
                content
                    .content_type
                    .as_ref()
                    .is_some_and(|media_type| media_type.as_str().starts_with("image/"))
            })
            .and_then(|content| content.url.clone())
            .map(String::from)
    })
}

/// Keeps the texts of unreadable dates. The library's parser can only answer with a time or nothing, and nothing
/// would make an unreadable date look like a missing one: such a date is answered with a moment in the remotest
/// past that counts into this list.
#[derive(Clone, Debug, Default)]
struct UnreadableDates(Arc<Mutex<Vec<String>>>);

impl UnreadableDates {
    fn parse(&self, text: &str, timezone: Tz) -> Option<DateTime<Utc>> {
        match DateField::read(text, timezone) {
            DateField::Missing => None,
            DateField::At(time) => Some(time.to_chrono()),
            DateField::Unreadable(text) => {
                let mut texts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                texts.push(text);
                let number = i64::try_from(texts.len() - 1).ok()?;
                Some(DateTime::<Utc>::MIN_UTC + TimeDelta::seconds(number))
            }
        }
    }

    fn field(&self, time: Option<DateTime<Utc>>) -> DateField {
        let Some(time) = time else {
            return DateField::Missing;
        };
        let number = time
            .signed_duration_since(DateTime::<Utc>::MIN_UTC)
            .num_seconds();
        let texts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        usize::try_from(number)
            .ok()
            .and_then(|number| texts.get(number))
            .map_or_else(
                || DateField::At(Timestamp::from_chrono(&time)),
                |text| DateField::Unreadable(text.clone()),
            )
    }
}
