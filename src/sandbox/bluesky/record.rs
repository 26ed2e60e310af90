//! The lexicon of posts, as far as a server checks it.

use chrono::DateTime;
use serde_json::{Map, Value};
use unicode_segmentation::UnicodeSegmentation as _;

use crate::sandbox::text;

/// The collection of posts.
pub(super) const POST: &str = "app.bsky.feed.post";

const TEXT_GRAPHEMES_MAX: usize = 300;
const TEXT_BYTES_MAX: usize = 3000;
const LANGUAGES_MAX: usize = 3;
const TAGS_MAX: usize = 8;
const TAG_GRAPHEMES_MAX: usize = 64;
const TAG_BYTES_MAX: usize = 640;
const IMAGES_MAX: usize = 4;
const THUMB_BYTES_MAX: u64 = 1_000_000;
const IMAGE_BYTES_MAX: u64 = 2_000_000;

/// A blob that a record names.
pub(super) struct BlobRef {
    pub(super) cid: String,
    pub(super) mime_type: String,
    pub(super) size: Option<u64>,
}

/// Checks a post; the problem is worded as the service does.
pub(super) fn validate(post: &Map<String, Value>) -> Result<(), String> {
    let at = "$.record";
    let text = string(post, "text", at)?;
    limit_string(text, (TEXT_BYTES_MAX, TEXT_GRAPHEMES_MAX), "$.record.text")?;
    let created_at = string(post, "createdAt", at)?;
    if !is_datetime(created_at) {
        return Err(format!(
            "Invalid datetime string (got \"{created_at}\") at $.record.createdAt"
        ));
    }
    strings(post, "langs", LANGUAGES_MAX)?;
    for (index, tag) in strings(post, "tags", TAGS_MAX)?.into_iter().enumerate() {
        let path = format!("$.record.tags[{index}]");
        limit_string(tag, (TAG_BYTES_MAX, TAG_GRAPHEMES_MAX), &path)?;
    }
    for (index, facet) in array(post, "facets", at)?.iter().enumerate() {
        validate_facet(facet, &format!("$.record.facets[{index}]"))?;
    }
    match post.get("embed") {
        None => Ok(()),
        Some(embed) => validate_embed(object(embed, "$.record.embed")?),
    }
}

/// Offsets are not compared with the text: clients ignore facets that don't fit, and so does the server.
fn validate_facet(facet: &Value, path: &str) -> Result<(), String> {
    let facet = object(facet, path)?;
    let index_path = format!("{path}.index");
    let index = object(required(facet, "index", path)?, &index_path)?;
    for field in ["byteStart", "byteEnd"] {
        let offset = required(index, field, &index_path)?;
        if offset.as_u64().is_none() {
            return Err(format!(
                "Expected integer value type (got {offset}) at {index_path}.{field}"
            ));
        }
    }
    required(facet, "features", path)?;
    for (number, feature) in array(facet, "features", path)?.iter().enumerate() {
        let path = format!("{path}.features[{number}]");
        let feature = object(feature, &path)?;
        match string(feature, "$type", &path)? {
            "app.bsky.richtext.facet#link" => string(feature, "uri", &path)?,
            "app.bsky.richtext.facet#mention" => string(feature, "did", &path)?,
            "app.bsky.richtext.facet#tag" => string(feature, "tag", &path)?,
            // The union is open: what is not known is not checked.
            _ => continue,
        };
    }
    Ok(())
}

