//! Numbers from a seed.

use std::time::Duration;

/// Draws numbers from a seed (`SplitMix64`).
pub(super) struct Draw(u64);

impl Draw {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % end
    }

    pub(super) fn count(&mut self, end: u64) -> usize {
        usize::try_from(self.below(end)).expect("small")
    }

    pub(super) fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }

    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        let length = u64::try_from(from.len()).expect("small");
        from[self.count(length)]
    }

    pub(super) fn up_to(&mut self, seconds: u64) -> Duration {
        Duration::from_millis(self.below(seconds * 1_000))
    }

    /// A distance in milliseconds, at most so many seconds either way.
    pub(super) fn off_by(&mut self, seconds: u64) -> i64 {
        let distance = i64::try_from(self.below(seconds * 1_000)).expect("small");
        if self.one_in(2) { distance } else { -distance }
    }
}
