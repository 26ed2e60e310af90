//! `ledger.json`: which ledger this is, whose it is, and who may write to it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::json::{self, JsonError};
use super::row::{decision_from_wire, decision_to_wire};
use super::row_wire::WireDecision;
use super::{Header, KnownChannel, SCHEMA};
use crate::model::ids::{ChannelName, hex};
use crate::model::item::ItemId;
use crate::model::outcome::ServerLimits;
use crate::model::time::Timestamp;

/// The file's name in the ledger's directory.
pub const FILE: &str = "ledger.json";

/// It grows with the channels and with what was let through a flood guard.
pub(crate) const BYTES_MAX: usize = 4 * 1024 * 1024;

/// A header with what only its file knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredHeader {
    /// What the program uses.
    pub header: Header,
    /// GitHub's number of the repository: it outlives a rename.
    pub repository_id: Option<String>,
    /// Fields that this version does not know, written back as they are.
    unknown: Map<String, Value>,
    /// The same of each channel.
    unknown_of_channels: BTreeMap<ChannelName, Map<String, Value>>,
}

/// Why `ledger.json` can't be used.
#[derive(Debug, thiserror::Error)]
pub enum HeaderError {
    /// Older programs must not write here.
    #[error(
        "it needs a version of sayonce that knows schema {least_reader}; this one knows {SCHEMA}"
    )]
    TooNew {
        /// The schema that a writer must know.
        least_reader: u64,
    },
    /// Not the JSON that it should be.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// JSON, but no header.
    #[error("it is not a ledger's header: {0}")]
    Shape(String),
}

#[derive(Serialize, Deserialize)]
struct WireHeader {
    schema: u32,
    least_reader: u32,
    lineage: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    repository: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    repository_id: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    witness_refused: bool,
    #[serde(default)]
    channels: Map<String, Value>,
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

#[derive(Serialize, Deserialize)]
struct WireChannel {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text_limit: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    link_length: Option<usize>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    needs_picture: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    not_before: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    admitted: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    admitted_by: Option<WireDecision>,
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

impl Header {
    /// The header of a ledger that is not there yet; the store draws its lineage when it writes it.
    pub const fn blank() -> Self {
        Self {
            schema: SCHEMA,
            least_reader: SCHEMA,
            lineage: String::new(),
            repository: None,
            witness_refused: false,
            channels: BTreeMap::new(),
        }
    }

    /// Makes the header of a new ledger from 128 random bits.
    pub fn new(lineage: [u8; 16], repository: Option<String>) -> Self {
        Self {
            schema: SCHEMA,
            least_reader: SCHEMA,
            lineage: hex(&lineage),
            repository,
            witness_refused: false,
            channels: BTreeMap::new(),
        }
    }
}

impl StoredHeader {
    /// Takes a header that was never in a file.
    pub fn new(header: Header, repository_id: Option<String>) -> Self {
        Self {
            header,
            repository_id,
            unknown: Map::new(),
            unknown_of_channels: BTreeMap::new(),
        }
    }

