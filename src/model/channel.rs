//! What a channel is and by which rules it is used.

use std::fmt;
use std::time::Duration;

use super::ids::ChannelName;
use super::mutant::{Mutant, on};
use super::time::Timestamp;

/// The service behind a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Tells search engines that a URL is new or changed.
    IndexNow,
    /// A post on an AT Protocol server.
    Bluesky,
    /// A status on a server with Mastodon's client API.
    Mastodon,
    /// An article on dev.to or another Forem.
    Devto,
    /// Any other service with an HTTP API, as its declaration says.
    Http,
}

impl Kind {
    /// Every kind, in the order of the documentation.
    pub const ALL: [Self; 5] = [
        Self::IndexNow,
        Self::Bluesky,
        Self::Mastodon,
        Self::Devto,
        Self::Http,
    ];

    /// Returns the word that the configuration uses.
    pub const fn label(self) -> &'static str {
        match self {
            Self::IndexNow => "indexnow",
            Self::Bluesky => "bluesky",
            Self::Mastodon => "mastodon",
            Self::Devto => "devto",
            Self::Http => "http",
        }
    }

    /// Returns what this service makes possible; on a declared channel its declaration has the last word.
    pub const fn traits(self) -> KindTraits {
        match self {
            Self::IndexNow => KindTraits {
                readable: false,
                receipt: ReceiptKind::None,
                batch_max: 10_000,
                default_policy: Policy::AtLeastOnce,
                default_interval: Duration::ZERO,
                keyed: false,
                verified: false,
                updates: true,
                // There is no post, and nothing that could be read back.
                retracts: false,
            },
            Self::Bluesky => KindTraits {
                readable: true,
                receipt: ReceiptKind::IdAndUrl,
                batch_max: 1,
                default_policy: Policy::Keyed,
                default_interval: Duration::from_secs(1),
                keyed: true,
                verified: true,
                // What is shown is what was read first: a changed record is not read again.
                updates: false,
                retracts: true,
            },
            Self::Mastodon => KindTraits {
                readable: true,
                receipt: ReceiptKind::IdAndUrl,
                batch_max: 1,
                default_policy: Policy::Verified,
                default_interval: Duration::from_secs(1),
                keyed: false,
                verified: true,
                updates: true,
                retracts: true,
            },
            Self::Devto => KindTraits {
                readable: true,
                receipt: ReceiptKind::IdAndUrl,
                batch_max: 1,
                default_policy: Policy::Verified,
                // More than nine articles in 30 s are refused.
                default_interval: Duration::from_secs(4),
                keyed: false,
                verified: true,
                updates: true,
                retracts: true,
            },
            // The least that any declaration makes possible; what more it makes possible, it says itself.
            Self::Http => KindTraits {
                readable: false,
                receipt: ReceiptKind::IdAndUrl,
                batch_max: 1,
                default_policy: Policy::AtMostOnce,
                default_interval: Duration::from_secs(1),
                keyed: false,
                verified: false,
                updates: false,
                retracts: false,
            },
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.label())
    }
}

/// What a service makes possible; data, so that rules can be checked against it at load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says by itself whether the service can do one thing"
)]
pub struct KindTraits {
    /// The account's own posts can be listed and searched.
    pub readable: bool,
    /// What a successful answer carries.
    pub receipt: ReceiptKind,
    /// How many items one request may carry.
    pub batch_max: usize,
    /// The delivery policy where the configuration names none.
    pub default_policy: Policy,
    /// The pacing where the configuration names none.
    pub default_interval: Duration,
    /// It takes a client-chosen permanent id, so it can carry [`Policy::Keyed`].
    pub keyed: bool,
    /// It can be read back, so it can carry [`Policy::Verified`].
    pub verified: bool,
    /// A post can be changed where it stands.
    pub updates: bool,
    /// A post can be taken down, and whether it is gone can be seen.
    pub retracts: bool,
}

/// What a successful answer carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiptKind {
    /// Nothing: the status alone is the acceptance.
    None,
    /// The id and URL of the post; a success without an id is in doubt.
    IdAndUrl,
}

