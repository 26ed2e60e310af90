//! `doctor`: would a run work? Credentials, clocks, limits, push rights, and whatever else it needs.
//!
//! Invariant: nothing is sent that shows, and nothing is written but what a fetch keeps.

mod channels;
mod ledger;

use std::sync::Arc;

use crate::cli::{DoctorArgs, Format};
use crate::clock::{Clock, SystemClock};
use crate::environment::Environment;
use crate::error::Failure;
use crate::exit::Exit;
use crate::report::digest::NextRun;
use crate::report::doctor::{Check, Verdict, exit, json, text};
use crate::report::human::number;
use crate::report::notices::clock_time;
use crate::report::terminal::Terminal;

use super::schedule;
use super::world::{Place, World};

/// Checks everything that a run needs.
pub(super) fn doctor(
    place: &Place,
    arguments: &DoctorArgs,
    environment: &Environment,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let world = World::read(place, &clock)?;
    let mut checks = configuration(&world);
    checks.extend(articles(&world));
    let (ledger, snapshot) = ledger::checks(&world, environment, &clock);
    let selection = world.selection(&arguments.output, &snapshot)?;
    checks.extend(channels::checks(
        &world,
        &selection,
        &snapshot,
        environment,
        &clock,
    ));
    checks.extend(ledger);
    checks.extend(next_run(&world, environment, clock.as_ref()));
    let text = match arguments.output.format {
        Format::Text => text(&checks),
        Format::Json => json(&checks),
    };
    terminal.result(&text);
    Ok(exit(&checks))
}

fn configuration(world: &World) -> Vec<Check> {
    const NAME: &str = "configuration";
    let config = &world.config;
    let warnings = &config.warnings;
    if warnings.is_empty() {
        let count = number(config.channels.len(), "channel", "channels");
        return vec![Check::new(NAME, Verdict::Ok, count)];
    }
    let warned = warnings.iter();
    warned
        .map(|warning| Check::new(NAME, Verdict::Warning, warning))
        .collect()
}

fn articles(world: &World) -> Vec<Check> {
    const NAME: &str = "articles";
    let problems = world.catalog.problems.iter();
    let mut checks: Vec<_> = problems
        .map(|problem| {
            Check::new(NAME, Verdict::Wrong(Exit::Usage), problem)
                .advised("build the site first, or mend `[site]` in the configuration")
        })
        .collect();
    let all = world.catalog.items.len();
    let in_scope = world.catalog.items.iter();
    let count = in_scope.filter(|item| item.out_of_scope.is_none()).count();
    if count > 0 {
        let message = format!("{} of {all} in scope", number(count, "article", "articles"));
        checks.push(Check::new(NAME, Verdict::Ok, message));
    } else if checks.is_empty() {
        let message = match all {
            0 => "the sources list no article".to_owned(),
            all => format!("none of {} is in scope", number(all, "article", "articles")),
        };
        checks.push(
            Check::new(NAME, Verdict::Warning, message)
                .advised("`sayonce plan` says why an article is out of scope; is the site built?"),
        );
    }
    checks
}

fn next_run(world: &World, environment: &Environment, clock: &dyn Clock) -> Option<Check> {
    const NAME: &str = "schedule";
    match schedule::next_run(&world.top, environment, clock.now()) {
        NextRun::At(at) => {
            let at = clock_time(at, world.config.site.timezone);
            Some(Check::new(NAME, Verdict::Ok, format!("next run at {at}")))
        }
        NextRun::Scheduled => Some(Check::new(
            NAME,
            Verdict::Ok,
            "a workflow that uses sayonce has one",
        )),
        NextRun::Nobody(sentence) => Some(Check::new(NAME, Verdict::Warning, sentence)),
        NextRun::Unknown => None,
    }
}
