//! Whether this checkout is the site's newest commit. A job that is run again checks an old one out, and would change
//! what is posted back to what it said then.

use super::action::Action;
use super::core::Core;

/// What is known of this checkout.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Checkout {
    /// Nothing: no change was due yet.
    #[default]
    Unknown,
    /// It is being asked for.
    Asked,
    /// It is what the remote's branch has.
    Newest,
    /// It is not, or that can't be told.
    Behind(String),
}

impl Checkout {
    /// Why nothing that is posted is changed; none: it may be.
    pub(super) fn put_off(&self) -> Option<&str> {
        match self {
            Self::Unknown | Self::Asked => {
                Some("whether this checkout is the newest commit is being looked at")
            }
            Self::Newest => None,
            Self::Behind(reason) => Some(reason),
        }
    }
}

impl Core {
    /// Asks whether this checkout is the newest commit, once, when the first change would be due. Articles that are
    /// read from the network are as new as they can be.
    pub(super) fn ask_for_checkout(&mut self) {
        if self.checkout != Checkout::Unknown {
            return;
        }
        if self.setup.config.site.is_read_from_files() {
            self.checkout = Checkout::Asked;
            self.actions.push(Action::SeeCheckout);
        } else {
            self.checkout = Checkout::Newest;
        }
    }

    /// Takes why this checkout is not the newest commit; none: it is.
    pub(super) fn checkout_seen(&mut self, behind: Option<String>) {
        self.checkout = behind.map_or(Checkout::Newest, Checkout::Behind);
    }

    /// Whether the answer is awaited.
    pub(super) fn is_asking_for_checkout(&self) -> bool {
        self.checkout == Checkout::Asked
    }
}
