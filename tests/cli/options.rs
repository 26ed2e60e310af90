//! What the command line can ask for.

use super::site::{address, four_channels, mastodon};

#[test]
fn a_deadline_that_leaves_no_time_for_a_send_sends_nothing() {
    let site = mastodon().start();
    let ran = site.run(&["--deadline", "1s"]);
    ran.assert_code(6);
    assert_eq!(ran.summary(), "pending 3");
    assert_eq!(site.writes(), "mastodon 0");
    assert_eq!(site.remote(&["log", "--format=%s", "main"]), "the blog");
    let why = "mastodon: nothing is sent in 1s, since one post may take 40s (`timeout` 30s, and 10s for two pushes): give a \
               longer `--deadline`, or the channel a shorter `timeout`\n";
    assert!(ran.stderr.contains(why), "{}", ran.stderr);
}

#[test]
fn a_bound_on_attempts_is_kept_and_repeated_runs_get_there() {
    let site = mastodon().start();
    for (code, summary) in [
        (6, "done 1, pending 2"),
        (6, "done 2, pending 1"),
        (0, "done 3"),
    ] {
        let ran = site.run(&["--max", "1"]);
        ran.assert_code(code);
        assert_eq!(ran.summary(), summary);
    }
    site.assert_exactly_once();
    assert_eq!(site.writes(), "mastodon 3");
}

#[test]
fn items_and_channels_can_be_chosen() {
    let site = four_channels().start();
    let ran = site.run(&[
        "--item",
        "article-2",
        "--channel",
        "mastodon",
        "--channel",
        "search",
    ]);
    ran.assert_code(0);
    assert_eq!(
        ran.deliveries(),
        "article-2 search done response 1\narticle-2 mastodon done response 1\n"
    );
    let ran = site.run(&[
        "--item",
        &address(3),
        "--item",
        "/article-1/",
        "--channel",
        "devto",
    ]);
    ran.assert_code(0);
    assert_eq!(
        ran.deliveries(),
        "article-1 devto done response 1\narticle-3 devto done response 1\n"
    );
    assert_eq!(site.writes(), "search 1, bluesky 0, mastodon 1, devto 2");
    let status = site.sayonce(&["status", "--format", "json", "--channel", "devto"]);
    assert_eq!(status.summary(), "done 2, pending 1");
}

#[test]
fn what_does_not_exist_is_named_and_nothing_is_done() {
    let site = four_channels().start();
    let check = |arguments: &[&str]| {
        let ran = site.sayonce(arguments);
        ran.assert_code(2);
        assert_eq!((ran.stdout.as_str(), site.requests()), ("", 0));
        assert_eq!(site.remote(&["log", "--format=%s", "main"]), "the blog");
        let words = ran
            .stderr
            .lines()
            .filter(|line| !line.contains(" is below "));
        words.collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(check(&["run", "--channel", "masto"]), @r"
    error: there is no enabled channel `masto`
      hint: the channels are search, bluesky, mastodon, devto
    ");
    insta::assert_snapshot!(check(&["run", "--item", "article-9"]), @r"
    error: there is no item `article-9`
      hint: name it by its id, its URL or its source file; `sayonce plan` lists the ids
    ");
    insta::assert_snapshot!(check(&["rehearse", "--item", "article-9"]), @r"
    error: there is no item `article-9`
      hint: name it by its id, its URL or its source file; `sayonce plan` lists the ids
    ");
    insta::assert_snapshot!(check(&["rehearse", "--fault", "masto:1=kill"]), @r"
    error: the fault order `masto:1=kill` names no channel here; there is `search`, `bluesky`, `mastodon`, `devto`
    ");
    insta::assert_snapshot!(check(&["baseline", "--channel", "masto"]), @r"
    error: there is no enabled channel `masto`
      hint: the channels are search, bluesky, mastodon, devto
    ");
    insta::assert_snapshot!(check(&["plan", "--item", "https://elsewhere.example/x"]), @r"
    error: there is no item `https://elsewhere.example/x`
      hint: name it by its id, its URL or its source file; `sayonce plan` lists the ids
    ");
    insta::assert_snapshot!(check(&["run", "--fail-on", "1-9"]), @r"
    error: invalid value '1-9' for '--fail-on <CODES>': `1-9` is not a list of exit codes such as `1-5` or `1,3,4`

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(check(&["run", "--deadline", "4"]), @r"
    error: invalid value '4' for '--deadline <DURATION>': `4` is not a duration: write an integer with `ms`, `s`, `m`, `h` or `d`, such as `75s`

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(check(&["announce"]), @r"
    error: unrecognized subcommand 'announce'

    Usage: sayonce [OPTIONS] <COMMAND>

    For more information, try '--help'.
    ");
}

#[test]
fn an_exit_code_that_is_not_a_failure_here_becomes_0() {
    let site = mastodon().start();
    let ran = site.run(&["--max", "1", "--fail-on", "1-5"]);
    ran.assert_code(0);
    assert_eq!(ran.summary(), "done 1, pending 2");
    assert_eq!(ran.json()["exit"], 6, "the report tells what it was");
    site.run(&["--max", "1", "--fail-on", "1-6"]).assert_code(6);
    site.program_without_secrets(&site.path("site"), &["run", "--fail-on", "1-5"])
        .run()
        .assert_code(2);
    site.program_without_secrets(&site.path("site"), &["run", "--fail-on", "3,4"])
        .run()
        .assert_code(0);
}

#[test]
fn json_is_one_object_on_standard_output_and_logs_go_to_standard_error() {
    let site = mastodon().articles(1).every_channel("").start();
    for (arguments, keys) in [
        (
            &["plan"][..],
            "schema deliveries summary out_of_scope out_of_scope_items problems notices ledger",
        ),
        (
            &["status", "--fetch"],
            "schema deliveries summary out_of_scope out_of_scope_items problems notices ledger",
        ),
        (
            &["run", "--max", "0"],
            "schema deliveries summary alarms problems out_of_scope next_due waited_ms elapsed_ms exit",
        ),
        (&["baseline"], "schema added"),
        (
            &["rehearse"],
            "schema deliveries summary alarms problems out_of_scope next_due waited_ms elapsed_ms exit posts \
             duplicates missing kept",
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
        assert_eq!(found.join(" "), keys, "{arguments:?}");
        assert_eq!(report["schema"], 1);
        assert!(ran.stdout.ends_with("}\n"), "{arguments:?}");
    }
}
