//! The Mastodon stand-in and a mock server.

use sayonce::model::channel::Kind;
use sayonce::sandbox::Sandbox;
use serde_json::{Value, json};

use super::{Known, Side, Step, check, clock};
use crate::contract::client::Call;
use crate::contract::servers::MastodonMock;
use crate::sandbox::{Server, serve};

/// How the Mastodon stand-in, which is of the 4.5 line, differs from `mastodon_mock` 0.6.1.
const MASTODON: [Known; 5] = [
    (
        "who, a token of nobody",
        "{\"error\":\"This method requires an authenticated user\"} there, \
         {\"error\":\"The access token is invalid\"} here",
        "Mastodon tells a wrong token from none; only the status is read",
    ),
    (
        "limits",
        "/configuration/media_attachments/description_limit is here alone",
        "Mastodon has it since 4.4",
    ),
    (
        "limits, as older servers tell them",
        "/configuration/media_attachments/description_limit is here alone",
        "Mastodon has it since 4.4",
    ),
    (
        "501 characters",
        "{\"error\":\"Validation failed: Text is too long (maximum is 500 characters)\"} there, \
         {\"error\":\"Validation failed: Text character limit of 500 exceeded\"} here",
        "Mastodon's words, which it translates; only the status is read",
    ),
    (
        "the key of a deleted post",
        "500 there, 404 here",
        "the mock stumbles; to Mastodon it is not found; both mean look",
    ),
];

/// The Mastodon table, for a server at `url`: who, limits, and writing.
fn mastodon_steps(url: &str, token: &str) -> Vec<Step> {
    const STATUS: &[&str] = &[
        "/id",
        "/url",
        "/uri",
        "/created_at",
        "/content",
        "/card",
        "/in_reply_to_id",
        "/reblog",
        "/visibility",
        "/language",
    ];
    let get = |path: &str| Call::get(format!("{url}{path}")).bearer(token);
    let post = |key: &str, body: Value| {
        Call::post(format!("{url}/api/v1/statuses"), body)
            .bearer(token)
            .header("Idempotency-Key", key)
    };
    let one = json!({ "status": "Hello https://blog.example/a #tag", "visibility": "public", "language": "en" });
    let step = |name, read: &'static [&'static str], call| Step { name, call, read };
    vec![
        step(
            "who",
            &["/id", "/acct", "/url"],
            get("/api/v1/accounts/verify_credentials"),
        ),
        step(
            "who, a token of nobody",
            &[],
            Call::get(format!("{url}/api/v1/accounts/verify_credentials")).bearer("nobody"),
        ),
        step(
            "limits",
            &["/configuration/statuses/max_characters"],
            get("/api/v2/instance"),
        ),
        step(
            "limits, as older servers tell them",
            &["/configuration/statuses/max_characters"],
            get("/api/v1/instance"),
        ),
        step("a post", STATUS, post("k2", one.clone())),
        step("the same post", STATUS, post("k2", one)),
        step(
            "the same key, another text",
            STATUS,
            post("k2", json!({ "status": "Other" })),
        ),
        step("no text", &[], post("k3", json!({ "status": "" }))),
        step(
            "501 characters",
            &[],
            post("k4", json!({ "status": "x".repeat(501) })),
        ),
        step(
            "a post without a token",
            &[],
            Call::post(format!("{url}/api/v1/statuses"), json!({ "status": "x" })),
        ),
    ]
}

/// What follows: reading, and deleting the first post.
fn mastodon_later_steps(url: &str, token: &str, account: &str, id: &str) -> Vec<Step> {
    const EDITED: &[&str] = &["/id", "/url", "/content", "/spoiler_text", "/sensitive"];
    let get = |path: &str| Call::get(format!("{url}{path}")).bearer(token);
    let edit = |id: &str, text: &str| Call {
        method: "PUT",
        ..Call::post(
            format!("{url}/api/v1/statuses/{id}"),
            json!({ "status": text, "spoiler_text": "", "sensitive": false }),
        )
        .bearer(token)
    };
    let delete = || Call {
        method: "DELETE",
        ..get(&format!("/api/v1/statuses/{id}"))
    };
    let step = |name, read: &'static [&'static str], call| Step { name, call, read };
    vec![
        step(
            "own posts",
            &["/0/id", "/0/created_at", "/0/content", "/0/url"],
            get(&format!(
                "/api/v1/accounts/{account}/statuses?limit=40&exclude_replies=true&exclude_reblogs=true"
            )),
        ),
        step(
            "the page after the last",
            &[],
            get(&format!(
                "/api/v1/accounts/{account}/statuses?limit=40&max_id={id}"
            )),
        ),
        step("no post", &[], get("/api/v1/statuses/1")),
        step(
            "the text of a post",
            &["/text"],
            get(&format!("/api/v1/statuses/{id}/source")),
        ),
        step("an edit", EDITED, edit(id, "Edited")),
        step("the same edit", EDITED, edit(id, "Edited")),
        step("an edit of no post", &[], edit("1", "Edited")),
        step(
            "the text of an edited post",
            &["/text"],
            get(&format!("/api/v1/statuses/{id}/source")),
        ),
        step("a delete", &["/id"], delete()),
        step("the same delete", &[], delete()),
        step(
            "a deleted post",
            &[],
            get(&format!("/api/v1/statuses/{id}")),
        ),
        step(
            "the key of a deleted post",
            &[],
            Call::post(
                format!("{url}/api/v1/statuses"),
                json!({ "status": "First" }),
            )
            .bearer(token)
            .header("Idempotency-Key", "k1"),
        ),
    ]
}

/// The whole table of one side, after a first post: both give it an id of their own.
fn mastodon_side(url: &str, token: &str) -> Vec<Step> {
    let whoami = Call::get(format!("{url}/api/v1/accounts/verify_credentials"))
        .bearer(token)
        .send()
        .json();
    let first = Call::post(
        format!("{url}/api/v1/statuses"),
        json!({ "status": "First" }),
    )
    .bearer(token)
    .header("Idempotency-Key", "k1")
    .send()
    .json();
    let text = |value: &Value| value["id"].as_str().unwrap().to_owned();
    let mut steps = mastodon_steps(url, token);
    steps.extend(mastodon_later_steps(
        url,
        token,
        &text(&whoami),
        &text(&first),
    ));
    steps
}

#[test]
fn the_mastodon_stand_in_answers_as_a_server_of_its_api_does() {
    let Some(mock) = MastodonMock::start() else {
        return;
    };
    let world: Server = serve(Kind::Mastodon, &[], None, clock());
    let url = format!("http://{}", world.address);
    let side = |url: &str| Side {
        url: url.to_owned(),
        own: Vec::new(),
    };
    let steps = [
        mastodon_side(&mock.url, MastodonMock::TOKEN),
        mastodon_side(&url, Sandbox::secret(Kind::Mastodon)),
    ];
    let answers = check([&side(&mock.url), &side(&url)], steps, &MASTODON);
    // A replayed key gives the first post again, on both.
    for side in [0, 1] {
        let ids: Vec<Value> = (4..7)
            .map(|step| answers[step][side].json()["id"].clone())
            .collect();
        assert!(ids.iter().all(|id| id == &ids[0]), "{ids:?}");
    }
}
