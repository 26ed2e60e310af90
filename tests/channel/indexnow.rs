use sayonce::config::ServiceConfig;
use sayonce::model::outcome::{Listing, Lookup, Remote};
use serde_json::json;
use url::Url;

use super::later::{change, effect, removal, send};
use super::server::{Act, Server, answer};
use super::{TestClock, channel, claim, pushed, tell, tell_opening};

fn service(server: &Server, key_location: Option<&str>) -> ServiceConfig {
    ServiceConfig::IndexNow {
        key: "0123456789abcdef".to_owned(),
        key_location: key_location.map(|url| Url::parse(url).unwrap()),
        endpoint: server.url().join("/indexnow").unwrap(),
    }
}

#[test]
fn one_post_carries_all_claims() {
    let server = Server::start([answer(202, "", "")]);
    let mut channel = channel(service(&server, None), TestClock::still());
    let claims = ["https://blog.example/a", "https://blog.example/b?c=d"]
        .map(|url| pushed(claim("engine", &json!({ "url": url }))));
    assert_eq!(
        tell(&channel.publish(&claims)),
        "accepted by response: none none"
    );
    insta::assert_snapshot!(server.requests().join("\n---\n"), @r#"
    POST /indexnow HTTP/1.1
    accept-encoding: gzip
    content-length: 172
    user-agent: sayonce/VERSION
    host: server
    accept: application/json
    content-type: application/json; charset=utf-8

    {"host":"blog.example","key":"0123456789abcdef","keyLocation":"https://blog.example/0123456789abcdef.txt","urlList":["https://blog.example/a","https://blog.example/b?c=d"]}
    "#);
}

#[test]
fn one_address_is_a_get() {
    let server = Server::start([answer(202, "", "")]);
    let mut channel = channel(service(&server, None), TestClock::still());
    let claims = [pushed(claim(
        "engine",
        &json!({ "url": "https://blog.example/b?c=d&e" }),
    ))];
    assert_eq!(
        tell(&channel.publish(&claims)),
        "accepted by response: none none"
    );
    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(
        requests[0].lines().next(),
        Some(
            "GET /indexnow?url=https%3A%2F%2Fblog.example%2Fb%3Fc%3Dd%26e&key=0123456789abcdef\
             &keyLocation=https%3A%2F%2Fblog.example%2F0123456789abcdef.txt HTTP/1.1"
        )
    );
}

#[test]
fn an_address_too_long_for_a_get_is_posted() {
    let server = Server::start([answer(202, "", "")]);
    let mut channel = channel(service(&server, None), TestClock::still());
    let url = format!("https://blog.example/{}", "a".repeat(2_000));
    assert_eq!(
        tell(&channel.publish(&[pushed(claim("engine", &json!({ "url": url })))])),
        "accepted by response: none none"
    );
    assert!(server.requests()[0].starts_with("POST /indexnow HTTP/1.1"));
}

#[test]
fn a_request_is_about_one_host_with_the_key_at_its_top() {
    let server = Server::start([answer(202, "", "")]);
    let location = "https://blog.example/keys/k.txt";
    let mut channel = channel(service(&server, Some(location)), TestClock::still());
    let claims = |urls: [&str; 2]| urls.map(|url| pushed(claim("engine", &json!({ "url": url }))));
    assert_eq!(
        tell(&channel.publish(&claims([
            "https://blog.example/keys/a",
            "https://old.example/b"
        ]))),
        "not sent: addresses of several hosts don't go into one request"
    );
    assert_eq!(
        tell(&channel.publish(&claims(["https://old.example/a", "http://old.example/b"]))),
        "accepted by response: none none"
    );
    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    assert!(requests[0].ends_with(
        r#"{"host":"old.example","key":"0123456789abcdef","keyLocation":"https://old.example/0123456789abcdef.txt","urlList":["https://old.example/a","http://old.example/b"]}"#
    ));
}

#[test]
fn what_changed_is_submitted_again_and_nothing_is_taken_back() {
    let server = Server::start([answer(200, "", "")]);
    let mut channel = channel(service(&server, None), TestClock::still());
    let nothing = Remote {
        id: None,
        url: None,
    };
    let claim = change(
        "engine",
        &json!({ "url": "https://blog.example/a" }),
        nothing.clone(),
    );
    assert_eq!(
        send(&mut *channel, claim.clone()),
        "accepted by response: none none"
    );
    assert!(server.requests()[0].starts_with("GET /indexnow?url=https%3A%2F%2Fblog.example%2Fa&"));
    assert_eq!(
        effect(&mut *channel, &claim),
        "cannot tell: this service can't be read"
    );
    assert_eq!(
        send(&mut *channel, removal("engine", nothing)),
        "refused permanently: a post can't be taken down on this service"
    );
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn the_key_may_lie_elsewhere() {
    let server = Server::start([answer(200, "", "")]);
    let location = "https://blog.example/keys/k.txt";
    let mut channel = channel(service(&server, Some(location)), TestClock::still());
    let claims = ["https://blog.example/keys/a", "https://blog.example/keys/b"]
        .map(|url| pushed(claim("engine", &json!({ "url": url }))));
    assert_eq!(
        tell(&channel.publish(&claims)),
        "accepted by response: none none"
    );
    assert!(server.requests()[0].contains(r#""keyLocation":"https://blog.example/keys/k.txt""#));
}

#[test]
fn every_answer_is_in_the_table_or_in_doubt() {
    let check = |act: Act| {
        let server = Server::start([act]);
        let mut channel = channel(service(&server, None), TestClock::still());
        tell(&channel.publish(&[pushed(claim("engine", &json!({ "url": "u" })))]))
    };
    let accepted = "accepted by response: none none";
    assert_eq!(check(answer(200, "", "<html>")), accepted);
    assert_eq!(check(answer(202, "", "")), accepted);
    assert_eq!(
        check(answer(400, "", "Bad\nrequest")),
        "refused permanently: HTTP 400: Bad request"
    );
    assert_eq!(
        check(answer(403, "", "")),
        "refused for now: HTTP 403 (is https://blog.example/0123456789abcdef.txt online, with the key and nothing \
         else in it?)"
    );
    assert_eq!(check(answer(422, "", "")), "refused permanently: HTTP 422");
    assert_eq!(
        check(answer(429, "Retry-After: 60\r\n", "")),
        "refused for too many requests (wait 60000 ms): HTTP 429"
    );
    for status in [201, 204, 404, 405, 408, 500, 502, 503] {
        let body = if status == 204 { "" } else { "x" };
        let told = check(answer(status, "", body));
        assert!(
            told.starts_with(&format!("in doubt: HTTP {status}")),
            "{told}"
        );
    }
}

#[test]
fn it_opens_without_a_network_and_reads_nothing_back() {
    let server = Server::start([]);
    let mut channel = channel(service(&server, None), TestClock::still());
    assert_eq!(
        tell_opening(&channel.open()),
        "ready as 127.0.0.1/blog.example, limit None, skew None"
    );
    assert!(matches!(
        channel.recent(super::now()),
        Listing::CannotTell { .. }
    ));
    let claim = claim("engine", &json!({ "url": "u" }));
    assert!(matches!(channel.lookup(&claim), Lookup::CannotTell { .. }));
}

#[test]
fn a_post_without_its_field_is_refused_before_anything_is_sent() {
    let server = Server::start([]);
    let mut channel = channel(service(&server, None), TestClock::still());
    assert_eq!(
        tell(&channel.publish(&[pushed(claim("engine", &json!({})))])),
        "refused permanently: a post without `url` can't be sent to IndexNow"
    );
}
