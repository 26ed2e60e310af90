//! The manifest: a plain list of articles in JSON, for sites that no other source fits.
//!
//! ```json
//! { "items": [ {
//!     "url": "https://blog.example/hello/", "title": "Hello", "date": "2026-11-29T10:00:00+01:00",
//!     "description": "…", "tags": ["…"], "guid": "…", "language": "en", "image": "/hello.png",
//!     "body_markdown": "…", "sayonce": { "mastodon": "…" }
//! } ] }
//! ```
//!
//! `url`, `title`, and `date` are needed unless another source has them; other fields are refused.

use std::collections::BTreeSet;

use chrono_tz::Tz;
use serde::Deserialize;
use serde_json::{Map, Value};
use url::Url;

use crate::model::ids::ChannelName;
use crate::model::item::Body;

use super::SourceError;
use super::dates::DateField;
use super::front_matter::{line_of, without_position};
use super::listed::Listed;
use super::settings;
use super::text::{collapse, showable_fields};

/// What a manifest says.
#[derive(Debug, Default)]
pub(super) struct Manifest {
    /// Its articles.
    pub(super) items: Vec<Listed>,
    /// What is wrong with single ones, each with the URL of the article to leave out, where it has one.
    pub(super) broken: Vec<(Option<String>, String)>,
}

/// Reads a manifest. `place` names it for people.
pub(super) fn read(
    bytes: &[u8],
    place: &str,
    site: &Url,
    timezone: Tz,
    known_channels: &BTreeSet<ChannelName>,
) -> Result<Manifest, SourceError> {
    let bad = |line, reason| SourceError::BadManifest {
        place: place.to_owned(),
        line,
        reason,
    };
    let text =
        std::str::from_utf8(bytes).map_err(|_not_utf8| bad(1, "it is not UTF-8".to_owned()))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let wire: WireManifest = serde_json::from_str(text)
        .map_err(|error| bad(error.line(), without_position(&error.to_string())))?;
    let mut manifest = Manifest::default();
    for (wire, part) in wire.items.into_iter().zip(item_texts(text)) {
        let url = wire
            .url
            .as_deref()
            .and_then(|link| super::page::absolute(link, site));
        let author_says = wire
            .sayonce
            .map(|value| settings::read(&value, known_channels, timezone))
            .transpose();
        let author_says = match author_says {
            Ok(author_says) => author_says,
            Err(error) => {
                let path: Vec<&str> = std::iter::once("sayonce")
                    .chain(error.path.iter().map(String::as_str))
                    .collect();
                let line = line_of(part.text, part.line, &path).unwrap_or(part.line);
                manifest
                    .broken
                    .push((url, format!("{place}:{line}: {}", error.message)));
                continue;
            }
        };
        let line = line_of(part.text, part.line, &["url"]).unwrap_or(part.line);
        manifest.items.push(Listed {
            place: format!("{place}:{line}"),
            url,
            guid: wire.guid,
            title: wire
                .title
                .map(|title| collapse(&title))
                .filter(|title| !title.is_empty()),
            description: wire.description.map(|text| collapse(&text)),
            published: wire
                .date
                .map_or(DateField::Missing, |date| DateField::read(&date, timezone)),
            tags: wire.tags.unwrap_or_default(),
            language: wire.language,
            image: wire.image,
            body: wire.body_markdown.map(Body::Markdown),
            front_matter: wire.front_matter.map(showable_fields),
            author_says,
            ..Listed::default()
        });
    }
    Ok(manifest)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireManifest {
    items: Vec<WireItem>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireItem {
    url: Option<String>,
    title: Option<String>,
    date: Option<String>,
    description: Option<String>,
    tags: Option<Vec<String>>,
    guid: Option<String>,
    language: Option<String>,
    image: Option<String>,
    body_markdown: Option<String>,
    front_matter: Option<Map<String, Value>>,
    sayonce: Option<Value>,
}

/// The text of one item, and the line on which it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ItemText<'a> {
    text: &'a str,
    line: usize,
}

/// Finds the text of each item in a manifest that was read without error: the objects inside the one array of the
/// root object.
fn item_texts(text: &str) -> Vec<ItemText<'_>> {
    const ITEM_DEPTH: usize = 3;
    let mut found = Vec::new();
    let (mut depth, mut line, mut in_string, mut escaped) = (0_usize, 1, false, false);
    let mut start = (0, 1);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'\n' => line += 1,
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => {
                depth += 1;
                if depth == ITEM_DEPTH {
                    start = (at, line);
                }
            }
            b'}' | b']' => {
                if depth == ITEM_DEPTH {
                    let text = text.get(start.0..=at).unwrap_or_default();
                    found.push(ItemText {
                        text,
                        line: start.1,
                    });
                }
                depth = depth.saturating_sub(1);
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> String {
        let site = Url::parse("https://blog.example/").unwrap();
        let known = BTreeSet::from([ChannelName::new("mastodon").unwrap()]);
        match read(text.as_bytes(), "items.json", &site, Tz::UTC, &known) {
            Ok(manifest) => format!("{:?}", manifest.broken),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn unknown_fields_and_wrong_types_are_refused_with_their_line() {
        assert_eq!(
            check("{\n\"items\": [\n{\"url\": \"/a/\",\n\"titel\": \"A\"}]}"),
            "items.json:4: unknown field `titel`, expected one of `url`, `title`, `date`, `description`, `tags`, `guid`, `language`, `image`, `body_markdown`, `front_matter`, `sayonce`"
        );
        assert_eq!(
            check("{\n\"items\": 7}"),
            "items.json:2: invalid type: integer `7`, expected a sequence"
        );
        assert_eq!(check("{}"), "items.json:1: missing field `items`");
    }

    #[test]
    fn a_wrong_setting_leaves_out_its_item_alone() {
        assert_eq!(
            check(
                "{\"items\": [\n{\"url\": \"/a/\", \"title\": \"sayonce: { [\\\" \", \"sayonce\": false},\n{\n\"sayonce\": {\n\"edition\": 2,\n\"mastdon\": false},\n\"url\": \"/b/\"}\n]}"
            ),
            "[(Some(\"https://blog.example/b/\"), \"items.json:6: `mastdon` is neither `publish_at`, nor `edition`, nor a channel of the configuration (`mastodon`)\")]"
        );
    }
}
