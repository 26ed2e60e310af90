//! The stand-in of a Forem such as dev.to.

mod article;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::article::{Article, Draft};
use super::journal::wire_time;
use super::message::{Reply, Request};
use super::service::{Answer, Checks, Failure, Identity, SandboxPost, Service};
use super::text;
use crate::model::time::Timestamp;

/// The key that this server accepts.
pub(crate) const API_KEY: &str = "rehearsal-devto-api-key";

/// How long a title is the same user's last one.
const TITLE_MEMORY: Duration = Duration::from_mins(5);
/// With more articles than this published within [`RATE_WINDOW`], the next is refused.
const PUBLISHED_MAX: usize = 9;
/// With this many edits within [`RATE_WINDOW`], the next is refused.
const EDITS_MAX: usize = 30;
const RATE_WINDOW: Duration = Duration::from_secs(30);
const PAGE_DEFAULT: usize = 30;
const PAGE_MAX: usize = 1000;
/// The first article's id; later ones count on.
const FIRST_ID: u64 = 3_104_211;

/// The server.
#[derive(Debug)]
pub(crate) struct Devto {
    identity: Identity,
    articles: BTreeMap<u64, Article>,
    edits: Vec<Timestamp>,
}

/// What changes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub(crate) enum Effect {
    /// An article was made.
    Created { article: Article },
    /// An article was changed.
    Updated {
        article: Article,
        #[serde(with = "wire_time")]
        at: Timestamp,
    },
}

/// Where a request goes.
enum Route {
    Me,
    Articles,
    Mine(Shown),
    Article(String),
    Unpublish,
}

/// Which of one's own articles are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    All,
    Published,
    Unpublished,
}

impl Route {
    fn of(request: &Request) -> Option<Self> {
        let segments = request.segments();
        let segments: Vec<_> = segments.iter().map(String::as_str).collect();
        match segments.as_slice() {
            ["api", "users", "me"] => Some(Self::Me),
            ["api", "articles"] => Some(Self::Articles),
            ["api", "articles", "me"] | ["api", "articles", "me", "published"] => {
                Some(Self::Mine(Shown::Published))
            }
            ["api", "articles", "me", "unpublished"] => Some(Self::Mine(Shown::Unpublished)),
            ["api", "articles", "me", "all"] => Some(Self::Mine(Shown::All)),
            ["api", "articles", id] => Some(Self::Article((*id).to_owned())),
            ["api", "articles", _, "unpublish"] => Some(Self::Unpublish),
            _ => None,
        }
    }
}

impl Devto {
    /// Makes a server with one user and no article.
    pub(crate) fn new(identity: Identity) -> Self {
        Self {
            identity,
            articles: BTreeMap::new(),
            edits: Vec::new(),
        }
    }

    fn create(&self, request: &Request, now: Timestamp, checks: Checks) -> Answer<Effect> {
        let said = match article::said(request) {
            Ok(said) => said,
            Err(message) => return error(422, &message).into(),
        };
        let draft = Draft::default().changed(&said);
        let recent = self
            .articles
            .values()
            .filter(|article| article.published_since(now.minus(RATE_WINDOW)))
            .count();
        if recent > PUBLISHED_MAX {
            return rate_limited(RATE_WINDOW.as_secs()).into();
        }
        let mut problems = draft.problems();
        let taken = self.canonical_taken(&draft, None);
        if checks == Checks::Due {
            problems.extend(taken.clone());
            let used = self.articles.values().any(|article| {
                article.draft.title == draft.title && now.since(article.created_at) < TITLE_MEMORY
            });
            if used {
                problems.push("Title has already been used in the last five minutes".to_owned());
            }
        } else if taken.is_some() {
            // It passed the check, but not the database's unique index.
            return error(500, "Internal Server Error").into();
        }
        if !problems.is_empty() {
            return error(422, &sentence(&problems)).into();
        }
        let count = u64::try_from(self.articles.len()).unwrap_or(u64::MAX);
        let article = Article::new(FIRST_ID + count, draft, now);
        Answer {
            reply: Reply::json(201, &article.show(&self.identity))
                .with("Location", article.url(&self.identity)),
            effects: vec![Effect::Created { article }],
        }
    }

    fn update(&self, request: &Request, id: &str, now: Timestamp) -> Answer<Effect> {
        let Some(before) = self.article(id) else {
            return error(404, "not found").into();
        };
        let said = match article::said(request) {
            Ok(said) => said,
            Err(message) => return error(422, &message).into(),
        };
        let edits = self
            .edits
            .iter()
            .filter(|at| **at > now.minus(RATE_WINDOW))
            .count();
        if edits >= EDITS_MAX {
            return rate_limited(RATE_WINDOW.as_secs()).into();
        }
        let draft = before.draft.changed(&said);
        let mut problems = draft.problems();
        problems.extend(self.canonical_taken(&draft, Some(before.id)));
        if !problems.is_empty() {
            return error(422, &sentence(&problems)).into();
        }
        let article = before.edited(draft, now);
        Answer {
            reply: Reply::json(200, &article.show(&self.identity)),
            effects: vec![Effect::Updated { article, at: now }],
        }
    }

    fn canonical_taken(&self, draft: &Draft, own: Option<u64>) -> Option<String> {
        let url = draft.canonical_url.as_ref().filter(|_| draft.published)?;
        let taken = self.articles.values().any(|article| {
            Some(article.id) != own
                && article.draft.published
                && article.draft.canonical_url.as_ref() == Some(url)
        });
        taken.then(|| {
            format!(
                "Canonical url has already been taken. Email contact@{} for further details.",
                self.identity.public_host()
            )
        })
    }

