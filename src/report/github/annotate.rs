//! Annotations: what GitHub shows beside the job, and at the lines of files.

use std::path::{Path, PathBuf};

use crate::config::ConfigError;
use crate::error::Failure;
use crate::exit::Exit;
use crate::plan::outlook::Outlook;
use crate::report::digest::{Digest, NextRun, Shown};
use crate::report::notices::state_words;

use super::command::{Annotation, Level};
use super::{Ended, GitHub};

impl GitHub {
    /// Says what is worth a line beside the job.
    pub(super) fn annotations(&self, ended: &Ended<'_>, waiting: Option<&str>) -> Vec<Annotation> {
        let mut all = Vec::new();
        // The one warning of exit code 6 says all that needs saying.
        let (bad, odd) = match (ended.exit, ended.passes) {
            (Exit::WorkRemains, _) => (Level::Notice, Level::Notice),
            (Exit::Proved, _) | (_, true) => (Level::Warning, Level::Warning),
            (_, false) => (Level::Error, Level::Warning),
        };
        match (ended.exit, waiting) {
            (Exit::WorkRemains, waiting) => all.push(annotation(
                Level::Warning,
                waiting
                    .unwrap_or("work remains for the next run: nothing needs doing")
                    .to_owned(),
            )),
            (exit, _) if ended.passes => all.push(annotation(
                Level::Warning,
                format!(
                    "ended with exit code {}, which counts as a success here",
                    exit.code()
                ),
            )),
            _ => {}
        }
        if let Some(failure) = ended.failure {
            all.extend(self.of_failure(failure, bad));
        }
        let Some(digest) = ended.digest else {
            return all;
        };
        all.extend(
            digest
                .problems
                .iter()
                .map(|text| self.placed(bad, ended.top, text)),
        );
        for delivery in digest.lines() {
            if matches!(
                delivery.weight(),
                Exit::Refused | Exit::NeedsPerson | Exit::Ledger
            ) {
                let file = digest.sources.get(&delivery.id.item);
                all.push(Annotation {
                    level: bad,
                    place: file.map(|file| (self.in_workspace(ended.top, file), None)),
                    message: about(delivery, digest),
                });
            }
        }
        all.extend(
            digest
                .alarms
                .iter()
                .map(|text| annotation(odd, text.clone())),
        );
        if digest.shown == Shown::Unsettled {
            // A job that runs every hour need not say them each time.
            let notices = digest.notices.iter();
            all.extend(notices.map(|text| self.placed(Level::Notice, ended.top, text)));
        }
        if let (NextRun::Nobody(sentence), None) = (&digest.next_run, waiting) {
            all.push(annotation(Level::Notice, sentence.clone()));
        }
        all
    }

    fn of_failure(&self, failure: &Failure, level: Level) -> Vec<Annotation> {
        let Some(config) = failure.error.downcast_ref::<ConfigError>() else {
            let mut lines: Vec<_> = failure.error.chain().map(ToString::to_string).collect();
            lines.extend(failure.hints.iter().map(|hint| format!("hint: {hint}")));
            return vec![annotation(level, lines.join("\n"))];
        };
        let problems = config.problems.iter().map(|problem| {
            let hint = problem.hint.iter().map(|hint| format!("\nhint: {hint}"));
            Annotation {
                level,
                place: Some((
                    self.in_workspace(None, &problem.file.display().to_string()),
                    problem.line,
                )),
                message: format!("{}{}", problem.message, hint.collect::<String>()),
            }
        });
        problems.collect()
    }

    /// A sentence that begins with its file and line is shown there.
    fn placed(&self, level: Level, top: Option<&Path>, sentence: &str) -> Annotation {
        let place = sentence.split_once(": ").and_then(|(place, message)| {
            let (file, line) = place.rsplit_once(':')?;
            let is_path = !file.contains(char::is_whitespace);
            let line = line.parse().ok().filter(|_| is_path)?;
            Some((file, line, message))
        });
        match place {
            Some((file, line, message)) => Annotation {
                level,
                place: Some((self.in_workspace(top, file), Some(line))),
                message: message.to_owned(),
            },
            None => annotation(level, sentence.to_owned()),
        }
    }

    /// Annotations name files as the workspace does.
    fn in_workspace(&self, top: Option<&Path>, file: &str) -> String {
        let path = top.map_or_else(|| PathBuf::from(file), |top| top.join(file));
        let workspace = self.workspace.as_deref();
        let workspace = workspace.and_then(|workspace| workspace.canonicalize().ok());
        workspace
            .and_then(|workspace| path.strip_prefix(workspace).ok().map(Path::to_owned))
            .map_or_else(|| file.to_owned(), |path| path.display().to_string())
    }
}

pub(super) fn annotation(level: Level, message: String) -> Annotation {
    Annotation {
        level,
        place: None,
        message,
    }
}

fn about(delivery: &Outlook, digest: &Digest) -> String {
    let words = state_words(delivery.operation, delivery.state, None, chrono_tz::UTC);
    let mut text = format!("{}: {words}", delivery.id);
    if let Some(reason) = &delivery.reason {
        text = format!("{text}: {reason}");
    }
    let commands = digest.remedies(delivery);
    if !commands.is_empty() {
        text = format!(
            "{text}\nAnswer it with the `command` input of a manual run: {}",
            commands.join(", or: ")
        );
    }
    text
}
