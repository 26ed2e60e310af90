//! A service that keeps posts, and misbehaves when ordered to.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use sayonce::config::ChannelConfig;
use sayonce::model::address::same_address;
use sayonce::model::channel::Kind;
use sayonce::model::claim::{Claim, PushedClaim};
use sayonce::model::delivery::Operation;
use sayonce::model::ids::{Account, Fingerprint};
use sayonce::model::outcome::{
    Evidence, Listing, Lookup, Opening, Outcome, Refusal, Remote, SeenPost, SeenSort, ServerLimits,
    Session, Trouble, Wait,
};
use sayonce::model::time::Timestamp;

/// What goes wrong with one write, by its number from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Stored; the answer is lost and the client gives up at its timeout.
    LostAnswer,
    /// Lost before anything was stored.
    LostRequest,
    /// Stored and answered after this time; the client may have given up before.
    Slow(Duration),
    /// Stored and answered at once; the lists show it only after this time.
    Unlisted(Duration),
    /// Not stored, answered 500.
    Status500,
    /// Stored, answered 500.
    Status500Stored,
    /// Not stored; to be tried again after this time.
    RateLimited(Duration),
    /// The same without saying how long.
    RateLimitedSilent,
    /// The same, and stored all the same: the answer lies.
    RateLimitedStored(Duration),
    /// Refused for good.
    Refused,
    /// The same, and stored all the same.
    RefusedStored,
    /// Refused for good, and the answer is lost.
    RefusedUnheard,
    /// Not stored; an answer from before.
    Replayed,
    /// No byte left.
    NotSent,
}

#[derive(Clone)]
struct Post {
    url: String,
    key: String,
    stored_at: Timestamp,
    listed_at: Timestamp,
    /// What it showed from which moment on.
    shows: Vec<(Timestamp, Fingerprint)>,
    /// When it was taken down.
    gone_at: Option<Timestamp>,
}

impl Post {
    fn is_gone(&self, now: Timestamp) -> bool {
        self.gone_at.is_some_and(|at| at <= now)
    }

    /// What it shows now: a request that took effect later shows, whichever was sent later.
    fn text(&self, now: Timestamp) -> Option<&Fingerprint> {
        let past = self.shows.iter().filter(|(at, _)| *at <= now);
        past.max_by_key(|(at, _)| *at).map(|(_, text)| text)
    }
}

/// A service.
#[derive(Clone)]
pub(crate) struct Service {
    kind: Kind,
    name: String,
    timeout: Duration,
    latency: Duration,
    posts: Vec<Post>,
    pub(crate) write_times: Vec<Timestamp>,
    pub(crate) lookup_times: Vec<Timestamp>,
    pub(crate) open_times: Vec<Timestamp>,
    /// Whose account it is, if not the blog's.
    pub(crate) account: Option<String>,
    /// How far its clock is from the run's.
    pub(crate) skew: Option<Duration>,
    /// What it answers to a key it says again for so long, where that was a refusal.
    pub(crate) memory: Option<Duration>,
    /// When it refused which key.
    refused: BTreeMap<String, Timestamp>,
    /// What goes wrong with every write.
    pub(crate) always: Option<Fault>,
    /// What its server tells of its limits.
    pub(crate) limits: ServerLimits,
    /// Nobody can log in.
    pub(crate) open_fails: bool,
    /// Whoever logs in before this moment is told to wait for it.
    pub(crate) open_from: Option<Timestamp>,
    pub(crate) faults: BTreeMap<usize, Fault>,
    /// Tokens that were sent: none twice.
    tokens: BTreeSet<String>,
    /// How long until a post shows in the lists.
    pub(crate) lag: Duration,
    /// Requests that may have had an effect, as far as their answers tell, by address.
    effects: BTreeMap<String, usize>,
    /// Answers that said "refused" to what was stored, by address.
    lies: BTreeMap<String, usize>,
    /// The list can't be read before this.
    pub(crate) unreadable_until: Option<Timestamp>,
}

impl Service {
    pub(crate) fn new(channel: &ChannelConfig) -> Self {
        Self {
            kind: channel.kind(),
            name: channel.name().to_string(),
            timeout: channel.rules.timeout,
            latency: Duration::from_millis(300),
            posts: Vec::new(),
            write_times: Vec::new(),
            lookup_times: Vec::new(),
            open_times: Vec::new(),
            account: None,
            skew: None,
            memory: None,
            refused: BTreeMap::new(),
            always: None,
            limits: ServerLimits::default(),
            open_fails: false,
            open_from: None,
            faults: BTreeMap::new(),
            tokens: BTreeSet::new(),
            lag: Duration::ZERO,
            effects: BTreeMap::new(),
            lies: BTreeMap::new(),
            unreadable_until: None,
        }
    }

