//! `docs/guarantees.md` names tests that are there, leaves no number out, and no row without a test or a stated limit.

use std::collections::BTreeMap;

use crate::named::{bare_rows, rows, tests_in, wrong_tests};

const DOCUMENT: &str = include_str!("../docs/guarantees.md");

#[test]
fn every_test_that_the_page_names_is_there() {
    let wrong = wrong_tests(DOCUMENT);
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(tests_in(DOCUMENT).count() > 150, "the page names its tests");
}

#[test]
fn the_numbers_are_complete() {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (first, _) in rows(DOCUMENT) {
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
    let bare = bare_rows(DOCUMENT);
    assert!(bare.is_empty(), "neither shown nor limited: {bare:?}");
}
