//! What servers answer to a key that was sent before.

use serde_json::json;

use super::mastodon::{ACCOUNT, open_channel, post, whoami};
use super::server::{Server, answer};
use super::{claim, pushed, tell};

/// What servers say to a key that they know, where that is not the status.
#[test]
fn what_is_said_of_a_known_key_is_never_a_refusal_of_this_request() {
    let check = |status: u16, head: &str, error: &str| {
        let body = json!({ "error": error }).to_string();
        let server = Server::start([whoami(), answer(status, head, &body)]);
        tell(&open_channel(&server).publish(&[pushed(claim(ACCOUNT, &post()))]))
    };
    // Pleroma and Akkoma say again what they said first, whether or not that is so still.
    let replayed = "idempotency-key: so1-5f\r\nidempotent-replayed: true\r\n";
    for status in [400, 401, 403, 422, 429] {
        assert_eq!(
            check(status, replayed, "no"),
            format!(
                r#"refused from memory: the server repeats what it said to an earlier request: HTTP {status}: {{"error":"no"}}"#
            )
        );
    }
    // What was in doubt then is looked for now.
    for status in [404, 409, 500, 502] {
        assert_eq!(
            check(status, replayed, "no"),
            format!(r#"in doubt: HTTP {status}: {{"error":"no"}}"#)
        );
    }
    assert_eq!(
        check(422, "idempotent-replayed: false\r\n", "no"),
        r#"refused permanently: HTTP 422: {"error":"no"}"#
    );
    // Newer ones wait for the first request, and say so if that takes too long.
    let busy = "An identical request is still being processed";
    assert_eq!(
        check(409, "", busy),
        format!(r#"in doubt: HTTP 409: {{"error":"{busy}"}}"#)
    );
    // Pixelfed knows a key from before the post was made: it may be there, or not.
    let duplicate = "Duplicate idempotency key.";
    assert_eq!(
        check(400, "", duplicate),
        format!(r#"in doubt: HTTP 400: {{"error":"{duplicate}"}}"#)
    );
}