    /// Orders a fault for the n-th write from now on.
    pub(crate) fn order(&mut self, number: usize, fault: Fault) {
        self.faults.insert(self.writes() + number, fault);
    }

    /// Takes posts of this address off the list.
    pub(crate) fn hide(&mut self, url: &str, until: Timestamp) {
        let posts = self.posts.iter_mut();
        for post in posts.filter(|post| same_address(&post.url, url)) {
            post.listed_at = until;
        }
    }

    /// How many write requests came.
    pub(crate) fn writes(&self) -> usize {
        self.write_times.len()
    }

    pub(crate) fn count(&self, url: &str) -> usize {
        let posts = self
            .posts
            .iter()
            .filter(|post| same_address(&post.url, url))
            .count();
        // Search engines are told as often as one likes.
        if self.kind == Kind::IndexNow {
            posts.min(1)
        } else {
            posts
        }
    }

    /// How many posts of an address there are, pings included.
    pub(crate) fn stored(&self, url: &str) -> usize {
        let posts = self.posts.iter();
        posts.filter(|post| same_address(&post.url, url)).count()
    }

    /// Whether the post of a receipt stands and shows this.
    pub(crate) fn shows(&self, receipt: &Remote, post: &Fingerprint, now: Timestamp) -> bool {
        // Nobody sees what a search engine makes of it.
        let Some(index) = self.index_of(receipt) else {
            return receipt.id.is_none();
        };
        let standing = &self.posts[index];
        !standing.is_gone(now) && standing.text(now) == Some(post)
    }

    /// How many posts of an address stand.
    pub(crate) fn standing(&self, url: &str, now: Timestamp) -> usize {
        let posts = self.posts.iter();
        posts
            .filter(|post| same_address(&post.url, url) && !post.is_gone(now))
            .count()
    }

    /// The posts of an address, for a person who looks.
    pub(crate) fn shown(&self, url: &str, now: Timestamp) -> Vec<Remote> {
        let posts = self.posts.iter().enumerate();
        posts
            .filter(|(_, post)| post.stored_at <= now && same_address(&post.url, url))
            .map(|(index, _)| self.remote(index))
            .collect()
    }

    /// How many requests for an address may have had an effect, as far as their answers tell.
    pub(crate) fn effects(&self, url: &str) -> usize {
        self.effects.get(url).copied().unwrap_or_default()
    }

    /// How many answers about an address were lies.
    pub(crate) fn lies(&self, url: &str) -> usize {
        self.lies.get(url).copied().unwrap_or_default()
    }

    /// Whether a receipt is the one of a post of this address.
    pub(crate) fn gave(&self, receipt: &Remote, url: &str) -> bool {
        if self.kind == Kind::IndexNow {
            return receipt.id.is_none() && self.count(url) == 1;
        }
        // What a person said has no id.
        if receipt.id.is_none() {
            let mut posts = self.posts.iter().enumerate();
            return posts.any(|(index, post)| {
                same_address(&post.url, url) && self.remote(index).is_same_post(receipt)
            });
        }
        self.posts
            .iter()
            .enumerate()
            .any(|(index, post)| same_address(&post.url, url) && self.remote(index) == *receipt)
    }

    /// Logs in a machine whose clock is off by this much, of which a `Date` header shows all but the last second.
    pub(crate) fn open(&mut self, now: Timestamp, off: Duration) -> Opening {
        self.open_times.push(now);
        if self.open_fails {
            return Opening::Closed {
                trouble: Trouble::Unreachable,
                reason: "refused".to_owned(),
            };
        }
        if let Some(moment) = self.open_from.filter(|moment| now < *moment) {
            return Opening::Closed {
                trouble: Trouble::RateLimited(Some(Wait::Until(moment))),
                reason: "429".to_owned(),
            };
        }
        Opening::Ready(Session {
            account: Account::new(
                self.account
                    .clone()
                    .unwrap_or_else(|| format!("https://{}.example/@blog", self.name)),
            ),
            limits: self.limits,
            clock_skew: self.skew.or_else(|| {
                let shown = off.saturating_sub(Duration::from_secs(1));
                (!shown.is_zero()).then_some(shown)
            }),
        })
    }

