//! git itself: what the program and the library do in real repositories.

pub(crate) mod http;
pub(crate) mod sandbox;

use std::time::Duration;

use git2::Oid;
use sayonce::git::objects::{Durability, FileChange, Head, NewCommit, Objects, ObjectsError, Swap};
use sayonce::git::process::Git;
use sayonce::git::push::{Answer, judge};
use sayonce::git::remote::{RefMove, Remote, RemoteError};
use sayonce::git::signature::Person;
use sayonce::model::time::Timestamp;

use sandbox::Sandbox;

const MAIN: &str = "refs/heads/main";
const WITNESS: &str = "refs/sayonce/witness";

fn open(sandbox: &Sandbox, name: &str) -> (Objects, Git) {
    let directory = sandbox.path(name);
    let objects = Objects::open(&directory, Durability::Scratch).unwrap();
    let git = Git::new(objects.top(), &sandbox.environment());
    (objects, git)
}

fn commit(objects: &Objects, base: Option<Oid>, path: &str, text: &str) -> Oid {
    let ada = Person {
        name: "Site owner".to_owned(),
        email: "owner@blog.example".to_owned(),
    };
    let blob = objects.write_blob(text.as_bytes()).unwrap();
    objects
        .commit(NewCommit {
            base,
            files: &[FileChange {
                path: path.to_owned(),
                blob: Some(blob),
            }],
            message: "test\n",
            author: &ada,
            committer: &ada,
            at: Timestamp::parse("2026-11-29T10:00:00Z").unwrap(),
        })
        .unwrap()
}

