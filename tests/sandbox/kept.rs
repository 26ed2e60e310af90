use std::fs;
use std::path::Path;
use std::time::Duration;

use sayonce::environment::Environment;
use sayonce::model::channel::Kind;
use sayonce::model::ids::ChannelName;
use sayonce::sandbox::{Sandbox, StandIn};

use super::faults::publish;
use super::{HandClock, START, Sleep, mastodon, options, serve, start_with};

fn journal(directory: &Path, kind: Kind) -> std::path::PathBuf {
    directory.join("services").join(format!("{kind}.jsonl"))
}

#[test]
fn a_sandbox_goes_on_where_it_was_killed() {
    for kind in Kind::ALL {
        let directory = tempfile::tempdir().unwrap();
        let first = start_with(kind, &[], Some(directory.path()));
        let call = publish(&first, kind, 2).header("Idempotency-Key", "k1");
        let answer = first.get_answer(&call);
        let (posts, requests) = (first.sandbox.posts(), first.sandbox.requests());
        drop(first);

        let second = start_with(kind, &[], Some(directory.path()));
        assert_eq!(second.sandbox.posts(), posts);
        assert_eq!(second.sandbox.requests(), requests);
        let repeated = second.get_answer(&call);
        match kind {
            Kind::IndexNow => assert_eq!(repeated.line(), "200 "),
            Kind::Bluesky => assert_eq!(repeated.json()["cid"], answer.json()["cid"]),
            Kind::Mastodon | Kind::Http => {
                assert_eq!(repeated.string("/id"), answer.string("/id"));
            }
            Kind::Devto => assert_eq!(repeated.status, 422),
        }
        second.get_answer(&publish(&second, kind, 3));
        assert_eq!((second.writes(), second.posts().len()), (3, 2), "{kind}");
    }
}

#[test]
fn a_sandbox_comes_back_on_its_port() {
    let directory = tempfile::tempdir().unwrap();
    let url = || {
        let world = start_with(Kind::Mastodon, &[], Some(directory.path()));
        world.sandbox.url(&world.channel).to_owned()
    };
    // Somebody else may take a port that is free for a moment, but hardly three times.
    assert!((0..3).any(|_| url() == url()));
}

/// The test starts itself once more, because the fault kills the process that it hits.
#[cfg(unix)]
#[test]
fn a_kill_leaves_what_was_stored_and_nothing_else() {
    use std::os::unix::process::ExitStatusExt as _;

    const DIRECTORY: &str = "SAYONCE_TEST_KILLED_IN";
    const FAULT: &str = "SAYONCE_TEST_FAULT";
    const NAME: &str = "sandbox::kept::a_kill_leaves_what_was_stored_and_nothing_else";
    let environment = Environment::of_process();
    if let Some(directory) = environment.get(DIRECTORY) {
        let fault = environment.get(FAULT).unwrap();
        let world = start_with(Kind::Mastodon, &[fault], Some(Path::new(directory)));
        world.send(&mastodon::post("One"));
        panic!("the fault did not kill");
    }
    for (fault, stored) in [("mastodon:1=kill", 1), ("mastodon:1=kill-before", 0)] {
        let directory = tempfile::tempdir().unwrap();
        let killed = assert_cmd::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", NAME])
            .env(DIRECTORY, directory.path())
            .env(FAULT, fault)
            .output()
            .unwrap();
        assert_eq!(killed.status.signal(), Some(9), "{fault}");
        let world = start_with(Kind::Mastodon, &[fault], Some(directory.path()));
        assert_eq!(world.log(), ["1 POST /api/v1/statuses cut"], "{fault}");
        assert_eq!(world.posts().len(), stored, "{fault}");
        assert_eq!(
            world.get_answer(&mastodon::post("Two")).status,
            200,
            "{fault}"
        );
    }
}

#[test]
fn spent_faults_stay_spent() {
    // A cut connection leaves on disk just what a kill leaves.
    for (cut, kill, expected) in [
        ("mastodon:2=lost-answer", "mastodon:2=kill", 3),
        ("mastodon:2=lost-request", "mastodon:2=kill-before", 2),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let first = start_with(Kind::Mastodon, &[cut], Some(directory.path()));
        assert!(first.send(&mastodon::post("One")).is_some());
        assert!(first.send(&mastodon::post("Two")).is_none());
        drop(first);

        let orders = [kill, "mastodon:4=status=503"];
        let second = start_with(Kind::Mastodon, &orders, Some(directory.path()));
        assert_eq!(second.get_answer(&mastodon::post("Three")).status, 200);
        assert_eq!(second.get_answer(&mastodon::post("Four")).status, 503);
        assert_eq!(second.posts().len(), expected);
        let answers: Vec<_> = second
            .sandbox
            .requests()
            .iter()
            .map(|request| request.answered.to_string())
            .collect();
        assert_eq!(answers, ["200", "cut", "200", "503"]);
    }
}

