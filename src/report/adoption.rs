//! What was found on the accounts, and what was recorded of it.

use std::fmt::Write as _;

use chrono_tz::Tz;
use serde_json::{Value, json};

use crate::ledger::Baseline;
use crate::model::ids::{Account, ChannelName};
use crate::model::item::ItemId;
use crate::model::outcome::Remote;
use crate::model::row::DeliveryId;
use crate::model::time::Timestamp;

use super::human::number;
use super::notices::clock_time;

/// What became of one delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Its post is recorded.
    Adopted(Remote),
    /// Several posts may be it: none is recorded.
    Several(Vec<Remote>),
    /// It is left as it is for a person, for this reason.
    Left(String),
    /// Something is there that does not count.
    Aside(String),
    /// Nothing of it is there.
    NotFound,
}

/// An account that was read.
#[derive(Clone, Debug)]
pub struct Looked {
    /// The channel.
    pub channel: ChannelName,
    /// Who posts there.
    pub account: Account,
    /// How many posts were read.
    pub posts: usize,
    /// Older posts are not seen; none: the list reaches as far back as the articles.
    pub ends_at: Option<Timestamp>,
}

/// Everything there is to say.
#[derive(Clone, Debug, Default)]
pub struct Adoption {
    /// Nothing was written.
    pub dry_run: bool,
    /// The accounts that were read.
    pub looked: Vec<Looked>,
    /// What became of each delivery, oldest article first.
    pub fates: Vec<(DeliveryId, Fate)>,
    /// Channels whose account was not read, and why.
    pub unread: Vec<(ChannelName, String)>,
    /// What is marked as announced before, with `baseline`.
    pub added: Option<Baseline>,
}

impl Adoption {
    /// Returns how many deliveries are recorded as posted.
    pub fn adopted(&self) -> usize {
        self.count(|fate| matches!(fate, Fate::Adopted(_)))
    }

    fn count(&self, is: impl Fn(&Fate) -> bool) -> usize {
        self.fates.iter().filter(|(_, fate)| is(fate)).count()
    }

    fn is_baselined(&self, id: &DeliveryId) -> bool {
        let items = self.added.as_ref().and_then(|added| added.get(&id.channel));
        items.is_some_and(|items| items.contains_key(&id.item))
    }
}

/// Says it to people.
pub fn text(adoption: &Adoption, timezone: Tz) -> String {
    let mut text = String::new();
    for looked in &adoption.looked {
        let end = looked.ends_at.map_or_else(String::new, |at| {
            format!(
                ", back to {}; older ones are not seen",
                clock_time(at, timezone)
            )
        });
        line(
            &mut text,
            &format!(
                "{} ({}): {} read{end}",
                looked.channel,
                looked.account,
                number(looked.posts, "post", "posts")
            ),
        );
        let of_channel = adoption
            .fates
            .iter()
            .filter(|(id, _)| id.channel == looked.channel);
        for (id, fate) in of_channel {
            line(
                &mut text,
                &format!("  {}: {}", id.item, words(adoption, id, fate)),
            );
        }
    }
    for (channel, reason) in &adoption.unread {
        line(&mut text, &format!("{channel}: not read, {reason}"));
    }
    if let Some(added) = &adoption.added {
        for (channel, items) in added {
            let what = match items.len() {
                0 => "nothing new to baseline".to_owned(),
                count if adoption.dry_run => format!(
                    "{} would be marked as announced before",
                    number(count, "article", "articles")
                ),
                count => format!(
                    "{} marked as announced before",
                    number(count, "article is", "articles are")
                ),
            };
            line(&mut text, &format!("{channel}: {what}"));
        }
    }
    line(&mut text, &summary(adoption));
    text
}

fn words(adoption: &Adoption, id: &DeliveryId, fate: &Fate) -> String {
    let rest = if adoption.is_baselined(id) {
        "; it counts as announced before"
    } else {
        ""
    };
    match fate {
        Fate::Adopted(remote) if adoption.dry_run => format!("would be adopted: {}", place(remote)),
        Fate::Adopted(remote) => format!("adopted: {}", place(remote)),
        Fate::Several(posts) => {
            let places: Vec<_> = posts.iter().map(place).collect();
            format!(
                "{} posts have its link, and none is recorded{rest}: {}; `sayonce adopt {} {} --url URL` records the one \
                 that counts",
                posts.len(),
                places.join(", "),
                id.item,
                id.channel
            )
        }
        Fate::Left(reason) => format!("left as it is{rest}: {reason}"),
        Fate::Aside(what) => format!("not found{rest}: {what}"),
        Fate::NotFound => format!("not found{rest}"),
    }
}

