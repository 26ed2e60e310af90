//! `adopt`: what is on the channels already becomes `done`, with its own id and address. `baseline --from-remote` uses it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;

use crate::cli::{AdoptArgs, Format, OutputArgs};
use crate::clock::{Clock, SystemClock};
use crate::engine::adopting::{Found, Wanted, evidence, find};
use crate::environment::Environment;
use crate::error::Failure;
use crate::exit::Exit;
use crate::ledger::git_store::GitStore;
use crate::ledger::{Change, Snapshot, Store as _};
use crate::model::address::same_address;
use crate::model::delivery::{self, Decision, Event, Operation, State};
use crate::model::ids::{Account, ChannelName};
use crate::model::outcome::{Evidence, Remote, SeenPost, SeenSort};
use crate::model::row::{DeliveryId, Row};
use crate::model::time::Timestamp;
use crate::plan::guard::KeptBack;
use crate::plan::survey::{Selection, Survey, Surveyed, Verdict, survey};
use crate::report::adoption::{Adoption, Fate, Looked, json, text};
use crate::report::human::number;
use crate::report::terminal::Terminal;

use super::accounts::Accounts;
use super::commit::{Commit, commit, sound};
use super::rechannel::rechannel;
use super::world::{Place, World};

/// How far before the oldest article the lists are read, for clocks and dates without a time.
const LIST_MARGIN: Duration = Duration::from_hours(24);

/// Records what is on the channels already.
pub(super) fn adopt(
    place: &Place,
    arguments: &AdoptArgs,
    environment: &Environment,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let world = World::read(place, &clock)?;
    terminal.set_timezone(world.config.site.timezone);
    let mut store = world.store(environment, &clock)?;
    if let Some([old, new]) = arguments.rename.as_deref() {
        return rechannel(
            &world,
            &mut store,
            &clock,
            environment,
            arguments,
            (old, new),
            terminal,
        );
    }
    for problem in &world.catalog.problems {
        terminal.error_line(&format!("problem: {problem}"));
    }
    let mut output = arguments.output.clone();
    if let (Some(item), Some(channel)) = (&arguments.item, &arguments.channel) {
        output.items = vec![item.clone()];
        output.channels = vec![channel.clone()];
    }
    let which = match (&arguments.url, &arguments.id) {
        (None, None) => Which::WhateverMatches,
        (url, id) => Which::This(Remote {
            id: id.clone(),
            url: url.clone(),
        }),
    };
    let accounts = read_accounts(&world, &mut store, &output, environment, &clock)?;
    if let (Some(item), Some(channel), Which::This(_)) =
        (&arguments.item, &arguments.channel, &which)
        && world
            .config
            .channels
            .iter()
            .any(|known| known.name().as_str() == channel && !known.lists_posts())
    {
        let message = format!("the posts on {channel} can't be listed, so none can be found there");
        let hint =
            format!("`sayonce resolve {item} {channel} --posted URL` takes your word for it");
        return Err(Failure::new(Exit::Usage, anyhow!("{message}")).hinted(hint));
    }
    let errand = Errand {
        world: &world,
        accounts: &accounts,
        which,
    };
    let who = store.who();
    let mut adoption = Adoption::default();
    let mut decide = |snapshot: &Snapshot| {
        let now = clock.now();
        let selection = world.selection(&output, snapshot)?;
        let by = Decision {
            who: who.clone(),
            at: now,
            verb: "adopt".to_owned(),
            why: arguments.reason.why.clone(),
        };
        let gathered = errand.gather(snapshot, &selection, &by)?;
        adoption = gathered.adoption;
        let count = gathered.changes.len();
        if count == 0 {
            return Ok(None);
        }
        Ok(Some(Commit {
            changes: gathered.changes,
            subject: Some(format!(
                "ledger: {} found on the channels and adopted",
                number(count, "delivery", "deliveries")
            )),
            at: now,
            ..Commit::default()
        }))
    };
    write_or_show(&mut store, arguments.dry_run, &mut decide)?;
    adoption.dry_run = arguments.dry_run;
    show(&adoption, &world, arguments.output.format, terminal);
    let sources = if world.catalog.problems.is_empty() {
        Exit::Proved
    } else {
        Exit::Usage
    };
    Ok(exit(&adoption, &accounts).or_worse(sources))
}

/// Writes what `decide` wants, or only lets it look.
pub(super) fn write_or_show(
    store: &mut GitStore,
    dry_run: bool,
    decide: &mut dyn FnMut(&Snapshot) -> Result<Option<Commit>, Failure>,
) -> Result<String, Failure> {
    if !dry_run {
        return commit(store, sound, decide);
    }
    let snapshot = store.read()?;
    sound(&snapshot)?;
    Ok(decide(&snapshot)?.map_or_else(String::new, |wanted| wanted.told))
}

