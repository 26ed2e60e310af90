//! What real servers answered, played to the adapters. `tests/data/contract/transcripts/README.md` says how it was
//! recorded.

use std::fmt::Write as _;
use std::sync::Arc;

use sayonce::channel::Channel;
use sayonce::channel::registry::build;
use sayonce::clock::SystemClock;
use sayonce::config::Config;
use sayonce::environment::Environment;
use sayonce::model::claim::{Claim, Landing, PushedClaim};
use sayonce::model::delivery::Operation;
use sayonce::model::ids::{Account, ChannelName, IdempotencyKey, Token};
use sayonce::model::item::ItemId;
use sayonce::model::outcome::{Listing, Lookup, Opening, Outcome, Remote};
use sayonce::model::post::Post;
use sayonce::model::time::Timestamp;
use serde_json::{Value, json};

use crate::channel::server::{Act, Server, answer};

/// Longer than any test.
const SEND_BEFORE: &str = "2099-01-01T00:00:00.000Z";

/// The record key of the recorded writes.
const RKEY: &str = "3mabcdefghj2z";

/// The answers of one server.
struct Recorded {
    name: &'static str,
    answers: Vec<(String, Act)>,
}

impl Recorded {
    /// Reads the recorded answers: `### name`, status, headers, an empty line, the body.
    fn read(name: &'static str) -> Self {
        let path = format!(
            "{}/tests/data/contract/transcripts/{name}.txt",
            env!("CARGO_MANIFEST_DIR")
        );
        let text = std::fs::read_to_string(path).unwrap().replace("\r\n", "\n");
        let answers = text.split("### ").skip(1).map(|section| {
            let (head, body) = section.split_once("\n\n").unwrap();
            let mut lines = head.lines();
            let title = lines.next().unwrap().to_owned();
            let status = lines.next().unwrap().parse().unwrap();
            let headers: String = lines.map(|line| line.to_owned() + "\r\n").collect();
            (title, answer(status, &headers, body.trim_end()))
        });
        Self {
            name,
            answers: answers.collect(),
        }
    }

    fn get(&self, title: &str) -> Act {
        let found = self.answers.iter().find(|(other, _)| other == title);
        let (_, act) = found.unwrap_or_else(|| panic!("{} has no `{title}`", self.name));
        act.clone()
    }

    /// The body of an answer, as JSON.
    fn body(&self, title: &str) -> Value {
        let Act::Answer(bytes) = self.get(title) else {
            unreachable!("each is an answer")
        };
        let text = String::from_utf8(bytes).unwrap();
        serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap()
    }
}

/// A channel of a server that gives these answers.
fn channel(kind: &str, server: &Server) -> Box<dyn Channel> {
    let service = match kind {
        "bluesky" => "handle = \"alice.test\"\napp_password_env = \"SECRET\"\nservice",
        _ => "token_env = \"SECRET\"\nserver",
    };
    let text = format!(
        "[site]\nurl = \"https://blog.example\"\nfeed = \"feed.xml\"\n\n[channels.there]\nkind = \"{kind}\"\n{service} = \"{}\"\n",
        server.url()
    );
    let config = Config::parse("sayonce.toml".as_ref(), &text).unwrap();
    build(
        &config.channels[0],
        &config.site,
        &Environment::of([("SECRET", "s3cret-value")]),
        Arc::new(SystemClock::new()),
    )
    .unwrap()
}

/// A claim that announces an article.
pub(in crate::contract) fn claim(account: &str, post: Value, url: &str, claimed_at: &str) -> Claim {
    let Value::Object(post) = post else {
        unreachable!("a post is an object")
    };
    Claim {
        item: ItemId::from_stored("a"),
        channel: ChannelName::new("there").unwrap(),
        account: Account::new(account),
        operation: Operation::Publish,
        target: None,
        token: Token::from_bytes([7; 16]),
        key: IdempotencyKey::parse(&format!("so1-{}", "5f".repeat(32))).unwrap(),
        attempt: 1,
        post: Post::new(post),
        canonical_url: url.to_owned(),
        first_claimed_at: Timestamp::parse(claimed_at).unwrap(),
        send_before: Timestamp::parse(SEND_BEFORE).unwrap(),
    }
}

