//! Runs that share a ledger at the same time.

use super::program::Running;
use super::site::{Site, four_channels};

/// Starts a run in each of several clones at once.
fn start_in_clones(site: &Site, count: usize) -> Vec<Running> {
    let clones: Vec<_> = (0..count).map(|number| format!("clone-{number}")).collect();
    for clone in &clones {
        site.git_in(&site.path(""), &["clone", "--quiet", "remote.git", clone]);
    }
    clones
        .iter()
        .map(|clone| {
            site.program_in(
                &site.path(clone),
                &["run", "--format", "json", "--max-wait", "1s"],
            )
            .start()
        })
        .collect()
}

fn check(plan: super::site::Plan) {
    let site = plan.start();
    let runs = start_in_clones(&site, 2);
    for run in runs {
        let ran = run.end();
        assert!(
            matches!(ran.code(), Some(0 | 6)),
            "{}\n{}\n{}",
            ran.status,
            ran.stdout,
            ran.stderr
        );
    }
    site.assert_exactly_once();
    // What one left to the other is done.
    let ran = site.run(&[]);
    ran.assert_code(0);
    assert_eq!(ran.summary(), "done 12");
    site.assert_exactly_once();
}

#[test]
fn two_runs_at_once_announce_each_article_once() {
    check(four_channels());
}

#[test]
fn two_runs_at_once_announce_each_article_once_on_a_branch_that_neither_has_yet() {
    check(four_channels().ledger("branch = \"sayonce-ledger\""));
}
