//! `sayonce.toml`: loaded and checked whole, before anything else happens.
//!
//! Start reading at [`Config::parse`]. Invariant: no secret is ever read from the file or repeated in a message.

pub(crate) mod advice;
mod channel;
mod document;
pub mod fields;
pub mod http;
pub mod keys;
mod ledger;
mod load;
mod service;
mod site;
mod suggest;
pub mod template;
pub(crate) mod values;

use std::path::{Path, PathBuf};
use std::time::Duration;

use url::Url;

use self::http::Declaration;
use crate::model::channel::{ChannelRules, Kind, KindTraits};
use crate::model::ids::ChannelName;
use crate::model::time::Timestamp;

/// A configuration that passed every check.
#[derive(Clone, Debug)]
pub struct Config {
    /// `[site]`.
    pub site: Site,
    /// `[ledger]`.
    pub ledger: LedgerConfig,
    /// `[channels.*]` that are enabled, in the order of the file.
    pub channels: Vec<ChannelConfig>,
    /// Channels that are switched off.
    pub disabled: Vec<ChannelName>,
    /// Things that are legal but unwise, each with its place.
    pub warnings: Vec<String>,
}

impl Config {
    /// Reads and checks the file at `path`.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let bytes = std::fs::read(path).map_err(|error| unreadable(path, &error))?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let readable = error
                .as_bytes()
                .iter()
                .take(error.utf8_error().valid_up_to());
            ConfigError {
                problems: vec![Problem {
                    file: path.to_owned(),
                    line: Some(1 + readable.filter(|byte| **byte == b'\n').count()),
                    message: "is not UTF-8 text".to_owned(),
                    hint: Some("save the file as UTF-8".to_owned()),
                }],
            }
        })?;
        Self::parse(path, &text)
    }

    /// Checks a configuration that was read elsewhere; `file` is what problems are reported under.
    pub fn parse(file: &Path, text: &str) -> Result<Self, ConfigError> {
        load::parse(file, text)
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> ConfigError {
    let (message, hint) = if error.kind() == std::io::ErrorKind::NotFound {
        (
            "there is no such file".to_owned(),
            "`sayonce init` writes one to begin with; or name it with `--config FILE`",
        )
    } else {
        (
            format!("can't be read: {error}"),
            "it must be a file that this user may read",
        )
    };
    ConfigError {
        problems: vec![Problem {
            file: path.to_owned(),
            line: None,
            message,
            hint: Some(hint.to_owned()),
        }],
    }
}

/// `[site]`.
#[derive(Clone, Debug)]
pub struct Site {
    /// The root; item ids are paths below it. Always ends in `/`.
    pub url: Url,
    /// Feed: a path or a URL.
    pub feed: Option<String>,
    /// Built pages: a directory.
    pub pages: Option<String>,
    /// Sitemap: a path or a URL.
    pub sitemap: Option<String>,
    /// Markdown sources: a glob.
    pub markdown: Option<String>,
    /// Plain list of items: a path or a URL.
    pub manifest: Option<String>,
    /// For dates without one.
    pub timezone: chrono_tz::Tz,
    /// Older items are out of scope.
    pub since: Option<Timestamp>,
    /// How Markdown files get their addresses, such as `/:year/:month/:title/`.
    pub permalink: Option<String>,
    /// Most items that the first run announces on a channel.
    pub first_run_max: usize,
    /// Most never-seen items that a later run announces on a channel.
    pub max_new: usize,
    /// How long to wait until the page is live; zero: don't look.
    pub wait_live: Duration,
    /// Due and unproved for longer is an alarm.
    pub overdue: Duration,
    /// `false`: runs announce nothing new.
    pub enabled: bool,
}

impl Site {
    /// Whether any article comes from a file of the checkout.
    pub fn is_read_from_files(&self) -> bool {
        let remote = |place: &String| {
            let scheme = place.split_once("://").map(|(scheme, _)| scheme);
            scheme.is_some_and(|scheme| scheme == "http" || scheme == "https")
        };
        [
            &self.feed,
            &self.pages,
            &self.sitemap,
            &self.markdown,
            &self.manifest,
        ]
        .into_iter()
        .flatten()
        .any(|place| !remote(place))
    }
}

/// `[ledger]`.
#[derive(Clone, Debug)]
pub struct LedgerConfig {
    /// The directory, relative to the repository's top; with `/` between segments.
    pub dir: String,
    /// The branch; none: the checked-out one.
    pub branch: Option<String>,
    /// The remote's name.
    pub remote: String,
    /// Whether claims are pushed.
    pub push: PushMode,
    /// Longest difference between two machines' clocks.
    pub clock_skew: Duration,
    /// Least time between two pushes; none: by host.
    pub push_gap: Option<Duration>,
    /// What ends a commit's subject, so that hosts which build on every push don't.
    pub skip_ci: String,
}

/// Whether claims are pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushMode {
    /// If the remote exists.
    Auto,
    /// A missing remote is an error.
    Always,
    /// The ledger is local.
    Never,
}

