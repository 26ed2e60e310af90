//! What people decide: by hand, in an article, in the configuration.

use std::time::Duration;

use sayonce::model::delivery::{Decision, Event, Operation, State, next};
use sayonce::model::item::ItemChannelSettings;
use sayonce::model::outcome::Evidence;
use sayonce::model::time::Timestamp;
use sayonce::plan::decide::{Step, decide};

use super::{
    BLUESKY, HOUR, MASTODON, name, only_record, run_killed_at_write, told, warnings, with_picture,
    world,
};
use crate::simulation::{Fault, PushFault, World, article};

#[test]
fn an_article_that_was_taken_off_the_site_in_doubt_is_held_and_not_sent_again() {
    let mut world = world(&[MASTODON], 2);
    world.service("mastodon").order(2, Fault::LostRequest);
    run_killed_at_write(&mut world, "mastodon", 2);
    world.items.truncate(1);
    assert_eq!(
        told(&world.run()),
        [
            "exit 5",
            "a2 on mastodon: held: the article went away before it could be sent again (withdrawn)",
            "a1 on mastodon: done: response"
        ]
    );
    assert_eq!(world.service("mastodon").writes(), 2);
}

#[test]
fn an_article_that_was_taken_off_the_site_is_held_and_told_once() {
    let mut world = world(&[MASTODON, BLUESKY], 2);
    world.service("mastodon").order(2, Fault::NotSent);
    let run = world.start();
    world.kill_when(run, |world, _| {
        let mut records = world.remote.rows().filter_map(|row| row.publish());
        records.any(|record| record.state == State::Retry)
    });
    world.items.truncate(1);
    let mut run = world.start();
    drop(world.finish(&mut run));
    assert_eq!(
        warnings(&run),
        ["a2 on mastodon: the article went away before it could be sent again (withdrawn)"]
    );
}

#[test]
fn an_article_whose_author_excluded_a_channel_meanwhile_is_not_sent_there() {
    let mut world = world(&[MASTODON], 1);
    let limit = Fault::RateLimited(2 * HOUR);
    world.service("mastodon").order(1, limit);
    drop(world.run());
    let settings = &mut world.items[0].settings;
    settings
        .channels
        .insert(name("mastodon"), ItemChannelSettings::Excluded);
    world.now = world.now.plus(3 * HOUR);
    assert_eq!(
        told(&world.run()),
        [
            "exit 0",
            "a1 on mastodon: skipped: `mastodon: false` in its front matter"
        ]
    );
    assert_eq!(world.service("mastodon").writes(), 1);
}

/// What went out without its picture would differ from the article for ever.
#[test]
fn an_article_that_was_refused_without_its_picture_rests() {
    let mut world = world(&[MASTODON], 1);
    with_picture(&mut world);
    for write in 1..=9 {
        world.service("mastodon").order(write, Fault::Refused);
    }
    for _run in 0..2 {
        assert_eq!(
            told(&world.run()),
            ["exit 4", "a1 on mastodon: failed: 422"]
        );
        assert_eq!(world.service("mastodon").writes(), 1);
    }
}

#[test]
fn an_article_that_was_refused_is_tried_again_once_it_changed() {
    let mut world = world(&[MASTODON], 1);
    world.service("mastodon").order(1, Fault::Refused);
    assert_eq!(
        told(&world.run()),
        ["exit 4", "a1 on mastodon: failed: 422"]
    );
    world.items[0].title = "Shorter".to_owned();
    assert_eq!(
        told(&world.run()),
        ["exit 0", "a1 on mastodon: done: response"]
    );
    world.assert_exactly_once();
}

#[test]
fn what_a_person_released_still_waits_for_its_planned_date() {
    let world = world(&[MASTODON], 1);
    let now = world.now;
    let planned = now.plus(48 * HOUR);
    let mut item = world.items[0].clone();
    item.settings.publish_at = Some(planned);
    let held = Event::Held {
        reason: "manual".to_owned(),
        at: now,
    };
    let held = next(None, held).unwrap();
    let by = Decision {
        who: "me".to_owned(),
        at: now,
        verb: "approve".to_owned(),
        why: None,
    };
    let released = next(Some(&held), Event::Released { by }).unwrap();
    let rules = &world.config.channels[0].rules;
    assert_eq!(
        decide(Some(&released), Some(&item), rules, true, now),
        Step::Later {
            until: planned,
            why: "its `publish_at`".to_owned(),
        }
    );
    let after = planned.plus(Duration::from_secs(1));
    assert!(matches!(
        decide(Some(&released), Some(&item), rules, true, after),
        Step::Send { .. }
    ));
}

