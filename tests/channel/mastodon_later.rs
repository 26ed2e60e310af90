use serde_json::{Value, json};

use sayonce::channel::Channel;
use sayonce::config::{ServiceConfig, Visibility};
use sayonce::model::claim::Claim;
use sayonce::model::outcome::Remote;

use super::later::{change, effect, remote, removal, send};
use super::server::{Act, Server, answer, json as json_answer};
use super::{TestClock, channel};

const ACCOUNT: &str = "https://m.example/@blog";
const POSTED: &str = "7 https://m.example/@blog/7";

fn whoami() -> Act {
    json_answer(
        200,
        r#"{"id":"42","acct":"blog","url":"https://m.example/@blog"}"#,
    )
}

fn missing() -> Act {
    json_answer(404, r#"{"error":"Record not found"}"#)
}

/// A page of a server that does not speak the API's own language.
fn page(status: u16) -> Act {
    answer(status, "", "<h1>no</h1>")
}

fn post() -> Value {
    json!({ "text": "New\n\nhttps://blog.example/a", "language": "en", "visibility": "public" })
}

fn warned() -> Value {
    json!({ "text": "New", "content_warning": "news" })
}

fn target() -> Remote {
    remote("7", "https://m.example/@blog/7")
}

/// The status that stands, with more fields.
fn status(more: &Value) -> Act {
    let mut status =
        json!({ "id": "7", "url": "https://m.example/@blog/7", "content": "<p>Old</p>" });
    let fields = status.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    json_answer(200, &status.to_string())
}

fn standing() -> Act {
    status(&json!({}))
}

fn source(text: &str, warning: &str) -> Act {
    let source = json!({ "id": "7", "text": text, "spoiler_text": warning });
    json_answer(200, &source.to_string())
}

fn open_channel(server: &Server) -> Box<dyn Channel> {
    let service = ServiceConfig::Mastodon {
        server: server.url(),
        token_env: "SECRET".to_owned(),
        visibility: Visibility::Unlisted,
        content_warning: None,
    };
    channel(service, TestClock::still())
}

/// Sends a claim to a server that first says who we are, and returns what came of it with the requests' first lines.
fn sent(claim: Claim, acts: impl IntoIterator<Item = Act>) -> (String, Vec<String>) {
    let server = Server::start([whoami()].into_iter().chain(acts));
    let told = send(&mut *open_channel(&server), claim);
    (told, first_lines(&server))
}

fn first_lines(server: &Server) -> Vec<String> {
    let requests = server.requests();
    requests
        .iter()
        .skip(1)
        .map(|request| request.split(" HTTP").next().unwrap().to_owned())
        .collect()
}

const GET: &str = "GET /api/v1/statuses/7";
const PUT: &str = "PUT /api/v1/statuses/7";
const DELETE: &str = "DELETE /api/v1/statuses/7";

#[test]
fn an_edit_keeps_the_pictures_that_stand() {
    let server = Server::start([
        whoami(),
        status(
            &json!({ "media_attachments": [{ "id": "31" }, { "id": 32 }], "sensitive": true, "spoiler_text": "" }),
        ),
        standing(),
    ]);
    let told = send(
        &mut *open_channel(&server),
        change(ACCOUNT, &post(), target()),
    );
    assert_eq!(told, format!("accepted by response: {POSTED}"));
    insta::assert_snapshot!(server.requests()[2], @r#"
    PUT /api/v1/statuses/7 HTTP/1.1
    accept-encoding: gzip
    content-length: 117
    user-agent: sayonce/VERSION
    host: server
    accept: application/json
    content-type: application/json; charset=utf-8
    authorization: Bearer s3cret-value

    {"status":"New\n\nhttps://blog.example/a","spoiler_text":"","sensitive":true,"language":"en","media_ids":["31","32"]}
    "#);
}

#[test]
fn a_warning_that_goes_takes_its_mark_along() {
    let check = |post: &Value, standing_fields: &Value| {
        let server = Server::start([whoami(), status(standing_fields), standing()]);
        send(&mut *open_channel(&server), change(ACCOUNT, post, target()));
        let requests = server.requests();
        requests[2].rsplit("\n\n").next().unwrap().to_owned()
    };
    let was_warned = json!({ "sensitive": true, "spoiler_text": "news" });
    assert_eq!(
        check(&json!({ "text": "New" }), &was_warned),
        r#"{"status":"New","spoiler_text":"","sensitive":false}"#
    );
    assert_eq!(
        check(&warned(), &was_warned),
        r#"{"status":"New","spoiler_text":"news","sensitive":true}"#
    );
}

#[test]
fn an_edit_never_makes_a_second_post() {
    let check = |acts: Vec<Act>| sent(change(ACCOUNT, &post(), target()), acts);
    let error =
        |status: u16, text: &str| json_answer(status, &json!({ "error": text }).to_string());
    assert_eq!(
        check(vec![missing()]),
        (
            "refused permanently: there is no such post of this account".to_owned(),
            vec![GET.to_owned()]
        )
    );
    // Nothing is written over what could not be read: its pictures would be lost.
    assert_eq!(
        check(vec![page(502)]),
        (
            "not sent: HTTP 502: <h1>no</h1>".to_owned(),
            vec![GET.to_owned()]
        )
    );
    let edit = |act: Act| {
        let (told, lines) = check(vec![standing(), act]);
        assert_eq!(lines, [GET, PUT]);
        told
    };
    assert_eq!(
        edit(json_answer(200, r#"{"id":"8"}"#)),
        r#"in doubt: HTTP 200: {"id":"8"}"#
    );
    assert_eq!(
        edit(missing()),
        r#"refused permanently: the post is gone, or this server can't change posts: HTTP 404: {"error":"Record not found"}"#
    );
    for status in [405, 410, 501] {
        assert_eq!(
            edit(page(status)),
            format!(
                "refused permanently: the post is gone, or this server can't change posts: HTTP {status}: <h1>no</h1>"
            )
        );
    }
    assert_eq!(
        edit(error(401, "x")),
        r#"refused for our credentials: HTTP 401: {"error":"x"}"#
    );
    assert_eq!(
        edit(error(403, "x")),
        r#"refused for our credentials: HTTP 403: {"error":"x"}"#
    );
    assert_eq!(edit(page(403)), "in doubt: HTTP 403: <h1>no</h1>");
    assert_eq!(
        edit(error(422, "too long")),
        r#"refused permanently: HTTP 422: {"error":"too long"}"#
    );
    assert_eq!(
        edit(error(429, "x")),
        r#"refused for too many requests: HTTP 429: {"error":"x"}"#
    );
    for status in [400, 408, 409, 422, 500, 503] {
        assert_eq!(
            edit(page(status)),
            format!("in doubt: HTTP {status}: <h1>no</h1>")
        );
    }
    assert_eq!(edit(Act::HangUp).get(..8), Some("in doubt"));
}

#[test]
fn a_status_counts_as_gone_when_it_is_not_shown_any_more() {
    let check = |acts: Vec<Act>| {
        let (told, lines) = sent(removal(ACCOUNT, target()), acts);
        (told, lines.join(", "))
    };
    let both = format!("{DELETE}, {GET}");
    let accepted = format!("accepted by read_back: {POSTED}");
    assert_eq!(
        check(vec![standing(), missing()]),
        (accepted.clone(), both.clone())
    );
    // Gone already, or another run was faster.
    assert_eq!(
        check(vec![missing(), missing()]),
        (accepted.clone(), both.clone())
    );
    assert_eq!(
        check(vec![page(410), json_answer(410, r#"{"error":"Gone"}"#)]),
        (accepted.clone(), both.clone())
    );
    // The answer is lost, and says nothing that reading does not.
    assert_eq!(
        check(vec![Act::HangUp, missing()]),
        (accepted.clone(), both.clone())
    );
    assert_eq!(
        check(vec![page(500), missing()]),
        (accepted.clone(), both.clone())
    );
    // A page is no word of the API: the server must know us all the same.
    assert_eq!(
        check(vec![page(404), page(404), whoami()]),
        (
            accepted,
            format!("{both}, GET /api/v1/accounts/verify_credentials")
        )
    );
    assert_eq!(
        check(vec![page(404), page(404), page(404)]).0,
        "in doubt: whether the post is gone could not be read (HTTP 404: <h1>no</h1>) after: HTTP 404: <h1>no</h1>"
    );
    assert_eq!(
        check(vec![standing(), standing()]),
        (
            "in doubt: the post is still shown, though the service answered: HTTP 200".to_owned(),
            both.clone()
        )
    );
    assert_eq!(
        check(vec![page(500), standing()]),
        (
            "in doubt: the post is still shown: HTTP 500: <h1>no</h1>".to_owned(),
            both.clone()
        )
    );
    assert_eq!(
        check(vec![standing(), page(503)]),
        (
            "in doubt: whether the post is gone could not be read (HTTP 503: <h1>no</h1>) after: HTTP 200".to_owned(),
            both.clone()
        )
    );
    // A cache on the way is not the server.
    let old = answer(404, "Age: 60\r\n", r#"{"error":"Record not found"}"#);
    assert_eq!(
        check(vec![standing(), old]).0,
        "in doubt: whether the post is gone could not be read (the answer is 60 s old, from a cache on the way) after: HTTP 200"
    );
}

#[test]
fn a_deletion_that_is_refused_is_not_read_back() {
    let check = |act: Act| {
        let (told, lines) = sent(removal(ACCOUNT, target()), [act]);
        assert_eq!(lines, [DELETE]);
        told
    };
    let error = |status: u16| json_answer(status, r#"{"error":"x"}"#);
    assert_eq!(
        check(error(401)),
        r#"refused for our credentials: HTTP 401: {"error":"x"}"#
    );
    assert_eq!(
        check(error(403)),
        r#"refused for our credentials: HTTP 403: {"error":"x"}"#
    );
    assert_eq!(
        check(error(405)),
        r#"refused permanently: HTTP 405: {"error":"x"}"#
    );
    assert_eq!(
        check(error(429)),
        r#"refused for too many requests: HTTP 429: {"error":"x"}"#
    );
}

#[test]
fn a_post_of_which_only_the_address_is_known_is_looked_up() {
    let told_by_a_person = || Remote {
        id: None,
        url: Some("https://m.example/@blog/7".to_owned()),
    };
    let list = |statuses: &Value| json_answer(200, &statuses.to_string());
    let mine = json!([
        { "id": "9", "url": "https://m.example/@blog/9" },
        { "id": "7", "url": "https://m.example/@blog/7" },
    ]);
    let page =
        "GET /api/v1/accounts/42/statuses?limit=40&exclude_replies=true&exclude_reblogs=true";
    let next = format!("{page}&max_id=7");
    let acts = vec![list(&mine), list(&json!([])), standing(), missing()];
    let (told, lines) = sent(removal(ACCOUNT, told_by_a_person()), acts);
    assert_eq!(
        told,
        "accepted by read_back: none https://m.example/@blog/7"
    );
    assert_eq!(lines, [page, next.as_str(), DELETE, GET]);

    // People write addresses in many ways: one that is not seen proves nothing.
    let unseen =
        "refused permanently: no post of this account is seen at https://m.example/@blog/7";
    for claim in [
        removal(ACCOUNT, told_by_a_person()),
        change(ACCOUNT, &post(), told_by_a_person()),
    ] {
        let (told, lines) = sent(claim, [list(&json!([]))]);
        assert_eq!(told, unseen);
        assert_eq!(lines, [page]);
    }
    let server = Server::start([whoami(), list(&json!([]))]);
    let claim = removal(ACCOUNT, told_by_a_person());
    assert_eq!(
        effect(&mut *open_channel(&server), &claim),
        "cannot tell: no post of this account is seen at https://m.example/@blog/7"
    );
}

#[test]
fn nothing_is_sent_for_another_account_or_without_a_target() {
    let other = removal("https://m.example/@me", target());
    let (told, lines) = sent(other, []);
    assert_eq!(
        told,
        "not sent: the claim is for https://m.example/@me, but the service says that we are https://m.example/@blog"
    );
    assert_eq!(lines, [""; 0]);
    let aimless = Claim {
        target: None,
        ..removal(ACCOUNT, target())
    };
    let server = Server::start([]);
    assert_eq!(
        send(&mut *open_channel(&server), aimless),
        "refused permanently: the claim names no post that could be changed or taken down"
    );
}

#[test]
fn the_effect_of_a_removal_is_that_the_post_is_gone() {
    let check = |acts: Vec<Act>| {
        let server = Server::start([whoami()].into_iter().chain(acts));
        effect(&mut *open_channel(&server), &removal(ACCOUNT, target()))
    };
    assert_eq!(check(vec![missing()]), format!("found {POSTED}"));
    assert_eq!(check(vec![standing()]), "absent");
    assert_eq!(check(vec![page(500)]), "cannot tell: HTTP 500: <h1>no</h1>");
    assert_eq!(
        check(vec![json_answer(200, r#"{"id":"8"}"#)]),
        r#"cannot tell: HTTP 200: {"id":"8"}"#
    );
    assert_eq!(check(vec![Act::HangUp]).get(..11), Some("cannot tell"));
}

#[test]
fn the_effect_of_an_edit_is_that_its_text_is_shown() {
    let check_post = |post: &Value, acts: Vec<Act>| {
        let server = Server::start([whoami()].into_iter().chain(acts));
        effect(
            &mut *open_channel(&server),
            &change(ACCOUNT, post, target()),
        )
    };
    let check = |acts: Vec<Act>| check_post(&post(), acts);
    let text = "New\n\nhttps://blog.example/a";
    assert_eq!(
        check(vec![standing(), source(text, "")]),
        format!("found {POSTED}")
    );
    assert_eq!(check(vec![standing(), source("Old", "")]), "absent");
    assert_eq!(check(vec![standing(), source(text, "news")]), "absent");
    assert_eq!(
        check_post(&warned(), vec![standing(), source("New", "news")]),
        format!("found {POSTED}")
    );
    assert_eq!(check(vec![missing()]), "absent");
    // A server without sources is read as people read it.
    let html =
        r#"<p>New</p><p><a href="https://blog.example/a">https://<b>blog.example/a</b></a></p>"#;
    assert_eq!(
        check(vec![status(&json!({ "content": html })), page(404)]),
        format!("found {POSTED}")
    );
    assert_eq!(
        check(vec![standing(), page(404)]),
        "cannot tell: the post reads otherwise, and the server does not tell its source: HTTP 404: <h1>no</h1>"
    );
    assert_eq!(
        check(vec![standing(), Act::HangUp]).get(..11),
        Some("cannot tell")
    );
}
