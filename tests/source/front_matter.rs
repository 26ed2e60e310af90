//! Markdown files: which article is theirs, and what their front matter says.

use sayonce::model::ids::ChannelName;
use sayonce::model::item::ItemChannelSettings;

use super::{TestSite, entry, shown, time};

#[test]
fn a_file_joins_by_address_else_by_slug_and_day() {
    let check = |date: &str, path: &str, front_matter: &str| {
        let site = TestSite::new()
            .feed(&entry("/news/hello.html", "A", date))
            .post(path, &format!("---\n{front_matter}\n---\nText"));
        site.item().source_file.is_some()
    };
    assert!(check(
        "2026-01-02T10:00:00Z",
        "_posts/2026-01-02-hello.md",
        "a: b"
    ));
    assert!(check(
        "2026-01-02T10:00:00Z",
        "_posts/2026-01-03-hello.md",
        "a: b"
    ));
    assert!(!check(
        "2026-01-02T10:00:00Z",
        "_posts/2026-01-04-hello.md",
        "a: b"
    ));
    // 23:30 UTC is the next day in Berlin.
    assert!(check(
        "2026-01-02T23:30:00Z",
        "_posts/2026-01-04-hello.md",
        "a: b"
    ));
    assert!(!check("2026-01-02T10:00:00Z", "_posts/hello.md", "a: b"));
    assert!(check(
        "2026-01-02T10:00:00Z",
        "_posts/hello/index.md",
        "date: 2026-01-02"
    ));
    assert!(check(
        "2026-01-02T10:00:00Z",
        "_posts/x.md",
        "date: 2026-01-02\nslug: hello"
    ));
    assert!(!check(
        "2026-01-02T10:00:00Z",
        "_posts/2026-01-02-hello.md",
        "slug: other"
    ));
    assert!(check(
        "2026-01-02T10:00:00Z",
        "_posts/x.md",
        "permalink: /news/hello.html"
    ));
    assert!(check(
        "2026-01-02T10:00:00Z",
        "_posts/x.md",
        "canonical_url: https://blog.example/news/hello.html"
    ));
    assert!(!check(
        "2026-01-02T10:00:00Z",
        "_posts/2026-01-02-hello.md",
        "permalink: /other/"
    ));
    assert!(check(
        "2026-01-02T10:00:00Z",
        "_posts/2026-01-02-hello.md",
        "permalink: /:categories/:title/"
    ));
}

#[test]
fn what_does_not_join_is_said() {
    let feed = [
        entry("/a/hello/", "A", "2026-01-02"),
        entry("/b/bye/", "B", "2026-01-02"),
        entry("/c/bye/", "C", "2026-01-02"),
    ]
    .concat();
    let site = TestSite::new()
        .feed(&feed)
        .post("_posts/2026-01-02-hello.md", "One")
        .post("_posts/x/2026-01-03-hello.md", "Two")
        .post("_posts/2026-01-02-bye.md", "Bye")
        .post("_posts/2025-01-02-older.md", "Older")
        .post("_posts/2026-01-02-draft.md", "---\ndraft: true\n---\n")
        .post("_posts/2026-12-02-later.md", "---\ndate: 2026-12-02\n---\n")
        .post("_posts/_index.md", "---\ntitle: Section\n---\n");
    assert_eq!(
        shown(&site.load()),
        [
            "a/hello: A",
            "b/bye: B",
            "c/bye: C",
            "notice: `https://blog.example/a/hello/` fits more Markdown files than one, `_posts/2026-01-02-hello.md` and `_posts/x/2026-01-03-hello.md`: none is used; set `canonical_url` in the right one",
            "notice: _posts/2026-01-02-bye.md fits more articles than one, among them `https://blog.example/b/bye/`: it is not used for that; set `canonical_url` in it",
            "notice: _posts/2026-01-02-bye.md fits more articles than one, among them `https://blog.example/c/bye/`: it is not used for that; set `canonical_url` in it",
            "notice: _posts/2025-01-02-older.md belongs to no article that is listed (a feed shows only its newest)",
        ]
    );
}

