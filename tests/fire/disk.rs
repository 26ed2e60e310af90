//! A disk that is full or can't be written, in a mount namespace of its own.

use super::stage::skip;
use crate::cli::program::{Program, Ran};
use crate::cli::site::{Plan, Site, mastodon};
use crate::cli::stopped::until_a_write_is_open;

fn plan() -> Plan {
    mastodon().articles(1).every_channel("interval = \"1s\"")
}

fn said(site: &Site, ran: &Ran) -> String {
    let root = site.path("").display().to_string();
    format!("{}{}", ran.stderr, ran.stdout).replace(&root, "ROOT/")
}

/// A shell in a mount namespace, with the site on a disk of its own at `disk`.
fn in_namespace(site: &Site, script: &str) -> Program {
    let script = format!(
        "mkdir -p disk && mount -t tmpfs -o size=3m none disk && cp -a site disk/ && cd disk/site || exit 9\n{script}"
    );
    let secrets = sayonce::model::channel::Kind::ALL.map(|kind| {
        (
            crate::cli::site::secret_variable(kind),
            sayonce::sandbox::Sandbox::secret(kind),
        )
    });
    Program::new("unshare", &site.path(""), &site.home())
        .arguments(["--mount", "sh", "-c", &script])
        .environment(secrets)
        .environment([(
            "SAYONCE",
            assert_cmd::cargo::cargo_bin!("sayonce").to_str().unwrap(),
        )])
}

fn may_mount(site: &Site) -> bool {
    let ran = in_namespace(site, "true").run();
    if !ran.status.success() {
        skip("this process may not mount a file system of its own");
    }
    ran.status.success()
}

/// The problem of the report.
fn problem(site: &Site, ran: &Ran) -> String {
    let said = said(site, ran);
    let problems: Vec<_> = said
        .lines()
        .filter_map(|line| line.strip_prefix("problem: "))
        .collect();
    problems.join("\n")
}

const FILL: &str = "dd if=/dev/zero of=fill bs=4k 2>/dev/null; true";

#[test]
fn a_full_disk_sends_nothing() {
    let site = plan().start();
    if !may_mount(&site) {
        return;
    }
    let ran = in_namespace(&site, &format!("{FILL}; exec \"$SAYONCE\" run")).run();
    ran.assert_code(3);
    assert_eq!(
        problem(&site, &ran),
        "writing a blob failed: failed to write out file: No space left on device; class=Os (2)"
    );
    assert_eq!(site.writes(), "mastodon 0");
    site.run(&[]).assert_code(0);
    site.assert_exactly_once();
}

#[test]
fn a_disk_that_can_not_be_written_sends_nothing() {
    let site = plan().start();
    if !may_mount(&site) {
        return;
    }
    let ran = in_namespace(&site, "mount -o remount,ro ..; exec \"$SAYONCE\" run").run();
    ran.assert_code(3);
    let problem = problem(&site, &ran);
    let (before, after) = problem.split_once("tmp_object_git2_").unwrap();
    assert_eq!(
        before,
        "writing a blob failed: failed to create temporary file 'ROOT/disk/site/.git/objects/"
    );
    assert!(
        after.ends_with("': Read-only file system; class=Os (2)"),
        "{after}"
    );
    assert_eq!(site.writes(), "mastodon 0");
}

/// The disk fills up while the service works, and the outcome can neither be committed nor kept beside it.
#[test]
fn an_outcome_that_no_disk_takes_is_printed() {
    let site = plan().fault("mastodon:1=slow=2s").start();
    if !may_mount(&site) {
        return;
    }
    let script = format!(
        "(while [ ! -e ../../fill-now ]; do sleep 0.05; done; {FILL}; : > ../../filled) & exec \"$SAYONCE\" run"
    );
    let run = in_namespace(&site, &script).start();
    until_a_write_is_open(&site);
    std::fs::write(site.path("fill-now"), "").unwrap();
    let ran = run.end();
    assert!(site.path("filled").exists());
    ran.assert_code(3);
    assert_eq!(
        problem(&site, &ran),
        "writing a blob failed: failed to write out file: No space left on device; class=Os (2)"
    );
    assert!(
        ran.stderr
            .contains("outcomes could neither be pushed nor kept on disk: the journal at "),
        "{}",
        ran.stderr
    );
    let (_, row) = ran
        .stdout
        .split_once("not on the ledger's remote, article-1 on mastodon:\n")
        .unwrap();
    let (row, _) = row.split_once("\n1 delivery: ").unwrap();
    let row: serde_json::Value = serde_json::from_str(row).unwrap();
    assert_eq!(row["operations"]["publish"]["state"], "done");
    let ran = site.run(&[]);
    ran.assert_code(0);
    assert_eq!(ran.deliveries(), "article-1 mastodon done read_back 1\n");
    site.assert_exactly_once();
}
