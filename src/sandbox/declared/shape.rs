//! What a request carried, and how an answer is put together.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::message::Request;
use super::super::text::links;
use super::is_empty;
use crate::config::http::BodyForm;

/// The texts of a request's body, in their order.
#[derive(Debug)]
pub(super) struct Sent {
    texts: Vec<String>,
    /// The same by the templates that they were made from, where the body says which is which.
    fields: BTreeMap<String, String>,
}

impl Sent {
    /// Reads a body of the declared type; none if it is not of that type.
    pub(super) fn read(request: &Request, form: &BodyForm) -> Option<Self> {
        let mut texts = Vec::new();
        let mut fields = BTreeMap::new();
        match form {
            BodyForm::Empty => {}
            BodyForm::Json(templates) => {
                let body = request.json()?;
                collect(&body, &mut texts);
                pair(templates, &body, &mut fields);
            }
            BodyForm::Form(_) => {
                if request.media_type() != "application/x-www-form-urlencoded" {
                    return None;
                }
                let pairs = url::form_urlencoded::parse(&request.body);
                texts.extend(pairs.map(|(_, value)| value.into_owned()));
            }
            BodyForm::Multipart(_) => {
                let media_type = request.header("content-type")?;
                let (_, boundary) = media_type.split_once("boundary=")?;
                let body = String::from_utf8(request.body.clone()).ok()?;
                for part in body.split(&format!("--{boundary}")) {
                    let value = part.split_once("\r\n\r\n").map(|(_, value)| value);
                    texts.extend(value.map(|value| value.trim_end_matches("\r\n").to_owned()));
                }
            }
        }
        (is_empty(form) || !texts.is_empty()).then_some(Self { texts, fields })
    }

    /// Returns every text of a request, also of its query.
    pub(super) fn everything(request: &Request, form: &BodyForm) -> Vec<String> {
        let mut texts = Self::read(request, form).map_or_else(Vec::new, |sent| sent.texts);
        let query = url::form_urlencoded::parse(request.query.as_bytes());
        texts.extend(query.map(|(_, value)| value.into_owned()));
        texts
    }

    /// Leaves out what names the post that a request is about.
    pub(super) fn without(mut self, names: &[&str]) -> Self {
        self.texts.retain(|text| !names.contains(&text.as_str()));
        self.fields
            .retain(|_template, text| !names.contains(&text.as_str()));
        self
    }

    /// Returns what was sent for each template.
    pub(super) fn fields(&self) -> BTreeMap<String, String> {
        self.fields.clone()
    }

    /// Returns what people would read: the first text with a link in it, else the longest.
    pub(super) fn text(&self) -> String {
        let linked = self.texts.iter().find(|text| !links(text).is_empty());
        let longest = || self.texts.iter().max_by_key(|text| text.len());
        linked.or_else(longest).cloned().unwrap_or_default()
    }

    /// Whether one of the texts is this one.
    pub(super) fn has(&self, wanted: &str) -> bool {
        self.texts.iter().any(|text| text == wanted)
    }

    /// Returns every link.
    pub(super) fn links(&self) -> Vec<String> {
        self.texts
            .iter()
            .flat_map(|text| links(text))
            .map(str::to_owned)
            .collect()
    }

    /// Returns the idempotency key, where it is sent in the address or the body.
    pub(super) fn key(&self, request: &Request) -> Option<String> {
        let address = [request.path.as_str(), request.query.as_str()].into_iter();
        address
            .chain(self.texts.iter().map(String::as_str))
            .find_map(key_in)
    }
}

fn key_in(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("so1-")?;
    let digits: String = rest.chars().take_while(char::is_ascii_hexdigit).collect();
    Some(format!("so1-{digits}"))
}

fn collect(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(entries) => entries.iter().for_each(|entry| collect(entry, texts)),
        Value::Object(fields) => fields.values().for_each(|entry| collect(entry, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Finds which text of a body was made from which template.
fn pair(template: &Value, sent: &Value, fields: &mut BTreeMap<String, String>) {
    match (template, sent) {
        (Value::String(template), Value::String(text)) => {
            fields.insert(template.clone(), text.clone());
        }
        (Value::Array(templates), Value::Array(entries)) => {
            for (template, entry) in templates.iter().zip(entries) {
                pair(template, entry, fields);
            }
        }
        (Value::Object(templates), Value::Object(entries)) => {
            for (name, template) in templates {
                if let Some(entry) = entries.get(name) {
                    pair(template, entry, fields);
                }
            }
        }
        (_, _) => {}
    }
}

/// Puts a value where a JSON pointer points, and makes what is missing on the way.
pub(super) fn set_at(body: &mut Value, pointer: &str, value: Value) {
    let mut place = body;
    for name in pointer.split('/').skip(1) {
        let name = name.replace("~1", "/").replace("~0", "~");
        place = match name.parse::<usize>() {
            Ok(index) => {
                if !place.is_array() {
                    *place = Value::Array(Vec::new());
                }
                let list = place.as_array_mut().expect("it was made one");
                while list.len() <= index {
                    list.push(Value::Null);
                }
                list.get_mut(index).expect("it was made long enough")
            }
            Err(_name) => {
                if !place.is_object() {
                    *place = super::empty();
                }
                place
                    .as_object_mut()
                    .expect("it was made one")
                    .entry(name)
                    .or_insert(Value::Null)
            }
        };
    }
    *place = value;
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pointer_makes_its_own_way() {
        let mut body = json!({});
        set_at(&mut body, "/ok", json!(true));
        set_at(&mut body, "/a/1/b", json!("x"));
        set_at(&mut body, "/a~1b", json!(1));
        assert_eq!(
            body,
            json!({ "ok": true, "a": [null, { "b": "x" }], "a/b": 1 })
        );
        set_at(&mut body, "", json!([]));
        assert_eq!(body, json!([]));
    }
}
