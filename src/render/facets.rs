//! Facets of a Bluesky post: which bytes of its text are links and hashtags.

use serde_json::{Value, json};

use super::length::graphemes;
use super::scan::{KnownLink, links, tags};

/// Limits of `app.bsky.richtext.facet#tag`; a longer hashtag stays plain text.
const TAG_BYTES_MAX: usize = 640;
const TAG_GRAPHEMES_MAX: usize = 64;

/// Returns the facets of `text`, in its order; `known` is marked with its whole address.
///
/// Offsets count bytes of the UTF-8 text. Mentions stay plain text: marking one needs a DID, which takes a lookup.
pub(super) fn of(text: &str, known: KnownLink<'_>) -> Vec<Value> {
    let links = links(text, Some(known));
    let tags = tags(text, &links);
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
    facets.sort_by_key(|(start, _)| *start);
    facets.into_iter().map(|(_, facet)| facet).collect()
}

fn facet(range: &std::ops::Range<usize>, feature: &Value) -> Value {
    json!({
        "index": {"byteStart": range.start, "byteEnd": range.end},
        "features": [feature],
    })
}
