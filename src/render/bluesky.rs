//! Bluesky: the complete record, with its key and time, so that a repeat sends the very same bytes.

use serde_json::{Map, Value, json};
use unicode_segmentation::UnicodeSegmentation as _;

use super::fit::{Limit, fit};
use super::length::graphemes;
use super::scan::{Address, KnownLink};
use super::template::{Draft, Text};
use super::{
    RenderError, ShownPicture, Stamp, Wishes, facets, language_of, notes_without, scan, tid,
};
use crate::config::ChannelConfig;
use crate::model::item::Item;
use crate::model::media::{Picture, Prepared};
use crate::model::post::{Post, Rendered};
use crate::model::time::Timestamp;

/// Limits of `app.bsky.feed.post`.
pub(super) const TEXT_GRAPHEMES_MAX: usize = 300;
const TEXT_BYTES_MAX: usize = 3_000;
/// How much of an address is shown that is over the limit by itself.
const SHOWN_URL_GRAPHEMES: usize = 100;
/// The card shows two or three lines; more only makes the row long.
const CARD_DESCRIPTION_GRAPHEMES: usize = 1_000;

pub(super) fn compose(
    item: &Item,
    channel: &ChannelConfig,
    wishes: &Wishes<'_>,
    labels: &[String],
    stamp: Stamp<'_>,
    prepared: &Prepared,
    pictures: &[ShownPicture],
) -> Result<Rendered, RenderError> {
    let mut notes = notes_without(&[
        ("content warning", wishes.content_warning),
        ("alt", wishes.alt),
        ("series", wishes.series),
    ]);
    let language = language_of(item, channel, wishes, &mut notes);
    let shown_url = shown(&item.canonical_url);
    if shown_url != item.canonical_url {
        notes.push("the address is over the limit by itself: it is shown shortened, and the link and the card have it whole".to_owned());
    }
    let text = Text::new(wishes.text, &channel.template)?;
    let draft = Draft::of(item, channel, Address::Marked(&shown_url), language.clone());
    let fitted = fit(
        &text,
        &draft,
        &[
            Limit {
                max: TEXT_GRAPHEMES_MAX,
                unit: "characters",
                measure: &graphemes,
            },
            Limit {
                max: TEXT_BYTES_MAX,
                unit: "bytes",
                measure: &str::len,
            },
        ],
    )?;
    notes.extend(fitted.notes);
    let (rkey, created_at) = ids(stamp)?;
    let known = KnownLink {
        shown: &shown_url,
        uri: &item.canonical_url,
    };
    let facets = facets::of(&fitted.text, known, &prepared.mentions);
    let mut record = Map::new();
    record.insert("$type".to_owned(), Value::from("app.bsky.feed.post"));
    record.insert("text".to_owned(), Value::from(fitted.text.as_str()));
    record.insert("createdAt".to_owned(), Value::from(created_at));
    if let Some(language) = &language {
        record.insert("langs".to_owned(), json!([language]));
    }
    if !facets.is_empty() {
        record.insert("facets".to_owned(), Value::Array(facets));
    }
    if !labels.is_empty() {
        record.insert("labels".to_owned(), self_labels(labels));
    }
    // With none of its pictures at hand, the post has the card that any other has.
    let embed = match pictures {
        [(_, Some(_)), ..] => images(pictures),
        [(picture, None), ..] => card(item, Some(picture)),
        [] => card(item, None),
    };
    record.insert("embed".to_owned(), embed);
    let mut fields = Map::new();
    fields.insert("text".to_owned(), Value::from(fitted.text.as_str()));
    if let Some(language) = language {
        fields.insert("language".to_owned(), Value::from(language));
    }
    fields.insert("rkey".to_owned(), Value::from(rkey));
    for (picture, alt) in pictures {
        picture.insert_into(&mut fields, alt.as_deref());
    }
    fields.insert("record".to_owned(), Value::Object(record));
    Ok(Rendered {
        post: Post::new(fields),
        length: graphemes(&fitted.text),
        text: fitted.text,
        limit: Some(TEXT_GRAPHEMES_MAX),
        notes,
    })
}

/// Returns the handles that the post's text mentions, in lower case, each once.
pub(super) fn mentions(item: &Item, channel: &ChannelConfig) -> Vec<String> {
    let now = Stamp::Fresh {
        now: Timestamp::EPOCH,
        entropy: 0,
    };
    let wishes = Wishes::of(item, channel);
    let draft = compose(item, channel, &wishes, &[], now, &Prepared::default(), &[]);
    // What can't be written needs nothing.
    let text = draft.map(|rendered| rendered.text).unwrap_or_default();
    let links = scan::links(&text, None);
    let mut names = Vec::new();
    for handle in scan::handles(&text, &links) {
        if !names.contains(&handle.name) {
            names.push(handle.name);
        }
    }
    names
}

/// Returns what the text shows of an address: all of it, if that fits at all.
fn shown(url: &str) -> String {
    if graphemes(url) <= TEXT_GRAPHEMES_MAX && url.len() <= TEXT_BYTES_MAX {
        return url.to_owned();
    }
    let kept: String = url.graphemes(true).take(SHOWN_URL_GRAPHEMES).collect();
    format!("{kept}…")
}

/// Returns the record's key and time.
fn ids(stamp: Stamp<'_>) -> Result<(String, String), RenderError> {
    match stamp {
        Stamp::Fresh { now, entropy } => Ok((tid::fresh(now, entropy), now.to_string())),
        Stamp::Of(post) => {
            let rkey = post
                .string("rkey")
                .filter(|rkey| tid::is_tid(rkey))
                .ok_or(RenderError::NoStamp { field: "rkey" })?;
            let created_at = post
                .fields()
                .get("record")
                .and_then(|record| record.get("createdAt"))
                .and_then(Value::as_str)
                .filter(|time| Timestamp::parse(time).is_ok())
                .ok_or(RenderError::NoStamp {
                    field: "record.createdAt",
                })?;
            Ok((rkey.to_owned(), created_at.to_owned()))
        }
    }
}

fn self_labels(labels: &[String]) -> Value {
    let values: Vec<Value> = labels.iter().map(|label| json!({"val": label})).collect();
    json!({"$type": "com.atproto.label.defs#selfLabels", "values": values})
}

fn card(item: &Item, picture: Option<&Picture>) -> Value {
    let description: String = item
        .description
        .as_deref()
        .unwrap_or_default()
        .graphemes(true)
        .take(CARD_DESCRIPTION_GRAPHEMES)
        .collect();
    let mut external = json!({
        "uri": item.canonical_url,
        "title": item.title,
        "description": description,
    });
    if let (Some(picture), Some(external)) = (picture, external.as_object_mut()) {
        external.insert("thumb".to_owned(), blob(picture));
    }
    json!({"$type": "app.bsky.embed.external", "external": external})
}

/// Pictures in place of the card: the link is in the text.
fn images(pictures: &[ShownPicture]) -> Value {
    let images: Vec<Value> = pictures
        .iter()
        .map(|(picture, alt)| {
            json!({
                "alt": alt.as_deref().unwrap_or_default(),
                "image": blob(picture),
                "aspectRatio": {"width": picture.width, "height": picture.height},
            })
        })
        .collect();
    json!({"$type": "app.bsky.embed.images", "images": images})
}

fn blob(picture: &Picture) -> Value {
    json!({
        "$type": "blob",
        "ref": {"$link": picture.cid()},
        "mimeType": picture.mime_type,
        "size": picture.size,
    })
}
