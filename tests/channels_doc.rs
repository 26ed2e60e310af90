//! `docs/channels.md` says what the code does, where that can be computed.

use std::collections::BTreeMap;
use std::path::Path;

use sayonce::config::Config;
use sayonce::config::http::{PRESETS, Preset};
use sayonce::model::channel::Kind;
use sayonce::model::outcome::ServerLimits;
use sayonce::model::post::Post;
use sayonce::render::measure::measure;
use serde_json::Map;
use toml::{Table, Value};

const DOCUMENT: &str = include_str!("../docs/channels.md");

/// The columns, as the first table has them.
const COLUMNS: [&str; 9] = [
    "service",
    "dedupe",
    "lookup",
    "update",
    "retract",
    "media",
    "limits",
    "default policy",
    "proved against",
];

/// The first table: each service's cells, by column.
fn table() -> BTreeMap<String, BTreeMap<&'static str, String>> {
    let lines = DOCUMENT.lines().skip_while(|line| !line.starts_with("| "));
    let mut rows = lines
        .take_while(|line| line.starts_with("| "))
        .map(|line| -> Vec<String> {
            let cells = line.trim_matches('|').split(" | ");
            cells.map(|cell| cell.trim().to_owned()).collect()
        });
    assert_eq!(rows.next().unwrap(), COLUMNS);
    assert_eq!(rows.next().unwrap().len(), COLUMNS.len());
    rows.map(|cells| {
        assert_eq!(cells.len(), COLUMNS.len(), "{cells:?}");
        (cells[0].clone(), COLUMNS.into_iter().zip(cells).collect())
    })
    .collect()
}

/// The kinds that have a row of their own; a declared channel has one for each preset.
fn kinds() -> Vec<Kind> {
    let kinds = Kind::ALL.into_iter();
    kinds.filter(|kind| *kind != Kind::Http).collect()
}

fn preset(preset: Preset) -> Table {
    preset.text.parse().unwrap()
}

#[test]
fn every_kind_and_every_preset_has_its_row_and_no_other() {
    let mut names: Vec<String> = kinds().iter().map(|kind| format!("`{kind}`")).collect();
    names.extend(PRESETS.map(|preset| format!("`{}`", preset.name)));
    names.sort();
    assert_eq!(table().into_keys().collect::<Vec<_>>(), names);
}

#[test]
fn the_default_policies_are_the_codes() {
    let table = table();
    let config = config();
    for channel in &config.channels {
        let kind = channel.kind();
        let says = &table[&format!("`{kind}`")]["default policy"];
        let policy = channel.rules.policy.label();
        assert_eq!(*says, format!("`{policy}`"), "{kind}");
    }
    for one in PRESETS {
        let declared = preset(one);
        let harmless = declared.get("repeat_harmless").and_then(Value::as_bool);
        let policy = match declared.get("policy").and_then(Value::as_str) {
            Some(policy) => policy,
            None if harmless == Some(true) => "at_least_once",
            None => "keyed",
        };
        let says = &table[&format!("`{}`", one.name)]["default policy"];
        assert_eq!(*says, format!("`{policy}`"), "{}", one.name);
    }
}

#[test]
fn what_can_be_read_back_has_a_lookup() {
    let table = table();
    let check = |name: &str, has_lookup: bool| {
        let says = &table[&format!("`{name}`")]["lookup"];
        let word = if has_lookup { "yes: " } else { "no: " };
        assert!(says.starts_with(word), "{name}: {says}");
    };
    for kind in kinds() {
        check(kind.label(), kind.traits().readable);
    }
    for one in PRESETS {
        check(one.name, preset(one).contains_key("lookup"));
    }
}

#[test]
fn what_a_preset_declares_of_later_writes_is_said() {
    let table = table();
    for one in PRESETS {
        let row = &table[&format!("`{}`", one.name)];
        for column in ["update", "retract"] {
            let is_declared = preset(one).contains_key(column);
            let says = row[column].starts_with("declared");
            assert_eq!(says, is_declared, "{} {column}", one.name);
        }
    }
}

#[test]
fn the_limits_are_the_codes() {
    let table = table();
    let check = |name: &str, expected: String| {
        let says = &table[&format!("`{name}`")]["limits"];
        assert!(
            says.starts_with(&expected),
            "{name}: {says}, not {expected}"
        );
    };
    let config = config();
    for channel in &config.channels {
        let kind = channel.kind();
        let limit = measure(&Post::new(Map::new()), channel, ServerLimits::default()).limit;
        let batch = kind.traits().batch_max;
        let expected = match (limit, batch) {
            (Some(limit), 1) => format!("{limit} characters a "),
            (None, batch) if batch > 1 => format!("{} addresses a request", thousands(batch)),
            (limit, batch) => panic!("{kind} has a limit of {limit:?} and takes {batch}"),
        };
        check(kind.label(), expected);
    }
    for one in PRESETS {
        let declared = preset(one);
        let limit = declared.get("limit").and_then(Value::as_integer);
        let expected = limit.map_or_else(
            || "none known".to_owned(),
            |limit| format!("{limit} characters a post"),
        );
        check(one.name, expected);
    }
}

/// A channel of each kind, as it is without any choice.
fn config() -> Config {
    let config = Config::parse(
        Path::new("sayonce.toml"),
        "[site]\nurl = \"https://blog.example\"\nfeed = \"feed.xml\"\n\
         [channels.a]\nkind = \"indexnow\"\nkey = \"0123456789abcdef\"\n\
         [channels.b]\nkind = \"bluesky\"\nhandle = \"blog.example\"\n\
         [channels.c]\nkind = \"mastodon\"\nserver = \"https://mastodon.example\"\n\
         [channels.d]\nkind = \"devto\"\n",
    )
    .unwrap();
    assert_eq!(config.channels.len(), kinds().len());
    config
}

fn thousands(number: usize) -> String {
    format!("{},{:03}", number / 1_000, number % 1_000)
}
