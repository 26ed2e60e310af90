//! Kept rehearsals: a blog, its stand-ins and its ledger's remote in one directory, at a speed at which hours pass in
//! a second. The next run may find the disk as it was left, or only what was on the remote and at the services.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use sayonce::clock::{Clock as _, SystemClock};
use sayonce::environment::Environment;
use sayonce::model::channel::Kind;
use sayonce::model::time::Timestamp;
use sayonce::sandbox::Sandbox;
use serde_json::json;
use tempfile::TempDir;

use super::checker::{Moment, check};
use super::evidence::{self, Evidence};
use crate::cli::program::{Program, Ran};

/// Two seconds of real time for an answer, as on a busy machine, are 20,000 s here.
pub(crate) const FAST: Pace = Pace {
    speed: 10_000,
    lines: "timeout = \"20000s\"",
};

/// Later than any claim's quiet point.
const LATER: Duration = Duration::from_hours(72);

/// Runs that may be needed after a kill.
const RUNS_MAX: usize = 3;

/// How long a program that lost its parent may go on.
const ORPHAN_LIMIT: Duration = Duration::from_secs(30);

/// How fast a rehearsal is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// What every wait is divided by.
    pub(crate) speed: u32,
    /// What stands in every channel.
    pub(crate) lines: &'static str,
}

/// What a number of kept rehearsals have in common.
#[derive(Debug)]
pub(crate) struct Stage {
    root: TempDir,
    channels: Vec<(String, Kind)>,
    speed: u32,
}

/// One kept rehearsal.
#[derive(Debug)]
pub(crate) struct Kept<'a> {
    stage: &'a Stage,
    pub(crate) directory: PathBuf,
    /// The remote's end of a push may be killed here.
    pub(crate) remote_was_killed: bool,
}

/// What a run starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// Nothing at all: the repositories are made, and the remote notes no pushes.
    Nothing,
    /// A repository with a clone, and no row in it.
    Clone,
}

/// What is left for the next run, and when it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// At once, on the same disk; what the killed run had started may still be at work.
    AtOnce,
    /// Days later, on the same disk.
    Later,
    /// Days later; the disk with the clone is gone.
    Elsewhere,
}

impl Next {
    pub(crate) const ALL: [Self; 3] = [Self::AtOnce, Self::Later, Self::Elsewhere];
}

/// A channel for each policy.
pub(crate) const POLICIES: [(&str, Kind); 4] = [
    ("search", Kind::IndexNow),
    ("bluesky", Kind::Bluesky),
    ("mastodon", Kind::Mastodon),
    ("devto", Kind::Devto),
];

impl Stage {
    /// A blog of some articles with some channels.
    pub(crate) fn new(channels: &[(&str, Kind)], articles: usize, pace: Pace) -> Self {
        let stage = Self {
            root: tempfile::tempdir().unwrap(),
            channels: channels
                .iter()
                .map(|(name, kind)| ((*name).to_owned(), *kind))
                .collect(),
            speed: pace.speed,
        };
        for name in ["site", "home"] {
            std::fs::create_dir(stage.path(name)).unwrap();
        }
        std::fs::write(
            stage.path("site/sayonce.toml"),
            configuration(channels, pace.lines),
        )
        .unwrap();
        // The template: a clone, a remote, and nothing to announce.
        stage.write_articles(0);
        let template = stage.nothing("template");
        let ran = template.run();
        assert_eq!(ran.code(), Some(0), "{ran:?}");
        // Each copy opens ports of its own.
        std::fs::remove_dir_all(template.directory.join("services")).unwrap();
        write_executable(
            &template.directory.join("remote.git/hooks/post-receive"),
            evidence::NOTE_LENGTHS,
        );
        stage.write_articles(articles);
        stage
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn write_articles(&self, count: usize) {
        let items: Vec<_> = (1..=count)
            .map(|number| {
                json!({
                    "url": format!("https://blog.example/article-{number}/"),
                    "title": format!("Article {number}"),
                    "date": format!("2026-01-{number:02}T09:00:00Z"),
                })
            })
            .collect();
        let text = json!({ "items": items }).to_string();
        std::fs::write(self.path("site/items.json"), text).unwrap();
    }

    /// A directory that a rehearsal can start in.
    pub(crate) fn kept(&self, name: &str, start: Start) -> Kept<'_> {
        match start {
            Start::Nothing => self.nothing(name),
            Start::Clone => self.copy(name),
        }
    }

    fn nothing(&self, name: &str) -> Kept<'_> {
        Kept {
            stage: self,
            directory: self.path(name),
            remote_was_killed: false,
        }
    }

    fn copy(&self, name: &str) -> Kept<'_> {
        let directory = self.path(name);
        copy_directory(&self.path("template"), &directory);
        let config = directory.join("work/.git/config");
        let text = std::fs::read_to_string(&config).unwrap();
        let (from, to) = (self.path("template"), directory.clone());
        let moved = text.replace(&from.display().to_string(), &to.display().to_string());
        assert_ne!(moved, text, "the clone names its remote");
        std::fs::write(config, moved).unwrap();
        Kept {
            stage: self,
            directory,
            remote_was_killed: false,
        }
    }
}

