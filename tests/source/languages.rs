//! Articles in several languages, in files beside each other.

use super::{TestSite, entry, shown};

/// A site whose feed has these addresses, all of one day.
fn feed(paths: &[&str]) -> TestSite {
    let entries: Vec<String> = paths
        .iter()
        .map(|path| entry(path, &format!("At {path}"), "2026-01-02"))
        .collect();
    TestSite::new()
        .feed(&entries.concat())
        .with(|site| site.markdown = Some("c/**/*.md".to_owned()))
}

fn post(front_matter: &str) -> String {
    format!("---\ndate: 2026-01-02\n{front_matter}\n---\nText")
}

/// Which file each article has.
fn joined(site: &TestSite) -> Vec<String> {
    let items = site.load().items;
    let file = |file: Option<String>| file.unwrap_or_else(|| "none".to_owned());
    let lines = items
        .into_iter()
        .map(|item| format!("{}: {}", item.id, file(item.source_file)));
    lines.collect()
}

#[test]
fn an_article_has_the_file_of_its_own_language() {
    for (english, german) in [
        ("c/posts/x.md", "c/posts/x.de.md"),
        ("c/posts/x/index.md", "c/posts/x/index.de.md"),
        ("c/posts/2026-01-02-x.md", "c/posts/2026-01-02-x.de.md"),
    ] {
        let site = |paths: &[&str]| {
            feed(paths)
                .file(english, post("lang: en"))
                .file(german, post("sayonce: false"))
        };
        assert_eq!(
            shown(&site(&["/de/posts/x/"]).load()),
            [
                "de/posts/x: At /de/posts/x/ (`sayonce: false` in its front matter)".to_owned(),
                format!(
                    "notice: {english} belongs to no article that is listed (a feed shows only its newest)"
                ),
            ]
        );
        assert_eq!(
            joined(&site(&["/posts/x/", "/de/posts/x/"])),
            [
                format!("de/posts/x: {german}"),
                format!("posts/x: {english}")
            ]
        );
        assert_eq!(
            joined(&site(&["/posts/x/"])),
            [format!("posts/x: {english}")]
        );
    }
    // A region is part of it.
    let site = feed(&["/pt-br/x/", "/pt/x/", "/x/"])
        .file("c/x.md", post(""))
        .file("c/x.pt.md", post(""))
        .file("c/x.pt_BR.md", post(""));
    assert_eq!(
        joined(&site),
        ["pt-br/x: c/x.pt_BR.md", "pt/x: c/x.pt.md", "x: c/x.md"]
    );
}

#[test]
fn a_suffix_alone_may_be_a_language_or_part_of_the_name() {
    let one = |address: &str, path: &str| joined(&feed(&[address]).file(path, post("")));
    assert_eq!(one("/posts/x/", "c/x.de.md"), ["posts/x: c/x.de.md"]);
    assert_eq!(one("/de/x/", "c/x.de.md"), ["de/x: c/x.de.md"]);
    assert_eq!(one("/node.js/", "c/node.js.md"), ["node.js: c/node.js.md"]);
    assert_eq!(one("/node-js/", "c/node.js.md"), ["node-js: c/node.js.md"]);
    assert_eq!(one("/x-de/", "c/x.de.md"), ["x-de: c/x.de.md"]);
}

#[test]
fn which_language_an_address_without_one_has_is_not_guessed() {
    let site = feed(&["/x/", "/de/x/"])
        .file("c/x.en.md", post("sayonce: false"))
        .file("c/x.de.md", post(""));
    assert_eq!(
        shown(&site.load()),
        [
            "de/x: At /de/x/",
            "problem: `https://blog.example/x/` is left out, since it may be the article of c/x.en.md (it has `sayonce: false`; its name does not tell it from others); set `canonical_url` or `permalink` in it",
        ]
    );
}

#[test]
fn a_permalink_knows_no_languages() {
    let site = TestSite::new()
        .with(|site| site.markdown = Some("c/**/*.md".to_owned()))
        .with(|site| site.permalink = Some("/:slug/".to_owned()))
        .file("c/x.md", post("title: English"))
        .file("c/x.de.md", post("title: Deutsch"))
        .file("c/x.fr.md", post("title: Français\npermalink: /fr/x/"))
        .file("c/y.de.md", post("title: Allein"))
        .file("c/node.js.md", post("title: Node"))
        .file("c/moving-to-fly.io.md", post("title: Moved"));
    assert_eq!(
        shown(&site.load()),
        [
            "fr/x: Français",
            "moving-to-fly-io: Moved",
            "node-js: Node",
            "x: English",
            "y-de: Allein",
            "problem: `site.permalink` has no languages, so 1 file is left out; set `permalink` in each, or use `site.feed`: c/x.de.md",
        ]
    );
}
