//! Feeds: what stands in them is taken as it stands.

use sayonce::config::Site;
use sayonce::model::item::Body;
use sayonce::source::NoNetwork;

use super::{TestSite, atom, data, entry, load_from, rss, shown, site};

#[test]
fn titles_of_real_feeds_are_read_by_their_type() {
    let check = |file: &str| {
        let mut site = site("http://guid.example.com/");
        site.feed = Some(file.to_owned());
        shown(&load_from(&site, &data("feeds"), &NoNetwork).unwrap()).join("; ")
    };
    assert_eq!(
        check("entry_title_escaped_markup.xml"),
        "problem: entry_title_escaped_markup.xml, entry 1 (\"Example Atom\"): it has no link, so it is left out"
    );
    assert_eq!(
        check("entry_title_inline_markup_2.xml"),
        "problem: entry_title_inline_markup_2.xml, entry 1 (\"History of the <blink> tag\"): it has no link, so it is left out"
    );
    assert_eq!(
        check("entry_title_text_plain_brackets.xml"),
        "problem: entry_title_text_plain_brackets.xml, entry 1 (\"History of the <blink> tag\"): it has no link, so it is left out"
    );
    assert_eq!(
        check("item_guid_map_link.xml"),
        "problem: item_guid_map_link.xml, entry 1: it has no title, so `http://guid.example.com/` is left out"
    );
    assert_eq!(
        check("item_guid_not_permalink.xml"),
        "problem: item_guid_not_permalink.xml, entry 1: it has no link, so it is left out"
    );
}

#[test]
fn entities_in_titles_are_decoded_once() {
    let check = |feed: &str| {
        TestSite::new()
            .file("feed", feed)
            .with(|site| site.feed = Some("feed".to_owned()))
            .item()
            .title
    };
    let atom_title = |title: &str| {
        check(&atom(&format!(
            "<entry>{title}<link href=\"/a/\"/><updated>2026-01-02</updated></entry>"
        )))
    };
    assert_eq!(atom_title("<title>A &amp; B</title>"), "A & B");
    assert_eq!(atom_title("<title>A &amp;amp; B</title>"), "A &amp; B");
    assert_eq!(
        atom_title("<title type=\"text\">&lt;code&gt; &amp;lt;</title>"),
        "<code> &lt;"
    );
    assert_eq!(
        atom_title("<title type=\"html\">A &amp;amp; B</title>"),
        "A & B"
    );
    assert_eq!(
        atom_title("<title type=\"html\">A &amp; B</title>"),
        "A & B"
    );
    assert_eq!(
        atom_title("<title type=\"html\">Use &lt;code&gt;x&lt;/code&gt;</title>"),
        "Use x"
    );
    assert_eq!(
        atom_title("<title type=\"html\">Use &amp;lt;code&amp;gt;</title>"),
        "Use <code>"
    );
    assert_eq!(
        atom_title("<title type=\"html\">&amp;amp;lt;b&amp;amp;gt;</title>"),
        "&lt;b&gt;"
    );
    assert_eq!(
        atom_title("<title type=\"html\"><![CDATA[It&rsquo;s <i>on</i>]]></title>"),
        "It’s on"
    );
    assert_eq!(
        atom_title(
            "<title type=\"xhtml\"><div xmlns=\"http://www.w3.org/1999/xhtml\">1 &lt; 2 <b>&amp;amp;</b></div></title>"
        ),
        "1 < 2 &amp;"
    );
    assert_eq!(atom_title("<title>\n  two\n\tlines </title>"), "two lines");
    let rss_title = |title: &str| {
        check(&rss(&format!(
            "<item><title>{title}</title><link>https://blog.example/a/</link><pubDate>Fri, 02 Jan 2026 10:00:00 GMT</pubDate></item>"
        )))
    };
    assert_eq!(rss_title("A &amp; B &#8211; C"), "A & B – C");
    assert_eq!(rss_title("&lt;code&gt;"), "<code>");
    assert_eq!(rss_title("&amp;lt;code&amp;gt;"), "&lt;code&gt;");
    let json = r#"{"version": "https://jsonfeed.org/version/1.1", "title": "x", "items": [{"id": "1", "url": "/a/", "title": "A &amp; <b>", "date_published": "2026-01-02T10:00:00Z"}]}"#;
    assert_eq!(check(json), "A &amp; <b>");
}

