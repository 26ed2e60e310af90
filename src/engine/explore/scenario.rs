//! What a world is made of, and what may go wrong in it.

use std::path::Path;
use std::time::Duration;

use crate::config::Config;
use crate::model::channel::Policy;
use crate::model::item::{Item, ItemId, ItemSettings};
use crate::model::time::Timestamp;

/// One thing that may go wrong. Each time it does costs one of the world's faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// A push without an answer: it may land at any later moment, or never.
    PushUnseen,
    /// The remote can't be read.
    ReadFails,
    /// A request without an answer: it may be stored at any moment until the quarantine is over, or never.
    Unanswered,
    /// The same, with an error for an answer.
    ServerError,
    /// No byte of a request left.
    NotSent,
    /// A request is refused for good.
    Refused,
    /// A request is refused for a while.
    RateLimited,
    /// A channel can't be opened.
    OpenFails,
    /// The account's list, or a lookup, can't be read.
    LookFails,
    /// A lookup is answered by a replica that does not have the post yet.
    LookLags,
    /// A post shows in the lists only after a while.
    ShowsLate,
    /// A machine stands still until its claim's send window is over.
    Stalls,
    /// A machine stands still until everything is over.
    Sleeps,
    /// A timer goes off before an answer that could have come.
    Hurries,
}

/// A small world.
#[derive(Clone, Debug)]
pub(super) struct Scenario {
    pub(super) name: &'static str,
    /// The channel's table in the configuration.
    pub(super) channel: &'static str,
    pub(super) policy: Policy,
    pub(super) articles: usize,
    /// How many runs there may be at one time.
    pub(super) machines: usize,
    /// How many runs start in all.
    pub(super) starts: usize,
    pub(super) kills: usize,
    pub(super) faults: usize,
    pub(super) can_fail: &'static [Fault],
    /// How often a person releases what is held.
    pub(super) releases: usize,
    /// How often the article is edited.
    pub(super) edits: usize,
    /// How often a run is asked to stop.
    pub(super) stops: usize,
    /// How often somebody resets the branch.
    pub(super) rollbacks: usize,
    /// How far the second machine's clock is ahead.
    pub(super) ahead: Duration,
    /// Runs after the first log in as somebody else.
    pub(super) other_account: bool,
}

const ALL: &[Fault] = &[
    Fault::PushUnseen,
    Fault::ReadFails,
    Fault::Unanswered,
    Fault::ServerError,
    Fault::NotSent,
    Fault::Refused,
    Fault::RateLimited,
    Fault::OpenFails,
    Fault::LookFails,
    Fault::LookLags,
    Fault::ShowsLate,
    Fault::Stalls,
    Fault::Sleeps,
    Fault::Hurries,
];

const VERIFIED: Scenario = Scenario {
    name: "verified",
    channel: "kind = \"mastodon\"\nserver = \"https://social.example\"\n",
    policy: Policy::Verified,
    articles: 1,
    machines: 2,
    starts: 2,
    kills: 0,
    faults: 0,
    can_fail: ALL,
    releases: 0,
    edits: 0,
    stops: 0,
    rollbacks: 0,
    ahead: Duration::ZERO,
    other_account: false,
};

/// One world for each policy.
pub(super) const WORLDS: [Scenario; 4] = [
    VERIFIED,
    Scenario {
        name: "keyed",
        channel: "kind = \"bluesky\"\nhandle = \"blog.example\"\nquarantine = \"0s\"\nsettle = \"0s\"\n",
        policy: Policy::Keyed,
        ..VERIFIED
    },
    Scenario {
        name: "at_most_once",
        channel: "kind = \"mastodon\"\nserver = \"https://social.example\"\npolicy = \"at_most_once\"\n",
        policy: Policy::AtMostOnce,
        releases: 1,
        ..VERIFIED
    },
    Scenario {
        name: "at_least_once",
        channel: "kind = \"indexnow\"\nkey = \"0123456789abcdef\"\nquarantine = \"0s\"\nsettle = \"0s\"\n",
        policy: Policy::AtLeastOnce,
        ..VERIFIED
    },
];

/// Times are short, so that a wait is few steps; their order is the order of the defaults.
const TIMES: &str = "send_window = \"30s\"\ntimeout = \"10s\"\nlookups = [\"3s\"]\nmax_attempts = 3\ninterval = \"0s\"\n";
const QUARANTINE: &str = "quarantine = \"20s\"\nsettle = \"5s\"\n";

impl Scenario {
    pub(super) fn config(&self) -> Config {
        let quarantine = if self.channel.contains("quarantine") {
            ""
        } else {
            QUARANTINE
        };
        let text = format!(
            "[site]\nurl = \"https://blog.example\"\nfeed = \"feed.xml\"\n[ledger]\nclock_skew = \"2s\"\n\
             [channels.channel]\n{}{TIMES}{quarantine}",
            self.channel
        );
        Config::parse(Path::new("sayonce.toml"), &text).expect("the world's configuration is right")
    }

    pub(super) fn can(&self, fault: Fault) -> bool {
        self.can_fail.contains(&fault)
    }

    /// The articles, after so many edits.
    pub(super) fn items(&self, config: &Config, edits: usize) -> Vec<Item> {
        let site = &config.site.url;
        let article = |number: usize| {
            let url = site.join(&format!("a{number}/")).expect("a URL");
            Item {
                id: ItemId::from_url(site, url.as_str()).expect("an id"),
                canonical_url: url.to_string(),
                guid: None,
                aliases: Vec::new(),
                title: format!("Article {number}{}", ", edited".repeat(edits)),
                description: None,
                published: Some(Timestamp::EPOCH),
                updated: None,
                authors: Vec::new(),
                tags: Vec::new(),
                language: None,
                image: None,
                body: None,
                source_file: None,
                out_of_scope: None,
                settings: ItemSettings::default(),
            }
        };
        (1..=self.articles).map(article).collect()
    }
}
