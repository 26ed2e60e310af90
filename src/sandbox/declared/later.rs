//! Posts that stand: they are changed, taken down, and read one by one, as the declaration does it.

use serde_json::{Value, json};

use super::current::{names_current, put_shown};
use super::shape::{Sent, set_at};
use super::{Declared, Effect, Post, flavour, hold, not_here};
use crate::config::http::{
    AnswerRule, BodyForm, GoneTest, Meaning, Operation, RequestForm, Success, Test,
};
use crate::model::time::Timestamp;
use crate::sandbox::message::{Reply, Request};
use crate::sandbox::service::Answer;

impl Declared {
    /// Changes the post that a request is about; none if it is no such request.
    pub(super) fn change(&self, request: &Request, now: Timestamp) -> Option<Answer<Effect>> {
        let form = self.declaration.update.as_ref()?;
        let post = self.post_of(&form.request, request)?;
        if !self.has_secrets(&form.request, request, now) {
            return Some(self.refuse(Meaning::Credentials, 401, None).into());
        }
        if post.gone {
            let status = flavour::gone_status(self.declaration.preset);
            return Some(self.told(form, Meaning::Refused, status).into());
        }
        if let Some(reply) = self.collision(form, post, request) {
            return Some(reply.into());
        }
        let address = self.address_of(post);
        let sent = Sent::read(request, &form.request.body)?.without(&[&post.id, &address]);
        let (text, mut fields) = (sent.text(), sent.fields());
        fields.retain(|template, _text| !names_current(template));
        let is_shown =
            |(template, text): (&String, &String)| post.fields.get(template) == Some(text);
        let is_same = post.text == text && fields.iter().all(is_shown);
        if is_same && rule_of(form, Meaning::Already).is_some() {
            return Some(self.told(form, Meaning::Already, 400).into());
        }
        let changed = Post {
            text,
            fields,
            ..post.clone()
        };
        Some(Answer {
            reply: self.accept_by(&form.success, &changed),
            effects: vec![Effect::Edited {
                edited: changed.id,
                text: changed.text,
                fields: changed.fields,
                at: now,
            }],
        })
    }

    /// Takes down the post that a request is about; none if it is no such request.
    pub(super) fn remove(&self, request: &Request, now: Timestamp) -> Option<Answer<Effect>> {
        let form = self.declaration.retract.as_ref()?;
        let post = self.post_of(&form.request, request)?;
        if !self.has_secrets(&form.request, request, now) {
            return Some(self.refuse(Meaning::Credentials, 401, None).into());
        }
        if post.gone {
            return Some(self.told(form, Meaning::Already, 404).into());
        }
        Some(Answer {
            reply: self.successful(&form.success, flavour::removed(self.declaration.preset)),
            effects: vec![Effect::Deleted {
                deleted: post.id.clone(),
            }],
        })
    }

    /// Refuses what has the form of a later write and is about no post that ever was.
    pub(super) fn about_nothing(&self, request: &Request) -> Option<Reply> {
        let forms = [&self.declaration.update, &self.declaration.retract];
        let mut forms = forms.into_iter().flatten().map(|form| &form.request);
        let fits = |form: &RequestForm| {
            request.method == form.method.label()
                && self.is_at(form, request)
                && !literals_of(form).is_empty()
                && has_literals(form, request)
        };
        forms
            .any(fits)
            .then(|| self.refuse(Meaning::Refused, 400, None))
    }

    /// Shows one post; none if the request reads none.
    pub(super) fn one(&self, request: &Request, now: Timestamp) -> Option<Reply> {
        let form = self.declaration.read.as_ref()?;
        let post = self.post_of(&form.request, request)?;
        if !self.has_secrets(&form.request, request, now) {
            return Some(self.refuse(Meaning::Credentials, 401, None));
        }
        Some(if post.gone {
            self.show_gone(&form.gone, &form.success)
        } else {
            let mut body = flavour::body(self.declaration.preset, &post.text);
            put_shown(&mut body, form, post);
            self.successful(&form.success, body)
        })
    }

