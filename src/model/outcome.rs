//! What a channel learned from one call. Outcomes are enums, never a `Result`: the third answer is a variant.

use std::time::Duration;

use super::address::same_address;
use super::ids::Account;
use super::time::Timestamp;

/// The id and URL that the remote gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    /// The service's id; none on channels without receipts.
    pub id: Option<String>,
    /// Where people see it.
    pub url: Option<String>,
}

impl Remote {
    /// Whether two receipts name one post: by id, or by address where one of them has no id (a person's word).
    pub fn is_same_post(&self, other: &Self) -> bool {
        if let (Some(one), Some(other)) = (&self.id, &other.id) {
            return one == other;
        }
        let both = self.url.as_deref().zip(other.url.as_deref());
        both.is_some_and(|(one, other)| same_address(one, other))
    }
}

/// What came of one attempt to publish.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "an outcome that is not recorded is a duplicate waiting to happen"]
pub enum Outcome {
    /// The service answered that the post exists.
    Accepted {
        /// The id and URL it gave.
        remote: Remote,
        /// How that is known.
        evidence: Evidence,
    },
    /// The service answered, with a code that its own table lists as "nothing was done".
    Refused {
        /// What may be done about it.
        refusal: Refusal,
        /// The service's words, scrubbed and short.
        reason: String,
    },
    /// Provably no byte of the request left.
    NotSent {
        /// What failed.
        reason: String,
    },
    /// Everything else, and the default: it may or may not have been done.
    InDoubt {
        /// What was seen.
        reason: String,
    },
}

/// What may be done about a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// This post will never be taken.
    Permanent,
    /// Later it may be; without a wait the engine backs off.
    Temporary(Option<Wait>),
    /// The post as it is, for its picture: nothing of it was done, and without the picture it may be taken.
    Picture,
    /// The service's memory of an earlier request under the same key, which it refused; this one was not looked at.
    Replayed,
    /// Too many requests; does not count as an attempt.
    RateLimited(Option<Wait>),
    /// The channel's trouble, not the article's (a revoked token, a missing scope): the channel is closed for the run.
    Credentials,
}

/// How long a service asked us to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// From now.
    For(Duration),
    /// Until a moment on the service's clock.
    Until(Timestamp),
}

/// Why `done` is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Evidence {
    /// The answer to the request carried the receipt.
    Response,
    /// A later lookup found the post.
    ReadBack,
    /// A repeat with the same key was answered with the first one's receipt.
    KeyReplay,
    /// It was there before we sent anything.
    Adopted,
    /// A person said so.
    Person,
}

impl Evidence {
    /// Every kind of evidence.
    pub const ALL: [Self; 5] = [
        Self::Response,
        Self::ReadBack,
        Self::KeyReplay,
        Self::Adopted,
        Self::Person,
    ];

    /// Returns the word that rows and JSON use.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Response => "response",
            Self::ReadBack => "read_back",
            Self::KeyReplay => "key_replay",
            Self::Adopted => "adopted",
            Self::Person => "person",
        }
    }
}

/// What a lookup of one claim's post says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a lookup that is not recorded was for nothing"]
pub enum Lookup {
    /// The post is there: counts at any time.
    Found(Remote),
    /// More than one post matches: a person must look.
    Several(Vec<Remote>),
    /// It is not there, and the list reached back past the claim.
    Absent,
    /// The list could not be read, or not far enough.
    CannotTell {
        /// What was seen.
        reason: String,
    },
}

/// What a login and the service's own limits say, before anything is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a channel that was not opened must not be used"]
pub enum Opening {
    /// The channel can be used.
    Ready(Session),
    /// It can't be used now; others can.
    Closed {
        /// Whether the credentials are at fault, or the network.
        trouble: Trouble,
        /// What was seen, scrubbed.
        reason: String,
    },
}

/// Why a channel can't be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The service refuses our credentials: needs a person.
    Credentials,
    /// The service can't be reached or is unwell: later.
    Unreachable,
    /// The service asks us to wait.
    RateLimited(Option<Wait>),
}

/// An opened channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Who posts, as the service says.
    pub account: Account,
    /// What this server told of its limits.
    pub limits: ServerLimits,
    /// How far the service's clock is from ours beyond what a `Date` header can show; none if it sent none.
    pub clock_skew: Option<Duration>,
}

/// What a server told of its limits, where that differs from the kind's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerLimits {
    /// The longest text, in the service's own unit.
    pub text: Option<usize>,
    /// What a link counts, whatever its length; 0: each of its characters counts.
    pub link: Option<usize>,
    /// A post without a picture is refused.
    pub needs_picture: bool,
}

impl ServerLimits {
    /// No text is longer; a server that tells more is mistaken.
    const TEXT_MAX: usize = 1_000_000;

    /// No link is posted that is longer.
    const LINK_MAX: usize = 8_000;

    /// Leaves out what can't be meant.
    #[must_use]
    pub fn within_reason(self) -> Self {
        Self {
            text: self.text.filter(|length| *length <= Self::TEXT_MAX),
            link: self.link.filter(|length| *length <= Self::LINK_MAX),
            ..self
        }
    }

    /// Limits of which only the text's is told.
    pub const fn of_text(text: Option<usize>) -> Self {
        Self {
            text,
            link: None,
            needs_picture: false,
        }
    }
}

/// The account's recent posts, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a list that is not compared was for nothing"]
pub enum Listing {
    /// What was read.
    Posts(Vec<SeenPost>),
    /// It could not be read.
    CannotTell {
        /// What was seen.
        reason: String,
    },
}

/// One post of our account, as its list shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenPost {
    /// The service's id and URL.
    pub remote: Remote,
    /// Every link in it, as the service shows it.
    pub links: Vec<String>,
    /// When the service says it was made.
    pub created_at: Option<Timestamp>,
    /// What sort of post it is.
    pub sort: SeenSort,
}

/// What sort of post was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeenSort {
    /// A post of its own.
    TopLevel,
    /// An answer to somebody.
    Reply,
    /// Not public yet.
    Draft,
}
