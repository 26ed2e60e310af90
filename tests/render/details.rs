//! What single channels ask of an article beside its text.

use sayonce::model::ids::ChannelName;
use sayonce::model::item::{Item, ItemChannelSettings, ItemImage};
use sayonce::model::media::{Picture, Prepared};
use sayonce::model::outcome::ServerLimits;
use sayonce::render::measure::measure;
use sayonce::render::{RenderError, Stamp, compose, compose_with, length, wants};

use super::{channel, fresh, item, render, show, with_custom};

#[test]
fn an_address_outside_the_directory_of_its_key_is_refused_before_the_claim() {
    let check = |location: &str| {
        let channel = channel("indexnow", &format!("key_location = \"{location}\""));
        show(&item("Hello"), &channel)
    };
    for location in [
        "https://blog.example/k.txt",
        "https://blog.example/news/k.txt",
    ] {
        assert!(!check(location).starts_with("refused"));
    }
    for location in [
        "https://blog.example/new/k.txt",
        "https://blog.example/news/hello/more/k.txt",
    ] {
        assert_eq!(
            check(location),
            "refused: the article's address `https://blog.example/news/hello/` is outside the directory of `key_location`, and a key is good for its own directory only"
        );
    }
}

#[test]
fn an_articles_own_text_is_named_with_its_file_where_it_is_at_fault() {
    let check = |text: Option<&str>, template: &str| {
        let mut item = with_custom(item(&"word ".repeat(300)), text, None);
        item.source_file = Some("_posts/hello.md".to_owned());
        let channel = channel("mastodon", &format!("template = '{template}'"));
        let error = render(&item, &channel).unwrap_err();
        error.about(&item, channel.name())
    };
    assert_eq!(
        check(Some("{{ titel }}"), "{{ title }}"),
        "_posts/hello.md: `sayonce.c`: the template can't be rendered: line 1: there is no variable `titel` (did you mean \
         `title`?)"
    );
    let long = "x ".repeat(600);
    let too_long =
        "the text has 1224 characters, 500 are allowed, and nothing more can be shortened";
    assert_eq!(
        check(Some(&long), "{{ title }}"),
        format!("_posts/hello.md: `sayonce.c`: {too_long}")
    );
    assert_eq!(check(None, &long), too_long);
}

#[test]
fn a_template_shows_front_matter_and_nothing_where_there_is_none() {
    let fields = serde_json::json!({
        "subtitle": "{{ title }}", "weight": 3, "places": ["Rome", "Oslo"], "params": { "mood": "calm" }, "none": null,
    });
    let check = |template: &str| {
        let mut item = item("Hello");
        item.front_matter = std::sync::Arc::new(fields.as_object().unwrap().clone());
        let channel = channel(
            "mastodon",
            &format!("template = '{template} {{{{ url }}}}'"),
        );
        let text = render(&item, &channel).unwrap().text;
        text.replace(" https://blog.example/news/hello/", "")
    };
    for (template, text) in [
        // What comes out is not read as a template again.
        ("{{ front_matter.subtitle }}", "{{ title }}"),
        (
            "{{ front_matter.weight }}{{ front_matter.params.mood }}",
            "3calm",
        ),
        ("{{ front_matter.places | join(\", \") }}", "Rome, Oslo"),
        (
            "{% for place in front_matter.places %}{{ place }}.{% endfor %}",
            "Rome.Oslo.",
        ),
        ("{{ front_matter[\"weight\"] + 1 }}", "4"),
        (
            "-{{ front_matter.lacking }}{{ front_matter.lacking.deeper | upper }}{{ front_matter.none }}-",
            "--",
        ),
        (
            "-{% for x in front_matter.lacking %}{{ x }}{% endfor %}{{ front_matter.lacking | length }}-",
            "-0-",
        ),
        (
            "{% if front_matter.lacking or front_matter.params.no %}yes{% else %}no{% endif %}",
            "no",
        ),
        ("{{ front_matter.lacking | default(title) }}", "Hello"),
        ("{{ front_matter.lacking or title }}", "Hello"),
        ("{{ front_matter.weight | default(title) }}", "3"),
        (
            "{{ description | replace(description, \"\") | d(\"none\") }}",
            "none",
        ),
    ] {
        assert_eq!(check(template), text, "{template}");
    }
}

