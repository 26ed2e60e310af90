//! dev.to and other Forems: an article with its canonical URL.
//!
//! A published article's canonical URL is unique on the whole site, which keeps a repeat from becoming a second
//! article; a draft's is not. Reading back goes to the account's own list: the public one is cached for minutes to
//! days.

mod later;

use std::time::Duration;

use serde::{Deserialize, Deserializer};
use serde_json::json;
use ureq::http::HeaderName;
use ureq::http::header::ACCEPT;
use url::Url;

use super::Channel;
use super::answer::Answer;
use super::common::{
    Closed, below, cannot_tell, check_account, found, refused, single_claim, trouble_of,
};
use super::http::{Fence, Http, Request, is_loopback};
use crate::model::address::same_address;
use crate::model::claim::{Claim, PushedClaim};
use crate::model::ids::Account;
use crate::model::outcome::{
    Evidence, Listing, Lookup, Opening, Outcome, Refusal, Remote, SeenPost, SeenSort, ServerLimits,
    Session, Trouble,
};
use crate::model::time::Timestamp;
use crate::secret::Secret;

const API_KEY: HeaderName = HeaderName::from_static("api-key");

/// Without it the old version of the API answers.
const ACCEPT_V1: &str = "application/vnd.forem.api-v1+json";

/// The server's maximum for one page of the account's articles.
const PAGE_SIZE: usize = 1000;

/// Some Forems allow less; a page below the default size is the last one wherever the maximum lies.
const PAGE_SIZE_DEFAULT: usize = 30;

/// Most pages that one lookup reads.
const PAGES_MAX: usize = 10;

/// More than three reads a second are refused.
const PAGE_GAP: Duration = Duration::from_millis(400);

/// One account.
#[derive(Debug)]
pub(crate) struct Devto {
    http: Http,
    server: Url,
    key: Secret,
    published: bool,
    account: Option<String>,
}

/// An article, as far as it is read. The list carries whole texts, of which a digest is kept.
#[derive(Debug, Deserialize)]
struct Article {
    id: u64,
    url: Option<String>,
    path: Option<String>,
    canonical_url: Option<String>,
    /// The answer to a write may lack it.
    published: Option<bool>,
    published_at: Option<String>,
    title: Option<String>,
    description: Option<String>,
    /// A list, or a text with commas.
    tag_list: Option<serde_json::Value>,
    #[serde(default, rename = "body_markdown", deserialize_with = "digest_of_text")]
    body_digest: Option<String>,
}

#[derive(Debug, Deserialize)]
struct User {
    username: String,
}

impl Devto {
    /// Takes a server, an account's API key, and whether articles are published at once.
    pub(crate) fn new(http: Http, server: Url, key: Secret, published: bool) -> Self {
        Self {
            http,
            server,
            key,
            published,
            account: None,
        }
    }

    fn get(&mut self, path: &str, query: &[(&str, &str)]) -> Result<Answer, String> {
        let mut url = below(&self.server, path);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let request = self.with_key(Request::get(url));
        self.http.send(&request).of_read()
    }

    fn with_key(&self, request: Request) -> Request {
        request
            .header(ACCEPT, ACCEPT_V1)
            .header(API_KEY, self.key.expose())
    }

    /// The server as accounts are named by it. A server on this machine has another port each time it starts.
    fn server_name(&self) -> String {
        let mut server = self.server.clone();
        if is_loopback(&server) {
            server
                .set_port(None)
                .expect("a URL with a host takes any port, also none");
        }
        server.as_str().trim_end_matches('/').to_owned()
    }

    fn whoami(&mut self) -> Result<(String, Answer), Closed> {
        let unreachable = |reason| Closed {
            trouble: Trouble::Unreachable,
            reason,
        };
        let server = self.server_name();
        let mut answer = self.get("/api/users/me", &[]).map_err(unreachable)?;
        if answer.status == 404 {
            // Old Forems don't tell who a key belongs to; whether it is good shows at the account's own list.
            answer = self
                .get("/api/articles/me/all", &[("per_page", "1")])
                .map_err(unreachable)?;
            if answer.status == 200 && answer.json().is_some_and(|list| list.is_array()) {
                return Ok((server, answer));
            }
        } else if answer.status == 200
            && let Some(user) = answer.json().and_then(|user| User::deserialize(user).ok())
        {
            return Ok((format!("{server}/{}", user.username), answer));
        }
        Err(Closed {
            trouble: trouble_of(&answer),
            reason: self.http.describe(&answer),
        })
    }

