// SPDX-License-Identifier: GPL-3.0-or-later
//! The change of counters between two reads.

use core::ops::Index;

/// What a counter counted between two reads.
///
/// A counter that went backwards was started anew (its program was loaded again), so it counts from its
/// new value; an absolute difference would show a spike that never was.
pub const fn between(before: u64, now: u64) -> u64 {
    if now >= before { now - before } else { now }
}

/// The changes of all slots of a module over one interval, in the order of the module's slots.
#[derive(Clone, Copy, Debug)]
pub struct Delta<'a>(pub &'a [u64]);

impl Index<usize> for Delta<'_> {
    type Output = u64;

    /// The change of one slot; a slot that the module does not have did not change.
    fn index(&self, slot: usize) -> &u64 {
        self.0.get(slot).unwrap_or(&0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_the_difference_or_the_new_value_after_a_reset() {
        for (before, now, change) in [
            (0, 0, 0),
            (5, 8, 3),
            (8, 8, 0),
            (8, 3, 3),
            (8, 0, 0),
            (0, u64::MAX, u64::MAX),
            (u64::MAX, 0, 0),
            (u64::MAX, 7, 7),
            (u64::MAX - 1, u64::MAX, 1),
        ] {
            assert_eq!(between(before, now), change, "{before} -> {now}");
        }
    }

    #[test]
    fn a_slot_out_of_range_did_not_change() {
        assert_eq!(Delta(&[1, 2])[1], 2);
        assert_eq!(Delta(&[1, 2])[2], 0);
    }
}
