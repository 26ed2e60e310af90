use std::time::Duration;

use sayonce::model::channel::Kind;
use sayonce::sandbox::Sandbox;
use serde_json::{Value, json};

use super::{Call, Response, Server, start};

/// A logged-in client.
pub(crate) struct Client<'a> {
    world: &'a Server,
    token: String,
    did: String,
}

pub(crate) fn login(world: &Server) -> Client<'_> {
    let session = world.get_answer(&login_call(Sandbox::secret(Kind::Bluesky)));
    Client {
        world,
        token: session.string("/accessJwt"),
        did: session.string("/did"),
    }
}

fn login_call(password: &str) -> Call {
    xrpc("POST", "com.atproto.server.createSession")
        .json(&json!({ "identifier": "blog.example", "password": password }))
}

fn xrpc(method: &'static str, name: &str) -> Call {
    Call::new(method, format!("/xrpc/{name}"))
}

pub(crate) fn record(text: &str) -> Value {
    json!({ "$type": "app.bsky.feed.post", "text": text, "createdAt": "2026-11-29T10:00:00.000Z" })
}

impl Client<'_> {
    fn call(&self, name: &str, mut body: Value) -> Call {
        for (field, value) in [
            ("repo", self.did.as_str()),
            ("collection", "app.bsky.feed.post"),
        ] {
            if body.get(field).is_none() {
                body[field] = json!(value);
            }
        }
        xrpc("POST", name).bearer(&self.token).json(&body)
    }

    /// Returns a `putRecord` that must not overwrite.
    pub(crate) fn put_call(&self, rkey: &str, record: &Value) -> Call {
        let body = json!({ "rkey": rkey, "record": record, "swapRecord": null });
        self.call("com.atproto.repo.putRecord", body)
    }

    fn put(&self, rkey: &str, record: &Value) -> Response {
        self.world.get_answer(&self.put_call(rkey, record))
    }

    fn post(&self, name: &str, body: Value) -> Response {
        self.world.get_answer(&self.call(name, body))
    }

    fn get(&self, name: &str, query: &str) -> Response {
        let target = format!(
            "/xrpc/{name}?repo={}&collection=app.bsky.feed.post&{query}",
            self.did
        );
        self.world.get_answer(&Call::new("GET", target))
    }
}

const RKEY: &str = "3mabcdefghi2z";

#[test]
fn the_account_is_found_by_its_handle() {
    let world = start(Kind::Bluesky);
    let resolve = |handle: &str| {
        let target = format!("/xrpc/com.atproto.identity.resolveHandle?handle={handle}");
        world.get_answer(&Call::new("GET", target))
    };
    let unknown = r#"400 {"error":"InvalidRequest","message":"Unable to resolve handle"}"#;
    assert_eq!(resolve("").line(), unknown);
    // Whoever is asked for first is the account.
    let did = resolve("first.example").string("/did");
    let document = world.get_answer(&Call::new("GET", format!("/{did}")));
    assert_eq!(document.string("/id"), did);
    assert_eq!(document.string("/alsoKnownAs/0"), "at://first.example");
    assert_eq!(document.string("/service/0/id"), "#atproto_pds");
    let other = Call::new("GET", "/did:plc:zzzzzzzzzzzzzzzzzzzzzzzz".to_owned());
    assert_eq!(world.get_answer(&other).status, 404);
    // Then it is the one that logged in.
    assert_eq!(login(&world).did, did);
    assert_eq!(resolve("blog.example").string("/did"), did);
    assert_eq!(resolve("first.example").line(), unknown);
}

