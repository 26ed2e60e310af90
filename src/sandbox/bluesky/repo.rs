//! The repository: records under client-chosen keys, and blobs.

use serde_json::{Map, Value, json};

use super::record::{self, BlobRef, POST};
use super::session::Scope;
use super::{Bluesky, Effect, RecordKey, Refusal, Stored, cid, error, invalid};
use crate::model::time::Timestamp;
use crate::sandbox::message::{Reply, Request};
use crate::sandbox::service::Answer;

const PAGE_DEFAULT: usize = 50;
const PAGE_MAX: usize = 100;

impl Bluesky {
    pub(super) fn get_record(&self, request: &Request) -> Result<Answer<Effect>, Refusal> {
        let repo = required_parameter(request, "repo")?;
        let key = RecordKey {
            collection: required_parameter(request, "collection")?,
            rkey: required_parameter(request, "rkey")?,
        };
        let wanted = request.parameter("cid");
        let stored = self
            .records
            .get(&key)
            .filter(|_| self.is_ours(&repo))
            .filter(|stored| wanted.is_none_or(|cid| cid == stored.cid));
        let Some(stored) = stored else {
            let message = format!("Could not locate record: {}", key.uri(&repo));
            return Err(error(400, "RecordNotFound", &message));
        };
        Ok(Reply::json(200, &self.show(&key, stored)).into())
    }

    pub(super) fn list_records(&self, request: &Request) -> Result<Answer<Effect>, Refusal> {
        let repo = required_parameter(request, "repo")?;
        let collection = required_parameter(request, "collection")?;
        if !self.is_ours(&repo) {
            return Err(invalid(&format!("Could not find repo: {repo}")));
        }
        let limit = match request.parameter("limit") {
            None => PAGE_DEFAULT,
            Some(limit) => limit
                .parse()
                .ok()
                .filter(|limit| (1..=PAGE_MAX).contains(limit))
                .ok_or_else(|| {
                    invalid(&format!(
                        "limit must be an integer from 1 to {PAGE_MAX} (got {limit})"
                    ))
                })?,
        };
        let ascending = request.parameter("reverse").as_deref() == Some("true");
        let cursor = request.parameter("cursor");
        let mut found: Vec<_> = self
            .records
            .iter()
            .filter(|(key, _)| key.collection == collection)
            .filter(|(key, _)| match &cursor {
                None => true,
                Some(cursor) if ascending => key.rkey > *cursor,
                Some(cursor) => key.rkey < *cursor,
            })
            .collect();
        if !ascending {
            found.reverse();
        }
        found.truncate(limit);
        let records: Vec<_> = found
            .iter()
            .map(|(key, stored)| self.show(key, stored))
            .collect();
        let mut list = Map::new();
        list.insert("records".to_owned(), Value::Array(records));
        if let Some((key, _)) = found.last() {
            list.insert("cursor".to_owned(), json!(key.rkey));
        }
        Ok(Reply::json(200, &Value::Object(list)).into())
    }

    fn show(&self, key: &RecordKey, stored: &Stored) -> Value {
        json!({ "uri": key.uri(&self.did), "cid": stored.cid, "value": stored.value })
    }

    pub(super) fn upload_blob(
        &self,
        request: &Request,
        now: Timestamp,
    ) -> Result<Answer<Effect>, Refusal> {
        self.authorize(request, Scope::Access, now)?;
        let Some(declared) = request.header("content-type") else {
            return Err(invalid(
                "Request encoding (Content-Type) required but not provided",
            ));
        };
        let mime_type = record::sniff(&request.body).unwrap_or(declared).to_owned();
        let cid = cid::blob(&request.body);
        let size = u64::try_from(request.body.len()).unwrap_or(u64::MAX);
        let blob = json!({
            "$type": "blob", "ref": { "$link": cid }, "mimeType": mime_type, "size": size
        });
        Ok(Answer {
            reply: Reply::json(200, &json!({ "blob": blob })),
            effects: vec![Effect::Uploaded {
                cid,
                mime_type,
                size,
            }],
        })
    }

