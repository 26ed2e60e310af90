//! From an article to the exact post that a channel will be asked to show.
//!
//! Invariant: nothing here does I/O, reads a clock or draws a random number; equal input gives equal bytes. What a
//! service would refuse is a [`RenderError`], so that it is said before the claim. Start reading at [`compose`].

mod attributes;
mod bluesky;
pub mod change;
mod devto;
mod facets;
mod fit;
mod http;
mod indexnow;
pub mod length;
mod links;
mod liquid;
mod markdown;
mod mastodon;
pub mod measure;
mod scan;
mod template;
mod tid;

use url::Url;

use crate::config::{ChannelConfig, ServiceConfig};
use crate::model::channel::Kind;
use crate::model::ids::ChannelName;
use crate::model::item::{Item, ItemChannelSettings, ItemImage};
use crate::model::media::{Picture, PictureWish, PlannedPicture, Prepared, Wants};
use crate::model::outcome::ServerLimits;
use crate::model::post::{Post, Rendered};
use crate::model::time::Timestamp;

/// Longest URL that is posted: record schemas end at 8 KiB.
const URL_BYTES_MAX: usize = 8_000;

/// Where a post's ids and times come from.
#[derive(Clone, Copy, Debug)]
pub enum Stamp<'a> {
    /// A new post.
    Fresh {
        /// When the post is made.
        now: Timestamp,
        /// Random bits, so that two posts of one moment differ.
        entropy: u64,
    },
    /// The ids and times of an earlier post, so that equal input gives equal bytes.
    Of(&'a Post),
}

/// Why an article can't be posted on a channel. It becomes the reason of a held delivery.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// A template can't be read, or names something that is not there.
    #[error("the template can't be rendered: {reason}")]
    Template {
        /// What is wrong, with its line.
        reason: String,
    },
    /// The template gave no text at all.
    #[error("the text is empty")]
    Empty,
    /// It can't be made short enough without cutting what must stay whole.
    #[error("the text has {length} {unit}, {limit} are allowed, and nothing more can be shortened")]
    TooLong {
        /// The length of the shortest text that was tried.
        length: usize,
        /// The most that the service takes.
        limit: usize,
        /// What is counted: characters or bytes.
        unit: &'static str,
    },
    /// The article's address is not one that can be posted.
    #[error("the article's address `{url}` {reason}")]
    Url {
        /// The address.
        url: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The service requires a title.
    #[error("the article has no title, and the service requires one")]
    NoTitle,
    /// The server takes no post without a picture.
    #[error(
        "the server (Pixelfed) takes no post without a picture, and there is none: give the article `image` and `alt` for this channel"
    )]
    NoPicture,
    /// The article's text is over the service's limit.
    #[error("the article's text has {bytes} bytes, {limit} are allowed")]
    BodyTooLong {
        /// Its size.
        bytes: usize,
        /// The most that the service takes.
        limit: usize,
    },
    /// The earlier post lacks what this one was to take from it.
    #[error("the earlier post has no usable `{field}`")]
    NoStamp {
        /// What it lacks.
        field: &'static str,
    },
}

impl RenderError {
    /// Says it with the file of the article, where the article's own text for a channel is at fault.
    pub fn about(&self, item: &Item, channel: &ChannelName) -> String {
        let is_text = match self {
            Self::Template { .. } | Self::Empty | Self::TooLong { .. } => true,
            Self::Url { .. }
            | Self::NoTitle
            | Self::NoPicture
            | Self::BodyTooLong { .. }
            | Self::NoStamp { .. } => false,
        };
        let settings = item.settings.channels.get(channel);
        let has_own = matches!(
            settings,
            Some(ItemChannelSettings::Custom { text: Some(_), .. })
        );
        match &item.source_file {
            Some(file) if is_text && has_own => format!("{file}: `sayonce.{channel}`: {self}"),
            Some(_) | None => self.to_string(),
        }
    }
}

/// Returns what has to be found before the post of `item` for `channel` is written with [`compose_with`].
pub fn wants(item: &Item, channel: &ChannelConfig) -> Wants {
    let mentions = match &channel.service {
        ServiceConfig::Bluesky { .. } => bluesky::mentions(item, channel),
        ServiceConfig::IndexNow { .. }
        | ServiceConfig::Mastodon { .. }
        | ServiceConfig::Devto { .. }
        | ServiceConfig::Http(_) => Vec::new(),
    };
    let pictures = wished_pictures(item, channel)
        .into_iter()
        .map(|wished| PictureWish {
            url: wished.url,
            sha256: None,
        })
        .collect();
    let prepares = channel
        .declaration()
        .is_some_and(|declaration| declaration.prepare.is_some());
    // What can't be written needs nothing.
    let draft = prepares.then(|| {
        let stamp = Stamp::Fresh {
            now: Timestamp::EPOCH,
            entropy: 0,
        };
        compose(item, channel, ServerLimits::default(), stamp).ok()
    });
    Wants {
        pictures,
        mentions,
        draft: draft.flatten().map(|rendered| rendered.post),
        standing: None,
    }
}

