//! A power cut on a machine whose disk stays: what nothing else holds is synced before it counts.

use super::stage::skip;
use crate::cli::program::Program;
use crate::cli::site::{Plan, Site, mastodon, secret_variable};

/// Runs the site under strace and returns the paths that were synced, with the site's directory as `SITE`.
fn synced(site: &Site) -> Option<Vec<String>> {
    let trace = site.path("trace");
    let secrets = sayonce::model::channel::Kind::ALL.map(|kind| {
        (
            secret_variable(kind),
            sayonce::sandbox::Sandbox::secret(kind),
        )
    });
    let binary = assert_cmd::cargo::cargo_bin!("sayonce");
    let ran = Program::new("strace", &site.path("site"), &site.home())
        .arguments(["-f", "-qq", "-y", "-e", "trace=fsync,fdatasync", "-o"])
        .arguments([trace.to_str().unwrap(), binary.to_str().unwrap(), "run"])
        .environment(secrets)
        .run();
    let Ok(text) = std::fs::read_to_string(&trace) else {
        skip(&format!("strace may not be used here: {ran:?}"));
        return None;
    };
    let root = site.path("site").canonicalize().unwrap();
    let path = |line: &str| {
        let (_, rest) = line.split_once('<')?;
        let (path, _) = rest.split_once('>')?;
        Some(path.replace(root.to_str().unwrap(), "SITE"))
    };
    Some(text.lines().filter_map(path).collect())
}

fn has_strace(site: &Site) -> bool {
    let ran = Program::new("sh", &site.home(), &site.home())
        .arguments(["-c", "command -v strace && strace -o /dev/null true"])
        .run();
    if !ran.status.success() {
        skip("strace is not installed, or may not be used here");
    }
    ran.status.success()
}

fn plan() -> Plan {
    mastodon().articles(1)
}

#[test]
fn without_a_remote_objects_and_the_branch_are_synced() {
    let site = plan().ledger("push = \"never\"").start();
    if !has_strace(&site) {
        return;
    }
    let Some(paths) = synced(&site) else { return };
    let count = |part: &str| paths.iter().filter(|path| path.contains(part)).count();
    // A claim and its result: each a commit, its trees and a row, and the branch moved twice.
    assert!(count("SITE/.git/objects/") >= 8, "{paths:#?}");
    assert!(count("SITE/.git/refs/heads/main") >= 2, "{paths:#?}");
    site.assert_exactly_once();
}

#[test]
fn an_outcome_that_is_only_on_this_disk_is_synced() {
    let site = plan().start();
    if !has_strace(&site) {
        return;
    }
    site.hook(
        "pre-receive",
        "if [ -e claimed ]; then echo no >&2; exit 1; fi; : > claimed",
    );
    let Some(paths) = synced(&site) else { return };
    let journal = "SITE/.git/sayonce/journal";
    assert!(
        paths
            .iter()
            .any(|path| path.starts_with(&format!("{journal}/"))),
        "the file: {paths:#?}"
    );
    assert!(
        paths.iter().any(|path| path == journal),
        "its directory: {paths:#?}"
    );
}
