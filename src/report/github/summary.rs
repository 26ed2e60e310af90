//! The step summary: Markdown that GitHub shows below the job, newest article first.
//!
//! Invariant: no text that others wrote is Markdown or HTML here, and the page stays below the limit given.

use url::Url;

use crate::error::Failure;
use crate::exit::Exit;
use crate::model::delivery::State;
use crate::plan::outlook::Outlook;
use crate::report::digest::{Digest, NextRun, Shown};
use crate::report::human::{counts, number};
use crate::report::notices::{clock_time, due_words, evidence_words, state_words};

/// A sentence or post that is longer is cut: the report has it whole.
const TEXT_CHARS_MAX: usize = 2_000;
/// What stays free for the lines that say how much was left out.
const RESERVE_BYTES: usize = 2_048;
/// Left out altogether if there is less room than this.
const PAGE_BYTES_MIN: usize = 4_096;

/// What a summary is made from.
#[derive(Debug)]
pub(super) struct Facts<'a> {
    /// The command's word.
    pub(super) word: &'a str,
    /// How it ended, whatever counts as a failure.
    pub(super) exit: Exit,
    /// Whether that exit code counts as a success here.
    pub(super) passes: bool,
    /// What it found.
    pub(super) digest: Option<&'a Digest>,
    /// Why it could not do its work.
    pub(super) failure: Option<&'a Failure>,
    /// What is waited for.
    pub(super) waiting: Option<&'a str>,
    /// What it printed, for commands that find nothing.
    pub(super) told: &'a str,
    /// The outputs that would be too long, and are empty.
    pub(super) cut: &'a [&'a str],
}

/// Writes a page of at most `limit` bytes; empty if that is too little for any.
pub(super) fn summary(facts: &Facts<'_>, limit: usize) -> String {
    if limit < PAGE_BYTES_MIN {
        return String::new();
    }
    let mut page = Page {
        text: String::new(),
        limit,
    };
    let shown = facts.digest.map(|digest| digest.shown);
    page.put(&format!(
        "### sayonce {}: {}\n\n",
        facts.word,
        verdict(facts.exit, shown)
    ));
    if facts.passes {
        page.put(&format!(
            "It ended with exit code {}, which counts as a success here.\n\n",
            facts.exit.code()
        ));
    }
    if let Some(digest) = facts.digest {
        page.put(&format!(
            "{}\n\n",
            counts(&digest.deliveries, digest.out_of_scope)
        ));
    }
    if let Some(waiting) = facts.waiting {
        page.put(&format!("{}\n\n", paragraph(waiting)));
    }
    if let (None, Some(NextRun::Nobody(sentence))) =
        (facts.waiting, facts.digest.map(|digest| &digest.next_run))
    {
        page.put(&format!("{}\n\n", paragraph(sentence)));
    }
    if let Some(failure) = facts.failure {
        let causes = failure
            .error
            .chain()
            .map(|cause| escaped(&cause.to_string()));
        let hints = failure
            .hints
            .iter()
            .map(|hint| format!("hint: {}", escaped(hint)));
        page.list("What went wrong", causes.chain(hints));
    }
    match facts.digest {
        Some(digest) => put_digest(&mut page, digest),
        None if !facts.told.trim().is_empty() => {
            let lines = facts.told.lines().filter(|line| !line.trim().is_empty());
            page.list("What it did", lines.map(escaped));
        }
        None => {}
    }
    if !facts.cut.is_empty() {
        page.put(&format!(
            "\n*Too long for an output, and empty there: {}. The report, which the output `report` names, has all.*\n",
            facts.cut.join(", ")
        ));
    }
    // What is appended next begins its own paragraph.
    page.put("\n");
    page.text
}

fn put_digest(page: &mut Page, digest: &Digest) {
    let sentences = |all: &[String]| all.iter().map(|text| escaped(text)).collect::<Vec<_>>();
    let waits: Vec<_> = digest
        .lines()
        .into_iter()
        .filter(|delivery| {
            matches!(
                delivery.weight(),
                Exit::Refused | Exit::NeedsPerson | Exit::Ledger
            )
        })
        .collect();
    let any_command = waits
        .iter()
        .any(|delivery| !digest.remedies(delivery).is_empty());
    page.list(
        "Needs you",
        waits.into_iter().map(|delivery| needs(delivery, digest)),
    );
    if any_command {
        page.put("One of these lines goes into the `command` input of a manual run of this workflow.\n\n");
    }
    page.list("Problems", sentences(&digest.problems).into_iter());
    page.list("Alarms", sentences(&digest.alarms).into_iter());
    page.list("Notes", sentences(&digest.notices).into_iter());
    let lines = digest.lines();
    if lines.is_empty() {
        return;
    }
    let last = match digest.shown {
        Shown::Unsettled => "text",
        Shown::All | Shown::ThisRun | Shown::Rehearsed => "what is known",
    };
    page.put(&format!(
        "| article | channel | state | {last} |\n| --- | --- | --- | --- |\n"
    ));
    page.rows(lines.into_iter().map(|delivery| row(delivery, digest)));
}