/// Returns the kinds of channels that `post` may have been written for.
pub fn kinds_of(post: &Post) -> Vec<Kind> {
    let has = |name: &str| post.fields().contains_key(name);
    if has("rkey") {
        vec![Kind::Bluesky]
    } else if has("visibility") {
        vec![Kind::Mastodon]
    } else if has("published") && has("tags") {
        vec![Kind::Devto]
    } else if has("url") && post.fields().len() == 1 {
        vec![Kind::IndexNow, Kind::Http]
    } else if has("url") {
        vec![Kind::Http]
    } else {
        Kind::ALL.to_vec()
    }
}

/// Returns the pictures that the post of `item` for `channel` is going to show, as far as they can be had.
pub fn pictures(item: &Item, channel: &ChannelConfig) -> Vec<PlannedPicture> {
    let wished = wished_pictures(item, channel).into_iter();
    wished
        .map(|wished| PlannedPicture {
            url: wished.url,
            alt: wished.alt,
        })
        .collect()
}

/// Says why the picture that the author wished for is not in the post of `item` for `channel`, if that is so.
pub fn picture_left_out(item: &Item, channel: &ChannelConfig) -> Option<&'static str> {
    let wishes = Wishes::of(item, channel);
    let is_left_out =
        channel.kind() == Kind::Mastodon && wishes.image.is_some() && alt(&wishes).is_none();
    is_left_out.then_some("the picture is left out: it needs `alt`, the text that stands for it")
}

/// Writes the post of `item` for `channel` with what an earlier post has beside its text, or with nothing.
///
/// `limits` are what the server told, in the service's own units. What is only wished for counts as found.
pub fn compose(
    item: &Item,
    channel: &ChannelConfig,
    limits: ServerLimits,
    stamp: Stamp<'_>,
) -> Result<Rendered, RenderError> {
    let prepared = match stamp {
        Stamp::Fresh { .. } => Prepared::default(),
        Stamp::Of(post) => change::had(post),
    };
    let limits = ServerLimits {
        needs_picture: limits.needs_picture && wished_pictures(item, channel).is_empty(),
        ..limits
    };
    compose_with(item, channel, limits, stamp, &prepared)
}

/// Writes the post of `item` for `channel` with what was found of what it [`wants`].
pub fn compose_with(
    item: &Item,
    channel: &ChannelConfig,
    limits: ServerLimits,
    stamp: Stamp<'_>,
    prepared: &Prepared,
) -> Result<Rendered, RenderError> {
    check_url(&item.canonical_url)?;
    let wishes = Wishes::of(item, channel);
    let pictures = shown(wished_pictures(item, channel), prepared);
    if limits.needs_picture && pictures.is_empty() {
        return Err(RenderError::NoPicture);
    }
    match &channel.service {
        ServiceConfig::IndexNow { key_location, .. } => {
            indexnow::compose(item, &wishes, key_location.as_ref())
        }
        ServiceConfig::Bluesky { labels, .. } => {
            bluesky::compose(item, channel, &wishes, labels, stamp, prepared, &pictures)
        }
        ServiceConfig::Mastodon {
            visibility,
            content_warning,
            ..
        } => {
            let options = mastodon::Options {
                visibility: *visibility,
                content_warning: wishes.content_warning.or(content_warning.as_deref()),
                limits,
                pictures: &pictures,
            };
            mastodon::compose(item, channel, &wishes, options)
        }
        ServiceConfig::Devto {
            published,
            organization_id,
            ..
        } => devto::compose(item, &wishes, *published, *organization_id),
        ServiceConfig::Http(declaration) => {
            http::compose(item, channel, declaration, &wishes, prepared)
        }
    }
}

/// What the author wants for this article on this channel.
#[derive(Clone, Copy, Debug, Default)]
struct Wishes<'a> {
    text: Option<&'a str>,
    content_warning: Option<&'a str>,
    language: Option<&'a str>,
    image: Option<&'a str>,
    alt: Option<&'a str>,
    images: &'a [ItemImage],
    series: Option<&'a str>,
}

impl<'a> Wishes<'a> {
    fn of(item: &'a Item, channel: &ChannelConfig) -> Self {
        match item.settings.channels.get(channel.name()) {
            Some(ItemChannelSettings::Custom {
                text,
                content_warning,
                language,
                image,
                alt,
                images,
                series,
            }) => Self {
                text: text.as_deref(),
                content_warning: content_warning.as_deref(),
                language: language.as_deref(),
                image: image.as_deref(),
                alt: alt.as_deref(),
                images,
                series: series.as_deref(),
            },
            // Whether there is a delivery at all is the plan's business.
            Some(ItemChannelSettings::Excluded) | None => Self::default(),
        }
    }
}

