//! A table of the user's over the same table of a preset: what the user wrote counts, key by key.

use toml::de::DeValue;

use super::super::document::{Findings, Given, Place, Section, Wrong};
use super::super::suggest::closest;

/// One table, in both.
#[derive(Clone, Debug)]
pub(super) struct Layers<'d> {
    own: Option<Section<'d>>,
    preset: Option<Section<'d>>,
    name: String,
    /// Where to point if the user has no such table.
    place: Place,
}

/// A value, and where to point for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'d> {
    pub(super) key: &'static str,
    pub(super) value: &'d DeValue<'d>,
    pub(super) place: Place,
}

impl<'d> Layers<'d> {
    pub(super) fn new(own: &Section<'d>, preset: Option<Section<'d>>, place: Place) -> Self {
        Self {
            own: Some(own.clone()),
            preset,
            name: own.name.clone(),
            place,
        }
    }

    /// Takes one table of a list.
    pub(super) fn of_one(section: Section<'d>) -> Self {
        Self {
            name: section.name.clone(),
            place: section.place,
            own: Some(section),
            preset: None,
        }
    }

    /// Returns where problems of the table as a whole are shown.
    pub(super) fn place(&self) -> Place {
        self.own
            .as_ref()
            .map_or(self.place, |own| own.place)
            .or(self.place)
    }

    pub(super) fn path_of(&self, key: &str) -> String {
        format!("{}.{key}", self.name)
    }

