//! Where the ledger can live: any clone, a branch of its own, a repository without a remote.

use std::path::PathBuf;

use super::site::{Site, four_channels, mastodon};

#[test]
fn a_clone_of_depth_one_is_enough_and_stays_one() {
    let site = four_channels().articles(2).start();
    site.write("about.md", "A second commit.\n");
    site.commit_and_push("about");
    let shallow = clone(&site, "shallow", &["--depth", "1"]);
    let boundary = std::fs::read(shallow.join(".git/shallow")).unwrap();
    for _ in 0..2 {
        let ran = site
            .program_in(&shallow, &["run", "--format", "json"])
            .run();
        ran.assert_code(0);
        assert_eq!(ran.summary(), "done 8");
    }
    site.assert_exactly_once();
    assert_eq!(
        std::fs::read(shallow.join(".git/shallow")).unwrap(),
        boundary
    );
    assert_eq!(site.git_in(&shallow, &["status", "--porcelain"]), "");
    // Both of the blog's commits are still under the ledger's.
    let subjects = site.remote(&["log", "--format=%s", "--author=The author", "main"]);
    assert_eq!(subjects, "about\nthe blog");
}

/// Clones the remote by URL, as a host would have it: a path alone would share the objects.
fn clone(site: &Site, name: &str, options: &[&str]) -> PathBuf {
    let url = format!("file://{}", site.path("remote.git").display());
    let mut arguments = vec!["clone", "--quiet"];
    arguments.extend(options);
    arguments.extend([url.as_str(), name]);
    site.git_in(&site.path(""), &arguments);
    site.path(name)
}

#[test]
fn a_branch_of_its_own_holds_the_ledger_and_nothing_else() {
    let site = four_channels()
        .articles(2)
        .ledger("branch = \"sayonce-ledger\"")
        .start();
    let main = site.remote(&["rev-parse", "main"]);
    let before = site.git(&["status", "--porcelain", "--branch"]);
    site.run(&[]).assert_code(0);
    site.assert_exactly_once();
    assert_eq!(site.remote(&["rev-parse", "main"]), main);
    assert_eq!(site.git(&["status", "--porcelain", "--branch"]), before);
    assert_eq!(
        site.remote(&["ls-tree", "-r", "--name-only", "sayonce-ledger"]),
        "ledger/article-1/bluesky.json\n\
         ledger/article-1/devto.json\n\
         ledger/article-1/mastodon.json\n\
         ledger/article-1/search.json\n\
         ledger/article-2/bluesky.json\n\
         ledger/article-2/devto.json\n\
         ledger/article-2/mastodon.json\n\
         ledger/article-2/search.json\n\
         ledger/ledger.json"
    );
    let roots = site.remote(&["rev-list", "--max-parents=0", "sayonce-ledger", "^main"]);
    assert_eq!(roots.lines().count(), 1, "an orphan branch: {roots}");
    // A clone of the site alone still finds the ledger.
    let other = clone(&site, "other", &["--depth", "1", "--single-branch"]);
    let writes = site.writes();
    site.program_in(&other, &["run"]).run().assert_code(0);
    assert_eq!(site.writes(), writes);
}

#[test]
fn without_a_remote_the_branch_moves_and_the_work_tree_follows() {
    let check = |ledger: &str, remote: &str| {
        let site = mastodon().ledger(ledger).start();
        let pushed = site.remote(&["rev-parse", "main"]);
        if remote == "removed" {
            site.git(&["remote", "remove", "origin"]);
        }
        let before = site.git(&["rev-parse", "HEAD"]);
        site.run(&[]).assert_code(0);
        site.assert_exactly_once();
        assert_eq!(site.git(&["status", "--porcelain"]), "", "{ledger}");
        assert_eq!(site.git(&["symbolic-ref", "HEAD"]), "refs/heads/main");
        assert_eq!(
            site.git(&["rev-list", "--count", &format!("{before}..main")]),
            "4"
        );
        let rows = "ledger/article-1/mastodon.json\nledger/article-2/mastodon.json\n\
                    ledger/article-3/mastodon.json\nledger/ledger.json";
        assert_eq!(site.git(&["ls-files", "ledger"]), rows);
        for row in rows.lines() {
            assert!(site.path("site").join(row).is_file(), "{row}");
        }
        assert_eq!(site.remote(&["rev-parse", "main"]), pushed, "{ledger}");
        let writes = site.writes();
        site.run(&[]).assert_code(0);
        assert_eq!(site.writes(), writes);
    };
    check("push = \"never\"", "kept");
    check("push = \"auto\"", "removed");
}

#[test]
fn without_a_remote_unrelated_changes_are_left_alone() {
    let site = mastodon().ledger("push = \"never\"").start();
    site.write("_posts/draft.md", "not committed yet\n");
    site.write("sayonce.toml", &(site.configuration() + "\n# edited\n"));
    site.write("staged.md", "staged\n");
    site.git(&["add", "staged.md"]);
    let before = site.git(&["status", "--porcelain"]);
    site.run(&[]).assert_code(0);
    assert_eq!(site.git(&["status", "--porcelain"]), before);
    assert_eq!(site.git(&["log", "--format=%s", "--", "staged.md"]), "");
}

#[test]
fn a_detached_checkout_without_a_branch_is_told_what_to_set() {
    let site = mastodon().start();
    site.git(&["checkout", "--quiet", "--detach"]);
    let ran = site.sayonce(&["run"]);
    ran.assert_code(3);
    insta::assert_snapshot!(ran.stderr, @r#"
    error: no branch is checked out here, so the ledger's branch is not known
      hint: set `branch` under `[ledger]`, such as `branch = "sayonce"`
    "#);
    assert_eq!(site.requests(), 0);
    assert_eq!(site.remote(&["log", "--format=%s", "main"]), "the blog");
}

#[test]
fn a_job_that_is_run_again_on_its_old_commit_reads_the_ledger_of_today() {
    let site = mastodon().start();
    site.run(&[]).assert_code(0);
    let writes = site.writes();
    // As actions/checkout leaves it.
    let job = clone(&site, "job", &[]);
    let first = site.remote(&["rev-list", "--max-parents=0", "main"]);
    site.git_in(&job, &["checkout", "--quiet", "--detach", &first]);
    let variables = [
        ("GITHUB_ACTIONS", "true"),
        ("GITHUB_REF", "refs/heads/main"),
        ("GITHUB_REF_NAME", "main"),
        ("GITHUB_REF_TYPE", "branch"),
    ];
    let program = site.program_in(&job, &["run", "--format", "json"]);
    let ran = program.environment(variables).run();
    ran.assert_code(0);
    assert_eq!(ran.summary(), "done 3");
    assert_eq!(site.writes(), writes);
}

#[test]
fn paths_start_at_the_top_wherever_the_command_is_given() {
    let site = mastodon().start();
    let posts = site.path("site/_posts");
    let ran = site.program_in(&posts, &["plan", "--format", "json"]).run();
    ran.assert_code(0);
    assert_eq!(ran.summary(), "pending 3");
    let elsewhere = site.home();
    let top = site.path("site").display().to_string();
    let ran = site
        .program_in(&elsewhere, &["--repo", &top, "run", "--format", "json"])
        .run();
    ran.assert_code(0);
    site.assert_exactly_once();
    // A configuration elsewhere, with the same paths.
    let other = site.path("other.toml");
    std::fs::copy(site.path("site/sayonce.toml"), &other).unwrap();
    let other = other.display().to_string();
    let ran = site.sayonce(&["--config", &other, "status", "--format", "json"]);
    ran.assert_code(0);
    assert_eq!(ran.summary(), "done 3");
}
