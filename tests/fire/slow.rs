//! The service that finishes after its client gave up: the true story of the two identical posts, with real sockets.

use std::sync::Mutex;

use sayonce::clock::{Clock as _, SystemClock};
use sayonce::model::channel::Kind;

use super::checker::Moment;
use super::stage::{Kept, POLICIES, Pace, Stage, Start, asked_for, report, side_by_side};

/// The client gives up after 10 s and looks twice before the service is done.
const STORY: Pace = Pace {
    speed: 20,
    lines: "timeout = \"10s\"\nlookups = [\"0s\", \"1s\"]\nquarantine = \"30s\"\nsettle = \"5s\"",
};

/// The same with time for a push on a busy machine inside the send window, and a channel of each policy.
const ALL_STORIES: Pace = Pace {
    speed: 20,
    lines: "timeout = \"10s\"\nsend_window = \"3m\"\nlookups = [\"0s\", \"1s\"]\nquarantine = \"30s\"\n\
            settle = \"5s\"",
};

/// Side by side; nearly all of the time is spent waiting.
const HANDS: usize = 8;

/// The same without the quiet time that the rule is about.
const WITHOUT_THE_RULE: Pace = Pace {
    speed: 10,
    lines: "timeout = \"10s\"\nlookups = [\"0s\", \"1s\"]\nquarantine = \"0s\"\nsettle = \"0s\"",
};

const MASTODON: [(&str, Kind); 1] = [("mastodon", Kind::Mastodon)];

fn with_fault<'a>(stage: &'a Stage, fault: &str) -> (Kept<'a>, crate::cli::program::Ran) {
    let kept = stage.kept("kept", Start::Clone);
    let ran = kept.sayonce().arguments(["--fault", fault]).run();
    (kept, ran)
}

#[test]
fn a_service_that_is_done_two_seconds_after_its_client_gave_up_has_one_post() {
    let stage = Stage::new(&MASTODON, 1, STORY);
    let (kept, ran) = with_fault(&stage, "mastodon:1=slow=12s");
    ran.assert_code(0);
    assert_eq!(
        ran.deliveries(),
        "article-1 mastodon done read_back 1\n",
        "{}",
        ran.stderr
    );
    let evidence = kept.evidence();
    let service = &evidence.services["mastodon"];
    assert_eq!((service.writes.len(), service.posts.len()), (1, 1));
    assert_eq!(kept.check(Moment::AtRest), Vec::<String>::new());
}

/// Half of why the rule is there: this is what happens to whoever sets it to nothing.
#[test]
fn without_the_quiet_time_the_same_service_has_two() {
    let stage = Stage::new(&MASTODON, 1, WITHOUT_THE_RULE);
    // Two lookups 30 s apart are still needed, so it takes a slower service than in the story.
    let (kept, ran) = with_fault(&stage, "mastodon:1=slow=95s");
    ran.assert_code(1);
    assert!(
        ran.stderr
            .contains("error: 1 post stands twice: the promise was broken\n"),
        "{}",
        ran.stderr
    );
    assert_eq!(
        kept.check(Moment::AtRest),
        ["mastodon has https://blog.example/article-1/ 2 times"]
    );
}

/// What came of all rounds.
#[derive(Debug, Default)]
struct Tally {
    duplicates: usize,
    missing: usize,
    repeats: usize,
    pings: usize,
}

/// The story on a channel of each policy at once.
fn round(stage: &Stage, number: usize, tally: &Mutex<Tally>) -> Vec<String> {
    let kept = stage.kept(&format!("round-{number}"), Start::Clone);
    let faults = POLICIES.map(|(channel, _)| format!("{channel}:1=slow=12s"));
    let orders = faults.iter().flat_map(|fault| ["--fault", fault]);
    let ran = kept.sayonce().arguments(orders).run();
    let mut broken = kept.check(Moment::AtRest);
    if ran.code() != Some(0) {
        broken.push(format!("{}\n{}{}", ran.status, ran.stdout, ran.stderr));
        kept.remove(&broken);
        return broken;
    }
    let evidence = kept.evidence();
    let of_deliveries = ran.deliveries();
    {
        let mut tally = tally.lock().unwrap();
        for (channel, service) in &evidence.services {
            let repeats = service.writes.len().saturating_sub(1);
            if channel == "search" {
                tally.pings += repeats;
            } else {
                tally.repeats += repeats;
                tally.duplicates += service.posts.len().saturating_sub(1);
            }
            tally.missing += usize::from(service.posts.is_empty());
        }
    }
    // Where a repeat would be a second post there is none, and it was found by looking: nobody heard the answer.
    for channel in ["mastodon", "devto"] {
        let line = format!("article-1 {channel} done read_back ");
        if !of_deliveries.contains(&line) || evidence.services[channel].writes.len() != 1 {
            broken.push(format!("{of_deliveries}\n{}", ran.stderr));
        }
    }
    kept.remove(&broken);
    broken
}

#[test]
fn the_story_on_a_channel_of_each_policy_has_one_post_on_each() {
    let rounds = asked_for("SAYONCE_SLOW", 3);
    // 1: in true seconds.
    let speed = u32::try_from(asked_for("SAYONCE_SPEED", 20)).unwrap();
    let clock = SystemClock::new();
    let stage = Stage::new(
        &POLICIES,
        1,
        Pace {
            speed,
            ..ALL_STORIES
        },
    );
    let (tally, broken) = (Mutex::new(Tally::default()), Mutex::new(Vec::new()));
    side_by_side(0..rounds, HANDS, |number| {
        let wrong = round(&stage, number, &tally);
        report(&format!("round {number}"), wrong, &broken);
    });
    let tally = tally.into_inner().unwrap();
    println!(
        "12-second story: {rounds} rounds on {} channels, {} duplicates, {} missing; {} repeats of the same post, {} of \
         pings; {} s",
        POLICIES.len(),
        tally.duplicates,
        tally.missing,
        tally.repeats,
        tally.pings,
        clock.elapsed().as_secs()
    );
    assert_eq!(broken.into_inner().unwrap(), Vec::<String>::new());
    assert_eq!((tally.duplicates, tally.missing), (0, 0));
}
