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

/// Returns what an earlier post has beside its text.
pub(super) fn had(post: &Post) -> Prepared {
    Prepared {
        pictures: Picture::all_of(post),
        mentions: facets::mentioned(post),
        made: Prepared::made_of(post),
        replaces: true,
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

/// Whether the post of `item` for `channel` would be another one than `shown`.
pub fn differs(item: &Item, channel: &ChannelConfig, limits: ServerLimits, shown: &Post) -> bool {
    compose_planned_change(item, channel, limits, shown).is_ok_and(|rendered| {
        let wished = super::pictures(item, channel);
        said(&rendered.post) != said(shown)
            // A picture that the post does not show yet has not been read.
            || channel.kind() == Kind::Mastodon && wished != PlannedPicture::all_of(shown)
    })
}

/// Returns what a post says, without what a change says only to take something away.
fn said(post: &Post) -> Map<String, Value> {
    let mut said = post.fields().clone();
    Picture::forget_kept_in(&mut said);
    said.retain(|_, value| !value.is_null() && value.as_array().is_none_or(|all| !all.is_empty()));
    said
}