fn publish(channel: &mut dyn Channel, claim: Claim) -> String {
    let landing = Landing::attest([claim.token.clone()]);
    tell(&channel.publish(&[PushedClaim::prove(claim, &landing).unwrap()]))
}

fn telling(told: &mut String, what: &str, text: &str) {
    writeln!(told, "{what}: {text}").unwrap();
}

fn retract(channel: &mut dyn Channel, claim: Claim) -> String {
    let landing = Landing::attest([claim.token.clone()]);
    tell(&channel.retract(&PushedClaim::prove(claim, &landing).unwrap()))
}

fn tell(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Accepted { remote, evidence } => {
            format!("accepted, {}: {}", evidence.label(), id(remote))
        }
        Outcome::Refused { refusal, reason } => format!("refused, {refusal:?}: {reason}"),
        Outcome::NotSent { reason } => format!("not sent: {reason}"),
        Outcome::InDoubt { reason } => format!("in doubt: {reason}"),
    }
}

fn tell_lookup(lookup: &Lookup) -> String {
    match lookup {
        Lookup::Found(remote) => format!("found {}", id(remote)),
        Lookup::Several(remotes) => {
            let ids: Vec<String> = remotes.iter().map(id).collect();
            format!("several: {}", ids.join(", "))
        }
        Lookup::Absent => "absent".to_owned(),
        Lookup::CannotTell { reason } => format!("cannot tell: {reason}"),
    }
}

fn tell_opening(opening: &Opening) -> String {
    match opening {
        Opening::Ready(session) => {
            format!(
                "ready as {}, limit {:?}",
                session.account, session.limits.text
            )
        }
        Opening::Closed { trouble, reason } => format!("closed, {trouble:?}: {reason}"),
    }
}

fn tell_listing(listing: &Listing) -> String {
    match listing {
        Listing::Posts(posts) => {
            let posts: Vec<String> = posts.iter().map(|post| id(&post.remote)).collect();
            format!("{} posts: {}", posts.len(), posts.join(", "))
        }
        Listing::CannotTell { reason } => format!("cannot tell: {reason}"),
    }
}

fn id(remote: &Remote) -> String {
    remote.id.clone().unwrap_or_default()
}

