//! The text of a post that the ledger holds, with its length as the service counts it.

use super::length::{graphemes, mastodon_with};
use super::{bluesky, devto, http, mastodon as status};
use crate::config::{ChannelConfig, ServiceConfig};
use crate::model::outcome::ServerLimits;
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

/// Measures a post. `limits` are what the server told.
pub fn measure(post: &Post, channel: &ChannelConfig, limits: ServerLimits) -> Measured {
    let text = |field: &str| post.string(field).unwrap_or_default().to_owned();
    match &channel.service {
        ServiceConfig::IndexNow { .. } => Measured::of(text("url"), graphemes, None),
        ServiceConfig::Bluesky { .. } => {
            Measured::of(text("text"), graphemes, Some(bluesky::TEXT_GRAPHEMES_MAX))
        }
        ServiceConfig::Mastodon { .. } => {
            let warning = text("content_warning");
            let limit = limits.text.unwrap_or(status::TEXT_MAX_DEFAULT);
            let count = |text: &str| mastodon_with(&warning, text, limits.link);
            Measured::of(text("text"), count, Some(limit))
        }
        ServiceConfig::Devto { .. } => {
            let count = |text: &str| text.chars().count();
            Measured::of(text("title"), count, Some(devto::TITLE_MAX))
        }
        ServiceConfig::Http(declaration) => match post.string("text") {
            Some(text) => {
                let count = |text: &str| http::measured(text, declaration.count);
                Measured::of(text.to_owned(), count, declaration.limit)
            }
            None => Measured::of(text("url"), graphemes, None),
        },
    }
}

impl Measured {
    fn of(text: String, count: impl Fn(&str) -> usize, limit: Option<usize>) -> Self {
        Self {
            length: count(&text),
            text,
            limit,
        }
    }
}
