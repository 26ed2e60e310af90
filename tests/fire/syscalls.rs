//! SIGKILL at every system call that has an effect, and then the same command again.
//!
//! strace counts for each thread: the N-th call of any thread ends the whole program, before the call takes place.
//! Programs that it starts (git) are not traced; [`super::git_calls`] has those.

use std::os::unix::process::ExitStatusExt as _;
use std::sync::Mutex;

use sayonce::clock::SystemClock;
use sayonce::model::channel::Kind;

use super::stage::{
    FAST, Kept, Next, POLICIES, Stage, Start, asked, figure, report, side_by_side, skip,
};

/// The calls by which the program changes files, speaks, or starts git.
const CALLS: [&str; 13] = [
    "write",
    "sendto",
    "connect",
    "rename",
    "link",
    "unlink",
    "mkdir",
    "openat",
    "fsync",
    "ftruncate",
    "clone3",
    "clone",
    "socketpair",
];

/// No thread makes more calls of one kind.
const NUMBER_MAX: usize = 3_000;

/// Side by side; most of them wait.
const HANDS: usize = 6;

/// One point at which a run is killed.
#[derive(Clone, Copy, Debug)]
struct Point<'a> {
    stage: &'a Stage,
    start: Start,
    call: &'static str,
    number: usize,
    next: Next,
}

/// What came of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Came {
    Killed,
    /// No thread makes that many calls.
    Survived,
}

/// Whether the next run finds the disk of the killed one.
#[derive(Clone, Copy, Debug)]
enum Disk {
    Same,
    Gone,
}

impl Disk {
    const BOTH: [Self; 2] = [Self::Same, Self::Gone];

    fn next(self, number: usize) -> Next {
        match self {
            Self::Same if number.is_multiple_of(3) => Next::AtOnce,
            Self::Same => Next::Later,
            Self::Gone => Next::Elsewhere,
        }
    }
}

impl Point<'_> {
    fn name(&self) -> String {
        format!(
            "{:?}-{}-{}-{:?}",
            self.start, self.call, self.number, self.next
        )
    }

    /// Kills, continues, and checks.
    fn pass(&self, broken: &Mutex<Vec<String>>) -> Came {
        let kept = self.stage.kept(&self.name(), self.start);
        let ran = under_strace(&kept, self.call, self.number).run();
        let came = if ran.status.signal() == Some(9) {
            Came::Killed
        } else {
            Came::Survived
        };
        let wrong = match came {
            Came::Killed => kept.continued(self.next),
            Came::Survived => {
                assert!([Some(0), Some(5)].contains(&ran.code()), "{ran:?}");
                kept.check(super::checker::Moment::AtRest)
            }
        };
        kept.remove(&wrong);
        report(&self.name(), wrong, broken);
        came
    }
}

fn under_strace(kept: &Kept<'_>, call: &str, number: usize) -> crate::cli::program::Program {
    let trace = format!("trace={call}");
    let inject = format!("inject={call}:signal=SIGKILL:when={number}");
    let binary = assert_cmd::cargo::cargo_bin!("sayonce")
        .display()
        .to_string();
    let arguments = kept.arguments();
    kept.program("strace")
        .arguments([
            "-f",
            "-b",
            "execve",
            "-qq",
            "-o",
            "/dev/null",
            "-e",
            &trace,
            "-e",
            &inject,
        ])
        .arguments([binary.as_str()])
        .arguments(arguments.iter().map(String::as_str))
}

fn has_strace(stage: &Stage) -> bool {
    let home = stage.path("home");
    let look =
        "command -v strace && strace -f -b execve -e inject=write:signal=SIGKILL:when=9 true";
    let ran = crate::cli::program::Program::new("sh", &home, &home)
        .arguments(["-c", look])
        .run();
    let has = ran.status.success();
    if !has {
        skip("strace is not installed, or may not be used here");
    }
    has
}

#[test]
fn a_kill_at_any_system_call_neither_loses_nor_repeats() {
    let stage = Stage::new(&POLICIES, 1, FAST);
    if !has_strace(&stage) {
        return;
    }
    match asked("SAYONCE_KILLS").as_deref() {
        None => {}
        Some("all") => return every_point(),
        Some(number) => return some_points(number.parse().unwrap()),
    }
    // The first calls make the scratch repository; the later ones of the long-lived threads are git's objects, the
    // pushes and the requests.
    let spread = [
        ("write", &[1, 4, 9, 13, 17, 22, 27, 31, 36][..]),
        ("sendto", &[1, 2, 3, 4, 5]),
        ("connect", &[1, 2, 3, 4]),
        ("rename", &[1, 2, 3, 5, 7]),
        ("link", &[3, 10, 20]),
        ("unlink", &[4, 16]),
        ("mkdir", &[6, 18]),
        ("fsync", &[1, 2]),
        ("clone", &[1, 2, 3, 4]),
        ("clone3", &[2, 6, 8]),
        ("openat", &[100]),
    ];
    let points = spread.iter().flat_map(|(call, numbers)| {
        let point = |number: &usize| Point {
            stage: &stage,
            start: Start::Clone,
            call,
            number: *number,
            next: Next::Later,
        };
        numbers.iter().map(point)
    });
    let nexts = [Next::Elsewhere, Next::Later, Next::Elsewhere, Next::AtOnce];
    let points = points
        .zip(nexts.into_iter().cycle())
        .map(|(point, next)| Point { next, ..point });
    let points: Vec<_> = points.collect();
    let clock = SystemClock::new();
    let (broken, killed) = (Mutex::new(Vec::new()), Mutex::new(0));
    side_by_side(points, HANDS, |point| {
        if point.pass(&broken) == Came::Killed {
            *killed.lock().unwrap() += 1;
        }
    });
    let killed = killed.into_inner().unwrap();
    print_figure(&clock, killed, &broken);
    assert_eq!(broken.into_inner().unwrap(), Vec::<String>::new());
    assert!(
        killed >= 34,
        "only {killed} runs were killed: the numbers above are too high"
    );
}

