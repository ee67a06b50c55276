// SPDX-License-Identifier: GPL-3.0-or-later
//! Power-of-two latency buckets, with Netdata's 24 names.

/// How many buckets a latency histogram has.
pub const BUCKETS: usize = 24;

/// The ids, which are the names too, of the buckets: Netdata's own, in order.
pub const LABELS: [&str; BUCKETS] = [
    "0us->1us",
    "1us->2us",
    "2us->4us",
    "4us->8us",
    "8us->16us",
    "16us->32us",
    "32us->64us",
    "64us->128us",
    "128us->256us",
    "256us->512us",
    "512us->1ms",
    "1ms->2ms",
    "2ms->4ms",
    "4ms->8ms",
    "8ms->16ms",
    "16ms->32ms",
    "32ms->65ms",
    "65ms->131ms",
    "131ms->262ms",
    "262ms->524ms",
    "524ms->1s",
    "1s->2s",
    "2s->4s",
    "4s->+Inf",
];

/// The bucket of a latency in whole microseconds: ceil(log2), so that bucket 0 is \[0, 1\] and bucket k is
/// (2^(k−1), 2^k\], as the labels say. Netdata takes floor(log2), which shows half the true latency.
///
/// `bpf/c/histogram.bpf.h` holds the same arithmetic; the contract between them is tested by counts.
pub const fn bucket(microseconds: u64) -> usize {
    if microseconds <= 1 {
        return 0;
    }
    let exponent = (u64::BITS - (microseconds - 1).leading_zeros()) as usize;
    if exponent < BUCKETS { exponent } else { BUCKETS - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_what_its_label_says() {
        for (microseconds, label) in [
            (0, "0us->1us"),
            (1, "0us->1us"),
            (2, "1us->2us"),
            (3, "2us->4us"),
            (4, "2us->4us"),
            (5, "4us->8us"),
            (8, "4us->8us"),
            (9, "8us->16us"),
            (512, "256us->512us"),
            (513, "512us->1ms"),
            (1024, "512us->1ms"),
            (1025, "1ms->2ms"),
            (1 << 21, "1s->2s"),
            ((1 << 21) + 1, "2s->4s"),
            (1 << 22, "2s->4s"),
            ((1 << 22) + 1, "4s->+Inf"),
            (u64::MAX, "4s->+Inf"),
        ] {
            assert_eq!(LABELS[bucket(microseconds)], label, "{microseconds} µs");
        }
    }

    #[test]
    fn every_bound_divides_two_neighbours() {
        for k in 1..BUCKETS - 1 {
            assert_eq!(bucket(1 << k), k);
            assert_eq!(bucket((1 << k) + 1), k + 1);
        }
    }
}
