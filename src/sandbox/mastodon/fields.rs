//! What a client says about a status.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use unicode_segmentation::UnicodeSegmentation as _;

use super::{LINK_LENGTH, error, html};
use crate::sandbox::message::{Reply, Request};
use crate::sandbox::text;

/// What a client says about a status.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fields {
    pub(super) text: String,
    pub(super) spoiler_text: String,
    pub(super) visibility: String,
    pub(super) language: Option<String>,
    pub(super) sensitive: bool,
    pub(super) in_reply_to: Option<u64>,
    #[serde(default)]
    pub(super) media: Vec<u64>,
}

impl Fields {
    /// Reads a form or JSON; what is not said stays as it is in `base`.
    pub(super) fn read(request: &Request, base: &Self) -> Result<Self, Reply> {
        let said = parameters(request);
        let text = |name: &str| said.get(name).and_then(Value::as_str).map(str::to_owned);
        // An id that is no number is nobody's.
        let id = |id: &Value| id.as_str().and_then(|id| id.parse().ok()).unwrap_or(0);
        let media = match said.get("media_ids").or_else(|| said.get("media_ids[]")) {
            None | Some(Value::Null) => base.media.clone(),
            Some(Value::Array(ids)) => ids.iter().map(id).collect(),
            Some(one) => vec![id(one)],
        };
        if text("scheduled_at").is_some() {
            return Err(error(
                422,
                "Validation failed: Scheduled at is not rehearsed",
            ));
        }
        let visibility = match text("visibility").as_deref() {
            None | Some("") if base.visibility.is_empty() => "public".to_owned(),
            None | Some("") => base.visibility.clone(),
            Some(known @ ("public" | "unlisted" | "private" | "direct")) => known.to_owned(),
            Some(other) => {
                let problem = format!("'{other}' is not a valid visibility");
                return Err(error(422, &problem));
            }
        };
        let in_reply_to = match text("in_reply_to_id") {
            // An id that is no number is nobody's.
            Some(id) if !id.is_empty() => Some(id.parse().unwrap_or(0)),
            Some(_) | None => base.in_reply_to,
        };
        Ok(Self {
            text: text("status").unwrap_or_else(|| base.text.clone()),
            spoiler_text: text("spoiler_text").unwrap_or_else(|| base.spoiler_text.clone()),
            visibility,
            language: text("language").or_else(|| base.language.clone()),
            sensitive: match said.get("sensitive") {
                Some(Value::Bool(sensitive)) => *sensitive,
                Some(value) => value.as_str().is_some_and(is_true),
                None => base.sensitive,
            },
            in_reply_to,
            media,
        })
    }
}

impl Fields {
    /// Reads what an edit says: it says everything anew, and what it leaves out is gone afterwards, pictures too. Who
    /// may see the status and what it answers stay.
    pub(super) fn edited(request: &Request, standing: &Self) -> Result<Self, Reply> {
        let base = Self {
            visibility: standing.visibility.clone(),
            language: standing.language.clone(),
            ..Self::default()
        };
        let said = Self::read(request, &base)?;
        Ok(Self {
            sensitive: said.sensitive || !said.spoiler_text.is_empty(),
            visibility: base.visibility,
            in_reply_to: standing.in_reply_to,
            ..said
        })
    }
}

fn parameters(request: &Request) -> Map<String, Value> {
    if request.media_type() == "application/json" {
        return match request.json() {
            Some(Value::Object(fields)) => fields,
            Some(_) | None => Map::new(),
        };
    }
    url::form_urlencoded::parse(&request.body)
        .map(|(name, value)| (name.into_owned(), Value::String(value.into_owned())))
        .collect()
}

/// Counts grapheme clusters, a link as 23 and a mention without its server.
pub(super) fn counted_length(fields: &Fields) -> usize {
    let text: usize = text::pieces(&fields.text)
        .into_iter()
        .map(|piece| match piece {
            text::Piece::Link(_) => LINK_LENGTH,
            text::Piece::Plain(plain) => html::without_servers(plain).graphemes(true).count(),
        })
        .sum();
    text + fields.spoiler_text.graphemes(true).count()
}

/// Rails takes anything but a list of words as true.
pub(super) fn is_true(text: &str) -> bool {
    !matches!(
        text.to_ascii_lowercase().as_str(),
        "" | "0" | "f" | "false" | "off"
    )
}