#[test]
fn a_declared_request_keeps_of_the_front_matter_what_it_names() {
    let mut item = item("Hello");
    let fields = serde_json::json!({ "mood": "calm", "place": { "city": "Rome" }, "secret": "no" });
    item.front_matter = std::sync::Arc::new(fields.as_object().unwrap().clone());
    let check = |json: &str| {
        let channel = channel(
            "http",
            &format!(
                "request = {{ url = \"https://own.example/\", json = {json} }}\nsuccess = {{ status = 201 }}\nreceipt = \"none\""
            ),
        );
        let rendered = render(&item, &channel).unwrap();
        let shown = rendered.post.fields().get("front_matter");
        shown.map_or_else(|| "none".to_owned(), ToString::to_string)
    };
    assert_eq!(check("{ title = \"{{ title }}\" }"), "none");
    assert_eq!(
        check(
            "{ a = \"{{ front_matter.mood }}\", b = \"{{ front_matter.place.city }}\", c = \"{{ front_matter.lacking }}\" }"
        ),
        r#"{"mood":"calm","place":{"city":"Rome"}}"#
    );
}

/// What was found of a picture and of the accounts that exist.
fn prepared() -> Prepared {
    Prepared {
        pictures: vec![Picture {
            source: "https://blog.example/cover.png".to_owned(),
            sha256: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855".to_owned(),
            mime_type: "image/png".to_owned(),
            size: 4_711,
            width: 1_200,
            height: 630,
            attached: None,
        }],
        mentions: [("name.example".to_owned(), "did:plc:name".to_owned())].into(),
        ..Prepared::default()
    }
}

pub(super) fn with_image(mut item: Item, image: &str, alt: Option<&str>) -> Item {
    item.settings.channels.insert(
        ChannelName::new("c").unwrap(),
        ItemChannelSettings::Custom {
            text: None,
            content_warning: None,
            language: None,
            image: Some(image.to_owned()),
            alt: alt.map(str::to_owned),
            images: Vec::new(),
            series: None,
        },
    );
    item
}

