//! Articles: what a client may say, what is refused, and how they are shown.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::model::ids::sha256_hex;
use crate::model::time::Timestamp;
use crate::sandbox::journal::wire_time;
use crate::sandbox::message::Request;
use crate::sandbox::service::Identity;
use crate::sandbox::text::escape;

const TITLE_MAX: usize = 128;
const BODY_BYTES_MAX: usize = 800 * 1024;
const TAGS_MAX: usize = 4;
/// Where the excerpt of a text without a description ends.
const EXCERPT_MAX: usize = 101;
/// The id of whatever series an article is in.
const SERIES_ID: u64 = 30_017;
/// Longest list of tags, joined by commas.
const TAG_LIST_MAX: usize = 126;

/// An article.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Article {
    pub(crate) id: u64,
    pub(crate) slug: String,
    #[serde(with = "wire_time")]
    pub(crate) created_at: Timestamp,
    #[serde(with = "optional_time")]
    pub(crate) published_at: Option<Timestamp>,
    #[serde(with = "optional_time")]
    pub(crate) edited_at: Option<Timestamp>,
    pub(crate) draft: Draft,
}

/// What the author decides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Draft {
    pub(crate) title: String,
    pub(crate) body_markdown: String,
    pub(crate) published: bool,
    pub(crate) canonical_url: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) main_image: Option<String>,
    pub(crate) series: Option<String>,
    pub(crate) tags: Vec<String>,
}

mod optional_time {
    use serde::{Deserialize as _, Deserializer, Serializer, de};

    use crate::model::time::Timestamp;

