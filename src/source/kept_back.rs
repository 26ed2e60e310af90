//! Articles that a file may keep back although it does not join them.
//!
//! Which file an article was written in is not always certain: a date that can't be read, a name that two articles
//! share. What joins by mistake would announce another article's text, so that in doubt nothing joins. But a draft, or
//! a file with `sayonce` in its front matter, says what is to become of its article, and announcing that as if nothing
//! were said can't be taken back.
//!
//! Invariant: an article without a file of its own is left out, as a problem, where the name or the title of a file
//! that says something is its own. A file that is certainly another article's says nothing here.

use std::collections::{BTreeMap, BTreeSet};

use chrono_tz::Tz;

use crate::model::item::Item;

use super::Context;
use super::dates::{self, DateField};
use super::groups::Group;
use super::languages::Languages;
use super::markdown::{self, MarkdownFile};
use super::nearness;
use super::text::collapse;

/// The files that say something and are no article's for certain.
#[derive(Debug)]
pub(super) struct KeptBack<'a> {
    timezone: Tz,
    files: &'a [MarkdownFile],
    by_name: BTreeMap<String, BTreeSet<usize>>,
    by_title: BTreeMap<String, BTreeSet<usize>>,
    languages: Languages,
}

/// Why an article is left out.
#[derive(Debug)]
pub(super) struct Found {
    /// The files that may be its own.
    pub(super) files: BTreeSet<usize>,
    /// What people are told.
    pub(super) problem: String,
}

impl<'a> KeptBack<'a> {
    /// Takes the articles, already joined with their files.
    pub(super) fn new(context: &Context<'_>, groups: &[Group], files: &'a [MarkdownFile]) -> Self {
        let joined: BTreeSet<usize> = groups.iter().filter_map(|group| group.file).collect();
        let mut kept_back = Self {
            timezone: context.site.timezone,
            files,
            by_name: BTreeMap::new(),
            by_title: BTreeMap::new(),
            languages: Languages::new(files),
        };
        let open = files
            .iter()
            .enumerate()
            .filter(|(number, _file)| !joined.contains(number));
        for (number, file) in open {
            for key in file_names(file) {
                kept_back.by_name.entry(key).or_default().insert(number);
            }
            let title = file
                .parsed
                .as_ref()
                .ok()
                .and_then(|parsed| parsed.title.as_deref())
                .map(title_key)
                .filter(|title| !title.is_empty());
            if let Some(title) = title {
                kept_back.by_title.entry(title).or_default().insert(number);
            }
        }
        kept_back
    }

    /// Returns why an article must not go out; none if it may.
    pub(super) fn of(&self, group: &Group, item: &Item) -> Option<Found> {
        if group.file.is_some() || item.out_of_scope.is_some() {
            return None;
        }
        let by_name = std::iter::once(group.canonical())
            .chain(group.links.iter().map(String::as_str))
            .filter_map(markdown::last_segment)
            .flat_map(|segment| name_keys(&segment))
            .filter_map(|key| self.by_name.get(&key));
        let by_title = self.by_title.get(&title_key(&item.title));
        let may_fit = |number: &usize| {
            let file = self.files.get(*number);
            file.is_some_and(|file| self.languages.may_fit(file, group.canonical()))
        };
        let files: BTreeSet<usize> = by_name
            .chain(by_title)
            .flatten()
            .copied()
            .filter(may_fit)
            .collect();
        let files = self.without_others(group, item, files);
        if files.is_empty() {
            return None;
        }
        let own = files.iter().filter_map(|number| self.files.get(*number));
        let named: Vec<String> = own
            .clone()
            .map(|file| self.described(group, file))
            .collect();
        let in_which = if named.len() == 1 {
            "in it"
        } else {
            "in the one that is"
        };
        let or_a_date = if own.clone().any(|file| file.day(self.timezone).is_none()) {
            ", or a date that can be read"
        } else {
            ""
        };
        let problem = format!(
            "`{}` is left out, since it may be the article of {}; set `canonical_url` or `permalink` {in_which}{or_a_date}",
            item.canonical_url,
            named.join(" or of ")
        );
        Some(Found { files, problem })
    }

