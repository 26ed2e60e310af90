use std::time::Duration;

use sayonce::channel::Channel;
use sayonce::config::{ServiceConfig, Visibility};
use sayonce::model::ids::sha256_hex;
use sayonce::model::media::{Picture, PictureWish, Wants};
use sayonce::model::outcome::{Opening, ServerLimits};
use sayonce::model::time::Timestamp;
use serde_json::{Value, json};

use super::server::{Act, Server, answer, cut, json as json_answer};
use super::{
    SECRET, TestClock, channel, claim, pushed, tell, tell_listing, tell_lookup, tell_opening,
};

pub(super) const ACCOUNT: &str = "https://m.example/@blog";
const WHOAMI: &str = r#"{"id":"42","acct":"blog","url":"https://m.example/@blog"}"#;

pub(super) fn whoami() -> Act {
    json_answer(200, WHOAMI)
}

pub(super) fn service(server: &Server) -> ServiceConfig {
    ServiceConfig::Mastodon {
        server: server.url(),
        token_env: "SECRET".to_owned(),
        visibility: Visibility::Unlisted,
        content_warning: None,
    }
}

pub(super) fn open_channel(server: &Server) -> Box<dyn Channel> {
    channel(service(server), TestClock::still())
}

pub(super) fn post() -> Value {
    json!({
        "text": "Hello\n\nhttps://blog.example/a",
        "language": "en",
        "visibility": "public",
        "content_warning": "news",
    })
}

/// A status of ours that links to the article, made at a time.
pub(super) fn status(id: &str, made_at: &str) -> String {
    json!({
        "id": id,
        "created_at": made_at,
        "url": format!("https://m.example/@blog/{id}"),
        "content": r#"<p><a href="https://blog.example/a">…</a></p>"#,
    })
    .to_string()
}

/// A status that links elsewhere.
fn other(id: &str, made_at: &str) -> String {
    status(id, made_at).replace("blog.example/a", "blog.example/a-2")
}

fn list(statuses: &[String]) -> Act {
    json_answer(200, &format!("[{}]", statuses.join(",")))
}

/// Looks for the claim's post, which was claimed at 10:00:00.400.
fn lookup(pages: impl IntoIterator<Item = Act>) -> (String, Server) {
    let server = Server::start([whoami()].into_iter().chain(pages));
    let told = tell_lookup(&open_channel(&server).lookup(&claim(ACCOUNT, &post())));
    (told, server)
}