    #[expect(clippy::ref_option, reason = "serde's signature")]
    pub(super) fn serialize<S: Serializer>(
        time: &Option<Timestamp>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match time {
            Some(time) => serializer.collect_str(time),
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Timestamp>, D::Error> {
        Option::<String>::deserialize(deserializer)?
            .map(|text| Timestamp::parse(&text).map_err(de::Error::custom))
            .transpose()
    }
}

/// Returns the `article` of a request.
pub(crate) fn said(request: &Request) -> Result<Map<String, Value>, String> {
    let missing = || "param is missing or the value is empty: article".to_owned();
    if request.media_type() != "application/json" {
        return Err(missing());
    }
    let body = request
        .json()
        .ok_or_else(|| "Error occurred while parsing request parameters".to_owned())?;
    match body.get("article") {
        Some(Value::Object(said)) if !said.is_empty() => Ok(said.clone()),
        None | Some(Value::Null | Value::Object(_)) => Err(missing()),
        Some(Value::String(_)) => Err(not_an_object("String")),
        Some(Value::Array(_)) => Err(not_an_object("Array")),
        Some(Value::Bool(_) | Value::Number(_)) => Err(not_an_object("Scalar")),
    }
}

fn not_an_object(what: &str) -> String {
    format!("article param must be a JSON object. You provided article as a {what}")
}

impl Draft {
    /// Returns the draft with what was said; a front matter in the body outranks the parameters.
    pub(crate) fn changed(&self, said: &Map<String, Value>) -> Self {
        let text = |name: &str| said.get(name).and_then(Value::as_str).map(str::to_owned);
        let maybe = |name: &str, before: &Option<String>| match said.get(name) {
            Some(Value::String(text)) => Some(text.clone()).filter(|text| !text.is_empty()),
            Some(Value::Null) => None,
            Some(_) | None => before.clone(),
        };
        let mut draft = Self {
            title: text("title").unwrap_or_else(|| self.title.clone()),
            body_markdown: text("body_markdown").unwrap_or_else(|| self.body_markdown.clone()),
            published: match said.get("published") {
                Some(Value::Bool(published)) => *published,
                Some(Value::String(text)) => text == "true",
                Some(_) | None => self.published,
            },
            canonical_url: maybe("canonical_url", &self.canonical_url),
            description: maybe("description", &self.description),
            main_image: maybe("main_image", &self.main_image),
            series: maybe("series", &self.series),
            // Anything but an array is dropped without a word.
            tags: match said.get("tags") {
                Some(Value::Array(tags)) => tag_list(tags.iter().filter_map(Value::as_str)),
                Some(_) | None => self.tags.clone(),
            },
        };
        draft.obey_front_matter();
        // What is no description becomes one, and stays.
        draft.description = draft
            .description
            .or_else(|| Some(excerpt(&draft.body_markdown)));
        draft
    }

    fn obey_front_matter(&mut self) {
        let Some(rest) = self.body_markdown.strip_prefix("---\n") else {
            return;
        };
        let Some((matter, _body)) = rest.split_once("\n---") else {
            return;
        };
        let lines: Vec<_> = matter
            .lines()
            .filter_map(|line| line.split_once(':'))
            .map(|(key, value)| {
                let value = value.trim().trim_matches(['"', '\'']);
                (key.trim().to_owned(), value.to_owned())
            })
            .collect();
        let get = |name: &str| {
            lines
                .iter()
                .find(|(key, _)| key == name)
                .map(|(_, value)| value.clone())
        };
        if let Some(title) = get("title") {
            self.title = title;
            self.description = get("description");
            self.series = get("series");
        }
        if let Some(published) = get("published") {
            self.published = published == "true";
        }
        if let Some(tags) = get("tags") {
            self.tags = tag_list(tags.trim_matches(['[', ']']).split(','));
        }
        if let Some(url) = get("canonical_url") {
            self.canonical_url = Some(url);
        }
    }

    /// Returns what is wrong with it, in the service's words.
    pub(crate) fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if self.title.trim().is_empty() {
            problems.push("Title can't be blank".to_owned());
        }
        if self.title.chars().count() > TITLE_MAX {
            problems.push(format!(
                "Title is too long (maximum is {TITLE_MAX} characters)"
            ));
        }
        if self.body_markdown.len() > BODY_BYTES_MAX {
            problems.push("Body markdown is too long".to_owned());
        }
        if self.tags.len() > TAGS_MAX {
            problems.push(format!("Tag list exceed the maximum of {TAGS_MAX} tags"));
        }
        for tag in &self.tags {
            if !tag.chars().all(char::is_alphanumeric) {
                problems.push(format!(
                    "Tag \"{tag}\" contains non-alphanumeric or prohibited unicode characters"
                ));
            }
        }
        if self.tags.join(", ").chars().count() > TAG_LIST_MAX {
            problems.push(format!(
                "Tag list is too long (maximum is {TAG_LIST_MAX} characters)"
            ));
        }
        if let Some(url) = &self.canonical_url {
            let web = url.starts_with("https://") || url.starts_with("http://");
            if !web || url.contains(char::is_whitespace) {
                problems.push("Canonical url must be a valid URL".to_owned());
            }
        }
        problems
    }
}

/// Returns what stands for a description that the author did not write.
fn excerpt(body: &str) -> String {
    let start: String = body.chars().take(EXCERPT_MAX).collect();
    let start = start.replace('\n', " ");
    match start.trim() {
        "" => "A post by Rehearsal".to_owned(),
        text if body.chars().count() >= EXCERPT_MAX => format!("{text}..."),
        text => text.to_owned(),
    }
}

fn tag_list<'a>(tags: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut list: Vec<String> = Vec::new();
    for tag in tags.flat_map(|tags| tags.split(',')) {
        let tag = tag.trim().to_lowercase();
        if !tag.is_empty() && !list.contains(&tag) {
            list.push(tag);
        }
    }
    list
}

impl Article {
    /// Makes an article, published at once if the draft says so.
    pub(crate) fn new(id: u64, draft: Draft, now: Timestamp) -> Self {
        Self {
            id,
            slug: slug(&draft.title, id),
            created_at: now,
            published_at: draft.published.then_some(now),
            edited_at: None,
            draft,
        }
    }

    /// Returns the article with another draft.
    pub(crate) fn edited(&self, draft: Draft, now: Timestamp) -> Self {
        let published_at = match (draft.published, self.draft.published) {
            (true, true) => self.published_at,
            (true, false) => Some(now),
            (false, _) => None,
        };
        Self {
            published_at,
            edited_at: draft.published.then_some(now),
            draft,
            ..self.clone()
        }
    }

    /// Whether it is published and was made after `moment`.
    pub(crate) fn published_since(&self, moment: Timestamp) -> bool {
        self.draft.published && self.created_at > moment
    }

