//! A blog with articles that are hard to post, in a git repository with a bare remote, and one channel on a real server.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::cli::program::{Program, Ran, Running};

/// The branch of the ledger.
const LEDGER: &str = "sayonce-ledger";

/// The text of every post.
const TEMPLATE: &str = r"{{ title }}\n\n{{ description }}\n\n{{ hashtags }}\n\n{{ url }}";

/// The blog.
#[derive(Debug)]
pub(super) struct Blog {
    root: TempDir,
    secret: (&'static str, String),
}

impl Blog {
    /// A blog whose one channel has these lines, and a secret.
    pub(super) fn new(channel: &str, secret: (&'static str, &str)) -> Self {
        let blog = Self {
            root: tempfile::tempdir().unwrap(),
            secret: (secret.0, secret.1.to_owned()),
        };
        for directory in ["home", "site"] {
            std::fs::create_dir(blog.path(directory)).unwrap();
        }
        blog.git_in(
            blog.root.path(),
            &[
                "init",
                "--quiet",
                "--bare",
                "--initial-branch=main",
                "remote.git",
            ],
        );
        blog.git(&["init", "--quiet", "--initial-branch=main"]);
        let remote = blog.path("remote.git").display().to_string();
        blog.git(&["remote", "add", "origin", &remote]);
        let configuration = format!(
            "[site]\nurl = \"https://blog.example\"\nmanifest = \"items.json\"\nmax_new = 10\n\
             first_run_max = 10\n\n[ledger]\nbranch = \"{LEDGER}\"\nclock_skew = \"0s\"\n\n\
             [channels.there]\ninterval = \"0s\"\ntemplate = \"{TEMPLATE}\"\n{channel}"
        );
        std::fs::write(blog.path("site/sayonce.toml"), configuration).unwrap();
        blog.write_articles(&hard_articles());
        blog.git(&["add", "--all"]);
        blog.git(&["commit", "--quiet", "--message", "the blog"]);
        blog.git(&["push", "--quiet", "origin", "main"]);
        blog
    }

    /// Has these articles from now on.
    pub(super) fn write_articles(&self, articles: &[Value]) {
        let text = json!({ "items": articles }).to_string();
        std::fs::write(self.path("site/items.json"), text).unwrap();
    }

    /// Writes a file of the site as it is built.
    pub(super) fn write_built(&self, path: &str, bytes: &[u8]) {
        let path = self.path("site/_site").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    /// Pushes what was written.
    pub(super) fn push(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", "an edit"]);
        self.git(&["push", "--quiet", "origin", "main"]);
    }

    /// Has another secret from now on.
    pub(super) fn take_secret(&mut self, secret: &str) {
        secret.clone_into(&mut self.secret.1);
    }

    /// Replaces words of the configuration.
    pub(super) fn configure(&self, from: &str, to: &str) {
        let path = self.path("site/sayonce.toml");
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        std::fs::write(path, text.replace(from, to)).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn git(&self, arguments: &[&str]) -> String {
        self.git_in(&self.path("site"), arguments)
    }

    #[track_caller]
    fn git_in(&self, directory: &Path, arguments: &[&str]) -> String {
        let who = [
            ("GIT_AUTHOR_NAME", "The author"),
            ("GIT_AUTHOR_EMAIL", "author@blog.example"),
            ("GIT_COMMITTER_NAME", "The author"),
            ("GIT_COMMITTER_EMAIL", "author@blog.example"),
        ];
        let ran = Program::new("git", directory, &self.path("home"))
            .arguments(arguments.iter().copied())
            .environment(who)
            .run();
        assert!(ran.status.success(), "git {arguments:?}: {ran:?}");
        ran.stdout
    }

    fn program(&self) -> Program {
        Program::sayonce(&self.path("site"), &self.path("home"))
            .arguments(["run", "--format", "json"])
            .environment([(self.secret.0, self.secret.1.as_str())])
    }

    /// `run` to its end.
    pub(super) fn run(&self) -> Ran {
        self.program().run()
    }

    /// `run` with more arguments, to its end.
    pub(super) fn run_with(&self, arguments: &[&str]) -> Ran {
        self.program().arguments(arguments.iter().copied()).run()
    }

    /// `doctor` to its end.
    pub(super) fn doctor(&self) -> Ran {
        Program::sayonce(&self.path("site"), &self.path("home"))
            .arguments(["doctor"])
            .environment([(self.secret.0, self.secret.1.as_str())])
            .run()
    }

    /// `run`, going on.
    pub(super) fn start(&self) -> Running {
        self.program().start()
    }

    /// Kills a run with SIGKILL and waits for its end.
    pub(super) fn kill(&self, running: Running) {
        running.signal("KILL", &self.path("home"));
        assert_eq!(running.end().code(), None, "it was killed");
    }

    /// Deletes the ledger and its witness, as a person does who starts afresh.
    pub(super) fn throw_ledger_away(&self) {
        for name in [&format!("refs/heads/{LEDGER}"), "refs/sayonce/witness"] {
            self.git_in(&self.path("remote.git"), &["update-ref", "-d", name]);
        }
    }

    /// A row as it stands on the remote.
    pub(super) fn row(&self, item: &str) -> Value {
        let name = format!("{LEDGER}:ledger/{item}/there.json");
        let text = self.git_in(&self.path("remote.git"), &["show", &name]);
        serde_json::from_str(&text).unwrap()
    }

    /// What a row says was sent, by the record of its first operation.
    pub(super) fn sent(&self, item: &str) -> Value {
        let row = self.row(item);
        row.pointer("/operations/publish/post")
            .unwrap_or_else(|| panic!("no post in {row}"))
            .clone()
    }
}

/// Articles with whatever is hard to count, to cut, to mark and to find again.
pub(super) fn hard_articles() -> Vec<Value> {
    let article = |name: &str, title: &str, description: &str, tags: &[&str], language: &str| {
        json!({
            "url": format!("https://blog.example/{name}/"),
            "title": title,
            "description": description,
            "tags": tags,
            "language": language,
            "date": "2026-11-20T09:00:00Z",
            "body_markdown": format!("{description}\n\nThe body of {name}."),
        })
    };
    vec![
        article(
            "plain",
            "Ein Käse & zwei <Brote>: 50 % \"billiger\"",
            "Mehr unter https://docs.example/a?b=1&c=ü#teil.",
            &["Käse", "static site", "2026"],
            "de",
        ),
        article(
            "mentions",
            "To @alice.test, @bob@mastodon.example and @nobody",
            "An e-mail to a@b.example is no mention, and #5 is no tag.",
            &["c++"],
            "en",
        ),
        article(
            "cjk",
            "静的サイトを一度だけ告知する方法",
            "記事は一度だけ告知されます。二度はありません。",
            &["静的サイト", "日本語"],
            "ja",
        ),
        article(
            "emoji",
            "👩‍👩‍👧‍👦 and 🏳️‍🌈 and e\u{301}, in one line 🇩🇪🇯🇵",
            "مرحبا بالعالم — שלום עולם",
            &["🎉party"],
            "ar",
        ),
        // Its address has as many characters as Mastodon counts for any: mastodon_mock counts each, and code points, not
        // graphemes.
        article(
            "l",
            "A long one",
            &"Many words that go on and on, with 🚀 in between, until no post can hold them. "
                .repeat(12),
            &["long", "reads"],
            "en",
        ),
    ]
}

/// One plain article.
pub(super) fn one_article(name: &str) -> Value {
    json!({
        "url": format!("https://blog.example/{name}/"),
        "title": format!("The {name} one"),
        "date": "2026-11-21T09:00:00Z",
        "language": "en",
        "body_markdown": format!("The body of {name}."),
    })
}
