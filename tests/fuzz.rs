//! Everything that others write, mutated: files of the ledger, git's words, sources, the configuration, and what
//! services answer.
//!
//! The checks are in [`bodies`]; the crate in `fuzz/` gives the same ones to libFuzzer. `SAYONCE_FUZZ=100000` asks for
//! as many inputs of each kind as that, in place of [`INPUTS`]; `--nocapture` shows the figures.

mod bodies;
#[cfg(unix)]
mod caught;
mod found;
mod mutate;
mod unreadable;

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::test_runner::{Config, TestRunner};
use sayonce::clock::{Clock as _, SystemClock};
use sayonce::environment::Environment;

/// How many inputs of each kind an ordinary test run tries.
const INPUTS: u32 = 300;

#[test]
fn configuration() {
    check("config", bodies::config, &["tests/data/config"]);
}

#[test]
fn feeds() {
    check("feed", bodies::feed, &["tests/data/source/feeds"]);
}

#[test]
fn files_of_the_ledger() {
    check("ledger", bodies::ledger, &["tests/data/ledger/v1"]);
}

#[test]
fn manifests() {
    check("manifest", bodies::manifest, &[]);
}

#[test]
fn markdown() {
    check(
        "markdown",
        bodies::markdown,
        &["tests/data/source/jekyll/_posts"],
    );
}

#[test]
fn pages() {
    check("page", bodies::page, &[]);
}

#[test]
fn what_git_says() {
    check("push", bodies::push, &[]);
}

#[test]
fn what_services_answer() {
    check("services", bodies::services, &[]);
}

#[test]
fn sitemaps() {
    check("sitemap", bodies::sitemap, &[]);
}

/// Runs `body` on every seed as it is, then on mutations of them; shrinks and shows what breaks a rule.
fn check(name: &str, body: fn(&[u8]) -> bool, more_seeds: &[&str]) {
    let clock = SystemClock::new();
    let mut seeds = Vec::new();
    for directory in [format!("tests/data/fuzz/{name}")]
        .iter()
        .map(String::as_str)
        .chain(more_seeds.iter().copied())
    {
        seeds.extend(files(directory));
    }
    for (path, seed) in &seeds {
        let run = std::panic::catch_unwind(|| body(seed));
        assert!(run.is_ok(), "{} breaks a rule", path.display());
    }
    let inputs = Environment::of_process()
        .get("SAYONCE_FUZZ")
        .map_or(INPUTS, |number| number.parse().unwrap());
    let mut runner = TestRunner::new(Config {
        cases: inputs,
        failure_persistence: None,
        ..Config::default()
    });
    let read = Cell::new(0_u32);
    let seeds: Vec<Vec<u8>> = seeds.into_iter().map(|(_path, seed)| seed).collect();
    let count = seeds.len();
    runner
        .run(&mutate::mutations(seeds), |input| {
            read.set(read.get() + u32::from(body(&input.0)));
            Ok(())
        })
        .unwrap_or_else(|failure| panic!("{name}: {failure}"));
    let read = read.get();
    println!(
        "fuzz {name}: {inputs} inputs from {count} seeds, {read} read, {} ms",
        clock.elapsed().as_millis()
    );
    assert!(
        read > inputs / 50,
        "only {read} of {inputs} were read at all"
    );
}

fn files(directory: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
    let Ok(entries) = fs::read_dir(&directory) else {
        return Vec::new();
    };
    let mut files: Vec<(PathBuf, Vec<u8>)> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .map(|path| {
            let bytes = fs::read(&path).unwrap();
            (path, bytes)
        })
        .collect();
    files.sort();
    files
}
