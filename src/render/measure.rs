//! The text of a post that the ledger holds, with its length as the service counts it.

use super::length::{graphemes, mastodon};
use super::{bluesky, devto, mastodon as status};
use crate::model::channel::Kind;
use crate::model::post::Post;

/// A post's text and length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    /// What people read first.
    pub text: String,
    /// Its length in the service's unit.
    pub length: usize,
    /// The service's limit in the same unit; none where there is none.
    pub limit: Option<usize>,
}

/// Measures a post. `text_limit` is what the server told; none takes the kind's default.
pub fn measure(post: &Post, kind: Kind, text_limit: Option<usize>) -> Measured {
    let field = match kind {
        Kind::IndexNow => "url",
        Kind::Bluesky | Kind::Mastodon => "text",
        Kind::Devto => "title",
    };
    let text = post.string(field).unwrap_or_default().to_owned();
    let (length, limit) = match kind {
        Kind::IndexNow => (graphemes(&text), None),
        Kind::Bluesky => (graphemes(&text), Some(bluesky::TEXT_GRAPHEMES_MAX)),
        Kind::Mastodon => {
            let warning = post.string("content_warning").unwrap_or_default();
            let limit = text_limit.unwrap_or(status::TEXT_MAX_DEFAULT);
            (mastodon(&format!("{warning}{text}")), Some(limit))
        }
        Kind::Devto => (text.chars().count(), Some(devto::TITLE_MAX)),
    };
    Measured {
        text,
        length,
        limit,
    }
}
