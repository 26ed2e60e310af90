//! What people are told of one delivery: its state, what would be or was sent, and why it is not done.

use crate::config::ChannelConfig;
use crate::exit::Exit;
use crate::model::channel::{Policy, ReceiptKind};
use crate::model::delivery::{Operation, Record, State};
use crate::model::media::PlannedPicture;
use crate::model::outcome::ServerLimits;
use crate::model::outcome::{Evidence, Remote};
use crate::model::post::Post;
use crate::model::row::{DeliveryId, Row};
use crate::model::time::Timestamp;
use crate::render::change::compose_planned_change;
use crate::render::measure::measure;
use crate::render::{Stamp, compose, pictures};

use super::decide::Step;
use super::later::{Stand, stand, step};
use super::survey::{Announce, Survey, Surveyed, Verdict};

/// One delivery as `plan`, `status`, `run` and `rehearse` show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outlook {
    /// Which.
    pub id: DeliveryId,
    /// What it stands at.
    pub operation: Operation,
    /// The state of that; none: pending.
    pub state: Option<State>,
    /// Why it is not done, or what comes next, in plain words.
    pub reason: Option<String>,
    /// The text that would be or was sent.
    pub text: Option<String>,
    /// Its length, counted as the service counts.
    pub length: Option<usize>,
    /// The service's limit in the same unit.
    pub limit: Option<usize>,
    /// Everything that would be or was sent.
    pub post: Option<Post>,
    /// The pictures that it shows, or would show if they can be had.
    pub pictures: Vec<PlannedPicture>,
    /// How many claims were made.
    pub attempt: u32,
    /// The receipt.
    pub remote: Option<Remote>,
    /// Why `done` is believed.
    pub evidence: Option<Evidence>,
    /// When the ledger last heard of it.
    pub updated_at: Option<Timestamp>,
    /// When it is due, if later.
    pub due_at: Option<Timestamp>,
    /// What was changed to fit.
    pub notes: Vec<String>,
    /// Whether it takes part: what is baselined, kept back or unreadable does not.
    pub standing: Standing,
    /// A repeat does no harm, and there is nothing that a person could look at.
    pub is_notice: bool,
}

impl Outlook {
    /// Returns what this delivery means for the exit code of a run.
    pub fn weight(&self) -> Exit {
        let by_state = match self.state {
            None | Some(State::InFlight | State::InDoubt | State::Retry) => Exit::WorkRemains,
            Some(State::Done | State::Skipped) => Exit::Proved,
            Some(State::Failed) => Exit::Refused,
            Some(State::Held) => Exit::NeedsPerson,
        };
        match self.standing {
            Standing::ByState => by_state,
            // Its channel's sentence says it already, with its own code.
            Standing::KeptBack | Standing::SwitchedOff => Exit::Proved,
            Standing::Unreadable => Exit::Ledger,
            Standing::NeedsPerson => Exit::NeedsPerson,
        }
    }

    /// Returns the commands that free a delivery which waits for a person.
    pub fn ways(&self) -> Vec<Way> {
        let (item, channel) = (&self.id.item, &self.id.channel);
        let is_later = self.operation != Operation::Publish;
        match self.state {
            // Where the post stands is known: there is nothing to resolve.
            Some(State::Held | State::Failed) if is_later => vec![
                Way::new(
                    format!("sayonce retry {item} {channel}"),
                    "the next run tries it once more",
                ),
                Way::new(
                    format!("sayonce skip {item} {channel}"),
                    "the post is left as it is",
                ),
            ],
            Some(State::Held) if self.is_notice => vec![
                Way::new(
                    format!("sayonce retry {item} {channel}"),
                    "the next run sends it once more, which does no harm",
                ),
                Way::new(
                    format!("sayonce skip {item} {channel}"),
                    "it shall not be announced",
                ),
            ],
            Some(State::Held) => vec![
                Way::new(
                    format!("sayonce resolve {item} {channel} --posted URL"),
                    "it is there",
                ),
                Way::new(
                    format!("sayonce resolve {item} {channel} --not-posted"),
                    "it is not: the next run sends it once more",
                ),
                Way::new(
                    format!("sayonce skip {item} {channel}"),
                    "it shall not be announced",
                ),
            ],
            Some(State::Failed) => vec![
                Way::new(
                    format!("sayonce retry {item} {channel}"),
                    "the next run sends it once more",
                ),
                Way::new(
                    format!("sayonce skip {item} {channel}"),
                    "it shall not be announced",
                ),
            ],
            None
            | Some(
                State::InFlight | State::InDoubt | State::Retry | State::Done | State::Skipped,
            ) => Vec::new(),
        }
    }

    /// Returns every command that frees a delivery, those that its reason names included.
    pub fn commands(&self) -> Vec<String> {
        let ways = self.ways().into_iter().map(|way| way.command);
        let reason = self.reason.as_deref().unwrap_or_default();
        let named = reason.split('`').skip(1).step_by(2);
        let named = named.filter(|text| text.starts_with("sayonce "));
        ways.chain(named.map(str::to_owned)).collect()
    }
}

