//! The answer of `audit`, for people and as JSON.

use std::fmt::Write as _;

use chrono_tz::Tz;
use serde::Serialize;

use crate::engine::ending::Summary;
use crate::exit::Exit;
use crate::model::ids::ChannelName;
use crate::model::outcome::Remote;
use crate::model::row::DeliveryId;
use crate::model::time::{Timestamp, duration_text};
use crate::plan::audit::{Audit, Finding, Open};
use crate::plan::outlook::Outlook;
use crate::plan::read_back::ReadBack;

use super::human::{counts, number};
use super::json::{self, DeliveryReport, LedgerReport, Posts, SummaryReport};
use super::notices::{clock_time, state_words};

/// Everything that an audit has to say.
#[derive(Debug)]
pub struct Report<'a> {
    /// Every delivery.
    pub deliveries: &'a [Outlook],
    /// What was found.
    pub audit: &'a Audit,
    /// What the accounts' own lists said, if they were asked.
    pub looked: Option<&'a [Looked]>,
    /// Channels that the configuration switches off: no delivery on them is asked about.
    pub switched_off: &'a [ChannelName],
    /// How many articles are out of scope.
    pub out_of_scope: usize,
    /// For times.
    pub timezone: Tz,
    /// The present.
    pub now: Timestamp,
}

/// What came of asking one account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Looked {
    /// Its list was read.
    Read {
        /// The channel.
        channel: ChannelName,
        /// What it says.
        result: ReadBack,
    },
    /// It could not be read.
    Unread {
        /// The channel.
        channel: ChannelName,
        /// How many posts could not be checked.
        count: usize,
        /// Why.
        reason: String,
    },
}

/// Writes to a string, which can't fail.
macro_rules! put {
    ($text:expr, $($arguments:tt)*) => {
        write!($text, $($arguments)*).expect("writing to a string can't fail")
    };
}

/// Writes the answer for people.
pub fn text(report: &Report<'_>) -> String {
    let mut text = String::new();
    for finding in &report.audit.findings {
        let due_at = report
            .deliveries
            .iter()
            .find(|delivery| delivery.id == finding.id)
            .map(|delivery| (delivery.operation, delivery.state, delivery.due_at));
        let words = match (finding.open, due_at) {
            (Open::Waiting, Some((operation, state, due_at))) => {
                state_words(operation, state, due_at, report.timezone)
            }
            (Open::Hole | Open::Waiting, _) => "due and not sent".to_owned(),
            (Open::Stuck, _) => "stuck, nobody knows whether it was sent".to_owned(),
            (Open::Held, _) => "needs you".to_owned(),
            (Open::Failed, _) => "refused".to_owned(),
            (Open::Unreadable, _) => "its row can't be read".to_owned(),
            (Open::SwitchedOff, _) => "not announced while the site is switched off".to_owned(),
        };
        put!(text, "{}: {words}", finding.id);
        if let Some(since) = finding.since {
            put!(
                text,
                ", since {} ({})",
                clock_time(since, report.timezone),
                duration_text(report.now.since(since))
            );
        }
        text.push('\n');
        if let Some(reason) = &finding.reason {
            put!(text, "  {reason}\n");
        }
        for way in &finding.ways {
            put!(text, "  {}\n", way.line());
        }
    }
    if !report.audit.findings.is_empty() {
        text.push('\n');
    }
    for channel in report.switched_off {
        put!(
            text,
            "{channel}: switched off (`enabled = false`), so nothing is asked about it\n"
        );
    }
    for looked in report.looked.unwrap_or_default() {
        put_looked(&mut text, looked);
    }
    for problem in &report.audit.problems {
        put!(text, "problem: {problem}\n");
    }
    for alarm in &report.audit.alarms {
        put!(text, "alarm: {alarm}\n");
    }
    put!(
        text,
        "{}\n{}\n",
        counts(report.deliveries, report.out_of_scope),
        verdict(report.audit)
    );
    text
}

fn put_looked(text: &mut String, looked: &Looked) {
    match looked {
        Looked::Unread {
            channel,
            count,
            reason,
        } => put!(
            text,
            "{channel}: {} could not be checked: {reason}\n",
            number(*count, "post", "posts")
        ),
        Looked::Read { channel, result } => {
            put!(
                text,
                "{channel}: {} still there\n",
                number(result.there.len(), "post is", "posts are")
            );
            for (ids, why) in [
                (&result.too_old, "older than the account's list reaches"),
                (&result.of_another_account, "posted by another account"),
            ] {
                if ids.is_empty() {
                    continue;
                }
                let items: Vec<_> = ids.iter().map(|id| id.item.as_str()).collect();
                put!(
                    text,
                    "{channel}: {} could not be checked, {why}: {}\n",
                    number(ids.len(), "post", "posts"),
                    items.join(", ")
                );
            }
        }
    }
}

