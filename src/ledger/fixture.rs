//! Rows for the tests of the ledger, made through the protocol's own moves.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::model::delivery::{
    ClaimRecord, Counts, Decision, Event, Finding, LookupRecord, Operation, next,
};
use crate::model::ids::{Account, ChannelName, IdempotencyKey, LogicalAction, RunId, Token};
use crate::model::item::ItemId;
use crate::model::outcome::{Evidence, Remote};
use crate::model::post::Post;
use crate::model::row::Row;
use crate::model::time::Timestamp;

/// The moment at which everything in a fixture begins.
pub(crate) fn start() -> Timestamp {
    Timestamp::parse("2026-11-29T10:00:00.123Z").unwrap()
}

/// A row to whose publish operation `events` happened.
pub(crate) fn row(item: &str, channel: &str, events: impl IntoIterator<Item = Event>) -> Row {
    let mut record = None;
    for event in events {
        record = Some(next(record.as_ref(), event).unwrap());
    }
    Row {
        item: ItemId::from_stored(item),
        channel: ChannelName::new(channel).unwrap(),
        account: Some(Account::new("https://mastodon.example/@blog")),
        canonical_url: format!("https://blog.example/{item}/"),
        guid: Some(format!("https://blog.example/{item}")),
        aliases: Vec::new(),
        title: "Hello".to_owned(),
        published: None,
        source: None,
        body: None,
        article: None,
        operations: record
            .into_iter()
            .map(|record| (Operation::Publish, record))
            .collect(),
        unknown: Map::new(),
    }
}

/// A post with a text.
pub(crate) fn post(fields: &[(&str, &str)]) -> Post {
    Post::new(
        fields
            .iter()
            .map(|(name, value)| ((*name).to_owned(), Value::String((*value).to_owned())))
            .collect(),
    )
}

/// The n-th claim.
pub(crate) fn claimed(number: u8) -> Event {
    claimed_with(number, post(&[("text", "Hello"), ("language", "en")]))
}

/// The n-th claim, of a given post.
pub(crate) fn claimed_with(number: u8, post: Post) -> Event {
    let claimed_at = start().plus(Duration::from_mins(20) * (u32::from(number) - 1));
    let send_before = claimed_at.plus(Duration::from_secs(30));
    let key = IdempotencyKey::derive(&LogicalAction {
        site: "https://blog.example/",
        item: "news/a",
        channel: "mastodon",
        account: "me",
        operation: "publish",
        publish_at: "",
        edition: 1,
    });
    Event::Claimed {
        claim: Box::new(ClaimRecord {
            token: Token::from_bytes([number; 16]),
            key,
            fingerprint: post.fingerprint(),
            post,
            run: RunId::new("github:4711/1"),
            claimed_at,
            first_claimed_at: claimed_at,
            send_before,
            quiet_until: send_before.plus(Duration::from_secs(810)),
        }),
        edition: 1,
    }
}

pub(crate) fn proved(id: &str) -> Event {
    Event::Proved {
        remote: Remote {
            id: Some(id.to_owned()),
            url: Some(format!("https://mastodon.example/@blog/{id}")),
        },
        evidence: Evidence::Response,
        at: start().plus(Duration::from_secs(2)),
    }
}

pub(crate) fn doubted() -> Event {
    Event::Doubted {
        reason: "the answer was cut off".to_owned(),
        at: start().plus(Duration::from_secs(30)),
    }
}

pub(crate) fn looked(finding: Finding) -> Event {
    Event::Looked(LookupRecord {
        at: start().plus(Duration::from_mins(15)),
        finding,
    })
}

pub(crate) fn absent() -> Event {
    let at = start().plus(Duration::from_mins(16));
    Event::Absent { not_before: at, at }
}

pub(crate) fn deferred(counts: Counts) -> Event {
    Event::Deferred {
        reason: "too many requests".to_owned(),
        not_before: start().plus(Duration::from_mins(3)),
        counts,
        at: start().plus(Duration::from_secs(1)),
    }
}

pub(crate) fn refused() -> Event {
    Event::Refused {
        reason: "422: too long".to_owned(),
        at: start().plus(Duration::from_secs(1)),
    }
}

pub(crate) fn held() -> Event {
    Event::Held {
        reason: "renamed?".to_owned(),
        at: start(),
    }
}

pub(crate) fn skipped() -> Event {
    Event::Skipped {
        by: Decision {
            who: "editor".to_owned(),
            at: start(),
            verb: "skip".to_owned(),
            why: Some("not for here".to_owned()),
        },
    }
}

pub(crate) fn released() -> Event {
    Event::Released {
        by: Decision {
            who: "editor".to_owned(),
            at: start().plus(Duration::from_hours(1)),
            verb: "retry".to_owned(),
            why: None,
        },
    }
}
