//! What an author sets for one item: the key `sayonce` in front matter or in the manifest.

use std::collections::{BTreeMap, BTreeSet};

use chrono_tz::Tz;
use serde_json::{Map, Value};

use crate::model::ids::ChannelName;
use crate::model::item::{ItemChannelSettings, ItemSettings};

use super::dates;

/// What a channel takes for one item.
const CHANNEL_FIELDS: [&str; 6] = [
    "text",
    "content_warning",
    "language",
    "image",
    "alt",
    "series",
];

/// What the author says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AuthorSays {
    /// `sayonce: false`.
    Exclude,
    /// These settings.
    Announce(ItemSettings),
}

/// What is wrong with a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SettingsError {
    /// The keys that lead to it below `sayonce`, outermost first.
    pub(super) path: Vec<String>,
    /// What is wrong.
    pub(super) message: String,
}

/// Reads the value of `sayonce`.
pub(super) fn read(
    value: &Value,
    known_channels: &BTreeSet<ChannelName>,
    timezone: Tz,
) -> Result<AuthorSays, SettingsError> {
    if value == &Value::Bool(false) {
        return Ok(AuthorSays::Exclude);
    }
    let Some(fields) = value.as_object() else {
        return Err(error(
            &[],
            "`sayonce` is neither `false` nor a map of settings",
        ));
    };
    let mut settings = ItemSettings::default();
    for (key, value) in fields {
        match key.as_str() {
            "publish_at" => {
                let time = value.as_str().and_then(|text| dates::parse(text, timezone));
                settings.publish_at = Some(time.ok_or_else(|| {
                    error(
                        &[key],
                        &format!("`publish_at` is no date: {value}; write `2026-12-01T09:00`"),
                    )
                })?);
            }
            "edition" => {
                settings.edition = value
                    .as_u64()
                    .and_then(|number| u32::try_from(number).ok())
                    .filter(|number| *number >= 1)
                    .ok_or_else(|| {
                        error(
                            &[key],
                            &format!("`edition` is no whole number from 1: {value}"),
                        )
                    })?;
            }
            name => {
                let channel = known_channels
                    .iter()
                    .find(|channel| channel.as_str() == name)
                    .ok_or_else(|| error(&[name], &unknown_channel(name, known_channels)))?;
                let read = read_channel(name, value)?;
                settings.channels.insert(channel.clone(), read);
            }
        }
    }
    Ok(AuthorSays::Announce(settings))
}

fn read_channel(name: &str, value: &Value) -> Result<ItemChannelSettings, SettingsError> {
    match value {
        Value::Bool(false) => Ok(ItemChannelSettings::Excluded),
        Value::String(text) => Ok(ItemChannelSettings::Custom {
            text: Some(text.clone()),
            content_warning: None,
            language: None,
            image: None,
            alt: None,
            series: None,
        }),
        Value::Object(fields) => read_channel_fields(name, fields),
        Value::Bool(true) | Value::Null | Value::Number(_) | Value::Array(_) => Err(error(
            &[name],
            &format!(
                "`{name}` is neither a text, nor `false`, nor a map of `text`, `content_warning`, `language`, `image`, `alt`, and `series`"
            ),
        )),
    }
}

fn read_channel_fields(
    name: &str,
    fields: &Map<String, Value>,
) -> Result<ItemChannelSettings, SettingsError> {
    let mut texts: BTreeMap<&str, String> = BTreeMap::new();
    for (key, value) in fields {
        if !CHANNEL_FIELDS.contains(&key.as_str()) {
            return Err(error(
                &[name, key],
                &format!(
                    "`{key}` is unknown: a channel takes `text`, `content_warning`, `language`, `image`, `alt`, and `series`"
                ),
            ));
        }
        let text = value
            .as_str()
            .ok_or_else(|| error(&[name, key], &format!("`{key}` is no text: {value}")))?;
        texts.insert(key, text.to_owned());
    }
    Ok(ItemChannelSettings::Custom {
        text: texts.remove("text"),
        content_warning: texts.remove("content_warning"),
        language: texts.remove("language"),
        image: texts.remove("image"),
        alt: texts.remove("alt"),
        series: texts.remove("series"),
    })
}

fn unknown_channel(name: &str, known_channels: &BTreeSet<ChannelName>) -> String {
    let known = known_channels
        .iter()
        .map(|channel| format!("`{channel}`"))
        .collect::<Vec<_>>()
        .join(", ");
    format!(
        "`{name}` is neither `publish_at`, nor `edition`, nor a channel of the configuration ({known})"
    )
}

fn error(path: &[&str], message: &str) -> SettingsError {
    SettingsError {
        path: path.iter().map(|&key| key.to_owned()).collect(),
        message: message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(value: &Value) -> Result<AuthorSays, String> {
        let known = ["bluesky", "devto", "mastodon"]
            .map(|name| ChannelName::new(name).unwrap())
            .into();
        read(value, &known, Tz::Europe__Berlin)
            .map_err(|error| format!("{}: {}", error.path.join("."), error.message))
    }

    #[test]
    fn the_documented_form_is_read() {
        assert_eq!(check(&json!(false)), Ok(AuthorSays::Exclude));
        let says = check(&json!({
            "publish_at": "2026-12-01T09:00",
            "edition": 2,
            "mastodon": {"text": "... {{ url }}", "content_warning": "food"},
            "bluesky": "short text",
            "devto": false,
        }));
        let channel = |name| ChannelName::new(name).unwrap();
        let custom = |text: &str, content_warning: Option<&str>| ItemChannelSettings::Custom {
            text: Some(text.to_owned()),
            content_warning: content_warning.map(str::to_owned),
            language: None,
            image: None,
            alt: None,
            series: None,
        };
        assert_eq!(
            says,
            Ok(AuthorSays::Announce(ItemSettings {
                publish_at: dates::parse("2026-12-01T08:00:00Z", Tz::UTC),
                edition: 2,
                channels: BTreeMap::from([
                    (channel("mastodon"), custom("... {{ url }}", Some("food"))),
                    (channel("bluesky"), custom("short text", None)),
                    (channel("devto"), ItemChannelSettings::Excluded),
                ]),
            }))
        );
    }

    #[test]
    fn everything_else_is_an_error_with_its_key() {
        let check = |value: Value| check(&value).unwrap_err();
        assert_eq!(
            check(json!("no")),
            ": `sayonce` is neither `false` nor a map of settings"
        );
        assert_eq!(
            check(json!({"twitter": false})),
            "twitter: `twitter` is neither `publish_at`, nor `edition`, nor a channel of the configuration (`bluesky`, `devto`, `mastodon`)"
        );
        assert_eq!(
            check(json!({"publish_at": "soon"})),
            "publish_at: `publish_at` is no date: \"soon\"; write `2026-12-01T09:00`"
        );
        assert_eq!(
            check(json!({"edition": 0})),
            "edition: `edition` is no whole number from 1: 0"
        );
        assert_eq!(
            check(json!({"mastodon": 7})),
            "mastodon: `mastodon` is neither a text, nor `false`, nor a map of `text`, `content_warning`, `language`, `image`, `alt`, and `series`"
        );
        assert_eq!(
            check(json!({"mastodon": true})),
            check(json!({"mastodon": 7}))
        );
        assert_eq!(
            check(json!({"mastodon": {"txt": "x"}})),
            "mastodon.txt: `txt` is unknown: a channel takes `text`, `content_warning`, `language`, `image`, `alt`, and `series`"
        );
        assert_eq!(
            check(json!({"mastodon": {"text": 1}})),
            "mastodon.text: `text` is no text: 1"
        );
    }
}
