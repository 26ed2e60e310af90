//! Changes that must name what stands: the post is read first, and nobody else's change is written over.

use serde_json::{Value, json};

use sayonce::model::outcome::Remote;

use super::http_later::{ACCOUNT, OWN, sent, sent_whole};
use super::later::{change, remote};
use super::server::{Act, answer, json as json_answer};

const GHOST: &str = "preset = \"ghost\"\nvalues = { server = \"https://ghost.example/\" }";

/// One's own server, whose posts have a number that counts up, and a header that says the same.
const GUARDED: &str = r#"
secrets = { token = "TOKEN" }
request = { url = "https://own.example/posts", json = { text = "{{ text }}" } }
success = { status = 201 }
receipt = { id = "/id", url = "/url" }
[channels.own.update]
method = "PUT"
url = "https://own.example/posts/{{ id }}"
headers = { Authorization = "Bearer {{ secret.token }}", If-Match = "{{ current.etag }}" }
json = { text = "{{ text }}", version = "{{ current.version + 1 }}", was = "v{{ current.version }}" }
status = 200
[[channels.own.update.answer]]
status = 412
means = "retry"
[channels.own.update.current]
url = "https://own.example/posts/{{ id }}"
query = { fields = "version" }
headers = { Authorization = "Bearer {{ secret.token }}" }
status = 200
gone = { status = 404, pointer = "/code", equals = "none" }
values = { version = "/version" }
values_header = { etag = "ETag" }
[[channels.own.answer]]
status = 400
means = "refused"
[[channels.own.answer]]
status = [401, 403]
means = "credentials"
[[channels.own.answer]]
status = 429
means = "rate_limited"
"#;

fn target() -> Remote {
    remote("7", "https://own.example/7")
}

fn post() -> Value {
    json!({
        "text": "New https://blog.example/a", "url": "https://blog.example/a", "title": "Tom & \"Jerry\"", "description": "",
        "tags": ["a", "b"],
    })
}

fn standing() -> Act {
    answer(
        200,
        "ETag: \"v3\"\r\nContent-Type: application/json\r\n",
        r#"{"version":3}"#,
    )
}

fn check(acts: impl IntoIterator<Item = Act>) -> String {
    let (told, requests) = sent(GUARDED, change(ACCOUNT, &post(), target()), acts);
    format!("{told}\n{requests}")
}

