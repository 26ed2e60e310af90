//! What may follow an announcement: a change of it when the article was edited, and its retraction.
//!
//! A delivery stands at one operation at a time. A change begins only when what came before is done, so that two
//! requests of one delivery are never under way together.

use crate::config::ChannelConfig;
use crate::model::channel::{ChannelRules, Policy, ReceiptKind};
use crate::model::delivery::{Operation, Record, State};
use crate::model::item::{Item, Said};
use crate::model::outcome::ServerLimits;
use crate::model::row::Row;
use crate::model::time::Timestamp;
use crate::render::change::differs;

use super::decide::{Step, decide};
use super::guard::excluded_by_author;

/// What a delivery stands at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stand<'a> {
    /// The operation.
    pub operation: Operation,
    /// Its record; none: pending.
    pub record: Option<&'a Record>,
    /// Why a change that is wanted is not made from here.
    pub put_off: Option<&'a str>,
}

impl Stand<'_> {
    /// Whether a change has a record and would be rendered from the article as it is here.
    pub fn is_written_anew(&self) -> bool {
        matches!(self.operation, Operation::Update(_))
            && self.record.is_some_and(|record| {
                !record.frozen && matches!(record.state, State::Retry | State::Failed)
            })
    }
}

/// Returns what a delivery stands at. A change of an edited article that is due has no record yet.
///
/// `put_off`: why this checkout may not change what is posted; none: it may.
pub fn stand<'a>(
    row: Option<&'a Row>,
    article: Option<(&Item, &Said)>,
    channel: &ChannelConfig,
    limits: ServerLimits,
    put_off: Option<&'a str>,
) -> Stand<'a> {
    let operation = row.map_or(Operation::Publish, Row::current);
    let present = Stand {
        operation,
        record: row.and_then(Row::record),
        put_off: None,
    };
    let Some((row, article)) = row.zip(article) else {
        return present;
    };
    let is_over = present.record.is_some_and(|record| match record.state {
        State::Done => true,
        // Somebody left one edit out; the next one is another.
        State::Skipped => operation != Operation::Publish,
        // A notice that was refused says nothing of the next one.
        State::Failed => {
            operation != Operation::Publish && channel.traits().receipt == ReceiptKind::None
        }
        State::InFlight | State::InDoubt | State::Retry | State::Held => false,
    });
    if operation == Operation::Retract || !is_over || !is_edited(row, article, channel, limits) {
        return present;
    }
    match put_off {
        Some(_) => Stand { put_off, ..present },
        None => Stand {
            operation: row.next_update(),
            record: None,
            put_off: None,
        },
    }
}

/// Whether what is posted follows the article, and would be another post now. A template that was edited changes no
/// old post.
fn is_edited(
    row: &Row,
    (item, said): (&Item, &Said),
    channel: &ChannelConfig,
    limits: ServerLimits,
) -> bool {
    if !channel.rules.follow_edits
        || !row.is_outdated(item, said)
        || excluded_by_author(item, channel.name())
    {
        return false;
    }
    match channel.traits().receipt {
        // A notice carries no more than the address: that the article changed is the news.
        ReceiptKind::None => true,
        ReceiptKind::IdAndUrl => row
            .shown()
            .is_some_and(|shown| differs(item, channel, limits, shown)),
    }
}

/// Returns the rules for an operation. To change or take down a post by its id is harmless to repeat: it is looked at
/// where that can be done, and then sent again.
fn rules_for(operation: Operation, rules: &ChannelRules, readable: bool) -> ChannelRules {
    match operation {
        Operation::Publish => rules.clone(),
        Operation::Update(_) | Operation::Retract => ChannelRules {
            policy: if readable {
                Policy::Keyed
            } else {
                Policy::AtLeastOnce
            },
            ..rules.clone()
        },
    }
}

