//! The channels against scripted servers: what they send, and what they make of each answer.

mod bluesky;
mod bluesky_home;
mod bluesky_later;
mod bluesky_quota;
mod connections;
mod devto;
mod devto_later;
mod fetch;
mod http;
mod http_current;
mod http_later;
mod http_prepare;
mod http_presets;
mod indexnow;
mod later;
mod mastodon;
mod mastodon_edited_pictures;
mod mastodon_keys;
mod mastodon_later;
mod mastodon_pictures;
mod registry;
pub(crate) mod server;
mod transport;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sayonce::channel::Channel;
use sayonce::channel::registry::build;
use sayonce::clock::Clock;
use sayonce::config::{ChannelConfig, ServiceConfig, Site};
use sayonce::environment::Environment;
use sayonce::model::channel::{ChannelRules, Gate, Kind};
use sayonce::model::claim::{Claim, Landing, PushedClaim};
use sayonce::model::ids::{Account, ChannelName, IdempotencyKey, Token};
use sayonce::model::item::ItemId;
use sayonce::model::outcome::{
    Listing, Lookup, Opening, Outcome, Refusal, Remote, SeenSort, Trouble, Wait,
};
use sayonce::model::post::Post;
use sayonce::model::time::Timestamp;
use serde_json::Value;
use url::Url;

/// The secret of every channel here. It must never be seen in a text.
const SECRET: &str = "s3cret-value";

/// The article that is announced.
const ARTICLE: &str = "https://blog.example/a";

/// When every test happens.
fn now() -> Timestamp {
    Timestamp::parse("2026-11-29T10:00:00.900Z").unwrap()
}

/// A clock that stands still, or moves by one step at each look at the monotonic one.
#[derive(Debug)]
struct TestClock {
    elapsed_ms: AtomicU64,
    step_ms: u64,
    speed: u32,
}

impl TestClock {
    fn still() -> Arc<Self> {
        Self::stepping(0, 1)
    }

    /// A clock on which a timeout of 30 s lasts 1 s, for servers that say nothing.
    fn fast() -> Arc<Self> {
        Self::stepping(0, 30)
    }

    fn stepping(step_ms: u64, speed: u32) -> Arc<Self> {
        Arc::new(Self {
            elapsed_ms: AtomicU64::new(0),
            step_ms,
            speed,
        })
    }

    fn advance(&self, duration: Duration) {
        let ms = u64::try_from(duration.as_millis()).unwrap();
        self.elapsed_ms.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        now()
    }

    fn elapsed(&self) -> Duration {
        Duration::from_millis(self.elapsed_ms.fetch_add(self.step_ms, Ordering::SeqCst))
    }

    fn real(&self, duration: Duration) -> Duration {
        duration / self.speed
    }

    fn told(&self, real: Duration) -> Duration {
        real * self.speed
    }

    fn sleep(&self, _duration: Duration) {}
}

fn channel_config(service: ServiceConfig) -> ChannelConfig {
    let kind = match &service {
        ServiceConfig::IndexNow { .. } => Kind::IndexNow,
        ServiceConfig::Bluesky { .. } => Kind::Bluesky,
        ServiceConfig::Mastodon { .. } => Kind::Mastodon,
        ServiceConfig::Devto { .. } => Kind::Devto,
        ServiceConfig::Http(_) => Kind::Http,
    };
    ChannelConfig {
        rules: ChannelRules {
            name: ChannelName::new(kind.label()).unwrap(),
            kind,
            policy: kind.traits().default_policy,
            gate: Gate::Auto,
            interval: Duration::ZERO,
            timeout: Duration::from_secs(30),
            send_window: Duration::from_secs(30),
            quarantine: Duration::from_mins(10),
            settle: Duration::from_mins(1),
            lookups: Vec::new(),
            max_attempts: 5,
            precheck: true,
            follow_edits: false,
            since: None,
            delay: Duration::ZERO,
            hours: None,
        },
        service,
        template: String::new(),
        language: None,
        timezone: chrono_tz::Tz::UTC,
    }
}

fn site() -> Site {
    Site {
        url: Url::parse("https://blog.example/").unwrap(),
        feed: None,
        pages: None,
        sitemap: None,
        markdown: None,
        manifest: None,
        timezone: chrono_tz::UTC,
        since: None,
        permalink: None,
        first_run_max: 5,
        max_new: 5,
        wait_live: Duration::ZERO,
        overdue: Duration::from_hours(24),
        enabled: true,
    }
}

