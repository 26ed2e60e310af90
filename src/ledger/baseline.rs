//! `baseline.json`: what was online before and is never to be announced, per channel, in one file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::json::{self, JsonError};
use super::{Baseline, SCHEMA};
use crate::model::ids::{ChannelName, Fingerprint};
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
    /// What articles said then, by channel and id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    articles: BTreeMap<String, BTreeMap<String, String>>,
}

/// Writes `baseline.json`, channels and ids sorted.
pub fn encode(baseline: &Baseline) -> String {
    let said = |(item, said): (&ItemId, &Option<Fingerprint>)| {
        Some((item.to_string(), said.as_ref()?.to_string()))
    };
    let articles = baseline.iter().map(|(channel, items)| {
        let items: BTreeMap<_, _> = items.iter().filter_map(said).collect();
        (channel.to_string(), items)
    });
    json::pretty(&WireBaseline {
        schema: SCHEMA,
        channels: baseline
            .iter()
            .map(|(channel, items)| {
                let items = items.keys().map(ToString::to_string).collect();
                (channel.to_string(), items)
            })
            .collect(),
        articles: articles.filter(|(_, items)| !items.is_empty()).collect(),
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
            let said = wire.articles.get(channel.as_str());
            let items = items.iter().map(|item| {
                let said = said.and_then(|said| said.get(item));
                let said = said.map(|text| {
                    Fingerprint::parse(text).ok_or_else(|| {
                        BaselineError::Shape(format!("`{text}` is not a fingerprint"))
                    })
                });
                Ok((ItemId::from_stored(item), said.transpose()?))
            });
            Ok((channel, items.collect::<Result<_, BaselineError>>()?))
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
    fn what_articles_said_stands_beside_their_ids() {
        let print = format!("sha256:{}", "5e".repeat(32));
        let text = format!(
            r#"{{
  "schema": 1,
  "channels": {{
    "mastodon": [
      "news/a"
    ],
    "search": [
      "news/a",
      "news/b"
    ]
  }},
  "articles": {{
    "search": {{
      "news/b": "{print}"
    }}
  }}
}}
"#
        );
        assert_eq!(encode(&decode(text.as_bytes()).unwrap()), text);
        let wrong = text.replace(&print, "sha256:5e");
        assert_eq!(
            decode(wrong.as_bytes()).unwrap_err().to_string(),
            "it is not a baseline: `sha256:5e` is not a fingerprint"
        );
    }

    #[test]
    fn a_baseline_that_is_not_one_says_why() {
        let check = |text: &str| decode(text.as_bytes()).unwrap_err().to_string();
        assert_eq!(
            check(r#"{"schema":1,"channels":{},"more":1}"#),
            "it is not a baseline: unknown field `more`, expected one of `schema`, `channels`, `articles`"
        );
        assert_eq!(
            check(r#"{"schema":1,"channels":{"../x":[]}}"#),
            ChannelName::new("../x")
                .map_err(|error| format!("it is not a baseline: {error}"))
                .unwrap_err()
        );
    }
}
