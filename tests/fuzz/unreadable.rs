//! Rows as a person, a merge or a broken disk may leave them, in a real repository.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use sayonce::config::{LedgerConfig, PushMode};
use sayonce::ledger::{PushReport, Store as _};

use super::{files, mutate};
use crate::git::sandbox::Sandbox;
use crate::ledger::world::{batch, claimed, config, open, write};

/// Rows of one repository.
const ROWS: usize = 150;

/// The item of every seed, and of none but the first row.
const ITEM: &str = "item-000";

#[test]
fn a_row_is_read_or_told_and_what_is_told_stays_byte_for_byte() {
    let sandbox = Sandbox::new();
    let site = sandbox.path("site");
    fs::create_dir(&site).unwrap();
    sandbox.git(&site, &["init", "--quiet"]);
    let rows = rows();
    for (path, bytes) in &rows {
        let path = site.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    sandbox.commit_all(&site, "rows");
    let local = LedgerConfig {
        push: PushMode::Never,
        ..config()
    };
    let mut store = open(&site, local, sandbox.environment()).unwrap();
    let snapshot = store.read().unwrap();
    let read: BTreeSet<String> = snapshot
        .rows
        .keys()
        .map(|delivery| sayonce::ledger::row::path_of("ledger", delivery))
        .collect();
    let mut told = BTreeSet::new();
    for file in &snapshot.unreadable {
        assert!(!file.reason.is_empty(), "{} has no reason", file.path);
        let delivery = file.delivery.as_ref().unwrap();
        assert!(!snapshot.rows.contains_key(delivery), "{delivery} is both");
        told.insert(file.path.clone());
    }
    assert!(read.is_disjoint(&told));
    let all: BTreeSet<String> = read.union(&told).cloned().collect();
    assert_eq!(all, rows.keys().cloned().collect());
    println!(
        "fuzz unreadable: {} rows, {} read, {} told",
        all.len(),
        read.len(),
        told.len()
    );
    assert!(!read.is_empty() && !told.is_empty());

    // Nothing is written over what could not be read, not even by who asks for it.
    let first = snapshot.unreadable[0].delivery.clone().unwrap();
    let mut over = claimed(first.item.as_str(), 1);
    over.channel = first.channel;
    let report = store.push(&batch(&snapshot, &[over]));
    assert!(matches!(report, PushReport::NotBuilt { .. }), "{report:?}");
    write(&mut store, &[claimed("news/another", 2)]);
    for (path, bytes) in &rows {
        assert_eq!(&fs::read(site.join(path)).unwrap(), bytes, "{path}");
    }
    assert_eq!(sandbox.git(&site, &["status", "--porcelain"]), "");
}

/// Mutated rows, each under a path of its own.
fn rows() -> BTreeMap<String, Vec<u8>> {
    let seeds: Vec<Vec<u8>> = files("tests/data/ledger/v1")
        .into_iter()
        .filter_map(|(_path, bytes)| {
            let text = String::from_utf8(bytes).ok()?;
            let object: serde_json::Value = serde_json::from_str(&text).ok()?;
            let (item, channel) = (object.get("item")?, object.get("channel")?);
            let text = text
                .replace(&item.to_string(), &format!("\"{ITEM}\""))
                .replace(
                    &format!("\"channel\": {channel}"),
                    "\"channel\": \"mastodon\"",
                );
            Some(text.into_bytes())
        })
        .collect();
    let strategy = mutate::mutations(seeds);
    let mut runner = TestRunner::deterministic();
    (0..ROWS)
        .map(|number| {
            let mutated = strategy.new_tree(&mut runner).unwrap().current().0;
            let item = format!("item-{number:03}");
            let bytes = replace(&mutated, ITEM.as_bytes(), item.as_bytes());
            (format!("ledger/{item}/mastodon.json"), bytes)
        })
        .collect()
}

fn replace(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut replaced = bytes.to_vec();
    let places = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(from));
    for at in places {
        replaced.splice(at..at + from.len(), to.iter().copied());
    }
    replaced
}
