//! The Bluesky stand-in and a PDS.

use std::time::Duration;

use sayonce::model::channel::Kind;
use sayonce::model::ids::sha256_hex;
use sayonce::model::media::Picture;
use sayonce::sandbox::Sandbox;
use serde_json::{Value, json};

use super::{Known, Side, Step, check, clock};
use crate::contract::client::Call;
use crate::contract::servers::Pds;
use crate::sandbox::serve;

/// How the Bluesky stand-in differs from version 0.4.217 of the server.
const BLUESKY: [Known; 2] = [
    (
        "a login",
        "/didDoc is here alone",
        "a server of this set-up asks no directory; bsky.social gives the document",
    ),
    (
        "a token of another sort",
        "{\"error\":\"InvalidToken\",\"message\":\"Invalid token type\"} there, \
         {\"error\":\"InvalidToken\",\"message\":\"Token could not be verified\"} here",
        "so version 0.5 says it; the error has the same name",
    ),
];

const KEY: &str = "3mabcdefghi2z";
const RICH: &str = "3mabcdefghj2z";
const CARD: &str = "3mabcdefghk2z";
const ALBUM: &str = "3mabcdefghl2z";
const OTHER: &str = "3mabcdefghm2z";
const FREE: &str = "3mzzzzzzzzz2z";

/// What one side of the Bluesky table is.
struct Account {
    side: Side,
    did: String,
    handle: String,
    password: String,
    token: String,
    refresh: String,
    expired: String,
}

impl Account {
    fn log_in(url: &str, handle: &str, password: &str) -> Value {
        let call = Call::post(
            format!("{url}/xrpc/com.atproto.server.createSession"),
            json!({ "identifier": handle, "password": password }),
        );
        let session = call.send();
        assert_eq!(session.status, 200, "{}", session.text);
        session.json()
    }

    fn new(url: &str, handle: &str, password: &str, expired: &str) -> Self {
        let session = Self::log_in(url, handle, password);
        let text = |field: &str| session[field].as_str().unwrap().to_owned();
        Self {
            side: Side {
                url: url.to_owned(),
                own: vec![(text("did"), "DID")],
            },
            did: text("did"),
            handle: handle.to_owned(),
            password: password.to_owned(),
            token: text("accessJwt"),
            refresh: text("refreshJwt"),
            expired: expired.to_owned(),
        }
    }

    fn url(&self, method: &str) -> String {
        format!("{}/xrpc/com.atproto.{method}", self.side.url)
    }

    fn write(&self, method: &str, mut body: Value) -> Call {
        for (field, value) in [
            ("repo", self.did.as_str()),
            ("collection", "app.bsky.feed.post"),
        ] {
            if body.get(field).is_none() {
                body[field] = json!(value);
            }
        }
        Call::post(self.url(&format!("repo.{method}")), body)
    }

    fn put(&self, rkey: &str, record: &Value, token: &str) -> Call {
        let body = json!({ "rkey": rkey, "record": record, "swapRecord": null });
        self.write("putRecord", body).bearer(token)
    }

    /// What is refused, whatever is there.
    fn refused_steps(&self) -> Vec<Step> {
        let put = |rkey: &str, record: &Value| self.put(rkey, record, &self.token);
        let put_as = |token: &str| self.put(FREE, &record("x"), token);
        let mut float = record("x");
        float["a"] = json!(1.5);
        let mut thumb = rich();
        thumb["embed"]["external"]["thumb"] = json!({
            "$type": "blob",
            "ref": { "$link": "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku" },
            "mimeType": "image/png",
            "size": 75,
        });
        let mut silent = album();
        let first = silent["embed"]["images"][0].as_object_mut().unwrap();
        first.remove("alt");
        let step = |name, call| Step {
            name,
            call,
            read: &[],
        };
        vec![
            step("no picture", put(FREE, &thumb)),
            step("a picture that is too large", put(FREE, &card(PNG, "image/png", 1_000_001))),
            step("a picture that is none", put(FREE, &card(PNG, "text/plain", PNG.len()))),
            step("a picture without its text", put(FREE, &silent)),
            step(
                "a picture of nobody",
                Call::post_bytes(self.url("repo.uploadBlob"), "image/png", PNG.to_vec()),
            ),
            step(
                "a picture with an expired token",
                Call::post_bytes(self.url("repo.uploadBlob"), "image/png", PNG.to_vec())
                    .bearer(&self.expired),
            ),
            step("a wrong key", put("my-article", &record("x"))),
            step("301 characters", put(FREE, &record(&"x".repeat(301)))),
            step("no time", put(FREE, &json!({ "$type": "app.bsky.feed.post", "text": "x" }))),
            step("a fraction", put(FREE, &float)),
            step(
                "no token",
                Call {
                    headers: Vec::new(),
                    ..put(FREE, &record("x"))
                },
            ),
            step("a token of nobody", put_as("nobody")),
            step("a token of another sort", put_as(&self.refresh)),
            step("an expired token", put_as(&self.expired)),
            step(
                "somebody else's account",
                self.write(
                    "putRecord",
                    json!({ "repo": "did:plc:aaaaaaaaaaaaaaaaaaaaaaaa", "rkey": FREE, "record": record("x") }),
                )
                .bearer(&self.token),
            ),
        ]
    }

