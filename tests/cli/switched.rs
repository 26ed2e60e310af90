//! What does not go out now, and is no trouble: a site that is switched off, a service that asked for a pause.

use super::program::Ran;
use super::site::{Site, mastodon};

/// `state due? reason` of each delivery.
fn reasons(ran: &Ran) -> String {
    let report = ran.json();
    let lines = report["deliveries"].as_array().unwrap().iter().map(|one| {
        let due = one["due_at"].as_str();
        let mut reason = one["reason"].as_str().unwrap_or("-").to_owned();
        if let Some(due) = due {
            reason = reason.replace(due, "TIME");
        }
        format!(
            "{} {}, due {}: {reason}\n",
            one["item"].as_str().unwrap(),
            one["state"].as_str().unwrap(),
            due.map_or("any time", |_| "at TIME"),
        )
    });
    lines.collect()
}

fn off(articles: usize) -> Site {
    let site = mastodon()
        .articles(articles)
        .site("enabled = false")
        .start();
    assert_eq!(site.writes(), "mastodon 0");
    site
}

#[test]
fn a_site_that_is_switched_off_announces_nothing_and_says_so() {
    let site = off(1);
    let ran = site.sayonce(&["run"]);
    ran.assert_code(0);
    insta::assert_snapshot!(ran.stdout, @r#"
    Article 1  [article-1]
      mastodon  not sent yet
                `site.enabled = false`: nothing new is announced

    1 delivery: 1 not sent yet.
    "#);
    assert!(
        ran.stderr
            .contains("`site.enabled` is `false`: nothing new is announced\n"),
        "{}",
        ran.stderr
    );
    let ran = site.sayonce(&["audit"]);
    ran.assert_code(6);
    insta::assert_snapshot!(ran.stdout, @r#"
    article-1 on mastodon: not announced while the site is switched off
      `site.enabled = false`: nothing new is announced

    1 delivery: 1 not sent yet.
    Not proved: 1 switched off. `site.enabled = true` lets the next run announce.
    "#);
    let ran = site.sayonce(&["audit", "--format", "json"]);
    let report = ran.json();
    assert_eq!(report["holes"].to_string(), "[]");
    assert_eq!(report["proved"], false);
    assert_eq!(report["findings"][0]["open"], "switched_off");
    for verb in ["plan", "status"] {
        let ran = site.sayonce(&[verb, "--format", "json"]);
        ran.assert_code(0);
        insta::allow_duplicates! {
            insta::assert_snapshot!(reasons(&ran), @r#"
            article-1 pending, due any time: `site.enabled = false`: nothing new is announced
            "#);
        }
    }
    assert_eq!(site.writes(), "mastodon 0");
}

#[test]
fn a_site_that_is_switched_off_does_not_speak_of_floods() {
    let site = off(6);
    let ran = site.run(&[]);
    ran.assert_code(0);
    assert_eq!(ran.problems(), [""; 0]);
    assert_eq!(ran.summary(), "pending 6");
}

#[test]
fn what_the_ledger_holds_is_settled_while_the_site_is_switched_off() {
    let mut site = mastodon()
        .articles(2)
        .channel("mastodon", "lookups = [\"5s\"]")
        .fault("mastodon:1=lost-answer")
        .start();
    site.run(&["--item", "article-1", "--max-wait", "0s"])
        .assert_code(6);
    site.plan = site.plan.clone().site("enabled = false");
    site.build();
    let ran = site.run(&[]);
    ran.assert_code(0);
    assert_eq!(
        ran.deliveries(),
        "article-1 mastodon done read_back 1\narticle-2 mastodon pending - 0\n"
    );
    assert_eq!(site.writes(), "mastodon 1");
}

#[test]
fn while_a_service_rests_everything_on_it_says_until_when() {
    let site = mastodon()
        .articles(2)
        .fault("mastodon:1=status=429:3600")
        .start();
    let ran = site.run(&["--max-wait", "0s"]);
    ran.assert_code(6);
    insta::allow_duplicates! {
        insta::assert_snapshot!(reasons(&ran), @r#"
        article-1 retry, due at TIME: HTTP 429: {"error":"Too many requests"}
        article-2 pending, due at TIME: due at TIME: the service asked for a pause
        "#);
        for verb in ["plan", "status"] {
            let ran = site.sayonce(&[verb, "--fetch", "--format", "json"]);
            ran.assert_code(0);
            insta::assert_snapshot!(reasons(&ran), @r#"
            article-1 retry, due at TIME: HTTP 429: {"error":"Too many requests"}
            article-2 pending, due at TIME: due at TIME: the service asked for a pause
            "#);
        }
    }
    let ran = site.sayonce(&["audit", "--format", "json"]);
    ran.assert_code(6);
    let report = ran.json();
    for finding in report["findings"].as_array().unwrap() {
        assert_eq!(finding["open"], "waiting", "{finding}");
    }
}

#[test]
fn a_plan_that_has_to_leave_an_article_out_says_so() {
    let site = mastodon().articles(2).start();
    let feed = super::site::feed(&[1, 2]).replace("article-1/", "article-1.json/");
    let twin = feed
        .lines()
        .find(|line| line.contains("Article 1"))
        .unwrap()
        .replace("article-1.json/", "article-1.json_/");
    site.write(
        "_site/feed.xml",
        &feed.replace("</feed>", &format!("{twin}</feed>")),
    );
    for verb in ["plan", "status", "run"] {
        let ran = site.sayonce(&[verb, "--format", "json"]);
        ran.assert_code(2);
        assert_eq!(ran.json()["deliveries"].as_array().unwrap().len(), 1);
        assert_eq!(ran.problems().len(), 1, "{verb}: {:?}", ran.problems());
    }
}
