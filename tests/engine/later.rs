//! What becomes of a post after it was announced: it follows an edited article where that is asked for, and goes when a
//! person says so, under the same protocol as the announcement.

use std::time::Duration;

use sayonce::model::delivery::{Decision, Event, Operation, Record, State, next};
use sayonce::model::row::Row;

use super::{HOUR, MASTODON, SEARCH, told, with_picture, world};
use crate::simulation::{Came, Fault, World};

const FOLLOWING: &str = "follow_edits = true\n";

/// A world in which one article was announced an hour ago, on a channel that follows edits.
fn announced() -> World {
    let mut world = world(&[MASTODON, FOLLOWING], 1);
    drop(world.run());
    world.now = world.now.plus(HOUR);
    world
}

fn edited(number: usize) -> World {
    let mut world = announced();
    world.items[0].title = format!("A better title, {number}");
    world
}

/// A world in which somebody decided that the post goes.
fn unwanted() -> World {
    let mut world = announced();
    let mut row = row(&world);
    let by = Decision {
        who: "editor".to_owned(),
        at: world.now,
        verb: "retract".to_owned(),
        why: None,
    };
    let record = next(None, Event::Released { by }).unwrap();
    row.operations.insert(Operation::Retract, record);
    world.remote.decide(row);
    world
}

fn row(world: &World) -> Row {
    world.remote.rows().next().unwrap().clone()
}

fn record(world: &World, operation: Operation) -> Record {
    row(world).operations[&operation].clone()
}

/// What the ledger has, and what stands on the service.
fn check(world: &mut World, operation: Operation) -> String {
    let (row, now) = (row(world), world.now);
    let states: Vec<_> = row
        .operations
        .iter()
        .map(|(operation, record)| format!("{operation} {}", record.state))
        .collect();
    let posts = world.service("mastodon").standing(&row.canonical_url, now);
    let remote = row.publish().unwrap().remote.clone().unwrap();
    let shows = row.shown().is_some_and(|post| {
        let post = post.fingerprint();
        world.service("mastodon").shows(&remote, &post, now)
    });
    let stands = match (operation, posts, shows) {
        (Operation::Retract, 0, _) => "nothing stands".to_owned(),
        (_, 1, true) => "one post, as the ledger has it".to_owned(),
        (_, posts, shows) => format!("{posts} posts, as the ledger has them: {shows}"),
    };
    format!("{}; {stands}", states.join(", "))
}

#[test]
fn an_edited_article_changes_its_post_and_never_makes_a_second_one() {
    let mut world = edited(1);
    assert_eq!(
        told(&world.run()),
        ["exit 0", "a1 on mastodon: done: response"]
    );
    assert_eq!(
        check(&mut world, Operation::Update(1)),
        "publish done, update:1 done; one post, as the ledger has it"
    );
    let text = record(&world, Operation::Update(1)).claim.unwrap().post;
    assert_eq!(
        text.string("text").unwrap(),
        "A better title, 1\n\nhttps://blog.example/a1/"
    );
    // Nothing is due while nobody edits it.
    world.now = world.now.plus(HOUR);
    drop(world.run());
    assert_eq!(world.service("mastodon").writes(), 2);
    world.items[0].title = "Yet another title".to_owned();
    drop(world.run());
    assert_eq!(
        check(&mut world, Operation::Update(2)),
        "publish done, update:1 done, update:2 done; one post, as the ledger has it"
    );
    assert_eq!(world.service("mastodon").writes(), 3);
}

#[test]
fn a_channel_that_does_not_follow_edits_is_left_alone() {
    let mut world = world(&[MASTODON], 1);
    drop(world.run());
    world.now = world.now.plus(HOUR);
    world.items[0].title = "A better title".to_owned();
    assert_eq!(
        told(&world.run()),
        ["exit 0", "a1 on mastodon: done: response"]
    );
    assert_eq!(world.service("mastodon").writes(), 1);
}

#[test]
fn a_template_that_was_edited_changes_no_old_post() {
    let mut world = announced();
    world.config.channels[0].template = "New: {{ title }} {{ url }}".to_owned();
    drop(world.run());
    assert_eq!(world.service("mastodon").writes(), 1);
}

#[test]
fn an_edit_that_the_post_does_not_show_sends_nothing() {
    let mut world = announced();
    world.items[0].description = Some("Now with a description".to_owned());
    drop(world.run());
    assert_eq!(world.service("mastodon").writes(), 1);
}