    fn steps(&self) -> Vec<Step> {
        const RECORD: &[&str] = &["/uri", "/cid"];
        let login = |body| Call::post(self.url("server.createSession"), body);
        let put = |rkey: &str, record: &Value| self.put(rkey, record, &self.token);
        let get = |method: &str, query: &str| {
            Call::get(format!(
                "{}?repo={}&collection=app.bsky.feed.post&{query}",
                self.url(&format!("repo.{method}")),
                self.did
            ))
            .bearer(&self.token)
        };
        let step = |name, read: &'static [&'static str], call| Step { name, call, read };
        vec![
            step(
                "a wrong password",
                &[],
                login(json!({ "identifier": self.handle, "password": "wrong" })),
            ),
            step(
                "no password",
                &[],
                login(json!({ "identifier": self.handle })),
            ),
            step(
                "a login",
                &["/did", "/accessJwt", "/handle", "/active"],
                login(json!({ "identifier": self.handle, "password": self.password })),
            ),
            step("a put", RECORD, put(KEY, &record("one"))),
            step("the same put", RECORD, put(KEY, &record("one"))),
            step("another put", &[], put(KEY, &record("two"))),
            step(
                "a create where something is",
                &[],
                self.write(
                    "createRecord",
                    json!({ "rkey": KEY, "record": record("one") }),
                )
                .bearer(&self.token),
            ),
            step("a put of everything", RECORD, put(RICH, &rich())),
            step(
                "a record",
                &["/uri", "/value"],
                get("getRecord", &format!("rkey={KEY}")),
            ),
            step("no record", &[], get("getRecord", &format!("rkey={FREE}"))),
            step(
                "a list",
                &["/records/0/uri", "/records/0/value/createdAt", "/cursor"],
                get("listRecords", "limit=1"),
            ),
            step(
                "the end of a list",
                &["/records"],
                get("listRecords", "limit=100"),
            ),
            step(
                "a delete",
                &[],
                self.write("deleteRecord", json!({ "rkey": KEY }))
                    .bearer(&self.token),
            ),
            step(
                "the same delete",
                &[],
                self.write("deleteRecord", json!({ "rkey": KEY }))
                    .bearer(&self.token),
            ),
            step(
                "a deleted record",
                &[],
                get("getRecord", &format!("rkey={KEY}")),
            ),
        ]
    }

    /// Uploads, and records that name what was uploaded.
    fn picture_steps(&self) -> Vec<Step> {
        const RECORD: &[&str] = &["/uri", "/cid"];
        const BLOB: &[&str] = &["/blob/ref/$link", "/blob/mimeType", "/blob/size"];
        let upload = |media_type, bytes: &[u8]| {
            Call::post_bytes(self.url("repo.uploadBlob"), media_type, bytes.to_vec())
                .bearer(&self.token)
        };
        let delete = |rkey: &str| {
            self.write("deleteRecord", json!({ "rkey": rkey }))
                .bearer(&self.token)
        };
        let other = [PNG, b"more"].concat();
        let put = |rkey: &str, record: &Value| self.put(rkey, record, &self.token);
        let stored = format!(
            "{}?repo={}&collection=app.bsky.feed.post&rkey={ALBUM}",
            self.url("repo.getRecord"),
            self.did
        );
        let step = |name, read: &'static [&'static str], call| Step { name, call, read };
        vec![
            step("a picture", BLOB, upload("image/png", PNG)),
            step("the same picture", BLOB, upload("image/png", PNG)),
            step("a picture of another type", BLOB, upload("image/jpeg", PNG)),
            step(
                "a card with a picture",
                RECORD,
                put(CARD, &card(PNG, "image/png", PNG.len())),
            ),
            step(
                "the same card",
                RECORD,
                put(CARD, &card(PNG, "image/png", PNG.len())),
            ),
            step("pictures with texts", RECORD, put(ALBUM, &album())),
            step(
                "the stored pictures",
                &[
                    "/value/embed/images/0/image/ref/$link",
                    "/value/embed/images/0/aspectRatio/width",
                ],
                Call::get(stored).bearer(&self.token),
            ),
            step("another picture", BLOB, upload("image/png", &other)),
            step(
                "its other type",
                &[],
                put(FREE, &card(&other, "image/jpeg", other.len())),
            ),
            step(
                "its other size",
                &[],
                put(FREE, &card(&other, "image/png", PNG.len())),
            ),
            // Once a record names it, nobody looks any more.
            step(
                "the other type of a picture that is named",
                RECORD,
                put(OTHER, &card(PNG, "image/jpeg", PNG.len())),
            ),
            step("no card", &[], delete(CARD)),
            step("no pictures", &[], delete(ALBUM)),
            step(
                "a picture with one record left",
                RECORD,
                put(CARD, &card(PNG, "image/png", 1)),
            ),
            step("no card again", &[], delete(CARD)),
            step("no other", &[], delete(OTHER)),
            step(
                "a picture that no record names any more",
                &[],
                put(FREE, &card(PNG, "image/png", PNG.len())),
            ),
        ]
    }
}

