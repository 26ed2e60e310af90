//! Requests: addresses, headers, bodies, and the templates in them.

use serde_json::{Map, Number, Value};
use toml::de::DeValue;

use super::super::document::{Findings, Place, Wrong};
use super::super::values::{any_text, is_loopback, text, web_url, word};
use super::check::{self, Defined, Scope};
use super::layers::Layers;
use super::parts::{header_name, pointer};
use super::{BodyForm, Method, RequestForm, Source};

/// Keys of every request.
pub(super) const KEYS: [&str; 7] = [
    "method",
    "url",
    "query",
    "headers",
    "json",
    "form",
    "multipart",
];

const METHODS: [(&str, Method); 4] = [
    (Method::Post.label(), Method::Post),
    (Method::Put.label(), Method::Put),
    (Method::Patch.label(), Method::Patch),
    (Method::Delete.label(), Method::Delete),
];

const URL_HINT: &str =
    "write the address that is called, such as `url = \"https://api.example/posts\"`";

/// Reads requests, and checks each template against what is defined.
#[derive(Debug)]
pub(super) struct Forms<'f, 'd> {
    pub(super) defined: Defined<'f>,
    pub(super) values: &'f [(String, String)],
    pub(super) findings: &'f mut Findings<'d>,
}

impl Forms<'_, '_> {
    /// Reads a request; a `GET` has no body and no method to choose.
    pub(super) fn request(
        &mut self,
        section: &Layers<'_>,
        scope: Scope,
        method: Method,
    ) -> Option<RequestForm> {
        let url = self.url(section, scope);
        let query = self.pairs(section, "query", scope);
        let headers = self.pairs(section, "headers", scope);
        if method == Method::Get {
            return Some(RequestForm {
                method,
                url: url?,
                query,
                headers,
                body: BodyForm::Empty,
            });
        }
        let chosen = section.read("method", self.findings, |value| word(value, &METHODS));
        let body = self.body(section, scope);
        Some(RequestForm {
            method: chosen.map_or(method, |given| given.value),
            url: url?,
            query,
            headers,
            body: body?,
        })
    }

    fn url(&mut self, section: &Layers<'_>, scope: Scope) -> Option<String> {
        let Some(entry) = section.one_of(&["url"], self.findings) else {
            section.missing("url", URL_HINT, self.findings);
            return None;
        };
        let path = section.path_of("url");
        let template = self.template(&path, entry.value, entry.place, scope)?;
        // What begins with a secret is the secret's own address, which is looked at before it is used.
        let is_secret = template
            .trim_start()
            .strip_prefix("{{")
            .is_some_and(|rest| rest.trim_start().starts_with("secret."));
        if !is_secret
            && let Some(rendered) = check::rendered_sample(&template, self.values)
            && let Err(wrong) = check_address(&rendered)
        {
            let message = format!("`{path}` {}", wrong.message);
            self.findings
                .problem(entry.place, message, wrong.hint.as_deref());
            return None;
        }
        Some(template)
    }

    fn body(&mut self, section: &Layers<'_>, scope: Scope) -> Option<BodyForm> {
        let Some(entry) = section.one_of(&["json", "form", "multipart"], self.findings) else {
            return Some(BodyForm::Empty);
        };
        match entry.key {
            "json" => {
                let value = json(entry.value);
                let path = section.path_of("json");
                self.leaves(&path, &value, entry.place, scope)
                    .then_some(BodyForm::Json(value))
            }
            "form" => Some(BodyForm::Form(self.pairs_of(section, "form", scope))),
            _ => Some(BodyForm::Multipart(self.pairs_of(
                section,
                "multipart",
                scope,
            ))),
        }
    }