#[test]
fn ids_are_those_that_stand_in_the_feed() {
    let check = |text: &str| {
        TestSite::new()
            .file("feed", text)
            .with(|site| site.feed = Some("feed".to_owned()))
            .item()
            .guid
    };
    assert_eq!(check(&atom(&entry("/a/", "A", "2026-01-02"))), None);
    assert_eq!(
        check(&atom(
            &entry("/a/", "A", "2026-01-02").replace("<title>", "<id> tag:a </id><title>")
        )),
        Some("tag:a".to_owned())
    );
    let item = "<item><title>A</title><link>https://blog.example/a/</link><pubDate>2026-01-02</pubDate>GUID</item>";
    assert_eq!(check(&rss(&item.replace("GUID", ""))), None);
    assert_eq!(
        check(&rss(
            &item.replace("GUID", "<guid isPermaLink=\"false\">7</guid>")
        )),
        Some("7".to_owned())
    );
}

#[test]
fn links_stand_as_the_site_wrote_them_and_relative_ones_are_resolved() {
    let check = |feed: &str| {
        TestSite::new()
            .file("blog/feed", feed)
            .with(|site| site.feed = Some("blog/feed".to_owned()))
            .item()
            .canonical_url
    };
    let atom_link = |link: &str| {
        check(&atom(&format!(
            "<entry><title>A</title>{link}<updated>2026-01-02</updated></entry>"
        )))
    };
    assert_eq!(atom_link("<link href=\"/a/\"/>"), "https://blog.example/a/");
    assert_eq!(
        atom_link("<link href=\"https://blog.example/你好/\"/>"),
        "https://blog.example/你好/"
    );
    assert_eq!(
        atom_link("<link href=\"https://blog.example\"/>"),
        "https://blog.example"
    );
    assert_eq!(
        atom_link("<link href=\"http://blog.example/?a=1&amp;b=2\"/>"),
        "http://blog.example/?a=1&b=2"
    );
    assert_eq!(
        atom_link(
            "<link rel=\"edit\" href=\"/edit\"/><link rel=\"alternate\" type=\"application/json\" href=\"/j\"/><link rel=\"alternate\" type=\"text/html\" href=\"/a\"/>"
        ),
        "https://blog.example/a"
    );
    let json = r#"{"version": "https://jsonfeed.org/version/1", "title": "x", "items": [{"id": "1", "external_url": "https://other.example/", "url": "https://blog.example/ü", "title": "A", "date_published": "2026-01-02T10:00:00Z", "attachments": [{"url": "https://blog.example/a.mp3", "mime_type": "audio/mpeg"}]}]}"#;
    assert_eq!(check(json), "https://blog.example/ü");
}

#[test]
fn a_feed_may_be_in_utf16_or_begin_with_a_mark() {
    let feed = atom(&entry("/a/", "Grüße", "2026-01-02")).replace("utf-8", "utf-16");
    let mut big_endian = vec![0xfe, 0xff];
    big_endian.extend(feed.encode_utf16().flat_map(u16::to_be_bytes));
    let mut little_endian = vec![0xff, 0xfe];
    little_endian.extend(feed.encode_utf16().flat_map(u16::to_le_bytes));
    let marked = format!("\u{feff}{}", feed.replace("utf-16", "iso-8859-1"));
    let latin: Vec<u8> = atom("")
        .replace("utf-8", "iso-8859-1")
        .replace(
            "</feed>",
            &(entry("/a/", "Gr\u{1}\u{2}e", "2026-01-02") + "</feed>"),
        )
        .bytes()
        .map(|byte| match byte {
            1 => 0xfc,
            2 => 0xdf,
            other => other,
        })
        .collect();
    for bytes in [big_endian, little_endian, marked.into_bytes(), latin] {
        let site = TestSite::new()
            .file("feed", &bytes)
            .with(|site| site.feed = Some("feed".to_owned()));
        assert_eq!(site.item().title, "Grüße");
    }
}

