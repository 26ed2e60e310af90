//! Tests of the row's file format through rows that the protocol makes.

use insta::assert_snapshot;
use proptest::prelude::*;

use super::fixture::{self, claimed, claimed_with, post, proved};
use super::row::{Encoded, decode, decode_at, decode_whole, encode, encode_whole};
use crate::model::delivery::{Counts, Event, Finding, Operation, State, next};
use crate::model::outcome::Remote;
use crate::model::row::Row;

fn row(events: impl IntoIterator<Item = Event>) -> Row {
    fixture::row("news/2026/hello", "mastodon", events)
}

fn read(encoded: &Encoded) -> Row {
    let body = encoded.body.as_deref().map(str::as_bytes);
    decode(encoded.text.as_bytes(), body).unwrap()
}

fn long_body() -> String {
    "A long article, in UTF-8: äöü.\n".repeat(200)
}

fn long_post() -> crate::model::post::Post {
    post(&[
        ("title", "Hello"),
        ("body_markdown", &long_body()),
        ("canonical_url", "https://blog.example/news/2026/hello/"),
    ])
}

#[test]
fn a_done_row_is_written_as_documented() {
    let text = encode(&row([claimed(1), proved("1142")])).unwrap().text;
    assert_snapshot!(text, @r#"
    {
      "schema": 1,
      "item": "news/2026/hello",
      "channel": "mastodon",
      "account": "https://mastodon.example/@blog",
      "canonical_url": "https://blog.example/news/2026/hello/",
      "guid": "https://blog.example/news/2026/hello",
      "title": "Hello",
      "operations": {
        "publish": {
          "state": "done",
          "attempt": 1,
          "token": "01010101010101010101010101010101",
          "key": "so1-a053212cd8e6c1bf4c88ded2b30d90024c6775fe3bb45c8cbf7ef89d48512fed",
          "fingerprint": "sha256:9e7f6469874933c6af11fc66bdd07e4fd9d67752f8b624d77314c5c1dfbaf5a7",
          "post": {
            "text": "Hello",
            "language": "en"
          },
          "run": "github:4711/1",
          "claimed_at": "2026-11-29T10:00:00.123Z",
          "send_before": "2026-11-29T10:00:30.123Z",
          "quiet_until": "2026-11-29T10:14:00.123Z",
          "settled_at": "2026-11-29T10:00:02.123Z",
          "evidence": "response",
          "remote": {
            "id": "1142",
            "url": "https://mastodon.example/@blog/1142"
          },
          "lookups": []
        }
      }
    }
    "#);
}

#[test]
fn a_receipt_without_an_id_is_written_as_null() {
    let mut done = row([claimed(1), proved("1")]);
    for record in done.operations.values_mut() {
        record.remote = Some(Remote {
            id: None,
            url: None,
        });
    }
    let encoded = encode(&done).unwrap();
    assert!(
        encoded
            .text
            .contains("\"remote\": {\n        \"id\": null,\n        \"url\": null\n      }"),
        "{}",
        encoded.text
    );
    assert_eq!(read(&encoded), done);
}

#[test]
fn a_long_body_lies_beside_the_row_until_it_is_done() {
    let mut in_flight = row([claimed_with(1, long_post())]);
    let encoded = encode(&in_flight).unwrap();
    assert_eq!(encoded.body.as_deref(), Some(long_body().as_str()));
    assert!(encoded.text.len() < 2_000);
    let back = read(&encoded);
    assert_eq!(back, in_flight);
    let claim = back.publish().unwrap().claim.as_ref().unwrap();
    assert_eq!(claim.post.fingerprint(), claim.fingerprint);

    let record = in_flight.publish().unwrap();
    let done = next(Some(record), proved("7")).unwrap();
    in_flight.operations.insert(Operation::Publish, done);
    let encoded_done = encode(&in_flight).unwrap();
    assert_eq!(encoded_done.body, None);
    let read_done = read(&encoded_done);
    assert_eq!(encode(&read_done).unwrap(), encoded_done);
    let stand_in = &read_done.publish().unwrap().claim.as_ref().unwrap().post;
    assert_eq!(
        stand_in.fields()["body_markdown"]["bytes"],
        long_body().len()
    );
}

#[test]
fn a_body_that_is_not_the_claimed_one_makes_the_row_unreadable() {
    let encoded = encode(&row([claimed_with(1, long_post())])).unwrap();
    let check = |body: Option<&[u8]>| {
        decode(encoded.text.as_bytes(), body)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        check(None),
        "the body of its operation `publish` is missing: the file beside the row is gone"
    );
    assert_eq!(
        check(Some(long_body().replace("long", "nice").as_bytes())),
        "the body of its operation `publish` is not the one that was claimed: its SHA-256 differs"
    );
}

#[test]
fn of_two_unfinished_long_bodies_the_later_has_the_file() {
    let mut both = row([claimed_with(1, long_post()), fixture::refused()]);
    let other = post(&[("body_markdown", &long_body().replace("long", "new"))]);
    let update = next(None, claimed_with(2, other)).unwrap();
    both.operations.insert(Operation::Update(1), update);
    let encoded = encode(&both).unwrap();
    assert!(
        encoded
            .body
            .as_deref()
            .unwrap()
            .starts_with("A new article")
    );
    assert!(encoded.text.contains("A long article"));
    assert_eq!(read(&encoded), both);
}

#[test]
fn the_journal_keeps_a_row_in_one_piece() {
    let in_flight = row([claimed_with(1, long_post())]);
    let whole = encode_whole(&in_flight).unwrap();
    assert_eq!(decode_whole(whole.as_bytes()).unwrap(), in_flight);
}

#[test]
fn a_row_under_another_path_is_refused() {
    let encoded = encode(&row([claimed(1)])).unwrap();
    let mut elsewhere = row([]).delivery_id();
    let bytes = encoded.text.as_bytes();
    assert!(decode_at(&elsewhere, bytes, None).is_ok());
    elsewhere.item = crate::model::item::ItemId::from_stored("news/2026/other");
    assert_eq!(
        decode_at(&elsewhere, bytes, None).unwrap_err().to_string(),
        "it says that it is `news/2026/hello on mastodon`, which belongs under another path"
    );
}

#[test]
fn a_row_that_would_not_be_read_is_not_written() {
    let mut broken = row([claimed(1)]);
    for record in broken.operations.values_mut() {
        record.state = State::Done;
    }
    assert_eq!(
        encode(&broken).unwrap_err().to_string(),
        "its operation `publish` is done without a receipt and its evidence"
    );
    let huge = post(&[("body_markdown", &"x".repeat(5_000_000))]);
    assert_eq!(
        encode(&row([claimed_with(1, huge)]))
            .unwrap_err()
            .to_string(),
        "it would have 5000000 bytes, more than the 4194304 that are read"
    );
}

#[test]
fn unknown_fields_are_written_back_where_they_stood() {
    let mut known = row([claimed(1)]);
    known.unknown.insert("later".to_owned(), 1.into());
    for record in known.operations.values_mut() {
        record.unknown.insert("mood".to_owned(), "blue".into());
    }
    let encoded = encode(&known).unwrap();
    assert!(
        encoded.text.ends_with("  \"later\": 1\n}\n"),
        "{}",
        encoded.text
    );
    assert_eq!(read(&encoded), known);
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        (1u8..9).prop_map(claimed),
        (1u8..9).prop_map(|number| claimed_with(number, long_post())),
        "[a-z0-9]{1,9}".prop_map(|id| proved(&id)),
        Just(fixture::doubted()),
        Just(fixture::looked(Finding::Absent)),
        Just(fixture::looked(Finding::CannotTell)),
        Just(fixture::absent()),
        Just(fixture::deferred(Counts::Nothing)),
        Just(fixture::deferred(Counts::Attempt)),
        Just(fixture::refused()),
        Just(fixture::held()),
        Just(fixture::skipped()),
        Just(fixture::released()),
    ]
}

proptest! {
    #[test]
    fn every_row_that_the_protocol_can_make_survives_the_round_trip(
        events in prop::collection::vec(event(), 1..20),
        title in "\\PC{0,20}",
    ) {
        let mut record = None;
        for event in events {
            // A move that the protocol forbids changes nothing.
            record = next(record.as_ref(), event).ok().or(record);
        }
        let mut written = row([]);
        written.title = title;
        written.operations.extend(record.map(|record| (Operation::Publish, record)));
        let encoded = encode(&written).unwrap();
        let back = read(&encoded);
        prop_assert_eq!(encode(&back).unwrap(), encoded);
        if written.publish().is_none_or(|record| record.state != State::Done) {
            prop_assert_eq!(back, written);
        }
    }
}
