//! Rehearsals: the whole job on loopback, with faults on order, and nothing of the user's is touched.

use serde_json::{Value, json};

use super::program::{Program, Ran, deliveries};
use super::site::{Site, four_channels, mastodon};

/// Each delivery was counted once, as the stand-ins saw it; pings at least once.
#[track_caller]
fn assert_exactly_once(ran: &Ran, count: usize) {
    ran.assert_code(0);
    let report = ran.json();
    assert_eq!(ran.summary(), format!("done {count}"));
    let counts = report["posts"].as_array().unwrap();
    assert_eq!(counts.len(), count, "{report:#}");
    for one in counts {
        let times = one["count"].as_u64().unwrap();
        assert!(
            times == 1 || (one["channel"] == "search" && times > 1),
            "{one}"
        );
    }
    assert_eq!(
        (&report["duplicates"], &report["missing"]),
        (&json!(0), &json!(0))
    );
}

#[track_caller]
fn evidence(ran: &Ran, item: &str, channel: &str) -> String {
    let prefix = format!("{item} {channel} done ");
    let all = ran.deliveries();
    let line = all.lines().find_map(|line| line.strip_prefix(&prefix));
    line.unwrap_or_else(|| panic!("{all}")).to_owned()
}

#[test]
fn the_example_is_rehearsed_outside_of_any_repository_with_every_fault_of_the_readme() {
    let directory = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        Program::sayonce(directory.path(), directory.path())
            .arguments(["rehearse", "--format", "json", "--speed", "100"])
            .arguments(arguments.iter().copied())
            .run()
    };
    let faults = [
        "--fault",
        "mastodon:1=lost-answer",
        "--fault",
        "devto:2=slow=45s",
        "--fault",
        "bluesky:1=status=500-stored",
        "--fault",
        "mastodon:2=lost-request",
        "--fault",
        "devto:1=status=429:30",
    ];
    let ran = run(&faults);
    assert_exactly_once(&ran, 12);
    assert!(
        ran.stderr.contains("this is the built-in example"),
        "{}",
        ran.stderr
    );
    let (first, second) = ("backups-and-restores", "a-garden-of-small-scripts");
    let lost_answer = evidence(&ran, first, "mastodon");
    assert!(lost_answer.starts_with("read_back "), "{lost_answer}");
    // What was lost is sent again, and only that.
    let lost_request = evidence(&ran, second, "mastodon");
    assert!(lost_request.ends_with(" 2"), "{lost_request}");
    // The record's key is the same in every attempt, so the repeat is the proof.
    let stored = evidence(&ran, first, "bluesky");
    assert!(
        stored.starts_with("key_replay ") || stored.starts_with("read_back "),
        "{stored}"
    );
    let slow = ran.deliveries();
    assert!(
        slow.lines()
            .any(|line| line.contains(" devto done read_back ")),
        "{slow}"
    );
    let left: Vec<_> = std::fs::read_dir(directory.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "only the temporary directory: {left:?}");
    let scratch: Vec<_> = std::fs::read_dir(directory.path().join("tmp"))
        .unwrap()
        .collect();
    assert!(scratch.is_empty(), "{scratch:?}");
}

/// Own times, so that a busy machine does not time out: 1 s for an answer.
const UNHURRIED: &str = "interval = \"1s\"\ntimeout = \"20s\"\nsend_window = \"10s\"\nquarantine = \"0s\"\nsettle = \"0s\"";

fn rehearse(site: &Site, arguments: &[&str]) -> Ran {
    let all = [
        &["rehearse", "--format", "json", "--speed", "20"],
        arguments,
    ]
    .concat();
    site.program_without_secrets(&site.path("site"), &all).run()
}

#[test]
fn a_rehearsal_in_a_repository_takes_its_articles_and_leaves_it_alone() {
    let site = four_channels().every_channel(UNHURRIED).start();
    let before = (site.repository_state(), site.remote(&["for-each-ref"]));
    let ran = rehearse(&site, &[]);
    assert_exactly_once(&ran, 12);
    assert_eq!(
        (site.repository_state(), site.remote(&["for-each-ref"])),
        before
    );
    assert_eq!(site.requests(), 0);
}

