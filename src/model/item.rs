//! What the site has: one article, with its id, its canonical URL and what is known of it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};
use url::Url;

use super::ids::{ChannelName, Fingerprint, is_windows_device, sha256_hex, text_id};
use super::time::Timestamp;

text_id!(
    /// The canonical URL's path below the site's root, made safe for every file system.
    ItemId
);

/// The fields of an article's front matter.
pub type FrontMatter = Arc<Map<String, Value>>;

/// One article of the site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The path below the site's root that names this item in the ledger.
    pub id: ItemId,
    /// The article's own address, as the site wrote it.
    pub canonical_url: String,
    /// The id that the feed gave it; only what stands in the source.
    pub guid: Option<String>,
    /// Other addresses it is or was known under.
    pub aliases: Vec<String>,
    /// Plain text, entities decoded once, white space collapsed.
    pub title: String,
    /// Plain text.
    pub description: Option<String>,
    /// The article's own date.
    pub published: Option<Timestamp>,
    /// When the article was last changed, if the source says so.
    pub updated: Option<Timestamp>,
    /// Author names, in the source's order.
    pub authors: Vec<String>,
    /// Tags as the site wrote them, in its order, without duplicates.
    pub tags: Vec<String>,
    /// BCP 47 language tag.
    pub language: Option<String>,
    /// The series that it is a part of.
    pub series: Option<String>,
    /// Absolute URL of the picture that stands for the article.
    pub image: Option<String>,
    /// The article's text, where a source has it.
    pub body: Option<Body>,
    /// The Markdown file it was written in, relative to the repository's top.
    pub source_file: Option<String>,
    /// Why it is not in scope, if so: such items are listed, never delivered.
    pub out_of_scope: Option<OutOfScope>,
    /// All fields of its front matter, as they stand there, for templates.
    pub front_matter: FrontMatter,
    /// What the author set for this item.
    pub settings: ItemSettings,
}

impl Item {
    /// Returns the fingerprint of the article's text, where a source has it.
    pub fn body_fingerprint(&self) -> Option<Fingerprint> {
        self.body.as_ref().map(|body| match body {
            Body::Markdown(text) | Body::Html(text) => Fingerprint::of(text.as_bytes()),
        })
    }

    /// Returns fingerprints of what the article says now.
    pub fn said(&self) -> Said {
        let on_channels = self.settings.channels.iter();
        Said {
            article: self.article_fingerprint(None),
            on_channels: on_channels
                .filter_map(|(name, settings)| {
                    let own = settings.said()?;
                    Some((name.clone(), self.article_fingerprint(Some(own))))
                })
                .collect(),
            body: self.body_fingerprint(),
        }
    }

    /// What few articles have is said only where they have it: the others keep the fingerprint that rows hold.
    fn article_fingerprint(&self, own: Option<Value>) -> Fingerprint {
        let body = self.body.as_ref().map(|body| match body {
            Body::Markdown(text) | Body::Html(text) => text.as_str(),
        });
        let mut said = vec![json!([
            self.title,
            self.description,
            self.tags,
            self.image,
            body
        ])];
        said.extend(self.series.as_ref().map(|series| json!(["series", series])));
        said.extend(own);
        let said = match said.as_slice() {
            [article] => article.to_string(),
            all => json!(all).to_string(),
        };
        Fingerprint::of(said.as_bytes())
    }
}

/// What an article says, to tell whether it was edited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Fingerprint of what it says, whatever page shows it: title, description, tags, picture, text, series.
    pub article: Fingerprint,
    /// The same with what it sets for a channel, on those for which it sets something.
    pub on_channels: BTreeMap<ChannelName, Fingerprint>,
    /// Fingerprint of its text, where a source has it.
    pub body: Option<Fingerprint>,
}

impl Said {
    /// Returns the fingerprint of what the article says for one channel.
    pub fn on(&self, channel: &ChannelName) -> &Fingerprint {
        self.on_channels.get(channel).unwrap_or(&self.article)
    }
}

/// The text of an article.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// Markdown without its front matter.
    Markdown(String),
    /// HTML, as a feed carries it.
    Html(String),
}

/// Why an item is never a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutOfScope {
    /// Older than `site.since`.
    BeforeSince,
    /// Marked as a draft.
    Draft,
    /// Dated in the future, as the generator sees it.
    Future(Timestamp),
    /// The generator took it down at this moment.
    Expired(Timestamp),
    /// The author said `sayonce: false`.
    Excluded,
}

