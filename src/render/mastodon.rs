//! Mastodon and its relatives: a status.

use serde_json::{Map, Value};

use super::fit::{Limit, fit};
use super::scan::Address;
use super::template::{Draft, Text};
use super::{
    RenderError, ShownPicture, Wishes, language_of, length, notes_without, picture_left_out,
};
use crate::config::{ChannelConfig, Visibility};
use crate::model::item::Item;
use crate::model::outcome::ServerLimits;
use crate::model::post::{Post, Rendered};

/// What a server allows that says nothing else.
pub(super) const TEXT_MAX_DEFAULT: usize = 500;

/// What the channel and its server say.
#[derive(Clone, Copy, Debug)]
pub(super) struct Options<'a> {
    pub(super) visibility: Visibility,
    pub(super) content_warning: Option<&'a str>,
    pub(super) limits: ServerLimits,
    pub(super) pictures: &'a [ShownPicture],
}

pub(super) fn compose(
    item: &Item,
    channel: &ChannelConfig,
    wishes: &Wishes<'_>,
    options: Options<'_>,
) -> Result<Rendered, RenderError> {
    let mut notes = notes_without(&[("series", wishes.series)]);
    let language = language_of(item, channel, wishes, &mut notes);
    let warning = options
        .content_warning
        .map(str::trim)
        .filter(|warning| !warning.is_empty());
    let limit = options.limits.text.unwrap_or(TEXT_MAX_DEFAULT);
    let measure =
        |text: &str| length::mastodon_with(warning.unwrap_or_default(), text, options.limits.link);
    let template = Text::new(wishes.text, &channel.template)?;
    let draft = Draft::of(
        item,
        channel,
        Address::Found(&item.canonical_url),
        language.clone(),
    );
    let fitted = fit(
        &template,
        &draft,
        &[Limit {
            max: limit,
            unit: "characters",
            measure: &measure,
        }],
    )?;
    notes.extend(fitted.notes);
    let mut fields = Map::new();
    fields.insert("text".to_owned(), Value::from(fitted.text.as_str()));
    if let Some(language) = language {
        fields.insert("language".to_owned(), Value::from(language));
    }
    fields.insert(
        "visibility".to_owned(),
        Value::from(options.visibility.label()),
    );
    if let Some(warning) = warning {
        fields.insert("content_warning".to_owned(), Value::from(warning));
    }
    for (picture, alt) in options.pictures {
        picture.insert_into(&mut fields, alt.as_deref());
    }
    notes.extend(picture_left_out(item, channel).map(str::to_owned));
    Ok(Rendered {
        post: Post::new(fields),
        length: measure(&fitted.text),
        text: fitted.text,
        limit: Some(limit),
        notes,
    })
}
