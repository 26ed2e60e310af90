//! What an update must name of the post as it stands, and what becomes of one that names something older.

use minijinja::Value as Known;
use serde_json::{Value, json};

use super::shape::{Sent, set_at};
use super::{Declared, Post, flavour};
use crate::config::http::{CurrentForm, Meaning, Operation, ReadForm, Source, variables};
use crate::model::time::Timestamp;
use crate::sandbox::message::{Reply, Request};

impl Declared {
    /// Shows of a post what an update must name; none if that is not what is asked.
    pub(super) fn present(&self, request: &Request, now: Timestamp) -> Option<Reply> {
        let form = self.declaration.update.as_ref()?.current.as_ref()?;
        let post = self.post_of(&form.request, request)?;
        if !self.has_secrets(&form.request, request, now) {
            return Some(self.refuse(Meaning::Credentials, 401, None));
        }
        if post.gone {
            return Some(self.show_gone(&form.gone, &form.success));
        }
        let mut body = flavour::body(self.declaration.preset, &post.text);
        // One address may serve both reads.
        if let Some(read) = &self.declaration.read {
            put_shown(&mut body, read, post);
        }
        let mut headers = Vec::new();
        for (_, source) in &form.values {
            match source {
                Source::Pointer(pointer) => {
                    set_at(&mut body, pointer.as_str(), json!(version_of(post)));
                }
                Source::Header(name) => headers.push((name.clone(), version_of(post))),
                Source::Template(_) => {}
            }
        }
        let reply = self.successful(&form.success, body);
        let headers = headers.into_iter();
        Some(headers.fold(reply, |reply, (name, value)| reply.with(name, value)))
    }

    /// Refuses an update that was made for an older state of the post.
    pub(super) fn collision(
        &self,
        form: &Operation,
        post: &Post,
        request: &Request,
    ) -> Option<Reply> {
        let current = form.current.as_ref()?;
        if self.is_current(form, current, post, request) {
            return None;
        }
        let has_rule = form.answers.iter().any(|rule| rule.means == Meaning::Retry);
        Some(if has_rule {
            self.told(form, Meaning::Retry, 409)
        } else {
            Reply::json(409, &flavour::error(self.declaration.preset, 409, None))
        })
    }

    fn is_current(
        &self,
        form: &Operation,
        current: &CurrentForm,
        post: &Post,
        request: &Request,
    ) -> bool {
        let values = current.values.iter();
        let values = values.map(|(name, _)| (name.as_str(), Known::from(version_of(post))));
        let known = [("current", Known::from_pairs(values))];
        let fill = |template: &str| self.fill_with(template, &known);
        let in_header = form.request.headers.iter().all(|(name, template)| {
            let sent = request.header(&name.to_ascii_lowercase());
            !names_current(template) || fill(template).as_deref() == sent
        });
        let headers: Vec<&str> = form
            .request
            .headers
            .iter()
            .map(|(_, value)| value.as_str())
            .collect();
        let sent = Sent::everything(request, &form.request.body);
        let templates = form.request.templates().into_iter();
        in_header
            && templates
                .filter(|template| names_current(template) && !headers.contains(template))
                .all(|template| fill(template).is_none_or(|filled| sent.contains(&filled)))
    }
}

/// Puts what a post shows where a reading looks for it.
pub(super) fn put_shown(body: &mut Value, form: &ReadForm, post: &Post) {
    for (pointer, template) in &form.shows {
        let shown = post.fields.get(template).unwrap_or(&post.text);
        set_at(body, pointer.as_str(), json!(shown));
    }
}

/// Whether a template names what was read of the post.
pub(super) fn names_current(template: &str) -> bool {
    let names = variables(template);
    names.iter().any(|name| name.starts_with("current."))
}

/// Two states of a post never have the same.
fn version_of(post: &Post) -> String {
    post.changed.unwrap_or(post.at).to_string()
}
