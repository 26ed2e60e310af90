//! What a service answered, and what can be read off it without knowing the service.

use std::time::Duration;

use chrono::DateTime;
use serde::de::DeserializeOwned;
use serde_json::Value;
use ureq::http::HeaderMap;

use crate::model::outcome::{Outcome, Wait};
use crate::model::time::Timestamp;

/// A service that asks for more is asked again after a day all the same: the header may be nonsense.
const WAIT_MAX: Duration = Duration::from_hours(24);

/// A `Date` header has whole seconds: a difference below this shows nothing.
const DATE_RESOLUTION: Duration = Duration::from_secs(1);

/// What came of one request.
#[derive(Debug)]
#[must_use = "a request whose reply is not read may have been done"]
pub(crate) enum Reply {
    /// The status line and the headers came, and the body as far as it goes.
    Answer(Answer),
    /// Provably no byte of the request left.
    NotSent {
        /// What failed, scrubbed.
        reason: String,
    },
    /// The request left, or began to, and no status came back.
    Lost {
        /// What was seen, scrubbed.
        reason: String,
    },
}

/// The status and what came with it.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// The HTTP status.
    pub(crate) status: u16,
    /// The headers.
    pub(crate) headers: HeaderMap,
    /// The body, or its beginning.
    pub(crate) body: Vec<u8>,
    /// Whether all of the body came. False also for one over the limit.
    pub(crate) body_complete: bool,
    /// When the headers were here, on our clock.
    pub(crate) received_at: Timestamp,
    /// From the start of the request to the headers of the answer.
    pub(crate) round_trip: Duration,
}

impl Reply {
    /// Returns the answer to a write, or what its absence means.
    pub(crate) fn of_write(self) -> Result<Answer, Outcome> {
        match self {
            Self::Answer(answer) => Ok(answer),
            Self::NotSent { reason } => Err(Outcome::NotSent { reason }),
            Self::Lost { reason } => Err(Outcome::InDoubt { reason }),
        }
    }

    /// Returns the answer to a read, or why there is none.
    pub(crate) fn of_read(self) -> Result<Answer, String> {
        match self {
            Self::Answer(answer) => Ok(answer),
            Self::NotSent { reason } | Self::Lost { reason } => Err(reason),
        }
    }
}

impl Answer {
    /// Returns a header if it is there once and readable.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns the body as JSON, if all of it came and it is.
    pub(crate) fn json(&self) -> Option<Value> {
        if !self.body_complete {
            return None;
        }
        serde_json::from_slice(&self.body).ok()
    }

    /// Returns the list that a successful read asked for, if all of it came.
    pub(crate) fn list<T: DeserializeOwned>(&self) -> Option<Vec<T>> {
        if self.status != 200 || !self.body_complete {
            return None;
        }
        serde_json::from_slice(&self.body).ok()
    }

    /// Checks that a cache on the way did not answer in the service's place: what it does not show may be there.
    pub(crate) fn check_fresh(&self) -> Result<(), String> {
        match self.header("Age") {
            None | Some("0") => Ok(()),
            Some(age) => Err(format!(
                "the answer is {age} s old, from a cache on the way"
            )),
        }
    }

    /// Returns the `error` of a JSON body: the shape in which the services' own code refuses. A page of a proxy in
    /// front of the service has none.
    pub(crate) fn json_error(&self) -> Option<String> {
        self.json()?.get("error")?.as_str().map(str::to_owned)
    }

    /// Returns how far the service's clock is from ours, beyond what a `Date` header can show.
    pub(crate) fn clock_skew(&self) -> Option<Duration> {
        let theirs = self.date()?;
        let apart = self
            .received_at
            .since(theirs)
            .max(theirs.since(self.received_at));
        Some(apart.saturating_sub(DATE_RESOLUTION + self.round_trip))
    }

    /// Returns how far the service's clock may be behind ours; zero where the `Date` header shows no difference.
    pub(crate) fn clock_behind(&self) -> Duration {
        match (self.date(), self.clock_skew()) {
            (Some(theirs), Some(skew)) if !skew.is_zero() => self.received_at.since(theirs),
            _ => Duration::ZERO,
        }
    }

    /// Returns how long the service asks us to wait.
    ///
    /// `Retry-After` is a number of seconds or a date; Mastodon has only `X-RateLimit-Reset` (a date in ISO 8601),
    /// older Bluesky servers only `RateLimit-Reset` (Unix seconds).
    pub(crate) fn wait(&self) -> Option<Wait> {
        let wait = ["Retry-After", "RateLimit-Reset", "X-RateLimit-Reset"]
            .into_iter()
            .find_map(|name| parse_wait(self.header(name)?.trim()))?;
        let latest = self.received_at.plus(WAIT_MAX);
        Some(match wait {
            Wait::For(duration) => Wait::For(duration.min(WAIT_MAX)),
            Wait::Until(moment) => Wait::Until(moment.min(latest)),
        })
    }

    /// Returns the moment before which nothing more is taken, where the answer says that it was the last (Bluesky's servers
    /// do, and refuse from then on). A moment that is past, or too far away, is nonsense.
    pub(crate) fn spent_until(&self) -> Option<Timestamp> {
        if self.header("RateLimit-Remaining")?.trim() != "0" {
            return None;
        }
        let reset = match parse_wait(self.header("RateLimit-Reset")?.trim())? {
            Wait::For(duration) => self.received_at.plus(duration),
            Wait::Until(moment) => moment,
        };
        let latest = self.received_at.plus(WAIT_MAX);
        (self.received_at < reset && reset <= latest).then_some(reset)
    }

