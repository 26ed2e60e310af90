//! Which of a person's verbs is right for which state, and what to say instead.

use crate::model::delivery::{Operation, Record, State};
use crate::model::outcome::Remote;
use crate::model::row::DeliveryId;
use crate::model::time::Timestamp;

/// What a person says about one delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    /// It may be sent for the first time.
    Approve,
    /// It is there.
    Posted(Remote),
    /// It is not there.
    NotPosted,
    /// One more send of what is held or failed.
    Retry,
    /// A second announcement of what is done.
    Again,
    /// Never announce it.
    Skip,
}

impl Verb {
    /// Returns the word on the command line and in the row.
    pub(super) const fn word(&self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Posted(_) => "resolve --posted",
            Self::NotPosted => "resolve --not-posted",
            Self::Retry => "retry",
            Self::Again => "again",
            Self::Skip => "skip",
        }
    }
}

/// Returns what to do instead, if the verb is not for this state.
pub(super) fn wrong_verb(
    verb: &Verb,
    operation: Operation,
    record: Option<&Record>,
    id: &DeliveryId,
    now: Timestamp,
) -> Option<String> {
    let (item, channel) = (&id.item, &id.channel);
    let state = record.map(|record| record.state);
    let quiet = record
        .and_then(|record| record.claim.as_ref())
        .map(|claim| claim.quiet_until);
    if operation != Operation::Publish {
        return wrong_later_verb(verb, operation, state?, quiet.filter(|at| *at >= now), id);
    }
    let right = match (verb, state) {
        (Verb::Approve, None | Some(State::Skipped))
        | (
            Verb::Posted(_),
            None
            | Some(
                State::InFlight
                | State::InDoubt
                | State::Retry
                | State::Failed
                | State::Held
                | State::Skipped,
            ),
        )
        | (Verb::NotPosted, Some(State::Held))
        | (Verb::Retry, Some(State::Held | State::Failed))
        | (Verb::Again, Some(State::Done))
        | (Verb::Skip, None | Some(State::Retry | State::Held | State::Failed)) => return None,
        (Verb::NotPosted, Some(State::InDoubt)) if quiet.is_none_or(|quiet| quiet < now) => {
            return None;
        }
        (
            Verb::NotPosted | Verb::Retry | Verb::Approve | Verb::Skip | Verb::Again,
            Some(State::InFlight | State::InDoubt),
        ) => {
            let posted = format!("`sayonce resolve {item} {channel} --posted URL`");
            match quiet {
                Some(quiet) if quiet >= now => format!(
                    "a request may still be under way until {quiet}: the next run looks for it by itself; if you see the \
                     post, {posted}"
                ),
                Some(_) | None if state == Some(State::InFlight) => format!(
                    "its run ended without saying what came of it: the next run looks for it by itself; if you see the \
                     post, {posted}"
                ),
                Some(_) | None => format!(
                    "it may be there: the next run looks for it by itself; if you know better, {posted}, or --not-posted"
                ),
            }
        }
        (Verb::Posted(_) | Verb::NotPosted | Verb::Retry | Verb::Approve, Some(State::Done)) => {
            format!(
                "it is posted and proved; `sayonce again {item} {channel}` announces it once more"
            )
        }
        (Verb::Skip, Some(State::Done)) => {
            format!(
                "it is posted: `sayonce retract {item} {channel}` takes the post down, where its service lets programs do that"
            )
        }
        (Verb::Approve | Verb::Again, Some(State::Held | State::Failed)) => format!(
            "`sayonce retry {item} {channel}` sends it once more; if it is there, \
             `sayonce resolve {item} {channel} --posted URL`"
        ),
        (Verb::NotPosted, Some(State::Failed)) => {
            format!(
                "it was refused, so it is not there; `sayonce retry {item} {channel}` sends it once more"
            )
        }
        (_, Some(State::Retry)) => format!(
            "the next run sends it by itself; `sayonce skip {item} {channel}` if it shall not be announced"
        ),
        (Verb::Skip, Some(State::Skipped)) => "it is not announced already".to_owned(),
        (_, Some(State::Skipped)) => {
            format!("`sayonce approve {item} {channel}` lets the next run announce it")
        }
        (_, None) => format!(
            "nothing was sent yet: the next run sends it, or waits for `sayonce approve {item} {channel}`; `sayonce skip \
             {item} {channel}` if it shall not be announced"
        ),
    };
    Some(right)
}

