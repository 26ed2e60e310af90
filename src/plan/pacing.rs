//! When each delivery goes out, as the pacing of its channel has it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::model::channel::ChannelRules;
use crate::model::delivery::State;
use crate::model::ids::ChannelName;
use crate::model::row::Row;
use crate::model::time::Timestamp;

use super::outlook::{Outlook, Standing};

/// What goes out within this of its own date is due then: seconds between posts are nobody's business.
const WORTH_TELLING: Duration = Duration::from_mins(1);

/// Tells each delivery that has to wait for others on its channel when its turn is, oldest item first.
///
/// The gap is counted from the last claim in `rows`, whoever made it, as a run does.
pub fn pace<'a>(
    deliveries: &mut [Outlook],
    channels: impl Iterator<Item = &'a ChannelRules>,
    rows: &[&Row],
    now: Timestamp,
) {
    for rules in channels.filter(|rules| !rules.interval.is_zero()) {
        let last = rows
            .iter()
            .filter(|row| row.channel == rules.name)
            .flat_map(|row| row.operations.values())
            .filter_map(|record| Some(record.claim.as_ref()?.claimed_at))
            .max();
        let free_at = last.map_or(now, |last| last.plus(rules.interval));
        for (place, turn) in turns(waiting(deliveries, &rules.name, now), rules, free_at) {
            if let Some(delivery) = deliveries.get_mut(place) {
                tell(delivery, turn, now);
            }
        }
    }
}

/// The places of those that will be sent, by the moment from which on they may be.
fn waiting(
    deliveries: &[Outlook],
    channel: &ChannelName,
    now: Timestamp,
) -> BTreeMap<Timestamp, BTreeSet<usize>> {
    let mut waiting: BTreeMap<Timestamp, BTreeSet<usize>> = BTreeMap::new();
    for (place, delivery) in deliveries.iter().enumerate() {
        let is_sent = matches!(delivery.state, None | Some(State::Retry))
            && delivery.standing == Standing::ByState;
        if delivery.id.channel == *channel && is_sent {
            let from = delivery.due_at.unwrap_or(now).max(now);
            waiting.entry(from).or_default().insert(place);
        }
    }
    waiting
}

/// When a delivery goes out.
#[derive(Clone, Copy, Debug)]
struct Turn {
    at: Timestamp,
    /// What it waits for.
    key: &'static str,
}

/// Gives each its moment: whenever the channel is free, the oldest of those that may be sent by then.
fn turns(
    mut waiting: BTreeMap<Timestamp, BTreeSet<usize>>,
    rules: &ChannelRules,
    mut free_at: Timestamp,
) -> Vec<(usize, Turn)> {
    let mut turns = Vec::new();
    let mut ready: BTreeSet<usize> = BTreeSet::new();
    loop {
        let first = waiting.first_key_value().map(|(from, _)| *from);
        let at = match (ready.is_empty(), first) {
            (true, None) => return turns,
            (true, Some(first)) => first.max(free_at),
            (false, _) => free_at,
        };
        let paced = at;
        let at = rules.hours.map_or(at, |hours| hours.next_open(at));
        let key = if at > paced { "hours" } else { "interval" };
        while let Some(entry) = waiting.first_entry().filter(|entry| *entry.key() <= at) {
            ready.extend(entry.remove());
        }
        if let Some(place) = ready.pop_first() {
            turns.push((place, Turn { at, key }));
        }
        free_at = at.plus(rules.interval);
    }
}

