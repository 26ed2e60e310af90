//! Pictures: they go out with the post, and trouble with them never costs it.

use std::io::Cursor;

use image::{ImageFormat, RgbImage};
use sayonce::model::channel::Kind;
use sayonce::model::ids::sha256_hex;
use serde_json::{Value, json};

use super::actions::Step;
use super::program::Ran;
use super::site::{Plan, Site};

/// Where the picture lies on the site.
const COVER: &str = "_site/cover.png";

fn png(width: u32) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    let picture = RgbImage::new(width, 2);
    picture.write_to(&mut bytes, ImageFormat::Png).unwrap();
    bytes.into_inner()
}

/// A site with one article, which has a picture on one channel.
fn site(kind: Kind, fault: Option<&str>, settings: &str, picture: Option<&[u8]>) -> Site {
    let name = kind.label();
    let mut plan = Plan::of(&[(name, kind)]).articles(1).every_channel(
        "interval = \"0s\"\nlookups = [\"10ms\"]\nquarantine = \"0s\"\nsettle = \"0s\"\ntimeout = \"2s\"",
    );
    if let Some(order) = fault {
        plan = plan.fault(order);
    }
    let site = plan.start();
    let path = format!("_posts/{}", posts(&site));
    let post = std::fs::read_to_string(site.path("site").join(&path)).unwrap();
    let with_settings = post.replacen(
        "---\n",
        &format!("---\nsayonce: {{ {name}: {{ {settings} }} }}\n"),
        1,
    );
    site.write(&path, &with_settings);
    if let Some(bytes) = picture {
        std::fs::write(site.path("site").join(COVER), bytes).unwrap();
    }
    site
}

fn posts(site: &Site) -> String {
    let mut files = std::fs::read_dir(site.path("site/_posts")).unwrap();
    let file = files.next().unwrap().unwrap();
    file.file_name().into_string().unwrap()
}

/// What the ledger says of the article's announcement.
fn record(site: &Site, channel: &str) -> Value {
    site.row("article-1", channel)["operations"]["publish"].clone()
}

/// The requests that upload, in the order in which they came.
fn uploads(site: &Site) -> usize {
    let requests = site.sandbox().requests();
    let is_upload = |path: &str| path.ends_with("uploadBlob") || path.ends_with("/media");
    requests
        .iter()
        .filter(|request| request.method == "POST" && is_upload(&request.path))
        .count()
}

#[track_caller]
fn assert_posted_once(site: &Site, ran: &Ran) {
    ran.assert_code(0);
    assert_eq!(ran.summary(), "done 1");
    site.assert_exactly_once();
}

#[test]
fn a_card_has_the_articles_picture() {
    let site = site(Kind::Bluesky, None, "image: /cover.png", Some(&png(3)));
    assert_posted_once(&site, &site.run(&[]));
    let post = &record(&site, "bluesky")["post"];
    assert_eq!(
        post["media"],
        json!([{
            "source": "https://blog.example/cover.png",
            "sha256": sha256_hex(&png(3)),
            "type": "image/png",
            "size": png(3).len(),
            "width": 3,
            "height": 2,
        }])
    );
    let thumb = &post["record"]["embed"]["external"]["thumb"];
    assert_eq!(thumb["mimeType"], "image/png");
    assert_eq!(uploads(&site), 1);
}

#[test]
fn the_plan_names_the_picture_that_is_going_to_be_shown() {
    let check = |kind: Kind, settings: &str| {
        let site = site(kind, None, settings, None);
        let planned = site.sayonce(&["plan", "--format", "json"]).json();
        let told = site.sayonce(&["plan"]).stdout;
        let told: Vec<_> = told
            .lines()
            .skip_while(|line| !line.starts_with("  picture"))
            .take_while(|line| line.starts_with(' '))
            .map(str::to_owned)
            .collect();
        (planned["deliveries"][0]["pictures"].clone(), told)
    };
    let cover = "https://blog.example/cover.png";
    let line = format!("  picture: {cover}");
    assert_eq!(
        check(Kind::Bluesky, "image: /cover.png"),
        (json!([{ "url": cover, "alt": null }]), vec![line.clone()])
    );
    assert_eq!(
        check(Kind::Mastodon, "image: /cover.png, alt: A cover"),
        (
            json!([{ "url": cover, "alt": "A cover" }]),
            vec![line, "    alt: A cover".to_owned()]
        )
    );
    assert_eq!(check(Kind::Bluesky, "language: en"), (Value::Null, vec![]));
}

#[test]
fn a_post_shows_the_articles_own_pictures() {
    let images =
        "images: [{ path: /cover.png, alt: A cat }, { path: ../cover.png, alt: The same cat }]";
    for kind in [Kind::Bluesky, Kind::Mastodon] {
        let site = site(kind, None, images, Some(&png(3)));
        assert_posted_once(&site, &site.run(&[]));
        let post = &record(&site, kind.label())["post"];
        let alts = [&post["media"][0]["alt"], &post["media"][1]["alt"]];
        assert_eq!(alts, ["A cat", "The same cat"]);
        assert_eq!(uploads(&site), 2);
    }
    // The answer is lost: what is repeated is the same record, with both pictures.
    let site = site(
        Kind::Bluesky,
        Some("bluesky:1=lost-request"),
        images,
        Some(&png(3)),
    );
    assert_posted_once(&site, &site.run(&[]));
    let record = record(&site, "bluesky");
    let embed = &record["post"]["record"]["embed"];
    assert_eq!(record["attempt"], 2);
    assert_eq!(embed["$type"], "app.bsky.embed.images");
    assert_eq!(
        embed["images"][1]["aspectRatio"],
        json!({ "width": 3, "height": 2 })
    );
}

