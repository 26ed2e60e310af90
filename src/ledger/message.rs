//! Commit messages: `git log` is the audit trail, so they are written for people and for `git log --grep`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::Change;
use crate::model::delivery::{Decision, Operation, Record, State};
use crate::model::row::{DeliveryId, Row};

/// Beyond these, a commit's trailers would say less than its diff; the list in its body goes on.
const TRAILER_BLOCKS_MAX: usize = 20;

/// A batch of pings can hold thousands of rows.
const LINES_MAX: usize = 200;

/// What a commit says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Said<'a> {
    /// The rows that it writes.
    pub(super) changes: &'a [Change],
    /// The rows as they were.
    pub(super) before: &'a BTreeMap<DeliveryId, Row>,
    /// The subject, where the rows alone don't say what happened.
    pub(super) subject: Option<&'a str>,
    /// The person's decision that it is, where the rows don't hold one.
    pub(super) decision: Option<&'a Decision>,
    /// What ends the subject, so that hosts which build on every push don't.
    pub(super) skip_ci: &'a str,
}

/// Writes the message of a commit.
pub(super) fn message(said: Said<'_>) -> String {
    let moves: Vec<Move<'_>> = said
        .changes
        .iter()
        .flat_map(|change| moves(said.before.get(&change.row.delivery_id()), &change.row))
        .collect();
    let mut subject = match (said.subject, moves.as_slice()) {
        (Some(subject), _) => clean(subject),
        (None, []) => "ledger: housekeeping".to_owned(),
        (None, [one]) => format!("ledger: {}: {}", one.name(), one.sentence()),
        (None, several) => summary(several),
    };
    if !said.skip_ci.is_empty() {
        subject.push(' ');
        subject.push_str(&clean(said.skip_ci));
    }
    let mut text = subject;
    text.push('\n');
    if moves.len() > 1 {
        text.push('\n');
        for one in moves.iter().take(LINES_MAX) {
            line(&mut text, &format!("- {}: {}", one.name(), one.sentence()));
        }
        if let Some(more) = moves.len().checked_sub(LINES_MAX).filter(|more| *more > 0) {
            line(&mut text, &format!("- and {more} more"));
        }
    }
    // One paragraph, at the end: git reads trailers from nowhere else.
    let with_blocks = !moves.is_empty() && moves.len() <= TRAILER_BLOCKS_MAX;
    let of_rows = moves.iter().find_map(|one| one.decision);
    let by = said.decision.or(of_rows.filter(|_| !with_blocks));
    if with_blocks || by.is_some() {
        text.push('\n');
    }
    for one in moves.iter().filter(|_| with_blocks) {
        trailers(&mut text, one);
    }
    if let Some(by) = by {
        decision(&mut text, by);
    }
    text
}

/// One operation of one row that changed.
struct Move<'a> {
    row: &'a Row,
    operation: Operation,
    record: &'a Record,
    /// The person's decision that this is.
    decision: Option<&'a Decision>,
}

impl Move<'_> {
    fn name(&self) -> String {
        clean(&self.row.delivery_id().to_string())
    }

    fn sentence(&self) -> String {
        match (self.decision, self.record.state) {
            (None, _) => sentence(self.record, self.operation),
            (Some(by), State::Retry) => format!("due, by `{}`", clean(&by.verb)),
            (Some(by), _) => {
                let state = sentence(self.record, self.operation);
                format!("{state}, by `{}`", clean(&by.verb))
            }
        }
    }
}

fn moves<'a>(before: Option<&Row>, row: &'a Row) -> Vec<Move<'a>> {
    let before = |operation: Operation| before.and_then(|row| row.operations.get(&operation));
    let unchanged = |operation: Operation, record: &Record| before(operation) == Some(record);
    let all = row.operations.iter().map(|(operation, record)| {
        let decided_before = before(*operation).and_then(|record| record.by.as_ref());
        Move {
            row,
            operation: *operation,
            record,
            decision: record.by.as_ref().filter(|by| Some(*by) != decided_before),
        }
    });
    let (changed, rest): (Vec<_>, Vec<_>) =
        all.partition(|one| !unchanged(one.operation, one.record));
    if changed.is_empty() {
        // The row's own fields changed, such as its address: its newest operation stands for it.
        rest.into_iter().next_back().into_iter().collect()
    } else {
        changed
    }
}

