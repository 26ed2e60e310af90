//! Results for people.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use chrono_tz::Tz;

use crate::engine::ending::{Ending, Summary};
use crate::exit::Exit;
use crate::ledger::row::encode_whole;
use crate::model::delivery::Operation;
use crate::model::delivery::State;
use crate::model::item::ItemId;
use crate::model::time::{Timestamp, duration_text};
use crate::plan::outlook::Outlook;

use super::notices::{due_words, evidence_words, state_words};

/// Writes to a string, which can't fail.
macro_rules! put {
    ($text:expr, $($arguments:tt)*) => {
        write!($text, $($arguments)*).expect("writing to a string can't fail")
    };
}

/// A copy of the ledger that is younger needs no remark.
const AGE_WORTH_TELLING: Duration = Duration::from_mins(1);

/// Titles by item, for headings.
pub type Titles = BTreeMap<ItemId, String>;

/// Writes the end of a run that began at `began_at`: each article that it was about, where it stands on each channel
/// and what proves it, then the counts.
pub fn ending(ending: &Ending, titles: &Titles, timezone: Tz, began_at: Timestamp) -> String {
    let mut text = String::new();
    // A long history would bury what this run is about.
    let settled_long_ago = |delivery: &&Outlook| match delivery.state {
        Some(State::Skipped) => true,
        // What is done and has a reason says why it is left as it is.
        Some(State::Done) => {
            delivery.reason.is_none() && delivery.updated_at.is_some_and(|at| at < began_at)
        }
        None
        | Some(State::InFlight | State::InDoubt | State::Retry | State::Failed | State::Held) => {
            false
        }
    };
    put_articles(
        &mut text,
        ending
            .deliveries
            .iter()
            .filter(|delivery| !settled_long_ago(delivery)),
        titles,
        timezone,
    );
    for problem in &ending.problems {
        put!(text, "problem: {problem}\n");
    }
    for alarm in &ending.alarms {
        put!(text, "alarm: {alarm}\n");
    }
    for row in &ending.unsaved {
        // The last place where an outcome can be kept, when neither the remote nor the disk takes it.
        put!(
            text,
            "not on the ledger's remote, {}:\n{}",
            row.delivery_id(),
            encode_whole(row).unwrap_or_default()
        );
    }
    let has_trouble = !ending.problems.is_empty() || !ending.alarms.is_empty();
    if ending.deliveries.is_empty() && has_trouble {
        // What is due is not known where the ledger or the articles can't be read.
        text.push_str("Nothing was announced.\n");
    } else {
        put!(
            text,
            "{}\n",
            counts(&ending.deliveries, ending.out_of_scope.len())
        );
    }
    if let Some(next) = &ending.next_due {
        let comfort = match ending.exit {
            Exit::Proved | Exit::WorkRemains => " Nothing needs doing; the next run continues.",
            // What was said above needs doing first.
            Exit::Internal | Exit::Usage | Exit::Ledger | Exit::Refused | Exit::NeedsPerson => "",
        };
        put!(
            text,
            "Work remains: the next is due {} ({}).{comfort}\n",
            due_words(next, timezone),
            next.what
        );
    }
    text
}

/// Writes what would be sent, and for every other delivery why not.
pub fn plan(
    deliveries: &[Outlook],
    out_of_scope: &[(String, String)],
    titles: &Titles,
    timezone: Tz,
) -> String {
    let mut text = String::new();
    for delivery in deliveries {
        let title = titles.get(&delivery.id.item).map_or("", String::as_str);
        put!(
            text,
            "{} on {} - {}\n",
            delivery.id.item,
            delivery.id.channel,
            state_words(
                delivery.operation,
                delivery.state,
                delivery.due_at,
                timezone
            )
        );
        if !title.is_empty() && delivery.text.is_none() {
            put!(text, "  {title}\n");
        }
        if let Some(reason) = reason(delivery) {
            put!(text, "  {reason}\n");
        }
        let to_send = matches!(
            delivery.state,
            None | Some(State::Retry | State::InDoubt | State::InFlight)
        );
        if let Some(body) = delivery.text.as_ref().filter(|_| to_send) {
            match (delivery.length, delivery.limit) {
                (Some(length), Some(limit)) => put!(text, "  text ({length} of {limit}):\n"),
                (Some(length), None) => put!(text, "  text ({length}):\n"),
                (None, _) => put!(text, "  text:\n"),
            }
            for line in body.lines() {
                put!(text, "    | {line}\n");
            }
        }
        for picture in delivery.pictures.iter().filter(|_| to_send) {
            put!(text, "  picture: {}\n", picture.url);
            if let Some(alt) = &picture.alt {
                put!(text, "    alt: {alt}\n");
            }
        }
        for note in &delivery.notes {
            put!(text, "  note: {note}\n");
        }
    }
    for (item, reason) in out_of_scope {
        put!(text, "{item} - out of scope: {reason}\n");
    }
    put!(text, "{}\n", counts(deliveries, out_of_scope.len()));
    text
}

