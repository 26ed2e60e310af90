use serde_json::json;

use sayonce::channel::Channel;
use sayonce::config::ServiceConfig;
use sayonce::model::claim::Claim;
use sayonce::model::outcome::Remote;

use super::later::{change, effect, remote, removal, send};
use super::server::{Act, Server, answer, json as json_answer};
use super::{TestClock, channel};

const DID: &str = "did:plc:sr5mvwooquzbasmceq2ksxfe";
const KEY: &str = "3mabcdefghj2z";
const DELETE: &str = "POST /xrpc/com.atproto.repo.deleteRecord";
const GET: &str = "GET /xrpc/com.atproto.repo.getRecord?repo=did%3Aplc%3Asr5mvwooquzbasmceq2ksxfe&collection=app.bsky.feed.post&rkey=3mabcdefghj2z";

fn open_channel(server: &Server) -> Box<dyn Channel> {
    let service = ServiceConfig::Bluesky {
        handle: "blog.example".to_owned(),
        service: Some(server.url()),
        resolver: server.url(),
        plc_directory: server.url(),
        app_password_env: "SECRET".to_owned(),
        labels: Vec::new(),
    };
    channel(service, TestClock::still())
}

fn login() -> Act {
    let session = json!({
        "accessJwt": "eyJ0eXAiOiJhdCtqd3QifQ.eyJzY29wZSI6IngifQ.c2ln",
        "did": DID,
        "handle": "blog.example",
        "active": true,
    });
    json_answer(200, &session.to_string())
}

fn uri() -> String {
    format!("at://{DID}/app.bsky.feed.post/{KEY}")
}

fn address() -> String {
    format!("https://bsky.app/profile/blog.example/post/{KEY}")
}

fn target() -> Remote {
    remote(&uri(), &address())
}

fn accepted() -> String {
    format!("accepted by read_back: {} {}", uri(), address())
}

