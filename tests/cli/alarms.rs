//! What somebody should look at: the same words from a run, from an audit, and in JSON.

use sayonce::model::channel::Kind;

use super::program::Ran;
use super::site::{Plan, Site, mastodon};

/// The alarms of a text.
fn in_text(ran: &Ran) -> Vec<String> {
    let lines = ran.stdout.lines();
    let alarms = lines.filter_map(|line| line.strip_prefix("alarm: "));
    alarms.map(str::to_owned).collect()
}

/// The alarms of a JSON report, which are on standard error, too.
fn in_json(ran: &Ran) -> Vec<String> {
    let report = ran.json();
    let alarms: Vec<_> = report["alarms"]
        .as_array()
        .unwrap()
        .iter()
        .map(|alarm| alarm.as_str().unwrap().to_owned())
        .collect();
    for alarm in &alarms {
        let line = format!("alarm: {alarm}\n");
        assert!(ran.stderr.contains(&line), "{}", ran.stderr);
    }
    alarms
}

/// A sentence without what differs each time.
fn plain(site: &Site, sentence: &str) -> String {
    let base = site.configuration();
    let server = base
        .lines()
        .find_map(|line| line.strip_prefix("server = \""))
        .map(|rest| rest.trim_end_matches('"').to_owned());
    let sentence = match server {
        Some(server) => sentence.replace(&server, "SERVER"),
        None => sentence.to_owned(),
    };
    let sentence = match sentence.split_once(" in doubt for ") {
        Some((before, after)) => {
            let rest = after.split_once("Z;").map_or("", |(_, rest)| rest);
            let more = if rest.is_empty() { "" } else { ";" };
            format!("{before} in doubt for TIME{more}{rest}")
        }
        None => sentence,
    };
    let words = sentence.split_inclusive("/@blog/").map(|part| {
        part.trim_start_matches(|letter: char| letter.is_ascii_digit())
            .to_owned()
    });
    words.collect()
}

/// Asks in all four ways; each must end with `codes` (run, audit) and tell exactly one alarm, the same one.
#[track_caller]
fn check(site: &Site, run: &[&str], audit: &[&str], codes: (i32, i32)) -> String {
    let text = |verb: &str, more: &[&str]| site.sayonce(&[&[verb], more].concat());
    let json =
        |verb: &str, more: &[&str]| site.sayonce(&[&[verb, "--format", "json"], more].concat());
    let audits = [text("audit", audit), json("audit", audit)];
    let runs = [text("run", run), json("run", run)];
    for (ran, code) in audits.iter().map(|ran| (ran, codes.1)) {
        ran.assert_code(code);
    }
    for (ran, code) in runs.iter().map(|ran| (ran, codes.0)) {
        ran.assert_code(code);
    }
    let [text_audit, json_audit] = audits;
    let [text_run, json_run] = runs;
    let told = [
        in_text(&text_run),
        in_json(&json_run),
        in_text(&text_audit),
        in_json(&json_audit),
    ]
    .map(|alarms| {
        assert_eq!(alarms.len(), 1, "{alarms:?}");
        plain(site, &alarms[0])
    });
    assert!(told.iter().all(|one| *one == told[0]), "{told:#?}");
    told[0].clone()
}

#[test]
fn a_doubt_that_lasts() {
    let site = mastodon()
        .articles(1)
        .channel("mastodon", "lookups = [\"1s\"]\nquarantine = \"3h\"")
        .fault("mastodon:1=lost-request")
        .start();
    site.run(&["--max-wait", "0s"]).assert_code(6);
    site.let_hours_pass(1);
    assert_eq!(
        check(&site, &["--max-wait", "0s"], &[], (6, 5)),
        "article-1 on mastodon: in doubt for TIME"
    );
}

