//! The declared channel: what it sends, what it makes of answers and lists, and that no secret is ever seen.

use std::path::Path;

use sayonce::channel::Channel;
use sayonce::channel::registry::build;
use sayonce::config::http::Declaration;
use sayonce::config::{ChannelConfig, Config};
use sayonce::environment::Environment;
use sayonce::model::claim::Claim;
use sayonce::model::outcome::Outcome;
use sayonce::model::time::Timestamp;
use serde_json::{Value, json};

use super::server::{Act, Server, answer, json as json_answer};
use super::{
    ARTICLE, SECRET, TestClock, claim, pushed, site, tell, tell_listing, tell_lookup, tell_opening,
};

/// A channel of one's own server, with the lines of a test.
pub(super) fn config(lines: &str) -> ChannelConfig {
    let text = format!(
        "[site]\nurl = \"https://blog.example\"\nfeed = \"feed.xml\"\n[channels.own]\nkind = \"http\"\n{lines}\n"
    );
    let config =
        Config::parse(Path::new("sayonce.toml"), &text).unwrap_or_else(|error| panic!("{error}"));
    config.channels[0].clone()
}

/// Directs a channel to a server on loopback, as a rehearsal does, but without its header.
pub(super) fn on_server(mut config: ChannelConfig, server: &Server) -> ChannelConfig {
    let mut declaration = config.declaration().unwrap().clone();
    let base = server.url().to_string();
    let base = base.trim_end_matches('/');
    let moved = |url: &str| {
        let Some(rest) = url.strip_prefix("https://") else {
            return url.to_owned();
        };
        let path = rest.split_once('/').map_or("", |(_, path)| path);
        format!("{base}/{path}")
    };
    declaration.request.url = moved(&declaration.request.url);
    if let Some(lookup) = &mut declaration.lookup {
        lookup.request.url = moved(&lookup.request.url);
    }
    if let Some(prepare) = &mut declaration.prepare {
        prepare.request.url = moved(&prepare.request.url);
        if let Some(ready) = &mut prepare.ready {
            ready.request.url = moved(&ready.request.url);
        }
    }
    for (name, value) in &mut declaration.values {
        if declaration.request.url.contains(&format!("value.{name} ")) {
            *value = moved(value);
        }
    }
    // The address is a new one each time; what presets make of it is a test of its own.
    if let Some(preset) = declaration.preset {
        declaration.account = Some(format!("{preset}:own"));
    }
    config.service = sayonce::config::ServiceConfig::Http(Box::new(declaration));
    config
}

/// Makes the channel; every secret has the value of [`SECRET`], an address among them lies on the server.
pub(super) fn channel(config: &ChannelConfig, server: &Server) -> Box<dyn Channel> {
    let declaration: &Declaration = config.declaration().unwrap();
    let mut environment = Environment::default();
    for (name, variable) in &declaration.secrets {
        let value = if declaration.secret_address() == Some(name) {
            format!("{}hooks/123/{SECRET}", server.url())
        } else if variable.starts_with("GHOST") {
            format!("6748592f4b9b7700010f6564:{}", "5a".repeat(32))
        } else {
            SECRET.to_owned()
        };
        environment = environment.with(variable, &value);
    }
    let clock = TestClock::still();
    build(config, &site(), &environment, clock).unwrap()
}

/// A claim of the channel's own account with a post of everything.
pub(super) fn full_claim(config: &ChannelConfig) -> Claim {
    let declaration = config.declaration().unwrap();
    let account = format!("{}:own", declaration.preset.unwrap_or("http"));
    let mut post = json!({
        "text": "Hello & <you>\n\nhttps://blog.example/a", "title": "Hello & <you>",
        "description": "A \"first\" post", "tags": ["static site", "rust"], "slug": "a", "url": ARTICLE,
    });
    if declaration.prepare.is_some() {
        post["prepared"] = Value::from("18");
    }
    post["form"] = Value::from(declaration.form_fingerprint().as_str());
    claim(&account, &post)
}

