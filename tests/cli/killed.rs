//! SIGKILL in the middle of a call, and the same command again.

use std::os::unix::process::ExitStatusExt as _;

use super::program::Ran;
use super::site::{Site, four_channels};

/// The end that no program can prevent.
const SIGKILL: i32 = 9;

/// Quick enough for a test, slow enough for a busy machine: a timeout is 1 s.
fn quick() -> Site {
    four_channels()
        .articles(2)
        .every_channel("interval = \"2s\"\ntimeout = \"20s\"\nsend_window = \"10s\"\nquarantine = \"0s\"\nsettle = \"0s\"")
        .start()
}

fn rehearse(site: &Site, fault: &str) -> Ran {
    let kept = site.path("kept").display().to_string();
    site.program_without_secrets(
        &site.path("site"),
        &[
            "rehearse", "--format", "json", "--speed", "20", "--keep", &kept, "--fault", fault,
        ],
    )
    .run()
}

fn check(fault: &str) {
    let site = quick();
    let killed = rehearse(&site, fault);
    assert_eq!(killed.status.signal(), Some(SIGKILL), "{fault}: {killed:?}");
    assert_eq!(killed.stdout, "");
    let ran = rehearse(&site, fault);
    ran.assert_code(0);
    assert_eq!(ran.summary(), "done 8", "{fault}");
    let report = ran.json();
    let counts = report["posts"].as_array().unwrap();
    assert_eq!(counts.len(), 8, "{fault}");
    for count in counts {
        let times = count["count"].as_u64().unwrap();
        // A ping may be repeated: that is its policy.
        let allowed = if count["channel"] == "search" {
            1..=2
        } else {
            1..=1
        };
        assert!(allowed.contains(&times), "{fault}: {count}");
    }
    assert_eq!(
        (&report["duplicates"], &report["missing"]),
        (&0.into(), &0.into()),
        "{fault}"
    );
    assert_eq!(
        site.requests(),
        0,
        "a rehearsal speaks to its own stand-ins"
    );
}

/// Most of the time is spent waiting for a claim's quiet point, so they wait side by side.
fn check_all(faults: &[&str]) {
    std::thread::scope(|scope| {
        for fault in faults {
            scope.spawn(|| check(fault));
        }
    });
}

#[test]
fn killed_after_the_post_was_stored_and_before_its_answer() {
    check_all(&[
        "devto:1=kill",
        "mastodon:2=kill",
        "bluesky:1=kill",
        "search:1=kill",
    ]);
}

#[test]
fn killed_before_the_post_was_stored() {
    check_all(&[
        "devto:1=kill-before",
        "mastodon:2=kill-before",
        "bluesky:1=kill-before",
    ]);
}

/// What the run after a killed one says, without times and ids.
fn successor(fault: &str) -> String {
    let site = super::site::mastodon()
        .articles(1)
        .every_channel("interval = \"0s\"\ntimeout = \"20s\"\nsend_window = \"10s\"\nquarantine = \"0s\"\nsettle = \"0s\"")
        .start();
    let kept = site.path("kept").display().to_string();
    let rehearse = |more: &[&str]| {
        let arguments = ["rehearse", "--speed", "20", "--keep", &kept];
        site.program_without_secrets(&site.path("site"), &[&arguments, more].concat())
            .run()
    };
    let killed = rehearse(&["--fault", fault]);
    assert_eq!(killed.status.signal(), Some(SIGKILL), "{killed:?}");
    let ran = rehearse(&[]);
    ran.assert_code(0);
    let lines = ran.stderr.lines().filter(|line| {
        // How often it looks and how long it waits goes by the machine's speed.
        let aside = ["waiting ", " looked for: ", "sayonce.toml:"];
        !aside.iter().any(|aside| line.contains(aside))
    });
    let lines = lines.map(|line| match line.split_once(" since ") {
        Some((before, after)) => {
            let (_, after) = after.split_once(';').unwrap();
            format!("{before} since TIME;{after}")
        }
        None => match line.split_once("/@blog/") {
            Some((before, after)) => {
                let after = after.trim_start_matches(|letter: char| letter.is_ascii_digit());
                format!("{before}/@blog/ID{after}")
            }
            None => line.to_owned(),
        },
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_run_after_a_killed_one_says_what_it_found_and_how_it_was_settled() {
    insta::assert_snapshot!(successor("mastodon:1=kill"), @r"
    article-1 on mastodon: an earlier run was sending it since TIME; that is settled before it is sent again
    article-1 on mastodon: posted: https://mastodon.rehearsal.example/@blog/ID (found on the account afterwards)
    ");
    insta::assert_snapshot!(successor("mastodon:1=kill-before"), @r"
    article-1 on mastodon: an earlier run was sending it since TIME; that is settled before it is sent again
    article-1 on mastodon: it is not there and can't get there any more, so it was never posted
    article-1 on mastodon: sending (attempt 2)
    article-1 on mastodon: posted: https://mastodon.rehearsal.example/@blog/ID (the service answered with its id)
    ");
}

#[test]
fn a_run_that_is_killed_while_the_service_works_is_continued_by_the_next() {
    let site = super::site::mastodon()
        .articles(2)
        .fault("mastodon:1=slow=1s")
        .start();
    let run = site.start(&["run", "--format", "json"]);
    super::stopped::until_a_write_is_open(&site);
    run.signal("KILL", &site.home());
    let killed = run.end();
    assert_eq!(killed.status.signal(), Some(SIGKILL), "{killed:?}");
    assert_eq!(site.posts().len(), 1, "the service stored it all the same");
    let ran = site.sayonce(&["run"]);
    ran.assert_code(0);
    assert!(
        ran.stderr
            .contains("article-1 on mastodon: an earlier run was sending it since "),
        "{}",
        ran.stderr
    );
    let status = site.sayonce(&["status", "--format", "json"]);
    assert_eq!(
        status.deliveries(),
        "article-1 mastodon done read_back 1\narticle-2 mastodon done response 1\n"
    );
    site.assert_exactly_once();
}

/// A declared channel is killed like any other: what can't be read and has no key is held, never sent twice.
#[test]
fn a_declared_channel_is_killed_in_the_middle_of_a_call() {
    let check = |channel: &str, fault: &str| {
        let site = super::declared::site(channel);
        let killed = rehearse(&site, fault);
        assert_eq!(killed.status.signal(), Some(SIGKILL), "{fault}: {killed:?}");
        let ran = rehearse(&site, fault);
        let report = ran.json();
        let counts: Vec<String> = report["posts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["count"].to_string())
            .collect();
        format!(
            "exit {}, {}, posts {}",
            ran.code().unwrap(),
            ran.summary(),
            counts.join(" ")
        )
    };
    let discord = "preset = \"discord\"";
    assert_eq!(
        check(discord, "own:1=kill"),
        "exit 5, done 2, held 1, posts 1 1 1"
    );
    assert_eq!(
        check(discord, "own:1=kill-before"),
        "exit 5, done 2, held 1, posts 0 1 1"
    );
    for channel in [super::declared::CUSTOM, super::declared::SLACK] {
        for fault in ["own:1=kill", "own:2=kill-before"] {
            assert_eq!(
                check(channel, fault),
                "exit 0, done 3, posts 1 1 1",
                "{channel} {fault}"
            );
        }
    }
}