#[test]
fn many_files_without_an_article_are_one_notice() {
    let mut site = TestSite::new().feed(&entry("/a/", "A", "2026-01-02"));
    for number in 1..=4 {
        site = site.post(&format!("_posts/2025-01-0{number}-p.md"), "Text");
    }
    assert_eq!(
        shown(&site.load()),
        [
            "a: A",
            "notice: 4 Markdown files belong to no article that is listed (a feed shows only its newest): _posts/2025-01-01-p.md, _posts/2025-01-02-p.md, _posts/2025-01-03-p.md, …",
        ]
    );
}

#[test]
fn one_site_has_files_with_several_endings() {
    let feed = [
        entry("/one/", "One", "2026-01-02"),
        entry("/two/", "Two", "2026-01-03"),
        entry("/three/", "Three", "2026-01-04"),
    ]
    .concat();
    let check = |pattern: &str| {
        let kept_back = "---\nsayonce: false\n---\n";
        let site = TestSite::new()
            .feed(&feed)
            .post("_posts/2026-01-02-one.md", kept_back)
            .post("_posts/2026-01-03-two.markdown", kept_back)
            .post("_posts/2026-01-04-three.mdx", kept_back)
            .with(|site| site.markdown = Some(pattern.to_owned()));
        let catalog = site.load();
        let kept: Vec<_> = catalog
            .items
            .iter()
            .filter(|item| item.out_of_scope.is_some())
            .map(|item| item.id.to_string())
            .collect();
        format!("{}; {}", kept.join(" "), catalog.notices.join("; "))
    };
    let beside = "`{md,markdown,mdx}` in place of the ending takes in all three";
    assert_eq!(
        check("_posts/**/*.md"),
        format!(
            "one; `site.markdown` leaves out 2 files that have another ending, `_posts/2026-01-03-two.markdown`: {beside}"
        )
    );
    assert_eq!(
        check("_posts/**/*.{md,markdown}"),
        format!(
            "one two; `site.markdown` leaves out a file that has another ending, `_posts/2026-01-04-three.mdx`: {beside}"
        )
    );
    for all in [
        "_posts/**/*",
        "_posts/**/*.{md,markdown,mdx}",
        "_posts",
        "_posts/",
    ] {
        assert_eq!(check(all), "one two three; ", "{all}");
    }
}

