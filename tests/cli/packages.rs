//! What packages carry beside the binary: completions, manual pages, and a version that can be told.

use super::site::mastodon;

#[test]
fn completions_and_manual_pages_name_every_command() {
    let site = mastodon().start();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ran = site
            .program(&["completions", shell])
            .environment([("GITHUB_ACTIONS", "true")])
            .run();
        ran.assert_code(0);
        assert!(ran.stdout.contains("rehearse"), "{shell}: {}", ran.stdout);
        assert!(!ran.stdout.contains("stop-commands"), "{shell}");
    }
    let pages = site.path("pages");
    let ran = site.sayonce(&["man", pages.to_str().unwrap()]);
    ran.assert_code(0);
    let mut names: Vec<_> = std::fs::read_dir(&pages)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort_unstable();
    insta::assert_snapshot!(names.join(" "), @"sayonce-adopt.1 sayonce-again.1 sayonce-approve.1 sayonce-audit.1 sayonce-baseline.1 sayonce-completions.1 sayonce-doctor.1 sayonce-init.1 sayonce-ledger-accept.1 sayonce-ledger-repair.1 sayonce-ledger.1 sayonce-man.1 sayonce-plan.1 sayonce-rehearse.1 sayonce-rename.1 sayonce-resolve.1 sayonce-retract.1 sayonce-retry.1 sayonce-run.1 sayonce-skip.1 sayonce-status.1 sayonce-update.1 sayonce.1");
    let page = std::fs::read_to_string(pages.join("sayonce-run.1")).unwrap();
    assert!(page.contains(".TH sayonce-run 1"), "{page}");
    assert!(page.contains("\\-\\-deadline"), "{page}");
}

#[test]
fn the_version_is_short_or_with_its_commit() {
    let site = mastodon().start();
    let expected = format!("sayonce {}", env!("CARGO_PKG_VERSION"));
    let short = site.sayonce(&["-V"]);
    assert_eq!(short.stdout.trim_end(), expected);
    let long = site.sayonce(&["--version"]).stdout;
    let stamp = long.trim_end().strip_prefix(&expected).unwrap();
    // `(abc1234 2026-11-29)`, where the build knows its commit.
    let words: Vec<_> = stamp.trim().trim_matches(['(', ')']).split(' ').collect();
    assert!(stamp.is_empty() || words[0].len() >= 7, "{long}");
}
