//! `kind = "http"`: a service that is declared, not programmed.
//!
//! The types say what a declaration may hold; `read` takes it from the file and its preset, `check` looks at its
//! templates. `docs/http-channel.md` is the page that people read. Invariant: what a declaration does not list is in
//! doubt, and no secret's value ever stands in it.

mod check;
mod condition;
mod current;
mod jwt;
mod later;
mod layers;
mod lookup;
mod parts;
mod prepare;
mod preset;
mod read;
mod request;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Value, json};
use url::Url;

pub use self::check::{ARTICLE_VARIABLES, environment, variables};
pub use self::condition::{Condition, Pointer, Test};
pub use self::current::CurrentForm;
pub use self::jwt::FILTER as TOKEN_FILTER;
pub use self::preset::{PRESETS, Preset};
pub(super) use self::read::read;
use crate::model::channel::{Kind, KindTraits, Policy, ReceiptKind};
use crate::model::ids::Fingerprint;

/// All that is known of a declared service.
#[derive(Clone, Debug, PartialEq)]
pub struct Declaration {
    /// What it started from.
    pub preset: Option<&'static str>,
    /// The environment variable of each `secret.NAME`.
    pub secrets: BTreeMap<String, String>,
    /// Each `value.NAME`.
    pub values: BTreeMap<String, String>,
    /// Template of who posts, and where; none: a digest of the address if that is a secret, else the channel's name.
    pub account: Option<String>,
    /// Most that a text may count.
    pub limit: Option<usize>,
    /// How it is counted.
    pub count: Count,
    /// What is done first, where publishing takes two requests.
    pub prepare: Option<PrepareForm>,
    /// What publishes.
    pub request: RequestForm,
    /// What the service does with the idempotency key.
    pub key: Option<IdempotencyKey>,
    /// Which answers accept.
    pub success: Success,
    /// What an accepting answer carries.
    pub receipt: Receipt,
    /// What the other answers mean; the first that fits counts.
    pub answers: Vec<AnswerRule>,
    /// How the account's own posts are read.
    pub lookup: Option<LookupForm>,
    /// How a post is changed.
    pub update: Option<Operation>,
    /// How a post is taken down.
    pub retract: Option<Operation>,
    /// How one post is read, by its id or address.
    pub read: Option<ReadForm>,
    /// Headers that say how long to wait, beside the usual ones.
    pub rate_limit_headers: Vec<String>,
    /// A request that is sent twice does what one does.
    pub repeat_harmless: bool,
    /// The preset's own policy.
    pub policy: Option<Policy>,
    /// The preset's own pacing.
    pub interval: Option<Duration>,
    /// Where all requests go in place of their own host: a rehearsal's stand-in.
    pub redirect: Option<Url>,
}

/// A first request: it makes what the publishing one names, and nobody sees it before that.
#[derive(Clone, Debug, PartialEq)]
pub struct PrepareForm {
    /// The request.
    pub request: RequestForm,
    /// Which answers accept.
    pub success: Success,
    /// Where the id of what was made is: `prepared` in the publishing request.
    pub id: Source,
    /// How one knows that it may be published.
    pub ready: Option<ReadyForm>,
}

/// How one knows that what was prepared may be published.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadyForm {
    /// A `GET` without a body.
    pub request: RequestForm,
    /// Which answers say that it is ready.
    pub success: Success,
    /// What an answer has that says that it never will be.
    pub failed: Option<Condition>,
    /// What an answer has that says that it was published, whatever the lists show.
    pub published: Option<Condition>,
}

/// A request as templates.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestForm {
    /// The method.
    pub method: Method,
    /// Template of the address.
    pub url: String,
    /// Names and templates of what is added to the address's query.
    pub query: Vec<(String, String)>,
    /// Names and templates of the headers.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: BodyForm,
}

/// The methods there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Reads.
    Get,
    /// Makes.
    Post,
    /// Replaces.
    Put,
    /// Changes.
    Patch,
    /// Takes away.
    Delete,
}

impl Method {
    /// Returns the word on the wire, which is the configuration's too.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

/// The body of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum BodyForm {
    /// Nothing.
    Empty,
    /// JSON whose strings are templates.
    Json(Value),
    /// A form, URL-encoded: names and templates.
    Form(Vec<(String, String)>),
    /// A form in parts: names and templates.
    Multipart(Vec<(String, String)>),
}

/// How a service knows a request again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// The header that carries the key; none: the request's own templates name it.
    pub header: Option<String>,
    /// How long the service remembers a key; none: for ever.
    pub lifetime: Option<Duration>,
}