const PNG: &[u8] = include_bytes!("../../data/channel/dot.png");

fn blob(bytes: &[u8], media_type: &str, size: usize) -> Value {
    let picture = Picture {
        source: String::new(),
        sha256: sha256_hex(bytes),
        mime_type: media_type.to_owned(),
        size: 0,
        width: 2,
        height: 1,
        attached: None,
    };
    json!({ "$type": "blob", "ref": { "$link": picture.cid() }, "mimeType": media_type, "size": size })
}

/// A record whose card has a picture.
fn card(bytes: &[u8], media_type: &str, size: usize) -> Value {
    let mut card = rich();
    card["embed"]["external"]["thumb"] = blob(bytes, media_type, size);
    card
}

/// A record with two pictures.
fn album() -> Value {
    let image = || {
        json!({
            "image": blob(PNG, "image/png", PNG.len()),
            "alt": "A dot",
            "aspectRatio": { "width": 2, "height": 1 },
        })
    };
    let mut album = rich();
    album["embed"] = json!({ "$type": "app.bsky.embed.images", "images": [image(), image()] });
    album
}

fn record(text: &str) -> Value {
    json!({ "$type": "app.bsky.feed.post", "text": text, "createdAt": "2026-01-02T03:04:05.000Z" })
}

/// A record with everything that the program writes.
fn rich() -> Value {
    json!({
        "$type": "app.bsky.feed.post",
        "text": "é #tag https://blog.example/",
        "createdAt": "2026-01-02T03:04:05.678Z",
        "langs": ["en"],
        "facets": [
            {
                "index": { "byteStart": 3, "byteEnd": 7 },
                "features": [{ "$type": "app.bsky.richtext.facet#tag", "tag": "tag" }],
            },
            {
                "index": { "byteStart": 8, "byteEnd": 29 },
                "features": [{ "$type": "app.bsky.richtext.facet#link", "uri": "https://blog.example/" }],
            },
        ],
        "embed": {
            "$type": "app.bsky.embed.external",
            "external": { "uri": "https://blog.example/", "title": "T", "description": "" },
        },
    })
}

#[test]
fn the_bluesky_stand_in_answers_as_a_pds_does() {
    let Some(pds) = Pds::shared() else { return };
    let theirs = pds.account("alike");
    let there = Account::new(
        pds.url(),
        &theirs.handle,
        &theirs.app_password,
        &theirs.expired_token,
    );
    let clock = clock();
    let world = serve(Kind::Bluesky, &[], None, clock.clone());
    let url = format!("http://{}", world.address);
    let secret = Sandbox::secret(Kind::Bluesky);
    let old = Account::log_in(&url, &theirs.handle, secret);
    clock.advance(Duration::from_hours(3));
    let here = Account::new(
        &url,
        &theirs.handle,
        secret,
        old["accessJwt"].as_str().unwrap(),
    );
    let answers = check(
        [&there.side, &here.side],
        [&there, &here].map(|side| {
            side.steps()
                .into_iter()
                .chain(side.picture_steps())
                .chain(side.refused_steps())
                .collect()
        }),
        &BLUESKY,
    );
    // A record's hash is of its content alone: both must come to the same.
    let cids: Vec<_> = answers
        .iter()
        .map(|pair| pair.each_ref().map(|answer| answer.json()["cid"].clone()))
        .filter(|[there, _]| there.is_string())
        .collect();
    assert_eq!(cids.len(), 10, "{cids:?}");
    for [there, here] in cids {
        assert_eq!(there, here);
    }
}