/// Prints what was found.
pub(super) fn show(adoption: &Adoption, world: &World, format: Format, terminal: &mut Terminal) {
    let text = match format {
        Format::Text => text(adoption, world.config.site.timezone),
        Format::Json => json(adoption),
    };
    terminal.result(&text);
}

/// Reads the accounts of the channels that were asked about, back past the oldest article.
pub(super) fn read_accounts(
    world: &World,
    store: &mut GitStore,
    output: &OutputArgs,
    environment: &Environment,
    clock: &Arc<dyn Clock>,
) -> Result<Accounts, Failure> {
    let selection = world.selection(output, &store.read()?)?;
    let mut dates = world.catalog.items.iter().map(|item| item.published);
    // One article without a date may be as old as the account.
    let oldest = dates.try_fold(clock.now(), |oldest, date| {
        date.map(|date| date.min(oldest))
    });
    let since = oldest.map_or(Timestamp::EPOCH, |oldest| oldest.minus(LIST_MARGIN));
    let channels = world.config.channels.iter().filter(|channel| {
        selection.channels.is_empty() || selection.channels.contains(channel.name())
    });
    let site = &world.config.site;
    Ok(Accounts::read(channels, site, environment, clock, since))
}

/// Returns the exit code: a person must look where something is unclear, or where an account could not be had.
pub(super) fn exit(adoption: &Adoption, accounts: &Accounts) -> Exit {
    let unclear = adoption
        .fates
        .iter()
        .any(|(_, fate)| matches!(fate, Fate::Several(_) | Fate::Left(_)));
    let found = if unclear {
        Exit::NeedsPerson
    } else {
        Exit::Proved
    };
    let unread = accounts.unread.iter().map(|unread| unread.exit);
    unread.fold(found, Exit::or_worse)
}

/// Which posts are taken.
#[derive(Clone, Debug)]
pub(super) enum Which {
    /// Each that has an article's link, if it is the only one.
    WhateverMatches,
    /// The one that a person named.
    This(Remote),
}

/// What is compared with what.
pub(super) struct Errand<'a> {
    pub(super) world: &'a World,
    pub(super) accounts: &'a Accounts,
    pub(super) which: Which,
}

/// What is to be written, and what is to be said.
pub(super) struct Gathered {
    pub(super) adoption: Adoption,
    pub(super) changes: Vec<Change>,
    /// Articles whose post is recorded, by channel.
    pub(super) adopted: BTreeSet<DeliveryId>,
}

impl Errand<'_> {
    /// Looks for each delivery of the selection on the accounts.
    pub(super) fn gather(
        &self,
        snapshot: &Snapshot,
        selection: &Selection,
        by: &Decision,
    ) -> Result<Gathered, Failure> {
        let (catalog, config) = (&self.world.catalog, &self.world.config);
        let all = survey(catalog, config, snapshot, &Selection::default(), by.at);
        let mut adoption = Adoption {
            looked: self.looked(),
            unread: self.unread(),
            ..Adoption::default()
        };
        let mut changes = Vec::new();
        let mut adopted = BTreeSet::new();
        let chosen = |surveyed: &&Surveyed| selection.contains(&surveyed.id);
        for list in &self.accounts.lists {
            let of_channel = all
                .deliveries
                .iter()
                .filter(|surveyed| surveyed.id.channel == list.channel);
            for surveyed in of_channel.filter(chosen) {
                let id = &surveyed.id;
                let found = self.found(surveyed, snapshot, &all, &list.account, &list.posts)?;
                let fate = match found {
                    Found::Done => continue,
                    Found::Post(remote, evidence) => {
                        let change =
                            recorded(id, snapshot, &all, &list.account, &remote, evidence, by)?;
                        changes.push(change);
                        adopted.insert(id.clone());
                        Fate::Adopted(remote)
                    }
                    Found::Several(posts) => Fate::Several(posts),
                    Found::Unclear(reason) => Fate::Left(reason),
                    Found::Aside(what) => {
                        Fate::Aside(format!("{what}; it does not count as the announcement"))
                    }
                    Found::Nothing => Fate::NotFound,
                };
                adoption.fates.push((id.clone(), fate));
            }
        }
        Ok(Gathered {
            adoption,
            changes,
            adopted,
        })
    }

    fn found(
        &self,
        surveyed: &Surveyed,
        snapshot: &Snapshot,
        all: &Survey,
        account: &Account,
        posts: &[SeenPost],
    ) -> Result<Found, Failure> {
        let row = snapshot.rows.get(&surveyed.id).map(|stored| &stored.row);
        let reason = match &surveyed.verdict {
            Verdict::Unreadable(reason) | Verdict::Renamed(reason) => Some(reason),
            Verdict::KeptBack(reason) if is_renamed_channel(all, &surveyed.id.channel) => {
                Some(reason)
            }
            Verdict::InPlay | Verdict::Skipped(_) | Verdict::KeptBack(_) | Verdict::Withdrawn => {
                None
            }
        };
        if let Some(reason) = reason {
            return Ok(Found::Unclear(reason.clone()));
        }
        if let Which::This(wanted) = &self.which {
            return named(&surveyed.id, row, account, posts, wanted);
        }
        let item = all.items.get(&surveyed.id.item);
        let url = item
            .map(|item| item.canonical_url.as_str())
            .or_else(|| row.map(|row| row.canonical_url.as_str()));
        let published =
            item.map_or_else(|| row.and_then(|row| row.published), |item| item.published);
        Ok(url.map_or(Found::Nothing, |url| {
            find(
                Wanted {
                    url,
                    published,
                    row,
                },
                account,
                posts,
            )
        }))
    }

    fn looked(&self) -> Vec<Looked> {
        let lists = self.accounts.lists.iter();
        lists
            .map(|list| Looked {
                channel: list.channel.clone(),
                account: list.account.clone(),
                posts: list.posts.len(),
                ends_at: list.ends_at,
            })
            .collect()
    }

    fn unread(&self) -> Vec<(ChannelName, String)> {
        let unread = self.accounts.unread.iter();
        unread
            .map(|unread| (unread.channel.clone(), unread.reason.clone()))
            .collect()
    }
}