#[test]
fn a_search_engine_is_told_of_an_edit_by_itself_and_of_nothing_else() {
    let mut world = world(&[SEARCH], 2);
    drop(world.run());
    world.now = world.now.plus(HOUR);
    drop(world.run());
    assert_eq!(world.service("search").writes(), 1);
    world.items[0].description = Some("Now with a description".to_owned());
    assert_eq!(
        told(&world.run()),
        [
            "exit 0",
            "a1 on search: done: response",
            "a2 on search: done: response"
        ]
    );
    assert_eq!(world.service("search").writes(), 2);
    assert_eq!(
        world.service("search").stored("https://blog.example/a1/"),
        2
    );
    assert_eq!(
        world.service("search").stored("https://blog.example/a2/"),
        1
    );
}

#[test]
fn a_search_engine_is_told_of_an_edit_of_what_was_online_before_it_was_used() {
    let mut world = world(&[MASTODON], 2);
    drop(world.run());
    world.config = World::new(&super::site(&[MASTODON, SEARCH]), 0).config;
    world.services.extend(super::world(&[SEARCH], 0).services);
    drop(world.run());
    assert_eq!(world.service("search").writes(), 0);
    world.now = world.now.plus(HOUR);
    world.items[0].description = Some("Now with a description".to_owned());
    assert_eq!(
        told(&world.run()),
        [
            "exit 0",
            "a1 on mastodon: done: response",
            "a1 on search: done: response",
            "a2 on mastodon: done: response",
            "a2 on search: skipped: online before this channel was used (baseline)",
        ]
    );
    assert_eq!(world.service("search").writes(), 1);
    world.now = world.now.plus(HOUR);
    drop(world.run());
    assert_eq!(world.service("search").writes(), 1);
}

#[test]
fn an_edit_while_the_announcement_is_in_doubt_follows_it() {
    let mut world = world(&[MASTODON, FOLLOWING], 1);
    world.service("mastodon").order(1, Fault::LostRequest);
    super::run_killed_at_write(&mut world, "mastodon", 1);
    world.items[0].title = "A better title".to_owned();
    world.now = world.now.plus(HOUR);
    let ending = world.run();
    assert_eq!(ending.exit.code(), 0);
    assert_eq!(
        check(&mut world, Operation::Update(1)),
        "publish done, update:1 done; one post, as the ledger has it"
    );
    world.assert_exactly_once();
}

#[test]
fn a_checkout_that_is_not_the_newest_changes_nothing() {
    let mut world = edited(1);
    world.behind = Some("main is another commit".to_owned());
    let ending = world.run();
    assert_eq!(ending.exit.code(), 0);
    assert_eq!(
        ending.deliveries[0].reason.as_deref(),
        Some(
            "the article was edited, but its post is not changed from here: main is another commit"
        )
    );
    assert_eq!(world.service("mastodon").writes(), 1);
}

#[test]
fn a_post_that_is_taken_down_is_looked_for_and_not_announced_again() {
    let mut world = unwanted();
    assert_eq!(
        told(&world.run()),
        ["exit 0", "a1 on mastodon: done: response"]
    );
    assert_eq!(
        check(&mut world, Operation::Retract),
        "publish done, retract done; nothing stands"
    );
    world.items[0].title = "A better title".to_owned();
    world.now = world.now.plus(HOUR);
    drop(world.run());
    assert_eq!(world.service("mastodon").writes(), 2);
}

/// A later write that is in doubt is looked at, and repeated: by the id it does no harm.
#[test]
fn a_later_write_in_doubt_is_settled_in_the_same_run() {
    let faults = [
        Fault::LostAnswer,
        Fault::LostRequest,
        Fault::Slow(Duration::from_secs(12)),
        Fault::Status500,
        Fault::Status500Stored,
        Fault::RateLimited(Duration::from_secs(30)),
        Fault::NotSent,
    ];
    for fault in faults {
        for (mut world, operation) in [
            (edited(1), Operation::Update(1)),
            (unwanted(), Operation::Retract),
        ] {
            world.service("mastodon").order(1, fault);
            let ending = world.run();
            let what = format!("{operation} with {fault:?}: {:?}", told(&ending));
            assert_eq!(ending.exit.code(), 0, "{what}");
            assert_eq!(record(&world, operation).state, State::Done, "{what}");
            let seen = check(&mut world, operation);
            let stands = match operation {
                Operation::Retract => "publish done, retract done; nothing stands",
                Operation::Publish | Operation::Update(_) => {
                    "publish done, update:1 done; one post, as the ledger has it"
                }
            };
            assert_eq!(seen, stands, "{what}");
        }
    }
}

