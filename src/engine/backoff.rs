//! How long to wait after a failure that said nothing about when to come back.

use std::time::Duration;

/// The waits after the first, second, ... failure in a row; the last one is repeated.
const WAITS: [Duration; 6] = [
    Duration::from_secs(10),
    Duration::from_secs(30),
    Duration::from_mins(2),
    Duration::from_mins(10),
    Duration::from_mins(30),
    Duration::from_hours(1),
];

/// Returns the wait after `failures` failures in a row (one or more).
pub fn backoff(failures: u32) -> Duration {
    let index = usize::try_from(failures.saturating_sub(1)).unwrap_or(usize::MAX);
    WAITS
        .get(index)
        .or(WAITS.last())
        .copied()
        .unwrap_or(Duration::ZERO)
}

/// Returns the wait after losing `races` in a row for the ledger's tip; `entropy` spreads the losers.
pub(crate) fn race_jitter(races: u32, entropy: u64) -> Duration {
    let ceiling = 50_u64.saturating_mul(2_u64.saturating_pow(races.min(RACES_MAX)));
    Duration::from_millis(entropy % ceiling.max(1))
}

/// Races lost in a row beyond which the waits stay as they are, about 13 s at most.
pub(crate) const RACES_MAX: u32 = 8;

/// Returns the wait before the ledger's remote is tried again; short, because results wait for it.
pub(crate) fn remote_backoff(failures: u32) -> Duration {
    let doubled = 2_u64.saturating_pow(failures.saturating_sub(1).min(5));
    Duration::from_secs(doubled.min(30))
}
