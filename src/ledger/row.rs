//! The file of one row: `ledger/<item id>/<channel>.json`, and the body beside it.
//!
//! Invariant: what [`encode`] writes, [`decode`] reads back as the same row; a file that can't be read whole is an
//! error that says why, never a row with something missing.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::json::{self, JsonError};
use super::row_wire::{
    WireBody, WireDecision, WireLookup, WireReceipt, WireRecord, WireRemote, WireRow,
};
use crate::model::delivery::{
    ClaimRecord, Decision, Finding, LateReceipt, LookupRecord, Operation, Record, State,
};
use crate::model::ids::{
    Account, ChannelName, Fingerprint, IdempotencyKey, RunId, Token, sha256_hex,
};
use crate::model::item::ItemId;
use crate::model::outcome::{Evidence, Remote};
use crate::model::post::Post;
use crate::model::row::{DeliveryId, Row};
use crate::model::time::Timestamp;

/// A row is a few kilobytes; a bigger file is not one, and would make every run slow.
pub const ROW_BYTES_MAX: usize = 1024 * 1024;

/// The longest article that is carried beside a row; services take far less.
pub const BODY_BYTES_MAX: usize = 4 * 1024 * 1024;

/// A longer body moves to a file of its own, so that the row's diff stays readable.
const BODY_INLINE_BYTES_MAX: usize = 4 * 1024;

/// The field of a post that holds an article's text.
const BODY_FIELD: &str = "body_markdown";

/// A row as files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// The row's own file.
    pub text: String,
    /// The file beside it with a body that is too long for the row; none: there must be no such file.
    pub body: Option<String>,
}

/// Why a file is not a row that this version may use, or a row can't be written.
#[derive(Debug, thiserror::Error)]
pub enum RowError {
    /// Not the JSON that it should be.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// JSON, but not a row.
    #[error("it is not a row: {0}")]
    Shape(String),
    /// An operation's record is wrong.
    #[error("its operation `{operation}` {problem}")]
    Operation {
        /// The operation's name.
        operation: String,
        /// What is wrong.
        problem: String,
    },
    /// The ids inside are not those of the path.
    #[error("it says that it is `{0}`, which belongs under another path")]
    WrongPath(String),
    /// The body beside the row is missing or another one.
    #[error("the body of its operation `{operation}` {problem}")]
    Body {
        /// The operation's name.
        operation: String,
        /// What is wrong.
        problem: String,
    },
    /// Bigger than it would be read.
    #[error("it would have {bytes} bytes, more than the {bytes_max} that are read")]
    TooBig {
        /// Its size.
        bytes: usize,
        /// The limit.
        bytes_max: usize,
    },
}

/// Returns the path of a delivery's row, for a ledger in `dir`.
pub fn path_of(dir: &str, delivery: &DeliveryId) -> String {
    format!("{dir}/{}", path_below(delivery))
}

/// Returns the path of a delivery's row below the ledger's directory.
pub(crate) fn path_below(delivery: &DeliveryId) -> String {
    format!("{}/{}.json", delivery.item, delivery.channel)
}

/// Returns the path of the body beside a delivery's row, below the ledger's directory.
pub(crate) fn body_path_below(delivery: &DeliveryId) -> String {
    format!("{}/{}.body.md", delivery.item, delivery.channel)
}

/// Returns the delivery that a path names, relative to the ledger's directory.
pub fn delivery_of(path: &str) -> Option<DeliveryId> {
    let (item, file) = path.rsplit_once('/')?;
    let channel = ChannelName::new(file.strip_suffix(".json")?).ok()?;
    is_safe_item(item).then(|| DeliveryId {
        item: ItemId::from_stored(item),
        channel,
    })
}

