//! Files that are one article in several languages, as Hugo and Zola name them: `x.md`, `x.de.md`, `x.pt-br.md`.
//!
//! Invariant: one language's text is never joined with another's address. A suffix that only looks like a language
//! (`node.js.md`) parts nothing as long as no other file has the name before it.

use std::collections::{BTreeMap, BTreeSet};

use percent_encoding::percent_decode_str;
use url::Url;

use super::markdown::MarkdownFile;

/// ISO 639-1.
const CODES: &str = "aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz \
ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja \
jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng \
nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw \
ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu";

/// Splits a file's path into what the languages of one article share, and the language in its name.
pub(super) fn split(path: &str) -> (&str, Option<String>) {
    let without_extension = strip_suffix_after_dot(path).map_or(path, |(stem, _extension)| stem);
    let language = strip_suffix_after_dot(without_extension)
        .filter(|(_stem, suffix)| is_tag(suffix))
        .map(|(stem, suffix)| (stem, normal(suffix)));
    match language {
        Some((stem, language)) => (stem, Some(language)),
        None => (without_extension, None),
    }
}

/// Whether a suffix is a language beyond doubt: `js` is none.
pub(super) fn is_known(language: &str) -> bool {
    let primary = language.split('-').next().unwrap_or_default();
    CODES.split(' ').any(|code| code == primary)
}

/// Which languages there are of each article.
#[derive(Debug, Default)]
pub(super) struct Languages(BTreeMap<String, Variants>);

#[derive(Debug, Default)]
struct Variants {
    languages: BTreeSet<String>,
    files: usize,
    has_plain: bool,
}

impl Languages {
    /// Takes all files of the site.
    pub(super) fn new(files: &[MarkdownFile]) -> Self {
        let mut languages = Self::default();
        for file in files {
            let variants = languages.0.entry(file.stem.clone()).or_default();
            variants.files += 1;
            match &file.language {
                Some(language) => {
                    variants.languages.insert(language.clone());
                }
                None => variants.has_plain = true,
            }
        }
        languages
    }

    /// Whether a file is in one of several languages by its name.
    pub(super) fn is_translation(&self, file: &MarkdownFile) -> bool {
        file.language.is_some()
            && self
                .variants(file)
                .is_some_and(|variants| variants.files > 1)
    }

    /// Whether an address may be that of a file, as far as languages tell.
    pub(super) fn fits(&self, file: &MarkdownFile, address: &str) -> bool {
        let directories = directories(address);
        match &file.language {
            Some(language) if self.is_translation(file) => directories.contains(language),
            Some(_) => true,
            None => !self.has_other(file, &directories),
        }
    }

    /// Whether it can't be ruled out: which language stands at an address that names none is the generator's to say.
    pub(super) fn may_fit(&self, file: &MarkdownFile, address: &str) -> bool {
        let has_plain = self
            .variants(file)
            .is_some_and(|variants| variants.has_plain);
        let names_none = || !has_plain && !self.has_other(file, &directories(address));
        self.fits(file, address) || (file.language.is_some() && names_none())
    }

    fn has_other(&self, file: &MarkdownFile, directories: &BTreeSet<String>) -> bool {
        self.variants(file)
            .is_some_and(|variants| !variants.languages.is_disjoint(directories))
    }

    fn variants(&self, file: &MarkdownFile) -> Option<&Variants> {
        self.0.get(&file.stem)
    }
}

/// Returns the segments of an address but the last, in the form of tags.
pub(super) fn directories(address: &str) -> BTreeSet<String> {
    let Ok(url) = Url::parse(address) else {
        return BTreeSet::new();
    };
    let mut segments: Vec<String> = url
        .path()
        .split('/')
        .filter(|segment| !segment.is_empty())
        .map(|segment| normal(&percent_decode_str(segment).decode_utf8_lossy()))
        .collect();
    segments.pop();
    segments.into_iter().collect()
}

/// Splits the name at the end of a path at its last dot.
fn strip_suffix_after_dot(path: &str) -> Option<(&str, &str)> {
    let (stem, suffix) = path.rsplit_once('.')?;
    (!suffix.contains('/') && !stem.is_empty() && !stem.ends_with('/')).then_some((stem, suffix))
}

/// Two or three letters, and a region or script: `de`, `pt-br`, `zh_Hans`, `es-419`.
fn is_tag(suffix: &str) -> bool {
    let (primary, rest) = match suffix.split_once(['-', '_']) {
        Some((primary, rest)) => (primary, Some(rest)),
        None => (suffix, None),
    };
    let letters = |text: &str, lengths: &[usize]| {
        lengths.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphabetic())
    };
    let is_area = |text: &str| text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit());
    letters(primary, &[2, 3]) && rest.is_none_or(|rest| letters(rest, &[2, 4]) || is_area(rest))
}

pub(super) fn normal(tag: &str) -> String {
    tag.to_lowercase().replace('_', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suffix_that_is_a_tag_is_a_language() {
        let check = |path: &str| match split(path) {
            (stem, Some(language)) => format!("{stem} in {language}"),
            (stem, None) => stem.to_owned(),
        };
        assert_eq!(check("c/x.md"), "c/x");
        assert_eq!(check("c/x.de.md"), "c/x in de");
        assert_eq!(check("c/x.pt_BR.md"), "c/x in pt-br");
        assert_eq!(check("c/x.es-419.md"), "c/x in es-419");
        assert_eq!(check("c/x/index.gsw.md"), "c/x/index in gsw");
        assert_eq!(check("c/x.draft.md"), "c/x.draft");
        assert_eq!(check("c/Rust-1.88.0.md"), "c/Rust-1.88.0");
        assert_eq!(check("c.de/x.md"), "c.de/x");
        assert_eq!(check("c/.de.md"), "c/.de");
        assert_eq!(check("x"), "x");
        assert!(is_known("pt-br"));
        assert!(!is_known("js"));
    }
}