impl Kept<'_> {
    /// The arguments of the command that is rehearsed here.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let directory = self.directory.display().to_string();
        let speed = self.stage.speed.to_string();
        let all = [
            "rehearse", "--format", "json", "--speed", &speed, "--keep", &directory,
        ];
        all.map(str::to_owned).to_vec()
    }

    /// A program in the site's directory.
    pub(crate) fn program(&self, program: impl AsRef<std::ffi::OsStr>) -> Program {
        Program::new(program, &self.stage.path("site"), &self.stage.path("home"))
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.stage.path("home")
    }

    pub(crate) fn sayonce(&self) -> Program {
        let arguments = self.arguments();
        self.program(assert_cmd::cargo::cargo_bin!("sayonce"))
            .arguments(arguments.iter().map(String::as_str))
    }

    pub(crate) fn run(&self) -> Ran {
        self.sayonce().run()
    }

    /// Runs it to its end after a kill, and checks before and after. Returns what is wrong.
    pub(crate) fn continued(&self, next: Next) -> Vec<String> {
        let mut broken = self.check(Moment::Midway);
        match next {
            Next::AtOnce => {}
            Next::Later => self.wait_for_orphans(),
            Next::Elsewhere => {
                self.wait_for_orphans();
                let work = self.directory.join("work");
                if work.exists() {
                    std::fs::remove_dir_all(&work).unwrap();
                }
            }
        }
        if next != Next::AtOnce {
            self.let_time_pass();
        }
        let mut ran = self.run();
        // The remote's end of a push was killed: nothing goes on before a person has taken its locks away, and the
        // message has to say which, one at a time.
        while ran.code() == Some(3) {
            let locks = locks_in(&self.directory.join("remote.git"));
            let is_named = |lock: &&PathBuf| {
                let below = lock
                    .strip_prefix(self.directory.join("remote.git"))
                    .unwrap();
                ran.stdout
                    .contains(&format!("remote.git/./{}", below.display()))
            };
            let Some(lock) = locks.iter().find(is_named) else {
                break;
            };
            self.wait_for_orphans();
            std::fs::remove_file(lock).unwrap();
            self.let_time_pass();
            ran = self.run();
        }
        // On a busy machine an answer may come too late, and a channel be left for the next run.
        for _ in 1..RUNS_MAX {
            if !work_remains(&ran) {
                break;
            }
            self.let_time_pass();
            ran = self.run();
        }
        // 5: the channel that never sends twice asks a person.
        if ![Some(0), Some(5)].contains(&ran.code()) || work_remains(&ran) {
            broken.push(format!(
                "continued: {}\n{}{}",
                ran.status, ran.stdout, ran.stderr
            ));
        }
        broken.extend(self.check(Moment::AtRest));
        broken
    }

    pub(crate) fn evidence(&self) -> Evidence {
        let mut evidence = evidence::of_kept(&self.directory, &self.stage.channels);
        evidence.at_most_once = BTreeSet::from(["devto".to_owned()]);
        evidence.remote_was_killed = self.remote_was_killed;
        evidence.verified = BTreeSet::from(["mastodon".to_owned()]);
        evidence
    }

    pub(crate) fn check(&self, moment: Moment) -> Vec<String> {
        check(&self.evidence(), moment)
    }

    /// Lets the stand-ins' clock, which the next run goes on with, show a later day.
    pub(crate) fn let_time_pass(&self) {
        let Some(newest) = Sandbox::newest_time(&self.directory) else {
            return;
        };
        for (name, _) in &self.stage.channels {
            let path = self.directory.join(format!("services/{name}.jsonl"));
            let Ok(text) = std::fs::read_to_string(&path) else {
                continue;
            };
            let whole = text.rfind('\n').map_or(0, |end| end + 1);
            let port = text
                .lines()
                .rev()
                .find(|line| line.contains("\"line\":\"port\""));
            let Some(port) = port else { continue };
            let mut line: serde_json::Value = serde_json::from_str(port).unwrap();
            line["at"] = Timestamp::plus(newest, LATER).to_string().into();
            let kept = text.get(..whole).unwrap_or_default();
            std::fs::write(&path, format!("{kept}{line}\n")).unwrap();
        }
    }

    /// Waits until no program works in this directory: a push outlives the run that started it.
    pub(crate) fn wait_for_orphans(&self) {
        let clock = SystemClock::new();
        let Ok(here) = self.directory.canonicalize() else {
            return;
        };
        while works_in(&here) {
            assert!(
                clock.elapsed() < ORPHAN_LIMIT,
                "a program still works in {}",
                here.display()
            );
            clock.sleep(Duration::from_millis(2));
        }
    }

    /// Makes room. What came out wrong is kept where the environment says.
    pub(crate) fn remove(self, wrong: &[String]) {
        self.wait_for_orphans();
        if let Some(directory) = asked("SAYONCE_KEEP").filter(|_| !wrong.is_empty()) {
            let name = self.directory.file_name().unwrap();
            copy_directory(&self.directory, &Path::new(&directory).join(name));
        }
        // Not there: the kill came before.
        drop(std::fs::remove_dir_all(&self.directory));
    }
}

