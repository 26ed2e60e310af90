//! `[ledger]`: where the record of what was announced is kept.

use std::time::Duration;

use toml::de::DeValue;

use super::document::{Findings, Section, Wrong};
use super::keys::LEDGER_KEYS;
use super::load::place_of_key;
use super::site::value_of;
use super::values::{any_text, duration, text, word};
use super::{LedgerConfig, PushMode};

const DIR_DEFAULT: &str = "ledger";
const REMOTE_DEFAULT: &str = "origin";
const SKIP_CI_DEFAULT: &str = "[skip ci]";
const CLOCK_SKEW_DEFAULT: Duration = Duration::from_mins(2);
/// Machines that keep time are within seconds; every quiet point waits this long.
const CLOCK_SKEW_LONG: Duration = Duration::from_mins(10);
/// Every attempt waits for two pushes.
const PUSH_GAP_LONG: Duration = Duration::from_mins(5);

pub(super) fn read(root: &Section<'_>, findings: &mut Findings<'_>) -> Option<LedgerConfig> {
    if root.value("ledger").is_none() {
        return Some(defaults());
    }
    let section = root.section("ledger", findings)?;
    let dir = section.read("dir", findings, directory);
    let branch = section.read("branch", findings, branch);
    let remote = section.read("remote", findings, remote);
    let push = section.read("push", findings, |value| {
        word(
            value,
            &[
                ("auto", PushMode::Auto),
                ("always", PushMode::Always),
                ("never", PushMode::Never),
            ],
        )
    });
    let clock_skew = section.read("clock_skew", findings, duration);
    let push_gap = section.read("push_gap", findings, |value| match value.as_str() {
        Some("auto") => Ok(None),
        Some(_) | None => duration(value).map(Some),
    });
    let skip_ci = section.read("skip_ci", findings, one_line);
    section.refuse_unknown(&LEDGER_KEYS, findings, place_of_key);
    if let Some(given) = clock_skew
        .as_ref()
        .filter(|given| given.value > CLOCK_SKEW_LONG)
    {
        findings.warning(
            given.place,
            "`ledger.clock_skew` is over 10m: everything in doubt waits that much longer",
        );
    }
    let long_gap = |gap: &Option<Duration>| gap.is_some_and(|gap| gap > PUSH_GAP_LONG);
    if let Some(given) = push_gap.as_ref().filter(|given| long_gap(&given.value)) {
        findings.warning(
            given.place,
            "`ledger.push_gap` is over 5m: nothing is sent before its claim is pushed",
        );
    }
    let defaults = defaults();
    Some(LedgerConfig {
        dir: value_of(dir).unwrap_or(defaults.dir),
        branch: value_of(branch).flatten(),
        remote: value_of(remote).unwrap_or(defaults.remote),
        push: value_of(push).unwrap_or(defaults.push),
        clock_skew: value_of(clock_skew).unwrap_or(defaults.clock_skew),
        push_gap: value_of(push_gap).flatten(),
        skip_ci: value_of(skip_ci).unwrap_or(defaults.skip_ci),
    })
}

fn defaults() -> LedgerConfig {
    LedgerConfig {
        dir: DIR_DEFAULT.to_owned(),
        branch: None,
        remote: REMOTE_DEFAULT.to_owned(),
        push: PushMode::Auto,
        clock_skew: CLOCK_SKEW_DEFAULT,
        push_gap: None,
        skip_ci: SKIP_CI_DEFAULT.to_owned(),
    }
}

/// Rows are read from git trees, so the directory must lie inside the repository whatever the machine.
fn directory(value: &DeValue<'_>) -> Result<String, Wrong> {
    let given = text(value)?;
    let wrong = |message: &str| {
        Err(Wrong::new(
            message,
            "write a directory below the repository's top with `/` between its parts, such as `\"ledger\"`",
        ))
    };
    if given.starts_with('/') || given.contains(':') {
        return wrong("is not a relative path");
    }
    if given.contains('\\') || given.chars().any(char::is_control) {
        return wrong("has a character that paths can't have everywhere");
    }
    let parts: Vec<&str> = given
        .split('/')
        .filter(|part| !matches!(*part, "" | "."))
        .collect();
    if parts.contains(&"..") {
        return wrong("leads out of the repository");
    }
    if parts.iter().any(|part| part.eq_ignore_ascii_case(".git")) {
        return wrong("lies in git's own directory");
    }
    if parts.is_empty() {
        return wrong("is the repository's top itself");
    }
    Ok(parts.join("/"))
}

/// Empty means the checked-out branch.
fn branch(value: &DeValue<'_>) -> Result<Option<String>, Wrong> {
    let name = any_text(value)?;
    if name.is_empty() {
        return Ok(None);
    }
    if name.starts_with("refs/") {
        return Err(Wrong::new(
            "is a ref, not the name of a branch",
            "write the branch's name alone, such as `\"sayonce-ledger\"`",
        ));
    }
    let full = format!("refs/heads/{name}");
    if name.starts_with('-') || !git2::Reference::is_valid_name(&full) {
        return Err(Wrong::new(
            format!("is `{name}`, which git doesn't take as a branch's name"),
            "write a name such as `\"sayonce-ledger\"`, or `\"\"` for the checked-out branch",
        ));
    }
    Ok(Some(name))
}

/// A name that starts with `-` would be an option to git.
fn remote(value: &DeValue<'_>) -> Result<String, Wrong> {
    let name = text(value)?;
    let legal =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/');
    if name.starts_with('-') || !name.bytes().all(legal) {
        return Err(Wrong::new(
            "is not the name of a remote",
            "write a name that `git remote` lists, such as `\"origin\"`",
        ));
    }
    Ok(name)
}

fn one_line(value: &DeValue<'_>) -> Result<String, Wrong> {
    let given = any_text(value)?;
    if given.chars().any(char::is_control) {
        return Err(Wrong::new(
            "has more than one line",
            "it ends the subject of a commit: write a short mark such as `\"[skip ci]\"`",
        ));
    }
    Ok(given)
}
