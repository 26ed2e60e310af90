//! Is the page online yet? A post whose link shows an error page can't be taken back.

use std::fmt::Debug;

use crate::model::item::ItemId;
use crate::model::notice::Notice;
use crate::model::time::Timestamp;
use crate::plan::decide::Again;

use super::action::Action;
use super::backoff::backoff;
use super::core::Core;

/// Looks whether pages are online. Calls block.
pub trait Scout: Send {
    /// Returns nothing if the page at `url` is live, else why not.
    fn check(&mut self, url: &str) -> Result<(), String>;
}

/// What is known of one article's page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Liveness {
    /// It is being looked at.
    Asked {
        /// When it was first looked at.
        since: Timestamp,
        /// How often it was not there.
        misses: u32,
    },
    /// It is there.
    Live,
    /// Not yet.
    Missing {
        /// When it was first looked at.
        since: Timestamp,
        /// How often it was not there.
        misses: u32,
        /// When it is looked at again.
        again_at: Timestamp,
        /// What was seen.
        reason: String,
    },
}

impl Core {
    /// Whether an article may be announced, as far as its page is concerned; asks for a look if that is not known.
    ///
    /// What may have been sent already is not held up: it is there or it is not.
    pub(super) fn is_live(&mut self, now: Timestamp, id: &ItemId, again: Again) -> bool {
        let patience = self.setup.config.site.wait_live;
        if patience.is_zero() || again == Again::Frozen {
            return true;
        }
        let (since, misses) = match self.liveness.get(id) {
            Some(Liveness::Live) => return true,
            Some(Liveness::Asked { .. }) => return false,
            Some(Liveness::Missing {
                since, again_at, ..
            }) if *again_at > now => {
                // Later than that it is for the next run.
                if *again_at <= since.plus(patience) {
                    self.wakes
                        .push((*again_at, format!("{id}: its page to be online")));
                }
                return false;
            }
            Some(Liveness::Missing { since, misses, .. }) => (*since, *misses),
            None => (now, 0),
        };
        let url = self
            .survey
            .as_ref()
            .and_then(|survey| survey.items.get(id))
            .map(|item| item.canonical_url.clone());
        let Some(url) = url else { return true };
        self.liveness
            .insert(id.clone(), Liveness::Asked { since, misses });
        self.actions.push(Action::CheckLive(id.clone(), url));
        false
    }

    /// Takes a look at a page.
    pub(super) fn checked(&mut self, now: Timestamp, id: ItemId, result: Result<(), String>) {
        let Some(Liveness::Asked { since, misses }) = self.liveness.get(&id) else {
            return;
        };
        let (since, misses) = (*since, *misses + 1);
        let known = match result {
            Ok(()) => Liveness::Live,
            Err(reason) => {
                self.tell(Notice::Plain(format!("{id} is not online yet: {reason}")));
                Liveness::Missing {
                    since,
                    misses,
                    again_at: now.plus(backoff(misses)),
                    reason,
                }
            }
        };
        self.liveness.insert(id, known);
    }

    /// Whether a page is being looked at.
    pub(super) fn is_scouting(&self) -> bool {
        self.liveness
            .values()
            .any(|known| matches!(known, Liveness::Asked { .. }))
    }

    /// Returns why an article is not announced yet, if its page is the reason.
    pub(super) fn not_live(&self, id: &ItemId) -> Option<String> {
        match self.liveness.get(id)? {
            Liveness::Live | Liveness::Asked { .. } => None,
            Liveness::Missing { reason, .. } => {
                Some(format!("its page is not online yet: {reason}"))
            }
        }
    }
}