    /// Returns the files that say something, without those beside which another is plainly the article's: of its day, and
    /// nearer to it, or as near while they are drafts, of which there should be no article.
    fn without_others(
        &self,
        group: &Group,
        item: &Item,
        files: BTreeSet<usize>,
    ) -> BTreeSet<usize> {
        let file = |number: &usize| self.files.get(*number);
        let others = files.iter().filter_map(file);
        let others = others.filter(|file| file.wish().is_none() && self.is_of_day(group, file));
        let nearest = others.map(|file| self.nearness(group, item, file)).max();
        let says_most = |file: &MarkdownFile| {
            let own = self.nearness(group, item, file);
            let is_draft = file.parsed.as_ref().is_ok_and(|parsed| parsed.is_draft);
            match nearest {
                None => true,
                Some(other) if is_draft => own > other,
                Some(other) => own >= other,
            }
        };
        let mut files = files;
        files.retain(|number| {
            file(number).is_some_and(|file| file.wish().is_some() && says_most(file))
        });
        files
    }

    fn is_of_day(&self, group: &Group, file: &MarkdownFile) -> bool {
        let days = file.day(self.timezone).zip(group.day(self.timezone));
        days.is_some_and(|(own, day)| dates::about_same_day(own, day))
    }

    /// Returns how much of a file is as the article has it: the day, the name, the title, directories, the language.
    fn nearness(&self, group: &Group, item: &Item, file: &MarkdownFile) -> usize {
        let parsed = file.parsed.as_ref().ok();
        let names = file_names(file);
        let has_name = markdown::last_segment(group.canonical())
            .is_some_and(|segment| !name_keys(&segment).is_disjoint(&names));
        let title = parsed.and_then(|parsed| parsed.title.as_deref());
        let has_title = title.is_some_and(|title| title_key(title) == title_key(&item.title));
        let language = parsed.and_then(|parsed| parsed.language.as_deref());
        let language = file.language.as_deref().or(language).map(primary);
        let has_language = language.is_some() && language == item.language.as_deref().map(primary);
        let day = if self.is_of_day(group, file) { 4 } else { 0 };
        day + usize::from(has_name) * 2
            + usize::from(has_title) * 2
            + usize::from(has_language)
            + nearness::shared(file, group.canonical())
    }

    fn described(&self, group: &Group, file: &MarkdownFile) -> String {
        let wish = file.wish().unwrap_or_default();
        format!("{} ({wish}; {})", file.path, self.doubt(group, file))
    }

    /// Says why a file was not joined with an article.
    fn doubt(&self, group: &Group, file: &MarkdownFile) -> String {
        let timezone = self.timezone;
        let parsed = file.parsed.as_ref().ok();
        let own_address =
            parsed.and_then(|parsed| parsed.canonical.as_ref().or(parsed.permalink.as_ref()));
        if let Some(address) = own_address {
            return format!("it says that its address is `{address}`");
        }
        match (file.day(timezone), group.day(timezone)) {
            (None, _) => match parsed.map(|parsed| &parsed.published) {
                Some(DateField::Unreadable(text)) => format!("its date can't be read: `{text}`"),
                Some(DateField::Missing | DateField::At(_)) => "it has no date".to_owned(),
                None => "its date is not known".to_owned(),
            },
            (Some(own), Some(day)) if !dates::about_same_day(own, day) => {
                format!("its date is {own}, and the article's {day}")
            }
            (Some(_), _) => {
                let segment = markdown::last_segment(group.canonical()).unwrap_or_default();
                if file.slug_forms().contains(&segment) {
                    "its name does not tell it from others".to_owned()
                } else {
                    "its name is not the address's".to_owned()
                }
            }
        }
    }
}

/// Returns the language of a tag, without region and script.
fn primary(tag: &str) -> String {
    let tag = tag.to_lowercase();
    tag.split(['-', '_']).next().unwrap_or_default().to_owned()
}

fn file_names(file: &MarkdownFile) -> BTreeSet<String> {
    let addresses = file
        .parsed
        .iter()
        .flat_map(|parsed| parsed.canonical.iter().chain(&parsed.permalink))
        .filter_map(|address| markdown::last_segment(address));
    // Some make the address of the title.
    let title = file.parsed.iter().filter_map(|parsed| parsed.title.clone());
    file.slugs
        .iter()
        .chain(&file.path_names)
        .cloned()
        .chain(addresses)
        .chain(title)
        .flat_map(|name| name_keys(&name))
        .collect()
}