/// All policies together, and each alone.
fn all_stages() -> Vec<Stage> {
    let mut stages = vec![Stage::new(&POLICIES, 1, FAST)];
    for channel in POLICIES {
        stages.push(Stage::new(&[channel], 1, FAST));
    }
    // Two articles on the channel that is read back: a result and the next claim share a push.
    stages.push(Stage::new(&[("mastodon", Kind::Mastodon)], 2, FAST));
    stages
}

/// Each of them as it is used: the first also from nothing.
fn starts(stages: &[Stage]) -> Vec<(&Stage, Start)> {
    let mut starts: Vec<_> = stages.iter().map(|stage| (stage, Start::Clone)).collect();
    starts.extend(stages.first().map(|stage| (stage, Start::Nothing)));
    starts
}

/// Numbers every call of a run of each stage, and takes about so many of the points, evenly.
fn some_points(count: usize) {
    let clock = SystemClock::new();
    let stages = all_stages();
    let mut points = Vec::new();
    for (stage, start) in starts(&stages) {
        for (call, made) in made_calls(stage, start) {
            let step = step_of(call);
            for number in (1..=made).step_by(step) {
                points.extend(Disk::BOTH.map(|disk| Point {
                    stage,
                    start,
                    call,
                    number,
                    next: disk.next(number),
                }));
            }
        }
    }
    let all = points.len();
    let chosen = (0..count.min(all)).filter_map(|index| points.get(index * all / count.min(all)));
    let (broken, killed) = (Mutex::new(Vec::new()), Mutex::new(0));
    side_by_side(chosen, HANDS, |point| {
        if point.pass(&broken) == Came::Killed {
            *killed.lock().unwrap() += 1;
        }
    });
    print_figure(&clock, killed.into_inner().unwrap(), &broken);
    println!("{all} points are there");
    assert_eq!(broken.into_inner().unwrap(), Vec::<String>::new());
}

/// How many calls of each kind the busiest thread of a run makes.
fn made_calls(stage: &Stage, start: Start) -> Vec<(&'static str, usize)> {
    let kept = stage.kept("counted", start);
    let notes = stage.path("counted.trace");
    let trace = format!("trace={}", CALLS.join(","));
    let binary = assert_cmd::cargo::cargo_bin!("sayonce");
    let arguments = kept.arguments();
    let ran = kept
        .program("strace")
        .arguments(["-f", "-b", "execve", "-qq", "-o"])
        .arguments([notes.to_str().unwrap(), "-e", &trace])
        .arguments([binary.to_str().unwrap()])
        .arguments(arguments.iter().map(String::as_str))
        .run();
    assert!([Some(0), Some(5)].contains(&ran.code()), "{ran:?}");
    let text = std::fs::read_to_string(&notes).unwrap();
    let mut of_thread = std::collections::BTreeMap::<(&str, &str), usize>::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let (Some(thread), Some(rest)) = (words.next(), words.next()) else {
            continue;
        };
        let call = rest.split('(').next().unwrap_or_default();
        *of_thread.entry((thread, call)).or_default() += 1;
    }
    kept.remove(&[]);
    let busiest = |call: &'static str| {
        let counts = of_thread.iter().filter(|((_, made), _)| *made == call);
        counts.map(|(_, count)| *count).max().unwrap_or_default()
    };
    CALLS.map(|call| (call, busiest(call))).to_vec()
}

/// Reads of libraries come first and are no effect.
fn step_of(call: &str) -> usize {
    if call == "openat" { 7 } else { 1 }
}

fn print_figure(clock: &SystemClock, killed: usize, broken: &Mutex<Vec<String>>) {
    println!(
        "kills at system calls: {killed} points, {}",
        figure(broken, clock)
    );
}

/// Counts up each call until a run survives, for each policy alone and for all together.
fn every_point() {
    let clock = SystemClock::new();
    let stages = all_stages();
    let mut columns = Vec::new();
    for (stage, start) in starts(&stages) {
        for call in CALLS {
            columns.extend(Disk::BOTH.map(|disk| (stage, start, call, disk)));
        }
    }
    let (broken, killed) = (Mutex::new(Vec::new()), Mutex::new(0));
    side_by_side(columns, HANDS, |(stage, start, call, disk)| {
        for number in (1..NUMBER_MAX).step_by(step_of(call)) {
            let point = Point {
                stage,
                start,
                call,
                number,
                next: disk.next(number),
            };
            if point.pass(&broken) == Came::Survived {
                break;
            }
            *killed.lock().unwrap() += 1;
        }
    });
    print_figure(&clock, killed.into_inner().unwrap(), &broken);
    assert_eq!(broken.into_inner().unwrap(), Vec::<String>::new());
}