fn validate_embed(embed: &Map<String, Value>) -> Result<(), String> {
    let at = "$.record.embed";
    match string(embed, "$type", at)? {
        "app.bsky.embed.external" => {
            let at = "$.record.embed.external";
            let external = object(required(embed, "external", "$.record.embed")?, at)?;
            let uri = string(external, "uri", at)?;
            if !uri.split_once(':').is_some_and(|(scheme, rest)| {
                scheme.starts_with(|c: char| c.is_ascii_lowercase()) && !rest.is_empty()
            }) {
                return Err(format!("Invalid URI string (got \"{uri}\") at {at}.uri"));
            }
            string(external, "title", at)?;
            string(external, "description", at)?;
            match external.get("thumb") {
                Some(thumb) => validate_image(thumb, THUMB_BYTES_MAX, &format!("{at}.thumb")),
                None => Ok(()),
            }
        }
        "app.bsky.embed.images" => {
            required(embed, "images", at)?;
            let images = array(embed, "images", at)?;
            limit_array(images.len(), IMAGES_MAX, "$.record.embed.images")?;
            for (index, image) in images.iter().enumerate() {
                let path = format!("$.record.embed.images[{index}]");
                let image = object(image, &path)?;
                string(image, "alt", &path)?;
                let blob = required(image, "image", &path)?;
                validate_image(blob, IMAGE_BYTES_MAX, &format!("{path}.image"))?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn validate_image(blob: &Value, bytes_max: u64, path: &str) -> Result<(), String> {
    if blob_cid(blob).is_none() {
        return Err(format!("Expected blob value type at {path}"));
    }
    let size = blob.get("size").and_then(Value::as_u64).unwrap_or(0);
    if size > bytes_max {
        return Err(format!(
            "blob too big (maximum {bytes_max}, got {size}) at {path}"
        ));
    }
    match blob.get("mimeType").and_then(Value::as_str) {
        Some(mime_type) if mime_type.starts_with("image/") => Ok(()),
        other => Err(format!(
            "Expected \"image/*\" (got \"{}\") at {path}.mimeType",
            other.unwrap_or("none")
        )),
    }
}

/// Returns the first fraction in a value and where it stands: the data model has none.
pub(super) fn float(value: &Value, path: &str) -> Option<(String, String)> {
    match value {
        Value::Number(number) if number.is_f64() => Some((number.to_string(), path.to_owned())),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(index, item)| float(item, &format!("{path}[{index}]"))),
        Value::Object(fields) => fields
            .iter()
            .find_map(|(name, field)| float(field, &format!("{path}.{name}"))),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// Returns every blob that a record names.
pub(super) fn blobs(value: &Value) -> Vec<BlobRef> {
    if let Some(cid) = blob_cid(value) {
        let mime_type = value.get("mimeType").and_then(Value::as_str);
        return vec![BlobRef {
            cid: cid.to_owned(),
            mime_type: mime_type.unwrap_or_default().to_owned(),
            size: value.get("size").and_then(Value::as_u64),
        }];
    }
    match value {
        Value::Array(items) => items.iter().flat_map(blobs).collect(),
        Value::Object(fields) => fields.values().flat_map(blobs).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

/// Returns the type of an image by its first bytes: the server believes them, not the client.
pub(super) fn sniff(bytes: &[u8]) -> Option<&'static str> {
    let starts = |magic: &[u8]| bytes.starts_with(magic);
    if starts(b"\x89PNG\r\n\x1a\n") {
        Some("image/png")
    } else if starts(b"\xff\xd8\xff") {
        Some("image/jpeg")
    } else if starts(b"GIF8") {
        Some("image/gif")
    } else if starts(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        Some("image/webp")
    } else {
        None
    }
}

/// Returns the text of a post.
pub(super) fn text(post: &Value) -> &str {
    post.get("text").and_then(Value::as_str).unwrap_or_default()
}

/// Returns the texts that stand for a post's own pictures.
pub(super) fn pictures(post: &Value) -> Vec<String> {
    let images = post.pointer("/embed/images").and_then(Value::as_array);
    let alt = |image: &Value| Some(image.get("alt")?.as_str()?.to_owned());
    images.into_iter().flatten().filter_map(alt).collect()
}

/// Returns every link of a post: the card's, the facets', the text's.
pub(super) fn links(post: &Value) -> Vec<&str> {
    let card = post
        .pointer("/embed/external/uri")
        .or_else(|| post.pointer("/embed/media/external/uri"))
        .and_then(Value::as_str);
    let facets = post.get("facets").and_then(Value::as_array);
    let in_facets = facets
        .into_iter()
        .flatten()
        .filter_map(|facet| facet.get("features")?.as_array())
        .flatten()
        .filter_map(|feature| feature.get("uri")?.as_str());
    card.into_iter()
        .chain(in_facets)
        .chain(text::links(text(post)))
        .collect()
}

fn blob_cid(value: &Value) -> Option<&str> {
    let is_blob = value.get("$type").and_then(Value::as_str) == Some("blob");
    value.pointer("/ref/$link")?.as_str().filter(|_| is_blob)
}

fn required<'a>(
    fields: &'a Map<String, Value>,
    name: &str,
    path: &str,
) -> Result<&'a Value, String> {
    fields
        .get(name)
        .ok_or_else(|| format!("Missing required key \"{name}\" at {path}"))
}

fn object<'a>(value: &'a Value, path: &str) -> Result<&'a Map<String, Value>, String> {
    value
        .as_object()
        .ok_or_else(|| format!("Expected object value type (got {value}) at {path}"))
}

fn string<'a>(fields: &'a Map<String, Value>, name: &str, path: &str) -> Result<&'a str, String> {
    let value = required(fields, name, path)?;
    value
        .as_str()
        .ok_or_else(|| format!("Expected string value type (got {value}) at {path}.{name}"))
}

fn array<'a>(
    fields: &'a Map<String, Value>,
    name: &str,
    path: &str,
) -> Result<&'a [Value], String> {
    match fields.get(name) {
        None => Ok(&[]),
        Some(Value::Array(items)) => Ok(items),
        Some(other) => Err(format!(
            "Expected array value type (got {other}) at {path}.{name}"
        )),
    }
}

fn strings<'a>(
    post: &'a Map<String, Value>,
    name: &str,
    max: usize,
) -> Result<Vec<&'a str>, String> {
    let items = array(post, name, "$.record")?;
    limit_array(items.len(), max, &format!("$.record.{name}"))?;
    items
        .iter()
        .enumerate()
        .map(|(index, item)| {
            item.as_str().ok_or_else(|| {
                format!("Expected string value type (got {item}) at $.record.{name}[{index}]")
            })
        })
        .collect()
}

fn limit_array(length: usize, max: usize, path: &str) -> Result<(), String> {
    if length > max {
        return Err(format!(
            "array too big (maximum {max}, got {length}) at {path}"
        ));
    }
    Ok(())
}

fn limit_string(
    text: &str,
    (bytes_max, graphemes_max): (usize, usize),
    path: &str,
) -> Result<(), String> {
    if text.len() > bytes_max {
        return Err(format!(
            "string too big (maximum {bytes_max}, got {}) at {path}",
            text.len()
        ));
    }
    let graphemes = text.graphemes(true).count();
    if graphemes > graphemes_max {
        return Err(format!(
            "grapheme too big (maximum {graphemes_max}, got {graphemes}) at {path}"
        ));
    }
    Ok(())
}

/// RFC 3339 as the protocol narrows it: upper-case `T` and `Z`, and no unknown offset.
fn is_datetime(text: &str) -> bool {
    DateTime::parse_from_rfc3339(text).is_ok()
        && text.as_bytes().get(10) == Some(&b'T')
        && !text.ends_with('z')
        && !text.ends_with("-00:00")
        && text.len() <= 64
}