/// Returns a name as generators may write it, without what they change: case, signs between words, and accents, which
/// some leave out (`uber`) and some spell (`ueber`).
fn name_keys(name: &str) -> BTreeSet<String> {
    let slug = markdown::slugify(&composed(name));
    let keys = [
        plain(&slug, Umlauts::Bare),
        plain(&slug, Umlauts::Spelled),
        slug,
    ];
    keys.into_iter().filter(|key| !key.is_empty()).collect()
}

fn title_key(title: &str) -> String {
    collapse(title).to_lowercase()
}

/// What becomes of `ä`, `ö`, and `ü`.
#[derive(Clone, Copy, Debug)]
enum Umlauts {
    /// The letter alone.
    Bare,
    /// As German spells them without the sign.
    Spelled,
}

/// The letters of the languages that are written with Latin ones, without what distinguishes them.
const PLAIN_LETTERS: [(&str, &str); 24] = [
    ("àáâãäåāăą", "a"),
    ("æ", "ae"),
    ("çćĉċč", "c"),
    ("ďđð", "d"),
    ("èéêëēĕėęě", "e"),
    ("ĝğġģ", "g"),
    ("ĥħ", "h"),
    ("ìíîïĩīĭįı", "i"),
    ("ĳ", "ij"),
    ("ĵ", "j"),
    ("ķ", "k"),
    ("ĺļľŀł", "l"),
    ("ñńņňŋ", "n"),
    ("òóôõöøōŏő", "o"),
    ("œ", "oe"),
    ("ŕŗř", "r"),
    ("śŝşšș", "s"),
    ("ß", "ss"),
    ("ţťŧț", "t"),
    ("þ", "th"),
    ("ùúûüũūŭůűų", "u"),
    ("ŵ", "w"),
    ("ýÿŷ", "y"),
    ("źżž", "z"),
];

/// Returns a name without accents that stand beside their letter, as files of macOS have them.
fn composed(name: &str) -> String {
    let umlauts = [
        ("a", "ä"),
        ("o", "ö"),
        ("u", "ü"),
        ("A", "ä"),
        ("O", "ö"),
        ("U", "ü"),
    ];
    let mut name = name.to_owned();
    for (letter, umlaut) in umlauts {
        name = name.replace(&format!("{letter}\u{308}"), umlaut);
    }
    name.to_lowercase()
        .chars()
        .filter(|letter| !('\u{300}'..='\u{36f}').contains(letter))
        .collect()
}

fn plain(name: &str, umlauts: Umlauts) -> String {
    let mut written = String::new();
    for letter in name.chars() {
        let spelled = match (umlauts, letter) {
            (Umlauts::Spelled, 'ä' | 'æ') => Some("ae"),
            (Umlauts::Spelled, 'ö' | 'ø') => Some("oe"),
            (Umlauts::Spelled, 'ü') => Some("ue"),
            (Umlauts::Spelled, 'å') => Some("aa"),
            (Umlauts::Bare | Umlauts::Spelled, _) => PLAIN_LETTERS
                .iter()
                .find(|(letters, _plain)| letters.contains(letter))
                .map(|(_letters, plain)| *plain),
        };
        match spelled {
            Some(spelled) => written.push_str(spelled),
            None => written.push(letter),
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_as_generators_write_them() {
        let is_same = |file: &str, segment: &str| !name_keys(file).is_disjoint(&name_keys(segment));
        for (file, segment) in [
            ("Über uns", "uber-uns"),
            ("Über uns", "ueber-uns"),
            ("Über uns", "über-uns"),
            ("U\u{308}ber uns", "uber-uns"),
            ("Grüße", "grusse"),
            ("Grüße", "gruesse"),
            ("Foo_Bar", "foo-bar"),
            ("Blåbær", "blaabaer"),
            ("Łódź", "lodz"),
            ("你好", "你好"),
        ] {
            assert!(is_same(file, segment), "{file} {segment}");
        }
        assert!(!is_same("Über uns", "ubung"));
        assert!(!is_same("…", "—"));
    }
}
