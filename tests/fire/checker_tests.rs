//! The checker is only worth something if it sees what is wrong: a good rehearsal, told wrongly.

use std::collections::BTreeMap;

use super::checker::{Moment, check};
use super::evidence::{Evidence, Write};
use super::history::Version;
use super::moves;
use super::stage::{POLICIES, Pace, Stage, Start};

/// Nothing is waited for, and no answer comes too late.
const CALM: Pace = Pace {
    speed: 1_000,
    lines: "timeout = \"20000s\"\nsend_window = \"20000s\"",
};

#[test]
fn what_is_told_wrongly_is_seen() {
    let stage = Stage::new(&POLICIES, 1, CALM);
    let kept = stage.kept("good", Start::Clone);
    let ran = kept.run();
    assert_eq!(ran.code(), Some(0), "{ran:?}");
    kept.wait_for_orphans();
    let wrongly = |tell: fn(&mut Evidence)| {
        let mut evidence = kept.evidence();
        tell(&mut evidence);
        check(&evidence, Moment::AtRest).join("\n")
    };
    assert_eq!(wrongly(|_as_it_is| {}), "");
    let noted = kept.evidence().landed;
    assert!(
        noted.len() > 2 && noted.values().all(|by_channel| by_channel.len() > 3),
        "the remote notes every push: {noted:?}"
    );

    assert_eq!(
        wrongly(|evidence| evidence.landed.values_mut().for_each(later)),
        "bluesky: write 1 (KEY) has no claim of its own on the remote before it\n\
         devto: write 1 (https://blog.example/article-1/) has no claim of its own on the remote before it\n\
         mastodon: write 1 (KEY) has no claim of its own on the remote before it\n\
         search: write 1 (no key) has no claim of its own on the remote before it"
            .replace("bluesky: write 1 (KEY)", &written(&kept.evidence(), "bluesky"))
            .replace("mastodon: write 1 (KEY)", &written(&kept.evidence(), "mastodon"))
    );
    assert_eq!(
        wrongly(|evidence| {
            let writes = &mut evidence.services.get_mut("devto").unwrap().writes;
            let second = Write {
                number: 2,
                ..writes[0].clone()
            };
            writes.push(second);
        }),
        "devto: write 2 (https://blog.example/article-1/) has no claim of its own on the remote before it"
    );
    assert_eq!(
        wrongly(|evidence| {
            let mastodon = evidence.services.get_mut("mastodon").unwrap();
            "2030-01-01T00:00:00.000Z".clone_into(&mut mastodon.writes[0].at);
        }),
        "article-1/mastodon: sent after its quiet point"
    );
    assert_eq!(
        wrongly(|evidence| {
            let posts = &mut evidence.services.get_mut("search").unwrap().posts;
            posts.clear();
        }),
        "article-1/search: done as , which search hasn't"
    );
    assert_eq!(
        wrongly(|evidence| {
            let url = "https://blog.example/article-1/".to_owned();
            let posts = &mut evidence.services.get_mut("mastodon").unwrap().posts;
            posts.insert((url, "7".to_owned()));
        }),
        "mastodon has https://blog.example/article-1/ 2 times"
    );
    assert_eq!(
        wrongly(|evidence| {
            let url = "https://blog.example/other/".to_owned();
            let posts = &mut evidence.services.get_mut("mastodon").unwrap().posts;
            posts.insert((url, "7".to_owned()));
        }),
        "mastodon has https://blog.example/other/, the ledger hasn't"
    );
    let leaked = wrongly(|evidence| evidence.secrets = vec!["Article 1"]);
    assert!(leaked.starts_with("leaked: Article 1 in "), "{leaked}");
}

fn later(by_channel: &mut BTreeMap<String, u128>) {
    for position in by_channel.values_mut() {
        *position += 1_000_000;
    }
}

fn written(evidence: &Evidence, channel: &str) -> String {
    let key = evidence.services[channel].writes[0].key.clone().unwrap();
    format!("{channel}: write 1 ({key})")
}

/// A version of a row with these fields of its publish record.
fn version(text: &str) -> Version {
    let record: serde_json::Value = serde_json::from_str(text).unwrap();
    Version {
        commit: "0123456".to_owned(),
        row: serde_json::json!({ "operations": { "publish": record } }),
    }
}

/// What is said of rows that follow each other.
fn said(versions: &[&str]) -> String {
    let versions: Vec<_> = versions.iter().map(|text| version(text)).collect();
    let mut broken = Vec::new();
    moves::check("row", &versions, &mut broken);
    broken.join("\n")
}

const CLAIM: &str = r#"{"state":"in_flight","attempt":1,"token":"a","run":"x","key":"k","quiet_until":"2026-01-01T00:10:00.000Z"}"#;
const DONE: &str = r#"{"state":"done","attempt":1,"token":"a","remote":{"id":"7"}}"#;

#[test]
fn moves_that_no_run_may_make_are_seen() {
    assert_eq!(said(&[CLAIM, DONE]), "");
    assert_eq!(
        said(&[
            CLAIM,
            r#"{"state":"done","attempt":0,"token":"a","remote":{"id":"7"}}"#
        ]),
        "row: attempt 1 fell to 0, in 0123456"
    );
    assert_eq!(
        said(&[CLAIM, DONE, CLAIM]),
        "row: done became in_flight, in 0123456\nrow: the receipt \"7\" was lost, in 0123456"
    );
    let early = r#"{"state":"in_flight","attempt":2,"token":"b","run":"y","key":"k","claimed_at":"2026-01-01T00:09:00.000Z"}"#;
    assert_eq!(
        said(&[CLAIM, early]),
        "row: claimed at 2026-01-01T00:09:00.000Z over a claim that is quiet at 2026-01-01T00:10:00.000Z, \
         in 0123456"
    );
    let other_key = r#"{"state":"in_flight","attempt":2,"token":"b","run":"x","key":"l"}"#;
    assert_eq!(
        said(&[CLAIM, other_key]),
        "row: what may have been sent has another key now, in 0123456"
    );
    assert_eq!(
        said(&[r#"{"state":"in_doubt","attempt":1,"token":"a"}"#]),
        "row: - became in_doubt, in 0123456"
    );
    assert_eq!(
        said(&[
            CLAIM,
            r#"{"state":"in_doubt","attempt":2,"token":"b","run":"x","key":"k"}"#
        ]),
        "row: a new token in in_doubt with attempt 2 after 1, in 0123456"
    );
}