/// A picture that the channel is to get as bytes.
struct WishedPicture {
    url: String,
    /// The text that stands for it; none on a card, which shows none.
    alt: Option<String>,
}

/// A picture that was found, with the text that stands for it.
type ShownPicture = (Picture, Option<String>);

/// Returns the pictures that the channel is to get as bytes, in their order.
fn wished_pictures(item: &Item, channel: &ChannelConfig) -> Vec<WishedPicture> {
    let wishes = Wishes::of(item, channel);
    let one = |alt: Option<&str>| {
        let url = image_url(item, &wishes).into_iter();
        let alt = alt.map(str::to_owned);
        url.map(|url| WishedPicture {
            url,
            alt: alt.clone(),
        })
        .collect()
    };
    match &channel.service {
        ServiceConfig::Bluesky { .. } | ServiceConfig::Mastodon { .. }
            if !wishes.images.is_empty() =>
        {
            let images = wishes.images.iter();
            images
                .filter_map(|image| {
                    Some(WishedPicture {
                        url: absolute(item, &image.url)?,
                        alt: Some(image.alt.clone()),
                    })
                })
                .collect()
        }
        ServiceConfig::Bluesky { .. } => one(None),
        // Mastodon makes a card of the page by itself, its picture included; more is wished for by name.
        ServiceConfig::Mastodon { .. } if wishes.image.is_some() && alt(&wishes).is_some() => {
            one(alt(&wishes))
        }
        ServiceConfig::Mastodon { .. }
        | ServiceConfig::IndexNow { .. }
        | ServiceConfig::Devto { .. }
        | ServiceConfig::Http(_) => Vec::new(),
    }
}

/// Returns those of the wished pictures that were found: another picture makes another post.
fn shown(wished: Vec<WishedPicture>, prepared: &Prepared) -> Vec<ShownPicture> {
    let mut found: Vec<&Picture> = prepared.pictures.iter().collect();
    wished
        .into_iter()
        .filter_map(|wished| {
            // The same one may be wished for twice: a post that stands shows it under two ids.
            let place = found
                .iter()
                .position(|picture| picture.source == wished.url)?;
            Some((found.remove(place).clone(), wished.alt))
        })
        .collect()
}

/// Returns the address of the article's picture: the one wished for on this channel, else the one of its page.
fn image_url(item: &Item, wishes: &Wishes<'_>) -> Option<String> {
    let Some(own) = wishes.image.map(str::trim).filter(|url| !url.is_empty()) else {
        return item.image.clone();
    };
    absolute(item, own)
}

fn absolute(item: &Item, link: &str) -> Option<String> {
    let url = Url::parse(&item.canonical_url).ok()?.join(link).ok()?;
    matches!(url.scheme(), "http" | "https").then(|| url.into())
}

/// Returns the first of several pictures, for services that show none in a post.
fn first_image<'a>(wishes: &Wishes<'a>) -> Option<&'a str> {
    wishes.images.first().map(|image| image.url.as_str())
}

fn alt<'a>(wishes: &Wishes<'a>) -> Option<&'a str> {
    wishes.alt.map(str::trim).filter(|alt| !alt.is_empty())
}

/// Says which wishes a service without them leaves unfulfilled.
fn notes_without(fields: &[(&'static str, Option<&str>)]) -> Vec<String> {
    fields
        .iter()
        .filter(|(_, wish)| wish.is_some())
        .map(|(field, _)| format!("the article's own {field} is not used: this service has none"))
        .collect()
}

fn check_url(url: &str) -> Result<(), RenderError> {
    let error = |reason| {
        Err(RenderError::Url {
            url: url.to_owned(),
            reason,
        })
    };
    let parsed = Url::parse(url);
    if !parsed.is_ok_and(|parsed| matches!(parsed.scheme(), "http" | "https") && parsed.has_host())
    {
        return error("is not an absolute http or https address");
    }
    if url
        .chars()
        .any(|char| char.is_whitespace() || char.is_control())
    {
        return error("has white space in it");
    }
    if url.len() > URL_BYTES_MAX {
        return error("is too long");
    }
    Ok(())
}

/// Picks the language of a post: the article's own for this channel, the article's, the channel's.
fn language_of(
    item: &Item,
    channel: &ChannelConfig,
    wishes: &Wishes<'_>,
    notes: &mut Vec<String>,
) -> Option<String> {
    let candidates = [
        wishes.language,
        item.language.as_deref(),
        channel.language.as_deref(),
    ];
    for candidate in candidates.into_iter().flatten() {
        // OpenGraph and gettext write `en_US`.
        let tag = candidate.trim().replace('_', "-");
        if crate::config::values::is_language(&tag) {
            return Some(tag);
        }
        if !tag.is_empty() {
            notes.push(format!("`{candidate}` is no language tag and is left out"));
        }
    }
    None
}