#[test]
fn a_doubt_on_a_channel_that_is_switched_off() {
    let mut site = Plan::of(&[("mastodon", Kind::Mastodon), ("devto", Kind::Devto)])
        .articles(1)
        .channel("devto", "lookups = [\"1s\"]")
        .fault("devto:1=lost-request")
        .start();
    site.run(&["--max-wait", "0s"]).assert_code(6);
    site.let_hours_pass(1);
    site.plan = site.plan.clone().channel("devto", "enabled = false");
    site.build();
    assert_eq!(
        check(&site, &[], &[], (0, 5)),
        "article-1 on devto: in doubt for TIME; its channel is switched off (`enabled = false`), so nobody looks for it: \
         switch it on for one run"
    );
    let ran = site.sayonce(&["audit"]);
    assert!(
        ran.stdout
            .starts_with("devto: switched off (`enabled = false`), so nothing is asked about it\n"),
        "{}",
        ran.stdout
    );
    let ran = site.sayonce(&["audit", "--format", "json"]);
    assert_eq!(ran.json()["switched_off"].to_string(), r#"["devto"]"#);
}

#[test]
fn what_is_due_and_not_proved_for_too_long() {
    let site = mastodon()
        .articles(1)
        .site("overdue = \"2h\"")
        .fault("mastodon:1=status=429:36000")
        .start();
    site.run(&["--max-wait", "0s"]).assert_code(6);
    site.let_hours_pass(3);
    assert_eq!(
        check(&site, &["--max-wait", "0s"], &[], (5, 5)),
        "article-1 on mastodon: due for 3h 00m and not proved"
    );
}

#[test]
fn a_ledger_that_moved_backwards() {
    let site = mastodon()
        .articles(2)
        .ledger("branch = \"sayonce-ledger\"")
        .start();
    site.run(&[]).assert_code(0);
    let branch = "refs/heads/sayonce-ledger";
    site.remote(&["update-ref", branch, "refs/heads/sayonce-ledger~2"]);
    insta::assert_snapshot!(check(&site, &[], &[], (3, 3)), @r#"
    the ledger was rewound: the row of article-1 on mastodon lost a receipt (`publish`), and 1 more rows went backwards; nothing is sent. `sayonce ledger repair` brings back what its witness remembers, `sayonce ledger accept` takes the ledger as it is now; to start afresh, delete the branch and `refs/sayonce/witness`, and run `sayonce baseline` next, or what is online is announced again
    "#);
    site.remote(&["update-ref", "-d", branch]);
    insta::assert_snapshot!(check(&site, &[], &[], (3, 3)), @r#"
    the ledger was rewound: the branch `sayonce-ledger` is gone from `origin`, but its witness is there; nothing is sent. `sayonce ledger repair` brings back what its witness remembers, `sayonce ledger accept` takes the ledger as it is now; to start afresh, delete the branch and `refs/sayonce/witness`, and run `sayonce baseline` next, or what is online is announced again
    "#);
    assert_eq!(site.writes(), "mastodon 2");
}

#[test]
fn a_channel_that_posts_as_somebody_else_now() {
    let mut site = mastodon()
        .articles(1)
        .ledger("branch = \"sayonce-ledger\"")
        .start();
    site.run(&[]).assert_code(0);
    // The same words of an account that is another one.
    site.git(&["fetch", "--quiet", "origin", "sayonce-ledger"]);
    site.git(&["checkout", "--quiet", "-b", "edit", "FETCH_HEAD"]);
    let row = std::fs::read_to_string(site.path("site/ledger/article-1/mastodon.json")).unwrap();
    let account = "https://mastodon.rehearsal.example/@blog\"";
    assert!(row.contains(account), "{row}");
    site.write(
        "ledger/article-1/mastodon.json",
        &row.replace(account, "https://mastodon.rehearsal.example/@before\""),
    );
    site.git(&["commit", "--quiet", "--all", "--message", "another account"]);
    site.git(&["push", "--quiet", "origin", "edit:sayonce-ledger"]);
    site.git(&["checkout", "--quiet", "main"]);
    let sentence = "mastodon: the account changed from https://mastodon.rehearsal.example/@before to \
                    https://mastodon.rehearsal.example/@blog: what is new is posted there, and what \
                    https://mastodon.rehearsal.example/@before posted can't be read back any more";
    let ran = site.sayonce(&["audit", "--remote"]);
    ran.assert_code(5);
    assert_eq!(in_text(&ran), [sentence]);
    let ran = site.sayonce(&["audit", "--remote", "--format", "json"]);
    assert_eq!(in_json(&ran), [sentence]);
    site.plan.articles.push(2);
    site.build();
    let ran = site.sayonce(&["run"]);
    ran.assert_code(0);
    assert_eq!(in_text(&ran), [sentence]);
    // Its own posts are what the next run knows of it.
    site.plan.articles.push(3);
    site.build();
    assert_eq!(in_json(&site.run(&[])), [""; 0]);
    assert_eq!(
        in_json(&site.sayonce(&["audit", "--remote", "--format", "json"])),
        [""; 0]
    );
}

#[test]
fn a_post_that_was_there_already() {
    let site = mastodon()
        .articles(1)
        .ledger("branch = \"sayonce-ledger\"")
        .start();
    let forget_the_ledger = || {
        for name in ["refs/heads/sayonce-ledger", "refs/sayonce/witness"] {
            site.remote(&["update-ref", "-d", name]);
        }
    };
    site.run(&[]).assert_code(0);
    forget_the_ledger();
    let text = site.sayonce(&["run"]);
    text.assert_code(0);
    let audits = [
        in_text(&site.sayonce(&["audit"])),
        in_json(&site.sayonce(&["audit", "--format", "json"])),
    ];
    site.sayonce(&["audit"]).assert_code(5);
    forget_the_ledger();
    let json = site.run(&[]);
    json.assert_code(0);
    let told = in_text(&text);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(in_json(&json), told);
    assert_eq!(audits, [told.clone(), told]);
    // It is news for a day.
    site.git(&["fetch", "--quiet", "origin", "sayonce-ledger"]);
    site.git(&["checkout", "--quiet", "-B", "edit", "FETCH_HEAD"]);
    let path = "ledger/article-1/mastodon.json";
    let row = std::fs::read_to_string(site.path("site").join(path)).unwrap();
    let settled_at = row
        .lines()
        .find(|line| line.contains("\"settled_at\""))
        .unwrap();
    site.write(
        path,
        &row.replace(
            settled_at,
            "      \"settled_at\": \"2026-01-02T00:00:00.000Z\",",
        ),
    );
    site.git(&["commit", "--quiet", "--all", "--message", "long ago"]);
    site.git(&["push", "--quiet", "origin", "edit:sayonce-ledger"]);
    site.git(&["checkout", "--quiet", "main"]);
    let ran = site.sayonce(&["audit"]);
    ran.assert_code(0);
    assert_eq!(in_text(&ran), [""; 0]);
}

#[test]
fn a_feed_that_is_too_short() {
    let mut site = mastodon()
        .articles(2)
        .ledger("branch = \"sayonce-ledger\"")
        .start();
    site.run(&[]).assert_code(0);
    site.plan.articles = (8..=12).collect();
    site.build();
    let audits = [
        in_text(&site.sayonce(&["audit"])),
        in_json(&site.sayonce(&["audit", "--format", "json"])),
    ];
    let told = in_text(&site.sayonce(&["run"]));
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("mastodon: articles may have come and gone unseen: "));
    assert_eq!(audits, [told.clone(), told]);
}
