//! The delivery protocol, played through in a world under a virtual clock.

use std::time::Duration;

use sayonce::engine::ending::Ending;
use sayonce::exit::Exit;
use sayonce::model::delivery::State;
use sayonce::model::outcome::Evidence;

use crate::simulation::{Came, Fault, PushFault, World};

/// Four channels, one of them paced at 75 s.
const FOUR_CHANNELS: &str = r#"
[site]
url = "https://blog.example"
feed = "feed.xml"

[channels.search]
kind = "indexnow"
key = "0123456789abcdef"

[channels.bluesky]
kind = "bluesky"
handle = "blog.example"
app_password_env = "BLUESKY_APP_PASSWORD"

[channels.mastodon]
kind = "mastodon"
server = "https://mastodon.example"
token_env = "MASTODON_TOKEN"

[channels.devto]
kind = "devto"
api_key_env = "DEVTO_API_KEY"
interval = "75s"
"#;

/// One channel that is read back.
const MASTODON: &str = r#"
[site]
url = "https://blog.example"
feed = "feed.xml"

[channels.mastodon]
kind = "mastodon"
server = "https://mastodon.example"
token_env = "MASTODON_TOKEN"
timeout = "10s"
"#;

#[test]
fn three_articles_on_four_channels_are_each_posted_once() {
    let mut world = World::new(FOUR_CHANNELS, 3);
    let ending = world.run();
    assert_eq!(ending.exit, Exit::Proved);
    assert_eq!(ending.summary.done, 12);
    world.assert_exactly_once();
}

#[test]
fn a_second_run_makes_no_write_and_no_commit() {
    let mut world = World::new(FOUR_CHANNELS, 3);
    drop(world.run());
    let (commits, pushes) = (world.remote.commits(), world.remote.pushes);
    let writes: Vec<_> = world
        .services
        .values()
        .map(|service| service.writes)
        .collect();
    let ending = world.run();
    assert_eq!(ending.exit, Exit::Proved);
    assert_eq!(
        (world.remote.commits(), world.remote.pushes),
        (commits, pushes)
    );
    assert_eq!(
        world
            .services
            .values()
            .map(|service| service.writes)
            .collect::<Vec<_>>(),
        writes
    );
}

#[test]
fn while_one_channel_waits_for_its_pace_the_others_work() {
    let mut world = World::new(FOUR_CHANNELS, 3);
    let began = world.now;
    drop(world.run());
    let took = world.now.since(began);
    assert!(
        took >= Duration::from_secs(150),
        "two gaps of 75 s: {took:?}"
    );
    assert!(
        took < Duration::from_secs(160),
        "nothing else was waited for: {took:?}"
    );
}

/// Three articles, four channels, one paced at 75 s; the job dies in the seventh call.
#[test]
fn a_job_that_dies_in_its_seventh_call_is_continued_without_a_duplicate_or_a_gap() {
    let mut world = World::new(FOUR_CHANNELS, 3);
    // The seventh write request leaves, and the machine is gone before its answer.
    let run = world.start();
    world.kill_when(run, |world, _| {
        let writes: usize = world.services.values().map(|service| service.writes).sum();
        writes == 7
    });
    let ending = world.run();
    assert_eq!(ending.exit, Exit::Proved);
    assert_eq!(ending.summary.done, 12);
    world.assert_exactly_once();
}

/// The client gives up after 10 s; the server has finished the request at 12 s.
#[test]
fn an_answer_that_comes_after_the_client_gave_up_is_found_and_not_repeated() {
    let mut world = World::new(MASTODON, 1);
    world
        .service("mastodon")
        .order(1, Fault::Slow(Duration::from_secs(12)));
    let ending = world.run();
    assert_eq!(ending.exit, Exit::Proved);
    assert_eq!(ending.deliveries[0].evidence, Some(Evidence::ReadBack));
    assert_eq!(world.service("mastodon").writes, 1);
    world.assert_exactly_once();
}

#[test]
fn a_job_killed_after_any_action_is_continued_without_a_duplicate_or_a_gap() {
    let all = {
        let mut world = World::new(FOUR_CHANNELS, 2);
        let mut run = world.start();
        drop(world.finish(&mut run));
        (1..).take_while(|actions| {
            let mut world = World::new(FOUR_CHANNELS, 2);
            let mut run = world.start();
            matches!(world.go(&mut run, *actions), Came::Killed)
        })
    };
    for actions in all {
        let mut world = World::new(FOUR_CHANNELS, 2);
        let mut run = world.start();
        drop(world.go(&mut run, actions));
        drop(run);
        let ending = world.run();
        assert_eq!(
            ending.exit,
            Exit::Proved,
            "killed after {actions} actions: {:?}",
            told(&ending)
        );
        world.assert_exactly_once();
    }
}

