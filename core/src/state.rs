// SPDX-License-Identifier: GPL-3.0-or-later
//! What is kept of a module between reads, and the values of a tick.

use crate::chart::{Dimension, Value};
use crate::delta::{Delta, between};
use crate::module::{Module, Slots};

/// A module's last read, its totals and its sums.
///
/// The numbers are the caller's, as many as [`numbers`] tells: modules differ much in what they need.
#[derive(Debug)]
pub struct State<B> {
    reads: Reads,
    /// The slots of the module: so long are the last read, the changes and the totals, which the sums follow.
    slots: usize,
    numbers: B,
}

/// How many reads there were, as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reads {
    None,
    Base,
    Many,
}

/// How many numbers the state of a module takes.
pub fn numbers(module: &Module) -> usize {
    module.slots.len() * 3 + module.charts.iter().map(|chart| chart.dimensions.len()).sum::<usize>()
}

/// The values of a dimension on the wire are 63 bits wide: Netdata reads a signed number.
pub(crate) const fn signed(total: u64) -> i64 {
    (total & i64::MAX as u64) as i64
}

impl<B: AsRef<[u64]> + AsMut<[u64]>> State<B> {
    /// The state of `module` before its first read, in numbers that are all 0 and as many as [`numbers`] tells: with
    /// fewer its values mean nothing.
    pub const fn new(module: &Module, numbers: B) -> Self {
        Self { reads: Reads::None, slots: module.slots.len(), numbers }
    }

    /// Takes the next read of `module`: one total a slot.
    ///
    /// The first read is the base: it sets the totals and no value can be told from it.
    pub fn advance(&mut self, module: &Module, read: &[u64]) {
        let first = self.reads == Reads::None;
        let (previous, rest) = self.numbers.as_mut().split_at_mut_checked(self.slots).unwrap_or_default();
        let (changes, rest) = rest.split_at_mut_checked(self.slots).unwrap_or_default();
        let (totals, sums) = rest.split_at_mut_checked(self.slots).unwrap_or_default();
        let kept = previous.iter_mut().zip(changes.iter_mut()).zip(totals);
        for (((previous, change), total), &now) in kept.zip(read) {
            *change = if first { 0 } else { between(*previous, now) };
            let before = if first { now } else { *total };
            *total = before.wrapping_add(*change);
            *previous = now;
        }
        self.reads = if first { Reads::Base } else { Reads::Many };
        if self.reads == Reads::Many {
            let delta = Delta(changes);
            let dimensions = module.charts.iter().flat_map(|chart| chart.dimensions);
            for (sum, dimension) in sums.iter_mut().zip(dimensions) {
                if let Value::Sum((_, amount)) = dimension.value {
                    *sum = sum.wrapping_add(amount(&delta));
                }
            }
        }
    }

    /// Expects the next read from counters that begin anew at 0: totals go on from where they were.
    pub fn begin_anew(&mut self) {
        self.numbers.as_mut().iter_mut().take(self.slots).for_each(|previous| *previous = 0);
    }

    /// The numbers from the part `nth`, each as long as the slots.
    fn from(&self, nth: usize) -> &[u64] {
        self.numbers.as_ref().get(nth * self.slots..).unwrap_or_default()
    }

    /// The value of the module's dimension number `place` (counted over all its charts) in this tick, given which
    /// slots are live; `None` before the second read, when a slot it needs is not live, or when it says so itself.
    pub fn value(&self, place: usize, dimension: &Dimension, live: Slots) -> Option<i64> {
        if self.reads != Reads::Many || !live.contains_all(dimension.value.needs()) {
            return None;
        }
        match dimension.value {
            Value::Counter(slot) => self.from(2).get(slot).copied().map(signed),
            Value::Sum(..) => self.from(3).get(place).copied().map(signed),
            Value::Level((_, level)) => level(&Delta(self.from(1))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{Chart, Kind, Mode};

    const MODULE: Module = Module {
        name: "m",
        on_by_default: true,
        slots: &["a", "b"],
        probes: &[],
        charts: &[Chart {
            id: "t.c",
            title: "T",
            units: "u",
            family: "f",
            context: "t.c",
            kind: Kind::Line,
            priority: 1,
            mode: Mode::Entry,
            dimensions: &[
                Dimension::new("counter", "counter", Value::Counter(0)),
                Dimension::new("sum", "sum", Value::Sum(&(&[0, 1], |d| d[0].saturating_sub(d[1])))),
                Dimension::new(
                    "level",
                    "level",
                    Value::Level(&(&[1], |d| (d[1] > 0).then_some(d[1] as i64))),
                ),
            ],
        }],
        table: None,
        keeps: &[],
        shares: &[],
    };

    #[test]
    fn totals_go_on_over_counters_that_begin_anew() {
        let (mut state, all) = (state(), Slots::default().with(0).with(1));
        state.advance(&MODULE, &[100, 0]);
        state.advance(&MODULE, &[105, 0]);
        state.begin_anew();
        // More than before, so that by itself it would count from 105.
        state.advance(&MODULE, &[110, 0]);
        assert_eq!(values(&state, all)[0], Some(215));
    }

    fn state() -> State<[u64; 9]> {
        assert_eq!(numbers(&MODULE), 9);
        State::new(&MODULE, [0; 9])
    }

    fn values(state: &State<[u64; 9]>, live: Slots) -> [Option<i64>; 3] {
        let dimensions = MODULE.charts[0].dimensions;
        [0, 1, 2].map(|place| state.value(place, &dimensions[place], live))
    }

    #[test]
    fn values_of_a_script_of_reads() {
        let (mut state, all) = (state(), Slots::default().with(0).with(1));
        assert_eq!(values(&state, all), [None; 3]);
        for (read, expected) in [
            ([100, 7], [None, None, None]),
            ([105, 7], [Some(105), Some(5), None]),
            ([105, 9], [Some(105), Some(5), Some(2)]),
            // Started anew: counts from its new value, and what was sent never falls.
            ([2, 9], [Some(107), Some(7), None]),
            (
                [u64::MAX, 9],
                [
                    Some(signed(107u64.wrapping_add(u64::MAX - 2))),
                    Some(signed(7u64.wrapping_add(u64::MAX - 2))),
                    None,
                ],
            ),
        ] {
            state.advance(&MODULE, &read);
            assert_eq!(values(&state, all), expected, "{read:?}");
        }
    }

    #[test]
    fn a_dimension_without_its_slots_has_no_value() {
        let mut state = state();
        state.advance(&MODULE, &[1, 1]);
        state.advance(&MODULE, &[2, 2]);
        assert_eq!(values(&state, Slots::default().with(0)), [Some(2), None, None]);
        assert_eq!(values(&state, Slots::default()), [None; 3]);
    }

    #[test]
    fn totals_never_fall_whatever_is_read() {
        let (mut state, all) = (state(), Slots::default().with(0).with(1));
        let (mut last, mut random) = (0, 1u64);
        for _ in 0..1000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state.advance(&MODULE, &[random >> 40, random >> 50]);
            for value in values(&state, all).into_iter().take(1).flatten() {
                assert!(value >= last, "{value} after {last}");
                last = value;
            }
        }
        assert!(last > 0);
    }
}