#[test]
fn feed_content_is_kept_and_its_relative_links_are_resolved() {
    let check = |content: &str| {
        let entry =
            entry("/a/", "A", "2026-01-02").replace("</entry>", &format!("{content}</entry>"));
        TestSite::new().feed(&entry).item().body
    };
    let html = |text: &str| Some(Body::Html(text.to_owned()));
    assert_eq!(
        check(
            "<content type=\"html\"><![CDATA[<p class=x>1 &lt; 2<br><script>a&&b</script> <a href=\"/b\">b</a> <a href='https://x.example/?a&b'>x</a></p>]]></content>"
        ),
        html(
            "<p class=x>1 &lt; 2<br><script>a&&b</script> <a href=\"https://blog.example/b\">b</a> <a href='https://x.example/?a&b'>x</a></p>"
        )
    );
    assert_eq!(
        check(
            "<content type=\"html\" xml:base=\"https://blog.example/other/\">&lt;img src=\"x.png\"&gt;</content>"
        ),
        html("<img src=\"https://blog.example/other/x.png\">")
    );
    assert_eq!(
        check("<content type=\"text\">1 &lt; 2</content>"),
        html("<p>1 &lt; 2</p>")
    );
    assert_eq!(check("<content type=\"html\">  </content>"), None);
    assert_eq!(check("<summary>short</summary>"), None);
}

#[test]
fn sources_may_be_urls() {
    let with_feed =
        |site: &mut Site| site.feed = Some("https://blog.example/blog/feed.xml".to_owned());
    let relative = entry("", "A", "2026-01-02").replace("https://blog.example", "hello/");
    let site = TestSite::new()
        .with(with_feed)
        .web("https://blog.example/blog/feed.xml", &atom(&relative));
    assert_eq!(
        site.item().canonical_url,
        "https://blog.example/blog/hello/"
    );
    assert_eq!(
        TestSite::new().with(with_feed).error(),
        "can't fetch `https://blog.example/blog/feed.xml` (`site.feed`): 404 Not Found"
    );
    assert_eq!(
        load_from(&site.site, site.dir.path(), &NoNetwork)
            .unwrap_err()
            .to_string(),
        "can't fetch `https://blog.example/blog/feed.xml` (`site.feed`): this command does not use the network"
    );
}

#[test]
fn an_authors_name_can_not_bring_the_run_down() {
    // The feed library cuts the name one byte before the address.
    let item = "<item><title>A</title><link>https://blog.example/a/</link><pubDate>2026-01-02</pubDate><author>Zoé–jo@blog.example</author></item>";
    let site = TestSite::new()
        .file("feed", rss(item))
        .with(|site| site.feed = Some("feed".to_owned()));
    let loaded = load_from(&site.site, site.dir.path(), &NoNetwork);
    assert_eq!(
        loaded.map(|catalog| shown(&catalog)).map_err(|error| error.to_string()),
        Err("`feed` is no feed that can be read (Atom, RSS, or JSON Feed): the feed library failed on it".to_owned())
    );
}

