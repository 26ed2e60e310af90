use std::time::Duration;

use sayonce::channel::Channel;
use sayonce::config::ServiceConfig;
use sayonce::model::ids::sha256_hex;
use sayonce::model::media::{Picture, PictureWish, Wants};
use sayonce::model::time::Timestamp;
use serde_json::{Value, json};
use url::Url;

use super::server::{Act, Server, answer, cut, json as json_answer};
use super::{
    SECRET, TestClock, channel, claim, pushed, tell, tell_listing, tell_lookup, tell_opening,
};

pub(super) const DID: &str = "did:plc:sr5mvwooquzbasmceq2ksxfe";
pub(super) const KEY: &str = "3mabcdefghj2z";
pub(super) const TOKEN: &str = "eyJ0eXAiOiJhdCtqd3QifQ.eyJzY29wZSI6IngifQ.c2ln";

pub(super) fn open_channel(server: &Server) -> Box<dyn Channel> {
    channel(service(&server.url()), TestClock::still())
}

/// A service on this machine asks nobody outside.
fn elsewhere() -> Url {
    Url::parse("https://elsewhere.example/").unwrap()
}

pub(super) fn service(url: &Url) -> ServiceConfig {
    ServiceConfig::Bluesky {
        handle: "blog.example".to_owned(),
        service: Some(url.clone()),
        resolver: elsewhere(),
        plc_directory: elsewhere(),
        app_password_env: "SECRET".to_owned(),
        labels: Vec::new(),
    }
}

fn session(token: &str) -> Value {
    json!({
        "accessJwt": token,
        "refreshJwt": "eyJ0eXAiOiJyZWZyZXNoK2p3dCJ9.eyJ4IjoxfQ.c2ln",
        "did": DID,
        "handle": "blog.example",
        "active": true,
    })
}

pub(super) fn login() -> Act {
    json_answer(200, &session(TOKEN).to_string())
}

fn session_with(field: &str, value: Value) -> Act {
    let mut session = session(TOKEN);
    session
        .as_object_mut()
        .unwrap()
        .insert(field.to_owned(), value);
    json_answer(200, &session.to_string())
}

fn record() -> Value {
    json!({
        "$type": "app.bsky.feed.post",
        "text": "hello one",
        "langs": ["en"],
        "createdAt": "2026-01-02T03:04:05.000Z",
    })
}

pub(super) fn post() -> Value {
    json!({ "text": "hello one", "language": "en", "rkey": KEY, "record": record() })
}

pub(super) fn error(status: u16, name: &str) -> Act {
    json_answer(
        status,
        &json!({ "error": name, "message": "m" }).to_string(),
    )
}

/// What both versions of the server answer to a record that was made, and to the same one again.
pub(super) fn written(with_commit: bool) -> String {
    let commit = if with_commit {
        r#","commit":{"cid":"bafyreifxdw23i6rdxhlmg35iqt4wzhy4vvmu4lyrxau3hrp3jtq4bdp2ce","rev":"3n3hopym5cs2h"}"#
    } else {
        ""
    };
    format!(
        r#"{{"uri":"at://{DID}/app.bsky.feed.post/{KEY}","cid":"bafyreiaqyckueyovvtsazu3gidiaaqx6dqxaq2mbkg5muelrzxt3bkwxaa"{commit},"validationStatus":"valid"}}"#
    )
}

/// The receipt of our record.
pub(super) fn receipt() -> String {
    format!("at://{DID}/app.bsky.feed.post/{KEY} https://bsky.app/profile/blog.example/post/{KEY}")
}