impl fmt::Display for OutOfScope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BeforeSince => formatter.write_str("older than `site.since`"),
            Self::Draft => formatter.write_str("a draft"),
            Self::Future(date) => write!(formatter, "dated in the future, {date}"),
            Self::Expired(date) => write!(formatter, "expired, {date}"),
            Self::Excluded => formatter.write_str("`sayonce: false` in its front matter"),
        }
    }
}

/// What an author set for one item, in front matter or the manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemSettings {
    /// Not to be announced before this moment.
    pub publish_at: Option<Timestamp>,
    /// Counts deliberate repeats, from 1.
    pub edition: u32,
    /// Per channel; a channel that is not named takes the channel's own settings.
    pub channels: BTreeMap<ChannelName, ItemChannelSettings>,
}

impl Default for ItemSettings {
    fn default() -> Self {
        Self {
            publish_at: None,
            edition: 1,
            channels: BTreeMap::new(),
        }
    }
}

/// What an author set for one item on one channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemChannelSettings {
    /// `false`: not on this channel.
    Excluded,
    /// Another text or other options than the channel's own.
    Custom {
        /// A template for the text; a missing URL is appended.
        text: Option<String>,
        /// The warning in front of the text, where the service has one.
        content_warning: Option<String>,
        /// BCP 47 language tag.
        language: Option<String>,
        /// The address of the picture to show, absolute or relative to the article's own.
        image: Option<String>,
        /// The text that stands for the picture.
        alt: Option<String>,
        /// The pictures that the post itself shows, in their order.
        images: Vec<ItemImage>,
        /// The series that the article is a part of, where the service has them.
        series: Option<String>,
    },
}

impl ItemChannelSettings {
    /// Returns what is set, to tell whether it was edited.
    fn said(&self) -> Option<Value> {
        match self {
            Self::Excluded => None,
            Self::Custom {
                text,
                content_warning,
                language,
                image,
                alt,
                images,
                series,
            } => {
                let images: Vec<_> = images.iter().map(|one| json!([one.url, one.alt])).collect();
                Some(json!([
                    text,
                    content_warning,
                    language,
                    image,
                    alt,
                    images,
                    series
                ]))
            }
        }
    }
}

/// A picture that a post is to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemImage {
    /// Its address, absolute or relative to the article's own.
    pub url: String,
    /// The text that stands for it.
    pub alt: String,
}

/// Why a URL gives no item id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ItemIdError {
    /// Not an absolute http or https URL.
    #[error("`{0}` is not an absolute http or https URL")]
    NotAUrl(String),
    /// Not below the site's root.
    #[error("`{0}` is not below the site's URL")]
    Foreign(String),
}

impl ItemId {
    /// A segment longer than this is cut and hashed: file systems end at 255 bytes, Windows paths at 260.
    const SEGMENT_BYTES_MAX: usize = 80;
    /// What is kept of a segment that is too long.
    const SEGMENT_BYTES_KEPT: usize = 60;
    /// Hex digits of a hash that stand for what was cut or left out.
    const HASH_DIGITS: usize = 12;