/// Everything that a server of Mastodon's API was asked, as the adapter takes the answer.
fn mastodon_family(name: &'static str) -> String {
    let recorded = Recorded::read(name);
    let whoami = recorded.body("verify_credentials");
    let account = whoami["url"].as_str().unwrap().to_owned();
    let first = recorded.body("post form, Idempotency-Key k1");
    let made_at = first["created_at"].as_str().unwrap().to_owned();
    let article = claim(
        &account,
        json!({ "text": "Hello one https://example.org/a #rust", "visibility": "public" }),
        "https://example.org/a",
        &made_at,
    );
    let mut told = String::new();
    let mut line = |what: &str, text: String| telling(&mut told, what, &text);

    let server = Server::start(
        ["verify_credentials", "instance v2", "instance"].map(|title| recorded.get(title)),
    );
    let opening = channel("mastodon", &server).open();
    line("open", tell_opening(&opening));
    let server = Server::start([recorded.get("verify_credentials bad token")]);
    let opening = channel("mastodon", &server).open();
    line("open, bad token", tell_opening(&opening));

    for (what, title) in [
        ("post", "post form, Idempotency-Key k1"),
        (
            "the same key again",
            "post form, Idempotency-Key k1 again, same",
        ),
        (
            "the same key, another text",
            "post, Idempotency-Key k1, different text",
        ),
        ("the same key, the post deleted", "post k1 after delete"),
        ("no text", "post empty"),
        ("501 characters", "post 501 chars"),
        ("no token", "post no auth"),
    ] {
        let server = Server::start(["verify_credentials", title].map(|title| recorded.get(title)));
        let outcome = publish(&mut *channel("mastodon", &server), article.clone());
        // GoToSocial posts unlisted what names no visibility.
        let write = server.requests().pop().unwrap();
        assert!(write.contains(r#""visibility":"public""#), "{write}");
        assert!(write.contains("idempotency-key: so1-"), "{write}");
        line(what, outcome);
    }

    // The article's post at the end of the account's list, which is what a lookup reads back to.
    let empty = || answer(200, "", "[]");
    let newer = recorded.get("own statuses limit=2");
    let ours = answer(200, "", &json!([first]).to_string());
    let lookups: [(&str, Vec<Act>); 3] = [
        ("lookup, it is there", vec![newer.clone(), ours, empty()]),
        ("lookup, it is not there", vec![newer, empty()]),
        ("lookup, bad token", vec![recorded.get("post no auth")]),
    ];
    for (what, pages) in lookups {
        let pages = [recorded.get("verify_credentials")]
            .into_iter()
            .chain(pages);
        let server = Server::start(pages);
        let lookup = channel("mastodon", &server).lookup(&article);
        line(what, tell_lookup(&lookup));
    }
    for (what, text) in mastodon_family_later(&recorded, &account) {
        line(what, text);
    }
    told
}

/// What a server of Mastodon's API answered about a post that stands, as the adapter takes it.
fn mastodon_family_later(recorded: &Recorded, account: &str) -> Vec<(&'static str, String)> {
    let id = recorded.body("get status")["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let text = recorded.body("status source")["text"]
        .as_str()
        .unwrap()
        .to_owned();
    let of = |operation: Operation| Claim {
        operation,
        target: Some(Remote {
            id: Some(id.clone()),
            url: None,
        }),
        ..claim(
            account,
            json!({ "text": text, "visibility": "public" }),
            "https://example.org/a",
            "2026-11-29T17:12:41.000Z",
        )
    };
    let whoami = "verify_credentials";
    let serve = |titles: &[&str]| Server::start(titles.iter().map(|title| recorded.get(title)));
    let mut told = Vec::new();
    for (what, titles) in [
        ("retract", [whoami, "delete", "get after delete", whoami]),
        (
            "retract, gone already",
            [whoami, "delete again", "get after delete", whoami],
        ),
        (
            "retract, still there",
            [whoami, "delete", "get status", whoami],
        ),
    ] {
        let server = serve(&titles);
        let outcome = retract(&mut *channel("mastodon", &server), of(Operation::Retract));
        told.push((what, outcome));
    }
    for (what, operation, titles) in [
        (
            "is it gone? yes",
            Operation::Retract,
            [whoami, "get after delete", whoami],
        ),
        (
            "is it gone? no",
            Operation::Retract,
            [whoami, "get status", whoami],
        ),
        (
            "does it read so? yes",
            Operation::Update(1),
            [whoami, "get status", "status source"],
        ),
    ] {
        let server = serve(&titles);
        let lookup = channel("mastodon", &server).effect(&of(operation));
        told.push((what, tell_lookup(&lookup)));
    }
    told
}

#[test]
fn mitra_honours_the_key_and_has_nothing_under_it_once_the_post_is_deleted() {
    insta::assert_snapshot!(mastodon_family("mitra"), @r#"
    open: ready as http://127.0.0.1:8004/users/alice, limit Some(5000)
    open, bad token: closed, Credentials: HTTP 401: {"error":"access token is invalid","error_description":"access token is invalid"}
    post: accepted, response: 01a2284b-ef4b-7a91-bab0-a3488efd7834
    the same key again: accepted, response: 01a2284b-ef4b-7a91-bab0-a3488efd7834
    the same key, another text: accepted, response: 01a2284b-ef4b-7a91-bab0-a3488efd7834
    the same key, the post deleted: in doubt: HTTP 404: {"error":"post not found","error_description":"post not found"}
    no text: refused, Permanent: HTTP 400: {"error":"post can not be empty","error_description":"post can not be empty"}
    501 characters: accepted, response: 01a2284b-f365-7703-a0e1-92d91f5fd6e3
    no token: refused, Credentials: HTTP 401: {"error":"auth header is not present","error_description":"auth header is not present"}
    lookup, it is there: found 01a2284b-ef4b-7a91-bab0-a3488efd7834
    lookup, it is not there: absent
    lookup, bad token: cannot tell: HTTP 401: {"error":"auth header is not present","error_description":"auth header is not present"}
    retract: accepted, read_back: 01a2284b-ef4b-7a91-bab0-a3488efd7834
    retract, gone already: accepted, read_back: 01a2284b-ef4b-7a91-bab0-a3488efd7834
    retract, still there: in doubt: the post is still shown, though the service answered: HTTP 200
    is it gone? yes: found 01a2284b-ef4b-7a91-bab0-a3488efd7834
    is it gone? no: absent
    does it read so? yes: found 01a2284b-ef4b-7a91-bab0-a3488efd7834
    "#);
}

#[test]
fn gotosocial_ignores_the_key_and_posts_again() {
    insta::assert_snapshot!(mastodon_family("gotosocial"), @r#"
    open: ready as http://localhost:8002/@bob, limit Some(5000)
    open, bad token: closed, Credentials: HTTP 401: {"error":"Unauthorized: token not supplied"}
    post: accepted, response: 01M8M4PVA9MZ0QRAHGXWZFF1R0
    the same key again: accepted, response: 01M8M4PVC1DCE4GWB6DWB13MH4
    the same key, another text: accepted, response: 01M8M4PVDEV6X0E7T7ZEDMZ6F2
    the same key, the post deleted: accepted, response: 01M8M4PW7JWHHTSMG05AHEXN5S
    no text: refused, Permanent: HTTP 400: {"error":"Bad Request: status contains no text, media or poll"}
    501 characters: accepted, response: 01M8M4PVPFWGTF6P2HCKKGXJG3
    no token: refused, Credentials: HTTP 401: {"error":"Unauthorized: token not supplied"}
    lookup, it is there: found 01M8M4PVA9MZ0QRAHGXWZFF1R0
    lookup, it is not there: absent
    lookup, bad token: cannot tell: HTTP 401: {"error":"Unauthorized: token not supplied"}
    retract: accepted, read_back: 01M8M4PVA9MZ0QRAHGXWZFF1R0
    retract, gone already: accepted, read_back: 01M8M4PVA9MZ0QRAHGXWZFF1R0
    retract, still there: in doubt: the post is still shown, though the service answered: HTTP 200
    is it gone? yes: found 01M8M4PVA9MZ0QRAHGXWZFF1R0
    is it gone? no: absent
    does it read so? yes: found 01M8M4PVA9MZ0QRAHGXWZFF1R0
    "#);
}

#[test]
fn snac_ignores_the_key_takes_any_length_and_refuses_in_html() {
    insta::assert_snapshot!(mastodon_family("snac2"), @r"
    open: ready as http://localhost:8001/alice, limit None
    open, bad token: closed, Credentials: HTTP 422
    post: accepted, response: 17959714872c8d0aedbfeb6f8580e60894ca2e98f7
    the same key again: accepted, response: 1795971487aa4b202bffb6eb7c4f90dbd16f60d687
    the same key, another text: accepted, response: 179597148797ff96544cf331ccf4e25a45dacc80c9
    the same key, the post deleted: accepted, response: 1795971488ff5a42bd4603040cb9e3bda6b994dcf6
    no text: accepted, response: 1795971488518434c19b9100fd8111f0b8b238abf1
    501 characters: accepted, response: 179597148835b79292ecbdab4bc546aa355e54e9d1
    no token: refused, Credentials: HTTP 401
    lookup, it is there: found 17959714872c8d0aedbfeb6f8580e60894ca2e98f7
    lookup, it is not there: absent
    lookup, bad token: cannot tell: HTTP 401
    retract: accepted, read_back: 17959714872c8d0aedbfeb6f8580e60894ca2e98f7
    retract, gone already: accepted, read_back: 17959714872c8d0aedbfeb6f8580e60894ca2e98f7
    retract, still there: in doubt: the post is still shown, though the service answered: HTTP 200
    is it gone? yes: found 17959714872c8d0aedbfeb6f8580e60894ca2e98f7
    is it gone? no: absent
    does it read so? yes: found 17959714872c8d0aedbfeb6f8580e60894ca2e98f7
    ");
}

/// Mastodon 4.6 answers a replayed key with 500 even where the post is there: look, never post.
#[test]
fn an_internal_error_for_a_replayed_key_means_look() {
    insta::assert_snapshot!(mastodon_family("mastodon_mock"), @r#"
    open: ready as http://localhost:8003/@testuser, limit None
    open, bad token: closed, Credentials: HTTP 401: {"error":"This method requires an authenticated user"}
    post: accepted, response: 1795971553921
    the same key again: accepted, response: 1795971553921
    the same key, another text: accepted, response: 1795971553921
    the same key, the post deleted: in doubt: HTTP 500: Internal Server Error
    no text: refused, Permanent: HTTP 422: {"error":"Validation failed: Text can't be blank"}
    501 characters: refused, Permanent: HTTP 422: {"error":"Validation failed: Text is too long (maximum is 500 characters)"}
    no token: refused, Credentials: HTTP 401: {"error":"This method requires an authenticated user"}
    lookup, it is there: found 1795971553921
    lookup, it is not there: absent
    lookup, bad token: cannot tell: HTTP 401: {"error":"This method requires an authenticated user"}
    retract: accepted, read_back: 1795971553921
    retract, gone already: accepted, read_back: 1795971553921
    retract, still there: in doubt: the post is still shown, though the service answered: HTTP 200
    is it gone? yes: found 1795971553921
    is it gone? no: absent
    does it read so? yes: found 1795971553921
    "#);
}

/// Everything that a PDS was asked, as the adapter takes the answer; without what each version names in its own way.
fn pds(name: &'static str) -> String {
    let recorded = Recorded::read(name);
    let session = "createSession app password";
    let did = recorded.body(session)["did"].as_str().unwrap().to_owned();
    let record = json!({ "text": "hello one", "createdAt": "2026-01-02T03:04:05.000Z" });
    let post = |rkey: &str, record: &Value| {
        let post = json!({ "rkey": rkey, "record": record });
        claim(
            &did,
            post,
            "https://example.org/a",
            "2026-01-02T03:04:05.000Z",
        )
    };
    let mut told = String::new();
    let mut line = |what: &str, text: String| telling(&mut told, what, &text.replace(&did, "DID"));

    for (what, title) in [
        ("open", session),
        ("open, bad password", "createSession bad password"),
    ] {
        let server = Server::start([recorded.get(title)]);
        line(what, tell_opening(&channel("bluesky", &server).open()));
    }

    for (what, title, attempt) in [
        ("put", "putRecord new TID 3mabcdefghj2z swapRecord=null", 1),
        (
            "the same again",
            "putRecord 3mabcdefghj2z swapRecord=null again, same content",
            2,
        ),
        (
            "something else is there",
            "putRecord 3mabcdefghi2z swapRecord=null (must not exist)",
            1,
        ),
        (
            "an older server's word for it",
            "createRecord rkey=3mabcdefghi2z 2nd, identical",
            2,
        ),
        (
            "301 characters",
            "createRecord text too long (301 graphemes)",
            1,
        ),
        ("no time", "createRecord missing createdAt", 1),
        (
            "a key of no form",
            "createRecord non-TID rkey=[my-article-slug]",
            1,
        ),
        (
            "a picture that is not there",
            "createRecord references blob never uploaded",
            1,
        ),
        (
            "a picture that is too large",
            "createRecord external thumb of 1,000,001 bytes",
            1,
        ),
        ("too large a request", "uploadBlob 6 MiB", 1),
        ("no token", "createRecord no auth", 1),
        ("a token of nobody", "createRecord garbage token", 1),
        (
            "a token of another sort",
            "createRecord with refresh token",
            1,
        ),
        ("another account", "createRecord someone else's repo", 1),
        ("the server behind it is away", "unknown method", 1),
    ] {
        let server = Server::start([session, title].map(|title| recorded.get(title)));
        let mut claim = post(RKEY, &record);
        claim.attempt = attempt;
        line(what, publish(&mut *channel("bluesky", &server), claim));
    }

    let stored = "getRecord 3mabcdefghi2z after put";
    let same = recorded.body(stored)["value"].clone();
    for (what, title, record) in [
        ("lookup, it is there", stored, &same),
        ("lookup, another is there", stored, &record),
        ("lookup, it is not there", "getRecord missing", &record),
    ] {
        let server = Server::start([session, title].map(|title| recorded.get(title)));
        let lookup = channel("bluesky", &server).lookup(&post("3mabcdefghi2z", record));
        line(what, tell_lookup(&lookup));
    }
    for (what, text) in pds_later(&recorded, &did, post("3mabcdefghi2z", &record)) {
        line(what, text);
    }
    let pages = [session, "listRecords limit=2"].map(|title| recorded.get(title));
    let last = answer(200, "", r#"{"records":[]}"#);
    let server = Server::start(pages.into_iter().chain([last]));
    let since = Timestamp::parse("2026-01-01T00:00:00.000Z").unwrap();
    line(
        "list",
        tell_listing(&channel("bluesky", &server).recent(since)),
    );
    told
}

/// What a PDS answered about a record that is deleted, as the adapter takes it.
fn pds_later(recorded: &Recorded, did: &str, standing: Claim) -> Vec<(&'static str, String)> {
    let session = "createSession app password";
    let stored = "getRecord 3mabcdefghi2z after put";
    let mut told = Vec::new();
    let standing = Claim {
        operation: Operation::Retract,
        target: Some(Remote {
            id: Some(format!("at://{did}/app.bsky.feed.post/3mabcdefghi2z")),
            url: None,
        }),
        ..standing
    };
    let gone = "getRecord 3mabcdefghi2z after delete";
    for (what, titles) in [
        ("retract", [session, "deleteRecord 3mabcdefghi2z", gone]),
        (
            "retract, gone already",
            [session, "deleteRecord 3mabcdefghi2z again", gone],
        ),
        (
            "retract, still there",
            [session, "deleteRecord 3mabcdefghi2z", stored],
        ),
    ] {
        let server = Server::start(titles.map(|title| recorded.get(title)));
        let outcome = retract(&mut *channel("bluesky", &server), standing.clone());
        told.push((what, outcome));
    }
    for (what, title) in [("is it gone? yes", gone), ("is it gone? no", stored)] {
        let server = Server::start([session, title].map(|title| recorded.get(title)));
        let lookup = channel("bluesky", &server).effect(&standing);
        told.push((what, tell_lookup(&lookup)));
    }
    told
}

#[test]
fn a_pds_of_the_0_4_line() {
    insta::assert_snapshot!(pds("pds-0.4.217"), @r#"
    open: ready as DID, limit None
    open, bad password: closed, Credentials: HTTP 401: {"error":"AuthenticationRequired","message":"Invalid identifier or password"}
    put: accepted, response: at://DID/app.bsky.feed.post/3mabcdefghj2z
    the same again: accepted, key_replay: at://DID/app.bsky.feed.post/3mabcdefghj2z
    something else is there: in doubt: HTTP 400: {"error":"InvalidSwap","message":"Record was at bafyreiasliw66vqz6srvptaj46ftbibdwcxak5wba75vj6m5zklvkrjst4"}
    an older server's word for it: in doubt: HTTP 500: {"error":"InternalServerError","message":"Internal Server Error"}
    301 characters: refused, Permanent: HTTP 400: {"error":"InvalidRequest","message":"Invalid app.bsky.feed.post record: grapheme too big (maximum 300, got 301) at $.record.text"}
    no time: refused, Permanent: HTTP 400: {"error":"InvalidRequest","message":"Invalid app.bsky.feed.post record: Missing required key \"createdAt\" at $.record"}
    a key of no form: refused, Permanent: HTTP 400: {"error":"InvalidRequest","message":"Invalid record key for app.bsky.feed.post: Invalid TID string (got \"my-article-slug\") at $"}
    a picture that is not there: refused, Permanent: HTTP 400: {"error":"BlobNotFound","message":"Could not find blob: bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"}
    a picture that is too large: refused, Permanent: HTTP 400: {"error":"InvalidRequest","message":"Invalid app.bsky.feed.post record: Expected blob value type (got null) at $.record.embed.external.thumb"}
    too large a request: refused, Permanent: HTTP 413: {"error":"PayloadTooLarge","message":"request entity too large"}
    no token: refused, Credentials: HTTP 401: {"error":"AuthMissing","message":"Authentication Required"}
    a token of nobody: refused, Temporary(Some(For(1s))): HTTP 400: {"error":"InvalidToken","message":"Token could not be verified"}
    a token of another sort: refused, Temporary(Some(For(1s))): HTTP 400: {"error":"InvalidToken","message":"Invalid token type"}
    another account: refused, Credentials: HTTP 403: {"error":"AccountNotFound","message":"Account not found"}
    the server behind it is away: in doubt: HTTP 502: {"error":"UpstreamFailure","message":"Upstream service unreachable"}
    lookup, it is there: found at://DID/app.bsky.feed.post/3mabcdefghi2z
    lookup, another is there: cannot tell: another record stands under the claim's key
    lookup, it is not there: absent
    retract: accepted, read_back: at://DID/app.bsky.feed.post/3mabcdefghi2z
    retract, gone already: accepted, read_back: at://DID/app.bsky.feed.post/3mabcdefghi2z
    retract, still there: in doubt: the post is still shown, though the service answered: HTTP 200
    is it gone? yes: found at://DID/app.bsky.feed.post/3mabcdefghi2z
    is it gone? no: absent
    list: 2 posts: at://DID/app.bsky.feed.post/sha256.0123abcd, at://DID/app.bsky.feed.post/my-article-slug
    "#);
}

#[test]
fn a_pds_of_the_0_5_line_differs_in_a_reason_and_in_no_outcome() {
    insta::assert_snapshot!(pds("pds-0.5.35"), @r#"
    open: ready as DID, limit None
    open, bad password: closed, Credentials: HTTP 401: {"error":"AuthenticationRequired","message":"Invalid identifier or password"}
    put: accepted, response: at://DID/app.bsky.feed.post/3mabcdefghj2z
    the same again: accepted, key_replay: at://DID/app.bsky.feed.post/3mabcdefghj2z
    something else is there: in doubt: HTTP 400: {"error":"InvalidSwap","message":"Record was at bafyreiasliw66vqz6srvptaj46ftbibdwcxak5wba75vj6m5zklvkrjst4"}
    an older server's word for it: in doubt: HTTP 500: {"error":"InternalServerError","message":"Internal Server Error"}
    301 characters: refused, Permanent: HTTP 400: {"error":"InvalidRequest","message":"Invalid app.bsky.feed.post record: grapheme too big (maximum 300, got 301) at $.record.text"}
    no time: refused, Permanent: HTTP 400: {"error":"InvalidRequest","message":"Invalid app.bsky.feed.post record: Missing required key \"createdAt\" at $.record"}
    a key of no form: refused, Permanent: HTTP 400: {"error":"InvalidRequest","message":"Invalid record key for app.bsky.feed.post: Invalid TID string (got \"my-article-slug\") at $"}
    a picture that is not there: refused, Permanent: HTTP 400: {"error":"BlobNotFound","message":"Could not find blob: bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"}
    a picture that is too large: refused, Permanent: HTTP 400: {"error":"InvalidRequest","message":"Invalid app.bsky.feed.post record: blob too big (maximum 1000000, got 1000001) at $.record.embed.external.thumb"}
    too large a request: refused, Permanent: HTTP 413: {"error":"PayloadTooLarge","message":"request entity too large"}
    no token: refused, Credentials: HTTP 401: {"error":"AuthMissing","message":"Authentication Required"}
    a token of nobody: refused, Temporary(Some(For(1s))): HTTP 400: {"error":"InvalidToken","message":"Token could not be verified"}
    a token of another sort: refused, Temporary(Some(For(1s))): HTTP 400: {"error":"InvalidToken","message":"Token could not be verified"}
    another account: refused, Credentials: HTTP 403: {"error":"AccountNotFound","message":"Account not found"}
    the server behind it is away: in doubt: HTTP 502: {"error":"UpstreamFailure","message":"Upstream service unreachable"}
    lookup, it is there: found at://DID/app.bsky.feed.post/3mabcdefghi2z
    lookup, another is there: cannot tell: another record stands under the claim's key
    lookup, it is not there: absent
    retract: accepted, read_back: at://DID/app.bsky.feed.post/3mabcdefghi2z
    retract, gone already: accepted, read_back: at://DID/app.bsky.feed.post/3mabcdefghi2z
    retract, still there: in doubt: the post is still shown, though the service answered: HTTP 200
    is it gone? yes: found at://DID/app.bsky.feed.post/3mabcdefghi2z
    is it gone? no: absent
    list: 2 posts: at://DID/app.bsky.feed.post/sha256.0123abcd, at://DID/app.bsky.feed.post/my-article-slug
    "#);
    let outcomes = |name| {
        let told = pds(name);
        let outcomes = told.lines().map(|line| {
            let words: Vec<&str> = line.splitn(3, ": ").take(2).collect();
            words.join(": ")
        });
        outcomes.collect::<Vec<String>>()
    };
    assert_eq!(outcomes("pds-0.5.35"), outcomes("pds-0.4.217"));
}
