//! Stamps release builds with their commit, for `--version`.
//!
//! Invariant: nothing of the machine or of the time of the build goes in, so that the same commit gives the same
//! binary. Debug builds are of no commit: their work tree is mostly ahead of it, and a stamp would rebuild all of it
//! after each commit.

use std::env;
use std::path::Path;
use std::process::Command;

#[expect(clippy::disallowed_methods, reason = "the build, not the program")]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=SOURCE_DATE_EPOCH");
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let stamp = if is_release { stamp() } else { None };
    let long = stamp.map_or_else(|| version.clone(), |stamp| format!("{version} ({stamp})"));
    println!("cargo::rustc-env=SAYONCE_LONG_VERSION={long}");
}

/// Returns the commit and its day.
#[expect(clippy::disallowed_methods, reason = "the build, not the program")]
fn stamp() -> Option<String> {
    let top = env::var("CARGO_MANIFEST_DIR").ok()?;
    let top = Path::new(&top);
    let (commit, day) = of_checkout(top).or_else(|| Some((of_package(top)?, String::new())))?;
    let day = ordered_day().unwrap_or(day);
    Some(format!("{commit} {day}").trim_end().to_owned())
}

/// A checkout of this repository; one that merely contains this package is of another project.
fn of_checkout(top: &Path) -> Option<(String, String)> {
    let found = git(top, &["rev-parse", "--show-toplevel"])?;
    if Path::new(&found).canonicalize().ok()? != top.canonicalize().ok()? {
        return None;
    }
    for watched in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(top, &["rev-parse", "--git-path", watched]) {
            println!("cargo::rerun-if-changed={}", top.join(path).display());
        }
    }
    let shown = git(
        top,
        &[
            "log",
            "-1",
            "--abbrev=7",
            "--date=format:%Y-%m-%d",
            "--format=%h %cd",
        ],
    )?;
    let (commit, day) = shown.split_once(' ')?;
    Some((commit.to_owned(), day.to_owned()))
}

/// A package from a registry names its commit in a file that cargo wrote.
fn of_package(top: &Path) -> Option<String> {
    let text = std::fs::read_to_string(top.join(".cargo_vcs_info.json")).ok()?;
    let (_, rest) = text.split_once("\"sha1\"")?;
    let hash = rest.split('"').nth(1)?;
    let is_hash = hash.len() == 40 && hash.chars().all(|letter| letter.is_ascii_hexdigit());
    is_hash.then(|| hash.chars().take(7).collect())
}

/// The day that a packager asks for.
#[expect(clippy::disallowed_methods, reason = "the build, not the program")]
fn ordered_day() -> Option<String> {
    let seconds: u64 = env::var("SOURCE_DATE_EPOCH").ok()?.parse().ok()?;
    Some(day_of(seconds / 86_400))
}

/// Writes a day after 1970-01-01 as a date; years begin in March here, so that the leap day is the last of one.
fn day_of(days: u64) -> String {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, carried) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    let year = era * 400 + year_of_era + carried;
    format!("{year:04}-{month:02}-{day:02}")
}

#[expect(clippy::disallowed_methods, reason = "the build, not the program")]
fn git(top: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .arg("-C")
        .arg(top)
        .args(arguments)
        .env("TZ", "UTC")
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