/// Whether an item id makes a path that git and every file system take.
pub(crate) fn is_safe_item(item: &str) -> bool {
    const ITEM_BYTES_MAX: usize = 2_000;
    let safe_segment = |segment: &str| {
        !segment.is_empty()
            // An id that begins with a dot has a `_` for it: `.git` and `..` are no rows.
            && (!segment.starts_with('.') || segment.contains('_'))
            && segment
                .chars()
                .all(|letter| !letter.is_control() && letter != '\\')
    };
    item.len() <= ITEM_BYTES_MAX && item.split('/').all(safe_segment)
}

/// Writes a row as it lies in the ledger.
pub fn encode(row: &Row) -> Result<Encoded, RowError> {
    // One file lies beside a row. Two unfinished operations with two long bodies are legal, so the
    // later one has the file and the other stays in the row.
    let beside = row
        .operations
        .values()
        .rev()
        .filter(|record| record.state != State::Done)
        .find_map(long_body);
    let place = |record: &Record| match long_body(record) {
        Some(body) if record.state == State::Done || Some(body) == beside => BodyPlace::Beside,
        Some(_) | None => BodyPlace::Inside,
    };
    let text = write(row, place)?;
    if let Some(body) = beside
        && body.len() > BODY_BYTES_MAX
    {
        return Err(RowError::TooBig {
            bytes: body.len(),
            bytes_max: BODY_BYTES_MAX,
        });
    }
    if text.len() > ROW_BYTES_MAX {
        return Err(RowError::TooBig {
            bytes: text.len(),
            bytes_max: ROW_BYTES_MAX,
        });
    }
    Ok(Encoded {
        text,
        body: beside.map(str::to_owned),
    })
}

/// Writes a row in one piece, as the journal keeps it.
pub fn encode_whole(row: &Row) -> Result<String, RowError> {
    write(row, |_record| BodyPlace::Inside)
}

/// Reads a row; `body` is the file beside it, if there is one.
pub fn decode(bytes: &[u8], body: Option<&[u8]>) -> Result<Row, RowError> {
    read(json::parse_object(bytes, ROW_BYTES_MAX)?, body)
}

/// Reads a row that [`encode_whole`] wrote.
pub fn decode_whole(bytes: &[u8]) -> Result<Row, RowError> {
    let object = json::parse_object(bytes, ROW_BYTES_MAX + BODY_BYTES_MAX * 2)?;
    read(object, None)
}

/// Reads the row that lies under the path of `delivery`.
pub fn decode_at(
    delivery: &DeliveryId,
    bytes: &[u8],
    body: Option<&[u8]>,
) -> Result<Row, RowError> {
    let row = decode(bytes, body)?;
    if row.delivery_id() == *delivery {
        Ok(row)
    } else {
        Err(RowError::WrongPath(row.delivery_id().to_string()))
    }
}

/// Where a post's long body goes.
#[derive(Clone, Copy)]
enum BodyPlace {
    Inside,
    Beside,
}

fn long_body(record: &Record) -> Option<&str> {
    let body = record.claim.as_ref()?.post.string(BODY_FIELD)?;
    (body.len() > BODY_INLINE_BYTES_MAX).then_some(body)
}

fn write(row: &Row, place: impl Fn(&Record) -> BodyPlace) -> Result<String, RowError> {
    let mut operations = Map::new();
    for (operation, record) in &row.operations {
        check(record).map_err(|problem| RowError::Operation {
            operation: operation.to_string(),
            problem,
        })?;
        let wire = record_to_wire(record, place(record));
        let value = serde_json::to_value(wire).expect("a record's fields can be written");
        operations.insert(operation.to_string(), value);
    }
    let wire = WireRow {
        schema: super::SCHEMA,
        item: row.item.to_string(),
        channel: row.channel.to_string(),
        account: row.account.as_ref().map(ToString::to_string),
        canonical_url: row.canonical_url.clone(),
        guid: row.guid.clone(),
        aliases: row.aliases.clone(),
        title: row.title.clone(),
        published: text(row.published.as_ref()),
        source: row.source.clone(),
        body: text(row.body.as_ref()),
        article: text(row.article.as_ref()),
        operations,
        unknown: row.unknown.clone(),
    };
    Ok(json::pretty(&wire))
}

