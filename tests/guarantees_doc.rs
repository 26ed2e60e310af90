//! `docs/guarantees.md` names tests that are there, leaves no number out, and no row without a test or a stated limit.

use std::collections::BTreeMap;
use std::path::Path;

const DOCUMENT: &str = include_str!("../docs/guarantees.md");

/// What is said instead of a test.
const LIMIT: &str = "documented limit:";

/// The rows of every table: their first cell and the whole.
fn rows() -> Vec<(&'static str, &'static str)> {
    let lines = DOCUMENT.lines().filter(|line| line.starts_with("| "));
    lines
        .filter(|line| !line.starts_with("| ---"))
        .filter_map(|line| {
            let (first, _) = line.strip_prefix("| ")?.split_once(" |")?;
            Some((first.trim(), line))
        })
        .collect()
}

/// Whether a row is the heading of its table: the line below it is dashes.
fn is_heading(row: &str) -> bool {
    let mut lines = DOCUMENT.lines().skip_while(|line| *line != row);
    lines.nth(1).is_some_and(|below| below.starts_with("| ---"))
}

/// Everything in code that looks like a test's path.
fn tests_in(text: &str) -> impl Iterator<Item = &str> {
    let codes = text.split('`').skip(1).step_by(2);
    codes.filter(|code| code.contains(".rs::"))
}

/// Returns what is wrong with the path of a test; none if it is there.
fn wrong_test(path: &str) -> Option<String> {
    let (file, name) = path.split_once(".rs::")?;
    let name = name.rsplit("::").next()?;
    let file = format!("{file}.rs");
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Ok(text) = std::fs::read_to_string(top.join(&file)) else {
        return Some(format!("{path}: there is no such file"));
    };
    let lines: Vec<_> = text.lines().map(str::trim).collect();
    let start = format!("fn {name}(");
    let Some(at) = lines.iter().position(|line| line.starts_with(&start)) else {
        return Some(format!("{path}: there is no such function"));
    };
    let above = lines.iter().take(at).rev();
    let mut attributes = above.take_while(|line| line.starts_with('#') || line.starts_with("//"));
    let is_test = attributes.any(|line| *line == "#[test]");
    (!is_test).then(|| format!("{path}: it is no test"))
}

#[test]
fn every_test_that_the_page_names_is_there() {
    let wrong: Vec<_> = tests_in(DOCUMENT).filter_map(wrong_test).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(tests_in(DOCUMENT).count() > 150, "the page names its tests");
}

#[test]
fn what_is_no_test_is_noticed() {
    let wrong = |path: &str| wrong_test(path).unwrap();
    assert_eq!(
        wrong("tests/nothing.rs::a"),
        "tests/nothing.rs::a: there is no such file"
    );
    assert_eq!(
        wrong("tests/guarantees_doc.rs::nothing"),
        "tests/guarantees_doc.rs::nothing: there is no such function"
    );
    assert_eq!(
        wrong("tests/guarantees_doc.rs::rows"),
        "tests/guarantees_doc.rs::rows: it is no test"
    );
    assert_eq!(
        wrong_test("tests/guarantees_doc.rs::what_is_no_test_is_noticed"),
        None
    );
}

#[test]
fn the_numbers_are_complete() {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (first, _) in rows() {
        *counts.entry(first).or_default() += 1;
    }
    let numbered = |prefix: &'static str, last: usize| {
        (1..=last).map(move |number| format!("{prefix}{number}"))
    };
    let expected = numbered("", 83)
        .chain(numbered("I", 20))
        .chain(numbered("L", 4))
        .chain(numbered("T", 19));
    let wrong: Vec<_> = expected
        .filter(|number| counts.get(number.as_str()) != Some(&1))
        .collect();
    assert!(wrong.is_empty(), "not there once: {wrong:?}");
}

#[test]
fn every_row_has_a_test_or_a_stated_limit() {
    let bare: Vec<_> = rows()
        .into_iter()
        .filter(|(_, row)| !is_heading(row))
        .filter(|(_, row)| tests_in(row).next().is_none() && !row.contains(LIMIT))
        .map(|(first, _)| first)
        .collect();
    assert!(bare.is_empty(), "neither shown nor limited: {bare:?}");
}