#[test]
fn a_picture_that_cannot_be_had_is_told_and_left_out() {
    let check = |picture: Option<&[u8]>, said: &str| {
        let site = site(Kind::Bluesky, None, "image: /cover.png", picture);
        let ran = site.run(&[]);
        assert_posted_once(&site, &ran);
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
        assert_eq!(record(&site, "bluesky")["post"].get("media"), None);
        assert_eq!(uploads(&site), 0);
    };
    check(
        Some(b"<svg/>"),
        "article-1 on bluesky: the card is without a picture: the picture is neither PNG, nor JPEG, nor WebP",
    );
    check(
        None,
        "the card is without a picture: https://blog.example/cover.png: ",
    );
}

#[test]
fn a_refused_picture_is_left_out_where_nothing_was_sent() {
    let site = site(
        Kind::Bluesky,
        Some("bluesky:1=status=400"),
        "image: /cover.png",
        Some(&png(3)),
    );
    let ran = site.run(&[]);
    assert_posted_once(&site, &ran);
    let record = record(&site, "bluesky");
    assert_eq!(record["attempt"], 2);
    assert_eq!(record["post"].get("media"), None);
    let said = "its picture was not taken, so it goes without: HTTP 400";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
}

#[test]
fn a_repeat_sends_the_same_record_also_when_the_picture_has_changed() {
    for fault in ["bluesky:1=lost-answer", "bluesky:1=lost-request"] {
        let site = site(
            Kind::Bluesky,
            Some(fault),
            "image: /cover.png",
            Some(&png(3)),
        );
        // Out of time after the first attempt: another run has to settle it.
        let path = site.path("site/sayonce.toml");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("\"10ms\"", "\"1h\"")).unwrap();
        site.run(&["--max-wait", "0s"]).assert_code(6);
        let before = record(&site, "bluesky");
        assert_eq!(before["state"], "in_doubt", "{before:#}");
        std::fs::write(site.path("site").join(COVER), png(4)).unwrap();
        std::fs::write(&path, text).unwrap();
        let ran = site.run(&[]);
        assert_posted_once(&site, &ran);
        let after = record(&site, "bluesky");
        assert_eq!(
            (&after["post"], &after["key"]),
            (&before["post"], &before["key"]),
            "{fault}"
        );
        assert_eq!(uploads(&site), 1, "{fault}");
    }
}

#[test]
fn a_status_has_the_picture_that_the_author_wished_for() {
    let check = |settings: &str, picture: Option<&[u8]>| {
        let site = site(Kind::Mastodon, None, settings, picture);
        let ran = site.run(&[]);
        assert_posted_once(&site, &ran);
        let media = record(&site, "mastodon")["post"]["media"][0].clone();
        (media["alt"].clone(), uploads(&site), ran.stderr)
    };
    let (alt, uploads, _) = check("image: /cover.png, alt: A cover", Some(&png(3)));
    assert_eq!((alt, uploads), (json!("A cover"), 1));
    let (alt, uploads, _) = check("image: /cover.png", Some(&png(3)));
    assert_eq!((alt, uploads), (Value::Null, 0));
    let (alt, uploads, said) = check("image: /cover.png, alt: A cover", Some(b"GIF89a"));
    assert_eq!((alt, uploads), (Value::Null, 0));
    let told = "article-1 on mastodon: the post is without a picture: the picture is neither PNG, nor JPEG, nor WebP";
    assert!(said.contains(told), "{said}");
}

/// The plan says it before; whoever only reads what jobs say is told when the post goes out.
#[test]
fn a_run_says_once_that_a_picture_without_a_text_is_left_out() {
    let note = "the picture is left out: it needs `alt`, the text that stands for it";
    // Also where a second attempt is made.
    let site = site(
        Kind::Mastodon,
        Some("mastodon:1=status=429:1"),
        "image: /cover.png",
        Some(&png(3)),
    );
    let step = Step::of(&site).run(&["run", "--format", "json"]);
    step.ran.assert_code(0);
    let line = format!("article-1 on mastodon: {note}");
    assert_eq!(
        step.ran.stderr.matches(note).count(),
        1,
        "{}",
        step.ran.stderr
    );
    assert!(
        step.ran.stderr.lines().any(|told| told == line),
        "{}",
        step.ran.stderr
    );
    assert_eq!(step.ran.json()["deliveries"][0]["notes"], json!([note]));
    assert_eq!(record(&site, "mastodon")["attempt"], 2);
    let shown = format!("article-1 on mastodon: {}", note.replace('`', "\\`"));
    assert!(step.summary.contains(&shown), "{}", step.summary);
    // It is said of what goes out, and not of what is out.
    let again = site.run(&[]);
    assert!(!again.stderr.contains(note), "{}", again.stderr);
}