#[test]
fn ids_of_a_json_feed_may_be_numbers_or_addresses() {
    let items = r#"[
        {"id": 3, "url": "/c/", "title": "Number", "date_published": "2026-01-02"},
        {"id": "https://blog.example/b/", "title": "Address", "date_published": "2026-01-02"},
        {"id": "https://blog.example/d/", "external_url": "https://other.example/", "title": "Link", "date_published": "2026-01-02"},
        {"id": null, "url": "/e/", "title": "None", "date_published": "2026-01-02"}
    ]"#;
    let feed = format!(
        r#"{{"version": "https://jsonfeed.org/version/1.1", "title": "x", "items": {items}}}"#
    );
    let site = TestSite::new()
        .file("feed", feed)
        .with(|site| site.feed = Some("feed".to_owned()));
    let catalog = site.load();
    assert_eq!(
        shown(&catalog),
        ["b: Address", "c: Number", "d: Link", "e: None"]
    );
    let guids: Vec<_> = catalog
        .items
        .iter()
        .map(|item| item.guid.as_deref())
        .collect();
    assert_eq!(
        guids,
        [
            Some("https://blog.example/b/"),
            Some("3"),
            Some("https://blog.example/d/"),
            None
        ]
    );
}

#[test]
fn xml_base_is_resolved_from_the_feeds_own_address_inwards() {
    let entry = |path: &str, attributes: &str, content: &str| {
        format!(
            "<entry {attributes}><title>{path}</title><link href=\"{path}\"/><published>2026-01-02</published><content type=\"html\" {content}>&lt;a href=\"x\"&gt;&lt;/a&gt;&lt;a href=\"/y\"&gt;&lt;/a&gt;</content></entry>"
        )
    };
    let check = |feed_base: &str, attributes: &str, content: &str| {
        let feed = atom(&[entry("p/", attributes, content), entry("q/", "", "")].concat())
            .replace("<feed", &format!("<feed {feed_base}"));
        let site = TestSite::new()
            .file("_site/feed.xml", feed)
            .with(|site| site.feed = Some("_site/feed.xml".to_owned()))
            .with(|site| site.pages = Some("_site".to_owned()));
        let items = site.load().items;
        let lines = items.iter().map(|item| match &item.body {
            Some(Body::Html(html)) => format!(
                "{} {}",
                item.canonical_url,
                html.replace("<a href=\"", "").replace("\"></a>", " ")
            ),
            Some(Body::Markdown(_)) | None => "none".to_owned(),
        });
        lines.collect::<Vec<String>>()
    };
    let b = |path: &str| format!("https://blog.example/{path}");
    // Without it, links start at the article.
    assert_eq!(
        check("", "", ""),
        [
            format!("{} {} {} ", b("p/"), b("p/x"), b("y")),
            format!("{} {} {} ", b("q/"), b("q/x"), b("y"))
        ]
    );
    assert_eq!(
        check("xml:base=\"sub/\"", "", ""),
        [
            format!("{} {} {} ", b("sub/p/"), b("sub/x"), b("y")),
            format!("{} {} {} ", b("sub/q/"), b("sub/x"), b("y"))
        ]
    );
    assert_eq!(
        check(
            "xml:base=\"/sub/\"",
            "xml:base=\"other/\"",
            "xml:base=\"c/\""
        ),
        [
            format!("{} {} {} ", b("sub/other/p/"), b("sub/other/c/x"), b("y")),
            format!("{} {} {} ", b("sub/q/"), b("sub/x"), b("y"))
        ]
    );
    assert_eq!(
        check("", "xml:base=\"https://blog.example/other/\"", ""),
        [
            format!("{} {} {} ", b("other/p/"), b("other/x"), b("y")),
            format!("{} {} {} ", b("q/"), b("q/x"), b("y"))
        ]
    );
}

#[test]
fn labels_are_tags_and_a_picture_needs_no_media_type() {
    let site = TestSite::new().feed(
        &entry("/a/", "A", "2026-01-02").replace(
            "<title>",
            "<category term=\"foo-slug\" label=\"Foo Bar\"/><category term=\"plain\" label=\"\"/><media:content xmlns:media=\"http://search.yahoo.com/mrss/\" url=\"/i.png\" medium=\"image\"/><title>",
        ),
    );
    let item = site.item();
    assert_eq!(item.tags, ["Foo Bar", "plain"]);
    assert_eq!(item.image.as_deref(), Some("https://blog.example/i.png"));
}
