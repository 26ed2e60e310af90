//! The tests that pages of the documentation name, and the rows that they stand in.

use std::path::Path;

/// What is said instead of a test.
const LIMIT: &str = "documented limit:";

/// The rows of every table of a page, its heading left out: their first cell and the whole.
pub(crate) fn rows(page: &str) -> Vec<(&str, &str)> {
    let is_rule = |line: &str| line.starts_with("| ---");
    let below = page.lines().skip(1).chain([""]);
    let lines = page.lines().zip(below);
    lines
        .filter(|(line, below)| !is_rule(line) && !is_rule(below))
        .filter_map(|(line, _)| {
            let (first, _) = line.strip_prefix("| ")?.split_once(" |")?;
            Some((first.trim(), line))
        })
        .collect()
}

/// The rows that have neither a test nor a stated limit, by their first cell.
pub(crate) fn bare_rows(page: &str) -> Vec<&str> {
    rows(page)
        .into_iter()
        .filter(|(_, row)| tests_in(row).next().is_none() && !row.contains(LIMIT))
        .map(|(first, _)| first)
        .collect()
}

/// Everything in code that looks like a test's path.
pub(crate) fn tests_in(text: &str) -> impl Iterator<Item = &str> {
    let codes = text.split('`').skip(1).step_by(2);
    codes.filter(|code| code.contains(".rs::"))
}

/// What is wrong with the tests that a page names.
pub(crate) fn wrong_tests(page: &str) -> Vec<String> {
    tests_in(page).filter_map(wrong_test).collect()
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
fn what_is_no_test_is_noticed() {
    let wrong = |path: &str| wrong_test(path).unwrap();
    assert_eq!(
        wrong("tests/nothing.rs::a"),
        "tests/nothing.rs::a: there is no such file"
    );
    assert_eq!(
        wrong("tests/named.rs::nothing"),
        "tests/named.rs::nothing: there is no such function"
    );
    assert_eq!(
        wrong("tests/named.rs::wrong_test"),
        "tests/named.rs::wrong_test: it is no test"
    );
    assert_eq!(
        wrong_test("tests/named.rs::what_is_no_test_is_noticed"),
        None
    );
}

#[test]
fn a_row_without_a_test_or_a_limit_is_noticed() {
    let page = "| a | test |\n| --- | --- |\n| 1 | `tests/x.rs::y` |\n| 2 | `x.rs` |\n| 3 | documented limit: no. |\n\n| b |\n| --- |\n| 4 |";
    assert_eq!(rows(page).len(), 4);
    assert_eq!(bare_rows(page), ["2", "4"]);
}
