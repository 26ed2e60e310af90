//! What an answer means, by the declaration's own table. Pure.

use std::time::Duration;

use serde_json::Value;

use super::request::Filler;
use crate::channel::answer::Answer;
use crate::config::http::{
    AnswerRule, Condition, Declaration, GoneTest, Receipt, Source, Success, WaitSource,
};
use crate::model::outcome::{Remote, Wait};

/// A service that asks for more is asked again after a day all the same.
const WAIT_SECONDS_MAX: f64 = 24.0 * 3600.0;

/// Returns the first rule that fits an answer. A rule without a status fits any but a plain success: there it must be a
/// code in the body that speaks.
pub(super) fn rule_for<'d>(
    rules: impl IntoIterator<Item = &'d AnswerRule>,
    status: u16,
    body: Option<&Value>,
) -> Option<&'d AnswerRule> {
    rules
        .into_iter()
        .find(|rule| fits(&rule.statuses, rule.condition.as_ref(), status, body))
}

/// Whether an answer shows that a post is gone.
pub(super) fn is_gone(tests: &[GoneTest], status: u16, body: Option<&Value>) -> bool {
    let mut tests = tests.iter();
    tests.any(|gone| fits(&gone.statuses, gone.condition.as_ref(), status, body))
}

fn fits(
    statuses: &[u16],
    condition: Option<&Condition>,
    status: u16,
    body: Option<&Value>,
) -> bool {
    let by_status = statuses.is_empty() || statuses.contains(&status);
    by_status && condition.is_none_or(|condition| condition.holds(body))
}

/// Whether an answer passes a success test. Where the body counts, all of it must have come.
pub(super) fn is_success(success: &Success, answer: &Answer, body: Option<&Value>) -> bool {
    let text_fits = success.body.as_deref().is_none_or(|wanted| {
        answer.body_complete && String::from_utf8_lossy(&answer.body).trim() == wanted.trim()
    });
    success.statuses.contains(&answer.status)
        && text_fits
        && success
            .condition
            .as_ref()
            .is_none_or(|condition| condition.holds(body))
}

/// Returns what an accepting answer says of the post; none if it lacks what it should have.
pub(super) fn receipt(receipt: &Receipt, answer: &Answer, filler: &Filler) -> Option<Remote> {
    let (id, url) = match receipt {
        Receipt::None => {
            return Some(Remote {
                id: None,
                url: None,
            });
        }
        Receipt::Given { id, url } => (id, url),
    };
    let body = answer.json();
    let find = |source: &Source, id: Option<&str>| match source {
        Source::Pointer(pointer) => pointer.text_of(body.as_ref()?),
        Source::Header(name) => answer.header(name).map(str::to_owned),
        Source::Template(template) => from_id(template, id?, filler),
    };
    let given_id = id.as_ref().map(|source| find(source, None));
    if matches!(given_id, Some(None)) {
        return None;
    }
    let given_id = given_id.flatten();
    let url = url
        .as_ref()
        .and_then(|source| find(source, given_id.as_deref()))
        .filter(|url| !url.trim().is_empty());
    let id = given_id.or_else(|| url.clone())?;
    Some(Remote { id: Some(id), url })
}

/// Fills a template with a post's id; what comes out empty is nothing.
pub(super) fn from_id(template: &str, id: &str, filler: &Filler) -> Option<String> {
    let text = filler.fill(template, &[("id", minijinja::Value::from(id))]);
    text.ok().filter(|text| !text.trim().is_empty())
}

/// Returns how long the service asks us to wait: what the rule names, else what headers say.
pub(super) fn wait(
    declaration: &Declaration,
    rule: &AnswerRule,
    answer: &Answer,
    body: Option<&Value>,
) -> Option<Wait> {
    let named = rule.wait.as_ref().and_then(|source| match source {
        WaitSource::Constant(wait) => Some(Wait::For(*wait)),
        WaitSource::Pointer(pointer) => seconds(&pointer.text_of(body?)?),
        WaitSource::Header(name) => seconds(answer.header(name)?),
    });
    let of_headers = || {
        declaration
            .rate_limit_headers
            .iter()
            .find_map(|name| seconds(answer.header(name)?))
    };
    named.or_else(of_headers).or_else(|| answer.wait())
}

/// Reads a number of seconds, which may have a fraction, and never waits less than it says.
fn seconds(text: &str) -> Option<Wait> {
    let seconds: f64 = text.trim().parse().ok()?;
    if !seconds.is_finite() || seconds < 0.0 {
        return None;
    }
    let wait = Duration::try_from_secs_f64(seconds.min(WAIT_SECONDS_MAX)).ok()?;
    let whole = Duration::from_millis(1)
        .checked_mul(u32::try_from(wait.as_nanos().div_ceil(1_000_000)).ok()?)?;
    Some(Wait::For(whole))
}
