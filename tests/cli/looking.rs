//! What only looks changes nothing.

use super::site::{Site, four_channels};

/// Everything outside of the program's own notes: the site, the remote, what the services got.
fn state(site: &Site) -> String {
    let local = site.repository_state();
    let local: Vec<_> = local
        .lines()
        .filter(|line| !line.contains("\trefs/sayonce/"))
        .collect();
    let remote = site.remote(&["for-each-ref"]);
    [local.join("\n"), remote, site.writes()].join("\n---\n")
}

#[test]
fn what_only_looks_claims_nothing_sends_nothing_and_writes_nothing() {
    let mut site = four_channels().articles(2).start();
    site.run(&[]).assert_code(0);
    site.plan.articles.push(3);
    site.build();
    let before = state(&site);
    for arguments in [
        &["plan"][..],
        &["status"],
        &["status", "--fetch"],
        &["audit"],
        &["audit", "--remote"],
    ] {
        let ran = site.sayonce(arguments);
        assert!(matches!(ran.code(), Some(0 | 5)), "{ran:?}");
        assert_eq!(state(&site), before, "{arguments:?}");
    }
}
