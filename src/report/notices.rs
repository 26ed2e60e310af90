//! One line of text for each thing that happens.

use chrono_tz::Tz;

use crate::model::delivery::State;
use crate::model::notice::Notice;
use crate::model::outcome::{Evidence, Remote};
use crate::model::time::{Timestamp, duration_text};

/// How loud a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Good news.
    Good,
    /// What is going on.
    Plain,
    /// What people should look at.
    Warning,
}

/// Returns the state as a sentence for people.
pub fn state_words(state: Option<State>, due_at: Option<Timestamp>, timezone: Tz) -> String {
    match (state, due_at) {
        (None, Some(at)) => format!("not yet, due at {}", clock_time(at, timezone)),
        (None, None) => "not sent yet".to_owned(),
        (Some(State::InFlight), _) => "being sent".to_owned(),
        (Some(State::InDoubt), _) => "checking: may already be there".to_owned(),
        (Some(State::Retry), Some(at)) => {
            format!("not sent, again at {}", clock_time(at, timezone))
        }
        (Some(State::Retry), None) => "not sent, again in the next run".to_owned(),
        (Some(State::Done), _) => "posted, proved".to_owned(),
        (Some(State::Failed), _) => "refused".to_owned(),
        (Some(State::Held), _) => "needs you".to_owned(),
        (Some(State::Skipped), _) => "not announced".to_owned(),
    }
}

/// Returns why `done` is believed, as people say it. A service without receipts only accepts.
pub const fn evidence_words(evidence: Evidence, remote: Option<&Remote>) -> &'static str {
    match evidence {
        Evidence::Response if matches!(remote, Some(Remote { id: None, .. })) => {
            "the service accepted it"
        }
        Evidence::Response => "the service answered with its id",
        Evidence::ReadBack => "found on the account afterwards",
        Evidence::KeyReplay => "the repeat was answered with the first one's id",
        Evidence::Adopted => "it was there already",
        Evidence::Person => "a person said so",
    }
}

/// Writes a moment for people: the time, with the date and the zone.
pub fn clock_time(at: Timestamp, timezone: Tz) -> String {
    at.to_chrono()
        .with_timezone(&timezone)
        .format("%Y-%m-%d %H:%M:%S %Z")
        .to_string()
}

/// Writes a notice as one line.
pub fn line(notice: &Notice, timezone: Tz) -> (Tone, String) {
    match notice {
        Notice::Inherited {
            delivery,
            state,
            claimed_at,
        } => {
            let since = claimed_at.map_or_else(String::new, |at| {
                format!(" since {}", clock_time(at, timezone))
            });
            let words = match state {
                State::InFlight => "an earlier run was sending it",
                State::InDoubt => "its outcome is not known",
                State::Retry | State::Done | State::Failed | State::Held | State::Skipped => {
                    "it is not settled"
                }
            };
            (
                Tone::Plain,
                format!("{delivery}: {words}{since}; that is settled before it is sent again"),
            )
        }
        Notice::Sending {
            delivery,
            attempt: 1,
        } => (Tone::Plain, format!("{delivery}: sending")),
        Notice::Sending { delivery, attempt } => (
            Tone::Plain,
            format!("{delivery}: sending (attempt {attempt})"),
        ),
        Notice::Proved {
            delivery,
            remote,
            evidence,
        } => (
            Tone::Good,
            format!(
                "{delivery}: posted{} ({})",
                place(remote),
                evidence_words(*evidence, Some(remote))
            ),
        ),
        Notice::Adopted { delivery, remote } => (
            Tone::Plain,
            format!(
                "{delivery}: a post with its link is there already{}; it is taken as the announcement (`sayonce again \
                 {} {}` announces it all the same)",
                place(remote),
                delivery.item,
                delivery.channel
            ),
        ),
        Notice::Deferred {
            delivery,
            reason,
            not_before,
        } => (
            Tone::Warning,
            format!(
                "{delivery}: not sent, again at {}: {reason}",
                clock_time(*not_before, timezone)
            ),
        ),
        Notice::Doubted { delivery, reason } => (
            Tone::Warning,
            format!("{delivery}: may or may not be there, it will be looked for: {reason}"),
        ),
        Notice::NotFound {
            delivery, finding, ..
        } => (Tone::Plain, format!("{delivery}: looked for: {finding}")),
        Notice::Refused { delivery, reason } => {
            (Tone::Warning, format!("{delivery}: refused: {reason}"))
        }
        Notice::Held { delivery, reason } => {
            (Tone::Warning, format!("{delivery}: needs you: {reason}"))
        }
        Notice::ChannelClosed { channel, reason } => (
            Tone::Warning,
            format!("{channel} is left out of this run: {reason}"),
        ),
        Notice::Waiting {
            what,
            until,
            duration,
        } => (
            Tone::Plain,
            format!(
                "waiting {} (until {}) for {what}",
                duration_text(*duration),
                clock_time(*until, timezone)
            ),
        ),
        Notice::Stopping => (
            Tone::Warning,
            "stopping: nothing new is started, what is known is saved".to_owned(),
        ),
        Notice::Plain(text) => (Tone::Plain, text.clone()),
        Notice::Warning(text) => (Tone::Warning, text.clone()),
    }
}

fn place(remote: &Remote) -> String {
    remote
        .url
        .as_deref()
        .map_or_else(String::new, |url| format!(": {url}"))
}
