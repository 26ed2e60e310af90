use serde_json::{Value, json};

use sayonce::channel::Channel;
use sayonce::config::ServiceConfig;
use sayonce::model::claim::Claim;
use sayonce::model::outcome::Remote;

use super::later::{change, effect, remote, removal, send};
use super::server::{Act, Server, answer, json as json_answer};
use super::{TestClock, channel};

const ACCOUNT: &str = "http://127.0.0.1/blog";
const POSTED: &str = "7 https://dev.example/blog/hello";
const PUT: &str = "PUT /api/articles/7";
const LIST: &str = "GET /api/articles/me/all?page=1&per_page=1000";

fn whoami() -> Act {
    json_answer(200, r#"{"type_of":"user","id":3,"username":"blog"}"#)
}

fn target() -> Remote {
    remote("7", "https://dev.example/blog/hello")
}

fn post() -> Value {
    json!({
        "title": "New",
        "canonical_url": "https://blog.example/a",
        "tags": ["news"],
        "body_markdown": "# New\n\nText.",
        "published": true,
    })
}

/// The article as it stands, with more fields.
fn article(more: &Value) -> Value {
    let mut article = json!({
        "id": 7,
        "title": "Old",
        "published": true,
        "url": "https://dev.example/blog/hello",
        "canonical_url": "https://blog.example/a",
        "body_markdown": "# Old",
    });
    let fields = article.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    article
}

fn list(articles: &[Value]) -> Act {
    json_answer(200, &Value::Array(articles.to_vec()).to_string())
}

fn published() -> Act {
    list(&[article(&json!({}))])
}

fn draft() -> Act {
    list(&[article(&json!({ "published": false }))])
}

fn done() -> Act {
    json_answer(200, &article(&json!({})).to_string())
}

fn error(status: u16) -> Act {
    json_answer(status, r#"{"error":"x"}"#)
}

fn open_channel(server: &Server) -> Box<dyn Channel> {
    let service = ServiceConfig::Devto {
        server: server.url(),
        api_key_env: "SECRET".to_owned(),
        published: true,
        organization_id: None,
    };
    channel(service, TestClock::still())
}

fn sent(claim: Claim, acts: impl IntoIterator<Item = Act>) -> (String, String) {
    let server = Server::start([whoami()].into_iter().chain(acts));
    let told = send(&mut *open_channel(&server), claim);
    let requests = server.requests();
    let lines: Vec<&str> = requests
        .iter()
        .skip(1)
        .map(|request| request.split(" HTTP").next().unwrap())
        .collect();
    (told, lines.join(", "))
}

#[test]
fn a_change_does_not_say_whether_the_article_is_published() {
    let server = Server::start([whoami(), done()]);
    let told = send(
        &mut *open_channel(&server),
        change(ACCOUNT, &post(), target()),
    );
    assert_eq!(told, format!("accepted by response: {POSTED}"));
    insta::assert_snapshot!(server.requests()[1], @r##"
    PUT /api/articles/7 HTTP/1.1
    accept-encoding: gzip
    content-length: 117
    user-agent: sayonce/VERSION
    host: server
    content-type: application/json; charset=utf-8
    accept: application/vnd.forem.api-v1+json
    api-key: s3cret-value

    {"article":{"title":"New","canonical_url":"https://blog.example/a","tags":["news"],"body_markdown":"# New\n\nText."}}
    "##);
}

#[test]
fn what_a_change_takes_away_is_said() {
    let mut post = post();
    post["tags"] = json!([]);
    post["description"] = json!("");
    post["main_image"] = Value::Null;
    post["series"] = Value::Null;
    let server = Server::start([whoami(), done()]);
    let claim = change(ACCOUNT, &post, target());
    let told = send(&mut *open_channel(&server), claim);
    assert_eq!(told, format!("accepted by response: {POSTED}"));
    let requests = server.requests();
    let (_, body) = requests[1].rsplit_once("\n\n").unwrap();
    assert_eq!(
        body,
        r##"{"article":{"title":"New","canonical_url":"https://blog.example/a","tags":[],"body_markdown":"# New\n\nText.","description":"","main_image":null,"series":null}}"##
    );
}

#[test]
fn a_change_is_refused_by_the_services_own_words_alone() {
    let check = |act: Act| {
        let (told, lines) = sent(change(ACCOUNT, &post(), target()), [act]);
        assert_eq!(lines, PUT);
        told
    };
    assert_eq!(
        check(error(404)),
        r#"refused permanently: there is no such article of this account: HTTP 404: {"error":"x"}"#
    );
    assert_eq!(
        check(error(422)),
        r#"refused permanently: HTTP 422: {"error":"x"}"#
    );
    for status in [401, 403] {
        assert_eq!(
            check(error(status)),
            format!(r#"refused for our credentials: HTTP {status}: {{"error":"x"}}"#)
        );
    }
    assert_eq!(
        check(answer(403, "", "edge")),
        "refused for now: HTTP 403: edge"
    );
    assert_eq!(
        check(answer(429, "Retry-After: 30\r\n", "Retry later")),
        "refused for too many requests (wait 30000 ms): HTTP 429: Retry later"
    );
    assert_eq!(
        check(json_answer(200, r#"{"id":8}"#)),
        r#"in doubt: HTTP 200: {"id":8}"#
    );
    for status in [404, 422, 500, 502] {
        assert_eq!(
            check(answer(status, "", "page")),
            format!("in doubt: HTTP {status}: page")
        );
    }
    assert_eq!(check(Act::HangUp).get(..8), Some("in doubt"));
}

#[test]
fn an_article_is_taken_down_by_making_it_a_draft() {
    let server = Server::start([whoami(), done(), draft()]);
    let told = send(&mut *open_channel(&server), removal(ACCOUNT, target()));
    assert_eq!(told, format!("accepted by read_back: {POSTED}"));
    assert!(server.requests()[1].ends_with("\n\n{\"article\":{\"published\":false}}"));

    let check = |acts: Vec<Act>| {
        let (told, lines) = sent(removal(ACCOUNT, target()), acts);
        assert_eq!(lines, format!("{PUT}, {LIST}"));
        told
    };
    let accepted = format!("accepted by read_back: {POSTED}");
    // Deleted by hand.
    assert_eq!(check(vec![error(404), list(&[])]), accepted);
    assert_eq!(check(vec![Act::HangUp, draft()]), accepted);
    assert_eq!(check(vec![error(500), draft()]), accepted);
    assert_eq!(
        check(vec![done(), published()]),
        "in doubt: the post is still shown, though the service answered: HTTP 200"
    );
    assert_eq!(
        check(vec![error(404), published()]),
        r#"in doubt: the post is still shown, though the service answered: HTTP 404: {"error":"x"}"#
    );
    assert_eq!(
        check(vec![error(500), published()]),
        r#"in doubt: the post is still shown: HTTP 500: {"error":"x"}"#
    );
    assert_eq!(
        check(vec![done(), error(500)]),
        r#"in doubt: whether the post is gone could not be read (HTTP 500: {"error":"x"}) after: HTTP 200"#
    );
}

#[test]
fn a_refused_takedown_is_not_read_back() {
    let check = |act: Act| {
        let (told, lines) = sent(removal(ACCOUNT, target()), [act]);
        assert_eq!(lines, PUT);
        told
    };
    assert_eq!(
        check(error(403)),
        r#"refused for our credentials: HTTP 403: {"error":"x"}"#
    );
    assert_eq!(
        check(error(422)),
        r#"refused permanently: HTTP 422: {"error":"x"}"#
    );
    assert_eq!(
        check(error(429)),
        r#"refused for too many requests: HTTP 429: {"error":"x"}"#
    );
}

#[test]
fn an_article_of_which_only_the_address_is_known_is_looked_up() {
    let by_address = |url: &str| Remote {
        id: None,
        url: Some(url.to_owned()),
    };
    let claim = removal(ACCOUNT, by_address("https://dev.example/blog/hello"));
    assert_eq!(
        sent(claim, [published(), done(), draft()]),
        (
            "accepted by read_back: none https://dev.example/blog/hello".to_owned(),
            format!("{LIST}, {PUT}, {LIST}")
        )
    );
    let claim = removal(ACCOUNT, by_address("https://dev.example/blog/other"));
    assert_eq!(
        sent(claim, [published()]),
        (
            "refused permanently: no article of this account is seen at https://dev.example/blog/other".to_owned(),
            LIST.to_owned()
        )
    );
}

#[test]
fn an_effect_is_read_off_the_accounts_own_list() {
    let check = |claim: &Claim, act: Act| {
        let server = Server::start([whoami(), act]);
        effect(&mut *open_channel(&server), claim)
    };
    let removal = removal(ACCOUNT, target());
    assert_eq!(check(&removal, draft()), format!("found {POSTED}"));
    assert_eq!(check(&removal, list(&[])), format!("found {POSTED}"));
    assert_eq!(check(&removal, published()), "absent");
    assert_eq!(
        check(&removal, error(500)),
        r#"cannot tell: HTTP 500: {"error":"x"}"#
    );

    let change = change(ACCOUNT, &post(), target());
    let changed = |more: &Value| {
        let mut shown = article(&json!({
            "title": "New", "body_markdown": "# New\r\n\r\nText.\r\n", "tag_list": ["News"],
        }));
        let fields = shown.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        list(&[shown])
    };
    assert_eq!(
        check(&change, changed(&json!({}))),
        format!("found {POSTED}")
    );
    // An article that a person unpublished is changed all the same.
    assert_eq!(
        check(&change, changed(&json!({ "published": false }))),
        format!("found {POSTED}")
    );
    assert_eq!(
        check(&change, changed(&json!({ "title": "Old" }))),
        "absent"
    );
    assert_eq!(
        check(&change, changed(&json!({ "body_markdown": "# New" }))),
        "absent"
    );
    for other in [
        json!({ "tag_list": ["news", "old"] }),
        json!({ "tag_list": "" }),
        json!({ "canonical_url": "https://blog.example/old" }),
    ] {
        assert_eq!(check(&change, changed(&other)), "absent", "{other}");
    }
    assert_eq!(
        check(&change, changed(&json!({ "tag_list": "news" }))),
        format!("found {POSTED}")
    );
    assert_eq!(check(&change, list(&[])), "absent");
    // What the list does not show may be what the change was about.
    let unseen = "cannot tell: the list does not show all that the change is about";
    assert_eq!(
        check(&change, changed(&json!({ "tag_list": null }))),
        unseen
    );
    for (field, value) in [
        ("main_image", json!("x")),
        ("main_image", Value::Null),
        ("series", json!("x")),
        ("series", Value::Null),
        // The service writes one of its own.
        ("description", json!("")),
    ] {
        let mut post = post();
        post[field] = value;
        let claim = super::later::change(ACCOUNT, &post, target());
        assert_eq!(check(&claim, changed(&json!({}))), unseen);
        assert_eq!(check(&claim, changed(&json!({ "title": "Old" }))), "absent");
    }
    assert_eq!(check(&change, Act::HangUp).get(..11), Some("cannot tell"));
}
