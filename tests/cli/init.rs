//! A site of each generator gets a configuration that works at once.

use std::path::Path;

use super::program::{Program, Ran};
use super::site::feed;

const ARTICLE: &str = "---\ntitle: Article 1\n---\n\nText.\n";

/// A site in a repository of its own.
struct Tree {
    root: tempfile::TempDir,
}

impl Tree {
    fn of(files: &[(&str, &str)]) -> Self {
        let root = tempfile::tempdir().unwrap();
        for directory in ["home", "site"] {
            std::fs::create_dir(root.path().join(directory)).unwrap();
        }
        let tree = Self { root };
        let ran = Program::new("git", &tree.path("site"), &tree.path("home"))
            .arguments(["init", "--quiet", "--initial-branch=main"])
            .run();
        assert!(ran.status.success(), "{ran:?}");
        for (name, text) in files {
            tree.write(name, text);
        }
        tree
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.root.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path("site").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path("site").join(name)).unwrap()
    }

    fn sayonce(&self, arguments: &[&str]) -> Ran {
        Program::sayonce(&self.path("site"), &self.path("home"))
            .arguments(arguments.iter().copied())
            .run()
    }
}

/// What is written for a site, without its comments; it loads as it is, and with every channel it plans the article.
#[track_caller]
fn check(files: &[(&str, &str)]) -> String {
    let tree = Tree::of(files);
    let ran = tree.sayonce(&["init", "--format", "json"]);
    ran.assert_code(0);
    let report = ran.json();
    assert_eq!(
        report["written"].to_string(),
        r#"["sayonce.toml",".github/workflows/announce.yml"]"#
    );
    let text = tree.read("sayonce.toml");
    let plan = tree.sayonce(&["plan", "--format", "json"]);
    plan.assert_code(0);
    assert!(!plan.stderr.contains("warning"), "{}", plan.stderr);
    let (before, channels) = text.split_once("# The channels: ").unwrap();
    tree.write(
        "sayonce.toml",
        &format!("{before}# {}", channels.replace("\n# ", "\n")),
    );
    let plan = tree.sayonce(&["plan", "--format", "json"]);
    plan.assert_code(0);
    let plan = plan.json();
    let planned = plan["deliveries"].as_array().unwrap().iter();
    let planned: Vec<_> = planned
        .map(|delivery| format!("{} {}", delivery["item"], delivery["channel"]))
        .collect();
    let settings = before.lines().filter_map(|line| {
        let setting = line.split("  # ").next().unwrap_or(line);
        (!setting.is_empty() && !setting.starts_with('#')).then_some(setting)
    });
    format!(
        "{}\n{}\n{}",
        report["generator"].as_str().unwrap_or("-"),
        settings.collect::<Vec<_>>().join("\n"),
        planned.join(", ")
    )
}

