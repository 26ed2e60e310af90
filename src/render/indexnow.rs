//! `IndexNow`: the address alone.

use serde_json::{Map, Value};
use url::Url;

use super::length::graphemes;
use super::{RenderError, Wishes, first_image, notes_without};
use crate::model::address::is_under_key;
use crate::model::item::Item;
use crate::model::post::{Post, Rendered};

pub(super) fn compose(
    item: &Item,
    wishes: &Wishes<'_>,
    key_location: Option<&Url>,
) -> Result<Rendered, RenderError> {
    let url = item.canonical_url.clone();
    let address = Url::parse(&url).ok();
    if let (Some(key_location), Some(address)) = (key_location, &address)
        && !is_under_key(key_location, address)
    {
        return Err(RenderError::Url {
            url,
            reason: "is outside the directory of `key_location`, and a key is good for its own directory only",
        });
    }
    Ok(Rendered {
        post: Post::new(Map::from_iter([(
            "url".to_owned(),
            Value::String(url.clone()),
        )])),
        length: graphemes(&url),
        text: url,
        limit: None,
        notes: notes_without(&[
            ("text", wishes.text),
            ("content warning", wishes.content_warning),
            ("language", wishes.language),
            ("image", wishes.image),
            ("alt", wishes.alt),
            ("list of images", first_image(wishes)),
            ("series", wishes.series),
        ]),
    })
}
