//! Dates as feeds, front matter, pages, and manifests write them.
//!
//! The rule for what is missing: a time without a zone is in the site's timezone, and a date without a time is that
//! day's midnight there.

use chrono::{
    DateTime, Datelike as _, Days, FixedOffset, NaiveDate, NaiveDateTime, TimeDelta, TimeZone as _,
};
use chrono_tz::Tz;

use crate::model::time::Timestamp;

use super::worded_dates;

/// What a source says about a date.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum DateField {
    /// Nothing.
    #[default]
    Missing,
    /// Something that is no date.
    Unreadable(String),
    /// A moment.
    At(Timestamp),
}

impl DateField {
    /// Reads what a source wrote.
    pub(super) fn read(text: &str, timezone: Tz) -> Self {
        let text = text.trim();
        if text.is_empty() {
            return Self::Missing;
        }
        match parse(text, timezone) {
            // Hugo writes the year 1 where an article has no date.
            Some(time) if time.to_chrono().year() <= 1 => Self::Missing,
            Some(time) => Self::At(time),
            None => Self::Unreadable(text.to_owned()),
        }
    }

    /// Returns the moment, if it is one.
    pub(super) fn at(&self) -> Option<Timestamp> {
        match self {
            Self::At(time) => Some(*time),
            Self::Missing | Self::Unreadable(_) => None,
        }
    }
}

/// Reads a date in any of the forms that site generators write.
pub(super) fn parse(text: &str, timezone: Tz) -> Option<Timestamp> {
    let text = text.trim();
    if let Ok(time) = Timestamp::parse(text) {
        return Some(time);
    }
    zoned(text)
        .or_else(|| local(text, timezone))
        .or_else(|| worded_dates::parse(text, timezone))
        .or_else(|| rfc2822(text))
}

/// Returns the day on which `time` falls in `timezone`.
pub(super) fn day(time: Timestamp, timezone: Tz) -> NaiveDate {
    time.to_chrono().with_timezone(&timezone).date_naive()
}

/// Returns the day that an address names, as in `/2026/01/02/hello/`.
pub(super) fn day_in_path(url: &str) -> Option<NaiveDate> {
    let parts: Vec<&str> = url.split('/').collect();
    parts.windows(3).find_map(|window| match window {
        [year, month, day] if year.len() == 4 && month.len() <= 2 && day.len() <= 2 => {
            NaiveDate::from_ymd_opt(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?)
        }
        _ => None,
    })
}

/// Returns whether two days are at most one apart: a filename's date and a feed's differ by that where their zones do.
pub(super) fn about_same_day(one: NaiveDate, other: NaiveDate) -> bool {
    one.signed_duration_since(other).abs() <= TimeDelta::days(1)
}

/// Returns how many seconds east of Greenwich a zone is, where its name or number says so beyond doubt: `CEST` and
/// `IST` don't, and the American ones do only since mail has fixed them (RFC 2822).
pub(super) fn zone_seconds(zone: &str) -> Option<i32> {
    let hours = match zone.to_ascii_uppercase().as_str() {
        "Z" | "UTC" | "GMT" | "UT" => 0,
        "EDT" => -4,
        "EST" | "CDT" => -5,
        "CST" | "MDT" => -6,
        "MST" | "PDT" => -7,
        "PST" => -8,
        _ => return offset_seconds(zone),
    };
    Some(hours * 3600)
}

/// Reads `+01`, `+0100`, `+01:00`, and any of them behind `GMT` or `UTC`.
fn offset_seconds(zone: &str) -> Option<i32> {
    let zone = zone
        .strip_prefix("GMT")
        .or_else(|| zone.strip_prefix("UTC"))
        .unwrap_or(zone);
    let (sign, digits) = match zone.strip_prefix('+') {
        Some(digits) => (1, digits),
        None => (-1, zone.strip_prefix('-')?),
    };
    let (hours, minutes) = match digits.split_once(':') {
        Some(parts) => parts,
        None if digits.len() > 2 => digits.split_at_checked(2)?,
        None => (digits, "00"),
    };
    let number = |text: &str, below: i32| {
        let is_number = matches!(text.len(), 1 | 2) && text.bytes().all(|b| b.is_ascii_digit());
        let number: i32 = is_number.then_some(text)?.parse().ok()?;
        (number < below).then_some(number)
    };
    Some(sign * (number(hours, 24)? * 3600 + number(minutes, 60)? * 60))
}

