//! What `doctor` found, one line for each thing that a run needs.

use std::fmt::Write as _;

use serde_json::json;

use crate::exit::Exit;
use crate::model::ids::ChannelName;

use super::human::number;

/// How one thing stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// As it should be.
    Ok,
    /// A run works, but somebody should look.
    Warning,
    /// A run would not work, or not wholly; with the exit code that it would end with.
    Wrong(Exit),
}

impl Verdict {
    const fn label(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Wrong(_) => "wrong",
        }
    }
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What, in a word that programs can rely on.
    pub name: &'static str,
    /// The channel that it is about.
    pub channel: Option<ChannelName>,
    /// How it stands.
    pub verdict: Verdict,
    /// What was seen.
    pub message: String,
    /// What to do.
    pub advice: Option<String>,
}

impl Check {
    /// Makes one without a channel or advice.
    pub fn new(name: &'static str, verdict: Verdict, message: impl Into<String>) -> Self {
        Self {
            name,
            channel: None,
            verdict,
            message: message.into(),
            advice: None,
        }
    }

    /// Says which channel it is about.
    #[must_use]
    pub fn of(mut self, channel: &ChannelName) -> Self {
        self.channel = Some(channel.clone());
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn advised(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }
}

/// Returns the exit code: the most urgent of what is wrong.
pub fn exit(checks: &[Check]) -> Exit {
    let exits = checks.iter().map(|check| match check.verdict {
        Verdict::Ok | Verdict::Warning => Exit::Proved,
        Verdict::Wrong(exit) => exit,
    });
    exits.fold(Exit::Proved, Exit::or_worse)
}

/// Says it to people.
pub fn text(checks: &[Check]) -> String {
    let mut text = String::new();
    let mut line = |content: String| {
        writeln!(text, "{content}").expect("writing to a string can't fail");
    };
    for check in checks {
        let what = match &check.channel {
            Some(channel) => format!("{channel}, {}", check.name),
            None => check.name.to_owned(),
        };
        let message = check.message.replace('\n', "\n           ");
        line(format!("{:<9}{what}: {message}", check.verdict.label()));
        if let Some(advice) = &check.advice {
            line(format!(
                "           {}",
                advice.replace('\n', "\n           ")
            ));
        }
    }
    let count =
        |is: &dyn Fn(Verdict) -> bool| checks.iter().filter(|check| is(check.verdict)).count();
    let wrong = count(&|verdict| matches!(verdict, Verdict::Wrong(_)));
    let warnings = count(&|verdict| verdict == Verdict::Warning);
    line(format!(
        "{}: {wrong} wrong, {}.",
        number(checks.len(), "check", "checks"),
        number(warnings, "warning", "warnings")
    ));
    text
}

/// Says it to programs.
pub fn json(checks: &[Check]) -> String {
    let list: Vec<_> = checks
        .iter()
        .map(|check| {
            json!({
                "check": check.name,
                "channel": check.channel.as_ref().map(ChannelName::as_str),
                "verdict": check.verdict.label(),
                "message": check.message,
                "advice": check.advice,
            })
        })
        .collect();
    let report = json!({
        "schema": 1,
        "ok": exit(checks) == Exit::Proved,
        "checks": list,
    });
    format!("{report:#}\n")
}
