//! What only looks changes nothing.

use std::time::Duration;

use sayonce::model::time::Timestamp;

use super::site::{Site, four_channels, mastodon};

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
        &["doctor"],
    ] {
        let ran = site.sayonce(arguments);
        assert!(matches!(ran.code(), Some(0 | 2 | 5)), "{ran:?}");
        assert_eq!(state(&site), before, "{arguments:?}");
    }
}

#[test]
fn the_plan_says_when_each_turn_is_counted_from_the_last_claim() {
    let site = mastodon().every_channel("interval = \"2h\"").start();
    site.run(&["--max-wait", "0s"]).assert_code(6);
    let claimed_at = &site.row("article-1", "mastodon")["operations"]["publish"]["claimed_at"];
    let claimed_at = Timestamp::parse(claimed_at.as_str().unwrap()).unwrap();
    for command in ["plan", "status"] {
        let planned = site.sayonce(&[command, "--format", "json"]).json();
        for (place, hours) in [(1, 2), (2, 4)] {
            let turn = claimed_at.plus(Duration::from_hours(hours)).to_string();
            let delivery = &planned["deliveries"][place];
            assert_eq!(delivery["due_at"], *turn);
            assert_eq!(
                delivery["reason"],
                format!("due at {turn}: the channel's `interval`")
            );
        }
    }
    // People are told the time once.
    let turn = claimed_at.plus(Duration::from_hours(2)).to_chrono();
    let day = turn.format("%Y-%m-%d %H:%M:%S UTC");
    insta::assert_snapshot!(site.sayonce(&["plan", "--item", "article-2"]).stdout.replace(&day.to_string(), "TIME"), @r"
    article-2 on mastodon - not yet, due at TIME
      waits: the channel's `interval`
      text (34 of 500):
        | Article 2
        | 
        | https://blog.example/article-2/
    1 delivery: 1 not sent yet.
    ");
}
