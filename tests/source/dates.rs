//! Dates of Markdown files: in whatever form, read or quoted.

use super::{TestSite, entry, shown, time};

/// A site without any list but its files.
fn files(permalink: &str) -> TestSite {
    TestSite::new().with(|site| site.permalink = Some(permalink.to_owned()))
}

fn dated(date: &str) -> String {
    format!("---\ntitle: T\ndate: {date}\n---\n")
}

#[test]
fn dates_of_all_generators_are_read() {
    let check = |date: &str| {
        let site = files("/:slug/").post("_posts/x.md", &dated(date));
        site.item().published
    };
    for date in [
        "'Jul 08 2022'",
        "July 8, 2022",
        "8 July 2022",
        "Fri, 08 Jul 2022",
        "2022-07-08",
        "Fri Jul 08 2022 00:00:00 GMT+0200 (Central European Summer Time)",
        "Thu, 07 Jul 2022 22:00:00 +00:00",
        "Fri Jul  8 00:00:00 2022",
        "2022-07-07 15:00:00 PDT",
    ] {
        assert_eq!(check(date), Some(time("2022-07-07T22:00:00Z")), "{date}");
    }
    // Astro's file joins its article.
    let site = TestSite::new().feed(&entry("/x/", "A", "2022-07-08")).post(
        "_posts/x.md",
        "---\npubDate: 'Jul 08 2022'\nsayonce: false\n---\n",
    );
    assert_eq!(
        shown(&site.load()),
        ["x: A (`sayonce: false` in its front matter)"]
    );
}

#[test]
fn what_eleventy_looks_up_is_told_by_the_feed() {
    let feed = "<entry><title>A</title><link href=\"https://blog.example/x/\"/><updated>2026-01-02T00:00:00Z</updated></entry>";
    for date in ["git Created", "Last Modified", "git Last Modified"] {
        let post = format!("---\ndate: {date}\npermalink: /x/\n---\n");
        let site = TestSite::new().feed(feed).post("_posts/x.md", &post);
        assert_eq!(
            site.item().published,
            Some(time("2026-01-02T00:00:00Z")),
            "{date}"
        );
    }
}

#[test]
fn a_date_that_can_not_be_read_is_quoted() {
    let check = |permalink: &str, path: &str, date: &str| {
        shown(&files(permalink).post(path, &dated(date)).load())
    };
    assert_eq!(
        check("/:year/:slug/", "_posts/x.md", "Last Modified"),
        [
            "problem: _posts/x.md: its date can't be read: `Last Modified`, so `site.permalink` gives it no address"
        ]
    );
    assert_eq!(
        check("/:slug/", "_posts/x.md", "2026-01-02 10:00 CEST"),
        [
            "problem: _posts/x.md: its date can't be read: `2026-01-02 10:00 CEST`, so `https://blog.example/x/` is left out"
        ]
    );
    // A page has no date, and what is kept back needs none.
    assert_eq!(
        check("/:year/:slug/", "_posts/x.md", "''"),
        ["notice: _posts/x.md: it has no date, so `site.permalink` gives it no address"]
    );
    assert_eq!(
        check("/:year/:slug/", "_posts/x.md", "soon\nsayonce: false"),
        Vec::<String>::new()
    );
    // Beside a feed, it is without effect, which is said.
    let site = TestSite::new()
        .feed(&entry("/x/", "A", "2026-01-02"))
        .post("_posts/x.md", &dated("2 janvier 2026"));
    assert_eq!(
        shown(&site.load()),
        [
            "x: A",
            "notice: 1 Markdown file has a date that can't be read, so that the name alone joins no article with it: _posts/x.md (`2 janvier 2026`)",
        ]
    );
    // The day in its name is as good.
    let name = "_posts/2023-01-29-x.md";
    let site = files("/:year/:slug/").post(name, &dated("2023-01-29 18:30:22 2023 -0800"));
    assert_eq!(shown(&site.load()), ["2023/x: T"]);
    assert_eq!(site.item().published, Some(time("2023-01-28T23:00:00Z")));
}
