//! What of a standing post is read before it is changed, so that nobody else's change is written over.
//!
//! Invariants: the read comes before the write and in the same call's time; as long as it fails, nothing is sent.

use minijinja::Value as Known;
use minijinja::value::Serde;
use serde_json::Value;

use super::later::{Variables, lacks};
use super::request::Unfit;
use super::{Declared, judge};
use crate::channel::answer::Answer;
use crate::channel::common::refused;
use crate::config::http::{CurrentForm, Meaning, Source};
use crate::model::outcome::{Outcome, Refusal};

impl Declared {
    /// Returns what templates name as `current`; an outcome says why the post is not to be changed now, or ever.
    pub(super) fn current(
        &mut self,
        form: &CurrentForm,
        known: &Variables,
    ) -> Result<Known, Outcome> {
        if let Some(reason) = lacks(&form.request, known) {
            return Err(refused(Refusal::Permanent, reason));
        }
        let redirect = self.declaration.redirect.as_ref();
        let request = match self.filler.request(&form.request, known, None, redirect) {
            Ok(made) => made.finish(&mut self.http, &[], None),
            Err(Unfit::Post(reason)) => {
                return Err(refused(Refusal::Permanent, self.http.scrubbed(&reason)));
            }
            Err(Unfit::Secret(reason)) => return Err(refused(Refusal::Credentials, reason)),
        };
        let answer = self
            .http
            .send(&request)
            .of_read()
            .map_err(|reason| unread(&reason))?;
        answer.check_fresh().map_err(|reason| unread(&reason))?;
        let body = answer.json();
        let is_usual = form.gone.is_empty() && matches!(answer.status, 404 | 410);
        if is_usual || judge::is_gone(&form.gone, answer.status, body.as_ref()) {
            let said = self.http.describe(&answer);
            let reason = format!("the post is not there any more, so it can't be changed: {said}");
            return Err(refused(Refusal::Permanent, reason));
        }
        if !judge::is_success(&form.success, &answer, body.as_ref()) {
            return Err(self.unreadable(&answer, body.as_ref()));
        }
        let mut values = Vec::new();
        for (name, source) in &form.values {
            let value = value_of(source, &answer, body.as_ref()).ok_or_else(|| {
                unread(&format!(
                    "it has no `{name}`: {}",
                    self.http.describe(&answer)
                ))
            })?;
            values.push((name.as_str(), value));
        }
        Ok(Known::from_pairs(values))
    }

    /// What hinders reading for our rights or our haste hinders the whole channel; all else is tried again.
    fn unreadable(&self, answer: &Answer, body: Option<&Value>) -> Outcome {
        let rules = &self.declaration.answers;
        match judge::rule_for(rules, answer.status, body) {
            Some(rule) if matches!(rule.means, Meaning::Credentials | Meaning::RateLimited) => {
                self.ruled(rule, answer)
            }
            Some(_) | None => unread(&self.http.describe(answer)),
        }
    }
}

/// A text stays a text and a number a number, with which a template may count.
fn value_of(source: &Source, answer: &Answer, body: Option<&Value>) -> Option<Known> {
    match source {
        Source::Pointer(pointer) => {
            pointer.text_of(body?)?;
            Some(Known::from(Serde(pointer.of(body?)?.clone())))
        }
        Source::Header(name) => answer.header(name).map(Known::from),
        Source::Template(_) => None,
    }
}

fn unread(reason: &str) -> Outcome {
    Outcome::NotSent {
        reason: format!("the post has to be read before it is changed, and could not be: {reason}"),
    }
}
