//! The action, the project's own workflows, and the ones for users have no finding of the usual linters.

use std::path::{Path, PathBuf};

use crate::cli::program::Program;
use crate::fire::stage::skip;

/// Where a program is on the path.
pub(crate) fn installed(program: &str) -> Option<PathBuf> {
    let path = sayonce::environment::Environment::of_process();
    let directories = path.get("PATH").unwrap_or_default().to_owned();
    std::env::split_paths(&directories)
        .map(|directory| directory.join(program))
        .find(|file| file.is_file())
}

fn top() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files(directory: &str, ending: &str) -> Vec<String> {
    let mut files: Vec<String> = std::fs::read_dir(top().join(directory))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(ending))
        .map(|name| format!("{directory}/{name}"))
        .collect();
    files.sort();
    files
}

fn workflows() -> Vec<String> {
    [
        files(".github/workflows", ".yml"),
        files("examples/workflows", ".yml"),
    ]
    .concat()
}

#[track_caller]
fn lints_clean(linter: &str, arguments: &[&str], targets: &[String]) {
    if installed(linter).is_none() {
        return skip(&format!("{linter} is not installed"));
    }
    let home = tempfile::tempdir().unwrap();
    let ran = Program::new(linter, top(), home.path())
        .arguments(arguments.iter().copied())
        .arguments(targets.iter().map(String::as_str))
        .run();
    assert!(ran.status.success(), "{}\n{}", ran.stdout, ran.stderr);
}

#[test]
fn zizmor_finds_nothing_however_pedantic() {
    let targets = [vec!["action.yml".to_owned()], workflows()].concat();
    lints_clean("zizmor", &["--offline", "--persona=pedantic"], &targets);
}

#[test]
fn actionlint_finds_nothing() {
    lints_clean("actionlint", &[], &workflows());
}

#[test]
fn the_published_schemas_hold() {
    let action = ["action.yml".to_owned()];
    lints_clean(
        "check-jsonschema",
        &["--builtin-schema", "vendor.github-actions"],
        &action,
    );
    lints_clean(
        "check-jsonschema",
        &["--builtin-schema", "vendor.github-workflows"],
        &workflows(),
    );
}

#[test]
fn shellcheck_finds_nothing() {
    let scripts = [files("action", ".sh"), vec![".ci/run".to_owned()]].concat();
    lints_clean("shellcheck", &[], &scripts);
}
