//! `IndexNow`: the address alone.

use serde_json::{Map, Value};

use super::length::graphemes;
use super::{Wishes, notes_without};
use crate::model::item::Item;
use crate::model::post::{Post, Rendered};

pub(super) fn compose(item: &Item, wishes: &Wishes<'_>) -> Rendered {
    let url = item.canonical_url.clone();
    Rendered {
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
            ("series", wishes.series),
        ]),
    }
}