#[test]
fn a_request_that_was_lost_is_sent_again_after_the_quiet_point() {
    let mut world = World::new(MASTODON, 1);
    world.service("mastodon").order(1, Fault::LostRequest);
    let began = world.now;
    let ending = world.run();
    assert_eq!(ending.exit, Exit::Proved);
    assert_eq!(ending.deliveries[0].attempt, 2);
    assert!(
        world.now.since(began) > Duration::from_secs(820),
        "not before the quiet point"
    );
    world.assert_exactly_once();
}

#[test]
fn every_fault_ends_with_each_delivery_posted_once() {
    let faults = [
        Fault::LostAnswer,
        Fault::LostRequest,
        Fault::Slow(Duration::from_secs(12)),
        Fault::Slow(Duration::from_secs(45)),
        Fault::Status500,
        Fault::Status500Stored,
        Fault::RateLimited(Duration::from_secs(30)),
        Fault::NotSent,
    ];
    for channel in ["search", "bluesky", "mastodon", "devto"] {
        for number in 1..=2 {
            for fault in faults {
                let mut world = World::new(FOUR_CHANNELS, 2);
                world.service(channel).order(number, fault);
                let ending = world.run();
                assert_eq!(
                    ending.exit,
                    Exit::Proved,
                    "{channel}:{number}={fault:?}: {:?}",
                    told(&ending)
                );
                world.assert_exactly_once();
            }
        }
    }
}

#[test]
fn what_is_refused_for_good_is_not_sent_again() {
    let mut world = World::new(MASTODON, 2);
    world.service("mastodon").order(1, Fault::Refused);
    let ending = world.run();
    assert_eq!(ending.exit, Exit::Refused);
    assert_eq!((ending.summary.failed, ending.summary.done), (1, 1));
    let writes = world.service("mastodon").writes;
    let ending = world.run();
    assert_eq!(ending.exit, Exit::Refused);
    assert_eq!(world.service("mastodon").writes, writes);
}

#[test]
fn two_runs_at_once_send_each_delivery_from_exactly_one() {
    let mut world = World::new(FOUR_CHANNELS, 3);
    let mut runs = [world.start(), world.start()];
    let endings = world.side_by_side(&mut runs);
    for ending in endings {
        assert_eq!(ending.exit, Exit::Proved, "{:?}", told(&ending));
    }
    world.assert_exactly_once();
}

#[test]
fn a_push_that_fails_in_any_way_at_any_time_loses_and_repeats_nothing() {
    for fault in [PushFault::LostAnswer, PushFault::LostPush] {
        for push in 1..=8 {
            let mut world = World::new(FOUR_CHANNELS, 2);
            world.remote.faults.insert(push, fault);
            let ending = world.run();
            assert_eq!(
                ending.exit,
                Exit::Proved,
                "push {push}: {fault:?}: {:?}",
                told(&ending)
            );
            world.assert_exactly_once();
        }
    }
}

#[test]
fn with_the_remote_away_at_the_claim_nothing_is_sent() {
    let mut world = World::new(MASTODON, 1);
    world.remote.away = Some((world.now, world.now.plus(Duration::from_hours(1))));
    let ending = world.run();
    assert_eq!(ending.exit, Exit::Ledger);
    assert_eq!(ending.problems, ["the remote does not answer"]);
    assert_eq!(world.service("mastodon").writes, 0);
}

#[test]
fn with_the_remote_away_a_deadline_is_kept() {
    let mut world = World::new(MASTODON, 1);
    let began = world.now;
    world.remote.away = Some((began, began.plus(Duration::from_hours(1))));
    world.limits.deadline = Some(began.plus(Duration::from_secs(40)));
    let ending = world.run();
    assert_eq!(ending.exit, Exit::Ledger);
    let took = world.now.since(began);
    assert!(took <= Duration::from_secs(50), "{took:?}");
}

#[test]
fn a_refused_push_sends_nothing() {
    let mut world = World::new(MASTODON, 1);
    world.remote.faults.insert(1, PushFault::Refused);
    let ending = world.run();
    assert_eq!(ending.exit, Exit::Ledger);
    assert_eq!(ending.problems, ["protected branch; set `ledger.branch`"]);
    assert_eq!((ending.summary.pending, ending.summary.busy), (1, 0));
    assert_eq!(world.service("mastodon").writes, 0);
}

#[test]
fn an_outcome_that_could_not_be_pushed_is_kept_and_merged_by_the_next_run() {
    let mut world = World::new(MASTODON, 1);
    // The claim lands, then the remote is away for longer than anybody waits.
    let away_from = world.now.plus(Duration::from_millis(600));
    world.remote.away = Some((away_from, away_from.plus(Duration::from_hours(1))));
    let mut run = world.start();
    let ending = world.finish(&mut run);
    assert_eq!(ending.exit, Exit::Ledger);
    assert_eq!(world.service("mastodon").writes, 1);
    let journal = run.journal.clone();
    assert_eq!(journal.len(), 1);
    world.now = world.now.plus(Duration::from_hours(2));
    let mut next = world.start_with(journal);
    let ending = world.finish(&mut next);
    assert_eq!(ending.exit, Exit::Proved);
    assert_eq!(ending.deliveries[0].evidence, Some(Evidence::Response));
    world.assert_exactly_once();
}