#[test]
fn what_is_planned_into_closed_hours_waits_until_they_open() {
    let channel = MASTODON.replace(
        "[channels.mastodon]",
        "[channels.mastodon]\nhours = \"08:00-09:00\"\ndelay = \"1h\"",
    );
    let mut world = world(&[&channel], 1);
    let at = |text: &str| Timestamp::parse(text).unwrap();
    let item = &mut world.items[0];
    let rules = &world.config.channels[0].rules;
    let mut check = |published: &str, publish_at: Option<&str>| {
        item.published = Some(at(published));
        item.settings.publish_at = publish_at.map(at);
        let step = decide(None, Some(item), rules, true, at("2026-11-29T12:00:00Z"));
        let Step::Later { until, why } = step else {
            panic!("{step:?}");
        };
        format!("{until}: {why}")
    };
    let delay = "2026-11-30T08:00:00.000Z: the channel's `delay`";
    assert_eq!(check("2026-11-29T11:30:00Z", None), delay);
    let within = "2026-11-30T08:30:00.000Z: its `publish_at`";
    assert_eq!(
        check("2026-11-01T00:00:00Z", Some("2026-11-30T08:30:00Z")),
        within
    );
    let outside = "2026-12-01T08:00:00.000Z: its `publish_at`";
    assert_eq!(
        check("2026-11-01T00:00:00Z", Some("2026-11-30T10:00:00Z")),
        outside
    );
    let hours = "2026-11-30T08:00:00.000Z: the channel's `hours`";
    assert_eq!(check("2026-11-01T00:00:00Z", None), hours);
}

/// A person sees that it is not there, and cannot see that the request is still under way.
#[test]
fn what_a_person_released_waits_until_its_last_request_is_surely_over() {
    let mut world = world(&[MASTODON], 1);
    world.service("mastodon").order(1, Fault::LostRequest);
    run_killed_at_write(&mut world, "mastodon", 1);
    let row = world.remote.rows().next().unwrap().clone();
    let claim = row.publish().unwrap().claim.clone().unwrap();
    let now = world.now;
    assert!(claim.quiet_until > now);
    let events = [
        Event::Doubted {
            reason: "no answer".to_owned(),
            at: now,
        },
        Event::Held {
            reason: "two posts".to_owned(),
            at: now,
        },
        Event::Released {
            by: Decision {
                who: "me".to_owned(),
                at: now,
                verb: "retry".to_owned(),
                why: None,
            },
        },
    ];
    let mut record = row.publish().unwrap().clone();
    for event in events {
        record = next(Some(&record), event).unwrap();
    }
    assert_eq!(record.not_before, Some(claim.quiet_until));
}

#[test]
fn what_a_journal_tells_of_an_earlier_edition_is_no_answer_to_a_later_one() {
    let mut world = world(&[MASTODON], 1);
    world.remote.faults.insert(2, PushFault::Refused);
    let mut first = world.start();
    drop(world.finish(&mut first));
    let journal = first.journal;
    let told_before = journal[0].publish().unwrap().remote.clone().unwrap();
    // Elsewhere a person finds the post, and then wants it announced once more.
    world.now = world.now.plus(HOUR);
    let proved = Event::Proved {
        remote: told_before,
        evidence: Evidence::Person,
        at: world.now,
    };
    let again = Event::Again {
        by: word(&world, "again"),
    };
    tell(&mut world, [proved, again]);
    let mut next = world.start_with(journal);
    assert_eq!(
        told(&world.finish(&mut next)),
        ["exit 0", "a1 on mastodon: done: response"]
    );
    assert_eq!(world.service("mastodon").writes(), 2);
    assert_eq!(only_record(&world).edition, 2);
}

#[test]
fn a_channel_that_was_not_asked_for_does_not_set_the_exit_code() {
    let mut world = world(&[MASTODON, BLUESKY], 1);
    world.selection.channels = [name("bluesky")].into();
    let missing = "MASTODON_TOKEN is not set".to_owned();
    world.unavailable.insert(name("mastodon"), missing);
    assert_eq!(
        told(&world.run()),
        ["exit 0", "a1 on bluesky: done: response"]
    );
}

/// A person's word.
fn word(world: &World, verb: &str) -> Decision {
    Decision {
        who: "me".to_owned(),
        at: world.now,
        verb: verb.to_owned(),
        why: None,
    }
}

