//! What is taken out of the ledger is not sent again.

use super::program::Ran;
use super::site::{Site, four_channels, mastodon};

/// The alarms of a report.
fn alarms(ran: &Ran) -> Vec<String> {
    let json = ran.json();
    let alarms = json["alarms"].as_array().unwrap();
    alarms
        .iter()
        .map(|alarm| alarm.as_str().unwrap().to_owned())
        .collect()
}

/// Takes the row of the first article away, as a person would who wants it sent again.
fn without_its_row(site: &Site) {
    site.git(&["rm", "--quiet", "ledger/article-1/mastodon.json"]);
    site.git(&["commit", "--quiet", "--message", "send it again"]);
}

#[test]
fn a_row_that_is_deleted_to_have_it_sent_again_stops_everything() {
    let site = mastodon().articles(2).start();
    site.run(&[]).assert_code(0);
    site.git(&["pull", "--quiet", "--ff-only", "origin", "main"]);
    without_its_row(&site);
    site.git(&["push", "--quiet", "origin", "main"]);
    let ran = site.run(&[]);
    ran.assert_code(3);
    assert_eq!(
        alarms(&ran),
        [
            "the ledger was rewound: the row of article-1 on mastodon is gone; nothing is sent. `sayonce ledger repair` \
             brings back what its witness remembers, `sayonce ledger accept` takes the ledger as it is now; to start \
             afresh, delete the branch and `refs/sayonce/witness`, and run `sayonce baseline` next, or what is online is \
             announced again"
        ]
    );
    assert_eq!(site.writes(), "mastodon 2");
    // Accepted as it is, the post is found on the account.
    site.sayonce(&["ledger", "accept"]).assert_code(0);
    let ran = site.run(&[]);
    ran.assert_code(0);
    assert_eq!(
        ran.deliveries(),
        "article-1 mastodon done adopted 0\narticle-2 mastodon done response 1\n"
    );
    assert_eq!(site.writes(), "mastodon 2");
}

/// Without a remote there is no witness, so the account is what remembers.
#[test]
fn without_a_remote_a_deleted_row_comes_back_from_the_account() {
    let site = mastodon().articles(2).ledger("push = \"never\"").start();
    site.run(&[]).assert_code(0);
    without_its_row(&site);
    let ran = site.run(&[]);
    ran.assert_code(0);
    assert_eq!(
        ran.deliveries(),
        "article-1 mastodon done adopted 0\narticle-2 mastodon done response 1\n"
    );
    assert_eq!(site.writes(), "mastodon 2");
}

#[test]
fn a_branch_that_was_deleted_is_brought_back_whole() {
    let site = four_channels()
        .articles(2)
        .ledger("branch = \"sayonce-ledger\"")
        .start();
    site.run(&[]).assert_code(0);
    let writes = site.writes();
    let tip = site.remote(&["rev-parse", "sayonce-ledger"]);
    site.remote(&["update-ref", "-d", "refs/heads/sayonce-ledger"]);
    let ran = site.run(&[]);
    ran.assert_code(3);
    let alarms = alarms(&ran).join("\n");
    assert!(
        alarms.starts_with(
            "the ledger was rewound: the branch `sayonce-ledger` is gone from `origin`, but its witness is there; \
             nothing is sent. "
        ),
        "{alarms}"
    );
    let ran = site.sayonce(&["ledger", "repair"]);
    ran.assert_code(0);
    assert_eq!(ran.stdout, "8 rows were brought back from the witness\n");
    assert_eq!(site.remote(&["diff", "--stat", &tip, "sayonce-ledger"]), "");
    site.run(&[]).assert_code(0);
    assert_eq!(site.writes(), writes);
    site.assert_exactly_once();
}

#[test]
fn a_ledger_that_is_taken_as_it_is_gives_no_leave_to_send_again_what_is_sent_once_only() {
    let site = mastodon()
        .articles(2)
        .channel("mastodon", "policy = \"at_most_once\"\nprecheck = false")
        .ledger("branch = \"sayonce-ledger\"")
        .start();
    site.run(&[]).assert_code(0);
    let branch = "refs/heads/sayonce-ledger";
    // Back to the first article's claim: it is looked for, as any claim is. Nothing is left of the second.
    site.remote(&["update-ref", branch, &format!("{branch}~2")]);
    site.run(&[]).assert_code(3);
    site.sayonce(&["ledger", "accept"]).assert_code(0);
    let ran = site.run(&[]);
    ran.assert_code(5);
    assert_eq!(
        ran.deliveries(),
        "article-1 mastodon done read_back 1\narticle-2 mastodon held - 0\n"
    );
    assert_eq!(site.writes(), "mastodon 2");
    let report = ran.json();
    let reason = report["deliveries"][1]["reason"].as_str().unwrap();
    assert!(
        reason.starts_with(
            "the ledger was rewound and taken as it is; before, this was done, https://"
        ),
        "{reason}"
    );
    site.sayonce(&["resolve", "article-2", "mastodon", "--not-posted"])
        .assert_code(0);
    site.run(&[]).assert_code(0);
    assert_eq!(site.writes(), "mastodon 3", "by a person's word");
}
