//! The stand-in of a declared service: it takes what the declaration sends, and answers what the declaration expects.
//!
//! It is as good as the declaration: that a service is like that is what a rehearsal can't show. What the common
//! services are known to do beside it is in `flavour`.

mod current;
mod flavour;
mod later;
mod prepared;
mod shape;

use std::collections::BTreeMap;
use std::time::Duration;

use minijinja::Value as Known;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use url::Url;

use self::shape::{Sent, set_at};
use super::journal::wire_time;
use super::message::{Reply, Request};
use super::service::{Answer, Checks, Failure, Identity, SandboxPost, Service};
use super::text;
use crate::config::http::{
    AnswerRule, BodyForm, Condition, Declaration, LookupForm, Meaning, Receipt, RequestForm,
    Source, Success, TOKEN_FILTER, Test, WaitSource, environment,
};
use crate::model::ids::ChannelName;
use crate::model::time::Timestamp;

/// The beginning of every made-up secret.
pub(crate) const SECRET: &str = "rehearsal-secret";

/// By this the adapter says in a rehearsal which article a request is about: some requests name none.
const ARTICLE_HEADER: &str = "sayonce-rehearsal-article";

/// How old a token may be.
const TOKEN_SECONDS: i64 = 300;

/// Two changes at one moment have two times.
const ONE_TICK: Duration = Duration::from_millis(1);

/// Most entries of a list where the declaration names no page.
const LIST_MAX: usize = 100;

/// Returns the made-up value of a secret.
pub(crate) fn secret(declaration: &Declaration, channel: &ChannelName, name: &str) -> String {
    if declaration.secret_address() == Some(name) {
        return format!("https://{channel}.rehearsal.example/hooks/{SECRET}-{name}-4711");
    }
    let templates = declaration.request.templates();
    let signs = |template: &&str| {
        template.contains(TOKEN_FILTER) && template.contains(&format!("secret.{name}"))
    };
    if templates.iter().any(signs) {
        // A key that tokens are signed with.
        return format!("{SECRET}-{channel}-{name}:{}", "5a".repeat(32));
    }
    format!("{SECRET}-{channel}-{name}")
}

/// The service.
#[derive(Debug)]
pub(crate) struct Declared {
    identity: Identity,
    declaration: Declaration,
    posts: Vec<Post>,
}

/// A post that was taken.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Post {
    id: String,
    article: Option<String>,
    text: String,
    /// What was sent for each template, which a post shows by itself.
    #[serde(default)]
    fields: BTreeMap<String, String>,
    key: Option<String>,
    #[serde(with = "wire_time")]
    at: Timestamp,
    times: usize,
    /// It was only prepared: nobody sees it.
    #[serde(default)]
    hidden: bool,
    /// It was taken down.
    #[serde(default)]
    gone: bool,
    /// When it was changed last; the changes themselves are kept.
    #[serde(skip)]
    changed: Option<Timestamp>,
}

/// What changes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Effect {
    /// A post was changed.
    Edited {
        edited: String,
        text: String,
        #[serde(default)]
        fields: BTreeMap<String, String>,
        #[serde(with = "wire_time")]
        at: Timestamp,
    },
    /// A post was taken down.
    Deleted { deleted: String },
    /// A post was made.
    Posted(Post),
}

impl Declared {
    /// Makes a service that nobody used yet.
    pub(crate) fn new(identity: Identity, declaration: Declaration) -> Self {
        Self {
            identity,
            declaration,
            posts: Vec::new(),
        }
    }

