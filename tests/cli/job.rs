//! The job from beginning to end, and again.

use std::time::UNIX_EPOCH;

use sayonce::model::channel::Kind;
use sayonce::model::time::Timestamp;
use serde_json::Value;

use super::program::deliveries;
use super::site::{Plan, Site, four_channels, mastodon};

/// Notes in the remote's `pushed/` when each commit came in.
const NOTE_PUSHES: &str =
    "mkdir -p pushed; while read old new reference; do : > \"pushed/$new\"; done";

#[test]
fn every_article_is_announced_everywhere_and_proved() {
    let site = four_channels().start();
    let ran = site.run(&[]);
    ran.assert_code(0);
    assert_eq!(
        ran.deliveries(),
        "article-1 search done response 1\n\
         article-1 bluesky done response 1\n\
         article-1 mastodon done response 1\n\
         article-1 devto done response 1\n\
         article-2 search done response 1\n\
         article-2 bluesky done response 1\n\
         article-2 mastodon done response 1\n\
         article-2 devto done response 1\n\
         article-3 search done response 1\n\
         article-3 bluesky done response 1\n\
         article-3 mastodon done response 1\n\
         article-3 devto done response 1\n"
    );
    site.assert_exactly_once();
}

#[test]
fn a_second_run_writes_nothing_and_commits_nothing() {
    let site = four_channels().start();
    site.run(&[]).assert_code(0);
    let (refs, writes) = (site.remote(&["for-each-ref"]), site.writes());
    assert_eq!(writes, "search 1, bluesky 3, mastodon 3, devto 3");
    let ran = site.run(&[]);
    ran.assert_code(0);
    assert_eq!(ran.summary(), "done 12");
    assert_eq!(
        (site.remote(&["for-each-ref"]), site.writes()),
        (refs, writes)
    );
}