fn done() -> Act {
    json_answer(200, r#"{"commit":{"cid":"bafy","rev":"3n"}}"#)
}

fn gone() -> Act {
    error(400, "RecordNotFound")
}

fn standing() -> Act {
    json_answer(
        200,
        &json!({ "uri": uri(), "cid": "bafy", "value": {} }).to_string(),
    )
}

fn error(status: u16, name: &str) -> Act {
    json_answer(
        status,
        &json!({ "error": name, "message": "m" }).to_string(),
    )
}

fn sent(claim: Claim, acts: impl IntoIterator<Item = Act>) -> (String, Vec<String>) {
    let server = Server::start([login()].into_iter().chain(acts));
    let told = send(&mut *open_channel(&server), claim);
    let requests = server.requests();
    let lines = requests.iter().skip(1);
    let lines = lines.map(|request| request.split(" HTTP").next().unwrap().to_owned());
    (told, lines.collect())
}

#[test]
fn a_record_is_deleted_and_then_looked_for() {
    let server = Server::start([login(), done(), gone()]);
    let told = send(&mut *open_channel(&server), removal(DID, target()));
    assert_eq!(told, accepted());
    insta::assert_snapshot!(server.requests()[1], @r#"
    POST /xrpc/com.atproto.repo.deleteRecord HTTP/1.1
    accept-encoding: gzip
    content-length: 100
    user-agent: sayonce/VERSION
    host: server
    accept: application/json
    content-type: application/json; charset=utf-8
    authorization: Bearer eyJ0eXAiOiJhdCtqd3QifQ.eyJzY29wZSI6IngifQ.c2ln

    {"repo":"did:plc:sr5mvwooquzbasmceq2ksxfe","collection":"app.bsky.feed.post","rkey":"3mabcdefghj2z"}
    "#);

    let check = |acts: Vec<Act>| {
        let (told, lines) = sent(removal(DID, target()), acts);
        assert_eq!(lines, [DELETE, GET]);
        told
    };
    assert_eq!(check(vec![Act::HangUp, gone()]), accepted());
    assert_eq!(
        check(vec![error(500, "InternalServerError"), gone()]),
        accepted()
    );
    assert_eq!(
        check(vec![done(), standing()]),
        "in doubt: the post is still shown, though the service answered: HTTP 200"
    );
    assert_eq!(
        check(vec![error(500, "InternalServerError"), standing()]),
        r#"in doubt: the post is still shown: HTTP 500: {"error":"InternalServerError","message":"m"}"#
    );
    assert_eq!(
        check(vec![done(), error(400, "RepoDeactivated")]),
        r#"in doubt: whether the post is gone could not be read (HTTP 400: {"error":"RepoDeactivated","message":"m"}) after: HTTP 200"#
    );
    let old = answer(400, "Age: 9\r\n", r#"{"error":"RecordNotFound"}"#);
    assert_eq!(
        check(vec![done(), old]),
        "in doubt: whether the post is gone could not be read (the answer is 9 s old, from a cache on the way) after: HTTP 200"
    );
}

#[test]
fn a_deletion_that_is_refused_is_not_read_back() {
    let check = |act: Act| {
        let (told, lines) = sent(removal(DID, target()), [act]);
        assert_eq!(lines, [DELETE]);
        told
    };
    assert_eq!(
        check(error(400, "ExpiredToken")),
        r#"refused for now (wait 1000 ms): HTTP 400: {"error":"ExpiredToken","message":"m"}"#
    );
    for (status, name) in [
        (401, "AuthMissing"),
        (403, "Forbidden"),
        (400, "AccountTakedown"),
    ] {
        assert_eq!(
            check(error(status, name)),
            format!(
                r#"refused for our credentials: HTTP {status}: {{"error":"{name}","message":"m"}}"#
            )
        );
    }
    assert_eq!(
        check(error(400, "InvalidRequest")),
        r#"refused permanently: HTTP 400: {"error":"InvalidRequest","message":"m"}"#
    );
    assert_eq!(
        check(answer(429, "Retry-After: 7\r\n", "")),
        "refused for too many requests (wait 7000 ms): HTTP 429"
    );
}

#[test]
fn only_a_post_of_the_account_itself_is_deleted() {
    let check = |target: Remote| {
        let (told, lines) = sent(removal(DID, target), []);
        assert_eq!(lines, [""; 0]);
        told
    };
    let other = format!("at://did:plc:other/app.bsky.feed.post/{KEY}");
    assert_eq!(
        check(remote(&other, &address())),
        format!("refused permanently: this names no post of the account: {other}")
    );
    let list = format!("at://{DID}/app.bsky.graph.list/{KEY}");
    assert_eq!(
        check(remote(&list, &address())),
        format!("refused permanently: this names no post of the account: {list}")
    );
    let by_address = |url: &str| Remote {
        id: None,
        url: Some(url.to_owned()),
    };
    let page = "https://bsky.app/profile/other.example/post/3m";
    assert_eq!(
        check(by_address(page)),
        format!("refused permanently: this names no post of the account: {page}")
    );
    // A person told the address alone.
    for url in [
        address(),
        format!("{}/", address()),
        format!("https://bsky.app/profile/{DID}/post/{KEY}"),
    ] {
        let (told, lines) = sent(removal(DID, by_address(&url)), [done(), gone()]);
        assert_eq!(told, format!("accepted by read_back: none {url}"));
        assert_eq!(lines, [DELETE, GET]);
    }
    let (told, _lines) = sent(removal("did:plc:other", target()), []);
    assert_eq!(
        told,
        format!("not sent: the claim is for did:plc:other, but the service says that we are {DID}")
    );
}

#[test]
fn a_post_can_not_be_changed() {
    let server = Server::start([]);
    let claim = change(DID, &json!({ "text": "New" }), target());
    assert_eq!(
        send(&mut *open_channel(&server), claim.clone()),
        "refused permanently: a post can't be changed on this service"
    );
    assert_eq!(
        effect(&mut *open_channel(&server), &claim),
        "cannot tell: a post can't be changed on this service"
    );
}

#[test]
fn the_effect_of_a_removal_is_that_the_record_is_gone() {
    let check = |act: Act| {
        let server = Server::start([login(), act]);
        effect(&mut *open_channel(&server), &removal(DID, target()))
    };
    assert_eq!(check(gone()), format!("found {} {}", uri(), address()));
    assert_eq!(check(standing()), "absent");
    assert_eq!(
        check(error(502, "UpstreamFailure")),
        r#"cannot tell: HTTP 502: {"error":"UpstreamFailure","message":"m"}"#
    );
    assert_eq!(check(Act::HangUp).get(..11), Some("cannot tell"));
}