/// Which answers accept. All that is given must hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Success {
    /// The statuses.
    pub statuses: Vec<u16>,
    /// The whole body, apart from white space around it.
    pub body: Option<String>,
    /// What must stand in a JSON body.
    pub condition: Option<Condition>,
}

/// What an accepting answer carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Receipt {
    /// Nothing: the success test alone is the acceptance.
    None,
    /// The post's id, its address, or both. Without an id the address is the id.
    Given {
        /// Where the id is.
        id: Option<Source>,
        /// Where the address is.
        url: Option<Source>,
    },
}

/// Where something of an answer is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// In the JSON body.
    Pointer(Pointer),
    /// In a header.
    Header(String),
    /// It is made from `id` and values.
    Template(String),
}

/// What one sort of answer means.
#[derive(Clone, Debug, PartialEq)]
pub struct AnswerRule {
    /// The statuses; none: any.
    pub statuses: Vec<u16>,
    /// What must stand in a JSON body.
    pub condition: Option<Condition>,
    /// What it means.
    pub means: Meaning,
    /// Where the wait is.
    pub wait: Option<WaitSource>,
}

/// What an answer means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Nothing was done, and never will be with this post.
    Refused,
    /// Nothing was done; later it may be.
    Retry,
    /// Nothing was done: too many requests.
    RateLimited,
    /// Nothing was done: the channel's secrets or rights are at fault.
    Credentials,
    /// It may be there already: look.
    Exists,
    /// It is done, and shows later; there is no receipt yet.
    AcceptedLater,
    /// Only of what changes a post or takes it down: it is so already, changed or gone.
    Already,
}

impl Meaning {
    /// Returns the word that the configuration uses.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Retry => "retry",
            Self::RateLimited => "rate_limited",
            Self::Credentials => "credentials",
            Self::Exists => "exists",
            Self::AcceptedLater => "accepted_later",
            Self::Already => "already",
        }
    }
}

/// Where an answer says how long to wait. Numbers are seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitSource {
    /// Always this long.
    Constant(Duration),
    /// In the JSON body.
    Pointer(Pointer),
    /// In a header.
    Header(String),
}

/// How the account's own posts are read.
#[derive(Clone, Debug, PartialEq)]
pub struct LookupForm {
    /// A `GET` without a body.
    pub request: RequestForm,
    /// Which answers carry the list.
    pub success: Success,
    /// Where the list is.
    pub list: Pointer,
    /// A post is ours if one of these is the article's address.
    pub match_url: Vec<Pointer>,
    /// A post is ours if one of these, text or HTML, has the article's address in it.
    pub match_text: Vec<Pointer>,
    /// A post is ours if one of these is the idempotency key.
    pub match_key: Vec<Pointer>,
    /// Posts of which one of these is not so are somebody else's, or of another sort: template of what must stand there.
    pub only: Vec<(Pointer, String)>,
    /// Where a post's id is.
    pub id: Pointer,
    /// Where a post's address is.
    pub url: Option<Source>,
    /// Where the time is at which a post was made.
    pub time: Option<Pointer>,
    /// How one knows that the list reaches back past the claim.
    pub covers: Covers,
    /// The same read serves every article: nothing in it names one.
    pub lists: bool,
}

/// How one knows that a list reaches back past the claim. A list that does not is no proof of absence.
#[derive(Clone, Debug, PartialEq)]
pub struct Covers {
    /// It always does.
    pub always: bool,
    /// It does if it has fewer entries than this.
    pub page_size: Option<usize>,
    /// It does if this stands in the answer.
    pub whole: Option<Condition>,
}

/// A later write.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// The request.
    pub request: RequestForm,
    /// Which answers say that it is done.
    pub success: Success,
    /// What other answers mean, before what the declaration says of all.
    pub answers: Vec<AnswerRule>,
    /// What of the post is read before it is changed.
    pub current: Option<CurrentForm>,
}

/// How one post is read.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadForm {
    /// A `GET` without a body.
    pub request: RequestForm,
    /// Which answers show the post.
    pub success: Success,
    /// Which answers show that it is gone: any of these. They are looked for first.
    pub gone: Vec<GoneTest>,
    /// What stands where if the post is as a claim has it: templates of what must be there.
    pub shows: Vec<(Pointer, String)>,
}

/// One sort of answer that shows that a post is gone.
#[derive(Clone, Debug, PartialEq)]
pub struct GoneTest {
    /// The statuses; none: any.
    pub statuses: Vec<u16>,
    /// What must stand in a JSON body.
    pub condition: Option<Condition>,
}