#[test]
fn branch_index_and_work_tree_are_left_alone_and_the_witness_is_pushed() {
    let site = four_channels().start();
    let before = site.repository_state();
    site.run(&[]).assert_code(0);
    let ours = |state: &str| {
        let lines = state.lines().filter(|line| !line.contains("refs/sayonce/"));
        let lines = lines.filter(|line| !line.contains("refs/remotes/origin/"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(ours(&site.repository_state()), ours(&before));
    assert_eq!(site.git(&["status", "--porcelain"]), "");
    assert_eq!(
        site.remote(&["rev-parse", "refs/sayonce/witness"]),
        site.remote(&["rev-parse", "main"])
    );
    // A pull brings the rows.
    site.git(&["pull", "--quiet", "--ff-only", "origin", "main"]);
    assert_eq!(
        site.git(&["ls-files", "ledger"]),
        site.remote(&["ls-tree", "-r", "--name-only", "main", "ledger"])
    );
    assert_eq!(site.git(&["status", "--porcelain"]), "");
}

#[test]
fn nothing_is_sent_before_its_claim_is_on_the_remote() {
    let site = four_channels().start();
    site.hook("post-receive", NOTE_PUSHES);
    site.run(&[]).assert_code(0);
    for (channel, expected) in [("search", 1), ("bluesky", 3), ("mastodon", 3), ("devto", 3)] {
        let requests = site.write_requests(channel);
        assert_eq!(requests.len(), expected, "{channel}");
        // Oldest first, as the requests are.
        let claims = commits_with(&site, channel, "in_flight");
        let results = commits_with(&site, channel, "done");
        assert_eq!(
            (claims.len(), results.len()),
            (expected, expected),
            "{channel}"
        );
        for (request, claim) in requests.iter().zip(&claims) {
            let pushed_at = pushed_at(&site, claim);
            assert!(
                pushed_at <= request.at,
                "{channel}:{}: claimed at {pushed_at}, sent at {}",
                request.number,
                request.at
            );
        }
    }
}

/// When a commit was on the remote; not later than it really was.
fn pushed_at(site: &Site, commit: &str) -> Timestamp {
    let path = site.path("remote.git/pushed").join(commit);
    let modified = std::fs::metadata(path).unwrap().modified().unwrap();
    Timestamp::EPOCH.plus(modified.duration_since(UNIX_EPOCH).unwrap())
}

/// The commits in which rows of a channel came into `state`, oldest first.
fn commits_with(site: &Site, channel: &str, state: &str) -> Vec<String> {
    let commits = site.remote_log("main").into_iter();
    let has_one = |commit: &String| {
        let channels = site.trailer(commit, "Channel");
        let states = site.trailer(commit, "State");
        assert_eq!(channels.len(), states.len(), "{commit}");
        let mut moves = channels.iter().zip(&states);
        moves.any(|(one, came)| one == channel && came == state)
    };
    commits.filter(has_one).collect()
}

#[test]
fn the_log_of_the_remote_answers_what_went_out() {
    let site = mastodon().articles(2).start();
    let ran = site
        .program(&["run"])
        .environment([("GITHUB_RUN_ID", "4711"), ("GITHUB_RUN_ATTEMPT", "2")])
        .run();
    ran.assert_code(0);
    let log = site.remote(&["log", "--reverse", "--format=%an <%ae>%n%B", "main"]);
    insta::assert_snapshot!(without_numbers(&log), @r"
    The author <author@blog.example>
    the blog

    sayonce <sayonce@localhost>
    ledger: article-1 on mastodon: being sent (attempt 1) [skip ci]

    Item: article-1
    Channel: mastodon
    Operation: publish
    State: in_flight
    Attempt: 1
    Run: github:4711/2

    sayonce <sayonce@localhost>
    ledger: 2 deliveries: 1 being sent, 1 posted [skip ci]

    - article-1 on mastodon: posted, proved
    - article-2 on mastodon: being sent (attempt 1)

    Item: article-1
    Channel: mastodon
    Operation: publish
    State: done
    Attempt: 1
    Remote-Id: ID
    Run: github:4711/2
    Item: article-2
    Channel: mastodon
    Operation: publish
    State: in_flight
    Attempt: 1
    Run: github:4711/2

    sayonce <sayonce@localhost>
    ledger: article-2 on mastodon: posted, proved [skip ci]

    Item: article-2
    Channel: mastodon
    Operation: publish
    State: done
    Attempt: 1
    Remote-Id: ID
    Run: github:4711/2
    ");
    let keys = [
        "Item",
        "Channel",
        "Operation",
        "State",
        "Attempt",
        "Remote-Id",
        "Run",
    ];
    let columns = keys.map(|key| format!("%(trailers:key={key},valueonly,separator=+)"));
    let format = format!("--format={}", columns.join("|"));
    let table = site.remote(&["log", "--reverse", &format, "main"]);
    insta::assert_snapshot!(without_numbers(&table), @r"
    ||||||
    article-1|mastodon|publish|in_flight|1||github:4711/2
    article-1+article-2|mastodon+mastodon|publish+publish|done+in_flight|1+1|ID|github:4711/2+github:4711/2
    article-2|mastodon|publish|done|1|ID|github:4711/2
    ");
}

/// The text with every number of more than nine digits, which the services choose, replaced by `ID`.
fn without_numbers(text: &str) -> String {
    let words = text.split_inclusive(|letter: char| !letter.is_ascii_digit());
    let words = words.map(|word| {
        let digits = word.trim_end_matches(|letter: char| !letter.is_ascii_digit());
        if digits.len() > 9 {
            word.replace(digits, "ID")
        } else {
            word.to_owned()
        }
    });
    words.collect()
}

#[test]
fn the_report_is_one_object_with_documented_keys() {
    let site = mastodon().articles(1).start();
    let ran = site.run(&[]);
    ran.assert_code(0);
    let mut report = ran.json();
    let delivery = &mut report["deliveries"][0];
    let id = delivery["remote"]["id"].as_str().unwrap().to_owned();
    assert_eq!(
        delivery["remote"]["url"].as_str().unwrap(),
        format!("https://mastodon.rehearsal.example/@blog/{id}")
    );
    for (key, value) in [("id", "ID"), ("url", "URL")] {
        delivery["remote"][key] = Value::from(value);
    }
    delivery["updated_at"] = Value::from("TIME");
    for key in ["waited_ms", "elapsed_ms"] {
        assert!(report[key].is_u64(), "{report}");
        report[key] = Value::from(0);
    }
    insta::assert_snapshot!(format!("{report:#}"), @r#"
    {
      "schema": 1,
      "deliveries": [
        {
          "item": "article-1",
          "channel": "mastodon",
          "state": "done",
          "reason": null,
          "text": "Article 1\n\nhttps://blog.example/article-1/",
          "length": 34,
          "limit": 500,
          "attempt": 1,
          "remote": {
            "id": "ID",
            "url": "URL"
          },
          "evidence": "response",
          "updated_at": "TIME",
          "due_at": null,
          "notes": []
        }
      ],
      "summary": {
        "done": 1,
        "failed": 0,
        "held": 0,
        "in_doubt": 0,
        "retry": 0,
        "pending": 0,
        "skipped": 0,
        "busy": 0
      },
      "alarms": [],
      "problems": [],
      "out_of_scope": 0,
      "next_due": null,
      "waited_ms": 0,
      "elapsed_ms": 0,
      "exit": 0
    }
    "#);
}

#[test]
fn plan_shows_the_text_before_and_status_shows_the_proof_after() {
    // TIDs, which Bluesky's posts are called by, are no numbers.
    let channels = [
        ("search", Kind::IndexNow),
        ("mastodon", Kind::Mastodon),
        ("devto", Kind::Devto),
    ];
    let site = Plan::of(&channels).articles(1).start();
    let planned = site
        .program_without_secrets(&site.path("site"), &["plan"])
        .run();
    planned.assert_code(0);
    insta::assert_snapshot!(planned.stdout, @r"
    article-1 on search - not sent yet
      due now
      text (31):
        | https://blog.example/article-1/
    article-1 on mastodon - not sent yet
      due now
      text (34 of 500):
        | Article 1
        | 
        | https://blog.example/article-1/
    article-1 on devto - not sent yet
      due now
      text (9 of 128):
        | Article 1
    3 deliveries: 3 not sent yet.
    ");
    assert_eq!(site.requests(), 0, "a plan asks nobody");
    assert_eq!(
        site.remote(&["for-each-ref", "--format=%(refname)"]),
        "refs/heads/main"
    );
    site.run(&[]).assert_code(0);
    let status = site
        .program_without_secrets(&site.path("site"), &["status", "--format", "json"])
        .run();
    status.assert_code(0);
    assert_eq!(
        deliveries(&status.json()),
        "article-1 search done response 1\n\
         article-1 mastodon done response 1\n\
         article-1 devto done response 1\n"
    );
    assert_eq!(
        status.json()["ledger"]["tip"].as_str(),
        Some(site.remote(&["rev-parse", "main"]).as_str())
    );
    let status = site
        .program_without_secrets(&site.path("site"), &["status"])
        .run();
    status.assert_code(0);
    insta::assert_snapshot!(without_numbers(&status.stdout), @r"
    Article 1  [article-1]
      search    posted, proved: the service accepted it
      mastodon  posted, proved: the service answered with its id
                https://mastodon.rehearsal.example/@blog/ID
      devto     posted, proved: the service answered with its id
                https://devto.rehearsal.example/rehearsal_devto/article-1-b8b0

    3 deliveries: 3 posted and proved.
    ");
}

#[test]
fn a_run_tells_people_what_it_does_and_what_proves_it() {
    let site = mastodon().articles(1).every_channel("").start();
    let ran = site.sayonce(&["run"]);
    ran.assert_code(0);
    insta::assert_snapshot!(without_numbers(&ran.stderr), @r"
    article-1 on mastodon: sending
    article-1 on mastodon: posted: https://mastodon.rehearsal.example/@blog/ID (the service answered with its id)
    ");
    insta::assert_snapshot!(without_numbers(&ran.stdout), @r"
    Article 1  [article-1]
      mastodon  posted, proved: the service answered with its id
                https://mastodon.rehearsal.example/@blog/ID

    1 delivery: 1 posted and proved.
    ");
}
