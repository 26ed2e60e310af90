//! Guards against announcing a whole history.

use super::site::{Plan, Site, four_channels, mastodon};
use sayonce::model::channel::Kind;

/// Publishes one article more, or several.
fn publish(site: &mut Site, numbers: impl IntoIterator<Item = usize>) {
    site.plan.articles.extend(numbers);
    site.build();
    site.commit_and_push("a new article");
}

#[test]
fn a_first_run_with_a_long_history_announces_nothing_until_it_is_baselined() {
    let mut site = mastodon().articles(6).start();
    let ran = site.run(&[]);
    ran.assert_code(2);
    assert_eq!(
        ran.problems(),
        [
            "mastodon is left out: its first run would announce 6 articles, more than `site.first_run_max` (5); \
          `sayonce baseline --channel mastodon` marks them as announced before, \
         `sayonce approve --all-new --channel mastodon` lets them all be announced"
        ]
    );
    assert_eq!(ran.summary(), "pending 6");
    assert_eq!(site.writes(), "mastodon 0");

    let ran = site.sayonce(&["baseline"]);
    ran.assert_code(0);
    assert_eq!(
        ran.stdout,
        "mastodon: 6 articles are marked as announced before\n"
    );
    let again = site.sayonce(&["baseline"]);
    again.assert_code(0);
    assert_eq!(again.stdout, "mastodon: nothing new to baseline\n");
    assert_eq!(
        site.remote(&["log", "--reverse", "--format=%s", "main"]),
        "the blog\nledger: baseline of 6 deliveries [skip ci]"
    );
    let ran = site.run(&[]);
    ran.assert_code(0);
    assert_eq!(
        (ran.summary().as_str(), site.writes().as_str()),
        ("skipped 6", "mastodon 0")
    );

    site.git(&["pull", "--quiet", "--ff-only", "origin", "main"]);
    publish(&mut site, [7]);
    let ran = site.run(&[]);
    ran.assert_code(0);
    assert_eq!(ran.summary(), "done 1, skipped 6");
    assert_eq!(site.writes(), "mastodon 1");
    assert_eq!(
        site.posts().into_keys().collect::<Vec<_>>(),
        [("mastodon".to_owned(), super::site::address(7))]
    );
}

#[test]
fn a_flooded_channel_is_left_out_and_the_others_go_on() {
    let site = Plan::of(&[("search", Kind::IndexNow), ("mastodon", Kind::Mastodon)])
        .articles(6)
        .channel("mastodon", "since = \"2026-01-04\"")
        .start();
    let ran = site.run(&[]);
    ran.assert_code(2);
    assert_eq!(ran.summary(), "done 3, pending 6");
    assert_eq!(site.writes(), "search 0, mastodon 3");
    assert_eq!(ran.problems().len(), 1, "{:?}", ran.problems());
}

#[test]
fn choosing_one_item_does_not_get_past_the_guard() {
    let site = mastodon().articles(6).start();
    site.run(&["--item", "article-1"]).assert_code(2);
    assert_eq!(site.writes(), "mastodon 0");
}

#[test]
fn too_many_new_articles_in_a_later_run_are_left_out() {
    let mut site = mastodon()
        .articles(1)
        .ledger("branch = \"sayonce-ledger\"")
        .start();
    site.run(&[]).assert_code(0);
    publish(&mut site, 2..=7);
    let ran = site.run(&[]);
    ran.assert_code(5);
    assert_eq!(
        ran.problems(),
        [
            "mastodon is left out: 6 articles were never seen before, more than `site.max_new` (5); \
          `sayonce baseline --channel mastodon` marks them as announced before, \
         `sayonce approve --all-new --channel mastodon` lets them all be announced"
        ]
    );
    assert_eq!(site.writes(), "mastodon 1");
    site.plan = site.plan.clone().site("max_new = 6");
    site.build();
    site.run(&[]).assert_code(0);
    site.assert_exactly_once();
}

#[test]
fn a_channel_that_is_added_later_starts_with_the_next_article() {
    let mut site = four_channels()
        .articles(2)
        .channel("devto", "enabled = false")
        .ledger("branch = \"sayonce-ledger\"")
        .start();
    let ran = site.run(&[]);
    ran.assert_code(0);
    assert_eq!(ran.summary(), "done 6");
    site.plan = site.plan.clone().without_own_lines("devto");
    site.build();
    let ran = site.run(&[]);
    ran.assert_code(0);
    assert_eq!(ran.summary(), "done 6, skipped 2");
    let notice = "devto is new beside channels that are in use: the 2 articles that are online now are not announced \
                  there; it starts with the next one\n";
    assert!(ran.stderr.contains(notice), "{}", ran.stderr);
    assert_eq!(site.writes(), "search 1, bluesky 2, mastodon 2, devto 0");
    let baseline = site.remote(&["show", "sayonce-ledger:ledger/baseline.json"]);
    insta::assert_snapshot!(baseline, @r#"
    {
      "schema": 1,
      "channels": {
        "devto": [
          "article-1",
          "article-2"
        ]
      }
    }
    "#);
    publish(&mut site, [3]);
    let ran = site.run(&[]);
    ran.assert_code(0);
    assert_eq!(ran.summary(), "done 10, skipped 2");
    assert!(
        !ran.stderr.contains("is new beside"),
        "it is said once: {}",
        ran.stderr
    );
    assert_eq!(site.writes(), "search 2, bluesky 3, mastodon 3, devto 1");
}

#[test]
fn a_channel_under_a_new_name_is_not_taken_for_a_new_channel() {
    let site = mastodon().articles(2).every_channel("").start();
    site.run(&[]).assert_code(0);
    let configuration = site.configuration();
    site.write(
        "sayonce.toml",
        &configuration.replace("[channels.mastodon]", "[channels.fediverse]"),
    );
    let ran = site.run(&[]);
    ran.assert_code(2);
    assert_eq!(
        ran.problems(),
        [
            "fediverse is left out: it is new, and mastodon, which has rows in the ledger, is gone. If it is the same \
             channel, `sayonce adopt --rename mastodon fediverse` moves its rows; if it is another, `sayonce baseline \
             --channel fediverse` lets it start with the next article"
        ]
    );
    assert_eq!(site.writes(), "mastodon 2");
    site.write("sayonce.toml", &configuration);
    let ran = site.run(&[]);
    ran.assert_code(0);
    assert_eq!(ran.summary(), "done 2");
}

#[test]
fn what_is_older_than_since_is_out_of_scope() {
    let site = mastodon()
        .articles(8)
        .site("since = \"2026-01-07\"")
        .start();
    let ran = site.run(&[]);
    ran.assert_code(0);
    assert_eq!(
        ran.deliveries(),
        "article-7 mastodon done response 1\narticle-8 mastodon done response 1\n"
    );
    assert_eq!(ran.json()["out_of_scope"], 6);
}