fn push(git: &Git, moves: &[RefMove<'_>]) -> Answer {
    let finished = Remote::new(git, "origin")
        .push(moves, Duration::from_secs(30))
        .unwrap();
    judge(&finished, MAIN, moves.get(1).map(|one| one.name))
}

#[test]
fn a_push_is_a_compare_and_swap_of_both_refs() {
    let sandbox = Sandbox::new();
    let remote = sandbox.remote();
    sandbox.clone_of(remote.to_str().unwrap(), "site", &[]);
    let (objects, git) = open(&sandbox, "site");
    let old = objects.reference(MAIN).unwrap();
    let new = commit(&objects, old, "ledger/a/x.json", "{}");
    let moves = |old, witness, new| {
        [(MAIN, old), (WITNESS, witness)].map(|(name, old)| RefMove { name, old, new })
    };
    assert_eq!(push(&git, &moves(old, None, new)), Answer::Landed);
    assert!(matches!(
        push(&git, &moves(old, None, new)),
        Answer::Beaten(_)
    ));

    // The branch was rolled back: a plain push would bring the commit back.
    sandbox.git(&remote, &["update-ref", MAIN, &old.unwrap().to_string()]);
    let newer = commit(&objects, Some(new), "ledger/a/x.json", "{ }");
    assert!(matches!(
        push(&git, &moves(Some(new), Some(new), newer)),
        Answer::Beaten(_)
    ));
    // The branch is gone: a plain push would make it anew.
    sandbox.git(&remote, &["update-ref", "-d", MAIN]);
    assert!(matches!(
        push(&git, &moves(Some(new), Some(new), newer)),
        Answer::Beaten(_)
    ));
    let listed = Remote::new(&git, "origin").list(&[MAIN, WITNESS]).unwrap();
    assert_eq!(
        listed.into_iter().collect::<Vec<_>>(),
        [(WITNESS.to_owned(), new)]
    );
}

#[test]
fn a_remote_that_dies_in_the_middle_is_not_known() {
    let sandbox = Sandbox::new();
    let remote = sandbox.remote();
    sandbox.clone_of(remote.to_str().unwrap(), "site", &[]);
    let (objects, git) = open(&sandbox, "site");
    let old = objects.reference(MAIN).unwrap();
    let new = commit(&objects, old, "ledger/a/x.json", "{}");
    let moves = [RefMove {
        name: MAIN,
        old,
        new,
    }];
    Sandbox::hook(&remote, "pre-receive", "kill -9 $PPID");
    assert!(matches!(push(&git, &moves), Answer::Unknown(_)));
    std::fs::remove_file(remote.join("hooks/pre-receive")).unwrap();
    Sandbox::hook(&remote, "post-receive", "kill -9 $PPID");
    // It landed, and the client saw an error all the same.
    assert!(matches!(push(&git, &moves), Answer::Unknown(_)));
    let listed = Remote::new(&git, "origin").list(&[MAIN]).unwrap();
    assert_eq!(listed[MAIN], new);
}

#[test]
fn hooks_of_the_user_do_not_run() {
    let sandbox = Sandbox::new();
    let remote = sandbox.remote();
    let site = sandbox.clone_of(remote.to_str().unwrap(), "site", &[]);
    Sandbox::hook(&site.join(".git"), "pre-push", "exit 1");
    let (objects, git) = open(&sandbox, "site");
    let old = objects.reference(MAIN).unwrap();
    let new = commit(&objects, old, "ledger/a/x.json", "{}");
    let moves = [RefMove {
        name: MAIN,
        old,
        new,
    }];
    assert_eq!(push(&git, &moves), Answer::Landed);
}

#[test]
fn a_fetch_leaves_the_users_refs_alone() {
    let sandbox = Sandbox::new();
    let remote = sandbox.remote();
    let site = sandbox.clone_of(remote.to_str().unwrap(), "site", &[]);
    let before = sandbox.git(&site, &["for-each-ref"]);
    let seed = sandbox.path("seed");
    std::fs::write(seed.join("more.md"), "more\n").unwrap();
    sandbox.commit_all(&seed, "more");
    sandbox.git(&seed, &["tag", "v1"]);
    sandbox.git(
        &seed,
        &["push", "--quiet", remote.to_str().unwrap(), "main", "v1"],
    );
    let (_, git) = open(&sandbox, "site");
    Remote::new(&git, "origin")
        .fetch(&[(MAIN, "refs/sayonce/fetched/main")])
        .unwrap();
    let after = sandbox.git(&site, &["for-each-ref"]);
    let new = sandbox.git(&seed, &["rev-parse", "main"]);
    assert_eq!(
        after,
        format!("{before}\n{new} commit\trefs/sayonce/fetched/main")
    );
    assert!(!site.join(".git/FETCH_HEAD").exists());
}

#[test]
fn a_remote_with_two_addresses_is_refused() {
    let sandbox = Sandbox::new();
    let remote = sandbox.remote();
    let site = sandbox.clone_of(remote.to_str().unwrap(), "site", &[]);
    let (_, git) = open(&sandbox, "site");
    let remote_of = Remote::new(&git, "origin");
    assert_eq!(remote_of.address().unwrap(), remote.to_str().unwrap());
    let key = format!(
        "url.https://bot:s3cret@git.example/.pushInsteadOf={}",
        remote.display()
    );
    let (name, value) = key.rsplit_once('=').unwrap();
    sandbox.git(&site, &["config", name, value]);
    let error = remote_of.address().unwrap_err();
    assert!(matches!(error, RemoteError::TwoAddresses { .. }), "{error}");
    assert!(!error.to_string().contains("s3cret"), "{error}");
}

#[test]
fn refs_move_only_from_what_was_expected() {
    let sandbox = Sandbox::new();
    sandbox.remote();
    let (objects, _) = open(&sandbox, "seed");
    let old = objects.reference(MAIN).unwrap();
    let new = commit(&objects, old, "ledger/a/x.json", "{}");
    let swap = |expected, new| {
        objects
            .compare_and_swap("refs/x/y", new, expected, "test")
            .unwrap()
    };
    assert_eq!(swap(old, new), Swap::Beaten);
    assert_eq!(swap(None, new), Swap::Moved);
    assert_eq!(swap(None, new), Swap::Beaten);
    assert_eq!(swap(Some(new), old.unwrap()), Swap::Moved);
    assert_eq!(objects.reference("refs/x/y").unwrap(), old);
    assert_eq!(objects.head().unwrap(), Head::Branch("main".to_owned()));
}

#[test]
fn a_commit_changes_only_what_it_is_told_to() {
    let sandbox = Sandbox::new();
    sandbox.remote();
    let seed = sandbox.path("seed");
    let (objects, _) = open(&sandbox, "seed");
    let base = objects.reference(MAIN).unwrap();
    let new = commit(&objects, base, "ledger/news/a/x.json", "{}");
    let changed = sandbox.git(&seed, &["diff", "--name-status", "main", &new.to_string()]);
    assert_eq!(changed, "A\tledger/news/a/x.json");
    let (tree, files) = objects.files(new, "ledger").unwrap();
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["news/a/x.json"]);
    assert_eq!(objects.directory(new, "ledger").unwrap(), tree);
    assert_eq!(objects.files(new, "nothing").unwrap(), (None, Vec::new()));
    let error = objects.files(new, "index.md").unwrap_err();
    assert_eq!(error.to_string(), "`index.md` is a file, not a directory");
}

#[test]
fn repositories_that_can_not_be_used_say_so() {
    let sandbox = Sandbox::new();
    let check = |options: &[&str], name: &str| {
        let directory = sandbox.path(name);
        std::fs::create_dir_all(&directory).unwrap();
        let mut arguments = vec!["init", "--quiet"];
        arguments.extend(options);
        let (made, _, _) = sandbox.try_git(&directory, &arguments);
        // An older git can't make such a repository, so nobody has one there.
        made.then(|| Objects::open(&directory, Durability::Scratch).unwrap_err())
    };
    for (options, name) in [
        (["--object-format=sha256"], "sha256"),
        (["--ref-format=reftable"], "reftable"),
    ] {
        let error = check(&options, name);
        assert!(
            error.is_none_or(|error| matches!(error, ObjectsError::Format { .. })),
            "{name}"
        );
    }
    let nowhere = sandbox.path("nowhere");
    std::fs::create_dir_all(&nowhere).unwrap();
    let error = Objects::open(&nowhere, Durability::Scratch).unwrap_err();
    assert!(matches!(error, ObjectsError::NoRepository(_)), "{error}");
}
