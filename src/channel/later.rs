//! What changing a post and taking it down have in common, whatever the service.
//!
//! Invariant: a post counts as gone only when reading shows it, whatever the request was answered.

use super::common::{cannot_tell, refused};
use super::matching::without_entities;
use crate::model::claim::Claim;
use crate::model::outcome::{Evidence, Lookup, Outcome, Refusal, Remote};

/// What reading says of one post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Presence<T> {
    /// It stands, and this is what was read.
    Stands(T),
    /// It is not there any more.
    Gone,
    /// It could not be read.
    Unknown(String),
}

/// What was answered to the request that takes a post down, where that was no refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Takedown {
    /// That it is done, or that there is nothing to take down: the answer.
    Answered(String),
    /// Nothing, or nothing that says whether it was done: what was seen.
    Doubt(String),
}

impl Takedown {
    /// Takes what is in doubt as that, and every other outcome as it is.
    pub(super) fn of(outcome: Outcome) -> Result<Self, Outcome> {
        match outcome {
            Outcome::InDoubt { reason } => Ok(Self::Doubt(reason)),
            Outcome::Accepted { .. } | Outcome::Refused { .. } | Outcome::NotSent { .. } => {
                Err(outcome)
            }
        }
    }
}

/// Returns the post that a claim changes or takes down.
pub(super) fn target_of(claim: &Claim) -> Result<&Remote, Outcome> {
    claim.target.as_ref().ok_or_else(|| {
        let reason = "the claim names no post that could be changed or taken down";
        refused(Refusal::Permanent, reason.to_owned())
    })
}

/// Returns what becomes of a retraction, by what was answered and what reading showed after it.
pub(super) fn settle_retraction<T>(
    target: &Remote,
    takedown: Takedown,
    seen: Presence<T>,
) -> Outcome {
    let reason = match (takedown, seen) {
        (Takedown::Answered(_) | Takedown::Doubt(_), Presence::Gone) => {
            return Outcome::Accepted {
                remote: target.clone(),
                evidence: Evidence::ReadBack,
            };
        }
        (Takedown::Answered(answer), Presence::Stands(_)) => {
            format!("the post is still shown, though the service answered: {answer}")
        }
        (Takedown::Doubt(reason), Presence::Stands(_)) => {
            format!("the post is still shown: {reason}")
        }
        (Takedown::Answered(answer), Presence::Unknown(trouble)) => {
            format!("whether the post is gone could not be read ({trouble}) after: {answer}")
        }
        (Takedown::Doubt(reason), Presence::Unknown(trouble)) => {
            format!("{reason}; whether the post is gone could not be read: {trouble}")
        }
    };
    Outcome::InDoubt { reason }
}

/// Returns whether a retraction has had its effect.
pub(super) fn effect_of_retraction<T>(target: &Remote, seen: Presence<T>) -> Lookup {
    match seen {
        Presence::Gone => Lookup::Found(target.clone()),
        Presence::Stands(_) => Lookup::Absent,
        Presence::Unknown(reason) => cannot_tell(reason),
    }
}

/// Returns why an operation could not be looked at.
pub(super) fn reason_of(outcome: Outcome) -> String {
    match outcome {
        Outcome::Refused { reason, .. }
        | Outcome::NotSent { reason }
        | Outcome::InDoubt { reason } => reason,
        Outcome::Accepted { remote, .. } => format!("{remote:?} was accepted already"),
    }
}

/// Returns a text with its white space made even: servers trim, and some write line breaks their own way.
pub(super) fn evened(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns what people read of a piece of HTML, its white space made even.
pub(super) fn text_of_html(html: &str) -> String {
    let mut text = String::with_capacity(html.len());
    let mut rest = html;
    while let Some((before, tag)) = rest.split_once('<') {
        text.push_str(before);
        let (tag, after) = tag.split_once('>').unwrap_or((tag, ""));
        let name = tag.trim_start_matches('/').to_ascii_lowercase();
        let name = name
            .split(|sign: char| !sign.is_ascii_alphanumeric())
            .next()
            .unwrap_or_default();
        // These end a line; every other tag may stand within a word.
        if matches!(name, "br" | "p" | "div" | "li" | "blockquote") {
            text.push(' ');
        }
        rest = after;
    }
    text.push_str(rest);
    evened(&without_entities(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_is_read_as_people_read_it() {
        let check = |html: &str, text: &str| assert_eq!(text_of_html(html), text);
        check(
            concat!(
                r#"<p>Tom &amp; Jerry</p><p><a href="https://blog.example/a-b"><span class="invisible">https://</span>"#,
                r#"<span class="ellipsis">blog.example/a</span><span class="invisible">-b</span></a></p>"#,
            ),
            "Tom & Jerry https://blog.example/a-b",
        );
        check("one<br/>two<BR>three", "one two three");
        check("a <b>b</b>c", "a bc");
        check("cut <a href=", "cut");
        check("", "");
    }
}
