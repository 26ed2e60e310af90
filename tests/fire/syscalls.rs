//! SIGKILL at every system call that has an effect, and then the same command again.
//!
//! strace counts for each thread: the N-th call of any thread ends the whole program, before the call takes place.
//! Programs that it starts (git) are not traced; [`super::git_calls`] has those.

use std::os::unix::process::ExitStatusExt as _;
use std::sync::Mutex;

use sayonce::clock::{Clock as _, SystemClock};
use sayonce::model::channel::Kind;

use super::stage::{FAST, Kept, Next, POLICIES, Stage, Start, asked, report, side_by_side, skip};

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
    if asked("SAYONCE_KILLS").as_deref() == Some("all") {
        return every_point();
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
    let (broken, killed) = (Mutex::new(Vec::new()), Mutex::new(0));
    side_by_side(points, HANDS, |point| {
        if point.pass(&broken) == Came::Killed {
            *killed.lock().unwrap() += 1;
        }
    });
    assert_eq!(broken.into_inner().unwrap(), Vec::<String>::new());
    let killed = killed.into_inner().unwrap();
    assert!(
        killed >= 34,
        "only {killed} runs were killed: the numbers above are too high"
    );
}

/// Counts up each call until a run survives, for each policy alone and for all together.
fn every_point() {
    let clock = SystemClock::new();
    let mut stages = vec![Stage::new(&POLICIES, 1, FAST)];
    for channel in POLICIES {
        stages.push(Stage::new(&[channel], 1, FAST));
    }
    // Two articles on the channel that is read back: a result and the next claim share a push.
    stages.push(Stage::new(&[("mastodon", Kind::Mastodon)], 2, FAST));
    let mut columns = Vec::new();
    for (index, stage) in stages.iter().enumerate() {
        let starts = if index == 0 {
            &[Start::Nothing, Start::Clone][..]
        } else {
            &[Start::Clone]
        };
        for start in starts {
            for call in CALLS {
                columns.extend(Disk::BOTH.map(|disk| (stage, *start, call, disk)));
            }
        }
    }
    let (broken, killed) = (Mutex::new(Vec::new()), Mutex::new(0));
    side_by_side(columns, HANDS, |(stage, start, call, disk)| {
        // Reads of libraries come first and are no effect.
        let step = if call == "openat" { 7 } else { 1 };
        for number in (1..NUMBER_MAX).step_by(step) {
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
    println!(
        "{} kills by system call in {} s",
        killed.into_inner().unwrap(),
        clock.elapsed().as_secs()
    );
    assert_eq!(broken.into_inner().unwrap(), Vec::<String>::new());
}