fn is_renamed_channel(all: &Survey, channel: &ChannelName) -> bool {
    matches!(all.kept_back.get(channel), Some(KeptBack::Renamed { .. }))
}

/// Returns the post that a person named, if the account has it.
fn named(
    id: &DeliveryId,
    row: Option<&Row>,
    account: &Account,
    posts: &[SeenPost],
    wanted: &Remote,
) -> Result<Found, Failure> {
    let (item, channel) = (&id.item, &id.channel);
    let record = row.and_then(Row::publish);
    if let Some(record) = record.filter(|record| record.state == State::Done) {
        let place = record.remote.as_ref().and_then(|remote| remote.url.clone());
        let place = place.map_or_else(String::new, |url| format!(": {url}"));
        return Err(Failure::new(
            Exit::Usage,
            anyhow!("{id} is posted, proved already{place}"),
        ));
    }
    let is_it = |post: &&SeenPost| {
        let same_id = wanted
            .id
            .as_ref()
            .is_none_or(|id| post.remote.id.as_ref() == Some(id));
        let same_url = wanted.url.as_ref().is_none_or(|url| {
            let known = post.remote.url.as_ref();
            known.is_some_and(|known| same_address(known, url))
        });
        same_id && same_url
    };
    match posts.iter().find(is_it) {
        Some(post) if post.sort == SeenSort::Draft => Err(Failure::new(
            Exit::Usage,
            anyhow!("it is a draft: nobody sees it yet"),
        )
        .hinted("publish it there first, or delete it")),
        Some(post) => Ok(Found::Post(post.remote.clone(), evidence(record))),
        None => Err(Failure::new(
            Exit::Usage,
            anyhow!("among the {} that were read of {account} there is no such post", number(posts.len(), "post", "posts")),
        )
        .hinted(format!(
            "if it is there all the same, `sayonce resolve {item} {channel} --posted URL` takes it on your word"
        ))),
    }
}

fn recorded(
    id: &DeliveryId,
    snapshot: &Snapshot,
    all: &Survey,
    account: &Account,
    remote: &Remote,
    evidence: Evidence,
    by: &Decision,
) -> Result<Change, Failure> {
    let stored = snapshot.rows.get(id);
    let item = all.items.get(&id.item);
    let blank = || item.map(|item| Row::blank(item, &id.channel, None));
    let row = stored.map(|stored| stored.row.clone()).or_else(blank);
    let mut row =
        row.ok_or_else(|| Failure::new(Exit::Usage, anyhow!("`{}` is out of scope", id.item)))?;
    let event = Event::Confirmed {
        remote: remote.clone(),
        evidence,
        by: by.clone(),
    };
    let after = delivery::next(row.publish(), event)
        .map_err(|illegal| Failure::new(Exit::Internal, illegal))?;
    row.account.get_or_insert_with(|| account.clone());
    row.operations.insert(Operation::Publish, after);
    Ok(Change {
        row,
        expected: stored.map(|stored| stored.blob.clone()),
    })
}
