//! What a declared channel changes, takes down, and reads of posts that stand.

use serde_json::{Value, json};

use sayonce::channel::Channel;
use sayonce::channel::registry::build;
use sayonce::config::ServiceConfig;
use sayonce::environment::Environment;
use sayonce::model::claim::Claim;
use sayonce::model::ids::Account;
use sayonce::model::outcome::{Opening, Remote};

use super::http::{channel, config};
use super::later::{change, effect, remote, removal, send};
use super::server::{Act, Server, answer, json as json_answer};
use super::{TestClock, site};

/// One's own server, whose posts can be read.
const READ: &str = r#"
secrets = { token = "TOKEN" }
request = { url = "https://own.example/posts", headers = { Authorization = "Bearer {{ secret.token }}" }, json = { text = "{{ text }}" } }
success = { status = 201 }
receipt = { id = "/id", url = "/url" }
[channels.own.update]
method = "PUT"
url = "https://own.example/posts/{{ id }}"
headers = { Authorization = "Bearer {{ secret.token }}" }
json = { text = "{{ text }}" }
status = 200
[[channels.own.update.answer]]
status = 409
pointer = "/code"
equals = "same"
means = "already"
[channels.own.retract]
method = "DELETE"
url = "https://own.example/posts/{{ id }}"
headers = { Authorization = "Bearer {{ secret.token }}" }
status = 204
[channels.own.read]
url = "https://own.example/posts/{{ id }}"
headers = { Authorization = "Bearer {{ secret.token }}" }
status = 200
gone = { status = 404, pointer = "/code", equals = "none" }
shows = { "/text" = "{{ text }}" }
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

pub(super) const ACCOUNT: &str = "http:own";
const POSTED: &str = "7 https://own.example/7";

fn target() -> Remote {
    remote("7", "https://own.example/7")
}

fn post() -> Value {
    json!({ "text": "New https://blog.example/a", "url": "https://blog.example/a", "title": "New" })
}

fn account_of(channel: &mut dyn Channel) -> String {
    match channel.open() {
        Opening::Ready(session) => session.account.to_string(),
        Opening::Closed { reason, .. } => reason,
    }
}

/// Directs a channel to a server on loopback as a rehearsal does.
fn open_channel(lines: &str, server: &Server) -> Box<dyn Channel> {
    let mut config = config(lines);
    let mut declaration = config.declaration().unwrap().clone();
    declaration.redirect = Some(server.url());
    config.service = ServiceConfig::Http(Box::new(declaration));
    channel(&config, server)
}

/// Stands for whoever the channel says that it is.
pub(super) const OWN: &str = "own";

pub(super) fn sent(
    lines: &str,
    claim: Claim,
    acts: impl IntoIterator<Item = Act>,
) -> (String, String) {
    let (told, requests) = sent_whole(lines, claim, acts);
    let lines: Vec<&str> = requests
        .iter()
        .map(|request| request.split(" HTTP").next().unwrap())
        .collect();
    (told, lines.join(", "))
}

/// Sends a claim; tells what came of it, and the requests.
pub(super) fn sent_whole(
    lines: &str,
    mut claim: Claim,
    acts: impl IntoIterator<Item = Act>,
) -> (String, Vec<String>) {
    let server = Server::start(acts);
    let mut channel = open_channel(lines, &server);
    if claim.account.as_str() == OWN {
        claim.account = Account::new(account_of(&mut *channel));
    }
    let told = send(&mut *channel, claim);
    (told, server.requests())
}