/// The state as a sentence, as on screen.
fn sentence(record: &Record, operation: Operation) -> String {
    let state = match record.state {
        State::InFlight => format!("being sent (attempt {})", record.attempt),
        State::InDoubt => "checking: may already be there".to_owned(),
        State::Retry => match record.not_before {
            Some(time) => format!(
                "not sent, again at {} UTC",
                time.to_chrono().format("%H:%M")
            ),
            None => "not sent, due again".to_owned(),
        },
        State::Done => match operation {
            Operation::Publish => "posted, proved".to_owned(),
            Operation::Update(_) | Operation::Retract => "done, proved".to_owned(),
        },
        State::Failed => "refused".to_owned(),
        State::Held => "needs you".to_owned(),
        State::Skipped => match operation {
            Operation::Publish => "not announced".to_owned(),
            Operation::Update(_) | Operation::Retract => {
                "left out, the post stays as it is".to_owned()
            }
        },
    };
    match operation {
        Operation::Publish => state,
        Operation::Update(_) | Operation::Retract => format!("{operation} {state}"),
    }
}

/// `4 deliveries: 2 being sent, 2 posted`, in the order of the states.
fn summary(moves: &[Move<'_>]) -> String {
    let states = State::ALL.into_iter();
    let words = states.flat_map(|state| {
        let of_state = moves.iter().filter(move |one| one.record.state == state);
        let mut words: Vec<(&str, usize)> = Vec::new();
        for word in of_state.map(|one| word(one.operation, state)) {
            match words.iter_mut().find(|(known, _)| *known == word) {
                Some((_, count)) => *count += 1,
                None => words.push((word, 1)),
            }
        }
        words
    });
    let counts: Vec<String> = words
        .map(|(word, count)| format!("{count} {word}"))
        .collect();
    format!("ledger: {} deliveries: {}", moves.len(), counts.join(", "))
}

const fn word(operation: Operation, state: State) -> &'static str {
    match (operation, state) {
        (Operation::Publish, State::InFlight) => "being sent",
        (Operation::Update(_), State::InFlight) => "being changed",
        (Operation::Retract, State::InFlight) => "being taken down",
        (_, State::InDoubt) => "being checked",
        (Operation::Publish, State::Retry) => "to be sent again",
        (Operation::Update(_), State::Retry) => "to be changed",
        (Operation::Retract, State::Retry) => "to be taken down",
        (Operation::Publish, State::Done) => "posted",
        (Operation::Update(_), State::Done) => "changed",
        (Operation::Retract, State::Done) => "taken down",
        (_, State::Failed) => "refused",
        (_, State::Held) => "held",
        (Operation::Publish, State::Skipped) => "not announced",
        (Operation::Update(_) | Operation::Retract, State::Skipped) => "left as they are",
    }
}

fn trailers(text: &mut String, one: &Move<'_>) {
    line(text, &format!("Item: {}", clean(one.row.item.as_str())));
    line(text, &format!("Channel: {}", one.row.channel));
    line(text, &format!("Operation: {}", one.operation));
    line(text, &format!("State: {}", one.record.state));
    line(text, &format!("Attempt: {}", one.record.attempt));
    let remote = one.record.remote.as_ref();
    if let Some(id) = remote.and_then(|remote| remote.id.as_deref()) {
        line(text, &format!("Remote-Id: {}", clean(id)));
    }
    if let Some(claim) = &one.record.claim {
        line(text, &format!("Run: {}", clean(claim.run.as_str())));
    }
    if let Some(by) = one.decision {
        decision(text, by);
    }
}

fn decision(text: &mut String, by: &Decision) {
    line(text, &format!("Decision: {}", clean(&by.verb)));
    line(text, &format!("Decided-By: {}", clean(&by.who)));
    if let Some(why) = &by.why {
        line(text, &format!("Why: {}", clean(why)));
    }
}

fn line(text: &mut String, content: &str) {
    writeln!(text, "{content}").expect("writing to a string can't fail");
}

