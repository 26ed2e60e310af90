//! The commands that are shown with what waits for a person do what they say, pasted into a shell as they stand.

use std::collections::BTreeSet;

use sayonce::model::channel::Kind;

use super::people::lost_and_held;
use super::program::{Program, Ran};
use super::site::{Plan, Site, mastodon};

/// The commands of a text: lines that are one, and what stands between backticks.
fn shown(ran: &Ran) -> BTreeSet<String> {
    let lines = ran.stdout.lines().map(str::trim);
    let alone = lines.filter(|line| line.starts_with("sayonce "));
    let quoted = ran.stdout.split('`').skip(1).step_by(2);
    let quoted = quoted.filter(|text| text.starts_with("sayonce "));
    alone.chain(quoted).map(str::to_owned).collect()
}

/// The commands of a JSON report.
fn listed(ran: &Ran, key: &str) -> BTreeSet<String> {
    let report = ran.json();
    let all = report[key].as_array().unwrap().iter();
    let commands = all.filter_map(|one| one["commands"].as_array());
    commands
        .flatten()
        .map(|command| command.as_str().unwrap().to_owned())
        .collect()
}

/// Types a line into a shell, with the address of a post where one is asked for.
fn paste(site: &Site, line: &str) -> Ran {
    let binary = assert_cmd::cargo::cargo_bin!("sayonce");
    let line = line
        .replace("URL", "https://mastodon.rehearsal.example/@blog/1")
        .replacen("sayonce", &binary.display().to_string(), 1);
    Program::new("sh", &site.path("site"), &site.home())
        .arguments(["-c", &line])
        .run()
}

/// Every place shows the same commands; each is pasted on a site of its own, and frees what it is shown with: it is not
/// listed any more.
#[track_caller]
fn check(site: impl Fn() -> Site) -> String {
    let first = site();
    let places = [
        shown(&first.sayonce(&["status", "--fetch"])),
        shown(&first.sayonce(&["audit"])),
        shown(&first.sayonce(&["run", "--max-wait", "0s"])),
    ];
    assert_eq!(places[0], places[1]);
    assert_eq!(places[0], places[2]);
    let bare = |line: &String| line.split("  # ").next().unwrap().to_owned();
    let typed: BTreeSet<_> = places[0].iter().map(bare).collect();
    for (verb, key) in [
        ("status", "deliveries"),
        ("audit", "findings"),
        ("run", "deliveries"),
    ] {
        let mut arguments = vec![verb, "--format", "json"];
        match verb {
            "status" => arguments.push("--fetch"),
            "run" => arguments.extend(["--max-wait", "0s"]),
            _ => {}
        }
        assert_eq!(listed(&first.sayonce(&arguments), key), typed, "{verb}");
    }
    let pasted = places[0].iter().map(|line| {
        let site = site();
        let ran = paste(&site, line);
        ran.assert_code(0);
        let after = shown(&site.sayonce(&["status", "--fetch"]));
        assert!(!after.contains(line), "{line} changed nothing: {after:?}");
        format!("$ {line}\n{}", ran.stdout)
    });
    pasted.collect()
}

#[test]
fn what_is_held() {
    insta::assert_snapshot!(check(lost_and_held), @r#"
    $ sayonce resolve article-1 mastodon --not-posted  # it is not: the next run sends it once more
    article-1 on mastodon: taken as not posted, on your word; the next run sends it once more
    $ sayonce resolve article-1 mastodon --posted URL  # it is there
    article-1 on mastodon: taken as posted, on your word
    $ sayonce skip article-1 mastodon  # it shall not be announced
    article-1 on mastodon: will not be announced
    "#);
}

#[test]
fn what_was_refused() {
    let site = || {
        let site = mastodon()
            .articles(1)
            .fault("mastodon:1=status=422")
            .start();
        site.run(&[]).assert_code(4);
        site
    };
    insta::assert_snapshot!(check(site), @r#"
    $ sayonce retry article-1 mastodon  # the next run sends it once more
    article-1 on mastodon: the next run sends it once more
    $ sayonce skip article-1 mastodon  # it shall not be announced
    article-1 on mastodon: will not be announced
    "#);
}

#[test]
fn what_waits_for_its_first_send() {
    let site = || {
        mastodon()
            .articles(1)
            .channel("mastodon", "gate = \"manual\"")
            .start()
    };
    insta::assert_snapshot!(check(site), @r#"
    $ sayonce approve article-1 mastodon
    article-1 on mastodon: approved; the next run sends it
    "#);
}

#[test]
fn what_looks_like_a_known_article() {
    let site = || {
        let site = mastodon().articles(1).start();
        site.run(&[]).assert_code(0);
        let feed = super::site::feed(&[1]).replace("/article-1/", "/moved/");
        site.write("_site/feed.xml", &feed);
        std::fs::remove_dir_all(site.path("site/_site/article-1")).unwrap();
        site
    };
    insta::assert_snapshot!(check(site), @r#"
    $ sayonce approve moved mastodon
    moved on mastodon: approved; the next run sends it
    $ sayonce rename article-1 moved
    https://blog.example/moved/ is article-1 from now on: it is not announced again
    "#);
}

#[test]
fn what_a_guard_keeps_back() {
    let site = || {
        Plan::of(&[("mastodon", Kind::Mastodon)])
            .articles(6)
            .start()
    };
    insta::assert_snapshot!(check(site), @r#"
    $ sayonce approve --all-new --channel mastodon
    mastodon: 6 articles will be announced by the next run
    $ sayonce baseline --channel mastodon
    mastodon: 6 articles are marked as announced before
    "#);
}