    /// Does what all record writes have in common: authentication, repository and rate limit.
    pub(super) fn write(
        &self,
        request: &Request,
        now: Timestamp,
        act: impl FnOnce(&Self, &Value, Timestamp) -> Result<Answer<Effect>, Refusal>,
    ) -> Result<Answer<Effect>, Refusal> {
        self.authorize(request, Scope::Access, now)?;
        if request.media_type() != "application/json" {
            return Err(invalid("Wrong request encoding (Content-Type)"));
        }
        let body = request
            .json()
            .filter(Value::is_object)
            .ok_or_else(|| invalid("Request body is not JSON"))?;
        if let Some((value, path)) = record::float(&body, "$") {
            return Err(invalid(&format!(
                "Expected one of null, boolean, integer, string, cid, bytes, array or object value type (got {value}) at {path}"
            )));
        }
        let repo = required(&body, "repo")?;
        if !self.is_ours(&repo) {
            return Err(error(403, "AccountNotFound", "Account not found"));
        }
        act(self, &body, now)
    }

    pub(super) fn create_record(
        &self,
        body: &Value,
        now: Timestamp,
    ) -> Result<Answer<Effect>, Refusal> {
        let rkey = match body.get("rkey") {
            Some(_) => required(body, "rkey")?,
            None => cid::tid(self.next_revision(now)),
        };
        let write = Write::read(body, rkey)?;
        if self.records.contains_key(&write.key) {
            // A known quirk of the service: an existing key is an internal error.
            return Err(error(500, "InternalServerError", "Internal Server Error"));
        }
        self.check_blobs(&write.value)?;
        Ok(self.commit(write, now))
    }

    pub(super) fn put_record(
        &self,
        body: &Value,
        now: Timestamp,
    ) -> Result<Answer<Effect>, Refusal> {
        let write = Write::read(body, required(body, "rkey")?)?;
        let current = self.records.get(&write.key).map(|stored| &stored.cid);
        if current == Some(&write.cid) {
            // Nothing to do comes before the swap: that makes a repeat harmless.
            return Ok(Reply::json(200, &write.receipt(&self.did, None)).into());
        }
        check_swap(body, current)?;
        self.check_blobs(&write.value)?;
        Ok(self.commit(write, now))
    }

    pub(super) fn delete_record(
        &self,
        body: &Value,
        now: Timestamp,
    ) -> Result<Answer<Effect>, Refusal> {
        let key = RecordKey::read(body, required(body, "rkey")?)?;
        let Some(stored) = self.records.get(&key) else {
            return Ok(Reply::json(200, &json!({})).into());
        };
        if !body.get("swapRecord").is_none_or(Value::is_null) {
            check_swap(body, Some(&stored.cid))?;
        }
        let revision = self.next_revision(now);
        Ok(Answer {
            reply: Reply::json(200, &json!({ "commit": self.commit_meta(revision) })),
            effects: vec![Effect::Deleted { key, revision }],
        })
    }

    fn commit(&self, write: Write, now: Timestamp) -> Answer<Effect> {
        let revision = self.next_revision(now);
        let receipt = write.receipt(&self.did, Some(self.commit_meta(revision)));
        Answer {
            reply: Reply::json(200, &receipt),
            effects: vec![Effect::Put {
                key: write.key,
                cid: write.cid,
                value: write.value,
                revision,
                at: now,
            }],
        }
    }

    fn commit_meta(&self, revision: u64) -> Value {
        let content = json!([self.did, self.commits, revision]);
        json!({ "cid": cid::record(&content), "rev": cid::tid(revision) })
    }

    /// Returns the next revision: microseconds, always rising.
    pub(super) fn next_revision(&self, now: Timestamp) -> u64 {
        let micros = u64::try_from(now.as_millis())
            .unwrap_or(0)
            .saturating_mul(1000);
        micros.max(self.last_revision + 1)
    }

    fn is_ours(&self, repo: &str) -> bool {
        repo == self.did || repo.eq_ignore_ascii_case(&self.handle)
    }
}

/// A record that is fit to be written.
struct Write {
    key: RecordKey,
    cid: String,
    value: Value,
    /// What the answer says about the check, if there was one.
    validation: Option<&'static str>,
}