#[test]
fn what_was_read_is_sent_along_as_what_it_was() {
    let acts = [standing(), json_answer(200, r#"{"id":7}"#)];
    let (told, requests) = sent_whole(GUARDED, change(ACCOUNT, &post(), target()), acts);
    assert_eq!(told, "accepted by response: 7 https://own.example/7");
    insta::assert_snapshot!(requests.join("\n---\n"), @r#"
    GET /posts/7?fields=version HTTP/1.1
    accept-encoding: gzip
    user-agent: sayonce/VERSION
    host: server
    accept: application/json
    cache-control: no-cache
    authorization: Bearer s3cret-value


    ---
    PUT /posts/7 HTTP/1.1
    accept-encoding: gzip
    content-length: 60
    user-agent: sayonce/VERSION
    host: server
    accept: application/json
    cache-control: no-cache
    content-type: application/json; charset=utf-8
    authorization: Bearer s3cret-value
    if-match: "v3"
    sayonce-rehearsal-article: https://blog.example/a

    {"text":"New https://blog.example/a","version":4,"was":"v3"}
    "#);
}

/// Neither the reading nor its failure is the change.
#[test]
fn as_long_as_the_post_can_not_be_read_nothing_is_sent() {
    let none = answer(200, "ETag: \"v3\"\r\n", r#"{"version":null}"#);
    let cached = answer(200, "ETag: \"v3\"\r\nAge: 60\r\n", r#"{"version":3}"#);
    let told = [
        check([Act::HangUp]).replace(char::is_numeric, "0"),
        check([answer(500, "", "x")]),
        check([answer(302, "Location: /login\r\n", "")]),
        check([answer(400, "", "x")]),
        check([answer(404, "", "nginx")]),
        check([json_answer(200, r#"{"version":3}"#)]),
        check([none]),
        check([cached]),
        check([answer(403, "", "no")]),
        check([answer(429, "Retry-After: 3\r\n", "")]),
        check([json_answer(404, r#"{"code":"none"}"#)]),
    ];
    insta::assert_snapshot!(told.join("\n"), @r#"
    not sent: the post has to be read before it is changed, and could not be: the answer of 000.0.0.0 was lost: Peer disconnected
    GET /posts/0?fields=version
    not sent: the post has to be read before it is changed, and could not be: HTTP 500: x
    GET /posts/7?fields=version
    not sent: the post has to be read before it is changed, and could not be: HTTP 302 to /login
    GET /posts/7?fields=version
    not sent: the post has to be read before it is changed, and could not be: HTTP 400: x
    GET /posts/7?fields=version
    not sent: the post has to be read before it is changed, and could not be: HTTP 404: nginx
    GET /posts/7?fields=version
    not sent: the post has to be read before it is changed, and could not be: it has no `etag`: HTTP 200: {"version":3}
    GET /posts/7?fields=version
    not sent: the post has to be read before it is changed, and could not be: it has no `version`: HTTP 200: {"version":null}
    GET /posts/7?fields=version
    not sent: the post has to be read before it is changed, and could not be: the answer is 60 s old, from a cache on the way
    GET /posts/7?fields=version
    refused for our credentials: HTTP 403: no
    GET /posts/7?fields=version
    refused for too many requests (wait 3000 ms): HTTP 429
    GET /posts/7?fields=version
    refused permanently: the post is not there any more, so it can't be changed: HTTP 404: {"code":"none"}
    GET /posts/7?fields=version
    "#);
}

#[test]
fn who_was_faster_is_not_written_over() {
    let told = [
        check([standing(), answer(412, "", "it was changed")]),
        check([standing(), answer(409, "", "it was changed")]),
        check([standing(), Act::HangUp]).replace(char::is_numeric, "0"),
    ];
    insta::assert_snapshot!(told.join("\n"), @r"
    refused for now: HTTP 412: it was changed
    GET /posts/7?fields=version, PUT /posts/7
    in doubt: HTTP 409: it was changed
    GET /posts/7?fields=version, PUT /posts/7
    in doubt: the answer of 000.0.0.0 was lost: Peer disconnected
    GET /posts/0?fields=version, PUT /posts/0
    ");
}

#[test]
fn on_ghost_the_time_of_the_last_change_is_named() {
    let shown = || {
        json_answer(
            200,
            r#"{"posts":[{"id":"7","title":"Old","updated_at":"2026-11-29T10:00:05.000Z"}]}"#,
        )
    };
    let error = |status: u16, sort: &str| {
        json_answer(status, &format!(r#"{{"errors":[{{"type":"{sort}"}}]}}"#))
    };
    let check = |acts: Vec<Act>| sent(GHOST, change(OWN, &post(), target()), acts);
    let done = r#"{"posts":[{"id":"7","url":"https://own.example/8"}]}"#;
    let acts = [shown(), json_answer(200, done)];
    let (told, requests) = sent_whole(GHOST, change(OWN, &post(), target()), acts);
    assert_eq!(told, "accepted by response: 7 https://own.example/8");
    let lines = requests.iter().map(|request| {
        let first = request.lines().next().unwrap();
        let has_token = request.contains("\nauthorization: Ghost ey");
        format!("{first} {has_token}\n{}", request.lines().last().unwrap())
    });
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @r#"
    GET /ghost/api/admin/posts/7/ HTTP/1.1 true

    PUT /ghost/api/admin/posts/7/?source=html HTTP/1.1 true
    {"posts":[{"title":"Tom & \"Jerry\"","html":"<p><a href=\"https://blog.example/a\">https://blog.example/a</a></p>","canonical_url":"https://blog.example/a","tags":["a","b"],"updated_at":"2026-11-29T10:00:05.000Z"}]}
    "#);
    let told = [
        check(vec![shown(), error(409, "UpdateCollisionError")]),
        check(vec![shown(), error(404, "NotFoundError")]),
        check(vec![shown(), error(422, "ValidationError")]),
        check(vec![shown(), error(409, "InternalServerError")]),
        check(vec![error(404, "NotFoundError")]),
        check(vec![error(403, "NoPermissionError")]),
    ];
    let told = told.map(|(told, requests)| format!("{told}\n{requests}"));
    insta::assert_snapshot!(told.join("\n"), @r#"
    refused for now: HTTP 409: {"errors":[{"type":"UpdateCollisionError"}]}
    GET /ghost/api/admin/posts/7/, PUT /ghost/api/admin/posts/7/?source=html
    refused permanently: HTTP 404: {"errors":[{"type":"NotFoundError"}]}
    GET /ghost/api/admin/posts/7/, PUT /ghost/api/admin/posts/7/?source=html
    refused permanently: HTTP 422: {"errors":[{"type":"ValidationError"}]}
    GET /ghost/api/admin/posts/7/, PUT /ghost/api/admin/posts/7/?source=html
    in doubt: HTTP 409: {"errors":[{"type":"InternalServerError"}]}
    GET /ghost/api/admin/posts/7/, PUT /ghost/api/admin/posts/7/?source=html
    refused permanently: the post is not there any more, so it can't be changed: HTTP 404: {"errors":[{"type":"NotFoundError"}]}
    GET /ghost/api/admin/posts/7/
    refused for our credentials: HTTP 403: {"errors":[{"type":"NoPermissionError"}]}
    GET /ghost/api/admin/posts/7/
    "#);
}
