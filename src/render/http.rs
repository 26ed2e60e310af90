//! Declared services: what of the article the declaration's request shows, and no more.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::fit::{Limit, fit};
use super::scan::Address;
use super::template::{Draft, Text};
use super::{RenderError, Wishes, first_image, language_of, length, notes_without};
use crate::config::ChannelConfig;
use crate::config::fields::FRONT_MATTER;
use crate::config::http::{Count, Declaration};
use crate::model::item::{Body, Item};
use crate::model::media::Prepared;
use crate::model::post::{Post, Rendered};

/// The field with an article's own text; the ledger keeps a long one in a file beside the row.
const BODY_FIELD: &str = "body_markdown";

/// The field by which a repeat is known to be the same request.
const FORM_FIELD: &str = "form";

pub(super) fn compose(
    item: &Item,
    channel: &ChannelConfig,
    declaration: &Declaration,
    wishes: &Wishes<'_>,
    prepared: &Prepared,
) -> Result<Rendered, RenderError> {
    let mut notes = notes_without(&[
        ("content warning", wishes.content_warning),
        ("image", wishes.image),
        ("alt", wishes.alt),
        ("list of images", first_image(wishes)),
        ("series", wishes.series),
    ]);
    let language = language_of(item, channel, wishes, &mut notes);
    let variables = declaration.variables();
    let mut fields = Map::new();
    let (text, length) = if declaration.has_text() {
        let text = text(
            item,
            channel,
            declaration,
            wishes,
            language.clone(),
            &mut notes,
        )?;
        let length = measured(&text, declaration.count);
        fields.insert("text".to_owned(), Value::from(text.as_str()));
        (text, length)
    } else {
        notes.extend(notes_without(&[("text", wishes.text)]));
        let url = item.canonical_url.clone();
        let length = length::graphemes(&url);
        (url, length)
    };
    let draft = Draft::of(item, channel, Address::Found(&item.canonical_url), language);
    let mut add = |name: &str, field: &str, value: Value| {
        if variables.contains(name) {
            fields.insert(field.to_owned(), value);
        }
    };
    add("title", "title", Value::from(draft.title.as_str()));
    add(
        "description",
        "description",
        Value::from(draft.description.as_str()),
    );
    add("tags", "tags", Value::from(item.tags.clone()));
    add(
        "hashtags",
        "hashtags",
        Value::from(draft.hashtags.join(" ")),
    );
    add("date", "date", Value::from(draft.date.as_str()));
    let language = draft.language.clone().unwrap_or_default();
    add("language", "language", Value::from(language));
    add("slug", "slug", Value::from(slug(&item.canonical_url)));
    if variables.contains("body") {
        fields.insert(BODY_FIELD.to_owned(), Value::from(body(item)?));
    }
    if let Some(shown) = front_matter_shown(&variables, &item.front_matter) {
        fields.insert(FRONT_MATTER.to_owned(), Value::Object(shown));
    }
    // The row shows which address was announced, whatever the request shows.
    fields.insert("url".to_owned(), Value::from(item.canonical_url.as_str()));
    prepared.insert_made_into(&mut fields);
    if declaration.has_permanent_key() {
        let form = declaration.form_fingerprint();
        fields.insert(FORM_FIELD.to_owned(), Value::from(form.as_str()));
    }
    Ok(Rendered {
        post: Post::new(fields),
        text,
        length,
        limit: declaration.limit.filter(|_| declaration.has_text()),
        notes,
    })
}

/// Returns the fields of a front matter that the templates name: the row keeps no others.
fn front_matter_shown(
    variables: &BTreeSet<String>,
    fields: &Map<String, Value>,
) -> Option<Map<String, Value>> {
    let paths = variables.iter().map(|name| name.split('.'));
    let named: BTreeSet<Option<&str>> = paths
        .filter_map(|mut path| (path.next() == Some(FRONT_MATTER)).then(|| path.next()))
        .collect();
    let is_named = |name: &str| named.contains(&None) || named.contains(&Some(name));
    let shown = fields.iter().filter(|(name, _)| is_named(name));
    (!named.is_empty()).then(|| {
        shown
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    })
}

/// Counts a text as the service does.
pub(super) fn measured(text: &str, count: Count) -> usize {
    match count {
        Count::Graphemes => length::graphemes(text),
        Count::CodePoints => text.chars().count(),
        Count::Utf16 => text.encode_utf16().count(),
        Count::Bytes => text.len(),
        Count::Weibo => length::weibo(text),
        Count::Threads => length::threads(text),
    }
}

fn text(
    item: &Item,
    channel: &ChannelConfig,
    declaration: &Declaration,
    wishes: &Wishes<'_>,
    language: Option<String>,
    notes: &mut Vec<String>,
) -> Result<String, RenderError> {
    let template = Text::new(wishes.text, &channel.template)?;
    let draft = Draft::of(item, channel, Address::Found(&item.canonical_url), language);
    let measure = |text: &str| measured(text, declaration.count);
    let unit = match declaration.count {
        Count::Bytes => "bytes",
        Count::Graphemes | Count::CodePoints | Count::Utf16 | Count::Weibo | Count::Threads => {
            "characters"
        }
    };
    let limits: Vec<Limit<'_>> = declaration
        .limit
        .into_iter()
        .map(|max| Limit {
            max,
            unit,
            measure: &measure,
        })
        .collect();
    let fitted = fit(&template, &draft, &limits)?;
    notes.extend(fitted.notes);
    Ok(fitted.text)
}

fn body(item: &Item) -> Result<String, RenderError> {
    /// What the ledger takes.
    const BYTES_MAX: usize = 800_000;
    let text = match &item.body {
        Some(Body::Markdown(text) | Body::Html(text)) => text.clone(),
        None => String::new(),
    };
    if text.len() > BYTES_MAX {
        return Err(RenderError::BodyTooLong {
            bytes: text.len(),
            limit: BYTES_MAX,
        });
    }
    Ok(text)
}

/// Returns the last part of an address's path, without `.html`.
fn slug(url: &str) -> String {
    let url = url::Url::parse(url);
    let last = url.ok().and_then(|url| {
        let mut segments = url.path_segments()?;
        segments
            .rfind(|segment| !segment.is_empty() && *segment != "index.html")
            .map(str::to_owned)
    });
    let last = last.unwrap_or_default();
    last.strip_suffix(".html").unwrap_or(&last).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_counted_as_the_service_counts() {
        let check = |text: &str| {
            [
                Count::Graphemes,
                Count::CodePoints,
                Count::Utf16,
                Count::Bytes,
                Count::Weibo,
            ]
            .map(|count| measured(text, count))
        };
        assert_eq!(check("abc"), [3, 3, 3, 3, 2]);
        assert_eq!(check("你好"), [2, 2, 2, 6, 2]);
        assert_eq!(check("你好a"), [3, 3, 3, 7, 3]);
        assert_eq!(check("👍🏽"), [1, 2, 4, 8, 2]);
        assert_eq!(check(""), [0; 5]);
    }

    #[test]
    fn a_slug_is_the_last_part_of_the_path() {
        assert_eq!(
            slug("https://blog.example/2026/hello-world/"),
            "hello-world"
        );
        assert_eq!(slug("https://blog.example/hello.html?a=b"), "hello");
        assert_eq!(slug("https://blog.example/hello/index.html"), "hello");
        assert_eq!(slug("https://blog.example/"), "");
    }
}
