//! Would the rules notice? Each rule of the protocol is broken once, and the search must find what comes of it.

use std::fmt::Write as _;
use std::time::Duration;

use crate::model::mutant::{Mutant, with};

use super::scenario::{AT_LEAST_ONCE, AT_MOST_ONCE, Fault, KEYED, Scenario, UNREADABLE, VERIFIED};
use super::search::{Found, explore};
use super::watch::Rule;

const DOCUMENT: &str = include_str!("../../../docs/protocol.md");
/// States in which a broken rule must show.
const STATES_MAX: usize = 60_000;

/// A rule that is broken, the world in which that shows, and how it shows.
pub(super) struct Case {
    pub(super) mutant: Mutant,
    /// What the program does then.
    does: &'static str,
    world: Scenario,
    shows: Rule,
}

impl Rule {
    /// The rule in words, for the document.
    const fn sentence(self) -> &'static str {
        match self {
            Self::OnePost => "an article has at most one post",
            Self::OneRequest => {
                "at most one request may have had an effect, and one more for each release"
            }
            Self::IntentFirst => {
                "a request leaves only inside its send window, after the remote showed its claim"
            }
            Self::OneShot => "a token is sent once",
            Self::OneText => {
                "one key has one text, and what may have been sent is repeated as it was"
            }
            Self::OneAtATime => "a request carries no more than the service takes at once",
            Self::LeftAlone => "a pause that the service asked for is kept",
            Self::FewAttempts => "no more requests than `max_attempts`",
            Self::StopsSending => "no request leaves after a stop",
            Self::Breaker => "with too much in doubt nothing else is claimed",
            Self::Paced => "two claims are `interval` apart",
            Self::TrueDone => "`done` has a receipt that the service gave",
            Self::TrueFailed => "`failed` has no post",
            Self::LegalMove => "a row moves only as this page says",
            Self::ReceiptKept => {
                "a receipt that a run was told is in the ledger or in the journal when it ends"
            }
            Self::NothingForgotten => "one healthy run finishes what is left",
            Self::RunEnds => "a run ends",
        }
    }
}

