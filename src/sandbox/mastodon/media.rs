//! Uploads: a picture is the account's own until a status names it.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Effect, Fields, Mastodon, Status, error};
use crate::sandbox::message::{Reply, Request};
use crate::sandbox::service::Answer;

/// An uploaded picture.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Attachment {
    pub(super) id: u64,
    description: Option<String>,
}

impl Mastodon {
    pub(super) fn upload(&self, request: &Request) -> Answer<Effect> {
        let invalid = || error(422, "Validation failed: File can't be blank").into();
        let Some(parts) = parts(request) else {
            return invalid();
        };
        let Some((_, file)) = parts.iter().find(|(name, _)| name == "file") else {
            return invalid();
        };
        if !is_picture(file) {
            let problem = "Validation failed: File content type is invalid, File is invalid";
            return error(422, problem).into();
        }
        let description = parts
            .iter()
            .find(|(name, _)| name == "description")
            .map(|(_, text)| String::from_utf8_lossy(text).into_owned());
        let id = self.media.keys().next_back().map_or(1, |last| last + 1);
        let attachment = Attachment { id, description };
        Answer {
            reply: Reply::json(200, &self.show_media(&attachment)),
            effects: vec![Effect::Uploaded { attachment }],
        }
    }

    pub(super) fn show_media(&self, attachment: &Attachment) -> Value {
        let Self { identity, .. } = self;
        let url = format!(
            "{}/system/media_attachments/{}",
            identity.url, attachment.id
        );
        json!({
            "id": attachment.id.to_string(),
            "type": "image",
            "url": url,
            "preview_url": url,
            "remote_url": null,
            "meta": {},
            "description": attachment.description,
            "blurhash": null,
        })
    }

    /// Returns the pictures of a status to which an edit gives other descriptions. What it says of others is passed over.
    pub(super) fn mended(&self, request: &Request, fields: &Fields) -> Vec<Attachment> {
        let said = request.json();
        let attributes = said
            .as_ref()
            .and_then(|said| said.get("media_attributes")?.as_array());
        let mend = |said: &Value| {
            let id: u64 = said.get("id")?.as_str()?.parse().ok()?;
            let description = said.get("description")?.as_str()?;
            let known = self.media.get(&id).filter(|_| fields.media.contains(&id))?;
            let is_other = known.description.as_deref() != Some(description);
            is_other.then(|| Attachment {
                id,
                description: Some(description.to_owned()),
            })
        };
        attributes.into_iter().flatten().filter_map(mend).collect()
    }

    /// Returns what people read of a status's pictures who don't see them.
    pub(super) fn descriptions(&self, status: &Status) -> Vec<String> {
        let media = status.fields.media.iter();
        media
            .filter_map(|id| {
                let description = self.media.get(id)?.description.clone();
                Some(description.unwrap_or_default())
            })
            .collect()
    }

    /// Checks that every picture is there, and no other status's.
    pub(super) fn check_media(&self, fields: &Fields, status: Option<u64>) -> Result<(), Reply> {
        let is_free = |id: &u64| {
            let mut others = self.statuses.values();
            self.media.contains_key(id)
                && !others.any(|other| Some(other.id) != status && other.fields.media.contains(id))
        };
        if fields.media.iter().all(is_free) {
            return Ok(());
        }
        let ids: Vec<String> = fields.media.iter().map(u64::to_string).collect();
        let problem = format!(
            "Media {} not found or already attached to another post",
            ids.join(", ")
        );
        Err(error(422, &format!("Validation failed: {problem}")))
    }
}

/// Returns the parts of a form by name, in its order.
fn parts(request: &Request) -> Option<Vec<(String, Vec<u8>)>> {
    let (kind, parameters) = request.header("content-type")?.split_once(';')?;
    if !kind.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let boundary = parameters
        .split(';')
        .find_map(|parameter| parameter.trim().strip_prefix("boundary="))?;
    let delimiter = format!("\r\n--{}", boundary.trim_matches('"'));
    // The first delimiter has no line before it.
    let body = [b"\r\n".as_slice(), &request.body].concat();
    let mut parts = Vec::new();
    let mut rest = cut(&body, delimiter.as_bytes())?.1;
    while !rest.starts_with(b"--") {
        let (part, behind) = cut(rest, delimiter.as_bytes())?;
        let (head, content) = cut(part, b"\r\n\r\n")?;
        let head = String::from_utf8_lossy(head);
        let (_, name) = head.split_once("; name=\"")?;
        let (name, _) = name.split_once('"')?;
        parts.push((name.to_owned(), content.to_vec()));
        rest = behind;
    }
    Some(parts)
}

/// Returns what is before and behind the first `mark`.
fn cut<'a>(bytes: &'a [u8], mark: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = bytes
        .windows(mark.len())
        .position(|window| window == mark)?;
    let (before, behind) = bytes.split_at(at);
    Some((before, behind.get(mark.len()..)?))
}

/// The server believes the first bytes, not the client.
fn is_picture(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x89PNG\r\n\x1a\n")
        || bytes.starts_with(b"\xff\xd8\xff")
        || (bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP"))
}
