//! Each preset: the request as it goes out, and what each answer of the service means.

use sayonce::channel::registry::build;
use sayonce::environment::Environment;

use super::http::{channel, config, on_server, outcome, publish};
use super::http_prepare::unmade;
use super::server::{Act, Server, answer, json};
use super::{TestClock, site, tell, tell_lookup, tell_opening};

const PRESETS: [(&str, &str); 13] = [
    (
        "custom",
        r#"values = { endpoint = "https://own.example/posts" }"#,
    ),
    ("discord", ""),
    ("slack-webhook", ""),
    ("slack", r#"values = { channel = "C0123456789" }"#),
    ("telegram", r#"values = { chat = "@blog" }"#),
    ("weibo", r#"values = { ip = "192.0.2.1", uid = 4711 }"#),
    (
        "micropub",
        r#"values = { endpoint = "https://second.example/micropub" }"#,
    ),
    ("linkedin", r#"values = { author = "urn:li:person:x" }"#),
    (
        "wordpress",
        r#"values = { server = "https://wordpress.example", author = 7 }"#,
    ),
    ("ghost", r#"values = { server = "https://ghost.example/" }"#),
    ("threads", "values = { user = 17 }"),
    (
        "webmention",
        r#"values = { endpoint = "https://bridge.example/webmention", target = "https://bridge.example/" }"#,
    ),
    (
        "websub",
        r#"values = { hub = "https://hub.example/", topic = "https://blog.example/feed.xml" }"#,
    ),
];

fn lines(preset: &str) -> String {
    let (_, values) = PRESETS.iter().find(|(name, _)| *name == preset).unwrap();
    format!("preset = \"{preset}\"\n{values}")
}

#[test]
fn every_preset_loads_with_its_policy_and_limit() {
    let names: Vec<&str> = sayonce::config::http::PRESETS
        .iter()
        .map(|preset| preset.name)
        .collect();
    assert_eq!(names, PRESETS.map(|(name, _)| name));
    let table: Vec<String> = names
        .iter()
        .map(|name| {
            let config = config(&lines(name));
            let declaration = config.declaration().unwrap();
            format!(
                "{name}: {}, {} ms, {:?} {:?}, precheck {}",
                config.rules.policy.label(),
                config.rules.interval.as_millis(),
                declaration.limit,
                declaration.count,
                config.rules.precheck,
            )
        })
        .collect();
    insta::assert_snapshot!(table.join("\n"), @r"
    custom: keyed, 1000 ms, None Graphemes, precheck false
    discord: at_most_once, 2000 ms, Some(2000) Utf16, precheck false
    slack-webhook: at_most_once, 1000 ms, Some(4000) Utf16, precheck false
    slack: verified, 1000 ms, Some(4000) Utf16, precheck false
    telegram: at_most_once, 3000 ms, Some(4096) Utf16, precheck false
    weibo: at_most_once, 120000 ms, Some(140) Weibo, precheck false
    micropub: at_most_once, 1000 ms, None Graphemes, precheck false
    linkedin: at_most_once, 1000 ms, Some(3000) Utf16, precheck false
    wordpress: verified, 1000 ms, None Graphemes, precheck true
    ghost: verified, 1000 ms, None Graphemes, precheck true
    threads: verified, 1000 ms, Some(500) Threads, precheck true
    webmention: at_least_once, 1000 ms, None Graphemes, precheck false
    websub: at_least_once, 1000 ms, None Graphemes, precheck false
    ");
}

/// A preset stands in the repository for people to read: everything that it needs from them is said in it.
#[test]
fn a_preset_without_its_values_says_what_is_needed() {
    let text = |preset: &str| {
        format!(
            "[site]\nurl = \"https://blog.example\"\nfeed = \"f.xml\"\n[channels.c]\nkind = \"http\"\npreset = \"{preset}\"\n"
        )
    };
    let told: Vec<String> = PRESETS
        .iter()
        .map(|(preset, _)| {
            let parsed =
                sayonce::config::Config::parse(std::path::Path::new("sayonce.toml"), &text(preset));
            let told = parsed.map_or_else(|error| error.to_string(), |_| "ok".to_owned());
            // The same value is missed in each request.
            let mut lines: Vec<&str> = Vec::new();
            for line in told.lines() {
                if (line.contains("hint") || line == "ok") && !lines.contains(&line) {
                    lines.push(line);
                }
            }
            format!("{preset}\n{}", lines.join("\n"))
        })
        .collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    custom
      hint: write `values.endpoint = "…"`: the address that takes posts, such as `https://api.blog.example/posts`
    discord
    ok
    slack-webhook
    ok
    slack
      hint: write `values.channel = "…"`: the channel's id, such as `C0123456789`
    telegram
      hint: write `values.chat = "…"`: the channel's `@name`, or its number
    weibo
      hint: write `values.uid = "…"`: the account's number (`uid`), which stands in the address of its page: whose posts these are
      hint: write `values.ip = "…"`: the public address (IPv4) of whoever posts, which Weibo requires as `rip`
    micropub
      hint: write `values.endpoint = "…"`: the server's Micropub endpoint
    linkedin
      hint: write `values.author = "…"`: who posts, such as `urn:li:person:…` or `urn:li:organization:…`
    wordpress
      hint: write `values.author = "…"`: the user's number, which the address of the profile has (`user_id=`): whose posts are looked through
      hint: write `values.server = "…"`: the site, such as `https://wordpress.example`
    ghost
      hint: write `values.server = "…"`: the site's own address in Ghost, such as `https://blog.ghost.example`
    threads
      hint: write `values.user = "…"`: the account's number, the `id` that `https://graph.threads.net/v1.0/me?fields=id&access_token=…` answers
    webmention
      hint: write `values.endpoint = "…"`: the target's Webmention endpoint
      hint: write `values.target = "…"`: the address that the article mentions
    websub
      hint: write `values.hub = "…"`: the hub that the feed names, such as `https://hub.example/`
      hint: write `values.topic = "…"`: the feed's own address, as its `rel=self` says
    "#);
}

#[test]
fn every_request_is_as_its_service_wants_it() {
    let requests: Vec<String> = PRESETS
        .iter()
        .map(|(preset, _)| publish(&lines(preset), json(200, "{}")).1)
        .map(|request| {
            let noise = [
                "accept-encoding:",
                "content-length:",
                "user-agent:",
                "host:",
                "accept:",
            ];
            let kept = request
                .lines()
                .filter(|line| !noise.iter().any(|start| line.starts_with(start)));
            kept.collect::<Vec<_>>().join("\n")
        })
        .collect();
    insta::assert_snapshot!(requests.join("\n---\n"), @r#"
    POST /posts HTTP/1.1
    cache-control: no-cache
    content-type: application/json; charset=utf-8
    authorization: Bearer s3cret-value
    idempotency-key: so1-5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f

    {"text":"Hello & <you>\n\nhttps://blog.example/a","title":"Hello & <you>","url":"https://blog.example/a","tags":["static site","rust"]}
    ---
    POST /hooks/123/s3cret-value?wait=true HTTP/1.1
    cache-control: no-cache
    content-type: application/json; charset=utf-8

    {"content":"Hello & <you>\n\nhttps://blog.example/a","allowed_mentions":{"parse":[]}}
    ---
    POST /hooks/123/s3cret-value HTTP/1.1
    cache-control: no-cache
    content-type: application/json; charset=utf-8

    {"text":"Hello &amp; &lt;you&gt;\n\nhttps://blog.example/a"}
    ---
    POST /api/chat.postMessage HTTP/1.1
    cache-control: no-cache
    content-type: application/json; charset=utf-8
    authorization: Bearer s3cret-value

    {"channel":"C0123456789","text":"Hello &amp; &lt;you&gt;\n\nhttps://blog.example/a","metadata":{"event_type":"sayonce","event_payload":{"key":"so1-5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f"}}}
    ---
    POST /bots3cret-value/sendMessage HTTP/1.1
    cache-control: no-cache
    content-type: application/json; charset=utf-8

    {"chat_id":"@blog","text":"Hello & <you>\n\nhttps://blog.example/a"}
    ---
    POST /2/statuses/share.json HTTP/1.1
    cache-control: no-cache
    content-type: application/x-www-form-urlencoded

    access_token=s3cret-value&status=Hello+%26+%3Cyou%3E%0A%0Ahttps%3A%2F%2Fblog.example%2Fa&rip=192.0.2.1
    ---
    POST /micropub HTTP/1.1
    cache-control: no-cache
    content-type: application/json; charset=utf-8
    authorization: Bearer s3cret-value

    {"type":["h-entry"],"properties":{"content":["Hello & <you>\n\nhttps://blog.example/a"],"category":["static site","rust"]}}
    ---
    POST /rest/posts HTTP/1.1
    cache-control: no-cache
    content-type: application/json; charset=utf-8
    authorization: Bearer s3cret-value
    linkedin-version: 202610
    x-restli-protocol-version: 2.0.0

    {"author":"urn:li:person:x","commentary":"Hello & \\<you\\>\n\nhttps://blog.example/a","visibility":"PUBLIC","distribution":{"feedDistribution":"MAIN_FEED","targetEntities":[],"thirdPartyDistributionChannels":[]},"content":{"article":{"source":"https://blog.example/a","title":"Hello & <you>","description":"A \"first\" post"}},"lifecycleState":"PUBLISHED","isReshareDisabledByAuthor":false}
    ---
    POST /wp-json/wp/v2/posts HTTP/1.1
    cache-control: no-cache
    content-type: application/json; charset=utf-8
    authorization: Basic czNjcmV0LXZhbHVlOnMzY3JldC12YWx1ZQ==

    {"title":"Hello & <you>","content":"<p>A &quot;first&quot; post</p>\n<p><a href=\"https://blog.example/a\">https://blog.example/a</a></p>","status":"publish"}
    ---
    POST /ghost/api/admin/posts/?source=html HTTP/1.1
    cache-control: no-cache
    content-type: application/json; charset=utf-8
    authorization: Ghost eyJhbGciOiJIUzI1NiIsImtpZCI6IjY3NDg1OTJmNGI5Yjc3MDAwMTBmNjU2NCIsInR5cCI6IkpXVCJ9.eyJpYXQiOjE3OTU5NDY0MDAsImV4cCI6MTc5NTk0NjcwMCwiYXVkIjoiL2FkbWluLyJ9.lisRT4C0Qop4IpngEO2SGCueX-NvJXge7VzGNcPlTCg
    accept-version: v5.0

    {"posts":[{"title":"Hello & <you>","html":"<p>A &quot;first&quot; post</p>\n<p><a href=\"https://blog.example/a\">https://blog.example/a</a></p>","canonical_url":"https://blog.example/a","tags":["static site","rust"],"status":"published"}]}
    ---
    POST /v1.0/17/threads_publish HTTP/1.1
    cache-control: no-cache
    content-type: application/x-www-form-urlencoded

    creation_id=18&access_token=s3cret-value
    ---
    POST /webmention HTTP/1.1
    cache-control: no-cache
    content-type: application/x-www-form-urlencoded

    source=https%3A%2F%2Fblog.example%2Fa&target=https%3A%2F%2Fbridge.example%2F
    ---
    POST / HTTP/1.1
    cache-control: no-cache
    content-type: application/x-www-form-urlencoded

    hub.mode=publish&hub.url=https%3A%2F%2Fblog.example%2Ffeed.xml&hub.topic=https%3A%2F%2Fblog.example%2Ffeed.xml
    "#);
}

fn check(preset: &str, acts: &[Act]) -> String {
    let lines = lines(preset);
    acts.iter()
        .map(|act| outcome(&lines, act.clone()))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn custom() {
    insta::assert_snapshot!(check("custom", &[
        json(201, r#"{"id":"7","url":"https://own.example/7"}"#),
        json(200, r#"{"id":7}"#),
        json(201, "{}"),
        json(422, "{}"),
        json(401, "{}"),
        answer(429, "Retry-After: 3\r\n", ""),
        json(409, "{}"),
        json(500, "{}"),
    ]), @r"
    accepted by response: 7 https://own.example/7
    accepted by response: 7 none
    in doubt: HTTP 201: {}
    refused permanently: HTTP 422: {}
    refused for our credentials: HTTP 401: {}
    refused for too many requests (wait 3000 ms): HTTP 429
    in doubt: HTTP 409: {}
    in doubt: HTTP 500: {}
    ");
}

#[test]
fn discord() {
    insta::assert_snapshot!(check("discord", &[
        json(200, r#"{"id":"1423000000000000001","type":0,"channel_id":"1"}"#),
        // Without `wait=true` nothing is said of the message.
        answer(204, "", ""),
        answer(429, "Retry-After: 65\r\n", r#"{"message":"You are being rate limited.","retry_after":64.57,"global":false}"#),
        json(400, r#"{"message":"Cannot send an empty message","code":50006}"#),
        json(400, r#"{"message":"Webhooks posted to forum channels must have a thread_name or thread_id","code":220001}"#),
        json(404, r#"{"message":"Unknown Webhook","code":10015}"#),
        answer(403, "", "error code: 1015"),
        json(502, "{}"),
    ]), @r#"
    accepted by response: 1423000000000000001 none
    in doubt: HTTP 204
    refused for too many requests (wait 64570 ms): HTTP 429: {"message":"You are being rate limited.","retry_after":64.57,"global":false}
    refused permanently: HTTP 400: {"message":"Cannot send an empty message","code":50006}
    refused for our credentials: HTTP 400: {"message":"Webhooks posted to forum channels must have a thread_name or thread_id","code":220001}
    refused for our credentials: HTTP 404: {"message":"Unknown Webhook","code":10015}
    refused for our credentials: HTTP 403: error code: 1015
    in doubt: HTTP 502: {}
    "#);
}

#[test]
fn slack_webhook() {
    insta::assert_snapshot!(check("slack-webhook", &[
        answer(200, "", "ok"),
        answer(200, "", "<html>login</html>"),
        answer(400, "", "invalid_payload"),
        answer(403, "", "action_prohibited"),
        answer(404, "", "no_service"),
        answer(410, "", "channel_is_archived"),
        answer(429, "Retry-After: 1\r\n", "rate_limited"),
        answer(500, "", "rollup_error"),
    ]), @r"
    accepted by response: none none
    in doubt: HTTP 200: <html>login</html>
    refused permanently: HTTP 400: invalid_payload
    refused for our credentials: HTTP 403: action_prohibited
    refused for our credentials: HTTP 404: no_service
    refused for our credentials: HTTP 410: channel_is_archived
    refused for too many requests (wait 1000 ms): HTTP 429: rate_limited
    in doubt: HTTP 500: rollup_error
    ");
}

#[test]
fn slack() {
    insta::assert_snapshot!(check("slack", &[
        json(200, r#"{"ok":true,"channel":"C1","ts":"1795953600.000100"}"#),
        json(200, r#"{"ok":true}"#),
        json(200, r#"{"ok":false,"error":"not_in_channel"}"#),
        json(200, r#"{"ok":false,"error":"restricted_action_read_only_channel"}"#),
        json(200, r#"{"ok":false,"error":"msg_too_long"}"#),
        json(200, r#"{"ok":false,"error":"request_timeout"}"#),
        json(200, r#"{"ok":false,"error":"message_limit_exceeded"}"#),
        json(200, r#"{"ok":false,"error":"ratelimited"}"#),
        answer(429, "Retry-After: 30\r\n", ""),
        json(200, r#"{"ok":false,"error":"fatal_error"}"#),
        json(500, r#"{"ok":false,"error":"internal_error"}"#),
    ]), @r#"
    accepted by response: 1795953600.000100 none
    in doubt: HTTP 200: {"ok":true}
    refused for our credentials: HTTP 200: {"ok":false,"error":"not_in_channel"}
    refused for our credentials: HTTP 200: {"ok":false,"error":"restricted_action_read_only_channel"}
    refused permanently: HTTP 200: {"ok":false,"error":"msg_too_long"}
    refused for now: HTTP 200: {"ok":false,"error":"request_timeout"}
    refused for too many requests: HTTP 200: {"ok":false,"error":"message_limit_exceeded"}
    refused for too many requests: HTTP 200: {"ok":false,"error":"ratelimited"}
    refused for too many requests (wait 30000 ms): HTTP 429
    in doubt: HTTP 200: {"ok":false,"error":"fatal_error"}
    in doubt: HTTP 500: {"ok":false,"error":"internal_error"}
    "#);
}

#[test]
fn telegram() {
    insta::assert_snapshot!(check("telegram", &[
        json(200, r#"{"ok":true,"result":{"message_id":42,"date":1795953600,"text":"x"}}"#),
        json(429, r#"{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 34","parameters":{"retry_after":34}}"#),
        json(400, r#"{"ok":false,"error_code":400,"description":"Bad Request: chat not found"}"#),
        json(400, r#"{"ok":false,"error_code":400,"description":"Bad Request: need administrator rights in the channel chat"}"#),
        json(400, r#"{"ok":false,"error_code":400,"description":"Bad Request: group chat was upgraded to a supergroup chat","parameters":{"migrate_to_chat_id":-100}}"#),
        json(400, r#"{"ok":false,"error_code":400,"description":"Bad Request: CHAT_WRITE_FORBIDDEN"}"#),
        json(400, r#"{"ok":false,"error_code":400,"description":"Bad Request: message is too long"}"#),
        json(401, r#"{"ok":false,"error_code":401,"description":"Unauthorized"}"#),
        json(403, r#"{"ok":false,"error_code":403,"description":"Forbidden: bot was kicked from the channel chat"}"#),
        answer(403, "", "<html>blocked</html>"),
        json(200, r#"{"ok":false}"#),
        json(502, r#"{"ok":false,"error_code":502}"#),
    ]), @r#"
    accepted by response: 42 https://t.me/blog/42
    refused for too many requests (wait 34000 ms): HTTP 429: {"ok":false,"error_code":429,"description":"Too Many Requests: retry after 34","parameters":{"retry_after":34}}
    refused for our credentials: HTTP 400: {"ok":false,"error_code":400,"description":"Bad Request: chat not found"}
    refused for our credentials: HTTP 400: {"ok":false,"error_code":400,"description":"Bad Request: need administrator rights in the channel chat"}
    refused for our credentials: HTTP 400: {"ok":false,"error_code":400,"description":"Bad Request: group chat was upgraded to a supergroup chat","parameters":{"migrate_to_chat_id":-100}}
    refused for our credentials: HTTP 400: {"ok":false,"error_code":400,"description":"Bad Request: CHAT_WRITE_FORBIDDEN"}
    refused permanently: HTTP 400: {"ok":false,"error_code":400,"description":"Bad Request: message is too long"}
    refused for our credentials: HTTP 401: {"ok":false,"error_code":401,"description":"Unauthorized"}
    refused for our credentials: HTTP 403: {"ok":false,"error_code":403,"description":"Forbidden: bot was kicked from the channel chat"}
    in doubt: HTTP 403: <html>blocked</html>
    in doubt: HTTP 200: {"ok":false}
    in doubt: HTTP 502: {"ok":false,"error_code":502}
    "#);
}

#[test]
fn weibo() {
    let code = |status: u16, code: u32| {
        json(
            status,
            &format!(r#"{{"request":"/2/statuses/share.json","error_code":{code},"error":"x"}}"#),
        )
    };
    insta::assert_snapshot!(check("weibo", &[
        json(200, r#"{"id":5000000000000001,"idstr":"5000000000000001","text":"x"}"#),
        code(400, 20032),
        code(400, 20017),
        code(400, 20019),
        code(400, 20111),
        code(403, 10023),
        code(400, 20012),
        code(403, 21327),
        code(503, 10001),
        code(400, 99999),
    ]), @r#"
    accepted by response: 5000000000000001 none
    accepted by response: none none
    in doubt: it may be there already: HTTP 400: {"request":"/2/statuses/share.json","error_code":20017,"error":"x"}
    in doubt: it may be there already: HTTP 400: {"request":"/2/statuses/share.json","error_code":20019,"error":"x"}
    in doubt: it may be there already: HTTP 400: {"request":"/2/statuses/share.json","error_code":20111,"error":"x"}
    refused for too many requests (wait 3600000 ms): HTTP 403: {"request":"/2/statuses/share.json","error_code":10023,"error":"x"}
    refused permanently: HTTP 400: {"request":"/2/statuses/share.json","error_code":20012,"error":"x"}
    refused for our credentials: HTTP 403: {"request":"/2/statuses/share.json","error_code":21327,"error":"x"}
    in doubt: HTTP 503: {"request":"/2/statuses/share.json","error_code":10001,"error":"x"}
    in doubt: HTTP 400: {"request":"/2/statuses/share.json","error_code":99999,"error":"x"}
    "#);
}

#[test]
fn micropub() {
    insta::assert_snapshot!(check("micropub", &[
        answer(201, "Location: https://second.example/2026/1\r\n", ""),
        answer(202, "Location: https://second.example/2026/1\r\n", ""),
        answer(201, "", ""),
        json(400, r#"{"error":"invalid_request"}"#),
        json(401, r#"{"error":"insufficient_scope"}"#),
        json(403, r#"{"error":"forbidden"}"#),
        answer(403, "", "<html>blocked</html>"),
        answer(500, "", ""),
    ]), @r#"
    accepted by response: https://second.example/2026/1 https://second.example/2026/1
    accepted by response: https://second.example/2026/1 https://second.example/2026/1
    in doubt: HTTP 201
    refused permanently: HTTP 400: {"error":"invalid_request"}
    refused for our credentials: HTTP 401: {"error":"insufficient_scope"}
    refused for our credentials: HTTP 403: {"error":"forbidden"}
    in doubt: HTTP 403: <html>blocked</html>
    in doubt: HTTP 500
    "#);
}

#[test]
fn linkedin() {
    insta::assert_snapshot!(check("linkedin", &[
        answer(201, "x-restli-id: urn:li:share:7\r\n", ""),
        answer(201, "", ""),
        json(422, r#"{"status":422,"code":"DUPLICATE_POST","message":"Content is a duplicate of urn:li:share:7"}"#),
        json(422, r#"{"status":422,"message":"text is too long"}"#),
        json(426, r#"{"status":426,"code":"NONEXISTENT_VERSION"}"#),
        json(401, r#"{"status":401}"#),
        json(429, r#"{"status":429}"#),
        json(500, r#"{"status":500}"#),
    ]), @r#"
    accepted by response: urn:li:share:7 https://www.linkedin.com/feed/update/urn:li:share:7/
    in doubt: HTTP 201
    in doubt: it may be there already: HTTP 422: {"status":422,"code":"DUPLICATE_POST","message":"Content is a duplicate of urn:li:share:7"}
    refused permanently: HTTP 422: {"status":422,"message":"text is too long"}
    refused for our credentials: HTTP 426: {"status":426,"code":"NONEXISTENT_VERSION"}
    refused for our credentials: HTTP 401: {"status":401}
    refused for too many requests: HTTP 429: {"status":429}
    in doubt: HTTP 500: {"status":500}
    "#);
}

#[test]
fn wordpress() {
    insta::assert_snapshot!(check("wordpress", &[
        json(201, r#"{"id":12,"link":"https://wordpress.example/?p=12"}"#),
        json(400, r#"{"code":"rest_invalid_param"}"#),
        json(401, r#"{"code":"rest_cannot_create"}"#),
        answer(200, "", "<html>"),
        json(500, r#"{"code":"db_insert_error"}"#),
    ]), @r#"
    accepted by response: 12 https://wordpress.example/?p=12
    refused permanently: HTTP 400: {"code":"rest_invalid_param"}
    refused for our credentials: HTTP 401: {"code":"rest_cannot_create"}
    in doubt: HTTP 200: <html>
    in doubt: HTTP 500: {"code":"db_insert_error"}
    "#);
}

#[test]
fn ghost() {
    let post = r#"{"posts":[{"id":"6748","url":"https://ghost.example/a/"}]}"#;
    let error = |sort: &str| format!(r#"{{"errors":[{{"type":"{sort}"}}]}}"#);
    insta::assert_snapshot!(check("ghost", &[
        json(201, post),
        json(201, r#"{"posts":[]}"#),
        json(422, &error("ValidationError")),
        json(401, &error("UnauthorizedError")),
        json(403, &error("NoPermissionError")),
        json(429, &error("TooManyRequestsError")),
        json(406, &error("RequestNotAcceptableError")),
        json(409, &error("UpdateCollisionError")),
        json(500, &error("InternalServerError")),
    ]), @r#"
    accepted by response: 6748 https://ghost.example/a/
    in doubt: HTTP 201: {"posts":[]}
    refused permanently: HTTP 422: {"errors":[{"type":"ValidationError"}]}
    refused for our credentials: HTTP 401: {"errors":[{"type":"UnauthorizedError"}]}
    refused for our credentials: HTTP 403: {"errors":[{"type":"NoPermissionError"}]}
    refused for too many requests: HTTP 429: {"errors":[{"type":"TooManyRequestsError"}]}
    refused for our credentials: HTTP 406: {"errors":[{"type":"RequestNotAcceptableError"}]}
    in doubt: HTTP 409: {"errors":[{"type":"UpdateCollisionError"}]}
    in doubt: HTTP 500: {"errors":[{"type":"InternalServerError"}]}
    "#);
}

#[test]
fn every_request_to_ghost_is_signed_and_neither_key_nor_token_is_shown() {
    let key = format!("6748592f4b9b7700010f6564:{}", "5a".repeat(32));
    let token = sayonce::config::http::environment()
        .render_str(
            "{{ key | jwt_hs256(now, audience='/admin/') }}",
            minijinja::context! { key => &key, now => 1_795_946_400_i64 },
        )
        .unwrap();
    // A service that gives back what it got.
    let echo = format!(
        r#"{{"key":"{key}","hex":"{}","token":"{token}"}}"#,
        "5a".repeat(32)
    );
    let (told, request) = publish(&lines("ghost"), json(500, &echo));
    let request = request.replace(&token, "TOKEN");
    assert!(
        request.contains("\nauthorization: Ghost TOKEN\n"),
        "{request}"
    );
    assert!(request.starts_with("POST /ghost/api/admin/posts/?source=html HTTP/1.1\n"));
    let body = request.lines().last().unwrap();
    assert_eq!(
        body,
        r#"{"posts":[{"title":"Hello & <you>","html":"<p>A &quot;first&quot; post</p>\n<p><a href=\"https://blog.example/a\">https://blog.example/a</a></p>","canonical_url":"https://blog.example/a","tags":["static site","rust"],"status":"published"}]}"#
    );
    assert_eq!(
        tell(&told),
        r#"in doubt: HTTP 500: {"key":"***","hex":"***","token":"***"}"#
    );
}

#[test]
fn a_key_that_cannot_sign_closes_the_channel_and_is_not_repeated() {
    let config = config(&lines("ghost"));
    let environment = Environment::default().with("GHOST_ADMIN_API_KEY", "6748592f:not-hex-4711");
    let mut channel = build(&config, &site(), &environment, TestClock::still()).unwrap();
    assert_eq!(
        tell_opening(&channel.open()),
        "closed, credentials: a template of the declaration can't be filled: the key for the token is not of the form `ID:SECRET` with a secret in hex digits"
    );
}

#[test]
fn ghost_is_looked_through_by_the_canonical_address() {
    let post = |canonical: &str| {
        format!(
            r#"{{"posts":[{{"id":"6748","url":"https://ghost.example/a/","canonical_url":{canonical},"created_at":"2026-11-29T10:00:05.000Z"}}]}}"#
        )
    };
    let told = [
        look("ghost", &post("\"https://blog.example/a\"")),
        look("ghost", &post("null")),
        look("ghost", r#"{"errors":[{"type":"UnauthorizedError"}]}"#),
    ];
    insta::assert_snapshot!(told.join("\n"), @r#"
    GET /ghost/api/admin/posts/?limit=100&order=created_at+desc HTTP/1.1
    found 6748 https://ghost.example/a/
    GET /ghost/api/admin/posts/?limit=100&order=created_at+desc HTTP/1.1
    absent
    GET /ghost/api/admin/posts/?limit=100&order=created_at+desc HTTP/1.1
    cannot tell: there is no list at `/posts`: HTTP 200: {"errors":[{"type":"UnauthorizedError"}]}
    "#);
}

#[test]
fn threads_is_looked_through_by_the_link() {
    let post = |link: &str, time: &str| {
        format!(
            r#"{{"data":[{{"id":"17","permalink":"https://www.threads.net/@blog/post/x","text":"Hello","link_attachment_url":"{link}","timestamp":"{time}"}}]}}"#
        )
    };
    let told = [
        look(
            "threads",
            &post("https://blog.example/a", "2026-11-29T10:00:05+0000"),
        ),
        look(
            "threads",
            &post("https://blog.example/b", "2026-11-29T10:00:05+0000"),
        ),
        look(
            "threads",
            &post("https://blog.example/a", "2026-11-28T10:00:05+0000"),
        ),
    ];
    let told = told
        .join("\n")
        .replace("access_token=s3cret-value", "access_token=TOKEN");
    insta::assert_snapshot!(told, @r"
    GET /v1.0/17/threads?fields=id%2Cpermalink%2Ctext%2Ctimestamp%2Clink_attachment_url&limit=100&access_token=TOKEN HTTP/1.1
    found 17 https://www.threads.net/@blog/post/x
    GET /v1.0/17/threads?fields=id%2Cpermalink%2Ctext%2Ctimestamp%2Clink_attachment_url&limit=100&access_token=TOKEN HTTP/1.1
    absent
    GET /v1.0/17/threads?fields=id%2Cpermalink%2Ctext%2Ctimestamp%2Clink_attachment_url&limit=100&access_token=TOKEN HTTP/1.1
    absent
    ");
}

#[test]
fn pings() {
    let acts = |statuses: &[u16]| -> Vec<Act> {
        statuses
            .iter()
            .map(|status| answer(*status, "", ""))
            .collect()
    };
    insta::assert_snapshot!(check("webmention", &acts(&[200, 201, 202, 400, 403, 429, 404, 500])), @r"
    accepted by response: none none
    accepted by response: none none
    accepted by response: none none
    refused permanently: HTTP 400
    refused for our credentials: HTTP 403
    refused for too many requests: HTTP 429
    in doubt: HTTP 404
    in doubt: HTTP 500
    ");
    insta::assert_snapshot!(check("websub", &acts(&[200, 202, 204, 400, 404, 429, 500])), @r"
    accepted by response: none none
    accepted by response: none none
    accepted by response: none none
    refused permanently: HTTP 400
    refused permanently: HTTP 404
    refused for too many requests: HTTP 429
    in doubt: HTTP 500
    ");
    let told = publish(&lines("websub"), Act::HangUp).0;
    assert!(tell(&told).starts_with("in doubt: "), "{}", tell(&told));
}

/// Looks for the post of a claim; tells what is found, and what was asked.
fn look(preset: &str, body: &str) -> String {
    let server = Server::start([json(200, body)]);
    let config = on_server(config(&lines(preset)), &server);
    let claim = unmade(&config);
    let told = tell_lookup(&channel(&config, &server).lookup(&claim));
    let asked = server.requests().join("\n");
    format!("{}\n{told}", asked.lines().next().unwrap())
}

#[test]
fn slack_is_looked_through_by_the_key() {
    let key = format!("so1-{}", "5f".repeat(32));
    let message = |ts: &str, key: &str| {
        format!(
            r#"{{"ts":"{ts}","text":"<https://blog.example/a>","metadata":{{"event_type":"sayonce","event_payload":{{"key":"{key}"}}}}}}"#
        )
    };
    let list = |messages: &[String], has_more: bool| {
        let messages = messages.join(",");
        format!(r#"{{"ok":true,"messages":[{messages}],"has_more":{has_more}}}"#)
    };
    let ours = message("1795946401.000100", &key);
    // A clock that is behind does not hide what has the key.
    let early = message("1795946300.000100", &key);
    let other = message("1795946402.000100", "so1-0");
    let human = r#"{"ts":"1795946403.000100","text":"<https://blog.example/a>"}"#.to_owned();
    let told = [
        look("slack", &list(&[human.clone(), other.clone(), ours], false)),
        look("slack", &list(&[human.clone(), early], false)),
        look("slack", &list(&[human.clone(), other.clone()], false)),
        look("slack", &list(&[human, other], true)),
        look("slack", r#"{"ok":false,"error":"missing_scope"}"#),
    ];
    insta::assert_snapshot!(told.join("\n"), @r#"
    GET /api/conversations.history?channel=C0123456789&oldest=1795942800&limit=200&include_all_metadata=true HTTP/1.1
    found 1795946401.000100 none
    GET /api/conversations.history?channel=C0123456789&oldest=1795942800&limit=200&include_all_metadata=true HTTP/1.1
    found 1795946300.000100 none
    GET /api/conversations.history?channel=C0123456789&oldest=1795942800&limit=200&include_all_metadata=true HTTP/1.1
    absent
    GET /api/conversations.history?channel=C0123456789&oldest=1795942800&limit=200&include_all_metadata=true HTTP/1.1
    cannot tell: the list of posts does not reach back past the claim
    GET /api/conversations.history?channel=C0123456789&oldest=1795942800&limit=200&include_all_metadata=true HTTP/1.1
    cannot tell: HTTP 200: {"ok":false,"error":"missing_scope"}
    "#);
}

#[test]
fn wordpress_is_looked_through_by_the_link() {
    let post = |date: &str, link: &str| {
        format!(
            r#"[{{"id":12,"link":"https://wordpress.example/?p=12","date_gmt":"{date}","content":{{"raw":"<p><a href=\"{link}\">x</a></p>"}}}}]"#
        )
    };
    let told = [
        look(
            "wordpress",
            &post("2026-11-29T10:00:05", "https://blog.example/a"),
        ),
        look(
            "wordpress",
            &post("2026-11-29T10:00:05", "https://blog.example/a/b"),
        ),
        look(
            "wordpress",
            &post("2026-11-28T10:00:05", "https://blog.example/a"),
        ),
        look("wordpress", r#"{"code":"rest_forbidden"}"#),
    ];
    insta::assert_snapshot!(told.join("\n"), @r#"
    GET /wp-json/wp/v2/posts?author=7&per_page=100&orderby=date&status=any&context=edit HTTP/1.1
    found 12 https://wordpress.example/?p=12
    GET /wp-json/wp/v2/posts?author=7&per_page=100&orderby=date&status=any&context=edit HTTP/1.1
    absent
    GET /wp-json/wp/v2/posts?author=7&per_page=100&orderby=date&status=any&context=edit HTTP/1.1
    absent
    GET /wp-json/wp/v2/posts?author=7&per_page=100&orderby=date&status=any&context=edit HTTP/1.1
    cannot tell: there is no list at ``: HTTP 200: {"code":"rest_forbidden"}
    "#);
}