/// Writes the answer in one line.
fn verdict(audit: &Audit) -> String {
    if audit.exit == Exit::Proved {
        return "Proved: every article is posted on every channel, or not to be announced there."
            .to_owned();
    }
    let counted = Open::ALL.into_iter().filter_map(|open| {
        let count = audit
            .findings
            .iter()
            .filter(|finding| finding.open == open)
            .count();
        let words = match open {
            Open::Hole => "due and not sent",
            Open::Stuck => "stuck",
            Open::Held => "held for you",
            Open::Failed => "refused",
            Open::Unreadable => "not to be read",
            Open::Waiting => "waiting",
            Open::SwitchedOff => "switched off",
        };
        (count > 0).then(|| format!("{count} {words}"))
    });
    let more = [
        (audit.problems.len(), "problem", "problems"),
        (audit.alarms.len(), "alarm", "alarms"),
    ];
    let more = more
        .into_iter()
        .filter(|(count, _, _)| *count > 0)
        .map(|(count, one, many)| number(count, one, many));
    let parts: Vec<_> = counted.chain(more).collect();
    let is_off = |finding: &Finding| finding.open == Open::SwitchedOff;
    let comfort = match audit.exit {
        Exit::WorkRemains if audit.findings.iter().all(is_off) => {
            " `site.enabled = true` lets the next run announce."
        }
        Exit::WorkRemains => " Nothing needs doing; the next run continues.",
        Exit::Proved
        | Exit::Internal
        | Exit::Usage
        | Exit::Ledger
        | Exit::Refused
        | Exit::NeedsPerson => "",
    };
    format!("Not proved: {}.{comfort}", parts.join(", "))
}

#[derive(Debug, Serialize)]
struct AuditReport<'a> {
    schema: u32,
    deliveries: Vec<DeliveryReport>,
    summary: SummaryReport,
    proved: bool,
    holes: Vec<FindingReport<'a>>,
    findings: Vec<FindingReport<'a>>,
    alarms: &'a [String],
    problems: &'a [String],
    out_of_scope: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    switched_off: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remote: Option<Vec<LookedReport<'a>>>,
    ledger: LedgerReport,
    exit: u8,
}

#[derive(Debug, Serialize)]
struct FindingReport<'a> {
    item: &'a str,
    channel: &'a str,
    open: &'static str,
    since: Option<String>,
    reason: Option<&'a str>,
    command: Option<String>,
    commands: Vec<String>,
}

#[derive(Debug, Default, Serialize)]
struct LookedReport<'a> {
    channel: &'a str,
    there: Vec<&'a str>,
    gone: Vec<GoneReport<'a>>,
    /// Older than the list reaches, or of another account.
    unchecked: Vec<&'a str>,
    /// Why the list could not be read.
    reason: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct GoneReport<'a> {
    item: &'a str,
    id: Option<&'a str>,
    url: Option<&'a str>,
}

/// Writes the answer as JSON.
pub fn json(report: &Report<'_>, ledger: LedgerReport) -> String {
    let audit = report.audit;
    let findings = || audit.findings.iter();
    let holes = findings().filter(|finding| finding.open == Open::Hole);
    json::to_text(&AuditReport {
        schema: 1,
        deliveries: json::deliveries(report.deliveries, Posts::LeftOut),
        summary: json::summary(Summary::of(report.deliveries)),
        proved: audit.exit == Exit::Proved,
        holes: holes
            .map(|finding| finding_report(finding, report.deliveries))
            .collect(),
        findings: findings()
            .map(|finding| finding_report(finding, report.deliveries))
            .collect(),
        alarms: &audit.alarms,
        problems: &audit.problems,
        out_of_scope: report.out_of_scope,
        switched_off: report
            .switched_off
            .iter()
            .map(ChannelName::as_str)
            .collect(),
        remote: report.looked.map(|looked| {
            let reports = looked.iter().map(|looked| looked_report(looked, report));
            reports.collect()
        }),
        ledger,
        exit: audit.exit.code(),
    })
}

fn finding_report<'a>(finding: &'a Finding, deliveries: &[Outlook]) -> FindingReport<'a> {
    // What the reason names frees it as well.
    let named = deliveries
        .iter()
        .find(|delivery| delivery.id == finding.id && finding.ways.is_empty())
        .map(Outlook::commands);
    let ways = finding.ways.iter().map(|way| way.command.clone());
    let commands: Vec<String> = ways.chain(named.unwrap_or_default()).collect();
    FindingReport {
        item: finding.id.item.as_str(),
        channel: finding.id.channel.as_str(),
        open: finding.open.label(),
        since: finding.since.map(|at| at.to_string()),
        reason: finding.reason.as_deref(),
        command: (!commands.is_empty()).then(|| commands.join(", or: ")),
        commands,
    }
}

fn looked_report<'a>(looked: &'a Looked, report: &Report<'a>) -> LookedReport<'a> {
    let item = |id: &'a DeliveryId| id.item.as_str();
    match looked {
        Looked::Read { channel, result } => LookedReport {
            channel: channel.as_str(),
            there: result.there.iter().map(item).collect(),
            gone: result.gone.iter().map(gone_report).collect(),
            unchecked: result
                .too_old
                .iter()
                .chain(&result.of_another_account)
                .map(item)
                .collect(),
            reason: None,
        },
        Looked::Unread {
            channel, reason, ..
        } => LookedReport {
            channel: channel.as_str(),
            unchecked: report
                .deliveries
                .iter()
                .filter(|delivery| delivery.id.channel == *channel && delivery.remote.is_some())
                .map(|delivery| delivery.id.item.as_str())
                .collect(),
            reason: Some(reason),
            ..LookedReport::default()
        },
    }
}

fn gone_report((id, remote): &(DeliveryId, Remote)) -> GoneReport<'_> {
    GoneReport {
        item: id.item.as_str(),
        id: remote.id.as_deref(),
        url: remote.url.as_deref(),
    }
}
