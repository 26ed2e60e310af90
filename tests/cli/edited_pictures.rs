//! The pictures of a post follow its article, where the channel follows edits.

use std::io::Cursor;
use std::os::unix::process::ExitStatusExt as _;

use image::{ImageFormat, RgbImage};
use sayonce::model::channel::Kind;
use serde_json::{Value, json};

use super::program::Ran;
use super::site::{Plan, Site};

/// Quick in doubt, and slow enough for a busy machine.
const LINES: &str = "interval = \"0s\"\nlookups = [\"10ms\"]\nquarantine = \"0s\"\nsettle = \"0s\"\ntimeout = \"2s\"\nsend_window = \"2s\"";

fn png(width: u32) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    let picture = RgbImage::new(width, 2);
    picture.write_to(&mut bytes, ImageFormat::Png).unwrap();
    bytes.into_inner()
}

/// Slow enough for a rehearsal, which divides every timeout.
const REHEARSED: &str = "interval = \"0s\"\nlookups = [\"10ms\"]\nquarantine = \"0s\"\nsettle = \"0s\"\ntimeout = \"40s\"\nsend_window = \"20s\"";

fn draw(site: &Site, name: &str, bytes: &[u8]) {
    std::fs::write(site.path("site/_site").join(name), bytes).unwrap();
}

/// A blog with one article that sets this for its channel, which follows edits.
fn site(settings: &str, faults: &[&str]) -> Site {
    site_with(LINES, settings, faults)
}

fn site_with(lines: &str, settings: &str, faults: &[&str]) -> Site {
    let mut plan = Plan::of(&[("mastodon", Kind::Mastodon)])
        .articles(1)
        .every_channel(lines)
        .channel("mastodon", "follow_edits = true");
    for order in faults {
        plan = plan.fault(order);
    }
    let site = plan.start();
    draw(&site, "one.png", &png(3));
    draw(&site, "two.png", &png(4));
    set(&site, settings);
    site
}

/// The author sets something else for the channel, and pushes.
fn set(site: &Site, settings: &str) {
    site.git(&["pull", "--quiet", "--ff-only", "origin", "main"]);
    let mut files = std::fs::read_dir(site.path("site/_posts")).unwrap();
    let path = files.next().unwrap().unwrap().path();
    let text = std::fs::read_to_string(&path).unwrap();
    let kept: Vec<_> = text
        .lines()
        .filter(|line| !line.starts_with("sayonce:"))
        .collect();
    let text = kept.join("\n").replacen(
        "---\n",
        &format!("---\nsayonce: {{ mastodon: {{ {settings} }} }}\n"),
        1,
    );
    std::fs::write(&path, text + "\n").unwrap();
    site.commit_and_push("an edit");
}

/// What people who don't see the pictures are told of them.
fn shown(site: &Site) -> Vec<String> {
    let posts = site.sandbox().posts();
    assert_eq!(posts.len(), 1, "{posts:?}");
    posts[0].pictures.clone()
}

/// How often something was uploaded, and how often a status was edited.
fn counts(site: &Site) -> (usize, usize) {
    let requests = site.sandbox().requests();
    let count = |method: &str, part: &str| {
        let mut all = requests.iter();
        all.by_ref()
            .filter(|request| request.method == method && request.path.contains(part))
            .count()
    };
    (count("POST", "/media"), count("PUT", "/statuses/"))
}

#[track_caller]
fn run(site: &Site) -> Ran {
    let ran = site.run(&[]);
    ran.assert_code(0);
    assert_eq!(ran.summary(), "done 1");
    site.assert_exactly_once();
    ran
}

fn media(site: &Site, operation: &str) -> Value {
    let row = site.row("article-1", "mastodon");
    row["operations"][operation]["post"]["media"].clone()
}

