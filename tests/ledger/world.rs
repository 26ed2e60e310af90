//! Rows, batches and stores, as a run would make them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sayonce::clock::SystemClock;
use sayonce::config::{LedgerConfig, PushMode};
use sayonce::environment::Environment;
use sayonce::ledger::git_store::{GitStore, GitStoreOptions};
use sayonce::ledger::{Batch, Change, PushReport, Snapshot, Store as _, StoreError};
use sayonce::model::delivery::{ClaimRecord, Event, Operation, next};
use sayonce::model::ids::{Account, ChannelName, IdempotencyKey, LogicalAction, RunId, Token};
use sayonce::model::item::ItemId;
use sayonce::model::outcome::{Evidence, Remote};
use sayonce::model::post::Post;
use sayonce::model::row::{DeliveryId, Row};
use sayonce::model::time::Timestamp;
use serde_json::{Map, json};

pub(crate) fn config() -> LedgerConfig {
    LedgerConfig {
        dir: "ledger".to_owned(),
        branch: None,
        remote: "origin".to_owned(),
        push: PushMode::Auto,
        clock_skew: Duration::from_mins(2),
        push_gap: None,
        skip_ci: "[skip ci]".to_owned(),
    }
}

pub(crate) fn own_branch() -> LedgerConfig {
    LedgerConfig {
        branch: Some("sayonce".to_owned()),
        ..config()
    }
}

pub(crate) fn open(
    repo: &Path,
    config: LedgerConfig,
    environment: Environment,
) -> Result<GitStore, StoreError> {
    GitStore::open(GitStoreOptions {
        repo: repo.to_owned(),
        config,
        environment,
        clock: Arc::new(SystemClock::new()),
        push_timeout: Duration::from_secs(30),
    })
}

pub(crate) fn time(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

/// A row of Mastodon with a claim under a token made of `number`.
pub(crate) fn claimed(item: &str, number: u8) -> Row {
    let text = format!("Hello\n\nhttps://blog.example/{item}/");
    let post = json!({ "text": text, "language": "en" });
    claimed_with(item, number, post.as_object().unwrap().clone())
}

pub(crate) fn claimed_with(item: &str, number: u8, post: Map<String, serde_json::Value>) -> Row {
    let mut row = Row {
        item: ItemId::from_stored(item),
        channel: ChannelName::new("mastodon").unwrap(),
        account: Some(Account::new("https://mastodon.example/@blog")),
        canonical_url: format!("https://blog.example/{item}/"),
        guid: None,
        aliases: Vec::new(),
        title: "Hello".to_owned(),
        published: None,
        source: None,
        body: None,
        article: None,
        operations: BTreeMap::new(),
        unknown: Map::new(),
    };
    claim(&mut row, number, Post::new(post));
    row
}

fn claim(row: &mut Row, number: u8, post: Post) {
    let claimed_at = time("2026-11-29T10:00:00.123Z");
    let key = IdempotencyKey::derive(&LogicalAction {
        site: "https://blog.example/",
        item: row.item.as_str(),
        channel: "mastodon",
        account: "https://mastodon.example/@blog",
        operation: "publish",
        publish_at: "",
        edition: 1,
    });
    let record = ClaimRecord {
        token: Token::from_bytes([number; 16]),
        key,
        fingerprint: post.fingerprint(),
        post,
        run: RunId::new("github:4711/1"),
        claimed_at,
        first_claimed_at: claimed_at,
        send_before: time("2026-11-29T10:00:30.123Z"),
        quiet_until: time("2026-11-29T10:14:00.123Z"),
    };
    apply(
        row,
        Event::Claimed {
            claim: Box::new(record),
            edition: 1,
        },
    );
}

fn apply(row: &mut Row, event: Event) {
    let record = next(row.publish(), event).unwrap();
    row.operations.insert(Operation::Publish, record);
}

/// The row with a receipt.
pub(crate) fn proved(mut row: Row, id: &str) -> Row {
    apply(
        &mut row,
        Event::Proved {
            remote: Remote {
                id: Some(id.to_owned()),
                url: Some(format!("https://mastodon.example/@blog/{id}")),
            },
            evidence: Evidence::Response,
            at: time("2026-11-29T10:00:01.456Z"),
        },
    );
    row
}

/// The batch that writes `rows` over what `snapshot` shows.
pub(crate) fn batch(snapshot: &Snapshot, rows: &[Row]) -> Batch {
    Batch {
        base: snapshot.tip.clone(),
        changes: rows
            .iter()
            .map(|row| Change {
                row: row.clone(),
                expected: snapshot
                    .rows
                    .get(&row.delivery_id())
                    .map(|stored| stored.blob.clone()),
            })
            .collect(),
        removed: BTreeMap::new(),
        header: None,
        baseline: None,
        at: time("2026-11-29T10:00:00.123Z"),
        subject: None,
        decision: None,
    }
}

/// Reads, writes `rows` and asserts that they landed. Returns the notice.
#[track_caller]
pub(crate) fn write(store: &mut GitStore, rows: &[Row]) -> Option<String> {
    let snapshot = store.read().unwrap();
    match store.push(&batch(&snapshot, rows)) {
        PushReport::Landed { notice, .. } => notice,
        other @ (PushReport::Rejected { .. }
        | PushReport::Unknown { .. }
        | PushReport::Refused { .. }
        | PushReport::NotBuilt { .. }) => panic!("{other:?}"),
    }
}

pub(crate) fn delivery(item: &str) -> DeliveryId {
    DeliveryId {
        item: ItemId::from_stored(item),
        channel: ChannelName::new("mastodon").unwrap(),
    }
}

/// The rows of a snapshot alone.
pub(crate) fn rows(snapshot: &Snapshot) -> Vec<Row> {
    snapshot
        .rows
        .values()
        .map(|stored| stored.row.clone())
        .collect()
}
