//! What an author sets for one item: the key `sayonce` in front matter or in the manifest.

use std::collections::{BTreeMap, BTreeSet};

use chrono_tz::Tz;
use serde_json::{Map, Value};

use crate::model::ids::ChannelName;
use crate::model::item::{ItemChannelSettings, ItemImage, ItemSettings};

use super::dates;

/// What a channel takes for one item.
const CHANNEL_FIELDS: [&str; 7] = [
    "text",
    "content_warning",
    "language",
    "image",
    "alt",
    "images",
    "series",
];

/// Most pictures of one post: what Bluesky and Mastodon take.
const IMAGES_MAX: usize = 4;

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
            images: Vec::new(),
            series: None,
        }),
        Value::Object(fields) => read_channel_fields(name, fields),
        Value::Bool(true) | Value::Null | Value::Number(_) | Value::Array(_) => Err(error(
            &[name],
            &format!(
                "`{name}` is neither a text, nor `false`, nor a map of `text`, `content_warning`, `language`, `image`, `alt`, `images`, and `series`"
            ),
        )),
    }
}

fn read_channel_fields(
    name: &str,
    fields: &Map<String, Value>,
) -> Result<ItemChannelSettings, SettingsError> {
    let mut texts: BTreeMap<&str, String> = BTreeMap::new();
    let mut images = Vec::new();
    for (key, value) in fields {
        if !CHANNEL_FIELDS.contains(&key.as_str()) {
            return Err(error(
                &[name, key],
                &format!(
                    "`{key}` is unknown: a channel takes `text`, `content_warning`, `language`, `image`, `alt`, `images`, and `series`"
                ),
            ));
        }
        if key == "images" {
            images = read_images(value).map_err(|message| error(&[name, key], &message))?;
            continue;
        }
        let text = value
            .as_str()
            .ok_or_else(|| error(&[name, key], &format!("`{key}` is no text: {value}")))?;
        texts.insert(key, text.to_owned());
    }
    if !images.is_empty() && texts.contains_key("image") {
        return Err(error(
            &[name, "images"],
            "`image` and `images` are both there: each picture of the post stands in `images`",
        ));
    }
    Ok(ItemChannelSettings::Custom {
        text: texts.remove("text"),
        content_warning: texts.remove("content_warning"),
        language: texts.remove("language"),
        image: texts.remove("image"),
        alt: texts.remove("alt"),
        images,
        series: texts.remove("series"),
    })
}

fn read_images(value: &Value) -> Result<Vec<ItemImage>, String> {
    const FORM: &str = "write `images: [{ path: \"/cat.jpg\", alt: \"A cat\" }]`";
    let list = value
        .as_array()
        .filter(|list| !list.is_empty())
        .ok_or_else(|| format!("`images` is no list of pictures; {FORM}"))?;
    if list.len() > IMAGES_MAX {
        return Err(format!(
            "`images` has {} pictures, and a post shows at most {IMAGES_MAX}",
            list.len()
        ));
    }
    let read = |image: &Value| {
        let fields = image
            .as_object()
            .ok_or_else(|| format!("a picture is no map; {FORM}"))?;
        if let Some(key) = fields
            .keys()
            .find(|key| !["path", "url", "alt"].contains(&key.as_str()))
        {
            return Err(format!(
                "`{key}` is unknown: a picture has `path` or `url`, and `alt`"
            ));
        }
        let text = |key: &str| {
            let text = fields.get(key)?.as_str().map(str::trim);
            text.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let url = match (text("path"), text("url")) {
            (Some(path), None) => path,
            (None, Some(url)) => url,
            (None, None) => return Err(format!("a picture has neither `path` nor `url`; {FORM}")),
            (Some(_), Some(_)) => return Err("a picture has both `path` and `url`".to_owned()),
        };
        let alt = text("alt").ok_or_else(|| {
            format!("the picture `{url}` has no `alt`, the text that stands for it")
        })?;
        Ok(ItemImage { url, alt })
    };
    list.iter().map(read).collect()
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
            images: Vec::new(),
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
    fn a_post_may_show_several_pictures() {
        let images = |images: Value| match check(&json!({ "bluesky": { "images": images } })) {
            Ok(AuthorSays::Announce(settings)) => match settings.channels.into_values().next() {
                Some(ItemChannelSettings::Custom { images, .. }) => images
                    .iter()
                    .map(|image| format!("{}: {}", image.url, image.alt))
                    .collect::<Vec<_>>()
                    .join(", "),
                other => format!("{other:?}"),
            },
            other => format!("{other:?}"),
        };
        assert_eq!(
            images(
                json!([{"path": "/a.png", "alt": "A cat"}, {"url": "https://cdn.example/b.png", "alt": "Two"}])
            ),
            "/a.png: A cat, https://cdn.example/b.png: Two"
        );
        let one = json!({"path": "/a.png", "alt": "A cat"});
        let refused =
            |images: Value| check(&json!({ "bluesky": { "images": images } })).unwrap_err();
        for (wrong, message) in [
            (
                json!("a.png"),
                "`images` is no list of pictures; write `images: [{ path: \"/cat.jpg\", alt: \"A cat\" }]`",
            ),
            (
                json!([]),
                "`images` is no list of pictures; write `images: [{ path: \"/cat.jpg\", alt: \"A cat\" }]`",
            ),
            (
                json!(["a.png"]),
                "a picture is no map; write `images: [{ path: \"/cat.jpg\", alt: \"A cat\" }]`",
            ),
            (
                json!([{"path": "a.png"}]),
                "the picture `a.png` has no `alt`, the text that stands for it",
            ),
            (
                json!([{"path": "a.png", "alt": " "}]),
                "the picture `a.png` has no `alt`, the text that stands for it",
            ),
            (
                json!([{"path": "a.png", "url": "b.png", "alt": "x"}]),
                "a picture has both `path` and `url`",
            ),
            (
                json!([{"alt": "x"}]),
                "a picture has neither `path` nor `url`; write `images: [{ path: \"/cat.jpg\", alt: \"A cat\" }]`",
            ),
            (
                json!([{"src": "x"}]),
                "`src` is unknown: a picture has `path` or `url`, and `alt`",
            ),
            (
                json!([one, one, one, one, one]),
                "`images` has 5 pictures, and a post shows at most 4",
            ),
        ] {
            assert_eq!(refused(wrong), format!("bluesky.images: {message}"));
        }
        assert_eq!(
            check(&json!({"bluesky": {"image": "/a.png", "images": [one]}})).unwrap_err(),
            "bluesky.images: `image` and `images` are both there: each picture of the post stands in `images`"
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
            "mastodon: `mastodon` is neither a text, nor `false`, nor a map of `text`, `content_warning`, `language`, `image`, `alt`, `images`, and `series`"
        );
        assert_eq!(
            check(json!({"mastodon": true})),
            check(json!({"mastodon": 7}))
        );
        assert_eq!(
            check(json!({"mastodon": {"txt": "x"}})),
            "mastodon.txt: `txt` is unknown: a channel takes `text`, `content_warning`, `language`, `image`, `alt`, `images`, and `series`"
        );
        assert_eq!(
            check(json!({"mastodon": {"text": 1}})),
            "mastodon.text: `text` is no text: 1"
        );
    }
}