fn channel(service: ServiceConfig, clock: Arc<TestClock>) -> Box<dyn Channel> {
    let environment = Environment::of([("SECRET", SECRET)]);
    build(&channel_config(service), &site(), &environment, clock).unwrap()
}

/// A claim made half a second ago, for `account`.
fn claim(account: &str, post: &Value) -> Claim {
    Claim {
        item: ItemId::from_stored("a"),
        channel: ChannelName::new("test").unwrap(),
        account: Account::new(account),
        operation: sayonce::model::delivery::Operation::Publish,
        target: None,
        token: Token::from_bytes([7; 16]),
        key: IdempotencyKey::parse(&format!("so1-{}", "5f".repeat(32))).unwrap(),
        attempt: 1,
        post: Post::new(post.as_object().unwrap().clone()),
        canonical_url: ARTICLE.to_owned(),
        first_claimed_at: Timestamp::parse("2026-11-29T10:00:00.400Z").unwrap(),
        send_before: Timestamp::parse("2026-11-29T10:00:30.400Z").unwrap(),
    }
}

fn pushed(claim: Claim) -> PushedClaim {
    let landing = Landing::attest([claim.token.clone()]);
    PushedClaim::prove(claim, &landing).unwrap()
}

/// Says an outcome in one line.
fn tell(outcome: &Outcome) -> String {
    let text = match outcome {
        Outcome::Accepted { remote, evidence } => {
            format!("accepted by {}: {}", evidence.label(), tell_remote(remote))
        }
        Outcome::Refused { refusal, reason } => {
            let refusal = match refusal {
                Refusal::Permanent => "permanently".to_owned(),
                Refusal::Temporary(wait) => format!("for now{}", tell_wait(*wait)),
                Refusal::RateLimited(wait) => format!("for too many requests{}", tell_wait(*wait)),
                Refusal::Picture => "for its picture".to_owned(),
                Refusal::Replayed => "from memory".to_owned(),
                Refusal::Credentials => "for our credentials".to_owned(),
            };
            format!("refused {refusal}: {reason}")
        }
        Outcome::NotSent { reason } => format!("not sent: {reason}"),
        Outcome::InDoubt { reason } => format!("in doubt: {reason}"),
    };
    assert!(!text.contains(SECRET), "{text}");
    text
}

fn tell_wait(wait: Option<Wait>) -> String {
    match wait {
        None => String::new(),
        Some(Wait::For(duration)) => format!(" (wait {} ms)", duration.as_millis()),
        Some(Wait::Until(moment)) => format!(" (wait until {moment})"),
    }
}

fn tell_remote(remote: &Remote) -> String {
    let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".to_owned());
    format!("{} {}", text(&remote.id), text(&remote.url))
}

fn tell_opening(opening: &Opening) -> String {
    let text = match opening {
        Opening::Ready(session) => format!(
            "ready as {}, limit {:?}, skew {:?}",
            session.account, session.limits.text, session.clock_skew
        ),
        Opening::Closed { trouble, reason } => {
            let trouble = match trouble {
                Trouble::Credentials => "credentials".to_owned(),
                Trouble::Unreachable => "unreachable".to_owned(),
                Trouble::RateLimited(wait) => format!("rate limited{}", tell_wait(*wait)),
            };
            format!("closed, {trouble}: {reason}")
        }
    };
    assert!(!text.contains(SECRET), "{text}");
    text
}

fn tell_lookup(lookup: &Lookup) -> String {
    let text = match lookup {
        Lookup::Found(remote) => format!("found {}", tell_remote(remote)),
        Lookup::Several(remotes) => {
            let remotes: Vec<String> = remotes.iter().map(tell_remote).collect();
            format!("several: {}", remotes.join(", "))
        }
        Lookup::Absent => "absent".to_owned(),
        Lookup::CannotTell { reason } => format!("cannot tell: {reason}"),
    };
    assert!(!text.contains(SECRET), "{text}");
    text
}

fn tell_listing(listing: &Listing) -> String {
    match listing {
        Listing::Posts(posts) => posts
            .iter()
            .map(|post| {
                let sort = match post.sort {
                    SeenSort::TopLevel => "post",
                    SeenSort::Reply => "reply",
                    SeenSort::Draft => "draft",
                };
                let made_at = post
                    .created_at
                    .map_or_else(|| "no date".to_owned(), |moment| moment.to_string());
                format!(
                    "{sort} {} at {made_at}: {}",
                    tell_remote(&post.remote),
                    post.links.join(" ")
                )
            })
            .collect::<Vec<_>>()
            .join("\n"),
        Listing::CannotTell { reason } => format!("cannot tell: {reason}"),
    }
}