fn text<T: ToString>(value: Option<&T>) -> Option<String> {
    value.map(ToString::to_string)
}

fn record_to_wire(record: &Record, place: BodyPlace) -> WireRecord {
    let claim = record.claim.as_ref();
    let first_claimed_at = claim
        .filter(|claim| claim.first_claimed_at != claim.claimed_at)
        .map(|claim| claim.first_claimed_at);
    WireRecord {
        state: record.state.label().to_owned(),
        attempt: record.attempt,
        uncounted: record.uncounted,
        edition: record.edition,
        token: claim.map(|claim| claim.token.to_string()),
        key: claim.map(|claim| claim.key.to_string()),
        fingerprint: claim.map(|claim| claim.fingerprint.to_string()),
        post: claim.map(|claim| post_to_wire(&claim.post, place)),
        run: claim.map(|claim| claim.run.to_string()),
        claimed_at: claim.map(|claim| claim.claimed_at.to_string()),
        first_claimed_at: text(first_claimed_at.as_ref()),
        send_before: claim.map(|claim| claim.send_before.to_string()),
        quiet_until: claim.map(|claim| claim.quiet_until.to_string()),
        frozen: record.frozen,
        doubtful: record.doubtful,
        settled_at: text(record.settled_at.as_ref()),
        doubt_since: text(record.doubt_since.as_ref()),
        not_before: text(record.not_before.as_ref()),
        reason: record.reason.clone(),
        evidence: record.evidence.map(|evidence| evidence.label().to_owned()),
        remote: record.remote.as_ref().map(|remote| WireRemote {
            id: remote.id.clone(),
            url: remote.url.clone(),
        }),
        receipts: record.receipts.iter().map(receipt_to_wire).collect(),
        lookups: record.lookups.iter().map(lookup_to_wire).collect(),
        by: record.by.as_ref().map(decision_to_wire),
        unknown: record.unknown.clone(),
    }
}

fn post_to_wire(post: &Post, place: BodyPlace) -> Map<String, Value> {
    let mut fields = post.fields().clone();
    match (place, post.string(BODY_FIELD)) {
        (BodyPlace::Beside, Some(body)) => {
            let stand_in = WireBody {
                sha256: sha256_hex(body.as_bytes()),
                bytes: body.len(),
            };
            let stand_in = serde_json::to_value(stand_in).expect("two fields can be written");
            // Assigned in place: the order of the fields is part of the fingerprint.
            fields[BODY_FIELD] = stand_in;
        }
        (BodyPlace::Inside, _) | (BodyPlace::Beside, None) => {}
    }
    fields
}

fn receipt_to_wire(receipt: &LateReceipt) -> WireReceipt {
    WireReceipt {
        id: receipt.remote.id.clone(),
        url: receipt.remote.url.clone(),
        at: receipt.at.to_string(),
        evidence: receipt.evidence.label().to_owned(),
    }
}

fn lookup_to_wire(lookup: &LookupRecord) -> WireLookup {
    WireLookup {
        at: lookup.at.to_string(),
        finding: lookup.finding.label().to_owned(),
    }
}

pub(super) fn decision_to_wire(decision: &Decision) -> WireDecision {
    WireDecision {
        who: decision.who.clone(),
        at: decision.at.to_string(),
        verb: decision.verb.clone(),
        why: decision.why.clone(),
    }
}

