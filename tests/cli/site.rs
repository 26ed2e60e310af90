//! A blog in a git repository with a bare remote, and a stand-in on loopback for each of its channels.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sayonce::clock::SystemClock;
use sayonce::model::channel::Kind;
use sayonce::model::ids::ChannelName;
use sayonce::model::time::Timestamp;
use sayonce::sandbox::{FaultOrder, LoggedRequest, Sandbox, SandboxOptions, StandIn};
use serde_json::Value;
use tempfile::TempDir;

use super::program::{Program, Ran, Running};

/// What a site is made with.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    channels: Vec<(String, Kind)>,
    pub(crate) articles: Vec<usize>,
    site: String,
    ledger: String,
    every_channel: String,
    channel: BTreeMap<String, String>,
    faults: Vec<FaultOrder>,
}

/// A site, its remote, and its services.
pub(crate) struct Site {
    root: TempDir,
    sandbox: Sandbox,
    pub(crate) plan: Plan,
}

/// The channels of most tests: one of each kind.
pub(crate) fn four_channels() -> Plan {
    Plan::of(&[
        ("search", Kind::IndexNow),
        ("bluesky", Kind::Bluesky),
        ("mastodon", Kind::Mastodon),
        ("devto", Kind::Devto),
    ])
}

/// One channel that is read back.
pub(crate) fn mastodon() -> Plan {
    Plan::of(&[("mastodon", Kind::Mastodon)])
}

impl Plan {
    /// Channels by name, three articles, no pacing.
    pub(crate) fn of(channels: &[(&str, Kind)]) -> Self {
        Self {
            channels: channels
                .iter()
                .map(|(name, kind)| ((*name).to_owned(), *kind))
                .collect(),
            articles: vec![1, 2, 3],
            site: String::new(),
            ledger: "clock_skew = \"0s\"\n".to_owned(),
            every_channel: "interval = \"0s\"\n".to_owned(),
            channel: BTreeMap::new(),
            faults: Vec::new(),
        }
    }

    /// The articles numbered 1 to `count`.
    pub(crate) fn articles(self, count: usize) -> Self {
        Self {
            articles: (1..=count).collect(),
            ..self
        }
    }

    /// More lines for `[site]`.
    pub(crate) fn site(mut self, lines: &str) -> Self {
        self.site.push_str(lines);
        self.site.push('\n');
        self
    }

    /// More lines for `[ledger]`.
    pub(crate) fn ledger(mut self, lines: &str) -> Self {
        self.ledger.push_str(lines);
        self.ledger.push('\n');
        self
    }

    /// Other lines for every channel, instead of no pacing.
    pub(crate) fn every_channel(self, lines: &str) -> Self {
        Self {
            every_channel: format!("{lines}\n"),
            ..self
        }
    }

    /// More lines for one channel.
    pub(crate) fn channel(mut self, name: &str, lines: &str) -> Self {
        let all = self.channel.entry(name.to_owned()).or_default();
        all.push_str(lines);
        all.push('\n');
        self
    }

    /// Takes one channel's own lines away.
    pub(crate) fn without_own_lines(mut self, name: &str) -> Self {
        self.channel.remove(name);
        self
    }

    /// Lets a service misbehave, such as `mastodon:1=status=500`.
    pub(crate) fn fault(mut self, order: &str) -> Self {
        self.faults.push(order.parse().unwrap());
        self
    }

    /// Makes the repository, pushes it, and starts the services.
    pub(crate) fn start(self) -> Site {
        let root = tempfile::tempdir().unwrap();
        let site = Site {
            root,
            sandbox: self.services(self.faults.clone()),
            plan: self,
        };
        site.set_up();
        site
    }

    fn services(&self, faults: Vec<FaultOrder>) -> Sandbox {
        let stand_ins = self.channels.iter().map(|(name, kind)| StandIn {
            channel: ChannelName::new(name).unwrap(),
            kind: *kind,
        });
        Sandbox::start(SandboxOptions {
            stand_ins: stand_ins.collect(),
            faults,
            directory: None,
            clock: Arc::new(SystemClock::new()),
            site_host: "blog.example".to_owned(),
        })
        .unwrap()
    }
}

impl Site {
    fn set_up(&self) {
        for directory in ["home", "site"] {
            std::fs::create_dir(self.path(directory)).unwrap();
        }
        let root = self.root.path();
        self.git_in(
            root,
            &[
                "init",
                "--quiet",
                "--bare",
                "--initial-branch=main",
                "remote.git",
            ],
        );
        self.git(&["init", "--quiet", "--initial-branch=main"]);
        let remote = self.path("remote.git").display().to_string();
        self.git(&["remote", "add", "origin", &remote]);
        self.build();
        self.commit_and_push("the blog");
    }

    /// Writes what the generator would, and the configuration.
    pub(crate) fn build(&self) {
        self.write("_site/0123456789abcdef.txt", "0123456789abcdef");
        self.write("_site/feed.xml", &feed(&self.plan.articles));
        for number in &self.plan.articles {
            self.write(
                &format!("_site/article-{number}/index.html"),
                &page(*number),
            );
            self.write(
                &format!("_posts/{}-article-{number}.md", day(*number)),
                &post(*number),
            );
        }
        self.write("sayonce.toml", &self.configuration());
    }