#[test]
fn a_mended_text_of_a_picture_is_carried_to_its_post() {
    let site = site("image: /one.png, alt: A cat", &[]);
    run(&site);
    assert_eq!(
        (shown(&site), counts(&site)),
        (vec!["A cat".to_owned()], (1, 0))
    );
    set(&site, "image: /one.png, alt: A black cat");
    let planned = site
        .sayonce(&["plan", "--fetch", "--format", "json"])
        .json();
    let planned = &planned["deliveries"][0];
    assert_eq!(
        (&planned["reason"], &planned["pictures"][0]["alt"]),
        (
            &json!("the article was edited: due now"),
            &json!("A black cat")
        )
    );
    run(&site);
    assert_eq!(
        (shown(&site), counts(&site)),
        (vec!["A black cat".to_owned()], (1, 1))
    );
    let frozen = media(&site, "update:1");
    assert_eq!(
        (&frozen[0]["alt"], &frozen[0]["attached"]),
        (&json!("A black cat"), &json!({ "id": "1", "alt": "A cat" }))
    );
    // Nothing is left to do, and the next change knows what was posted.
    run(&site);
    assert_eq!(counts(&site), (1, 1));
    set(&site, "image: /one.png, alt: A white cat");
    run(&site);
    assert_eq!(
        (shown(&site), counts(&site)),
        (vec!["A white cat".to_owned()], (1, 2))
    );
    assert_eq!(
        media(&site, "update:2")[0]["attached"]["alt"],
        "A black cat"
    );
}

