//! What goes out: exact texts, lengths, facets, and what is refused before it is claimed.

mod articles;
mod details;

use std::path::Path;

use proptest::prelude::{ProptestConfig, Strategy, any, proptest};
use proptest::{prop_assert, prop_assert_eq};
use sayonce::config::{ChannelConfig, Config};
use sayonce::model::ids::ChannelName;
use sayonce::model::item::{Item, ItemChannelSettings, ItemId, ItemSettings};
use sayonce::model::outcome::ServerLimits;
use sayonce::model::post::Rendered;
use sayonce::model::time::Timestamp;
use sayonce::render::{RenderError, Stamp, compose, length};
use serde_json::Value;

const URL: &str = "https://blog.example/news/hello/";

fn item(title: &str) -> Item {
    Item {
        id: ItemId::from_stored("news/hello"),
        canonical_url: URL.to_owned(),
        guid: None,
        aliases: Vec::new(),
        title: title.to_owned(),
        description: Some("What happened & why.".to_owned()),
        published: Some(Timestamp::parse("2026-11-01T08:00:00Z").expect("a time")),
        updated: None,
        authors: vec!["Site owner".to_owned(), "Ben".to_owned()],
        tags: vec!["rust".to_owned(), "static site".to_owned()],
        language: Some("en".to_owned()),
        image: None,
        body: None,
        source_file: None,
        out_of_scope: None,
        series: None,
        front_matter: sayonce::model::item::FrontMatter::default(),
        settings: ItemSettings::default(),
    }
}

/// Returns a channel of a kind with more keys of its own.
fn channel(kind: &str, keys: &str) -> ChannelConfig {
    let needed = match kind {
        "indexnow" => "key = \"0123456789abcdef\"",
        "bluesky" => "handle = \"blog.example\"",
        "mastodon" => "server = \"https://mastodon.example\"",
        _ => "",
    };
    let text = format!(
        "[site]\nurl = \"https://blog.example\"\nfeed = \"f\"\n[channels.c]\nkind = \"{kind}\"\n{needed}\n{keys}\n"
    );
    Config::parse(Path::new("sayonce.toml"), &text)
        .expect("the keys are right")
        .channels
        .remove(0)
}

fn with_custom(mut item: Item, text: Option<&str>, warning: Option<&str>) -> Item {
    item.settings.channels.insert(
        ChannelName::new("c").expect("a name"),
        ItemChannelSettings::Custom {
            text: text.map(str::to_owned),
            content_warning: warning.map(str::to_owned),
            language: None,
            image: None,
            alt: None,
            images: Vec::new(),
            series: None,
        },
    );
    item
}

fn fresh() -> Stamp<'static> {
    Stamp::Fresh {
        now: Timestamp::parse("2026-11-29T10:00:00.123Z").expect("a time"),
        entropy: 123_456_789,
    }
}

fn render(item: &Item, channel: &ChannelConfig) -> Result<Rendered, RenderError> {
    compose(item, channel, ServerLimits::default(), fresh())
}

/// Returns the post as a row shows it, with what `plan` says of it.
fn show(item: &Item, channel: &ChannelConfig) -> String {
    match render(item, channel) {
        Ok(rendered) => {
            let limit = rendered
                .limit
                .map_or_else(|| "none".to_owned(), |limit| limit.to_string());
            let post = serde_json::to_string_pretty(rendered.post.fields()).expect("JSON");
            let mut lines = vec![post, format!("{} of {limit}", rendered.length)];
            lines.extend(rendered.notes.iter().map(|note| format!("- {note}")));
            lines.join("\n")
        }
        Err(error) => format!("refused: {error}"),
    }
}

fn text(item: &Item, channel: &ChannelConfig) -> String {
    render(item, channel).expect("it can be rendered").text
}

fn offset(facet: &Value, name: &str) -> usize {
    let offset = facet["index"][name].as_u64().expect("an offset");
    usize::try_from(offset).expect("a small number")
}

