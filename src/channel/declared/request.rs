//! From templates to a request, on its way to be sent.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use minijinja::value::{Serde, ValueKind};
use minijinja::{Environment, Value as Known};
use serde_json::{Map, Value};
use ureq::http::{HeaderName, HeaderValue, Method as WireMethod};
use url::Url;

use super::address;
use crate::channel::http::{Fence, Http, Request};
use crate::clock::Clock;
use crate::config::fields::{FRONT_MATTER, front_matter};
use crate::config::http::{
    ARTICLE_VARIABLES, BodyForm, Method, RequestForm, TOKEN_FILTER, environment, variables,
};
use crate::model::claim::Claim;
use crate::model::ids::sha256_hex;
use crate::model::outcome::Remote as Target;
use crate::model::post::Post;
use crate::model::time::Timestamp;
use crate::secret::Secret;

/// Tells a rehearsal's stand-in which article a request is about: some requests name none.
pub(super) const REHEARSED_ARTICLE: &str = "sayonce-rehearsal-article";

/// A service whose clock is behind ours shows a post as made before its claim. A list that leaves it out for that would
/// prove an absence that is none.
const SINCE_MARGIN: Duration = Duration::from_hours(1);

/// How much is kept of the digest of an address: enough to tell a few dozen from each other.
const DESTINATION_DIGITS: usize = 16;

/// A part of an address that is shorter is a word, not a secret.
const SECRET_PART_MIN: usize = 8;

/// One that is this long is hardly a word, also without a digit.
const SECRET_PART_LONG: usize = 16;

/// Fills templates. It has no `Debug` of its own: it holds secrets.
pub(super) struct Filler {
    engine: Environment<'static>,
    secrets: Known,
    values: Known,
    clock: Arc<dyn Clock>,
}

/// A request can't be made.
pub(super) enum Unfit {
    /// Because of what the post holds.
    Post(String),
    /// Because of what a secret holds.
    Secret(String),
}

/// A request that was filled; its parts that came from secrets are known.
pub(super) struct Made {
    method: Method,
    url: Url,
    headers: Vec<(String, String)>,
    body: Option<(String, Vec<u8>)>,
    secret_texts: Vec<String>,
}

impl Unfit {
    pub(super) fn reason(self) -> String {
        match self {
            Self::Post(reason) | Self::Secret(reason) => reason,
        }
    }
}

impl std::fmt::Debug for Filler {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Filler(***)")
    }
}

