//! Is it there already? The fence before the first write of a run.

use std::time::Duration;

use crate::model::address::same_address;
use crate::model::delivery::{Record, State};
use crate::model::outcome::{Remote, SeenPost, SeenSort};
use crate::model::time::Timestamp;

/// How long after its quiet point a request may still be taken for the cause of a second post.
const SURPLUS_WITHIN: Duration = Duration::from_hours(24);

/// What the account's list says of one article.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Nothing of ours has its URL.
    No,
    /// One post of ours is it.
    Once(Remote),
    /// Several posts of ours have it: a person must look.
    Several(Vec<Remote>),
    /// A draft of ours is it: a person must look.
    Draft(String),
    /// A reply, or older than the article: told, not counted.
    Aside(String),
}

/// Looks for a top-level post with exactly `url`, not older than `not_before` and none of the `earlier` editions'.
pub fn seen(
    posts: &[SeenPost],
    url: &str,
    not_before: Option<Timestamp>,
    earlier: &[&Remote],
) -> Seen {
    let with_link = posts
        .iter()
        .filter(|post| post.links.iter().any(|link| same_address(link, url)))
        .filter(|post| {
            !earlier
                .iter()
                .any(|remote| post.remote.is_same_post(remote))
        });
    let mut matches = Vec::new();
    let mut draft = None;
    let mut aside = None;
    for post in with_link {
        let older = match (post.created_at, not_before) {
            (Some(created_at), Some(not_before)) => created_at < not_before.floor_to_second(),
            (_, _) => false,
        };
        match post.sort {
            SeenSort::Reply => {
                aside = Some(format!(
                    "a reply of ours has its link{}",
                    place(&post.remote)
                ));
            }
            SeenSort::Draft => {
                draft = Some(format!(
                    "a draft of ours is it already{}",
                    place(&post.remote)
                ));
            }
            SeenSort::TopLevel if older => {
                aside = Some(format!(
                    "an older post of ours has its link{}",
                    place(&post.remote)
                ));
            }
            SeenSort::TopLevel => matches.push(&post.remote),
        }
    }
    match (matches.as_slice(), draft, aside) {
        ([one], _, _) => Seen::Once((*one).clone()),
        ([], Some(draft), _) => Seen::Draft(draft),
        ([], None, Some(aside)) => Seen::Aside(aside),
        ([], None, None) => Seen::No,
        (several, _, _) => Seen::Several(several.iter().map(|remote| (*remote).clone()).collect()),
    }
}

/// Returns since when a post can be of this edition, if it is not the first: a new edition is not the one before it.
///
/// That is when a person ordered it. But somebody who releases it later speaks of what is sent already: then it is since the
/// claim, by a clock that may be `skew` ahead of the service's.
pub(super) fn edition_since(record: &Record, skew: Duration) -> Option<Timestamp> {
    let decided_at = record
        .by
        .as_ref()
        .filter(|_| record.edition > 1)
        .map(|by| by.at)?;
    let claimed_at = record.claim.as_ref().map(|claim| claim.first_claimed_at);
    let released_since = claimed_at.filter(|claimed_at| *claimed_at < decided_at);
    Some(released_since.map_or(decided_at, |claimed_at| claimed_at.minus(skew)))
}

/// Returns posts of a delivery that is done beyond the ones that its record has: an earlier request took effect after all,
/// later than the service was given. Only where more than one request was made, and only posts of their time: what people
/// post themselves is theirs.
pub(super) fn surplus(posts: &[SeenPost], url: &str, record: &Record) -> Vec<Remote> {
    let Some(claim) = record
        .claim
        .as_ref()
        .filter(|_| record.state == State::Done && record.attempt > 1)
    else {
        return Vec::new();
    };
    // The claims of an earlier edition are gone, but not what may come of them: it comes no earlier than its receipt did,
    // give or take what one attempt takes. Of editions that were each sent once, nothing is left to come.
    let attempt_takes = claim.quiet_until.since(claim.claimed_at);
    let receipts = record.receipts.iter().map(|receipt| receipt.at);
    let earlier = receipts
        .min()
        .filter(|_| record.edition > 1 && record.attempt > record.edition)
        .map(|at| at.minus(attempt_takes));
    let from = earlier.map_or(claim.first_claimed_at, |at| at.min(claim.first_claimed_at));
    let (from, to) = (
        from.floor_to_second(),
        claim.quiet_until.plus(SURPLUS_WITHIN),
    );
    let late = record.receipts.iter().map(|receipt| &receipt.remote);
    let known: Vec<&Remote> = record.remote.iter().chain(late).collect();
    posts
        .iter()
        .filter(|post| post.sort == SeenSort::TopLevel)
        .filter(|post| post.links.iter().any(|link| same_address(link, url)))
        .filter(|post| post.created_at.is_some_and(|at| from <= at && at <= to))
        .filter(|post| !known.iter().any(|remote| post.remote.is_same_post(remote)))
        .map(|post| post.remote.clone())
        .collect()
}

fn place(remote: &Remote) -> String {
    remote
        .url
        .as_deref()
        .map_or_else(String::new, |url| format!(": {url}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn post(id: &str, link: &str, sort: SeenSort, at: i64) -> SeenPost {
        SeenPost {
            remote: Remote {
                id: Some(id.to_owned()),
                url: Some(format!("https://social.example/{id}")),
            },
            links: vec![link.to_owned()],
            created_at: Some(Timestamp::from_millis(at)),
            sort,
        }
    }

    #[test]
    fn a_post_of_ours_with_the_link_is_the_announcement() {
        let url = "https://blog.example/a/";
        let check = |posts: &[SeenPost]| seen(posts, url, Some(Timestamp::from_millis(5_500)), &[]);
        let top = |id| post(id, url, SeenSort::TopLevel, 5_000);
        assert_eq!(check(&[]), Seen::No);
        assert_eq!(
            check(&[post(
                "1",
                "https://blog.example/a/b/",
                SeenSort::TopLevel,
                9_000
            )]),
            Seen::No
        );
        assert_eq!(check(&[top("1")]), Seen::Once(top("1").remote));
        assert_eq!(
            check(&[top("1"), top("2")]),
            Seen::Several(vec![top("1").remote, top("2").remote])
        );
        assert_eq!(
            check(&[post("1", url, SeenSort::TopLevel, 4_999)]),
            Seen::Aside("an older post of ours has its link: https://social.example/1".to_owned())
        );
        assert_eq!(
            check(&[post("1", url, SeenSort::Reply, 9_000)]),
            Seen::Aside("a reply of ours has its link: https://social.example/1".to_owned())
        );
        assert_eq!(
            check(&[post("1", url, SeenSort::Draft, 9_000)]),
            Seen::Draft("a draft of ours is it already: https://social.example/1".to_owned())
        );
    }

    #[test]
    fn an_earlier_edition_is_not_this_one_however_quick_the_person_was() {
        let url = "https://blog.example/a/";
        let top = |id| post(id, url, SeenSort::TopLevel, 5_000);
        let by_id = top("1").remote;
        let by_url = Remote {
            id: None,
            ..by_id.clone()
        };
        for earlier in [&by_id, &by_url] {
            let check = |posts: &[SeenPost]| seen(posts, url, None, &[earlier]);
            assert_eq!(check(&[top("1")]), Seen::No);
            assert_eq!(check(&[top("2"), top("1")]), Seen::Once(top("2").remote));
        }
    }
}
