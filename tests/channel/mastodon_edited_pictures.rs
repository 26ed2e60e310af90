//! The pictures of a status that is edited.

use sayonce::channel::Channel;
use sayonce::config::{ServiceConfig, Visibility};
use sayonce::model::ids::sha256_hex;
use sayonce::model::media::{Attached, Picture, PictureWish, Prepared, Standing, Wants};
use serde_json::{Value, json};

use super::later::{change, effect, remote, send};
use super::mastodon::{ACCOUNT, PNG, media, whoami};
use super::server::{Act, Server, json as json_answer};
use super::{TestClock, channel};

const DOT: &str = "https://blog.example/dot.png";
const POSTED: &str = "7 https://m.example/@blog/7";

/// The picture, as a claim names it.
fn picture(source: &str) -> Picture {
    Picture {
        source: source.to_owned(),
        sha256: sha256_hex(PNG),
        mime_type: "image/png".to_owned(),
        size: PNG.len().try_into().unwrap(),
        width: 2,
        height: 1,
        attached: None,
    }
}

/// The picture as it stands under an id, posted with a text.
fn attached(id: &str, alt: &str) -> Picture {
    Picture {
        attached: Some(Attached {
            id: id.to_owned(),
            alt: alt.to_owned(),
        }),
        ..picture(DOT)
    }
}

/// Another picture than the one that every post has.
fn other_png() -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    let picture = image::RgbImage::new(3, 1);
    picture
        .write_to(&mut bytes, image::ImageFormat::Png)
        .unwrap();
    bytes.into_inner()
}

fn open_channel(server: &Server) -> Box<dyn Channel> {
    let service = ServiceConfig::Mastodon {
        server: server.url(),
        token_env: "SECRET".to_owned(),
        visibility: Visibility::Public,
        content_warning: None,
    };
    channel(service, TestClock::still())
}

/// The status that stands, with pictures under these ids and with these texts.
fn standing(shown: &[(&str, Option<&str>)]) -> Act {
    let media: Vec<Value> = shown
        .iter()
        .map(|(id, alt)| json!({ "id": id, "description": alt }))
        .collect();
    let status =
        json!({ "id": "7", "url": "https://m.example/@blog/7", "media_attachments": media });
    json_answer(200, &status.to_string())
}

/// A frozen change with these pictures.
fn post(pictures: &[(Picture, &str)]) -> Value {
    let mut post = json!({ "text": "New" });
    let fields = post.as_object_mut().unwrap();
    Picture::insert_none_into(fields);
    for (picture, alt) in pictures {
        picture.insert_into(fields, Some(alt));
    }
    post
}

fn wish(url: &str) -> PictureWish {
    PictureWish {
        url: url.to_owned(),
        sha256: None,
    }
}

/// Reads what a post shows that was posted with `recorded`, for a change that wishes for pictures, each as it could be read.
fn prepare(
    channel: &mut dyn Channel,
    recorded: &[(Picture, &str)],
    wished: Vec<(&str, Result<Vec<u8>, String>)>,
) -> Prepared {
    let (urls, read): (Vec<_>, Vec<_>) = wished.into_iter().unzip();
    let wants = Wants {
        pictures: urls.into_iter().map(wish).collect(),
        standing: Some(Standing {
            target: remote("7", "https://m.example/@blog/7"),
            pictures: recorded
                .iter()
                .map(|(picture, alt)| (picture.clone(), (*alt).to_owned()))
                .collect(),
        }),
        ..Wants::default()
    };
    channel.prepare(&wants, read)
}

/// What was found: under which ids the pictures stand, by their addresses, and the notes.
fn told(found: &Prepared) -> String {
    let pictures = found.pictures.iter().map(|picture| {
        let id = picture.attached.as_ref().map(|attached| &attached.id);
        let name = picture.source.rsplit('/').next().unwrap();
        format!("{name} {}", id.map_or("new", String::as_str))
    });
    let pictures: Vec<_> = pictures.collect();
    let verb = if found.replaces { "replaced" } else { "kept" };
    format!(
        "{verb} [{}] {}",
        pictures.join(", "),
        found.notes.join("; ")
    )
}

