//! Identifiers of the AT Protocol: CIDs, DIDs, TIDs and record keys.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::cbor;

const BASE32: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
/// Sorts as the numbers do.
const BASE32_SORTABLE: &[u8; 32] = b"234567abcdefghijklmnopqrstuvwxyz";
/// `CIDv1`, DAG-CBOR, SHA-256 of 32 bytes.
const RECORD_PREFIX: [u8; 4] = [0x01, 0x71, 0x12, 0x20];
/// `CIDv1`, raw, SHA-256 of 32 bytes.
const BLOB_PREFIX: [u8; 4] = [0x01, 0x55, 0x12, 0x20];
const TID_LENGTH: usize = 13;
const RECORD_KEY_MAX: usize = 512;

/// Returns the CID of a record, the same as the real one: it depends on the content alone, not on the order of the keys.
pub(super) fn record(value: &Value) -> String {
    cid(RECORD_PREFIX, &cbor::encode(value))
}

/// Returns the CID of a blob, the same as the real one.
pub(super) fn blob(bytes: &[u8]) -> String {
    cid(BLOB_PREFIX, bytes)
}

/// Returns the DID of the account behind a channel.
pub(super) fn did(channel: &str) -> String {
    let digest = Sha256::digest(channel.as_bytes());
    let text: String = base32(&digest).chars().take(24).collect();
    format!("did:plc:{text}")
}

/// Returns microseconds as a TID with the clock id 0.
pub(super) fn tid(micros: u64) -> String {
    let number = micros << 10;
    (0..TID_LENGTH)
        .rev()
        .map(|digit| symbol(BASE32_SORTABLE, number >> (5 * digit)))
        .collect()
}

/// Whether `text` is a TID.
pub(super) fn is_tid(text: &str) -> bool {
    let first = text.bytes().next().unwrap_or_default();
    text.len() == TID_LENGTH
        && text.bytes().all(|byte| BASE32_SORTABLE.contains(&byte))
        && matches!(first, b'2'..=b'7' | b'a'..=b'j')
}

/// Whether `text` can be a record key at all.
pub(super) fn is_record_key(text: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"_~.:-".contains(&byte);
    (1..=RECORD_KEY_MAX).contains(&text.len())
        && text.bytes().all(legal)
        && !matches!(text, "." | "..")
}

fn cid(prefix: [u8; 4], bytes: &[u8]) -> String {
    let mut content = prefix.to_vec();
    content.extend_from_slice(&Sha256::digest(bytes));
    format!("b{}", base32(&content))
}

/// Returns the bytes that `base32` makes such a text of, if it does.
pub(super) fn unbase32(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut pending: u32 = 0;
    let mut bits = 0;
    for letter in text.bytes() {
        let digit = BASE32.iter().position(|other| *other == letter)?;
        pending = (pending << 5 | u32::try_from(digit).ok()?) & 0xfff;
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(pending >> bits & 0xff).ok()?);
        }
    }
    Some(bytes)
}

fn base32(bytes: &[u8]) -> String {
    let mut text = String::new();
    let mut pending: u64 = 0;
    let mut bits = 0;
    for byte in bytes {
        pending = (pending << 8 | u64::from(*byte)) & 0xffff;
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            text.push(symbol(BASE32, pending >> bits));
        }
    }
    if bits > 0 {
        text.push(symbol(BASE32, pending << (5 - bits)));
    }
    text
}

fn symbol(alphabet: &[u8; 32], number: u64) -> char {
    let index = usize::try_from(number & 31).unwrap_or(0);
    alphabet.get(index).copied().map_or('?', char::from)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn identifiers_have_the_protocols_form() {
        assert_eq!(tid(1_704_067_200_000_000), "3khuwc44c2222");
        assert_eq!(
            blob(b"hello"),
            "bafkreibm6jg3ux5qumhcn2b3flc3tyu6dmlb4xa7u5bf44yegnrjhc4yeq"
        );
        let did = did("bluesky");
        assert_eq!(did.len(), "did:plc:".len() + 24);
        let one = record(&json!({ "a": 1, "b": [{ "c": 2, "d": 3 }] }));
        let same = record(&json!({ "b": [{ "d": 3, "c": 2 }], "a": 1 }));
        let other = record(&json!({ "a": 1, "b": [{ "c": 2, "d": 4 }] }));
        assert!(one.starts_with("bafyrei") && one.len() == 59, "{one}");
        assert_eq!(one, same);
        assert_ne!(one, other);
    }

    /// What a real server answered.
    #[test]
    fn the_hash_of_a_record_is_the_real_one() {
        let post = json!({
            "text": "hello one",
            "$type": "app.bsky.feed.post",
            "langs": ["en"],
            "createdAt": "2026-01-02T03:04:05.000Z",
        });
        assert_eq!(
            record(&post),
            "bafyreich3pr2iv6xsazn3zwt6bkpryusfu2xdz3zndfun2vbocy3zdqtjm"
        );
    }

    #[test]
    fn record_keys_and_tids_are_told_apart() {
        for (text, key, tid) in [
            ("3mabcdefghi2z", true, true),
            ("3MABCDEFGHJ2Z", true, false),
            ("kabcdefghi22z", true, false),
            ("my-article-slug", true, false),
            ("a:b~c_d", true, false),
            ("bad rkey", false, false),
            (".", false, false),
            ("..", false, false),
            ("", false, false),
        ] {
            assert_eq!((is_record_key(text), is_tid(text)), (key, tid), "{text}");
        }
    }
}