    /// Lets the services begin anew: the same accounts, without a post.
    pub(crate) fn forget_posts(&mut self) {
        self.sandbox = self.plan.services(Vec::new());
        self.build();
    }

    /// The configuration as it is written.
    pub(crate) fn configuration(&self) -> String {
        let Plan { site, ledger, .. } = &self.plan;
        let mut text = format!(
            "[site]\nurl = \"https://blog.example\"\nfeed = \"_site/feed.xml\"\npages = \"_site\"\n\
             markdown = \"_posts/*.md\"\n{site}\n[ledger]\n{ledger}"
        );
        for (name, kind) in &self.plan.channels {
            let base = self.sandbox.url(&ChannelName::new(name).unwrap());
            let service = match kind {
                Kind::IndexNow => {
                    format!("key = \"0123456789abcdef\"\nendpoint = \"{base}/indexnow\"")
                }
                Kind::Bluesky => format!(
                    "handle = \"blog.example\"\nservice = \"{base}\"\napp_password_env = \"{}\"",
                    secret_variable(*kind)
                ),
                Kind::Mastodon => {
                    format!(
                        "server = \"{base}\"\ntoken_env = \"{}\"",
                        secret_variable(*kind)
                    )
                }
                Kind::Devto => {
                    format!(
                        "server = \"{base}\"\napi_key_env = \"{}\"",
                        secret_variable(*kind)
                    )
                }
                Kind::Http => unreachable!("declared channels are tested in rehearsals"),
            };
            let own = self.plan.channel.get(name).map_or("", String::as_str);
            write!(
                text,
                "\n[channels.{name}]\nkind = \"{kind}\"\n{service}\n{}{own}",
                self.plan.every_channel
            )
            .unwrap();
        }
        text
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.path("home")
    }

    /// Writes a file of the site.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path("site").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn commit_and_push(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", message]);
        self.git(&["push", "--quiet", "origin", "main"]);
    }

    /// Runs git in the site's repository and returns what it printed.
    #[track_caller]
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        self.git_in(&self.path("site"), arguments)
    }

    /// Runs git in the bare remote.
    #[track_caller]
    pub(crate) fn remote(&self, arguments: &[&str]) -> String {
        self.git_in(&self.path("remote.git"), arguments)
    }

    #[track_caller]
    pub(crate) fn git_in(&self, directory: &Path, arguments: &[&str]) -> String {
        let who = [
            ("GIT_AUTHOR_NAME", "The author"),
            ("GIT_AUTHOR_EMAIL", "author@blog.example"),
            ("GIT_COMMITTER_NAME", "The author"),
            ("GIT_COMMITTER_EMAIL", "author@blog.example"),
        ];
        let ran = Program::new("git", directory, &self.home())
            .arguments(arguments.iter().copied())
            .environment(who)
            .run();
        assert!(ran.status.success(), "git {arguments:?}: {ran:?}");
        ran.stdout.trim_end().to_owned()
    }

    /// Writes an executable hook into the remote.
    pub(crate) fn hook(&self, name: &str, script: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.path("remote.git/hooks").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// The program in the site's repository, with every secret.
    pub(crate) fn program(&self, arguments: &[&str]) -> Program {
        self.program_in(&self.path("site"), arguments)
    }

    /// The program in any directory, with every secret.
    pub(crate) fn program_in(&self, directory: &Path, arguments: &[&str]) -> Program {
        self.program_without_secrets(directory, arguments)
            .environment(Kind::ALL.map(|kind| (secret_variable(kind), Sandbox::secret(kind))))
    }

    pub(crate) fn program_without_secrets(&self, directory: &Path, arguments: &[&str]) -> Program {
        Program::sayonce(directory, &self.home()).arguments(arguments.iter().copied())
    }

    #[track_caller]
    pub(crate) fn sayonce(&self, arguments: &[&str]) -> Ran {
        self.program(arguments).run()
    }

    /// `run --format json` with more arguments.
    #[track_caller]
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        let all = [&["run", "--format", "json"], arguments].concat();
        self.sayonce(&all)
    }

    pub(crate) fn start(&self, arguments: &[&str]) -> Running {
        self.program(arguments).start()
    }

    /// The stand-ins.
    pub(crate) const fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// How many writes each channel got.
    pub(crate) fn writes(&self) -> String {
        let counts = self.plan.channels.iter().map(|(name, _)| {
            let name = ChannelName::new(name).unwrap();
            format!("{name} {}", self.sandbox.writes(&name))
        });
        counts.collect::<Vec<_>>().join(", ")
    }

    /// The write requests of a channel, in the order in which they came in.
    pub(crate) fn write_requests(&self, channel: &str) -> Vec<LoggedRequest> {
        let requests = self.sandbox.requests().into_iter();
        requests
            .filter(|request| request.channel.as_str() == channel && request.number > 0)
            .collect()
    }

    /// Every request, whatever it is.
    pub(crate) fn requests(&self) -> usize {
        self.sandbox.requests().len()
    }

    /// The posts that stand: `channel url` each, with the number of times, sorted.
    pub(crate) fn posts(&self) -> BTreeMap<(String, String), usize> {
        self.sandbox.settle();
        let mut posts = BTreeMap::new();
        for post in self.sandbox.posts() {
            let url = post.canonical_url.unwrap_or_default();
            *posts.entry((post.channel.to_string(), url)).or_default() += post.times;
        }
        posts
    }

    /// Every article of the plan stands on every channel exactly once, and nothing else does.
    #[track_caller]
    pub(crate) fn assert_exactly_once(&self) {
        let due = self.plan.channels.iter().flat_map(|(name, _)| {
            let articles = self.plan.articles.iter();
            articles.map(move |number| ((name.clone(), address(*number)), 1))
        });
        assert_eq!(self.posts(), due.collect());
    }

    /// The ledger's commits on the remote, oldest first: the trailers of each, without the rows' times.
    pub(crate) fn remote_log(&self, branch: &str) -> Vec<String> {
        let log = self.remote(&["log", "--reverse", "--format=%H", branch]);
        log.lines().map(str::to_owned).collect()
    }

    /// One trailer of a commit on the remote, all values.
    pub(crate) fn trailer(&self, commit: &str, key: &str) -> Vec<String> {
        let format = format!("--format=%(trailers:key={key},valueonly)");
        let text = self.remote(&["log", "-1", &format, commit]);
        text.lines()
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
            .collect()
    }

    /// A row as it stands on the remote's `main`.
    pub(crate) fn row(&self, item: &str, channel: &str) -> Value {
        let text = self.remote(&["show", &format!("main:ledger/{item}/{channel}.json")]);
        serde_json::from_str(&text).unwrap()
    }

    /// Makes everything that the ledger says of the past older, as if so many hours had passed.
    pub(crate) fn let_hours_pass(&self, hours: u64) {
        self.git(&["pull", "--quiet", "--ff-only", "origin", "main"]);
        let files = self.git(&["ls-files", "ledger"]);
        for path in files.lines() {
            let text = std::fs::read_to_string(self.path("site").join(path)).unwrap();
            let parts = text.split('"').map(|part| match Timestamp::parse(part) {
                Ok(at) => at.minus(Duration::from_hours(hours)).to_string(),
                Err(_no_time) => part.to_owned(),
            });
            self.write(path, &parts.collect::<Vec<_>>().join("\""));
        }
        self.commit_and_push("time passed");
    }

    /// Everything that identifies the state of the site's repository and work tree, the object store aside.
    pub(crate) fn repository_state(&self) -> String {
        let parts: [&[&str]; 5] = [
            &["for-each-ref"],
            &["rev-parse", "HEAD"],
            &["status", "--porcelain", "--ignored"],
            &["ls-files", "--stage"],
            &["config", "--list", "--local"],
        ];
        parts.map(|arguments| self.git(arguments)).join("\n---\n")
    }
}

