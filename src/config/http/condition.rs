//! What stands in a JSON body: pointers, and tests of what they point at.

use std::fmt;

use serde_json::Value;

/// A JSON pointer (RFC 6901).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pointer(String);

impl Pointer {
    /// Takes a pointer: empty for the whole, else it begins with `/`, and `~` stands only in `~0` and `~1`.
    pub fn parse(text: &str) -> Option<Self> {
        let begins = text.is_empty() || text.starts_with('/');
        let mut after_tilde = text.split('~');
        after_tilde.next();
        let escaped = after_tilde.all(|rest| rest.starts_with(['0', '1']));
        (begins && escaped).then(|| Self(text.to_owned()))
    }

    /// Returns the pointer as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns what it points at.
    pub fn of<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        value.pointer(&self.0)
    }

    /// Returns the text or number that it points at, as text; an empty text is none.
    pub fn text_of(&self, value: &Value) -> Option<String> {
        match self.of(value)? {
            Value::String(text) => Some(text.clone()).filter(|text| !text.trim().is_empty()),
            Value::Number(number) => Some(number.to_string()),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        }
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A test of one place in a JSON body.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The place.
    pub pointer: Pointer,
    /// What must be there.
    pub test: Test,
}

/// What must be there.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// One of these values.
    OneOf(Vec<Value>),
    /// A text with one of these in it, whatever the case of its letters.
    Contains(Vec<String>),
}

impl Condition {
    /// Whether it holds for a body. A body that lacks the place fails it.
    pub fn holds(&self, body: Option<&Value>) -> bool {
        let Some(found) = body.and_then(|body| self.pointer.of(body)) else {
            return false;
        };
        match &self.test {
            Test::OneOf(values) => values.iter().any(|value| is_same(value, found)),
            Test::Contains(parts) => found.as_str().is_some_and(|text| {
                let text = text.to_lowercase();
                parts.iter().any(|part| text.contains(&part.to_lowercase()))
            }),
        }
    }
}

/// Services write the same code as a number here and as a text there.
fn is_same(one: &Value, other: &Value) -> bool {
    let as_text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    one == other
        || as_text(one)
            .zip(as_text(other))
            .is_some_and(|(one, other)| one == other)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pointers_are_checked() {
        for good in ["", "/", "/a", "/a/0/b", "/a~1b/~0"] {
            assert!(Pointer::parse(good).is_some(), "{good}");
        }
        for bad in ["a", "$.a", ".a", "/a~", "/a~2"] {
            assert!(Pointer::parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn a_condition_needs_its_place() {
        let body = json!({ "ok": true, "code": 20017, "text": "Chat Not Found", "none": null });
        let check = |pointer: &str, test: Test| {
            let pointer = Pointer::parse(pointer).unwrap();
            Condition { pointer, test }.holds(Some(&body))
        };
        let one = |value: Value| Test::OneOf(vec![value]);
        assert!(check("/ok", one(json!(true))));
        assert!(!check("/ok", one(json!("true"))));
        assert!(check("/code", one(json!("20017"))));
        assert!(check("/code", Test::OneOf(vec![json!(1), json!(20017)])));
        assert!(!check("/absent", one(json!(null))));
        assert!(check("/none", one(json!(null))));
        let parts =
            |parts: &[&str]| Test::Contains(parts.iter().map(|part| (*part).to_owned()).collect());
        assert!(check("/text", parts(&["chat not found"])));
        assert!(check("/text", parts(&["no such", "NOT FOUND"])));
        assert!(!check("/text", parts(&["no such", "not there"])));
        assert!(!check("/code", parts(&["2"])));
    }
}
