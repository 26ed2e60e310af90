//! Randomness for the pure core: a stream derived from a seed that the driver drew from the operating system.

use sha2::{Digest as _, Sha256};

use crate::model::ids::Token;

/// A stream of unguessable values; the same seed gives the same stream, so that a simulation can be replayed.
#[derive(Clone, Debug)]
pub(crate) struct Entropy {
    seed: [u8; 32],
    drawn: u64,
}

impl Entropy {
    pub(crate) const fn new(seed: [u8; 32]) -> Self {
        Self { seed, drawn: 0 }
    }

    /// Returns a fresh 128-bit token.
    pub(crate) fn token(&mut self) -> Token {
        let digest = self.draw();
        let mut bytes = [0; 16];
        bytes.copy_from_slice(digest.split_at(16).0);
        Token::from_bytes(bytes)
    }

    /// Returns 64 fresh bits.
    pub(crate) fn bits(&mut self) -> u64 {
        let digest = self.draw();
        let mut bytes = [0; 8];
        bytes.copy_from_slice(digest.split_at(8).0);
        u64::from_be_bytes(bytes)
    }

    fn draw(&mut self) -> [u8; 32] {
        self.drawn += 1;
        let mut digest = Sha256::new();
        digest.update(self.seed);
        digest.update(self.drawn.to_be_bytes());
        digest.finalize().into()
    }
}