/// Publishes against one act; returns the outcome and the request.
pub(super) fn publish(lines: &str, act: Act) -> (Outcome, String) {
    let server = Server::start([act]);
    let config = on_server(config(lines), &server);
    let outcome = channel(&config, &server).publish(&[pushed(full_claim(&config))]);
    (outcome, server.requests().join("\n---\n"))
}

/// Returns what the outcome is told as, without the server's port.
pub(super) fn outcome(lines: &str, act: Act) -> String {
    tell(&publish(lines, act).0)
}

const OWN: &str = r#"
secrets = { token = "TOKEN" }
success = { status = 201 }
receipt = { id = "/id", url = "/url" }
"#;

#[test]
fn a_form_a_multipart_form_and_json_are_written_whole() {
    let check = |body: &str| {
        let lines = format!(
            "{OWN}[channels.own.request]\nurl = \"https://own.example/posts\"\nmethod = \"PUT\"\nquery = {{ a = \"b c\", k = \"{{{{ key }}}}\" }}\nheaders = {{ X-Token = \"{{{{ secret.token }}}}\" }}\n{body}"
        );
        let (outcome, request) = publish(
            &lines,
            json_answer(201, r#"{"id":7,"url":"https://own.example/7"}"#),
        );
        assert_eq!(
            tell(&outcome),
            "accepted by response: 7 https://own.example/7"
        );
        request
    };
    insta::assert_snapshot!(check("form = { \"h.x\" = \"{{ text }}\", n = 1 }"), @r"
    PUT /posts?a=b+c&k=so1-5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f HTTP/1.1
    accept-encoding: gzip
    content-length: 63
    user-agent: sayonce/VERSION
    host: server
    accept: application/json
    cache-control: no-cache
    content-type: application/x-www-form-urlencoded
    x-token: s3cret-value

    h.x=Hello+%26+%3Cyou%3E%0A%0Ahttps%3A%2F%2Fblog.example%2Fa&n=1
    ");
    insta::assert_snapshot!(check("multipart = { text = \"{{ title }}\", tags = \"{{ tags | join(',') }}\" }"), @r#"
    PUT /posts?a=b+c&k=so1-5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f HTTP/1.1
    accept-encoding: gzip
    content-length: 261
    user-agent: sayonce/VERSION
    host: server
    accept: application/json
    cache-control: no-cache
    content-type: multipart/form-data; boundary=sayonce-5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f
    x-token: s3cret-value

    --sayonce-5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f
    Content-Disposition: form-data; name="text"

    Hello & <you>
    --sayonce-5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f
    Content-Disposition: form-data; name="tags"

    static site,rust
    --sayonce-5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f--
    "#);
    insta::assert_snapshot!(check("json = { text = \"{{ text }}\", tags = \"{{ tags }}\", one = [\"{{ title }}\"], n = 1, f = 1.5, b = true, x = { y = \"{{ key }}\" } }"), @r#"
    PUT /posts?a=b+c&k=so1-5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f HTTP/1.1
    accept-encoding: gzip
    content-length: 208
    user-agent: sayonce/VERSION
    host: server
    accept: application/json
    cache-control: no-cache
    content-type: application/json; charset=utf-8
    x-token: s3cret-value

    {"text":"Hello & <you>\n\nhttps://blog.example/a","tags":["static site","rust"],"one":["Hello & <you>"],"n":1,"f":1.5,"b":true,"x":{"y":"so1-5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f"}}
    "#);
}

#[test]
fn what_is_not_in_the_table_is_in_doubt() {
    let lines = format!(
        r#"{OWN}
request = {{ url = "https://own.example/posts", json = {{ text = "{{{{ text }}}}" }} }}
rate_limit_headers = ["X-Wait"]
[[channels.own.answer]]
status = 400
means = "refused"
[[channels.own.answer]]
status = 403
pointer = "/code"
equals = [7, "busy"]
means = "retry"
wait_pointer = "/wait"
[[channels.own.answer]]
status = 429
means = "rate_limited"
[[channels.own.answer]]
status = 409
means = "exists"
[[channels.own.answer]]
pointer = "/error"
contains = "SOON"
means = "accepted_later"
wait = "2m"
[[channels.own.answer]]
status = [401, 404]
means = "credentials"
"#
    );
    let check =
        |status: u16, headers: &str, body: &str| outcome(&lines, answer(status, headers, body));
    insta::assert_snapshot!(
        [
            check(201, "", r#"{"id":"1"}"#),
            check(201, "", r#"{"id":""}"#),
            check(201, "", r#"{"url":"https://own.example/1"}"#),
            check(201, "", "created"),
            check(200, "", r#"{"id":"1"}"#),
            check(400, "", "no"),
            check(403, "", r#"{"code":"7","wait":1.25}"#),
            check(403, "", r#"{"code":"busy","wait":"soon"}"#),
            check(403, "", r#"{"code":8}"#),
            check(429, "X-Wait: 9.5\r\nRetry-After: 60\r\n", ""),
            check(429, "Retry-After: 60\r\n", ""),
            check(409, "", "twice"),
            check(500, "", r#"{"error":"it comes soon"}"#),
            check(401, "", ""),
            check(404, "", ""),
            check(302, "Location: https://own.example/login\r\n", ""),
            check(422, "", "?"),
            check(503, "Retry-After: 5\r\n", ""),
            outcome(&lines, Act::HangUp),
        ]
        .join("\n"),
        @r#"
    accepted by response: 1 none
    in doubt: HTTP 201: {"id":""}
    in doubt: HTTP 201: {"url":"https://own.example/1"}
    in doubt: HTTP 201: created
    in doubt: HTTP 200: {"id":"1"}
    refused permanently: HTTP 400: no
    refused for now (wait 1250 ms): HTTP 403: {"code":"7","wait":1.25}
    refused for now: HTTP 403: {"code":"busy","wait":"soon"}
    in doubt: HTTP 403: {"code":8}
    refused for too many requests (wait 9500 ms): HTTP 429
    refused for too many requests (wait 60000 ms): HTTP 429
    in doubt: it may be there already: HTTP 409: twice
    accepted by response: none none
    refused for our credentials: HTTP 401
    refused for our credentials: HTTP 404
    in doubt: HTTP 302 to https://own.example/login
    in doubt: HTTP 422: ?
    in doubt: HTTP 503
    in doubt: the answer of 127.0.0.1 was lost: Peer disconnected
    "#
    );
}

#[test]
fn a_cut_answer_is_no_receipt() {
    let lines = format!("{OWN}request = {{ url = \"https://own.example/posts\" }}");
    assert_eq!(
        outcome(&lines, super::server::cut(201, r#"{"id":"1"}"#)),
        r#"in doubt: HTTP 201: {"id":"1"} (cut short)"#
    );
}

/// A webhook's address is the secret. A server may give it back in every place there is.
#[test]
fn a_secret_address_is_never_seen_even_if_the_server_gives_it_back() {
    let lines = r#"
secrets = { hook = "HOOK" }
account = "http:own"
request = { url = "{{ secret.hook }}", query = { wait = "1" }, json = { text = "{{ text }}" } }
success = { status = 200 }
receipt = { id = "/id", url = "/url" }
"#;
    let server = Server::start_knowing_itself(|url| {
        let hook = format!("{url}hooks/123/{SECRET}");
        let path = format!("/hooks/123/{SECRET}");
        vec![
            json_answer(200, &format!(r#"{{"id":"7","url":"{hook}?wait=1"}}"#)),
            json_answer(200, &format!(r#"{{"id":"{SECRET}","url":"x"}}"#)),
            answer(500, "", &format!("no such thing: {hook}")),
            answer(404, "", &format!("GET {path}?wait=1: not found")),
            answer(302, &format!("Location: {hook}\r\n"), ""),
        ]
    });
    let config = config(lines);
    let mut channel = channel(&config, &server);
    let told: Vec<String> = (0..5)
        .map(|_| server.without_port(&tell(&channel.publish(&[pushed(full_claim(&config))]))))
        .collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    accepted by response: 7 none
    in doubt: HTTP 200: {"id":"***","url":"x"}
    in doubt: HTTP 500: no such thing: ***
    in doubt: HTTP 404: GET ***?wait=1: not found
    in doubt: HTTP 302 to ***
    "#);
    assert!(server.requests()[0].starts_with(&format!("POST /hooks/123/{SECRET}?wait=1 ")));
}

#[test]
fn a_token_in_a_path_and_a_password_in_base64_are_never_seen() {
    let lines = r#"
secrets = { token = "TOKEN" }
request = { url = "https://own.example/bot{{ secret.token }}/send", headers = { Authorization = "Basic {{ ('me:' ~ secret.token) | base64 }}" } }
success = { status = 200 }
receipt = "none"
"#;
    let encoded = "bWU6czNjcmV0LXZhbHVl";
    let told = outcome(
        lines,
        answer(
            500,
            "",
            &format!("/bot{SECRET}/send Basic {encoded}; {encoded}"),
        ),
    );
    assert_eq!(told, "in doubt: HTTP 500: *** ***; ***");
}

#[test]
fn a_secret_that_is_no_address_closes_the_channel_and_is_not_repeated() {
    let lines = r#"
secrets = { hook = "HOOK" }
request = { url = "{{ secret.hook }}" }
success = { status = 200 }
receipt = "none"
"#;
    let config = config(lines);
    let check = |value: &str| {
        let environment = Environment::default().with("HOOK", value);
        let mut channel = build(&config, &site(), &environment, TestClock::still()).unwrap();
        let told = tell_opening(&channel.open());
        let sent = tell(&channel.publish(&[pushed(full_claim(&config))]));
        assert!(
            !told.contains(value) && !sent.contains(value),
            "{told} {sent}"
        );
        format!("{told}\n{sent}")
    };
    insta::assert_snapshot!(check("hooks-of-mine-4711"), @r"
    closed, credentials: the secret `hook` is not an absolute address
    refused for our credentials: the secret `hook` is not an absolute address
    ");
    insta::assert_snapshot!(check("http://hooks.example/of-mine-4711"), @r"
    closed, credentials: the secret `hook` is no `https` address, and others are used on this machine only
    refused for our credentials: the secret `hook` is no `https` address, and others are used on this machine only
    ");
}

#[test]
fn a_missing_secret_is_named_by_its_variable() {
    let config = config("preset = \"discord\"");
    let built = build(
        &config,
        &site(),
        &Environment::default(),
        TestClock::still(),
    );
    assert_eq!(
        built.err().unwrap().to_string(),
        "channel `own`: the environment variable DISCORD_WEBHOOK_URL is not set"
    );
}

#[test]
fn a_key_that_lives_for_ever_is_not_repeated_under_another_request() {
    let lines = "preset = \"custom\"\nvalues = { endpoint = \"https://own.example/posts\" }";
    let server = Server::start([json_answer(
        201,
        r#"{"id":"1","url":"https://own.example/1"}"#,
    )]);
    let config = on_server(config(lines), &server);
    let mut repeat = full_claim(&config);
    repeat.attempt = 2;
    let mut post = repeat.post.fields().clone();
    post.insert("form".to_owned(), "sha256:other".into());
    let mut changed = repeat.clone();
    changed.post = sayonce::model::post::Post::new(post);
    let mut channel = channel(&config, &server);
    assert_eq!(
        tell(&channel.publish(&[pushed(changed)])),
        "in doubt: the declaration was changed since this post may have been sent, and the same key with another request proves nothing: change it back, or say with `sayonce resolve` whether the post is there"
    );
    assert_eq!(
        tell(&channel.publish(&[pushed(repeat)])),
        "accepted by response: 1 https://own.example/1"
    );
    assert!(server.requests()[0].contains("idempotency-key: so1-5f5f"));
}

#[test]
fn another_account_is_not_written_to() {
    let lines = format!(
        "{OWN}account = \"{{{{ value.who }}}}\"\nvalues = {{ who = \"me\" }}\nrequest = {{ url = \"https://own.example/posts\" }}"
    );
    let server = Server::start([]);
    let config = on_server(config(&lines), &server);
    let mut channel = channel(&config, &server);
    assert_eq!(
        tell_opening(&channel.open()),
        "ready as me, limit None, skew None"
    );
    assert_eq!(
        tell(&channel.publish(&[pushed(full_claim(&config))])),
        "not sent: the claim is for http:own, but the service says that we are me"
    );
}

const LOOKUP: &str = r#"
[channels.own.lookup]
url = "https://own.example/posts"
query = { since = "{{ since }}" }
headers = { X-Token = "{{ secret.token }}" }
status = 200
pointer = "/ok"
equals = true
list = "/posts"
match_url = "/link"
match_text = ["/text", "/html"]
id = "/id"
post_url_template = "https://own.example/{{ id }}"
time = "/at"
only = { "/by" = "me" }
covers = "older"
page_size = 3
"#;

fn lookup_config() -> ChannelConfig {
    config(&format!(
        "{OWN}request = {{ url = \"https://own.example/posts\" }}\n{LOOKUP}"
    ))
}

fn post(id: u32, fields: &Value) -> Value {
    let mut post = json!({ "id": id, "by": "me", "at": "2026-11-29T10:00:01Z" });
    let all = post.as_object_mut().unwrap();
    all.extend(fields.as_object().unwrap().clone());
    post
}

fn look(act: Act) -> String {
    let server = Server::start([act]);
    let config = on_server(lookup_config(), &server);
    let claim = full_claim(&config);
    server.without_port(&tell_lookup(&channel(&config, &server).lookup(&claim)))
}

fn look_among(posts: &[Value]) -> String {
    look(json_answer(
        200,
        &json!({ "ok": true, "posts": posts }).to_string(),
    ))
}

#[test]
fn a_post_is_known_by_its_address_exactly() {
    let older = post(1, &json!({ "at": "2026-11-29T09:59:59Z" }));
    let check = |fields: Value| look_among(&[post(7, &fields), older.clone()]);
    let found = "found 7 https://own.example/7";
    assert_eq!(check(json!({ "link": ARTICLE })), found);
    assert_eq!(check(json!({ "link": "http://blog.example/a#x" })), found);
    assert_eq!(
        check(json!({ "text": format!("New: <{ARTICLE}|Hello>") })),
        found
    );
    assert_eq!(
        check(json!({ "text": format!("Read it ({ARTICLE}).") })),
        found
    );
    assert_eq!(
        check(json!({ "html": format!("<a href=\"{ARTICLE}\">x</a>") })),
        found
    );
    for other in [
        "https://blog.example/a-2",
        "https://blog.example/a/",
        "https://blog.example/",
    ] {
        assert_eq!(check(json!({ "link": other })), "absent", "{other}");
        assert_eq!(check(json!({ "text": other })), "absent", "{other}");
    }
    assert_eq!(check(json!({ "link": ARTICLE, "by": "you" })), "absent");
    assert_eq!(
        check(json!({ "link": ARTICLE, "at": "2026-11-29T09:59:58Z" })),
        "absent"
    );
    assert_eq!(
        check(json!({ "link": ARTICLE, "at": null })),
        "cannot tell: a post of this article has no date"
    );
    assert_eq!(
        check(json!({ "link": ARTICLE, "id": null })),
        "cannot tell: a post of this article has no id"
    );
    let twice = [
        post(7, &json!({ "link": ARTICLE })),
        post(8, &json!({ "link": ARTICLE })),
    ];
    assert_eq!(
        look_among(&twice),
        "several: 7 https://own.example/7, 8 https://own.example/8"
    );
}

#[test]
fn only_a_list_that_reaches_back_far_enough_proves_absence() {
    let new = post(1, &json!({ "link": "https://blog.example/b" }));
    let old = post(2, &json!({ "at": "2026-11-29T09:00:00Z" }));
    assert_eq!(look_among(&[]), "absent");
    assert_eq!(look_among(&[new.clone(), new.clone()]), "absent");
    let short = "cannot tell: the list of posts does not reach back past the claim";
    assert_eq!(look_among(&[new.clone(), new.clone(), new.clone()]), short);
    assert_eq!(look_among(&[new.clone(), new.clone(), old]), "absent");
}

#[test]
fn a_list_that_is_none_tells_nothing() {
    let list = r#"{"ok":true,"posts":[]}"#;
    insta::assert_snapshot!(
        [
            look(json_answer(200, r#"{"ok":false}"#)),
            look(json_answer(200, r#"{"ok":true,"posts":{}}"#)),
            look(json_answer(401, r#"{"ok":true}"#)),
            look(answer(200, "Age: 30\r\n", list)),
            look(super::server::cut(200, list)),
            look(Act::HangUp),
        ]
        .join("\n"),
        @r#"
    cannot tell: HTTP 200: {"ok":false}
    cannot tell: there is no list at `/posts`: HTTP 200: {"ok":true,"posts":{}}
    cannot tell: HTTP 401: {"ok":true}
    cannot tell: the answer is 30 s old, from a cache on the way
    cannot tell: HTTP 200: {"ok":true,"posts":[]} (cut short)
    cannot tell: the answer of 127.0.0.1 was lost: Peer disconnected
    "#
    );
}

#[test]
fn a_lookup_asks_for_what_the_declaration_says() {
    let server = Server::start([json_answer(200, r#"{"ok":true,"posts":[]}"#)]);
    let config = on_server(lookup_config(), &server);
    let claim = full_claim(&config);
    assert_eq!(
        tell_lookup(&channel(&config, &server).lookup(&claim)),
        "absent"
    );
    insta::assert_snapshot!(server.requests().join("\n"), @r"
    GET /posts?since=1795942800 HTTP/1.1
    accept-encoding: gzip
    user-agent: sayonce/VERSION
    host: server
    accept: application/json
    cache-control: no-cache
    x-token: s3cret-value
    ");
}

#[test]
fn the_first_read_of_a_run_shows_every_link() {
    let posts = [
        post(
            1,
            &json!({ "link": ARTICLE, "text": "and https://other.example/x." }),
        ),
        post(2, &json!({ "by": "you", "link": ARTICLE })),
    ];
    let server = Server::start([json_answer(
        200,
        &json!({ "ok": true, "posts": posts }).to_string(),
    )]);
    let config = on_server(lookup_config(), &server);
    let mut channel = channel(&config, &server);
    let listing = channel.recent(Timestamp::parse("2026-11-29T09:00:00Z").unwrap());
    insta::assert_snapshot!(tell_listing(&listing), @"post 1 https://own.example/1 at 2026-11-29T10:00:01.000Z: https://blog.example/a https://other.example/x. https://other.example/x");
    assert!(channel.reached());
}

#[test]
fn without_a_lookup_nothing_is_read() {
    let lines = format!("{OWN}request = {{ url = \"https://own.example/posts\" }}");
    let server = Server::start([]);
    let config = on_server(config(&lines), &server);
    let claim = full_claim(&config);
    let mut channel = channel(&config, &server);
    assert_eq!(
        tell_lookup(&channel.lookup(&claim)),
        "cannot tell: the declaration has no `lookup`, so nothing can be read back"
    );
}
