//! What stands in several places of a declaration: pointers, statuses, headers, tests.

use serde_json::Value;
use toml::de::DeValue;

use super::super::document::{Findings, Wrong};
use super::super::values::{number, text};
use super::layers::Layers;
use super::{Condition, Pointer, Success, Test, request};

/// What a pointer looks like.
pub(super) const POINTER_HINT: &str = "write a JSON pointer: `/` before each name, such as `\"/result/message_id\"`, or `\"\"` for the whole";

/// What a name in a template looks like.
pub(super) const NAME_HINT: &str = "use a-z, A-Z, 0-9, and `_`, and begin with a letter";

/// Whether a template can name it.
pub(super) fn is_name(name: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    name.bytes().all(legal) && !name.starts_with(|sign: char| sign.is_ascii_digit())
}

/// Reads `status`, `body`, and a condition.
pub(super) fn success_of(section: &Layers<'_>, findings: &mut Findings<'_>) -> Option<Success> {
    let given = section.read("status", findings, statuses);
    let body = section.read("body", findings, text);
    let condition = condition(section, findings);
    if given.is_none() && !section.has("status") {
        section.missing(
            "status",
            "write the statuses that accept, such as `status = [200, 201]`",
            findings,
        );
    }
    let given = given?;
    if let Some(status) = given
        .value
        .iter()
        .find(|status| !(200..300).contains(*status))
    {
        findings.problem(
            given.place,
            format!(
                "`{}` has {status}, which is no success",
                section.path_of("status")
            ),
            Some("a success is 200 to 299; what others mean goes into `answer`"),
        );
    }
    Some(Success {
        statuses: given.value,
        body: body.map(|given| given.value),
        condition,
    })
}

/// Reads `pointer` with `equals` or `contains`, if they are there.
pub(super) fn condition(section: &Layers<'_>, findings: &mut Findings<'_>) -> Option<Condition> {
    let place = section.read("pointer", findings, pointer);
    let test = section.one_of(&["equals", "contains"], findings);
    match (place, test) {
        (Some(pointer), Some(entry)) => {
            let test = if entry.key == "contains" {
                section
                    .take(entry, findings, texts)
                    .map(|given| Test::Contains(given.value))?
            } else {
                Test::OneOf(match request::json(entry.value) {
                    Value::Array(values) => values,
                    value @ (Value::Null
                    | Value::Bool(_)
                    | Value::Number(_)
                    | Value::String(_)
                    | Value::Object(_)) => vec![value],
                })
            };
            Some(Condition {
                pointer: pointer.value,
                test,
            })
        }
        (Some(pointer), None) => {
            findings.problem(
                pointer.place,
                format!(
                    "`{}` says a place and not what must be there",
                    section.path_of("pointer")
                ),
                Some("add `equals = …` or `contains = \"…\"` (a list: any of them)"),
            );
            None
        }
        (None, Some(entry)) => {
            findings.problem(
                entry.place,
                format!("`{}` is without a place", section.path_of(entry.key)),
                Some("add `pointer = \"/…\"`"),
            );
            None
        }
        (None, None) => None,
    }
}

/// Reads a text, or a list of them with something in it.
fn texts(value: &DeValue<'_>) -> Result<Vec<String>, Wrong> {
    match value.as_array() {
        Some(list) if list.is_empty() => Err(Wrong::new(
            "is an empty list, in which nothing can be found",
            "write a text, or a list of texts of which any will do",
        )),
        Some(list) => list.iter().map(|entry| text(entry.get_ref())).collect(),
        None => text(value).map(|one| vec![one]),
    }
}

pub(super) fn pointer(value: &DeValue<'_>) -> Result<Pointer, Wrong> {
    let given = value
        .as_str()
        .ok_or_else(|| Wrong::new("is not a string", POINTER_HINT))?;
    Pointer::parse(given)
        .ok_or_else(|| Wrong::new(format!("is `{given}`, no JSON pointer"), POINTER_HINT))
}

pub(super) fn pointers(value: &DeValue<'_>) -> Result<Vec<Pointer>, Wrong> {
    match value.as_array() {
        Some(list) => list.iter().map(|entry| pointer(entry.get_ref())).collect(),
        None => pointer(value).map(|one| vec![one]),
    }
}

pub(super) fn statuses(value: &DeValue<'_>) -> Result<Vec<u16>, Wrong> {
    let one = |value: &DeValue<'_>| {
        let status = number::<u16>(value)?;
        if (200..600).contains(&status) {
            Ok(status)
        } else {
            Err(Wrong::new(
                format!("has {status}, no status of an answer"),
                "a status is 200 to 599",
            ))
        }
    };
    match value.as_array() {
        Some(list) => list.iter().map(|entry| one(entry.get_ref())).collect(),
        None => one(value).map(|status| vec![status]),
    }
}

pub(super) fn header_name(value: &DeValue<'_>) -> Result<String, Wrong> {
    let name = text(value)?;
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.bytes().all(legal) {
        return Ok(name);
    }
    Err(Wrong::new(
        format!("is `{name}`, no name of a header"),
        "write it without colon and spaces, such as `\"Idempotency-Key\"`",
    ))
}

pub(super) fn header_names(value: &DeValue<'_>) -> Result<Vec<String>, Wrong> {
    let list = value
        .as_array()
        .ok_or_else(|| Wrong::new("is no list", "write names of headers in `[…]`"))?;
    list.iter()
        .map(|entry| header_name(entry.get_ref()))
        .collect()
}
