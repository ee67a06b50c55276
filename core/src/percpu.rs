// SPDX-License-Identifier: GPL-3.0-or-later
//! Sums over the values that a per-CPU read returns.

/// Adds up, slot by slot, the values of all possible CPUs: `read` holds one row of `sums.len()` numbers a
/// CPU. Sums wrap as the counters do; a last row that is cut short is left out.
pub fn sum(read: &[u64], sums: &mut [u64]) {
    sums.fill(0);
    if sums.is_empty() {
        return;
    }
    for row in read.chunks_exact(sums.len()) {
        for (sum, value) in sums.iter_mut().zip(row) {
            *sum = sum.wrapping_add(*value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_add_up_by_slot() {
        for (read, expected) in [
            (&[][..], [0, 0]),
            (&[1, 2], [1, 2]),
            (&[1, 2, 10, 20, 100, 200], [111, 222]),
            (&[1, 2, 10], [1, 2]),
            (&[u64::MAX, 1, 2, 1], [1, 2]),
        ] {
            let mut sums = [9, 9];
            sum(read, &mut sums);
            assert_eq!(sums, expected, "{read:?}");
        }
        sum(&[1, 2], &mut []);
    }
}
