//! The stand-in of declared services: it goes by the declaration, and by what the common services are known to do.

use std::collections::BTreeMap;
use std::path::Path;

use sayonce::config::Config;
use sayonce::config::http::Declaration;
use sayonce::model::channel::Kind;
use sayonce::model::ids::ChannelName;
use sayonce::sandbox::Sandbox;
use serde_json::json;

use super::{Call, HandClock, START, Server, Sleep, options};

/// What the stand-in of `kind` is declared as.
pub(crate) fn of(kind: Kind) -> BTreeMap<ChannelName, Declaration> {
    if kind != Kind::Http {
        return BTreeMap::new();
    }
    let name = ChannelName::new(kind.label()).unwrap();
    BTreeMap::from([(
        name,
        declaration("preset = \"custom\"\nvalues = { endpoint = \"https://own.example/posts\" }"),
    )])
}

/// The call that announces an article to one's own server.
pub(crate) fn post(number: usize) -> Call {
    let url = format!("https://blog.example/{number}/");
    let body = json!({ "text": format!("Number {number}\n\n{url}"), "title": "Number", "url": url, "tags": [] });
    Call::new("POST", "/posts")
        .header("Authorization", "Bearer rehearsal-secret-http-token")
        .json(&body)
}

fn declaration(lines: &str) -> Declaration {
    let text = format!(
        "[site]\nurl = \"https://blog.example\"\nfeed = \"feed.xml\"\n[channels.http]\nkind = \"http\"\n{lines}\n"
    );
    let config = Config::parse(Path::new("sayonce.toml"), &text).unwrap();
    config.channels[0].declaration().unwrap().clone()
}

fn start(lines: &str) -> Server {
    let clock = HandClock::at(START, Sleep::Moves);
    let channel = ChannelName::new("http").unwrap();
    let sandbox = Sandbox::start_with(
        options(Kind::Http, &["http:3=status=429:30"], None, clock),
        BTreeMap::from([(channel.clone(), declaration(lines))]),
    )
    .unwrap();
    let address = sandbox.url(&channel).replace("http://", "");
    Server {
        sandbox,
        channel,
        address,
    }
}

/// Sends one call four times, the third ordered to be refused, and one more with a wrong secret.
fn check(lines: &str, call: impl Fn(&str) -> Call) -> String {
    let server = start(lines);
    let right = || server.get_answer(&call("rehearsal-secret")).line();
    let answers = [
        right(),
        right(),
        right(),
        server.get_answer(&call("wrong")).line(),
    ];
    format!("{}\n{}", answers.join("\n"), server.posts().join("\n"))
}