    fn date(&self) -> Option<Timestamp> {
        parse_http_date(self.header("Date")?)
    }
}

/// A small number is seconds from now, a big one Unix seconds, everything else a date.
fn parse_wait(text: &str) -> Option<Wait> {
    /// 2001: no wait is that long, no reset that old.
    const UNIX_SECONDS_MIN: u64 = 1_000_000_000;
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(if seconds < UNIX_SECONDS_MIN {
            Wait::For(Duration::from_secs(seconds))
        } else {
            Wait::Until(Timestamp::EPOCH.plus(Duration::from_secs(seconds)))
        });
    }
    Timestamp::parse(text)
        .ok()
        .or_else(|| parse_http_date(text))
        .map(Wait::Until)
}

fn parse_http_date(text: &str) -> Option<Timestamp> {
    DateTime::parse_from_rfc2822(text)
        .ok()
        .map(|time| Timestamp::from_chrono(&time))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ureq::http::{HeaderName, HeaderValue};

    fn answer(headers: &[(&'static str, &str)]) -> Answer {
        Answer {
            status: 429,
            headers: headers
                .iter()
                .map(|(name, value)| {
                    (
                        HeaderName::from_bytes(name.as_bytes()).unwrap(),
                        HeaderValue::from_str(value).unwrap(),
                    )
                })
                .collect(),
            body: Vec::new(),
            body_complete: true,
            received_at: Timestamp::parse("2026-11-29T10:00:00.500Z").unwrap(),
            round_trip: Duration::from_millis(300),
        }
    }

    #[test]
    fn a_wait_is_read_in_every_form_that_services_use() {
        let check = |name: &'static str, value: &str| answer(&[(name, value)]).wait();
        let until = |text: &str| Some(Wait::Until(Timestamp::parse(text).unwrap()));
        assert_eq!(
            check("Retry-After", "30"),
            Some(Wait::For(Duration::from_secs(30)))
        );
        assert_eq!(
            check("Retry-After", "Sun, 29 Nov 2026 10:05:00 GMT"),
            until("2026-11-29T10:05:00Z")
        );
        assert_eq!(
            check("X-RateLimit-Reset", "2026-11-29T12:00:00.000000Z"),
            until("2026-11-29T12:00:00Z")
        );
        assert_eq!(
            check("RateLimit-Reset", "1795947000"),
            until("2026-11-29T10:10:00Z")
        );
        // Nonsense does not put a channel to sleep for a year.
        assert_eq!(check("Retry-After", "99999999"), Some(Wait::For(WAIT_MAX)));
        assert_eq!(
            check("X-RateLimit-Reset", "2036-01-01T00:00:00Z"),
            until("2026-11-30T10:00:00.500Z")
        );
        assert_eq!(check("Retry-After", "soon"), None);
        assert_eq!(check("Server", "1"), None);
        let both = answer(&[("RateLimit-Reset", "1795947000"), ("Retry-After", "7")]);
        assert_eq!(both.wait(), Some(Wait::For(Duration::from_secs(7))));
    }

    #[test]
    fn what_is_used_up_is_told_ahead_within_reason() {
        let check = |remaining: &str, reset: &str| {
            let headers = [
                ("RateLimit-Remaining", remaining),
                ("RateLimit-Reset", reset),
            ];
            answer(&headers)
                .spent_until()
                .map(|moment| moment.to_string())
        };
        let until = |text: &str| Some(text.to_owned());
        assert_eq!(check("0", "1795947000"), until("2026-11-29T10:10:00.000Z"));
        assert_eq!(check("0", "60"), until("2026-11-29T10:01:00.500Z"));
        assert_eq!(check("1", "1795947000"), None);
        assert_eq!(check("none", "1795947000"), None);
        assert_eq!(check("0", "soon"), None);
        // In the past, and days ahead.
        assert_eq!(check("0", "1795946400"), None);
        assert_eq!(check("0", "1796119200"), None);
        assert_eq!(check("0", "99999999999"), None);
        assert_eq!(answer(&[("RateLimit-Remaining", "0")]).spent_until(), None);
        assert_eq!(
            answer(&[("RateLimit-Reset", "1795947000")]).spent_until(),
            None
        );
    }

    #[test]
    fn a_difference_counts_only_beyond_what_a_date_header_shows() {
        let check = |date: &str| {
            let answer = answer(&[("Date", date)]);
            (
                answer.clock_skew().map(|skew| skew.as_millis()),
                answer.clock_behind().as_millis(),
            )
        };
        assert_eq!(check("Sun, 29 Nov 2026 10:00:00 GMT"), (Some(0), 0));
        assert_eq!(check("Sun, 29 Nov 2026 09:59:59 GMT"), (Some(200), 1_500));
        assert_eq!(
            check("Sun, 29 Nov 2026 09:58:00 GMT"),
            (Some(119_200), 120_500)
        );
        assert_eq!(check("Sun, 29 Nov 2026 10:02:00 GMT"), (Some(118_200), 0));
        assert_eq!(check("today"), (None, 0));
        assert_eq!(answer(&[]).clock_skew(), None);
    }
}
