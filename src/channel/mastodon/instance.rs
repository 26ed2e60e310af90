//! What a server says of itself: its limits, and whether it is one that wants pictures.

use serde_json::Value;

use super::Mastodon;
use crate::model::outcome::ServerLimits;

/// Mastodon's own limit: a server that tells another one is noted.
const TEXT_LIMIT_DEFAULT: usize = 500;
/// What Mastodon itself counts for a link.
const LINK_LENGTH_DEFAULT: usize = 23;

impl Mastodon {
    /// Asks for the limits where the server has either of the two ways to tell them; neither is needed.
    pub(super) fn limits(&mut self) -> ServerLimits {
        let instance = ["/api/v2/instance", "/api/v1/instance"]
            .into_iter()
            .find_map(|path| {
                let answer = self.get(path, &[]).ok()?;
                answer.json().filter(|_| answer.status == 200)
            });
        instance
            .as_ref()
            .map_or_else(ServerLimits::default, limits_of)
    }
}

fn limits_of(instance: &Value) -> ServerLimits {
    let number = |places: &[&str]| {
        let told = places
            .iter()
            .find_map(|place| instance.pointer(place)?.as_u64());
        told.and_then(|number| usize::try_from(number).ok())
    };
    let text = number(&["/configuration/statuses/max_characters", "/max_toot_chars"]);
    let link = number(&["/configuration/statuses/characters_reserved_per_url"]);
    let version = instance.get("version").and_then(Value::as_str);
    ServerLimits {
        text: text.filter(|limit| *limit != TEXT_LIMIT_DEFAULT && *limit > 0),
        link: link.filter(|length| *length != LINK_LENGTH_DEFAULT),
        // It says so behind the version of Mastodon that it is compatible with.
        needs_picture: version.is_some_and(|version| version.to_lowercase().contains("pixelfed")),
    }
    .within_reason()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_server_tells_is_believed_within_reason() {
        let check = |text: u64, link: u64| {
            let told = limits_of(&json!({ "configuration": { "statuses": {
                "max_characters": text, "characters_reserved_per_url": link,
            } } }));
            (told.text, told.link)
        };
        assert_eq!(check(5000, 8000), (Some(5000), Some(8000)));
        assert_eq!(check(500, 23), (None, None));
        assert_eq!(check(1_000_000, 0), (Some(1_000_000), Some(0)));
        assert_eq!(check(1_000_001, 8001), (None, None));
        assert_eq!(check(u64::MAX, u64::MAX), (None, None));
    }
}