/// Tells the only row what happened, each in a commit of its own.
fn tell(world: &mut World, events: impl IntoIterator<Item = Event>) {
    for event in events {
        let mut rows = world.remote.rows();
        let mut row = rows.next().unwrap().clone();
        assert_eq!(rows.count(), 0, "one row");
        let record = next(row.publish(), event).unwrap();
        row.operations.insert(Operation::Publish, record);
        world.remote.decide(row);
    }
}

/// The request of a run that was killed is in doubt, and a person says `retry`.
fn doubt_and_release(world: &mut World) {
    let doubted = Event::Doubted {
        reason: "no answer".to_owned(),
        at: world.now,
    };
    let by = word(world, "retry");
    tell(world, [doubted, Event::Released { by }]);
}

fn order_again(world: &mut World) {
    let by = word(world, "again");
    tell(world, [Event::Again { by }]);
}

#[test]
fn what_somebody_set_to_retry_by_hand_waits_until_its_last_request_is_surely_over() {
    let mut world = world(&[MASTODON], 1);
    world.service("mastodon").order(1, Fault::LostRequest);
    run_killed_at_write(&mut world, "mastodon", 1);
    let at = world.now;
    let mut record = only_record(&world);
    let reason = String::new();
    for event in [
        Event::Doubted {
            reason: reason.clone(),
            at,
        },
        Event::Held { reason, at },
    ] {
        record = next(Some(&record), event).unwrap();
    }
    record.state = State::Retry;
    let quiet = record.claim.as_ref().unwrap().quiet_until;
    let rules = &world.config.channels[0].rules;
    let step = |now| decide(Some(&record), None, rules, true, now);
    let (before, after) = (at, quiet.plus(Duration::from_secs(1)));
    assert!(matches!(step(before), Step::Later { until, .. } if until == quiet));
    assert!(matches!(step(after), Step::Send { .. }));
}

/// The run reads the account's list for another article while what was released still waits.
#[test]
fn what_a_person_released_is_looked_for_again_when_its_time_has_come() {
    let mut world = world(&[MASTODON], 1);
    let slow = Fault::Slow(Duration::from_mins(6));
    world.service("mastodon").order(1, slow);
    run_killed_at_write(&mut world, "mastodon", 1);
    doubt_and_release(&mut world);
    world.items.push(article(&world.config.site.url, 2));
    assert_eq!(world.run().exit.code(), 0);
    assert_eq!(world.service("mastodon").writes(), 2);
    world.assert_exactly_once();
}

#[test]
fn a_new_edition_that_a_person_released_after_it_was_sent_is_found() {
    let mut world = world(&[MASTODON], 1);
    drop(world.run());
    world.now = world.now.plus(HOUR);
    order_again(&mut world);
    let slow = Fault::Slow(Duration::from_mins(6));
    world.service("mastodon").order(1, slow);
    run_killed_at_write(&mut world, "mastodon", 2);
    world.now = world.now.plus(Duration::from_mins(7));
    doubt_and_release(&mut world);
    world.now = world.now.plus(HOUR);
    drop(world.run());
    assert_eq!(world.service("mastodon").writes(), 2);
    let record = only_record(&world);
    let id = record.remote.and_then(|remote| remote.id);
    assert_eq!((record.state, id.as_deref()), (State::Done, Some("2")));
}

/// The service is longer at work than its quarantine, and when its post appears a new edition was ordered.
#[test]
fn a_second_post_of_an_earlier_edition_is_told_and_kept() {
    let mut world = world(&[MASTODON], 1);
    let overdue = Fault::Slow(Duration::from_mins(20));
    world.service("mastodon").order(1, overdue);
    assert_eq!(world.run().exit.code(), 0);
    world.now = world.now.plus(HOUR);
    order_again(&mut world);
    drop(world.run());
    assert_eq!(world.service("mastodon").writes(), 3);
    world.items.push(article(&world.config.site.url, 2));
    let told: Vec<_> = world
        .run()
        .alarms
        .into_iter()
        .filter(|alarm| alarm.contains("it stands twice"))
        .collect();
    assert_eq!(told.len(), 1, "{told:?}");
    let row = world.remote.rows().next().unwrap();
    let record = row.publish().unwrap();
    let late = record.receipts.iter().map(|receipt| &receipt.remote);
    let ids: Vec<_> = record
        .remote
        .iter()
        .chain(late)
        .filter_map(|remote| remote.id.as_deref())
        .collect();
    assert_eq!(ids, ["3", "2", "1"]);
}
