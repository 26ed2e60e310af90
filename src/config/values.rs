//! How single values are written: durations, dates, addresses, names of environment variables.

use std::time::Duration;

use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, TimeZone as _};
use chrono_tz::{TZ_VARIANTS, Tz};
use toml::de::DeValue;
use url::{Host, Url};

use super::document::Wrong;
use super::suggest::closest;
use crate::model::channel::Hours;
use crate::model::time::{Timestamp, parse_duration};

/// Minutes in a day; also how `24:00` is counted.
const DAY_MINUTES: u16 = 24 * 60;
/// A name longer than this that looks random is taken for a secret.
const VARIABLE_LENGTH_SUSPICIOUS: usize = 20;

/// Reads a string, which may be empty.
pub(super) fn any_text(value: &DeValue<'_>) -> Result<String, Wrong> {
    value
        .as_str()
        .map(str::to_owned)
        .ok_or_else(|| not_a(value, "a string", "put it in quotes"))
}

/// Reads a string with something in it.
pub(super) fn text(value: &DeValue<'_>) -> Result<String, Wrong> {
    let text = any_text(value)?;
    if text.trim().is_empty() {
        return Err(Wrong::new("is empty", "give it a value or remove the key"));
    }
    Ok(text)
}

/// Reads `true` or `false`.
pub(super) fn flag(value: &DeValue<'_>) -> Result<bool, Wrong> {
    value.as_bool().ok_or_else(|| {
        not_a(
            value,
            "a boolean",
            "write `true` or `false`, without quotes",
        )
    })
}

/// Reads a whole number from zero on.
pub(super) fn number<N: TryFrom<i64>>(value: &DeValue<'_>) -> Result<N, Wrong> {
    let hint = "write a whole number, without quotes";
    let digits = value
        .as_integer()
        .ok_or_else(|| not_a(value, "a number", hint))?;
    i64::from_str_radix(digits.as_str(), digits.radix())
        .ok()
        .filter(|number| *number >= 0)
        .and_then(|number| N::try_from(number).ok())
        .ok_or_else(|| Wrong::new("is out of range", hint))
}

/// Reads a duration such as `75s`.
pub(super) fn duration(value: &DeValue<'_>) -> Result<Duration, Wrong> {
    const HINT: &str =
        "write an integer with `ms`, `s`, `m`, `h` or `d` in quotes, such as `\"75s\"`";
    let text = value
        .as_str()
        .ok_or_else(|| not_a(value, "a duration", HINT))?;
    parse_duration(text).map_err(|_not_one| Wrong::new(format!("is `{text}`, no duration"), HINT))
}

/// Reads a list of durations.
pub(super) fn durations(value: &DeValue<'_>) -> Result<Vec<Duration>, Wrong> {
    const HINT: &str = "write a list of durations, such as `[\"3s\", \"10s\", \"30s\"]`";
    let list = value
        .as_array()
        .ok_or_else(|| not_a(value, "a list", HINT))?;
    list.iter()
        .map(|entry| duration(entry.get_ref()).map_err(|wrong| Wrong::new(wrong.message, HINT)))
        .collect()
}

/// Reads one of a few words.
pub(super) fn word<T: Copy>(value: &DeValue<'_>, words: &[(&'static str, T)]) -> Result<T, Wrong> {
    let labels: Vec<&str> = words.iter().map(|(label, _)| *label).collect();
    let all = format!("write one of {}", labels.join(", "));
    let text = value
        .as_str()
        .ok_or_else(|| not_a(value, "a string", &all))?;
    if let Some((_, meaning)) = words.iter().find(|(label, _)| *label == text) {
        return Ok(*meaning);
    }
    let hint = match closest(text, &labels) {
        Some(near) => format!("did you mean `{near}`? The words are {}", labels.join(", ")),
        None => all,
    };
    Err(Wrong::new(
        format!("is `{text}`, which is no known word"),
        hint,
    ))
}