#[test]
fn opening_tells_the_account() {
    let check = |act: Act| {
        let server = Server::start([act]);
        let told = tell_opening(&open_channel(&server).open());
        assert!(!told.contains("eyJ"), "{told}");
        told
    };
    let ready = format!("ready as {DID}, limit None, skew None");
    assert_eq!(check(login()), ready);
    assert_eq!(
        check(error(401, "AuthenticationRequired")),
        r#"closed, credentials: HTTP 401: {"error":"AuthenticationRequired","message":"m"}"#
    );
    assert_eq!(
        check(error(400, "InvalidRequest")),
        r#"closed, credentials: HTTP 400: {"error":"InvalidRequest","message":"m"}"#
    );
    assert_eq!(
        check(session_with("active", false.into())),
        "closed, credentials: the account is not active"
    );
    assert_eq!(
        check(answer(429, "RateLimit-Reset: 1795947000\r\n", "")),
        "closed, rate limited (wait until 2026-11-29T10:10:00.000Z): HTTP 429"
    );
    assert_eq!(
        check(error(502, "UpstreamFailure")).get(..19),
        Some("closed, unreachable")
    );
    let half = session(TOKEN).to_string();
    assert_eq!(
        check(cut(200, &half)),
        "closed, unreachable: the answer to the login is not a session"
    );
    // Whatever a server gives back, the password and the tokens are not shown.
    assert_eq!(
        check(answer(500, "", &format!("{SECRET} {TOKEN}"))),
        "closed, unreachable: HTTP 500: *** ***"
    );
}

