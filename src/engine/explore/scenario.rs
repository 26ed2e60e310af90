//! What a world is made of, and what may go wrong in it.

use std::fmt::Write as _;
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
    /// The same, and it was done all the same.
    RateLimitedStored,
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
    /// The channel's service, in the configuration's words.
    pub(super) channel: &'static str,
    /// Rules of the channel that differ from [`RULES`].
    pub(super) rules: &'static [(&'static str, &'static str)],
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
    /// All runs have one name, as jobs of one matrix have.
    pub(super) same_name: bool,
}

/// Everything that the promise of a policy stands, whatever the service is.
const ALL: &[Fault] = &[
    Fault::PushUnseen,
    Fault::ReadFails,
    Fault::Unanswered,
    Fault::ServerError,
    Fault::NotSent,
    Fault::Refused,
    Fault::RateLimited,
    Fault::RateLimitedStored,
    Fault::OpenFails,
    Fault::LookFails,
    Fault::LookLags,
    Fault::ShowsLate,
    Fault::Stalls,
    Fault::Sleeps,
    Fault::Hurries,
];

const MASTODON: &str = "kind = \"mastodon\"\nserver = \"https://social.example\"\n";
const BLUESKY: &str = "kind = \"bluesky\"\nhandle = \"blog.example\"\n";
const INDEXNOW: &str = "kind = \"indexnow\"\nkey = \"0123456789abcdef\"\n";

/// Times are short, so that a wait is few steps; their order is the order of the defaults.
const RULES: [(&str, &str); 7] = [
    ("send_window", "\"30s\""),
    ("timeout", "\"10s\""),
    ("quarantine", "\"20s\""),
    ("settle", "\"5s\""),
    ("lookups", "[\"3s\"]"),
    ("max_attempts", "3"),
    ("interval", "\"0s\""),
];

pub(super) const VERIFIED: Scenario = Scenario {
    name: "verified",
    channel: MASTODON,
    rules: &[],
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
    same_name: false,
};

pub(super) const KEYED: Scenario = Scenario {
    name: "keyed",
    channel: BLUESKY,
    rules: &[("quarantine", "\"0s\""), ("settle", "\"0s\"")],
    policy: Policy::Keyed,
    ..VERIFIED
};

pub(super) const AT_MOST_ONCE: Scenario = Scenario {
    name: "at_most_once",
    rules: &[("policy", "\"at_most_once\"")],
    policy: Policy::AtMostOnce,
    releases: 1,
    ..VERIFIED
};

pub(super) const UNREADABLE: Scenario = Scenario {
    name: "at_most_once, unreadable",
    channel: INDEXNOW,
    ..AT_MOST_ONCE
};

pub(super) const AT_LEAST_ONCE: Scenario = Scenario {
    name: "at_least_once",
    channel: INDEXNOW,
    rules: &[("quarantine", "\"0s\""), ("settle", "\"0s\"")],
    policy: Policy::AtLeastOnce,
    ..VERIFIED
};

impl Scenario {
    pub(super) fn config(&self) -> Config {
        let mut text = format!(
            "[site]\nurl = \"https://blog.example\"\nfeed = \"feed.xml\"\n[ledger]\nclock_skew = \"2s\"\n\
             [channels.channel]\n{}",
            self.channel
        );
        let usual = RULES
            .iter()
            .filter(|(rule, _)| self.rules.iter().all(|(own, _)| own != rule));
        for (rule, value) in usual.chain(self.rules) {
            writeln!(text, "{rule} = {value}").expect("writing to a string can't fail");
        }
        Config::parse(Path::new("sayonce.toml"), &text).expect("the world's configuration is right")
    }

    pub(super) fn can(&self, fault: Fault) -> bool {
        // Where nothing may be sent twice, what a service calls a refusal is believed.
        let promised = fault == Fault::RateLimitedStored && self.policy == Policy::AtMostOnce;
        self.can_fail.contains(&fault) && !promised
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
                series: None,
                front_matter: crate::model::item::FrontMatter::default(),
                settings: ItemSettings::default(),
            }
        };
        (1..=self.articles).map(article).collect()
    }
}
