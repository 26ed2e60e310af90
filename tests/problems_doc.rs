//! `docs/problems.md` names tests that are there, and has no row without a test or a stated limit.

use crate::named::{bare_rows, rows, tests_in, wrong_tests};

const DOCUMENT: &str = include_str!("../docs/problems.md");

#[test]
fn every_test_that_the_page_names_is_there() {
    let wrong = wrong_tests(DOCUMENT);
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(tests_in(DOCUMENT).count() > 100, "the page names its tests");
}

#[test]
fn every_report_has_a_test_or_a_stated_limit() {
    let bare = bare_rows(DOCUMENT);
    assert!(bare.is_empty(), "neither shown nor limited: {bare:?}");
    assert!(rows(DOCUMENT).len() > 50, "the page has its reports");
}
