//! The step's outputs: counts, and what was found as JSON, as far as an environment variable can carry it.

use serde_json::{Value, json};

use crate::engine::ending::Summary;
use crate::report::digest::Digest;

use super::Ended;

/// An output is handed over in an environment variable at last. Linux takes 128 KiB for one, its name included.
const BYTES_MAX: usize = 120 * 1_024;

/// The outputs of a step, but for the path of its report.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Outputs {
    /// By name, in the order in which they are written.
    pub(super) values: Vec<(&'static str, String)>,
    /// The lists that would be too long; they are empty.
    pub(super) cut: Vec<&'static str>,
}

impl Outputs {
    /// Takes them from how a command ended.
    pub(super) fn of(ended: &Ended<'_>) -> Self {
        let deliveries = ended.digest.map(|digest| deliveries(&digest.report));
        let urls = ended.digest.map(Digest::urls);
        let mut outputs = Self {
            values: vec![("exit-code", ended.exit.code().to_string())],
            cut: Vec::new(),
        };
        outputs.values.extend(counted(ended.digest));
        outputs.put_list("deliveries", &json!(deliveries.unwrap_or_default()));
        outputs.put_list("urls", &json!(urls.unwrap_or_default()));
        outputs.values.push(("cut", outputs.cut.join(" ")));
        let others = ended.digest.map(|digest| digest.outputs.clone());
        outputs.values.extend(others.unwrap_or_default());
        outputs
    }

    /// A list that is cut short would pass for a whole one, so that what is too long is empty, and named.
    fn put_list(&mut self, name: &'static str, list: &Value) {
        let mut text = list.to_string();
        if text.len() > BYTES_MAX {
            "[]".clone_into(&mut text);
            self.cut.push(name);
        }
        self.values.push((name, text));
    }
}

fn counted(digest: Option<&Digest>) -> Vec<(&'static str, String)> {
    let summary = digest.map(Digest::summary);
    let count = |of: fn(&Summary) -> usize| {
        summary
            .as_ref()
            .map_or_else(String::new, |summary| of(summary).to_string())
    };
    let next_due = digest.and_then(|digest| digest.next_due.as_ref());
    vec![
        (
            "settled",
            digest.map_or_else(String::new, |digest| digest.settled().to_string()),
        ),
        ("done", count(|summary| summary.done)),
        ("failed", count(|summary| summary.failed)),
        ("held", count(|summary| summary.held)),
        ("in-doubt", count(|summary| summary.in_doubt)),
        ("retry", count(|summary| summary.retry)),
        ("pending", count(|summary| summary.pending)),
        ("skipped", count(|summary| summary.skipped)),
        ("busy", count(|summary| summary.busy)),
        (
            "next-due",
            next_due.map_or_else(String::new, |next| next.at.to_string()),
        ),
    ]
}

fn deliveries(report: &str) -> Vec<Value> {
    let report: Value = serde_json::from_str(report).unwrap_or_default();
    report["deliveries"].as_array().cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_whole_or_empty_and_named() {
        let check = |length: usize| {
            let mut outputs = Outputs {
                values: Vec::new(),
                cut: Vec::new(),
            };
            outputs.put_list("urls", &json!(["x".repeat(length)]));
            let (name, value) = outputs.values.remove(0);
            (name, value.len(), outputs.cut)
        };
        // Four bytes are the brackets and the quotation marks.
        assert_eq!(check(BYTES_MAX - 4), ("urls", BYTES_MAX, vec![]));
        assert_eq!(check(BYTES_MAX - 3), ("urls", 2, vec!["urls"]));
    }
}