    fn write(&self, request: &Request, now: Timestamp, checks: Checks) -> Answer<Effect> {
        let form = &self.declaration.request;
        if let Some(prepare) = &self.declaration.prepare
            && self.is_preparation(prepare, request)
        {
            return self.prepare(prepare, request, now);
        }
        if request.method != form.method.label() || !self.is_at(form, request) {
            return not_here().into();
        }
        if !self.has_secrets(form, request, now) {
            return self.refuse(Meaning::Credentials, 401, None).into();
        }
        let Some(sent) = Sent::read(request, &form.body) else {
            return self.refuse(Meaning::Refused, 400, None).into();
        };
        let declared = self.declaration.key.as_ref();
        let key = match declared.and_then(|key| key.header.as_ref()) {
            Some(header) => request
                .header(&header.to_ascii_lowercase())
                .map(str::to_owned),
            None => sent.key(request),
        };
        let known = self
            .declaration
            .key
            .as_ref()
            .zip(key.as_ref())
            // For ever means a unique index, which also a request that was overtaken runs into.
            .filter(|(declared, _)| checks == Checks::Due || declared.lifetime.is_none())
            .and_then(|(declared, key)| {
                let lives = |post: &&Post| {
                    declared
                        .lifetime
                        .is_none_or(|lifetime| now.since(post.at) < lifetime)
                };
                self.posts
                    .iter()
                    .filter(lives)
                    .find(|post| post.key.as_ref() == Some(key))
            });
        if let Some(post) = known {
            return self.accept(post).into();
        }
        let container = self
            .declaration
            .prepare
            .as_ref()
            .map(|_| self.container_in(request, &sent));
        let Some(container) = container.map_or(Some(None), |found| found.map(Some)) else {
            return self.refuse(Meaning::Retry, 400, None).into();
        };
        let text = container.map_or_else(|| sent.text(), |container| container.text.clone());
        let is_repeat = checks == Checks::Due && self.shown().any(|post| post.text == text);
        if let Some(reply) = flavour::repeat(self.declaration.preset).filter(|_| is_repeat) {
            return reply.into();
        }
        let article = request
            .header(ARTICLE_HEADER)
            .map(str::to_owned)
            .or_else(|| {
                text::article_link(
                    sent.links().iter().map(String::as_str),
                    &self.identity.site_host,
                )
            });
        let post = Post {
            id: self.next_id(now),
            article,
            text,
            fields: sent.fields(),
            key: key.or_else(|| container.map(|container| container.id.clone())),
            at: now,
            times: 1,
            gone: false,
            hidden: false,
            changed: None,
        };
        Answer {
            reply: self.accept(&post),
            effects: vec![Effect::Posted(post)],
        }
    }

    /// Answers as the declaration expects of a success.
    fn accept(&self, post: &Post) -> Reply {
        self.accept_by(&self.declaration.success, post)
    }

    /// Answers with a post's receipt, as a test of success expects it.
    fn accept_by(&self, success: &Success, post: &Post) -> Reply {
        let receipt = &self.declaration.receipt;
        let mut body = flavour::body(self.declaration.preset, &post.text);
        let mut headers = Vec::new();
        if let Receipt::Given { id, url } = receipt {
            let address = self.address_of(post);
            let id_is_address = id.is_none();
            for (source, text) in [(id, &post.id), (url, &address)] {
                match source {
                    Some(Source::Pointer(pointer)) => {
                        set_at(
                            &mut body,
                            pointer.as_str(),
                            flavour::id(self.declaration.preset, text),
                        );
                    }
                    Some(Source::Header(name)) => headers.push((name.clone(), text.clone())),
                    Some(Source::Template(_)) | None => {}
                }
            }
            debug_assert!(
                !id_is_address || url.is_some(),
                "a receipt has an id or an address"
            );
        }
        let reply = self.successful(success, body);
        headers
            .into_iter()
            .fold(reply, |reply, (name, value)| reply.with(name, value))
    }

    fn successful(&self, success: &Success, mut body: Value) -> Reply {
        let status = success.statuses.first().copied().unwrap_or(200);
        if let Some(text) = &success.body {
            return Reply::text(status, "text/plain", text);
        }
        hold(&mut body, success.condition.as_ref());
        match (&self.declaration.receipt, status) {
            (_, 204) => Reply::text(status, "text/plain", ""),
            (Receipt::None, _) if body == json!({}) => Reply::text(status, "text/plain", ""),
            (Receipt::None | Receipt::Given { .. }, _) => Reply::json(status, &body),
        }
    }

    /// Refuses in the words of the declaration's first rule of that meaning, if it has one for the status.
    fn refuse(&self, means: Meaning, status: u16, retry_after: Option<u64>) -> Reply {
        let fits = |rule: &&AnswerRule| {
            rule.means == means && (rule.statuses.is_empty() || rule.statuses.contains(&status))
        };
        let rule = self.declaration.answers.iter().find(fits);
        let mut body = flavour::error(self.declaration.preset, status, retry_after);
        // What a success must say, a failure does not.
        if let Some(condition) = &self.declaration.success.condition
            && let Test::OneOf(values) = &condition.test
            && values.contains(&Value::Bool(true))
        {
            set_at(&mut body, condition.pointer.as_str(), json!(false));
        }
        hold(&mut body, rule.and_then(|rule| rule.condition.as_ref()));
        let wait = rule.and_then(|rule| rule.wait.as_ref()).zip(retry_after);
        let mut header = retry_after.map(|seconds| ("Retry-After".to_owned(), seconds));
        match wait {
            Some((WaitSource::Pointer(pointer), seconds)) => {
                set_at(&mut body, pointer.as_str(), json!(seconds));
            }
            Some((WaitSource::Header(name), seconds)) => header = Some((name.clone(), seconds)),
            Some((WaitSource::Constant(_), _)) | None => {}
        }
        let reply = Reply::json(status, &body);
        match header {
            Some((name, seconds)) => reply.with(name, seconds.to_string()),
            None => reply,
        }
    }

