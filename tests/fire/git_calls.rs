//! Death around and inside each call of git: before it, after it, and at any of its system calls, be it git alone
//! (and the remote's end of the push with it) or the whole machine.
//!
//! A `git` that stands first in `PATH` counts the calls and does to the chosen one what is asked.

use std::fmt;
use std::sync::Mutex;

use sayonce::clock::SystemClock;
use sayonce::environment::Environment;

use super::checker::Moment;
use super::stage::{
    FAST, Next, POLICIES, Stage, Start, asked, figure, report, side_by_side, skip, write_executable,
};
use crate::cli::program::Program;

/// Calls of git in one run; a run that makes fewer survives.
const CALLS_MAX: usize = 40;

/// System calls of one kind in one call of git.
const NUMBER_MAX: usize = 200;

/// Side by side.
const HANDS: usize = 6;

const SHIM: &str = r#"
n=$(( $(cat "$FIRE/count" 2>/dev/null || echo 0) + 1 ))
echo $n > "$FIRE/count"
[ "$n" = "$FIRE_CALL" ] || exec "$FIRE_GIT" "$@"
echo "$@" > "$FIRE/reached"
case $FIRE_HOW in
before) kill -9 $PPID; exit 137;;
after) "$FIRE_GIT" "$@" > "$FIRE/out" 2>&1; : > "$FIRE/struck"; kill -9 $PPID; exit 137;;
esac
strace -f -qq -o "$FIRE/trace" -e "trace=$FIRE_SYSCALL" -e "inject=$FIRE_SYSCALL:signal=SIGKILL:when=$FIRE_NUMBER" "$FIRE_GIT" "$@"
code=$?
grep -q 'killed by SIGKILL' "$FIRE/trace" && : > "$FIRE/struck"
if [ "$FIRE_HOW" = both ] && [ -e "$FIRE/struck" ]; then kill -9 $PPID; fi
exit $code
"#;

/// What happens to a call of git.
#[derive(Clone, Copy, Debug)]
enum How {
    /// The machine dies before it.
    Before,
    /// The machine dies when it is done, before its answer is read.
    After,
    /// git dies inside it, at the N-th of these system calls of any of its processes.
    Git(&'static str, usize),
    /// The same, and the machine with it.
    Both(&'static str, usize),
}

impl fmt::Display for How {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Before => formatter.write_str("before"),
            Self::After => formatter.write_str("after"),
            Self::Git(call, number) => write!(formatter, "git-{call}-{number}"),
            Self::Both(call, number) => write!(formatter, "both-{call}-{number}"),
        }
    }
}

/// What came of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Came {
    Struck,
    /// git made fewer system calls.
    NotStruck,
    /// The run made fewer calls of git.
    NotReached,
}

struct Fire<'a> {
    stage: &'a Stage,
    git: String,
    broken: Mutex<Vec<String>>,
}

impl<'a> Fire<'a> {
    fn new(stage: &'a Stage) -> Self {
        std::fs::create_dir(stage.path("bin")).unwrap();
        write_executable(&stage.path("bin/git"), SHIM);
        let home = stage.path("home");
        let ran = Program::new("sh", &home, &home)
            .arguments(["-c", "command -v git"])
            .run();
        Self {
            stage,
            git: ran.stdout.trim().to_owned(),
            broken: Mutex::new(Vec::new()),
        }
    }

    fn pass(&self, call: usize, how: How, next: Next) -> Came {
        let name = format!("call-{call}-{how}-{next:?}");
        let mut kept = self.stage.kept(&name, Start::Clone);
        kept.remote_was_killed = matches!(how, How::Git(..) | How::Both(..));
        let notes = self.stage.path(&format!("{name}.notes"));
        std::fs::create_dir(&notes).unwrap();
        let (word, syscall, number) = match how {
            How::Before => ("before", "none", 0),
            How::After => ("after", "none", 0),
            How::Git(syscall, number) => ("git", syscall, number),
            How::Both(syscall, number) => ("both", syscall, number),
        };
        let inherited = Environment::of_process();
        let path = format!(
            "{}:{}",
            self.stage.path("bin").display(),
            inherited.get("PATH").unwrap_or("/usr/bin:/bin")
        );
        let (notes_text, call, number) = (
            notes.display().to_string(),
            call.to_string(),
            number.to_string(),
        );
        let ran = kept
            .sayonce()
            .environment([
                ("PATH", path.as_str()),
                ("FIRE", &notes_text),
                ("FIRE_GIT", &self.git),
                ("FIRE_CALL", &call),
                ("FIRE_HOW", word),
                ("FIRE_SYSCALL", syscall),
                ("FIRE_NUMBER", &number),
            ])
            .run();
        let there = |file: &str| notes.join(file).exists();
        let came = match (there("reached"), how) {
            (false, _) => Came::NotReached,
            (true, How::Git(..) | How::Both(..)) if !there("struck") => Came::NotStruck,
            (true, _) => Came::Struck,
        };
        let mut wrong = Vec::new();
        match ran.code() {
            // git's death is the ledger's trouble (3) or is got over.
            None | Some(0 | 3 | 5 | 6) => {}
            Some(_) => wrong.push(format!("{}\n{}{}", ran.status, ran.stdout, ran.stderr)),
        }
        match came {
            Came::Struck => wrong.extend(kept.continued(next)),
            Came::NotStruck | Came::NotReached => wrong.extend(kept.check(Moment::AtRest)),
        }
        let said = std::fs::read_to_string(notes.join("reached")).unwrap_or_default();
        kept.remove(&wrong);
        report(&format!("{name} ({})", said.trim()), wrong, &self.broken);
        came
    }
}

