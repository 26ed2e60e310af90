//! Built pages and sitemaps.

use sayonce::source::check_live;

use super::{TestSite, atom, entry, shown, time};

#[test]
fn a_canonical_link_to_another_site_makes_the_article_foreign() {
    let feed = [
        entry("/a/", "A", "2026-01-02"),
        entry("/b/", "B", "2026-01-02"),
    ]
    .concat();
    let site = TestSite::new()
        .feed(&feed)
        .page(
            "a/index.html",
            "<link rel=canonical href=https://other.example/a>",
        )
        .page(
            "b/index.html",
            "<link rel=canonical href=http://blog.example/b/>",
        );
    assert_eq!(
        shown(&site.load()),
        ["b: B", "foreign https://other.example/a"]
    );
}

#[test]
fn a_page_is_found_by_the_articles_address() {
    let check = |url: &str, file: &str| {
        let site = TestSite::new()
            .feed(&entry(url, "A", "2026-01-02"))
            .page(file, "<meta name=description content=found>");
        let item = site.load().items.remove(0);
        item.description.is_some()
    };
    assert!(check("/a/", "a/index.html"));
    assert!(check("/a", "a/index.html"));
    assert!(check("/a", "a.html"));
    assert!(check("/a.html", "a.html"));
    assert!(check("/a/?utm=1#x", "a/index.html"));
    assert!(check("/%C3%BC/", "ü/index.html"));
    assert!(check("/", "index.html"));
    assert!(!check("/?p=1", "index.html"));
    assert!(!check("/a/", "b/index.html"));
    assert!(!check("/..%2fsecret/", "../secret/index.html"));
}

#[test]
fn a_page_is_online_if_it_is_there_and_names_no_other_address() {
    const URL: &str = "https://blog.example/a/";
    let check = |site: TestSite| check_live(URL, &site.web);
    let page = |head: &str| check(TestSite::new().web(URL, head));
    assert_eq!(check(TestSite::new()), Err("404 Not Found".to_owned()));
    assert_eq!(page("<title>A</title>"), Ok(()));
    assert_eq!(page("<link rel=canonical href=/a/>"), Ok(()));
    // So does a host that answers everything with its front page.
    assert_eq!(
        page("<link rel=canonical href=https://blog.example/>"),
        Err("https://blog.example/a/ shows another page: its canonical link is https://blog.example/".to_owned())
    );
}

#[test]
fn articles_without_a_page_are_named() {
    let feed = [
        entry("/a/", "A", "2026-01-02"),
        entry("/b/", "B", "2026-01-02"),
    ]
    .concat();
    let site = TestSite::new().feed(&feed).page("a/index.html", "");
    assert_eq!(
        shown(&site.load()),
        [
            "a: A",
            "b: B",
            "notice: 1 article has no page below `site.pages`: https://blog.example/b/",
        ]
    );
}

#[test]
fn pages_list_only_when_they_stand_alone() {
    let article = "<link rel=canonical href=/a/><meta property=og:type content=article><meta property=og:title content='A &amp; B'><meta property=article:published_time content=2026-01-02T10:00:00Z><meta property=article:modified_time content=2026-01-05><meta property=article:tag content=one><meta property=article:tag content=two><meta property=article:author content=Jo>";
    let site = TestSite::new()
        .page("a/index.html", article)
        .page("amp/a/index.html", article)
        .page(
            "about/index.html",
            "<link rel=canonical href=/about/><title>About</title>",
        )
        .page(
            "b/index.html",
            "<meta property=og:type content=article><title>B</title>",
        );
    let catalog = site.load();
    assert_eq!(
        shown(&catalog),
        [
            "a: A & B",
            "notice: left out for want of a `<link rel=\"canonical\">`: 1 article page, the first being _site/b/index.html",
            "notice: `https://blog.example/a/` is listed twice; what stands first counts (_site/a/index.html)",
        ]
    );
    let item = catalog.items.first().unwrap();
    assert_eq!(item.tags, ["one", "two"]);
    assert_eq!(item.authors, ["Jo"]);
    assert_eq!(item.published, Some(time("2026-01-02T10:00:00Z")));
    assert_eq!(item.updated, Some(time("2026-01-04T23:00:00Z")));
    assert_eq!(shown(&site.feed("").load()), Vec::<String>::new());
}

