//! Workflows run by `act` as a job runner would run them: a checkout with credentials for a remote over HTTP, the action, and
//! services on loopback.

use std::os::unix::fs::symlink;
use std::time::Duration;

use sayonce::clock::{Clock as _, SystemClock};
use sayonce::model::channel::Kind;
use sayonce::sandbox::Sandbox;

use super::linters::installed;
use super::metadata::read;
use crate::cli::program::{Program, Ran, Running};
use crate::cli::site::{Plan, Site, secret_variable};
use crate::fire::stage::skip;
use crate::git::http::GitServer;
use crate::git::sandbox::path_variable;

/// How the checkout leaves the credentials.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Checkout {
    /// Up to version 5: in the repository's own configuration.
    ExtraHeader,
    /// From version 6: in a file of the runner, included for this work tree alone.
    IncludeIf,
}

/// A site, its services, and a runner.
pub(crate) struct Runner {
    pub(crate) site: Site,
    arguments: Vec<String>,
}

/// What a job did.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) ran: Ran,
}

impl Runner {
    /// Nothing where `act` is not installed. The workflow is one of the examples, word for word.
    pub(crate) fn new(plan: Plan, workflow: &str, checkout: Checkout) -> Option<Self> {
        if installed("act").is_none() {
            skip("act is not installed");
            return None;
        }
        let site = plan.start();
        site.remote(&["config", "http.receivepack", "true"]);
        let text = read(&format!("examples/workflows/{workflow}"));
        let uses = |action: &str| {
            let (_, rest) = text
                .split_once(&format!("uses: {action}@"))
                .expect("the example uses the action");
            let version: String = rest.chars().take_while(|letter| *letter != ' ').collect();
            format!("https://github.com/{action}@{version}")
        };
        let server = GitServer::start(&site.path(""), &path_variable());
        let mut runner = Self {
            arguments: vec![
                "--workflows".to_owned(),
                format!(".github/workflows/{workflow}"),
                "--platform".to_owned(),
                "ubuntu-latest=-self-hosted".to_owned(),
                "--no-skip-checkout".to_owned(),
                "--no-cache-server".to_owned(),
            ],
            site,
        };
        runner.substitute(&uses("actions/checkout"), "checkout");
        runner.substitute(&uses("sayonce/sayonce"), "action");
        runner.write("checkout/action.yml", &checkout_action(checkout, &server));
        // The program under test stands in for the release's; how that is got has tests of its own.
        let action = read("action.yml").replace(
            "`installed` for the `sayonce` on the path.\n    default: \"\"",
            "`installed` for the `sayonce` on the path.\n    default: installed",
        );
        assert!(action.contains("default: installed"), "{action}");
        runner.write("action/action.yml", &action);
        runner.write("action/action/install.sh", &read("action/install.sh"));
        std::fs::create_dir(runner.site.path("bin")).unwrap();
        let program = assert_cmd::cargo::cargo_bin!("sayonce");
        symlink(program, runner.site.path("bin/sayonce")).unwrap();
        let announce = read("examples/workflows/announce.yml");
        runner
            .site
            .write(".github/workflows/announce.yml", &announce);
        runner
            .site
            .write(&format!(".github/workflows/{workflow}"), &text);
        runner.site.commit_and_push("a workflow");
        Some(runner)
    }

