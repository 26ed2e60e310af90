//! A TOML document that is read key by key, so that every problem of a file is found in one go and has its line.
//!
//! Serde would stop at the first mistake; people then fix a configuration one run at a time.

use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Problem;
use super::suggest::closest;

/// How a problem says that something is nowhere defined.
pub(super) const LACKING: &str = ", and there is no ";

/// Byte offset of something in the file; none for what is not there.
pub(super) type Place = Option<usize>;

/// What is wrong with a value, before its key and place are known.
#[derive(Debug)]
pub(super) struct Wrong {
    /// Follows the key's name: "is empty".
    pub(super) message: String,
    /// What to do.
    pub(super) hint: Option<String>,
}

impl Wrong {
    pub(super) fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: Some(hint.into()),
        }
    }
}

/// A value that stands in the file, with its place.
#[derive(Clone, Debug)]
pub(super) struct Given<T> {
    pub(super) value: T,
    pub(super) place: Place,
}

/// What was found so far: problems, which make the file unusable, and warnings.
#[derive(Debug)]
pub(super) struct Findings<'d> {
    file: PathBuf,
    text: &'d str,
    problems: Vec<(Place, Problem)>,
    warnings: Vec<(Place, Problem)>,
}

impl<'d> Findings<'d> {
    pub(super) fn new(file: &Path, text: &'d str) -> Self {
        Self {
            file: file.to_owned(),
            text,
            problems: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Notes a problem.
    pub(super) fn problem(&mut self, place: Place, message: impl Into<String>, hint: Option<&str>) {
        let problem = self.describe(place, 0, message.into(), hint);
        self.problems.push((place, problem));
    }

    /// Notes a problem that lies `lines_below` the line of its place.
    pub(super) fn problem_below(
        &mut self,
        place: Place,
        lines_below: usize,
        message: impl Into<String>,
        hint: Option<&str>,
    ) {
        let problem = self.describe(place, lines_below, message.into(), hint);
        self.problems.push((place, problem));
    }

    /// Notes something that is legal but unwise.
    pub(super) fn warning(&mut self, place: Place, message: impl Into<String>) {
        let warning = self.describe(place, 0, message.into(), None);
        self.warnings.push((place, warning));
    }

    /// Returns how many problems there are so far.
    pub(super) fn problems_count(&self) -> usize {
        self.problems.len()
    }

    /// Returns the file's own text of a value.
    pub(super) fn raw(&self, value: &Spanned<DeValue<'_>>) -> &'d str {
        self.text.get(value.span()).unwrap_or_default()
    }

    /// Returns problems and warnings, each in the order of the file.
    pub(super) fn finish(mut self) -> (Vec<Problem>, Vec<String>) {
        self.problems.sort_by_key(|(place, _)| *place);
        // A preset names what it needs in many templates, all at the preset's own place.
        let is_lacking = |problem: &Problem| problem.message.contains(LACKING);
        self.problems
            .dedup_by(|(place, problem), (first_place, first)| {
                place == first_place
                    && problem.hint == first.hint
                    && is_lacking(problem)
                    && is_lacking(first)
            });
        self.warnings.sort_by_key(|(place, _)| *place);
        (
            self.problems
                .into_iter()
                .map(|(_, problem)| problem)
                .collect(),
            self.warnings
                .into_iter()
                .map(|(_, warning)| warning.to_string())
                .collect(),
        )
    }

    fn describe(
        &self,
        place: Place,
        lines_below: usize,
        message: String,
        hint: Option<&str>,
    ) -> Problem {
        Problem {
            file: self.file.clone(),
            line: place.map(|offset| line_of(self.text, offset) + lines_below),
            message,
            hint: hint.map(str::to_owned),
        }
    }
}

fn line_of(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().iter().take(offset);
    1 + before.filter(|byte| **byte == b'\n').count()
}

/// A table of the document, with the dotted name that messages use.
#[derive(Clone, Debug)]
pub(super) struct Section<'d> {
    pub(super) name: String,
    pub(super) place: Place,
    entries: &'d DeTable<'d>,
}

impl<'d> Section<'d> {
    /// Takes the document itself.
    pub(super) fn root(entries: &'d DeTable<'d>) -> Self {
        Self {
            name: String::new(),
            place: None,
            entries,
        }
    }

    /// Takes a table that stands somewhere in the document, such as one of a list.
    pub(super) fn of(name: String, place: Place, entries: &'d DeTable<'d>) -> Self {
        Self {
            name,
            place,
            entries,
        }
    }

    /// Returns the table under `key`; a value that is no table is a problem.
    pub(super) fn section(&self, key: &str, findings: &mut Findings<'_>) -> Option<Self> {
        let (found, value) = self.entries.get_key_value(key)?;
        let place = Some(found.span().start);
        let name = self.path_of(key);
        if let Some(entries) = value.get_ref().as_table() {
            return Some(Self {
                name,
                place,
                entries,
            });
        }
        findings.problem(
            place,
            format!("`{name}` is not a table"),
            Some(&format!("write `[{name}]` and its keys below it")),
        );
        None
    }

    /// Returns every key with its place, in the order of the file.
    pub(super) fn keys(&self) -> Vec<(&'d str, Place)> {
        let mut keys: Vec<_> = self
            .entries
            .keys()
            .map(|key| (key.get_ref().as_ref(), Some(key.span().start)))
            .collect();
        keys.sort_by_key(|(_, place)| *place);
        keys
    }

    /// Returns the value of `key` as it stands in the file.
    pub(super) fn value(&self, key: &str) -> Option<&'d Spanned<DeValue<'d>>> {
        self.entries.get(key)
    }

    /// Returns the value of `key` as `read` takes it; a value that it refuses is a problem.
    pub(super) fn read<T>(
        &self,
        key: &str,
        findings: &mut Findings<'_>,
        read: impl FnOnce(&DeValue<'_>) -> Result<T, Wrong>,
    ) -> Option<Given<T>> {
        let (found, value) = self.entries.get_key_value(key)?;
        let place = Some(found.span().start);
        match read(value.get_ref()) {
            Ok(value) => Some(Given { value, place }),
            Err(wrong) => {
                findings.problem(
                    place,
                    format!("`{}` {}", self.path_of(key), wrong.message),
                    wrong.hint.as_deref(),
                );
                None
            }
        }
    }

    /// Like [`Section::read`]; a missing key is a problem too.
    pub(super) fn require<T>(
        &self,
        key: &str,
        hint: &str,
        findings: &mut Findings<'_>,
        read: impl FnOnce(&DeValue<'_>) -> Result<T, Wrong>,
    ) -> Option<Given<T>> {
        if self.value(key).is_none() {
            let message = format!("`{}` is missing", self.path_of(key));
            findings.problem(self.place, message, Some(hint));
            return None;
        }
        self.read(key, findings, read)
    }

    /// Makes a problem of every key that is not `known`; `elsewhere` says where a key belongs, if it belongs anywhere.
    pub(super) fn refuse_unknown(
        &self,
        known: &[&str],
        findings: &mut Findings<'_>,
        elsewhere: impl Fn(&str) -> Option<String>,
    ) {
        for (key, place) in self.keys() {
            if known.contains(&key) {
                continue;
            }
            let hint = elsewhere(key)
                .or_else(|| closest(key, known).map(|near| format!("did you mean `{near}`?")))
                .unwrap_or_else(|| format!("the keys here are {}", known.join(", ")));
            let message = format!("`{}` is not a known key", self.path_of(key));
            findings.problem(place, message, Some(&hint));
        }
    }

    /// Returns the dotted name of a key of this table.
    pub(super) fn path_of(&self, key: &str) -> String {
        if self.name.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.name)
        }
    }
}
