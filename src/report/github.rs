//! What a job of GitHub Actions is told beside the ordinary output: masks, annotations, the step's summary, and outputs.
//!
//! Invariant: whatever others wrote, articles and services, is never a workflow command, nor Markdown or HTML in the
//! summary, nor a further output.

mod annotate;
mod command;
mod outputs;
mod summary;

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;

use crate::environment::Environment;
use crate::error::Failure;
use crate::exit::Exit;
use crate::secret::Secret;

use self::annotate::annotation;
use self::command::Level;
use self::outputs::Outputs;
use self::summary::Facts;
use super::digest::Digest;

/// GitHub refuses a summary of more than 1 MiB, and some of it may be other programs' of the same step.
const SUMMARY_BYTES_MAX: u64 = 1_024 * 1_024 - 4_096;
/// What a URL need not encode stays as it is, as other programs would write it.
const IN_URLS: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');
/// Lines of a result that are shown without a group around them.
const LINES_UNGROUPED_MAX: usize = 40;

/// A secret and whom it is sent for.
#[derive(Debug)]
pub struct Masked {
    /// The secret.
    pub secret: Secret,
    /// The account's name, where it is sent beside the secret.
    pub user: Option<String>,
}

/// The job that this program runs in.
#[derive(Clone, Debug)]
pub struct GitHub {
    /// Random letters that nothing that is printed can know. The runner takes them for a secret from then on, so
    /// that they are in no output.
    token: String,
    /// Other ones, for names of files.
    name: String,
    summary: Option<PathBuf>,
    output: Option<PathBuf>,
    temporary: Option<PathBuf>,
    workspace: Option<PathBuf>,
}

/// How a command ended.
#[derive(Debug)]
pub struct Ended<'a> {
    /// The command's word.
    pub word: &'a str,
    /// The exit code's meaning, whatever counts as a failure.
    pub exit: Exit,
    /// Whether that exit code counts as a success here.
    pub passes: bool,
    /// What it found.
    pub digest: Option<&'a Digest>,
    /// Why it could not do its work.
    pub failure: Option<&'a Failure>,
    /// What it printed.
    pub told: &'a str,
    /// The repository's top, which sources are relative to.
    pub top: Option<&'a Path>,
}

impl GitHub {
    /// Returns the job, if the environment is one of GitHub Actions. `token` and `name` are random, and not the same.
    pub fn of(environment: &Environment, token: String, name: String) -> Option<Self> {
        let path = |name: &str| environment.get(name).map(PathBuf::from);
        (environment.get("GITHUB_ACTIONS") == Some("true")).then(|| Self {
            token,
            name,
            summary: path("GITHUB_STEP_SUMMARY"),
            output: path("GITHUB_OUTPUT"),
            temporary: path("RUNNER_TEMP"),
            workspace: path("GITHUB_WORKSPACE"),
        })
    }