/// Says how it ended, as a heading does.
fn verdict(exit: Exit, shown: Option<Shown>) -> &'static str {
    match (exit, shown) {
        (Exit::Proved, Some(Shown::ThisRun)) => "everything due is proved",
        (Exit::Proved, Some(Shown::Unsettled)) => "what would be sent",
        (Exit::Proved, Some(Shown::All)) => "where everything stands",
        (Exit::Proved, Some(Shown::Rehearsed)) => "everything would be posted once",
        (Exit::Proved, None) => "done",
        (Exit::Internal, _) => "a fault of the program",
        (Exit::Usage, _) => "the command, the configuration, or a source is wrong",
        (Exit::Ledger, _) => "the ledger can't be read or made durable",
        (Exit::Refused, _) => "something was refused",
        (Exit::NeedsPerson, _) => "something needs you",
        (Exit::WorkRemains, _) => "work remains for the next run",
    }
}

fn needs(delivery: &Outlook, digest: &Digest) -> String {
    let mut text = format!(
        "{} on {}: {}",
        heading(delivery, digest),
        escaped(delivery.id.channel.as_str()),
        escaped(&state_words(
            delivery.operation,
            delivery.state,
            delivery.due_at,
            digest.timezone
        ))
    );
    if let Some(reason) = &delivery.reason {
        text = format!("{text}: {}", escaped(reason));
    }
    for command in digest.remedies(delivery) {
        text = format!("{text}\n  - {}", code(&command));
    }
    text
}

fn row(delivery: &Outlook, digest: &Digest) -> String {
    format!(
        "| {}<br>{} | {} | {} | {} |\n",
        heading(delivery, digest),
        escaped(delivery.id.item.as_str()),
        escaped(delivery.id.channel.as_str()),
        escaped(&state_words(
            delivery.operation,
            delivery.state,
            delivery.due_at,
            digest.timezone
        )),
        last_cell(delivery, digest)
    )
}

fn last_cell(delivery: &Outlook, digest: &Digest) -> String {
    let mut parts = Vec::new();
    if let (Shown::Unsettled, Some(text)) = (digest.shown, &delivery.text) {
        let lines: Vec<_> = clipped(text).lines().map(escaped).collect();
        parts.push(lines.join("<br>"));
        if let (Some(length), Some(limit)) = (delivery.length, delivery.limit) {
            parts.push(format!("({length} of {limit})"));
        }
    }
    if let Some(evidence) = delivery.evidence {
        parts.push(escaped(evidence_words(
            delivery.operation,
            evidence,
            delivery.remote.as_ref(),
        )));
    }
    let remote = delivery.remote.as_ref();
    parts.extend(remote.and_then(|remote| remote.url.as_deref()).map(link));
    if delivery.state != Some(State::Done) {
        parts.extend(delivery.reason.as_deref().map(escaped));
    }
    parts.join("<br>")
}

fn heading(delivery: &Outlook, digest: &Digest) -> String {
    let title = digest.titles.get(&delivery.id.item);
    let title = title
        .map(String::as_str)
        .filter(|title| !title.trim().is_empty());
    format!(
        "**{}**",
        escaped(title.unwrap_or(delivery.id.item.as_str()))
    )
}

/// Says when, and that nothing needs doing, in the words of the one warning of exit code 6.
pub(super) fn waiting(digest: &Digest) -> String {
    let left: Vec<_> = digest
        .deliveries
        .iter()
        .filter(|delivery| delivery.weight() == Exit::WorkRemains)
        .collect();
    let mut text = format!(
        "{} left for the next run",
        number(left.len(), "delivery is", "deliveries are")
    );
    if let Some(next) = &digest.next_due {
        let first = left
            .iter()
            .find(|delivery| delivery.id.to_string() == next.what);
        let reason = first.and_then(|delivery| delivery.reason.as_deref());
        text = format!(
            "{text}: {} is due {}",
            next.what,
            due_words(next, digest.timezone)
        );
        if let Some(reason) = reason.filter(|reason| !reason.starts_with("due ")) {
            text = format!("{text} ({reason})");
        }
    }
    let end = match &digest.next_run {
        NextRun::At(at) => format!(
            "The next run is scheduled for {} and continues: nothing needs doing.",
            clock_time(*at, digest.timezone)
        ),
        NextRun::Scheduled | NextRun::Unknown => {
            "The next run continues: nothing needs doing.".to_owned()
        }
        NextRun::Nobody(sentence) => sentence.clone(),
    };
    format!("{text}. {end}")
}

/// A page that knows how much room is left.
struct Page {
    text: String,
    limit: usize,
}

impl Page {
    fn put(&mut self, text: &str) -> bool {
        let fits = self.text.len() + text.len() + RESERVE_BYTES <= self.limit;
        if fits {
            self.text.push_str(text);
        }
        fits
    }

