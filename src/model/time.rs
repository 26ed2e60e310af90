//! Points in time as the ledger writes them, and durations as people write them.

use std::fmt;
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, TimeZone as _, Utc};

/// A point in time, in whole milliseconds since the Unix epoch.
///
/// The wire form is RFC 3339 in UTC with three fractional digits. Moments outside of its years, 0000 to 9999, are
/// taken as the nearest one inside: a row with such a time could be written and never read again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// The text is not an RFC 3339 timestamp.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an RFC 3339 timestamp")]
pub struct TimestampError(pub String);

impl Timestamp {
    /// The Unix epoch.
    pub const EPOCH: Self = Self(0);

    /// The first moment of year 0000.
    const FIRST: i64 = -62_167_219_200_000;
    /// The last moment of year 9999.
    const LAST: i64 = 253_402_300_799_999;

    /// Takes milliseconds since the Unix epoch.
    pub const fn from_millis(millis: i64) -> Self {
        if millis < Self::FIRST {
            Self(Self::FIRST)
        } else if millis > Self::LAST {
            Self(Self::LAST)
        } else {
            Self(millis)
        }
    }

    /// Returns milliseconds since the Unix epoch.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Reads an RFC 3339 timestamp with any offset.
    pub fn parse(text: &str) -> Result<Self, TimestampError> {
        DateTime::parse_from_rfc3339(text)
            .map(|time| Self::from_chrono(&time))
            .map_err(|_unreadable| TimestampError(text.to_owned()))
    }

    /// Takes a chrono time, cut to whole milliseconds.
    pub fn from_chrono<Z: chrono::TimeZone>(time: &DateTime<Z>) -> Self {
        Self::from_millis(time.timestamp_millis())
    }

    /// Returns the same moment as a chrono time.
    pub fn to_chrono(self) -> DateTime<Utc> {
        Utc.timestamp_millis_opt(self.0)
            .single()
            .unwrap_or(DateTime::<Utc>::MAX_UTC)
    }

    /// Returns the moment `duration` later; far-away moments stay at the limit.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self::from_millis(self.0.saturating_add(millis(duration)))
    }

    /// Returns the moment `duration` earlier; far-away moments stay at the limit.
    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        Self::from_millis(self.0.saturating_sub(millis(duration)))
    }

    /// Returns how long after `earlier` this is; zero if it is not after it.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Rounds down to a whole second, as services do with the times they show.
    #[must_use]
    pub fn floor_to_second(self) -> Self {
        Self(self.0 - self.0.rem_euclid(1000))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(
            &self
                .to_chrono()
                .to_rfc3339_opts(SecondsFormat::Millis, true),
        )
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Reads a duration as the configuration writes it: an integer with `ms`, `s`, `m`, `h` or `d`.
pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    let error = || DurationError(text.to_owned());
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_not_a_number| error())?;
    let millis_per_unit = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(error()),
    };
    number
        .checked_mul(millis_per_unit)
        .map(Duration::from_millis)
        .ok_or_else(error)
}

/// The text is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a duration: write an integer with `ms`, `s`, `m`, `h` or `d`, such as `75s`")]
pub struct DurationError(pub String);

/// Writes a duration for people, to the precision that matters at its size.
pub fn duration_text(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0 if duration.is_zero() => "0s".to_owned(),
        0 => format!("{}ms", duration.as_millis()),
        1..60 => format!("{seconds}s"),
        60..3_600 if seconds.is_multiple_of(60) => format!("{}m", seconds / 60),
        60..3_600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{}h {:02}m", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{}d {:02}h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_an_integer_and_a_unit() {
        let check = |text: &str| {
            parse_duration(text)
                .ok()
                .map(|duration| duration.as_millis())
        };
        assert_eq!(check("75s"), Some(75_000));
        assert_eq!(check("2m"), Some(120_000));
        assert_eq!(check("0s"), Some(0));
        assert_eq!(check("250ms"), Some(250));
        assert_eq!(check("1d"), Some(86_400_000));
        for bad in [
            "",
            "s",
            "1",
            "1.5s",
            "-1s",
            "1w",
            " 1s",
            "1 s",
            "99999999999999999999s",
        ] {
            assert_eq!(check(bad), None, "{bad}");
        }
    }

    #[test]
    fn timestamps_are_written_in_utc_with_milliseconds() {
        let time = Timestamp::parse("2026-11-29T11:00:00.1234+01:00").unwrap();
        assert_eq!(time.to_string(), "2026-11-29T10:00:00.123Z");
        assert_eq!(
            time.floor_to_second().to_string(),
            "2026-11-29T10:00:00.000Z"
        );
        assert!(Timestamp::parse("2026-11-29").is_err());
    }
}