/// Returns the midnight that begins `date`.
pub(super) fn midnight(date: NaiveDate, timezone: Tz) -> Option<Timestamp> {
    in_zone(date.and_hms_opt(0, 0, 0)?, timezone)
}

const LOCAL_FORMATS: [&str; 6] = [
    "%Y-%m-%dT%H:%M:%S%.f",
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%dT%H:%M",
    "%Y-%m-%d %H:%M",
    "%Y/%m/%d %H:%M:%S%.f",
    "%Y/%m/%d %H:%M",
];

/// ISO dates with a zone that RFC 3339 does not allow: `2024-01-02 10:00:00 +0100`, `2024-01-02 10:00 UTC`.
fn zoned(text: &str) -> Option<Timestamp> {
    if let Some(text) = text.strip_suffix('Z') {
        return local_time(text.trim_end()).and_then(|time| in_zone(time, Tz::UTC));
    }
    let named = text
        .rsplit_once(' ')
        .and_then(|(time, zone)| at_offset(local_time(time.trim_end())?, zone_seconds(zone)?))
        .or_else(|| {
            let utc = text
                .strip_suffix("UTC")
                .or_else(|| text.strip_suffix("GMT"))?;
            at_offset(local_time(utc)?, 0)
        });
    if named.is_some() {
        return named;
    }
    LOCAL_FORMATS.iter().find_map(|format| {
        DateTime::parse_from_str(text, &format!("{format}%#z"))
            .or_else(|_no_space| DateTime::parse_from_str(text, &format!("{format} %#z")))
            .ok()
            .map(|time| Timestamp::from_chrono(&time))
    })
}

fn local(text: &str, timezone: Tz) -> Option<Timestamp> {
    local_time(text)
        .and_then(|time| in_zone(time, timezone))
        .or_else(|| {
            ["%Y-%m-%d", "%Y/%m/%d"]
                .iter()
                .find_map(|format| NaiveDate::parse_from_str(text, format).ok())
                .and_then(|date| midnight(date, timezone))
        })
}

fn local_time(text: &str) -> Option<NaiveDateTime> {
    LOCAL_FORMATS
        .iter()
        .find_map(|format| NaiveDateTime::parse_from_str(text, format).ok())
}

/// Returns the moment of a time in a zone that is so many seconds east of Greenwich.
pub(super) fn at_offset(time: NaiveDateTime, seconds_east: i32) -> Option<Timestamp> {
    FixedOffset::east_opt(seconds_east)?
        .from_local_datetime(&time)
        .single()
        .map(|time| Timestamp::from_chrono(&time))
}

/// Where clocks are set back the earlier of the two moments counts; a time that a clock skips is read an hour later.
pub(super) fn in_zone(time: NaiveDateTime, timezone: Tz) -> Option<Timestamp> {
    timezone
        .from_local_datetime(&time)
        .earliest()
        .or_else(|| {
            let later = time.checked_add_signed(TimeDelta::hours(1))?;
            timezone.from_local_datetime(&later).earliest()
        })
        // A zone that skipped a whole day, as Samoa once did.
        .or_else(|| {
            let later = time.checked_add_days(Days::new(1))?;
            timezone.from_local_datetime(&later).earliest()
        })
        .map(|time| Timestamp::from_chrono(&time))
}