/// Whether a run has left something that the next one can do.
pub(crate) fn work_remains(ran: &Ran) -> bool {
    let Ok(report) = serde_json::from_str::<serde_json::Value>(&ran.stdout) else {
        return false;
    };
    let counts = ["in_doubt", "retry", "pending", "busy"];
    counts.iter().any(|name| report["summary"][*name] != 0)
}

/// The lock files in a repository.
fn locks_in(directory: &Path) -> Vec<PathBuf> {
    let mut locks = Vec::new();
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            locks.extend(locks_in(&path));
        } else if path.extension().is_some_and(|end| end == "lock") {
            locks.push(path);
        }
    }
    locks
}

/// Whether a program's current directory is below `directory`.
fn works_in(directory: &Path) -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return false;
    };
    processes.flatten().any(|process| {
        std::fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(directory))
    })
}

fn configuration(channels: &[(&str, Kind)], lines: &str) -> String {
    let mut text = "[site]\nurl = \"https://blog.example\"\nmanifest = \"items.json\"\n\n\
                    [ledger]\nbranch = \"sayonce\"\nclock_skew = \"0s\"\n"
        .to_owned();
    for (name, kind) in channels {
        let service = match kind {
            Kind::IndexNow => "key = \"0123456789abcdef\"",
            Kind::Bluesky => "handle = \"blog.example\"\napp_password_env = \"UNUSED\"",
            Kind::Mastodon => "server = \"https://mastodon.example\"\ntoken_env = \"UNUSED\"",
            Kind::Devto => {
                "server = \"https://dev.to\"\napi_key_env = \"UNUSED\"\npolicy = \"at_most_once\""
            }
            Kind::Http => {
                "preset = \"custom\"\nvalues = { endpoint = \"https://own.example/posts\" }\nsecrets = { token = \"UNUSED\" }"
            }
        };
        write!(
            text,
            "\n[channels.{name}]\nkind = \"{kind}\"\n{service}\ninterval = \"0s\"\n{lines}\n"
        )
        .unwrap();
    }
    text
}

pub(crate) fn write_executable(path: &Path, script: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn copy_directory(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type().unwrap().is_dir() {
            copy_directory(&from, &to);
        } else {
            std::fs::copy(&from, &to).unwrap();
        }
    }
}

/// A variable of the environment that asks for more.
pub(crate) fn asked(name: &str) -> Option<String> {
    Environment::of_process().get(name).map(str::to_owned)
}

/// How many rounds are asked for.
pub(crate) fn asked_for(name: &str, otherwise: usize) -> usize {
    asked(name).map_or(otherwise, |text| text.parse().unwrap())
}

/// Says that this machine can't do the test; a failure where the whole is required.
pub(crate) fn skip(why: &str) {
    assert!(
        asked("SAYONCE_REQUIRE").is_none_or(|text| text != "1"),
        "skipped: {why}"
    );
    println!("skipped: {why}");
}

/// Says at once what went wrong, and keeps it for the end.
pub(crate) fn report(name: &str, wrong: Vec<String>, broken: &Mutex<Vec<String>>) {
    for what in wrong {
        println!("{name}: {what}");
        broken.lock().unwrap().push(format!("{name}: {what}"));
    }
}

/// What came of it, in a few words that a table can have.
pub(crate) fn figure(broken: &Mutex<Vec<String>>, clock: &SystemClock) -> String {
    let broken = broken.lock().unwrap();
    let count = |words: &[&str]| {
        let says = |what: &&String| words.iter().any(|word| what.contains(word));
        broken.iter().filter(says).count()
    };
    // The checker's words.
    let duplicates = count(&[" times", "sent twice"]);
    let missing = count(&["left as", "hasn't", "is gone", "continued:"]);
    format!(
        "{duplicates} duplicates, {missing} missing, {} failures, {} s",
        broken.len(),
        clock.elapsed().as_secs()
    )
}

/// Does every piece of work, a few side by side: most of the time is spent waiting.
pub(crate) fn side_by_side<T: Send>(
    work: impl IntoIterator<Item = T>,
    hands: usize,
    act: impl Fn(T) + Sync,
) {
    let queue: std::collections::VecDeque<T> = work.into_iter().collect();
    let queue = Mutex::new(queue);
    std::thread::scope(|scope| {
        for _ in 0..hands {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap().pop_front();
                    let Some(next) = next else { break };
                    act(next);
                }
            });
        }
    });
}