/// Reads a list of some of a few words, each once.
pub(super) fn words(value: &DeValue<'_>, words: &[&'static str]) -> Result<Vec<String>, Wrong> {
    let hint = format!("write a list of some of {}", words.join(", "));
    let list = value
        .as_array()
        .ok_or_else(|| not_a(value, "a list", &hint))?;
    let known: Vec<(&'static str, &'static str)> =
        words.iter().map(|word| (*word, *word)).collect();
    let mut read: Vec<String> = Vec::new();
    for entry in list {
        let label = word(entry.get_ref(), &known)?;
        if !read.iter().any(|known| known == label) {
            read.push(label.to_owned());
        }
    }
    Ok(read)
}

/// Reads the name of a timezone.
pub(super) fn timezone(value: &DeValue<'_>) -> Result<Tz, Wrong> {
    let text = text(value)?;
    text.parse().map_err(|_unknown| {
        let names: Vec<&str> = TZ_VARIANTS.iter().map(|zone| zone.name()).collect();
        let hint = match closest(&text, &names) {
            Some(near) => format!("did you mean `{near}`?"),
            None => {
                "write a name of the IANA database, such as `Europe/Berlin` or `UTC`".to_owned()
            }
        };
        Wrong::new(format!("is `{text}`, no known timezone"), hint)
    })
}

/// Reads a date, or a date and time: quoted or as TOML writes it. Without an offset it is in `timezone`.
pub(super) fn moment(value: &DeValue<'_>, timezone: Tz) -> Result<Timestamp, Wrong> {
    const HINT: &str = "write a date such as `\"2026-01-01\"`";
    let text = match value {
        DeValue::String(text) => text.trim().to_owned(),
        DeValue::Datetime(date) => date.to_string(),
        DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Array(_)
        | DeValue::Table(_) => return Err(not_a(value, "a date", HINT)),
    };
    parse_moment(&text, timezone).ok_or_else(|| Wrong::new(format!("is `{text}`, no date"), HINT))
}

fn parse_moment(text: &str, timezone: Tz) -> Option<Timestamp> {
    if let Ok(moment) = DateTime::parse_from_rfc3339(text) {
        return Some(Timestamp::from_chrono(&moment));
    }
    let local = if let Ok(date) = NaiveDate::parse_from_str(text, "%Y-%m-%d") {
        date.and_time(NaiveTime::MIN)
    } else {
        let text = text.replacen(' ', "T", 1);
        ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M"]
            .iter()
            .find_map(|format| NaiveDateTime::parse_from_str(&text, format).ok())?
    };
    // A local time that a clock change skips or repeats: the hour after, or the earlier of the two.
    [0, 60, 120].into_iter().find_map(|minutes| {
        let shifted = local.checked_add_signed(chrono::TimeDelta::minutes(minutes))?;
        let moment = timezone.from_local_datetime(&shifted).earliest()?;
        Some(Timestamp::from_chrono(&moment))
    })
}

/// Reads a window of the day such as `09:00-18:00`.
pub(super) fn hours(value: &DeValue<'_>, timezone: Tz) -> Result<Hours, Wrong> {
    const HINT: &str = "write two times of the day, such as `\"09:00-18:00\"`";
    let text = text(value)?;
    let wrong = || Wrong::new(format!("is `{text}`, no window of the day"), HINT);
    let (from, to) = text.split_once('-').ok_or_else(wrong)?;
    let from_minute = minute_of_day(from)
        .filter(|minute| *minute < DAY_MINUTES)
        .ok_or_else(wrong)?;
    let to_minute = minute_of_day(to).ok_or_else(wrong)?;
    if from_minute == to_minute {
        return Err(Wrong::new(
            "is an empty window",
            "remove the key, or write `\"00:00-24:00\"` for the whole day",
        ));
    }
    Ok(Hours {
        from_minute,
        to_minute,
        timezone,
    })
}

