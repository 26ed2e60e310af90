//! Orders to misbehave: `CHANNEL:N=FAULT`, the Nth write to that channel.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::model::ids::{ChannelName, ChannelNameError};
use crate::model::time::{DurationError, parse_duration};

/// One order: which write goes wrong, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultOrder {
    /// The channel whose stand-in misbehaves.
    pub channel: ChannelName,
    /// Which write to it, from 1; refused ones count.
    pub number: usize,
    /// What happens.
    pub fault: Fault,
}

/// What goes wrong with one write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Stored; the connection is cut without an answer.
    LostAnswer,
    /// The connection is cut before anything is stored.
    LostRequest,
    /// Stored and answered only after this time on the clock, whether or not the client still waits.
    Slow(Duration),
    /// Answered with this status instead of the service's own answer.
    Status {
        /// The status code, 200 to 599.
        code: u16,
        /// Seconds, for a `Retry-After` field.
        retry_after: Option<u64>,
        /// Whether the request takes effect all the same.
        stored: bool,
    },
    /// Stored and written to disk; then SIGKILL for this very process.
    Kill,
    /// SIGKILL for this very process before anything is stored.
    KillBefore,
}

/// The text is not a fault order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FaultError {
    /// A separator is missing.
    #[error("`{0}` is not a fault order: write CHANNEL:N=FAULT, such as `mastodon:2=lost-answer`")]
    Form(String),
    /// What stands before the colon is no channel's name.
    #[error("in the fault order `{order}`")]
    Channel {
        /// The whole order.
        order: String,
        /// What is wrong with the name.
        #[source]
        source: ChannelNameError,
    },
    /// N is not a number from 1.
    #[error("`{number}` in the fault order `{order}` does not number a write: count from 1")]
    Number {
        /// The whole order.
        order: String,
        /// What stands where the number should.
        number: String,
    },
    /// There is no such fault.
    #[error(
        "`{0}` is not a fault: write `lost-answer`, `lost-request`, `slow=12s`, `status=500`, `status=500-stored`, `status=429:30`, `kill` or `kill-before`"
    )]
    Unknown(String),
    /// The delay can't be read.
    #[error("in the fault `{fault}`")]
    Delay {
        /// The fault.
        fault: String,
        /// What is wrong with the delay.
        #[source]
        source: DurationError,
    },
    /// The status can't be read.
    #[error(
        "`{0}` does not order a status: write a code from 200 to 599, with `-stored` if the post is to exist all the same and `:SECONDS` for Retry-After, such as `status=429:30`"
    )]
    Status(String),
}

impl FromStr for FaultOrder {
    type Err = FaultError;

    fn from_str(order: &str) -> Result<Self, FaultError> {
        let form = || FaultError::Form(order.to_owned());
        let (channel, rest) = order.split_once(':').ok_or_else(form)?;
        let (number, fault) = rest.split_once('=').ok_or_else(form)?;
        let channel = ChannelName::new(channel).map_err(|source| FaultError::Channel {
            order: order.to_owned(),
            source,
        })?;
        let number = parse_digits(number)
            .filter(|number| *number > 0)
            .ok_or_else(|| FaultError::Number {
                order: order.to_owned(),
                number: number.to_owned(),
            })?;
        Ok(Self {
            channel,
            number,
            fault: fault.parse()?,
        })
    }
}

impl FromStr for Fault {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        match text.split_once('=') {
            None => match text {
                "lost-answer" => Ok(Self::LostAnswer),
                "lost-request" => Ok(Self::LostRequest),
                "kill" => Ok(Self::Kill),
                "kill-before" => Ok(Self::KillBefore),
                _ => Err(FaultError::Unknown(text.to_owned())),
            },
            Some(("slow", delay)) => {
                parse_duration(delay)
                    .map(Self::Slow)
                    .map_err(|source| FaultError::Delay {
                        fault: text.to_owned(),
                        source,
                    })
            }
            Some(("status", status)) => {
                parse_status(status).ok_or_else(|| FaultError::Status(text.to_owned()))
            }
            Some(_) => Err(FaultError::Unknown(text.to_owned())),
        }
    }
}

