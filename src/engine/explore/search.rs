//! Depth first, each state once.

use std::collections::HashSet;

use super::choice::Choice;
use super::digest::digest;
use super::scenario::Scenario;
use super::watch::{Rule, Violation};
use super::world::World;

/// Steps in which a healthy run must be done.
const HEALTHY_STEPS_MAX: usize = 500;

/// What a search came to.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) states: usize,
    /// Most things that happened one after another.
    pub(super) depth: usize,
    /// Different ends from which a healthy run was tried.
    pub(super) ends: usize,
    pub(super) found: Found,
}

#[derive(Debug)]
pub(super) enum Found {
    /// Every state there is was looked at.
    Nothing,
    /// There are more states than were asked for.
    CutShort,
    /// A rule was broken.
    Violation {
        rule: Rule,
        how: String,
        trace: Vec<String>,
    },
}

struct Step {
    world: World,
    /// What has not been tried from here.
    choices: Vec<Choice>,
    /// How it came to this.
    by: Option<Choice>,
}

/// Explores at most `states_max` states of a world.
pub(super) fn explore(scenario: &Scenario, states_max: usize) -> Report {
    let mut seen = HashSet::new();
    let mut ends = HashSet::new();
    let mut depth = 0;
    let world = World::new(scenario);
    seen.insert(digest(&world));
    let mut path = vec![Step {
        choices: in_order(&world),
        world,
        by: None,
    }];
    let found = loop {
        depth = depth.max(path.len());
        let Some(step) = path.last_mut() else {
            break Found::Nothing;
        };
        let Some(choice) = step.choices.pop() else {
            path.pop();
            continue;
        };
        let mut world = step.world.clone();
        if let Err(violation) = world.happen(choice) {
            break broken(&path, choice, &violation);
        }
        if !seen.insert(digest(&world)) {
            continue;
        }
        if world.is_quiet()
            && scenario.rollbacks == 0
            && ends.insert(end_digest(&world))
            && let Err(violation) = world.settle_down(HEALTHY_STEPS_MAX)
        {
            break broken(&path, choice, &violation);
        }
        if seen.len() >= states_max {
            break Found::CutShort;
        }
        path.push(Step {
            choices: in_order(&world),
            world,
            by: Some(choice),
        });
    };
    Report {
        states: seen.len(),
        depth,
        ends: ends.len(),
        found,
    }
}

/// The choices with the one to try first at the end.
fn in_order(world: &World) -> Vec<Choice> {
    let mut choices = world.choices();
    choices.reverse();
    choices
}

/// Ends are alike if only what may still go wrong differs.
fn end_digest(world: &World) -> u64 {
    let mut world = world.clone();
    world.left.starts = 0;
    world.left.kills = 0;
    world.left.faults = 0;
    digest(&world)
}

fn broken(path: &[Step], last: Choice, violation: &Violation) -> Found {
    let first = path.first().map(|step| step.world.now);
    let told = path.iter().filter_map(|step| {
        let after = step.world.now.since(first?);
        Some(format!("{:>5} s  {:?}", after.as_secs(), step.by?))
    });
    Found::Violation {
        rule: violation.rule,
        how: violation.how.clone(),
        trace: told.chain([format!("         {last:?}")]).collect(),
    }
}