#[test]
fn a_put_that_must_not_overwrite_can_be_repeated_for_ever() {
    let world = start(Kind::Bluesky);
    let client = login(&world);
    let first = client.put(RKEY, &record("Hello")).json();
    assert_eq!(
        first["uri"],
        format!("at://{}/app.bsky.feed.post/{RKEY}", client.did)
    );
    assert_eq!(first["validationStatus"], "valid");
    assert!(first["commit"]["rev"].is_string(), "{first}");

    // The same content in another order of keys is the same record: 200, and no commit.
    let same = json!({ "createdAt": "2026-11-29T10:00:00.000Z", "text": "Hello" });
    let again = client.put(RKEY, &same);
    assert_eq!(
        again.json(),
        json!({ "uri": first["uri"], "cid": first["cid"], "validationStatus": "valid" })
    );

    let refused = client.put(RKEY, &record("Other"));
    assert_eq!(
        refused.line(),
        format!(
            r#"400 {{"error":"InvalidSwap","message":"Record was at {}"}}"#,
            first["cid"].as_str().unwrap()
        )
    );
    let get = client.get("com.atproto.repo.getRecord", &format!("rkey={RKEY}"));
    assert_eq!(get.json()["value"], record("Hello"));

    let overwrite = json!({ "rkey": RKEY, "record": record("Other") });
    let overwritten = client.post("com.atproto.repo.putRecord", overwrite);
    assert_eq!(overwritten.status, 200);
    assert_ne!(overwritten.json()["cid"], first["cid"]);
    let stale = json!({ "rkey": RKEY, "record": record("Third"), "swapRecord": first["cid"] });
    assert_eq!(client.post("com.atproto.repo.putRecord", stale).status, 400);
    assert_eq!(world.posts().len(), 1);
    assert_eq!(world.writes(), 5);
}

#[test]
fn creating_under_a_taken_key_is_an_internal_error() {
    let world = start(Kind::Bluesky);
    let client = login(&world);
    let create = json!({ "rkey": RKEY, "record": record("Hello") });
    assert_eq!(
        client
            .post("com.atproto.repo.createRecord", create.clone())
            .status,
        200
    );
    assert_eq!(
        client.post("com.atproto.repo.createRecord", create).line(),
        r#"500 {"error":"InternalServerError","message":"Internal Server Error"}"#
    );
    let keyless = client.post(
        "com.atproto.repo.createRecord",
        json!({ "record": record("Two") }),
    );
    assert_eq!(keyless.status, 200);
    assert_eq!(world.posts().len(), 2);
}

#[test]
fn records_are_refused_as_the_service_does() {
    let world = start(Kind::Bluesky);
    let client = login(&world);
    let check = |change: fn(&mut Value)| {
        let mut post = record("Hello");
        change(&mut post);
        let answer = client.put(RKEY, &post);
        assert_eq!(answer.status, 400);
        answer.string("/message")
    };
    assert_eq!(
        check(|post| post["text"] = json!("ä".repeat(301))),
        "Invalid app.bsky.feed.post record: grapheme too big (maximum 300, got 301) at $.record.text"
    );
    assert_eq!(
        check(|post| post["text"] = json!("👨‍👩‍👧‍👦".repeat(121))),
        "Invalid app.bsky.feed.post record: string too big (maximum 3000, got 3025) at $.record.text"
    );
    assert_eq!(
        check(|post| drop(post.as_object_mut().unwrap().remove("createdAt"))),
        "Invalid app.bsky.feed.post record: Missing required key \"createdAt\" at $.record"
    );
    assert_eq!(
        check(|post| post["createdAt"] = json!("2026-11-29")),
        "Invalid app.bsky.feed.post record: Invalid datetime string (got \"2026-11-29\") at $.record.createdAt"
    );
    assert_eq!(
        check(|post| post["text"] = json!(1)),
        "Invalid app.bsky.feed.post record: Expected string value type (got 1) at $.record.text"
    );
    assert_eq!(
        check(|post| post["langs"] = json!(["a", "b", "c", "d"])),
        "Invalid app.bsky.feed.post record: array too big (maximum 3, got 4) at $.record.langs"
    );
    assert_eq!(
        check(|post| post["a"] = json!(1.5)),
        "Expected one of null, boolean, integer, string, cid, bytes, array or object value type (got 1.5) at $.record.a"
    );
    assert_eq!(
        check(|post| post["$type"] = json!("com.example.x")),
        "Invalid $type: expected app.bsky.feed.post, got \"com.example.x\""
    );
    assert_eq!(
        check(|post| post["embed"] = json!({
            "$type": "app.bsky.embed.external", "external": { "uri": "https://blog.example/", "title": "T" }
        })),
        "Invalid app.bsky.feed.post record: Missing required key \"description\" at $.record.embed.external"
    );
    assert_eq!(
        check(|post| post["facets"] = json!([{ "index": { "byteStart": 0 }, "features": [] }])),
        "Invalid app.bsky.feed.post record: Missing required key \"byteEnd\" at $.record.facets[0].index"
    );
    assert_eq!(
        client.put("my-slug", &record("Hello")).string("/message"),
        "Invalid record key for app.bsky.feed.post: Invalid TID string (got \"my-slug\") at $"
    );
    assert_eq!(
        client.put("bad rkey", &record("Hello")).string("/message"),
        "Invalid record key (got \"bad rkey\") at $.rkey"
    );
    let foreign = json!({ "repo": "did:plc:other", "rkey": RKEY, "record": record("Hello") });
    assert_eq!(
        client.post("com.atproto.repo.putRecord", foreign).line(),
        r#"403 {"error":"AccountNotFound","message":"Account not found"}"#
    );
    assert_eq!(world.posts().len(), 0);
    assert_eq!(client.put(RKEY, &record(&"ä".repeat(300))).status, 200);
}