    pub(crate) fn list(&self, now: Timestamp) -> Listing {
        if self.is_unreadable(now) {
            return Listing::CannotTell {
                reason: "503".to_owned(),
            };
        }
        let shown = self
            .posts
            .iter()
            .enumerate()
            .filter(|(_, post)| post.listed_at <= now && !post.is_gone(now));
        Listing::Posts(
            shown
                .rev()
                .map(|(index, post)| SeenPost {
                    remote: self.remote(index),
                    links: vec![post.url.clone()],
                    created_at: Some(post.stored_at),
                    sort: SeenSort::TopLevel,
                })
                .collect(),
        )
    }

    pub(crate) fn is_unreadable(&self, now: Timestamp) -> bool {
        self.unreadable_until.is_some_and(|until| now < until)
    }

    pub(crate) fn lookup(&mut self, now: Timestamp, claim: &Claim) -> Lookup {
        self.lookup_times.push(now);
        if self.is_unreadable(now) || self.kind == Kind::IndexNow {
            return Lookup::CannotTell {
                reason: "503".to_owned(),
            };
        }
        if let Some(target) = &claim.target {
            return self.effect(now, claim, target);
        }
        let found: Vec<_> = self
            .posts
            .iter()
            .enumerate()
            .filter(|(_, post)| {
                post.listed_at <= now
                    && !post.is_gone(now)
                    && same_address(&post.url, &claim.canonical_url)
            })
            .map(|(index, _)| self.remote(index))
            .collect();
        match found.as_slice() {
            [] => Lookup::Absent,
            [one] => Lookup::Found(one.clone()),
            _ => Lookup::Several(found),
        }
    }

    /// Whether what a change or a retraction asks for is so.
    fn effect(&self, now: Timestamp, claim: &Claim, target: &Remote) -> Lookup {
        let post = self.index_of(target).map(|index| &self.posts[index]);
        let is_so = match claim.operation {
            Operation::Publish => false,
            Operation::Update(_) => post.is_some_and(|post| {
                !post.is_gone(now) && post.text(now) == Some(&claim.post.fingerprint())
            }),
            Operation::Retract => post.is_none_or(|post| post.is_gone(now)),
        };
        if is_so {
            Lookup::Found(target.clone())
        } else {
            Lookup::Absent
        }
    }

    fn index_of(&self, remote: &Remote) -> Option<usize> {
        let indices = 0..self.posts.len();
        indices
            .into_iter()
            .find(|index| self.remote(*index).is_same_post(remote))
    }

    /// Takes a request from a machine whose clock shows `clock`.
    pub(crate) fn publish(
        &mut self,
        now: Timestamp,
        clock: Timestamp,
        claims: &[PushedClaim],
    ) -> (Duration, Outcome) {
        let (after, outcome) = self.take(now, clock, claims);
        let effect = match &outcome {
            Outcome::Accepted { .. } | Outcome::InDoubt { .. } => 1,
            Outcome::Refused { .. } | Outcome::NotSent { .. } => 0,
        };
        let announced = claims
            .iter()
            .filter(|pushed| pushed.claim().operation == Operation::Publish);
        for pushed in announced {
            let url = pushed.claim().canonical_url.clone();
            *self.effects.entry(url).or_default() += effect;
        }
        (after, outcome)
    }

