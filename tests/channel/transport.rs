//! What a broken connection proves, and what it does not.

use std::net::TcpListener;
use std::sync::Arc;

use sayonce::channel::registry::build;
use sayonce::config::{ServiceConfig, Visibility};
use sayonce::environment::Environment;
use sayonce::model::outcome::Outcome;
use sayonce::model::time::Timestamp;
use serde_json::json;
use url::Url;

use super::server::{Act, Server, cut, json as json_answer};
use super::{ARTICLE, TestClock, channel, claim, pushed, tell};

fn index_now(endpoint: &Url) -> ServiceConfig {
    ServiceConfig::IndexNow {
        key: "0123456789abcdef".to_owned(),
        key_location: None,
        endpoint: endpoint.clone(),
    }
}

/// Publishes one URL and returns what came of it, and how many whole requests arrived.
fn publish(act: Act, url_length: usize) -> (String, usize) {
    let server = Server::start([act]);
    let outcome = publish_to(&server.url(), &"x".repeat(url_length), TestClock::still());
    (tell(&outcome), server.requests().len())
}

fn publish_to(endpoint: &Url, url: &str, clock: Arc<TestClock>) -> Outcome {
    let mut channel = channel(index_now(endpoint), clock);
    channel.publish(&[pushed(claim("engine", &json!({ "url": url })))])
}

#[test]
fn a_broken_exchange_is_in_doubt_from_the_first_byte_on() {
    let check = |act: Act, expected: &str, requests: usize| {
        let (told, arrived) = publish(act.clone(), 10);
        assert!(told.starts_with(expected), "{act:?}: {told}");
        assert_eq!(arrived, requests, "{act:?}");
    };
    let lost = "in doubt: the answer of 127.0.0.1 was lost: ";
    check(Act::CloseAtOnce, lost, 0);
    check(Act::HangUp, lost, 1);
    check(Act::Reset, lost, 0);
    check(
        Act::Answer(b"HTTP/1.1 200 OK\r\nContent-".to_vec()),
        lost,
        1,
    );
    check(Act::Answer(b"SSH-2.0-x\r\n\r\n".to_vec()), lost, 1);
    check(Act::Answer(Vec::new()), lost, 1);
}