#[test]
fn one_key_is_one_post() {
    let own = "preset = \"custom\"\nvalues = { endpoint = \"https://own.example/posts\" }";
    let call = |secret: &str| {
        Call::new("POST", "/posts")
            .header("Authorization", format!("Bearer {secret}-http-token"))
            .header("Idempotency-Key", "k")
            .json(&json!({ "text": "A https://blog.example/a" }))
    };
    insta::assert_snapshot!(check(own, call), @r#"
    200 {"id":"1","url":"https://http.rehearsal.example/1"}
    200 {"id":"1","url":"https://http.rehearsal.example/1"}
    429 {"error":"429"}
    401 {"error":"401"}
    https://blog.example/a x1
    "#);
}

#[test]
fn discord_answers_with_the_message_and_waits_in_the_body() {
    let call = |secret: &str| {
        Call::new("POST", format!("/hooks/{secret}-webhook-4711?wait=true"))
            .json(&json!({ "content": "A https://blog.example/a" }))
    };
    insta::assert_snapshot!(check("preset = \"discord\"", call), @r#"
    200 {"type":0,"content":"A https://blog.example/a","channel_id":"1","embeds":[],"id":"1"}
    200 {"type":0,"content":"A https://blog.example/a","channel_id":"1","embeds":[],"id":"2"}
    429 {"message":"You are being rate limited.","retry_after":30,"global":false}
    404 {"error":"not found"}
    https://blog.example/a x1
    https://blog.example/a x1
    "#);
}

#[test]
fn slack_says_ok_in_its_two_ways() {
    let call = |secret: &str| {
        Call::new("POST", format!("/hooks/{secret}-webhook-4711"))
            .json(&json!({ "text": "A https://blog.example/a" }))
    };
    insta::assert_snapshot!(check("preset = \"slack-webhook\"", call), @r#"
    200 ok
    200 ok
    429 {"error":"429"}
    404 {"error":"not found"}
    https://blog.example/a x1
    https://blog.example/a x1
    "#);
    let call = |secret: &str| {
        Call::new("POST", "/api/chat.postMessage")
            .header("Authorization", format!("Bearer {secret}-http-token"))
            .json(&json!({ "channel": "C1", "text": "A https://blog.example/a" }))
    };
    insta::assert_snapshot!(check("preset = \"slack\"\nvalues = { channel = \"C1\" }", call), @r#"
    200 {"ok":true,"channel":"C1","message":{"text":"A https://blog.example/a"},"ts":"1795946400.123001"}
    200 {"ok":true,"channel":"C1","message":{"text":"A https://blog.example/a"},"ts":"1795946400.123002"}
    429 {"error":"429","ok":false}
    401 {"error":"not_authed","ok":false}
    https://blog.example/a x1
    https://blog.example/a x1
    "#);
}

#[test]
fn telegram_numbers_messages_and_names_the_wait() {
    let call = |secret: &str| {
        Call::new("POST", format!("/bot{secret}-http-token/sendMessage"))
            .json(&json!({ "chat_id": "@blog", "text": "A https://blog.example/a" }))
    };
    insta::assert_snapshot!(check("preset = \"telegram\"\nvalues = { chat = \"@blog\" }", call), @r#"
    200 {"ok":true,"result":{"text":"A https://blog.example/a","message_id":1}}
    200 {"ok":true,"result":{"text":"A https://blog.example/a","message_id":2}}
    429 {"ok":false,"error_code":429,"description":"Too Many Requests: retry after 30","parameters":{"retry_after":30}}
    404 {"error":"not found"}
    https://blog.example/a x1
    https://blog.example/a x1
    "#);
}

#[test]
fn weibo_takes_no_text_twice() {
    let call = |secret: &str| {
        let body = format!(
            "access_token={secret}-http-token&status=A+https%3A%2F%2Fblog.example%2Fa&rip=192.0.2.1"
        );
        Call::new("POST", "/2/statuses/share.json").body("application/x-www-form-urlencoded", body)
    };
    insta::assert_snapshot!(check("preset = \"weibo\"\nvalues = { ip = \"192.0.2.1\", uid = 4711 }", call), @r#"
    200 {"text":"A https://blog.example/a","idstr":"1"}
    400 {"request":"/2/statuses/share.json","error_code":20019,"error":"repeat content!"}
    429 {"request":"/2/statuses/share.json","error_code":10022,"error":"system error"}
    401 {"request":"/2/statuses/share.json","error_code":21332,"error":"system error"}
    https://blog.example/a x1
    "#);
}

#[test]
fn a_ping_that_is_repeated_is_counted_and_is_no_second_post() {
    let call = |_secret: &str| {
        Call::new("POST", "/webmention").body(
            "application/x-www-form-urlencoded",
            "source=https%3A%2F%2Fblog.example%2Fa&target=https%3A%2F%2Fbridge.example%2F",
        )
    };
    let lines = "preset = \"webmention\"\nvalues = { endpoint = \"https://bridge.example/webmention\", target = \"https://bridge.example/\" }";
    insta::assert_snapshot!(check(lines, call), @r#"
    200 
    200 
    429 {"error":"429"}
    200 
    https://blog.example/a x3
    "#);
}

#[test]
fn an_undeclared_service_has_no_stand_in() {
    let clock = HandClock::at(START, Sleep::Moves);
    let error = Sandbox::start(options(Kind::Http, &[], None, clock)).unwrap_err();
    assert_eq!(error.to_string(), "nothing declares the service of `http`");
}

/// Two who read the same state can't both change it.
#[test]
fn a_change_must_name_the_post_as_it_stands() {
    let server = start(
        r#"
secrets = { token = "TOKEN" }
request = { url = "https://own.example/posts", json = { text = "{{ text }}" }, headers = { X-Token = "{{ secret.token }}" } }
success = { status = 201 }
receipt = { id = "/id" }
[channels.http.update]
method = "PATCH"
url = "https://own.example/posts/{{ id }}"
headers = { If-Match = "{{ current.etag }}", X-Token = "{{ secret.token }}" }
json = { text = "{{ text }}", version = "v{{ current.version }}" }
status = 200
[[channels.http.update.answer]]
status = 409
pointer = "/code"
equals = "collision"
means = "retry"
[channels.http.update.current]
url = "https://own.example/posts/{{ id }}"
headers = { X-Token = "{{ secret.token }}" }
status = 200
gone = { status = 404 }
values = { version = "/meta/version" }
values_header = { etag = "ETag" }
"#,
    );
    let call = |method: &'static str, target: &str| {
        Call::new(method, target).header("X-Token", "rehearsal-secret-http-token")
    };
    let change = |text: &str, etag: &str, version: &str| {
        let body = json!({ "text": format!("{text} https://blog.example/a"), "version": format!("v{version}") });
        call("PATCH", "/posts/1")
            .header("If-Match", etag)
            .json(&body)
    };
    let read = || server.get_answer(&call("GET", "/posts/1"));
    let posted = call("POST", "/posts").json(&json!({ "text": "Old https://blog.example/a" }));
    let mut told = vec![server.get_answer(&posted).line(), read().line()];
    let etag = || read().header("etag").unwrap().to_owned();
    let first = etag();
    for call in [
        change("New", &first, "older"),
        // The third write is ordered to be refused.
        change("New", &first, &first),
        change("New", "older", &first),
        change("New", &first, &first),
        change("Newer", &first, &first),
    ] {
        told.push(server.get_answer(&call).line());
    }
    let second = etag();
    assert_ne!(first, second);
    told.push(
        server
            .get_answer(&change("Newest", &second, &second))
            .line(),
    );
    let bare = Call::new("GET", "/posts/1");
    told.push(server.get_answer(&bare).line());
    insta::assert_snapshot!(told.join("\n"), @r#"
    201 {"id":"1"}
    200 {"meta":{"version":"2026-11-29T10:00:00.123Z"}}
    409 {"error":"409","code":"collision"}
    429 {"error":"429"}
    409 {"error":"409","code":"collision"}
    200 {"id":"1"}
    409 {"error":"409","code":"collision"}
    200 {"id":"1"}
    401 {"error":"401"}
    "#);
}
