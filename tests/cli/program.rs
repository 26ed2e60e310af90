//! Child processes that end by their deadline, in an environment that holds nothing of this machine but its `PATH`.

use std::io::{BufRead as _, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use sayonce::clock::{Clock as _, SystemClock};
use sayonce::environment::Environment;
use serde_json::Value;

/// A test machine may be busy; a child that hangs is a failure all the same.
const CHILD_LIMIT: Duration = Duration::from_mins(2);

/// A program that is set up to run.
#[derive(Debug)]
pub(crate) struct Program {
    command: Command,
    limit: Duration,
}

/// A program that runs.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    stdout: Receiver<String>,
    /// Line by line.
    stderr: Receiver<String>,
    said: String,
    limit: Duration,
    clock: SystemClock,
}

/// A program that has ended.
#[derive(Clone, Debug)]
pub(crate) struct Ran {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Program {
    /// The binary under test.
    pub(crate) fn sayonce(directory: &Path, home: &Path) -> Self {
        Self::new(assert_cmd::cargo::cargo_bin!("sayonce"), directory, home)
    }

    /// Any program; `home` becomes its `HOME`, with the temporary directory in it.
    #[expect(
        clippy::disallowed_methods,
        reason = "the tests' own children, beside the git of the program under test"
    )]
    pub(crate) fn new(program: impl AsRef<std::ffi::OsStr>, directory: &Path, home: &Path) -> Self {
        let temporary = home.join("tmp");
        std::fs::create_dir_all(&temporary).unwrap();
        let inherited = Environment::of_process();
        let mut command = Command::new(program.as_ref());
        command
            .current_dir(directory)
            .env_clear()
            .env("PATH", inherited.get("PATH").unwrap_or("/usr/bin:/bin"))
            .env("HOME", home)
            .env("TMPDIR", temporary)
            .env("TZ", "UTC")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Self {
            command,
            limit: CHILD_LIMIT,
        }
    }

    /// For a program that waits for slow services.
    pub(crate) fn may_take(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    pub(crate) fn arguments<'a>(mut self, arguments: impl IntoIterator<Item = &'a str>) -> Self {
        self.command.args(arguments);
        self
    }

    pub(crate) fn environment<'a>(
        mut self,
        variables: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        self.command.envs(variables);
        self
    }

    pub(crate) fn start(mut self) -> Running {
        let mut child = self.command.spawn().unwrap();
        let (sender, stdout) = channel();
        let mut pipe = child.stdout.take().unwrap();
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            // A pipe that breaks is the child's end.
            drop(pipe.read_to_end(&mut bytes));
            drop(sender.send(String::from_utf8_lossy(&bytes).into_owned()));
        });
        let stderr = lines(child.stderr.take().unwrap());
        Running {
            child,
            stdout,
            stderr,
            said: String::new(),
            limit: self.limit,
            clock: SystemClock::new(),
        }
    }

    pub(crate) fn run(self) -> Ran {
        self.start().end()
    }
}

fn lines(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut pipe = BufReader::new(pipe);
        let mut line = Vec::new();
        while pipe
            .read_until(b'\n', &mut line)
            .is_ok_and(|length| length > 0)
        {
            drop(sender.send(String::from_utf8_lossy(&line).into_owned()));
            line.clear();
        }
    });
    receiver
}

impl Running {
    /// Waits until a line on standard error contains `words`.
    pub(crate) fn until_it_says(&mut self, words: &str) {
        loop {
            let left = self.limit.saturating_sub(self.clock.elapsed());
            let Ok(line) = self.stderr.recv_timeout(left) else {
                self.give_up(&format!("it never said `{words}`"));
            };
            self.said.push_str(&line);
            if line.contains(words) {
                return;
            }
        }
    }

    /// Sends a signal, by its name without `SIG`.
    pub(crate) fn signal(&self, name: &str, home: &Path) {
        let command = format!("kill -{name} {}", self.child.id());
        // The shell's own `kill`: a small machine has no other.
        let ran = Program::new("sh", home, home)
            .arguments(["-c", &command])
            .run();
        assert!(ran.status.success(), "{ran:?}");
    }

    /// Waits for the end.
    pub(crate) fn end(mut self) -> Ran {
        let left = self.limit.saturating_sub(self.clock.elapsed());
        let Ok(stdout) = self.stdout.recv_timeout(left) else {
            self.give_up("it did not end in time");
        };
        let status = self.child.wait().unwrap();
        while let Ok(line) = self.stderr.recv_timeout(CHILD_LIMIT) {
            self.said.push_str(&line);
        }
        Ran {
            status,
            stdout,
            stderr: self.said,
        }
    }

    fn give_up(&mut self, why: &str) -> ! {
        drop(self.child.kill());
        panic!("{why}; it said:\n{}", self.said);
    }
}

impl Ran {
    pub(crate) fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// Fails with everything that was printed if the exit code is another.
    #[track_caller]
    pub(crate) fn assert_code(&self, code: i32) -> &Self {
        assert_eq!(
            self.code(),
            Some(code),
            "{}\n{}\n{}",
            self.status,
            self.stdout,
            self.stderr
        );
        self
    }

    /// Standard output as one JSON object, and nothing else.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        match serde_json::from_str(&self.stdout) {
            Ok(Value::Object(object)) => Value::Object(object),
            Ok(other) => panic!("not an object: {other}"),
            Err(error) => panic!("{error}:\n{}\n{}", self.stdout, self.stderr),
        }
    }

    /// `item channel state evidence attempt` of every delivery, a line each.
    #[track_caller]
    pub(crate) fn deliveries(&self) -> String {
        deliveries(&self.json())
    }

    /// The counts that are not zero.
    #[track_caller]
    pub(crate) fn summary(&self) -> String {
        let json = self.json();
        let counts = json["summary"].as_object().unwrap();
        let counts: Vec<_> = counts
            .iter()
            .filter(|(_, count)| count.as_u64() != Some(0))
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        counts.join(", ")
    }

    /// The problems of a report.
    #[track_caller]
    pub(crate) fn problems(&self) -> Vec<String> {
        let json = self.json();
        let problems = json["problems"].as_array().unwrap();
        problems
            .iter()
            .map(|problem| problem.as_str().unwrap().to_owned())
            .collect()
    }
}

/// `item channel state evidence attempt` of every delivery, a line each.
pub(crate) fn deliveries(report: &Value) -> String {
    let word = |value: &Value| match (value.as_str(), value.as_u64()) {
        (Some(text), _) => text.to_owned(),
        (None, Some(number)) => number.to_string(),
        (None, None) => "-".to_owned(),
    };
    let lines = report["deliveries"].as_array().unwrap().iter().map(|one| {
        let words = ["item", "channel", "state", "evidence", "attempt"].map(|key| word(&one[key]));
        words.join(" ") + "\n"
    });
    lines.collect()
}
