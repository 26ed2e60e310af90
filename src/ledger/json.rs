//! JSON as the ledger's files need it: strict in reading, because a person may have edited the file or git may
//! have merged it; fixed in writing, because the diff is the record.

use std::fmt;

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Why a file of the ledger is not the JSON object that it should be.
#[derive(Debug, thiserror::Error)]
pub enum JsonError {
    /// A row is a few kilobytes; what is far bigger is something else.
    #[error("it has {bytes} bytes, more than the {bytes_max} that are read")]
    TooBig {
        /// Its size.
        bytes: usize,
        /// The limit.
        bytes_max: usize,
    },
    /// Not text.
    #[error("it is not UTF-8")]
    NotUtf8,
    /// Somebody committed an unresolved merge.
    #[error("it has merge conflict markers")]
    MergeMarkers,
    /// Not JSON, cut off, nested too deep, or with a key twice.
    #[error("it is not the JSON that it should be: {0}")]
    Syntax(String),
    /// A JSON array, number or text.
    #[error("it is not a JSON object")]
    NotAnObject,
    /// No usable `schema`.
    #[error("it has no `schema` number")]
    NoSchema,
    /// Written by a newer version.
    #[error("it has schema {0}, which a newer version of sayonce wrote; this one reads up to {max}", max = super::SCHEMA)]
    NewerSchema(u64),
}

/// Reads an object and checks its `schema`.
pub(crate) fn parse_object(
    bytes: &[u8],
    bytes_max: usize,
) -> Result<Map<String, Value>, JsonError> {
    let object = parse_any_schema(bytes, bytes_max)?;
    match object.get("schema").and_then(Value::as_u64) {
        None | Some(0) => Err(JsonError::NoSchema),
        Some(schema) if schema > u64::from(super::SCHEMA) => Err(JsonError::NewerSchema(schema)),
        Some(_) => Ok(object),
    }
}

/// Reads an object, whatever its `schema`.
pub(crate) fn parse_any_schema(
    bytes: &[u8],
    bytes_max: usize,
) -> Result<Map<String, Value>, JsonError> {
    if bytes.len() > bytes_max {
        return Err(JsonError::TooBig {
            bytes: bytes.len(),
            bytes_max,
        });
    }
    let text = str::from_utf8(bytes).map_err(|_not_text| JsonError::NotUtf8)?;
    if text.lines().any(|line| line.starts_with("<<<<<<< ")) {
        return Err(JsonError::MergeMarkers);
    }
    // serde_json itself ends at 128 levels, so a deep file can't exhaust the stack.
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Strict
        .deserialize(&mut reader)
        .and_then(|value| reader.end().map(|()| value))
        .map_err(|error| JsonError::Syntax(error.to_string()))?;
    match value {
        Value::Object(object) => Ok(object),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(JsonError::NotAnObject)
        }
    }
}

/// Writes a value as every file of the ledger is written: two-space indent and a final newline.
pub(crate) fn pretty<T: serde::Serialize>(value: &T) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("our own types can be written");
    text.push('\n');
    text
}

/// Reads any value, but refuses an object with a key twice: `serde_json` would silently take the last one.
struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("a number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(element) = elements.next_element_seed(Strict)? {
            array.push(element);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if object.contains_key(&key) {
                return Err(A::Error::custom(format!(
                    "the key `{key}` stands there twice"
                )));
            }
            let value = entries.next_value_seed(Strict)?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8]) -> String {
        match parse_object(bytes, 200) {
            Ok(object) => Value::Object(object).to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn only_a_whole_object_of_a_known_schema_is_read() {
        assert_eq!(
            check(br#"{"schema": 1, "b": [null, true, -1, 2.5, "x"], "a": {}}"#),
            r#"{"schema":1,"b":[null,true,-1,2.5,"x"],"a":{}}"#
        );
        assert_eq!(check(b"{}"), "it has no `schema` number");
        assert_eq!(check(br#"{"schema": 0}"#), "it has no `schema` number");
        assert_eq!(check(br#"{"schema": "1"}"#), "it has no `schema` number");
        assert_eq!(
            check(br#"{"schema": 2}"#),
            "it has schema 2, which a newer version of sayonce wrote; this one reads up to 1"
        );
        assert_eq!(check(b"[1]"), "it is not a JSON object");
        assert_eq!(check(b"\xff"), "it is not UTF-8");
        assert_eq!(
            check(b"{\n<<<<<<< HEAD\n  \"schema\": 1\n"),
            "it has merge conflict markers"
        );
        assert_eq!(
            check(br#"{"schema": 1"#),
            "it is not the JSON that it should be: EOF while parsing an object at line 1 column 12"
        );
        assert_eq!(
            check(br#"{"schema": 1} x"#),
            "it is not the JSON that it should be: trailing characters at line 1 column 15"
        );
        assert_eq!(
            check(&[b' '; 201]),
            "it has 201 bytes, more than the 200 that are read"
        );
        let deep = format!("{}{}", "[".repeat(130), "]".repeat(130));
        assert!(parse_object(deep.as_bytes(), 1_000).is_err());
    }

    #[test]
    fn a_key_twice_is_refused_at_every_depth() {
        assert_eq!(
            check(br#"{"schema": 1, "schema": 1}"#),
            "it is not the JSON that it should be: the key `schema` stands there twice at line 1 column 22"
        );
        assert_eq!(
            check(br#"{"schema": 1, "x": [{"y": 1, "y": 2}]}"#),
            "it is not the JSON that it should be: the key `y` stands there twice at line 1 column 32"
        );
    }
}