#[expect(clippy::too_many_lines, reason = "it is a table")]
pub(super) fn cases() -> Vec<Case> {
    let case = |mutant, does, world, shows| Case {
        mutant,
        does,
        world,
        shows,
    };
    let alone = Scenario {
        machines: 1,
        starts: 1,
        ..VERIFIED
    };
    let fails = |world: &Scenario, faults: usize, can_fail: &'static [Fault]| Scenario {
        faults,
        can_fail,
        ..world.clone()
    };
    let two_articles = |world: &Scenario| Scenario {
        articles: 2,
        ..world.clone()
    };
    let three_articles = Scenario {
        articles: 3,
        ..VERIFIED
    };
    let of = |policy: &Scenario| Scenario {
        machines: 1,
        starts: 1,
        releases: 0,
        ..policy.clone()
    };
    let killed = Scenario {
        kills: 1,
        ..VERIFIED
    };
    vec![
        case(
            Mutant::SentBeforeThePush,
            "a claim is sent before its push has begun",
            alone.clone(),
            Rule::IntentFirst,
        ),
        case(
            Mutant::UnknownIsLanded,
            "a push without an answer is taken as landed",
            fails(&alone, 1, &[Fault::PushUnseen]),
            Rule::ReceiptKept,
        ),
        case(
            Mutant::PushedByForce,
            "a push has no lease",
            VERIFIED,
            Rule::LegalMove,
        ),
        case(
            Mutant::PushedPlainly,
            "a push has no lease and goes wherever it is a fast-forward; the branch is reset",
            Scenario {
                rollbacks: 1,
                ..VERIFIED
            },
            Rule::OnePost,
        ),
        case(
            Mutant::NoWitness,
            "there is no witness; the branch is reset",
            Scenario {
                rollbacks: 1,
                ..VERIFIED
            },
            Rule::OnePost,
        ),
        case(
            Mutant::TokenIsShared,
            "two runs of one name draw the same token",
            Scenario {
                same_name: true,
                ..VERIFIED
            },
            Rule::OneShot,
        ),
        case(
            Mutant::LostClaimKept,
            "a claim that lost the race is told to the row of the winner",
            fails(&VERIFIED, 1, &[Fault::NotSent]),
            Rule::LegalMove,
        ),
        case(
            Mutant::RowOverwritten,
            "what was found out about a row is written over another one",
            fails(&VERIFIED, 1, &[Fault::ServerError]),
            Rule::LegalMove,
        ),
        case(
            Mutant::WindowIgnored,
            "a claim is sent whenever it lands",
            fails(&alone, 1, &[Fault::Sleeps]),
            Rule::IntentFirst,
        ),
        case(
            Mutant::StopIgnored,
            "a claim that is ready is sent in spite of a stop",
            Scenario {
                stops: 1,
                ..alone.clone()
            },
            Rule::StopsSending,
        ),
        case(
            Mutant::OwnIsForeign,
            "a run does not tell its own claims from another's",
            three_articles,
            Rule::OneAtATime,
        ),
        case(
            Mutant::RequestRepeated,
            "the connection repeats a request that was not answered",
            fails(&alone, 1, &[Fault::Unanswered]),
            Rule::OneShot,
        ),
        case(
            Mutant::TimeoutIsNotSent,
            "a timeout is taken as \"not sent\"",
            fails(&alone, 1, &[Fault::Unanswered]),
            Rule::OnePost,
        ),
        case(
            Mutant::FailedPushIsRetry,
            "an outcome whose push failed is written as `retry`",
            fails(&of(&AT_MOST_ONCE), 1, &[Fault::PushUnseen]),
            Rule::OneRequest,
        ),
        case(
            Mutant::TakenOverEarly,
            "another run's claim is taken over before its quiet point",
            Scenario { kills: 1, ..KEYED },
            Rule::LegalMove,
        ),
        case(
            Mutant::SkewIgnored,
            "a machine whose clock is far ahead takes over",
            Scenario {
                ahead: Duration::from_secs(100),
                same_name: true,
                ..killed.clone()
            },
            Rule::LegalMove,
        ),
        case(
            Mutant::MisdatedLookupCounts,
            "a machine whose clock is far ahead says when it did not find it",
            Scenario {
                ahead: Duration::from_secs(100),
                ..fails(&killed, 1, &[Fault::Unanswered])
            },
            Rule::LegalMove,
        ),
        case(
            Mutant::QuarantineLeftOut,
            "the quiet point leaves out `quarantine`",
            Scenario {
                rules: &[("quarantine", "\"2m\"")],
                ..fails(&alone, 1, &[Fault::Unanswered])
            },
            Rule::OnePost,
        ),
        case(
            Mutant::AbsentCountsEarly,
            "*absent* counts before the quiet point",
            fails(&alone, 1, &[Fault::Unanswered]),
            Rule::LegalMove,
        ),
        case(
            Mutant::OneAbsentIsEnough,
            "one *absent* is enough",
            fails(&alone, 1, &[Fault::Unanswered]),
            Rule::LegalMove,
        ),
        case(
            Mutant::OtherAccountBelieved,
            "another account's *absent* is believed",
            Scenario {
                other_account: true,
                ..killed.clone()
            },
            Rule::OnePost,
        ),
        case(
            Mutant::NotListedAgain,
            "nobody looks at what is there before a further attempt; a refusal lied",
            fails(&alone, 1, &[Fault::RateLimitedStored]),
            Rule::OnePost,
        ),
        case(
            Mutant::SentMoreThanOnce,
            "`at_most_once` sends again what is not there",
            fails(&of(&AT_MOST_ONCE), 1, &[Fault::Unanswered]),
            Rule::OneRequest,
        ),
        case(
            Mutant::ConfirmIgnored,
            "`gate = \"confirm\"` sends again without a person",
            Scenario {
                rules: &[("gate", "\"confirm\"")],
                ..fails(&alone, 1, &[Fault::Unanswered])
            },
            Rule::OneRequest,
        ),
        case(
            Mutant::AttemptsNotCounted,
            "there is no end to attempts",
            Scenario {
                rules: &[
                    ("quarantine", "\"0s\""),
                    ("settle", "\"0s\""),
                    ("max_attempts", "2"),
                ],
                ..fails(&of(&AT_LEAST_ONCE), 2, &[Fault::Unanswered])
            },
            Rule::FewAttempts,
        ),
        case(
            Mutant::RecordKeyRenewed,
            "a repeat gets a record key of its own",
            fails(&of(&KEYED), 1, &[Fault::ServerError]),
            Rule::OneText,
        ),
        case(
            Mutant::FrozenRenderedAnew,
            "what may have been sent is rendered anew; the article was edited",
            Scenario {
                edits: 1,
                ..killed.clone()
            },
            Rule::OneText,
        ),
        case(
            Mutant::KeyReused,
            "another text goes out under the same key; the article was edited",
            Scenario {
                edits: 1,
                ..fails(&killed, 1, &[Fault::NotSent])
            },
            Rule::OneText,
        ),
        case(
            Mutant::RepeatAnswersForAll,
            "what a repeat is answered is taken for the answer to what came before it",
            fails(&of(&KEYED), 2, &[Fault::ServerError, Fault::Refused]),
            Rule::TrueFailed,
        ),
        case(
            Mutant::BreakerOff,
            "a channel with too much in doubt is written to",
            fails(&two_articles(&of(&AT_MOST_ONCE)), 1, &[Fault::ServerError]),
            Rule::Breaker,
        ),
        case(
            Mutant::PauseIgnored,
            "a pause that the service asked for is not kept",
            fails(&two_articles(&alone), 1, &[Fault::RateLimited]),
            Rule::LeftAlone,
        ),
        case(
            Mutant::PaceIgnored,
            "the gap between two posts is not kept",
            Scenario {
                rules: &[("interval", "\"5s\"")],
                ..two_articles(&alone)
            },
            Rule::Paced,
        ),
        case(
            Mutant::LateReceiptDropped,
            "a receipt that comes after another run took over is dropped",
            Scenario {
                starts: 3,
                ..fails(&UNREADABLE, 1, &[Fault::Sleeps])
            },
            Rule::ReceiptKept,
        ),
        case(
            Mutant::JournalNotWritten,
            "what could not be pushed is not kept on disk",
            Scenario {
                stops: 1,
                ..fails(&of(&UNREADABLE), 3, &[Fault::Hurries, Fault::PushUnseen])
            },
            Rule::ReceiptKept,
        ),
        case(
            Mutant::JournalNotMerged,
            "what an earlier run kept on disk is not brought",
            Scenario {
                stops: 1,
                ..fails(&of(&UNREADABLE), 3, &[Fault::Hurries, Fault::PushUnseen])
            },
            Rule::NothingForgotten,
        ),
    ]
}

