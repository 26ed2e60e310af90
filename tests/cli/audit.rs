//! `audit`: is every delivery proved?

use sayonce::model::channel::Kind;
use serde_json::Value;

use super::program::Ran;
use super::site::{Site, four_channels, mastodon, secret_variable};

/// What an audit says, without the times and ids that differ each time.
fn said(ran: &Ran) -> String {
    let lines = ran.stdout.lines().map(|line| {
        let line = match line.split_once(", since ") {
            Some((before, _)) => format!("{before}, since TIME"),
            None => line.to_owned(),
        };
        let line = match line.split_once(": in doubt for ") {
            Some((before, _)) => format!("{before}: in doubt for TIME"),
            None => line,
        };
        match line.split_once("/@blog/") {
            Some((before, after)) => {
                let after = after.trim_start_matches(|letter: char| letter.is_ascii_digit());
                format!("{before}/@blog/ID{after}")
            }
            None => line,
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// `open item channel` of every finding, and the exit code.
fn findings(ran: &Ran) -> String {
    let report = ran.json();
    let word = |finding: &Value, key: &str| finding[key].as_str().unwrap_or("-").to_owned();
    let lines = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| {
            let words = ["open", "item", "channel", "command"].map(|key| word(finding, key));
            words.join(" ") + "\n"
        });
    lines.collect()
}

/// The alarms of a report.
fn alarms(ran: &Ran) -> Vec<String> {
    let report = ran.json();
    let alarms = report["alarms"].as_array().unwrap().iter();
    alarms.map(|one| one.as_str().unwrap().to_owned()).collect()
}

#[track_caller]
fn audit(site: &Site, arguments: &[&str], code: i32) -> Ran {
    let before = site.remote(&["for-each-ref"]);
    let ran = site.sayonce(&[&["audit", "--format", "json"], arguments].concat());
    ran.assert_code(code);
    assert_eq!(ran.json()["exit"], code);
    assert_eq!(ran.json()["proved"], code == 0);
    assert_eq!(
        site.remote(&["for-each-ref"]),
        before,
        "an audit writes nothing"
    );
    ran
}

#[test]
fn nothing_is_proved_before_the_first_run_and_everything_after_it() {
    let site = four_channels().articles(2).start();
    let ran = audit(&site, &[], 5);
    assert_eq!(ran.json()["holes"].as_array().unwrap().len(), 8);
    assert_eq!(ran.summary(), "pending 8");
    site.run(&[]).assert_code(0);
    let requests = site.requests();
    let ran = audit(&site, &[], 0);
    assert_eq!(
        (findings(&ran).as_str(), ran.summary().as_str()),
        ("", "done 8")
    );
    assert_eq!(
        site.requests(),
        requests,
        "without --remote nobody is asked"
    );
    let ran = site.sayonce(&["audit"]);
    ran.assert_code(0);
    insta::assert_snapshot!(ran.stdout, @r"
    8 deliveries: 8 posted and proved.
    Proved: every article is posted on every channel, or not to be announced there.
    ");
}

#[test]
fn the_report_is_one_object_with_documented_keys() {
    let site = mastodon().articles(1).every_channel("").start();
    for (arguments, keys) in [
        (
            &["audit"][..],
            "schema deliveries summary proved holes findings alarms problems out_of_scope ledger exit",
        ),
        (
            &["audit", "--remote"],
            "schema deliveries summary proved holes findings alarms problems out_of_scope remote ledger exit",
        ),
    ] {
        let ran = site.sayonce(&[arguments, &["--format", "json"]].concat());
        let report = ran.json();
        let found: Vec<_> = report
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        assert_eq!(found.join(" "), keys);
        assert_eq!(
            report["holes"][0].to_string(),
            r#"{"item":"article-1","channel":"mastodon","open":"hole","since":null,"reason":"due now","command":"sayonce run","commands":["sayonce run"]}"#
        );
    }
}

#[test]
fn what_is_open_is_named_with_what_frees_it() {
    let site = mastodon()
        .articles(5)
        .site("max_new = 9")
        .fault("mastodon:2=status=422")
        .fault("mastodon:3=lost-request")
        .fault("mastodon:4=status=429:3600")
        .start();
    for (item, code) in [
        ("article-1", 0),
        ("article-2", 4),
        ("article-3", 6),
        ("article-4", 6),
    ] {
        site.run(&["--item", item, "--max-wait", "0s"])
            .assert_code(code);
    }
    let ran = audit(&site, &[], 4);
    insta::assert_snapshot!(findings(&ran), @r"
    failed article-2 mastodon sayonce retry article-2 mastodon, or: sayonce skip article-2 mastodon
    waiting article-3 mastodon -
    waiting article-4 mastodon -
    waiting article-5 mastodon -
    ");
    assert_eq!(ran.json()["holes"].as_array().unwrap().len(), 0);
    let only_waiting = audit(&site, &["--item", "article-4", "--item", "article-1"], 6);
    assert_eq!(findings(&only_waiting), "waiting article-4 mastodon -\n");
    let text = site.sayonce(&["audit", "--item", "article-4"]);
    text.assert_code(6);
    assert!(
        text.stdout
            .ends_with("Not proved: 1 waiting. Nothing needs doing; the next run continues.\n"),
        "{}",
        text.stdout
    );
    // A doubt that lasts, and a day later everything that is still open is overdue.
    site.let_hours_pass(1);
    let ran = site.sayonce(&["audit"]);
    ran.assert_code(4);
    insta::assert_snapshot!(said(&ran), @r#"
    article-2 on mastodon: refused, since TIME
      HTTP 422: {"error":"Bad Request"}
      sayonce retry article-2 mastodon  # the next run sends it once more
      sayonce skip article-2 mastodon  # it shall not be announced
    article-3 on mastodon: stuck, nobody knows whether it was sent, since TIME
      the answer of 127.0.0.1 was lost: Peer disconnected
      sayonce run  # looks for it
      sayonce resolve article-3 mastodon --posted URL  # if you see it
    article-4 on mastodon: due and not sent, since TIME
      HTTP 429: {"error":"Too many requests"}
      sayonce run
    article-5 on mastodon: due and not sent, since TIME
      due now
      sayonce run

    alarm: article-3 on mastodon: in doubt for TIME
    5 deliveries: 1 posted and proved, 1 refused, 1 being checked, 1 to be sent again, 1 not sent yet.
    Not proved: 2 due and not sent, 1 stuck, 1 refused, 1 alarm.
    "#);
    site.let_hours_pass(24);
    let ran = audit(&site, &["--item", "article-4", "--item", "article-5"], 5);
    insta::assert_snapshot!(alarms(&ran).join("\n"), @r"
    article-4 on mastodon: due for 1d 01h and not proved
    article-5 on mastodon: due for 1d 01h and not proved
    ");
}

#[test]
fn what_waits_for_a_person_is_named_with_the_command() {
    let site = mastodon()
        .articles(2)
        .channel("mastodon", "gate = \"manual\"")
        .start();
    site.sayonce(&["approve", "article-1", "mastodon"])
        .assert_code(0);
    site.run(&[]).assert_code(5);
    let ran = site.sayonce(&["audit"]);
    ran.assert_code(5);
    insta::assert_snapshot!(said(&ran), @r#"
    article-2 on mastodon: due and not sent, since TIME
      `gate = "manual"`: `sayonce approve article-2 mastodon` sends it

    2 deliveries: 1 posted and proved, 1 not sent yet.
    Not proved: 1 due and not sent.
    "#);
    let ran = super::people::lost_and_held().sayonce(&["audit"]);
    ran.assert_code(5);
    insta::assert_snapshot!(said(&ran), @r#"
    article-1 on mastodon: needs you, since TIME
      it is not there after the quiet point, and `gate = "confirm"` lets only a person send it again
      sayonce resolve article-1 mastodon --posted URL  # it is there
      sayonce resolve article-1 mastodon --not-posted  # it is not: the next run sends it once more
      sayonce skip article-1 mastodon  # it shall not be announced

    1 delivery: 1 held for you.
    Not proved: 1 held for you.
    "#);
}

#[test]
fn a_killed_runs_claim_is_stuck_after_its_quiet_point() {
    let site = mastodon().articles(1).fault("mastodon:1=slow=1s").start();
    let run = site.start(&["run"]);
    super::stopped::until_a_write_is_open(&site);
    run.signal("KILL", &site.home());
    run.end();
    let ran = audit(&site, &[], 6);
    assert_eq!(findings(&ran), "waiting article-1 mastodon -\n");
    assert_eq!(alarms(&ran), [""; 0]);
    site.let_hours_pass(1);
    let ran = audit(&site, &[], 5);
    insta::assert_snapshot!(findings(&ran), @r"
    stuck article-1 mastodon sayonce run, or: sayonce resolve article-1 mastodon --posted URL
    ");
    assert_eq!(alarms(&ran).len(), 1, "{:?}", alarms(&ran));
}

#[test]
fn a_ledger_that_was_rewound_or_that_can_not_be_read_proves_nothing() {
    let site = mastodon()
        .articles(2)
        .ledger("branch = \"sayonce-ledger\"")
        .start();
    site.run(&[]).assert_code(0);
    site.remote(&[
        "update-ref",
        "refs/heads/sayonce-ledger",
        "refs/heads/sayonce-ledger~2",
    ]);
    let ran = audit(&site, &[], 3);
    insta::assert_snapshot!(alarms(&ran).join("\n"), @r"
    the ledger was rewound: the row of article-1 on mastodon lost a receipt (`publish`), and 1 more rows went backwards; nothing is sent. `sayonce ledger repair` brings back what its witness remembers, `sayonce ledger accept` takes the ledger as it is now; to start afresh, delete the branch and `refs/sayonce/witness`, and run `sayonce baseline` next, or what is online is announced again
    ");
    site.git(&["remote", "set-url", "origin", "http://127.0.0.1:1/blog.git"]);
    let ran = site.sayonce(&["audit"]);
    ran.assert_code(3);
    assert_eq!(ran.stdout, "");
}

#[test]
fn a_row_that_can_not_be_read_is_named() {
    let site = mastodon().articles(1).start();
    site.run(&[]).assert_code(0);
    site.git(&["pull", "--quiet", "--ff-only", "origin", "main"]);
    site.write("ledger/article-1/mastodon.json", "<<<<<<< HEAD\n");
    site.commit_and_push("a bad merge");
    let ran = site.sayonce(&["audit"]);
    ran.assert_code(3);
    insta::assert_snapshot!(said(&ran), @r"
    article-1 on mastodon: its row can't be read
      ledger/article-1/mastodon.json can't be read: it has merge conflict markers
      git log -p -- ledger/article-1/mastodon.json  # shows how it was: mend it, and commit that

    problem: ledger/article-1/mastodon.json can't be read and is left as it is: it has merge conflict markers
    1 delivery: 1 not sent yet.
    Not proved: 1 not to be read, 1 problem.
    ");
}

#[test]
fn a_copy_of_the_ledger_is_enough_if_asked() {
    let mut site = mastodon()
        .articles(1)
        .ledger("branch = \"sayonce-ledger\"")
        .start();
    site.run(&[]).assert_code(0);
    let moved_away = site.path("elsewhere.git");
    std::fs::rename(site.path("remote.git"), &moved_away).unwrap();
    let ran = site.sayonce(&["audit", "--offline"]);
    ran.assert_code(0);
    site.sayonce(&["audit"]).assert_code(3);
    site.sayonce(&["audit", "--offline", "--fetch"])
        .assert_code(2);
    site.plan.articles.push(2);
    site.build();
    let ran = site.sayonce(&["audit", "--offline", "--format", "json"]);
    ran.assert_code(5);
    assert_eq!(findings(&ran), "hole article-2 mastodon sayonce run\n");
}

#[test]
fn articles_that_can_not_be_read_prove_nothing() {
    let site = mastodon().articles(1).start();
    site.run(&[]).assert_code(0);
    site.write("_site/feed.xml", "not a feed");
    let ran = site.sayonce(&["audit", "--format", "json"]);
    ran.assert_code(2);
    assert_eq!(ran.json()["proved"], false);
}

#[test]
fn a_flood_is_a_hole_that_names_the_way_out() {
    let site = mastodon().articles(6).start();
    let ran = site.sayonce(&["audit"]);
    ran.assert_code(2);
    let last: Vec<_> = ran.stdout.lines().rev().take(3).collect();
    insta::assert_snapshot!(last.into_iter().rev().collect::<Vec<_>>().join("\n"), @r"
    problem: mastodon is left out: its first run would announce 6 articles, more than `site.first_run_max` (5); `sayonce baseline --channel mastodon` marks them as announced before, `sayonce approve --all-new --channel mastodon` lets them all be announced
    6 deliveries: 6 not sent yet.
    Not proved: 6 due and not sent, 1 problem.
    ");
}

#[test]
fn the_accounts_are_read_back() {
    let mut site = four_channels().articles(2).start();
    site.run(&[]).assert_code(0);
    let requests = site.requests();
    let ran = site.sayonce(&["audit", "--remote"]);
    ran.assert_code(0);
    insta::assert_snapshot!(ran.stdout, @r"
    search: 2 posts could not be checked: this service can't be read
    bluesky: 2 posts are still there
    mastodon: 2 posts are still there
    devto: 2 posts are still there
    8 deliveries: 8 posted and proved.
    Proved: every article is posted on every channel, or not to be announced there.
    ");
    assert!(site.requests() > requests);
    assert_eq!(
        site.writes(),
        "search 1, bluesky 2, mastodon 2, devto 2",
        "nothing is written"
    );

    // The services forget everything: every post is gone, and nothing is sent by itself.
    site.forget_posts();
    let ran = site.sayonce(&[
        "audit",
        "--remote",
        "--channel",
        "mastodon",
        "--item",
        "article-1",
    ]);
    ran.assert_code(5);
    insta::assert_snapshot!(said(&ran), @r"
    mastodon: 0 posts are still there
    alarm: article-1 on mastodon: its post is not there any more: https://mastodon.rehearsal.example/@blog/ID; it is never sent again by itself, `sayonce again article-1 mastodon` announces it once more
    1 delivery: 1 posted and proved.
    Not proved: 1 alarm.
    ");
    let ran = audit(&site, &["--remote"], 5);
    let alarms = alarms(&ran);
    let gone = alarms
        .iter()
        .filter(|alarm| alarm.contains(": its post is not there any more: "));
    assert_eq!(gone.count(), 6, "{alarms:?}");
    assert_eq!(alarms.len(), 6, "{alarms:?}");
    audit(&site, &[], 0);
    site.run(&[]).assert_code(0);
    assert_eq!(site.writes(), "search 0, bluesky 0, mastodon 0, devto 0");
}

#[test]
fn an_account_that_can_not_be_read_is_said_plainly() {
    let site = four_channels().articles(1).start();
    site.run(&[]).assert_code(0);
    let ran = site
        .program(&["audit", "--remote"])
        .environment([
            (secret_variable(Kind::Mastodon), "a-wrong-token"),
            (secret_variable(Kind::Devto), ""),
        ])
        .run();
    ran.assert_code(2);
    insta::assert_snapshot!(ran.stdout, @r#"
    search: 1 post could not be checked: this service can't be read
    bluesky: 1 post is still there
    mastodon: 1 post could not be checked: HTTP 401: {"error":"The access token is invalid"}
    devto: 1 post could not be checked: DEVTO_API_KEY is not set
    problem: mastodon could not be read: HTTP 401: {"error":"The access token is invalid"}
    problem: channel `devto`: the environment variable DEVTO_API_KEY is not set
    4 deliveries: 4 posted and proved.
    Not proved: 2 problems.
    "#);
}

#[test]
fn a_feed_that_lost_articles_unseen_is_an_alarm() {
    let mut site = mastodon()
        .articles(2)
        .ledger("branch = \"sayonce-ledger\"")
        .start();
    site.run(&[]).assert_code(0);
    site.plan.articles = (8..=12).collect();
    site.build();
    let sentence = "mastodon: articles may have come and gone unseen: the oldest that the feed lists is of \
                    2026-01-08T09:00:00.000Z, the newest announced is of 2026-01-02T09:00:00.000Z; let the feed list \
                    more articles, or name a sitemap or a manifest beside it";
    assert_eq!(alarms(&audit(&site, &[], 5)), [sentence]);
    let ran = site.run(&[]);
    ran.assert_code(0);
    assert_eq!(alarms(&ran), [sentence]);
    assert!(
        ran.stderr.contains(&format!("alarm: {sentence}\n")),
        "{}",
        ran.stderr
    );
    // Now the list overlaps with what the ledger knows.
    site.plan.articles.push(13);
    site.build();
    let ran = site.run(&[]);
    ran.assert_code(0);
    assert_eq!(alarms(&ran), [""; 0]);
}

#[test]
fn a_feed_beside_a_whole_list_is_not_short() {
    let mut site = mastodon()
        .articles(1)
        .site("sitemap = \"_site/sitemap.xml\"")
        .ledger("branch = \"sayonce-ledger\"")
        .start();
    site.write(
        "_site/sitemap.xml",
        "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\"></urlset>",
    );
    site.run(&[]).assert_code(0);
    site.plan.articles = (8..=12).collect();
    site.build();
    assert_eq!(alarms(&site.run(&[])), [""; 0]);
}

#[test]
fn a_post_that_was_there_already_is_an_alarm_of_that_run() {
    let site = mastodon()
        .articles(1)
        .ledger("branch = \"sayonce-ledger\"")
        .start();
    site.run(&[]).assert_code(0);
    // A ledger that starts afresh knows nothing of it.
    for name in ["refs/heads/sayonce-ledger", "refs/sayonce/witness"] {
        site.remote(&["update-ref", "-d", name]);
    }
    let ran = site.sayonce(&["run"]);
    ran.assert_code(0);
    insta::assert_snapshot!(said(&ran), @r"
    Article 1  [article-1]
      mastodon  posted, proved: it was there already
                https://mastodon.rehearsal.example/@blog/ID

    alarm: article-1 on mastodon: not sent, because a post with its link was there already: https://mastodon.rehearsal.example/@blog/ID; `sayonce again article-1 mastodon` announces it all the same
    1 delivery: 1 posted and proved.
    ");
    assert_eq!(site.writes(), "mastodon 1");
    audit(&site, &["--remote"], 5);
    site.sayonce(&["again", "article-1", "mastodon"])
        .assert_code(0);
    site.run(&[]).assert_code(0);
    assert_eq!(site.writes(), "mastodon 2");
}