    fn list(&self, request: &Request, shown: Shown) -> Reply {
        let number = |name: &str| {
            request
                .parameter(name)
                .and_then(|number| number.parse::<usize>().ok())
                .filter(|number| *number > 0)
        };
        let page = number("page").unwrap_or(1);
        let per_page = number("per_page").unwrap_or(PAGE_DEFAULT).min(PAGE_MAX);
        let mut articles: Vec<_> = self
            .articles
            .values()
            .filter(|article| match shown {
                Shown::All => true,
                Shown::Published => article.draft.published,
                Shown::Unpublished => !article.draft.published,
            })
            .collect();
        // Newest first; what is not published has no date, and the database sorts that in front.
        articles.sort_by_key(|article| {
            let published = article.published_at.is_some();
            (
                published,
                std::cmp::Reverse((article.published_at, article.created_at)),
            )
        });
        let list = articles
            .into_iter()
            .skip((page - 1).saturating_mul(per_page))
            .take(per_page)
            .map(|article| article.show_mine(&self.identity))
            .collect();
        Reply::json(200, &Value::Array(list))
    }

    fn article(&self, id: &str) -> Option<&Article> {
        self.articles.get(&id.parse().ok()?)
    }
}

impl Service for Devto {
    type Effect = Effect;

    fn is_write(request: &Request) -> bool {
        match Route::of(request) {
            Some(Route::Articles) => request.method == "POST",
            Some(Route::Article(_) | Route::Unpublish) => request.method == "PUT",
            Some(Route::Me | Route::Mine(_)) | None => false,
        }
    }

    fn key(request: &Request) -> Option<String> {
        let body = request.json()?;
        let url = body.pointer("/article/canonical_url")?;
        url.as_str().map(str::to_owned)
    }

    fn answer(&self, request: &Request, now: Timestamp, checks: Checks) -> Answer<Effect> {
        if request.header("user-agent").is_none_or(str::is_empty) {
            // Not the service but the network in front of it: no JSON.
            return Reply::text(403, "text/html", "<html><body>Forbidden</body></html>").into();
        }
        let Some(route) = Route::of(request) else {
            return error(404, "not found").into();
        };
        let method = request.method.as_str();
        if let ("GET", Route::Article(id)) = (method, &route) {
            let article = self.article(id).filter(|article| article.draft.published);
            return match article {
                Some(article) => Reply::json(200, &article.show(&self.identity)).into(),
                None => error(404, "not found").into(),
            };
        }
        if request.header("api-key") != Some(API_KEY) {
            return error(401, "unauthorized").into();
        }
        match (method, route) {
            ("GET", Route::Me) => Reply::json(200, &article::user(&self.identity)).into(),
            ("GET", Route::Mine(shown)) => self.list(request, shown).into(),
            ("POST", Route::Articles) => self.create(request, now, checks),
            ("PUT", Route::Article(id)) => self.update(request, &id, now),
            // Moderators only; authors unpublish with `published: false`.
            ("PUT", Route::Unpublish) => error(401, "unauthorized").into(),
            (_, _) => error(405, "method not allowed").into(),
        }
    }

    fn apply(&mut self, effect: Effect) {
        match effect {
            Effect::Created { article } => {
                self.articles.insert(article.id, article);
            }
            Effect::Updated { article, at } => {
                self.edits.push(at);
                self.articles.insert(article.id, article);
            }
        }
    }

    fn fail(&self, failure: Failure, _now: Timestamp) -> Reply {
        match (failure.code, failure.retry_after) {
            (429, Some(seconds)) => rate_limited(seconds),
            // The limit in front of the service has no words of its own.
            (429, None) => Reply::text(429, "text/plain", "Retry later\n"),
            (code, retry_after) => {
                let reply = match code {
                    200..=399 => Reply::json(code, &json!({})),
                    500..=599 => error(code, "Internal Server Error"),
                    _ => error(code, "bad request"),
                };
                match retry_after {
                    Some(seconds) => reply.with("Retry-After", seconds.to_string()),
                    None => reply,
                }
            }
        }
    }

    fn posts(&self) -> Vec<SandboxPost> {
        self.articles
            .values()
            .map(|article| SandboxPost {
                pictures: Vec::new(),
                channel: self.identity.channel.clone(),
                canonical_url: article.draft.canonical_url.clone().or_else(|| {
                    text::article_link(
                        text::links(&article.draft.body_markdown),
                        &self.identity.site_host,
                    )
                }),
                id: article.id.to_string(),
                url: article.url(&self.identity),
                title_or_text: article.draft.title.clone(),
                created_at: article.created_at,
                times: 1,
                draft: !article.draft.published,
            })
            .collect()
    }
}

fn rate_limited(seconds: u64) -> Reply {
    error(
        429,
        &format!("Rate limit reached, try again in {seconds} seconds"),
    )
    .with("Retry-After", seconds.to_string())
}

fn error(status: u16, message: &str) -> Reply {
    Reply::json(status, &json!({ "error": message, "status": status }))
}

/// Joins problems as Rails does: `a`, `a and b`, `a, b, and c`.
fn sentence(problems: &[String]) -> String {
    match problems {
        [one, two] => format!("{one} and {two}"),
        [most @ .., last] if most.len() > 1 => format!("{}, and {last}", most.join(", ")),
        _ => problems.concat(),
    }
}
