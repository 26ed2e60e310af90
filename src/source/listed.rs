//! What one source says about one article, before the sources are joined.

use crate::model::item::{Body, FrontMatter};
use crate::model::time::Timestamp;

use super::dates::DateField;
use super::page::PageHead;
use super::settings::AuthorSays;

/// A source that lists articles, in the order in which the first to say something is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Origin {
    /// `site.manifest`.
    Manifest,
    /// `site.feed`.
    Feed,
    /// `site.sitemap`.
    Sitemap,
    /// `site.markdown`, where nothing else lists.
    Markdown,
    /// `site.pages`, standing alone.
    Pages,
}

/// An article as one source lists it. Texts are plain, entities decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Listed {
    /// Where it stands, for people: the file, and the line or the number of the entry.
    pub(super) place: String,
    /// Its address, absolute, as the source wrote it.
    pub(super) url: Option<String>,
    /// The id that stands in the source.
    pub(super) guid: Option<String>,
    /// Its title.
    pub(super) title: Option<String>,
    /// Its summary.
    pub(super) description: Option<String>,
    /// Its date.
    pub(super) published: DateField,
    /// When it was last changed, where the source gives no date beside that: it counts only if nothing has the date.
    pub(super) changed: DateField,
    /// When it was last changed.
    pub(super) updated: Option<Timestamp>,
    /// Names.
    pub(super) authors: Vec<String>,
    /// Tags.
    pub(super) tags: Vec<String>,
    /// BCP 47 language tag.
    pub(super) language: Option<String>,
    /// Picture; may be relative to the article.
    pub(super) image: Option<String>,
    /// Text.
    pub(super) body: Option<Body>,
    /// More fields, for templates.
    pub(super) front_matter: Option<FrontMatter>,
    /// What the author set.
    pub(super) author_says: Option<AuthorSays>,
    /// Its page, where pages list.
    pub(super) page: Option<PageHead>,
    /// Which Markdown file it is, where Markdown lists.
    pub(super) file: Option<usize>,
}

impl Listed {
    /// Returns where it stands, with its title where it has one.
    pub(super) fn described(&self) -> String {
        match &self.title {
            Some(title) => format!("{} (\"{title}\")", self.place),
            None => self.place.clone(),
        }
    }
}