#[test]
fn a_post_that_is_there_already_is_adopted() {
    let mut world = World::new(MASTODON, 1);
    drop(world.run());
    let mut fresh = World::new(MASTODON, 1);
    fresh.runs_started = world.runs_started;
    fresh.now = world.now;
    std::mem::swap(&mut fresh.services, &mut world.services);
    let ending = fresh.run();
    assert_eq!(ending.exit, Exit::Proved);
    assert_eq!(ending.deliveries[0].evidence, Some(Evidence::Adopted));
    assert_eq!(fresh.service("mastodon").writes, 1);
    fresh.assert_exactly_once();
}

#[test]
fn a_stop_saves_what_is_known_and_leaves_the_rest() {
    let mut world = World::new(FOUR_CHANNELS, 3);
    let mut run = world.start();
    run.stop(world.now.plus(Duration::from_secs(3)));
    let began = world.now;
    let ending = world.finish(&mut run);
    assert_eq!(ending.exit, Exit::WorkRemains);
    assert!(world.now.since(began) < Duration::from_secs(8));
    assert_eq!(
        ending.summary.busy,
        0,
        "no claim is left over: {:?}",
        told(&ending)
    );
    let ending = world.run();
    assert_eq!(ending.exit, Exit::Proved);
    world.assert_exactly_once();
}

#[test]
fn a_deadline_ends_the_run_and_the_next_one_goes_on() {
    let mut world = World::new(FOUR_CHANNELS, 3);
    let began = world.now;
    world.limits.deadline = Some(began.plus(Duration::from_mins(2)));
    let ending = world.run();
    assert_eq!(ending.exit, Exit::WorkRemains);
    assert!(world.now <= began.plus(Duration::from_mins(2)));
    world.limits.deadline = None;
    let ending = world.run();
    assert_eq!(ending.exit, Exit::Proved);
    world.assert_exactly_once();
}

#[test]
fn at_most_once_is_never_sent_again_by_itself() {
    let config = format!("{MASTODON}policy = \"at_most_once\"\n");
    let mut world = World::new(&config, 1);
    world.service("mastodon").order(1, Fault::LostRequest);
    let ending = world.run();
    assert_eq!(ending.exit, Exit::NeedsPerson);
    assert_eq!(ending.deliveries[0].state, Some(State::Held));
    assert_eq!(world.service("mastodon").writes, 1);
    let ending = world.run();
    assert_eq!(ending.exit, Exit::NeedsPerson);
    assert_eq!(world.service("mastodon").writes, 1);
}

#[test]
fn a_first_run_that_would_flood_a_channel_is_left_out_and_the_others_go_on() {
    let mut world = World::new(FOUR_CHANNELS, 6);
    let ending = world.run();
    assert_eq!(ending.exit, Exit::Usage);
    assert_eq!(ending.summary.pending, 24);
    assert_eq!(world.remote.commits(), 0);
    assert_eq!(
        ending.problems[0],
        "bluesky is left out: its first run would announce 6 articles, more than `site.first_run_max` (5); \
         `sayonce baseline --channel bluesky` marks them as announced before, or raise `site.first_run_max`"
    );
}

#[test]
fn an_article_whose_page_is_not_online_yet_waits_for_it() {
    let config = MASTODON.replace("feed =", "wait_live = \"10m\"\nfeed =");
    let mut world = World::new(&config, 1);
    let online_at = world.now.plus(Duration::from_mins(2));
    world.offline_until = Some(online_at);
    let ending = world.run();
    assert_eq!(ending.exit, Exit::Proved);
    assert!(world.now > online_at);
    world.assert_exactly_once();
    let mut world = World::new(&config, 1);
    world.offline_until = Some(world.now.plus(Duration::from_hours(1)));
    let ending = world.run();
    assert_eq!(ending.exit, Exit::WorkRemains);
    assert_eq!(
        ending.deliveries[0].reason.as_deref(),
        Some("its page is not online yet: HTTP 404")
    );
    assert_eq!(world.service("mastodon").writes, 0);
}

/// What matters of an ending, for messages.
fn told(ending: &Ending) -> Vec<String> {
    let deliveries = ending.deliveries.iter().map(|delivery| {
        format!(
            "{}: {:?} {:?}",
            delivery.id, delivery.state, delivery.reason
        )
    });
    deliveries.chain(ending.problems.iter().cloned()).collect()
}
