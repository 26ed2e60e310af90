//! Lists of posts, read by the declaration's pointers. Pure.

use chrono::{DateTime, NaiveDateTime};
use serde_json::Value;

use super::judge::from_id;
use super::request::Filler;
use crate::channel::common::{cannot_tell, found};
use crate::channel::matching::text_links;
use crate::config::http::{LookupForm, Pointer, Source};
use crate::model::address::same_address;
use crate::model::claim::Claim;
use crate::model::outcome::{Lookup, Remote, SeenPost, SeenSort};
use crate::model::time::Timestamp;

/// The account's own posts, and whether they go back far enough.
#[derive(Debug)]
pub(super) struct Entries {
    posts: Vec<Entry>,
    since: Timestamp,
    /// The list goes back past `since`.
    pub(super) reaches: bool,
    /// Posts of this list have times.
    timed: bool,
}

#[derive(Debug)]
struct Entry {
    remote: Remote,
    links: Vec<String>,
    keys: Vec<String>,
    made_at: Option<Timestamp>,
}

impl Entries {
    /// Reads a list; an error says why it is none.
    pub(super) fn read(
        form: &LookupForm,
        body: &Value,
        since: Timestamp,
        filler: &Filler,
    ) -> Result<Self, String> {
        let list = form
            .list
            .of(body)
            .and_then(Value::as_array)
            .ok_or_else(|| format!("there is no list at `{}`", form.list))?;
        let made_at = |entry: &Value| time_of(&form.time.as_ref()?.text_of(entry)?);
        let older = list
            .iter()
            .filter_map(made_at)
            .any(|made_at| made_at < since);
        let covers = &form.covers;
        let reaches = covers.always
            || older
            || covers.page_size.is_some_and(|size| list.len() < size)
            || covers
                .whole
                .as_ref()
                .is_some_and(|condition| condition.holds(Some(body)));
        let mut posts = Vec::new();
        for entry in list.iter().filter(|entry| is_ours(form, entry, filler)) {
            let texts = |pointers: &[Pointer]| -> Vec<String> {
                pointers
                    .iter()
                    .filter_map(|pointer| pointer.text_of(entry))
                    .collect()
            };
            let mut links = texts(&form.match_url);
            for text in texts(&form.match_text) {
                links.extend(text_links(&text));
            }
            let id = form.id.text_of(entry);
            let url = match &form.url {
                Some(Source::Pointer(pointer)) => pointer.text_of(entry),
                Some(Source::Template(template)) => {
                    id.as_deref().and_then(|id| from_id(template, id, filler))
                }
                Some(Source::Header(_)) | None => None,
            };
            posts.push(Entry {
                remote: Remote { id, url },
                links,
                keys: texts(&form.match_key),
                made_at: made_at(entry),
            });
        }
        Ok(Self {
            posts,
            since,
            reaches,
            timed: form.time.is_some(),
        })
    }

    /// Looks for the post of a claim.
    pub(super) fn find(self, claim: &Claim) -> Lookup {
        let mut matches = Vec::new();
        for entry in self.posts {
            let has_key = entry.keys.iter().any(|key| key == claim.key.as_str());
            let has_link = entry
                .links
                .iter()
                .any(|link| same_address(link, &claim.canonical_url));
            if !has_key && !has_link {
                continue;
            }
            if entry.remote.id.is_none() {
                return cannot_tell("a post of this article has no id");
            }
            match entry.made_at {
                // No other post has the key, whenever it was made.
                _ if has_key => matches.push(entry.remote),
                // An older post of the article is not this claim's.
                Some(made_at) if made_at < self.since => {}
                None if self.timed => return cannot_tell("a post of this article has no date"),
                Some(_) | None => matches.push(entry.remote),
            }
        }
        found(matches).unwrap_or_else(|| {
            if self.reaches {
                Lookup::Absent
            } else {
                cannot_tell("the list of posts does not reach back past the claim")
            }
        })
    }

    /// Returns the posts as the first read of a run takes them.
    pub(super) fn into_posts(self) -> Vec<SeenPost> {
        self.posts
            .into_iter()
            .filter(|entry| entry.remote.id.is_some())
            .map(|entry| SeenPost {
                remote: entry.remote,
                links: entry.links,
                created_at: entry.made_at,
                sort: SeenSort::TopLevel,
            })
            .collect()
    }
}

fn is_ours(form: &LookupForm, entry: &Value, filler: &Filler) -> bool {
    form.only.iter().all(|(pointer, template)| {
        let wanted = filler.fill(template, &[]).ok();
        let there = match pointer.of(entry) {
            Some(Value::Bool(flag)) => Some(flag.to_string()),
            Some(_) => pointer.text_of(entry),
            None => None,
        };
        wanted.is_some() && there == wanted
    })
}

/// Reads a moment: RFC 3339, the same without an offset (UTC), or Unix seconds or milliseconds.
fn time_of(text: &str) -> Option<Timestamp> {
    /// Year 5138 in seconds, 1973 in milliseconds: no post is from outside of it.
    const SECONDS_MAX: f64 = 1e11;
    let text = text.trim();
    if let Ok(moment) = Timestamp::parse(text) {
        return Some(moment);
    }
    if let Ok(moment) = DateTime::parse_from_rfc2822(text) {
        return Some(Timestamp::from_chrono(&moment));
    }
    for format in ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f"] {
        if let Ok(moment) = NaiveDateTime::parse_from_str(text, format) {
            return Some(Timestamp::from_chrono(&moment.and_utc().fixed_offset()));
        }
    }
    // Threads writes an offset without a colon.
    if let Ok(moment) = DateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%z") {
        return Some(Timestamp::from_chrono(&moment));
    }
    // Weibo and Twitter write `Wed Oct 24 23:49:17 +0800 2012`.
    if let Ok(moment) = DateTime::parse_from_str(text, "%a %b %d %H:%M:%S %z %Y") {
        return Some(Timestamp::from_chrono(&moment));
    }
    let number: f64 = text.parse().ok()?;
    if !number.is_finite() || number <= 0.0 {
        return None;
    }
    let seconds = if number < SECONDS_MAX {
        number
    } else {
        number / 1000.0
    };
    let since_epoch = std::time::Duration::try_from_secs_f64(seconds).ok()?;
    Some(Timestamp::EPOCH.plus(since_epoch))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_in_every_form_that_services_use() {
        let check = |text: &str| time_of(text).map(|moment| moment.to_string());
        let noon = Some("2026-11-29T12:00:00.000Z".to_owned());
        for text in [
            "2026-11-29T12:00:00Z",
            "2026-11-29T13:00:00+01:00",
            "2026-11-29T12:00:00",
            "2026-11-29 12:00:00",
            "1795953600",
            "1795953600.000100",
            "1795953600000",
            "Sun, 29 Nov 2026 12:00:00 GMT",
            "Sun Nov 29 20:00:00 +0800 2026",
            "2026-11-29T12:00:00+0000",
        ] {
            assert_eq!(check(text), noon, "{text}");
        }
        assert_eq!(check("yesterday"), None);
        assert_eq!(check("-1"), None);
    }
}