#[test]
fn pictures_are_added_replaced_reordered_and_taken_away() {
    let site = site("language: en", &[]);
    run(&site);
    let check = |settings: &str, alts: &[&str], requests: (usize, usize)| {
        set(&site, settings);
        run(&site);
        assert_eq!(
            (shown(&site), counts(&site)),
            (alts.iter().map(|alt| (*alt).to_owned()).collect(), requests),
            "{settings}"
        );
    };
    check("image: /one.png, alt: One", &["One"], (1, 1));
    let both = "images: [{ path: /two.png, alt: Two }, { path: /one.png, alt: One }]";
    check(both, &["Two", "One"], (2, 2));
    let ids = |operation: &str| {
        let media = media(&site, operation);
        let ids = media.as_array().unwrap().iter();
        ids.map(|one| one["attached"]["id"].as_str().unwrap_or("new").to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids("update:2"), ["new", "1"]);
    let turned = "images: [{ path: /one.png, alt: First }, { path: /two.png, alt: Two }]";
    check(turned, &["First", "Two"], (2, 3));
    assert_eq!(ids("update:3"), ["1", "2"]);
    // The same file with another picture in it.
    draw(&site, "two.png", &png(5));
    check(both, &["Two", "One"], (3, 4));
    check("language: en", &[], (3, 5));
    assert_eq!(media(&site, "update:5"), json!([]));
    check("language: de", &[], (3, 6));
}

#[test]
fn trouble_with_a_picture_never_costs_the_edit() {
    let site = site("image: /one.png, alt: One", &[]);
    run(&site);
    // What stands can't be read any more, and its new text goes out all the same.
    std::fs::remove_file(site.path("site/_site/one.png")).unwrap();
    set(&site, "image: /one.png, alt: Mended");
    let ran = run(&site);
    assert_eq!(shown(&site), ["Mended"]);
    let told = "article-1 on mastodon: a picture of the post stays as it is: ";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
    draw(&site, "one.png", b"GIF89a");
    set(&site, "image: /two.png, alt: Two, text: \"New {{ url }}\"");
    draw(&site, "two.png", b"GIF89a");
    let ran = run(&site);
    assert_eq!(shown(&site), ["Mended"]);
    let told = "article-1 on mastodon: the pictures of the post stay as they are, `sayonce update` tries again: the picture \
                is neither PNG";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
}

#[test]
fn an_edit_of_which_nothing_was_heard_says_the_same_once_more() {
    for fault in [
        "mastodon:2=lost-answer",
        "mastodon:2=lost-request",
        "mastodon:2=status=500",
    ] {
        let site = site("images: [{ path: /one.png, alt: One }]", &[fault]);
        run(&site);
        set(
            &site,
            "images: [{ path: /two.png, alt: Two }, { path: /one.png, alt: Mended }]",
        );
        run(&site);
        assert_eq!(shown(&site), ["Two", "Mended"], "{fault}");
        run(&site);
    }
}

#[test]
fn a_rehearsal_shows_the_mended_text() {
    let site = site_with(REHEARSED, "image: /one.png, alt: A cat", &[]);
    let kept = site.path("kept").display().to_string();
    let rehearse = || {
        let arguments = ["rehearse", "--speed", "20", "--keep", &kept];
        let ran = site
            .program_without_secrets(&site.path("site"), &arguments)
            .run();
        ran.assert_code(0);
        let lines = ran.stdout.lines().filter(|line| line.contains("[picture"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(rehearse(), ["  | [picture: A cat]"]);
    set(&site, "image: /one.png, alt: A black cat");
    assert_eq!(rehearse(), ["  | [picture: A black cat]"]);
}

#[test]
fn an_edit_that_was_killed_is_made_by_the_next_run() {
    for fault in ["mastodon:2=kill", "mastodon:2=kill-before"] {
        let site = site_with(REHEARSED, "images: [{ path: /one.png, alt: One }]", &[]);
        let kept = site.path("kept").display().to_string();
        let rehearse = |more: &[&str]| {
            let arguments = ["rehearse", "--speed", "20", "--keep", &kept];
            let directory = site.path("site");
            site.program_without_secrets(&directory, &[&arguments, more].concat())
                .run()
        };
        rehearse(&[]).assert_code(0);
        set(
            &site,
            "images: [{ path: /two.png, alt: Two }, { path: /one.png, alt: Mended }]",
        );
        let killed = rehearse(&["--fault", fault]);
        assert_eq!(killed.status.signal(), Some(9), "{fault}: {killed:?}");
        let ran = rehearse(&[]);
        ran.assert_code(0);
        let shown = "  | [picture: Two]\n  | [picture: Mended]\n\n";
        assert!(ran.stdout.contains(shown), "{fault}: {}", ran.stdout);
    }
}

#[test]
fn an_edit_that_is_refused_for_a_new_picture_goes_without_it() {
    let site = site("image: /one.png, alt: One", &["mastodon:2=status=422"]);
    run(&site);
    set(
        &site,
        "image: /two.png, alt: Two, text: \"Another text {{ url }}\"",
    );
    let ran = run(&site);
    let posts = site.sandbox().posts();
    assert_eq!(
        (
            posts[0].title_or_text.as_str(),
            posts[0].pictures.as_slice()
        ),
        (
            "Another text https://blog.example/article-1/",
            &["One".to_owned()][..]
        )
    );
    let told = "its picture was not taken, so those of the post stay as they are: HTTP 422";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
    let change = site.row("article-1", "mastodon")["operations"]["update:1"].clone();
    assert_eq!(
        (&change["attempt"], &change["post"]["media_stays"]),
        (&json!(2), &json!(true))
    );
    // What the post shows is known all the same, and a person may try again.
    site.sayonce(&["update", "article-1"]).assert_code(0);
    run(&site);
    assert_eq!(shown(&site), ["Two"]);
}

#[test]
fn a_file_that_was_replaced_under_its_name_goes_out_when_a_person_asks_for_it() {
    let site = site("image: /one.png, alt: One", &[]);
    run(&site);
    draw(&site, "one.png", &png(9));
    run(&site);
    assert_eq!(counts(&site), (1, 0));
    site.sayonce(&["update", "article-1"]).assert_code(0);
    run(&site);
    assert_eq!(counts(&site), (2, 1));
    let sha256 = sayonce::model::ids::sha256_hex(&png(9));
    assert_eq!(media(&site, "update:1")[0]["sha256"], sha256);
}
