//! Real servers, each somebody else's program, on free ports of loopback.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use tempfile::TempDir;

use crate::fire::stage::{asked, skip};

/// Node reads thousands of files before it serves; a test machine may be busy.
const START_LIMIT: Duration = Duration::from_mins(2);

/// How often a port may be taken by somebody else.
const PORTS_MAX: usize = 5;

/// Runs a program until its own standard input ends, so that no server outlives the tests, however they end.
const TETHERED: &str = r#"
"$@" </dev/null & server=$!
exec >/dev/null 2>&1
cat
kill -9 "$server"
"#;

/// A program that serves.
#[derive(Debug)]
struct Serving {
    shell: Child,
    /// Its home and its temporary files.
    _home: TempDir,
}

impl Serving {
    /// Starts a program that can't be asked which port it took, and waits for a line that contains `words`. Another
    /// program may take the port first: then there is another port.
    fn start_on_port(arguments: impl Fn(&str) -> Vec<String>, words: &str) -> (Self, String) {
        for _ in 0..PORTS_MAX {
            let port = free_port();
            let arguments = arguments(&port);
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            match Self::start(&arguments, words) {
                Ok((serving, _line)) => return (serving, port),
                Err(said) => {
                    let said = said.to_lowercase();
                    let is_taken = ["already in use", "eaddrinuse"];
                    assert!(is_taken.iter().any(|words| said.contains(words)), "{said}");
                }
            }
        }
        panic!("every port was taken");
    }

    /// Starts a program and waits for a line that contains `words`; an error is what it said.
    #[expect(
        clippy::disallowed_methods,
        reason = "the tests' own servers, beside the git of the program under test"
    )]
    fn start(arguments: &[&str], words: &str) -> Result<(Self, String), String> {
        let home = tempfile::tempdir().unwrap();
        let mut shell = Command::new("sh")
            .args(["-c", TETHERED, "sh"])
            .args(arguments)
            .current_dir(home.path())
            .env_clear()
            .env("PATH", asked("PATH").unwrap_or_default())
            .env("HOME", home.path())
            .env("TMPDIR", home.path())
            .env("NO_COLOR", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let pipes: [Box<dyn Read + Send>; 2] = [
            Box::new(shell.stdout.take().unwrap()),
            Box::new(shell.stderr.take().unwrap()),
        ];
        for pipe in pipes {
            let sender = sender.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                    drop(sender.send(line));
                }
            });
        }
        drop(sender);
        let serving = Self { shell, _home: home };
        Ok((serving, until(&lines, words)?))
    }
}

fn until(lines: &Receiver<String>, words: &str) -> Result<String, String> {
    let mut said = String::new();
    loop {
        // The end of both pipes is the end of the server.
        let Ok(line) = lines.recv_timeout(START_LIMIT) else {
            return Err(format!("the server never said `{words}`:\n{said}"));
        };
        if line.contains(words) {
            return Ok(line);
        }
        said.push_str(&line);
        said.push('\n');
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        drop(self.shell.wait());
    }
}

/// A Bluesky PDS. It takes seconds to start, so the tests share one, and each has an account of its own.
#[derive(Debug)]
pub(in crate::contract) struct Pds {
    said: PdsSaid,
    _serving: Serving,
}

/// What the PDS says of itself.
#[derive(Debug, Deserialize)]
struct PdsSaid {
    url: String,
    plc: String,
    other: String,
    accounts: BTreeMap<String, PdsAccount>,
}

/// An account on the PDS.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::contract) struct PdsAccount {
    pub(in crate::contract) did: String,
    pub(in crate::contract) handle: String,
    pub(in crate::contract) app_password: String,
    /// A token of this account that was good for two hours.
    pub(in crate::contract) expired_token: String,
}

impl Pds {
    /// The accounts, each of one test.
    const ACCOUNTS: [&str; 11] = [
        "alike",
        "job-album",
        "job-card",
        "job-found",
        "job-refused",
        "job-uploads",
        "killed",
        "lost",
        "passwords",
        "tokens",
        "whole",
    ];

