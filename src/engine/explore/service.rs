//! The service: requests on their way to it, and the posts that it keeps.

use crate::model::address::same_address;
use crate::model::channel::Kind;
use crate::model::claim::Claim;
use crate::model::ids::Account;
use crate::model::outcome::{Evidence, Listing, Lookup, Outcome, Remote, SeenPost, SeenSort};
use crate::model::time::Timestamp;

/// A post that is there.
#[derive(Clone, Debug)]
pub(super) struct Post {
    pub(super) url: String,
    pub(super) account: Account,
    pub(super) key: String,
    stored_at: Timestamp,
    pub(super) visible_at: Timestamp,
}

/// A request that left a run and is not done with.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) number: usize,
    pub(super) claims: Vec<Claim>,
    /// Not stored after this: it is dropped.
    pub(super) accept_by: Timestamp,
    pub(super) client: Client,
    /// What was answered, if it was stored.
    pub(super) stored: Option<Outcome>,
}

/// What a request's client can still hear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Client {
    /// It waits: storing and answering are one.
    Waits,
    /// It stands still: the answer to what is stored meanwhile reaches it later.
    StandsStill,
    /// It is gone, or will not hear in time.
    Gone,
}

/// The service.
#[derive(Clone, Debug)]
pub(super) struct Service {
    kind: Kind,
    pub(super) posts: Vec<Post>,
    pub(super) requests: Vec<Request>,
    made: usize,
}

impl Service {
    pub(super) const fn new(kind: Kind) -> Self {
        Self {
            kind,
            posts: Vec::new(),
            requests: Vec::new(),
            made: 0,
        }
    }

    pub(super) fn count(&self, url: &str) -> usize {
        let matching = self
            .posts
            .iter()
            .filter(|post| same_address(&post.url, url));
        matching.count()
    }

    /// Takes a request on its way.
    pub(super) fn request(&mut self, claims: Vec<Claim>, accept_by: Timestamp) -> usize {
        self.made += 1;
        self.requests.push(Request {
            number: self.made,
            claims,
            accept_by,
            client: Client::Waits,
            stored: None,
        });
        self.made
    }

    pub(super) fn find(&self, number: usize) -> Option<&Request> {
        self.requests
            .iter()
            .find(|request| request.number == number)
    }

    /// What becomes of a request's client.
    pub(super) fn leave(&mut self, number: usize, client: Client) {
        for request in &mut self.requests {
            if request.number == number && request.client != Client::Gone {
                request.client = client;
            }
        }
    }

    pub(super) fn drop_request(&mut self, number: usize) {
        self.requests.retain(|request| request.number != number);
    }

    /// Drops what can't be stored any more and nobody waits for.
    pub(super) fn forget(&mut self, now: Timestamp) {
        self.requests.retain(|request| {
            request.client != Client::Gone || (request.stored.is_none() && request.accept_by >= now)
        });
    }

    /// Does what a request asks for. Returns the answer.
    pub(super) fn store(
        &mut self,
        number: usize,
        now: Timestamp,
        visible_at: Timestamp,
    ) -> Outcome {
        let request = self.find(number).expect("a request under way");
        let claims = request.claims.clone();
        let mut remote = Remote {
            id: None,
            url: None,
        };
        let mut evidence = Evidence::Response;
        for claim in claims {
            let key = match self.kind {
                // The client chooses the record's key: a second one under it is the first one.
                Kind::Bluesky => claim.post.string("rkey").expect("a record key").to_owned(),
                Kind::IndexNow | Kind::Mastodon | Kind::Devto | Kind::Http => format!("{number}"),
            };
            let known = self.posts.iter().position(|post| post.key == key);
            let index = known.unwrap_or(self.posts.len());
            if known.is_none() {
                self.posts.push(Post {
                    url: claim.canonical_url.clone(),
                    account: claim.account.clone(),
                    key,
                    stored_at: now,
                    visible_at,
                });
            } else {
                evidence = Evidence::KeyReplay;
            }
            if self.kind != Kind::IndexNow {
                remote = receipt(index);
            }
        }
        let outcome = Outcome::Accepted { remote, evidence };
        for request in &mut self.requests {
            if request.number == number {
                request.stored = Some(outcome.clone());
            }
        }
        outcome
    }

    fn seen<'a>(
        &'a self,
        account: &'a Account,
        now: Timestamp,
    ) -> impl Iterator<Item = (usize, &'a Post)> {
        self.posts
            .iter()
            .enumerate()
            .filter(move |(_, post)| post.visible_at <= now && post.account == *account)
    }

    pub(super) fn list(&self, account: &Account, now: Timestamp) -> Listing {
        let posts = self.seen(account, now).map(|(index, post)| SeenPost {
            remote: receipt(index),
            links: vec![post.url.clone()],
            created_at: Some(post.stored_at),
            sort: SeenSort::TopLevel,
        });
        Listing::Posts(posts.collect())
    }

    pub(super) fn lookup(&self, account: &Account, claim: &Claim, now: Timestamp) -> Lookup {
        if self.kind == Kind::IndexNow {
            return Lookup::CannotTell {
                reason: "it can't be read".to_owned(),
            };
        }
        let found: Vec<_> = self
            .seen(account, now)
            .filter(|(_, post)| same_address(&post.url, &claim.canonical_url))
            .map(|(index, _)| receipt(index))
            .collect();
        match found.as_slice() {
            [] => Lookup::Absent,
            [one] => Lookup::Found(one.clone()),
            _ => Lookup::Several(found),
        }
    }

    /// Whether this service gave that receipt.
    pub(super) fn gave(&self, remote: &Remote) -> bool {
        if self.kind == Kind::IndexNow {
            return !self.posts.is_empty();
        }
        (0..self.posts.len()).any(|index| receipt(index) == *remote)
    }
}

fn receipt(index: usize) -> Remote {
    Remote {
        id: Some(index.to_string()),
        url: Some(format!("https://social.example/@blog/{index}")),
    }
}