#[test]
fn a_picture_is_known_by_its_content_and_its_place() {
    let check = |recorded: &[(Picture, &str)], shown: &[&str], wished| {
        let shown: Vec<_> = shown.iter().map(|id| (*id, None)).collect();
        let server = Server::start([standing(&shown)]);
        let found = prepare(&mut *open_channel(&server), recorded, wished);
        assert_eq!(server.requests().len(), 1);
        told(&found)
    };
    let png = || Ok(PNG.to_vec());
    let gone = || Err("it is gone".to_owned());
    let one = [(picture(DOT), "A dot")];
    assert_eq!(
        check(&one, &["31"], vec![(DOT, png())]),
        "replaced [dot.png 31] "
    );
    // The same bytes under another address are the same picture; other bytes under the same one are another.
    let moved = "https://blog.example/moved.png";
    assert_eq!(
        check(&one, &["31"], vec![(moved, png())]),
        "replaced [moved.png 31] "
    );
    assert_eq!(
        check(&one, &["31"], vec![(DOT, Ok(other_png()))]),
        "replaced [dot.png new] "
    );
    assert_eq!(check(&one, &["31"], vec![]), "replaced [] ");
    assert_eq!(
        check(&[], &[], vec![(DOT, png())]),
        "replaced [dot.png new] "
    );
    let two = [(picture(DOT), "One"), (picture(DOT), "Two")];
    assert_eq!(
        check(
            &two,
            &["31", "32"],
            vec![(DOT, png()), (moved, Ok(other_png())), (DOT, png())]
        ),
        "replaced [dot.png 31, moved.png new, dot.png 32] "
    );
    // What can't be read now is no reason to take away what stands.
    assert_eq!(
        check(&one, &["31"], vec![(DOT, gone())]),
        "replaced [dot.png 31] a picture of the post stays as it is: it is gone"
    );
    for wishes in [vec![(moved, gone())], vec![(DOT, png()), (moved, gone())]] {
        assert_eq!(
            check(&one, &["31"], wishes),
            "kept [] the pictures of the post stay as they are, `sayonce update` tries again: it is gone"
        );
    }
    // Somebody added one by hand, or took one away.
    assert_eq!(
        check(&[], &["31"], vec![(DOT, png())]),
        "kept [] the pictures of the post stay as they are: it was posted with 0 and has 1 now, so somebody changed them by hand"
    );
    assert_eq!(
        check(&one, &[], vec![(DOT, png())]),
        "kept [] the pictures of the post stay as they are: it was posted with 1 and has 0 now, so somebody changed them by hand"
    );
}