/// What is done with a delivery in doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Policy {
    /// It is sent again: for harmless pings.
    AtLeastOnce,
    /// It is repeated with the same client-chosen id and bytes.
    Keyed,
    /// It is looked up; absent after the quiet point: sent again.
    Verified,
    /// It is never sent again without a person.
    AtMostOnce,
}

impl Policy {
    /// Returns the word that configuration, rows and JSON use.
    pub const fn label(self) -> &'static str {
        match self {
            Self::AtLeastOnce => "at_least_once",
            Self::Keyed => "keyed",
            Self::Verified => "verified",
            Self::AtMostOnce => "at_most_once",
        }
    }
}

/// How much is automatic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Gate {
    /// Everything that the policy allows.
    Auto,
    /// Reconciled by itself, never sent again without a person.
    Confirm,
    /// A person releases each first send.
    Manual,
}

impl Gate {
    /// Returns the word that the configuration uses.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Confirm => "confirm",
            Self::Manual => "manual",
        }
    }
}

/// The rules by which the engine uses one channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelRules {
    /// The channel's name.
    pub name: ChannelName,
    /// The service.
    pub kind: Kind,
    /// What is done with a delivery in doubt.
    pub policy: Policy,
    /// How much is automatic.
    pub gate: Gate,
    /// Least time from one claim to the next.
    pub interval: Duration,
    /// Longest time for one call.
    pub timeout: Duration,
    /// How long after its claim a send may start.
    pub send_window: Duration,
    /// Longest time that the service may still work on a request whose answer was lost.
    pub quarantine: Duration,
    /// Time until a post shows in the service's lists.
    pub settle: Duration,
    /// When to look after a send in doubt, counted from the moment of doubt.
    pub lookups: Vec<Duration>,
    /// Most attempts that may have been sent.
    pub max_attempts: u32,
    /// Whether the account's recent posts are read before the first write of a run.
    pub precheck: bool,
    /// Whether a post is changed when its article was edited.
    pub follow_edits: bool,
    /// Items published before this are not for this channel.
    pub since: Option<Timestamp>,
    /// Wait this long after the article's date.
    pub delay: Duration,
    /// The hours of the day in which it may be sent.
    pub hours: Option<Hours>,
}

impl ChannelRules {
    /// Returns when a request of a claim made at `claimed_at` may start at the latest.
    pub fn send_before(&self, claimed_at: Timestamp) -> Timestamp {
        claimed_at.plus(self.send_window)
    }

    /// Returns the moment after which a request of this claim can't take effect unseen any more.
    pub fn quiet_until(&self, claimed_at: Timestamp, clock_skew: Duration) -> Timestamp {
        let quarantine = if on(Mutant::QuarantineLeftOut) {
            Duration::ZERO
        } else {
            self.quarantine
        };
        self.send_before(claimed_at)
            .plus(self.timeout)
            .plus(quarantine)
            .plus(self.settle)
            .plus(clock_skew)
    }
}

/// A window of the day in the site's timezone, in minutes after midnight; it may cross midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hours {
    /// First minute in the window.
    pub from_minute: u16,
    /// First minute after the window.
    pub to_minute: u16,
    /// The timezone that the minutes are counted in.
    pub timezone: chrono_tz::Tz,
}

impl Hours {
    /// Returns `now` if it lies in the window, else the next moment that does.
    pub fn next_open(&self, now: Timestamp) -> Timestamp {
        use chrono::Timelike as _;
        let local = now.to_chrono().with_timezone(&self.timezone);
        let minute = u16::try_from(local.hour() * 60 + local.minute()).unwrap_or(0);
        let open = if self.from_minute <= self.to_minute {
            (self.from_minute..self.to_minute).contains(&minute)
        } else {
            minute >= self.from_minute || minute < self.to_minute
        };
        if open || self.from_minute == self.to_minute {
            return now;
        }
        let minutes_ahead = (i64::from(self.from_minute) - i64::from(minute)).rem_euclid(24 * 60);
        let into_minute =
            i64::from(local.second()) * 1000 + i64::from(local.timestamp_subsec_millis());
        Timestamp::from_millis(now.as_millis() + minutes_ahead * 60_000 - into_minute)
    }
}
