use std::time::Duration;

use sayonce::model::channel::Kind;
use sayonce::sandbox::Sandbox;
use serde_json::json;

use super::{Call, World, start};

pub(crate) fn token() -> &'static str {
    Sandbox::secret(Kind::Mastodon)
}

pub(crate) fn post(text: &str) -> Call {
    Call::new("POST", "/api/v1/statuses")
        .bearer(token())
        .json(&json!({ "status": text }))
}

fn keyed(text: &str, key: &str) -> Call {
    post(text).header("Idempotency-Key", key)
}

fn account(world: &World) -> String {
    let me = Call::new("GET", "/api/v1/accounts/verify_credentials").bearer(token());
    world.get_answer(&me).string("/id")
}

#[test]
fn a_key_gets_the_first_status_again_for_an_hour() {
    let world = start(Kind::Mastodon);
    let first = world.get_answer(&keyed("One https://blog.example/1/", "k1"));
    assert_eq!(first.status, 200);
    let again = world.get_answer(&keyed("Other text", "k1"));
    assert_eq!(again.string("/id"), first.string("/id"));
    assert_eq!(again.string("/content"), first.string("/content"));
    let other = world.get_answer(&keyed("One https://blog.example/1/", "k2"));
    assert_ne!(other.string("/id"), first.string("/id"));

    world.clock.advance(Duration::from_secs(3599));
    let late = world.get_answer(&keyed("x", "k1"));
    assert_eq!(late.string("/id"), first.string("/id"));
    world.clock.advance(Duration::from_secs(1));
    let too_late = world.get_answer(&keyed("One https://blog.example/1/", "k1"));
    assert_ne!(too_late.string("/id"), first.string("/id"));
    assert_eq!(world.posts().len(), 3);
}

#[test]
fn a_key_outlives_its_deleted_status() {
    let world = start(Kind::Mastodon);
    let id = world.get_answer(&keyed("One", "k1")).string("/id");
    let path = format!("/api/v1/statuses/{id}");
    let deleted = world.get_answer(&Call::new("DELETE", path.clone()).bearer(token()));
    assert_eq!(
        (deleted.status, deleted.string("/text")),
        (200, "One".to_owned())
    );
    let missing = r#"404 {"error":"Record not found"}"#;
    assert_eq!(world.get_answer(&keyed("One", "k1")).line(), missing);
    let gone = Call::new("GET", path.clone()).bearer(token());
    assert_eq!(world.get_answer(&gone).line(), missing);
    let again = Call::new("DELETE", path).bearer(token());
    assert_eq!(world.get_answer(&again).line(), missing);
    assert_eq!(world.posts().len(), 0);
}

#[test]
fn a_refused_status_does_not_use_up_its_key() {
    let world = start(Kind::Mastodon);
    assert_eq!(world.get_answer(&keyed("", "k1")).status, 422);
    assert_eq!(world.get_answer(&keyed("One", "k1")).status, 200);
}

#[test]
fn statuses_are_refused_as_the_service_does() {
    let world = start(Kind::Mastodon);
    let check = |call: &Call| world.get_answer(call).line();
    let link = format!("https://blog.example/{}", "x".repeat(600));
    let full = format!(
        "{} {link} @me@{}.example",
        "ä".repeat(500 - 1 - 23 - 1 - 3),
        "y".repeat(50)
    );
    assert_eq!(world.get_answer(&post(&full)).status, 200);
    assert_eq!(
        check(&post(&format!("{full}!"))),
        r#"422 {"error":"Validation failed: Text character limit of 500 exceeded"}"#
    );
    let warned =
        post("").json(&json!({ "status": "x".repeat(250), "spoiler_text": "y".repeat(251) }));
    assert_eq!(world.get_answer(&warned).status, 422);
    assert_eq!(
        check(&post(" \n")),
        r#"422 {"error":"Validation failed: Text can't be blank"}"#
    );
    assert_eq!(
        check(&post("x").without("Authorization")),
        r#"401 {"error":"This method requires an authenticated user"}"#
    );
    assert_eq!(
        check(&post("x").bearer("wrong")),
        r#"401 {"error":"The access token is invalid"}"#
    );
    assert_eq!(
        check(&Call::new("GET", "/nowhere")),
        r#"404 {"error":"Not Found"}"#
    );
    assert_eq!(
        check(&Call::new("PATCH", "/api/v1/instance")),
        r#"405 {"error":"Method Not Allowed"}"#
    );
    assert_eq!(
        check(&post("x").json(&json!({ "status": "x", "in_reply_to_id": "77" }))),
        r#"404 {"error":"The post you are trying to reply to does not appear to exist."}"#
    );
    assert_eq!(
        check(&post("x").json(&json!({ "status": "x", "media_ids": ["5"] }))),
        r#"422 {"error":"Validation failed: Media 5 not found or already attached to another post"}"#
    );
    assert_eq!(world.posts().len(), 1);
}