#[test]
fn no_answer_within_the_timeout_is_in_doubt() {
    let server = Server::start([Act::Silence]);
    assert_eq!(
        tell(&publish_to(&server.url(), ARTICLE, TestClock::fast())),
        "in doubt: no answer from 127.0.0.1 within 30s"
    );
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn an_answer_that_comes_too_early_is_lost_with_its_connection() {
    let early = b"HTTP/1.1 413 X\r\nContent-Length: 0\r\n\r\n".to_vec();
    let (told, _) = publish(Act::Early(early), 32 * 1024 * 1024);
    assert!(
        told.starts_with("in doubt: the answer of 127.0.0.1 was lost: "),
        "{told}"
    );
}

#[test]
fn what_never_reached_a_server_was_not_sent() {
    let check = |endpoint: &str, expected: &str| {
        let endpoint_url = Url::parse(endpoint).unwrap();
        let outcome = publish_to(&endpoint_url, ARTICLE, TestClock::still());
        let told = tell(&outcome);
        assert!(told.starts_with(expected), "{endpoint}: {told}");
    };
    let refusing = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = refusing.local_addr().unwrap().port();
    drop(refusing);
    check(
        &format!("http://127.0.0.1:{port}/"),
        "not sent: no connection to 127.0.0.1: ",
    );
    check(
        "http://engine.example/indexnow",
        "not sent: http://engine.example/indexnow: only https is used",
    );
}

#[test]
fn a_failed_tls_handshake_sent_nothing_of_the_request() {
    let check = |act: Act, expected: &str, clock: Arc<TestClock>| {
        let server = Server::start([act.clone()]);
        let mut endpoint = server.url();
        endpoint.set_scheme("https").unwrap();
        let told = tell(&publish_to(&endpoint, ARTICLE, clock));
        assert!(told.starts_with(expected), "{act:?}: {told}");
    };
    let failed = "not sent: no connection to 127.0.0.1: ";
    check(Act::CloseAtOnce, failed, TestClock::still());
    check(Act::Reset, failed, TestClock::still());
    let not_tls = b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec();
    check(Act::Early(not_tls), failed, TestClock::still());
    let timed_out = "not sent: no connection to 127.0.0.1 within 30s";
    check(Act::Deaf, timed_out, TestClock::fast());
}

#[test]
fn a_secret_that_can_not_be_sent_is_not_shown_either() {
    let service = ServiceConfig::Mastodon {
        server: Url::parse("http://127.0.0.1:9/").unwrap(),
        token_env: "SECRET".to_owned(),
        visibility: Visibility::Public,
        content_warning: None,
    };
    let environment = Environment::of([("SECRET", "two\nlines")]);
    let config = super::channel_config(service);
    let mut channel = build(&config, &super::site(), &environment, TestClock::still()).unwrap();
    assert_eq!(
        super::tell_opening(&channel.open()),
        "closed, unreachable: no request to 127.0.0.1 could be made: http: failed to parse header value"
    );
}

#[test]
fn no_write_starts_when_its_window_is_over() {
    let too_late = "not sent: the send window was over before the request could start";

    // By the wall clock.
    let server = Server::start([Act::Deaf]);
    let mut late = claim("engine", &json!({ "url": ARTICLE }));
    late.send_before = super::now();
    let mut channel_at_rest = channel(index_now(&server.url()), TestClock::still());
    assert_eq!(tell(&channel_at_rest.publish(&[pushed(late)])), too_late);

    // By the monotonic clock alone: the wall clock may have been set back while we connected.
    let server = Server::start([Act::Deaf]);
    let mut slow = claim("engine", &json!({ "url": ARTICLE }));
    slow.send_before = Timestamp::parse("2026-11-29T10:00:02.900Z").unwrap();
    let mut slow_channel = channel(index_now(&server.url()), TestClock::stepping(1_000, 1));
    assert_eq!(tell(&slow_channel.publish(&[pushed(slow)])), too_late);

    // The earliest window of a batch counts.
    let server = Server::start([Act::Deaf]);
    let mut late = claim("engine", &json!({ "url": ARTICLE }));
    late.send_before = super::now();
    let batch = [
        pushed(claim("engine", &json!({ "url": ARTICLE }))),
        pushed(late),
    ];
    let mut batch_channel = channel(index_now(&server.url()), TestClock::still());
    assert_eq!(tell(&batch_channel.publish(&batch)), too_late);
}

#[test]
fn all_requests_of_one_call_share_its_timeout() {
    // Each look at the clock takes 13 s: the login is over in time, what follows it is not begun.
    let server = Server::start([
        json_answer(200, r#"{"id":"1","url":"https://m.example/@blog"}"#),
        json_answer(
            200,
            r#"{"configuration":{"statuses":{"max_characters":5}}}"#,
        ),
    ]);
    let service = ServiceConfig::Mastodon {
        server: server.url(),
        token_env: "SECRET".to_owned(),
        visibility: Visibility::Public,
        content_warning: None,
    };
    let opening = channel(service, TestClock::stepping(13_000, 1)).open();
    assert_eq!(
        super::tell_opening(&opening),
        "ready as https://m.example/@blog, limit None, skew None"
    );
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_redirect_of_a_write_is_not_followed() {
    let server = Server::start_knowing_itself(|url| {
        let location = format!("HTTP/1.1 307 X\r\nLocation: {url}\r\nContent-Length: 0\r\n\r\n");
        [Act::Answer(location.into_bytes()), json_answer(200, "{}")]
    });
    let told = tell(&publish_to(&server.url(), ARTICLE, TestClock::still()));
    assert_eq!(
        server.without_port(&told),
        "in doubt: HTTP 307 to http://server/"
    );
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_status_that_is_enough_by_itself_counts_also_with_half_a_body() {
    let check = |act: Act| publish(act, 10).0;
    assert_eq!(check(cut(200, "")), "accepted by response: none none");
    assert_eq!(
        check(cut(400, "bad")),
        "refused permanently: HTTP 400: bad (cut short)"
    );
}
