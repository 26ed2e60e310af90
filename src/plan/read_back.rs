//! Is what the ledger has as done still there, by the account's own list?

use crate::model::address::same_address;
use crate::model::delivery::{Operation, Record, State};
use crate::model::ids::Account;
use crate::model::outcome::{Remote, SeenPost, SeenSort};
use crate::model::row::{DeliveryId, Row};
use crate::model::time::Timestamp;

/// What one channel's list says of its posts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "a post that is gone is an alarm"]
pub struct ReadBack {
    /// Found.
    pub there: Vec<DeliveryId>,
    /// The list covers the time of the post, and does not have it.
    pub gone: Vec<(DeliveryId, Remote)>,
    /// Not found, and older than the list reaches.
    pub too_old: Vec<DeliveryId>,
    /// Posted by another account than the one whose list this is.
    pub of_another_account: Vec<DeliveryId>,
}

/// Returns the receipt of what a row has as posted.
pub fn posted(row: &Row) -> Option<(&Record, &Remote)> {
    // What is taken down, or is to be, is not missed.
    if row.current() == Operation::Retract {
        return None;
    }
    let record = row.publish()?;
    let remote = record.remote.as_ref()?;
    (record.state == State::Done).then_some((record, remote))
}

/// Returns the earliest moment at which the post of a row that is done may have been made; none where that is not
/// known.
pub fn posted_since(row: &Row) -> Option<Timestamp> {
    let (record, _) = posted(row)?;
    let claimed_at = record.claim.as_ref().map(|claim| claim.first_claimed_at);
    // What a person or a list said may be as old as the article.
    claimed_at.or(row.published)
}

/// Compares the rows that are done with the list of `account`, which has every post since `since`.
pub fn read_back<'a>(
    rows: impl IntoIterator<Item = &'a Row>,
    account: &Account,
    posts: &[SeenPost],
    since: Timestamp,
) -> ReadBack {
    let mut result = ReadBack::default();
    for row in rows {
        let Some((record, remote)) = posted(row) else {
            continue;
        };
        let id = row.delivery_id();
        let other_account = row.account.as_ref().is_some_and(|other| other != account);
        if other_account {
            result.of_another_account.push(id);
        } else if posts.iter().any(|post| is_it(post, row, record, remote)) {
            result.there.push(id);
        } else if posted_since(row).is_some_and(|at| at >= since) {
            result.gone.push((id, remote.clone()));
        } else {
            result.too_old.push(id);
        }
    }
    result
}

/// By its receipt; or a post of ours with its link, since services show one post under several addresses.
fn is_it(post: &SeenPost, row: &Row, record: &Record, remote: &Remote) -> bool {
    if post.remote.is_same_post(remote) {
        return true;
    }
    let of_earlier_edition = record
        .receipts
        .iter()
        .any(|receipt| post.remote.is_same_post(&receipt.remote));
    let has_link = || {
        let mut links = post.links.iter();
        links.any(|link| same_address(link, &row.canonical_url))
    };
    post.sort == SeenSort::TopLevel && !of_earlier_edition && has_link()
}

/// Says that a post is gone, and how it comes back.
pub fn gone(id: &DeliveryId, remote: &Remote) -> String {
    let place = remote
        .url
        .as_deref()
        .map_or_else(String::new, |url| format!(": {url}"));
    format!(
        "{id}: its post is not there any more{place}; it is never sent again by itself, `sayonce again {} {}` announces \
         it once more",
        id.item, id.channel
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::ledger::fixture::{claimed, proved, row, start};
    use crate::model::delivery::{Decision, Event, next};
    use crate::model::outcome::Evidence;

    fn account() -> Account {
        Account::new("https://mastodon.example/@blog")
    }

    fn post(id: &str, link: &str) -> SeenPost {
        SeenPost {
            remote: Remote {
                id: Some(id.to_owned()),
                url: Some(format!("https://mastodon.example/@blog/{id}")),
            },
            links: vec![link.to_owned()],
            created_at: Some(start()),
            sort: SeenSort::TopLevel,
        }
    }

    /// In one word per row.
    fn check(rows: &[Row], posts: &[SeenPost], since: Timestamp) -> Vec<&'static str> {
        let result = read_back(rows, &account(), posts, since);
        let word = |row: &Row| {
            let id = row.delivery_id();
            let gone = result.gone.iter().any(|(gone, _)| *gone == id);
            [
                (result.there.contains(&id), "there"),
                (gone, "gone"),
                (result.too_old.contains(&id), "too old"),
                (result.of_another_account.contains(&id), "not ours"),
            ]
            .into_iter()
            .find_map(|(is, word)| is.then_some(word))
            .unwrap_or("-")
        };
        rows.iter().map(word).collect()
    }

    #[test]
    fn a_post_is_gone_only_if_the_list_reaches_back_to_it() {
        let done = || [row("news/a", "mastodon", [claimed(1), proved("1")])];
        let elsewhere = "https://elsewhere.example/";
        let late = start().plus(Duration::from_secs(1));
        assert_eq!(check(&done(), &[post("1", elsewhere)], late), ["there"]);
        assert_eq!(check(&done(), &[post("2", elsewhere)], start()), ["gone"]);
        assert_eq!(check(&done(), &[], start()), ["gone"]);
        assert_eq!(check(&done(), &[], late), ["too old"]);
        let by_link = post("2", "http://blog.example/news/a/#top");
        assert_eq!(check(&done(), &[by_link], start()), ["there"]);
        let mut other = done();
        other[0].account = Some(Account::new("https://mastodon.example/@other"));
        assert_eq!(check(&other, &[], start()), ["not ours"]);
    }

    #[test]
    fn what_is_not_done_is_not_looked_for() {
        let rows = [row("news/a", "mastodon", [claimed(1)])];
        assert_eq!(check(&rows, &[], start()), ["-"]);
    }

    #[test]
    fn a_persons_word_may_be_as_old_as_the_article() {
        let by = Decision {
            who: "editor".to_owned(),
            at: start(),
            verb: "resolve --posted".to_owned(),
            why: None,
        };
        let evidence = Evidence::Person;
        let remote = Remote {
            id: None,
            url: Some("https://mastodon.example/@blog/1".to_owned()),
        };
        let mut rows = [row(
            "news/a",
            "mastodon",
            [Event::Confirmed {
                remote,
                evidence,
                by,
            }],
        )];
        let elsewhere = "https://elsewhere.example/";
        assert_eq!(check(&rows, &[post("1", elsewhere)], start()), ["there"]);
        assert_eq!(check(&rows, &[], start()), ["too old"]);
        rows[0].published = Some(start());
        assert_eq!(check(&rows, &[], start()), ["gone"]);
    }

    #[test]
    fn an_earlier_edition_does_not_stand_for_this_one() {
        let mut rows = [row("news/a", "mastodon", [claimed(1), proved("1")])];
        let record = rows[0].operations.get_mut(&Operation::Publish).unwrap();
        let by = Decision {
            who: "editor".to_owned(),
            at: start(),
            verb: "again".to_owned(),
            why: None,
        };
        for event in [Event::Again { by }, claimed(2), proved("2")] {
            *record = next(Some(record), event).unwrap();
        }
        let link = "https://blog.example/news/a/";
        assert_eq!(check(&rows, &[post("1", link)], start()), ["gone"]);
        let both = [post("2", link), post("1", link)];
        assert_eq!(check(&rows, &both, start()), ["there"]);
    }
}