    fn substitute(&mut self, action: &str, directory: &str) {
        let directory = self.site.path(directory).display().to_string();
        self.arguments.push("--local-repository".to_owned());
        self.arguments.push(format!("{action}={directory}"));
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.site.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Starts a job for an event, with every secret.
    pub(crate) fn start(&self, event: &str, payload: &str) -> Running {
        self.start_with(event, payload, &Kind::ALL)
    }

    /// Starts a job for an event, with the secrets of some services.
    pub(crate) fn start_with(&self, event: &str, payload: &str, secrets: &[Kind]) -> Running {
        self.write("event.json", payload);
        let event_file = self.site.path("event.json").display().to_string();
        let path = format!("{}:{}", self.site.path("bin").display(), path_variable());
        let secrets: Vec<String> = secrets
            .iter()
            .map(|kind| format!("{}={}", secret_variable(*kind), Sandbox::secret(*kind)))
            .collect();
        Program::new("act", &self.site.path("site"), &self.site.home())
            .arguments([event, "--eventpath", &event_file])
            .arguments(self.arguments.iter().map(String::as_str))
            .arguments(
                secrets
                    .iter()
                    .flat_map(|secret| ["--secret", secret.as_str()]),
            )
            .environment([("PATH", path.as_str())])
            .start()
    }

    /// Waits until the ledger on the remote says that a delivery is done.
    pub(crate) fn until_done(&self, item: &str, channel: &str) {
        let clock = SystemClock::new();
        let path = format!("ledger/{item}/{channel}.json");
        let done = || {
            let rows = [
                "grep",
                "--quiet",
                "\"state\": \"done\"",
                "main",
                "--",
                &path,
            ];
            let remote = self.site.path("remote.git");
            let ran = Program::new("git", &remote, &self.site.home())
                .arguments(rows)
                .run();
            ran.status.success()
        };
        while !done() {
            assert!(
                clock.elapsed() < Duration::from_mins(1),
                "{item} was not done"
            );
        }
    }

    /// Takes other settings for every channel, and pushes them.
    pub(crate) fn reconfigure(&mut self, lines: &str) {
        self.site.plan = self.site.plan.clone().every_channel(lines);
        self.site
            .git(&["pull", "--quiet", "--rebase", "origin", "main"]);
        self.site.build();
        self.site.commit_and_push("other settings");
    }

    /// Runs a job to its end.
    pub(crate) fn run(&self, event: &str, payload: &str) -> Job {
        Self::end(self.start(event, payload))
    }

    /// Waits for the end of a job.
    pub(crate) fn end(running: Running) -> Job {
        Job { ran: running.end() }
    }
}

impl Job {
    #[track_caller]
    pub(crate) fn assert_green(&self) -> &Self {
        assert!(self.ran.status.success(), "{}", self.log());
        self
    }

    /// Everything that the job printed.
    pub(crate) fn log(&self) -> String {
        format!("{}{}", self.ran.stdout, self.ran.stderr)
    }

    /// The step's summary, which `act` prints.
    #[track_caller]
    pub(crate) fn summary(&self) -> String {
        let (_, rest) = self
            .ran
            .stdout
            .split_once("  Summary - ")
            .expect("there is a summary");
        let lines: Vec<_> = rest
            .lines()
            .take_while(|line| !line.starts_with("[announce") && !line.starts_with("[what"))
            .collect();
        lines.join("\n")
    }

    /// The value of an output of the action.
    #[track_caller]
    pub(crate) fn output(&self, name: &str) -> String {
        let marker = format!("::set-output:: {name}=");
        let values = self.ran.stdout.lines();
        values
            .filter_map(|line| line.split_once(&marker))
            .map(|(_, value)| value.to_owned())
            .next_back()
            .unwrap_or_else(|| panic!("no output {name}:\n{}", self.log()))
    }
}

/// What `actions/checkout` leaves, as far as it matters here.
fn checkout_action(checkout: Checkout, server: &GitServer) -> String {
    let [key, header] = server.credential();
    let url = server.url("remote.git");
    let credentials = match checkout {
        Checkout::ExtraHeader => format!("git config --local '{key}' '{header}'"),
        Checkout::IncludeIf => format!(
            "git config --file \"$RUNNER_TEMP/git-credentials.config\" '{key}' '{header}'
        git config --local \"includeIf.gitdir:$GITHUB_WORKSPACE/.git.path\" \"$RUNNER_TEMP/git-credentials.config\""
        ),
    };
    format!(
        r#"name: checkout
description: what a checkout leaves
inputs:
  persist-credentials:
    description: whether they are left
    default: "true"
runs:
  using: composite
  steps:
    - shell: bash
      env:
        PERSIST: ${{{{ inputs.persist-credentials }}}}
      run: |
        cd "$GITHUB_WORKSPACE"
        find . -mindepth 1 -delete
        git init --quiet --initial-branch=main
        git remote add origin '{url}'
        git -c '{key}={header}' fetch --quiet --depth=1 origin +refs/heads/main:refs/remotes/origin/main
        git checkout --quiet -B main refs/remotes/origin/main
        if [ "$PERSIST" = false ]; then exit 0; fi
        {credentials}
"#
    )
}