    fn ensure_account(&mut self) -> Result<String, Closed> {
        if let Some(account) = &self.account {
            return Ok(account.clone());
        }
        let (account, _answer) = self.whoami()?;
        self.account = Some(account.clone());
        Ok(account)
    }

    /// Reads the whole list of the account's articles, drafts included; an error says why it is not the whole.
    fn own_articles(&mut self) -> (Vec<Article>, Result<(), String>) {
        let mut articles = Vec::new();
        let read = self.read_pages(&mut articles);
        (articles, read)
    }

    fn read_pages(&mut self, articles: &mut Vec<Article>) -> Result<(), String> {
        let size = PAGE_SIZE.to_string();
        for page_number in 1..=PAGES_MAX {
            if page_number > 1 {
                self.http.clock().sleep(PAGE_GAP);
            }
            let number = page_number.to_string();
            let answer = self.get(
                "/api/articles/me/all",
                &[("page", number.as_str()), ("per_page", size.as_str())],
            )?;
            let page: Vec<Article> = answer.list().ok_or_else(|| self.http.describe(&answer))?;
            let is_last = page.len() < PAGE_SIZE_DEFAULT;
            let known = articles.len();
            for article in page {
                if articles.iter().all(|other| other.id != article.id) {
                    articles.push(article);
                }
            }
            answer.check_fresh()?;
            // A page that repeats what was read is from a server that shows everything at once.
            if is_last || articles.len() == known {
                return Ok(());
            }
        }
        Err("the account has more articles than are read".to_owned())
    }

    fn outcome(&self, answer: &Answer) -> Outcome {
        let reason = self.http.describe(answer);
        let error = answer.json_error().map(|error| error.to_lowercase());
        match (answer.status, error) {
            (200 | 201, _) => {
                let article = answer
                    .json()
                    .and_then(|body| Article::deserialize(body).ok());
                article.map_or(Outcome::InDoubt { reason }, |article| Outcome::Accepted {
                    remote: self.remote(&article),
                    evidence: Evidence::Response,
                })
            }
            (401, _) | (403, Some(_)) => refused(Refusal::Credentials, reason),
            // The edge in front of the service: the request never got there.
            (403, None) if answer.body_complete => refused(Refusal::Temporary(None), reason),
            // What is there already may be what an earlier attempt made: look.
            (422, Some(error))
                if !error.contains("canonical url has already been taken")
                    && !error.contains("already been used in the last five minutes") =>
            {
                refused(Refusal::Permanent, reason)
            }
            (429, _) => refused(Refusal::RateLimited(answer.wait()), reason),
            _ => Outcome::InDoubt { reason },
        }
    }

    /// What becomes of the first attempt whose canonical URL is taken: if none of the account's own articles has it, it
    /// is somebody else's. Our own is found by the lookup that follows a doubt, and so is what an earlier attempt made.
    fn taken(&mut self, claim: &Claim, answer: &Answer) -> Outcome {
        let reason = self.http.describe(answer);
        let (articles, read) = self.own_articles();
        let is_ours = articles.iter().any(|article| {
            let url = article.canonical_url.as_deref();
            url.is_some_and(|url| same_address(url, &claim.canonical_url))
        });
        if is_ours || read.is_err() {
            return Outcome::InDoubt { reason };
        }
        let advice = "another account has published an article with this canonical URL";
        refused(Refusal::Permanent, format!("{advice}: {reason}"))
    }

    fn remote(&self, article: &Article) -> Remote {
        let from_path = || {
            let path = article.path.as_deref()?;
            self.server.join(path).ok().map(String::from)
        };
        Remote {
            id: Some(article.id.to_string()),
            url: article.url.clone().or_else(from_path),
        }
    }
}