/// The same for a change or a retraction. Where the post stands is known, so there is nothing to resolve.
fn wrong_later_verb(
    verb: &Verb,
    operation: Operation,
    state: State,
    quiet: Option<Timestamp>,
    id: &DeliveryId,
) -> Option<String> {
    let (item, channel) = (&id.item, &id.channel);
    let right = match (verb, state) {
        (Verb::Again, State::Done | State::Failed | State::Held | State::Skipped)
        | (Verb::Retry, State::Held | State::Failed)
        | (Verb::Skip, State::Retry | State::Held | State::Failed) => return None,
        (_, State::Done) if operation == Operation::Retract => {
            format!("it was taken down; `sayonce again {item} {channel}` announces it once more")
        }
        (Verb::Skip, State::Done) => format!(
            "it is posted: `sayonce retract {item} {channel}` takes the post down, where its service lets programs do that"
        ),
        (_, State::Done) => format!(
            "it is posted and proved; `sayonce again {item} {channel}` announces it once more"
        ),
        (_, State::InFlight | State::InDoubt) => match quiet {
            Some(quiet) => format!(
                "a request may still be under way until {quiet}: the next run looks by itself what came of it"
            ),
            None => "the next run looks by itself what came of it".to_owned(),
        },
        (_, State::Retry) => format!(
            "the next run does it by itself; `sayonce skip {item} {channel}` leaves the post as it is"
        ),
        (_, State::Held | State::Failed) => format!(
            "`sayonce retry {item} {channel}` tries it once more, `sayonce skip {item} {channel}` leaves the post as it is"
        ),
        (_, State::Skipped) => format!(
            "the post is left as it is; `sayonce update {item} {channel}` changes it, `sayonce retract {item} {channel}` \
             takes it down"
        ),
    };
    Some(right)
}