/// Its late request would change the post back.
#[test]
fn a_second_change_waits_until_the_first_ones_requests_can_do_nothing_more() {
    let mut world = edited(1);
    world
        .service("mastodon")
        .order(1, Fault::Slow(Duration::from_secs(45)));
    drop(world.run());
    let quiet = record(&world, Operation::Update(1))
        .claim
        .unwrap()
        .quiet_until;
    world.items[0].title = "Yet another title".to_owned();
    drop(world.run());
    let second = record(&world, Operation::Update(2)).claim.unwrap();
    assert!(second.claimed_at > quiet, "{} {quiet}", second.claimed_at);
    assert_eq!(
        check(&mut world, Operation::Update(2)),
        "publish done, update:1 done, update:2 done; one post, as the ledger has it"
    );
}

#[test]
fn a_later_write_that_is_killed_at_any_action_is_finished_by_the_next_run() {
    let mut kills = 0;
    for (start, operation) in [
        (edited(1), Operation::Update(1)),
        (unwanted(), Operation::Retract),
    ] {
        for fault in [None, Some(Fault::LostAnswer), Some(Fault::LostRequest)] {
            let mut start = start.clone();
            if let Some(fault) = fault {
                start.service("mastodon").order(1, fault);
            }
            for (number, (left, journal)) in
                start.clone().moments(Vec::new()).into_iter().enumerate()
            {
                for journal in [Vec::new(), journal] {
                    let mut world = left.clone();
                    let mut run = world.start_with(journal);
                    let Came::Ended(ending) = world.go(&mut run, usize::MAX) else {
                        panic!("nobody ordered a kill");
                    };
                    let what = format!("{operation} with {fault:?}, killed at {number}");
                    assert_eq!(ending.exit.code(), 0, "{what}: {:?}", told(&ending));
                    assert_eq!(record(&world, operation).state, State::Done, "{what}");
                    let seen = check(&mut world, operation);
                    assert!(
                        seen.ends_with("as the ledger has it") || seen.ends_with("nothing stands"),
                        "{what}: {seen}"
                    );
                    kills += 1;
                }
            }
        }
    }
    assert!(kills > 60, "{kills} kills");
}

/// A job that is run again on an old commit, while a change waits for its next attempt.
#[test]
fn a_change_that_waits_is_not_written_anew_from_an_old_checkout() {
    let mut world = edited(1);
    world.limits.max_wait = Duration::ZERO;
    world
        .service("mastodon")
        .order(1, Fault::RateLimited(Duration::from_mins(10)));
    assert_eq!(world.run().exit.code(), 6);
    let newest = world.items.clone();
    world.now = world.now.plus(HOUR);
    world.items[0].title = "Article 1".to_owned();
    world.behind = Some("main is another commit".to_owned());
    assert_eq!(world.run().exit.code(), 6);
    assert_eq!(world.service("mastodon").writes(), 2);
    (world.items, world.behind) = (newest, None);
    assert_eq!(world.run().exit.code(), 0);
    assert_eq!(
        check(&mut world, Operation::Update(1)),
        "publish done, update:1 done; one post, as the ledger has it"
    );
}

/// A person who is no longer sure takes it back, and what follows is as if they had not said it.
#[test]
fn a_retraction_that_is_taken_back_leaves_a_post_that_follows_edits() {
    let mut world = unwanted();
    let mut left = row(&world);
    let by = Decision {
        who: "editor".to_owned(),
        at: world.now,
        verb: "skip".to_owned(),
        why: None,
    };
    let record = next(
        left.operations.get(&Operation::Retract),
        Event::Skipped { by },
    )
    .unwrap();
    left.operations.insert(Operation::Retract, record);
    world.remote.decide(left);
    world.items[0].title = "A better title".to_owned();
    assert_eq!(
        told(&world.run()),
        ["exit 0", "a1 on mastodon: done: response"]
    );
    assert_eq!(
        check(&mut world, Operation::Update(1)),
        "publish done, update:1 done, retract skipped; one post, as the ledger has it"
    );
}

/// An old post that can't be changed now must not take the place of an announcement, nor of the look that comes before it.
#[test]
fn new_articles_go_before_changes_of_old_ones() {
    let mut world = edited(1);
    let next = crate::simulation::article(&world.config.site.url, 2);
    world.items.push(next);
    let ending = world.run();
    assert_eq!(ending.exit.code(), 0);
    let second = world
        .remote
        .rows()
        .find(|row| row.item.as_str() == "a2")
        .and_then(|row| row.publish()?.claim.clone());
    let change = world
        .remote
        .rows()
        .find(|row| row.item.as_str() == "a1")
        .and_then(|row| row.operations[&Operation::Update(1)].claim.clone());
    assert!(second.unwrap().claimed_at < change.unwrap().claimed_at);
}

