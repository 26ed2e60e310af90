//! House rules that can be checked.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Four hundred lines are normal.
const LINES_MAX: usize = 800;

/// Nothing of the repository lies below these: what a build makes, and git's own.
const NOT_OURS: [&str; 2] = ["target", ".git"];

#[test]
fn no_source_file_is_too_long() {
    let long: Vec<String> = sources("src")
        .into_iter()
        .chain(sources("tests"))
        .filter(|(_, text)| text.lines().count() > LINES_MAX)
        .map(|(path, text)| format!("{path}: {} lines", text.lines().count()))
        .collect();
    assert!(long.is_empty(), "split these: {long:#?}");
}

#[test]
fn the_map_names_every_directory_and_every_top_level_file() {
    let map = fs::read_to_string(top().join("ARCHITECTURE.md")).unwrap();
    let mut expected: BTreeSet<String> = BTreeSet::new();
    for (path, _) in sources("src") {
        match path.rsplit_once('/') {
            Some(("src", _)) => expected.insert(path.clone()),
            Some((directory, _)) => expected.insert(format!("{directory}/")),
            None => unreachable!("a source lies below src"),
        };
    }
    let missing: Vec<&String> = expected
        .iter()
        .filter(|path| !map.contains(&format!("`{path}`")))
        .collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md lacks {missing:#?}");
}

#[test]
fn every_path_that_the_map_names_is_there() {
    let map = fs::read_to_string(top().join("ARCHITECTURE.md")).unwrap();
    let gone: Vec<&str> = map
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|name| name.starts_with("src/") || name.starts_with("tests/"))
        .filter(|name| !top().join(name).exists())
        .collect();
    assert!(gone.is_empty(), "ARCHITECTURE.md names {gone:#?}");
}

/// What each part of the program may not know. The arrows are in `ARCHITECTURE.md`.
#[test]
fn arrows_point_down_only() {
    let outside = ["std::fs", "std::net", "std::process", "std::env"];
    let clock = [
        "std::time::SystemTime",
        "std::time::Instant",
        "crate::clock",
    ];
    let mut wrong = Vec::new();
    let mut check = |below: &str, forbidden: &[&str]| {
        let files: Vec<_> = sources("src")
            .into_iter()
            .filter(|(path, _)| path.starts_with(below))
            .collect();
        assert!(!files.is_empty(), "nothing is below {below}");
        for (path, text) in files {
            for name in forbidden {
                if names(&text, name) {
                    wrong.push(format!("{path} names `{name}`"));
                }
            }
        }
    };
    check(
        "src/ledger/",
        &["crate::channel", "crate::engine", "crate::sandbox"],
    );
    check(
        "src/git/",
        &["crate::channel", "crate::engine", "crate::ledger"],
    );
    check(
        "src/channel/",
        &[
            "crate::ledger",
            "crate::git",
            "crate::engine",
            "crate::sandbox",
        ],
    );
    check(
        "src/sandbox/",
        &["crate::channel", "crate::ledger", "crate::engine"],
    );
    check(
        "src/source/",
        &["crate::ledger", "crate::channel", "crate::engine"],
    );
    check(
        "src/config/",
        &["crate::ledger", "crate::channel", "crate::engine"],
    );
    for pure in ["src/model/", "src/render/", "src/plan/"] {
        check(pure, &outside);
        check(pure, &clock);
        check(pure, &["crate::engine", "crate::channel", "crate::git"]);
    }
    check(
        "src/model/",
        &["crate::config", "crate::ledger", "crate::source"],
    );
    for core in [
        "action",
        "backoff",
        "claiming",
        "core",
        "desk",
        "ending",
        "entropy",
        "liveness",
        "matching",
        "outbox",
        "posting",
        "preparing",
        "saving",
        "settling",
        "setup",
    ] {
        let file = format!("src/engine/{core}.rs");
        check(&file, &outside);
        check(&file, &clock);
        check(&file, &["crate::channel", "std::thread", "std::sync::mpsc"]);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Whether a source names a path, alone or inside `{...}`.
fn names(text: &str, path: &str) -> bool {
    let (parent, name) = path.rsplit_once("::").unwrap();
    let grouped = text.lines().any(|line| {
        line.split_once(&format!("{parent}::{{"))
            .is_some_and(|(_, group)| {
                group
                    .split(['{', ',', '}', ' '])
                    .any(|part| part == name || part.starts_with(&format!("{name}::")))
            })
    });
    let alone = text.match_indices(path).any(|(at, _)| {
        let rest = text.get(at + path.len()..).unwrap_or_default();
        !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_')
    });
    grouped || alone
}

#[test]
fn a_path_is_named_alone_or_in_a_group() {
    let check = |text: &str| names(text, "std::time::Instant");
    assert!(check("let now = std::time::Instant::now();"));
    assert!(check("use std::time::{Duration, Instant};"));
    assert!(check("use std::time::{Duration, Instant::now};"));
    assert!(!check("use std::time::{Duration, Instantly};"));
    assert!(!check("use std::time::Instantly;"));
    assert!(!check("use std::time::Duration; // not Instant"));
}

#[test]
fn only_one_file_asks_the_system_for_each_thing() {
    let check = |name: &str| -> Vec<String> {
        sources("src")
            .into_iter()
            .filter(|(_, text)| {
                text.lines()
                    .any(|line| line.contains(name) && !line.trim_start().starts_with("//"))
            })
            .map(|(path, _)| path)
            .collect()
    };
    // git's own deadline is in the machine's time, whatever clock a rehearsal goes by.
    assert_eq!(
        check("Instant::now()"),
        ["src/clock.rs", "src/git/process.rs"]
    );
    assert_eq!(check("SystemTime::now()"), ["src/clock.rs"]);
    assert_eq!(check("env::vars_os()"), ["src/environment.rs"]);
    assert_eq!(check("Command::new("), ["src/git/process.rs"]);
    assert_eq!(
        check("Agent::with_parts("),
        ["src/channel/http.rs", "src/channel/http/phase.rs"]
    );
}

#[test]
fn no_file_names_a_directory_of_somebodys_machine() {
    let homes = ["root", "home", "Users", "work"].map(|name| format!("/{name}/"));
    let mut found = Vec::new();
    let mut read = 0;
    for path in files_below(&top()) {
        // What is not text has no path in it.
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        read += 1;
        for home in &homes {
            let named = text.match_indices(home.as_str()).any(|(at, _)| {
                let before = text.get(..at).unwrap_or_default().chars().next_back();
                !before
                    .is_some_and(|letter| letter.is_alphanumeric() || "._-/<>}*".contains(letter))
            });
            if named {
                found.push(format!("{} names {home}", path.display()));
            }
        }
    }
    assert!(read > 100, "only {read} files were read");
    assert!(found.is_empty(), "{found:#?}");
}

fn top() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the Rust files below a directory, with `/` in their paths, sorted.
fn sources(below: &str) -> Vec<(String, String)> {
    let mut sources: Vec<_> = files_below(&top().join(below))
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            let relative = path.strip_prefix(top()).unwrap();
            (relative.to_str().unwrap().replace('\\', "/"), text)
        })
        .collect();
    sources.sort();
    sources
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let entry = entry.unwrap();
            if NOT_OURS.iter().any(|name| entry.file_name() == *name) {
                continue;
            }
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                directories.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            }
        }
    }
    files
}
