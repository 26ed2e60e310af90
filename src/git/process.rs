//! Starts the `git` program. Nothing else in this crate starts a program.
//!
//! Invariant: a call ends at its deadline, whatever the network does; it never asks a question; and what it printed
//! leaves this file without credentials.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::environment::Environment;

/// Nothing that we ask git for is longer, a whole configuration included.
const OUTPUT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// How long a program that closed its output may take to end.
const EXIT_POLL: Duration = Duration::from_millis(2);

/// How long to wait for the last words of a program that was killed; a grandchild may still hold its pipes.
const KILLED_OUTPUT_WAIT: Duration = Duration::from_millis(100);

/// Longest time for a question that git answers from the disk.
pub const LOCAL_TIMEOUT: Duration = Duration::from_mins(1);

/// The environment of a repository that we may have been started from (by a hook, an alias, `git rebase --exec`).
/// `GIT_CONFIG_COUNT` and its kin stay: CI systems hand credentials over in them.
const LEFT_OUT: [&str; 18] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_LITERAL_PATHSPECS",
    "GIT_NAMESPACE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
    "LANGUAGE",
    "LC_ALL",
];

/// Settings of every call: no hooks, no housekeeping behind our back, no transfer that stands still, no signature
/// that would ask for a passphrase.
const SETTINGS: [&str; 16] = [
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
    "-c",
    "http.lowSpeedLimit=1",
    "-c",
    "http.lowSpeedTime=10",
    "-c",
    "push.gpgSign=false",
    "-c",
    "fetch.writeCommitGraph=false",
    "-c",
    "advice.pushUpdateRejected=false",
];

/// The `git` program, to be run inside one repository.
///
/// Inside, because credentials may be bound to its directory (`includeIf.gitdir`).
#[derive(Debug)]
pub struct Git {
    directory: PathBuf,
    environment: Environment,
    own_ssh: OwnSsh,
}

/// Whether the user chose the ssh command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnSsh {
    /// By environment or configuration: it is left as it is.
    Chosen,
    /// No: ours is set, which asks no question and notices a dead line.
    Default,
}

/// What a call came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// How it ended.
    pub ending: Ending,
    /// Standard output, without credentials.
    pub stdout: String,
    /// Standard error, without credentials.
    pub stderr: String,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with this code.
    Code(i32),
    /// By a signal that was not ours.
    Signal,
    /// We ended it at its deadline.
    TimedOut,
}

/// Why a program did not run at all.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// git is missing, or can't be started there.
    #[error("git can't be started in {directory}")]
    Start {
        /// Where it was to run.
        directory: String,
        /// The system's answer.
        #[source]
        source: std::io::Error,
    },
    /// The system lost track of it.
    #[error("git can't be waited for")]
    Wait(#[source] std::io::Error),
}

impl Finished {
    /// Whether it ended with code 0.
    pub fn succeeded(&self) -> bool {
        self.ending == Ending::Code(0)
    }

    /// Returns what it said last, in one line, for a message to people.
    pub fn words(&self) -> String {
        one_line(&self.said())
    }

    fn said(&self) -> String {
        let said: Vec<&str> = self
            .stderr
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with("hint:"))
            .collect();
        let shown = said
            .get(said.len().saturating_sub(WORDS_LINES)..)
            .unwrap_or(&said);
        match (self.ending, shown) {
            (Ending::TimedOut, []) => "git did not end in time".to_owned(),
            (Ending::TimedOut, shown) => {
                format!("git did not end in time; it said: {}", shown.join("; "))
            }
            (Ending::Signal, []) => "git was killed".to_owned(),
            (Ending::Code(code), []) => format!("git ended with code {code}"),
            (Ending::Signal | Ending::Code(_), shown) => shown.join("; "),
        }
    }
}

/// Returns a text on one line. A remote's hooks may print anything, also what a terminal would obey.
pub(super) fn one_line(text: &str) -> String {
    text.chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect()
}

/// Lines of git's own words that a message repeats.
const WORDS_LINES: usize = 6;

impl Git {
    /// Prepares calls in `directory` with a copy of the environment.
    pub fn new(directory: &Path, environment: &Environment) -> Self {
        let chosen = ["GIT_SSH_COMMAND", "GIT_SSH"]
            .iter()
            .any(|name| environment.get(name).is_some());
        Self {
            directory: directory.to_owned(),
            environment: environment.clone(),
            own_ssh: if chosen {
                OwnSsh::Chosen
            } else {
                OwnSsh::Default
            },
        }
    }

    /// Leaves ssh to the user's configuration.
    #[must_use]
    pub fn with_own_ssh(self) -> Self {
        Self {
            own_ssh: OwnSsh::Chosen,
            ..self
        }
    }