#[test]
fn every_field_is_kept_for_templates() {
    let shown = |site: TestSite| serde_json::to_string(&*site.item().front_matter).unwrap();
    let feed = entry("/hello/", "A", "2026-01-02");
    let post = "---\ndate: 2026-01-02\nsubtitle: \"Line\\n\\e[31mtwo\"\nweight: 3\nratio: 1.5\nfeatured: true\nnothing:\n\
                places: [Rome, Oslo]\nparams: { mood: calm }\n---\n";
    let fields = r#"{"date":"2026-01-02","subtitle":"Line\n[31mtwo","weight":3,"ratio":1.5,"featured":true,"nothing":null,"places":["Rome","Oslo"],"params":{"mood":"calm"}}"#;
    let site = || TestSite::new().feed(&feed).post("_posts/hello.md", post);
    assert_eq!(shown(site()), fields);
    assert_eq!(shown(TestSite::new().feed(&feed)), "{}");
    // Hugo's and Zola's.
    let toml = "+++\ndate = 2026-01-02\n[extra]\nmood = \"calm\"\n+++\n";
    assert_eq!(
        shown(TestSite::new().feed(&feed).post("_posts/hello.md", toml)),
        r#"{"date":"2026-01-02","extra":{"mood":"calm"}}"#
    );
    let manifest = r#"{"items":[{"url":"https://blog.example/hello/","title":"A","date":"2026-01-02","front_matter":{"mood":"wild"}}]}"#;
    assert_eq!(shown(site().manifest(manifest)), r#"{"mood":"wild"}"#);
}

#[test]
fn authors_settings_are_read_from_front_matter_and_manifest() {
    let feed = entry("/hello/", "A", "2026-01-02");
    let post = "---\ndate: 2026-01-02\nsayonce: { publish_at: 2026-12-01T09:00, edition: 2, mastodon: { text: \"... {{ url }}\", content_warning: \"x\" }, bluesky: \"short text\", devto: false }\n---\n";
    let settings = TestSite::new()
        .feed(&feed)
        .post("_posts/hello.md", post)
        .item()
        .settings;
    assert_eq!(settings.publish_at, Some(time("2026-12-01T08:00:00Z")));
    assert_eq!(settings.edition, 2);
    let channel = |name: &str| {
        settings
            .channels
            .get(&ChannelName::new(name).unwrap())
            .cloned()
    };
    assert_eq!(
        channel("mastodon"),
        Some(ItemChannelSettings::Custom {
            text: Some("... {{ url }}".to_owned()),
            content_warning: Some("x".to_owned()),
            language: None,
            image: None,
            alt: None,
            images: Vec::new(),
            series: None,
        })
    );
    assert_eq!(
        channel("bluesky"),
        Some(ItemChannelSettings::Custom {
            text: Some("short text".to_owned()),
            content_warning: None,
            language: None,
            image: None,
            alt: None,
            images: Vec::new(),
            series: None,
        })
    );
    assert_eq!(channel("devto"), Some(ItemChannelSettings::Excluded));
    let zola = "+++\ndate = 2026-01-02\n[extra.sayonce]\nedition = 3\n+++\n";
    assert_eq!(
        TestSite::new()
            .feed(&feed)
            .post("_posts/hello.md", zola)
            .item()
            .settings
            .edition,
        3
    );
    let hugo = "{\"date\": \"2026-01-02\", \"params\": {\"sayonce\": {\"edition\": 4}}}\n";
    assert_eq!(
        TestSite::new()
            .feed(&feed)
            .post("_posts/hello.md", hugo)
            .item()
            .settings
            .edition,
        4
    );
    let manifest = r#"{"items": [{"url": "/hello/", "sayonce": {"edition": 5}}]}"#;
    assert_eq!(
        TestSite::new()
            .feed(&feed)
            .manifest(manifest)
            .item()
            .settings
            .edition,
        5
    );
}

#[test]
fn of_two_places_the_one_that_says_no_counts() {
    let check = |front_matter: &str| {
        let site = TestSite::new()
            .feed(&entry("/hello/", "A", "2026-01-02"))
            .post(
                "_posts/2026-01-02-hello.md",
                &format!("---\n{front_matter}\n---\n"),
            );
        shown(&site.load()).join("; ")
    };
    assert_eq!(
        check("sayonce: { edition: 2 }\nparams: { sayonce: false }"),
        "hello: A (`sayonce: false` in its front matter)"
    );
    assert_eq!(
        check("sayonce: { edition: 2 }\nextra: { sayonce: { edition: 3 } }"),
        "hello: A"
    );
}

#[test]
fn a_series_is_one_name_in_whatever_form_the_generator_has_it() {
    let feed = entry("/hello/", "A", "2026-01-02");
    let check = |header: &str| {
        let post = format!("---\ndate: 2026-01-02\n{header}\n---\n");
        let site = TestSite::new().feed(&feed).post("_posts/hello.md", &post);
        site.item().series
    };
    assert_eq!(
        check("series: Gardening,  part by part").as_deref(),
        Some("Gardening, part by part")
    );
    assert_eq!(
        check("series: [Gardening, Trees]").as_deref(),
        Some("Gardening")
    );
    assert_eq!(check("series: 2026").as_deref(), Some("2026"));
    for header in [
        "series: \"\"",
        "series: []",
        "series:",
        "series: true",
        "serie: x",
    ] {
        assert_eq!(check(header), None, "{header}");
    }
}

#[test]
fn a_wrong_setting_leaves_out_its_article_alone_and_names_the_line() {
    let feed = [
        entry("/hello/", "A", "2026-01-02"),
        entry("/bye/", "B", "2026-01-02"),
    ]
    .concat();
    let check = |post: &str| {
        let site = TestSite::new()
            .feed(&feed)
            .post("_posts/2026-01-02-hello.md", post);
        shown(&site.load())
    };
    assert_eq!(
        check("---\ntitle: A\nsayonce:\n  edition: 2\n  mastdon: false\n---\n"),
        [
            "bye: B",
            "problem: _posts/2026-01-02-hello.md:5: `mastdon` is neither `publish_at`, nor `edition`, nor a channel of the configuration (`bluesky`, `devto`, `mastodon`); left out until it is mended: `hello`",
        ]
    );
    assert_eq!(
        check("+++\ntitle = 'A'\n[sayonce.mastodon]\nlanguage = 'en'\ntext = 7\n+++\n"),
        [
            "bye: B",
            "problem: _posts/2026-01-02-hello.md:5: `text` is no text: 7; left out until it is mended: `hello`",
        ]
    );
    assert_eq!(
        check("---\ntitle: A: B\n---\n"),
        [
            "bye: B",
            "problem: _posts/2026-01-02-hello.md:2: mapping values are not allowed in this context; left out until it is mended: `hello`",
        ]
    );
    let manifest =
        "{\"items\": [\n  {\"url\": \"/hello/\",\n   \"sayonce\": {\n     \"edition\": \"two\"}}]}";
    assert_eq!(
        shown(&TestSite::new().feed(&feed).manifest(manifest).load()),
        [
            "bye: B",
            "problem: items.json:4: `edition` is no whole number from 1: \"two\"; the article is left out",
        ]
    );
}

#[test]
fn a_broken_file_leaves_out_every_article_that_it_may_belong_to() {
    // Without a date in its name nothing but the slug tells which article it is.
    let feed = [
        entry("/x/hello/", "A", "2026-01-02"),
        entry("/y/hello/", "B", "2025-01-02"),
    ]
    .concat();
    let site = TestSite::new()
        .feed(&feed)
        .post("_posts/hello.md", "---\na: [\n---\n");
    let said = shown(&site.load());
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(
        said.iter()
            .any(|line| line.starts_with("problem: _posts/hello.md:")
                && line.ends_with("left out until it is mended: `x/hello`, `y/hello`"))
    );
    assert!(
        !said
            .iter()
            .any(|line| line.starts_with("x/hello") || line.starts_with("y/hello"))
    );
}

#[test]
fn hugos_dates_and_drafts_count_as_hugo_counts_them() {
    let check = |front_matter: &str| {
        let site = TestSite::new()
            .with(|site| site.permalink = Some("/:slug/".to_owned()))
            .post("_posts/x.md", &format!("---\n{front_matter}\n---\n"));
        shown(&site.load()).join("; ")
    };
    assert_eq!(
        check("title: T\ndate: 2026-01-02\npublishDate: 2027-05-01T10:00:00Z"),
        "x: T (dated in the future, 2027-05-01T10:00:00.000Z)"
    );
    // A feed knows the moment; the file's own date may want a zone.
    let site = TestSite::new()
        .feed(&entry("/x/", "A", "2026-11-29T11:00:00Z"))
        .post("_posts/x.md", "---\ndate: 2026-11-29T20:00\n---\n");
    assert_eq!(shown(&site.load()), ["x: A"]);
    assert_eq!(
        check("title: T\ndate: 2026-01-02\npublishDate: 2026-05-01"),
        "x: T"
    );
    assert_eq!(
        check("title: T\ndate: 2026-01-02\nexpiryDate: 2026-05-01T10:00:00Z"),
        "x: T (expired, 2026-05-01T10:00:00.000Z)"
    );
    assert_eq!(
        check("title: T\ndate: 2026-01-02\nexpiryDate: 2027-05-01"),
        "x: T"
    );
    for draft in ["draft: 1", "Draft: true", "DRAFT: yes", "draft: '1'"] {
        assert_eq!(
            check(&format!("title: T\ndate: 2026-01-02\n{draft}")),
            "x: T (a draft)",
            "{draft}"
        );
    }
    assert_eq!(check("Title: T\nDate: 2026-01-02\nDraft: 0"), "x: T");
    assert_eq!(
        check("Title: T\nDATE: 2026-01-02\nParams: { Sayonce: false }"),
        "x: T (`sayonce: false` in its front matter)"
    );
}

#[test]
fn a_permalink_of_a_files_own_is_filled_in() {
    let check = |front_matter: &str| {
        let site = TestSite::new()
            .with(|site| site.permalink = Some("pretty".to_owned()))
            .post(
                "_posts/2026-01-02-x.md",
                &format!("---\ntitle: T\n{front_matter}\n---\n"),
            );
        shown(&site.load()).join("; ")
    };
    assert_eq!(check("permalink: /notes/:title/"), "notes/x: T");
    assert_eq!(
        check("permalink: /:categories/:year/:title\ncategories: [A, B]"),
        "a/b/2026/x: T"
    );
    assert_eq!(
        check("permalink: /notes/:foo/"),
        "problem: _posts/2026-01-02-x.md: its `permalink` has `:foo`, which can't be filled in here, so it is left out; placeholders are :title, :slug, :filename, :categories, :year, :short_year, :month, :i_month, :day, and :i_day"
    );
    assert_eq!(
        check("permalink: \"/{{ page.fileSlug }}/\""),
        "problem: _posts/2026-01-02-x.md: its `permalink` has `/{{ page.fileSlug }}/`, which can't be filled in here, so it is left out; placeholders are :title, :slug, :filename, :categories, :year, :short_year, :month, :i_month, :day, and :i_day"
    );
    assert_eq!(check("permalink: /notes/:foo/\nsayonce: false"), "");
    let undated = TestSite::new()
        .with(|site| site.permalink = Some("/:slug/".to_owned()))
        .post(
            "_posts/x.md",
            "---\ntitle: T\npermalink: /:year/:title/\n---\n",
        );
    assert_eq!(
        shown(&undated.load()),
        ["notice: _posts/x.md: it has no date, so its `permalink` gives it no address"]
    );
    // It says which article a file is, too.
    let site = TestSite::new()
        .feed(
            &[
                entry("/notes/x/", "A", "2026-01-09"),
                entry("/x/", "B", "2026-01-02"),
            ]
            .concat(),
        )
        .post(
            "_posts/2026-01-02-x.md",
            "---\npermalink: /notes/:title/\nsayonce: false\n---\n",
        );
    assert_eq!(
        shown(&site.load()),
        ["x: B", "notes/x: A (`sayonce: false` in its front matter)",]
    );
}

#[test]
fn an_alias_without_a_slash_is_beside_the_article_in_hugo_and_at_the_root_elsewhere() {
    let aliases = |site: TestSite| {
        site.feed(&entry("/posts/new/", "A", "2026-01-02"))
            .post(
                "_posts/new.md",
                "---\ndate: 2026-01-02\naliases: [old, /older, ../oldest/]\n---\n",
            )
            .item()
            .aliases
    };
    assert_eq!(
        aliases(TestSite::new().file("hugo.toml", "")),
        [
            "https://blog.example/older",
            "https://blog.example/posts/old",
            "https://blog.example/oldest/"
        ]
    );
    assert_eq!(
        aliases(TestSite::new().file("config.toml", "")),
        [
            "https://blog.example/old",
            "https://blog.example/older",
            "https://blog.example/oldest/"
        ]
    );
}
