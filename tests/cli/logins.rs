//! Logins are few and limited: 30 in five minutes, 300 a day.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use sayonce::model::channel::Kind;
use sayonce::model::ids::ChannelName;
use sayonce::sandbox::Answered;

use super::site::{Plan, Site};

const LOGIN: &str = "/xrpc/com.atproto.server.createSession";

fn bluesky() -> Plan {
    Plan::of(&[("bluesky", Kind::Bluesky)])
}

/// How each login was answered.
fn logins(site: &Site) -> Vec<Answered> {
    let requests = site.sandbox().requests().into_iter();
    requests
        .filter(|request| request.path == LOGIN)
        .map(|request| request.answered)
        .collect()
}

#[test]
fn one_login_serves_whatever_a_run_does() {
    let site = bluesky()
        .articles(5)
        .every_channel("interval = \"0s\"\nlookups = [\"10ms\"]")
        .fault("bluesky:2=lost-answer")
        .fault("bluesky:4=lost-request")
        .start();
    site.run(&[]).assert_code(0);
    site.assert_exactly_once();
    let login = Answered::Status(200);
    assert_eq!(logins(&site), [login]);
    // The next run logs in for a list, a deletion, and a look at what it left; what is done already costs none.
    site.run(&[]).assert_code(0);
    assert_eq!(logins(&site), [login]);
    site.sayonce(&["retract", "article-1", "bluesky"])
        .assert_code(0);
    site.run(&[]).assert_code(0);
    assert_eq!(site.posts().len(), 4);
    assert_eq!(logins(&site), [login, login]);
}

#[test]
fn too_many_logins_are_waited_for_and_are_nobodys_fault() {
    let site = bluesky().articles(2).start();
    let name = ChannelName::new("bluesky").unwrap();
    let address = site.sandbox().url(&name).trim_start_matches("http://");
    for _ in 0..30 {
        // Somebody else's, with a wrong password.
        let body = r#"{"identifier":"blog.example","password":"wrong"}"#;
        let request = format!(
            "POST {LOGIN} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
    }
    let ran = site.run(&["--max-wait", "0s"]);
    ran.assert_code(6);
    assert_eq!(logins(&site).last(), Some(&Answered::Status(429)));
    let report = ran.json();
    let told = report["deliveries"].as_array().unwrap().iter();
    for delivery in told {
        assert_eq!(delivery["state"], "pending");
        let reason = delivery["reason"].as_str().unwrap();
        assert!(
            reason.starts_with("due at ") && reason.ends_with(": the service asked for a pause"),
            "{reason}"
        );
    }
    assert!(ran.stderr.contains("RateLimitExceeded"), "{}", ran.stderr);
    // The run that follows asks once, too.
    let count = logins(&site).len();
    site.run(&["--max-wait", "0s"]).assert_code(6);
    assert_eq!((logins(&site).len(), site.posts().len()), (count + 1, 0));
}