#[test]
fn a_sitemap_lists_what_its_pages_call_articles() {
    let article = "<meta property=og:type content=article><title>A</title><meta property=article:published_time content=2026-01-02>";
    let urls = |paths: &[&str]| {
        let urls = paths
            .iter()
            .map(|path| {
                format!(
                    "<url><loc>https://blog.example{path}</loc><lastmod>2026-03-01</lastmod></url>"
                )
            })
            .collect::<Vec<_>>()
            .concat();
        format!("<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">{urls}</urlset>")
    };
    let site = TestSite::new()
        .file("_site/sitemap.xml", "<sitemapindex><sitemap><loc>https://blog.example/maps/1.xml</loc></sitemap></sitemapindex>")
        .file("_site/maps/1.xml", urls(&["/a/", "/about/", "/gone/"]))
        .page("a/index.html", article)
        .page("about/index.html", "<title>About</title>")
        .with(|site| site.sitemap = Some("_site/sitemap.xml".to_owned()));
    let catalog = site.load();
    assert_eq!(
        shown(&catalog),
        [
            "a: A",
            "notice: not taken as articles, since their pages don't say that they are: 2 addresses of the sitemap (https://blog.example/about/, https://blog.example/gone/)",
        ]
    );
    assert_eq!(
        catalog.items.first().unwrap().updated,
        Some(time("2026-02-28T23:00:00Z"))
    );
    let site = site.file("_site/maps/1.xml", "<html/>");
    assert_eq!(
        site.error(),
        "`_site/maps/1.xml` is no sitemap that can be read: it is empty"
    );
    let parts = |count| {
        let part = "<sitemap><loc>https://blog.example/maps/1.xml</loc></sitemap>";
        format!("<sitemapindex>{}</sitemapindex>", part.repeat(count))
    };
    let site = site
        .file("_site/maps/1.xml", urls(&["/a/"]))
        .file("_site/sitemap.xml", parts(500));
    assert_eq!(site.load().items.len(), 1);
    assert_eq!(
        site.file("_site/sitemap.xml", parts(501)).error(),
        "`_site/sitemap.xml` is no sitemap that can be read: it lists 501 sitemaps, and this program reads at most 500; \
         name the one with the articles"
    );
}

#[test]
fn a_site_below_a_path_has_items_below_it() {
    let site = TestSite::new()
        .with(|site| site.url = "https://user.example/blog/".parse().unwrap())
        .file(
            "_site/feed.xml",
            atom(
                &[
                    entry("/blog/a/", "A", "2026-01-02"),
                    entry("/blogger/b/", "B", "2026-01-02"),
                ]
                .concat(),
            )
            .replace("blog.example", "user.example"),
        )
        .with(|site| site.feed = Some("_site/feed.xml".to_owned()))
        .page("a/index.html", "<meta name=description content=found>");
    let catalog = site.load();
    assert_eq!(
        shown(&catalog),
        ["a: A", "foreign https://user.example/blogger/b/"]
    );
    assert_eq!(
        catalog.items.first().unwrap().description.as_deref(),
        Some("found")
    );
}

#[test]
fn one_canonical_link_for_several_articles_leaves_all_of_them_out() {
    let paths = ["/p1/", "/p2/", "/p3/", "/p4/"];
    let root =
        "<link rel=canonical href=https://blog.example/><meta property=og:type content=article>";
    let pages = |site: TestSite| {
        paths.iter().fold(site, |site, path| {
            site.page(
                &format!("{path}index.html"),
                &format!("{root}<title>At {path}</title>"),
            )
        })
    };
    let problem = "problem: 4 articles have pages with one canonical link, `https://blog.example/`: all are left out; mend the `<link rel=\"canonical\">` of";
    let entries: Vec<String> = paths
        .iter()
        .map(|path| entry(path, "A", "2026-01-02"))
        .collect();
    let feed = pages(TestSite::new()).feed(&entries.concat());
    assert_eq!(
        shown(&feed.load()),
        [format!(
            "{problem} https://blog.example/p1/, https://blog.example/p2/, https://blog.example/p3/, …"
        )]
    );
    let urls: Vec<String> = paths
        .iter()
        .map(|path| format!("<url><loc>https://blog.example{path}</loc></url>"))
        .collect();
    let sitemap = pages(TestSite::new())
        .file("sitemap.xml", format!("<urlset>{}</urlset>", urls.concat()))
        .with(|site| site.sitemap = Some("sitemap.xml".to_owned()));
    assert_eq!(
        shown(&sitemap.load()),
        [format!(
            "{problem} https://blog.example/p1/, https://blog.example/p2/, https://blog.example/p3/, …"
        )]
    );
    // Pages that stand alone have no other address.
    assert_eq!(
        shown(&pages(TestSite::new()).load()),
        [format!(
            "{problem} _site/p1/index.html, _site/p2/index.html, _site/p3/index.html, …"
        )]
    );
    // Two addresses of one article are no mistake of its page.
    let one = TestSite::new()
        .feed(
            &[
                entry("/p1/", "A", "2026-01-02"),
                entry("/p1/#x", "A", "2026-01-02"),
            ]
            .concat(),
        )
        .page("p1/index.html", "<link rel=canonical href=/p1/>");
    assert_eq!(
        shown(&one.load()),
        [
            "p1: A",
            "notice: `https://blog.example/p1/` is listed twice; what stands first counts (_site/feed.xml, entry 1)",
        ]
    );
}

#[test]
fn parts_and_translations_that_name_the_article_itself_take_nothing_from_it() {
    let head = |title: &str| {
        format!(
            "<meta property=og:type content=article><meta property=og:title content=\"{title}\"><meta \
             property=article:published_time content=2026-01-02><link rel=canonical href=/en/hello/>"
        )
    };
    let site = TestSite::new()
        .page("de/hello/index.html", &head("Hallo"))
        .page("en/hello/index.html", &head("Hello"))
        .page("en/hello/2/index.html", &head("Hello, page 2"));
    let said = shown(&site.load());
    assert!(said[0].starts_with("en/hello: "), "{said:?}");
    assert_eq!(
        said.iter()
            .filter(|line| line.starts_with("problem: "))
            .count(),
        0,
        "{said:?}"
    );
}

#[test]
fn a_head_has_one_title_and_may_say_where_its_links_start() {
    let check = |html: &str| {
        let site = TestSite::new()
            .feed(&entry("/p/", "", "2026-01-02"))
            .file("_site/p/index.html", html)
            .with(|site| site.pages = Some("_site".to_owned()));
        let item = site.item();
        (item.title, item.canonical_url, item.image)
    };
    let url = |path: &str| format!("https://blog.example/{path}");
    assert_eq!(
        check("<!doctype html><html><title>T</title><p>x<svg><title>icon</title></svg>"),
        ("T".to_owned(), url("p/"), None)
    );
    assert_eq!(
        check(
            "<html><head><base href=\"/q/\"><base href=\"/no/\"><title>T</title><meta property=\"og:image\" content=\"i.png\"><link rel=\"canonical\" href=\"x/\"></head><body>"
        ),
        ("T".to_owned(), url("q/x/"), Some(url("q/i.png")))
    );
    let page = TestSite::new().web(
        "https://blog.example/q/x/",
        "<base href=/q/><link rel=canonical href=x/>",
    );
    assert_eq!(check_live("https://blog.example/q/x/", &page.web), Ok(()));
}

#[test]
fn an_empty_query_is_none() {
    let feed = [
        entry("/a?", "A", "2026-01-02"),
        entry("/a", "A", "2026-01-02"),
    ]
    .concat();
    assert_eq!(
        shown(&TestSite::new().feed(&feed).load()),
        [
            "a: A",
            "notice: `https://blog.example/a?` is listed twice; what stands first counts (_site/feed.xml, entry 1)",
        ]
    );
}