    /// Returns the table under `key`, if either has it.
    pub(super) fn section(&self, key: &str, findings: &mut Findings<'_>) -> Option<Self> {
        let is_table = |section: &Section<'d>| {
            section
                .value(key)
                .is_some_and(|value| value.get_ref().is_table())
        };
        let own = match &self.own {
            Some(own) if own.value(key).is_some() => Some(own.section(key, findings)?),
            Some(_) | None => None,
        };
        let preset = self
            .preset
            .as_ref()
            .filter(|preset| is_table(preset))
            .and_then(|preset| preset.section(key, findings));
        if own.is_none() && preset.is_none() {
            return None;
        }
        Some(Self {
            own,
            preset,
            name: self.path_of(key),
            place: self.place(),
        })
    }

    /// Whether either has a key.
    pub(super) fn has(&self, key: &str) -> bool {
        [&self.own, &self.preset]
            .into_iter()
            .flatten()
            .any(|section| section.value(key).is_some())
    }

    /// Returns the one of `keys` that is there; the user's counts before the preset's, two of one are a problem.
    pub(super) fn one_of(
        &self,
        keys: &[&'static str],
        findings: &mut Findings<'_>,
    ) -> Option<Entry<'d>> {
        for (layer, is_own) in [(&self.own, true), (&self.preset, false)] {
            let Some(section) = layer else { continue };
            let mut found = keys.iter().filter_map(|key| {
                let value = section.value(key)?;
                let place = if is_own {
                    place_of(section, key)
                } else {
                    self.place()
                };
                Some(Entry {
                    key,
                    value: value.get_ref(),
                    place,
                })
            });
            let Some(first) = found.next() else { continue };
            if let Some(second) = found.next() {
                findings.problem(
                    second.place,
                    format!(
                        "`{}` stands beside `{}`",
                        self.path_of(second.key),
                        first.key
                    ),
                    Some(&format!("write one of {}", keys.join(", "))),
                );
            }
            return Some(first);
        }
        None
    }

    /// Returns the value of `key` as `read` takes it.
    pub(super) fn read<T>(
        &self,
        key: &'static str,
        findings: &mut Findings<'_>,
        read: impl FnOnce(&DeValue<'_>) -> Result<T, Wrong>,
    ) -> Option<Given<T>> {
        let entry = self.one_of(&[key], findings)?;
        self.take(entry, findings, read)
    }

    /// Returns a value that only a preset has.
    pub(super) fn of_preset<T>(
        &self,
        key: &'static str,
        findings: &mut Findings<'_>,
        read: impl FnOnce(&DeValue<'_>) -> Result<T, Wrong>,
    ) -> Option<T> {
        let preset_only = Self {
            own: None,
            ..self.clone()
        };
        preset_only
            .read(key, findings, read)
            .map(|given| given.value)
    }

    /// Returns the user's table alone if there is one.
    pub(super) fn without_mixture(mut self) -> Self {
        if self.own.is_some() {
            self.preset = None;
        }
        self
    }

    /// Reads an entry; a value that is refused is a problem.
    pub(super) fn take<T>(
        &self,
        entry: Entry<'_>,
        findings: &mut Findings<'_>,
        read: impl FnOnce(&DeValue<'_>) -> Result<T, Wrong>,
    ) -> Option<Given<T>> {
        match read(entry.value) {
            Ok(value) => Some(Given {
                value,
                place: entry.place,
            }),
            Err(wrong) => {
                findings.problem(
                    entry.place,
                    format!("`{}` {}", self.path_of(entry.key), wrong.message),
                    wrong.hint.as_deref(),
                );
                None
            }
        }
    }

    /// Notes a problem of the table as a whole.
    pub(super) fn missing(&self, key: &str, hint: &str, findings: &mut Findings<'_>) {
        let message = format!("`{}` is missing", self.path_of(key));
        findings.problem(self.place(), message, Some(hint));
    }

    /// Returns all keys with their values: the user's over the preset's, those of the preset first.
    pub(super) fn entries(&self) -> Vec<(String, &'d DeValue<'d>, Place)> {
        let mut all: Vec<(String, &'d DeValue<'d>, Place)> = Vec::new();
        for (layer, is_own) in [(&self.preset, false), (&self.own, true)] {
            let Some(section) = layer else { continue };
            for (key, place) in section.keys() {
                let Some(value) = section.value(key) else {
                    continue;
                };
                let place = if is_own { place } else { self.place() };
                let entry = (key.to_owned(), value.get_ref(), place);
                match all.iter_mut().find(|(known, _, _)| known == key) {
                    Some(known) => *known = entry,
                    None => all.push(entry),
                }
            }
        }
        all
    }

    /// Returns the tables of a list, the user's before the preset's: the first that fits counts.
    pub(super) fn tables(&self, key: &'static str, findings: &mut Findings<'_>) -> Vec<Self> {
        let mut all = Vec::new();
        for (layer, is_own) in [(&self.own, true), (&self.preset, false)] {
            let Some(value) = layer.as_ref().and_then(|section| section.value(key)) else {
                continue;
            };
            let place = if is_own {
                layer.as_ref().and_then(|section| place_of(section, key))
            } else {
                self.place()
            };
            let Some(list) = value.get_ref().as_array() else {
                findings.problem(
                    place,
                    format!("`{}` is no list of tables", self.path_of(key)),
                    Some(&format!(
                        "write `[[{}]]` and its keys below it",
                        self.path_of(key)
                    )),
                );
                continue;
            };
            for (index, entry) in list.iter().enumerate() {
                let name = format!("{}[{index}]", self.path_of(key));
                let place = if is_own {
                    Some(entry.span().start)
                } else {
                    place
                };
                match entry.get_ref().as_table() {
                    Some(table) => all.push(Self::of_one(Section::of(name, place, table))),
                    None => findings.problem(place, format!("`{name}` is no table"), None),
                }
            }
        }
        all
    }

    /// Makes a problem of every key of the user's that is not `known`.
    pub(super) fn refuse_unknown(&self, known: &[&str], findings: &mut Findings<'_>) {
        let Some(own) = &self.own else {
            return;
        };
        own.refuse_unknown(known, findings, |key| {
            closest(key, known).map(|near| format!("did you mean `{near}`?"))
        });
    }
}

fn place_of(section: &Section<'_>, key: &str) -> Place {
    section
        .keys()
        .into_iter()
        .find(|(known, _)| *known == key)
        .and_then(|(_, place)| place)
}