/// Returns the next step of what a delivery stands at.
pub fn step(
    stand: &Stand<'_>,
    row: Option<&Row>,
    item: Option<&Item>,
    channel: &ChannelConfig,
    now: Timestamp,
) -> Step {
    let readable = match stand.operation {
        Operation::Publish => channel.traits().readable,
        Operation::Update(_) | Operation::Retract => channel.shows_posts(),
    };
    let rules = rules_for(stand.operation, &channel.rules, readable);
    let step = decide(stand.record, item, &rules, readable, now);
    if !matches!(step, Step::Send { .. }) {
        return step;
    }
    row.and_then(|row| after_what_came_before(row, stand.operation, now))
        .unwrap_or(step)
}

/// A later write waits until no earlier request of the delivery can take effect any more: it would undo the later one.
fn after_what_came_before(row: &Row, operation: Operation, now: Timestamp) -> Option<Step> {
    let earlier = row
        .operations
        .iter()
        .filter(|(other, record)| **other < operation && record.frozen);
    let quiet = earlier
        .filter_map(|(_, record)| record.claim.as_ref())
        .map(|claim| claim.quiet_until)
        .max()?;
    (operation != Operation::Publish && quiet >= now).then(|| Step::Later {
        until: quiet.plus(std::time::Duration::from_millis(1)),
        why: "an earlier request of it may still be under way".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::*;
    use crate::config::Config;
    use crate::ledger::fixture::{claimed, doubted, row, start};
    use crate::model::delivery::{Event, next};
    use crate::model::outcome::{Evidence, Remote};

    /// What becomes of an operation whose answer was lost, on a channel with these lines.
    fn after_doubt(lines: &str, operation: Operation) -> Step {
        let text = format!(
            "[site]\nurl = \"https://blog.example\"\nfeed = \"f.xml\"\n[channels.own]\nkind = \"http\"\n{lines}"
        );
        let config = Config::parse(Path::new("sayonce.toml"), &text).unwrap();
        let row = row("news/a", "own", [claimed(1), doubted()]);
        let stand = Stand {
            operation,
            record: row.record(),
            put_off: None,
        };
        let now = start().plus(Duration::from_hours(5));
        step(&stand, None, None, &config.channels[0], now)
    }

    #[test]
    fn what_a_change_moved_is_found_where_it_is_now() {
        let proved_at = |url: &str, id: Option<&str>| Event::Proved {
            remote: Remote {
                id: id.map(str::to_owned),
                url: Some(url.to_owned()),
            },
            evidence: Evidence::Response,
            at: start(),
        };
        let mut row = row("news/a", "own", [claimed(1), proved_at("/old", Some("1"))]);
        let target = |row: &Row| row.target().unwrap().url.clone().unwrap();
        assert_eq!(target(&row), "/old");
        let mut change = |number: u32, event: Event| {
            let claimed = next(None, claimed(1)).unwrap();
            let record = next(Some(&claimed), event).unwrap();
            row.operations.insert(Operation::Update(number), record);
            target(&row)
        };
        assert_eq!(change(1, proved_at("/new", Some("1"))), "/new");
        assert_eq!(change(2, doubted()), "/new");
        // What has no id may be a person's word, which names no other post.
        assert_eq!(change(3, proved_at("/said", None)), "/new");
        assert_eq!(change(4, proved_at("/newest", Some("1"))), "/newest");
        // A later announcement is another post.
        let publish = row.operations.get_mut(&Operation::Publish).unwrap();
        publish.edition = 2;
        assert_eq!(target(&row), "/old");
    }

    #[test]
    fn a_later_write_in_doubt_is_looked_at_wherever_one_post_can_be_read() {
        let discord = "preset = \"discord\"";
        for operation in [Operation::Update(1), Operation::Retract] {
            assert_eq!(after_doubt(discord, operation), Step::Look);
            let telegram = "preset = \"telegram\"\nvalues = { chat = \"@blog\" }";
            let again = Step::Send {
                again: crate::plan::decide::Again::Frozen,
            };
            assert_eq!(after_doubt(telegram, operation), again);
        }
        // There is no list in which an announcement could be found.
        assert!(matches!(
            after_doubt(discord, Operation::Publish),
            Step::Hold(_)
        ));
    }
}