    /// Checks every string in a JSON body.
    fn leaves(&mut self, path: &str, value: &Value, place: Place, scope: Scope) -> bool {
        match value {
            Value::String(source) => self.checked(path, source, place, scope),
            Value::Array(entries) => {
                entries
                    .iter()
                    .enumerate()
                    .fold(true, |fine, (index, entry)| {
                        self.leaves(&format!("{path}[{index}]"), entry, place, scope) && fine
                    })
            }
            Value::Object(fields) => fields.iter().fold(true, |fine, (name, entry)| {
                self.leaves(&format!("{path}.{name}"), entry, place, scope) && fine
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) => true,
        }
    }

    /// Reads a table of names and templates, the user's over the preset's.
    fn pairs(
        &mut self,
        section: &Layers<'_>,
        key: &'static str,
        scope: Scope,
    ) -> Vec<(String, String)> {
        let Some(table) = section.section(key, self.findings) else {
            return Vec::new();
        };
        self.pairs_in(&table, key, scope)
    }

    /// Reads a body's table, which is the user's or the preset's, not a mixture.
    fn pairs_of(
        &mut self,
        section: &Layers<'_>,
        key: &'static str,
        scope: Scope,
    ) -> Vec<(String, String)> {
        let Some(table) = section.section(key, self.findings) else {
            return Vec::new();
        };
        self.pairs_in(&table.without_mixture(), key, scope)
    }

    fn pairs_in(&mut self, table: &Layers<'_>, key: &str, scope: Scope) -> Vec<(String, String)> {
        let mut pairs = Vec::new();
        for (name, value, place) in table.entries() {
            let path = table.path_of(&name);
            if key == "headers"
                && let Err(wrong) = header_name(&DeValue::String(name.as_str().into()))
            {
                let message = format!("`{path}` {}", wrong.message);
                self.findings.problem(place, message, wrong.hint.as_deref());
                continue;
            }
            pairs.extend(
                self.template(&path, value, place, scope)
                    .map(|template| (name, template)),
            );
        }
        pairs
    }

    /// Reads the template under a key, if it is there.
    pub(super) fn template_at(
        &mut self,
        section: &Layers<'_>,
        key: &'static str,
        scope: Scope,
    ) -> Option<String> {
        let entry = section.one_of(&[key], self.findings)?;
        self.template(&section.path_of(key), entry.value, entry.place, scope)
    }

    /// Takes a template that was found at `place`.
    pub(super) fn template(
        &mut self,
        path: &str,
        value: &DeValue<'_>,
        place: Place,
        scope: Scope,
    ) -> Option<String> {
        let source = match value {
            DeValue::Integer(number) => number.as_str().to_owned(),
            DeValue::Boolean(flag) => flag.to_string(),
            DeValue::String(_)
            | DeValue::Float(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_)
            | DeValue::Table(_) => match any_text(value) {
                Ok(source) => source,
                Err(wrong) => {
                    let message = format!("`{path}` {}", wrong.message);
                    self.findings.problem(place, message, wrong.hint.as_deref());
                    return None;
                }
            },
        };
        self.checked(path, &source, place, scope).then_some(source)
    }

    fn checked(&mut self, path: &str, source: &str, place: Place, scope: Scope) -> bool {
        match check::check(source, scope, self.defined) {
            Ok(()) => true,
            Err((message, hint)) => {
                self.findings
                    .problem(place, format!("`{path}` {message}"), Some(&hint));
                false
            }
        }
    }

    /// Reads where something of an answer is: a pointer, `…_header`, or `…_template`.
    pub(super) fn source(&mut self, section: &Layers<'_>, keys: &[&'static str]) -> Option<Source> {
        let entry = section.one_of(keys, self.findings)?;
        if entry.key.ends_with("_template") {
            let path = section.path_of(entry.key);
            return self
                .template(&path, entry.value, entry.place, Scope::Receipt)
                .map(Source::Template);
        }
        let read = |value: &DeValue<'_>| {
            if entry.key.ends_with("_header") {
                header_name(value).map(Source::Header)
            } else {
                pointer(value).map(Source::Pointer)
            }
        };
        section
            .take(entry, self.findings, read)
            .map(|given| given.value)
    }
}

/// Returns a TOML value as JSON, tables in the order of the file.
pub(super) fn json(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or(Value::Null, |number| Value::Number(number.into())),
        DeValue::Float(number) => number
            .as_str()
            .parse()
            .ok()
            .and_then(Number::from_f64)
            .map_or(Value::Null, Value::Number),
        DeValue::Boolean(flag) => Value::Bool(*flag),
        DeValue::Datetime(date) => Value::String(date.to_string()),
        DeValue::Array(entries) => {
            Value::Array(entries.iter().map(|entry| json(entry.get_ref())).collect())
        }
        DeValue::Table(table) => {
            let mut entries: Vec<_> = table.iter().collect();
            entries.sort_by_key(|(key, _)| key.span().start);
            let fields = entries
                .into_iter()
                .map(|(key, value)| (key.get_ref().to_string(), json(value.get_ref())));
            Value::Object(fields.collect::<Map<_, _>>())
        }
    }
}

/// Checks where a rendered address goes.
fn check_address(rendered: &str) -> Result<(), Wrong> {
    text(&DeValue::String(rendered.into()))?;
    let url = web_url(rendered)?;
    if url.scheme() == "http" && !is_loopback(&url) {
        return Err(Wrong::new(
            "is a plain `http` address",
            "write `https`; `http` is accepted for this machine only (127.0.0.0/8, ::1, localhost)",
        ));
    }
    Ok(())
}
