//! Inputs that are almost right: seeds that were cut, doubled, spliced, and given what readers trip over.

use std::fmt;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// What readers trip over.
const TOKENS: [&str; 44] = [
    "\u{0}",
    "\u{1}",
    "\u{7}",
    "\u{1b}[31m",
    "\u{1e}",
    "\u{7f}",
    "\u{85}",
    "\u{2028}",
    "\u{202e}",
    "\u{feff}",
    "\n",
    "\r",
    "\t",
    "\\u0007",
    "\\n",
    "&#7;",
    "&#10;",
    "&#x9b;",
    "%00",
    "%0a",
    "%2e%2e/",
    "../",
    "//",
    "con",
    ".json",
    "é",
    "👩‍👩‍👧",
    "\\ud800",
    "null",
    "true",
    "0",
    "-1",
    "1.5",
    "1e999",
    "18446744073709551616",
    "9999-12-31T23:59:59-23:59",
    "0000-01-01T00:00:00+23:59",
    "s3cret-value",
    "Bearer s3cret-value",
    "<![CDATA[",
    "]]>",
    "{",
    "[",
    "\"",
];

/// An input, shown as text where it breaks a rule.
#[derive(Clone)]
pub(crate) struct Input(pub(crate) Vec<u8>);

impl fmt::Debug for Input {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "b\"{}\"", self.0.escape_ascii())
    }
}

#[derive(Clone, Debug)]
enum Mutation {
    /// One byte becomes another.
    Set(Index, u8),
    /// A piece goes.
    Cut(Index, usize),
    /// A piece stands there twice.
    Double(Index, usize),
    /// Everything from here on goes.
    End(Index),
    /// What readers trip over is put in.
    Put(Index, &'static str),
    /// The same, in place of a word: numbers, times, and names become others.
    Replace(Index, &'static str),
    /// The rest becomes another seed's.
    Splice(Index, Index, Index),
}

/// Mutations of `seeds`, a few at once.
pub(crate) fn mutations(seeds: Vec<Vec<u8>>) -> impl Strategy<Value = Input> {
    let place = any::<Index>;
    let mutation = prop_oneof![
        2 => (place(), any::<u8>()).prop_map(|(at, byte)| Mutation::Set(at, byte)),
        1 => (place(), 1..40_usize).prop_map(|(at, length)| Mutation::Cut(at, length)),
        1 => (place(), 1..200_usize).prop_map(|(at, length)| Mutation::Double(at, length)),
        1 => place().prop_map(Mutation::End),
        3 => (place(), select(&TOKENS[..])).prop_map(|(at, token)| Mutation::Put(at, token)),
        6 => (place(), select(&TOKENS[..])).prop_map(|(at, token)| Mutation::Replace(at, token)),
        1 => (place(), place(), place()).prop_map(|(at, seed, from)| Mutation::Splice(at, seed, from)),
    ];
    (select(seeds.clone()), vec(mutation, 1..4)).prop_map(move |(seed, mutations)| {
        let mutated = mutations
            .iter()
            .fold(seed, |bytes, mutation| mutation.apply(bytes, &seeds));
        Input(mutated)
    })
}

impl Mutation {
    fn apply(&self, mut bytes: Vec<u8>, seeds: &[Vec<u8>]) -> Vec<u8> {
        let place = |at: &Index| at.index(bytes.len() + 1);
        match self {
            Self::Set(at, byte) => {
                let at = place(at);
                if let Some(place) = bytes.get_mut(at) {
                    *place = *byte;
                }
            }
            Self::Cut(at, length) => {
                let at = place(at);
                bytes.drain(at..bytes.len().min(at + length));
            }
            Self::Double(at, length) => {
                let at = place(at);
                let piece = bytes[at..bytes.len().min(at + length)].to_vec();
                bytes.splice(at..at, piece);
            }
            Self::End(at) => {
                let at = place(at);
                bytes.truncate(at);
            }
            Self::Put(at, token) => {
                let at = place(at);
                bytes.splice(at..at, token.bytes());
            }
            Self::Replace(at, token) => {
                let at = place(at);
                let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"-:.+_/".contains(byte);
                let before = bytes[..at]
                    .iter()
                    .rev()
                    .take_while(|byte| is_word(byte))
                    .count();
                let after = bytes[at..].iter().take_while(|byte| is_word(byte)).count();
                bytes.splice(at - before..at + after, token.bytes());
            }
            Self::Splice(at, seed, from) => {
                let at = place(at);
                let other = &seeds[seed.index(seeds.len())];
                let from = from.index(other.len() + 1);
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
        }
        bytes
    }
}