impl Filler {
    pub(super) fn new(
        secrets: &BTreeMap<String, Secret>,
        values: &BTreeMap<String, String>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            engine: environment(),
            clock,
            secrets: Known::from_pairs(
                secrets
                    .iter()
                    .map(|(name, secret)| (name.as_str(), secret.expose())),
            ),
            values: Known::from_pairs(
                values
                    .iter()
                    .map(|(name, value)| (name.as_str(), value.as_str())),
            ),
        }
    }

    /// Fills one template. An error says what is wrong, and may quote a secret.
    pub(super) fn fill(
        &self,
        template: &str,
        known: &[(&'static str, Known)],
    ) -> Result<String, String> {
        self.engine
            .render_str(template, self.context(known))
            .map_err(|error| {
                let what = error
                    .detail()
                    .map_or_else(|| error.kind().to_string(), str::to_owned);
                format!("a template of the declaration can't be filled: {what}")
            })
    }

    /// Checks that the secrets can be used as the templates do: an address that is one, and a key that signs. The message
    /// does not repeat them.
    pub(super) fn check_secrets(&self, forms: &[&RequestForm]) -> Result<(), String> {
        for form in forms {
            if let Some(name) = address::secret_of(&form.url) {
                let secret = self.secrets.get_attr(name).ok();
                let text = secret.as_ref().and_then(Known::as_str).unwrap_or_default();
                address::parse_base(text).map_err(|what| format!("the secret `{name}` {what}"))?;
            }
            let signs = |template: &&str| {
                let is_ours = |name: &String| name == "now" || name.contains('.');
                template.contains(TOKEN_FILTER) && variables(template).iter().all(is_ours)
            };
            for template in form.templates().into_iter().filter(signs) {
                self.fill(template, &[])?;
            }
        }
        Ok(())
    }

    /// Returns a digest of where a request goes, if that is a secret. What is in such an address can't be guessed, so the
    /// digest does not give it away.
    pub(super) fn destination(&self, form: &RequestForm) -> Option<String> {
        address::secret_of(&form.url)?;
        let (head, _) = address::head_of(&form.url)?;
        let url = address::parse_base(&self.fill(&head, &[]).ok()?).ok()?;
        let place = format!(
            "{}{}?{}",
            url.host_str().unwrap_or_default(),
            url.path().trim_end_matches('/'),
            // It may name a thread, whose messages are seen in it alone.
            url.query().unwrap_or_default()
        );
        let digits = sha256_hex(place.as_bytes());
        Some(digits.chars().take(DESTINATION_DIGITS).collect())
    }

    /// Makes a request.
    pub(super) fn request(
        &self,
        form: &RequestForm,
        known: &[(&'static str, Known)],
        claim: Option<&Claim>,
        redirect: Option<&Url>,
    ) -> Result<Made, Unfit> {
        let mut secret_texts = Vec::new();
        let mut fill = |template: &str| {
            let text = self.fill(template, known).map_err(|reason| {
                // A key that can't sign is the secret's fault; what says so does not repeat it.
                if template.contains(TOKEN_FILTER) {
                    Unfit::Secret(reason)
                } else {
                    Unfit::Post(reason)
                }
            })?;
            if template.contains("secret") {
                secret_texts.push(text.clone());
            }
            Ok::<String, Unfit>(text)
        };
        let misfit = |what: String| match address::secret_of(&form.url) {
            Some(name) => Unfit::Secret(format!("the secret `{name}` {what}")),
            None => Unfit::Post(format!("the request's address {what}")),
        };
        let mut url = match address::head_of(&form.url) {
            Some((head, rest)) if !rest.is_empty() => {
                let (head, rest) = (fill(&head)?, fill(rest)?);
                if address::is_whole(&head) {
                    address::join(&head, &rest)
                } else {
                    address::parse(&format!("{head}{rest}"))
                }
            }
            Some(_) | None => address::parse(&fill(&form.url)?),
        }
        .map_err(misfit)?;
        if !form.query.is_empty() {
            let mut pairs = Vec::new();
            for (name, template) in &form.query {
                pairs.push((name.as_str(), fill(template)?));
            }
            url.query_pairs_mut().extend_pairs(pairs);
        }
        let mut headers = Vec::new();
        for (name, template) in &form.headers {
            let value = fill(template)?;
            if HeaderValue::from_str(&value).is_err() {
                return Err(if template.contains("secret") {
                    Unfit::Secret(format!(
                        "the secret in the header {name} has a line break or another sign that can't stand there"
                    ))
                } else {
                    Unfit::Post(format!(
                        "what comes out for the header {name} can't stand there"
                    ))
                });
            }
            headers.push((name.clone(), value));
        }
        let body = match &form.body {
            BodyForm::Empty => None,
            BodyForm::Json(value) => {
                let filled = self.json(value, known, &mut fill)?;
                let bytes = serde_json::to_vec(&filled).expect("a JSON value can be written");
                Some(("application/json; charset=utf-8".to_owned(), bytes))
            }
            BodyForm::Form(fields) => {
                let mut form = url::form_urlencoded::Serializer::new(String::new());
                for (name, template) in fields {
                    form.append_pair(name, &fill(template)?);
                }
                let media_type = "application/x-www-form-urlencoded".to_owned();
                Some((media_type, form.finish().into_bytes()))
            }
            BodyForm::Multipart(fields) => {
                let mut filled = Vec::new();
                for (name, template) in fields {
                    filled.push((name.as_str(), fill(template)?));
                }
                Some(multipart(&filled, claim))
            }
        };
        if let Some(stand_in) = redirect {
            let moved = url
                .set_scheme(stand_in.scheme())
                .and_then(|()| url.set_port(stand_in.port()))
                .is_ok()
                && url.set_host(stand_in.host_str()).is_ok();
            assert!(moved, "a stand-in's address is like any other");
        }
        if form.url.contains("secret") {
            secret_texts.extend(text_forms(url.as_str()));
        }
        Ok(Made {
            method: form.method,
            url,
            headers,
            body,
            secret_texts,
        })
    }

    /// Fills every string of a JSON body. A string that is one variable alone keeps the variable's type, so that tags
    /// are a list, and a version that was read as a number is one.
    fn json(
        &self,
        value: &Value,
        known: &[(&'static str, Known)],
        fill: &mut impl FnMut(&str) -> Result<String, Unfit>,
    ) -> Result<Value, Unfit> {
        Ok(match value {
            Value::String(template) => match self.typed(template, known) {
                Some(typed) => typed,
                None => Value::String(fill(template)?),
            },
            Value::Array(entries) => Value::Array(
                entries
                    .iter()
                    .map(|entry| self.json(entry, known, fill))
                    .collect::<Result<_, _>>()?,
            ),
            Value::Object(fields) => Value::Object(
                fields
                    .iter()
                    .map(|(name, entry)| Ok((name.clone(), self.json(entry, known, fill)?)))
                    .collect::<Result<Map<_, _>, Unfit>>()?,
            ),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        })
    }

    fn typed(&self, template: &str, known: &[(&'static str, Known)]) -> Option<Value> {
        let inner = template.trim().strip_prefix("{{")?.strip_suffix("}}")?;
        if inner.contains("}}") {
            return None;
        }
        let value = self
            .engine
            .compile_expression(inner)
            .and_then(|expression| expression.eval(self.context(known)))
            .ok()?;
        let is_typed = matches!(
            value.kind(),
            ValueKind::Seq | ValueKind::Iterable | ValueKind::Number
        );
        is_typed
            .then(|| serde_json::to_value(&value).ok())
            .flatten()
    }

    fn context(&self, known: &[(&'static str, Known)]) -> Known {
        let seconds = self.clock.now().as_millis().div_euclid(1000);
        let own = [
            ("now", Known::from(seconds)),
            ("secret", self.secrets.clone()),
            ("value", self.values.clone()),
        ];
        Known::from_pairs(known.iter().cloned().chain(own))
    }
}

impl Made {
    /// Makes the request ready to be sent, and sees to it that nothing made from a secret is shown.
    pub(super) fn finish(
        self,
        http: &mut Http,
        more_headers: &[(String, String)],
        fence: Option<Fence>,
    ) -> Request {
        for text in &self.secret_texts {
            let scrubber = http.scrubber();
            scrubber.add_text(text);
            // `Basic …` and `Bearer …`: the part that counts stands alone elsewhere.
            if let Some((_, credentials)) = text.split_once(' ') {
                scrubber.add_text(credentials);
            }
        }
        let method = match self.method {
            Method::Get => WireMethod::GET,
            Method::Post => WireMethod::POST,
            Method::Put => WireMethod::PUT,
            Method::Patch => WireMethod::PATCH,
            Method::Delete => WireMethod::DELETE,
        };
        let mut request = Request::any(method, self.url, self.body, fence);
        for (name, value) in self.headers.iter().chain(more_headers) {
            let name: HeaderName = name
                .parse()
                .expect("the names of headers were checked when the configuration was loaded");
            request = request.header(name, value.as_str());
        }
        request
    }
}

/// Returns what a publish's templates may show: the frozen post's fields, and the key.
pub(super) fn publish_variables(claim: &Claim) -> Vec<(&'static str, Known)> {
    let mut known = draft_variables(&claim.post);
    known.push(("key", Known::from(claim.key.as_str())));
    if let Some(prepared) = claim.post.string("prepared") {
        known.push(("prepared", Known::from(prepared)));
    }
    known
}

/// Returns what of a post a preparation's templates may show.
pub(super) fn draft_variables(post: &Post) -> Vec<(&'static str, Known)> {
    let field = |name: &str| {
        let field = if name == "body" {
            "body_markdown"
        } else {
            name
        };
        post.fields().get(field)
    };
    let known = |name: &str| {
        if name == FRONT_MATTER {
            let fields = field(name).and_then(Value::as_object).cloned();
            return Some(front_matter(&Arc::new(fields.unwrap_or_default())));
        }
        Some(Known::from(Serde(field(name)?.clone())))
    };
    ARTICLE_VARIABLES
        .into_iter()
        .filter_map(|name| Some((name, known(name)?)))
        .collect()
}

/// Returns what the templates of a request about one post may show, beside what a publish's may.
pub(super) fn target_variables(claim: &Claim, target: &Target) -> Vec<(&'static str, Known)> {
    let mut known = vec![
        ("url", Known::from(claim.canonical_url.as_str())),
        ("key", Known::from(claim.key.as_str())),
    ];
    let given = [("id", &target.id), ("remote_url", &target.url)];
    let given = given.into_iter();
    known.extend(given.filter_map(|(name, text)| Some((name, Known::from(text.as_deref()?)))));
    known
}

/// Returns what a lookup's templates may show.
pub(super) fn lookup_variables(
    claim: Option<&Claim>,
    since: Timestamp,
) -> Vec<(&'static str, Known)> {
    let seconds = since.minus(SINCE_MARGIN).as_millis().div_euclid(1000);
    let mut known = vec![("since", Known::from(seconds))];
    if let Some(claim) = claim {
        let text = |name: &str| claim.post.string(name).unwrap_or_default().to_owned();
        known.push(("url", Known::from(claim.canonical_url.as_str())));
        known.push(("title", Known::from(text("title"))));
        known.push(("slug", Known::from(text("slug"))));
        known.push(("key", Known::from(claim.key.as_str())));
    }
    known
}

/// Returns all forms of a secret in which it may come back: an address also as its path, its query, and their parts.
pub(in crate::channel) fn secret_forms(secret: &Secret) -> Vec<String> {
    text_forms(secret.expose())
}

fn text_forms(secret: &str) -> Vec<String> {
    let mut forms = vec![secret.to_owned()];
    // `ID:SECRET`: what counts stands alone elsewhere.
    let parts = secret.split_once(':').map(|(_id, part)| part);
    forms.extend(parts.filter(|part| is_secret_part(part)).map(str::to_owned));
    let Ok(url) = Url::parse(secret) else {
        return forms;
    };
    if !matches!(url.scheme(), "http" | "https") {
        return forms;
    }
    forms.push(url.as_str().to_owned());
    if url.path().len() >= SECRET_PART_MIN {
        forms.push(url.path().to_owned());
    }
    let segments = url.path_segments().into_iter().flatten().map(str::to_owned);
    let values = url.query_pairs().map(|(_, value)| value.into_owned());
    forms.extend(segments.chain(values).filter(|part| is_secret_part(part)));
    forms
}

fn is_secret_part(part: &str) -> bool {
    let has_digit = part.bytes().any(|byte| byte.is_ascii_digit());
    part.len() >= SECRET_PART_LONG || (part.len() >= SECRET_PART_MIN && has_digit)
}

/// Writes a form in parts. The boundary comes from the claim's key, so that a repeat has the same bytes.
fn multipart(fields: &[(&str, String)], claim: Option<&Claim>) -> (String, Vec<u8>) {
    // No boundary has more than 70 characters (RFC 2046).
    let key = claim.map(|claim| claim.key.as_str()).unwrap_or_default();
    let digits: String = key.trim_start_matches("so1-").chars().take(32).collect();
    let boundary = format!("sayonce-{digits}");
    let part = |(name, value): &(&str, String)| {
        let name = name.replace('"', "%22");
        format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"
        )
    };
    let mut body: String = fields.iter().map(part).collect();
    body.extend(["--", &boundary, "--\r\n"]);
    (
        format!("multipart/form-data; boundary={boundary}"),
        body.into_bytes(),
    )
}
