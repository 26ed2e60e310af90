//! Declared channels through the whole program: rehearsals with presets, every policy under faults, and no secret
//! anywhere.

use serde_json::Value;

use super::program::Ran;
use super::site::{Plan, Site, feed};

/// Own times, so that a busy machine does not time out: 1 s for an answer.
const TIMES: &str = "interval = \"1s\"\ntimeout = \"20s\"\nsend_window = \"10s\"\nquarantine = \"0s\"\nsettle = \"0s\"\n";

/// A site with one declared channel, not in any service's hands: it is only rehearsed.
pub(super) fn site(channel: &str) -> Site {
    let site = Plan::of(&[]).start();
    let configuration = format!(
        "{}\n[channels.own]\nkind = \"http\"\n{TIMES}{channel}\n",
        site.configuration()
    );
    site.write("sayonce.toml", &configuration);
    site
}

fn rehearse(site: &Site, arguments: &[&str]) -> Ran {
    let all = [
        &["rehearse", "--format", "json", "--speed", "20"],
        arguments,
    ]
    .concat();
    site.program_without_secrets(&site.path("site"), &all).run()
}

/// Rehearses a channel; tells the exit code, the deliveries, and the counts of the stand-in.
fn check(channel: &str, faults: &[&str]) -> String {
    let site = site(channel);
    let orders: Vec<String> = faults.iter().map(|fault| format!("own:{fault}")).collect();
    let arguments: Vec<&str> = orders
        .iter()
        .flat_map(|order| ["--fault", order.as_str()])
        .collect();
    let ran = rehearse(&site, &arguments);
    let report = ran.json();
    let counts: Vec<String> = report["posts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| format!("{} x{}", one["item"].as_str().unwrap(), one["count"]))
        .collect();
    format!(
        "exit {}\n{}{}\nduplicates {}, missing {}",
        ran.code().unwrap(),
        ran.deliveries(),
        counts.join(", "),
        report["duplicates"],
        report["missing"],
    )
}

/// As the stand-in counts.
const EXACTLY_ONCE: &str = "article-1 x1, article-2 x1, article-3 x1\nduplicates 0, missing 0";

pub(super) const CUSTOM: &str =
    "preset = \"custom\"\nvalues = { endpoint = \"https://own.example/posts\" }";
pub(super) const SLACK: &str = "preset = \"slack\"\nvalues = { channel = \"C0123456789\" }";

#[test]
fn every_preset_is_rehearsed_without_a_secret() {
    for preset in [
        CUSTOM,
        "preset = \"discord\"",
        "preset = \"slack-webhook\"",
        SLACK,
        "preset = \"telegram\"\nvalues = { chat = \"@blog\" }",
        "preset = \"weibo\"\nvalues = { ip = \"192.0.2.1\", uid = 4711 }",
        "preset = \"micropub\"\nvalues = { endpoint = \"https://second.example/micropub\" }",
        "preset = \"linkedin\"\nvalues = { author = \"urn:li:person:x\" }",
        "preset = \"wordpress\"\nvalues = { server = \"https://wordpress.example\", author = 7 }",
        "preset = \"ghost\"\nvalues = { server = \"https://ghost.example\" }",
        "preset = \"threads\"\nvalues = { user = 17 }",
        "preset = \"webmention\"\nvalues = { endpoint = \"https://bridge.example/w\", target = \"https://bridge.example/\" }",
        "preset = \"websub\"\nvalues = { hub = \"https://hub.example/\", topic = \"https://blog.example/feed.xml\" }",
    ] {
        let told = check(preset, &[]);
        let expected = "exit 0\n\
             article-1 own done response 1\n\
             article-2 own done response 1\n\
             article-3 own done response 1\n\
             article-1 x1, article-2 x1, article-3 x1\n\
             duplicates 0, missing 0";
        assert_eq!(told, expected, "{preset}");
    }
}

fn check_keyed(channel: &str, fault: &str) {
    let told = check(channel, &[&format!("1={fault}")]);
    assert!(
        told.starts_with("exit 0\narticle-1 own done response 2\n"),
        "{told}"
    );
    assert!(told.ends_with(EXACTLY_ONCE), "{told}");
}

/// What can't be read and has no key is never sent twice: a person says what became of it.
#[test]
fn a_lost_answer_is_held_where_nothing_can_be_proved() {
    insta::assert_snapshot!(check("preset = \"discord\"", &["1=lost-answer", "3=lost-request"]), @r"
    exit 5
    article-1 own held - 1
    article-2 own done response 1
    article-3 own held - 1
    article-1 x1, article-2 x1, article-3 x0
    duplicates 0, missing 1
    ");
}

#[test]
fn a_key_that_lives_for_ever_makes_every_repeat_the_first() {
    for fault in [
        "lost-answer",
        "lost-request",
        "status=500-stored",
        "slow=30s",
    ] {
        check_keyed(CUSTOM, fault);
    }
    // The key as the id of what is made, in its address and in its body.
    let chosen = "success = { status = [200, 201] }\nreceipt = { id = \"/id\" }\n\
                  request = { key_lifetime = \"permanent\", ";
    let in_address = "method = \"PUT\", url = \"https://own.example/posts/{{ key }}\", \
                      json = { text = \"{{ text }}\" } }";
    let in_body = "url = \"https://own.example/posts\", json = { id = \"{{ key }}\", text = \"{{ text }}\" } }";
    for request in [in_address, in_body] {
        check_keyed(&format!("{chosen}{request}"), "lost-answer");
    }
}

#[test]
fn what_can_be_read_is_looked_up_and_sent_again_only_if_it_is_absent() {
    for (fault, evidence) in [
        ("lost-answer", "read_back 1"),
        ("lost-request", "response 2"),
        ("status=500-stored", "read_back 1"),
        ("slow=30s", "read_back 1"),
    ] {
        let told = check(SLACK, &[&format!("1={fault}")]);
        let first = format!("exit 0\narticle-1 own done {evidence}\n");
        assert!(told.starts_with(&first), "{fault}: {told}");
        assert!(told.ends_with(EXACTLY_ONCE), "{fault}: {told}");
    }
}

#[test]
fn a_ping_is_repeated() {
    let webmention = "preset = \"webmention\"\nvalues = { endpoint = \"https://bridge.example/w\", target = \"https://bridge.example/\" }";
    insta::assert_snapshot!(check(webmention, &["1=lost-answer", "2=status=500"]), @r"
    exit 0
    article-1 own done response 2
    article-2 own done response 2
    article-3 own done response 1
    article-1 x1, article-2 x1, article-3 x1
    duplicates 0, missing 0
    ");
}

#[test]
fn a_rate_limit_is_waited_for_and_a_refusal_is_not_repeated() {
    insta::assert_snapshot!(check("preset = \"telegram\"\nvalues = { chat = \"@blog\" }", &["1=status=429:30", "2=status=400"]), @r"
    exit 4
    article-1 own failed - 2
    article-2 own done response 1
    article-3 own done response 1
    article-1 x0, article-2 x1, article-3 x1
    duplicates 0, missing 1
    ");
}

/// The made-up secrets of a rehearsal are secrets as well: not in the scratch ledger, its log, or what is shown.
#[test]
fn no_secret_stands_in_rows_commits_or_output() {
    for channel in [
        "preset = \"discord\"",
        "preset = \"telegram\"\nvalues = { chat = \"@blog\" }",
    ] {
        let site = site(channel);
        let kept = site.path("kept");
        let directory = kept.to_str().unwrap();
        let ran = rehearse(
            &site,
            &[
                "--keep",
                directory,
                "--fault",
                "own:1=status=500",
                "--fault",
                "own:2=status=403",
            ],
        );
        let log = site.git_in(&kept.join("remote.git"), &["log", "-p", "--all"]);
        for text in [&ran.stdout, &ran.stderr, &log] {
            assert!(!text.contains("rehearsal-secret"), "{text}");
        }
        assert!(log.contains("article-1"), "{log}");
    }
}

/// An edited article changes its post, also where the post has to be read before.
#[test]
fn an_edit_is_rehearsed_with_what_stands() {
    let site = site(
        "follow_edits = true\npreset = \"ghost\"\nvalues = { server = \"https://ghost.example\" }",
    );
    let kept = site.path("kept");
    let directory = kept.to_str().unwrap();
    rehearse(&site, &["--keep", directory]).assert_code(0);
    let edited = feed(&[1, 2, 3]).replace("Article 1", "Article one");
    site.write("_site/feed.xml", &edited);
    let ran = rehearse(
        &site,
        &["--keep", directory, "--fault", "own:4=lost-answer"],
    );
    ran.assert_code(0);
    assert_eq!(
        ran.deliveries(),
        "article-1 own done response 2\narticle-2 own done response 1\narticle-3 own done response 1\n"
    );
    let log = std::fs::read_to_string(kept.join("services").join("own.jsonl")).unwrap();
    let requests: Vec<String> = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|line| line["method"].is_string() && line["path"] != "/ghost/api/admin/posts/")
        .map(|line| format!("{} {} {}", line["method"], line["path"], line["status"]))
        .collect();
    // The second look is whether the change was made, which Ghost's text can't tell: then it is made again.
    insta::assert_snapshot!(requests.join("\n"), @r#"
    "GET" "/ghost/api/admin/posts/1/" 200
    "PUT" "/ghost/api/admin/posts/1/" "cut"
    "GET" "/ghost/api/admin/posts/1/" 200
    "GET" "/ghost/api/admin/posts/1/" 200
    "PUT" "/ghost/api/admin/posts/1/" 200
    "#);
}

/// `plan` shows the exact text, its length as the service counts, and needs no secret.
#[test]
fn plan_shows_the_text_and_its_limit() {
    let site = site("preset = \"weibo\"\nvalues = { ip = \"192.0.2.1\", uid = 4711 }");
    let ran = site
        .program_without_secrets(
            &site.path("site"),
            &["plan", "--format", "json", "--item", "article-1"],
        )
        .run();
    let report = ran.json();
    let one = &report["deliveries"][0];
    insta::assert_snapshot!(
        format!("{} {} {}\n{:#}", one["text"], one["length"], one["limit"], one["post"]),
        @r#"
    "Article 1\n\nhttps://blog.example/article-1/" 21 140
    {
      "text": "Article 1\n\nhttps://blog.example/article-1/",
      "url": "https://blog.example/article-1/"
    }
    "#
    );
}

/// A run without the secret leaves the channel out and says which variable is missing.
#[test]
fn a_missing_secret_leaves_the_channel_out() {
    let site = site("preset = \"discord\"");
    let ran = site
        .program_without_secrets(&site.path("site"), &["run", "--format", "json"])
        .run();
    ran.assert_code(2);
    assert!(
        ran.stderr
            .contains("the environment variable DISCORD_WEBHOOK_URL is not set"),
        "{}",
        ran.stderr
    );
}

/// The first of two requests is invisible: without its answer another one is made. Only the second one can be in doubt.
#[test]
fn of_two_requests_only_the_second_publishes() {
    for (fault, evidence) in [
        ("1=lost-answer", "response 2"),
        ("1=status=500", "response 2"),
        ("2=lost-answer", "read_back 1"),
        ("2=status=500-stored", "read_back 1"),
        ("2=lost-request", "response 2"),
    ] {
        let told = check("preset = \"threads\"\nvalues = { user = 17 }", &[fault]);
        let first = format!("exit 0\narticle-1 own done {evidence}\n");
        assert!(told.starts_with(&first), "{fault}: {told}");
        assert!(told.ends_with(EXACTLY_ONCE), "{fault}: {told}");
    }
}