#[test]
fn three_hundred_statuses_fit_into_three_hours() {
    let world = start(Kind::Mastodon);
    for number in 0..300 {
        let answer = world.get_answer(&post(&format!("Number {number}")));
        assert_eq!(answer.status, 200, "{number}");
        let left = (299 - number).to_string();
        assert_eq!(answer.header("X-RateLimit-Remaining"), Some(left.as_str()));
    }
    let refused = world.get_answer(&post("One more"));
    assert_eq!(refused.line(), r#"429 {"error":"Too many requests"}"#);
    assert_eq!(refused.header("X-RateLimit-Limit"), Some("300"));
    assert_eq!(refused.header("X-RateLimit-Remaining"), Some("0"));
    assert_eq!(
        refused.header("X-RateLimit-Reset"),
        Some("2026-11-29T12:00:00.000000Z")
    );
    assert_eq!(refused.header("Retry-After"), None);
    world.clock.advance(Duration::from_hours(2));
    assert_eq!(world.get_answer(&post("One more")).status, 200);
}

#[test]
fn the_account_lists_its_statuses_newest_first() {
    let world = start(Kind::Mastodon);
    let ids: Vec<_> = (1..=5)
        .map(|number| {
            world
                .get_answer(&post(&format!("Number {number}")))
                .string("/id")
        })
        .collect();
    // Snowflakes: the time in front, so that a client can bound its search.
    let millis = u64::try_from(world.sandbox.posts()[0].created_at.as_millis()).unwrap();
    assert_eq!(ids[0], (millis << 16).to_string());
    let path = format!("/api/v1/accounts/{}/statuses", account(&world));
    let list = |query: &str| {
        let call = Call::new("GET", format!("{path}?{query}")).bearer(token());
        let answer = world.get_answer(&call);
        let ids: Vec<_> = answer
            .json()
            .as_array()
            .unwrap()
            .iter()
            .map(|status| ids.iter().position(|id| *id == status["id"]).unwrap() + 1)
            .collect();
        (ids, answer.header("Link").map(str::to_owned))
    };
    let base = world.sandbox.url(&world.channel);
    let (page, link) = list("limit=2&exclude_replies=true&exclude_reblogs=true");
    assert_eq!(page, [5, 4]);
    assert_eq!(
        link.unwrap(),
        format!(
            "<{base}{path}?limit=2&exclude_replies=true&exclude_reblogs=true&max_id={}>; rel=\"next\", \
             <{base}{path}?limit=2&exclude_replies=true&exclude_reblogs=true&min_id={}>; rel=\"prev\"",
            ids[3], ids[4]
        )
    );
    assert_eq!(list(&format!("limit=2&max_id={}", ids[3])).0, [3, 2]);
    assert_eq!(list(&format!("since_id={}", ids[2])).0, [5, 4]);
    assert_eq!(list(&format!("limit=1&min_id={}", ids[2])).0, [4]);
    assert_eq!(list("").0, [5, 4, 3, 2, 1]);
    assert_eq!(list("pinned=true"), (vec![], None));
    assert_eq!(
        world
            .get_answer(&Call::new("GET", "/api/v1/accounts/1/statuses"))
            .status,
        404
    );
    let anonymous = world.get_answer(&Call::new("GET", path.clone()));
    assert_eq!(
        anonymous.header("Cache-Control"),
        Some("public, max-age=15, stale-while-revalidate=30, stale-if-error=86400")
    );
}

#[test]
fn a_form_is_taken_and_shown_as_html_and_as_source() {
    let world = start(Kind::Mastodon);
    let text = "Tom & Jerry\n\nhttps://blog.example/a/?x=1&y=2";
    let form = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("status", text)
        .append_pair("visibility", "unlisted")
        .append_pair("language", "en")
        .append_pair("spoiler_text", "cats")
        .finish();
    let call = Call::new("POST", "/api/v1/statuses")
        .bearer(token())
        .body("application/x-www-form-urlencoded", form);
    let status = world.get_answer(&call);
    let content = status.string("/content");
    assert!(
        content.contains("href=\"https://blog.example/a/?x=1&amp;y=2\""),
        "{content}"
    );
    let shown = status.json();
    let told = [
        "visibility",
        "language",
        "spoiler_text",
        "sensitive",
        "created_at",
        "url",
    ]
    .map(|field| shown[field].to_string())
    .join(" ");
    let id = status.string("/id");
    assert_eq!(
        told,
        format!(
            r#""unlisted" "en" "cats" true "2026-11-29T10:00:00.123Z" "https://mastodon.rehearsal.example/@blog/{id}""#
        )
    );
    let source = Call::new("GET", format!("/api/v1/statuses/{id}/source")).bearer(token());
    assert_eq!(
        world.get_answer(&source).json(),
        json!({ "id": id, "text": text, "spoiler_text": "cats" })
    );
    assert_eq!(world.posts(), ["https://blog.example/a/?x=1&y=2 x1"]);

    let edit = Call::new("PUT", format!("/api/v1/statuses/{id}"))
        .bearer(token())
        .json(&json!({ "status": "New" }));
    assert_eq!(world.get_answer(&edit).string("/content"), "<p>New</p>");
    assert_eq!(world.get_answer(&source).string("/text"), "New");
}

#[test]
fn the_server_tells_its_limits() {
    let world = start(Kind::Mastodon);
    for path in ["/api/v1/instance", "/api/v2/instance"] {
        let instance = world.get_answer(&Call::new("GET", path)).json();
        let statuses = &instance["configuration"]["statuses"];
        assert_eq!(
            *statuses,
            json!({ "max_characters": 500, "max_media_attachments": 4, "characters_reserved_per_url": 23 })
        );
    }
}

/// Uploads a picture and returns its id.
fn picture(world: &World) -> String {
    let body = [
        b"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.png\"\r\n\r\n"
            .as_slice(),
        b"\x89PNG\r\n\x1a\n",
        b"\r\n--b--\r\n",
    ]
    .concat();
    let call = Call::new("POST", "/api/v2/media")
        .bearer(token())
        .body("multipart/form-data; boundary=b", body);
    world.get_answer(&call).string("/id")
}

#[test]
fn an_edit_says_everything_anew() {
    let world = start(Kind::Mastodon);
    let medium = picture(&world);
    let body = json!({
        "status": "Old", "spoiler_text": "news", "media_ids": [medium], "visibility": "unlisted", "language": "en",
    });
    let id = world.get_answer(&post("").json(&body)).string("/id");
    let path = format!("/api/v1/statuses/{id}");
    let edit = |body: &serde_json::Value| {
        let call = Call::new("PUT", path.clone()).bearer(token()).json(body);
        let shown = world.get_answer(&call).json();
        assert_eq!(shown["id"], id);
        let count = shown["media_attachments"].as_array().unwrap().len();
        let fields = [
            "content",
            "spoiler_text",
            "sensitive",
            "visibility",
            "language",
            "edited_at",
        ];
        format!(
            "{} {count}",
            fields.map(|field| shown[field].to_string()).join(" ")
        )
    };
    // What changes nothing is no edit.
    assert_eq!(
        edit(&json!({ "status": "Old", "spoiler_text": "news", "media_ids": [medium] })),
        r#""<p>Old</p>" "news" true "unlisted" "en" null 1"#
    );
    assert_eq!(
        edit(&json!({ "status": "New", "media_ids": [medium], "visibility": "public" })),
        r#""<p>New</p>" "" false "unlisted" "en" "2026-11-29T10:00:00.123Z" 1"#
    );
    // What is left out is gone, pictures too.
    assert_eq!(
        edit(&json!({ "status": "Newer" })),
        r#""<p>Newer</p>" "" false "unlisted" "en" "2026-11-29T10:00:00.123Z" 0"#
    );
}
