//! `docs/protocol.md` says what the code does: its tables are computed here and compared.

use std::fmt::Write as _;
use std::path::Path;

use sayonce::config::Config;
use sayonce::model::channel::Kind;
use sayonce::model::delivery::{
    ClaimRecord, Counts, Decision, Event, Finding, LookupRecord, Record, State, next,
};
use sayonce::model::ids::{Fingerprint, IdempotencyKey, LogicalAction, RunId, Token};
use sayonce::model::outcome::{Evidence, Remote};
use sayonce::model::post::Post;
use sayonce::model::time::{Timestamp, duration_text};
use serde_json::Map;

const DOCUMENT: &str = include_str!("../docs/protocol.md");

#[test]
fn the_table_of_moves_is_the_codes() {
    let states: Vec<Option<State>> = std::iter::once(None).chain(State::ALL.map(Some)).collect();
    let mut table = "| event |".to_owned();
    for state in &states {
        write!(table, " {} |", label(*state)).unwrap();
    }
    table.push_str("\n| --- |");
    table.push_str(&" --- |".repeat(states.len()));
    for event in events() {
        write!(table, "\n| `{}` |", event.label()).unwrap();
        for state in &states {
            let record = state.map(record);
            match next(record.as_ref(), event.clone()) {
                Ok(after) => write!(table, " {} |", label(Some(after.state))).unwrap(),
                Err(_illegal) => table.push_str(" illegal |"),
            }
        }
    }
    check("moves", &table);
}

#[test]
fn the_quiet_points_are_the_codes() {
    let config = Config::parse(
        Path::new("sayonce.toml"),
        r#"
[site]
url = "https://blog.example"
feed = "feed.xml"
[channels.search]
kind = "indexnow"
key = "0123456789abcdef"
[channels.bluesky]
kind = "bluesky"
handle = "blog.example"
[channels.mastodon]
kind = "mastodon"
server = "https://mastodon.example"
[channels.devto]
kind = "devto"
"#,
    )
    .unwrap();
    let mut table = "| kind | policy | `send_window` | `timeout` | `quarantine` | `settle` | `clock_skew` | quiet after |\n\
                     | --- | --- | --- | --- | --- | --- | --- | --- |"
        .to_owned();
    // A declared channel has those of its policy.
    for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::Http) {
        let rules = &config
            .channels
            .iter()
            .find(|channel| channel.kind() == kind)
            .unwrap()
            .rules;
        let skew = config.ledger.clock_skew;
        let quiet_after = rules
            .quiet_until(Timestamp::EPOCH, skew)
            .since(Timestamp::EPOCH);
        let times = [
            rules.send_window,
            rules.timeout,
            rules.quarantine,
            rules.settle,
            skew,
        ];
        assert_eq!(times.iter().sum::<std::time::Duration>(), quiet_after);
        write!(table, "\n| `{kind}` | `{}` |", rules.policy.label()).unwrap();
        for time in times.into_iter().chain([quiet_after]) {
            write!(table, " {} |", duration_text(time)).unwrap();
        }
    }
    check("quiet", &table);
}

/// Compares a block of the document with what the code says.
fn check(name: &str, expected: &str) {
    let (_, from_begin) = DOCUMENT
        .split_once(&format!("<!-- {name}: computed -->\n"))
        .unwrap_or_else(|| panic!("docs/protocol.md has no block `{name}`"));
    let (block, _) = from_begin.split_once("\n<!-- end -->").unwrap();
    assert!(
        block == expected,
        "docs/protocol.md says otherwise than the code; the block `{name}` must be:\n\n{expected}\n"
    );
}

fn label(state: Option<State>) -> String {
    state.map_or_else(|| "pending".to_owned(), |state| format!("`{state}`"))
}

/// One event of each sort, in the order of the type.
fn events() -> Vec<Event> {
    let at = Timestamp::EPOCH;
    let reason = || "because".to_owned();
    vec![
        Event::Claimed {
            claim: Box::new(claim()),
            edition: 1,
        },
        Event::Proved {
            remote: remote(),
            evidence: Evidence::Response,
            at,
        },
        Event::Deferred {
            reason: reason(),
            not_before: at,
            counts: Counts::Attempt,
            at,
        },
        Event::Refused {
            reason: reason(),
            at,
        },
        Event::Doubted {
            reason: reason(),
            at,
        },
        Event::Looked(LookupRecord {
            at,
            finding: Finding::Absent,
        }),
        Event::Absent { not_before: at, at },
        Event::Held {
            reason: reason(),
            at,
        },
        Event::Skipped { by: decision() },
        Event::Released { by: decision() },
        Event::Confirmed {
            remote: remote(),
            evidence: Evidence::Person,
            by: decision(),
        },
        Event::Revised { at },
        Event::Again { by: decision() },
    ]
}

/// A record in `state`, as its shortest history leaves it.
fn record(state: State) -> Record {
    let all = events();
    let told = |labels: &[&str]| {
        labels
            .iter()
            .map(|label| {
                let found = all.iter().find(|event| event.label() == *label);
                found.unwrap().clone()
            })
            .fold(None, |before: Option<Record>, event| {
                Some(next(before.as_ref(), event).unwrap())
            })
            .unwrap()
    };
    let record = match state {
        State::InFlight => told(&["claimed"]),
        State::InDoubt => told(&["claimed", "doubted"]),
        State::Retry => told(&["claimed", "deferred"]),
        State::Done => told(&["claimed", "proved"]),
        State::Failed => told(&["claimed", "refused"]),
        State::Held => told(&["held"]),
        State::Skipped => told(&["skipped"]),
    };
    assert_eq!(record.state, state);
    record
}

fn claim() -> ClaimRecord {
    let post = Post::new(Map::new());
    ClaimRecord {
        token: Token::from_bytes([7; 16]),
        key: IdempotencyKey::derive(&LogicalAction {
            site: "https://blog.example/",
            item: "hello",
            channel: "mastodon",
            account: "https://mastodon.example/@blog",
            operation: "publish",
            publish_at: "",
            edition: 1,
        }),
        fingerprint: Fingerprint::of(b""),
        post,
        run: RunId::new("local:test"),
        claimed_at: Timestamp::EPOCH,
        first_claimed_at: Timestamp::EPOCH,
        send_before: Timestamp::EPOCH,
        quiet_until: Timestamp::EPOCH,
    }
}

fn decision() -> Decision {
    Decision {
        who: "a person".to_owned(),
        at: Timestamp::EPOCH,
        verb: "a verb".to_owned(),
        why: None,
    }
}

fn remote() -> Remote {
    Remote {
        id: Some("1".to_owned()),
        url: None,
    }
}
