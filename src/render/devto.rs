//! dev.to and other Forems: the whole article, with its own address as the canonical one.

use serde_json::{Map, Value};

use super::fit::shorten;
use super::markdown::escaped;
use super::template::tag_words;
use super::{RenderError, Wishes, first_image, image_url, links, liquid, notes_without};
use crate::model::item::{Body, Item};
use crate::model::post::{Post, Rendered};

/// Code points of a title.
pub(super) const TITLE_MAX: usize = 128;
const TAGS_MAX: usize = 4;
const TAG_LENGTH_MAX: usize = 30;
/// Characters of all tags, joined by a comma and a space.
const TAGS_JOINED_MAX: usize = 126;
/// 800 KB, in the service's own way of counting.
const BODY_BYTES_MAX: usize = 800 * 1024;
/// How many links a note names.
const FILES_NAMED: usize = 5;

pub(super) fn compose(
    item: &Item,
    wishes: &Wishes<'_>,
    published: bool,
    organization_id: Option<u64>,
) -> Result<Rendered, RenderError> {
    let mut notes = notes_without(&[
        ("text", wishes.text),
        ("content warning", wishes.content_warning),
        ("language", wishes.language),
        ("alt", wishes.alt),
        ("list of images", first_image(wishes)),
    ]);
    let title = title(&item.title, &mut notes)?;
    let tags = tags(&item.tags, &mut notes);
    let body = body(item, &mut notes)?;
    let mut fields = Map::new();
    fields.insert("title".to_owned(), Value::from(title.as_str()));
    fields.insert(
        "canonical_url".to_owned(),
        Value::from(item.canonical_url.as_str()),
    );
    let description = item.description.as_deref().map(str::trim);
    if let Some(description) = description.filter(|description| !description.is_empty()) {
        fields.insert("description".to_owned(), Value::from(description));
    }
    fields.insert("tags".to_owned(), Value::from(tags));
    fields.insert("body_markdown".to_owned(), Value::from(body));
    fields.insert("published".to_owned(), Value::from(published));
    if let Some(image) = image_url(item, wishes) {
        fields.insert("main_image".to_owned(), Value::from(image));
    }
    // An empty one for this channel keeps the article's own away.
    let series = wishes.series.or(item.series.as_deref()).map(str::trim);
    if let Some(series) = series.filter(|name| !name.is_empty()) {
        fields.insert("series".to_owned(), Value::from(series));
    }
    if let Some(id) = organization_id {
        fields.insert("organization_id".to_owned(), Value::from(id));
    }
    Ok(Rendered {
        post: Post::new(fields),
        length: title.chars().count(),
        text: title,
        limit: Some(TITLE_MAX),
        notes,
    })
}

fn title(full: &str, notes: &mut Vec<String>) -> Result<String, RenderError> {
    let full: String = full.chars().filter(|char| !char.is_control()).collect();
    let full = full.trim();
    if full.is_empty() {
        return Err(RenderError::NoTitle);
    }
    let fits = |title: &str| title.chars().count() <= TITLE_MAX;
    let title = shorten(full, fits).ok_or(RenderError::TooLong {
        length: full.chars().count(),
        limit: TITLE_MAX,
        unit: "characters",
    })?;
    if title != full {
        notes.push(format!(
            "the title is shortened from {} to {} characters",
            full.chars().count(),
            title.chars().count()
        ));
    }
    Ok(title)
}

/// Maps tags to the service's rules: letters and digits, lower case, at most four.
fn tags(tags: &[String], notes: &mut Vec<String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    let mut dropped: Vec<&str> = Vec::new();
    for tag in tags {
        let name: String = tag_words(tag)
            .concat()
            .to_lowercase()
            .chars()
            .filter(|char| char.is_alphanumeric())
            .collect();
        if kept.contains(&name) {
            continue;
        }
        let joined: usize = kept.iter().map(|tag| tag.chars().count() + 2).sum();
        let length = name.chars().count();
        let legal = !name.is_empty()
            && length <= TAG_LENGTH_MAX
            && kept.len() < TAGS_MAX
            && joined + length <= TAGS_JOINED_MAX;
        if legal {
            kept.push(name);
        } else {
            dropped.push(tag);
        }
    }
    if !dropped.is_empty() {
        notes.push(format!(
            "tags left out (at most {TAGS_MAX} of at most {TAG_LENGTH_MAX} letters and digits): {}",
            dropped.join(", ")
        ));
    }
    kept
}

fn body(item: &Item, notes: &mut Vec<String>) -> Result<String, RenderError> {
    let body = match &item.body {
        Some(Body::Markdown(markdown)) => match liquid::convert(markdown) {
            Ok(converted) => {
                let absolute = links::absolute(&converted, &item.canonical_url);
                notes.extend(note_of_files(&absolute.to_files));
                absolute.text
            }
            Err(code) => {
                notes.push(format!(
                    "the article has `{code}`, which this service would refuse: the body is the description and the link"
                ));
                excerpt(item)
            }
        },
        // Entities are shown as what they stand for, also in code, and are no Liquid.
        Some(Body::Html(html)) => liquid::without_liquid(html),
        None => excerpt(item),
    };
    if body.trim().is_empty() {
        return Ok(excerpt(item));
    }
    if body.len() > BODY_BYTES_MAX {
        return Err(RenderError::BodyTooLong {
            bytes: body.len(),
            limit: BODY_BYTES_MAX,
        });
    }
    Ok(body)
}

/// Says which links lead nowhere.
fn note_of_files(links: &[String]) -> Option<String> {
    let [_, ..] = links else { return None };
    let named: Vec<String> = links
        .iter()
        .take(FILES_NAMED)
        .map(|link| format!("`{link}`"))
        .collect();
    let more = match links.len().saturating_sub(FILES_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!(
        "links to files of the site's source stay as they are, and lead nowhere there (write the page's address): {}{more}",
        named.join(", ")
    ))
}

/// What stands for an article whose text is not known.
fn excerpt(item: &Item) -> String {
    let link = format!("<{}>", item.canonical_url);
    let description = item
        .description
        .as_deref()
        .map(str::trim)
        .unwrap_or_default();
    if description.is_empty() {
        return link;
    }
    format!(
        "{}\n\n{link}",
        liquid::without_liquid(&escaped(description))
    )
}
