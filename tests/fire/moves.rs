//! Which version of a row may follow which.

use super::history::Version;

/// The state before (`-`: there was no row) and all that may come after it, in one commit of a run.
const MOVES: [(&str, &[&str]); 8] = [
    ("-", &["in_flight", "done", "held", "skipped"]),
    (
        "in_flight",
        &["in_flight", "in_doubt", "retry", "done", "failed", "held"],
    ),
    (
        "in_doubt",
        &["in_flight", "in_doubt", "retry", "done", "held"],
    ),
    ("retry", &["in_flight", "retry", "done", "held"]),
    ("done", &["done"]),
    ("failed", &["done"]),
    ("held", &["held", "done"]),
    ("skipped", &[]),
];

/// Checks every version of a row against the one before it.
pub(crate) fn check(row: &str, versions: &[Version], broken: &mut Vec<String>) {
    let before = std::iter::once(None).chain(versions.iter().map(Some));
    for (before, after) in before.zip(versions) {
        let mut say = |what: String| {
            broken.push(format!("{row}: {what}, in {}", after.commit));
        };
        if after.row.is_null() {
            say("a row that is no JSON".to_owned());
            continue;
        }
        let (from, to) = (
            before.map_or("-", |before| before.text("state")),
            after.text("state"),
        );
        let legal = MOVES
            .iter()
            .any(|(state, next)| *state == from && next.contains(&to));
        if !legal {
            say(format!("{from} became {to}"));
        }
        if let Some(before) = before {
            pair(before, after, &mut say);
        } else if to == "in_flight" && after.attempt() != 1 {
            say(format!("the first attempt is {}", after.attempt()));
        }
    }
}

fn pair(before: &Version, after: &Version, say: &mut impl FnMut(String)) {
    let (was, is) = (before.attempt(), after.attempt());
    if is < was {
        say(format!("attempt {was} fell to {is}"));
    }
    let is_new_claim = before.text("token") != after.text("token");
    if is_new_claim && (is != was + 1 || after.text("state") != "in_flight") {
        say(format!(
            "a new token in {} with attempt {is} after {was}",
            after.text("state")
        ));
    }
    for receipt in before.receipts().difference(&after.receipts()) {
        say(format!("the receipt {receipt} was lost"));
    }
    let from = before.text("state");
    // Others wait for the quiet point, and then it is a doubt's end; the owner alone knows better.
    if is_new_claim
        && from == "in_flight"
        && before.text("run") != after.text("run")
        && after.text("claimed_at") < before.text("quiet_until")
    {
        say(format!(
            "claimed at {} over a claim that is quiet at {}",
            after.text("claimed_at"),
            before.text("quiet_until")
        ));
    }
    if is_new_claim && ["in_doubt", "in_flight"].contains(&from) {
        for field in ["key", "fingerprint"] {
            if before.text(field) != after.text(field) {
                say(format!("what may have been sent has another {field} now"));
            }
        }
    }
}