/// A line break from a service's id would forge a trailer.
fn clean(text: &str) -> String {
    text.chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect()
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::ledger::fixture;
    use crate::model::delivery::{Counts, Event, next};

    fn check(rows: &[(Option<Row>, Row)]) -> String {
        let changes: Vec<Change> = rows
            .iter()
            .map(|(_, row)| Change {
                row: row.clone(),
                expected: None,
            })
            .collect();
        let before = rows
            .iter()
            .filter_map(|(before, _)| before.clone())
            .map(|row| (row.delivery_id(), row))
            .collect();
        message(Said {
            changes: &changes,
            before: &before,
            subject: None,
            decision: None,
            skip_ci: "[skip ci]",
        })
    }

    fn row(item: &str, events: impl IntoIterator<Item = Event>) -> Row {
        fixture::row(item, "mastodon", events)
    }

    #[test]
    fn one_row_is_one_sentence_and_its_trailers() {
        use fixture::{claimed, deferred, proved};
        assert_snapshot!(check(&[(None, row("news/2026/hello", [claimed(1)]))]), @r"
        ledger: news/2026/hello on mastodon: being sent (attempt 1) [skip ci]

        Item: news/2026/hello
        Channel: mastodon
        Operation: publish
        State: in_flight
        Attempt: 1
        Run: github:4711/1
        ");
        let mut forged = row("news/2026/hello", [claimed(1), proved("7\nState: failed")]);
        assert_snapshot!(check(&[(None, forged.clone())]), @r"
        ledger: news/2026/hello on mastodon: posted, proved [skip ci]

        Item: news/2026/hello
        Channel: mastodon
        Operation: publish
        State: done
        Attempt: 1
        Remote-Id: 7 State: failed
        Run: github:4711/1
        ");
        let deferred = row("a", [claimed(1), deferred(Counts::Nothing)]);
        assert!(
            check(&[(None, deferred)])
                .starts_with("ledger: a on mastodon: not sent, again at 10:03 UTC [skip ci]\n")
        );
        let before = forged.clone();
        let update = row("x", [claimed(2)])
            .operations
            .into_values()
            .next()
            .unwrap();
        forged.operations.insert(Operation::Update(1), update);
        assert!(check(&[(Some(before), forged)]).starts_with(
            "ledger: news/2026/hello on mastodon: update:1 being sent (attempt 1) [skip ci]\n"
        ));
    }

    #[test]
    fn several_rows_are_counted_and_listed() {
        use fixture::{claimed, proved};
        assert_snapshot!(check(&[
            (None, row("a", [claimed(1)])),
            (Some(row("b", [claimed(2)])), row("b", [claimed(2), proved("2")])),
        ]), @r"
        ledger: 2 deliveries: 1 being sent, 1 posted [skip ci]

        - a on mastodon: being sent (attempt 1)
        - b on mastodon: posted, proved

        Item: a
        Channel: mastodon
        Operation: publish
        State: in_flight
        Attempt: 1
        Run: github:4711/1
        Item: b
        Channel: mastodon
        Operation: publish
        State: done
        Attempt: 1
        Remote-Id: 2
        Run: github:4711/1
        ");
        let many: Vec<_> = (0..300)
            .map(|number| (None, row(&format!("n/{number}"), [claimed(1)])))
            .collect();
        let text = check(&many);
        assert!(text.starts_with("ledger: 300 deliveries: 300 being sent [skip ci]\n"));
        assert!(text.ends_with("- and 100 more\n"), "{text}");
    }

    #[test]
    fn a_persons_decision_names_the_verb_and_who_and_why() {
        use fixture::{claimed, doubted, held, released, skipped};
        assert_snapshot!(check(&[(None, row("a", [skipped()]))]), @r"
        ledger: a on mastodon: not announced, by `skip` [skip ci]

        Item: a
        Channel: mastodon
        Operation: publish
        State: skipped
        Attempt: 0
        Decision: skip
        Decided-By: editor
        Why: not for here
        ");
        let before = row("a", [claimed(1), doubted(), held()]);
        let mut decided = row("a", [claimed(1), doubted(), held(), released()]);
        assert_snapshot!(check(&[(Some(before), decided.clone())]), @r"
        ledger: a on mastodon: due, by `retry` [skip ci]

        Item: a
        Channel: mastodon
        Operation: publish
        State: retry
        Attempt: 1
        Run: github:4711/1
        Decision: retry
        Decided-By: editor
        ");
        // What follows is not the person's doing any more.
        let before = decided.clone();
        let record = decided.operations.get_mut(&Operation::Publish).unwrap();
        *record = next(Some(record), claimed(2)).unwrap();
        assert!(!check(&[(Some(before), decided)]).contains("Decision"));
    }

    #[test]
    fn a_commit_without_rows_has_the_subject_it_was_given() {
        let said = Said {
            changes: &[],
            before: &BTreeMap::new(),
            subject: Some("baseline: 57 items on mastodon"),
            decision: None,
            skip_ci: "",
        };
        assert_eq!(message(said), "baseline: 57 items on mastodon\n");
    }
}