fn parse_status(text: &str) -> Option<Fault> {
    let (status, retry_after) = match text.split_once(':') {
        Some((status, seconds)) => (status, Some(parse_digits(seconds)?)),
        None => (text, None),
    };
    let bare = status.strip_suffix("-stored");
    let code = parse_digits(bare.unwrap_or(status))?;
    (200..=599).contains(&code).then_some(Fault::Status {
        code,
        retry_after,
        stored: bare.is_some(),
    })
}

/// Reads plain digits: `parse` alone takes a sign too.
fn parse_digits<T: FromStr>(text: &str) -> Option<T> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

impl fmt::Display for FaultOrder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}={}", self.channel, self.number, self.fault)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LostAnswer => formatter.write_str("lost-answer"),
            Self::LostRequest => formatter.write_str("lost-request"),
            Self::Slow(delay) if delay.subsec_millis() == 0 => {
                write!(formatter, "slow={}s", delay.as_secs())
            }
            Self::Slow(delay) => write!(formatter, "slow={}ms", delay.as_millis()),
            Self::Status {
                code,
                retry_after,
                stored,
            } => {
                write!(formatter, "status={code}")?;
                if *stored {
                    formatter.write_str("-stored")?;
                }
                match retry_after {
                    Some(seconds) => write!(formatter, ":{seconds}"),
                    None => Ok(()),
                }
            }
            Self::Kill => formatter.write_str("kill"),
            Self::KillBefore => formatter.write_str("kill-before"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read_and_written_alike() {
        for order in [
            "mastodon:1=lost-answer",
            "mastodon:12=lost-request",
            "bluesky:2=slow=12s",
            "bluesky:2=slow=1500ms",
            "devto:3=status=500",
            "devto:3=status=500-stored",
            "devto:3=status=429:30",
            "devto:3=status=503-stored:30",
            "search:1=kill",
            "search:1=kill-before",
        ] {
            let read: FaultOrder = order.parse().unwrap();
            assert_eq!(read.to_string(), order);
        }
        assert_eq!("slow=2m".parse(), Ok(Fault::Slow(Duration::from_mins(2))));
    }

    #[test]
    fn a_wrong_order_is_told_how_to_be_right() {
        let check = |order: &str| order.parse::<FaultOrder>().unwrap_err().to_string();
        let form = check("mastodon=kill");
        assert_eq!(
            form,
            "`mastodon=kill` is not a fault order: write CHANNEL:N=FAULT, such as `mastodon:2=lost-answer`"
        );
        assert!(check("mastodon:kill").contains("CHANNEL:N=FAULT"));
        assert_eq!(check("Mast:1=kill"), "in the fault order `Mast:1=kill`");
        assert_eq!(
            check("mastodon:0=kill"),
            "`0` in the fault order `mastodon:0=kill` does not number a write: count from 1"
        );
        for number in ["x", "-1", "+1", "", "1.5"] {
            assert!(check(&format!("mastodon:{number}=kill")).contains("count from 1"));
        }
        for fault in ["", "lost", "kill=1", "lost-answer=1", "SLOW=1s"] {
            assert!(check(&format!("mastodon:1={fault}")).contains("is not a fault:"));
        }
        assert_eq!(check("mastodon:1=slow=12"), "in the fault `slow=12`");
        for status in [
            "",
            "99",
            "199",
            "600",
            "4x9",
            "500-",
            "429:",
            "429:-1",
            "500:1-stored",
        ] {
            let problem = check(&format!("mastodon:1=status={status}"));
            assert!(
                problem.contains("a code from 200 to 599"),
                "{status}: {problem}"
            );
        }
    }
}