    fn list(&self, form: &LookupForm, request: &Request, now: Timestamp) -> Reply {
        if !self.is_at(&form.request, request) {
            return not_here();
        }
        if !self.has_secrets(&form.request, request, now) {
            return self.refuse(Meaning::Credentials, 401, None);
        }
        let size = form.covers.page_size.unwrap_or(LIST_MAX);
        let entries: Vec<Value> = self
            .shown()
            .rev()
            .take(size)
            .map(|post| self.entry(form, post))
            .collect();
        let is_whole = entries.len() == self.shown().count();
        let mut body = json!({});
        hold(&mut body, form.success.condition.as_ref());
        hold(&mut body, form.covers.whole.as_ref().filter(|_| is_whole));
        set_at(&mut body, form.list.as_str(), Value::Array(entries));
        Reply::json(form.success.statuses.first().copied().unwrap_or(200), &body)
    }

    fn entry(&self, form: &LookupForm, post: &Post) -> Value {
        let mut entry = json!({});
        let mut put = |pointer: &str, value: Value| set_at(&mut entry, pointer, value);
        for pointer in &form.match_text {
            put(pointer.as_str(), json!(post.text));
        }
        if let Some(article) = &post.article {
            for pointer in &form.match_url {
                put(pointer.as_str(), json!(article));
            }
        }
        if let Some(key) = &post.key {
            for pointer in &form.match_key {
                put(pointer.as_str(), json!(key));
            }
        }
        for (pointer, template) in &form.only {
            if let Some(wanted) = self.fill(template, &[]) {
                put(pointer.as_str(), json!(wanted));
            }
        }
        if let Some(time) = &form.time {
            put(time.as_str(), json!(post.at.to_string()));
        }
        put(
            form.id.as_str(),
            flavour::id(self.declaration.preset, &post.id),
        );
        if let Some(Source::Pointer(pointer)) = &form.url {
            put(pointer.as_str(), json!(self.address_of(post)));
        }
        entry
    }

    /// Returns the next post's id.
    fn next_id(&self, now: Timestamp) -> String {
        let number = self.posts.iter().filter(|post| !post.hidden).count() + 1;
        if flavour::ids_are_times(self.declaration.preset) {
            let millis = now.as_millis();
            let (seconds, part) = (millis.div_euclid(1000), millis.rem_euclid(1000));
            return format!("{seconds}.{part:03}{number:03}");
        }
        number.to_string()
    }

    fn address_of(&self, post: &Post) -> String {
        format!("https://{}/{}", self.identity.public_host(), post.id)
    }

    /// Whether a header has a token that the key makes, at a moment within the last five minutes.
    fn is_signed(&self, template: &str, sent: &str, now: Timestamp) -> bool {
        let now = now.as_millis().div_euclid(1000);
        (now - TOKEN_SECONDS..=now + 1).any(|moment| {
            let token = self.fill_with(template, &[("now", Known::from(moment))]);
            token.as_deref() == Some(sent)
        })
    }

    /// Fills a template from values and secrets alone; one that needs more gives nothing.
    fn fill(&self, template: &str, more: &[(&str, &str)]) -> Option<String> {
        let more: Vec<_> = more
            .iter()
            .map(|(name, value)| (*name, Known::from(*value)))
            .collect();
        self.fill_with(template, &more)
    }

    fn fill_with(&self, template: &str, more: &[(&str, Known)]) -> Option<String> {
        let Declaration {
            secrets, values, ..
        } = &self.declaration;
        let secrets = Known::from_pairs(secrets.keys().map(|name| {
            let made_up = secret(&self.declaration, &self.identity.channel, name);
            (name.as_str(), made_up)
        }));
        let values = values
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()));
        let context = Known::from_pairs(
            more.iter()
                .cloned()
                .chain([("secret", secrets), ("value", Known::from_pairs(values))]),
        );
        environment().render_str(template, context).ok()
    }

    /// Whether a request came to the form's address, as far as that is known beforehand.
    fn is_at(&self, form: &RequestForm, request: &Request) -> bool {
        self.is_at_with(form, request, &[])
    }

    fn is_at_with(&self, form: &RequestForm, request: &Request, more: &[(&str, &str)]) -> bool {
        let address = self.fill(&form.url, more);
        let Some(url) = address.and_then(|address| Url::parse(address.trim()).ok()) else {
            return true;
        };
        url.path() == request.path
    }

    /// Whether a request carries every secret that the form puts into it.
    fn has_secrets(&self, form: &RequestForm, request: &Request, now: Timestamp) -> bool {
        let in_header = form.headers.iter().all(|(name, template)| {
            let sent = request.header(&name.to_ascii_lowercase());
            if template.contains(TOKEN_FILTER) {
                return sent.is_some_and(|sent| self.is_signed(template, sent, now));
            }
            !template.contains("secret.") || self.fill(template, &[]).as_deref() == sent
        });
        let rest = percent_encoding::percent_decode(
            &[request.query.as_bytes(), b"\n", &request.body].concat(),
        )
        .decode_utf8_lossy()
        .into_owned();
        let headers: Vec<&str> = form
            .headers
            .iter()
            .map(|(_, value)| value.as_str())
            .collect();
        let elsewhere = form
            .templates()
            .into_iter()
            .filter(|template| *template != form.url.as_str() && !headers.contains(template));
        in_header
            && elsewhere
                .filter(|template| template.contains("secret."))
                .all(|template| {
                    self.fill(template, &[])
                        .is_none_or(|text| rest.contains(&text))
                })
    }
}

