//! One line of text for each thing that happens.

use chrono_tz::Tz;

use crate::engine::ending::NextDue;
use crate::model::delivery::{Operation, State};
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

/// Returns the state of an operation as a sentence for people.
pub fn state_words(
    operation: Operation,
    state: Option<State>,
    due_at: Option<Timestamp>,
    timezone: Tz,
) -> String {
    let time = due_at.map(|at| clock_time(at, timezone));
    match operation {
        Operation::Publish => announcement_words(state, time),
        Operation::Update(_) => later_words("changed", "left as it is", state, time),
        Operation::Retract => later_words("taken down", "left as it is", state, time),
    }
}

fn announcement_words(state: Option<State>, due_at: Option<String>) -> String {
    match (state, due_at) {
        (None, Some(time)) => format!("not yet, due at {time}"),
        (None, None) => "not sent yet".to_owned(),
        (Some(State::InFlight), _) => "being sent".to_owned(),
        (Some(State::InDoubt), _) => "checking: may already be there".to_owned(),
        (Some(State::Retry), Some(time)) => format!("not sent, again at {time}"),
        (Some(State::Retry), None) => "not sent, again in the next run".to_owned(),
        (Some(State::Done), _) => "posted, proved".to_owned(),
        (Some(State::Failed), _) => "refused".to_owned(),
        (Some(State::Held), _) => "needs you".to_owned(),
        (Some(State::Skipped), _) => "not announced".to_owned(),
    }
}

/// `what` is what becomes of the post, `instead` what it is if nothing does.
fn later_words(what: &str, instead: &str, state: Option<State>, due_at: Option<String>) -> String {
    match (state, due_at) {
        (None | Some(State::Retry), Some(time)) => format!("to be {what}, at {time}"),
        (None | Some(State::Retry), None) => format!("to be {what}, in the next run"),
        (Some(State::InFlight), _) => format!("being {what}"),
        (Some(State::InDoubt), _) => format!("checking: may already be {what}"),
        (Some(State::Done), _) => format!("{what}, proved"),
        (Some(State::Failed), _) => format!("not {what}: refused"),
        (Some(State::Held), _) => format!("to be {what}, and needs you"),
        (Some(State::Skipped), _) => instead.to_owned(),
    }
}

/// Returns why `done` is believed, as people say it. A service without receipts only accepts.
pub const fn evidence_words(
    operation: Operation,
    evidence: Evidence,
    remote: Option<&Remote>,
) -> &'static str {
    match (operation, evidence) {
        (Operation::Publish | Operation::Update(_), Evidence::Response)
            if matches!(remote, Some(Remote { id: None, .. })) =>
        {
            "the service accepted it"
        }
        (Operation::Publish, Evidence::Response) => "the service answered with its id",
        (Operation::Update(_) | Operation::Retract, Evidence::Response) => "the service says so",
        (Operation::Publish, Evidence::ReadBack) => "found on the account afterwards",
        (Operation::Update(_), Evidence::ReadBack) => "read back afterwards",
        (Operation::Retract, Evidence::ReadBack) => "looked for, and gone",
        (_, Evidence::KeyReplay) => "the repeat was answered with the first one's id",
        (_, Evidence::Adopted) => "it was there already",
        (_, Evidence::Person) => "a person said so",
    }
}

/// Writes when the next thing is due.
pub fn due_words(next: &NextDue, timezone: Tz) -> String {
    if next.is_later {
        format!("at {}", clock_time(next.at, timezone))
    } else {
        "at once".to_owned()
    }
}

/// Writes a moment for people: the time, with the date and the zone.
pub fn clock_time(at: Timestamp, timezone: Tz) -> String {
    at.to_chrono()
        .with_timezone(&timezone)
        .format("%Y-%m-%d %H:%M:%S %Z")
        .to_string()
}

fn doing_words(operation: Operation, attempt: u32) -> String {
    let doing = match operation {
        Operation::Publish => "sending",
        Operation::Update(_) => "changing",
        Operation::Retract => "taking down",
    };
    match attempt {
        1 => doing.to_owned(),
        attempt => format!("{doing} (attempt {attempt})"),
    }
}

const fn done_words(operation: Operation) -> &'static str {
    match operation {
        Operation::Publish => "posted",
        Operation::Update(_) => "changed",
        Operation::Retract => "taken down",
    }
}

const fn inherited_words(state: State) -> &'static str {
    match state {
        State::InFlight => "an earlier run was sending it",
        State::InDoubt => "its outcome is not known",
        State::Retry | State::Done | State::Failed | State::Held | State::Skipped => {
            "it is not settled"
        }
    }
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
            let words = inherited_words(*state);
            (
                Tone::Plain,
                format!("{delivery}: {words}{since}; that is settled before it is sent again"),
            )
        }
        Notice::Sending {
            delivery,
            operation,
            attempt,
        } => {
            let doing = doing_words(*operation, *attempt);
            (Tone::Plain, format!("{delivery}: {doing}"))
        }
        Notice::Proved {
            delivery,
            operation,
            remote,
            evidence,
        } => {
            let what = done_words(*operation);
            let words = evidence_words(*operation, *evidence, Some(remote));
            (
                Tone::Good,
                format!("{delivery}: {what}{} ({words})", place(remote)),
            )
        }
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
        Notice::Doubted {
            delivery,
            next,
            reason,
        } => (
            Tone::Warning,
            format!("{delivery}: may or may not be there, {next}: {reason}"),
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
