//! Services that publish in two steps: what the first one makes stands in the claim, and only the second one counts.

use sayonce::config::ChannelConfig;
use sayonce::model::claim::Claim;
use sayonce::model::media::{Prepared, Wants};
use sayonce::model::post::Post;
use serde_json::json;

use super::http::{channel, config, full_claim, on_server};
use super::server::{Act, Server, answer, json as json_answer};
use super::{SECRET, pushed, tell, tell_lookup};

/// Prepares a post on Threads and publishes what came of it; tells the outcome, what was found, and the requests.
fn post(acts: Vec<Act>) -> (String, Prepared, Vec<String>) {
    let server = Server::start(acts);
    let config = on_server(
        config("preset = \"threads\"\nvalues = { user = 17 }"),
        &server,
    );
    let mut channel = channel(&config, &server);
    let mut claim = unmade(&config);
    let wants = Wants {
        draft: Some(claim.post.clone()),
        ..Wants::default()
    };
    let prepared = channel.prepare(&wants, Vec::new());
    let mut fields = claim.post.fields().clone();
    prepared.insert_made_into(&mut fields);
    claim.post = Post::new(fields);
    let told = tell(&channel.publish(&[pushed(claim)]));
    let requests = server.requests();
    let shown = requests
        .iter()
        .map(|request| request.replace(SECRET, "TOKEN"));
    (told, prepared, shown.collect())
}

/// A claim whose post names nothing that was made.
pub(super) fn unmade(config: &ChannelConfig) -> Claim {
    let mut claim = full_claim(config);
    let mut fields = claim.post.fields().clone();
    drop(fields.shift_remove("prepared"));
    claim.post = Post::new(fields);
    claim
}