#[test]
fn a_torn_last_line_never_happened() {
    let directory = tempfile::tempdir().unwrap();
    let first = start_with(Kind::Mastodon, &[], Some(directory.path()));
    first.get_answer(&mastodon::post("One"));
    let path = journal(directory.path(), Kind::Mastodon);
    let whole = fs::read(&path).unwrap().len();
    first.get_answer(&mastodon::post("Two"));
    drop(first);
    let bytes = fs::read(&path).unwrap();
    for length in (whole..bytes.len()).step_by(97).chain([bytes.len() - 1]) {
        fs::write(&path, &bytes[..length]).unwrap();
        let again = start_with(Kind::Mastodon, &[], Some(directory.path()));
        assert_eq!(again.writes(), 1, "cut at {length}");
        again.get_answer(&mastodon::post("Two"));
        drop(again);
        let read = start_with(Kind::Mastodon, &[], Some(directory.path()));
        assert_eq!(
            (read.writes(), read.posts().len()),
            (2, 2),
            "cut at {length}"
        );
    }
}

#[test]
fn a_broken_line_in_the_middle_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = journal(directory.path(), Kind::Mastodon);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "nonsense\n{}\n").unwrap();
    let clock = HandClock::at(START, Sleep::Moves);
    let broken = Sandbox::start(options(Kind::Mastodon, &[], Some(directory.path()), clock));
    let error = anyhow::Error::from(broken.unwrap_err());
    let chain: Vec<_> = error.chain().take(2).map(ToString::to_string).collect();
    assert_eq!(
        chain,
        [
            "can't go on with what the stand-in of `mastodon` kept".to_owned(),
            format!("line 1 of {} is not a stand-in's record", path.display()),
        ]
    );
}

#[test]
fn a_slow_request_outlives_the_kill() {
    let directory = tempfile::tempdir().unwrap();
    let clock = HandClock::at(START, Sleep::Waits);
    let fault = "mastodon:1=slow=500s";
    let first = serve(
        Kind::Mastodon,
        &[fault],
        Some(directory.path()),
        clock.clone(),
    );
    first.send_and_leave(&mastodon::post("One"));
    clock.until_asleep();
    let killed = tempfile::tempdir().unwrap();
    let path = journal(killed.path(), Kind::Mastodon);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::copy(journal(directory.path(), Kind::Mastodon), &path).unwrap();

    let second = start_with(Kind::Mastodon, &[fault], Some(killed.path()));
    second.sandbox.settle();
    assert_eq!(second.log(), ["1 POST /api/v1/statuses 200"]);
    assert_eq!(second.posts().len(), 1);
    let stored = second.sandbox.posts()[0].created_at;
    let arrived = second.sandbox.requests()[0].at;
    assert_eq!(stored.since(arrived), Duration::from_secs(500));
    clock.advance(Duration::from_secs(500));
    first.sandbox.settle();
}

#[test]
fn the_newest_time_is_that_of_the_last_line() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(Sandbox::newest_time(directory.path()), None);
    let world = start_with(Kind::Mastodon, &[], Some(directory.path()));
    world.clock.advance(Duration::from_hours(1));
    world.get_answer(&mastodon::post("One"));
    let newest = Sandbox::newest_time(directory.path()).unwrap();
    assert_eq!(newest.to_string(), "2026-11-29T11:00:00.123Z");
}

#[test]
fn orders_that_make_no_sense_are_refused() {
    let clock = HandClock::at(START, Sleep::Moves);
    let check = |faults: &[&str], twice: bool| {
        let mut options = options(Kind::Mastodon, faults, None, clock.clone());
        if twice {
            options.stand_ins.push(StandIn {
                channel: ChannelName::new("mastodon").unwrap(),
                kind: Kind::Devto,
            });
        }
        Sandbox::start(options).unwrap_err().to_string()
    };
    assert_eq!(
        check(&["devto:1=kill"], false),
        "the fault order `devto:1=kill` names no channel here; there is `mastodon`"
    );
    assert_eq!(
        check(&["mastodon:1=kill", "mastodon:1=status=500"], false),
        "the fault orders `mastodon:1=kill` and `mastodon:1=status=500` are for the same write"
    );
    assert_eq!(check(&[], true), "two stand-ins for the channel `mastodon`");
}
