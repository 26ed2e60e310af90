//! Values of front matter, in whatever form a generator takes them.

use serde_json::{Map, Value};

use super::text::collapse;

/// Returns a field by its name, which Hugo compares without case.
pub(super) fn field<'a>(fields: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    fields.get(key).or_else(|| {
        fields
            .iter()
            .find(|(name, _value)| name.eq_ignore_ascii_case(key))
            .map(|(_name, value)| value)
    })
}

/// What parts the names of a list that is written as one text.
#[derive(Clone, Copy, Debug)]
pub(super) enum Separator {
    /// Commas.
    Comma,
    /// Commas, or where there are none white space, as in Jekyll.
    CommaOrSpace,
    /// The text is one name.
    None,
}

pub(super) fn list_field(
    fields: &Map<String, Value>,
    keys: &[&str],
    separator: Separator,
) -> Vec<String> {
    keys.iter()
        .find_map(|key| field(fields, key))
        .map(|value| names(value, separator))
        .unwrap_or_default()
}

pub(super) fn names(value: &Value, separator: Separator) -> Vec<String> {
    let names: Vec<String> = match value {
        Value::String(text) => match separator {
            Separator::CommaOrSpace if !text.contains(',') => {
                text.split_whitespace().map(str::to_owned).collect()
            }
            Separator::Comma | Separator::CommaOrSpace => text.split(',').map(collapse).collect(),
            Separator::None => vec![text.trim().to_owned()],
        },
        Value::Array(values) => values
            .iter()
            .filter_map(|value| scalar(value).or_else(|| scalar(value.get("name")?)))
            .collect(),
        Value::Object(fields) => fields.get("name").and_then(scalar).into_iter().collect(),
        Value::Number(_) => scalar(value).into_iter().collect(),
        Value::Null | Value::Bool(_) => Vec::new(),
    };
    names.into_iter().filter(|name| !name.is_empty()).collect()
}

pub(super) fn image(fields: &Map<String, Value>) -> Option<String> {
    let value = field(fields, "image")
        .or_else(|| nested(fields, &["cover", "image"]))
        .or_else(|| field(fields, "images")?.get(0))
        .or_else(|| nested(fields, &["extra", "image"]))?;
    scalar(value).or_else(|| {
        ["path", "url", "src"]
            .iter()
            .find_map(|key| scalar(value.get(*key)?))
    })
}

pub(super) fn nested<'a>(fields: &'a Map<String, Value>, path: &[&str]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(field(fields, first)?, |value, key| {
        field(value.as_object()?, key)
    })
}

pub(super) fn text_field(fields: &Map<String, Value>, keys: &[&str]) -> Option<String> {
    keys.iter().find_map(|key| scalar(field(fields, key)?))
}

pub(super) fn plain_field(fields: &Map<String, Value>, keys: &[&str]) -> Option<String> {
    text_field(fields, keys).map(|text| collapse(&text))
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Reads a flag also in the older words of YAML, which Jekyll takes, and as the number that Hugo takes.
pub(super) fn flag(fields: &Map<String, Value>, key: &str) -> Option<bool> {
    match field(fields, key)? {
        Value::Bool(flag) => Some(*flag),
        Value::String(text) => match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "y" | "t" | "1" => Some(true),
            "false" | "no" | "off" | "n" | "f" | "0" => Some(false),
            _ => None,
        },
        Value::Number(number) => Some(number.as_f64() != Some(0.0)),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