    pub(super) fn show_gone(&self, tests: &[GoneTest], success: &Success) -> Reply {
        let Some(test) = tests.first() else {
            return not_here();
        };
        let status = test.statuses.first().copied().unwrap_or(200);
        let mut body = if status == 200 {
            json!({})
        } else {
            flavour::error(self.declaration.preset, status, None)
        };
        if status == 200 {
            hold(&mut body, success.condition.as_ref());
        }
        hold(&mut body, test.condition.as_ref());
        Reply::json(status, &body)
    }

    /// Answers in the words of a later write's own rule.
    pub(super) fn told(&self, form: &Operation, means: Meaning, status: u16) -> Reply {
        let Some(rule) = rule_of(form, means) else {
            return self.refuse(Meaning::Refused, status, None);
        };
        let listed = rule.statuses.first().copied();
        // A code alone comes with whatever status the service answers everything with.
        let of_success = form.success.statuses.first().copied();
        let status = listed.or(of_success).unwrap_or(status);
        let mut body = flavour::error(self.declaration.preset, status, None);
        if let Some(condition) = &form.success.condition
            && let Test::OneOf(values) = &condition.test
            && values.contains(&Value::Bool(true))
        {
            set_at(&mut body, condition.pointer.as_str(), json!(false));
        }
        hold(&mut body, rule.condition.as_ref());
        Reply::json(status, &body)
    }

    /// Returns the post that a request of this form names by id or address. A form that names none is no request about
    /// one post.
    pub(super) fn post_of(&self, form: &RequestForm, request: &Request) -> Option<&Post> {
        if request.method != form.method.label() || !has_literals(form, request) {
            return None;
        }
        let is_filled_by_post = |template: &str| {
            let [one, other] = ["1", "2"].map(|sign| {
                let more = [("id", sign), ("remote_url", sign)];
                self.fill(template, &more)
            });
            one != other
        };
        if !form.templates().into_iter().any(is_filled_by_post) {
            return None;
        }
        let rest: Vec<&str> = form
            .templates()
            .into_iter()
            .filter(|template| *template != form.url.as_str() && is_filled_by_post(template))
            .collect();
        let sent = Sent::everything(request, &form.body);
        self.posts.iter().find(|post| {
            let address = self.address_of(post);
            let more = [("id", post.id.as_str()), ("remote_url", address.as_str())];
            let names_it = |template: &&str| -> bool {
                let filled = self.fill(template, &more);
                filled.is_some_and(|filled| sent.contains(&filled))
            };
            self.is_at_with(form, request, &more) && rest.iter().all(names_it)
        })
    }
}

fn rule_of(form: &Operation, means: Meaning) -> Option<&AnswerRule> {
    form.answers.iter().find(|rule| rule.means == means)
}

/// Whether a request has all that its form says without a template: by that, one address takes several sorts.
fn has_literals(form: &RequestForm, request: &Request) -> bool {
    let literals = literals_of(form);
    let sent = Sent::everything(request, &form.body);
    literals.iter().all(|literal| sent.contains(literal))
}

fn literals_of(form: &RequestForm) -> Vec<String> {
    let mut literals = Vec::new();
    match &form.body {
        BodyForm::Json(value) => collect_literals(value, &mut literals),
        BodyForm::Empty | BodyForm::Form(_) | BodyForm::Multipart(_) => {}
    }
    literals
}

fn collect_literals(value: &Value, literals: &mut Vec<String>) {
    match value {
        Value::String(text) if text.contains('{') => {}
        Value::String(text) => literals.push(text.clone()),
        Value::Array(entries) => {
            for entry in entries {
                collect_literals(entry, literals);
            }
        }
        Value::Object(fields) => {
            for entry in fields.values() {
                collect_literals(entry, literals);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