/// A command that frees a delivery, as it is typed, and what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// The command.
    pub command: String,
    /// What it means, in a few words; empty: it needs none.
    pub means: &'static str,
}

impl Way {
    /// Makes one.
    pub const fn new(command: String, means: &'static str) -> Self {
        Self { command, means }
    }

    /// Returns a line that can be pasted into a shell as it is.
    pub fn line(&self) -> String {
        if self.means.is_empty() {
            self.command.clone()
        } else {
            format!("{}  # {}", self.command, self.means)
        }
    }
}

/// How a delivery that is not done weighs in the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// By its state.
    ByState,
    /// Kept back by a flood guard.
    KeptBack,
    /// Nothing new is announced while `site.enabled` is `false`.
    SwitchedOff,
    /// Its row can't be read.
    Unreadable,
    /// It can't be sent as it is, or waits for a person.
    NeedsPerson,
}

/// What a run learned of a delivery that stands in no row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aside<'a> {
    /// It can't be sent as it is.
    Unsendable(&'a str),
    /// Not now.
    NotYet(&'a str),
}

/// What is known of a channel now, beside its configuration.
#[derive(Clone, Copy, Debug, Default)]
pub struct Circumstances<'a> {
    /// What its server told of its limits.
    pub limits: ServerLimits,
    /// Why nothing that is posted may be changed from this checkout; none: it may.
    pub put_off: Option<&'a str>,
    /// Nothing is asked of it before, because it said so.
    pub paused_until: Option<Timestamp>,
    /// Whether new deliveries may start.
    pub announce: Announce,
    /// Why it can't be used until a person does something about it.
    pub closed: Option<&'a str>,
}

/// Returns what people are told of a delivery.
///
/// `aside`: what this run learned of it that stands in no row.
pub fn outlook(
    surveyed: &Surveyed,
    row: Option<&Row>,
    survey: &Survey,
    channel: &ChannelConfig,
    circumstances: Circumstances<'_>,
    aside: Option<Aside<'_>>,
    now: Timestamp,
) -> Outlook {
    let limits = circumstances.limits;
    let item = survey.items.get(&surveyed.id.item);
    let article = survey.article(&surveyed.id.item);
    let stand = stand(row, article, channel, limits, circumstances.put_off);
    let (operation, record) = (stand.operation, stand.record);
    let mut outlook = blank(&surveyed.id, operation, record);
    outlook.is_notice = channel.traits().receipt == ReceiptKind::None
        && channel.rules.policy == Policy::AtLeastOnce;
    let announced = row.and_then(Row::publish);
    if outlook.remote.is_none() && operation != Operation::Publish {
        outlook.remote = announced.and_then(|record| record.remote.clone());
    }
    let frozen = record.and_then(|record| Some((record, record.claim.as_ref()?)));
    match (frozen, item) {
        (Some((record, claim)), item)
            if record.frozen || record.state != State::Retry || item.is_none() =>
        {
            show_post(&mut outlook, &claim.post, channel, limits);
        }
        (_, _) if operation == Operation::Retract => {
            if let Some(post) = row.and_then(Row::shown) {
                show_post(&mut outlook, post, channel, limits);
            }
        }
        (_, Some(item)) => {
            let shown = row
                .and_then(Row::shown)
                .filter(|_| operation != Operation::Publish);
            let rendered = match shown {
                Some(shown) => compose_planned_change(item, channel, limits, shown),
                None => compose(item, channel, limits, Stamp::Fresh { now, entropy: 0 }),
            };
            match rendered {
                Ok(rendered) => {
                    outlook.text = Some(rendered.text);
                    outlook.length = Some(rendered.length);
                    outlook.limit = rendered.limit;
                    outlook.post = Some(rendered.post);
                    outlook.pictures = pictures(item, channel);
                    outlook.notes = rendered.notes;
                }
                Err(error) if record.is_none() => {
                    outlook.reason = Some(error.about(item, channel.name()));
                    outlook.standing = Standing::NeedsPerson;
                }
                Err(_) => {}
            }
        }
        (_, None) => {}
    }
    match &surveyed.verdict {
        Verdict::Skipped(reason) => {
            outlook.state = Some(State::Skipped);
            outlook.reason = Some(reason.clone());
            outlook.standing = Standing::ByState;
        }
        Verdict::InPlay | Verdict::KeptBack(_) | Verdict::Renamed(_)
            if record.is_none() && circumstances.announce == Announce::NothingNew =>
        {
            outlook.reason = Some("`site.enabled = false`: nothing new is announced".to_owned());
            outlook.standing = Standing::SwitchedOff;
        }
        Verdict::KeptBack(reason) => {
            outlook.reason = Some(reason.clone());
            outlook.standing = Standing::KeptBack;
        }
        Verdict::Unreadable(reason) => {
            outlook.reason = Some(reason.clone());
            outlook.standing = Standing::Unreadable;
        }
        Verdict::Renamed(reason) => {
            outlook.reason = Some(reason.clone());
            outlook.standing = Standing::NeedsPerson;
        }
        Verdict::InPlay | Verdict::Withdrawn => {
            let step = step(&stand, row, item, channel, now);
            let is_edited = operation != Operation::Publish && record.is_none();
            let step = paused(step, circumstances.paused_until, now);
            let needs_it = matches!(step, Step::Send { .. } | Step::Look | Step::TakeOver);
            describe(&mut outlook, step);
            if is_edited && outlook.due_at.is_none() && outlook.standing == Standing::ByState {
                outlook.reason = Some("the article was edited: due now".to_owned());
            }
            let put_off = not_changed_from_here(&stand, circumstances.put_off.filter(|_| needs_it));
            outlook.reason = put_off.or(outlook.reason);
            if let Some(reason) = circumstances.closed.filter(|_| needs_it) {
                outlook.reason = Some(format!("waits for its channel: {reason}"));
            }
        }
    }
    match aside {
        Some(Aside::Unsendable(reason)) => {
            outlook.reason = Some(reason.to_owned());
            outlook.standing = Standing::NeedsPerson;
        }
        Some(Aside::NotYet(reason)) => outlook.reason = Some(reason.to_owned()),
        None => {}
    }
    outlook
}