impl Write {
    fn read(body: &Value, rkey: String) -> Result<Self, Refusal> {
        let key = RecordKey::read(body, rkey)?;
        let Some(Value::Object(fields)) = body.get("record") else {
            return Err(invalid("Missing required key \"record\" at $"));
        };
        let mut fields = fields.clone();
        match fields.get("$type") {
            None => {
                fields.insert("$type".to_owned(), json!(key.collection));
            }
            Some(named) if *named == json!(key.collection) => {}
            Some(named) => {
                return Err(invalid(&format!(
                    "Invalid $type: expected {}, got {named}",
                    key.collection
                )));
            }
        }
        let validation = match body.get("validate") {
            Some(Value::Bool(false)) => None,
            Some(_) | None if key.collection == POST => Some("valid"),
            Some(Value::Bool(true)) => {
                return Err(invalid(&format!(
                    "Lexicon not found: lex:{}",
                    key.collection
                )));
            }
            Some(_) | None => Some("unknown"),
        };
        if validation == Some("valid") {
            if !cid::is_tid(&key.rkey) {
                return Err(invalid(&format!(
                    "Invalid record key for {POST}: Invalid TID string (got \"{}\") at $",
                    key.rkey
                )));
            }
            record::validate(&fields)
                .map_err(|problem| invalid(&format!("Invalid {POST} record: {problem}")))?;
        }
        let value = Value::Object(fields);
        Ok(Self {
            key,
            cid: cid::record(&value),
            value,
            validation,
        })
    }

    fn receipt(&self, did: &str, commit: Option<Value>) -> Value {
        let mut receipt = Map::new();
        receipt.insert("uri".to_owned(), json!(self.key.uri(did)));
        receipt.insert("cid".to_owned(), json!(self.cid));
        if let Some(commit) = commit {
            receipt.insert("commit".to_owned(), commit);
        }
        if let Some(validation) = self.validation {
            receipt.insert("validationStatus".to_owned(), json!(validation));
        }
        Value::Object(receipt)
    }
}

impl Bluesky {
    fn check_blobs(&self, record: &Value) -> Result<(), Refusal> {
        for BlobRef {
            cid,
            mime_type,
            size,
        } in record::blobs(record)
        {
            let Some(blob) = self.blobs.get(&cid) else {
                let message = format!("Could not find blob: {cid}");
                return Err(error(400, "BlobNotFound", &message));
            };
            if blob.is_named {
                continue;
            }
            if mime_type != blob.mime_type {
                let message = format!(
                    "Referenced Mimetype does not match stored blob. Expected: {}, Got: {mime_type}",
                    blob.mime_type
                );
                return Err(error(400, "InvalidMimeType", &message));
            }
            if size != Some(blob.size) {
                let named = size.map_or_else(|| "none".to_owned(), |size| size.to_string());
                let message = format!(
                    "Referenced Size does not match stored blob. Expected: {}, Got: {named}",
                    blob.size
                );
                return Err(error(400, "InvalidSize", &message));
            }
        }
        Ok(())
    }

    pub(super) fn name_blobs(&mut self, record: &Value) {
        for named in record::blobs(record) {
            if let Some(blob) = self.blobs.get_mut(&named.cid) {
                blob.is_named = true;
            }
        }
    }

    /// The blobs of a record that is gone go with it, unless another one names them.
    pub(super) fn drop_blobs(&mut self, record: &Value) {
        for dropped in record::blobs(record) {
            let mut named = self
                .records
                .values()
                .flat_map(|stored| record::blobs(&stored.value));
            if !named.any(|blob| blob.cid == dropped.cid) {
                self.blobs.remove(&dropped.cid);
            }
        }
    }
}

impl RecordKey {
    fn read(body: &Value, rkey: String) -> Result<Self, Refusal> {
        if !cid::is_record_key(&rkey) {
            return Err(invalid(&format!(
                "Invalid record key (got \"{rkey}\") at $.rkey"
            )));
        }
        Ok(Self {
            collection: required(body, "collection")?,
            rkey,
        })
    }

    pub(super) fn uri(&self, did: &str) -> String {
        format!("at://{did}/{}/{}", self.collection, self.rkey)
    }
}

/// Compares `swapRecord` with what stands there: missing means any, null means nothing.
fn check_swap(body: &Value, current: Option<&String>) -> Result<(), Refusal> {
    let wanted = match body.get("swapRecord") {
        None => return Ok(()),
        Some(Value::String(cid)) => Some(cid),
        Some(_) => None,
    };
    if wanted == current {
        return Ok(());
    }
    let current = current.map_or("null", String::as_str);
    Err(error(
        400,
        "InvalidSwap",
        &format!("Record was at {current}"),
    ))
}

fn required(body: &Value, field: &str) -> Result<String, Refusal> {
    match body.get(field) {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(other) => Err(invalid(&format!(
            "Expected string value type (got {other}) at $.{field}"
        ))),
        None => Err(invalid(&format!("Missing required key \"{field}\" at $"))),
    }
}

fn required_parameter(request: &Request, name: &str) -> Result<String, Refusal> {
    request
        .parameter(name)
        .ok_or_else(|| invalid(&format!("Error: Params must have the property \"{name}\"")))
}
