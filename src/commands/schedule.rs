//! Who makes the next run? A site's own workflows say whether any of them has a schedule.
//!
//! Invariant: this only advises. What can't be read is passed over, and where nothing is known nothing is said.

use std::path::Path;

use chrono::{DateTime, Datelike as _, TimeDelta, Timelike as _, Utc};
use serde_json::Value;

use crate::environment::Environment;
use crate::model::time::Timestamp;
use crate::report::digest::NextRun;

/// Where GitHub looks for workflows.
const DIRECTORY: &str = ".github/workflows";
/// A workflow is a few hundred lines; a file above this is none.
const FILE_BYTES_MAX: u64 = 512 * 1_024;
/// A schedule that is due in no minute of so many days is never due.
const DAYS_MAX: i64 = 366;
/// What to add to a workflow. Not at the full hour, when GitHub is busy and drops runs.
const LINES: &str = "on:\n  schedule:\n    - cron: \"17 * * * *\"";

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// A workflow that can be read.
#[derive(Debug)]
struct Workflow {
    name: String,
    text: String,
    crons: Option<Vec<String>>,
}

/// Looks through the workflows of the repository at `top`.
pub(super) fn next_run(top: &Path, environment: &Environment, now: Timestamp) -> NextRun {
    let in_job = environment.get("GITHUB_ACTIONS") == Some("true");
    let workflows = workflows(&top.join(DIRECTORY));
    judge(&workflows, in_job, now)
}

fn judge(workflows: &[Workflow], in_job: bool, now: Timestamp) -> NextRun {
    let ours: Vec<_> = workflows
        .iter()
        .filter(|workflow| workflow.text.contains("sayonce"))
        .collect();
    let Some(first) = ours.first() else {
        // In a job without a workflow of ours: it is called from another repository, whose schedule is not here.
        return NextRun::Unknown;
    };
    // A workflow that calls one of ours counts with its own schedule.
    let calls = |workflow: &Workflow| {
        ours.iter().any(|called| {
            workflow
                .text
                .contains(&format!("{DIRECTORY}/{}", called.name))
        })
    };
    let scheduled = workflows
        .iter()
        .filter(|workflow| workflow.text.contains("sayonce") || calls(workflow))
        .filter_map(|workflow| workflow.crons.as_ref());
    let crons: Vec<_> = scheduled.flatten().collect();
    if !crons.is_empty() {
        let times = crons.iter().filter_map(|cron| Cron::parse(cron)?.next(now));
        return times.min().map_or(NextRun::Scheduled, NextRun::At);
    }
    let name = match ours.as_slice() {
        [_] => format!("{DIRECTORY}/{}", first.name),
        _ => "the workflow that uses sayonce".to_owned(),
    };
    let whose = if in_job { "" } else { " on GitHub" };
    NextRun::Nobody(format!(
        "Nobody will make the next run{whose}: no workflow that uses sayonce has a schedule. Add these lines to {name}:\n{LINES}"
    ))
}

fn workflows(directory: &Path) -> Vec<Workflow> {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut workflows: Vec<_> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let ending = path.extension()?.to_str()?;
            let is_small = path.metadata().ok()?.len() <= FILE_BYTES_MAX;
            if !is_small || !matches!(ending, "yml" | "yaml") {
                return None;
            }
            let name = path.file_name()?.to_str()?.to_owned();
            Some(workflow(name, std::fs::read_to_string(&path).ok()?))
        })
        .collect();
    workflows.sort_by(|one, other| one.name.cmp(&other.name));
    workflows
}

fn workflow(name: String, text: String) -> Workflow {
    let read: Option<Value> = serde_saphyr::from_str(&text).ok();
    // In YAML 1.1, which others read, the key `on` is the value true.
    let on = read
        .as_ref()
        .and_then(|read| read.get("on").or_else(|| read.get("true")));
    let crons = on.and_then(|on| on.get("schedule")).map(|schedule| {
        let entries = schedule.as_array().into_iter().flatten();
        let crons = entries.filter_map(|entry| entry.get("cron")?.as_str());
        crons.map(str::to_owned).collect()
    });
    Workflow { name, text, crons }
}

/// When a schedule is due, to the minute, in UTC.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cron {
    minutes: Vec<u32>,
    hours: Vec<u32>,
    days: Vec<u32>,
    months: Vec<u32>,
    weekdays: Vec<u32>,
    /// Day and weekday are either-or if both are given.
    any_day: bool,
    any_weekday: bool,
}

impl Cron {
    fn parse(text: &str) -> Option<Self> {
        let fields: Vec<_> = text.split_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = fields.as_slice() else {
            return None;
        };
        let mut sundays_too = field(weekdays, 0, 7, &WEEKDAYS, 0)?;
        for day in &mut sundays_too {
            *day %= 7;
        }
        Some(Self {
            minutes: field(minutes, 0, 59, &[], 0)?,
            hours: field(hours, 0, 23, &[], 0)?,
            days: field(days, 1, 31, &[], 0)?,
            months: field(months, 1, 12, &MONTHS, 1)?,
            weekdays: sundays_too,
            any_day: days.starts_with('*'),
            any_weekday: weekdays.starts_with('*'),
        })
    }

