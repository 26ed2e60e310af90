//! The end of a rehearsal: the posts as they would look, what proves them, and the log to read.

use std::fmt::Write as _;
use std::path::Path;

use chrono_tz::Tz;

use crate::engine::ending::Ending;
use crate::git::scratch::Logged;
use crate::model::delivery::State;
use crate::model::time::Timestamp;
use crate::plan::outlook::{Outlook, Standing};
use crate::sandbox::SandboxPost;

use super::human::{self, Titles};
use super::json::RehearsalReport;

/// Commits shown of the log; the newest, because they tell how it ended.
const LOG_LINES_MAX: usize = 30;

/// What a rehearsal came to.
#[derive(Debug)]
pub struct Facts<'a> {
    /// How the run ended.
    pub ending: &'a Ending,
    /// Headings.
    pub titles: &'a Titles,
    /// For times.
    pub timezone: Tz,
    /// When it began.
    pub began_at: Timestamp,
    /// What the stand-ins hold.
    pub posts: &'a [SandboxPost],
    /// What they counted.
    pub counted: &'a RehearsalReport,
    /// The scratch ledger's log.
    pub log: &'a [Logged],
    /// Where the scratch repository is, if it was kept.
    pub kept: Option<&'a Path>,
    /// The ledger's branch.
    pub branch: &'a str,
}

/// Writes the end of a rehearsal.
pub fn text(facts: &Facts<'_>) -> String {
    let mut text = String::from("\nThe posts as they would look:\n\n");
    for post in facts.posts {
        let times = match post.times {
            1 => String::new(),
            times => format!(" ({times} times, which is harmless)"),
        };
        let draft = if post.draft { " (draft)" } else { "" };
        put(
            &mut text,
            format_args!("  {}{draft}{times}\n", post.channel),
        );
        for line in post.title_or_text.lines() {
            put(&mut text, format_args!("  | {line}\n"));
        }
        for alt in &post.pictures {
            put(&mut text, format_args!("  | [picture: {alt}]\n"));
        }
        text.push('\n');
    }
    text.push_str("What the ledger says:\n\n");
    text.push_str(&human::ending(
        facts.ending,
        facts.titles,
        facts.timezone,
        facts.began_at,
    ));
    put(
        &mut text,
        format_args!(
            "The stand-ins counted {}, {} missing and {} posted twice.\n",
            human::number(
                facts.counted.posts.iter().map(|count| count.count).sum(),
                "post",
                "posts"
            ),
            facts.counted.missing,
            facts.counted.duplicates
        ),
    );
    let deliveries = &facts.ending.deliveries;
    let is_left = |delivery: &Outlook| {
        delivery.standing == Standing::KeptBack || delivery.state == Some(State::Skipped)
    };
    if !deliveries.is_empty() && deliveries.iter().all(is_left) {
        text.push_str(
            "Nothing was played. `sayonce rehearse --item ARTICLE` plays an article whatever the baseline and the flood \
             guards say.\n",
        );
    }
    put_log(&mut text, facts);
    text
}

fn put_log(text: &mut String, facts: &Facts<'_>) {
    text.push_str("\nWhat was sent, when, and what proves it, as `git log` tells it:\n\n");
    let left_out = facts.log.len().saturating_sub(LOG_LINES_MAX);
    if left_out > 0 {
        put(text, format_args!("  ... {left_out} earlier commits\n"));
    }
    for commit in facts.log.iter().skip(left_out) {
        let time = commit
            .at
            .to_chrono()
            .with_timezone(&facts.timezone)
            .format("%H:%M:%S");
        put(
            text,
            format_args!("  {} {time} {}\n", commit.id, commit.subject),
        );
    }
    match facts.kept {
        Some(kept) => put(
            text,
            format_args!(
                "\nThe scratch repository is kept: git -C {} log -p {}\n",
                kept.display(),
                facts.branch
            ),
        ),
        None => text.push_str(
            "\nThis was a rehearsal: nothing left this machine. --keep DIR keeps the repository.\n",
        ),
    }
}

fn put(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments)
        .expect("writing to a string can't fail");
}
