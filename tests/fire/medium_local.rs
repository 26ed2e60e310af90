//! git as a hostile medium, on this side: repositories that can't hold a ledger say so in whole sentences.

use super::stage::skip;
use crate::cli::program::{Program, Ran};
use crate::cli::site::{Site, mastodon};

fn site() -> Site {
    mastodon()
        .articles(1)
        .every_channel("interval = \"1s\"")
        .start()
}

/// What a run said, with the world's directory as `ROOT`.
fn said(site: &Site, ran: &Ran) -> String {
    let root = site.path("").display().to_string();
    format!("{}{}", ran.stderr, ran.stdout).replace(&root, "ROOT/")
}

/// Makes the site's repository anew with these options. An older git can't.
fn made_anew(site: &Site, options: &[&str]) -> bool {
    std::fs::remove_dir_all(site.path("site/.git")).unwrap();
    let made = Program::new("git", &site.path("site"), &site.home())
        .arguments(["init", "--quiet", "--initial-branch=main"])
        .arguments(options.iter().copied())
        .run();
    made.status.success()
}

#[test]
fn a_repository_of_another_format_is_refused_in_plain_words() {
    for (option, cause) in [
        (
            "--object-format=sha256",
            "unknown object format 'sha256'; class=Repository (6); code=Invalid (-21)",
        ),
        (
            "--ref-format=reftable",
            "unsupported extension name extensions.refstorage; class=Repository (6)",
        ),
    ] {
        let site = site();
        if !made_anew(&site, &[option]) {
            skip(&format!("this git knows no {option}"));
            continue;
        }
        let ran = site.sayonce(&["run"]);
        ran.assert_code(3);
        assert_eq!(
            said(&site, &ran),
            format!(
                "error: the git repository at . is of a format that is not supported\n  cause: {cause}\n  \
                 hint: only SHA-1 repositories with ordinary refs are supported yet; keep the ledger in such a \
                 repository\n"
            )
        );
        assert_eq!(site.writes(), "mastodon 0");
    }
}

#[test]
fn in_a_bare_repository_nothing_is_found_and_nothing_is_sent() {
    let site = site();
    let ran = site.program_in(&site.path("remote.git"), &["run"]).run();
    ran.assert_code(2);
    assert_eq!(
        said(&site, &ran),
        "error: ROOT/remote.git/sayonce.toml: there is no such file\n  hint: `sayonce init` writes one to begin \
         with; or name it with `--config FILE`\n"
    );
    let ran = site
        .program(&["--repo", "../remote.git", "--config", "sayonce.toml", "run"])
        .run();
    ran.assert_code(2);
    let problem = "can't read `_site`: build the site first, or correct `site.pages`: No such file or directory (os \
                   error 2); nothing new is announced";
    assert_eq!(
        said(&site, &ran),
        format!("{problem}\nproblem: {problem}\nNothing was announced.\n")
    );
    assert_eq!(site.writes(), "mastodon 0");
}

#[test]
fn a_repository_of_somebody_else_is_refused_with_gits_own_way_out() {
    let site = site();
    let ran = Program::new("chown", &site.path(""), &site.home())
        .arguments(["-R", "12345", "site"])
        .run();
    if !ran.status.success() {
        return skip("only root may give a repository away");
    }
    let ran = site.sayonce(&["run"]);
    ran.assert_code(3);
    assert_eq!(
        said(&site, &ran),
        "error: the git repository at ROOT/site belongs to another user\n  cause: repository path 'ROOT/site' is not \
         owned by current user; class=Config (7); code=Owner (-36)\n  hint: if you trust it: git config --global \
         --add safe.directory 'ROOT/site'\n"
    );
    assert_eq!(site.writes(), "mastodon 0");
    // What the hint says helps: git and libgit2 read the same file.
    let config = site.home().join(".gitconfig");
    let directory = site.path("site").canonicalize().unwrap();
    std::fs::write(
        &config,
        format!("[safe]\n\tdirectory = {}\n", directory.display()),
    )
    .unwrap();
    let ran = site
        .program(&["run"])
        .environment([("GIT_CONFIG_GLOBAL", config.to_str().unwrap())])
        .run();
    ran.assert_code(0);
    site.assert_exactly_once();
}

#[test]
fn without_a_remote_a_stale_index_lock_sends_nothing_and_is_left() {
    let site = mastodon()
        .articles(1)
        .every_channel("interval = \"1s\"")
        .ledger("push = \"never\"")
        .start();
    let lock = site.path("site/.git/index.lock");
    std::fs::write(&lock, "").unwrap();
    let ran = site.sayonce(&["run"]);
    ran.assert_code(3);
    let said = said(&site, &ran);
    let (before, _) = said.split_once("Work remains: ").unwrap();
    assert_eq!(
        before,
        "Article 1  [article-1]\n  mastodon  not sent yet\n            due now\n\n\
         problem: git's index is locked: ROOT/site/.git/index.lock exists; if no other git is at work in this \
         repository, remove the stale lock: rm 'ROOT/site/.git/index.lock'\n1 delivery: 1 not sent yet.\n"
    );
    assert!(lock.exists());
    assert_eq!(site.writes(), "mastodon 0");
    std::fs::remove_file(lock).unwrap();
    site.run(&[]).assert_code(0);
    site.assert_exactly_once();
}