    /// Returns `header` with what only this one's file knows.
    #[must_use]
    pub fn with(&self, header: Header) -> Self {
        Self {
            header,
            ..self.clone()
        }
    }
}

/// Writes `ledger.json`.
pub fn encode(stored: &StoredHeader) -> String {
    let header = &stored.header;
    let channels = header
        .channels
        .iter()
        .map(|(name, channel)| {
            let wire = WireChannel {
                text_limit: channel.limits.text,
                link_length: channel.limits.link,
                needs_picture: channel.limits.needs_picture,
                since: channel.since.map(|at| at.to_string()),
                not_before: channel.not_before.map(|at| at.to_string()),
                admitted: channel.admitted.iter().map(ToString::to_string).collect(),
                admitted_by: channel.admitted_by.as_ref().map(decision_to_wire),
                unknown: stored
                    .unknown_of_channels
                    .get(name)
                    .cloned()
                    .unwrap_or_default(),
            };
            let value = serde_json::to_value(wire).expect("a channel's fields can be written");
            (name.to_string(), value)
        })
        .collect();
    json::pretty(&WireHeader {
        schema: header.schema,
        least_reader: header.least_reader,
        lineage: header.lineage.clone(),
        repository: header.repository.clone(),
        repository_id: stored.repository_id.clone(),
        witness_refused: header.witness_refused,
        channels,
        unknown: stored.unknown.clone(),
    })
}

/// Reads `ledger.json`. A newer schema is read as far as it is known, if its `least_reader` allows.
pub fn decode(bytes: &[u8]) -> Result<StoredHeader, HeaderError> {
    let object = json::parse_any_schema(bytes, BYTES_MAX)?;
    let number = |field| object.get(field).and_then(Value::as_u64);
    if let Some(least_reader) = number("least_reader")
        && least_reader > u64::from(SCHEMA)
    {
        return Err(HeaderError::TooNew { least_reader });
    }
    if number("schema").is_none_or(|schema| schema == 0) {
        return Err(JsonError::NoSchema.into());
    }
    let shape = |error: &dyn std::fmt::Display| HeaderError::Shape(error.to_string());
    let wire: WireHeader =
        serde_json::from_value(Value::Object(object)).map_err(|error| shape(&error))?;
    if wire.lineage.is_empty() {
        return Err(shape(&"its `lineage` is empty"));
    }
    let mut channels = BTreeMap::new();
    let mut unknown_of_channels = BTreeMap::new();
    for (name, value) in wire.channels {
        let name = ChannelName::new(&name).map_err(|error| shape(&error))?;
        let channel: WireChannel = serde_json::from_value(value).map_err(|error| shape(&error))?;
        let admitted: BTreeSet<ItemId> = channel
            .admitted
            .iter()
            .map(|item| ItemId::from_stored(item))
            .collect();
        let time = |text: &Option<String>| {
            text.as_deref()
                .map(Timestamp::parse)
                .transpose()
                .map_err(|error| shape(&error))
        };
        let (since, not_before) = (time(&channel.since)?, time(&channel.not_before)?);
        let admitted_by = channel.admitted_by.map(decision_from_wire).transpose();
        unknown_of_channels.insert(name.clone(), channel.unknown);
        channels.insert(
            name,
            KnownChannel {
                limits: ServerLimits {
                    text: channel.text_limit,
                    link: channel.link_length,
                    needs_picture: channel.needs_picture,
                }
                .within_reason(),
                since,
                not_before,
                admitted,
                admitted_by: admitted_by.map_err(|error| shape(&error))?,
            },
        );
    }
    Ok(StoredHeader {
        header: Header {
            schema: wire.schema,
            least_reader: wire.least_reader,
            lineage: wire.lineage,
            repository: wire.repository,
            witness_refused: wire.witness_refused,
            channels,
        },
        repository_id: wire.repository_id,
        unknown: wire.unknown,
        unknown_of_channels,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_survives_the_round_trip_with_what_it_does_not_know() {
        let text = r#"{
  "schema": 2,
  "least_reader": 1,
  "lineage": "000102030405060708090a0b0c0d0e0f",
  "repository": "github.com/blog/site",
  "repository_id": "4711",
  "witness_refused": true,
  "channels": {
    "mastodon": {
      "text_limit": 5000,
      "link_length": 32,
      "needs_picture": true,
      "admitted": [
        "news/a",
        "news/b"
      ],
      "admitted_by": {
        "who": "The author <author@blog.example>",
        "at": "2026-11-29T10:00:00.000Z",
        "verb": "approve --all-new",
        "why": "a new section"
      },
      "colour": "red"
    },
    "search": {}
  },
  "later": [
    1
  ]
}
"#;
        let stored = decode(text.as_bytes()).unwrap();
        assert_eq!(encode(&stored), text);
        let mut changed = stored.header.clone();
        changed.witness_refused = false;
        assert_eq!(
            encode(&stored.with(changed)),
            text.replace("  \"witness_refused\": true,\n", "")
        );
    }

    #[test]
    fn a_limit_that_cannot_be_meant_is_left_out() {
        let text = r#"{
            "schema": 2, "least_reader": 1, "lineage": "000102030405060708090a0b0c0d0e0f",
            "channels": { "mastodon": { "text_limit": 500, "link_length": 8001 } }
        }"#;
        let header = decode(text.as_bytes()).unwrap().header;
        let limits = header.channels.values().map(|channel| channel.limits);
        assert_eq!(
            limits.collect::<Vec<_>>(),
            [ServerLimits::of_text(Some(500))]
        );
    }

    #[test]
    fn a_header_that_is_not_one_says_why() {
        let check = |text: &str| decode(text.as_bytes()).unwrap_err().to_string();
        assert_eq!(
            check(r#"{"schema": 9, "least_reader": 9, "shape": "another"}"#),
            "it needs a version of sayonce that knows schema 9; this one knows 1"
        );
        assert_eq!(check("{}"), "it has no `schema` number");
        assert_eq!(
            check(r#"{"schema": 1}"#),
            "it is not a ledger's header: missing field `least_reader`"
        );
        assert_eq!(
            check(r#"{"schema": 1, "least_reader": 1, "lineage": ""}"#),
            "it is not a ledger's header: its `lineage` is empty"
        );
    }
}