    /// Runs `git` with `arguments` and waits for at most `deadline` of the machine's own time.
    pub fn run(&self, arguments: &[&str], deadline: Duration) -> Result<Finished, ProcessError> {
        let started = machine_now();
        let mut child = self
            .command(arguments)
            .spawn()
            .map_err(|source| ProcessError::Start {
                directory: self.directory.display().to_string(),
                source,
            })?;
        let stdout = read_aside(child.stdout.take());
        let stderr = read_aside(child.stderr.take());
        let left = || deadline.saturating_sub(machine_now().saturating_duration_since(started));
        let waited = wait_for_end(&mut child, &stdout, &stderr, &left);
        let (ending, out, err) = if let Some(end) = waited.map_err(ProcessError::Wait)? {
            let ending = end.status.code().map_or(Ending::Signal, Ending::Code);
            (ending, end.stdout, end.stderr)
        } else {
            // Already ended, or not killable: either way nothing more can be done about it.
            drop(child.kill());
            drop(child.wait());
            let rest = |output: &Receiver<Vec<u8>>| {
                output.recv_timeout(KILLED_OUTPUT_WAIT).unwrap_or_default()
            };
            (Ending::TimedOut, rest(&stdout), rest(&stderr))
        };
        Ok(Finished {
            ending,
            stdout: scrub_urls(&String::from_utf8_lossy(&out)),
            stderr: scrub_urls(&String::from_utf8_lossy(&err)),
        })
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "this is the place that starts git"
    )]
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        command
            .args(SETTINGS)
            .args(arguments)
            .current_dir(&self.directory)
            .env_clear()
            .envs(
                self.environment
                    .iter()
                    .filter(|(name, _)| !LEFT_OUT.contains(name)),
            )
            .env("LC_ALL", "C")
            .env("GIT_TERMINAL_PROMPT", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if self.own_ssh == OwnSsh::Default {
            command.env(
                "GIT_SSH_COMMAND",
                "ssh -o BatchMode=yes -o ConnectTimeout=15 -o ServerAliveInterval=10 -o ServerAliveCountMax=3",
            );
        }
        // A group of its own: Ctrl-C at the terminal must not cut a push in half.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command
    }
}

/// What a program left when it ended.
struct End {
    status: ExitStatus,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

/// Returns none when the time is up.
fn wait_for_end(
    child: &mut Child,
    stdout: &Receiver<Vec<u8>>,
    stderr: &Receiver<Vec<u8>>,
    left: &impl Fn() -> Duration,
) -> std::io::Result<Option<End>> {
    let receive = |output: &Receiver<Vec<u8>>| match output.recv_timeout(left()) {
        Ok(bytes) => Some(bytes),
        Err(RecvTimeoutError::Timeout) => None,
        Err(RecvTimeoutError::Disconnected) => Some(Vec::new()),
    };
    let Some(out) = receive(stdout) else {
        return Ok(None);
    };
    let Some(err) = receive(stderr) else {
        return Ok(None);
    };
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(End {
                status,
                stdout: out,
                stderr: err,
            }));
        }
        if left().is_zero() {
            return Ok(None);
        }
        machine_sleep(EXIT_POLL);
    }
}

/// Reads a pipe on a thread, so that neither pipe can fill up while we wait for the other. The thread is not
/// waited for: a grandchild may hold the pipe open for longer than the deadline.
fn read_aside(pipe: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        if let Some(mut pipe) = pipe {
            let mut chunk = [0; 8 * 1024];
            while let Ok(length) = pipe.read(&mut chunk) {
                if length == 0 {
                    break;
                }
                // Past the limit it is read on and dropped: a full pipe would stop git.
                let room = OUTPUT_BYTES_MAX.saturating_sub(kept.len());
                kept.extend(chunk.iter().take(length.min(room)));
            }
        }
        drop(sender.send(kept));
    });
    receiver
}

/// Removes user and password from every URL in `text`: git repeats the remote's address in its messages.
pub fn scrub_urls(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        clean.push_str(before);
        clean.push_str("://");
        let end = after
            .find(|letter: char| {
                letter.is_whitespace() || matches!(letter, '/' | '\'' | '"' | '<' | '>' | '?' | '#')
            })
            .unwrap_or(after.len());
        let (authority, following) = after.split_at(end);
        match authority.rsplit_once('@') {
            Some((_credentials, host)) => {
                clean.push_str("***@");
                clean.push_str(host);
            }
            None => clean.push_str(authority),
        }
        rest = following;
    }
    clean.push_str(rest);
    clean
}

#[expect(
    clippy::disallowed_methods,
    reason = "a child process lives in the machine's time, whatever the run's clock tells"
)]
fn machine_now() -> Instant {
    Instant::now()
}

#[expect(
    clippy::disallowed_methods,
    reason = "a child process lives in the machine's time, whatever the run's clock tells"
)]
fn machine_sleep(duration: Duration) {
    std::thread::sleep(duration);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_in_addresses_are_scrubbed() {
        let check = scrub_urls;
        assert_eq!(
            check("fatal: unable to access 'https://bot:s3cret@git.example/a.git/': 403"),
            "fatal: unable to access 'https://***@git.example/a.git/': 403"
        );
        assert_eq!(
            check("To ssh://git@git.example:22/a.git\nTo https://t@k:en@h/x and http://plain/y"),
            "To ssh://***@git.example:22/a.git\nTo https://***@h/x and http://plain/y"
        );
        assert_eq!(check("https://token@"), "https://***@");
        assert_eq!(check("no address, a@b"), "no address, a@b");
    }

    #[test]
    fn git_runs_in_english_without_the_repository_around_it() {
        let environment = Environment::of([
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("GIT_DIR", "/nowhere"),
            ("LC_ALL", "de_DE.UTF-8"),
        ]);
        let directory = tempfile::tempdir().unwrap();
        let git = Git::new(directory.path(), &environment);
        let finished = git.run(&["rev-parse", "--git-dir"], LOCAL_TIMEOUT).unwrap();
        assert_eq!(finished.ending, Ending::Code(128));
        assert!(
            finished.words().starts_with("fatal: not a git repository"),
            "{finished:?}"
        );
    }

    #[test]
    fn a_call_ends_at_its_deadline() {
        let environment = Environment::of([("PATH", "/usr/local/bin:/usr/bin:/bin")]);
        let directory = tempfile::tempdir().unwrap();
        let git = Git::new(directory.path(), &environment);
        let arguments = ["-c", "alias.hang=!exec sleep 600", "hang"];
        let finished = git.run(&arguments, Duration::from_millis(300)).unwrap();
        assert_eq!(finished.ending, Ending::TimedOut);
        assert_eq!(finished.words(), "git did not end in time");
    }
}