    /// Takes an id that was made by [`ItemId::from_url`] earlier, as a ledger or a user wrote it.
    pub fn from_stored(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Makes the id of the article at `canonical_url` on the site at `site_url`.
    ///
    /// The path below the site's root, without fragment, outer `/` and a final `index.html`; percent-decoded
    /// where that gives `[a-z0-9._-]`, everything else as `%xx`; long segments cut and hashed; a query hashed.
    pub fn from_url(site_url: &Url, canonical_url: &str) -> Result<Self, ItemIdError> {
        let url = Url::parse(canonical_url)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https"))
            .ok_or_else(|| ItemIdError::NotAUrl(canonical_url.to_owned()))?;
        let foreign = || ItemIdError::Foreign(canonical_url.to_owned());
        if url.host_str() != site_url.host_str() || explicit_port(&url) != explicit_port(site_url) {
            return Err(foreign());
        }
        let root = site_url.path().trim_end_matches('/');
        let below = url.path().strip_prefix(root).ok_or_else(foreign)?;
        if !(below.is_empty() || below.starts_with('/')) {
            return Err(foreign());
        }
        let mut segments: Vec<&str> = below
            .split('/')
            .filter(|segment| !segment.is_empty())
            .collect();
        if segments.last() == Some(&"index.html") {
            segments.pop();
        }
        let mut id = segments
            .into_iter()
            .map(safe_segment)
            .collect::<Vec<_>>()
            .join("/");
        if id.is_empty() {
            id.push_str("index");
        }
        if let Some(query) = url.query().filter(|query| !query.is_empty()) {
            let hash = sha256_hex(query.as_bytes());
            id.push_str("-q");
            id.extend(hash.chars().take(Self::HASH_DIGITS));
        }
        Ok(Self(id))
    }
}

/// http and https are one site, so their default ports are one port.
fn explicit_port(url: &Url) -> Option<u16> {
    url.port().filter(|port| !matches!(port, 80 | 443))
}

fn safe_segment(segment: &str) -> String {
    use fmt::Write as _;
    let mut safe = String::new();
    for byte in percent_decode_str(segment) {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-' => safe.push(char::from(byte)),
            other => write!(safe, "%{other:02x}").expect("writing to a string can't fail"),
        }
    }
    if safe.len() > ItemId::SEGMENT_BYTES_MAX {
        let hash = sha256_hex(safe.as_bytes());
        safe.truncate(ItemId::SEGMENT_BYTES_KEPT);
        safe.push('-');
        safe.extend(hash.chars().take(ItemId::HASH_DIGITS));
    }
    let ends_in_json = safe.len() >= 5 && safe.to_ascii_lowercase().ends_with(".json");
    // A name that ends in a dot can't be had on Windows.
    let is_no_name = safe.starts_with('.') || safe.ends_with('.') || is_windows_device(&safe);
    if ends_in_json || is_no_name {
        safe.push('_');
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(bytes: &[u8]) -> String {
        sha256_hex(bytes).chars().take(12).collect()
    }

    fn check(site: &str, url: &str) -> String {
        match ItemId::from_url(&Url::parse(site).unwrap(), url) {
            Ok(id) => id.as_str().to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn ids_are_the_path_below_the_root() {
        let site = "https://blog.example";
        assert_eq!(
            check(site, "https://blog.example/news/2026/hello/"),
            "news/2026/hello"
        );
        assert_eq!(
            check(site, "http://blog.example/news/hello/index.html"),
            "news/hello"
        );
        assert_eq!(check(site, "https://blog.example/a.html#top"), "a.html");
        assert_eq!(check(site, "https://blog.example/"), "index");
        assert_eq!(
            check(site, "https://blog.example/?p=12"),
            format!("index-q{}", hash(b"p=12"))
        );
        assert_eq!(
            check(site, "https://blog.example/%7Euser/Ab"),
            "%7euser/%41b"
        );
        assert_eq!(check(site, "https://blog.example/%61bc"), "abc");
        assert_eq!(check(site, "https://blog.example/你"), "%e4%bd%a0");
        assert_eq!(
            check(site, "https://blog.example/x/data.json"),
            "x/data.json_"
        );
        assert_eq!(
            check(site, "https://blog.example/.well-known/con"),
            ".well-known_/con_"
        );
        assert_eq!(check(site, "https://blog.example/a?"), "a");
        assert_eq!(check(site, "https://blog.example/x./a.%20"), "x._/a.%20");
        assert_eq!(
            check(
                "https://user.example/blog/",
                "https://user.example/blog/post/"
            ),
            "post"
        );
    }

    #[test]
    fn foreign_urls_have_no_id() {
        assert_eq!(
            check("https://blog.example", "https://www.blog.example/a"),
            "`https://www.blog.example/a` is not below the site's URL"
        );
        assert_eq!(
            check(
                "https://user.example/blog",
                "https://user.example/blogger/a"
            ),
            "`https://user.example/blogger/a` is not below the site's URL"
        );
        assert_eq!(
            check("https://blog.example", "/a"),
            "`/a` is not an absolute http or https URL"
        );
        assert_eq!(
            check("https://blog.example", "mailto:a@b"),
            "`mailto:a@b` is not an absolute http or https URL"
        );
    }

    #[test]
    fn long_segments_are_cut_and_hashed() {
        let long = "x".repeat(81);
        let id = check(
            "https://blog.example",
            &format!("https://blog.example/{long}"),
        );
        assert_eq!(id, format!("{}-{}", "x".repeat(60), hash(long.as_bytes())));
        let just = "x".repeat(80);
        assert_eq!(
            check(
                "https://blog.example",
                &format!("https://blog.example/{just}")
            ),
            just
        );
    }
}
