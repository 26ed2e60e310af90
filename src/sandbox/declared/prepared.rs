//! Services that publish in two steps: what the first one makes, and how the second one names it.

use serde_json::{Value, json};
use url::Url;

use super::super::message::{Reply, Request};
use super::super::service::Answer;
use super::super::text;
use super::shape::{Sent, set_at};
use super::{ARTICLE_HEADER, Declared, Effect, Post, hold};
use crate::config::http::{Meaning, PrepareForm, Source};
use crate::model::time::Timestamp;

impl Declared {
    /// What people see.
    pub(super) fn shown(&self) -> impl DoubleEndedIterator<Item = &Post> {
        self.posts.iter().filter(|post| !post.hidden && !post.gone)
    }

    /// Whether a request is the first of the two.
    pub(super) fn is_preparation(&self, form: &PrepareForm, request: &Request) -> bool {
        let address = self.fill(&form.request.url, &[]);
        let url = address.and_then(|address| Url::parse(address.trim()).ok());
        request.method == form.request.method.label()
            && url.is_some_and(|url| url.path() == request.path)
    }

    /// Makes something that nobody sees.
    pub(super) fn prepare(
        &self,
        form: &PrepareForm,
        request: &Request,
        now: Timestamp,
    ) -> Answer<Effect> {
        if !self.has_secrets(&form.request, request, now) {
            return self.refuse(Meaning::Credentials, 401, None).into();
        }
        let Some(sent) = Sent::read(request, &form.request.body) else {
            return self.refuse(Meaning::Refused, 400, None).into();
        };
        let links = sent.links();
        let article = request.header(ARTICLE_HEADER).map(str::to_owned);
        let article = article.or_else(|| {
            text::article_link(links.iter().map(String::as_str), &self.identity.site_host)
        });
        let number = self.posts.iter().filter(|post| post.hidden).count() + 1;
        let container = Post {
            id: format!("container-{number}"),
            article,
            text: sent.text(),
            fields: sent.fields(),
            key: None,
            at: now,
            times: 1,
            hidden: true,
            gone: false,
            changed: None,
        };
        let mut body = json!({});
        hold(&mut body, form.success.condition.as_ref());
        let status = form.success.statuses.first().copied().unwrap_or(200);
        let reply = match &form.id {
            Source::Header(name) => {
                Reply::json(status, &body).with(name.clone(), container.id.clone())
            }
            Source::Pointer(pointer) => {
                set_at(
                    &mut body,
                    pointer.as_str(),
                    Value::from(container.id.as_str()),
                );
                Reply::json(status, &body)
            }
            Source::Template(_) => Reply::json(status, &body),
        };
        Answer {
            reply,
            effects: vec![Effect::Posted(container)],
        }
    }

    /// Returns what a request publishes: something that was made, and not published before.
    pub(super) fn container_in(&self, request: &Request, sent: &Sent) -> Option<&Post> {
        let named = |post: &&Post| {
            sent.has(&post.id) || request.path.split('/').any(|part| part == post.id)
        };
        let container = self.posts.iter().filter(|post| post.hidden).find(named)?;
        let is_published = self
            .shown()
            .any(|post| post.key.as_ref() == Some(&container.id));
        (!is_published).then_some(container)
    }

    /// Says that what was made is ready, if that is what is asked.
    pub(super) fn readiness(&self, request: &Request, now: Timestamp) -> Option<Reply> {
        let ready = self.declaration.prepare.as_ref()?.ready.as_ref()?;
        let is_about = |post: &Post| {
            let address = self.fill(&ready.request.url, &[("prepared", &post.id)]);
            let url = address.and_then(|address| Url::parse(address.trim()).ok());
            post.hidden && url.is_some_and(|url| url.path() == request.path)
        };
        if request.method != "GET" || !self.posts.iter().any(is_about) {
            return None;
        }
        if !self.has_secrets(&ready.request, request, now) {
            return Some(self.refuse(Meaning::Credentials, 401, None));
        }
        let is_published = self.shown().any(|post| {
            let container = self.posts.iter().find(|container| is_about(container));
            post.key.as_ref() == container.map(|container| &container.id)
        });
        let mut body = json!({});
        hold(&mut body, ready.success.condition.as_ref());
        hold(&mut body, ready.published.as_ref().filter(|_| is_published));
        let status = ready.success.statuses.first().copied().unwrap_or(200);
        Some(Reply::json(status, &body))
    }
}
