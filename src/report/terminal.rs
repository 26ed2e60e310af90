//! Standard output and standard error. The only file that prints.

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use anstyle::{AnsiColor, Style};
use chrono_tz::Tz;
use indicatif::{ProgressBar, ProgressStyle};

use crate::error::Failure;
use crate::exit::Exit;
use crate::model::notice::Notice;

use super::digest::Digest;
use super::github::{Ended, GitHub, Masked};
use super::notices::{Tone, line};

/// How often a live line moves.
const LIVE_TICK: std::time::Duration = std::time::Duration::from_millis(120);

/// Where results and notices go.
#[derive(Debug)]
pub struct Terminal {
    timezone: Tz,
    is_live: bool,
    live: Option<ProgressBar>,
    job: Option<Job>,
}

/// What is kept until the end of a command in a job of GitHub Actions.
#[derive(Debug)]
struct Job {
    github: GitHub,
    word: &'static str,
    /// Whether standard output is for programs.
    prints_json: bool,
    /// Whether what is printed now is no command.
    is_stopped: bool,
    /// Where the last text went: the runner reads the two streams in no certain order.
    last: Stream,
    told: String,
    digest: Option<Digest>,
    top: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stream {
    Output,
    Error,
}

impl Terminal {
    /// Prints times in `timezone`. A live line is shown where standard error is a terminal.
    pub fn new(timezone: Tz) -> Self {
        Self {
            timezone,
            is_live: std::io::stderr().is_terminal(),
            live: None,
            job: None,
        }
    }

    /// Prints for a job of GitHub Actions from now on.
    pub fn enter(&mut self, github: GitHub) {
        self.job = Some(Job {
            github,
            word: "action",
            prints_json: false,
            is_stopped: false,
            last: Stream::Error,
            told: String::new(),
            digest: None,
            top: None,
        });
    }

    /// Whether this is a job of GitHub Actions: then it wants a digest of what a command finds.
    pub const fn is_in_job(&self) -> bool {
        self.job.is_some()
    }

    /// Begins a command: masks its secrets, and lets nothing that is printed be a workflow command.
    pub fn begin(&mut self, word: &'static str, prints_json: bool, secrets: &[Masked]) {
        let Some(job) = &mut self.job else {
            return;
        };
        (job.word, job.prints_json) = (word, prints_json);
        write_lines(Stream::Error, &GitHub::masks(secrets));
    }

    /// Takes what a command found, for the summary, the annotations, and the outputs.
    pub fn digest(&mut self, top: &Path, digest: Digest) {
        if let Some(job) = &mut self.job {
            job.digest = Some(digest);
            job.top = Some(top.to_owned());
        }
    }

    /// Ends a command; `passes`: its exit code counts as a success here.
    pub fn end(&mut self, exit: Exit, failure: Option<&Failure>, passes: bool) {
        self.clear();
        let Some(mut job) = self.job.take() else {
            return;
        };
        job.resume();
        let lines = job.github.end(&Ended {
            word: job.word,
            exit,
            passes,
            digest: job.digest.as_ref(),
            failure,
            told: &job.told,
            top: job.top.as_deref(),
        });
        write_lines(job.last, &lines);
    }

    /// Prints times in another timezone from now on.
    pub fn set_timezone(&mut self, timezone: Tz) {
        self.timezone = timezone;
    }

    /// Tells a notice on standard error.
    pub fn tell(&mut self, notice: &Notice) {
        let (tone, text) = line(notice, self.timezone);
        let text = obeyed_by_none(&text);
        self.clear();
        if self.is_live && matches!(notice, Notice::Waiting { .. }) {
            let bar = ProgressBar::new_spinner().with_message(text);
            if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(LIVE_TICK);
            self.live = Some(bar);
            return;
        }
        if self.job.is_some() {
            return self.error_line(&text);
        }
        let style = match tone {
            Tone::Good => AnsiColor::Green.on_default(),
            Tone::Plain => Style::new(),
            Tone::Warning => AnsiColor::Yellow.on_default(),
        };
        self.write_error(&format!("{style}{text}{style:#}"));
    }

    /// Writes a line to standard error.
    pub fn error_line(&mut self, text: &str) {
        self.write_error(&obeyed_by_none(text));
    }

    fn write_error(&mut self, text: &str) {
        self.clear();
        if let Some(job) = &mut self.job {
            job.stop();
            job.last = Stream::Error;
            let text = GitHub::harmless(&plain(text));
            drop(writeln!(anstream::stderr(), "{text}"));
            return;
        }
        // Nobody listens on a closed pipe; the work goes on.
        drop(writeln!(anstream::stderr(), "{text}"));
    }

    /// Writes the result to standard output.
    pub fn result(&mut self, text: &str) {
        self.clear();
        let text = &obeyed_by_none(text);
        let Some(job) = &mut self.job else {
            write_result(text);
            return;
        };
        job.told.push_str(text);
        if job.prints_json {
            write_result(&GitHub::harmless_json(text));
            return;
        }
        // Commands are on the same stream as the text they are about, whose order is certain.
        job.resume();
        job.last = Stream::Output;
        let group = GitHub::group(job.word, text);
        let (before, after) = match &group {
            Some([before, after]) => (format!("{before}\n"), format!("{after}\n")),
            None => (String::new(), String::new()),
        };
        let text = GitHub::harmless(&plain(text));
        let (stop, resume) = (job.github.stop(), job.github.resume());
        write_result(&format!(
            "{before}{stop}\n{}\n{resume}\n{after}",
            text.trim_end_matches('\n')
        ));
    }

    fn clear(&mut self) {
        if let Some(bar) = self.live.take() {
            bar.finish_and_clear();
        }
    }
}

impl Job {
    fn stop(&mut self) {
        if !self.is_stopped {
            self.is_stopped = true;
            write_lines(Stream::Error, &[self.github.stop()]);
        }
    }

    fn resume(&mut self) {
        if self.is_stopped {
            self.is_stopped = false;
            write_lines(Stream::Error, &[self.github.resume()]);
        }
    }
}

/// Takes escape sequences away: what is behind one could else begin its line.
fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

/// Nobody listens on a closed pipe; the work goes on.
fn write_result(text: &str) {
    let mut stdout = anstream::stdout();
    drop(
        stdout
            .write_all(text.as_bytes())
            .and_then(|()| stdout.flush()),
    );
}

fn write_lines(stream: Stream, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    let text = format!("{}\n", lines.join("\n"));
    match stream {
        Stream::Output => write_result(&text),
        Stream::Error => drop(anstream::stderr().write_all(text.as_bytes())),
    }
}

/// Takes away what a terminal would obey: much of what is shown was written by others. Line breaks and tabs stay.
fn obeyed_by_none(text: &str) -> String {
    text.chars()
        .map(|letter| match letter {
            '\n' | '\t' => letter,
            _ if letter.is_control() => '\u{fffd}',
            _ => letter,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_shown_moves_the_cursor() {
        assert_eq!(
            obeyed_by_none("one\n\ttwo\r\u{1b}[2Kthree\u{9b}1A\u{7}é"),
            "one\n\ttwo\u{fffd}\u{fffd}[2Kthree\u{fffd}1A\u{fffd}é"
        );
    }
}