    /// Returns the next time after `now`.
    fn next(&self, now: Timestamp) -> Option<Timestamp> {
        let start = now.to_chrono().with_second(0)?.with_nanosecond(0)?;
        let end = start + TimeDelta::days(DAYS_MAX);
        let mut at = start + TimeDelta::minutes(1);
        while at < end {
            if !self.is_on_day(at) {
                at = at.with_hour(0)?.with_minute(0)? + TimeDelta::days(1);
            } else if !self.hours.contains(&at.hour()) {
                at = at.with_minute(0)? + TimeDelta::hours(1);
            } else if self.minutes.contains(&at.minute()) {
                return Some(Timestamp::from_chrono(&at));
            } else {
                at += TimeDelta::minutes(1);
            }
        }
        None
    }

    fn is_on_day(&self, at: DateTime<Utc>) -> bool {
        let by_day = self.days.contains(&at.day());
        let by_weekday = self.weekdays.contains(&at.weekday().num_days_from_sunday());
        let by_either = match (self.any_day, self.any_weekday) {
            (false, false) => by_day || by_weekday,
            (true, _) | (_, true) => by_day && by_weekday,
        };
        by_either && self.months.contains(&at.month())
    }
}

/// Reads one field: a list of numbers, names, ranges, and steps.
fn field(text: &str, min: u32, max: u32, names: &[&str], first: u32) -> Option<Vec<u32>> {
    let number = |text: &str| {
        let place = names
            .iter()
            .position(|name| text.eq_ignore_ascii_case(name));
        let number = match place {
            Some(position) => u32::try_from(position).ok()? + first,
            None => text.parse().ok()?,
        };
        (min..=max).contains(&number).then_some(number)
    };
    let mut all = Vec::new();
    for part in text.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (
                range,
                Some(step.parse::<u32>().ok().filter(|step| *step > 0)?),
            ),
            None => (part, None),
        };
        let (from, to) = match (range, range.split_once('-')) {
            ("*", _) => (min, max),
            (_, Some((from, to))) => (number(from)?, number(to)?),
            // `5/15` begins at 5 and goes on to the end.
            (one, None) if step.is_some() => (number(one)?, max),
            (one, None) => (number(one)?, number(one)?),
        };
        let step = usize::try_from(step.unwrap_or(1)).ok()?;
        all.extend((from..=to).step_by(step));
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    #[test]
    fn the_next_time_of_a_schedule() {
        // A Sunday.
        let now = at("2026-11-29T10:30:20Z");
        let check = |cron: &str, expected: Option<&str>| {
            let next = Cron::parse(cron).and_then(|cron| cron.next(now));
            assert_eq!(next, expected.map(at), "{cron}");
        };
        check("17 * * * *", Some("2026-11-29T11:17:00Z"));
        check("31 * * * *", Some("2026-11-29T10:31:00Z"));
        check("30 10 * * *", Some("2026-11-30T10:30:00Z"));
        check("*/20 * * * *", Some("2026-11-29T10:40:00Z"));
        check("5/20 9-17 * * MON-FRI", Some("2026-11-30T09:05:00Z"));
        check("0 6 * * 7", Some("2026-12-06T06:00:00Z"));
        check("0 6 1 * *", Some("2026-12-01T06:00:00Z"));
        check("0 6 1 jan *", Some("2027-01-01T06:00:00Z"));
        // Either the day of the month or the weekday.
        check("0 0 13 * tue", Some("2026-12-01T00:00:00Z"));
        check("0 0 31 2 *", None);
        check("61 * * * *", None);
        check("@hourly", None);
        check("", None);
    }

    #[test]
    fn a_schedule_is_looked_for_in_workflows_that_use_the_program() {
        let now = at("2026-11-29T10:30:00Z");
        let check = |files: &[(&str, &str)]| {
            let workflows: Vec<_> = files
                .iter()
                .map(|(name, text)| workflow((*name).to_owned(), (*text).to_owned()))
                .collect();
            judge(&workflows, true, now)
        };
        let job = "jobs:\n  a:\n    steps:\n      - uses: example/sayonce@v1\n";
        let hourly = format!("on:\n  schedule:\n    - cron: '17 * * * *'\n{job}");
        let pushed = format!("on: [push, workflow_call]\n{job}");
        let other = "on:\n  schedule:\n    - cron: '5 * * * *'\njobs: {}\n";
        let caller = "on:\n  schedule:\n    - cron: '9 * * * *'\njobs:\n  a:\n    uses: ./.github/workflows/b.yml\n";
        let broken = format!("on: [\n{job}");
        assert_eq!(check(&[]), NextRun::Unknown);
        assert_eq!(check(&[("a.yml", other)]), NextRun::Unknown);
        assert_eq!(
            check(&[("a.yml", other), ("b.yml", &hourly)]),
            NextRun::At(at("2026-11-29T11:17:00Z"))
        );
        assert_eq!(
            check(&[("a.yml", caller), ("b.yml", &pushed)]),
            NextRun::At(at("2026-11-29T11:09:00Z"))
        );
        for nobody in [&pushed, &broken] {
            let NextRun::Nobody(sentence) = check(&[("a.yml", other), ("b.yml", nobody)]) else {
                panic!("{nobody}")
            };
            insta::allow_duplicates! {
                insta::assert_snapshot!(sentence, @r#"
                Nobody will make the next run: no workflow that uses sayonce has a schedule. Add these lines to .github/workflows/b.yml:
                on:
                  schedule:
                    - cron: "17 * * * *"
                "#);
            }
        }
    }
}