/// The variable that a secret is handed over in.
pub(crate) const fn secret_variable(kind: Kind) -> &'static str {
    match kind {
        Kind::IndexNow => "INDEXNOW_KEY",
        Kind::Bluesky => "BLUESKY_APP_PASSWORD",
        Kind::Mastodon => "MASTODON_TOKEN",
        Kind::Devto => "DEVTO_API_KEY",
        Kind::Http => "HTTP_SECRET",
    }
}

/// The address of an article.
pub(crate) fn address(number: usize) -> String {
    format!("https://blog.example/article-{number}/")
}

fn day(number: usize) -> String {
    format!("2026-01-{number:02}")
}

/// An Atom feed, newest first.
pub(crate) fn feed(articles: &[usize]) -> String {
    let entries: String = articles.iter().rev().map(|number| entry(*number)).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\" xml:lang=\"en\">\n\
         <title>A blog</title><id>https://blog.example/</id><updated>2026-01-31T00:00:00Z</updated>\n\
         <link href=\"https://blog.example/\"/>\n{entries}</feed>\n"
    )
}

fn entry(number: usize) -> String {
    let (url, day) = (address(number), day(number));
    format!(
        "<entry><title>Article {number}</title><link href=\"{url}\"/><id>{url}</id>\
         <published>{day}T09:00:00Z</published><updated>{day}T09:00:00Z</updated>\
         <summary>What article {number} says.</summary></entry>\n"
    )
}

fn page(number: usize) -> String {
    let (url, day) = (address(number), day(number));
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><title>Article {number}</title>\n\
         <link rel=\"canonical\" href=\"{url}\">\n<meta property=\"og:type\" content=\"article\">\n\
         <meta property=\"article:published_time\" content=\"{day}T09:00:00Z\"></head>\n\
         <body><h1>Article {number}</h1></body></html>\n"
    )
}

fn post(number: usize) -> String {
    format!(
        "---\ntitle: Article {number}\ndate: {} 09:00:00 +0000\n---\n\nThe body of article {number}.\n",
        day(number)
    )
}
