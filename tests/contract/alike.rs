//! The built-in stand-ins against real servers: the same requests, the same answers.
//!
//! Refusals are the same to the word. A success has the fields that the adapters read, of the same kind, and none that
//! the real one hasn't. What differs is listed, each with its reason; a difference that is gone is an error too.

mod bluesky;
mod mastodon;

use std::collections::BTreeMap;
use std::sync::Arc;

use sayonce::clock::{Clock as _, SystemClock};
use sayonce::model::time::Timestamp;
use serde_json::Value;

use super::client::{Answer, Call};
use crate::sandbox::{HandClock, Sleep};

/// One of the two.
struct Side {
    url: String,
    /// What each side calls its own, and what it is called here.
    own: Vec<(String, &'static str)>,
}

/// A request that both get.
struct Step {
    name: &'static str,
    call: Call,
    /// What the adapters read of a success, as JSON pointers.
    read: &'static [&'static str],
}

/// How an answer differs, and why that may be.
type Known = (&'static str, &'static str, &'static str);

impl Side {
    /// An answer's text without what is each side's own.
    fn text(&self, answer: &Answer) -> String {
        let mut text = answer.text.clone();
        for (own, name) in &self.own {
            text = text.replace(own, name);
        }
        text
    }
}

/// How the stand-in's answer differs.
fn differences(real: &Answer, here: &Answer, sides: [&Side; 2], fields: &[&str]) -> Vec<String> {
    if real.status != here.status {
        return vec![format!("{} there, {} here", real.status, here.status)];
    }
    if real.status >= 400 {
        let [there, here] = [sides[0].text(real), sides[1].text(here)];
        if there == here {
            return Vec::new();
        }
        return vec![format!("{there} there, {here} here")];
    }
    let (there, here) = (real.json(), here.json());
    let mut found = Vec::new();
    for pointer in fields {
        for (place, body) in [("there", &there), ("here", &here)] {
            if body.pointer(pointer).is_none() {
                found.push(format!("no {pointer} {place}"));
            }
        }
    }
    let there = shape(&there);
    let kind_there = |path: &str| there.get(path).copied();
    for (path, kind) in shape(&here) {
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        match kind_there(&path) {
            // Said of the parent already, or not to be seen there: null, or a list without elements.
            None if matches!(kind_there(parent), None | Some("null" | "a list")) => {}
            None => found.push(format!("{path} is here alone")),
            Some(other) if other == kind || other == "null" || kind == "null" => {}
            Some(other) => found.push(format!("{path} is {other} there, {kind} here")),
        }
    }
    found
}

/// The kind of every value, by its path; all elements of a list are one, and an empty list has none.
fn shape(value: &Value) -> BTreeMap<String, &'static str> {
    fn walk(value: &Value, path: &str, shape: &mut BTreeMap<String, &'static str>) {
        let kind = match value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(list) => {
                for element in list {
                    walk(element, &format!("{path}/*"), shape);
                }
                "a list"
            }
            Value::Object(fields) => {
                for (name, field) in fields {
                    walk(field, &format!("{path}/{name}"), shape);
                }
                "an object"
            }
        };
        shape.insert(path.to_owned(), kind);
    }
    let mut all = BTreeMap::new();
    walk(value, "", &mut all);
    all
}

/// Sends every step to both, and checks that they differ as is known.
fn check(sides: [&Side; 2], steps: [Vec<Step>; 2], known: &[Known]) -> Vec<[Answer; 2]> {
    let [there, here] = steps;
    let mut answers = Vec::new();
    let mut found = Vec::new();
    for (real, stand_in) in there.into_iter().zip(here) {
        let pair = [real.call.send(), stand_in.call.send()];
        for difference in differences(&pair[0], &pair[1], sides, real.read) {
            found.push(format!("{}: {difference}", real.name));
        }
        answers.push(pair);
    }
    let known: Vec<String> = known
        .iter()
        .map(|(name, difference, reason)| {
            assert!(!reason.is_empty(), "{name}: each has its reason");
            format!("{name}: {difference}")
        })
        .collect();
    assert_eq!(found, known, "{found:#?}");
    answers
}

/// A clock that shows now, and moves when it is told to.
fn clock() -> Arc<HandClock> {
    let now: Timestamp = SystemClock::new().now();
    HandClock::at(&now.to_string(), Sleep::Moves)
}