fn read(object: Map<String, Value>, body: Option<&[u8]>) -> Result<Row, RowError> {
    let wire: WireRow = serde_json::from_value(Value::Object(object))
        .map_err(|error| RowError::Shape(error.to_string()))?;
    let mut operations = BTreeMap::new();
    for (name, value) in wire.operations {
        let wrong = |problem| RowError::Operation {
            operation: name.clone(),
            problem,
        };
        let operation = Operation::parse(&name)
            .filter(|operation| operation.to_string() == name)
            .ok_or_else(|| wrong("is not one that this version knows".to_owned()))?;
        let mut record: WireRecord = serde_json::from_value(value)
            .map_err(|error| wrong(format!("is not a record: {error}")))?;
        if record.state != State::Done.label() {
            join_body(&name, &mut record, body)?;
        }
        let record = record_from_wire(record).map_err(wrong)?;
        check(&record).map_err(wrong)?;
        operations.insert(operation, record);
    }
    let channel =
        ChannelName::new(&wire.channel).map_err(|error| RowError::Shape(error.to_string()))?;
    Ok(Row {
        item: ItemId::from_stored(&wire.item),
        channel,
        account: wire.account.map(Account::new),
        canonical_url: wire.canonical_url,
        guid: wire.guid,
        aliases: wire.aliases,
        title: wire.title,
        published: time("published", wire.published.as_deref()).map_err(RowError::Shape)?,
        source: wire.source,
        body: parsed("body", wire.body.as_deref(), Fingerprint::parse).map_err(RowError::Shape)?,
        article: parsed("article", wire.article.as_deref(), Fingerprint::parse)
            .map_err(RowError::Shape)?,
        operations,
        unknown: wire.unknown,
    })
}

/// Puts the body that lies beside the row back into the post, if it is the one that was frozen.
fn join_body(
    operation: &str,
    record: &mut WireRecord,
    body: Option<&[u8]>,
) -> Result<(), RowError> {
    let Some(field) = record
        .post
        .as_mut()
        .and_then(|post| post.get_mut(BODY_FIELD))
        .filter(|field| field.is_object())
    else {
        return Ok(());
    };
    let wrong = |problem: &str| RowError::Body {
        operation: operation.to_owned(),
        problem: problem.to_owned(),
    };
    let stand_in: WireBody = serde_json::from_value(field.clone())
        .map_err(|error| wrong(&format!("is not described as one: {error}")))?;
    let body = body.ok_or_else(|| wrong("is missing: the file beside the row is gone"))?;
    if body.len() != stand_in.bytes || sha256_hex(body) != stand_in.sha256 {
        return Err(wrong(
            "is not the one that was claimed: its SHA-256 differs",
        ));
    }
    let body = str::from_utf8(body).map_err(|_not_text| wrong("is not UTF-8"))?;
    *field = Value::String(body.to_owned());
    Ok(())
}

fn record_from_wire(mut wire: WireRecord) -> Result<Record, String> {
    let claim = claim_from_wire(&mut wire)?;
    let remote = wire.remote.map(|remote| Remote {
        id: remote.id,
        url: remote.url,
    });
    Ok(Record {
        state: labelled("state", &wire.state, &State::ALL, State::label)?,
        attempt: wire.attempt,
        uncounted: wire.uncounted,
        edition: wire.edition,
        claim,
        frozen: wire.frozen,
        doubtful: wire.doubtful,
        settled_at: time("settled_at", wire.settled_at.as_deref())?,
        doubt_since: time("doubt_since", wire.doubt_since.as_deref())?,
        not_before: time("not_before", wire.not_before.as_deref())?,
        reason: wire.reason,
        evidence: wire.evidence.as_deref().map(evidence).transpose()?,
        remote,
        receipts: wire
            .receipts
            .into_iter()
            .map(receipt_from_wire)
            .collect::<Result<_, _>>()?,
        lookups: wire
            .lookups
            .iter()
            .map(lookup_from_wire)
            .collect::<Result<_, _>>()?,
        by: wire.by.map(decision_from_wire).transpose()?,
        unknown: wire.unknown,
    })
}

