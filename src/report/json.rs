//! The JSON on standard output: one object, `"schema": 1`.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::engine::driver::Taken;
use crate::engine::ending::{Ending, Summary};
use crate::ledger::row::encode_whole;
use crate::model::delivery::{Operation, State};
use crate::model::media::PlannedPicture;
use crate::plan::outlook::Outlook;

/// What `plan` and `status` print.
#[derive(Debug, Serialize)]
pub struct PlanReport {
    schema: u32,
    deliveries: Vec<DeliveryReport>,
    summary: SummaryReport,
    out_of_scope: usize,
    out_of_scope_items: Vec<OutOfScopeReport>,
    problems: Vec<String>,
    notices: Vec<String>,
    ledger: LedgerReport,
}

/// What `run` prints.
#[derive(Debug, Serialize)]
pub struct RunReport {
    schema: u32,
    deliveries: Vec<DeliveryReport>,
    summary: SummaryReport,
    alarms: Vec<String>,
    problems: Vec<String>,
    out_of_scope: usize,
    next_due: Option<String>,
    /// Rows whose outcome is not on the ledger's remote.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unsaved: Vec<Value>,
    waited_ms: u64,
    elapsed_ms: u64,
    exit: u8,
    #[serde(flatten)]
    rehearsal: Option<RehearsalReport>,
}

/// What `rehearse` adds, as counted by the stand-in services themselves.
#[derive(Clone, Debug, Serialize)]
pub struct RehearsalReport {
    /// Posts by delivery.
    pub posts: Vec<PostCount>,
    /// Posts beyond the first of a delivery.
    pub duplicates: usize,
    /// Deliveries due without a post.
    pub missing: usize,
    /// Where the scratch repository and the stand-ins' state are, if they were kept.
    pub kept: Option<String>,
}

/// How often a delivery was posted.
#[derive(Clone, Debug, Serialize)]
pub struct PostCount {
    /// The channel's name.
    pub channel: String,
    /// The item id.
    pub item: String,
    /// How many posts there are; a URL that search engines know counts once.
    pub count: usize,
    /// How often the URL was submitted, where repeats are harmless; elsewhere the same as `count`.
    pub submitted: usize,
}

/// Where the ledger was read from.
#[derive(Debug, Serialize)]
pub struct LedgerReport {
    /// The branch.
    pub branch: String,
    /// The commit; none: there is no ledger yet.
    pub tip: Option<String>,
    /// When it was fetched, where it was.
    pub fetched_at: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct DeliveryReport {
    item: String,
    channel: String,
    /// What the state is of, where that is not the announcement.
    #[serde(skip_serializing_if = "Option::is_none")]
    operation: Option<String>,
    state: &'static str,
    reason: Option<String>,
    text: Option<String>,
    length: Option<usize>,
    limit: Option<usize>,
    attempt: u32,
    remote: Option<RemoteReport>,
    evidence: Option<&'static str>,
    updated_at: Option<String>,
    due_at: Option<String>,
    /// What frees it, as it is typed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    commands: Vec<String>,
    notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    post: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pictures: Vec<PictureReport>,
}

#[derive(Debug, Serialize)]
struct PictureReport {
    url: String,
    alt: Option<String>,
}

impl PictureReport {
    fn of(picture: &PlannedPicture) -> Self {
        Self {
            url: picture.url.clone(),
            alt: picture.alt.clone(),
        }
    }
}

#[derive(Debug, Serialize)]
struct RemoteReport {
    id: Option<String>,
    url: Option<String>,
}

#[derive(Debug, Serialize)]
struct OutOfScopeReport {
    item: String,
    reason: String,
}

#[derive(Debug, Serialize)]
pub(super) struct SummaryReport {
    done: usize,
    failed: usize,
    held: usize,
    in_doubt: usize,
    retry: usize,
    pending: usize,
    skipped: usize,
    busy: usize,
}

/// Whether the whole post is part of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Posts {
    /// `plan` shows exactly what would be sent.
    Shown,
    /// Elsewhere the ledger holds it.
    LeftOut,
}

