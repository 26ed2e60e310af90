//! What git says of a push, and of a remote's refs.

use sayonce::git::process::{Ending, Finished};
use sayonce::git::push::{Answer, judge, parse};
use sayonce::git::remote::parse_list;

use super::parts;

const BRANCH: &str = "refs/heads/main";
const WITNESS: &str = "refs/sayonce/witness";

/// Reads an input as a push: how it ended (one byte), standard output, `\x1e`, standard error.
pub(crate) fn push(bytes: &[u8]) -> bool {
    let Some((ending, rest)) = bytes.split_first() else {
        return false;
    };
    let mut said = parts(rest).map(|part| String::from_utf8_lossy(part).into_owned());
    let finished = Finished {
        ending: match ending {
            b'0' => Ending::Code(0),
            b't' => Ending::TimedOut,
            b's' => Ending::Signal,
            code => Ending::Code(i32::from(*code)),
        },
        stdout: said.next().unwrap_or_default(),
        stderr: said.next().unwrap_or_default(),
    };
    let with_witness = judge(&finished, BRANCH, Some(WITNESS));
    let alone = judge(&finished, BRANCH, None);
    let moved = |reference: &str| first_line_of(&finished.stdout, reference).is_some_and(is_move);
    let is_clean = finished.ending == Ending::Code(0) && moved(BRANCH);
    assert_eq!(alone == Answer::Landed, is_clean, "{finished:?}");
    assert_eq!(
        with_witness == Answer::Landed,
        is_clean && moved(WITNESS),
        "{finished:?}"
    );
    for answer in [&with_witness, &alone] {
        assert_shown(answer);
    }
    list(&finished.stdout);
    !parse(&finished.stdout).is_empty()
}

/// The status line of a ref, found without the program's own reader.
fn first_line_of<'a>(stdout: &'a str, reference: &str) -> Option<&'a str> {
    stdout.lines().find(|line| {
        let mut fields = line.splitn(3, '\t');
        let flag = fields.next().unwrap_or_default();
        let refs = fields.next().unwrap_or_default();
        let has_summary = fields.next().is_some();
        [" ", "*", "+", "=", "!"].contains(&flag)
            && has_summary
            && refs.ends_with(&format!(":{reference}"))
    })
}

fn is_move(line: &str) -> bool {
    line.starts_with([' ', '*', '+'])
}

/// A reason is one line, whatever the remote's hooks print.
fn assert_shown(answer: &Answer) {
    let words = match answer {
        Answer::Landed => return,
        Answer::Beaten(words)
        | Answer::WitnessRefused(words)
        | Answer::WitnessLeftBehind(words)
        | Answer::Unknown(words)
        | Answer::Refused { reason: words, .. } => words,
    };
    assert!(!words.is_empty(), "{answer:?} says nothing");
    super::assert_showable("git's words", words);
}

fn list(stdout: &str) {
    let Ok(found) = parse_list(stdout, &[BRANCH, WITNESS]) else {
        return;
    };
    for (reference, object) in found {
        let stands_there = stdout
            .lines()
            .any(|line| line.to_lowercase() == format!("{object}\t{reference}"));
        assert!(stands_there, "{reference} at {object} out of {stdout:?}");
    }
}
