//! Record keys of the AT Protocol: a time and a clock's number in 13 sortable characters.

use crate::model::time::Timestamp;

const ALPHABET: &[u8; 32] = b"234567abcdefghijklmnopqrstuvwxyz";
const LENGTH: u32 = 13;
const BITS_PER_CHAR: u32 = 5;
const CLOCK_BITS: u32 = 10;
const MICROS_MASK: u64 = (1 << 53) - 1;
/// Our clock has milliseconds; the digits below come from chance, so that keys of one moment differ.
const MICROS_PER_MILLI: u64 = 1_000;

/// Makes the key of a record that is made at `now`.
pub(super) fn fresh(now: Timestamp, entropy: u64) -> String {
    let millis = u64::try_from(now.as_millis()).unwrap_or(0);
    let micros = millis
        .saturating_mul(MICROS_PER_MILLI)
        .saturating_add(entropy % MICROS_PER_MILLI);
    encode(micros, entropy / MICROS_PER_MILLI)
}

/// Whether a text is such a key.
pub(super) fn is_tid(text: &str) -> bool {
    let mut bytes = text.bytes();
    let first_is_low = bytes
        .next()
        // The top bit of the 64 is always zero, and 13 characters hold 65.
        .is_some_and(|first| ALPHABET.iter().take(16).any(|legal| *legal == first));
    first_is_low && text.len() == 13 && bytes.all(|byte| ALPHABET.contains(&byte))
}

fn encode(micros: u64, clock: u64) -> String {
    let clock_mask = (1 << CLOCK_BITS) - 1;
    let value = ((micros & MICROS_MASK) << CLOCK_BITS) | (clock & clock_mask);
    (0..LENGTH)
        .rev()
        .map(|position| {
            let digit = (value >> (position * BITS_PER_CHAR)) & 31;
            let index = usize::try_from(digit).expect("five bits fit");
            char::from(ALPHABET[index])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_match_the_protocols_vectors() {
        assert_eq!(encode(1_704_067_200_000_000, 0), "3khuwc44c2222");
        assert_eq!(encode(1_704_067_200_000_000, 1023), "3khuwc44c22zz");
        assert_eq!(encode(1_688_137_381_887_007, 6), "3jzfcijpj2z2a");
        assert_eq!(encode(0, 0), "2222222222222");
        assert_eq!(encode(MICROS_MASK, 1023), "bzzzzzzzzzzzz");
    }

    #[test]
    fn keys_are_keys_whatever_the_chance() {
        let now = Timestamp::parse("2026-11-29T10:00:00.123Z").unwrap();
        for entropy in [0, 1, 999, 1_000, 1_023_999, u64::MAX] {
            assert!(is_tid(&fresh(now, entropy)), "{entropy}");
        }
        assert_ne!(fresh(now, 0), fresh(now, 1));
        assert_ne!(fresh(now, 0), fresh(now, 1_000));
        assert!(fresh(now, u64::MAX) < fresh(now.plus(std::time::Duration::from_millis(1)), 0));
    }

    #[test]
    fn other_texts_are_no_keys() {
        for bad in [
            "",
            "3jzfcijpj2z21",
            "0000000000000",
            "3jzfcijpj2z2aa",
            "3jzfcijpj2z2",
            "zzzzzzzzzzzzz",
            "kjzfcijpj2z2a",
            "3JZFCIJPJ2Z2A",
        ] {
            assert!(!is_tid(bad), "{bad}");
        }
        for good in [
            "3jzfcijpj2z2a",
            "7777777777777",
            "3zzzzzzzzzzzz",
            "2222222222222",
        ] {
            assert!(is_tid(good), "{good}");
        }
    }
}
