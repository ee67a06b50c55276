// SPDX-License-Identifier: GPL-3.0-or-later
//! Percent of a whole.

/// `part` of `whole` in percent, 0 to 100, truncated as Netdata truncates it; `None` when the whole is 0.
///
/// A part that exceeds its whole is the whole. No product is formed that could overflow.
pub const fn percent(part: u64, whole: u64) -> Option<u8> {
    if whole == 0 {
        return None;
    }
    let part = if part > whole { whole } else { part };
    // u128: 100 × (2^64 − 1) does not fit in 64 bits.
    Some((part as u128 * 100 / whole as u128) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_truncates_and_saturates() {
        for (part, whole, expected) in [
            (0, 0, None),
            (1, 0, None),
            (0, 7, Some(0)),
            (7, 7, Some(100)),
            (8, 7, Some(100)),
            (199, 1000, Some(19)),
            (15198, 74570, Some(20)),
            (u64::MAX, u64::MAX, Some(100)),
            (u64::MAX / 2, u64::MAX, Some(49)),
        ] {
            assert_eq!(percent(part, whole), expected, "{part} of {whole}");
        }
    }

    #[test]
    fn percent_of_every_small_whole_is_in_range_and_monotone() {
        for whole in 1..200u64 {
            let all: Vec<_> = (0..=whole + 1).map(|part| percent(part, whole).unwrap()).collect();
            assert!(all.iter().all(|&p| p <= 100));
            assert!(all.is_sorted());
        }
    }
}