fn made() -> Act {
    json_answer(200, r#"{"id":"18"}"#)
}

fn status(status: &str) -> Act {
    json_answer(200, &json!({ "id": "18", "status": status }).to_string())
}

fn error(http: u16, code: u32) -> Act {
    json_answer(http, &json!({ "error": { "code": code } }).to_string())
}

#[test]
fn what_was_made_is_waited_for_and_published_by_its_id() {
    let (told, prepared, requests) = post(vec![
        made(),
        status("IN_PROGRESS"),
        status("FINISHED"),
        json_answer(200, r#"{"id":"17"}"#),
    ]);
    assert_eq!(told, "accepted by response: 17 none");
    assert_eq!(prepared.made.as_deref(), Some("18"));
    let lines: Vec<_> = requests
        .iter()
        .map(|request| {
            let first = request.lines().next().unwrap_or_default();
            let last = request.lines().last().unwrap_or_default();
            if last.is_empty() {
                first.to_owned()
            } else {
                format!("{first}\n  {last}")
            }
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    POST /v1.0/17/threads HTTP/1.1
      media_type=TEXT&text=Hello+%26+%3Cyou%3E%0A%0Ahttps%3A%2F%2Fblog.example%2Fa&link_attachment=https%3A%2F%2Fblog.example%2Fa&access_token=TOKEN
    GET /v1.0/18?fields=status%2Cerror_message&access_token=TOKEN HTTP/1.1
    GET /v1.0/18?fields=status%2Cerror_message&access_token=TOKEN HTTP/1.1
    POST /v1.0/17/threads_publish HTTP/1.1
      creation_id=18&access_token=TOKEN
    ");
}

#[test]
fn where_nothing_was_made_nothing_is_published_and_the_attempt_says_why() {
    let check = |acts: Vec<Act>| {
        let count = acts.len();
        let (told, prepared, requests) = post(acts);
        assert_eq!(prepared, Prepared::default());
        assert_eq!(requests.len(), count);
        assert!(
            requests
                .iter()
                .all(|request| !request.contains("threads_publish"))
        );
        told
    };
    let told = [
        check(vec![error(400, 100)]),
        check(vec![error(401, 190)]),
        check(vec![error(400, 4)]),
        check(vec![error(500, 2)]),
        check(vec![answer(200, "", "<html>")]),
        check(vec![made(), status("ERROR")]),
        check(vec![made(), error(400, 24)]),
    ];
    insta::assert_snapshot!(told.join("\n"), @r#"
    refused permanently: the first of two requests: HTTP 400: {"error":{"code":100}}
    refused for our credentials: the first of two requests: HTTP 401: {"error":{"code":190}}
    refused for too many requests: the first of two requests: HTTP 400: {"error":{"code":4}}
    refused for now: the first of two requests: HTTP 500: {"error":{"code":2}}
    refused for now: the first of two requests: HTTP 200: <html>
    refused for now: what was made can't be published: HTTP 200: {"id":"18","status":"ERROR"}
    refused for now: the first of two requests: HTTP 400: {"error":{"code":24}}
    "#);
    // Another account, or a token whose rights ended: the article is not at fault.
    assert_eq!(
        check(vec![json_answer(
            400,
            r#"{"error":{"code":100,"error_subcode":33}}"#
        )]),
        r#"refused for our credentials: the first of two requests: HTTP 400: {"error":{"code":100,"error_subcode":33}}"#
    );
    // An answer that is lost says nothing, and nobody sees what may have been made.
    let lost = check(vec![Act::HangUp]);
    assert!(
        lost.starts_with("refused for now: the answer of 127.0.0.1 was lost"),
        "{lost}"
    );
    let slow = check(
        std::iter::once(made())
            .chain((0..20).map(|_| status("IN_PROGRESS")))
            .collect(),
    );
    assert!(
        slow.starts_with("refused for now: what was made was not ready in time: "),
        "{slow}"
    );
}

#[test]
fn the_second_request_is_judged_like_any_other() {
    let check = |act: Act| post(vec![made(), status("FINISHED"), act]).0;
    assert_eq!(
        check(error(400, 24)),
        r#"refused for now: HTTP 400: {"error":{"code":24}}"#
    );
    assert_eq!(
        check(error(500, 1)),
        r#"in doubt: HTTP 500: {"error":{"code":1}}"#
    );
    assert!(check(Act::HangUp).starts_with("in doubt: the answer of "));
}

#[test]
fn a_claim_of_an_earlier_run_is_published_by_what_it_names() {
    let server = Server::start([json_answer(200, r#"{"id":"17"}"#)]);
    let config = on_server(
        config("preset = \"threads\"\nvalues = { user = 17 }"),
        &server,
    );
    let claim = full_claim(&config);
    let mut channel = channel(&config, &server);
    assert_eq!(
        tell(&channel.publish(&[pushed(claim)])),
        "accepted by response: 17 none"
    );
    assert!(server.requests()[0].contains("creation_id=18&"));
    // One that names nothing is not sent.
    assert_eq!(
        tell(&channel.publish(&[pushed(unmade(&config))])),
        "refused for now: what is published has not been made"
    );
}

/// A list may lag behind: what the service says of the container itself keeps a second one from being published.
#[test]
fn what_was_published_is_not_absent_because_a_list_lags() {
    let check = |act: Act| {
        let server = Server::start([json_answer(200, r#"{"data":[]}"#), act]);
        let config = on_server(
            config("preset = \"threads\"\nvalues = { user = 17 }"),
            &server,
        );
        let told = tell_lookup(&channel(&config, &server).lookup(&full_claim(&config)));
        assert!(server.requests()[1].starts_with("GET /v1.0/18?"));
        told
    };
    assert_eq!(
        check(status("PUBLISHED")),
        "cannot tell: it was published, and the list does not show it yet"
    );
    assert_eq!(check(status("FINISHED")), "absent");
    assert_eq!(check(status("EXPIRED")), "absent");
    assert_eq!(check(error(400, 100)), "absent");
    assert_eq!(check(error(400, 24)), "absent");
    // What was not read says nothing.
    for act in [
        error(500, 2),
        error(429, 4),
        error(400, 4),
        error(400, 190),
        error(401, 190),
        answer(200, "", "<html>"),
        answer(404, "", "<html>"),
        json_answer(200, r#"{"id":"18"}"#),
        // So a post answers that is asked for a container's status.
        json_answer(
            400,
            r#"{"error":{"message":"Tried accessing nonexisting field (status)","code":100}}"#,
        ),
        // It is not there, or we may not see it.
        json_answer(400, r#"{"error":{"code":100,"error_subcode":33}}"#),
    ] {
        let told = check(act);
        assert!(
            told.starts_with("cannot tell: whether it was published could not be read: HTTP "),
            "{told}"
        );
    }
    assert!(check(Act::HangUp).starts_with("cannot tell: the answer of "));
}