/// Says what the decision comes to.
pub(super) const fn said(verb: &Verb, operation: Operation) -> &'static str {
    match (verb, operation) {
        (_, Operation::Publish) | (Verb::Again, _) => {}
        (Verb::Skip, Operation::Update(_) | Operation::Retract) => {
            return "the post is left as it is";
        }
        (
            Verb::Approve | Verb::Posted(_) | Verb::NotPosted | Verb::Retry,
            Operation::Update(_) | Operation::Retract,
        ) => return "the next run tries it once more",
    }
    match verb {
        Verb::Approve => "approved; the next run sends it",
        Verb::Posted(_) => "taken as posted, on your word",
        Verb::NotPosted => "taken as not posted, on your word; the next run sends it once more",
        Verb::Retry => "the next run sends it once more",
        Verb::Again => "the next run announces it once more, as a new edition",
        Verb::Skip => "will not be announced",
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::time::Duration;

    use super::*;
    use crate::ledger::fixture;
    use crate::model::delivery::{Counts, Event};
    use crate::model::row::Row;

    /// Everything that a person can say, in every state.
    fn answers(now: Timestamp, events: impl IntoIterator<Item = Event>) -> String {
        let row: Row = fixture::row("news/a", "mastodon", events);
        let posted = Remote {
            id: None,
            url: Some("https://mastodon.example/@blog/1".to_owned()),
        };
        let verbs = [
            Verb::Approve,
            Verb::Posted(posted),
            Verb::NotPosted,
            Verb::Retry,
            Verb::Again,
            Verb::Skip,
        ];
        let mut text = String::new();
        for verb in verbs {
            let answer =
                match wrong_verb(&verb, row.current(), row.record(), &row.delivery_id(), now) {
                    None => format!("ok, {}", said(&verb, row.current())),
                    Some(hint) => format!("no, {hint}"),
                };
            writeln!(text, "{}: {answer}", verb.word()).unwrap();
        }
        text
    }

    /// The verbs that the page names for a state, in its second column.
    fn documented(state: &str) -> Vec<String> {
        let page = include_str!("../../docs/protocol.md");
        let (_, section) = page.split_once("## What a person may say").unwrap();
        let start = format!("| {state} |");
        let mut lines = section.lines();
        let line = lines.find(|line| line.starts_with(&start)).unwrap();
        let verbs = line.split('|').nth(2).unwrap();
        let named = verbs.split('`').skip(1).step_by(2);
        named.map(str::to_owned).collect()
    }

    #[test]
    fn the_page_names_the_verbs_of_each_state() {
        use fixture::{claimed, deferred, doubted, held, proved, refused, skipped, start};
        let late = start().plus(Duration::from_hours(1));
        let check = |state: &str, events: Vec<Event>| {
            let answers = answers(late, events);
            let lines = answers.lines().filter_map(|line| line.split_once(": ok, "));
            let mut right: Vec<_> = lines.map(|(verb, _)| verb.to_owned()).collect();
            let mut documented = documented(state);
            right.sort();
            documented.sort();
            assert_eq!(right, documented, "{state}");
        };
        check("pending", Vec::new());
        check("`in_flight`", vec![claimed(1)]);
        check("`in_doubt`", vec![claimed(1), doubted()]);
        check("`retry`", vec![claimed(1), deferred(Counts::Attempt)]);
        check("`done`", vec![claimed(1), proved("1")]);
        check("`failed`", vec![claimed(1), refused()]);
        check("`held`", vec![held()]);
        check("`skipped`", vec![skipped()]);
    }

    /// Saying that a post is there must not count as saying that it is gone.
    #[test]
    fn a_change_or_a_retraction_has_verbs_of_its_own() {
        use fixture::{claimed, doubted, held, proved, refused, skipped, start};
        let late = start().plus(Duration::from_hours(1));
        let posted = || {
            Verb::Posted(Remote {
                id: None,
                url: Some("https://mastodon.example/@blog/1".to_owned()),
            })
        };
        let check = |events: Vec<Event>, expected: &str| {
            let row: Row = fixture::row("news/a", "mastodon", events);
            let verbs = [
                Verb::Approve,
                posted(),
                Verb::NotPosted,
                Verb::Retry,
                Verb::Again,
                Verb::Skip,
            ];
            for operation in [Operation::Update(1), Operation::Retract] {
                let id = row.delivery_id();
                let answer = |verb: &&Verb| wrong_verb(verb, operation, row.publish(), &id, late);
                let right = verbs.iter().filter(|verb| answer(verb).is_none());
                let right: Vec<_> = right.map(Verb::word).collect();
                assert_eq!(right.join(", "), expected, "{operation}");
            }
        };
        check(vec![held()], "retry, again, skip");
        check(vec![claimed(1), refused()], "retry, again, skip");
        check(vec![claimed(1), doubted()], "");
        check(vec![claimed(1)], "");
        check(vec![claimed(1), proved("1")], "again");
        check(vec![skipped()], "again");
    }

    #[test]
    fn a_wrong_verb_is_answered_with_the_right_one() {
        use fixture::{claimed, deferred, doubted, held, proved, refused, skipped, start};
        let early = start().plus(Duration::from_mins(1));
        let late = start().plus(Duration::from_hours(1));
        insta::assert_snapshot!(answers(early, []), @r"
        approve: ok, approved; the next run sends it
        resolve --posted: ok, taken as posted, on your word
        resolve --not-posted: no, nothing was sent yet: the next run sends it, or waits for `sayonce approve news/a mastodon`; `sayonce skip news/a mastodon` if it shall not be announced
        retry: no, nothing was sent yet: the next run sends it, or waits for `sayonce approve news/a mastodon`; `sayonce skip news/a mastodon` if it shall not be announced
        again: no, nothing was sent yet: the next run sends it, or waits for `sayonce approve news/a mastodon`; `sayonce skip news/a mastodon` if it shall not be announced
        skip: ok, will not be announced
        ");
        insta::assert_snapshot!(answers(early, [claimed(1)]), @r"
        approve: no, a request may still be under way until 2026-11-29T10:14:00.123Z: the next run looks for it by itself; if you see the post, `sayonce resolve news/a mastodon --posted URL`
        resolve --posted: ok, taken as posted, on your word
        resolve --not-posted: no, a request may still be under way until 2026-11-29T10:14:00.123Z: the next run looks for it by itself; if you see the post, `sayonce resolve news/a mastodon --posted URL`
        retry: no, a request may still be under way until 2026-11-29T10:14:00.123Z: the next run looks for it by itself; if you see the post, `sayonce resolve news/a mastodon --posted URL`
        again: no, a request may still be under way until 2026-11-29T10:14:00.123Z: the next run looks for it by itself; if you see the post, `sayonce resolve news/a mastodon --posted URL`
        skip: no, a request may still be under way until 2026-11-29T10:14:00.123Z: the next run looks for it by itself; if you see the post, `sayonce resolve news/a mastodon --posted URL`
        ");
        insta::assert_snapshot!(answers(late, [claimed(1)]), @r"
        approve: no, its run ended without saying what came of it: the next run looks for it by itself; if you see the post, `sayonce resolve news/a mastodon --posted URL`
        resolve --posted: ok, taken as posted, on your word
        resolve --not-posted: no, its run ended without saying what came of it: the next run looks for it by itself; if you see the post, `sayonce resolve news/a mastodon --posted URL`
        retry: no, its run ended without saying what came of it: the next run looks for it by itself; if you see the post, `sayonce resolve news/a mastodon --posted URL`
        again: no, its run ended without saying what came of it: the next run looks for it by itself; if you see the post, `sayonce resolve news/a mastodon --posted URL`
        skip: no, its run ended without saying what came of it: the next run looks for it by itself; if you see the post, `sayonce resolve news/a mastodon --posted URL`
        ");
        insta::assert_snapshot!(answers(early, [claimed(1), doubted()]), @r"
        approve: no, a request may still be under way until 2026-11-29T10:14:00.123Z: the next run looks for it by itself; if you see the post, `sayonce resolve news/a mastodon --posted URL`
        resolve --posted: ok, taken as posted, on your word
        resolve --not-posted: no, a request may still be under way until 2026-11-29T10:14:00.123Z: the next run looks for it by itself; if you see the post, `sayonce resolve news/a mastodon --posted URL`
        retry: no, a request may still be under way until 2026-11-29T10:14:00.123Z: the next run looks for it by itself; if you see the post, `sayonce resolve news/a mastodon --posted URL`
        again: no, a request may still be under way until 2026-11-29T10:14:00.123Z: the next run looks for it by itself; if you see the post, `sayonce resolve news/a mastodon --posted URL`
        skip: no, a request may still be under way until 2026-11-29T10:14:00.123Z: the next run looks for it by itself; if you see the post, `sayonce resolve news/a mastodon --posted URL`
        ");
        insta::assert_snapshot!(answers(late, [claimed(1), doubted()]), @r"
        approve: no, it may be there: the next run looks for it by itself; if you know better, `sayonce resolve news/a mastodon --posted URL`, or --not-posted
        resolve --posted: ok, taken as posted, on your word
        resolve --not-posted: ok, taken as not posted, on your word; the next run sends it once more
        retry: no, it may be there: the next run looks for it by itself; if you know better, `sayonce resolve news/a mastodon --posted URL`, or --not-posted
        again: no, it may be there: the next run looks for it by itself; if you know better, `sayonce resolve news/a mastodon --posted URL`, or --not-posted
        skip: no, it may be there: the next run looks for it by itself; if you know better, `sayonce resolve news/a mastodon --posted URL`, or --not-posted
        ");
        insta::assert_snapshot!(answers(late, [claimed(1), deferred(Counts::Attempt)]), @r"
        approve: no, the next run sends it by itself; `sayonce skip news/a mastodon` if it shall not be announced
        resolve --posted: ok, taken as posted, on your word
        resolve --not-posted: no, the next run sends it by itself; `sayonce skip news/a mastodon` if it shall not be announced
        retry: no, the next run sends it by itself; `sayonce skip news/a mastodon` if it shall not be announced
        again: no, the next run sends it by itself; `sayonce skip news/a mastodon` if it shall not be announced
        skip: ok, will not be announced
        ");
        insta::assert_snapshot!(answers(late, [claimed(1), proved("1")]), @r"
        approve: no, it is posted and proved; `sayonce again news/a mastodon` announces it once more
        resolve --posted: no, it is posted and proved; `sayonce again news/a mastodon` announces it once more
        resolve --not-posted: no, it is posted and proved; `sayonce again news/a mastodon` announces it once more
        retry: no, it is posted and proved; `sayonce again news/a mastodon` announces it once more
        again: ok, the next run announces it once more, as a new edition
        skip: no, it is posted: `sayonce retract news/a mastodon` takes the post down, where its service lets programs do that
        ");
        insta::assert_snapshot!(answers(late, [claimed(1), refused()]), @r"
        approve: no, `sayonce retry news/a mastodon` sends it once more; if it is there, `sayonce resolve news/a mastodon --posted URL`
        resolve --posted: ok, taken as posted, on your word
        resolve --not-posted: no, it was refused, so it is not there; `sayonce retry news/a mastodon` sends it once more
        retry: ok, the next run sends it once more
        again: no, `sayonce retry news/a mastodon` sends it once more; if it is there, `sayonce resolve news/a mastodon --posted URL`
        skip: ok, will not be announced
        ");
        insta::assert_snapshot!(answers(late, [held()]), @r"
        approve: no, `sayonce retry news/a mastodon` sends it once more; if it is there, `sayonce resolve news/a mastodon --posted URL`
        resolve --posted: ok, taken as posted, on your word
        resolve --not-posted: ok, taken as not posted, on your word; the next run sends it once more
        retry: ok, the next run sends it once more
        again: no, `sayonce retry news/a mastodon` sends it once more; if it is there, `sayonce resolve news/a mastodon --posted URL`
        skip: ok, will not be announced
        ");
        insta::assert_snapshot!(answers(late, [skipped()]), @r"
        approve: ok, approved; the next run sends it
        resolve --posted: ok, taken as posted, on your word
        resolve --not-posted: no, `sayonce approve news/a mastodon` lets the next run announce it
        retry: no, `sayonce approve news/a mastodon` lets the next run announce it
        again: no, `sayonce approve news/a mastodon` lets the next run announce it
        skip: no, it is not announced already
        ");
    }
}