/// How a text is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// What people take for characters.
    Graphemes,
    /// Unicode code points.
    CodePoints,
    /// UTF-16 units: an emoji counts two or more.
    Utf16,
    /// UTF-8 bytes.
    Bytes,
    /// As Weibo does: two ASCII characters count one.
    Weibo,
    /// As Threads does: an emoji counts its UTF-8 bytes.
    Threads,
}

impl Declaration {
    /// Returns what the declaration makes possible.
    pub fn traits(&self) -> KindTraits {
        let keyed = self.has_permanent_key();
        let verified = self.lookup.is_some();
        let derived = if self.repeat_harmless {
            Policy::AtLeastOnce
        } else if keyed {
            Policy::Keyed
        } else if verified {
            Policy::Verified
        } else {
            Policy::AtMostOnce
        };
        let traits = Kind::Http.traits();
        KindTraits {
            readable: verified,
            receipt: match self.receipt {
                Receipt::None => ReceiptKind::None,
                Receipt::Given { .. } => ReceiptKind::IdAndUrl,
            },
            default_policy: self.policy.unwrap_or(derived),
            default_interval: self.interval.unwrap_or(traits.default_interval),
            keyed,
            verified,
            updates: self.update.is_some(),
            // Without a way to see that a post is gone, the declaration was not loaded.
            retracts: self.retract.is_some(),
            ..traits
        }
    }

    /// Whether the service remembers a key for ever.
    pub fn has_permanent_key(&self) -> bool {
        self.key.as_ref().is_some_and(|key| key.lifetime.is_none())
    }

    /// Returns what of an article the requests that show it need, by the variables' names.
    pub fn variables(&self) -> BTreeSet<String> {
        let first = self.prepare.as_ref().map(|form| form.request.templates());
        let mut names = self.request.variables();
        names.extend(first.into_iter().flatten().flat_map(variables));
        names.extend(
            self.update
                .iter()
                .flat_map(|update| update.request.variables()),
        );
        names
    }

    /// Whether the request is made from a text.
    pub fn has_text(&self) -> bool {
        self.variables().contains("text")
    }

    /// Returns the fingerprint of all that makes the request's bytes, the article aside.
    pub fn form_fingerprint(&self) -> Fingerprint {
        let RequestForm {
            method,
            url,
            query,
            headers,
            body,
        } = &self.request;
        let body = match body {
            BodyForm::Empty => json!({}),
            BodyForm::Json(value) => json!({ "json": value }),
            BodyForm::Form(fields) => json!({ "form": fields }),
            BodyForm::Multipart(fields) => json!({ "multipart": fields }),
        };
        // It is kept in rows: the same request gives the same text in every version.
        let form = json!([method.label(), url, query, headers, body, self.values]);
        Fingerprint::of(form.to_string().as_bytes())
    }

    /// Returns every request that there is.
    pub fn requests(&self) -> Vec<&RequestForm> {
        let mut all = vec![&self.request];
        if let Some(prepare) = &self.prepare {
            all.push(&prepare.request);
            all.extend(prepare.ready.iter().map(|ready| &ready.request));
        }
        all.extend(self.lookup.iter().map(|form| &form.request));
        let later = [&self.update, &self.retract];
        for form in later.into_iter().flatten() {
            all.push(&form.request);
            all.extend(form.current.iter().map(|current| &current.request));
        }
        all.extend(self.read.iter().map(|form| &form.request));
        all
    }

    /// Returns the secret that is a whole address, if the request goes to one.
    pub fn secret_address(&self) -> Option<&str> {
        let rest = self.request.url.trim_start().strip_prefix("{{")?;
        let (expression, _) = rest.split_once("}}")?;
        expression.trim().strip_prefix("secret.")
    }
}

impl RequestForm {
    /// Returns what its templates name.
    pub fn variables(&self) -> BTreeSet<String> {
        let templates = self.templates().into_iter();
        templates.flat_map(variables).collect()
    }

    /// Returns all templates.
    pub fn templates(&self) -> Vec<&str> {
        let mut all = vec![self.url.as_str()];
        all.extend(self.query.iter().map(|(_, value)| value.as_str()));
        all.extend(self.headers.iter().map(|(_, value)| value.as_str()));
        match &self.body {
            BodyForm::Empty => {}
            BodyForm::Json(value) => leaves(value, &mut all),
            BodyForm::Form(fields) | BodyForm::Multipart(fields) => {
                all.extend(fields.iter().map(|(_, value)| value.as_str()));
            }
        }
        all
    }
}

fn leaves<'v>(value: &'v Value, all: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => all.push(text),
        Value::Array(entries) => entries.iter().for_each(|entry| leaves(entry, all)),
        Value::Object(fields) => fields.values().for_each(|entry| leaves(entry, all)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
