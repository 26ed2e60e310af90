//! The shape of a row's file, field by field and in the order in which it is written.
//!
//! Unknown fields are kept at the level of the row and of an operation, where later versions may add some; further
//! in they are refused, because what is neither kept nor refused would be lost.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A row.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct WireRow {
    pub(super) schema: u32,
    pub(super) item: String,
    pub(super) channel: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) account: Option<String>,
    pub(super) canonical_url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) guid: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) aliases: Vec<String>,
    pub(super) title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) published: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) body: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) article: Option<String>,
    pub(super) operations: Map<String, Value>,
    #[serde(flatten)]
    pub(super) unknown: Map<String, Value>,
}

/// One operation's record.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct WireRecord {
    pub(super) state: String,
    pub(super) attempt: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) uncounted: u32,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub(super) edition: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) token: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) fingerprint: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) post: Option<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) run: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) claimed_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) first_claimed_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) send_before: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) quiet_until: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) frozen: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) doubtful: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) settled_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) doubt_since: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) not_before: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) evidence: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) remote: Option<WireRemote>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) receipts: Vec<WireReceipt>,
    #[serde(default)]
    pub(super) lookups: Vec<WireLookup>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) by: Option<WireDecision>,
    #[serde(flatten)]
    pub(super) unknown: Map<String, Value>,
}

/// A receipt; both keys are always written.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WireRemote {
    pub(super) id: Option<String>,
    pub(super) url: Option<String>,
}

/// A receipt beyond the first.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WireReceipt {
    pub(super) id: Option<String>,
    pub(super) url: Option<String>,
    pub(super) at: String,
    pub(super) evidence: String,
}

/// A lookup.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WireLookup {
    pub(super) at: String,
    pub(super) finding: String,
}

/// A person's decision.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WireDecision {
    pub(super) who: String,
    pub(super) at: String,
    pub(super) verb: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) why: Option<String>,
}

/// What stands in a post in place of a body that lies beside the row, or did until the delivery was done.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WireBody {
    pub(super) sha256: String,
    pub(super) bytes: usize,
}

const fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_one(number: &u32) -> bool {
    *number == 1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}