/// RSS dates, with what feeds get wrong: a false or foreign weekday, long month names, `UTC`, one-digit hours.
fn rfc2822(text: &str) -> Option<Timestamp> {
    let without_weekday = text.split_once(',').map_or(text, |(_weekday, rest)| rest);
    let mut words = without_weekday.split_whitespace();
    let (day, month, year, clock) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let zone = words.next().unwrap_or("+0000");
    let zone = if matches!(zone, "UTC" | "-0000") {
        "+0000"
    } else {
        zone
    };
    let month: String = month.chars().take(3).collect();
    let clock = if clock.find(':') == Some(1) {
        format!("0{clock}")
    } else {
        clock.to_owned()
    };
    DateTime::parse_from_rfc2822(&format!("{day} {month} {year} {clock} {zone}"))
        .ok()
        .map(|time| Timestamp::from_chrono(&time))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> String {
        match DateField::read(text, Tz::Europe__Berlin) {
            DateField::Missing => "missing".to_owned(),
            DateField::Unreadable(text) => format!("unreadable `{text}`"),
            DateField::At(time) => time.to_string(),
        }
    }

    #[test]
    fn a_zone_in_the_text_counts() {
        assert_eq!(check("2026-01-02T10:00:00Z"), "2026-01-02T10:00:00.000Z");
        assert_eq!(
            check("2026-01-02 10:00:00 +0530"),
            "2026-01-02T04:30:00.000Z"
        );
        assert_eq!(
            check("2026-01-02T10:00:00-0800"),
            "2026-01-02T18:00:00.000Z"
        );
        assert_eq!(check("2026-01-02 10:00 UTC"), "2026-01-02T10:00:00.000Z");
        assert_eq!(
            check("Fri, 02 Jan 2026 10:00:00 GMT"),
            "2026-01-02T10:00:00.000Z"
        );
        assert_eq!(
            check("Thurs, 2 January 2026 9:00:00 UTC"),
            "2026-01-02T09:00:00.000Z"
        );
        assert_eq!(check("02 Jan 2026 10:00 EST"), "2026-01-02T15:00:00.000Z");
        assert_eq!(check("2026-01-02 10:00 PST"), "2026-01-02T18:00:00.000Z");
        assert_eq!(
            check("2026-01-02 10:00:00 +5:30"),
            "2026-01-02T04:30:00.000Z"
        );
    }

    #[test]
    fn without_a_zone_the_sites_counts() {
        assert_eq!(check("2026-01-02"), "2026-01-01T23:00:00.000Z");
        assert_eq!(check("2026-07-02"), "2026-07-01T22:00:00.000Z");
        assert_eq!(check("2026-01-02T09:00"), "2026-01-02T08:00:00.000Z");
        assert_eq!(check("2026-01-02 09:00:30"), "2026-01-02T08:00:30.000Z");
        // The clock jumps from 2:00 to 3:00, and back from 3:00 to 2:00.
        assert_eq!(check("2026-03-29 02:30"), "2026-03-29T01:30:00.000Z");
        assert_eq!(check("2026-10-25 02:30"), "2026-10-25T00:30:00.000Z");
    }

    #[test]
    fn what_is_no_date_is_said() {
        assert_eq!(check(""), "missing");
        assert_eq!(check("0001-01-01T00:00:00Z"), "missing");
        assert_eq!(check("soon"), "unreadable `soon`");
        for text in [
            "2026-01-02 10:00 CEST",
            "2026-01-02 10:00 +24:00",
            "2023-01-29 18:30:22 2023 -0800",
        ] {
            assert_eq!(check(text), format!("unreadable `{text}`"));
        }
        assert_eq!(check("2026-13-01"), "unreadable `2026-13-01`");
        assert_eq!(
            check("31 Foo 2026 10:00:00 GMT"),
            "unreadable `31 Foo 2026 10:00:00 GMT`"
        );
    }

    #[test]
    fn an_address_may_name_a_day() {
        let check = |url| day_in_path(url).map(|day| day.to_string());
        let new_year = Some("2026-01-02".to_owned());
        assert_eq!(check("https://blog.example/2026/01/02/hello/"), new_year);
        assert_eq!(check("https://blog.example/news/2026/1/2/hello"), new_year);
        assert_eq!(check("https://blog.example/2026/13/02/hello/"), None);
        assert_eq!(check("https://blog.example/2026/01/hello/"), None);
    }

    #[test]
    fn days_are_compared_on_the_sites_calendar() {
        let day_of = |text| day(parse(text, Tz::UTC).unwrap(), Tz::Europe__Berlin);
        assert!(about_same_day(
            day_of("2026-01-01"),
            day_of("2026-01-02T22:59:00Z")
        ));
        assert!(!about_same_day(
            day_of("2026-01-01"),
            day_of("2026-01-02T23:00:00Z")
        ));
    }
}