#[test]
fn opening_tells_the_account_and_the_limit() {
    let check = |acts: Vec<Act>| {
        let server = Server::start(acts);
        let told = tell_opening(&open_channel(&server).open());
        (server.without_port(&told), server.requests().len())
    };
    let ready = |limit: &str| format!("ready as {ACCOUNT}, limit {limit}, skew None");
    let limit = |limit: u32| {
        let body = json!({"configuration": {"statuses": {"max_characters": limit}}});
        json_answer(200, &body.to_string())
    };
    let nothing = || answer(404, "", "<h1>404 Not Found (snac/2.94)</h1>");
    assert_eq!(check(vec![whoami(), limit(5000)]), (ready("Some(5000)"), 2));
    assert_eq!(check(vec![whoami(), limit(500)]), (ready("None"), 2));
    let told = |body: &str| {
        let server = Server::start([whoami(), json_answer(200, body)]);
        match open_channel(&server).open() {
            Opening::Ready(session) => session.limits,
            Opening::Closed { reason, .. } => panic!("{reason}"),
        }
    };
    let link = |length: u32| {
        let statuses = json!({"max_characters": 500, "characters_reserved_per_url": length});
        told(&json!({"configuration": {"statuses": statuses}}).to_string())
    };
    assert_eq!(link(23), ServerLimits::default());
    assert_eq!(link(32).link, Some(32));
    assert_eq!(link(0).link, Some(0));
    assert!(told(r#"{"version":"3.5.3 (compatible; Pixelfed 0.12.4)"}"#).needs_picture);
    assert!(!told(r#"{"version":"4.6.0"}"#).needs_picture);
    // snac has the first version alone.
    assert_eq!(
        check(vec![whoami(), nothing(), limit(100_000)]),
        (ready("Some(100000)"), 3)
    );
    assert_eq!(
        check(vec![
            whoami(),
            nothing(),
            json_answer(200, r#"{"max_toot_chars":1000}"#)
        ]),
        (ready("Some(1000)"), 3)
    );
    assert_eq!(
        check(vec![whoami(), nothing(), nothing()]),
        (ready("None"), 3)
    );
    assert_eq!(
        check(vec![whoami(), Act::HangUp, Act::HangUp]),
        (ready("None"), 3)
    );
    let dated = answer(200, "Date: Sun, 29 Nov 2026 09:58:00 GMT\r\n", WHOAMI);
    assert_eq!(
        check(vec![dated, limit(500)]).0,
        format!("ready as {ACCOUNT}, limit None, skew Some(119.9s)")
    );
    let without_url = json_answer(200, r#"{"id":42,"acct":"blog"}"#);
    assert_eq!(
        check(vec![without_url, limit(500)]).0,
        "ready as http://server/@blog, limit None, skew None"
    );
}

#[test]
fn a_channel_that_can_not_be_opened_says_whose_trouble_it_is() {
    let check = |act: Act| {
        let server = Server::start([act]);
        let told = tell_opening(&open_channel(&server).open());
        server.without_port(&told)
    };
    assert_eq!(
        check(json_answer(
            401,
            r#"{"error":"The access token is invalid"}"#
        )),
        r#"closed, credentials: HTTP 401: {"error":"The access token is invalid"}"#
    );
    // snac.
    assert_eq!(check(answer(422, "", "")), "closed, credentials: HTTP 422");
    assert_eq!(
        check(json_answer(
            403,
            r#"{"error":"This action is outside the authorized scopes"}"#
        )),
        r#"closed, credentials: HTTP 403: {"error":"This action is outside the authorized scopes"}"#
    );
    assert_eq!(
        check(answer(403, "", "<title>Attention Required!</title>")),
        "closed, unreachable: HTTP 403: <title>Attention Required!</title>"
    );
    assert_eq!(
        check(answer(
            429,
            "X-RateLimit-Reset: 2026-11-29T10:05:00.000000Z\r\n",
            ""
        )),
        "closed, rate limited (wait until 2026-11-29T10:05:00.000Z): HTTP 429"
    );
    assert_eq!(
        check(answer(301, "Location: https://www.m.example/\r\n", "")),
        "closed, unreachable: HTTP 301 to https://www.m.example/"
    );
    assert_eq!(
        check(json_answer(200, "[]")),
        "closed, unreachable: HTTP 200: []"
    );
    let silent = Server::start([Act::Silence]);
    assert_eq!(
        tell_opening(&channel(service(&silent), TestClock::fast()).open()),
        "closed, unreachable: no answer from 127.0.0.1 within 30s"
    );
}

#[test]
fn a_post_goes_out_as_it_stands_in_the_claim() {
    let server = Server::start([
        whoami(),
        json_answer(200, &status("7", "2026-11-29T10:00:01.000Z")),
    ]);
    let told = tell(&open_channel(&server).publish(&[pushed(claim(ACCOUNT, &post()))]));
    assert_eq!(told, "accepted by response: 7 https://m.example/@blog/7");
    insta::assert_snapshot!(server.requests()[1], @r#"
    POST /api/v1/statuses HTTP/1.1
    accept-encoding: gzip
    content-length: 104
    user-agent: sayonce/VERSION
    host: server
    accept: application/json
    content-type: application/json; charset=utf-8
    authorization: Bearer s3cret-value
    idempotency-key: so1-5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f

    {"status":"Hello\n\nhttps://blog.example/a","visibility":"public","language":"en","spoiler_text":"news"}
    "#);
}

#[test]
fn the_visibility_is_always_said() {
    let server = Server::start([
        whoami(),
        json_answer(200, &status("7", "2026-11-29T10:00:01Z")),
    ]);
    let bare = json!({ "text": "Hello" });
    let told = tell(&open_channel(&server).publish(&[pushed(claim(ACCOUNT, &bare))]));
    assert_eq!(told, "accepted by response: 7 https://m.example/@blog/7");
    assert!(
        server.requests()[1].ends_with("\n\n{\"status\":\"Hello\",\"visibility\":\"unlisted\"}")
    );
}

#[test]
fn every_answer_is_in_the_table_or_in_doubt() {
    let check = |act: Act| {
        let server = Server::start([whoami(), act]);
        tell(&open_channel(&server).publish(&[pushed(claim(ACCOUNT, &post()))]))
    };
    let error =
        |status: u16, text: &str| json_answer(status, &json!({ "error": text }).to_string());

    let ok = status("7", "2026-11-29T10:00:01.000Z");
    let posted = "7 https://m.example/@blog/7";
    assert_eq!(
        check(json_answer(201, &ok)),
        format!("accepted by response: {posted}")
    );
    // Pleroma, for a key that it knows.
    assert_eq!(
        check(answer(200, "Idempotent-Replayed: true\r\n", &ok)),
        format!("accepted by key_replay: {posted}")
    );
    assert_eq!(
        check(json_answer(200, r#"{"id":7,"uri":"https://m.example/7"}"#)),
        "accepted by response: 7 https://m.example/7"
    );
    assert_eq!(check(json_answer(200, "{}")), "in doubt: HTTP 200: {}");
    assert_eq!(check(answer(200, "", "")), "in doubt: HTTP 200");
    assert_eq!(
        check(answer(200, "", "<html>Sign in to the WLAN</html>")),
        "in doubt: HTTP 200: <html>Sign in to the WLAN</html>"
    );
    assert_eq!(
        check(cut(200, r#"{"id":"7""#)),
        r#"in doubt: HTTP 200: {"id":"7" (cut short)"#
    );
    assert_eq!(
        check(answer(202, "", &ok)).get(..18),
        Some("in doubt: HTTP 202")
    );

    assert_eq!(
        check(error(401, "The access token was revoked")),
        r#"refused for our credentials: HTTP 401: {"error":"The access token was revoked"}"#
    );
    assert_eq!(
        check(cut(401, "")),
        "refused for our credentials: HTTP 401 (cut short)"
    );
    assert_eq!(
        check(error(403, "This action is not allowed")),
        r#"refused for our credentials: HTTP 403: {"error":"This action is not allowed"}"#
    );
    assert_eq!(check(answer(403, "", "edge")), "in doubt: HTTP 403: edge");
    assert_eq!(
        check(error(
            422,
            "Validation failed: Text character limit of 500 exceeded"
        )),
        r#"refused permanently: HTTP 422: {"error":"Validation failed: Text character limit of 500 exceeded"}"#
    );
    assert_eq!(check(answer(422, "", "")), "in doubt: HTTP 422");
    assert_eq!(
        check(error(422, "Duplicate record")),
        r#"in doubt: HTTP 422: {"error":"Duplicate record"}"#
    );
    // GoToSocial refuses with 400; Pixelfed says with 400 that it knows the key.
    assert_eq!(
        check(error(400, "Bad Request: status contains no text")),
        r#"refused permanently: HTTP 400: {"error":"Bad Request: status contains no text"}"#
    );
    assert_eq!(
        check(error(400, "Duplicate idempotency key.")),
        r#"in doubt: HTTP 400: {"error":"Duplicate idempotency key."}"#
    );
    assert_eq!(
        check(answer(
            429,
            "X-RateLimit-Reset: 2026-11-29T12:00:00.000000Z\r\n",
            ""
        )),
        "refused for too many requests (wait until 2026-11-29T12:00:00.000Z): HTTP 429"
    );
    for status in [303, 404, 408, 409, 410, 425, 500, 502, 503, 504] {
        let told = check(error(status, "x"));
        assert_eq!(told, format!(r#"in doubt: HTTP {status}: {{"error":"x"}}"#));
    }
    assert_eq!(check(Act::HangUp).get(..8), Some("in doubt"));
    assert_eq!(check(Act::CloseAtOnce).get(..8), Some("in doubt"));
}

#[test]
fn a_server_that_echoes_our_token_does_not_get_it_into_a_reason() {
    let echo = |body: String| {
        let server = Server::start([whoami(), answer(500, "", &body)]);
        tell(&open_channel(&server).publish(&[pushed(claim(ACCOUNT, &post()))]))
    };
    assert_eq!(
        echo(format!("<pre>Authorization: Bearer {SECRET}\r\n</pre>")),
        "in doubt: HTTP 500: <pre>Authorization: Bearer *** </pre>"
    );
    let long = format!("{}{SECRET}", "x".repeat(195));
    assert_eq!(
        echo(long),
        format!("in doubt: HTTP 500: {}***", "x".repeat(195))
    );
    let half = SECRET.get(..6).unwrap();
    assert_eq!(
        echo(format!("Bearer {half}")),
        "in doubt: HTTP 500: Bearer ***"
    );
}

#[test]
fn nothing_is_sent_for_another_account_or_without_one() {
    let server = Server::start([whoami()]);
    assert_eq!(
        tell(&open_channel(&server).publish(&[pushed(claim("https://m.example/@me", &post()))])),
        "not sent: the claim is for https://m.example/@me, but the service says that we are https://m.example/@blog"
    );
    let server = Server::start([json_answer(401, "{}")]);
    assert_eq!(
        tell(&open_channel(&server).publish(&[pushed(claim(ACCOUNT, &post()))])),
        "refused for our credentials: HTTP 401: {}"
    );
    let server = Server::start([Act::HangUp]);
    let told = tell(&open_channel(&server).publish(&[pushed(claim(ACCOUNT, &post()))]));
    assert_eq!(told.get(..9), Some("not sent:"));
    let server = Server::start([]);
    assert_eq!(
        tell(&open_channel(&server).publish(&[pushed(claim(ACCOUNT, &json!({})))])),
        "refused permanently: a post without `text` can't be sent to Mastodon"
    );
    assert_eq!(
        tell(&open_channel(&server).publish(&[])),
        "not sent: 0 claims were given where one is sent"
    );
}

#[test]
fn a_post_is_found_on_every_kind_of_server() {
    let check = |fixture: &str, url: &str| {
        let page = json_answer(200, &format!("[{fixture}]"));
        let server = Server::start([whoami(), page, list(&[])]);
        let mut claim = claim(ACCOUNT, &post());
        claim.canonical_url = url.to_owned();
        tell_lookup(&open_channel(&server).lookup(&claim))
    };
    let article = "https://blog.example/a";
    assert_eq!(
        check(
            include_str!("../data/channel/mastodon-status.json"),
            "https://blog.example/news/2026/hello-again-and-again/?a=1&b=2"
        ),
        "found 115612345678901234 https://mastodon.example/@blog/115612345678901234"
    );
    assert_eq!(
        check(
            include_str!("../data/channel/gotosocial-status.json"),
            article
        ),
        "found 01M8M4PVA9MZ0QRAHGXWZFF1R0 http://localhost:8002/@blog/statuses/01M8M4PVA9MZ0QRAHGXWZFF1R0"
    );
    assert_eq!(
        check(include_str!("../data/channel/mitra-status.json"), article),
        "found 01a2284b-ef4b-7a91-bab0-a3488efd7834 http://127.0.0.1:8004/objects/01a2284b-ef4b-7a91-bab0-a3488efd7834"
    );
    assert_eq!(
        check(include_str!("../data/channel/snac2-status.json"), article),
        "found 17959714872c8d0aedbfeb6f8580e60894ca2e98f7 http://localhost:8001/blog/p/1795971487.766836"
    );
    // Only the card has the link.
    assert_eq!(
        check(
            r#"{"id":"9","created_at":"2026-11-29T10:00:01Z","content":"<p>x</p>","card":{"url":"https://blog.example/a"}}"#,
            article
        ),
        "found 9 none"
    );
}

#[test]
fn only_a_post_of_this_article_since_the_claim_is_a_match() {
    let check = |statuses: &[String]| lookup([list(statuses), list(&[])]).0;
    let before = "2026-11-29T09:59:59.999Z";
    // Servers show whole seconds: this may be 10:00:00.9.
    let same_second = "2026-11-29T10:00:00.000Z";
    let after = "2026-11-29T10:00:05.000Z";
    let found = "found 1 https://m.example/@blog/1";
    assert_eq!(check(&[status("1", same_second)]), found);
    assert_eq!(check(&[status("1", "2026-11-29T11:00:00+01:00")]), found);
    assert_eq!(check(&[status("1", before)]), "absent");
    assert_eq!(check(&[status("1", after), status("2", before)]), found);
    assert_eq!(
        check(&[status("1", after), status("2", same_second)]),
        "several: 1 https://m.example/@blog/1, 2 https://m.example/@blog/2"
    );
    assert_eq!(check(&[other("1", after), other("2", before)]), "absent");
    let boost = status("1", after).replace(r#""content""#, r#""reblog":{"id":"0"},"content""#);
    assert_eq!(check(&[boost]), "absent");
    assert_eq!(
        check(&[status("1", "yesterday")]),
        "cannot tell: a post of this article has no date"
    );
    assert_eq!(check(&[]), "absent");
}

#[test]
fn absent_needs_a_list_that_reaches_back_past_the_claim() {
    let after = "2026-11-29T10:00:05.000Z";
    let before = "2026-11-29T09:00:00.000Z";

    let (told, server) = lookup([
        list(&[other("9", after), other("8", after)]),
        list(&[other("7", after), other("6", before)]),
    ]);
    assert_eq!(told, "absent");
    insta::assert_snapshot!(server.requests()[1..].join("\n---\n"), @r"
    GET /api/v1/accounts/42/statuses?limit=40&exclude_replies=true&exclude_reblogs=true HTTP/1.1
    accept-encoding: gzip
    user-agent: sayonce/VERSION
    host: server
    accept: application/json
    cache-control: no-cache
    authorization: Bearer s3cret-value


    ---
    GET /api/v1/accounts/42/statuses?limit=40&exclude_replies=true&exclude_reblogs=true&max_id=8 HTTP/1.1
    accept-encoding: gzip
    user-agent: sayonce/VERSION
    host: server
    accept: application/json
    cache-control: no-cache
    authorization: Bearer s3cret-value
    ");

    // The end of the list is as good as an old post.
    assert_eq!(lookup([list(&[other("9", after)]), list(&[])]).0, "absent");
    // An empty page is not the end where the server says that there is a next one.
    let empty_with_next = answer(
        200,
        "Link: <https://m.example/x?max_id=5&limit=40>; rel=\"next\", <https://m.example/x?min_id=9>; rel=\"prev\"\r\n",
        "[]",
    );
    let (told, server) = lookup([empty_with_next, list(&[status("4", after)]), list(&[])]);
    assert_eq!(told, "found 4 https://m.example/@blog/4");
    assert!(server.requests()[2].starts_with(
        "GET /api/v1/accounts/42/statuses?limit=40&exclude_replies=true&exclude_reblogs=true&max_id=5 "
    ));
    // A server that can't page shows the same page again.
    let stuck = || list(&[other("9", after)]);
    let short = "cannot tell: the list of posts does not reach back past the claim";
    assert_eq!(lookup([stuck(), stuck()]).0, short);
    // There is an end to patience.
    let busy = (0..10).map(|number| list(&[other(&format!("{number}"), after)]));
    let (told, server) = lookup(busy);
    assert_eq!((told.as_str(), server.requests().len()), (short, 11));
}

#[test]
fn a_list_that_can_not_be_read_proves_nothing() {
    let check = |act: Act| lookup([act]).0;
    assert_eq!(
        check(answer(500, "", "oops")),
        "cannot tell: HTTP 500: oops"
    );
    assert_eq!(check(answer(429, "", "")), "cannot tell: HTTP 429");
    assert_eq!(
        check(answer(200, "", "<html>")),
        "cannot tell: HTTP 200: <html>"
    );
    assert_eq!(
        check(cut(200, "[]")),
        "cannot tell: HTTP 200: [] (cut short)"
    );
    let silent = Server::start([whoami(), Act::Silence]);
    assert_eq!(
        tell_lookup(&channel(service(&silent), TestClock::fast()).lookup(&claim(ACCOUNT, &post()))),
        "cannot tell: no answer from 127.0.0.1 within 30s"
    );
    // A cache may not know of our post yet; what it does show is there.
    let after = "2026-11-29T10:00:05.000Z";
    assert_eq!(
        check(answer(200, "Age: 7\r\n", "[]")),
        "cannot tell: the answer is 7 s old, from a cache on the way"
    );
    assert_eq!(check(answer(200, "Age: 0\r\n", "[]")), "absent");
    let cached = format!("[{}]", status("1", after));
    assert_eq!(
        check(answer(200, "Age: 7\r\n", &cached)),
        "found 1 https://m.example/@blog/1"
    );
    // A second page that fails takes the first one's silence with it.
    assert_eq!(
        lookup([list(&[other("1", after)]), answer(502, "", "")]).0,
        "cannot tell: HTTP 502"
    );
    // What was found is found, whatever the rest is.
    assert_eq!(
        lookup([list(&[status("1", after)]), answer(502, "", "")]).0,
        "found 1 https://m.example/@blog/1"
    );
}

#[test]
fn a_post_is_found_although_the_servers_clock_is_slow() {
    // By our clock it is 10:00:00.9; the server is two minutes behind and dated the post by its own.
    let body = format!("[{}]", status("1", "2026-11-29T09:58:01.000Z"));
    let page = answer(200, "Date: Sun, 29 Nov 2026 09:58:00 GMT\r\n", &body);
    assert_eq!(
        lookup([page, list(&[])]).0,
        "found 1 https://m.example/@blog/1"
    );
}

#[test]
fn recent_posts_are_listed_with_their_links() {
    let reply = status("2", "2026-11-29T09:00:00Z")
        .replace(r#""content""#, r#""in_reply_to_id":"1","content""#);
    let boost = status("3", "2026-11-29T09:00:00Z")
        .replace(r#""content""#, r#""reblog":{"id":"0"},"content""#);
    let mastodon = include_str!("../data/channel/mastodon-status.json").to_owned();
    let server = Server::start([whoami(), list(&[mastodon, reply, boost])]);
    let since = Timestamp::parse("2026-11-29T09:30:00Z").unwrap();
    insta::assert_snapshot!(tell_listing(&open_channel(&server).recent(since)), @r"
post 115612345678901234 https://mastodon.example/@blog/115612345678901234 at 2026-11-29T10:00:01.000Z: https://blog.example/news/2026/hello-again-and-again/?a=1&b=2 https://mastodon.example/tags/news
reply 2 https://m.example/@blog/2 at 2026-11-29T09:00:00.000Z: https://blog.example/a
");
}

#[test]
fn one_login_serves_many_calls() {
    let server = Server::start([whoami(), list(&[]), list(&[])]);
    let clock = TestClock::still();
    let mut channel = channel(service(&server), clock.clone());
    let claim = claim(ACCOUNT, &post());
    assert_eq!(tell_lookup(&channel.lookup(&claim)), "absent");
    // Each call has its own timeout.
    clock.advance(Duration::from_hours(1));
    assert_eq!(tell_lookup(&channel.lookup(&claim)), "absent");
    assert_eq!(server.requests().len(), 3);
}

pub(super) const PNG: &[u8] = include_bytes!("../data/channel/dot.png");

fn post_with_picture() -> Value {
    let picture = Picture {
        source: "https://blog.example/dot.png".to_owned(),
        sha256: sha256_hex(PNG),
        mime_type: "image/png".to_owned(),
        size: PNG.len().try_into().unwrap(),
        width: 2,
        height: 1,
        attached: None,
    };
    let mut post = post();
    picture.insert_into(post.as_object_mut().unwrap(), Some("Two dots, „schön“"));
    post
}

/// Publishes a post with a picture, which this run has if it has its bytes.
fn publish_picture(acts: Vec<Act>, bytes: Option<&[u8]>) -> (String, Server) {
    let server = Server::start([whoami()].into_iter().chain(acts));
    let mut channel = open_channel(&server);
    if let Some(bytes) = bytes {
        let wants = Wants {
            pictures: vec![PictureWish {
                url: "https://blog.example/dot.png".to_owned(),
                sha256: None,
            }],
            ..Wants::default()
        };
        let found = channel.prepare(&wants, vec![Ok(bytes.to_vec())]);
        assert_eq!(found.notes, Vec::<String>::new());
    }
    let told = tell(&channel.publish(&[pushed(claim(ACCOUNT, &post_with_picture()))]));
    (told, server)
}

pub(super) fn media(status: u16, url: &str) -> Act {
    json_answer(status, &format!(r#"{{"id":"22","url":{url}}}"#))
}

#[test]
fn a_picture_is_uploaded_with_the_text_that_stands_for_it() {
    let made = json_answer(200, &status("7", "2026-11-29T10:00:01Z"));
    let (told, server) = publish_picture(
        vec![media(200, "\"https://m.example/22\""), made],
        Some(PNG),
    );
    assert_eq!(told, "accepted by response: 7 https://m.example/@blog/7");
    let requests = server.requests();
    let form = requests[1].replace(sha256_hex(PNG).split_at(40).0, "DIGITS");
    let (form, _picture) = form.split_once('\u{fffd}').unwrap();
    insta::assert_snapshot!(form, @r#"
    POST /api/v2/media HTTP/1.1
    accept-encoding: gzip
    content-length: 447
    user-agent: sayonce/VERSION
    host: server
    accept: application/json
    cache-control: no-cache
    content-type: multipart/form-data; boundary=sayonce-DIGITS
    authorization: Bearer s3cret-value

    --sayonce-DIGITS
    Content-Disposition: form-data; name="description"
    Content-Type: text/plain; charset=utf-8

    Two dots, „schön“
    --sayonce-DIGITS
    Content-Disposition: form-data; name="file"; filename="picture.png"
    Content-Type: image/png
    "#);
    assert!(
        requests[2].ends_with(r#""spoiler_text":"news","media_ids":["22"]}"#),
        "{}",
        requests[2]
    );
}

#[test]
fn several_pictures_are_named_in_their_order() {
    let made = json_answer(200, &status("7", "2026-11-29T10:00:01Z"));
    let id = |id: &str| {
        json_answer(
            200,
            &format!(r#"{{"id":"{id}","url":"https://m.example/{id}"}}"#),
        )
    };
    let server = Server::start([whoami(), id("22"), id("23"), made]);
    let mut channel = open_channel(&server);
    let wish = PictureWish {
        url: "https://blog.example/dot.png".to_owned(),
        sha256: None,
    };
    let wants = Wants {
        pictures: vec![wish.clone(), wish],
        ..Wants::default()
    };
    let found = channel.prepare(&wants, vec![Ok(PNG.to_vec()), Ok(PNG.to_vec())]);
    let mut post = post();
    for (picture, alt) in found.pictures.iter().zip(["One", "Two"]) {
        picture.insert_into(post.as_object_mut().unwrap(), Some(alt));
    }
    assert_eq!(
        tell(&channel.publish(&[pushed(claim(ACCOUNT, &post))])),
        "accepted by response: 7 https://m.example/@blog/7"
    );
    let requests = server.requests();
    assert!(requests[1].contains("\nOne\n") && requests[2].contains("\nTwo\n"));
    assert!(
        requests[3].contains(r#""media_ids":["22","23"]"#),
        "{}",
        requests[3]
    );
}

#[test]
fn a_picture_that_takes_time_is_waited_for() {
    let made = || json_answer(200, &status("7", "2026-11-29T10:00:01Z"));
    let accepted = "accepted by response: 7 https://m.example/@blog/7";
    let done = || media(200, "\"https://m.example/22\"");
    for first in [media(202, "null"), media(200, "null")] {
        let (told, server) =
            publish_picture(vec![first, media(206, "null"), done(), made()], Some(PNG));
        assert_eq!(told, accepted);
        assert!(server.requests()[3].starts_with("GET /api/v1/media/22 "));
    }
    let failed = json_answer(422, r#"{"error":"Error processing"}"#);
    assert_eq!(
        publish_picture(vec![media(202, "null"), failed], Some(PNG)).0,
        r#"refused for its picture: its picture: HTTP 422: {"error":"Error processing"}"#
    );
    let mut for_ever = vec![media(202, "null")];
    for_ever.extend((0..15).map(|_| media(206, "null")));
    assert_eq!(
        publish_picture(for_ever, Some(PNG)).0,
        "refused for its picture: the server was not done with the picture in time"
    );
    // Older servers have the older place only.
    let (told, server) = publish_picture(vec![answer(404, "", ""), done(), made()], Some(PNG));
    assert_eq!(told, accepted);
    assert!(server.requests()[2].starts_with("POST /api/v1/media "));
}

#[test]
fn a_status_is_not_sent_without_the_picture_that_it_names() {
    let check = |acts: Vec<Act>, bytes: Option<&[u8]>| {
        let (told, server) = publish_picture(acts, bytes);
        let posted = server
            .requests()
            .iter()
            .any(|request| request.starts_with("POST /api/v1/statuses "));
        (told, posted)
    };
    let named = |text: &str| text.to_owned();
    assert_eq!(
        check(vec![], None),
        (
            named(
                "refused for its picture: this run does not have the picture that the claim names"
            ),
            false
        )
    );
    assert_eq!(
        check(vec![answer(413, "", "")], Some(PNG)),
        (
            named("refused for its picture: its picture: HTTP 413"),
            false
        )
    );
    assert_eq!(
        check(
            vec![json_answer(
                403,
                r#"{"error":"outside the authorized scopes"}"#
            )],
            Some(PNG)
        )
        .0,
        r#"refused for its picture: its picture: HTTP 403: {"error":"outside the authorized scopes"}"#
    );
    assert_eq!(
        check(vec![answer(429, "Retry-After: 9\r\n", "")], Some(PNG)),
        (
            named("refused for too many requests (wait 9000 ms): its picture: HTTP 429"),
            false
        )
    );
    let (told, posted) = check(vec![Act::HangUp], Some(PNG));
    assert!(
        told.starts_with("refused for its picture: its picture: the answer of "),
        "{told}"
    );
    assert!(!posted);
    // Said of the status: nothing was done, and without the picture it may be.
    let done = media(200, "\"https://m.example/22\"");
    let unready = json_answer(
        422,
        r#"{"error":"Cannot attach files that have not finished processing"}"#,
    );
    assert_eq!(
        check(vec![done, unready], Some(PNG)).0.get(..33),
        Some("refused for its picture: HTTP 422")
    );
}

#[test]
fn a_server_that_takes_no_post_without_a_picture_is_told_as_such() {
    let empty = json_answer(403, r#"{"error":"Empty statuses are not allowed"}"#);
    let server = Server::start([whoami(), empty]);
    let told = tell(&open_channel(&server).publish(&[pushed(claim(ACCOUNT, &post()))]));
    assert_eq!(
        told,
        r#"refused permanently: HTTP 403: {"error":"Empty statuses are not allowed"}: give the article `image` and `alt` for this channel"#
    );
}
