//! DAG-CBOR: the bytes of a record that its CID is the hash of.

use serde_json::{Map, Value};

/// Major types of CBOR.
const UNSIGNED: u8 = 0;
const NEGATIVE: u8 = 1;
const BYTES: u8 = 2;
const TEXT: u8 = 3;
const ARRAY: u8 = 4;
const MAP: u8 = 5;
const TAG: u8 = 6;
/// Simple values.
const FALSE: u8 = 0xf4;
const TRUE: u8 = 0xf5;
const NULL: u8 = 0xf6;
/// The tag of a CID.
const CID: u64 = 42;
/// Before a CID in bytes stands that it is not in any base.
const NO_BASE: u8 = 0;

/// Returns a record as DAG-CBOR. Fractions, which a record can't have, are written as null.
pub(super) fn encode(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(value, &mut bytes);
    bytes
}

fn write(value: &Value, bytes: &mut Vec<u8>) {
    match value {
        Value::Null => bytes.push(NULL),
        Value::Bool(true) => bytes.push(TRUE),
        Value::Bool(false) => bytes.push(FALSE),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => head(UNSIGNED, number, bytes),
            (None, Some(number)) => head(NEGATIVE, number.unsigned_abs() - 1, bytes),
            (None, None) => bytes.push(NULL),
        },
        Value::String(text) => write_text(text, bytes),
        Value::Array(items) => {
            head(ARRAY, length(items.len()), bytes);
            for item in items {
                write(item, bytes);
            }
        }
        Value::Object(fields) => match link(fields) {
            Some(cid) => {
                head(TAG, CID, bytes);
                head(BYTES, length(cid.len() + 1), bytes);
                bytes.push(NO_BASE);
                bytes.extend(cid);
            }
            None => write_map(fields, bytes),
        },
    }
}

/// Short keys first, then by their bytes.
fn write_map(fields: &Map<String, Value>, bytes: &mut Vec<u8>) {
    let mut sorted: Vec<_> = fields.iter().collect();
    sorted.sort_by_key(|(name, _)| (name.len(), *name));
    head(MAP, length(sorted.len()), bytes);
    for (name, value) in sorted {
        write_text(name, bytes);
        write(value, bytes);
    }
}

fn write_text(text: &str, bytes: &mut Vec<u8>) {
    head(TEXT, length(text.len()), bytes);
    bytes.extend_from_slice(text.as_bytes());
}

/// Writes a major type and its number, in as few bytes as it takes.
fn head(major: u8, number: u64, bytes: &mut Vec<u8>) {
    let major = major << 5;
    if let Ok(number) = u8::try_from(number) {
        if number < 24 {
            bytes.push(major | number);
        } else {
            bytes.extend([major | 0x18, number]);
        }
    } else if let Ok(number) = u16::try_from(number) {
        bytes.push(major | 0x19);
        bytes.extend(number.to_be_bytes());
    } else if let Ok(number) = u32::try_from(number) {
        bytes.push(major | 0x1a);
        bytes.extend(number.to_be_bytes());
    } else {
        bytes.push(major | 0x1b);
        bytes.extend(number.to_be_bytes());
    }
}

fn length(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// Returns the bytes of the CID that `{"$link": "b…"}` stands for.
fn link(fields: &Map<String, Value>) -> Option<Vec<u8>> {
    if fields.len() != 1 {
        return None;
    }
    let text = fields.get("$link")?.as_str()?;
    super::cid::unbase32(text.strip_prefix('b')?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_written_in_the_shortest_form_and_maps_in_their_order() {
        let check = |value: &Value, hex: &str| {
            let bytes = encode(value);
            let written: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(written.concat(), hex, "{value}");
        };
        check(&json!([0, 23, 24, 255, 256]), "850017181818ff190100");
        check(
            &json!([65_536, 4_294_967_296_u64]),
            "821a000100001b0000000100000000",
        );
        check(&json!([-1, -25, null, true, false]), "85203818f6f5f4");
        check(&json!({ "bb": 1, "a": "é" }), "a2616162c3a962626201");
        check(
            &json!({ "$link": "bafkreibm6jg3ux5qumhcn2b3flc3tyu6dmlb4xa7u5bf44yegnrjhc4yeq" }),
            "d82a582500015512202cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
        );
    }
}