#[test]
fn a_record_goes_out_as_it_stands_in_the_claim() {
    let server = Server::start([login(), json_answer(200, &written(true))]);
    let told = tell(&open_channel(&server).publish(&[pushed(claim(DID, &post()))]));
    assert_eq!(told, format!("accepted by response: {}", receipt()));
    insta::assert_snapshot!(server.requests().join("\n---\n"), @r#"
    POST /xrpc/com.atproto.server.createSession HTTP/1.1
    accept-encoding: gzip
    content-length: 55
    user-agent: sayonce/VERSION
    host: server
    accept: application/json
    content-type: application/json; charset=utf-8

    {"identifier":"blog.example","password":"s3cret-value"}
    ---
    POST /xrpc/com.atproto.repo.putRecord HTTP/1.1
    accept-encoding: gzip
    content-length: 231
    user-agent: sayonce/VERSION
    host: server
    accept: application/json
    content-type: application/json; charset=utf-8
    authorization: Bearer eyJ0eXAiOiJhdCtqd3QifQ.eyJzY29wZSI6IngifQ.c2ln

    {"repo":"did:plc:sr5mvwooquzbasmceq2ksxfe","collection":"app.bsky.feed.post","rkey":"3mabcdefghj2z","record":{"$type":"app.bsky.feed.post","text":"hello one","langs":["en"],"createdAt":"2026-01-02T03:04:05.000Z"},"swapRecord":null}
    "#);
}

#[test]
fn the_accounts_own_server_is_asked() {
    for id in ["#atproto_pds".to_owned(), format!("{DID}#atproto_pds")] {
        let pds = Server::start([json_answer(200, &written(true))]);
        let document = json!({
            "service": [
                { "id": "#other", "type": "Other", "serviceEndpoint": "https://other.example" },
                { "id": id, "type": "AtprotoPersonalDataServer", "serviceEndpoint": pds.url() },
            ],
        });
        let entryway = Server::start([session_with("didDoc", document)]);
        let told = tell(&open_channel(&entryway).publish(&[pushed(claim(DID, &post()))]));
        assert_eq!(told, format!("accepted by response: {}", receipt()));
        assert_eq!(entryway.requests().len(), 1);
        assert!(pds.requests()[0].starts_with("POST /xrpc/com.atproto.repo.putRecord "));
    }
}

#[test]
fn our_token_is_not_sent_to_a_server_that_is_not_https() {
    let document = json!({
        "service": [{ "id": "#atproto_pds", "serviceEndpoint": "http://pds.example" }],
    });
    let server = Server::start([session_with("didDoc", document)]);
    assert_eq!(
        tell_opening(&open_channel(&server).open()),
        "closed, unreachable: the account's DID document names a server that is not https"
    );
}

#[test]
fn every_answer_is_in_the_table_or_in_doubt() {
    let check_attempt = |act: Act, attempt: u32| {
        let server = Server::start([login(), act]);
        let mut claim = claim(DID, &post());
        claim.attempt = attempt;
        let told = tell(&open_channel(&server).publish(&[pushed(claim)]));
        assert!(!told.contains("eyJ"), "{told}");
        told
    };
    let check = |act: Act| check_attempt(act, 1);
    let same = || json_answer(200, &written(false));
    assert_eq!(
        check(same()),
        format!("accepted by response: {}", receipt())
    );
    assert_eq!(
        check_attempt(same(), 2),
        format!("accepted by key_replay: {}", receipt())
    );
    assert_eq!(
        check_attempt(json_answer(200, &written(true)), 2),
        format!("accepted by response: {}", receipt())
    );
    let foreign = written(true).replace(KEY, "3mzzzzzzzzz2z");
    assert_eq!(
        check(json_answer(200, &foreign)).get(..18),
        Some("in doubt: HTTP 200")
    );
    assert_eq!(check(json_answer(200, "{}")), "in doubt: HTTP 200: {}");
    assert_eq!(
        check(cut(200, &written(true))).get(..18),
        Some("in doubt: HTTP 200")
    );

    let named =
        |status: u16, name: &str| format!(r#"HTTP {status}: {{"error":"{name}","message":"m"}}"#);
    for (status, name, class) in [
        (400, "InvalidSwap", "in doubt"),
        (400, "InvalidRequest", "refused permanently"),
        (400, "BlobNotFound", "refused permanently"),
        (413, "PayloadTooLarge", "refused permanently"),
        (400, "ExpiredToken", "refused for now (wait 1000 ms)"),
        (401, "ExpiredToken", "refused for now (wait 1000 ms)"),
        (400, "InvalidToken", "refused for now (wait 1000 ms)"),
        (401, "AuthMissing", "refused for our credentials"),
        (400, "AccountTakedown", "refused for our credentials"),
        (403, "AccountNotFound", "refused for our credentials"),
        (400, "SomethingNew", "in doubt"),
        (404, "XRPCNotSupported", "in doubt"),
        (409, "Conflict", "in doubt"),
        (500, "InternalServerError", "in doubt"),
        (502, "UpstreamFailure", "in doubt"),
        (503, "NotEnoughResources", "in doubt"),
        (504, "UpstreamTimeout", "in doubt"),
    ] {
        assert_eq!(
            check(error(status, name)),
            format!("{class}: {}", named(status, name))
        );
    }
    assert_eq!(
        check(answer(
            429,
            "Retry-After: 9\r\nRateLimit-Reset: 1795947000\r\n",
            ""
        )),
        "refused for too many requests (wait 9000 ms): HTTP 429"
    );
    assert_eq!(
        check(answer(400, "", "<html>")),
        "in doubt: HTTP 400: <html>"
    );
    assert_eq!(check(answer(403, "", "edge")), "in doubt: HTTP 403: edge");
    assert_eq!(
        check(answer(500, "", &format!("authorization: Bearer {TOKEN}"))),
        "in doubt: HTTP 500: authorization: Bearer ***"
    );
    assert_eq!(check(Act::HangUp).get(..8), Some("in doubt"));
}

#[test]
fn a_token_that_is_no_longer_taken_is_replaced_before_the_next_write() {
    let server = Server::start([
        login(),
        error(400, "ExpiredToken"),
        json_answer(200, &session("new-token").to_string()),
        json_answer(200, &written(true)),
    ]);
    let mut channel = open_channel(&server);
    let told = tell(&channel.publish(&[pushed(claim(DID, &post()))]));
    assert_eq!(told.get(..15), Some("refused for now"));
    let told = tell(&channel.publish(&[pushed(claim(DID, &post()))]));
    assert_eq!(told, format!("accepted by response: {}", receipt()));
    assert!(server.requests()[3].contains("authorization: Bearer new-token\n"));
}

#[test]
fn one_login_serves_many_records() {
    let stored = || json_answer(200, &written(true));
    let server = Server::start([login(), stored(), stored(), stored()]);
    let mut channel = open_channel(&server);
    for _ in 0..3 {
        let told = tell(&channel.publish(&[pushed(claim(DID, &post()))]));
        assert_eq!(told, format!("accepted by response: {}", receipt()));
    }
    assert_eq!(server.requests().len(), 4);
}

#[test]
fn an_old_token_is_not_used() {
    let server = Server::start([login(), login()]);
    let clock = TestClock::still();
    let mut channel = channel(service(&server.url()), clock.clone());
    let ready = format!("ready as {DID}, limit None, skew None");
    assert_eq!(tell_opening(&channel.open()), ready);
    clock.advance(Duration::from_secs(3_599));
    assert_eq!(tell_opening(&channel.open()), ready);
    assert_eq!(server.requests().len(), 1);
    clock.advance(Duration::from_secs(1));
    assert_eq!(tell_opening(&channel.open()), ready);
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn a_write_that_could_not_log_in_was_not_sent() {
    let check = |act: Act| {
        let server = Server::start([act]);
        tell(&open_channel(&server).publish(&[pushed(claim(DID, &post()))]))
    };
    assert_eq!(check(Act::HangUp).get(..9), Some("not sent:"));
    assert_eq!(
        check(error(500, "InternalServerError")).get(..9),
        Some("not sent:")
    );
    assert_eq!(
        check(error(401, "AuthenticationRequired")).get(..27),
        Some("refused for our credentials")
    );
    assert_eq!(
        check(answer(429, "", "")),
        "refused for too many requests: HTTP 429"
    );
    let server = Server::start([login()]);
    assert_eq!(
        tell(&open_channel(&server).publish(&[pushed(claim("did:plc:other", &post()))])),
        format!("not sent: the claim is for did:plc:other, but the service says that we are {DID}")
    );
    assert_eq!(
        tell(&open_channel(&server).publish(&[pushed(claim(DID, &json!({ "text": "x" })))])),
        "refused permanently: a post without `rkey` and `record` can't be sent to Bluesky"
    );
}

#[test]
fn a_record_is_found_only_if_it_is_the_same() {
    let check = |acts: Vec<Act>| {
        let server = Server::start([login()].into_iter().chain(acts));
        let told = tell_lookup(&open_channel(&server).lookup(&claim(DID, &post())));
        (told, server)
    };
    // Both versions of the server give the fields back in their own order.
    let stored = |text: &str| {
        json_answer(
            200,
            &format!(
                r#"{{"uri":"at://{DID}/app.bsky.feed.post/{KEY}","cid":"bafyreich3pr2iv6xsazn3zwt6bkpryusfu2xdz3zndfun2vbocy3zdqtjm","value":{{"text":"{text}","$type":"app.bsky.feed.post","langs":["en"],"createdAt":"2026-01-02T03:04:05.000Z"}}}}"#
            ),
        )
    };
    let (told, server) = check(vec![stored("hello one")]);
    assert_eq!(told, format!("found {}", receipt()));
    insta::assert_snapshot!(server.requests()[1], @r"
    GET /xrpc/com.atproto.repo.getRecord?repo=did%3Aplc%3Asr5mvwooquzbasmceq2ksxfe&collection=app.bsky.feed.post&rkey=3mabcdefghj2z HTTP/1.1
    accept-encoding: gzip
    user-agent: sayonce/VERSION
    host: server
    accept: application/json
    cache-control: no-cache
    authorization: Bearer eyJ0eXAiOiJhdCtqd3QifQ.eyJzY29wZSI6IngifQ.c2ln
    ");
    assert_eq!(
        check(vec![stored("hello v2")]).0,
        "cannot tell: another record stands under the claim's key"
    );
    assert_eq!(check(vec![error(400, "RecordNotFound")]).0, "absent");
    let cached = r#"{"error":"RecordNotFound","message":"m"}"#;
    assert_eq!(
        check(vec![answer(400, "Age: 7\r\n", cached)]).0,
        "cannot tell: the answer is 7 s old, from a cache on the way"
    );
    // Only the record's own absence counts.
    assert_eq!(
        check(vec![error(400, "RepoNotFound")]).0,
        r#"cannot tell: HTTP 400: {"error":"RepoNotFound","message":"m"}"#
    );
    assert_eq!(check(vec![answer(404, "", "")]).0, "cannot tell: HTTP 404");
    assert_eq!(
        check(vec![cut(400, r#"{"error":"RecordNotFound"}"#)]).0,
        r#"cannot tell: HTTP 400: {"error":"RecordNotFound"} (cut short)"#
    );
    // A read may log in again, once.
    let expired = || error(400, "ExpiredToken");
    let (told, server) = check(vec![expired(), login(), stored("hello one")]);
    assert_eq!(
        (told, server.requests().len()),
        (format!("found {}", receipt()), 4)
    );
    let (told, server) = check(vec![expired(), login(), expired()]);
    assert_eq!(
        (told.as_str(), server.requests().len()),
        (
            r#"cannot tell: HTTP 400: {"error":"ExpiredToken","message":"m"}"#,
            4
        )
    );
}

#[test]
fn recent_posts_are_listed_with_their_links() {
    let server = Server::start([
        login(),
        json_answer(200, include_str!("../data/channel/pds-list.json")),
        json_answer(200, r#"{"records":[]}"#),
    ]);
    let since = Timestamp::parse("2026-01-01T00:00:00Z").unwrap();
    insta::assert_snapshot!(tell_listing(&open_channel(&server).recent(since)), @r"
    post at://did:plc:sr5mvwooquzbasmceq2ksxfe/app.bsky.feed.post/3mabcdefghm2z https://bsky.app/profile/blog.example/post/3mabcdefghm2z at 2026-01-02T03:04:05.000Z: https://blog.example/a https://blog.example/a?card
    reply at://did:plc:sr5mvwooquzbasmceq2ksxfe/app.bsky.feed.post/3mabcdefghj2z https://bsky.app/profile/blog.example/post/3mabcdefghj2z at 2026-01-02T03:04:04.000Z: https://blog.example/b
    post at://did:plc:sr5mvwooquzbasmceq2ksxfe/app.bsky.feed.post/3mabcdefghi2z https://bsky.app/profile/blog.example/post/3mabcdefghi2z at 2026-01-02T03:04:03.000Z:
    ");
    insta::assert_snapshot!(server.requests()[2], @r"
    GET /xrpc/com.atproto.repo.listRecords?repo=did%3Aplc%3Asr5mvwooquzbasmceq2ksxfe&collection=app.bsky.feed.post&limit=100&cursor=3mabcdefghi2z HTTP/1.1
    accept-encoding: gzip
    user-agent: sayonce/VERSION
    host: server
    accept: application/json
    cache-control: no-cache
    authorization: Bearer eyJ0eXAiOiJhdCtqd3QifQ.eyJzY29wZSI6IngifQ.c2ln
    ");
}

#[test]
fn recent_posts_are_read_back_as_far_as_asked() {
    let check = |since: &str| {
        let page = json_answer(200, include_str!("../data/channel/pds-list.json"));
        let server = Server::start([login(), page, answer(500, "", "down")]);
        let since = Timestamp::parse(since).unwrap();
        (
            tell_listing(&open_channel(&server).recent(since)),
            server.requests().len(),
        )
    };
    assert_eq!(
        check("2026-01-02T00:00:00Z"),
        ("cannot tell: HTTP 500: down".to_owned(), 3)
    );
    let (told, requests) = check("2026-01-03T00:00:00Z");
    assert_eq!((told.lines().count(), requests), (3, 2));
}

pub(super) const PNG: &[u8] = include_bytes!("../data/channel/dot.png");

/// The CID that the protocol gives to the picture.
fn png_cid() -> String {
    picture().cid()
}

fn picture() -> Picture {
    Picture {
        source: "https://blog.example/dot.png".to_owned(),
        sha256: sha256_hex(PNG),
        mime_type: "image/png".to_owned(),
        size: PNG.len().try_into().unwrap(),
        width: 2,
        height: 1,
        attached: None,
    }
}

pub(super) fn wants_picture() -> Wants {
    Wants {
        pictures: vec![PictureWish {
            url: "https://blog.example/dot.png".to_owned(),
            sha256: None,
        }],
        ..Wants::default()
    }
}

pub(super) fn post_with_picture() -> Value {
    let mut post = post();
    picture().insert_into(post.as_object_mut().unwrap(), None);
    post
}

fn uploaded(cid: &str) -> Act {
    json_answer(
        200,
        &json!({"blob": {"$type": "blob", "ref": {"$link": cid}, "mimeType": "image/png", "size": PNG.len()}})
            .to_string(),
    )
}

#[test]
fn each_picture_is_uploaded_before_the_record_that_names_them() {
    let server = Server::start([
        login(),
        uploaded(&png_cid()),
        uploaded(&png_cid()),
        json_answer(200, &written(true)),
    ]);
    let mut channel = open_channel(&server);
    let mut wants = wants_picture();
    wants.pictures.push(wants.pictures[0].clone());
    wants.pictures.push(wants.pictures[0].clone());
    let gone = Err("it is gone".to_owned());
    let found = channel.prepare(&wants, vec![Ok(PNG.to_vec()), gone, Ok(PNG.to_vec())]);
    assert_eq!(found.pictures, [picture(), picture()]);
    assert_eq!(
        found.notes,
        ["the post is without one of its pictures: it is gone"]
    );
    let mut post = post();
    for alt in ["A dot", "The same dot"] {
        picture().insert_into(post.as_object_mut().unwrap(), Some(alt));
    }
    let told = tell(&channel.publish(&[pushed(claim(DID, &post))]));
    assert_eq!(told, format!("accepted by response: {}", receipt()));
    let asked: Vec<_> = server
        .requests()
        .iter()
        .map(|request| request.lines().next().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(
        asked[1..],
        [
            "POST /xrpc/com.atproto.repo.uploadBlob HTTP/1.1",
            "POST /xrpc/com.atproto.repo.uploadBlob HTTP/1.1",
            "POST /xrpc/com.atproto.repo.putRecord HTTP/1.1"
        ]
    );
}

#[test]
fn a_picture_is_uploaded_before_the_record_that_names_it() {
    let server = Server::start([
        login(),
        uploaded(&png_cid()),
        json_answer(200, &written(true)),
    ]);
    let mut channel = open_channel(&server);
    let found = channel.prepare(&wants_picture(), vec![Ok(PNG.to_vec())]);
    assert_eq!(found.pictures, [picture()]);
    assert_eq!(found.notes, Vec::<String>::new());
    let told = tell(&channel.publish(&[pushed(claim(DID, &post_with_picture()))]));
    assert_eq!(told, format!("accepted by response: {}", receipt()));
    let requests = server.requests();
    let (head, _bytes) = requests[1].split_once("\n\n").unwrap();
    insta::assert_snapshot!(head, @r"
    POST /xrpc/com.atproto.repo.uploadBlob HTTP/1.1
    accept-encoding: gzip
    content-length: 72
    user-agent: sayonce/VERSION
    host: server
    accept: application/json
    cache-control: no-cache
    content-type: image/png
    authorization: Bearer eyJ0eXAiOiJhdCtqd3QifQ.eyJzY29wZSI6IngifQ.c2ln
    ");
    assert!(requests[2].starts_with("POST /xrpc/com.atproto.repo.putRecord "));
}

#[test]
fn trouble_with_the_upload_is_left_to_the_record() {
    let check = |acts: Vec<Act>, bytes: Option<&[u8]>| {
        let server = Server::start([login()].into_iter().chain(acts));
        let mut channel = open_channel(&server);
        if let Some(bytes) = bytes {
            drop(channel.prepare(&wants_picture(), vec![Ok(bytes.to_vec())]));
        }
        let told = tell(&channel.publish(&[pushed(claim(DID, &post_with_picture()))]));
        (told, server.requests().len())
    };
    let accepted = format!("accepted by response: {}", receipt());
    let done = || json_answer(200, &written(true));
    // The server has it from an earlier attempt, whatever it says now.
    for trouble in [
        error(500, "InternalServerError"),
        error(413, "PayloadTooLarge"),
        uploaded("bafkreiother"),
        Act::HangUp,
    ] {
        assert_eq!(
            check(vec![trouble, done()], Some(PNG)),
            (accepted.clone(), 3)
        );
    }
    assert_eq!(check(vec![done()], None), (accepted, 2));
    // It has not: nothing was done, and without the picture it may be.
    let missing = || error(400, "BlobNotFound");
    assert_eq!(
        check(vec![error(507, "NoSpace"), missing()], Some(PNG)).0,
        r#"refused for its picture: HTTP 400: {"error":"BlobNotFound","message":"m"} (its upload: HTTP 507: {"error":"NoSpace","message":"m"})"#
    );
    assert_eq!(
        check(vec![missing()], None).0,
        r#"refused for its picture: HTTP 400: {"error":"BlobNotFound","message":"m"} (its upload: this run does not have the picture that the claim names)"#
    );
    assert_eq!(
        check(
            vec![uploaded(&png_cid()), error(400, "InvalidRequest")],
            Some(PNG)
        )
        .0,
        r#"refused for its picture: HTTP 400: {"error":"InvalidRequest","message":"m"}"#
    );
}

#[test]
fn mentions_are_looked_up_on_the_accounts_own_server() {
    let server = Server::start([
        login(),
        json_answer(200, r#"{"did":"did:plc:abc"}"#),
        error(400, "InvalidRequest"),
        json_answer(200, r#"{"did":"javascript:alert(1)"}"#),
    ]);
    let mut channel = open_channel(&server);
    let _ready = tell_opening(&channel.open());
    let wants = Wants {
        mentions: ["name.example", "gone.example", "odd.example"]
            .map(str::to_owned)
            .into(),
        ..Wants::default()
    };
    let found = channel.prepare(&wants, Vec::new());
    assert_eq!(
        found.mentions,
        [("name.example".to_owned(), "did:plc:abc".to_owned())].into()
    );
    assert_eq!(
        found.notes,
        [
            r#"`@gone.example` stays plain text: HTTP 400: {"error":"InvalidRequest","message":"m"}"#,
            r#"`@odd.example` stays plain text: HTTP 200: {"did":"javascript:alert(1)"}"#,
        ]
    );
    assert!(
        server.requests()[1].starts_with(
            "GET /xrpc/com.atproto.identity.resolveHandle?handle=name.example HTTP/1.1"
        )
    );
}

#[test]
fn mentions_are_looked_up_on_the_same_server_when_the_login_is_gone() {
    let server = Server::start([
        login(),
        error(401, "AuthMissing"),
        json_answer(200, r#"{"did":"did:plc:abc"}"#),
    ]);
    let mut channel = open_channel(&server);
    let told = tell(&channel.publish(&[pushed(claim(DID, &post()))]));
    assert!(told.starts_with("refused for our credentials"), "{told}");
    let wants = Wants {
        mentions: ["name.example".to_owned()].into(),
        ..Wants::default()
    };
    let found = channel.prepare(&wants, Vec::new());
    assert_eq!(
        found.mentions,
        [("name.example".to_owned(), "did:plc:abc".to_owned())].into()
    );
}
