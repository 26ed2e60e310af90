//! What a change of a post says: what the article says now, and of what stands all that has to go.
//!
//! Only what the post was claimed with is ever taken away: the rest is a person's.

use serde_json::{Map, Value};

use super::{RenderError, Stamp, compose_with, facets};
use crate::config::ChannelConfig;
use crate::model::channel::Kind;
use crate::model::item::Item;
use crate::model::media::{Picture, PlannedPicture, Prepared};
use crate::model::outcome::ServerLimits;
use crate::model::post::{Post, Rendered};

/// Fields of a dev.to article that stay as they are where a change does not name them.
const DEVTO_OPTIONAL: [&str; 3] = [DEVTO_DESCRIPTION, "main_image", "series"];
/// The one of them that can't be `null`: an empty one becomes the service's own excerpt.
const DEVTO_DESCRIPTION: &str = "description";
/// The field of a dev.to article that always goes out with an announcement.
const DEVTO_TAGS: &str = "tags";

/// Returns what an earlier post has beside its text.
pub(super) fn had(post: &Post) -> Prepared {
    Prepared {
        pictures: Picture::all_of(post),
        mentions: facets::mentioned(post),
        made: Prepared::made_of(post),
        replaces: true,
        unread: None,
        notes: Vec::new(),
    }
}

/// Writes the change of a post with what was found of what it needs. `shown` is the post as it was claimed last; none:
/// it was found, or a person told of it.
pub fn compose_change(
    item: &Item,
    channel: &ChannelConfig,
    limits: ServerLimits,
    stamp: Stamp<'_>,
    shown: Option<&Post>,
    prepared: &Prepared,
) -> Result<Rendered, RenderError> {
    let limits = ServerLimits {
        needs_picture: limits.needs_picture && prepared.replaces,
        ..limits
    };
    let rendered = compose_with(item, channel, limits, stamp, prepared)?;
    let mut fields = rendered.post.fields().clone();
    if let Some(shown) = shown {
        if !prepared.replaces {
            Picture::keep_in(&mut fields, shown);
        } else if Picture::all_of(&rendered.post).is_empty() && !Picture::all_of(shown).is_empty() {
            Picture::insert_none_into(&mut fields);
        }
        if channel.kind() == Kind::Devto {
            take_away(&mut fields, shown);
        }
    }
    Ok(Rendered {
        post: Post::new(fields),
        ..rendered
    })
}

/// Writes the change of a post as it would be if every picture that it shows stays.
pub fn compose_planned_change(
    item: &Item,
    channel: &ChannelConfig,
    limits: ServerLimits,
    shown: &Post,
) -> Result<Rendered, RenderError> {
    let limits = ServerLimits {
        needs_picture: limits.needs_picture && super::pictures(item, channel).is_empty(),
        ..limits
    };
    let stamp = Stamp::Of(shown);
    compose_change(item, channel, limits, stamp, Some(shown), &had(shown))
}

/// Whether the post of `item` for `channel` would be another one than `shown`, also by the pictures that it wants.
pub fn differs(item: &Item, channel: &ChannelConfig, limits: ServerLimits, shown: &Post) -> bool {
    let wished = super::pictures(item, channel);
    // A picture that the post does not show yet has not been read.
    says_otherwise(item, channel, limits, shown)
        || channel.kind() == Kind::Mastodon && wished != PlannedPicture::all_of(shown)
}

/// Whether the post of `item` for `channel` would say something else than `claimed`. Pictures don't count: what was claimed
/// without one that could not be had would differ for ever.
pub fn says_otherwise(
    item: &Item,
    channel: &ChannelConfig,
    limits: ServerLimits,
    claimed: &Post,
) -> bool {
    compose_planned_change(item, channel, limits, claimed)
        .is_ok_and(|rendered| said(&rendered.post) != said(claimed))
}

/// Returns what a post says, without what a change says only to take something away.
fn said(post: &Post) -> Map<String, Value> {
    let mut said = post.fields().clone();
    Picture::forget_kept_in(&mut said);
    said.retain(|_, value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(all) => !all.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => true,
    });
    said
}

/// Takes away what the article had when the post was claimed. Tags that it never had are a person's.
fn take_away(fields: &mut Map<String, Value>, shown: &Post) {
    for field in DEVTO_OPTIONAL {
        let stood = shown.string(field).unwrap_or_default();
        if !stood.is_empty() && !fields.contains_key(field) {
            let nothing = match field {
                DEVTO_DESCRIPTION => Value::from(""),
                _ => Value::Null,
            };
            fields.insert(field.to_owned(), nothing);
        }
    }
    let is_none = |tags: Option<&Value>| tags.and_then(Value::as_array).is_none_or(Vec::is_empty);
    if is_none(fields.get(DEVTO_TAGS)) && is_none(shown.fields().get(DEVTO_TAGS)) {
        fields.shift_remove(DEVTO_TAGS);
    }
}
