// SPDX-License-Identifier: GPL-3.0-or-later
//! When the next tick falls.

/// Nanoseconds from `now` to the next multiple of `interval`, both in nanoseconds; 1 to `interval`, so that a
/// wait is never endless whatever a clock says, and never empty. An interval of 0 counts as 1.
///
/// A tick that comes late is one tick: the multiples it missed are not made up for.
pub const fn wait(now: u64, interval: u64) -> u64 {
    if interval == 0 { 1 } else { interval - now % interval }
}

/// The number of the multiple of `interval` that is nearest to `now`: a tick comes a little after its multiple, and
/// where the clock was set a little before it.
pub const fn number(now: u64, interval: u64) -> u64 {
    match now.checked_div(interval) {
        Some(whole) => whole + (now - whole * interval > interval / 2) as u64,
        None => 0,
    }
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
    fn ticks_have_the_number_of_the_nearest_multiple() {
        for (now, interval, expected) in [
            (0, 10, 0),
            (1, 10, 0),
            (5, 10, 0),
            (6, 10, 1),
            (9, 10, 1),
            (10, 10, 1),
            (29, 10, 3),
            (7, 0, 0),
            (u64::MAX, 1, u64::MAX),
        ] {
            assert_eq!(number(now, interval), expected, "at {now} every {interval}");
        }
    }

    #[test]
    fn a_wait_is_never_empty_nor_longer_than_the_interval() {
        for interval in 0..50 {
            for now in 0..200 {
                assert!((1..=interval.max(1)).contains(&wait(now, interval)));
                assert!(interval == 0 || (now + wait(now, interval)).is_multiple_of(interval));
            }
        }
    }
}
