//! Dates whose month is a word: those of mail (RFC 2822), of C and JavaScript, and those that people write.
//!
//! Each word is read for itself, since generators put them in any order: `Jul 08 2022`, `8 July 2022`,
//! `Fri Jan  2 10:00:00 2026`, `Fri Jan 02 2026 10:00:00 GMT+0100 (CET)`.
//!
//! Invariant: a date is read only if it has one meaning: one month by its name, one year of four digits, one day, at
//! most one time and one zone, and nothing else.

use chrono::{NaiveDate, NaiveTime};
use chrono_tz::Tz;

use crate::model::time::Timestamp;

use super::dates::{at_offset, in_zone, zone_seconds};

/// Reads a date; without a zone it is in `timezone`, and without a time it is midnight.
pub(super) fn parse(text: &str, timezone: Tz) -> Option<Timestamp> {
    let mut parts = Parts::default();
    let text = without_comment(without_weekday(text.trim()));
    for word in text
        .split(|letter: char| letter == ',' || letter.is_whitespace())
        .filter(|word| !word.is_empty())
    {
        parts.add(word)?;
    }
    parts.time(timezone)
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const WEEKDAYS: [&str; 7] = [
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
];

/// What stands before a comma is a weekday in whatever language, if it is one word.
fn without_weekday(text: &str) -> &str {
    match text.split_once(',') {
        Some((weekday, rest)) if weekday.chars().all(|c| c.is_alphabetic() || c == '.') => rest,
        Some(_) | None => text,
    }
}

/// JavaScript says the zone's name in brackets at the end.
fn without_comment(text: &str) -> &str {
    text.strip_suffix(')')
        .and_then(|text| text.rsplit_once('('))
        .map_or(text, |(date, _comment)| date)
}

#[derive(Debug, Default)]
struct Parts {
    year: Option<i32>,
    month: Option<u32>,
    day: Option<u32>,
    clock: Option<NaiveTime>,
    is_afternoon: Option<bool>,
    weekday: Option<()>,
    seconds_east: Option<i32>,
}

impl Parts {
    /// Takes a word; none if it means nothing, or something that is there already.
    fn add(&mut self, word: &str) -> Option<()> {
        let lower = word.to_lowercase();
        let name = lower.strip_suffix('.').unwrap_or(&lower);
        let pieces: Vec<&str> = word.split('-').collect();
        if let [day, month, year] = pieces.as_slice()
            && !day.is_empty()
        {
            self.add(day)?;
            self.add(month)?;
            return self.add(year);
        }
        if name == "at" {
            return Some(());
        }
        if let Some(month) = number_of(name, &MONTHS) {
            return set(&mut self.month, month);
        }
        if number_of(name, &WEEKDAYS).is_some() {
            return set(&mut self.weekday, ());
        }
        if matches!(name, "am" | "pm") {
            return set(&mut self.is_afternoon, name == "pm");
        }
        if let Some(seconds) = zone_seconds(word) {
            return set(&mut self.seconds_east, seconds);
        }
        if word.contains(':') {
            return self.add_clock(&lower);
        }
        let digits = ["st", "nd", "rd", "th"]
            .iter()
            .find_map(|ending| lower.strip_suffix(ending))
            .unwrap_or(&lower);
        let number: u32 = digits
            .bytes()
            .all(|byte| byte.is_ascii_digit())
            .then_some(digits)?
            .parse()
            .ok()?;
        match digits.len() {
            1 | 2 => set(&mut self.day, number),
            4 if digits == lower => set(&mut self.year, i32::try_from(number).ok()?),
            _ => None,
        }
    }

    /// Reads `9:00`, `09:00:30.5`, `9:00pm`, and `10:00:00+01:00`.
    fn add_clock(&mut self, word: &str) -> Option<()> {
        let mut clock = word;
        for (ending, is_afternoon) in [("am", false), ("pm", true)] {
            if let Some(rest) = clock.strip_suffix(ending) {
                set(&mut self.is_afternoon, is_afternoon)?;
                clock = rest;
            }
        }
        if let Some(rest) = clock.strip_suffix('z') {
            set(&mut self.seconds_east, 0)?;
            clock = rest;
        } else if let Some(at) = clock.find(['+', '-']) {
            let (time, zone) = clock.split_at_checked(at)?;
            set(&mut self.seconds_east, zone_seconds(zone)?)?;
            clock = time;
        }
        let time = ["%H:%M:%S%.f", "%H:%M"]
            .iter()
            .find_map(|format| NaiveTime::parse_from_str(clock, format).ok())?;
        set(&mut self.clock, time)
    }

    fn time(self, timezone: Tz) -> Option<Timestamp> {
        let date = NaiveDate::from_ymd_opt(self.year?, self.month?, self.day?)?;
        let clock = match (self.clock, self.is_afternoon) {
            (Some(clock), Some(is_afternoon)) => of_twelve_hours(clock, is_afternoon)?,
            (Some(clock), None) => clock,
            (None, Some(_)) => return None,
            (None, None) => NaiveTime::MIN,
        };
        match self.seconds_east {
            Some(seconds) => at_offset(date.and_time(clock), seconds),
            None => in_zone(date.and_time(clock), timezone),
        }
    }
}

/// Fills a place that is free.
fn set<T>(place: &mut Option<T>, value: T) -> Option<()> {
    if place.is_some() {
        return None;
    }
    *place = Some(value);
    Some(())
}

/// Returns the number, from 1, of a name that is written whole or by its first letters, three at least.
fn number_of(name: &str, names: &[&str]) -> Option<u32> {
    let is_name = |full: &&str| name.len() >= 3 && full.starts_with(name);
    let index = names.iter().position(is_name)?;
    u32::try_from(index + 1).ok()
}

fn of_twelve_hours(clock: NaiveTime, is_afternoon: bool) -> Option<NaiveTime> {
    use chrono::Timelike as _;
    let hour = clock.hour();
    if !(1..=12).contains(&hour) {
        return None;
    }
    clock.with_hour(hour % 12 + if is_afternoon { 12 } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> String {
        parse(text, Tz::Europe__Berlin).map_or_else(|| "none".to_owned(), |time| time.to_string())
    }

    #[test]
    fn words_are_read_in_any_order() {
        for text in [
            "Jan 02 2026",
            "January 2, 2026",
            "Jan. 2, 2026",
            "2 January 2026",
            "02 Jan 2026",
            "January 2nd, 2026",
            "Fri, 02 Jan 2026",
            "Friday, January 2, 2026",
            "Fr., 2 Jan 2026",
            "02-Jan-2026",
            "Jan 2 2026 00:00",
            "Fri Jan 2 2026 12:00 AM",
            "Thu Jan 01 2026 23:00:00 GMT+0000 (Coordinated Universal Time)",
            "Fri Jan 02 2026 00:00:00 GMT+0100 (Central European Standard Time)",
            "Fri Jan  2 00:00:00 2026",
            "Thu Jan  1 23:00:00 UTC 2026",
            "Fri, 02 Jan 2026 00:00:00 +01:00",
            "Thu, 01 Jan 2026 15:00:00 PST",
            "January 1, 2026 at 11:00pm GMT",
        ] {
            assert_eq!(check(text), "2026-01-01T23:00:00.000Z", "{text}");
        }
        assert_eq!(check("Sept 9 2026 1:30 pm"), "2026-09-09T11:30:00.000Z");
    }

    #[test]
    fn what_has_no_one_meaning_is_not_read() {
        for text in [
            "",
            "Jan 2",
            "January 2026",
            "Jan 2 26",
            "2 3 2026",
            "Jan Feb 2 2026",
            "Jan 2 2026 2027",
            "Jan 2 2026 10:00 11:00",
            "Jan 2 2026 10:00 CEST",
            "Jan 2 2026 10:00 IST",
            "Jan 2 2026 13:00 PM",
            "Jan 2 2026 pm",
            "Jan 32 2026",
            "Ja 2 2026",
            "Jan 2 2026 or so",
            "02 janvier 2026",
        ] {
            assert_eq!(check(text), "none", "{text}");
        }
    }
}
