//! Time and sleep. The only file that asks the operating system for either.

use std::fmt;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::model::time::Timestamp;

/// Where time comes from. Everything is told in the clock's own time; only [`Clock::real`] speaks of the machine's.
pub trait Clock: Send + Sync + fmt::Debug {
    /// The wall clock.
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
        }
    }

    /// The longer of what the monotonic clock and the wall clock say has passed: the first stops while
    /// a laptop sleeps, the second can be set back.
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    fn real_elapsed(&self) -> Duration {
        let monotonic = Instant::now().saturating_duration_since(self.started);
        let wall = system_now()
            .duration_since(self.started_wall)
            .unwrap_or(Duration::ZERO);
        monotonic.max(wall)
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        if self.speed == 1 {
            return to_timestamp(system_now());
        }
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