    /// Returns the lines that keep secrets out of the log.
    pub(super) fn masks(secrets: &[Masked]) -> Vec<String> {
        let mut values = Vec::new();
        for Masked { secret, user } in secrets {
            let plain = secret.expose();
            let encoded = utf8_percent_encode(plain, IN_URLS).to_string();
            values.extend([plain.to_owned(), encoded, STANDARD.encode(plain)]);
            if let Some(user) = user {
                values.push(STANDARD.encode(format!("{user}:{plain}")));
            }
            // The runner masks by the line.
            values.extend(plain.lines().map(str::to_owned));
        }
        let mut lines: Vec<String> = Vec::new();
        for value in values {
            // A mask of a letter or two would blank out the log.
            let line = command::command("add-mask", &[], &value);
            if value.trim().len() > 3 && !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines
    }

    /// Returns the line from which on nothing is a command.
    pub(super) fn stop(&self) -> String {
        command::command("stop-commands", &[], &self.token)
    }

    /// Returns the line after which commands count again.
    pub(super) fn resume(&self) -> String {
        command::command(&self.token, &[], "")
    }

    /// Returns the lines around a long result.
    pub(super) fn group(word: &str, text: &str) -> Option<[String; 2]> {
        (text.lines().count() > LINES_UNGROUPED_MAX).then(|| {
            let title = format!("What sayonce {word} says");
            [
                command::command("group", &[], &title),
                command::command("endgroup", &[], ""),
            ]
        })
    }

    /// Keeps a text from being a command.
    pub(super) fn harmless(text: &str) -> String {
        command::harmless(text)
    }

    /// Keeps JSON from being a command; it means the same.
    pub(super) fn harmless_json(text: &str) -> String {
        command::harmless_json(text)
    }

    /// Writes summary and outputs, and returns the annotations as lines.
    pub(super) fn end(&self, ended: &Ended<'_>) -> Vec<String> {
        let waiting = ended
            .digest
            .filter(|_| ended.exit == Exit::WorkRemains)
            .map(summary::waiting);
        let mut annotations = self.annotations(ended, waiting.as_deref());
        let outputs = Outputs::of(ended);
        let mut told = Vec::new();
        if let Some(path) = &self.summary {
            let waiting = waiting.as_deref();
            told.push(Self::write_summary(path, ended, waiting, &outputs.cut));
        }
        told.extend(self.write_outputs(ended, &outputs));
        let troubles = told.into_iter().filter_map(Result::err);
        annotations.extend(troubles.map(|message| annotation(Level::Warning, message)));
        command::annotations(&annotations)
    }

    fn write_summary(
        path: &Path,
        ended: &Ended<'_>,
        waiting: Option<&str>,
        cut: &[&str],
    ) -> Result<(), String> {
        let written = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        let room = SUMMARY_BYTES_MAX.saturating_sub(written);
        let facts = Facts {
            word: ended.word,
            exit: ended.exit,
            passes: ended.passes,
            digest: ended.digest,
            failure: ended.failure,
            waiting,
            told: ended.told,
            cut,
        };
        let text = summary::summary(&facts, usize::try_from(room).unwrap_or(usize::MAX));
        if text.is_empty() {
            return Err("the step's summary is full already: nothing was added".to_owned());
        }
        append(path, &text)
    }

    fn write_outputs(&self, ended: &Ended<'_>, outputs: &Outputs) -> [Result<(), String>; 2] {
        let (report, trouble) = match self.write_report(ended) {
            Ok(path) => (path, Ok(())),
            Err(message) => (String::new(), Err(message)),
        };
        let Some(path) = &self.output else {
            return [trouble, Ok(())];
        };
        // A random delimiter: no value can end itself and go on as another output.
        let delimiter = format!("sayonce-{}", self.name);
        let lines: Vec<_> = outputs
            .values
            .iter()
            .chain([&("report", report)])
            .map(|(name, value)| format!("{name}<<{delimiter}\n{value}\n{delimiter}\n"))
            .collect();
        [trouble, append(path, &lines.concat())]
    }

    /// Writes the whole report where later steps find it, and returns the path.
    fn write_report(&self, ended: &Ended<'_>) -> Result<String, String> {
        let Some(directory) = &self.temporary else {
            return Ok(String::new());
        };
        let word = ended.word.replace(' ', "-");
        let path = directory.join(format!("sayonce-{word}-{}.json", self.name));
        let text = match (ended.digest, ended.failure) {
            (Some(digest), _) => digest.report.clone(),
            (None, Some(failure)) => {
                let error = failure.error.chain().map(ToString::to_string);
                let error: Vec<_> = error.collect();
                let exit = ended.exit.code();
                format!(
                    "{:#}\n",
                    json!({ "schema": 1, "error": error, "hints": failure.hints, "exit": exit })
                )
            }
            (None, None) => {
                let exit = ended.exit.code();
                format!(
                    "{:#}\n",
                    json!({ "schema": 1, "told": ended.told, "exit": exit })
                )
            }
        };
        std::fs::write(&path, text).map_err(|error| {
            format!("the report can't be written to {}: {error}", path.display())
        })?;
        Ok(path.display().to_string())
    }
}

fn append(path: &Path, text: &str) -> Result<(), String> {
    let opened = OpenOptions::new().append(true).create(true).open(path);
    opened
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| format!("{} can't be written: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_in_every_form_they_are_sent_in() {
        let secrets = [
            Masked {
                secret: Secret::new("pa%ss/1").unwrap(),
                user: Some("blog.example".to_owned()),
            },
            Masked {
                secret: Secret::new("first\nsecond").unwrap(),
                user: None,
            },
            Masked {
                secret: Secret::new("abc").unwrap(),
                user: None,
            },
        ];
        insta::assert_snapshot!(GitHub::masks(&secrets).join("\n"), @r"
        ::add-mask::pa%25ss/1
        ::add-mask::pa%2525ss%252F1
        ::add-mask::cGElc3MvMQ==
        ::add-mask::YmxvZy5leGFtcGxlOnBhJXNzLzE=
        ::add-mask::first%0Asecond
        ::add-mask::first%250Asecond
        ::add-mask::Zmlyc3QKc2Vjb25k
        ::add-mask::first
        ::add-mask::second
        ::add-mask::YWJj
        ");
    }

    #[test]
    fn there_is_no_job_elsewhere() {
        let of = |environment: Environment| {
            GitHub::of(&environment, "0123".to_owned(), "4567".to_owned())
        };
        assert!(of(Environment::default()).is_none());
        assert!(of(Environment::of([("GITHUB_ACTIONS", "false")])).is_none());
        assert!(of(Environment::of([("GITHUB_ACTIONS", "true")])).is_some());
    }
}