#[test]
fn nothing_is_claimed_before_the_post_was_read() {
    let server = Server::start([json_answer(500, "{}")]);
    let recorded = [(picture(DOT), "A dot")];
    let found = prepare(
        &mut *open_channel(&server),
        &recorded,
        vec![(DOT, Ok(PNG.to_vec()))],
    );
    let unread = Prepared {
        unread: Some("HTTP 500: {}".to_owned()),
        ..Prepared::default()
    };
    assert_eq!(found, unread);
    // The change will be refused for that.
    let server = Server::start([json_answer(404, r#"{"error":"Record not found"}"#)]);
    let found = prepare(&mut *open_channel(&server), &recorded, vec![]);
    assert_eq!(found, Prepared::default());
}

/// The body of the request that edits.
fn edit(post: &Value, shown: &[(&str, Option<&str>)]) -> String {
    let server = Server::start([whoami(), standing(shown), standing(&[])]);
    let told = send(
        &mut *open_channel(&server),
        change(ACCOUNT, post, remote("7", "https://m.example/@blog/7")),
    );
    assert_eq!(told, format!("accepted by response: {POSTED}"));
    let requests = server.requests();
    assert!(requests[2].starts_with("PUT /api/v1/statuses/7 "));
    requests[2].rsplit("\n\n").next().unwrap().to_owned()
}

#[test]
fn an_edit_says_the_pictures_of_its_claim() {
    let head = r#"{"status":"New","spoiler_text":"","sensitive":false"#;
    let check = |pictures: &[(Picture, &str)], media: &str| {
        let post = post(pictures);
        let expected = format!("{head},{media}}}");
        assert_eq!(edit(&post, &[("31", Some("Old")), ("32", None)]), expected);
        // A repeat says the same, also when an earlier attempt was carried out.
        assert_eq!(edit(&post, &[("32", Some("New"))]), expected);
    };
    check(&[(attached("31", "Old"), "Old")], r#""media_ids":["31"]"#);
    check(
        &[
            (attached("32", "Two"), "Second"),
            (attached("31", "One"), "One"),
        ],
        r#""media_ids":["32","31"],"media_attributes":[{"id":"32","description":"Second"}]"#,
    );
    check(&[], r#""media_ids":[]"#);
}

#[test]
fn an_edit_that_says_nothing_of_pictures_keeps_them() {
    let mut shown = json!({ "text": "Old" });
    picture(DOT).insert_into(shown.as_object_mut().unwrap(), Some("A dot"));
    let shown = sayonce::model::post::Post::new(shown.as_object().unwrap().clone());
    let mut post = json!({ "text": "New" });
    Picture::keep_in(post.as_object_mut().unwrap(), &shown);
    assert_eq!(
        edit(&post, &[("41", None), ("42", None)]),
        r#"{"status":"New","spoiler_text":"","sensitive":false,"media_ids":["41","42"]}"#
    );
}

/// Sends a change with a kept and a new picture, which this run has.
fn send_new(acts: Vec<Act>) -> (String, Vec<String>) {
    let known = standing(&[("31", Some("Old"))]);
    let server = Server::start(
        [known, whoami(), standing(&[("31", Some("Old"))])]
            .into_iter()
            .chain(acts),
    );
    let mut channel = open_channel(&server);
    let other = "https://blog.example/other.png";
    let recorded = [(picture(DOT), "Old")];
    let found = prepare(
        &mut *channel,
        &recorded,
        vec![(other, Ok(other_png())), (DOT, Ok(PNG.to_vec()))],
    );
    assert_eq!(told(&found), "replaced [other.png new, dot.png 31] ");
    let pictures: Vec<_> = found
        .pictures
        .iter()
        .cloned()
        .zip(["A bar", "New"])
        .collect();
    let told = send(
        &mut *channel,
        change(
            ACCOUNT,
            &post(&pictures),
            remote("7", "https://m.example/@blog/7"),
        ),
    );
    let requests = server.requests();
    (told, requests[3..].to_vec())
}

#[test]
fn a_new_picture_of_an_edit_is_uploaded_and_waited_for() {
    let done = standing(&[("22", Some("A bar")), ("31", Some("New"))]);
    let (told, requests) = send_new(vec![
        media(202, "null"),
        media(206, "null"),
        media(200, "\"https://m.example/22\""),
        done,
    ]);
    assert_eq!(told, format!("accepted by response: {POSTED}"));
    let lines: Vec<_> = requests
        .iter()
        .map(|request| request.split(" HTTP").next().unwrap())
        .collect();
    let asked = "GET /api/v1/media/22";
    assert_eq!(
        lines,
        ["POST /api/v2/media", asked, asked, "PUT /api/v1/statuses/7"]
    );
    assert!(requests[0].contains("\n\nA bar\n"), "{}", requests[0]);
    insta::assert_snapshot!(requests[3].rsplit("\n\n").next().unwrap(), @r#"{"status":"New","spoiler_text":"","sensitive":false,"media_ids":["22","31"],"media_attributes":[{"id":"31","description":"New"}]}"#);
}

#[test]
fn a_refusal_is_the_new_pictures_where_there_is_one() {
    let error = |status: u16| json_answer(status, r#"{"error":"x"}"#);
    let uploaded = || media(200, "\"https://m.example/22\"");
    let (told, requests) = send_new(vec![error(422)]);
    assert_eq!(
        (told.as_str(), requests.len()),
        (
            r#"refused for its picture: its picture: HTTP 422: {"error":"x"}"#,
            1
        )
    );
    assert_eq!(
        send_new(vec![uploaded(), error(422)]).0,
        r#"refused for its picture: HTTP 422: {"error":"x"}"#
    );
    // A server that can't edit can't edit without it either.
    assert!(
        send_new(vec![uploaded(), error(404)])
            .0
            .starts_with("refused permanently: ")
    );
    // Of what stands, nothing is left out to please a server.
    let server = Server::start([whoami(), standing(&[("31", Some("Old"))]), error(422)]);
    let mended = post(&[(attached("31", "Old"), "New")]);
    let claim = change(ACCOUNT, &mended, remote("7", "https://m.example/@blog/7"));
    assert_eq!(
        send(&mut *open_channel(&server), claim),
        r#"refused permanently: HTTP 422: {"error":"x"}"#
    );
}

#[test]
fn the_effect_of_an_edit_is_also_that_its_pictures_and_their_texts_are_shown() {
    let check = |pictures: &[(Picture, &str)], shown: Act| {
        let source = json!({ "id": "7", "text": "New", "spoiler_text": "" });
        let source = json_answer(200, &source.to_string());
        let server = Server::start([whoami(), shown, source]);
        let claim = change(
            ACCOUNT,
            &post(pictures),
            remote("7", "https://m.example/@blog/7"),
        );
        effect(&mut *open_channel(&server), &claim)
    };
    let found = format!("found {POSTED}");
    let mended = [(attached("31", "Old"), "New")];
    assert_eq!(check(&mended, standing(&[("31", Some("New "))])), found);
    assert_eq!(check(&mended, standing(&[("31", Some("Old"))])), "absent");
    assert_eq!(check(&mended, standing(&[("31", None)])), "absent");
    assert_eq!(check(&mended, standing(&[("32", Some("New"))])), "absent");
    assert_eq!(check(&mended, standing(&[])), "absent");
    assert_eq!(check(&[], standing(&[])), found);
    assert_eq!(check(&[], standing(&[("31", None)])), "absent");
    let nothing = json_answer(200, r#"{"id":"7","url":"https://m.example/@blog/7"}"#);
    assert_eq!(
        check(&mended, nothing),
        "cannot tell: the server does not tell the pictures of the post"
    );
    let new = [(picture(DOT), "New")];
    assert_eq!(check(&new, standing(&[("31", Some("Old"))])), "absent");
    assert_eq!(
        check(&new, standing(&[("31", Some("New"))])),
        "cannot tell: whether the post shows its new pictures can't be told by their texts"
    );
}