#[test]
fn every_broken_rule_is_noticed() {
    let mut wrong = Vec::new();
    let (mut caught, count) = (0, cases().len());
    for case in cases() {
        let mutant = case.mutant;
        let broken = with(mutant, || explore(&case.world, STATES_MAX));
        match &broken.found {
            Found::Violation { rule, .. } if *rule == case.shows => caught += 1,
            Found::Violation { rule, how, trace } => wrong.push(format!(
                "{mutant:?} shows as {rule:?}: {how}\n{}",
                trace.join("\n")
            )),
            Found::Nothing | Found::CutShort => wrong.push(format!(
                "{mutant:?} survives {} states: {:?}",
                broken.states, broken.found
            )),
        }
        // The same world with the rule in force, at least as far.
        let sound = explore(&case.world, broken.states.saturating_mul(2));
        if let Found::Violation { rule, how, trace } = &sound.found {
            wrong.push(format!(
                "without {mutant:?}: {rule:?}: {how}\n{}",
                trace.join("\n")
            ));
        }
        println!(
            "{mutant:?}: {} states, {} deep",
            broken.states, broken.depth
        );
    }
    println!("mutants: {caught} of {count} caught");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn each_way_to_break_a_rule_has_its_case_here() {
    let source = include_str!("../../model/mutant.rs");
    let (_, names) = source.split_once("enum Mutant {").unwrap();
    let (names, _) = names.split_once('}').unwrap();
    let names = names
        .lines()
        .filter_map(|line| line.trim().strip_suffix(','));
    let tried: Vec<_> = cases()
        .iter()
        .map(|case| format!("{:?}", case.mutant))
        .collect();
    let missing: Vec<_> = names
        .filter(|name| !tried.iter().any(|tried| tried == name))
        .collect();
    assert!(missing.is_empty(), "nothing is tried with {missing:?}");
}

#[test]
fn the_document_names_every_rule_that_can_be_broken() {
    let mut table = "| if | then this does not hold |\n| --- | --- |".to_owned();
    for case in cases() {
        write!(table, "\n| {} | {} |", case.does, case.shows.sentence()).unwrap();
    }
    let block = format!("<!-- mutants: computed -->\n{table}\n<!-- end -->");
    assert!(
        DOCUMENT.contains(&block),
        "docs/protocol.md says otherwise than the code; the block `mutants` must be:\n\n{table}\n"
    );
}