#[test]
fn a_session_names_the_server_and_ends() {
    let world = start(Kind::Bluesky);
    assert_eq!(
        world.get_answer(&login_call("wrong")).line(),
        r#"401 {"error":"AuthenticationRequired","message":"Invalid identifier or password"}"#
    );
    let session = world.get_answer(&login_call(Sandbox::secret(Kind::Bluesky)));
    assert_eq!(session.string("/handle"), "blog.example");
    assert_eq!(
        session.json()["didDoc"]["service"],
        json!([{
            "id": "#atproto_pds",
            "type": "AtprotoPersonalDataServer",
            "serviceEndpoint": world.sandbox.url(&world.channel)
        }])
    );
    assert_eq!(session.header("RateLimit-Limit"), Some("30"));
    assert_eq!(session.header("RateLimit-Remaining"), Some("28"));

    let client = login(&world);
    let put = client.put_call(RKEY, &record("Hello"));
    assert_eq!(
        world
            .get_answer(&put.clone().without("Authorization"))
            .line(),
        r#"401 {"error":"AuthMissing","message":"Authentication Required"}"#
    );
    let unknown = r#"400 {"error":"InvalidToken","message":"Token could not be verified"}"#;
    assert_eq!(
        world.get_answer(&put.clone().bearer("garbage")).line(),
        unknown
    );
    let refresh_token = session.string("/refreshJwt");
    assert_eq!(
        world.get_answer(&put.clone().bearer(&refresh_token)).line(),
        unknown
    );

    world.clock.advance(Duration::from_hours(2));
    assert_eq!(
        world.get_answer(&put.clone()).line(),
        r#"400 {"error":"ExpiredToken","message":"Token has expired"}"#
    );
    let refresh = xrpc("POST", "com.atproto.server.refreshSession").bearer(&refresh_token);
    let refreshed = world.get_answer(&refresh).string("/accessJwt");
    assert_eq!(world.get_answer(&put.bearer(&refreshed)).status, 200);
}

#[test]
fn records_are_listed_by_key_and_deleted_idempotently() {
    let world = start(Kind::Bluesky);
    let client = login(&world);
    for rkey in ["3mabcdefghk2z", "3mabcdefghi2z", "3mabcdefghj2z"] {
        assert_eq!(client.put(rkey, &record(rkey)).status, 200);
    }
    let list = |query: &str| {
        let list = client.get("com.atproto.repo.listRecords", query).json();
        let records = list["records"].as_array().unwrap().iter();
        let texts: Vec<_> = records
            .map(|record| record["value"]["text"].as_str().unwrap().to_owned())
            .collect();
        (texts.join(" "), list["cursor"].as_str().map(str::to_owned))
    };
    let told = |texts: &str, cursor: &str| (texts.to_owned(), Some(cursor.to_owned()));
    assert_eq!(
        list("limit=2"),
        told("3mabcdefghk2z 3mabcdefghj2z", "3mabcdefghj2z")
    );
    assert_eq!(
        list("limit=2&cursor=3mabcdefghj2z"),
        told("3mabcdefghi2z", "3mabcdefghi2z")
    );
    assert_eq!(list("cursor=3mabcdefghi2z"), (String::new(), None));
    assert_eq!(
        list("reverse=true"),
        told("3mabcdefghi2z 3mabcdefghj2z 3mabcdefghk2z", "3mabcdefghk2z")
    );
    assert_eq!(
        client
            .get("com.atproto.repo.listRecords", "limit=101")
            .status,
        400
    );

    let delete = json!({ "rkey": RKEY });
    let deleted = client.post("com.atproto.repo.deleteRecord", delete.clone());
    assert!(deleted.json()["commit"]["cid"].is_string());
    assert_eq!(
        client.post("com.atproto.repo.deleteRecord", delete).line(),
        "200 {}"
    );
    let missing = client.get("com.atproto.repo.getRecord", &format!("rkey={RKEY}"));
    assert_eq!(
        missing.line(),
        format!(
            r#"400 {{"error":"RecordNotFound","message":"Could not locate record: at://{}/app.bsky.feed.post/{RKEY}"}}"#,
            client.did
        )
    );
    assert_eq!(world.posts().len(), 2);
}