#[test]
fn a_change_that_waits_makes_no_old_article_overdue() {
    let mut world = edited(1);
    world.now = world.now.plus(Duration::from_hours(24 * 30));
    world.limits.max_wait = Duration::ZERO;
    world
        .service("mastodon")
        .order(1, Fault::RateLimited(Duration::from_mins(10)));
    let ending = world.run();
    assert_eq!(
        (ending.exit.code(), ending.alarms.len()),
        (6, 0),
        "{ending:?}"
    );
}

#[test]
fn an_old_article_that_is_news_to_a_search_engine_and_waits_is_not_overdue() {
    let mut world = world(&[MASTODON], 1);
    drop(world.run());
    world.config = World::new(&super::site(&[MASTODON, SEARCH]), 0).config;
    world.services.extend(super::world(&[SEARCH], 0).services);
    drop(world.run());
    world.now = world.now.plus(Duration::from_hours(24 * 30));
    world.items[0].description = Some("Now with a description".to_owned());
    world.limits.max_wait = Duration::ZERO;
    let asked_to_wait = Fault::RateLimited(Duration::from_hours(26));
    world.service("search").order(1, asked_to_wait);
    for _run in 0..2 {
        let ending = world.run();
        assert_eq!(
            (ending.exit.code(), ending.alarms.len()),
            (6, 0),
            "{ending:?}"
        );
    }
    // A day later nothing has come of it.
    world.now = world.now.plus(Duration::from_hours(25));
    let ending = world.run();
    assert_eq!(ending.exit.code(), 5);
    assert_eq!(
        ending.alarms,
        ["a1 on search: due for 1d 01h and not proved"]
    );
}

/// One address that the engine does not like must not keep the others from it.
#[test]
fn a_batch_that_is_refused_goes_once_more_one_by_one() {
    let mut world = world(&[SEARCH], 3);
    world.service("search").order(1, Fault::Refused);
    world.service("search").order(3, Fault::Refused);
    assert_eq!(
        told(&world.run()),
        [
            "exit 4",
            "a1 on search: done: response",
            "a2 on search: failed: 422",
            "a3 on search: done: response",
        ]
    );
    // What was refused once says nothing of the next edit.
    world.items[1].title = "Another title".to_owned();
    world.now = world.now.plus(HOUR);
    assert_eq!(world.run().exit.code(), 4);
}

#[test]
fn a_row_does_not_grow_with_the_posts_of_replaced_changes() {
    let mut world = announced();
    for number in 1..=4 {
        world.items[0].title = format!("A better title, {number}");
        world.now = world.now.plus(HOUR);
        assert_eq!(world.run().exit.code(), 0);
    }
    let kept: Vec<_> = row(&world)
        .operations
        .iter()
        .filter(|(_, record)| record.claim.is_some())
        .map(|(operation, _)| operation.to_string())
        .collect();
    assert_eq!(kept, ["publish", "update:4"]);
    assert_eq!(
        check(&mut world, Operation::Update(4)),
        "publish done, update:1 done, update:2 done, update:3 done, update:4 done; one post, as the ledger has it"
    );
}

#[test]
fn two_runs_at_once_change_a_post_once() {
    let mut world = edited(1);
    let mut runs = [world.start(), world.start()];
    let endings = world.side_by_side(&mut runs);
    let codes: Vec<_> = endings.iter().map(|ending| ending.exit.code()).collect();
    assert_eq!(codes, [0, 0]);
    assert_eq!(world.service("mastodon").writes(), 2);
}

/// A picture that the author adds has to be held against what the post shows.
#[test]
fn a_change_of_pictures_waits_until_the_post_can_be_read() {
    let check = |unreadable: Duration| {
        let mut world = announced();
        with_picture(&mut world);
        world.service("mastodon").unreadable_until = Some(world.now.plus(unreadable));
        let ending = world.run();
        let told = told(&ending);
        // What was read in the end is no reason any more.
        let is_done = ending.deliveries[0].state == Some(State::Done);
        assert_eq!(is_done, ending.deliveries[0].reason.is_none(), "{ending:?}");
        (told, world.service("mastodon").writes())
    };
    let done = ["exit 0", "a1 on mastodon: done: response"].map(str::to_owned);
    assert_eq!(check(Duration::from_mins(10)), (done.to_vec(), 2));
    let (told, writes) = check(HOUR * 24);
    assert_eq!(
        told,
        [
            "exit 6",
            "a1 on mastodon: pending: its post can't be read before it is changed: unreadable",
        ]
    );
    assert_eq!(writes, 1);
}