    /// Returns where people see it.
    pub(crate) fn url(&self, identity: &Identity) -> String {
        format!("https://{}{}", identity.public_host(), self.path(identity))
    }

    fn path(&self, identity: &Identity) -> String {
        format!("/{}/{}", username(identity), self.slug)
    }

    /// Returns it as the answer to a write shows it.
    pub(crate) fn show(&self, identity: &Identity) -> Value {
        let mut shown = self.common(identity);
        let seconds = |time: Timestamp| time.to_chrono().format("%Y-%m-%dT%H:%M:%SZ").to_string();
        let published = self.published_at.map(seconds);
        shown.extend(object(json!({
            "readable_publish_date": self.published_at.map(|time| time.to_chrono().format("%b %-d").to_string()),
            "social_image": self.draft.main_image,
            "collection_id": self.draft.series.as_ref().map(|_| SERIES_ID),
            "created_at": seconds(self.created_at),
            "edited_at": self.edited_at.map(seconds),
            "crossposted_at": null,
            "published_at": published,
            "last_comment_at": published,
            // Here the list is a string and the string a list; in other answers it is the other way round.
            "tag_list": self.draft.tags.join(", "),
            "tags": self.draft.tags,
            "body_html": format!("<p>{}</p>\n", escape(&self.draft.body_markdown)),
            "body_markdown": self.draft.body_markdown
        })));
        shown.insert("user".to_owned(), short_user(identity));
        Value::Object(shown)
    }

    /// Returns it as the author's own list shows it.
    pub(crate) fn show_mine(&self, identity: &Identity) -> Value {
        let mut shown = self.common(identity);
        shown.extend(object(json!({
            "published": self.draft.published,
            "published_at": self.published_at.map(|time| time.to_string()),
            "page_views_count": 0,
            "body_markdown": self.draft.body_markdown,
            "tag_list": self.draft.tags
        })));
        shown.insert("user".to_owned(), short_user(identity));
        Value::Object(shown)
    }

    fn common(&self, identity: &Identity) -> Map<String, Value> {
        let url = self.url(identity);
        let canonical = self.draft.canonical_url.as_ref().unwrap_or(&url);
        object(json!({
            "type_of": "article",
            "id": self.id,
            "title": self.draft.title,
            "description": self.draft.description.as_deref().unwrap_or_default(),
            "slug": self.slug,
            "path": self.path(identity),
            "url": url,
            "canonical_url": canonical,
            "comments_count": 0,
            "public_reactions_count": 0,
            "positive_reactions_count": 0,
            "published_timestamp": self.published_at.map_or_else(String::new, |time| time.to_string()),
            "cover_image": self.draft.main_image,
            "reading_time_minutes": 1
        }))
    }
}

/// Returns the account, as `users/me` shows it.
pub(crate) fn user(identity: &Identity) -> Value {
    json!({
        "type_of": "user",
        "id": 71_204,
        "username": username(identity),
        "name": "Rehearsal",
        "twitter_username": null,
        "github_username": null,
        "summary": null,
        "location": null,
        "website_url": null,
        "joined_at": "Jan 1, 2017",
        "profile_image": format!("https://{}/profile.png", identity.public_host())
    })
}

fn short_user(identity: &Identity) -> Value {
    let mut user = object(user(identity));
    user.retain(|field, _| {
        matches!(
            field.as_str(),
            "name"
                | "username"
                | "twitter_username"
                | "github_username"
                | "website_url"
                | "profile_image"
        )
    });
    Value::Object(user)
}

fn username(identity: &Identity) -> String {
    format!("rehearsal_{}", identity.channel.as_str().replace('-', "_"))
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Map::new()
        }
    }
}

/// The title in plain letters, and a suffix that looks random: a slug can't be foreseen.
fn slug(title: &str, id: u64) -> String {
    let mut slug = String::new();
    for c in title.to_lowercase().chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c);
        } else if !slug.ends_with('-') && !slug.is_empty() {
            slug.push('-');
        }
    }
    let suffix: String = sha256_hex(format!("{id} {title}").as_bytes())
        .chars()
        .take(4)
        .collect();
    format!("{}-{suffix}", slug.trim_end_matches('-'))
}