/// A claim is there whole or not at all: half a claim is a file that somebody cut.
fn claim_from_wire(wire: &mut WireRecord) -> Result<Option<ClaimRecord>, String> {
    let token = parsed("token", wire.token.as_deref(), Token::parse)?;
    let key = parsed("key", wire.key.as_deref(), IdempotencyKey::parse)?;
    let fingerprint = parsed(
        "fingerprint",
        wire.fingerprint.as_deref(),
        Fingerprint::parse,
    )?;
    let post = wire.post.take().map(Post::new);
    let run = wire.run.take().map(RunId::new);
    let claimed_at = time("claimed_at", wire.claimed_at.as_deref())?;
    let first_claimed_at = time("first_claimed_at", wire.first_claimed_at.as_deref())?;
    let send_before = time("send_before", wire.send_before.as_deref())?;
    let quiet_until = time("quiet_until", wire.quiet_until.as_deref())?;
    match (
        token,
        key,
        fingerprint,
        post,
        run,
        claimed_at,
        send_before,
        quiet_until,
    ) {
        (None, None, None, None, None, None, None, None) if first_claimed_at.is_none() => Ok(None),
        (
            Some(token),
            Some(key),
            Some(fingerprint),
            Some(post),
            Some(run),
            Some(claimed_at),
            Some(send_before),
            Some(quiet_until),
        ) => Ok(Some(ClaimRecord {
            token,
            key,
            fingerprint,
            post,
            run,
            claimed_at,
            first_claimed_at: first_claimed_at.unwrap_or(claimed_at),
            send_before,
            quiet_until,
        })),
        _ => Err(
            "has only a part of its claim (token, key, fingerprint, post, run, \
                  claimed_at, send_before, quiet_until)"
                .to_owned(),
        ),
    }
}

fn receipt_from_wire(wire: WireReceipt) -> Result<LateReceipt, String> {
    Ok(LateReceipt {
        at: required_time("receipts.at", &wire.at)?,
        evidence: evidence(&wire.evidence)?,
        remote: Remote {
            id: wire.id,
            url: wire.url,
        },
    })
}

fn lookup_from_wire(wire: &WireLookup) -> Result<LookupRecord, String> {
    Ok(LookupRecord {
        at: required_time("lookups.at", &wire.at)?,
        finding: labelled("finding", &wire.finding, &Finding::ALL, Finding::label)?,
    })
}

pub(super) fn decision_from_wire(wire: WireDecision) -> Result<Decision, String> {
    Ok(Decision {
        at: required_time("by.at", &wire.at)?,
        who: wire.who,
        verb: wire.verb,
        why: wire.why,
    })
}

fn evidence(label: &str) -> Result<Evidence, String> {
    labelled("evidence", label, &Evidence::ALL, Evidence::label)
}

fn labelled<T: Copy>(
    field: &str,
    text: &str,
    all: &[T],
    label: impl Fn(T) -> &'static str,
) -> Result<T, String> {
    all.iter()
        .copied()
        .find(|value| label(*value) == text)
        .ok_or_else(|| format!("has the {field} `{text}`, which this version does not know"))
}

fn parsed<T>(
    field: &str,
    text: Option<&str>,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, String> {
    text.map(|text| parse(text).ok_or_else(|| format!("has a `{field}` that is not one: `{text}`")))
        .transpose()
}

fn time(field: &str, text: Option<&str>) -> Result<Option<Timestamp>, String> {
    text.map(|text| required_time(field, text)).transpose()
}

fn required_time(field: &str, text: &str) -> Result<Timestamp, String> {
    Timestamp::parse(text).map_err(|error| format!("has a wrong `{field}`: {error}"))
}

/// What every record must hold; asserted before writing and after reading.
fn check(record: &Record) -> Result<(), String> {
    match record.state {
        State::InFlight | State::InDoubt if record.claim.is_none() => {
            Err(format!("is {} without a claim", record.state))
        }
        State::Done if record.remote.is_none() || record.evidence.is_none() => {
            Err("is done without a receipt and its evidence".to_owned())
        }
        State::InFlight
        | State::InDoubt
        | State::Retry
        | State::Done
        | State::Failed
        | State::Held
        | State::Skipped => Ok(()),
    }
}