/// What a plan knows.
#[derive(Debug)]
pub struct PlanFacts<'a> {
    /// Every delivery.
    pub deliveries: &'a [Outlook],
    /// Items that are never a delivery.
    pub out_of_scope: &'a [(String, String)],
    /// What is wrong.
    pub problems: &'a [String],
    /// What people should know.
    pub notices: &'a [String],
    /// Where the ledger was read from.
    pub ledger: LedgerReport,
}

/// Writes the result of `plan` or `status`.
pub fn plan(facts: PlanFacts<'_>, posts: Posts) -> String {
    to_text(&PlanReport {
        schema: 1,
        deliveries: deliveries(facts.deliveries, posts),
        summary: summary(Summary::of(facts.deliveries)),
        out_of_scope: facts.out_of_scope.len(),
        out_of_scope_items: out_of_scope(facts.out_of_scope),
        problems: facts.problems.to_vec(),
        notices: facts.notices.to_vec(),
        ledger: facts.ledger,
    })
}

/// Writes the result of `run` or `rehearse`.
pub fn run(ending: &Ending, taken: Taken, rehearsal: Option<RehearsalReport>) -> String {
    to_text(&RunReport {
        schema: 1,
        deliveries: deliveries(&ending.deliveries, Posts::LeftOut),
        summary: summary(ending.summary),
        alarms: ending.alarms.clone(),
        problems: ending.problems.clone(),
        out_of_scope: ending.out_of_scope.len(),
        next_due: ending.next_due.as_ref().map(|next| next.at.to_string()),
        unsaved: ending
            .unsaved
            .iter()
            .filter_map(|row| serde_json::from_str(&encode_whole(row).ok()?).ok())
            .collect(),
        waited_ms: millis(taken.waited),
        elapsed_ms: millis(taken.elapsed),
        exit: ending.exit.code(),
        rehearsal,
    })
}

pub(super) fn deliveries(outlooks: &[Outlook], posts: Posts) -> Vec<DeliveryReport> {
    outlooks
        .iter()
        .map(|outlook| DeliveryReport {
            item: outlook.id.item.to_string(),
            channel: outlook.id.channel.to_string(),
            operation: (outlook.operation != Operation::Publish)
                .then(|| outlook.operation.to_string()),
            state: outlook.state.map_or("pending", State::label),
            reason: outlook.reason.clone(),
            text: outlook.text.clone(),
            length: outlook.length,
            limit: outlook.limit,
            attempt: outlook.attempt,
            remote: outlook.remote.as_ref().map(|remote| RemoteReport {
                id: remote.id.clone(),
                url: remote.url.clone(),
            }),
            evidence: outlook.evidence.map(crate::model::outcome::Evidence::label),
            updated_at: outlook.updated_at.map(|at| at.to_string()),
            due_at: outlook.due_at.map(|at| at.to_string()),
            commands: outlook.commands(),
            notes: outlook.notes.clone(),
            post: match posts {
                Posts::Shown => outlook
                    .post
                    .as_ref()
                    .map(|post| Value::Object(post.fields().clone())),
                Posts::LeftOut => None,
            },
            pictures: match posts {
                Posts::Shown => outlook.pictures.iter().map(PictureReport::of).collect(),
                Posts::LeftOut => Vec::new(),
            },
        })
        .collect()
}

fn out_of_scope(items: &[(String, String)]) -> Vec<OutOfScopeReport> {
    items
        .iter()
        .map(|(item, reason)| OutOfScopeReport {
            item: item.clone(),
            reason: reason.clone(),
        })
        .collect()
}

pub(super) const fn summary(summary: Summary) -> SummaryReport {
    SummaryReport {
        done: summary.done,
        failed: summary.failed,
        held: summary.held,
        in_doubt: summary.in_doubt,
        retry: summary.retry,
        pending: summary.pending,
        skipped: summary.skipped,
        busy: summary.busy,
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

pub(super) fn to_text<T: Serialize>(report: &T) -> String {
    let mut text = serde_json::to_string_pretty(report).expect("a report can be written as JSON");
    text.push('\n');
    text
}