#[test]
fn a_rehearsal_goes_on_where_the_ledger_is() {
    let mut site = mastodon().every_channel(UNHURRIED).start();
    site.run(&[]).assert_code(0);
    site.plan.articles.push(4);
    site.build();
    let before = site.repository_state();
    let ran = rehearse(&site, &[]);
    ran.assert_code(0);
    assert_eq!(
        ran.deliveries(),
        "article-1 mastodon done response 1\n\
         article-2 mastodon done response 1\n\
         article-3 mastodon done response 1\n\
         article-4 mastodon done response 1\n"
    );
    let report = ran.json();
    let counts: Vec<_> = report["posts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["count"])
        .collect();
    assert_eq!(
        counts,
        [&json!(0), &json!(0), &json!(0), &json!(1)],
        "the first three are real"
    );
    assert_eq!(report["missing"], 0);
    assert_eq!(site.repository_state(), before);
    assert_eq!(site.writes(), "mastodon 3");
}

/// A site with a history is not announced by accident; in a rehearsal that can be looked at.
#[test]
fn an_article_that_is_named_is_rehearsed_whatever_keeps_it_back() {
    let site = mastodon().articles(7).every_channel(UNHURRIED).start();
    let speed = ["rehearse", "--speed", "20"];
    let hint = "\nNothing was played. `sayonce rehearse --item ARTICLE` plays an article whatever the baseline and the flood guards say.\n";
    let check = || {
        let said = site
            .program_without_secrets(&site.path("site"), &speed)
            .run();
        assert!(said.stdout.contains(hint), "{}", said.stdout);
        let ran = rehearse(&site, &["--item", "article-2"]);
        ran.assert_code(0);
        assert_eq!(ran.deliveries(), "article-2 mastodon done response 1\n");
        assert_eq!(ran.json()["posts"][0]["count"], 1);
    };
    check();
    site.sayonce(&["baseline"]).assert_code(0);
    check();
    assert_eq!(site.writes(), "mastodon 0");
    // Nothing but a rehearsal lets it through.
    let ran = site.run(&["--item", "article-2"]);
    ran.assert_code(0);
    assert_eq!(site.writes(), "mastodon 0");
}

#[test]
fn a_rehearsal_works_in_a_clone_of_depth_one_and_on_a_branch_of_the_ledgers_own() {
    let site = mastodon()
        .every_channel(UNHURRIED)
        .ledger("branch = \"sayonce-ledger\"")
        .start();
    site.run(&["--max", "1"]).assert_code(6);
    let url = format!("file://{}", site.path("remote.git").display());
    let clone = [
        "clone",
        "--quiet",
        "--depth",
        "1",
        "--no-single-branch",
        &url,
        "shallow",
    ];
    site.git_in(&site.path(""), &clone);
    let shallow = site.path("shallow");
    let before = site.git_in(&shallow, &["for-each-ref"]);
    let all = ["rehearse", "--format", "json", "--speed", "20"];
    let ran = site.program_without_secrets(&shallow, &all).run();
    ran.assert_code(0);
    assert_eq!(ran.summary(), "done 3");
    assert_eq!(ran.json()["missing"], 0);
    assert_eq!(site.git_in(&shallow, &["for-each-ref"]), before);
    assert_eq!(site.git_in(&shallow, &["status", "--porcelain"]), "");
    assert_eq!(site.writes(), "mastodon 1");
}

#[test]
fn what_is_kept_can_be_read_and_is_continued() {
    let site = mastodon().every_channel(UNHURRIED).start();
    let kept = site.path("kept");
    let keep = kept.display().to_string();
    let ran = rehearse(&site, &["--keep", &keep]);
    assert_exactly_once(&ran, 3);
    assert_eq!(
        ran.json()["kept"],
        Value::from(kept.canonicalize().unwrap().display().to_string())
    );
    let log = |format: &str| {
        site.git_in(
            &kept.join("work"),
            &["log", "--reverse", format, "origin/main"],
        )
    };
    let states = log("--format=%(trailers:key=State,valueonly,separator=+)");
    // A result and the next claim may share a commit.
    let states: Vec<_> = states
        .split(['+', '\n'])
        .filter(|state| !state.is_empty())
        .collect();
    assert_eq!(
        states,
        [
            "in_flight",
            "done",
            "in_flight",
            "done",
            "in_flight",
            "done"
        ]
    );
    let commits = log("--format=%H");
    let again = rehearse(&site, &["--keep", &keep]);
    assert_exactly_once(&again, 3);
    assert_eq!(deliveries(&again.json()), deliveries(&ran.json()));
    assert_eq!(log("--format=%H"), commits, "nothing was left to do");
}

#[test]
fn the_posts_are_shown_as_they_would_look() {
    let site = mastodon().articles(1).every_channel(UNHURRIED).start();
    let ran = site
        .program_without_secrets(&site.path("site"), &["rehearse", "--speed", "20"])
        .run();
    ran.assert_code(0);
    let (posts, _) = ran.stdout.split_once("What the ledger says:").unwrap();
    insta::assert_snapshot!(posts, @r"
    The posts as they would look:

      mastodon
      | Article 1
      | 
      | https://blog.example/article-1/
    ");
    let end = "The stand-ins counted 1 post, 0 missing and 0 posted twice.";
    assert!(ran.stdout.contains(end), "{}", ran.stdout);
}
