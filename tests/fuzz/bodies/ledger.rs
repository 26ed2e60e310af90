//! The ledger's files: rows, journal, `ledger.json`, and `baseline.json`.

use sayonce::ledger::row::{self, RowError};
use sayonce::ledger::{baseline, header};
use sayonce::model::row::Row;
use serde_json::{Map, Value};

use super::parts;

/// Reads an input as each file of the ledger; what follows a record separator is the body beside a row.
pub(crate) fn ledger(bytes: &[u8]) -> bool {
    let mut parts = parts(bytes);
    let file = parts.next().unwrap_or_default();
    let body = parts.next();
    let as_row = stored_row(file, body);
    let as_journal = journaled_row(file);
    let as_header = header_file(file);
    let as_baseline = baseline_file(file);
    as_row || as_journal || as_header || as_baseline
}

fn stored_row(file: &[u8], body: Option<&[u8]>) -> bool {
    let row = match row::decode(file, body) {
        Ok(row) => row,
        Err(error) => {
            assert_told(&error.to_string());
            return false;
        }
    };
    // Under a path that is not its own a row is unreadable, never another delivery's.
    let path = row::path_of("ledger", &row.delivery_id());
    let below = path.strip_prefix("ledger/").expect("that is the directory");
    if let Some(delivery) = row::delivery_of(below) {
        assert_eq!(delivery, row.delivery_id());
        let at = row::decode_at(&delivery, file, body).expect("it was read before");
        assert_eq!(at, row);
        let mut other = delivery;
        other.item = sayonce::model::item::ItemId::from_stored("another/item");
        let elsewhere = row::decode_at(&other, file, body);
        assert!(
            row.item == other.item || matches!(elsewhere, Err(RowError::WrongPath(_))),
            "{elsewhere:?}"
        );
    }
    let written = match row::encode(&row) {
        Ok(written) => written,
        // What was read from a compact file may be too big once it is indented.
        Err(RowError::TooBig { .. }) => return true,
        Err(error) => panic!("a row was read that can't be written: {error}"),
    };
    let beside = written.body.as_deref().map(str::as_bytes);
    let again = row::decode(written.text.as_bytes(), beside).unwrap_or_else(|error| {
        panic!("what was written can't be read: {error}\n{}", written.text)
    });
    assert_eq!(again, row, "written as {}", written.text);
    let twice = row::encode(&again).expect("it was written before");
    assert_eq!(twice, written);
    assert_kept(file, written.text.as_bytes());
    true
}

fn journaled_row(file: &[u8]) -> bool {
    let row: Row = match row::decode_whole(file) {
        Ok(row) => row,
        Err(error) => {
            assert_told(&error.to_string());
            return false;
        }
    };
    let written = row::encode_whole(&row).expect("a row that was read can be written");
    let again = row::decode_whole(written.as_bytes())
        .unwrap_or_else(|error| panic!("what was journaled can't be read: {error}\n{written}"));
    assert_eq!(again, row, "written as {written}");
    true
}

fn header_file(file: &[u8]) -> bool {
    let stored = match header::decode(file) {
        Ok(stored) => stored,
        Err(error) => {
            assert_told(&error.to_string());
            return false;
        }
    };
    let written = header::encode(&stored);
    let again = header::decode(written.as_bytes())
        .unwrap_or_else(|error| panic!("what was written can't be read: {error}\n{written}"));
    assert_eq!(again, stored, "written as {written}");
    assert_kept(file, written.as_bytes());
    true
}

fn baseline_file(file: &[u8]) -> bool {
    let read = match baseline::decode(file) {
        Ok(read) => read,
        Err(error) => {
            assert_told(&error.to_string());
            return false;
        }
    };
    let written = baseline::encode(&read);
    let again = baseline::decode(written.as_bytes())
        .unwrap_or_else(|error| panic!("what was written can't be read: {error}\n{written}"));
    assert_eq!(again, read, "written as {written}");
    true
}

fn assert_told(reason: &str) {
    assert!(!reason.is_empty(), "unreadable without a reason");
}

/// Asserts that no field of an object, or of an object right below it, was lost by reading and writing it.
fn assert_kept(before: &[u8], after: &[u8]) {
    let object = |bytes| -> Map<String, Value> {
        serde_json::from_slice(bytes).expect("both were read as objects")
    };
    let (before, after) = (object(before), object(after));
    assert_keys_kept(&before, &after);
    for group in ["operations", "channels"] {
        let members = |object: &Map<String, Value>| object.get(group).cloned().unwrap_or_default();
        let (before, after) = (members(&before), members(&after));
        for (name, member) in before.as_object().into_iter().flatten() {
            let kept = after.get(name).and_then(Value::as_object);
            let kept = kept.unwrap_or_else(|| panic!("`{group}.{name}` was lost"));
            assert_keys_kept(member.as_object().expect("it was read as one"), kept);
        }
    }
}

fn assert_keys_kept(before: &Map<String, Value>, after: &Map<String, Value>) {
    for (key, value) in before {
        // What says no more than its absence is not written.
        let says_nothing = match value {
            Value::Null => true,
            Value::Bool(flag) => !flag,
            Value::Array(list) => list.is_empty(),
            Value::Number(number) => {
                let default = u64::from(key == "edition");
                number.as_u64() == Some(default)
            }
            // The first claim is told only where it is not the latest.
            Value::String(_) => key == "first_claimed_at",
            Value::Object(_) => false,
        };
        assert!(
            says_nothing || after.contains_key(key),
            "`{key}` was lost: {value}"
        );
    }
}