impl Channel for Devto {
    fn open(&mut self) -> Opening {
        self.http.begin();
        match self.whoami() {
            Ok((account, answer)) => {
                self.account = Some(account.clone());
                Opening::Ready(Session {
                    account: Account::new(account),
                    limits: ServerLimits::default(),
                    clock_skew: answer.clock_skew(),
                })
            }
            Err(closed) => closed.opening(),
        }
    }

    fn recent(&mut self, _since: Timestamp) -> Listing {
        self.http.begin();
        let (articles, read) = self.own_articles();
        if let Err(reason) = read {
            return Listing::CannotTell { reason };
        }
        let seen = |article: &Article| SeenPost {
            remote: self.remote(article),
            links: article.canonical_url.iter().cloned().collect(),
            created_at: article.published_at(),
            sort: if article.is_published() {
                SeenSort::TopLevel
            } else {
                SeenSort::Draft
            },
        };
        Listing::Posts(articles.iter().map(seen).collect())
    }

    fn publish(&mut self, claims: &[PushedClaim]) -> Outcome {
        self.http.begin();
        let fence = Fence::of(claims, self.http.clock());
        let claim = match single_claim(claims) {
            Ok(claim) => claim,
            Err(outcome) => return outcome,
        };
        if claim.post.string("title").is_none() || claim.post.string("body_markdown").is_none() {
            return refused(
                Refusal::Permanent,
                "a post without `title` and `body_markdown` can't be sent to a Forem".to_owned(),
            );
        }
        let account = match self.ensure_account() {
            Ok(account) => account,
            Err(closed) => return closed.unsent_write(),
        };
        if let Err(outcome) = check_account(claim, &account) {
            return outcome;
        }
        // The frozen fields are the API's own parameters: all of them go out as they stand in the row.
        let body = json!({ "article": claim.post.fields() });
        let url = below(&self.server, "/api/articles");
        let request = self.with_key(Request::write(url, &body, fence));
        match self.http.send(&request).of_write() {
            Ok(answer) if claim.attempt == 1 && is_taken(&answer) => self.taken(claim, &answer),
            Ok(answer) => self.outcome(&answer),
            Err(outcome) => outcome,
        }
    }

    fn update(&mut self, claim: &PushedClaim) -> Outcome {
        self.http.begin();
        self.change(claim)
    }

    fn retract(&mut self, claim: &PushedClaim) -> Outcome {
        self.http.begin();
        self.unpublish(claim)
    }

    fn effect(&mut self, claim: &Claim) -> Lookup {
        self.http.begin();
        self.effect_of(claim)
    }

    fn lookup(&mut self, claim: &Claim) -> Lookup {
        self.http.begin();
        let published = claim.post.fields().get("published");
        let drafts_count = !published
            .and_then(serde_json::Value::as_bool)
            .unwrap_or(self.published);
        let (articles, read) = self.own_articles();
        let matches: Vec<Remote> = articles
            .iter()
            .filter(|article| drafts_count || article.is_published())
            .filter(|article| {
                let url = article.canonical_url.as_deref();
                url.is_some_and(|url| same_address(url, &claim.canonical_url))
            })
            .map(|article| self.remote(article))
            .collect();
        found(matches).unwrap_or_else(|| read.map_or_else(cannot_tell, |()| Lookup::Absent))
    }
}

fn digest_of_text<'de, D: Deserializer<'de>>(text: D) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(text)?;
    Ok(text.as_deref().map(later::digest))
}

fn is_taken(answer: &Answer) -> bool {
    let error = answer.json_error().unwrap_or_default().to_lowercase();
    answer.status == 422 && error.contains("canonical url has already been taken")
}

impl Article {
    /// An own article in the list is published unless it says otherwise.
    fn is_published(&self) -> bool {
        self.published.unwrap_or(true)
    }

    fn published_at(&self) -> Option<Timestamp> {
        Timestamp::parse(self.published_at.as_deref()?).ok()
    }
}