fn gone() -> Act {
    json_answer(404, r#"{"code":"none"}"#)
}

fn done() -> Act {
    answer(204, "", "")
}

fn standing(text: &str) -> Act {
    json_answer(200, &json!({ "id": 7, "text": text }).to_string())
}

#[test]
fn a_change_goes_to_the_post_that_the_row_names() {
    let server = Server::start([standing("x")]);
    let told = send(
        &mut *open_channel(READ, &server),
        change(ACCOUNT, &post(), target()),
    );
    assert_eq!(told, format!("accepted by response: {POSTED}"));
    insta::assert_snapshot!(server.requests()[0], @r#"
    PUT /posts/7 HTTP/1.1
    accept-encoding: gzip
    content-length: 37
    user-agent: sayonce/VERSION
    host: server
    accept: application/json
    cache-control: no-cache
    content-type: application/json; charset=utf-8
    authorization: Bearer s3cret-value
    sayonce-rehearsal-article: https://blog.example/a

    {"text":"New https://blog.example/a"}
    "#);
}

#[test]
fn a_change_is_judged_by_its_own_table_first() {
    let check = |act: Act| sent(READ, change(ACCOUNT, &post(), target()), [act]).0;
    assert_eq!(
        check(json_answer(409, r#"{"code":"same"}"#)),
        format!("accepted by response: {POSTED}")
    );
    assert_eq!(
        check(json_answer(409, r#"{"code":"other"}"#)),
        r#"in doubt: HTTP 409: {"code":"other"}"#
    );
    assert_eq!(
        check(json_answer(200, r#"{"id":8}"#)),
        r#"in doubt: the answer is about another post: HTTP 200: {"id":8}"#
    );
    assert_eq!(
        check(answer(200, "", "")),
        format!("accepted by response: {POSTED}")
    );
    assert_eq!(
        check(answer(400, "", "no")),
        "refused permanently: HTTP 400: no"
    );
    assert_eq!(
        check(answer(403, "", "no")),
        "refused for our credentials: HTTP 403: no"
    );
    assert_eq!(
        check(answer(429, "Retry-After: 3\r\n", "")),
        "refused for too many requests (wait 3000 ms): HTTP 429"
    );
    for status in [201, 303, 404, 500, 503] {
        assert_eq!(
            check(answer(status, "", "x")),
            format!("in doubt: HTTP {status}: x")
        );
    }
    assert_eq!(check(Act::HangUp).get(..8), Some("in doubt"));
}

#[test]
fn what_is_gone_is_changed_neither_now_nor_later() {
    let check = |acts: [Act; 2]| sent(READ, change(ACCOUNT, &post(), target()), acts).0;
    let missing = || answer(404, "", "no such page");
    assert_eq!(
        check([missing(), gone()]),
        "refused permanently: the post is gone: HTTP 404: no such page"
    );
    for unclear in [standing("x"), missing(), Act::HangUp] {
        assert_eq!(
            check([missing(), unclear]),
            "in doubt: HTTP 404: no such page"
        );
    }
}

#[test]
fn a_post_is_gone_when_reading_says_so() {
    let check = |acts: Vec<Act>| sent(READ, removal(ACCOUNT, target()), acts);
    let both = "DELETE /posts/7, GET /posts/7";
    let accepted = format!("accepted by read_back: {POSTED}");
    let proved = (accepted, both.to_owned());
    assert_eq!(check(vec![done(), gone()]), proved);
    assert_eq!(check(vec![gone(), gone()]), proved);
    assert_eq!(check(vec![Act::HangUp, gone()]), proved);
    assert_eq!(check(vec![answer(500, "", ""), gone()]), proved);
    assert_eq!(check(vec![answer(400, "", "no such post"), gone()]), proved);
    let told = |acts: Vec<Act>| {
        let (told, lines) = check(acts);
        assert_eq!(lines, both);
        told
    };
    assert_eq!(
        told(vec![done(), standing("x")]),
        "in doubt: the post is still shown, though the service answered: HTTP 204"
    );
    assert_eq!(
        told(vec![answer(500, "", "x"), standing("x")]),
        "in doubt: the post is still shown: HTTP 500: x"
    );
    // A 404 without the service's code may be anybody's.
    assert_eq!(
        told(vec![done(), answer(404, "", "nginx")]),
        "in doubt: whether the post is gone could not be read (HTTP 404: nginx) after: HTTP 204"
    );
    assert_eq!(
        told(vec![answer(400, "", "no"), standing("x")]),
        "refused permanently: HTTP 400: no"
    );
    for (act, expected) in [
        (
            answer(403, "", "no"),
            "refused for our credentials: HTTP 403: no",
        ),
        (
            answer(429, "", ""),
            "refused for too many requests: HTTP 429",
        ),
    ] {
        assert_eq!(
            check(vec![act]),
            (expected.to_owned(), "DELETE /posts/7".to_owned())
        );
    }
}

#[test]
fn a_row_without_the_id_that_is_needed_sends_nothing() {
    let by_address = Remote {
        id: None,
        url: Some("https://own.example/7".to_owned()),
    };
    let needs = "the declaration needs the post's `id`, and the row has none";
    for claim in [
        removal(ACCOUNT, by_address.clone()),
        change(ACCOUNT, &post(), by_address.clone()),
    ] {
        assert_eq!(
            sent(READ, claim, []),
            (format!("refused permanently: {needs}"), String::new())
        );
    }
    // Where it would be read is another post, or none: that says nothing of this one.
    let server = Server::start([]);
    assert_eq!(
        effect(
            &mut *open_channel(READ, &server),
            &removal(ACCOUNT, by_address)
        ),
        format!("cannot tell: {needs}")
    );
    let other = removal("http:other", target());
    assert_eq!(
        sent(READ, other, []).0,
        "not sent: the claim is for http:other, but the service says that we are http:own"
    );
    let bare = READ.split("[channels.own.update]").next().unwrap();
    assert_eq!(
        sent(bare, removal(ACCOUNT, target()), []).0,
        "refused permanently: the declaration has no `retract`"
    );
    assert_eq!(
        sent(bare, change(ACCOUNT, &post(), target()), []).0,
        "refused permanently: the declaration has no `update`"
    );
}

#[test]
fn an_effect_is_read_off_the_post() {
    let check = |claim: &Claim, act: Act| {
        let server = Server::start([act]);
        effect(&mut *open_channel(READ, &server), claim)
    };
    let removal = removal(ACCOUNT, target());
    assert_eq!(check(&removal, gone()), format!("found {POSTED}"));
    assert_eq!(check(&removal, standing("x")), "absent");
    assert_eq!(
        check(&removal, answer(404, "", "nginx")),
        "cannot tell: HTTP 404: nginx"
    );
    let change = change(ACCOUNT, &post(), target());
    assert_eq!(
        check(&change, standing("New\n https://blog.example/a ")),
        format!("found {POSTED}")
    );
    assert_eq!(check(&change, standing("Old")), "absent");
    assert_eq!(check(&change, gone()), "absent");
    assert_eq!(
        check(&change, answer(500, "", "x")),
        "cannot tell: HTTP 500: x"
    );
    let blind = READ.replace("shows = { \"/text\" = \"{{ text }}\" }", "");
    let server = Server::start([standing("x")]);
    assert_eq!(
        effect(&mut *open_channel(&blind, &server), &change),
        "cannot tell: the declaration's `read` does not say what a post shows"
    );
}

const TELEGRAM: &str = "preset = \"telegram\"\nvalues = { chat = \"@blog\" }";

/// A service whose posts can't be read: what proves that one is gone is that there is nothing left to delete.
#[test]
fn a_second_deletion_that_finds_nothing_is_a_proof() {
    let target = || remote("7", "https://t.me/blog/7");
    let ok = || json_answer(200, r#"{"ok":true,"result":true}"#);
    let none = || {
        json_answer(
            400,
            r#"{"ok":false,"error_code":400,"description":"Bad Request: message to delete not found"}"#,
        )
    };
    let check = |acts: Vec<Act>| {
        let (told, lines) = sent(TELEGRAM, removal("telegram:@blog", target()), acts);
        let count = lines.matches("POST").count();
        (told, count)
    };
    let accepted = "accepted by read_back: 7 https://t.me/blog/7".to_owned();
    assert_eq!(check(vec![ok(), none()]), (accepted.clone(), 2));
    assert_eq!(check(vec![none()]), (accepted.clone(), 1));
    assert_eq!(check(vec![Act::HangUp, none()]), (accepted, 2));
    assert_eq!(
        check(vec![ok(), ok()]).0,
        r#"in doubt: whether the post is gone could not be read (asked again, the service answered: HTTP 200: {"ok":true,"result":true}) after: HTTP 200"#
    );
    let old = json_answer(
        400,
        r#"{"ok":false,"error_code":400,"description":"Bad Request: message can't be deleted"}"#,
    );
    assert_eq!(
        check(vec![old]),
        (
            r#"refused permanently: HTTP 400: {"ok":false,"error_code":400,"description":"Bad Request: message can't be deleted"}"#.to_owned(),
            1
        )
    );
    let server = Server::start([]);
    assert_eq!(
        effect(
            &mut *open_channel(TELEGRAM, &server),
            &removal("telegram:@blog", target())
        ),
        "cannot tell: the declaration has no `read`, so no post can be looked at"
    );

    let change = || change("telegram:@blog", &post(), target());
    let same = json_answer(
        400,
        r#"{"ok":false,"error_code":400,"description":"Bad Request: message is not modified: specified new message content and reply markup are exactly the same"}"#,
    );
    assert_eq!(
        sent(TELEGRAM, change(), [same]).0,
        "accepted by response: 7 https://t.me/blog/7"
    );
    let missing = json_answer(
        400,
        r#"{"ok":false,"error_code":400,"description":"Bad Request: message to edit not found"}"#,
    );
    assert_eq!(
        sent(TELEGRAM, change(), [missing]).0,
        r#"refused permanently: HTTP 400: {"ok":false,"error_code":400,"description":"Bad Request: message to edit not found"}"#
    );
}

/// A webhook's address may name a thread or end with `/`: a request to the webhook itself would take it away.
#[test]
fn what_stands_is_named_by_the_path_behind_a_webhook_whatever_its_address_is_like() {
    let requests = |path: &str| {
        let unknown = || json_answer(404, r#"{"message":"Unknown Message","code":10008}"#);
        let server = Server::start([
            json_answer(200, r#"{"id":"7"}"#),
            done(),
            unknown(),
            unknown(),
        ]);
        let config = config("preset = \"discord\"");
        let environment =
            Environment::default().with("DISCORD_WEBHOOK_URL", &format!("{}{path}", server.url()));
        let mut channel = build(&config, &site(), &environment, TestClock::still()).unwrap();
        let account = account_of(&mut *channel);
        if !account.starts_with("discord:") {
            return account;
        }
        let target = || remote("7", "https://service.example/7");
        let told = [
            send(&mut *channel, change(&account, &post(), target())),
            send(&mut *channel, removal(&account, target())),
            effect(&mut *channel, &removal(&account, target())),
        ];
        assert_eq!(
            told,
            [
                "accepted by response: 7 https://service.example/7",
                "accepted by read_back: 7 https://service.example/7",
                "found 7 https://service.example/7",
            ]
        );
        let requests = server.requests();
        let first_line = |request: &String| request.lines().next().unwrap().to_owned();
        requests
            .iter()
            .map(first_line)
            .collect::<Vec<_>>()
            .join("\n")
    };
    insta::assert_snapshot!(requests("hooks/123/abc?thread_id=5"), @r"
    PATCH /hooks/123/abc/messages/7?thread_id=5 HTTP/1.1
    DELETE /hooks/123/abc/messages/7?thread_id=5 HTTP/1.1
    GET /hooks/123/abc/messages/7?thread_id=5 HTTP/1.1
    GET /hooks/123/abc/messages/7?thread_id=5 HTTP/1.1
    ");
    insta::assert_snapshot!(requests("hooks/123/abc/"), @r"
    PATCH /hooks/123/abc/messages/7 HTTP/1.1
    DELETE /hooks/123/abc/messages/7 HTTP/1.1
    GET /hooks/123/abc/messages/7 HTTP/1.1
    GET /hooks/123/abc/messages/7 HTTP/1.1
    ");
    assert_eq!(
        requests("hooks/123/abc#x"),
        "the secret `webhook` has a `#`, and what follows it is never sent: leave it out"
    );
}

/// A change of the title alone that was lost must not pass for made.
#[test]
fn on_wordpress_a_title_counts_as_the_text_does() {
    let check = |title: &str| {
        let content = "<p><a href=\"https://blog.example/a\">https://blog.example/a</a></p>";
        let page = json!({
            "id": 7, "status": "publish", "title": { "raw": title }, "content": { "raw": content },
        });
        let server = Server::start([json_answer(200, &page.to_string())]);
        let mut channel = open_channel(WORDPRESS, &server);
        let account = account_of(&mut *channel);
        let mut post = post();
        post["description"] = Value::from("");
        effect(&mut *channel, &change(&account, &post, target()))
    };
    assert_eq!(check("New"), format!("found {POSTED}"));
    assert_eq!(check("Old"), "absent");
}

/// The chat of today may have another message under the same number.
#[test]
fn what_was_posted_elsewhere_is_left_alone() {
    let elsewhere = TELEGRAM.replace("@blog", "@other");
    for claim in [
        removal("telegram:@blog", target()),
        change("telegram:@blog", &post(), target()),
    ] {
        assert_eq!(
            sent(&elsewhere, claim, []).0,
            "not sent: the claim is for telegram:@blog, but the service says that we are telegram:@other"
        );
    }
}

#[test]
fn an_account_names_where_a_preset_posts() {
    let accounts = [
        TELEGRAM, SLACK, WEIBO, MICROPUB, LINKEDIN, WORDPRESS, THREADS, WEBMENTION, WEBSUB,
    ]
    .map(|lines| {
        let server = Server::start([]);
        account_of(&mut *open_channel(lines, &server))
    });
    insta::assert_snapshot!(accounts.join("\n"), @r"
    telegram:@blog
    slack:C1
    weibo:4711
    micropub:https://second.example/micropub
    linkedin:urn:li:person:x
    wordpress:https://wordpress.example/?author=7
    threads:17
    webmention:https://bridge.example/w https://bridge.example/
    websub:https://hub.example/ https://blog.example/feed.xml
    ");
    let of_webhook = |address: &str| {
        let config = config("preset = \"discord\"");
        let environment = Environment::default().with("DISCORD_WEBHOOK_URL", address);
        account_of(&mut *build(&config, &site(), &environment, TestClock::still()).unwrap())
    };
    let account = of_webhook("https://discord.example/api/webhooks/123/abcdefgh4711");
    let digest = account.strip_prefix("discord:").unwrap();
    assert_eq!(digest.len(), 16, "{digest}");
    assert!(digest.bytes().all(|byte| byte.is_ascii_hexdigit()));
    assert_eq!(
        account,
        of_webhook("https://discord.example/api/webhooks/123/abcdefgh4711/")
    );
    for other in [
        "https://discord.example/api/webhooks/124/abcdefgh4711",
        "https://discord.example/api/webhooks/123/abcdefgh4711?thread_id=5",
    ] {
        assert_ne!(account, of_webhook(other));
    }
}

const SLACK: &str = "preset = \"slack\"\nvalues = { channel = \"C1\" }";
const WEIBO: &str = "preset = \"weibo\"\nvalues = { ip = \"192.0.2.1\", uid = 4711 }";
const THREADS: &str = "preset = \"threads\"\nvalues = { user = 17 }";
const WEBMENTION: &str = "preset = \"webmention\"\nvalues = { endpoint = \"https://bridge.example/w\", target = \"https://bridge.example/\" }";
const WEBSUB: &str = "preset = \"websub\"\nvalues = { hub = \"https://hub.example/\", topic = \"https://blog.example/feed.xml\" }";
const MICROPUB: &str =
    "preset = \"micropub\"\nvalues = { endpoint = \"https://second.example/micropub\" }";
const LINKEDIN: &str = "preset = \"linkedin\"\nvalues = { author = \"urn:li:person:x\" }";
const WORDPRESS: &str =
    "preset = \"wordpress\"\nvalues = { server = \"https://wordpress.example\", author = 7 }";

#[test]
fn each_preset_takes_down_what_it_made() {
    let check_id = |lines: &str, id: &str, acts: Vec<Act>| {
        let target = remote(id, "https://service.example/7");
        let (told, requests) = sent(lines, removal(OWN, target), acts);
        format!("{told}\n{requests}")
    };
    let check = |lines: &str, acts: Vec<Act>| check_id(lines, "7", acts);
    let of_urn = |acts: Vec<Act>| check_id(LINKEDIN, "urn:li:share:7", acts);
    let discord = |acts: Vec<Act>| check("preset = \"discord\"", acts);
    let ok = |body: &str| json_answer(200, body);
    let unknown = || json_answer(404, r#"{"message":"Unknown Message","code":10008}"#);
    let webhook = json_answer(404, r#"{"message":"Unknown Webhook","code":10015}"#);
    let not_found = ok(r#"{"ok":false,"error":"message_not_found"}"#);
    let trash = || ok(r#"{"id":7,"status":"trash"}"#);
    let invalid = || json_answer(404, r#"{"code":"rest_post_invalid_id"}"#);
    let deleted = || ok(r#"{"success":true,"deleted_id":"7"}"#);
    let no_resource = || {
        json_answer(
            400,
            r#"{"error":{"message":"The requested resource does not exist","code":24,"error_subcode":4279009}}"#,
        )
    };
    let or_no_right = || json_answer(400, r#"{"error":{"code":100,"error_subcode":33}}"#);
    let weibo_gone = json_answer(400, r#"{"error_code":20101}"#);
    let told = [
        discord(vec![done(), unknown()]),
        discord(vec![unknown(), unknown()]),
        discord(vec![webhook]),
        check(SLACK, vec![ok(r#"{"ok":true}"#), not_found]),
        check(
            SLACK,
            vec![ok(r#"{"ok":false,"error":"cant_delete_message"}"#)],
        ),
        check(WEIBO, vec![ok(r#"{"id":7}"#), weibo_gone]),
        check(MICROPUB, vec![done(), answer(410, "", "gone")]),
        check(WORDPRESS, vec![trash(), trash()]),
        check(WORDPRESS, vec![invalid(), invalid()]),
        check(THREADS, vec![deleted(), no_resource()]),
        check(THREADS, vec![no_resource(), no_resource()]),
        check(THREADS, vec![deleted(), or_no_right()]),
        check(THREADS, vec![or_no_right(), or_no_right()]),
        check(THREADS, vec![deleted(), ok(r#"{"id":"7"}"#)]),
        check(THREADS, vec![json_answer(400, r#"{"error":{"code":10}}"#)]),
        of_urn(vec![done(), json_answer(404, r#"{"status":404}"#)]),
        of_urn(vec![done(), json_answer(403, r#"{"status":403}"#)]),
    ];
    insta::assert_snapshot!(told.join("\n"), @r#"
    accepted by read_back: 7 https://service.example/7
    DELETE /hooks/123/s3cret-value/messages/7, GET /hooks/123/s3cret-value/messages/7
    accepted by read_back: 7 https://service.example/7
    DELETE /hooks/123/s3cret-value/messages/7, GET /hooks/123/s3cret-value/messages/7
    refused for our credentials: HTTP 404: {"message":"Unknown Webhook","code":10015}
    DELETE /hooks/123/s3cret-value/messages/7
    accepted by read_back: 7 https://service.example/7
    POST /api/chat.delete, POST /api/chat.delete
    refused permanently: HTTP 200: {"ok":false,"error":"cant_delete_message"}
    POST /api/chat.delete
    accepted by read_back: 7 https://service.example/7
    POST /2/statuses/destroy.json, POST /2/statuses/destroy.json
    accepted by read_back: 7 https://service.example/7
    POST /micropub, GET /7
    accepted by read_back: 7 https://service.example/7
    DELETE /wp-json/wp/v2/posts/7, GET /wp-json/wp/v2/posts/7?context=edit
    accepted by read_back: 7 https://service.example/7
    DELETE /wp-json/wp/v2/posts/7, GET /wp-json/wp/v2/posts/7?context=edit
    accepted by read_back: 7 https://service.example/7
    DELETE /v1.0/7?access_token=s3cret-value, GET /v1.0/7?fields=id%2Cpermalink&access_token=s3cret-value
    accepted by read_back: 7 https://service.example/7
    DELETE /v1.0/7?access_token=s3cret-value, GET /v1.0/7?fields=id%2Cpermalink&access_token=s3cret-value
    in doubt: whether the post is gone could not be read (HTTP 400: {"error":{"code":100,"error_subcode":33}}) after: HTTP 200
    DELETE /v1.0/7?access_token=s3cret-value, GET /v1.0/7?fields=id%2Cpermalink&access_token=s3cret-value
    in doubt: HTTP 400: {"error":{"code":100,"error_subcode":33}}; whether the post is gone could not be read: HTTP 400: {"error":{"code":100,"error_subcode":33}}
    DELETE /v1.0/7?access_token=s3cret-value, GET /v1.0/7?fields=id%2Cpermalink&access_token=s3cret-value
    in doubt: the post is still shown, though the service answered: HTTP 200
    DELETE /v1.0/7?access_token=s3cret-value, GET /v1.0/7?fields=id%2Cpermalink&access_token=s3cret-value
    refused for our credentials: HTTP 400: {"error":{"code":10}}
    DELETE /v1.0/7?access_token=s3cret-value
    accepted by read_back: urn:li:share:7 https://service.example/7
    DELETE /rest/posts/urn%3Ali%3Ashare%3A7, GET /rest/posts/urn%3Ali%3Ashare%3A7
    in doubt: whether the post is gone could not be read (HTTP 403: {"status":403}) after: HTTP 204
    DELETE /rest/posts/urn%3Ali%3Ashare%3A7, GET /rest/posts/urn%3Ali%3Ashare%3A7
    "#);
}

/// What the services' own tables say of changes, beside what they say of posts.
#[test]
fn a_change_that_a_service_refuses_for_the_time_or_for_the_post_is_told_apart() {
    let mut post = post();
    post["description"] = Value::from("");
    let check = |lines: &str, act: Act| sent(lines, change(OWN, &post, target()), [act]).0;
    let slack = |error: &str| {
        let body = json!({ "ok": false, "error": error });
        check(SLACK, json_answer(200, &body.to_string()))
    };
    let edits = r#"{"message":"Maximum number of edits reached","code":30046}"#;
    let told = [
        check("preset = \"discord\"", json_answer(400, edits)),
        slack("external_channel_migrating"),
        slack("edit_window_closed"),
        check(WORDPRESS, json_answer(200, r#"{"id":7,"status":"trash"}"#)),
        check(
            WORDPRESS,
            json_answer(200, r#"{"id":7,"status":"publish"}"#),
        ),
    ];
    insta::assert_snapshot!(told.join("\n"), @r#"
    refused for too many requests: HTTP 400: {"message":"Maximum number of edits reached","code":30046}
    refused for now: HTTP 200: {"ok":false,"error":"external_channel_migrating"}
    refused permanently: HTTP 200: {"ok":false,"error":"edit_window_closed"}
    refused permanently: HTTP 200: {"id":7,"status":"trash"}
    accepted by response: 7 https://own.example/7
    "#);
    let stays = json_answer(501, r#"{"code":"rest_trash_not_supported"}"#);
    let shown = json_answer(200, r#"{"id":7,"status":"publish"}"#);
    assert_eq!(
        sent(WORDPRESS, removal(OWN, target()), [stays, shown]).0,
        r#"refused permanently: HTTP 501: {"code":"rest_trash_not_supported"}"#
    );
}