impl Service for Declared {
    type Effect = Effect;

    fn is_write(request: &Request) -> bool {
        !matches!(request.method.as_str(), "GET" | "HEAD" | "OPTIONS")
    }

    fn key(request: &Request) -> Option<String> {
        request.header("idempotency-key").map(str::to_owned)
    }

    fn answer(&self, request: &Request, now: Timestamp, checks: Checks) -> Answer<Effect> {
        if let Some(reply) = self.readiness(request, now) {
            return reply.into();
        }
        if Self::is_write(request) {
            return self
                .remove(request, now)
                .or_else(|| self.change(request, now))
                .or_else(|| self.about_nothing(request).map(Answer::from))
                .unwrap_or_else(|| self.write(request, now, checks));
        }
        let one = self
            .present(request, now)
            .or_else(|| self.one(request, now));
        match (one, &self.declaration.lookup) {
            (Some(reply), _) => reply.into(),
            (None, Some(form)) => self.list(form, request, now).into(),
            (None, None) => not_here().into(),
        }
    }

    fn apply(&mut self, effect: Effect) {
        let post = match effect {
            Effect::Posted(post) => post,
            Effect::Edited {
                edited,
                text,
                fields,
                at,
            } => {
                if let Some(post) = self.posts.iter_mut().find(|post| post.id == edited) {
                    let last = post.changed.unwrap_or(post.at);
                    post.changed = Some(at.max(last.plus(ONE_TICK)));
                    post.text = text;
                    post.fields.extend(fields);
                }
                return;
            }
            Effect::Deleted { deleted } => {
                if let Some(post) = self.posts.iter_mut().find(|post| post.id == deleted) {
                    post.gone = true;
                }
                return;
            }
        };
        let known = self
            .posts
            .iter_mut()
            .find(|known| self.declaration.repeat_harmless && known.article == post.article);
        match known {
            Some(known) => known.times += 1,
            None => self.posts.push(post),
        }
    }

    fn fail(&self, failure: Failure, _now: Timestamp) -> Reply {
        let Failure { code, retry_after } = failure;
        match code {
            200..=399 => Reply::text(code, "text/plain", ""),
            429 => self.refuse(Meaning::RateLimited, code, retry_after),
            401 | 403 => self.refuse(Meaning::Credentials, code, retry_after),
            400..=499 => self.refuse(Meaning::Refused, code, retry_after),
            _ => Reply::json(
                code,
                &flavour::error(self.declaration.preset, code, retry_after),
            ),
        }
    }

    fn posts(&self) -> Vec<SandboxPost> {
        self.shown()
            .map(|post| SandboxPost {
                pictures: Vec::new(),
                channel: self.identity.channel.clone(),
                canonical_url: post.article.clone(),
                id: post.id.clone(),
                url: self.address_of(post),
                title_or_text: post.text.clone(),
                created_at: post.at,
                times: post.times,
                draft: false,
            })
            .collect()
    }
}

fn not_here() -> Reply {
    Reply::json(404, &json!({ "error": "not found" }))
}

/// Makes a condition hold.
fn hold(body: &mut Value, condition: Option<&Condition>) {
    let Some(condition) = condition else {
        return;
    };
    let value = match &condition.test {
        Test::OneOf(values) => values.first().cloned().unwrap_or(Value::Null),
        Test::Contains(parts) => parts.first().cloned().map_or(Value::Null, Value::String),
    };
    set_at(body, condition.pointer.as_str(), value);
}

/// What a body of no declared type is.
pub(crate) const fn is_empty(body: &BodyForm) -> bool {
    match body {
        BodyForm::Empty => true,
        BodyForm::Json(_) | BodyForm::Form(_) | BodyForm::Multipart(_) => false,
    }
}

/// An object without fields.
pub(crate) fn empty() -> Value {
    Value::Object(Map::new())
}
