// SPDX-License-Identifier: GPL-3.0-or-later
//! When the next tick falls.

/// Nanoseconds from `now` to the next multiple of `interval`, both in nanoseconds; 1 to `interval`, so that a
/// wait is never endless whatever a clock says, and never empty. An interval of 0 counts as 1.
///
/// A tick that comes late is one tick: the multiples it missed are not made up for.
pub const fn wait(now: u64, interval: u64) -> u64 {
    if interval == 0 { 1 } else { interval - now % interval }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_fall_on_multiples() {
        for (now, interval, expected) in [
            (0, 10, 10),
            (1, 10, 9),
            (9, 10, 1),
            (10, 10, 10),
            (25, 10, 5),
            (u64::MAX, 10, 5),
            (7, 0, 1),
            (7, 1, 1),
        ] {
            assert_eq!(wait(now, interval), expected, "at {now} every {interval}");
        }
    }

    #[test]
    fn a_wait_is_never_empty_nor_longer_than_the_interval() {
        for interval in 0..50 {
            for now in 0..200 {
                assert!((1..=interval.max(1)).contains(&wait(now, interval)));
                assert!(interval == 0 || (now + wait(now, interval)) % interval == 0);
            }
        }
    }
}