#[test]
fn generators_with_a_data_file_are_found_by_it() {
    let article = feed(&[1]);
    let post = ARTICLE;
    let jekyll = check(&[
        (
            "_config.yml",
            "title: A blog\nurl: https://blog.example\nbaseurl: \"\"\ntimezone: Europe/Berlin\n",
        ),
        ("_posts/2026-01-01-article-1.md", post),
        ("_site/feed.xml", &article),
    ]);
    insta::assert_snapshot!(jekyll, @r#"
    Jekyll
    [site]
    url = "https://blog.example"
    feed = "_site/feed.xml"
    pages = "_site"
    markdown = "_posts/**/*.{md,markdown}"
    timezone = "Europe/Berlin"
    wait_live = "10m"
    [ledger]
    branch = "sayonce-ledger"
    "article-1" "search", "article-1" "bluesky", "article-1" "mastodon", "article-1" "devto"
    "#);
    let hugo = check(&[
        (
            "hugo.toml",
            "baseURL = 'https://blog.example/'\ntitle = 'A blog'\n",
        ),
        ("content/posts/article-1.md", post),
        ("public/index.xml", &article),
    ]);
    insta::assert_snapshot!(hugo, @r#"
    Hugo
    [site]
    url = "https://blog.example/"
    feed = "public/index.xml"
    pages = "public"
    markdown = "content/**/*.md"
    wait_live = "10m"
    [ledger]
    branch = "sayonce-ledger"
    "article-1" "search", "article-1" "bluesky", "article-1" "mastodon", "article-1" "devto"
    "#);
    let old_hugo = check(&[
        ("config.yaml", "baseurl: https://blog.example/\n"),
        ("content/posts/article-1.md", post),
        ("public/index.xml", &article),
    ]);
    assert_eq!(old_hugo, hugo);
    let zola = check(&[
        (
            "config.toml",
            "base_url = \"https://blog.example\"\ngenerate_feeds = true\n",
        ),
        ("content/blog/article-1.md", post),
        ("public/rss.xml", &article),
    ]);
    let named = check(&[
        (
            "config.toml",
            "base_url = \"https://blog.example\"\ngenerate_feeds = true\nfeed_filenames = [\"news.xml\"]\n",
        ),
        ("content/blog/article-1.md", post),
        ("public/news.xml", &article),
        ("public/rss.xml", "another feed"),
    ]);
    assert_eq!(named, zola.replace("rss.xml", "news.xml"));
    insta::assert_snapshot!(zola, @r#"
    Zola
    [site]
    url = "https://blog.example"
    feed = "public/rss.xml"
    pages = "public"
    markdown = "content/**/*.md"
    wait_live = "10m"
    [ledger]
    branch = "sayonce-ledger"
    "article-1" "search", "article-1" "bluesky", "article-1" "mastodon", "article-1" "devto"
    "#);
}

#[test]
fn generators_with_a_program_for_a_configuration_are_found_by_it() {
    let article = feed(&[1]);
    let post = ARTICLE;
    let astro = check(&[
        (
            "astro.config.mjs",
            "import { defineConfig } from 'astro/config';\nexport default defineConfig({\n  site: 'https://blog.example',\n});\n",
        ),
        ("src/content/blog/article-1.md", post),
        ("dist/rss.xml", &article),
    ]);
    insta::assert_snapshot!(astro, @r#"
    Astro
    [site]
    url = "https://blog.example"
    feed = "dist/rss.xml"
    pages = "dist"
    markdown = "src/content/**/*.{md,mdx}"
    wait_live = "10m"
    [ledger]
    branch = "sayonce-ledger"
    "article-1" "search", "article-1" "bluesky", "article-1" "mastodon", "article-1" "devto"
    "#);
    let eleventy = check(&[
        (
            "eleventy.config.js",
            "export default function (config) {}\n",
        ),
        (
            "package.json",
            "{ \"homepage\": \"https://blog.example\" }\n",
        ),
        ("content/blog/article-1.md", post),
        ("_site/feed/feed.xml", &article),
    ]);
    insta::assert_snapshot!(eleventy, @r#"
    Eleventy
    [site]
    url = "https://blog.example"
    feed = "_site/feed/feed.xml"
    pages = "_site"
    markdown = "content/**/*.md"
    wait_live = "10m"
    [ledger]
    branch = "sayonce-ledger"
    "article-1" "search", "article-1" "bluesky", "article-1" "mastodon", "article-1" "devto"
    "#);
    let unknown = check(&[("_site/feed.xml", &article)]);
    insta::assert_snapshot!(unknown, @r#"
    -
    [site]
    url = "https://blog.example"
    feed = "_site/feed.xml"
    pages = "_site"
    wait_live = "10m"
    [ledger]
    branch = "sayonce-ledger"
    "article-1" "search", "article-1" "bluesky", "article-1" "mastodon", "article-1" "devto"
    "#);
}

#[test]
fn what_to_do_next_is_said_and_nothing_is_overwritten() {
    let tree = Tree::of(&[("_config.yml", "title: [broken\n")]);
    let first = tree.sayonce(&["init"]);
    first.assert_code(0);
    insta::assert_snapshot!(first.stdout, @r"
    This is a site of Jekyll.
    sayonce.toml is written.
    .github/workflows/announce.yml is written.
    Next:
    1. write the site's address into `url` under `[site]`
    2. build the site; if its feed is not _site/feed.xml, correct `feed` under `[site]`
    3. take the `#` away from the channels that you have
    4. set their secrets: here with `export`, for GitHub Actions with `gh secret set NAME`
    5. `sayonce doctor` checks it all, `sayonce plan` shows what would be sent, `sayonce rehearse` plays it through
    6. `sayonce baseline --from-remote` marks what is online as announced before, and records what is on your accounts
    7. in .github/workflows/announce.yml: name the workflow that puts the site online where it says `deploy`, and build the site where it says so
    ");
    let workflow = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/workflows/announce.yml");
    assert_eq!(
        tree.read(".github/workflows/announce.yml"),
        std::fs::read_to_string(workflow).unwrap()
    );
    let key = "0123456789abcdef0123456789abcdef";
    let text = tree.read("sayonce.toml");
    let (before, after) = text.split_once("# key = \"").unwrap();
    let (made_up, _) = after.split_once('"').unwrap();
    let told = format!("{before}# key = \"{after}").replace(made_up, key);
    insta::assert_snapshot!(told, @r#"
    # What sayonce announces, and where. docs/configuration.md of sayonce has every key; `sayonce doctor` checks it all.

    [site]
    url = "https://blog.example"  # CHANGE THIS: the site's address
    feed = "_site/feed.xml"  # lists the articles; is this where the build puts it?
    pages = "_site"  # built HTML: canonical links, descriptions, dates
    # markdown = "content/**/*.md"  # front matter, and the text for dev.to
    # timezone = "Europe/Berlin"  # for dates without one
    wait_live = "10m"  # an article is announced when its page is online

    [ledger]
    branch = "sayonce-ledger"  # a branch of its own: no commits of a bot on the site's branch

    # The channels: take the `#` away from those that you have. Secrets are named here, and never written.

    # [channels.search]
    # kind = "indexnow"
    # key = "0123456789abcdef0123456789abcdef"  # the site serves it as /0123456789abcdef0123456789abcdef.txt, a file with the key in it

    # [channels.bluesky]
    # kind = "bluesky"
    # handle = "blog.example"  # the account's handle
    # app_password_env = "BLUESKY_APP_PASSWORD"

    # [channels.mastodon]
    # kind = "mastodon"
    # server = "https://mastodon.example"  # the account's server
    # token_env = "MASTODON_TOKEN"

    # [channels.devto]
    # kind = "devto"
    # api_key_env = "DEVTO_API_KEY"
    # interval = "75s"
    "#);
    tree.write("sayonce.toml", "# mine\n");
    std::fs::remove_file(tree.path("site/.github/workflows/announce.yml")).unwrap();
    let second = tree.sayonce(&["init", "--format", "json"]);
    second.assert_code(0);
    assert_eq!(second.json()["left"].to_string(), "[\"sayonce.toml\"]");
    assert_eq!(tree.read("sayonce.toml"), "# mine\n");
    let third = tree.sayonce(&["init"]);
    third.assert_code(0);
    insta::assert_snapshot!(third.stdout, @r"
    This is a site of Jekyll.
    sayonce.toml is there already, and left as it is.
    .github/workflows/announce.yml is there already, and left as it is.
    ");
}