#[test]
fn a_card_names_the_picture_that_was_found() {
    let channel = channel("bluesky", "");
    let item = with_image(item("Hello"), "/cover.png", None);
    let first = compose_with(
        &item,
        &channel,
        ServerLimits::default(),
        fresh(),
        &prepared(),
    )
    .unwrap();
    insta::assert_snapshot!(
        serde_json::to_string(&[&first.post.fields()["media"], &first.post.fields()["record"]["embed"]]).unwrap(),
        @r#"[[{"source":"https://blog.example/cover.png","sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","type":"image/png","size":4711,"width":1200,"height":630}],{"$type":"app.bsky.embed.external","external":{"uri":"https://blog.example/news/hello/","title":"Hello","description":"What happened & why.","thumb":{"$type":"blob","ref":{"$link":"bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"},"mimeType":"image/png","size":4711}}}]"#);
    // The same article gives the same bytes again, without a look at the network.
    let again = compose(
        &item,
        &channel,
        ServerLimits::default(),
        Stamp::Of(&first.post),
    )
    .unwrap();
    assert_eq!(again.post, first.post);
    // Another picture is a change.
    let changed = with_image(item.clone(), "/other.png", None);
    let changed = compose(
        &changed,
        &channel,
        ServerLimits::default(),
        Stamp::Of(&first.post),
    )
    .unwrap();
    assert_eq!(changed.post.fields().get("media"), None);
}

#[test]
fn pictures_are_wanted_where_a_service_takes_them() {
    let check = |kind: &str, image: Option<(&str, Option<&str>)>| {
        let mut item = item("Hello");
        item.image = Some("https://cdn.example/og.png".to_owned());
        if let Some((image, alt)) = image {
            item = with_image(item, image, alt);
        }
        wants(&item, &channel(kind, ""))
            .pictures
            .into_iter()
            .next()
            .map(|wish| wish.url)
    };
    let some = |url: &str| Some(url.to_owned());
    assert_eq!(check("bluesky", None), some("https://cdn.example/og.png"));
    assert_eq!(
        check("bluesky", Some(("cover.png", None))),
        some("https://blog.example/news/hello/cover.png")
    );
    assert_eq!(check("bluesky", Some(("data:image/png,x", None))), None);
    // Mastodon makes its own card; a picture beside it is wished for, and needs a text.
    assert_eq!(check("mastodon", None), None);
    assert_eq!(check("mastodon", Some(("/a.png", None))), None);
    assert_eq!(
        check("mastodon", Some(("/a.png", Some("A cat")))),
        some("https://blog.example/a.png")
    );
    assert_eq!(check("devto", Some(("/a.png", None))), None);
    assert_eq!(check("indexnow", Some(("/a.png", None))), None);
}

#[test]
fn a_picture_without_a_text_that_stands_for_it_stays_out_and_is_told() {
    let check = |alt: Option<&str>| {
        let item = with_image(item("Hello"), "/a.png", alt);
        render(&item, &channel("mastodon", "")).unwrap().notes
    };
    let told = "the picture is left out: it needs `alt`, the text that stands for it";
    assert_eq!(check(None), [told]);
    assert_eq!(check(Some(" ")), [told]);
    assert_eq!(check(Some("A cat")), [""; 0]);
}

#[test]
fn mentions_are_marked_where_the_account_exists() {
    let channel = channel(
        "bluesky",
        "template = '🎉 @Name.Example, @gone.example {{ url }}'",
    );
    let item = item("Hello");
    assert_eq!(
        wants(&item, &channel).mentions,
        ["name.example", "gone.example"]
    );
    let rendered = compose_with(
        &item,
        &channel,
        ServerLimits::default(),
        fresh(),
        &prepared(),
    )
    .unwrap();
    let facets = &rendered.post.fields()["record"]["facets"];
    assert_eq!(
        facets[0],
        serde_json::json!({
            "index": {"byteStart": 5, "byteEnd": 18},
            "features": [{"$type": "app.bsky.richtext.facet#mention", "did": "did:plc:name"}],
        })
    );
    assert_eq!(facets.as_array().unwrap().len(), 2, "{facets:#}");
    let again = compose(
        &item,
        &channel,
        ServerLimits::default(),
        Stamp::Of(&rendered.post),
    )
    .unwrap();
    assert_eq!(
        again.post.fields()["record"]["facets"],
        rendered.post.fields()["record"]["facets"]
    );
}

#[test]
fn labels_are_the_authors_own() {
    let labels = |keys: &str| {
        let rendered = render(&item("Hello"), &channel("bluesky", keys)).unwrap();
        rendered.post.fields()["record"].get("labels").cloned()
    };
    assert_eq!(labels(""), None);
    assert_eq!(
        labels("labels = [\"nudity\", \"!no-unauthenticated\", \"nudity\"]"),
        Some(serde_json::json!({
            "$type": "com.atproto.label.defs#selfLabels",
            "values": [{"val": "nudity"}, {"val": "!no-unauthenticated"}],
        }))
    );
}

#[test]
fn a_link_counts_what_the_server_says() {
    let text = "Hello https://blog.example/news/a-longer-address/";
    for (told, length) in [(None, 29), (Some(23), 29), (Some(32), 38), (Some(0), 49)] {
        assert_eq!(length::mastodon(text, told), length);
    }
    let channel = channel("mastodon", "");
    let rendered = |link| {
        let limits = ServerLimits {
            text: Some(60),
            link,
            ..ServerLimits::default()
        };
        let rendered = compose(
            &item("A title of some length, all told"),
            &channel,
            limits,
            fresh(),
        )
        .unwrap();
        (rendered.length, rendered.text)
    };
    let whole = "A title of some length, all told\n\nhttps://blog.example/news/hello/".to_owned();
    assert_eq!(rendered(None), (57, whole));
    let cut = "A title of some length…\n\nhttps://blog.example/news/hello/".to_owned();
    assert_eq!(rendered(Some(32)), (57, cut));
}

#[test]
fn a_content_warning_counts_its_characters_and_leaves_the_texts_links_short() {
    let shown = |path: &str, text: &str, warning: &str| {
        let mut item = with_custom(item("A title"), Some(text), Some(warning));
        item.canonical_url = format!("https://blog.example/{path}");
        let channel = channel("mastodon", "");
        let rendered = render(&item, &channel).map_err(|error| error.to_string())?;
        let measured = measure(&rendered.post, &channel, ServerLimits::default());
        assert_eq!(measured.length, rendered.length);
        Ok((rendered.length, rendered.notes))
    };
    let long = "a/very/long/path/that/goes/on/and/on/for/ever/and/ever";
    // Right behind a letter there would be no link.
    let first = "{{ url }} {{ title }} ".to_owned();
    let fits = shown(long, &format!("{first}{}", "y".repeat(464)), "food");
    assert_eq!(fits, Ok((500, Vec::new())));
    let over = shown(long, &format!("{{{{ url }}}} {}", "y".repeat(473)), "food");
    assert_eq!(
        over,
        Err(
            "the text has 501 characters, 500 are allowed, and nothing more can be shortened"
                .to_owned()
        )
    );
    // In the warning an address counts in full, and a mention too.
    let warning = format!("see https://blog.example/{long} by @me@host.example");
    let expected = (warning.len() + 2 + 23, Vec::new());
    assert_eq!(shown(long, "x {{ url }}", &warning), Ok(expected));
}

#[test]
fn where_a_picture_is_needed_an_article_without_one_is_refused_before_the_claim() {
    let channel = channel("mastodon", "");
    let limits = ServerLimits {
        needs_picture: true,
        ..ServerLimits::default()
    };
    let with_picture = with_image(item("Hello"), "/cover.png", Some("A cat"));
    // A plan does not read pictures: that one is wished for is enough.
    assert!(compose(&with_picture, &channel, limits, fresh()).is_ok());
    assert!(compose_with(&with_picture, &channel, limits, fresh(), &prepared()).is_ok());
    let refused = Err(RenderError::NoPicture);
    for item in [item("Hello"), with_image(item("Hello"), "/cover.png", None)] {
        assert_eq!(compose(&item, &channel, limits, fresh()), refused);
    }
    let found = Prepared::default();
    assert_eq!(
        compose_with(&with_picture, &channel, limits, fresh(), &found),
        refused
    );
}

/// An article that wishes for two pictures, and what was found of them.
fn with_images() -> (Item, Prepared) {
    let mut item = with_image(item("Hello"), "", None);
    let settings = item.settings.channels.values_mut().next();
    let Some(ItemChannelSettings::Custom { image, images, .. }) = settings else {
        panic!("the channel has settings");
    };
    *image = None;
    *images = [
        ("/cover.png", "A cat"),
        ("https://cdn.example/b.png", "Two cats"),
    ]
    .map(|(url, alt)| ItemImage {
        url: url.to_owned(),
        alt: alt.to_owned(),
    })
    .into();
    let mut found = prepared();
    let mut other = found.pictures[0].clone();
    other.source = "https://cdn.example/b.png".to_owned();
    other.sha256 = "00".repeat(32);
    found.pictures.push(other);
    (item, found)
}

#[test]
fn a_post_on_bluesky_shows_the_articles_own_pictures_in_place_of_the_card() {
    let channel = channel("bluesky", "");
    let (item, found) = with_images();
    let wished: Vec<_> = wants(&item, &channel)
        .pictures
        .into_iter()
        .map(|wish| wish.url)
        .collect();
    assert_eq!(
        wished,
        [
            "https://blog.example/cover.png",
            "https://cdn.example/b.png"
        ]
    );
    let limits = ServerLimits::default();
    let first = compose_with(&item, &channel, limits, fresh(), &found).unwrap();
    insta::assert_snapshot!(
        serde_json::to_string_pretty(&first.post.fields()["record"]["embed"]).unwrap(),
        @r#"
    {
      "$type": "app.bsky.embed.images",
      "images": [
        {
          "alt": "A cat",
          "image": {
            "$type": "blob",
            "ref": {
              "$link": "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"
            },
            "mimeType": "image/png",
            "size": 4711
          },
          "aspectRatio": {
            "width": 1200,
            "height": 630
          }
        },
        {
          "alt": "Two cats",
          "image": {
            "$type": "blob",
            "ref": {
              "$link": "bafkreiaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
            },
            "mimeType": "image/png",
            "size": 4711
          },
          "aspectRatio": {
            "width": 1200,
            "height": 630
          }
        }
      ]
    }
    "#);
    let again = compose(&item, &channel, limits, Stamp::Of(&first.post)).unwrap();
    assert_eq!(again.post, first.post);
    // One that is not to be had is left out; with none at all it is the card.
    let embed = |found: &Prepared| {
        let rendered = compose_with(&item, &channel, limits, fresh(), found).unwrap();
        let embed = &rendered.post.fields()["record"]["embed"];
        let count = embed["images"].as_array().map_or(0, Vec::len);
        (embed["$type"].as_str().unwrap().to_owned(), count)
    };
    let images = |count| ("app.bsky.embed.images".to_owned(), count);
    assert_eq!(embed(&found), images(2));
    let one = Prepared {
        pictures: found.pictures[1..].to_vec(),
        ..Prepared::default()
    };
    assert_eq!(embed(&one), images(1));
    assert_eq!(
        embed(&Prepared::default()),
        ("app.bsky.embed.external".to_owned(), 0)
    );
}

#[test]
fn a_status_on_mastodon_shows_several_pictures_each_with_its_text() {
    let (item, found) = with_images();
    let rendered = compose_with(
        &item,
        &channel("mastodon", ""),
        ServerLimits::default(),
        fresh(),
        &found,
    )
    .unwrap();
    let alts: Vec<_> = Picture::with_alts(&rendered.post)
        .into_iter()
        .map(|(picture, alt)| (picture.source, alt))
        .collect();
    let pair = |source: &str, alt: &str| (source.to_owned(), alt.to_owned());
    assert_eq!(
        alts,
        [
            pair("https://blog.example/cover.png", "A cat"),
            pair("https://cdn.example/b.png", "Two cats")
        ]
    );
    assert!(
        show(&item, &channel("devto", "")).contains("the article's own list of images is not used")
    );
}

#[test]
fn the_series_of_the_article_is_that_on_devto_unless_the_channel_says_another() {
    let series = |own: Option<&str>| {
        let mut item = with_image(item("Hello"), "/a.png", None);
        item.series = Some("Gardening".to_owned());
        let settings = item.settings.channels.values_mut().next();
        if let Some(ItemChannelSettings::Custom { series, .. }) = settings {
            *series = own.map(str::to_owned);
        }
        let rendered = render(&item, &channel("devto", "")).unwrap();
        rendered.post.string("series").map(str::to_owned)
    };
    assert_eq!(series(None).as_deref(), Some("Gardening"));
    assert_eq!(series(Some("Trees")).as_deref(), Some("Trees"));
    assert_eq!(series(Some("")), None);
}

#[test]
fn a_post_in_two_steps_is_written_before_and_names_what_was_made() {
    let channel = channel("http", "preset = 'threads'\nvalues = { user = 1 }");
    let item = item("Hello");
    let limits = ServerLimits::default();
    let draft = wants(&item, &channel).draft.unwrap();
    assert_eq!(
        draft.string("text"),
        Some("Hello\n\nhttps://blog.example/news/hello/")
    );
    assert_eq!(draft.string("prepared"), None);
    let found = Prepared {
        made: Some("18".to_owned()),
        ..Prepared::default()
    };
    let post = compose_with(&item, &channel, limits, fresh(), &found)
        .unwrap()
        .post;
    assert_eq!(post.string("prepared"), Some("18"));
    let again = compose(&item, &channel, limits, Stamp::Of(&post)).unwrap();
    assert_eq!(again.post, post);
    let one_step = super::channel("http", "preset = 'discord'");
    assert_eq!(wants(&item, &one_step).draft, None);
}
