//! What an author keeps back stays back, also where it is not certain which file an article was written in.

use super::{TestSite, entry, rss, shown, time};

/// A site with an RSS feed of these articles, all of 8 July 2022.
fn blog(paths: &[&str]) -> TestSite {
    let items: Vec<String> = paths
        .iter()
        .map(|path| {
            format!("<item><title>Article at {path}</title><link>https://blog.example{path}</link><pubDate>Fri, 08 Jul 2022 12:00:00 GMT</pubDate></item>")
        })
        .collect();
    TestSite::new()
        .file("rss.xml", rss(&items.concat()))
        .with(|site| site.feed = Some("rss.xml".to_owned()))
        .with(|site| site.markdown = Some("c/**/*".to_owned()))
}

#[test]
fn a_file_without_a_readable_date_keeps_its_article_back() {
    let check = |front_matter: &str| {
        let site = blog(&["/blog/first-post/"]).file(
            "c/first-post.md",
            format!("---\ntitle: First\n{front_matter}\n---\nText"),
        );
        shown(&site.load())
    };
    let left_out = |wish: &str, doubt: &str| {
        let or_a_date = if doubt.contains("2022-07-04") {
            ""
        } else {
            ", or a date that can be read"
        };
        vec![format!(
            "problem: `https://blog.example/blog/first-post/` is left out, since it may be the article of c/first-post.md ({wish}; {doubt}); set `canonical_url` or `permalink` in it{or_a_date}"
        )]
    };
    for date in ["Last Modified", "2022-07-08 10:00:00 CEST", "8.7.2022"] {
        assert_eq!(
            check(&format!("date: {date}\nsayonce: false")),
            left_out(
                "it has `sayonce: false`",
                &format!("its date can't be read: `{date}`")
            )
        );
    }
    assert_eq!(
        check("sayonce: false"),
        left_out("it has `sayonce: false`", "it has no date")
    );
    assert_eq!(
        check("draft: true"),
        left_out("it is a draft", "it has no date")
    );
    assert_eq!(
        check("sayonce: { mastodon: \"own text\" }"),
        left_out("it has `sayonce` settings", "it has no date")
    );
    assert_eq!(
        check("sayonce: { publish_at: 2026-12-01T09:00 }"),
        left_out("it has `sayonce` settings", "it has no date")
    );
    assert_eq!(
        check("date: 2022-07-04\nsayonce: false"),
        left_out(
            "it has `sayonce: false`",
            "its date is 2022-07-04, and the article's 2022-07-08"
        )
    );
    // What says nothing keeps nothing back, and what is certain needs no guess.
    for front_matter in ["tags: []", "sayonce: {}"] {
        assert_eq!(
            check(front_matter),
            [
                "blog/first-post: Article at /blog/first-post/",
                "notice: c/first-post.md belongs to no article that is listed (a feed shows only its newest)",
            ]
        );
    }
    assert_eq!(
        check("canonical_url: /blog/first-post/\nsayonce: false"),
        ["blog/first-post: Article at /blog/first-post/ (`sayonce: false` in its front matter)"]
    );
}

#[test]
fn of_files_with_one_name_the_one_in_the_addresses_directories_is_the_articles() {
    let front_matter = "---\ndate: 2022-07-08\nsayonce: false\n---\n";
    let own = front_matter.replace("false", "{ mastodon: false }");
    let site = blog(&["/en/x/", "/de/x/"])
        .file("c/en/x.md", own)
        .file("c/de/x.md", front_matter);
    assert_eq!(
        shown(&site.load()),
        [
            "de/x: Article at /de/x/ (`sayonce: false` in its front matter)",
            "en/x: Article at /en/x/",
        ]
    );
    // A translation that is not done yet keeps nothing back.
    let draft = "---\ndate: 2022-07-08\ndraft: true\n---\n";
    let published = "---\ndate: 2022-07-08\n---\n";
    let site = blog(&["/en/x/"])
        .file("c/en/x.md", published)
        .file("c/de/x.md", draft);
    assert_eq!(shown(&site.load()), ["en/x: Article at /en/x/"]);
    let site = blog(&["/x/"])
        .file("c/en/x.md", published)
        .file("c/de/x.md", draft);
    assert_eq!(
        shown(&site.load()),
        [
            "x: Article at /x/",
            "notice: `https://blog.example/x/` fits more Markdown files than one, `c/de/x.md` and `c/en/x.md`: none is used; set `canonical_url` in the right one",
        ]
    );
    let site = blog(&["/posts/x/", "/notes/x/"]).file("c/posts/x.md", front_matter);
    assert_eq!(
        shown(&site.load()),
        [
            "notes/x: Article at /notes/x/",
            "posts/x: Article at /posts/x/ (`sayonce: false` in its front matter)",
        ]
    );
}

