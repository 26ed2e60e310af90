//! Sources that are given as URLs.

use std::sync::Arc;

use sayonce::channel::http::{HttpFetch, is_loopback};
use url::Url;

use super::TestClock;
use super::server::{Act, Server, answer, cut};

fn redirect(location: &str) -> Act {
    answer(302, &format!("Location: {location}\r\n"), "moved")
}

fn fetch(server: &Server) -> Result<String, String> {
    fetch_with(server, TestClock::still())
}

fn fetch_with(server: &Server, clock: Arc<TestClock>) -> Result<String, String> {
    HttpFetch::new(clock)
        .fetch(server.url().as_str())
        .map(|bytes| String::from_utf8(bytes).unwrap())
        .map_err(|reason| server.without_port(&reason))
}

#[test]
fn a_source_is_read_where_it_moved_to() {
    let server = Server::start_knowing_itself(|url| {
        let elsewhere = url.join("/feed.xml?x=1").unwrap();
        [
            redirect("/moved"),
            redirect(elsewhere.as_str()),
            answer(200, "", "<feed/>"),
        ]
    });
    assert_eq!(fetch(&server), Ok("<feed/>".to_owned()));
    insta::assert_snapshot!(server.requests().join("\n---\n"), @r"
    GET / HTTP/1.1
    accept-encoding: gzip
    user-agent: sayonce/VERSION
    host: server
    cache-control: no-cache
    accept: */*


    ---
    GET /moved HTTP/1.1
    accept-encoding: gzip
    user-agent: sayonce/VERSION
    host: server
    cache-control: no-cache
    accept: */*


    ---
    GET /feed.xml?x=1 HTTP/1.1
    accept-encoding: gzip
    user-agent: sayonce/VERSION
    host: server
    cache-control: no-cache
    accept: */*
    ");
}

#[test]
fn what_can_not_be_read_says_why() {
    let check = |acts: Vec<Act>| fetch(&Server::start(acts)).unwrap_err();
    assert_eq!(
        check(vec![answer(404, "", "no")]),
        "http://server/: HTTP 404"
    );
    assert_eq!(check(vec![answer(304, "", "")]), "http://server/: HTTP 304");
    assert_eq!(
        check(vec![redirect("http://blog.example/")]),
        "http://blog.example/: only https is used, except for this machine's own addresses"
    );
    assert_eq!(
        check((0..6).map(|_| redirect("/again")).collect()),
        "http://server/again: too many redirects, or too slow"
    );
    assert!(check(vec![cut(200, "<feed")]).starts_with("http://server/: "));
    let silent = fetch_with(&Server::start([Act::Silence]), TestClock::fast());
    assert_eq!(silent, Err("http://server/: timeout: global".to_owned()));
    let too_large = "x".repeat(50_000_001);
    assert_eq!(
        check(vec![answer(200, "", &too_large)]),
        "http://server/: the response body is larger than request limit: 50000000"
    );
    let not_a_url = HttpFetch::new(TestClock::still()).fetch("feed.xml");
    assert_eq!(
        not_a_url,
        Err("`feed.xml` is not a URL: relative URL without a base".to_owned())
    );
}

#[test]
fn this_machine_is_known_by_its_names() {
    for (url, expected) in [
        ("http://localhost:1/", true),
        ("http://blog.localhost/", true),
        ("http://127.8.9.1/", true),
        ("http://[::1]/", true),
        ("http://192.168.0.1/", false),
        ("http://localhost.example/", false),
        ("http://127.0.0.1.example/", false),
        ("data:text/plain,x", false),
    ] {
        assert_eq!(is_loopback(&Url::parse(url).unwrap()), expected, "{url}");
    }
}
