//! Time and sleep. The only file that asks the operating system for either.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::model::time::Timestamp;

/// Where time comes from. Everything is told in the clock's own time; only [`Clock::real`] speaks of the machine's.
pub trait Clock: Send + Sync + fmt::Debug {
    /// The wall clock, as it was when this clock was made, and what has passed since: it never goes back.
    fn now(&self) -> Timestamp;

    /// Time since the clock was made, which never falls and also counts time that the machine slept.
    fn elapsed(&self) -> Duration;

    /// How long the machine really has to wait for `duration` of this clock's time.
    fn real(&self, duration: Duration) -> Duration;

    /// How much of this clock's time passes in a `real` duration of the machine.
    fn told(&self, real: Duration) -> Duration;

    /// Waits.
    fn sleep(&self, duration: Duration);
}

/// The machine's clock, or the same made faster for a rehearsal.
#[derive(Debug)]
pub struct SystemClock {
    started_at: Timestamp,
    started_wall: SystemTime,
    started: Instant,
    speed: u32,
    /// The most that has ever passed, in nanoseconds.
    longest: AtomicU64,
}

impl SystemClock {
    /// The machine's clock.
    pub fn new() -> Self {
        let wall = system_now();
        Self::starting_at(to_timestamp(wall), 1)
    }

    /// A clock that starts at `started_at` and runs `speed` times as fast as the machine's.
    ///
    /// A speed of zero is taken as one.
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub fn starting_at(started_at: Timestamp, speed: u32) -> Self {
        Self {
            started_at,
            started_wall: system_now(),
            started: Instant::now(),
            speed: speed.max(1),
            longest: AtomicU64::new(0),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    fn real_elapsed(&self) -> Duration {
        let monotonic = Instant::now().saturating_duration_since(self.started);
        let wall = system_now()
            .duration_since(self.started_wall)
            .unwrap_or(Duration::ZERO);
        self.passed(monotonic, wall)
    }

    /// The longer of what the monotonic clock and the wall clock say has passed, and never less than before: the first
    /// stops while a laptop sleeps, the second can be set back. A deadline that moved away would not be kept.
    fn passed(&self, monotonic: Duration, wall: Duration) -> Duration {
        let now = monotonic.max(wall);
        let nanos = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
        let before = self.longest.fetch_max(nanos, Ordering::Relaxed);
        Duration::from_nanos(before.max(nanos))
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        self.started_at.plus(self.elapsed())
    }

    fn elapsed(&self) -> Duration {
        self.real_elapsed().saturating_mul(self.speed)
    }

    fn real(&self, duration: Duration) -> Duration {
        duration / self.speed
    }

    fn told(&self, real: Duration) -> Duration {
        real.saturating_mul(self.speed)
    }

    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    fn sleep(&self, duration: Duration) {
        std::thread::sleep(self.real(duration));
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the clock")]
fn system_now() -> SystemTime {
    SystemTime::now()
}

fn to_timestamp(time: SystemTime) -> Timestamp {
    let since_epoch = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    Timestamp::EPOCH.plus(since_epoch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wall_clock_that_is_set_back_takes_no_time_back() {
        let clock = SystemClock::new();
        let passed = |monotonic, wall| {
            let seconds = Duration::from_secs;
            clock.passed(seconds(monotonic), seconds(wall)).as_secs()
        };
        assert_eq!(passed(10, 10), 10);
        // Set back by an hour: before the clock was made.
        assert_eq!(passed(11, 0), 11);
        // A laptop that slept for a minute.
        assert_eq!(passed(12, 72), 72);
        // Set back again: time stands still until the other one is as far.
        assert_eq!(passed(13, 3), 72);
        assert_eq!(passed(73, 63), 73);
    }

    #[test]
    fn now_is_the_beginning_and_what_has_passed() {
        let start = Timestamp::parse("2026-11-29T10:00:00Z").unwrap();
        let clock = SystemClock::starting_at(start, 1);
        assert_eq!(
            clock.passed(Duration::from_hours(1), Duration::ZERO),
            Duration::from_hours(1)
        );
        assert!(clock.now() >= start.plus(Duration::from_hours(1)));
        assert!(clock.elapsed() >= Duration::from_hours(1));
    }
}
