//! `audit`: is every delivery proved? By the ledger, and if asked by the accounts themselves. Nothing is sent or written.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::channel::{Channel, registry};
use crate::cli::{AuditArgs, Format};
use crate::clock::{Clock, SystemClock};
use crate::config::ChannelConfig;
use crate::environment::Environment;
use crate::error::Failure;
use crate::exit::Exit;
use crate::model::ids::{Account, ChannelName};
use crate::model::outcome::{Listing, Opening, Trouble};
use crate::model::row::Row;
use crate::model::time::Timestamp;
use crate::plan::alarms::{Facts, account_changed};
use crate::plan::audit::{Audit, audit as judge};
use crate::plan::read_back::{ReadBack, gone, posted, posted_since, read_back};
use crate::report::audit::{Looked, Report, json, text};
use crate::report::terminal::Terminal;

use super::digests;
use super::plan::{Copy, View, view};
use super::world::Place;

/// How far before the oldest post the account's list is read, for clocks and dates without a time.
const LIST_MARGIN: Duration = Duration::from_hours(24);

/// Says whether every delivery is proved.
pub(super) fn audit(
    place: &Place,
    arguments: &AuditArgs,
    environment: &Environment,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let copy = if arguments.offline {
        Copy::Local("without --offline it is read anew")
    } else {
        Copy::Fetched
    };
    let view = view(place, &arguments.output, copy, environment, terminal)?;
    let mut audit = by_ledger(&view);
    let looked = arguments
        .remote
        .then(|| by_accounts(&view, environment, &mut audit));
    let out_of_scope = view.out_of_scope().len();
    let report = Report {
        deliveries: &view.deliveries,
        audit: &audit,
        looked: looked.as_deref(),
        out_of_scope,
        switched_off: &view.world.config.disabled,
        timezone: view.world.config.site.timezone,
        now: view.now,
    };
    let text = match arguments.output.format {
        Format::Text => text(&report),
        Format::Json => {
            for problem in &audit.problems {
                terminal.error_line(&format!("problem: {problem}"));
            }
            for alarm in &audit.alarms {
                terminal.error_line(&format!("alarm: {alarm}"));
            }
            json(&report, view.ledger())
        }
    };
    terminal.result(&text);
    if terminal.is_in_job() {
        let report = json(&report, view.ledger());
        terminal.digest(&view.world.top, digests::of_audit(&view, &audit, report));
    }
    Ok(audit.exit)
}

fn by_ledger(view: &View) -> Audit {
    let snapshot = &view.snapshot;
    let facts = Facts {
        config: &view.world.config,
        items: &view.survey.items,
        header: snapshot.header.as_ref(),
        baseline: Some(&snapshot.baseline),
        rows: snapshot
            .rows
            .iter()
            .map(|(id, stored)| (id, &stored.row))
            .collect(),
        deliveries: &view.deliveries,
        now: view.now,
    };
    let mut audit = judge(&facts, &view.world.catalog, &view.survey, snapshot);
    for row in &view.journal {
        let id = row.delivery_id();
        let stored = snapshot.rows.get(&id);
        if stored.is_none_or(|stored| stored.row != *row) {
            audit.problem(
                format!(
                    "{id}: what came of it is only on this machine yet; `sayonce run` here brings it to the ledger"
                ),
                Exit::Ledger,
            );
        }
    }
    audit
}

/// Reads each account's list once, and compares it with what the ledger has as done.
fn by_accounts(view: &View, environment: &Environment, audit: &mut Audit) -> Vec<Looked> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let rows = done_rows(view);
    let channels = view.world.config.channels.iter().filter_map(|channel| {
        let rows = rows.get(channel.name())?;
        Some(by_account(channel, rows, view, environment, &clock, audit))
    });
    channels.collect()
}

/// The rows of what is asked about and done, by channel.
fn done_rows(view: &View) -> BTreeMap<&ChannelName, Vec<&Row>> {
    let mut rows: BTreeMap<&ChannelName, Vec<&Row>> = BTreeMap::new();
    for delivery in &view.deliveries {
        let stored = view.snapshot.rows.get(&delivery.id);
        if let Some(stored) = stored.filter(|stored| posted(&stored.row).is_some()) {
            let of_channel = rows.entry(&delivery.id.channel).or_default();
            of_channel.push(&stored.row);
        }
    }
    rows
}

fn by_account(
    channel: &ChannelConfig,
    rows: &[&Row],
    view: &View,
    environment: &Environment,
    clock: &Arc<dyn Clock>,
    audit: &mut Audit,
) -> Looked {
    let name = channel.name();
    let unchecked = |reason: String| Looked::Unread {
        channel: name.clone(),
        count: rows.len(),
        reason,
    };
    if !channel.traits().readable {
        return unchecked("this service can't be read".to_owned());
    }
    let site = &view.world.config.site;
    let mut service = match registry::build(channel, site, environment, Arc::clone(clock)) {
        Ok(service) => service,
        Err(missing) => {
            audit.problem(missing.to_string(), Exit::Usage);
            return unchecked(format!("{} is not set", missing.variable));
        }
    };
    match compare(service.as_mut(), rows, view.now) {
        Ok((account, result)) => {
            for (id, remote) in &result.gone {
                audit.alarm(gone(id, remote), Exit::NeedsPerson);
            }
            let all = view.snapshot.rows.values().map(|stored| &stored.row);
            if let Some(sentence) = account_changed(all, name, &account) {
                audit.alarm(sentence, Exit::NeedsPerson);
            }
            Looked::Read {
                channel: name.clone(),
                result,
            }
        }
        Err(Unread { reason, exit }) => {
            audit.problem(format!("{name} could not be read: {reason}"), exit);
            unchecked(reason)
        }
    }
}

/// Why an account's list could not be had.
struct Unread {
    reason: String,
    exit: Exit,
}

fn compare(
    service: &mut dyn Channel,
    rows: &[&Row],
    now: Timestamp,
) -> Result<(Account, ReadBack), Unread> {
    let session = match service.open() {
        Opening::Ready(session) => session,
        Opening::Closed { trouble, reason } => {
            let exit = match trouble {
                Trouble::Credentials => Exit::NeedsPerson,
                Trouble::Unreachable | Trouble::RateLimited(_) => Exit::WorkRemains,
            };
            return Err(Unread { reason, exit });
        }
    };
    let oldest = rows.iter().filter_map(|row| posted_since(row)).min();
    let since = oldest.unwrap_or(now).minus(LIST_MARGIN);
    match service.recent(since) {
        Listing::Posts(posts) => {
            let oldest = posts.iter().filter_map(|post| post.created_at).min();
            let covered = if service.reached() {
                since
            } else {
                oldest.unwrap_or(now)
            };
            let result = read_back(rows.iter().copied(), &session.account, &posts, covered);
            Ok((session.account, result))
        }
        Listing::CannotTell { reason } => Err(Unread {
            reason,
            exit: Exit::WorkRemains,
        }),
    }
}
