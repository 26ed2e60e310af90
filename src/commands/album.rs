//! Where a job takes pictures from.

use std::path::PathBuf;
use std::sync::Arc;

use crate::channel::http::HttpFetch;
use crate::clock::Clock;
use crate::config::Site;
use crate::engine::driver::Album;
use crate::source::{self, Fetch};

use super::world::World;

/// How far a job may reach for a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// The built pages, else the network.
    Network,
    /// The built pages: nothing leaves a rehearsal.
    PagesOnly,
}

/// The pictures of one site.
pub(super) struct Shelf {
    site: Site,
    top: PathBuf,
    fetch: Option<HttpFetch>,
}

impl Shelf {
    pub(super) fn of(world: &World, reach: Reach, clock: &Arc<dyn Clock>) -> Self {
        Self {
            site: world.config.site.clone(),
            top: world.top.clone(),
            fetch: match reach {
                Reach::Network => Some(HttpFetch::of_pictures(Arc::clone(clock))),
                Reach::PagesOnly => None,
            },
        }
    }
}

impl Album for Shelf {
    fn picture(&self, url: &str) -> Result<Vec<u8>, String> {
        source::read_picture(&self.site, &self.top, url, self)
    }
}

impl Fetch for Shelf {
    fn fetch(&self, url: &str) -> Result<Vec<u8>, String> {
        match &self.fetch {
            Some(fetch) => fetch.fetch(url),
            None => Err(format!(
                "{url} is not among the built pages (`site.pages`), and a rehearsal fetches nothing"
            )),
        }
    }
}
