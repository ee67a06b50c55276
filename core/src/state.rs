// SPDX-License-Identifier: GPL-3.0-or-later
//! What is kept of a module between reads, and the values of a tick.

use crate::chart::{Dimension, Value};
use crate::delta::{Delta, between};
use crate::module::{MAX_DIMENSIONS, MAX_SLOTS, Module, Slots};

/// A module's last read, its totals and its sums.
#[derive(Debug)]
pub struct State {
    reads: Reads,
    previous: [u64; MAX_SLOTS],
    changes: [u64; MAX_SLOTS],
    totals: [u64; MAX_SLOTS],
    sums: [u64; MAX_DIMENSIONS],
}

/// How many reads there were, as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reads {
    None,
    Base,
    Many,
}

impl Default for State {
    fn default() -> Self {
        Self {
            reads: Reads::None,
            previous: [0; MAX_SLOTS],
            changes: [0; MAX_SLOTS],
            totals: [0; MAX_SLOTS],
            sums: [0; MAX_DIMENSIONS],
        }
    }
}

/// The values of a dimension on the wire are 63 bits wide: Netdata reads a signed number.
pub(crate) const fn signed(total: u64) -> i64 {
    (total & i64::MAX as u64) as i64
}

impl State {
    /// Takes the next read of `module`: one total a slot.
    ///
    /// The first read is the base: it sets the totals and no value can be told from it.
    pub fn advance(&mut self, module: &Module, read: &[u64]) {
        for (slot, &now) in read.iter().enumerate().take(module.slots.len().min(MAX_SLOTS)) {
            self.changes[slot] =
                if self.reads == Reads::None { 0 } else { between(self.previous[slot], now) };
            let before = if self.reads == Reads::None { now } else { self.totals[slot] };
            self.totals[slot] = before.wrapping_add(self.changes[slot]);
            self.previous[slot] = now;
        }
        self.reads = if self.reads == Reads::None { Reads::Base } else { Reads::Many };
        if self.reads == Reads::Many {
            self.accumulate(module);
        }
    }

    /// Expects the next read from counters that begin anew at 0: totals go on from where they were.
    pub fn begin_anew(&mut self) {
        self.previous = [0; MAX_SLOTS];
    }

    fn accumulate(&mut self, module: &Module) {
        let delta = Delta(&self.changes);
        let dimensions = module.charts.iter().flat_map(|chart| chart.dimensions);
        for (sum, dimension) in self.sums.iter_mut().zip(dimensions) {
            if let Value::Sum((_, amount)) = dimension.value {
                *sum = sum.wrapping_add(amount(&delta));
            }
        }
    }

    /// The value of the module's dimension number `place` (counted over all its charts) in this tick, given which
    /// slots are live; `None` before the second read, when a slot it needs is not live, or when it says so itself.
    pub fn value(&self, place: usize, dimension: &Dimension, live: Slots) -> Option<i64> {
        if self.reads != Reads::Many || !live.contains_all(dimension.value.needs()) {
            return None;
        }
        match dimension.value {
            Value::Counter(slot) => self.totals.get(slot).copied().map(signed),
            Value::Sum(..) => self.sums.get(place).copied().map(signed),
            Value::Level((_, level)) => level(&Delta(&self.changes)),
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
        let (mut state, all) = (State::default(), Slots::default().with(0).with(1));
        state.advance(&MODULE, &[100, 0]);
        state.advance(&MODULE, &[105, 0]);
        state.begin_anew();
        // More than before, so that by itself it would count from 105.
        state.advance(&MODULE, &[110, 0]);
        assert_eq!(values(&state, all)[0], Some(215));
    }

    fn values(state: &State, live: Slots) -> [Option<i64>; 3] {
        let dimensions = MODULE.charts[0].dimensions;
        [0, 1, 2].map(|place| state.value(place, &dimensions[place], live))
    }

    #[test]
    fn values_of_a_script_of_reads() {
        let (mut state, all) = (State::default(), Slots::default().with(0).with(1));
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
        let mut state = State::default();
        state.advance(&MODULE, &[1, 1]);
        state.advance(&MODULE, &[2, 2]);
        assert_eq!(values(&state, Slots::default().with(0)), [Some(2), None, None]);
        assert_eq!(values(&state, Slots::default()), [None; 3]);
    }

    #[test]
    fn totals_never_fall_whatever_is_read() {
        let (mut state, all) = (State::default(), Slots::default().with(0).with(1));
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
