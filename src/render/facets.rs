//! Facets of a Bluesky post: which bytes of its text are links, hashtags, and mentions.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::length::graphemes;
use super::scan::{KnownLink, handles, links, tags};
use crate::model::post::Post;

/// Limits of `app.bsky.richtext.facet#tag`; a longer hashtag stays plain text.
const TAG_BYTES_MAX: usize = 640;
const TAG_GRAPHEMES_MAX: usize = 64;

const MENTION: &str = "app.bsky.richtext.facet#mention";

/// Returns the facets of `text`, in its order; `known` is marked with its whole address.
///
/// Offsets count bytes of the UTF-8 text. A handle is a mention if `dids` has it; every other one stays plain text.
pub(super) fn of(text: &str, known: KnownLink<'_>, dids: &BTreeMap<String, String>) -> Vec<Value> {
    let links = links(text, Some(known));
    let tags = tags(text, &links);
    let handles = handles(text, &links);
    let mut facets: Vec<(usize, Value)> = links
        .into_iter()
        .map(|link| {
            let feature = json!({"$type": "app.bsky.richtext.facet#link", "uri": link.uri});
            (link.range.start, facet(&link.range, &feature))
        })
        .collect();
    facets.extend(
        tags.into_iter()
            .filter(|tag| {
                tag.name.len() <= TAG_BYTES_MAX && graphemes(&tag.name) <= TAG_GRAPHEMES_MAX
            })
            .map(|tag| {
                let feature = json!({"$type": "app.bsky.richtext.facet#tag", "tag": tag.name});
                (tag.range.start, facet(&tag.range, &feature))
            }),
    );
    facets.extend(handles.into_iter().filter_map(|handle| {
        let did = dids.get(&handle.name)?;
        let feature = json!({"$type": MENTION, "did": did});
        Some((handle.range.start, facet(&handle.range, &feature)))
    }));
    facets.sort_by_key(|(start, _)| *start);
    facets.into_iter().map(|(_, facet)| facet).collect()
}

/// Returns the accounts that an earlier post mentions: handle and DID.
pub(super) fn mentioned(post: &Post) -> BTreeMap<String, String> {
    let record = post.fields().get("record");
    let text = record
        .and_then(|record| record.get("text")?.as_str())
        .unwrap_or_default();
    let facets = record.and_then(|record| record.get("facets")?.as_array());
    let mention = |facet: &Value| {
        let feature = facet.get("features")?.get(0)?;
        if feature.get("$type")?.as_str()? != MENTION {
            return None;
        }
        let offset = |field: &str| usize::try_from(facet.get("index")?.get(field)?.as_u64()?).ok();
        let shown = text.get(offset("byteStart")?..offset("byteEnd")?)?;
        let handle = shown.strip_prefix('@')?.to_ascii_lowercase();
        Some((handle, feature.get("did")?.as_str()?.to_owned()))
    };
    facets.into_iter().flatten().filter_map(mention).collect()
}

fn facet(range: &std::ops::Range<usize>, feature: &Value) -> Value {
    json!({
        "index": {"byteStart": range.start, "byteEnd": range.end},
        "features": [feature],
    })
}