#[test]
fn a_death_around_or_inside_a_call_of_git_neither_loses_nor_repeats() {
    let stage = Stage::new(&POLICIES, 1, FAST);
    let fire = Fire::new(&stage);
    let all = asked("SAYONCE_KILLS").as_deref() == Some("all");
    let clock = SystemClock::new();
    let struck = Mutex::new(0);
    let take = |call, how, next| {
        let came = fire.pass(call, how, next);
        if came == Came::Struck {
            *struck.lock().unwrap() += 1;
        }
        came
    };
    if all {
        every_point(&take);
    } else {
        spread(&take);
    }
    let struck = struck.into_inner().unwrap();
    println!(
        "deaths around and inside git: {struck} points, {}",
        figure(&fire.broken, &clock)
    );
    assert_eq!(fire.broken.into_inner().unwrap(), Vec::<String>::new());
    assert!(struck >= 12, "only {struck} calls were struck");
}

fn spread(take: &(impl Fn(usize, How, Next) -> Came + Sync)) {
    // The run reads settings and the remote's refs, then pushes: a claim first.
    let mut points: Vec<_> = (3..=9)
        .flat_map(|call| [(call, How::Before), (call, How::After)])
        .collect();
    if has_strace() {
        points.extend([
            (5, How::Git("write", 4)),
            (5, How::Both("rename", 1)),
            (6, How::Git("rename", 2)),
            (6, How::Both("write", 8)),
            (7, How::Git("openat", 60)),
            (7, How::Both("rename", 2)),
        ]);
    }
    let nexts = [
        Next::Elsewhere,
        Next::Later,
        Next::Later,
        Next::Elsewhere,
        Next::AtOnce,
    ];
    let points = points.into_iter().zip(nexts.into_iter().cycle());
    side_by_side(points, HANDS, |((call, how), next)| {
        take(call, how, next);
    });
}

fn every_point(take: &(impl Fn(usize, How, Next) -> Came + Sync)) {
    let syscalls = [
        "write", "rename", "link", "unlink", "openat", "clone", "vfork", "fsync", "close",
    ];
    let mut columns: Vec<(usize, Option<&'static str>, Next)> = Vec::new();
    let traced = has_strace();
    for call in 1..CALLS_MAX {
        for next in Next::ALL {
            columns.push((call, None, next));
        }
        if traced {
            for (index, syscall) in syscalls.into_iter().enumerate() {
                columns.push((call, Some(syscall), Next::ALL[(call + index) % 3]));
            }
        }
    }
    side_by_side(columns, HANDS, |(call, syscall, next)| {
        let Some(syscall) = syscall else {
            take(call, How::Before, next);
            take(call, How::After, next);
            return;
        };
        // Most opens are reads, and a close is where a lock file is done with.
        let step = if ["openat", "close"].contains(&syscall) {
            9
        } else {
            1
        };
        for number in (1..NUMBER_MAX).step_by(step) {
            let how = if (number / step).is_multiple_of(2) {
                How::Git(syscall, number)
            } else {
                How::Both(syscall, number)
            };
            if take(call, how, next) != Came::Struck {
                break;
            }
        }
    });
}

/// Whether git can be killed inside a call.
fn has_strace() -> bool {
    let directory = tempfile::tempdir().unwrap();
    let home = directory.path();
    let ran = Program::new("sh", home, home)
        .arguments(["-c", "strace -f -e inject=write:signal=SIGKILL:when=9 true"])
        .run();
    if !ran.status.success() {
        skip("strace is not installed, or may not be used here");
    }
    ran.status.success()
}
