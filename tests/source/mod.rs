//! What the sources of a site become: items, and plain words about everything that becomes none.

mod dates;
mod feeds;
mod front_matter;
mod kept_back;
mod languages;
mod pages;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sayonce::config::Site;
use sayonce::model::ids::ChannelName;
use sayonce::model::item::{Body, Item};
use sayonce::model::time::Timestamp;
use sayonce::source::{Catalog, Fetch, NoNetwork, load};

/// A site in a directory of its own.
struct TestSite {
    dir: tempfile::TempDir,
    site: Site,
    web: Web,
}

/// What a fetch finds.
#[derive(Default)]
struct Web(BTreeMap<String, Vec<u8>>);

impl Fetch for Web {
    fn fetch(&self, url: &str) -> Result<Vec<u8>, String> {
        let found = self.0.get(url).cloned();
        found.ok_or_else(|| "404 Not Found".to_owned())
    }
}

impl TestSite {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            site: site("https://blog.example/"),
            web: Web::default(),
        }
    }

    fn file(self, path: &str, text: impl AsRef<[u8]>) -> Self {
        let path = self.dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn web(mut self, url: &str, text: &str) -> Self {
        self.web.0.insert(url.to_owned(), text.into());
        self
    }

    fn with(mut self, configure: impl FnOnce(&mut Site)) -> Self {
        configure(&mut self.site);
        self
    }

    /// An Atom feed with these entries.
    fn feed(self, entries: &str) -> Self {
        self.file("_site/feed.xml", atom(entries))
            .with(|site| site.feed = Some("_site/feed.xml".to_owned()))
    }

    /// A page with this head.
    fn page(self, path: &str, head: &str) -> Self {
        let html =
            format!("<!doctype html><html lang=\"de\"><head>{head}</head><body></body></html>");
        self.file(&format!("_site/{path}"), html)
            .with(|site| site.pages = Some("_site".to_owned()))
    }

    fn post(self, path: &str, text: &str) -> Self {
        self.file(path, text)
            .with(|site| site.markdown = Some("_posts/**/*.md".to_owned()))
    }

    fn manifest(self, text: &str) -> Self {
        self.file("items.json", text)
            .with(|site| site.manifest = Some("items.json".to_owned()))
    }

    fn load(&self) -> Catalog {
        load_from(&self.site, self.dir.path(), &self.web).unwrap()
    }

    fn error(&self) -> String {
        load_from(&self.site, self.dir.path(), &self.web)
            .unwrap_err()
            .to_string()
    }

    fn item(&self) -> Item {
        let mut catalog = self.load();
        assert_eq!(catalog.items.len(), 1, "{catalog:#?}");
        catalog.items.remove(0)
    }
}

fn site(url: &str) -> Site {
    Site {
        url: url.parse().unwrap(),
        feed: None,
        pages: None,
        sitemap: None,
        markdown: None,
        manifest: None,
        timezone: chrono_tz::Europe::Berlin,
        since: None,
        permalink: None,
        first_run_max: 5,
        max_new: 5,
        wait_live: Duration::ZERO,
        overdue: Duration::from_hours(24),
        enabled: true,
    }
}

fn load_from(
    site: &Site,
    repo: &Path,
    fetch: &dyn Fetch,
) -> Result<Catalog, sayonce::source::SourceError> {
    let channels: BTreeSet<ChannelName> = ["bluesky", "devto", "mastodon"]
        .map(|name| ChannelName::new(name).unwrap())
        .into();
    load(site, &channels, repo, time("2026-11-29T12:00:00Z"), fetch)
}

fn atom(entries: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?><feed xmlns=\"http://www.w3.org/2005/Atom\" xml:lang=\"en\">{entries}</feed>"
    )
}

fn entry(path: &str, title: &str, date: &str) -> String {
    format!(
        "<entry><title>{title}</title><link href=\"https://blog.example{path}\"/><published>{date}</published></entry>"
    )
}

fn rss(items: &str) -> String {
    format!("<rss version=\"2.0\"><channel>{items}</channel></rss>")
}

