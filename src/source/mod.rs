//! The site's articles, read from what the generator wrote and joined by canonical URL.
//!
//! Invariant: reading sources sends nothing anywhere (a source given as a URL is fetched) and writes nothing.

use crate::model::item::Item;

/// What the sources say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Catalog {
    /// Every article of the site, oldest first (by date, then id), those out of scope included.
    pub items: Vec<Item>,
    /// URLs that a source lists and that are not below the site's URL.
    pub foreign: Vec<String>,
    /// Things that people should know, in plain sentences with file and line where there is one.
    pub notices: Vec<String>,
    /// What is wrong with single items or files: they are left out, the rest goes on, exit 2.
    pub problems: Vec<String>,
}
