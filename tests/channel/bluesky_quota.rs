//! What Bluesky's servers tell ahead of a refusal.

use super::bluesky::{
    DID, KEY, PNG, error, login, open_channel, post, post_with_picture, receipt, wants_picture,
    written,
};
use super::later::{removal, send};
use super::server::{Act, Server, answer, json as json_answer};
use super::{claim, pushed, tell};
use sayonce::model::outcome::Remote;

/// Ten minutes from now.
const RESET: &str = "1795947000";

const NOTHING_SENT: &str = "refused for too many requests (wait until 2026-11-29T10:10:00.000Z): nothing was sent: the service takes no more writes until 2026-11-29T10:10:00.000Z";

fn written_with(remaining: &str, reset: &str) -> Act {
    let headers = format!(
        "RateLimit-Limit: 5000\r\nRateLimit-Remaining: {remaining}\r\nRateLimit-Reset: {reset}\r\nRateLimit-Policy: 5000;w=3600\r\n"
    );
    answer(200, &headers, &written(true))
}

fn accepted() -> String {
    format!("accepted by response: {}", receipt())
}

#[test]
fn a_write_that_would_be_refused_is_not_sent() {
    let server = Server::start([login(), written_with("0", RESET)]);
    let mut channel = open_channel(&server);
    let publish = || [pushed(claim(DID, &post()))];
    assert_eq!(tell(&channel.publish(&publish())), accepted());
    assert_eq!(tell(&channel.publish(&publish())), NOTHING_SENT);
    // Nor is a picture for one, or a deletion.
    drop(channel.prepare(&wants_picture(), vec![Ok(PNG.to_vec())]));
    let with_picture = [pushed(claim(DID, &post_with_picture()))];
    assert_eq!(tell(&channel.publish(&with_picture)), NOTHING_SENT);
    let target = Remote {
        id: Some(format!("at://{DID}/app.bsky.feed.post/{KEY}")),
        url: None,
    };
    assert_eq!(send(&mut *channel, removal(DID, target)), NOTHING_SENT);
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn what_is_left_or_makes_no_sense_keeps_nothing_back() {
    for (remaining, reset) in [
        ("1", RESET),
        ("0", "1795946000"),
        ("0", "1899999999"),
        ("0", "soon"),
        ("", RESET),
    ] {
        let server = Server::start([
            login(),
            written_with(remaining, reset),
            json_answer(200, &written(true)),
        ]);
        let mut channel = open_channel(&server);
        for _ in 0..2 {
            let told = tell(&channel.publish(&[pushed(claim(DID, &post()))]));
            assert_eq!(told, accepted(), "{remaining} {reset}");
        }
    }
}

/// The newest answer counts: another window may have begun.
#[test]
fn a_later_answer_takes_it_back() {
    let refused = answer(
        429,
        &format!("RateLimit-Remaining: 0\r\nRateLimit-Reset: {RESET}\r\nRetry-After: 0\r\n"),
        "",
    );
    let server = Server::start([login(), refused]);
    let mut channel = open_channel(&server);
    let told = tell(&channel.publish(&[pushed(claim(DID, &post()))]));
    assert_eq!(told, "refused for too many requests (wait 0 ms): HTTP 429");
    let told = tell(&channel.publish(&[pushed(claim(DID, &post()))]));
    assert_eq!(told, NOTHING_SENT);

    let server = Server::start([
        login(),
        error(500, "InternalServerError"),
        written_with("7", RESET),
    ]);
    let mut channel = open_channel(&server);
    let told = tell(&channel.publish(&[pushed(claim(DID, &post()))]));
    assert!(told.starts_with("in doubt: "), "{told}");
    let told = tell(&channel.publish(&[pushed(claim(DID, &post()))]));
    assert_eq!(told, accepted());
}
