//! Whole jobs with pictures against a server of Mastodon's client API, read back past the program.

use std::io::Cursor;

use image::{ImageFormat, RgbImage};
use serde_json::{Value, json};

use super::blog::{Blog, one_article};
use super::mastodon::{POST, blog, statuses};
use super::relay::{Order, Relay};
use super::servers::MastodonMock;

const UPLOAD: &str = "POST /api/v2/media ";

/// What a reader who sees no picture is told, with whatever is hard to pass on.
const ALTS: [&str; 2] = [
    "Ein Käse & zwei „Brote“: 50 % \"billiger\"",
    "猫 🐈‍⬛\r\nin two lines",
];

fn png(width: u32) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    let picture = RgbImage::new(width, 2);
    picture.write_to(&mut bytes, ImageFormat::Png).unwrap();
    bytes.into_inner()
}

/// A blog with one article whose post shows two pictures.
fn illustrated(relay: &Relay, alts: [&str; 2]) -> Blog {
    let blog = blog(&relay.url());
    let manifest = "manifest = \"items.json\"";
    blog.configure(manifest, &format!("{manifest}\npages = \"_site\""));
    blog.configure(
        "interval = \"0s\"",
        "interval = \"0s\"\nfollow_edits = true",
    );
    blog.write_built("one.png", &png(3));
    blog.write_built("two.png", &png(4));
    blog.write_articles(&[with_pictures(alts)]);
    blog.push();
    blog
}

fn with_pictures(alts: [&str; 2]) -> Value {
    let mut article = one_article("pictures");
    let images = [
        json!({ "path": "/two.png", "alt": alts[0] }),
        json!({ "path": "/one.png", "alt": alts[1] }),
    ];
    article["sayonce"] = json!({ "there": { "images": images } });
    article
}

/// The texts that the server keeps of the pictures, and the pictures themselves.
fn shown(server: &MastodonMock) -> Vec<(String, Vec<u8>)> {
    let posted = statuses(server);
    assert_eq!(posted.len(), 1, "{posted:#?}");
    let media = posted[0]["media_attachments"].as_array().unwrap();
    let read = |one: &Value| {
        let url = one["url"].as_str().unwrap();
        let mut answer = ureq::get(url).call().unwrap();
        let description = one["description"].as_str().unwrap().to_owned();
        (description, answer.body_mut().read_to_vec().unwrap())
    };
    media.iter().map(read).collect()
}

fn expected(alts: [&str; 2]) -> Vec<(String, Vec<u8>)> {
    let [one, two] = alts.map(str::to_owned);
    vec![(one, png(4)), (two, png(3))]
}

#[test]
fn two_pictures_arrive_in_their_order_with_their_texts() {
    let Some(server) = MastodonMock::start() else {
        return;
    };
    let relay = Relay::before(&server.url);
    let blog = illustrated(&relay, ALTS);
    let ran = blog.run();
    ran.assert_code(0);
    assert_eq!(ran.deliveries(), "pictures there done response 1\n");
    assert_eq!(shown(&server), expected(ALTS));
    assert_eq!((relay.count(UPLOAD), relay.count(POST)), (2, 1));
    blog.run().assert_code(0);
    assert_eq!((relay.count(UPLOAD), relay.count(POST)), (2, 1));
}

/// The server is done at once: that it is still at work is the relay's word.
#[test]
fn pictures_on_which_the_server_is_still_at_work_are_waited_for() {
    let Some(server) = MastodonMock::start() else {
        return;
    };
    let relay = Relay::before(&server.url);
    let blog = illustrated(&relay, ALTS);
    relay.order(UPLOAD, Order::Status("202 Accepted"));
    relay.order("GET /api/v1/media/", Order::Status("206 Partial Content"));
    blog.run().assert_code(0);
    assert_eq!(shown(&server), expected(ALTS));
    assert_eq!(relay.count("GET /api/v1/media/"), 2);
}

#[test]
fn a_run_that_is_killed_between_upload_and_status_leaves_one_post() {
    let Some(server) = MastodonMock::start() else {
        return;
    };
    let relay = Relay::before(&server.url);
    let blog = illustrated(&relay, ALTS);
    blog.configure(
        "follow_edits = true",
        "send_window = \"5s\"\ntimeout = \"5s\"\nquarantine = \"0s\"\nsettle = \"0s\"\nlookups = [\"1s\"]",
    );
    // This server tells the time by the second before, at times.
    blog.configure("clock_skew = \"0s\"", "clock_skew = \"2s\"");
    // The first one is there, and of the second one the answer is not heard.
    relay.order("猫", Order::Swallow);
    let running = blog.start();
    relay.until_done();
    blog.kill(running);
    assert_eq!((relay.count(UPLOAD), statuses(&server).len()), (2, 0));
    let before = blog.row("pictures")["operations"]["publish"].clone();
    assert_eq!(before["state"], "in_flight");
    let ran = blog.run();
    ran.assert_code(0);
    assert_eq!(ran.deliveries(), "pictures there done response 2\n");
    assert_eq!(shown(&server), expected(ALTS));
    assert_eq!((relay.count(UPLOAD), relay.count(POST)), (4, 1));
    let after = blog.row("pictures")["operations"]["publish"].clone();
    assert_eq!(
        (&after["post"], &after["key"]),
        (&before["post"], &before["key"])
    );
}

/// This server takes the text of an edit, and passes over what it says of pictures, as it does not know of that.
#[test]
fn a_server_that_cannot_edit_pictures_edits_the_text() {
    let Some(server) = MastodonMock::start() else {
        return;
    };
    let relay = Relay::before(&server.url);
    let blog = illustrated(&relay, ALTS);
    blog.run().assert_code(0);
    let mut article = with_pictures(["Mended", ALTS[1]]);
    article["title"] = json!("Another title");
    blog.write_articles(&[article]);
    blog.push();
    let ran = blog.run();
    ran.assert_code(0);
    assert_eq!(ran.deliveries(), "pictures there done response 1\n");
    let posted = statuses(&server);
    let content = posted[0]["content"].as_str().unwrap();
    assert!(content.contains("Another title"), "{content}");
    assert_eq!(shown(&server), expected(ALTS));
    let change = &blog.row("pictures")["operations"]["update:1"];
    assert_eq!(change["state"], "done");
    let media = &change["post"]["media"];
    assert_eq!(
        [
            &media[0]["alt"],
            &media[0]["attached"]["alt"],
            &media[1]["alt"]
        ],
        ["Mended", ALTS[0], ALTS[1]]
    );
    assert_eq!((relay.count(UPLOAD), relay.count("PUT ")), (2, 1));
}