fn summary(adoption: &Adoption) -> String {
    let counts = [
        (adoption.adopted(), "adopted"),
        (
            adoption.count(|fate| matches!(fate, Fate::Several(_))),
            "with several posts",
        ),
        (
            adoption.count(|fate| matches!(fate, Fate::Left(_))),
            "left as they are",
        ),
        (
            adoption.count(|fate| matches!(fate, Fate::NotFound | Fate::Aside(_))),
            "not found",
        ),
    ];
    let parts: Vec<_> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    let total = number(adoption.fates.len(), "delivery was", "deliveries were");
    let mut text = if parts.is_empty() && adoption.looked.is_empty() {
        "Nothing was looked for.".to_owned()
    } else if parts.is_empty() {
        "There was nothing to look for.".to_owned()
    } else {
        format!("{total} looked for: {}.", parts.join(", "))
    };
    if adoption.dry_run {
        text.push_str(" Nothing was written.");
    } else if adoption.added.is_none() && adoption.count(|fate| *fate == Fate::NotFound) > 0 {
        text.push_str(
            " What was not found is announced when it is due; `sayonce baseline` marks it as announced before.",
        );
    }
    text
}

/// Says it to programs.
pub fn json(adoption: &Adoption) -> String {
    let of = |pick: &dyn Fn(&Fate) -> Option<(&'static str, Value)>| -> Vec<Value> {
        let picked = adoption.fates.iter().filter_map(|(id, fate)| {
            let mut entry = json!({ "item": id.item.as_str(), "channel": id.channel.as_str() });
            let (key, value) = pick(fate)?;
            entry[key] = value;
            Some(entry)
        });
        picked.collect()
    };
    let adopted = of(&|fate| match fate {
        Fate::Adopted(remote) => Some(("remote", remote_json(remote))),
        Fate::Several(_) | Fate::Left(_) | Fate::Aside(_) | Fate::NotFound => None,
    });
    let several = of(&|fate| match fate {
        Fate::Several(posts) => Some(("remotes", posts.iter().map(remote_json).collect())),
        Fate::Adopted(_) | Fate::Left(_) | Fate::Aside(_) | Fate::NotFound => None,
    });
    let left = of(&|fate| match fate {
        Fate::Left(reason) => Some(("reason", json!(reason))),
        Fate::Adopted(_) | Fate::Several(_) | Fate::Aside(_) | Fate::NotFound => None,
    });
    let not_found = of(&|fate| match fate {
        Fate::Aside(what) => Some(("reason", json!(what))),
        Fate::NotFound => Some(("reason", Value::Null)),
        Fate::Adopted(_) | Fate::Several(_) | Fate::Left(_) => None,
    });
    let accounts: Vec<_> = adoption.looked.iter().map(looked_json).collect();
    let unread: Vec<_> = adoption
        .unread
        .iter()
        .map(|(channel, reason)| json!({ "channel": channel.as_str(), "reason": reason }))
        .collect();
    let mut report = json!({
        "schema": 1,
        "dry_run": adoption.dry_run,
        "accounts": accounts,
        "adopted": adopted,
        "several": several,
        "left": left,
        "not_found": not_found,
        "unread": unread,
    });
    if let Some(added) = &adoption.added {
        report["added"] = baseline_json(added);
    }
    format!("{report:#}\n")
}

/// Returns what is added to a baseline, by channel.
pub fn baseline_json(added: &Baseline) -> Value {
    added
        .iter()
        .map(|(channel, ids)| {
            let ids: Vec<_> = ids.keys().map(ItemId::as_str).collect();
            (channel.as_str().to_owned(), json!(ids))
        })
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn looked_json(looked: &Looked) -> Value {
    json!({
        "channel": looked.channel.as_str(),
        "account": looked.account.as_str(),
        "posts": looked.posts,
        "ends_at": looked.ends_at.map(|at| at.to_string()),
    })
}

fn remote_json(remote: &Remote) -> Value {
    json!({ "id": remote.id, "url": remote.url })
}

fn place(remote: &Remote) -> String {
    let place = remote.url.as_ref().or(remote.id.as_ref());
    place.cloned().unwrap_or_else(|| "a post".to_owned())
}

fn line(text: &mut String, content: &str) {
    writeln!(text, "{content}").expect("writing to a string can't fail");
}