#[test]
fn files_and_articles_that_share_a_name_keep_back_all_that_they_may_be() {
    let front_matter = "---\ndate: 2022-07-08\nsayonce: false\n---\n";
    let site = blog(&["/one/x/", "/two/x/"])
        .file("c/a/x.md", front_matter)
        .file("c/b/x.md", front_matter);
    let files = "c/a/x.md (it has `sayonce: false`; its name does not tell it from others) or of c/b/x.md (it has `sayonce: false`; its name does not tell it from others); set `canonical_url` or `permalink` in the one that is";
    assert_eq!(
        shown(&site.load()),
        [
            "notice: `https://blog.example/one/x/` fits more Markdown files than one, `c/a/x.md` and `c/b/x.md`: none is used; set `canonical_url` in the right one".to_owned(),
            "notice: `https://blog.example/two/x/` fits more Markdown files than one, `c/a/x.md` and `c/b/x.md`: none is used; set `canonical_url` in the right one".to_owned(),
            format!("problem: `https://blog.example/one/x/` is left out, since it may be the article of {files}"),
            format!("problem: `https://blog.example/two/x/` is left out, since it may be the article of {files}"),
        ]
    );

    let site = blog(&["/one/x/", "/two/x/"]).file("c/posts/x.md", front_matter);
    let file = "c/posts/x.md (it has `sayonce: false`; its name does not tell it from others); set `canonical_url` or `permalink` in it";
    assert_eq!(
        shown(&site.load()),
        [
            "notice: c/posts/x.md fits more articles than one, among them `https://blog.example/one/x/`: it is not used for that; set `canonical_url` in it".to_owned(),
            "notice: c/posts/x.md fits more articles than one, among them `https://blog.example/two/x/`: it is not used for that; set `canonical_url` in it".to_owned(),
            format!("problem: `https://blog.example/one/x/` is left out, since it may be the article of {file}"),
            format!("problem: `https://blog.example/two/x/` is left out, since it may be the article of {file}"),
        ]
    );
    // An address in the file frees the other article.
    let named = front_matter.replace("date", "permalink: one/x/\ndate");
    let site = blog(&["/one/x/", "/two/x/"]).file("c/posts/x.md", named);
    assert_eq!(
        shown(&site.load()),
        [
            "one/x: Article at /one/x/ (`sayonce: false` in its front matter)",
            "two/x: Article at /two/x/",
        ]
    );
}

#[test]
fn a_draft_with_the_same_title_keeps_back_no_article_that_is_plainly_anothers() {
    let title = "title: Article at /weekly/46/\n";
    let of_day = |day: &str, more: &str| format!("---\n{title}date: {day}\n{more}---\n");
    let published = || of_day("2022-07-08", "");
    let check = |draft: String| {
        shown(
            &blog(&["/weekly/46/"])
                .file("c/w46.md", published())
                .file("c/w48.md", draft)
                .load(),
        )
    };
    for draft in [
        of_day("2022-07-22", "draft: true\n"),
        of_day("2022-07-08", "draft: true\n"),
        format!("---\n{title}draft: true\n---\n"),
        of_day("2022-07-22", "sayonce: false\n"),
    ] {
        assert_eq!(
            check(draft.clone())[0],
            "weekly/46: Article at /weekly/46/",
            "{draft}"
        );
    }
    // Of two that are as near the one that is not to be announced counts.
    let same = of_day("2022-07-08", "sayonce: false\n");
    assert!(check(same).iter().any(|line| line.starts_with("problem: ")));
}

#[test]
fn an_article_with_a_file_of_its_own_is_not_held_up_by_others() {
    let site = blog(&["/posts/x/"])
        .file("c/x.md", "---\ndate: 2022-07-08\ntitle: Own\n---\n")
        .file("c/old/x.md", "---\ndate: 2019-07-08\nsayonce: false\n---\n")
        .file("c/notes/x.md", "---\ndraft: true\n---\n");
    assert_eq!(
        shown(&site.load()),
        [
            "posts/x: Article at /posts/x/",
            "notice: c/old/x.md belongs to no article that is listed (a feed shows only its newest)",
        ]
    );
    // Neither is an article that is not announced anyway.
    let site = blog(&["/posts/x/"])
        .file("c/notes/x.md", "---\nsayonce: false\n---\n")
        .with(|site| site.since = Some(time("2026-01-01T00:00:00Z")));
    assert_eq!(
        shown(&site.load()),
        [
            "posts/x: Article at /posts/x/ (older than `site.since`)",
            "notice: c/notes/x.md belongs to no article that is listed (a feed shows only its newest)",
        ]
    );
}

