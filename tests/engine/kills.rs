//! A job is killed at every action that it makes, and continued by another one: on a fresh clone, as where a CI machine's disk
//! is gone, and on the same disk with its journal. The ordinary form tries a world for pairs that is small;
//! `SAYONCE_PAIRS=all` tries every pair in the large one too, and every fault together with every kill.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use sayonce::model::row::Row;

use super::{BLUESKY, FOUR, HOUR, MASTODON, told, world};
use crate::simulation::{Fault, PushFault, World};

/// Asks for the long form.
const VARIABLE: &str = "SAYONCE_PAIRS";
/// Runs until everything is proved.
const RUNS_MAX: usize = 3;

/// What goes wrong beside the kill.
#[derive(Clone, Copy, Debug)]
enum Trouble {
    None,
    /// With the n-th write of the channel.
    Write(&'static str, usize, Fault),
    /// With the n-th push.
    Push(usize, PushFault),
}

/// What is left of the machine.
#[derive(Clone, Copy, Debug)]
enum Disk {
    Gone,
    Kept,
}

const DISKS: [Disk; 2] = [Disk::Gone, Disk::Kept];

/// Everything that a service can do to a write and that passes by itself.
const FAULTS: [Fault; 8] = [
    Fault::LostAnswer,
    Fault::LostRequest,
    Fault::Slow(Duration::from_secs(12)),
    Fault::Slow(Duration::from_secs(45)),
    Fault::Status500,
    Fault::Status500Stored,
    Fault::RateLimited(Duration::from_secs(30)),
    Fault::NotSent,
];
const PUSH_FAULTS: [PushFault; 4] = [
    PushFault::LostPush,
    PushFault::LostAnswer,
    PushFault::Late(Duration::from_secs(11)),
    PushFault::Late(Duration::from_mins(5)),
];
/// Pushes of a run in which nothing goes wrong, and a few more.
const PUSHES: usize = 14;

/// One fault of each kind, the channels in turn.
const TROUBLES: [Trouble; 11] = [
    Trouble::None,
    Trouble::Write("mastodon", 1, Fault::LostAnswer),
    Trouble::Write("bluesky", 1, Fault::LostRequest),
    Trouble::Write("devto", 1, Fault::Slow(Duration::from_secs(45))),
    Trouble::Write("search", 1, Fault::Status500),
    Trouble::Write("devto", 1, Fault::Status500Stored),
    Trouble::Write("bluesky", 1, Fault::RateLimited(Duration::from_secs(30))),
    Trouble::Write("bluesky", 1, Fault::NotSent),
    Trouble::Push(2, PushFault::LostPush),
    Trouble::Push(3, PushFault::LostAnswer),
    Trouble::Push(4, PushFault::Late(Duration::from_mins(5))),
];

/// The same for pairs of kills, which are many.
const PAIR_TROUBLES: [Trouble; 4] = [
    Trouble::None,
    Trouble::Write("mastodon", 1, Fault::LostRequest),
    Trouble::Write("bluesky", 1, Fault::LostAnswer),
    Trouble::Push(2, PushFault::Late(Duration::from_secs(11))),
];

#[test]
fn a_job_killed_at_any_action_or_two_is_continued_without_a_duplicate_or_a_gap() {
    let single = each(&TROUBLES, |trouble| killed_once(*trouble));
    let mut pairs = each(&PAIR_TROUBLES, |trouble| {
        killed_twice(&[MASTODON, BLUESKY], 1, *trouble)
    });
    if is_long() {
        pairs += each(&TROUBLES, |trouble| killed_twice(&FOUR, 3, *trouble));
    }
    println!("kill points: {single} single, {pairs} pairs");
    assert!(single > 300, "{single} kills");
    assert!(pairs > 400, "{pairs} pairs");
}

#[test]
fn a_fault_of_any_kind_at_any_position_leaves_no_duplicate_and_no_gap() {
    let troubles = all_troubles();
    let kills = each(&troubles, |trouble| {
        let what = format!("{trouble:?}");
        finish(troubled(&FOUR, 3, *trouble), Vec::new(), 12, &what);
        if is_long() { killed_once(*trouble) } else { 0 }
    });
    println!("faults: {} positions, {kills} kill points", troubles.len());
    assert!(troubles.len() > 100);
}

/// Each fault at each write of each channel, and at each push.
fn all_troubles() -> Vec<Trouble> {
    let mut troubles = Vec::new();
    for channel in ["search", "bluesky", "mastodon", "devto"] {
        // A search engine is told of three articles at once.
        let writes = if channel == "search" { 1 } else { 3 };
        for number in 1..=writes {
            troubles.extend(FAULTS.map(|fault| Trouble::Write(channel, number, fault)));
        }
    }
    for number in 1..=PUSHES {
        troubles.extend(PUSH_FAULTS.map(|fault| Trouble::Push(number, fault)));
    }
    troubles
}

fn killed_once(trouble: Trouble) -> usize {
    let mut kills = 0;
    let moments = troubled(&FOUR, 3, trouble).moments(Vec::new());
    for (action, (left, journal)) in moments.into_iter().enumerate() {
        for (left, disk) in kept(left, &journal) {
            let what = format!("{trouble:?}, killed at action {action}, disk {disk:?}");
            finish(left, on(disk, &journal), 12, &what);
            kills += 1;
        }
    }
    kills
}

fn killed_twice(channels: &[&str], articles: usize, trouble: Trouble) -> usize {
    let mut kills = 0;
    let deliveries = channels.len() * articles;
    let first = troubled(channels, articles, trouble).moments(Vec::new());
    for (one, (left, journal)) in first.into_iter().enumerate() {
        for (mut second, disk) in kept(left, &journal) {
            let moments = second.moments(on(disk, &journal));
            for (two, (left, journal)) in moments.into_iter().enumerate() {
                let what = format!("{trouble:?}, killed at {one} and {two}, disk {disk:?}");
                finish(left, on(disk, &journal), deliveries, &what);
                kills += 1;
            }
        }
    }
    kills
}

/// The worlds to go on with: where nothing is on the disk, the two are one.
fn kept(left: World, journal: &[Row]) -> Vec<(World, Disk)> {
    if journal.is_empty() {
        return vec![(left, Disk::Gone)];
    }
    DISKS.map(|disk| (left.clone(), disk)).into()
}

fn on(disk: Disk, journal: &[Row]) -> Vec<Row> {
    match disk {
        Disk::Gone => Vec::new(),
        Disk::Kept => journal.to_vec(),
    }
}

fn troubled(channels: &[&str], articles: usize, trouble: Trouble) -> World {
    let mut world = world(channels, articles);
    match trouble {
        Trouble::None => {}
        Trouble::Push(number, fault) => {
            world.remote.faults.insert(number, fault);
        }
        Trouble::Write(channel, number, fault) => {
            let mut services = world.services.iter_mut();
            if let Some((_, service)) = services.find(|(name, _)| name.as_str() == channel) {
                service.order(number, fault);
            }
        }
    }
    world
}

/// The next run must prove everything; after a fault that comes late, the one after.
fn finish(mut world: World, journal: Vec<Row>, deliveries: usize, what: &str) {
    let mut run = world.start_with(journal);
    let mut ending = world.finish(&mut run);
    for _ in 1..RUNS_MAX {
        if ending.exit.code() == 0 {
            break;
        }
        world.now = world.now.plus(HOUR);
        run = world.start_with(run.journal);
        ending = world.finish(&mut run);
    }
    assert_eq!(
        (ending.exit.code(), ending.summary.done),
        (0, deliveries),
        "{what}: {:#?}",
        told(&ending)
    );
    world.assert_exactly_once();
}

/// Does something with each of `from`, on every core. Returns the sum.
fn each<T: Sync>(from: &[T], act: impl Fn(&T) -> usize + Sync) -> usize {
    let (next, sum) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        while let Some(one) = from.get(next.fetch_add(1, Ordering::Relaxed)) {
            sum.fetch_add(act(one), Ordering::Relaxed);
        }
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(work);
        }
    });
    sum.into_inner()
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test has no `Environment`, and the variable changes only how much is tried"
)]
fn is_long() -> bool {
    std::env::var(VARIABLE).is_ok_and(|form| form == "all")
}