/// Says why a change is not made from this checkout; none: it is, or none is wanted.
fn not_changed_from_here(stand: &Stand<'_>, behind: Option<&str>) -> Option<String> {
    if let Some(why) = stand.put_off {
        return Some(format!(
            "the article was edited, but its post is not changed from here: {why}"
        ));
    }
    let why = behind.filter(|_| stand.is_written_anew())?;
    Some(format!("its post is not changed from here: {why}"))
}

pub(super) fn blank(id: &DeliveryId, operation: Operation, record: Option<&Record>) -> Outlook {
    let claimed_at = record
        .and_then(|record| record.claim.as_ref())
        .map(|claim| claim.claimed_at);
    Outlook {
        id: id.clone(),
        operation,
        state: record.map(|record| record.state),
        reason: record.and_then(|record| record.reason.clone()),
        text: None,
        length: None,
        limit: None,
        post: None,
        pictures: Vec::new(),
        attempt: record.map_or(0, |record| record.attempt),
        remote: record.and_then(|record| record.remote.clone()),
        evidence: record.and_then(|record| record.evidence),
        updated_at: record.and_then(|record| record.settled_at.or(claimed_at)),
        due_at: None,
        notes: Vec::new(),
        standing: Standing::ByState,
        is_notice: false,
    }
}

/// What needs the service waits until it may be asked again.
fn paused(step: Step, until: Option<Timestamp>, now: Timestamp) -> Step {
    let Some(pause) = until.filter(|pause| *pause > now) else {
        return step;
    };
    match step {
        Step::Later { until, why } if until >= pause => Step::Later { until, why },
        Step::Send { .. } | Step::Look | Step::TakeOver | Step::Later { .. } => Step::Later {
            until: pause,
            why: "the service asked for a pause".to_owned(),
        },
        Step::Busy { .. } | Step::Absent | Step::Hold(_) | Step::Rest | Step::NeedsApproval => step,
    }
}

/// Says what comes next.
fn describe(outlook: &mut Outlook, step: Step) {
    match step {
        Step::Send { .. } if outlook.reason.is_none() => {
            outlook.reason = Some("due now".to_owned());
        }
        Step::Later { until, why } => {
            outlook.due_at = Some(until);
            outlook
                .reason
                .get_or_insert_with(|| format!("due at {until}: {why}"));
        }
        Step::Busy { until } => {
            outlook.due_at = Some(until);
            outlook.reason = Some(format!(
                "claimed by a run; left alone until {until}, unless it is found"
            ));
        }
        Step::TakeOver => {
            outlook.reason = Some(
                "claimed by a run that ended without a result; the next run looks for it"
                    .to_owned(),
            );
        }
        // What can't be sent as it is needs no approval.
        Step::NeedsApproval if outlook.standing == Standing::NeedsPerson => {}
        Step::NeedsApproval => {
            let (verb, does) = match outlook.operation {
                Operation::Publish => ("approve", "sends it"),
                Operation::Update(_) | Operation::Retract => ("update", "changes the post"),
            };
            outlook.reason = Some(format!(
                "`gate = \"manual\"`: `sayonce {verb} {} {}` {does}",
                outlook.id.item, outlook.id.channel
            ));
            outlook.standing = Standing::NeedsPerson;
        }
        Step::Hold(reason) => {
            outlook.reason.get_or_insert(reason);
        }
        Step::Send { .. } | Step::Look | Step::Absent | Step::Rest => {}
    }
}

/// Shows a post that the ledger holds.
fn show_post(outlook: &mut Outlook, post: &Post, channel: &ChannelConfig, limits: ServerLimits) {
    let measured = measure(post, channel, limits);
    outlook.text = Some(measured.text);
    outlook.length = Some(measured.length);
    outlook.limit = measured.limit;
    outlook.post = Some(post.clone());
    outlook.pictures = PlannedPicture::all_of(post);
}