    /// Starts it, or takes the one that runs; none where it is not installed.
    pub(in crate::contract) fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Pds> = OnceLock::new();
        let modules = installed("SAYONCE_PDS_MODULES", "the Bluesky PDS")?;
        Some(SHARED.get_or_init(|| {
            let script = here("servers/bluesky-pds.js");
            let arguments = [&["node", &script, &modules], &Self::ACCOUNTS[..]].concat();
            let (serving, line) = Serving::start(&arguments, "appPassword").unwrap();
            Self {
                said: serde_json::from_str(&line).unwrap(),
                _serving: serving,
            }
        }))
    }

    pub(in crate::contract) fn url(&self) -> &str {
        &self.said.url
    }

    /// The directory of DIDs that this server registers its accounts with.
    pub(in crate::contract) fn plc_directory(&self) -> &str {
        &self.said.plc
    }

    /// Another server of the same network, on which nobody has an account, and where logins are limited.
    pub(in crate::contract) fn other(&self) -> &str {
        &self.said.other
    }

    pub(in crate::contract) fn account(&self, name: &str) -> PdsAccount {
        self.said.accounts[name].clone()
    }
}

/// A server of Mastodon's client API with one account.
#[derive(Debug)]
pub(in crate::contract) struct MastodonMock {
    pub(in crate::contract) url: String,
    _serving: Serving,
}

impl MastodonMock {
    /// What it takes from everybody.
    pub(in crate::contract) const TOKEN: &str = "mock_token";

    /// Starts it; none where it is not installed.
    pub(in crate::contract) fn start() -> Option<Self> {
        let program = installed("SAYONCE_MASTODON_MOCK", "mastodon_mock")?;
        let arguments = |port: &str| {
            let all = [
                "serve",
                "--in-memory",
                "--host",
                "127.0.0.1",
                "--port",
                port,
            ];
            let all = all.map(str::to_owned);
            std::iter::once(program.clone()).chain(all).collect()
        };
        let (serving, port) = Serving::start_on_port(arguments, "Uvicorn running on");
        Some(Self {
            url: format!("http://127.0.0.1:{port}"),
            _serving: serving,
        })
    }
}

/// A proxy that answers with an error what does not fit a specification, in either direction.
#[derive(Debug)]
pub(in crate::contract) struct Prism {
    pub(in crate::contract) url: String,
    _serving: Serving,
}

impl Prism {
    /// Starts it in front of a server; none where it is not installed.
    pub(in crate::contract) fn before(server: &str, specification: &Path) -> Option<Self> {
        let program = installed("SAYONCE_PRISM", "Prism")?;
        let specification = specification.display().to_string();
        let arguments = |port: &str| {
            let all = [
                "proxy",
                "--errors",
                "--host",
                "127.0.0.1",
                "--port",
                port,
                &specification,
                server,
            ];
            let all = all.map(str::to_owned);
            std::iter::once(program.clone()).chain(all).collect()
        };
        let (serving, port) = Serving::start_on_port(arguments, "Prism is listening");
        Some(Self {
            url: format!("http://127.0.0.1:{port}"),
            _serving: serving,
        })
    }
}

/// Forem's own specification of its API. Its licence is not this project's, so it is not here, and no package has it:
/// where nobody brings it, that is no failure.
pub(in crate::contract) fn forem_specification() -> Option<Value> {
    let Some(path) = asked("SAYONCE_FOREM_SPEC").filter(|path| Path::new(path).exists()) else {
        println!("skipped: SAYONCE_FOREM_SPEC does not name Forem's specification");
        return None;
    };
    let text = std::fs::read_to_string(path).unwrap();
    Some(serde_json::from_str(&text).unwrap())
}

/// Where a server is; says that the test is skipped where nobody said.
fn installed(variable: &str, what: &str) -> Option<String> {
    let place = asked(variable).filter(|place| Path::new(place).exists());
    if place.is_none() {
        skip(&format!(
            "{what} is not installed ({variable} names no file)"
        ));
    }
    place
}

/// A file of these tests.
fn here(path: &str) -> String {
    format!("{}/tests/contract/{path}", env!("CARGO_MANIFEST_DIR"))
}

/// A port that nothing listens on now.
fn free_port() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port().to_string()
}