    fn take(
        &mut self,
        now: Timestamp,
        clock: Timestamp,
        claims: &[PushedClaim],
    ) -> (Duration, Outcome) {
        self.write_times.push(now);
        for pushed in claims {
            let claim = pushed.claim();
            assert!(
                clock < claim.send_before,
                "sent after the send window: {}",
                claim.item
            );
            assert!(
                self.tokens.insert(claim.token.as_str().to_owned()),
                "one token was sent twice: {}",
                claim.item
            );
        }
        let in_doubt = |reason: &str| Outcome::InDoubt {
            reason: reason.to_owned(),
        };
        let refused = |refusal, reason: &str| Outcome::Refused {
            refusal,
            reason: reason.to_owned(),
        };
        let key = claims.first().map(|pushed| pushed.claim().key.to_string());
        let key = key.unwrap_or_default();
        if let (Some(memory), Some(at)) = (self.memory, self.refused.get(&key))
            && now < at.plus(memory)
        {
            return (self.latency, refused(Refusal::Replayed, "422 as before"));
        }
        let fault = self.always.or(self.faults.get(&self.writes()).copied());
        if matches!(
            fault,
            Some(Fault::Refused | Fault::RefusedUnheard | Fault::RateLimited(_))
        ) {
            self.refused.insert(key, now);
        }
        match fault {
            None => {
                let accepted = self.store(claims, now, Duration::ZERO);
                (self.latency, accepted)
            }
            Some(Fault::Unlisted(delay)) => {
                let accepted = self.store(claims, now, delay);
                (self.latency, accepted)
            }
            Some(Fault::LostAnswer) => {
                drop(self.store(claims, now, Duration::ZERO));
                (self.timeout, in_doubt("no answer within the timeout"))
            }
            Some(Fault::LostRequest | Fault::RefusedUnheard) => {
                (self.timeout, in_doubt("no answer within the timeout"))
            }
            Some(Fault::Slow(delay)) => {
                let accepted = self.store(claims, now.plus(delay), Duration::ZERO);
                if delay < self.timeout {
                    (delay, accepted)
                } else {
                    (self.timeout, in_doubt("no answer within the timeout"))
                }
            }
            Some(Fault::Status500) => (self.latency, in_doubt("500")),
            Some(Fault::Status500Stored) => {
                drop(self.store(claims, now, Duration::ZERO));
                (self.latency, in_doubt("500"))
            }
            Some(Fault::RateLimited(wait)) => (
                self.latency,
                refused(Refusal::RateLimited(Some(Wait::For(wait))), "429"),
            ),
            Some(Fault::RateLimitedSilent) => {
                (self.latency, refused(Refusal::RateLimited(None), "429"))
            }
            Some(Fault::RateLimitedStored(wait)) => {
                self.lie(claims, now);
                let wait = Some(Wait::For(wait));
                (self.latency, refused(Refusal::RateLimited(wait), "429"))
            }
            Some(Fault::Refused) => (self.latency, refused(Refusal::Permanent, "422")),
            Some(Fault::Replayed) => (self.latency, refused(Refusal::Replayed, "422 as before")),
            Some(Fault::RefusedStored) => {
                self.lie(claims, now);
                (self.latency, refused(Refusal::Permanent, "422"))
            }
            Some(Fault::NotSent) => (
                self.latency,
                Outcome::NotSent {
                    reason: "connection refused".to_owned(),
                },
            ),
        }
    }

    /// Keeps the posts, which show at once, and will say that it did not.
    fn lie(&mut self, claims: &[PushedClaim], now: Timestamp) {
        let lag = std::mem::take(&mut self.lag);
        drop(self.store(claims, now, Duration::ZERO));
        self.lag = lag;
        for pushed in claims {
            let url = pushed.claim().canonical_url.clone();
            *self.lies.entry(url).or_default() += 1;
        }
    }

    /// Keeps the posts; a service with client-chosen ids keeps one for each.
    fn store(&mut self, claims: &[PushedClaim], at: Timestamp, unlisted: Duration) -> Outcome {
        let mut remote = Remote {
            id: None,
            url: None,
        };
        let mut evidence = Evidence::Response;
        for pushed in claims {
            let claim = pushed.claim();
            let target = claim
                .target
                .as_ref()
                .filter(|_| self.kind != Kind::IndexNow);
            if let Some(target) =
                target.filter(|target| target.id.is_some() || target.url.is_some())
            {
                let index = self.index_of(target).expect("a post that it gave");
                let post = &mut self.posts[index];
                match claim.operation {
                    Operation::Publish => unreachable!("an announcement has no target"),
                    Operation::Update(_) => post.shows.push((at, claim.post.fingerprint())),
                    Operation::Retract => {
                        post.gone_at = Some(post.gone_at.map_or(at, |earlier| earlier.min(at)));
                    }
                }
                return Outcome::Accepted {
                    remote: target.clone(),
                    evidence,
                };
            }
            let key = match self.kind {
                Kind::Bluesky => claim.post.string("rkey").expect("a record key").to_owned(),
                Kind::IndexNow | Kind::Mastodon | Kind::Devto | Kind::Http => {
                    claim.token.to_string()
                }
            };
            if let Some(index) = self.posts.iter().position(|post| post.key == key) {
                evidence = Evidence::KeyReplay;
                remote = self.remote(index);
                // Of two requests under one id the quicker one makes the post.
                let post = &mut self.posts[index];
                post.stored_at = post.stored_at.min(at);
                post.listed_at = post.listed_at.min(at.plus(unlisted).plus(self.lag));
                continue;
            }
            self.posts.push(Post {
                url: claim.canonical_url.clone(),
                key,
                stored_at: at,
                listed_at: at.plus(unlisted).plus(self.lag),
                shows: vec![(at, claim.post.fingerprint())],
                gone_at: None,
            });
            if self.kind != Kind::IndexNow {
                remote = self.remote(self.posts.len() - 1);
            }
        }
        Outcome::Accepted { remote, evidence }
    }

    fn remote(&self, index: usize) -> Remote {
        let id = (index + 1).to_string();
        Remote {
            url: Some(format!("https://{}.example/@blog/{id}", self.name)),
            id: Some(id),
        }
    }
}
