//! What an account's list says of one delivery when a person asks what is there: as before a run's first write, and
//! for what runs leave to people too.

use crate::model::delivery::{Record, State};
use crate::model::ids::Account;
use crate::model::outcome::{Evidence, Remote, SeenPost};
use crate::model::row::Row;
use crate::model::time::Timestamp;

use super::matching::{Seen, seen};

/// What is found of one delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a post that is not recorded may be sent again"]
pub enum Found {
    /// It is done: there is nothing to look for.
    Done,
    /// The post that is the announcement, and how that is known.
    Post(Remote, Evidence),
    /// Several are; a person must say which.
    Several(Vec<Remote>),
    /// Something of it is there that a person must look at.
    Unclear(String),
    /// Something is there that does not count as the announcement.
    Aside(String),
    /// Nothing.
    Nothing,
}

/// An article, as far as it can be found.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Its address.
    pub url: &'a str,
    /// Its own date.
    pub published: Option<Timestamp>,
    /// What the ledger has of its delivery.
    pub row: Option<&'a Row>,
}

/// Looks for the announcement of one article among the posts of `account`.
pub fn find(wanted: Wanted<'_>, account: &Account, posts: &[SeenPost]) -> Found {
    let record = wanted.row.and_then(Row::publish);
    if record.is_some_and(|record| record.state == State::Done) {
        return Found::Done;
    }
    let other = wanted.row.and_then(|row| row.account.as_ref());
    if let Some(other) = other.filter(|other| *other != account) {
        return Found::Unclear(format!("it was begun on another account, {other}"));
    }
    // A new edition is not the one before it.
    let decided_at = record
        .filter(|record| record.edition > 1)
        .and_then(|record| record.by.as_ref())
        .map(|by| by.at);
    let earlier = record.iter().flat_map(|record| &record.receipts);
    let earlier: Vec<&Remote> = earlier.map(|receipt| &receipt.remote).collect();
    let not_before = wanted.published.max(decided_at);
    match seen(posts, wanted.url, not_before, &earlier) {
        Seen::No => Found::Nothing,
        Seen::Aside(what) => Found::Aside(what),
        Seen::Draft(what) => Found::Unclear(what),
        Seen::Several(posts) => Found::Several(posts),
        Seen::Once(_) if record.is_some_and(is_being_settled) => Found::Unclear(
            "it may be under way, and a post with its link is there: the next run compares them"
                .to_owned(),
        ),
        Seen::Once(remote) => Found::Post(remote, evidence(record)),
    }
}

/// Returns how a post that was found in the list is known.
pub fn evidence(record: Option<&Record>) -> Evidence {
    if record.is_some_and(|record| record.frozen) {
        Evidence::ReadBack
    } else {
        Evidence::Adopted
    }
}

fn is_being_settled(record: &Record) -> bool {
    matches!(record.state, State::InFlight | State::InDoubt)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::fixture::{claimed, doubted, held, proved, refused, row, skipped, start};
    use crate::model::delivery::Event;
    use crate::model::outcome::SeenSort;

    const URL: &str = "https://blog.example/news/a/";

    fn post(id: &str, sort: SeenSort) -> SeenPost {
        SeenPost {
            remote: Remote {
                id: Some(id.to_owned()),
                url: None,
            },
            links: vec![URL.to_owned()],
            created_at: Some(start()),
            sort,
        }
    }

    /// What is found of a delivery with this history, in a word.
    fn check(history: Vec<Event>, posts: &[SeenPost]) -> String {
        let row = row("news/a", "mastodon", history);
        let account = row.account.clone().unwrap();
        let wanted = Wanted {
            url: URL,
            published: None,
            row: Some(&row),
        };
        match find(wanted, &account, posts) {
            Found::Done => "done".to_owned(),
            Found::Post(remote, evidence) => {
                format!("{} {}", remote.id.unwrap_or_default(), evidence.label())
            }
            Found::Several(posts) => format!("{} posts", posts.len()),
            Found::Unclear(what) => format!("unclear: {what}"),
            Found::Aside(what) => format!("aside: {what}"),
            Found::Nothing => "nothing".to_owned(),
        }
    }

    #[test]
    fn a_post_is_the_announcement_of_whatever_is_not_being_settled() {
        let top = || [post("1", SeenSort::TopLevel)];
        assert_eq!(check(vec![], &top()), "1 adopted");
        assert_eq!(check(vec![held()], &top()), "1 adopted");
        assert_eq!(check(vec![skipped()], &top()), "1 adopted");
        assert_eq!(check(vec![claimed(1), refused()], &top()), "1 adopted");
        assert_eq!(
            check(vec![claimed(1), doubted(), held()], &top()),
            "1 read_back"
        );
        assert_eq!(check(vec![claimed(1), proved("2")], &top()), "done");
        let under_way = "unclear: it may be under way, and a post with its link is there: the next run compares them";
        assert_eq!(check(vec![claimed(1)], &top()), under_way);
        assert_eq!(check(vec![claimed(1), doubted()], &top()), under_way);
    }

    #[test]
    fn what_is_no_announcement_is_told_apart() {
        let (one, two) = (post("1", SeenSort::TopLevel), post("2", SeenSort::TopLevel));
        assert_eq!(check(vec![], &[]), "nothing");
        assert_eq!(check(vec![], &[one, two]), "2 posts");
        assert_eq!(
            check(vec![], &[post("1", SeenSort::Reply)]),
            "aside: a reply of ours has its link"
        );
        assert_eq!(
            check(vec![], &[post("1", SeenSort::Draft)]),
            "unclear: a draft of ours is it already"
        );
    }

    #[test]
    fn a_post_of_another_account_is_not_looked_for() {
        let row = row("news/a", "mastodon", [held()]);
        let wanted = Wanted {
            url: URL,
            published: None,
            row: Some(&row),
        };
        let other = Account::new("https://mastodon.example/@other");
        let found = find(wanted, &other, &[post("1", SeenSort::TopLevel)]);
        assert!(matches!(found, Found::Unclear(_)), "{found:?}");
    }
}