/// Returns each facet as the text that it covers and what it is.
fn facets(rendered: &Rendered) -> Vec<(String, String)> {
    let record = &rendered.post.fields()["record"];
    let text = record["text"].as_str().expect("a text");
    let Some(facets) = record["facets"].as_array() else {
        return Vec::new();
    };
    facets
        .iter()
        .map(|facet| {
            let range = offset(facet, "byteStart")..offset(facet, "byteEnd");
            let covered = text.get(range).expect("whole characters");
            let feature = &facet["features"][0];
            let target = feature["uri"].as_str().or(feature["tag"].as_str());
            (covered.to_owned(), target.expect("a target").to_owned())
        })
        .collect()
}

#[test]
fn each_kind_has_its_fields() {
    let item = item("Hello & welcome");
    insta::assert_snapshot!(show(&item, &channel("indexnow", "")), @r#"
    {
      "url": "https://blog.example/news/hello/"
    }
    32 of none
    "#);
    insta::assert_snapshot!(show(&item, &channel("bluesky", "")), @r#"
    {
      "text": "Hello & welcome\n\nhttps://blog.example/news/hello/",
      "language": "en",
      "rkey": "3n3gxhni4whm2",
      "record": {
        "$type": "app.bsky.feed.post",
        "text": "Hello & welcome\n\nhttps://blog.example/news/hello/",
        "createdAt": "2026-11-29T10:00:00.123Z",
        "langs": [
          "en"
        ],
        "facets": [
          {
            "index": {
              "byteStart": 17,
              "byteEnd": 49
            },
            "features": [
              {
                "$type": "app.bsky.richtext.facet#link",
                "uri": "https://blog.example/news/hello/"
              }
            ]
          }
        ],
        "embed": {
          "$type": "app.bsky.embed.external",
          "external": {
            "uri": "https://blog.example/news/hello/",
            "title": "Hello & welcome",
            "description": "What happened & why."
          }
        }
      }
    }
    49 of 300
    "#);
    insta::assert_snapshot!(show(&item, &channel("mastodon", "visibility = \"unlisted\"\ncontent_warning = \"blog\"")), @r#"
    {
      "text": "Hello & welcome\n\nhttps://blog.example/news/hello/",
      "language": "en",
      "visibility": "unlisted",
      "content_warning": "blog"
    }
    44 of 500
    "#);
    insta::assert_snapshot!(show(&item, &channel("devto", "published = false\norganization_id = 7")), @r#"
    {
      "title": "Hello & welcome",
      "canonical_url": "https://blog.example/news/hello/",
      "description": "What happened & why.",
      "tags": [
        "rust",
        "staticsite"
      ],
      "body_markdown": "What happened & why.\n\n<https://blog.example/news/hello/>",
      "published": false,
      "organization_id": 7
    }
    15 of 128
    "#);
}

#[test]
fn templates_have_every_variable() {
    let all = "template = '''{{ title }}|{{ description }}|{{ tags | join(',') }}|{{ hashtags }}|{{ author }}|{{ authors | join(' and ') }}|{{ date }}|{{ language }}|{{ id }}|{{ url }}'''";
    insta::assert_snapshot!(text(&item("T"), &channel("mastodon", all)), @"T|What happened & why.|rust,static site|#rust #StaticSite|Site owner|Site owner and Ben|2026-11-01|en|news/hello|https://blog.example/news/hello/");
    let mut bare = item("T");
    bare.description = None;
    bare.tags.clear();
    bare.authors.clear();
    bare.published = None;
    bare.language = None;
    insta::assert_snapshot!(text(&bare, &channel("mastodon", all)), @"T||||||||news/hello|https://blog.example/news/hello/");
    let optional = "template = \"{{ title }}\\n\\n{% if description %}{{ description }}{% endif %}\\n\\n{{ hashtags }}\\n\\n{{ url }}\"";
    assert_eq!(
        text(&bare, &channel("mastodon", optional)),
        format!("T\n\n{URL}")
    );
}

#[test]
fn a_date_is_the_day_where_the_site_is() {
    let check = |timezone: &str, published: &str| {
        let site = format!(
            "[site]\nurl = \"https://blog.example\"\nfeed = \"f\"\ntimezone = \"{timezone}\"\n"
        );
        let template = "template = \"{{ date }} {{ url }}\"";
        let mastodon = format!(
            "[channels.c]\nkind = \"mastodon\"\nserver = \"https://mastodon.example\"\n{template}\n"
        );
        let http = "[channels.d]\nkind = \"http\"\npolicy = \"at_most_once\"\nreceipt = { id = \"/id\" }\nsuccess = { status = 200 }\n[channels.d.request]\nurl = \"https://api.example/\"\njson = { day = \"{{ date }}\" }\n";
        let config = Config::parse(
            Path::new("sayonce.toml"),
            &format!("{site}{mastodon}{http}"),
        )
        .expect("the keys are right");
        let mut item = item("T");
        item.published = Some(Timestamp::parse(published).expect("a time"));
        let posts = config
            .channels
            .iter()
            .map(|channel| render(&item, channel).expect("it can be rendered"));
        posts
            .map(|post| {
                post.post
                    .string("date")
                    .map_or(post.text.clone(), str::to_owned)
            })
            .collect::<Vec<_>>()
            .join(", ")
    };
    // A date alone is the beginning of the day there.
    assert_eq!(
        check("Europe/Berlin", "2026-01-01T23:00:00Z"),
        format!("2026-01-02 {URL}, 2026-01-02")
    );
    assert_eq!(
        check("America/New_York", "2026-01-02T03:00:00Z"),
        format!("2026-01-01 {URL}, 2026-01-01")
    );
    assert_eq!(
        check("UTC", "2026-01-02T00:00:00Z"),
        format!("2026-01-02 {URL}, 2026-01-02")
    );
}

#[test]
fn what_a_template_gives_is_never_a_template() {
    let sly = item("{{ url }} {% raw %} <b>&amp;</b>");
    assert_eq!(
        text(&sly, &channel("mastodon", "")),
        format!("{{{{ url }}}} {{% raw %}} <b>&amp;</b>\n\n{URL}")
    );
}

#[test]
fn an_articles_own_text_is_a_template_and_gets_the_address() {
    let mastodon = channel("mastodon", "content_warning = \"blog\"");
    let check = |own: &str| show_text(&with_custom(item("T"), Some(own), None), &mastodon);
    assert_eq!(check("Read {{ title }}!"), format!("Read T!\n\n{URL}"));
    assert_eq!(check("See {{ url }} now"), format!("See {URL} now"));
    assert_eq!(check(&format!("({URL})")), format!("({URL})"));
    // An address that only begins like ours is another one.
    assert_eq!(check(&format!("{URL}more")), format!("{URL}more\n\n{URL}"));
    assert_eq!(
        check("{{ titel }}"),
        "refused: the template can't be rendered: line 1: there is no variable `titel` (did you mean `title`?)"
    );
    insta::assert_snapshot!(check("{{ title "), @"refused: the template can't be rendered: line 1: unexpected end of input, expected end of variable block (write it like `{{ title }}` or `{% if tags %}{{ hashtags }}{% endif %}`)");
    assert_eq!(
        check("{{ tags[9] }}"),
        "refused: the template can't be rendered: line 1: undefined value"
    );
    assert_eq!(check("  "), "refused: the text is empty");
    let warned = render(&with_custom(item("T"), None, Some("spoilers")), &mastodon).unwrap();
    assert_eq!(warned.post.string("content_warning"), Some("spoilers"));
    insta::assert_snapshot!(
        render(&with_custom(item("T"), Some("x"), Some("y")), &channel("devto", "")).unwrap().notes.join("\n"),
        @r"
        the article's own text is not used: this service has none
        the article's own content warning is not used: this service has none
        "
    );
}

#[test]
fn the_address_stands_once_whatever_stands_beside_it() {
    let check = |kind: &str, template: &str| {
        let channel = channel(kind, &format!("template = '{template}'"));
        let mut item = item("你好");
        item.canonical_url = "https://blog.example/a/".to_owned();
        let rendered = render(&item, &channel).unwrap();
        let linked = if kind == "bluesky" {
            let facets = facets(&rendered);
            assert_eq!(facets.len(), 1, "{}", rendered.text);
            facets[0].0.clone()
        } else {
            item.canonical_url.clone()
        };
        assert_eq!(linked, item.canonical_url);
        format!("{} {}", rendered.length, rendered.text)
    };
    for (template, bluesky, mastodon) in [
        (
            "{{ title }}（{{ url }}）",
            "27 你好（https://blog.example/a/）",
            "28 你好（https://blog.example/a/ ）",
        ),
        (
            "{{ title }}：{{ url }}。",
            "27 你好：https://blog.example/a/。",
            "28 你好：https://blog.example/a/ 。",
        ),
        (
            "“{{ url }}”",
            "25 “https://blog.example/a/”",
            "26 “https://blog.example/a/ ”",
        ),
        (
            "«{{ url }}»",
            "25 «https://blog.example/a/»",
            "26 «https://blog.example/a/ »",
        ),
        (
            "{{ url }}|{{ date }}",
            "34 https://blog.example/a/|2026-11-01",
            "35 https://blog.example/a/ |2026-11-01",
        ),
        (
            "({{ url }}).",
            "26 (https://blog.example/a/).",
            "26 (https://blog.example/a/).",
        ),
    ] {
        assert_eq!(check("bluesky", template), bluesky);
        assert_eq!(check("mastodon", template), mastodon);
    }
}

fn show_text(item: &Item, channel: &ChannelConfig) -> String {
    render(item, channel).map_or_else(
        |error| format!("refused: {error}"),
        |rendered| rendered.text,
    )
}

#[test]
fn long_titles_are_shortened_and_the_address_never() {
    let long = "A title that goes on and on ".repeat(30);
    for (kind, limit) in [("bluesky", 300), ("mastodon", 500)] {
        let rendered = render(&item(&long), &channel(kind, "")).unwrap();
        assert!(rendered.length <= limit, "{kind}: {}", rendered.length);
        assert!(rendered.length > limit - 10, "{kind}: {}", rendered.length);
        assert!(
            rendered.text.ends_with(&format!("…\n\n{URL}")),
            "{}",
            rendered.text
        );
        assert_eq!(rendered.limit, Some(limit));
        assert!(
            rendered.notes[0].starts_with("the title is shortened from 839 to"),
            "{:?}",
            rendered.notes
        );
    }
    let rendered = render(&item(&long), &channel("devto", "")).unwrap();
    assert_eq!(
        rendered.text,
        format!(
            "{}…",
            "A title that goes on and on "
                .repeat(4)
                .trim_end()
                .to_owned()
                + " A title that"
        )
    );
    assert_eq!(rendered.length, 125);
}

#[test]
fn the_servers_own_limit_counts() {
    let long = "word ".repeat(400);
    let mastodon = channel("mastodon", "");
    let at = |limit| {
        compose(
            &item(&long),
            &mastodon,
            ServerLimits::of_text(Some(limit)),
            fresh(),
        )
        .unwrap()
    };
    assert_eq!(at(5_000).length, 1_999 + 2 + 23);
    assert_eq!(at(5_000).notes, Vec::<String>::new());
    assert!(at(100).length <= 100);
    insta::assert_snapshot!(
        compose(&item(&long), &mastodon, ServerLimits::of_text(Some(20)), fresh()).unwrap_err(),
        @"the text has 23 characters, 20 are allowed, and nothing more can be shortened"
    );
}

#[test]
fn descriptions_go_before_a_short_title_does() {
    let mut item = item("A short title");
    item.description = Some("Some more words. ".repeat(40));
    let bluesky = channel(
        "bluesky",
        "template = \"{{ title }}\\n\\n{{ description }}\\n\\n{{ url }}\"",
    );
    let rendered = render(&item, &bluesky).unwrap();
    assert!(
        rendered
            .text
            .starts_with("A short title\n\nSome more words."),
        "{}",
        rendered.text
    );
    assert!(
        rendered.length <= 300 && rendered.length > 280,
        "{}",
        rendered.length
    );
    assert!(
        rendered.notes[0].starts_with("the description is shortened"),
        "{:?}",
        rendered.notes
    );
}

#[test]
fn hashtags_are_dropped_whole() {
    let mut item = item("T");
    item.tags = (0..60)
        .map(|number| format!("tag number {number}"))
        .collect();
    let rendered = render(
        &item,
        &channel(
            "bluesky",
            "template = \"{{ title }} {{ hashtags }}\\n{{ url }}\"",
        ),
    )
    .unwrap();
    insta::assert_snapshot!(rendered.text, @r"
    T #TagNumber0 #TagNumber1 #TagNumber2 #TagNumber3 #TagNumber4 #TagNumber5 #TagNumber6 #TagNumber7 #TagNumber8 #TagNumber9 #TagNumber10 #TagNumber11 #TagNumber12 #TagNumber13 #TagNumber14 #TagNumber15 #TagNumber16 #TagNumber17 #TagNumber18 #TagNumber19 #TagNumber20
    https://blog.example/news/hello/
    ");
    assert_eq!(facets(&rendered).len(), 22);
    assert!(
        rendered.notes[0].starts_with("left out to fit: #TagNumber21 "),
        "{:?}",
        rendered.notes
    );
}

#[test]
fn texts_that_cannot_be_shortened_are_refused() {
    let own = "x".repeat(400);
    insta::assert_snapshot!(
        show_text(&with_custom(item("T"), Some(&own), None), &channel("bluesky", "")),
        @"refused: the text has 434 characters, 300 are allowed, and nothing more can be shortened"
    );
    let heavy = "👩‍👩‍👧‍👦".repeat(150);
    insta::assert_snapshot!(
        show_text(&with_custom(item("T"), Some(&heavy), None), &channel("bluesky", "")),
        @"refused: the text has 3784 bytes, 3000 are allowed, and nothing more can be shortened"
    );
}

#[test]
fn bytes_count_on_bluesky_too() {
    // 200 clusters of 25 bytes are within 300 characters and over 3,000 bytes.
    let rendered = render(&item(&"👩‍👩‍👧‍👦".repeat(200)), &channel("bluesky", "")).unwrap();
    assert!(rendered.text.len() <= 3_000, "{}", rendered.text.len());
    assert!(rendered.text.ends_with(&format!("👩‍👩‍👧‍👦…\n\n{URL}")));
}

#[test]
fn an_address_over_the_limit_is_shown_shortened_and_linked_whole() {
    let mut item = item("T");
    item.canonical_url = format!("https://blog.example/{}", "a".repeat(400));
    let rendered = render(&item, &channel("bluesky", "")).unwrap();
    let shown = format!("https://blog.example/{}…", "a".repeat(79));
    assert_eq!(rendered.text, format!("T\n\n{shown}"));
    assert_eq!(facets(&rendered), [(shown, item.canonical_url.clone())]);
    assert_eq!(
        rendered.post.fields()["record"]["embed"]["external"]["uri"].as_str(),
        Some(item.canonical_url.as_str())
    );
    // Mastodon counts it as 23, so it stands there whole.
    let rendered = render(&item, &channel("mastodon", "")).unwrap();
    assert_eq!(rendered.text, format!("T\n\n{}", item.canonical_url));
    assert_eq!(rendered.length, 26);
}

#[test]
fn addresses_that_cannot_be_posted_are_refused() {
    for url in [
        "/news/hello",
        "ftp://blog.example/x",
        "https://blog.example/a b",
        "mailto:a@b",
        "",
    ] {
        let mut item = item("T");
        item.canonical_url = url.to_owned();
        for kind in ["indexnow", "bluesky", "mastodon", "devto"] {
            let error = render(&item, &channel(kind, "")).unwrap_err();
            assert!(
                matches!(error, RenderError::Url { .. }),
                "{kind} {url}: {error}"
            );
        }
    }
}

#[test]
fn facets_cover_the_right_bytes() {
    let check = |title: &str| facets(&render(&item(title), &channel("bluesky", "")).unwrap());
    let url = (URL.to_owned(), URL.to_owned());
    let tag = |name: &str| (format!("#{name}"), name.to_owned());
    assert_eq!(check("plain"), std::slice::from_ref(&url));
    assert_eq!(check("👩‍👩‍👧‍👦 and #日本語 😀"), [tag("日本語"), url.clone()]);
    assert_eq!(check("🇩🇪 שלום #שלום"), [tag("שלום"), url.clone()]);
    assert_eq!(
        check("cafe\u{301} #cafe\u{301}, #2026, #1a"),
        [tag("cafe\u{301}"), tag("1a"), url.clone()]
    );
    assert_eq!(
        check("at https://other.example/#top (#x)"),
        [
            (
                "https://other.example/#top".to_owned(),
                "https://other.example/#top".to_owned()
            ),
            tag("x"),
            url.clone()
        ]
    );
    assert_eq!(check("by @someone.bsky.social"), std::slice::from_ref(&url));
    // A hashtag in front of an address would be in it.
    let other = "https://x.example/y".to_owned();
    assert_eq!(
        check("#https://x.example/y #z"),
        [(other.clone(), other), tag("z"), url]
    );
}

#[test]
fn records_keep_to_the_lexicon() {
    let long = "Ein #Titel 👩‍👩‍👧‍👦 mit https://x.example/ä und mehr ".repeat(12);
    let mut item = item(&long);
    item.language = Some("de_DE".to_owned());
    let rendered = render(&item, &channel("bluesky", "")).unwrap();
    let record = rendered.post.fields()["record"].as_object().unwrap();
    assert_eq!(
        record.keys().collect::<Vec<_>>(),
        ["$type", "text", "createdAt", "langs", "facets", "embed"]
    );
    assert_eq!(record["$type"], "app.bsky.feed.post");
    assert_eq!(record["createdAt"], "2026-11-29T10:00:00.123Z");
    assert_eq!(record["langs"], serde_json::json!(["de-DE"]));
    let text = record["text"].as_str().unwrap();
    assert!(length::graphemes(text) <= 300 && text.len() <= 3_000);
    let mut last_end = 0;
    for facet in record["facets"].as_array().unwrap() {
        assert_eq!(
            facet.as_object().unwrap().keys().collect::<Vec<_>>(),
            ["index", "features"]
        );
        assert!(offset(facet, "byteStart") >= last_end);
        assert!(offset(facet, "byteStart") < offset(facet, "byteEnd"));
        last_end = offset(facet, "byteEnd");
        assert!(last_end <= text.len());
    }
    let external = record["embed"]["external"].as_object().unwrap();
    assert_eq!(
        external.keys().collect::<Vec<_>>(),
        ["uri", "title", "description"]
    );
    assert!(external.values().all(Value::is_string));
    let rkey = rendered.post.string("rkey").unwrap();
    assert_eq!(rkey.len(), 13);
    assert!(
        rkey.bytes()
            .all(|byte| b"234567abcdefghijklmnopqrstuvwxyz".contains(&byte))
    );
}

#[test]
fn a_stamp_makes_the_same_bytes_again() {
    for kind in ["indexnow", "bluesky", "mastodon", "devto"] {
        let channel = channel(kind, "");
        let first = render(&item("Hello"), &channel).unwrap();
        let later = Stamp::Fresh {
            now: Timestamp::parse("2026-12-24T00:00:00Z").unwrap(),
            entropy: 42,
        };
        let again = compose(
            &item("Hello"),
            &channel,
            ServerLimits::default(),
            Stamp::Of(&first.post),
        )
        .unwrap();
        assert_eq!(again.post.fingerprint(), first.post.fingerprint(), "{kind}");
        let other = compose(&item("Hello"), &channel, ServerLimits::default(), later).unwrap();
        assert_eq!(other.post == first.post, kind != "bluesky", "{kind}");
    }
    let mastodon = render(&item("Hello"), &channel("mastodon", "")).unwrap();
    assert_eq!(
        compose(
            &item("Hello"),
            &channel("bluesky", ""),
            ServerLimits::default(),
            Stamp::Of(&mastodon.post)
        ),
        Err(RenderError::NoStamp { field: "rkey" })
    );
}

#[test]
fn languages_are_tags_or_left_out() {
    let check = |of_item: Option<&str>, keys: &str| {
        let mut item = item("T");
        item.language = of_item.map(str::to_owned);
        let rendered = render(&item, &channel("mastodon", keys)).unwrap();
        (
            rendered.post.string("language").map(str::to_owned),
            rendered.notes,
        )
    };
    let plain = |language: &str| (Some(language.to_owned()), Vec::new());
    assert_eq!(check(Some("en_GB"), "language = \"de\""), plain("en-GB"));
    assert_eq!(check(None, "language = \"de\""), plain("de"));
    assert_eq!(check(None, ""), (None, Vec::new()));
    assert_eq!(
        check(Some("English"), "language = \"en\""),
        (
            Some("en".to_owned()),
            vec!["`English` is no language tag and is left out".to_owned()]
        )
    );
}

/// Titles as people write them, and worse.
fn titles() -> impl Strategy<Value = String> {
    let piece = proptest::prop_oneof![
        "\\PC{0,12}",
        "[a-z]{1,12}",
        "#[a-zäß0-9]{1,8}",
        proptest::strategy::Just("👩‍👩‍👧‍👦".to_owned()),
        proptest::strategy::Just("🇩🇪".to_owned()),
        proptest::strategy::Just("e\u{301}".to_owned()),
        proptest::strategy::Just("你好，".to_owned()),
        proptest::strategy::Just("https://other.example/x".to_owned()),
        proptest::strategy::Just("@me@host.example".to_owned()),
        any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(piece, 1..120).prop_map(|pieces| pieces.join(" "))
}

proptest! {
    // Every case is rendered hundreds of times until it fits.
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn texts_fit_and_have_the_address_whole(
        title in titles(),
        path in "[a-z0-9/._~-]{0,200}",
        limit in 60_usize..600,
    ) {
        let mut item = item(&title);
        item.canonical_url = format!("https://blog.example/{path}");
        let bluesky = render(&item, &channel("bluesky", "")).unwrap();
        prop_assert!(bluesky.length <= 300);
        prop_assert_eq!(bluesky.length, length::graphemes(&bluesky.text));
        prop_assert!(bluesky.text.len() <= 3_000);
        prop_assert!(bluesky.text.contains(&item.canonical_url));
        let links = facets(&bluesky);
        prop_assert!(links.iter().any(|(_, uri)| *uri == item.canonical_url));
        let mastodon = compose(&item, &channel("mastodon", ""), ServerLimits::of_text(Some(limit)), fresh()).unwrap();
        prop_assert!(mastodon.length <= limit);
        prop_assert_eq!(mastodon.length, length::mastodon(&mastodon.text, None));
        prop_assert!(mastodon.text.contains(&item.canonical_url));
        if let Ok(devto) = render(&item, &channel("devto", "")) {
            prop_assert!(devto.text.chars().count() <= 128);
        }
    }
}