/// Writes where every article stands on every channel.
pub fn status(
    deliveries: &[Outlook],
    out_of_scope: usize,
    titles: &Titles,
    timezone: Tz,
) -> String {
    let mut text = String::new();
    put_articles(&mut text, deliveries.iter(), titles, timezone);
    put!(text, "{}\n", counts(deliveries, out_of_scope));
    text
}

fn put_articles<'a>(
    text: &mut String,
    deliveries: impl Iterator<Item = &'a Outlook>,
    titles: &Titles,
    timezone: Tz,
) {
    let deliveries: Vec<_> = deliveries.collect();
    let width = deliveries
        .iter()
        .map(|delivery| delivery.id.channel.as_str().len())
        .max()
        .unwrap_or(0);
    let mut heading = None;
    for delivery in deliveries {
        if heading != Some(&delivery.id.item) {
            heading = Some(&delivery.id.item);
            match titles.get(&delivery.id.item) {
                Some(title) => put!(text, "{title}  [{}]\n", delivery.id.item),
                None => put!(text, "{}\n", delivery.id.item),
            }
        }
        put!(text, "  {:width$}  ", delivery.id.channel.as_str());
        put!(
            text,
            "{}",
            state_words(
                delivery.operation,
                delivery.state,
                delivery.due_at,
                timezone
            )
        );
        if let Some(evidence) = delivery.evidence {
            put!(
                text,
                ": {}",
                evidence_words(delivery.operation, evidence, delivery.remote.as_ref())
            );
        }
        let url = delivery
            .remote
            .as_ref()
            .and_then(|remote| remote.url.as_deref());
        if let Some(url) = url {
            put!(text, "\n  {:width$}  {url}", "");
        }
        if let Some(reason) = reason(delivery) {
            put!(text, "\n  {:width$}  {reason}", "");
        }
        for way in delivery.ways() {
            put!(text, "\n  {:width$}  {}", "", way.line());
        }
        text.push('\n');
    }
    if heading.is_some() {
        text.push('\n');
    }
}

/// Returns why a delivery is not done, without the time that stands beside it already.
fn reason(delivery: &Outlook) -> Option<String> {
    let reason = delivery.reason.as_deref()?;
    let when = delivery.due_at.map(|at| format!("due at {at}: "));
    let why = when.and_then(|when| reason.strip_prefix(&when));
    Some(why.map_or_else(|| reason.to_owned(), |why| format!("waits: {why}")))
}

/// Writes the counts as one sentence.
pub fn counts(deliveries: &[Outlook], out_of_scope: usize) -> String {
    let summary = Summary::of(deliveries);
    let is_taken_down = |delivery: &&Outlook| {
        delivery.operation == Operation::Retract && delivery.state == Some(State::Done)
    };
    let taken_down = deliveries.iter().filter(is_taken_down).count();
    let parts: Vec<_> = [
        (summary.done - taken_down, "posted and proved"),
        (taken_down, "taken down"),
        (summary.failed, "refused"),
        (summary.held, "held for you"),
        (summary.in_doubt, "being checked"),
        (summary.retry, "to be sent again"),
        (summary.pending, "not sent yet"),
        (summary.skipped, "not to be announced"),
        (summary.busy, "being sent"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, words)| format!("{count} {words}"))
    .collect();
    let mut text = match deliveries.len() {
        0 => "Nothing is due.".to_owned(),
        1 => format!("1 delivery: {}.", parts.join(", ")),
        total => format!("{total} deliveries: {}.", parts.join(", ")),
    };
    if out_of_scope > 0 {
        let words = if out_of_scope == 1 {
            "article is"
        } else {
            "articles are"
        };
        put!(text, " {out_of_scope} {words} out of scope.");
    }
    text
}

/// Writes how old the ledger's copy is.
pub fn ledger_age(fetched_at: Option<Timestamp>, now: Timestamp) -> Option<String> {
    let age = now.since(fetched_at?);
    (age >= AGE_WORTH_TELLING).then(|| format!("the ledger as it was {} ago", duration_text(age)))
}

/// Writes a count with its noun.
pub fn number(count: usize, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {many}"),
    }
}