fn tell(delivery: &mut Outlook, turn: Turn, now: Timestamp) {
    let Turn { at, key } = turn;
    if at < delivery.due_at.unwrap_or(now).plus(WORTH_TELLING) {
        return;
    }
    delivery.due_at = Some(at);
    let says_when = delivery
        .reason
        .as_ref()
        .is_none_or(|reason| reason.starts_with("due "));
    if says_when {
        delivery.reason = Some(format!("due at {at}: the channel's `{key}`"));
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::Config;
    use crate::ledger::fixture;
    use crate::model::delivery::Operation;
    use crate::model::item::ItemId;
    use crate::model::row::DeliveryId;
    use crate::plan::outlook::blank;

    /// Deliveries on one channel in words, and where pacing puts them; one was claimed at the start, times count from there.
    #[track_caller]
    fn check(rules: &str, now: u64, deliveries: &[&str], expected: &[&str]) {
        let at = |minutes| fixture::start().plus(Duration::from_mins(minutes));
        let text = format!(
            "[site]\nurl = \"https://blog.example\"\nfeed = \"feed.xml\"\ntimezone = \"UTC\"\n\
             [channels.mastodon]\nkind = \"mastodon\"\nserver = \"https://mastodon.example\"\n\
             token_env = \"TOKEN\"\n{rules}\n"
        );
        let config = Config::parse(Path::new("sayonce.toml"), &text).unwrap();
        let row = fixture::row("first", "mastodon", [fixture::claimed(1)]);
        let mut outlooks: Vec<_> = deliveries
            .iter()
            .map(|words| {
                let id = DeliveryId {
                    item: ItemId::from_stored("a"),
                    channel: ChannelName::new("mastodon").unwrap(),
                };
                let mut outlook = blank(&id, Operation::Publish, None);
                outlook.reason = Some("due now".to_owned());
                for word in words.split(' ') {
                    match word {
                        "pending" => {}
                        "done" => outlook.state = Some(State::Done),
                        "kept" => outlook.standing = Standing::KeptBack,
                        "retry" => {
                            outlook.state = Some(State::Retry);
                            outlook.reason = Some("HTTP 500".to_owned());
                        }
                        "elsewhere" => outlook.id.channel = ChannelName::new("other").unwrap(),
                        minutes => outlook.due_at = Some(at(minutes.parse().unwrap())),
                    }
                }
                outlook
            })
            .collect();
        let channels = config.channels.iter().map(|channel| &channel.rules);
        pace(&mut outlooks, channels, &[&row], at(now));
        let found: Vec<_> = outlooks
            .iter()
            .map(|outlook| {
                let due = outlook.due_at.map_or_else(
                    || "now".to_owned(),
                    |due| ((due.as_millis() - at(0).as_millis()) / 60_000).to_string(),
                );
                let reason = outlook.reason.as_deref().unwrap_or_default();
                let reason = reason.split_once(": ").map_or(reason, |(_, why)| why);
                format!("{due} {reason}")
            })
            .collect();
        assert_eq!(found, expected);
    }

    const PACED: &str = "the channel's `interval`";

    #[test]
    fn each_waits_for_the_one_before_it() {
        let paced = |minutes: u64| format!("{minutes} {PACED}");
        let three = ["pending"; 3];
        // The last claim was long ago.
        let expected = ["now due now".to_owned(), paced(130), paced(160)];
        check(
            "interval = \"30m\"",
            100,
            &three,
            &expected.each_ref().map(String::as_str),
        );
        // It was ten minutes ago.
        let expected = [paced(30), paced(60), paced(90)];
        check(
            "interval = \"30m\"",
            10,
            &three,
            &expected.each_ref().map(String::as_str),
        );
    }

    #[test]
    fn the_oldest_goes_first_among_those_that_may() {
        check(
            "interval = \"30m\"",
            100,
            &["pending 110", "pending", "pending 500", "retry"],
            &[
                "130 the channel's `interval`",
                "now due now",
                "500 due now",
                "160 HTTP 500",
            ],
        );
    }

    #[test]
    fn what_is_not_sent_takes_no_turn() {
        check(
            "interval = \"30m\"",
            10,
            &["done", "kept", "elsewhere", "pending"],
            &[
                "now due now",
                "now due now",
                "now due now",
                "30 the channel's `interval`",
            ],
        );
    }

    #[test]
    fn who_waits_for_the_hours_is_told_of_them() {
        // The claim was at 10:00; the window is open at 10:30, and closed from 11:00 on until the next day at 10:00.
        check(
            "interval = \"30m\"\nhours = \"10:00-11:00\"",
            10,
            &["pending"; 3],
            &[
                "30 the channel's `interval`",
                "1439 the channel's `hours`",
                "1469 the channel's `interval`",
            ],
        );
    }

    #[test]
    fn a_gap_of_seconds_is_not_told_until_it_adds_up() {
        let mut expected = vec!["now due now"; 3];
        expected.push("101 the channel's `interval`");
        check("interval = \"20s\"", 100, &["pending"; 4], &expected);
        check("interval = \"0s\"", 0, &["pending"], &["now due now"]);
    }
}
