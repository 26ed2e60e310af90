//! The first of two requests: it makes what the publishing one names, before the claim.
//!
//! Invariant: nobody sees what it makes, so nothing of it is in doubt. Where it fails, the post is not published, and
//! the attempt to do so says why.

use std::time::Duration;

use super::request::{self, Unfit};
use super::{Declared, judge};
use crate::channel::answer::Answer;
use crate::channel::common::refused;
use crate::config::http::{Meaning, PrepareForm, ReadyForm, Source};
use crate::model::media::Prepared;
use crate::model::outcome::{Outcome, Refusal};
use crate::model::post::Post;

/// How long to wait before asking again whether what was made is ready.
const POLL_WAIT: Duration = Duration::from_secs(2);

/// How often that is asked: half a minute is usual where there is media.
const POLLS_MAX: usize = 20;

impl Declared {
    /// Makes what the publishing request will name.
    pub(super) fn make(&mut self, form: &PrepareForm, draft: &Post) -> Prepared {
        self.unmade = None;
        match self.first_step(form, draft) {
            Ok(id) => Prepared {
                made: Some(id),
                ..Prepared::default()
            },
            Err(outcome) => {
                self.unmade = Some(outcome);
                Prepared::default()
            }
        }
    }

    fn first_step(&mut self, form: &PrepareForm, draft: &Post) -> Result<String, Outcome> {
        let known = request::draft_variables(draft);
        let answer = self.ask(&form.request, &known, draft.string("url"))?;
        let id = self
            .id_of(form, &answer)
            .ok_or_else(|| self.not_made(&answer))?;
        if self.http.scrubbed(&id) != id {
            return Err(not_now(super::SECRET_ID.to_owned()));
        }
        if let Some(ready) = &form.ready {
            self.wait_for(ready, &id)?;
        }
        Ok(id)
    }

    fn id_of(&self, form: &PrepareForm, answer: &Answer) -> Option<String> {
        let body = answer.json();
        let is_refused =
            judge::rule_for(&self.declaration.answers, answer.status, body.as_ref()).is_some();
        if is_refused || !judge::is_success(&form.success, answer, body.as_ref()) {
            return None;
        }
        match &form.id {
            Source::Pointer(pointer) => pointer.text_of(body.as_ref()?),
            Source::Header(name) => answer.header(name).map(str::to_owned),
            Source::Template(_) => None,
        }
    }

    fn wait_for(&mut self, ready: &ReadyForm, id: &str) -> Result<(), Outcome> {
        let known = [("prepared", minijinja::Value::from(id))];
        let mut last = String::new();
        for poll in 0..POLLS_MAX {
            if poll > 0 {
                self.http.clock().sleep(POLL_WAIT);
            }
            let answer = self.ask(&ready.request, &known, None)?;
            let body = answer.json();
            if judge::is_success(&ready.success, &answer, body.as_ref()) {
                return Ok(());
            }
            last = self.http.describe(&answer);
            let failed = ready.failed.as_ref();
            if failed.is_some_and(|failed| failed.holds(body.as_ref())) {
                return Err(not_now(format!("what was made can't be published: {last}")));
            }
            if judge::rule_for(&self.declaration.answers, answer.status, body.as_ref()).is_some() {
                return Err(self.not_made(&answer));
            }
        }
        Err(not_now(format!(
            "what was made was not ready in time: {last}"
        )))
    }

    /// Whether what the claim's post names was published by the service's own word; an error says why that can't be told.
    pub(super) fn is_published(&mut self, post: &Post) -> Result<bool, String> {
        let ready = self.declaration.prepare.clone().and_then(|form| form.ready);
        let (Some(ready), Some(id)) = (ready, Prepared::made_of(post)) else {
            return Ok(false);
        };
        let Some(published) = &ready.published else {
            return Ok(false);
        };
        let known = [("prepared", minijinja::Value::from(id.as_str()))];
        let answer = self.ask(&ready.request, &known, None).map_err(reason_of)?;
        answer.check_fresh()?;
        let body = answer.json();
        let said = body
            .as_ref()
            .and_then(|body| published.pointer.of(body))
            .is_some_and(|status| !status.is_null());
        let is_read = said && ready.success.statuses.contains(&answer.status);
        // What is forgotten is not there, so nothing can be published by its id any more; that it was, the list shows.
        if is_read || self.is_unknown(&answer) {
            return Ok(is_read && published.holds(body.as_ref()));
        }
        let said = self.http.describe(&answer);
        Err(format!(
            "whether it was published could not be read: {said}"
        ))
    }

    /// Whether the service itself says that there is no such thing: not a proxy, and not for our rights or our haste.
    fn is_unknown(&self, answer: &Answer) -> bool {
        let body = answer.json();
        let says_error = body
            .as_ref()
            .is_some_and(|body| body.get("error").is_some());
        let rule = judge::rule_for(&self.declaration.answers, answer.status, body.as_ref());
        let is_about_it = match rule.map(|rule| rule.means) {
            Some(Meaning::Refused | Meaning::Retry) => true,
            Some(
                Meaning::RateLimited
                | Meaning::Credentials
                | Meaning::Exists
                | Meaning::AcceptedLater
                | Meaning::Already,
            ) => false,
            None => says_error,
        };
        matches!(answer.status, 400 | 404) && body.is_some() && is_about_it
    }

    fn ask(
        &mut self,
        form: &crate::config::http::RequestForm,
        known: &[(&'static str, minijinja::Value)],
        article: Option<&str>,
    ) -> Result<Answer, Outcome> {
        self.http.begin();
        let redirect = self.declaration.redirect.as_ref();
        let headers: Vec<_> = redirect
            .and(article)
            .map(|article| (request::REHEARSED_ARTICLE.to_owned(), article.to_owned()))
            .into_iter()
            .collect();
        let request = match self.filler.request(form, known, None, redirect) {
            Ok(made) => made.finish(&mut self.http, &headers, None),
            Err(Unfit::Post(reason)) => {
                return Err(refused(Refusal::Permanent, self.http.scrubbed(&reason)));
            }
            Err(Unfit::Secret(reason)) => return Err(refused(Refusal::Credentials, reason)),
        };
        self.http.send(&request).of_read().map_err(not_now)
    }

    /// Nothing that shows was done, whatever was answered.
    fn not_made(&self, answer: &Answer) -> Outcome {
        let reason = format!("the first of two requests: {}", self.http.describe(answer));
        let body = answer.json();
        let Some(rule) = judge::rule_for(&self.declaration.answers, answer.status, body.as_ref())
        else {
            return not_now(reason);
        };
        let wait = judge::wait(&self.declaration, rule, answer, body.as_ref());
        match rule.means {
            Meaning::Refused => refused(Refusal::Permanent, reason),
            Meaning::RateLimited => refused(Refusal::RateLimited(wait), reason),
            Meaning::Credentials => refused(Refusal::Credentials, reason),
            Meaning::Retry | Meaning::Exists | Meaning::Already | Meaning::AcceptedLater => {
                refused(Refusal::Temporary(wait), reason)
            }
        }
    }
}

fn reason_of(outcome: Outcome) -> String {
    match outcome {
        Outcome::Refused { reason, .. }
        | Outcome::NotSent { reason }
        | Outcome::InDoubt { reason } => reason,
        Outcome::Accepted { .. } => String::new(),
    }
}

pub(super) fn not_now(reason: String) -> Outcome {
    refused(Refusal::Temporary(None), reason)
}