    /// Puts a heading and a list, if there is anything in it.
    fn list(&mut self, heading: &str, entries: impl Iterator<Item = String>) {
        let entries: Vec<_> = entries.collect();
        if entries.is_empty() || !self.put(&format!("#### {heading}\n\n")) {
            return;
        }
        self.rows(entries.into_iter().map(|entry| format!("- {entry}\n")));
        self.put("\n");
    }

    /// Puts as many rows as fit, and says how many don't.
    fn rows(&mut self, rows: impl Iterator<Item = String>) {
        let mut left_out = 0;
        for row in rows {
            if left_out > 0 || !self.put(&row) {
                left_out += 1;
            }
        }
        if left_out > 0 {
            let words = number(left_out, "more row is", "more rows are");
            // There is room for this: every row left it.
            let line = format!("\n*{words} left out here; the report has all.*\n\n");
            self.text.push_str(&line);
        }
    }
}

/// Writes a text that others wrote so that neither Markdown nor HTML is in it, on one line.
fn escaped(text: &str) -> String {
    let mut written = String::new();
    for letter in clipped(text).chars() {
        match letter {
            '&' => written.push_str("&amp;"),
            '<' => written.push_str("&lt;"),
            '>' => written.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '(' | ')' | '|' | '~' | '#' | '!' | '$' | '{'
            | '}' => {
                written.push('\\');
                written.push(letter);
            }
            letter if letter.is_control() => written.push(' '),
            // These turn the direction of what follows.
            '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => {}
            letter => written.push(letter),
        }
    }
    written.trim().to_owned()
}

/// A sentence of several lines: the lines stay.
fn paragraph(text: &str) -> String {
    let lines: Vec<_> = text
        .lines()
        .map(|line| {
            let indent = line.len() - line.trim_start().len();
            format!("{}{}", "&nbsp;".repeat(indent), escaped(line))
        })
        .collect();
    lines.join("<br>\n")
}

fn clipped(text: &str) -> String {
    let mut letters = text.chars();
    let mut cut: String = letters.by_ref().take(TEXT_CHARS_MAX).collect();
    if letters.next().is_some() {
        cut.push('…');
    }
    cut
}

/// Writes a text between as many backticks as it needs.
fn code(text: &str) -> String {
    let text: String = clipped(text)
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect();
    let longest = text.split(|letter| letter != '`').map(str::len).max();
    let fence = "`".repeat(longest.unwrap_or(0) + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// Writes an address as a link, if it is one of the web.
fn link(address: &str) -> String {
    let url = Url::parse(address).ok();
    let Some(url) = url.filter(|url| matches!(url.scheme(), "http" | "https")) else {
        return escaped(address);
    };
    let target = url
        .as_str()
        .replace('<', "%3C")
        .replace('>', "%3E")
        .replace('|', "%7C")
        .replace('\\', "%5C");
    format!("[{}](<{target}>)", escaped(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_others_are_neither_markdown_nor_html() {
        let check = |text: &str, expected: &str| assert_eq!(escaped(text), expected);
        check(
            "<script>alert(1)</script>",
            "&lt;script&gt;alert\\(1\\)&lt;/script&gt;",
        );
        check("a | b\n# c", "a \\| b \\# c");
        check(
            "[x](javascript:y) ![z](w)",
            "\\[x\\]\\(javascript:y\\) \\!\\[z\\]\\(w\\)",
        );
        check(
            "`rm` **now** &copy; $x$ ~~y~~ _z_",
            "\\`rm\\` \\*\\*now\\*\\* &amp;copy; \\$x\\$ \\~\\~y\\~\\~ \\_z\\_",
        );
        check("a\u{202E}b\u{0}c", "ab c");
        assert_eq!(
            escaped(&"x".repeat(3_000)).chars().count(),
            TEXT_CHARS_MAX + 1
        );
    }

    #[test]
    fn code_and_links_hold_what_they_are_given() {
        assert_eq!(code("retry a b"), "`retry a b`");
        assert_eq!(code("a ``b`"), "``` a ``b` ```");
        assert_eq!(
            link("https://blog.example/a?b=c|d>e"),
            "[https://blog.example/a?b=c\\|d&gt;e](<https://blog.example/a?b=c%7Cd%3Ee>)"
        );
        assert_eq!(link("javascript:alert(1)"), "javascript:alert\\(1\\)");
    }

    #[test]
    fn a_page_is_cut_where_it_must_be_and_says_so() {
        let told: Vec<_> = (0..50_000)
            .map(|number| format!("article {number} <b>"))
            .collect();
        let told = told.join("\n");
        let facts = Facts {
            word: "retry",
            exit: Exit::Proved,
            passes: false,
            digest: None,
            failure: None,
            waiting: None,
            told: &told,
            cut: &[],
        };
        for limit in [PAGE_BYTES_MIN, 10_000, 1_000_000] {
            let page = summary(&facts, limit);
            assert!(page.len() <= limit, "{} > {limit}", page.len());
            let shown = page.matches("\n- article ").count();
            let words = format!(
                "*{} more rows are left out here; the report has all.*",
                50_000 - shown
            );
            assert!(page.contains(&words), "{words}: {page}");
        }
        assert_eq!(summary(&facts, 100), "");
    }
}