#[test]
fn names_are_found_as_generators_write_them() {
    let excluded = |address: &str, path: &str, front_matter: &str| {
        let site =
            blog(&[address]).file(path, format!("---\n{front_matter}\nsayonce: false\n---\n"));
        let mut said = shown(&site.load());
        assert_eq!(said.len(), 1, "{said:?}");
        said.remove(0)
            .ends_with("(`sayonce: false` in its front matter)")
    };
    let date = "date: 2022-07-08";
    // Joined.
    assert!(excluded("/zp/", "c/foo.md", "path: zp"));
    assert!(excluded("/bare", "c/2022-07-08-foo.md", "permalink: bare"));
    assert!(excluded(
        "/a/deep/x/",
        "c/foo.md",
        "date: 2022-07-08\nslug: deep/x"
    ));
    assert!(excluded("/foo/", "c/foo/README.md", date));
    assert!(excluded("/posts/x.htm", "c/x.md", date));
    assert!(excluded("/2022-07-08-x/", "c/2022-07-08-x.md", ""));
    assert!(excluded(
        "/x/",
        "c/x.md",
        "date: 2022-07-08\npermalink: \"/{{ page.fileSlug }}/\""
    ));
    // Not joined, and left out.
    let left_out = |address: &str, path: &str, front_matter: &str| {
        let site =
            blog(&[address]).file(path, format!("---\n{front_matter}\nsayonce: false\n---\n"));
        let said = shown(&site.load());
        assert_eq!(said.len(), 1, "{said:?}");
        said.first()
            .is_some_and(|line| line.starts_with(&format!("problem: `https://blog.example{address}` is left out, since it may be the article of {path} (")))
    };
    assert!(left_out("/uber-uns/", "c/Über uns.md", date));
    assert!(left_out("/ueber-uns/", "c/Über uns.md", date));
    assert!(left_out(
        "/hello/",
        "c/hello.md",
        "date: 2022-07-08\nslug: other"
    ));
    assert!(left_out("/de/hello/", "c/x.md", "permalink: /hello/"));
    assert!(left_out(
        "/my-great-title/",
        "c/note1.md",
        "date: 2022-07-08\ntitle: My great title"
    ));
    // A file that can't be read may say that, too.
    let site = blog(&["/uber-uns/"]).file("c/Über uns.md", "---\na: [\n---\n");
    let said = shown(&site.load());
    assert_eq!(said.len(), 2, "{said:?}");
    assert_eq!(
        said.last().map(String::as_str),
        Some(
            "problem: `https://blog.example/uber-uns/` is left out, since it may be the article of c/Über uns.md (it can't be read; its date is not known); set `canonical_url` or `permalink` in it, or a date that can be read"
        )
    );
    assert!(left_out("/p/1", "c/x.md", "title: article  at /P/1"));
}

#[test]
fn an_edited_article_keeps_its_file_where_the_feed_has_only_the_date_of_the_change() {
    let feed =
        |path: &str, changed: &str| entry(path, "A", changed).replace("published>", "updated>");
    let excluded = "---\ndate: 2024-01-02\nsayonce: false\n---\n";
    let site = TestSite::new()
        .feed(&feed("/x/", "2026-06-01"))
        .post("_posts/x.md", excluded);
    assert_eq!(
        shown(&site.load()),
        ["x: A (`sayonce: false` in its front matter)"]
    );
    // Its own date counts, for `since` too.
    let plain = "---\ndate: 2024-01-02\n---\nText";
    let site = TestSite::new()
        .feed(&feed("/x/", "2026-06-01"))
        .post("_posts/x.md", plain)
        .with(|site| site.since = Some(time("2025-01-01T00:00:00Z")));
    let item = site.item();
    assert_eq!(shown(&site.load()), ["x: A (older than `site.since`)"]);
    assert_eq!(item.published, Some(time("2024-01-01T23:00:00Z")));
    assert_eq!(item.updated, Some(time("2026-05-31T22:00:00Z")));
    // An address may name the day.
    let site = TestSite::new().feed(&feed("/2024/01/02/x/", "2026-06-01"));
    assert_eq!(site.item().published, Some(time("2024-01-01T23:00:00Z")));
    // Nothing but the change is known.
    let site = TestSite::new().feed(&feed("/x/", "2026-06-01"));
    assert_eq!(site.item().published, Some(time("2026-05-31T22:00:00Z")));
    assert_eq!(site.item().updated, None);
    // A file of the very day is the nearest; one that is younger than the change is none.
    let site = TestSite::new()
        .feed(&feed("/x/", "2026-06-01"))
        .post("_posts/2026-06-01-x.md", "Text")
        .post("_posts/2024-01-02-x.md", excluded);
    assert_eq!(
        site.item().source_file.as_deref(),
        Some("_posts/2026-06-01-x.md")
    );
    let site = TestSite::new()
        .feed(&feed("/x/", "2026-06-01"))
        .post("_posts/2026-06-10-x.md", "Text");
    assert_eq!(site.item().source_file, None);
    // Two older ones: which is not certain.
    let site = TestSite::new()
        .feed(&feed("/x/", "2026-06-01"))
        .post("_posts/2025-01-02-x.md", "---\na: b\n---\n")
        .post("_posts/2024-01-02-x.md", excluded);
    assert_eq!(
        shown(&site.load()),
        [
            "notice: `https://blog.example/x/` fits more Markdown files than one, `_posts/2024-01-02-x.md` and `_posts/2025-01-02-x.md`: none is used; set `canonical_url` in the right one",
            "problem: `https://blog.example/x/` is left out, since it may be the article of _posts/2024-01-02-x.md (it has `sayonce: false`; its date is 2024-01-02, and the article's 2026-06-01); set `canonical_url` or `permalink` in it",
        ]
    );
}
