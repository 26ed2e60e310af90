//! The ledger's branch is moved by somebody else between a claim and its result: the run stops, and nothing is sent again.

use super::program::Ran;
use super::site::{Site, mastodon};
use super::stopped::until_a_write_is_open;

const BRANCH: &str = "refs/heads/sayonce-ledger";

/// A run under which the branch is moved while its first post is being sent; then the same again, and the way out.
#[track_caller]
fn check(change: impl Fn(&Site)) -> String {
    let site = mastodon()
        .articles(2)
        .ledger("branch = \"sayonce-ledger\"")
        .fault("mastodon:1=slow=1500ms")
        .start();
    let run = site.start(&["run"]);
    until_a_write_is_open(&site);
    change(&site);
    let first = run.end();
    first.assert_code(3);
    assert_eq!(site.writes(), "mastodon 1", "{}", first.stderr);
    let second = site.sayonce(&["run"]);
    second.assert_code(3);
    assert_eq!(site.writes(), "mastodon 1", "{}", second.stderr);
    // Elsewhere, too: nothing there but what the remote has.
    let clone = site.path("clone").display().to_string();
    let remote = site.path("remote.git").display().to_string();
    site.git_in(&site.path(""), &["clone", "--quiet", &remote, &clone]);
    site.git_in(&site.path("clone"), &["checkout", "--quiet", "main"]);
    let elsewhere = site.program_in(&site.path("clone"), &["run"]).run();
    elsewhere.assert_code(3);
    assert_eq!(site.writes(), "mastodon 1");
    let repaired = site.sayonce(&["ledger", "repair", "--why", "a bad push"]);
    repaired.assert_code(0);
    let ran = site.run(&[]);
    ran.assert_code(0);
    assert_eq!(ran.summary(), "done 2", "{}", ran.stderr);
    site.assert_exactly_once();
    format!("{}{}", alarm(&second), repaired.stdout)
}

fn alarm(ran: &Ran) -> String {
    let lines = ran.stdout.lines();
    let alarms: Vec<_> = lines.filter(|line| line.starts_with("alarm: ")).collect();
    assert_eq!(alarms.len(), 1, "{}", ran.stdout);
    let (sentence, _) = alarms[0].split_once("; nothing is sent").unwrap();
    format!("{sentence}\n")
}

#[test]
fn a_branch_that_is_deleted() {
    insta::assert_snapshot!(check(|site| { site.remote(&["update-ref", "-d", BRANCH]); }), @r#"
    alarm: the ledger was rewound: the branch `sayonce-ledger` is gone from `origin`, but its witness is there
    1 row was brought back from the witness
    "#);
}

#[test]
fn a_branch_that_is_forced_to_other_commits() {
    let change = |site: &Site| {
        // A commit that shares nothing with the ledger but the name of its branch.
        let tree = site.remote(&["rev-parse", "main^{tree}"]);
        let commit = site.remote(&["rev-parse", "main"]);
        assert_ne!(tree, commit);
        site.remote(&["update-ref", BRANCH, &commit]);
    };
    insta::assert_snapshot!(check(change), @r#"
    alarm: the ledger was rewound: `ledger.json` is gone
    1 row was brought back from the witness
    "#);
}

#[test]
fn a_row_that_is_taken_out() {
    let change = |site: &Site| {
        site.git(&["fetch", "--quiet", "origin", "sayonce-ledger"]);
        site.git(&["checkout", "--quiet", "-b", "edit", "FETCH_HEAD"]);
        site.git(&["rm", "--quiet", "ledger/article-1/mastodon.json"]);
        site.git(&["commit", "--quiet", "--message", "tidied up"]);
        site.git(&["push", "--quiet", "origin", "edit:sayonce-ledger"]);
        site.git(&["checkout", "--quiet", "main"]);
    };
    insta::assert_snapshot!(check(change), @r#"
    alarm: the ledger was rewound: the row of article-1 on mastodon is gone
    1 row was brought back from the witness
    "#);
}

#[test]
fn a_ledger_that_is_deleted_whole() {
    let site = mastodon()
        .articles(2)
        .ledger("branch = \"sayonce-ledger\"")
        .fault("mastodon:1=slow=1500ms")
        .start();
    let run = site.start(&["run"]);
    until_a_write_is_open(&site);
    for name in [BRANCH, "refs/sayonce/witness"] {
        site.remote(&["update-ref", "-d", name]);
    }
    let ran = run.end();
    // To delete both is the way to start afresh; what this run knows is in the new ledger all the same.
    ran.assert_code(0);
    let ran = site.run(&[]);
    ran.assert_code(0);
    assert_eq!(
        ran.deliveries(),
        "article-1 mastodon done response 1\narticle-2 mastodon done response 1\n"
    );
    site.assert_exactly_once();
}
