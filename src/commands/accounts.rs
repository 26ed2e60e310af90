//! What is on the accounts, read for a person: each channel's login, and its list as far back as it goes.

use std::sync::Arc;

use crate::channel::{Channel, registry};
use crate::clock::Clock;
use crate::config::{ChannelConfig, Site};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::model::channel::Kind;
use crate::model::ids::{Account, ChannelName};
use crate::model::outcome::{Listing, Opening, SeenPost, Trouble};
use crate::model::time::Timestamp;

/// What one account has posted.
#[derive(Clone, Debug)]
pub(super) struct AccountList {
    pub(super) channel: ChannelName,
    kind: Kind,
    pub(super) account: Account,
    pub(super) posts: Vec<SeenPost>,
    /// The list ends there, and older posts are not seen; none: it reaches as far back as was asked for.
    pub(super) ends_at: Option<Timestamp>,
}

/// Why an account's list could not be had.
#[derive(Clone, Debug)]
pub(super) struct Unread {
    pub(super) channel: ChannelName,
    pub(super) reason: String,
    /// What it means for the exit code.
    pub(super) exit: Exit,
}

/// The accounts of all channels that were asked about.
#[derive(Clone, Debug, Default)]
pub(super) struct Accounts {
    pub(super) lists: Vec<AccountList>,
    pub(super) unread: Vec<Unread>,
}

impl Accounts {
    /// Logs in on each channel and reads its list back to `since`. Two channels on one account are both left out: a
    /// post there would be taken for both.
    pub(super) fn read<'a>(
        channels: impl IntoIterator<Item = &'a ChannelConfig>,
        site: &Site,
        environment: &Environment,
        clock: &Arc<dyn Clock>,
        since: Timestamp,
    ) -> Self {
        let mut accounts = Self::default();
        for channel in channels {
            match list(channel, site, environment, clock, since) {
                Ok(list) => accounts.lists.push(list),
                Err(unread) => accounts.unread.push(unread),
            }
        }
        accounts.leave_out_shared();
        accounts
    }

    fn leave_out_shared(&mut self) {
        let all = self.lists.clone();
        self.lists.retain(|list| {
            let other = all.iter().find(|other| {
                other.channel != list.channel
                    && other.kind == list.kind
                    && other.account == list.account
            });
            let Some(other) = other else { return true };
            self.unread.push(Unread {
                channel: list.channel.clone(),
                reason: format!(
                    "{} posts to the same account, {}",
                    other.channel, list.account
                ),
                exit: Exit::Usage,
            });
            false
        });
    }
}

fn list(
    channel: &ChannelConfig,
    site: &Site,
    environment: &Environment,
    clock: &Arc<dyn Clock>,
    since: Timestamp,
) -> Result<AccountList, Unread> {
    let unread = |reason: String, exit: Exit| Unread {
        channel: channel.name().clone(),
        reason,
        exit,
    };
    if !channel.lists_posts() {
        return Err(unread("its posts can't be listed".to_owned(), Exit::Proved));
    }
    let mut service = registry::build(channel, site, environment, Arc::clone(clock))
        .map_err(|missing| unread(format!("{} is not set", missing.variable), Exit::Usage))?;
    let session = match service.open() {
        Opening::Ready(session) => session,
        Opening::Closed { trouble, reason } => return Err(unread(reason, exit_of(trouble))),
    };
    match service.recent(since) {
        Listing::Posts(posts) => Ok(AccountList {
            channel: channel.name().clone(),
            kind: channel.kind(),
            account: session.account,
            ends_at: ends_at(service.as_ref(), &posts),
            posts,
        }),
        Listing::CannotTell { reason } => Err(unread(reason, Exit::WorkRemains)),
    }
}

fn ends_at(service: &dyn Channel, posts: &[SeenPost]) -> Option<Timestamp> {
    let oldest = || posts.iter().filter_map(|post| post.created_at).min();
    (!service.reached()).then(oldest).flatten()
}

/// Returns what a channel that can't be used means for the exit code.
pub(super) const fn exit_of(trouble: Trouble) -> Exit {
    match trouble {
        Trouble::Credentials => Exit::NeedsPerson,
        Trouble::Unreachable | Trouble::RateLimited(_) => Exit::WorkRemains,
    }
}
