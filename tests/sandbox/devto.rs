use std::time::Duration;

use sayonce::model::channel::Kind;
use sayonce::sandbox::Sandbox;
use serde_json::{Value, json};

use super::{Call, World, start};

pub(crate) fn call(method: &'static str, target: &str) -> Call {
    Call::new(method, target).header("api-key", Sandbox::secret(Kind::Devto))
}

pub(crate) fn post(article: &Value) -> Call {
    call("POST", "/api/articles").json(&json!({ "article": article }))
}

pub(crate) fn article(number: usize) -> Value {
    json!({
        "title": format!("Number {number}"),
        "body_markdown": "Text",
        "published": true,
        "canonical_url": format!("https://blog.example/{number}/"),
        "tags": ["rust", "web"]
    })
}

fn titles(world: &World, target: &str) -> Vec<String> {
    let list = world.get_answer(&call("GET", target)).json();
    let titles = list.as_array().unwrap().iter();
    titles
        .map(|article| article["title"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn an_article_is_published_once_under_its_canonical_url() {
    let world = start(Kind::Devto);
    let first = world.get_answer(&post(&article(1)));
    assert_eq!(first.status, 201);
    let url = first.string("/url");
    assert!(
        url.starts_with("https://devto.rehearsal.example/rehearsal_devto/number-1-"),
        "{url}"
    );
    assert_eq!(first.header("Location"), Some(url.as_str()));
    assert_eq!(first.json()["id"], 3_104_211);
    assert_eq!(first.json()["tags"], json!(["rust", "web"]));

    world.clock.advance(Duration::from_mins(5));
    let taken = r#"422 {"error":"Canonical url has already been taken. Email contact@devto.rehearsal.example for further details.","status":422}"#;
    assert_eq!(world.get_answer(&post(&article(1))).line(), taken);

    // A draft is not compared, until it is published.
    let mut draft = article(1);
    draft["published"] = json!(false);
    let drafted = world.get_answer(&post(&draft));
    assert_eq!(drafted.status, 201);
    let path = format!("/api/articles/{}", drafted.json()["id"]);
    let publish = call("PUT", &path).json(&json!({ "article": { "published": true } }));
    assert_eq!(world.get_answer(&publish).line(), taken);
    let drafts: Vec<_> = world
        .sandbox
        .posts()
        .iter()
        .map(|post| post.draft)
        .collect();
    assert_eq!(drafts, [false, true]);
}

#[test]
fn a_title_is_used_once_in_five_minutes() {
    let world = start(Kind::Devto);
    assert_eq!(
        world.get_answer(&post(&json!({ "title": "Same" }))).status,
        201
    );
    world.clock.advance(Duration::from_secs(299));
    assert_eq!(
        world.get_answer(&post(&json!({ "title": "Same" }))).line(),
        r#"422 {"error":"Title has already been used in the last five minutes","status":422}"#
    );
    world.clock.advance(Duration::from_secs(1));
    assert_eq!(
        world.get_answer(&post(&json!({ "title": "Same" }))).status,
        201
    );
}

#[test]
fn articles_are_refused_as_the_service_does() {
    let world = start(Kind::Devto);
    let check = |article: Value| world.get_answer(&post(&article)).line();
    assert_eq!(
        check(json!({ "title": "A", "tags": ["a", "b", "c", "d", "e"] })),
        r#"422 {"error":"Tag list exceed the maximum of 4 tags","status":422}"#
    );
    assert_eq!(
        check(json!({ "title": "A", "tags": ["x-y"] })),
        r#"422 {"error":"Tag \"x-y\" contains non-alphanumeric or prohibited unicode characters","status":422}"#
    );
    assert_eq!(
        check(json!({ "title": "ä".repeat(129) })),
        r#"422 {"error":"Title is too long (maximum is 128 characters)","status":422}"#
    );
    assert_eq!(
        check(json!({ "title": "", "tags": ["x-y"], "canonical_url": "ftp://x" })),
        r#"422 {"error":"Title can't be blank, Tag \"x-y\" contains non-alphanumeric or prohibited unicode characters, and Canonical url must be a valid URL","status":422}"#
    );
    assert_eq!(
        check(json!("text")),
        r#"422 {"error":"article param must be a JSON object. You provided article as a String","status":422}"#
    );
    assert_eq!(
        check(json!(null)),
        r#"422 {"error":"param is missing or the value is empty: article","status":422}"#
    );
    assert_eq!(world.posts().len(), 0);
    // Tags as a string are dropped, as strong parameters do.
    let dropped = world.get_answer(&post(&json!({ "title": "ä".repeat(128), "tags": "a, b" })));
    assert_eq!(
        (dropped.status, dropped.json()["tags"].clone()),
        (201, json!([]))
    );
}

#[test]
fn strangers_are_turned_away() {
    let world = start(Kind::Devto);
    let refused = r#"401 {"error":"unauthorized","status":401}"#;
    assert_eq!(
        world
            .get_answer(&post(&article(1)).without("api-key"))
            .line(),
        refused
    );
    assert_eq!(
        world
            .get_answer(&post(&article(1)).header("api-key", "x"))
            .line(),
        refused
    );
    assert_eq!(
        world
            .get_answer(&call("PUT", "/api/articles/1/unpublish"))
            .line(),
        refused
    );
    for agentless in [
        post(&article(1)).without("User-Agent"),
        post(&article(1)).header("User-Agent", ""),
    ] {
        let blocked = world.get_answer(&agentless);
        assert_eq!(blocked.status, 403);
        assert!(serde_json::from_str::<Value>(&blocked.body).is_err());
    }
    let missing = r#"404 {"error":"not found","status":404}"#;
    assert_eq!(
        world.get_answer(&call("GET", "/api/nothing")).line(),
        missing
    );
    let foreign = call("PUT", "/api/articles/1").json(&json!({ "article": { "title": "x" } }));
    assert_eq!(world.get_answer(&foreign).line(), missing);
    assert_eq!(
        world.get_answer(&call("DELETE", "/api/articles")).status,
        405
    );
    let me = world.get_answer(&call("GET", "/api/users/me"));
    assert_eq!(
        (me.status, me.string("/username")),
        (200, "rehearsal_devto".to_owned())
    );
    assert_eq!(world.posts().len(), 0);
}

#[test]
fn more_than_nine_articles_in_half_a_minute_are_too_many() {
    let world = start(Kind::Devto);
    for number in 0..10 {
        assert_eq!(
            world.get_answer(&post(&article(number))).status,
            201,
            "{number}"
        );
    }
    let refused = world.get_answer(&post(&article(10)));
    assert_eq!(
        refused.line(),
        r#"429 {"error":"Rate limit reached, try again in 30 seconds","status":429}"#
    );
    assert_eq!(refused.header("Retry-After"), Some("30"));
    world.clock.advance(Duration::from_secs(30));
    assert_eq!(world.get_answer(&post(&article(10))).status, 201);
}

#[test]
fn an_author_lists_and_unpublishes() {
    let world = start(Kind::Devto);
    for number in 1..=3 {
        world.get_answer(&post(&article(number)));
        world.clock.advance(Duration::from_secs(10));
    }
    world.get_answer(&post(&json!({ "title": "Draft" })));
    assert_eq!(
        titles(&world, "/api/articles/me/all"),
        ["Draft", "Number 3", "Number 2", "Number 1"]
    );
    assert_eq!(
        titles(&world, "/api/articles/me/published?per_page=2&page=2"),
        ["Number 1"]
    );
    assert_eq!(titles(&world, "/api/articles/me/unpublished"), ["Draft"]);
    let list = world
        .get_answer(&call("GET", "/api/articles/me/all"))
        .json();
    assert_eq!(list[1]["canonical_url"], "https://blog.example/3/");
    assert_eq!(list[1]["published_at"], "2026-11-29T10:00:20.123Z");
    assert_eq!(list[0]["canonical_url"], list[0]["url"]);

    let path = format!("/api/articles/{}", list[1]["id"]);
    let unpublish = call("PUT", &path).json(&json!({ "article": { "published": false } }));
    assert_eq!(world.get_answer(&unpublish).status, 200);
    assert_eq!(titles(&world, "/api/articles/me"), ["Number 2", "Number 1"]);
    assert_eq!(world.get_answer(&call("GET", &path)).status, 404);
}

#[test]
fn a_front_matter_outranks_the_parameters() {
    let world = start(Kind::Devto);
    let mut sent = article(1);
    sent["body_markdown"] =
        json!("---\ntitle: \"Other\"\npublished: false\ntags: [a, b]\n---\nText");
    let answer = world.get_answer(&post(&sent)).json();
    assert_eq!(
        (&answer["title"], &answer["tags"]),
        (&json!("Other"), &json!(["a", "b"]))
    );
    assert_eq!(titles(&world, "/api/articles/me/unpublished"), ["Other"]);
}