#[test]
fn a_card_needs_its_picture_uploaded_first() {
    let world = start(Kind::Bluesky);
    let client = login(&world);
    let upload = |bytes: Vec<u8>| {
        let call = xrpc("POST", "com.atproto.repo.uploadBlob").bearer(&client.token);
        world.get_answer(&call.body("application/octet-stream", bytes))
    };
    let card = |thumb: &Value| {
        let mut post = record("Hello");
        post["embed"] = json!({
            "$type": "app.bsky.embed.external",
            "external": {
                "uri": "https://blog.example/a/", "title": "A", "description": "", "thumb": thumb
            }
        });
        client.put(RKEY, &post)
    };
    let png = b"\x89PNG\r\n\x1a\nrest".to_vec();
    let missing = json!({
        "$type": "blob", "ref": { "$link": "bafkreimissing" }, "mimeType": "image/png", "size": 12
    });
    assert_eq!(
        card(&missing).line(),
        r#"400 {"error":"BlobNotFound","message":"Could not find blob: bafkreimissing"}"#
    );
    let big = upload([png.clone(), vec![0; 1_000_000]].concat()).json();
    assert_eq!(
        card(&big["blob"]).string("/message"),
        "Invalid app.bsky.feed.post record: blob too big (maximum 1000000, got 1000012) at $.record.embed.external.thumb"
    );
    let first = upload(png.clone());
    assert_eq!(first.json()["blob"]["mimeType"], "image/png");
    assert_eq!(upload(png).line(), first.line());
    assert_eq!(card(&first.json()["blob"]).status, 200);
    assert_eq!(world.posts(), ["https://blog.example/a/ x1"]);
    // Logins and uploads are not writes.
    assert_eq!(world.writes(), 3);
    assert_eq!(
        upload(vec![0; 2 * 1024 * 1024 + 1]).line(),
        r#"413 {"error":"PayloadTooLarge","message":"request entity too large"}"#
    );
}

#[test]
fn writes_cost_points_and_logins_are_few() {
    let world = start(Kind::Bluesky);
    let client = login(&world);
    let put = client.put(RKEY, &record("Hello"));
    let told = ["Limit", "Remaining", "Reset", "Policy"].map(|field| {
        put.header(&format!("RateLimit-{field}"))
            .unwrap()
            .to_owned()
    });
    assert_eq!(told, ["5000", "4998", "1795950000", "5000;w=3600"]);
    for _ in 0..29 {
        world.get_answer(&login_call("wrong"));
    }
    let refused = world.get_answer(&login_call(Sandbox::secret(Kind::Bluesky)));
    assert_eq!(
        refused.line(),
        r#"429 {"error":"RateLimitExceeded","message":"Rate Limit Exceeded"}"#
    );
    assert_eq!(refused.header("Retry-After"), Some("301"));
    world.clock.advance(Duration::from_mins(5));
    login(&world);
}

#[test]
fn what_it_does_not_have_it_says() {
    let world = start(Kind::Bluesky);
    let check = |method, name: &str| world.get_answer(&xrpc(method, name)).line();
    assert_eq!(
        check("GET", "com.example.nothing"),
        r#"501 {"error":"MethodNotImplemented","message":"Method Not Implemented"}"#
    );
    assert_eq!(
        check("GET", "com.atproto.repo.putRecord"),
        r#"405 {"error":"InvalidRequest","message":"Incorrect HTTP method (GET) expected POST"}"#
    );
    assert_eq!(
        world.get_answer(&Call::new("GET", "/")).line(),
        r#"404 {"error":"NotFound","message":"Not Found"}"#
    );
    assert_eq!(world.writes(), 0);
}
