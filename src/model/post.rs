//! What a channel is asked to show for an item, exactly as it will be sent.

use serde_json::{Map, Value};

use super::ids::Fingerprint;

/// A post, frozen: the fields that the channel's request is built from, client-chosen ids and times included.
///
/// It is a JSON object because the ledger must give back the very same bytes, also
/// when a newer version wrote fields that this one does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Post(Map<String, Value>);

impl Post {
    /// Takes the fields in the order in which the ledger shows them.
    pub fn new(fields: Map<String, Value>) -> Self {
        Self(fields)
    }

    /// Returns all fields.
    pub fn fields(&self) -> &Map<String, Value> {
        &self.0
    }

    /// Returns a field if it is there and a string.
    pub fn string(&self, field: &str) -> Option<&str> {
        self.0.get(field).and_then(Value::as_str)
    }

    /// Returns the fingerprint of everything that would be sent.
    pub fn fingerprint(&self) -> Fingerprint {
        let bytes = serde_json::to_vec(&self.0).expect("a JSON object can be written");
        Fingerprint::of(&bytes)
    }
}

/// A post as it was rendered for a channel, with what people ask about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// What will be sent.
    pub post: Post,
    /// The text as `plan` shows it.
    pub text: String,
    /// Its length, counted as the service counts.
    pub length: usize,
    /// The service's limit in the same unit; none where there is none.
    pub limit: Option<usize>,
    /// What was changed to fit, in plain sentences (a tag dropped, a title shortened).
    pub notes: Vec<String>,
}