fn minute_of_day(text: &str) -> Option<u16> {
    let (hour, minute) = text.trim().split_once(':')?;
    let digits = |part: &str| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(hour) || !digits(minute) {
        return None;
    }
    let hour: u16 = hour.parse().ok()?;
    let minute: u16 = minute.parse().ok()?;
    let total = hour * 60 + minute;
    (minute < 60 && total <= DAY_MINUTES).then_some(total)
}

/// Reads the name of an environment variable. The value is never repeated: it may be the secret itself.
pub(super) fn variable(value: &DeValue<'_>) -> Result<String, Wrong> {
    const HINT: &str = "write the name of an environment variable, such as `\"MASTODON_TOKEN\"`, \
        and keep the secret itself out of the file";
    let name = value
        .as_str()
        .ok_or_else(|| not_a(value, "a string", HINT))?;
    let first_is_letter = name
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    let legal = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !first_is_letter || !legal {
        return Err(Wrong::new("can't be the name of a variable", HINT));
    }
    let random = name.len() >= VARIABLE_LENGTH_SUSPICIOUS
        && name.bytes().any(|byte| byte.is_ascii_lowercase())
        && name.bytes().any(|byte| byte.is_ascii_digit())
        && !name.contains('_');
    if random {
        return Err(Wrong::new(
            "looks like a secret, not like the name of a variable",
            HINT,
        ));
    }
    Ok(name.to_owned())
}

/// Reads the address that a service or a source is called at: `https`, or `http` on this machine.
pub(super) fn address(value: &DeValue<'_>) -> Result<Url, Wrong> {
    let url = web_url(&text(value)?)?;
    if url.scheme() == "http" && !is_loopback(&url) {
        return Err(Wrong::new(
            "is a plain `http` address",
            "write `https`; `http` is accepted for this machine only (127.0.0.0/8, ::1, localhost)",
        ));
    }
    Ok(url)
}

/// Reads the address of a server, to which paths are appended: it always ends in `/`.
pub(super) fn server(value: &DeValue<'_>) -> Result<Url, Wrong> {
    let mut url = address(value)?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err(Wrong::new(
            "has a query or a fragment",
            "write the server's address alone, such as `\"https://mastodon.example\"`",
        ));
    }
    end_in_slash(&mut url);
    Ok(url)
}

/// Reads an absolute `http` or `https` URL without credentials.
pub(super) fn web_url(text: &str) -> Result<Url, Wrong> {
    const HINT: &str = "write an absolute address, such as `\"https://blog.example\"`";
    let url = Url::parse(text.trim())
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
        .ok_or_else(|| Wrong::new("is not an absolute http or https address", HINT))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Wrong::new(
            "has a user name or password in it",
            "remove it: secrets are named by environment variable",
        ));
    }
    Ok(url)
}

/// Makes the path end in `/`, so that paths below it can be joined.
pub(super) fn end_in_slash(url: &mut Url) {
    if !url.path().ends_with('/') {
        let path = format!("{}/", url.path());
        url.set_path(&path);
    }
}

/// Whether an address is this machine's own.
pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            name == "localhost" || name.ends_with(".localhost")
        }
        None => false,
    }
}

/// Reads a BCP 47 language tag.
pub(super) fn language(value: &DeValue<'_>) -> Result<String, Wrong> {
    let text = text(value)?;
    if is_language(&text) {
        Ok(text)
    } else {
        Err(Wrong::new(
            format!("is `{text}`, no language tag"),
            "write a BCP 47 tag, such as `\"en\"` or `\"pt-BR\"`",
        ))
    }
}

/// Whether a text has the shape of a BCP 47 language tag.
pub(crate) fn is_language(text: &str) -> bool {
    let mut parts = text.split('-');
    let primary = parts.next().unwrap_or_default();
    (2..=3).contains(&primary.len())
        && primary.bytes().all(|byte| byte.is_ascii_alphabetic())
        && parts.all(|part| {
            (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
}

fn not_a(value: &DeValue<'_>, wanted: &str, hint: &str) -> Wrong {
    let given = match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    };
    Wrong::new(format!("is {given}, not {wanted}"), hint)
}
