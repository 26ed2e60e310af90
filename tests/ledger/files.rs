//! The files of released versions, which every later version reads and writes back byte for byte.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use sayonce::ledger::{baseline, header, row};
use serde_json::Value;

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/ledger/v1")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// The sample rows, by name.
fn samples() -> Vec<(String, String, Option<String>)> {
    let mut samples = Vec::new();
    for entry in std::fs::read_dir(data()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let is_row = path
            .extension()
            .is_some_and(|extension| extension == "json")
            && !["ledger", "baseline"].contains(&name.as_str());
        if is_row {
            let body = path.with_file_name(format!("{name}.body.md"));
            let body = body.exists().then(|| read(&body));
            samples.push((name, read(&path), body));
        }
    }
    samples.sort();
    samples
}

#[test]
fn rows_of_the_first_version_survive_the_round_trip() {
    let samples = samples();
    assert_eq!(samples.len(), 10);
    for (name, text, body) in samples {
        let decoded = row::decode(text.as_bytes(), body.as_deref().map(str::as_bytes));
        let decoded = decoded.unwrap_or_else(|error| panic!("{name}: {error}"));
        let encoded = row::encode(&decoded).unwrap();
        assert_eq!(encoded.text, text, "{name}");
        assert_eq!(encoded.body, body, "{name}");
        for record in decoded.operations.values() {
            if let Some(claim) = &record.claim {
                assert_eq!(claim.post.fingerprint(), claim.fingerprint, "{name}");
            }
        }
    }
}

#[test]
fn header_and_baseline_of_the_first_version_survive_the_round_trip() {
    let text = read(&data().join("ledger.json"));
    let stored = header::decode(text.as_bytes()).unwrap();
    assert_eq!(stored.repository_id.as_deref(), Some("4711"));
    assert_eq!(header::encode(&stored), text);
    let text = read(&data().join("baseline.json"));
    assert_eq!(
        baseline::encode(&baseline::decode(text.as_bytes()).unwrap()),
        text
    );
}

/// The sample `name` with `from` replaced, and what is said of it.
#[track_caller]
fn check(name: &str, from: &str, to: &str) -> String {
    let text = read(&data().join(format!("{name}.json")));
    assert!(text.contains(from), "{from} is not in {name}");
    row::decode(text.replacen(from, to, 1).as_bytes(), None)
        .unwrap_err()
        .to_string()
}

#[test]
fn a_row_that_is_wrong_somewhere_says_where() {
    assert_eq!(
        check("done", "\"title\": \"Hello\",", ""),
        "it is not a row: missing field `title`"
    );
    assert_eq!(
        check("done", "\"attempt\": 1", "\"attempt\": -1"),
        "its operation `publish` is not a record: invalid value: integer `-1`, expected u32"
    );
    assert_eq!(
        check("done", "\"publish\": {", "\"boost\": {"),
        "its operation `boost` is not one that this version knows"
    );
    assert_eq!(
        check("operations", "\"update:1\"", "\"update:01\""),
        "its operation `update:01` is not one that this version knows"
    );
    assert_eq!(
        check("done", "\"state\": \"done\"", "\"state\": \"sent\""),
        "its operation `publish` has the state `sent`, which this version does not know"
    );
    assert_eq!(
        check("done", "\"evidence\": \"response\",", ""),
        "its operation `publish` is done without a receipt and its evidence"
    );
    assert_eq!(
        check("held", "\"state\": \"held\"", "\"state\": \"in_doubt\""),
        "its operation `publish` is in_doubt without a claim"
    );
    assert_eq!(
        check("in_flight", "\"run\": \"github:4711/1\",", ""),
        "its operation `publish` has only a part of its claim (token, key, fingerprint, post, run, \
         claimed_at, send_before, quiet_until)"
    );
    assert_eq!(
        check("in_flight", "9b1f7e0c4a5d4c0f8e2b6a1d3c5e7f90", "9b1f"),
        "its operation `publish` has a `token` that is not one: `9b1f`"
    );
    assert_eq!(
        check("in_flight", "2026-11-29T10:00:00.123Z", "yesterday"),
        "its operation `publish` has a wrong `claimed_at`: `yesterday` is not an RFC 3339 timestamp"
    );
    assert_eq!(
        check(
            "done",
            "\"id\": \"1142\",",
            "\"id\": \"1142\", \"shape\": 1,"
        ),
        "its operation `publish` is not a record: unknown field `shape`, expected `id` or `url`"
    );
    assert_eq!(
        check("done", "\"channel\": \"mastodon\"", "\"channel\": \"../x\""),
        "it is not a row: `../x` can't be a channel's name: use 1 to 40 of a-z, 0-9, `-` and `_`, \
         starting with a letter or digit, and no Windows device name"
    );
    assert_eq!(
        check("long_body", "\"bytes\":", "\"length\":"),
        "the body of its operation `publish` is not described as one: unknown field `length`, \
         expected `sha256` or `bytes`"
    );
}

#[test]
fn an_offset_in_a_time_is_read_and_written_in_utc() {
    let text = read(&data().join("done.json"));
    let local = text.replace("2026-11-29T10:00:00.123Z", "2026-11-29T11:00:00.123+01:00");
    let decoded = row::decode(local.as_bytes(), None).unwrap();
    assert_eq!(row::encode(&decoded).unwrap().text, text);
}

#[test]
fn the_schema_names_every_key_that_is_written() {
    let schema: Value = serde_json::from_str(&read(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/ledger.schema.json"),
    ))
    .unwrap();
    let keys = |pointer: &str| -> BTreeSet<String> {
        let properties = schema
            .pointer(pointer)
            .unwrap_or_else(|| panic!("no {pointer}"));
        properties.as_object().unwrap().keys().cloned().collect()
    };
    let rows = keys("/$defs/row/properties");
    let records = keys("/$defs/record/properties");
    let (mut of_rows, mut of_records) = (BTreeSet::new(), BTreeSet::new());
    for (name, text, _) in samples() {
        let value: Value = serde_json::from_str(&text).unwrap();
        of_rows.extend(value.as_object().unwrap().keys().cloned());
        for record in value["operations"].as_object().unwrap().values() {
            of_records.extend(record.as_object().unwrap().keys().cloned());
        }
        assert!(!name.is_empty());
    }
    // What the samples hold of a later version.
    of_rows.remove("colour");
    of_records.remove("mood");
    assert_eq!(rows, of_rows);
    assert_eq!(records, of_records);
    let header: Value = serde_json::from_str(&read(&data().join("ledger.json"))).unwrap();
    for key in header.as_object().unwrap().keys() {
        assert!(keys("/$defs/header/properties").contains(key), "{key}");
    }
}
