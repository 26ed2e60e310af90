//! `baseline.json`: what was online before and is never to be announced, per channel, in one file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::json::{self, JsonError};
use super::{Baseline, SCHEMA};
use crate::model::ids::ChannelName;
use crate::model::item::ItemId;

/// The file's name in the ledger's directory.
pub const FILE: &str = "baseline.json";

/// Some hundred thousand ids.
pub(crate) const BYTES_MAX: usize = 64 * 1024 * 1024;

/// Why `baseline.json` can't be used.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// Not the JSON that it should be.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// JSON, but no baseline.
    #[error("it is not a baseline: {0}")]
    Shape(String),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireBaseline {
    schema: u32,
    channels: BTreeMap<String, Vec<String>>,
}

/// Writes `baseline.json`, channels and ids sorted.
pub fn encode(baseline: &Baseline) -> String {
    json::pretty(&WireBaseline {
        schema: SCHEMA,
        channels: baseline
            .iter()
            .map(|(channel, items)| {
                let items = items.iter().map(ToString::to_string).collect();
                (channel.to_string(), items)
            })
            .collect(),
    })
}

/// Reads `baseline.json`.
pub fn decode(bytes: &[u8]) -> Result<Baseline, BaselineError> {
    let object = json::parse_object(bytes, BYTES_MAX)?;
    let wire: WireBaseline = serde_json::from_value(Value::Object(object))
        .map_err(|error| BaselineError::Shape(error.to_string()))?;
    wire.channels
        .into_iter()
        .map(|(channel, items)| {
            let channel = ChannelName::new(&channel)
                .map_err(|error| BaselineError::Shape(error.to_string()))?;
            let items = items.iter().map(|item| ItemId::from_stored(item)).collect();
            Ok((channel, items))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_baseline_is_sorted_and_survives_the_round_trip() {
        let text = r#"{
  "schema": 1,
  "channels": {
    "bluesky": [],
    "mastodon": [
      "news/a",
      "news/b"
    ]
  }
}
"#;
        let unsorted = br#"{"schema":1,"channels":{"mastodon":["news/b","news/a"],"bluesky":[]}}"#;
        assert_eq!(encode(&decode(unsorted).unwrap()), text);
        assert_eq!(encode(&decode(text.as_bytes()).unwrap()), text);
    }

    #[test]
    fn a_baseline_that_is_not_one_says_why() {
        let check = |text: &str| decode(text.as_bytes()).unwrap_err().to_string();
        assert_eq!(
            check(r#"{"schema":1,"channels":{},"more":1}"#),
            "it is not a baseline: unknown field `more`, expected `schema` or `channels`"
        );
        assert_eq!(
            check(r#"{"schema":1,"channels":{"../x":[]}}"#),
            ChannelName::new("../x")
                .map_err(|error| format!("it is not a baseline: {error}"))
                .unwrap_err()
        );
    }
}
