//! Feeds: Atom, RSS, and JSON Feed.
//!
//! Invariant: what the library adds of its own (ids, normalised links) never becomes part of an item: ids and links
//! are those that stand in the feed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::Tz;
use feed_rs::model::{Entry, Feed, Link, MediaObject, Text};
use feed_rs::parser::Builder;
use quick_xml::Reader;
use quick_xml::encoding::DecodingReader;
use quick_xml::events::{BytesStart, Event};
use serde_json::Value;
use url::Url;

use crate::model::item::Body;
use crate::model::time::Timestamp;
use crate::panics;

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
    let parsed = panics::catch(|| parser.parse(bytes));
    let feed = parsed
        .map_err(|_panic| "the feed library failed on it".to_owned())?
        .map_err(|error| error.to_string())?;
    let written = AsWritten::scan(bytes);
    Ok(feed
        .entries
        .iter()
        .enumerate()
        .map(|(index, entry)| {
            let mut listed = read_entry(entry, &feed, &written, base, &unreadable_dates);
            listed.place = format!("{place}, entry {}", index + 1);
            if let Some(extra) = written.json_items.get(index) {
                listed.image = extra.image.clone().or(listed.image);
                listed.language = extra.language.clone().or(listed.language);
            }
            listed
        })
        .collect())
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
            .map(|category| collapse(&category.term))
            .collect(),
        language: entry.language.clone().or_else(|| feed.language.clone()),
        image: entry.media.iter().find_map(picture),
        body: body(entry, url.as_deref(), base),
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

fn body(entry: &Entry, url: Option<&str>, base: &Url) -> Option<Body> {
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
    let base = entry
        .base
        .as_deref()
        .and_then(|xml_base| base.join(xml_base).ok())
        .unwrap_or(base);
    Some(Body::Html(resolve_links(html, &base)))
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

/// What the library normalises away or does not read, taken from the feed's own text.
#[derive(Debug, Default)]
struct AsWritten {
    /// Absolute links by their normalised form.
    links: BTreeMap<String, String>,
    /// RSS ids that are addresses.
    permalinks: BTreeSet<String>,
    /// The items of a JSON Feed, in their order.
    json_items: Vec<JsonItem>,
}

#[derive(Debug, Default)]
struct JsonItem {
    image: Option<String>,
    language: Option<String>,
}

impl AsWritten {
    fn scan(bytes: &[u8]) -> Self {
        serde_json::from_slice::<Value>(bytes).map_or_else(
            |_not_json| Self::scan_xml(bytes),
            |feed| Self::scan_json(&feed),
        )
    }

    fn scan_json(feed: &Value) -> Self {
        let mut written = Self::default();
        for item in feed
            .get("items")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let text = |key: &str| item.get(key).and_then(Value::as_str).map(str::to_owned);
            for link in ["url", "external_url"].into_iter().filter_map(text) {
                written.add_link(&link);
            }
            written.json_items.push(JsonItem {
                image: text("image").or_else(|| text("banner_image")),
                language: text("language"),
            });
        }
        written
    }

    /// Reads as far as it goes: whether this is XML was the library's question.
    fn scan_xml(bytes: &[u8]) -> Self {
        let mut written = Self::default();
        let mut reader = Reader::from_reader(DecodingReader::new(bytes));
        let mut buffer = Vec::new();
        let mut inside = Inside::Other;
        let mut text = String::new();
        while let Ok(event) = reader.read_event_into(&mut buffer) {
            match event {
                Event::Decl(declaration) => {
                    if let Some(encoding) = declaration.encoder() {
                        reader.get_mut().set_encoding(encoding);
                    }
                }
                Event::Start(start) | Event::Empty(start) => {
                    inside = written.enter(&start);
                    text.clear();
                }
                Event::Text(piece) => text.push_str(&piece),
                Event::CData(piece) => text.push_str(&piece),
                Event::GeneralRef(reference) => {
                    text.push_str(&super::text::decode_entities(&format!("&{};", &*reference)));
                }
                Event::End(_) => {
                    match inside {
                        Inside::Link => written.add_link(text.trim()),
                        Inside::Permalink => {
                            let id = text.trim();
                            if id.starts_with("http://") || id.starts_with("https://") {
                                written.permalinks.insert(id.to_owned());
                            }
                        }
                        Inside::Other => {}
                    }
                    inside = Inside::Other;
                }
                Event::Eof => break,
                Event::Comment(_) | Event::PI(_) | Event::DocType(_) => {}
            }
            buffer.clear();
        }
        written
    }

    fn enter(&mut self, start: &BytesStart<'_>) -> Inside {
        let attribute = |name: &str| {
            start
                .attributes()
                .flatten()
                .find(|attribute| attribute.key.as_ref() == name)
                .map(|attribute| super::text::decode_entities(&attribute.value))
        };
        match start.local_name().as_ref() {
            "link" => {
                if let Some(href) = attribute("href") {
                    self.add_link(href.trim());
                }
                Inside::Link
            }
            "guid" if attribute("isPermaLink").is_none_or(|value| value != "false") => {
                Inside::Permalink
            }
            _ => Inside::Other,
        }
    }

    fn add_link(&mut self, link: &str) {
        if let Ok(url) = Url::parse(link) {
            self.links
                .entry(url.into())
                .or_insert_with(|| link.to_owned());
        }
    }

    /// Returns a link as the feed wrote it; a relative one made absolute.
    fn link(&self, href: &str, base: &Url) -> String {
        let absolute = base
            .join(href)
            .map_or_else(|_no_url| href.to_owned(), String::from);
        self.links.get(&absolute).cloned().unwrap_or(absolute)
    }
}

/// Which element the text belongs to.
#[derive(Clone, Copy, Debug)]
enum Inside {
    Link,
    Permalink,
    Other,
}