fn time(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

fn data(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/source")
        .join(path)
}

/// One line per item, then everything that was said.
fn shown(catalog: &Catalog) -> Vec<String> {
    let items = catalog.items.iter().map(|item| {
        let scope = item
            .out_of_scope
            .as_ref()
            .map_or_else(String::new, |reason| format!(" ({reason})"));
        format!("{}: {}{scope}", item.id, item.title)
    });
    items
        .chain(catalog.foreign.iter().map(|url| format!("foreign {url}")))
        .chain(catalog.notices.iter().map(|text| format!("notice: {text}")))
        .chain(
            catalog
                .problems
                .iter()
                .map(|text| format!("problem: {text}")),
        )
        .collect()
}

#[test]
fn a_jekyll_site_is_joined_from_feed_pages_and_posts() {
    let mut site = site("https://jekyllrb.com/");
    site.feed = Some("_site/feed.xml".to_owned());
    site.pages = Some("_site".to_owned());
    site.markdown = Some("_posts/*".to_owned());
    let mut catalog = load_from(&site, &data("jekyll"), &NoNetwork).unwrap();
    assert_eq!(
        shown(&catalog),
        [
            "news/2024/06/23/jekyll-3-10-0-released: Jekyll 3.10.0 Released",
            "news/2025/01/29/jekyll-4-4-1-released: Jekyll 4.4.1 Released",
            "notice: 1 article has the generator's own tags (`{% … %}`) in the Markdown; dev.to gets the description and the link where it would refuse them, and any other channel that takes the body shows them as they are: _posts/2024-06-23-jekyll-3-10-0-released.markdown",
        ]
    );
    let item = catalog.items.remove(1);
    let body = "Publishing a patch release to restore existing behavior around defining front matter defaults\nwhere a scope with path containing glob patterns are lax in matching paths on disk.\n";
    let front_matter = [
        ("title", "Jekyll 4.4.1 Released"),
        ("date", "2025-01-29 18:15:32 +0530"),
        ("author", "ashmaroli"),
        ("version", "4.4.1"),
        ("category", "release"),
    ];
    let front_matter = front_matter.map(|(name, value)| (name.to_owned(), value.into()));
    assert_eq!(
        item,
        Item {
            id: item.id.clone(),
            canonical_url: "https://jekyllrb.com/news/2025/01/29/jekyll-4-4-1-released/".to_owned(),
            guid: Some("https://jekyllrb.com/news/2025/01/29/jekyll-4-4-1-released".to_owned()),
            aliases: vec![],
            title: "Jekyll 4.4.1 Released".to_owned(),
            description: Some("Publishing a patch release to restore existing behavior around defining front matter defaults where a scope with path containing glob patterns are lax in matching paths on disk.".to_owned()),
            published: Some(time("2025-01-29T12:45:32Z")),
            updated: None,
            authors: vec!["ashmaroli".to_owned()],
            tags: vec!["release".to_owned()],
            language: Some("en".to_owned()),
            image: Some("https://jekyllrb.com/img/jekyll-og.png".to_owned()),
            body: Some(Body::Markdown(body.to_owned())),
            source_file: Some("_posts/2025-01-29-jekyll-4-4-1-released.markdown".to_owned()),
            out_of_scope: None,
            series: None,
            front_matter: Arc::new(front_matter.into_iter().collect()),
            settings: sayonce::model::item::ItemSettings::default(),
        }
    );
}

#[test]
fn a_zola_site_lists_by_markdown_alone() {
    let mut site = site("https://blog.rust-lang.org/");
    site.markdown = Some("content/**/*.md".to_owned());
    site.permalink = Some("/:year/:month/:day/:slug/".to_owned());
    let catalog = load_from(&site, &data("zola"), &NoNetwork).unwrap();
    assert_eq!(
        shown(&catalog),
        ["2026/06/30/%52ust-1.96.1: Announcing Rust 1.96.1"]
    );
    let item = catalog.items.first().unwrap();
    assert_eq!(item.published, Some(time("2026-06-29T22:00:00Z")));
    assert_eq!(item.aliases, ["https://blog.rust-lang.org/releases/1.96.1"]);
}

#[test]
fn what_can_not_be_an_item_is_left_out_with_its_reason() {
    let site = TestSite::new().feed(
        &[
            entry("/good/", "Good", "2026-01-02"),
            entry("/untitled/", "", "2026-01-02"),
            entry("/undated/", "Undated", ""),
            entry("/odd/", "Odd", "soon"),
            "<entry><title>No link</title><published>2026-01-02</published></entry>".to_owned(),
            entry("/elsewhere/", "Elsewhere", "2026-01-02")
                .replace("blog.example", "www.blog.example"),
            entry("/mail/", "Mail", "2026-01-02")
                .replace("https://blog.example", "mailto:a@b.example"),
        ]
        .concat(),
    );
    assert_eq!(
        shown(&site.load()),
        [
            "good: Good",
            "foreign https://www.blog.example/elsewhere/",
            "problem: _site/feed.xml, entry 5 (\"No link\"): it has no link, so it is left out",
            "problem: _site/feed.xml, entry 7 (\"Mail\"): `mailto:a@b.example/mail/` is not an absolute http or https URL, so it is left out",
            "problem: _site/feed.xml, entry 2: it has no title, so `https://blog.example/untitled/` is left out",
            "problem: _site/feed.xml, entry 3 (\"Undated\"): it has no date, so `https://blog.example/undated/` is left out",
            "problem: _site/feed.xml, entry 4 (\"Odd\"): its date can't be read: `soon`, so `https://blog.example/odd/` is left out",
        ]
    );
}

#[test]
fn a_wrong_address_of_the_site_does_not_look_like_a_site_without_articles() {
    let elsewhere =
        |path: &str| entry(path, "A", "2026-01-02").replace("blog.example", "www.blog.example");
    let check = |entries: &[String]| {
        let said = shown(&TestSite::new().feed(&entries.concat()).load());
        said.into_iter()
            .filter(|line| !line.starts_with("foreign "))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        check(&[elsewhere("/a/"), elsewhere("/b/")]),
        [
            "problem: none of 2 articles is below `site.url` (`https://blog.example/`), see `https://www.blog.example/a/`: \
          is `site.url` the site's address?"
        ]
    );
    assert_eq!(
        check(&[elsewhere("/a/")]),
        [
            "problem: the only article is not below `site.url` (`https://blog.example/`), see `https://www.blog.example/a/`: \
          is `site.url` the site's address?"
        ]
    );
    assert_eq!(
        check(&[elsewhere("/a/"), entry("/b/", "B", "2026-01-02")]),
        ["b: B"]
    );
    assert_eq!(check(&[]), [""; 0]);
}

#[test]
fn two_addresses_with_one_id_are_both_left_out() {
    let feed = [
        entry("/a/", "One", "2026-01-02"),
        entry("/a", "Other", "2026-01-03"),
        entry("/b/", "First", "2026-01-02"),
        entry("/b/#again", "Second", "2026-01-02").replace("https", "http"),
    ]
    .concat();
    assert_eq!(
        shown(&TestSite::new().feed(&feed).load()),
        [
            "b: First",
            "notice: `https://blog.example/b/` is listed twice; what stands first counts (_site/feed.xml, entry 3)",
            "problem: `https://blog.example/a/` and `https://blog.example/a` would both be the item `a`: both are left out; give each article an address of its own",
        ]
    );
    // One address, and all else says that they are two.
    let with_guid = |title: &str, guid: &str| {
        let guid = format!("<id>{guid}</id></entry>");
        entry("/e/", title, "2026-01-02").replace("</entry>", &guid)
    };
    let check = |entries: [String; 2]| shown(&TestSite::new().feed(&entries.concat()).load());
    assert_eq!(
        check([with_guid("One", "tag:1"), with_guid("Two", "tag:2")]),
        [
            "problem: `https://blog.example/e/` is the address of two articles, _site/feed.xml, entry 1 (\"One\") and \
          _site/feed.xml, entry 2 (\"Two\"): none of them is announced; give each its own"
        ]
    );
    for again in [with_guid("One", "tag:2"), with_guid("Edited", "tag:1")] {
        assert_eq!(
            check([with_guid("One", "tag:1"), again]),
            [
                "e: One",
                "notice: `https://blog.example/e/` is listed twice; what stands first counts (_site/feed.xml, entry 1)"
            ]
        );
    }
    // Two articles may also claim one address in their front matter.
    let feed = [
        entry("/c/", "C", "2026-01-02"),
        entry("/d/", "D", "2026-01-02"),
    ]
    .concat();
    let site = TestSite::new()
        .feed(&feed)
        .post(
            "_posts/2026-01-02-c.md",
            "---\npermalink: /c/\ncanonical_url: https://blog.example/c/\n---\nC",
        )
        .post(
            "_posts/2026-01-02-d.md",
            "---\npermalink: /d/\ncanonical_url: https://blog.example/e/\n---\nD",
        )
        .post(
            "_posts/2026-01-02-e.md",
            "---\ntitle: E\ndraft: true\n---\n",
        );
    assert_eq!(shown(&site.load()), ["c: C", "e: D"]);
}

#[test]
fn one_feed_id_on_two_articles_recognises_neither() {
    let feed = [
        entry("/a/", "A", "2026-01-02"),
        entry("/b/", "B", "2026-01-03"),
    ]
    .concat()
    .replace("<title>", "<id>same</id><title>");
    let catalog = TestSite::new().feed(&feed).load();
    assert!(catalog.items.iter().all(|item| item.guid.is_none()));
    assert_eq!(
        shown(&catalog),
        [
            "a: A",
            "b: B",
            "notice: 2 articles have the feed id `same`: it is not used to recognise them",
        ]
    );
}

#[test]
fn scope_is_told_with_its_reason() {
    let feed = [
        entry("/old/", "Old", "2025-12-31T22:59:59Z"),
        entry("/new/", "New", "2025-12-31T23:00:00Z"),
        entry("/soon/", "Soon", "2026-11-30"),
        entry("/draft/", "Draft", "2026-02-01"),
        entry("/unpublished/", "Unpublished", "2026-02-02"),
        entry("/silent/", "Silent", "2026-02-03"),
    ]
    .concat();
    let site = TestSite::new()
        .feed(&feed)
        .post("_posts/2026-02-01-draft.md", "---\ndraft: yes\n---\n")
        .post(
            "_posts/2026-02-02-unpublished.md",
            "---\npublished: false\n---\n",
        )
        .post("_posts/2026-02-03-silent.md", "---\nsayonce: false\n---\n")
        .with(|site| site.since = Some(time("2025-12-31T23:00:00Z")));
    assert_eq!(
        shown(&site.load()),
        [
            "old: Old (older than `site.since`)",
            "new: New",
            "draft: Draft (a draft)",
            "unpublished: Unpublished (a draft)",
            "silent: Silent (`sayonce: false` in its front matter)",
            "soon: Soon (dated in the future, 2026-11-29T23:00:00.000Z)",
        ]
    );
}

#[test]
fn each_field_is_believed_by_its_own_order() {
    let entry = "<entry><title>Feed</title><link href=\"https://blog.example/2026/hello/?from=feed\"/><published>2026-01-02T10:00:00Z</published><summary type=\"html\">From &lt;b&gt;feed&lt;/b&gt;</summary><category term=\"feed\"/></entry>";
    let page = "<title>Page</title><link rel=canonical href=\"https://blog.example/2026/hello/\"><meta property=\"og:description\" content=\"From &quot;page&quot; &amp;amp;\"><meta property=\"og:image\" content=\"/card.png\">";
    let feed_only = TestSite::new().feed(entry).item();
    assert_eq!(
        feed_only.canonical_url,
        "https://blog.example/2026/hello/?from=feed"
    );
    assert_eq!(feed_only.description.as_deref(), Some("From feed"));
    assert_eq!(feed_only.language.as_deref(), Some("en"));
    assert_eq!(feed_only.tags, ["feed"]);

    let with_page = TestSite::new()
        .feed(entry)
        .page("2026/hello/index.html", page)
        .item();
    assert_eq!(with_page.canonical_url, "https://blog.example/2026/hello/");
    assert_eq!(
        with_page.aliases,
        ["https://blog.example/2026/hello/?from=feed"]
    );
    assert_eq!(with_page.title, "Feed");
    assert_eq!(
        with_page.description.as_deref(),
        Some("From \"page\" &amp;")
    );
    assert_eq!(with_page.language.as_deref(), Some("de"));
    assert_eq!(
        with_page.image.as_deref(),
        Some("https://blog.example/card.png")
    );

    let post = "---\ntitle: Post\ndate: 2026-01-02\ndescription: From post\ntags: [post, post, other]\nlang: fr\nimage: /post.png\ncanonical_url: https://blog.example/posts/hello/\nredirect_from: /old/\npermalink: /2026/hello/\n---\nText\n";
    let with_post = TestSite::new()
        .feed(entry)
        .page("2026/hello/index.html", page)
        .post("_posts/2026-01-02-hello.md", post)
        .item();
    assert_eq!(with_post.canonical_url, "https://blog.example/2026/hello/");
    assert_eq!(with_post.title, "Feed");
    assert_eq!(with_post.description.as_deref(), Some("From post"));
    assert_eq!(with_post.tags, ["post", "other"]);
    assert_eq!(with_post.language.as_deref(), Some("fr"));
    assert_eq!(
        with_post.image.as_deref(),
        Some("https://blog.example/card.png")
    );
    assert_eq!(with_post.body, Some(Body::Markdown("Text\n".to_owned())));
    assert_eq!(
        with_post.aliases,
        [
            "https://blog.example/2026/hello/?from=feed",
            "https://blog.example/old/"
        ]
    );

    let unsigned = TestSite::new()
        .feed(&entry.replace("?from=feed", ""))
        .post("_posts/2026-01-02-hello.md", post)
        .item();
    assert_eq!(unsigned.canonical_url, "https://blog.example/posts/hello/");
    assert_eq!(unsigned.id.as_str(), "posts/hello");

    let untitled = TestSite::new()
        .feed(&entry.replace("Feed", ""))
        .page("2026/hello/index.html", page);
    assert_eq!(untitled.item().title, "Page");
    assert_eq!(
        untitled
            .post("_posts/2026-01-02-hello.md", post)
            .item()
            .title,
        "Post"
    );

    let manifest = r#"{"items": [{"url": "/2026/hello/", "title": "Manifest", "date": "2026-01-03", "tags": ["manifest"], "guid": "m-1", "body_markdown": "M", "image": "m.png"}]}"#;
    let with_manifest = TestSite::new()
        .feed(entry)
        .page("2026/hello/index.html", page)
        .manifest(manifest)
        .item();
    assert_eq!(with_manifest.title, "Manifest");
    assert_eq!(with_manifest.published, Some(time("2026-01-02T23:00:00Z")));
    assert_eq!(with_manifest.guid.as_deref(), Some("m-1"));
    assert_eq!(with_manifest.tags, ["manifest"]);
    assert_eq!(with_manifest.body, Some(Body::Markdown("M".to_owned())));
    assert_eq!(
        with_manifest.image.as_deref(),
        Some("https://blog.example/2026/hello/m.png")
    );
}

#[test]
fn sources_that_can_not_be_read_say_what_to_do() {
    let configured = |configure: fn(&mut Site)| TestSite::new().with(configure).error();
    assert_eq!(
        configured(|_site| {}),
        "no source is configured: set `site.feed`, or one of `site.manifest`, `site.sitemap`, `site.pages`, and `site.markdown`"
    );
    assert_eq!(
        configured(|site| site.feed = Some("_site/feed.xml".to_owned())),
        "can't read `_site/feed.xml`: build the site first, or correct `site.feed`"
    );
    assert_eq!(
        configured(|site| site.pages = Some("_site".to_owned())),
        "can't read `_site`: build the site first, or correct `site.pages`"
    );
    assert_eq!(
        configured(|site| site.markdown = Some("_posts/*.md".to_owned())),
        "`site.markdown` alone gives no addresses: set `site.feed`, or `site.permalink` to how the site builds them, such as `/:year/:month/:title/`"
    );
    assert_eq!(
        configured(|site| site.sitemap = Some("sitemap.xml".to_owned())),
        "`site.sitemap` alone gives no titles and dates: set `site.pages` to the directory of built pages, or use `site.feed`"
    );
    assert_eq!(
        configured(|site| site.markdown = Some("***".to_owned())),
        "`site.markdown` is no pattern that can be read, `***`: wildcards are either regular `*` or recursive `**`"
    );
    assert_eq!(
        TestSite::new()
            .feed("")
            .file("_site/feed.xml", "<html></html>")
            .error(),
        "`_site/feed.xml` is no feed that can be read (Atom, RSS, or JSON Feed): unable to parse feed: no root element"
    );
    // A wrong pattern would announce what the front matter keeps back.
    let site = TestSite::new()
        .feed(&entry("/a/", "A", "2026-01-02"))
        .with(|site| site.markdown = Some("posts/*.md".to_owned()));
    assert_eq!(
        site.error(),
        "`site.markdown` names no file: `posts/*.md` matches nothing; correct or remove it"
    );
}