/// One channel.
#[derive(Clone, Debug)]
pub struct ChannelConfig {
    /// The rules the engine goes by.
    pub rules: ChannelRules,
    /// What the adapter needs.
    pub service: ServiceConfig,
    /// Template for the text.
    pub template: String,
    /// BCP 47 language tag for its posts, where the item has none.
    pub language: Option<String>,
    /// The site's timezone: days in posts are days there.
    pub timezone: chrono_tz::Tz,
}

impl ChannelConfig {
    /// Returns the channel's name.
    pub fn name(&self) -> &ChannelName {
        &self.rules.name
    }

    /// Returns the service.
    pub fn kind(&self) -> Kind {
        self.rules.kind
    }

    /// Returns what the service is called: the preset, where it started from one.
    pub fn service_name(&self) -> &'static str {
        self.declaration()
            .and_then(|declaration| declaration.preset)
            .unwrap_or(self.rules.kind.label())
    }

    /// Returns what the service makes possible.
    pub fn traits(&self) -> KindTraits {
        self.declaration()
            .map_or(self.rules.kind.traits(), Declaration::traits)
    }

    /// Whether the account's own posts can be listed, whatever they are about.
    pub fn lists_posts(&self) -> bool {
        self.declaration()
            .map_or(self.traits().readable, |declaration| {
                declaration
                    .lookup
                    .as_ref()
                    .is_some_and(|lookup| lookup.lists)
            })
    }

    /// Whether a post that stands can be looked at, though maybe not found among others.
    pub fn shows_posts(&self) -> bool {
        let reads_one = |declaration: &Declaration| declaration.read.is_some();
        self.traits().readable || self.declaration().is_some_and(reads_one)
    }

    /// Returns the declaration, if the service is a declared one.
    pub fn declaration(&self) -> Option<&Declaration> {
        self.service.declaration()
    }
}

/// What the adapter of each kind needs. Secrets are named, not held.
#[derive(Clone, Debug)]
pub enum ServiceConfig {
    /// IndexNow.
    IndexNow {
        /// 8 to 128 of `[a-zA-Z0-9-]`; public by nature.
        key: String,
        /// Where the key file lies; none: `/<key>.txt` at the site's host.
        key_location: Option<Url>,
        /// The engine.
        endpoint: Url,
    },
    /// Bluesky.
    Bluesky {
        /// Handle or DID.
        handle: String,
        /// Entryway, or the account's own server; none: it is found by the handle.
        service: Option<Url>,
        /// Who knows the DID of a handle.
        resolver: Url,
        /// Who knows the document of a `did:plc`.
        plc_directory: Url,
        /// Environment variable with the app password.
        app_password_env: String,
        /// What every post warns of, in the service's own words.
        labels: Vec<String>,
    },
    /// Mastodon and its relatives.
    Mastodon {
        /// The server.
        server: Url,
        /// Environment variable with the access token.
        token_env: String,
        /// `public`, `unlisted`, `private` or `direct`.
        visibility: Visibility,
        /// The warning in front of every post.
        content_warning: Option<String>,
    },
    /// dev.to and other Forems.
    Devto {
        /// The server.
        server: Url,
        /// Environment variable with the API key.
        api_key_env: String,
        /// Published at once, or a draft.
        published: bool,
        /// The organisation's numeric id.
        organization_id: Option<u64>,
    },
    /// Any other service.
    Http(Box<Declaration>),
}

impl ServiceConfig {
    /// Returns the declaration, if the service is a declared one.
    pub fn declaration(&self) -> Option<&Declaration> {
        match self {
            Self::Http(declaration) => Some(declaration),
            Self::IndexNow { .. }
            | Self::Bluesky { .. }
            | Self::Mastodon { .. }
            | Self::Devto { .. } => None,
        }
    }
}

/// Who sees a Mastodon status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// Everybody, and on public timelines.
    Public,
    /// Everybody, not on public timelines.
    Unlisted,
    /// Followers.
    Private,
    /// Those mentioned.
    Direct,
}

impl Visibility {
    /// Returns the word that the API uses.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Unlisted => "unlisted",
            Self::Private => "private",
            Self::Direct => "direct",
        }
    }
}

/// Every problem of a configuration, with its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct ConfigError {
    /// All of them, in the order of the file.
    pub problems: Vec<Problem>,
}

/// One thing that is wrong in a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1, where it is known.
    pub line: Option<usize>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(formatter, ":{line}")?;
        }
        write!(formatter, ": {}", self.message)?;
        if let Some(hint) = &self.hint {
            write!(formatter, "\n  hint: {hint}")?;
        }
        Ok(())
    }
}
