// SPDX-License-Identifier: GPL-3.0-or-later
//! What each group has done: totals that only grow.

use crate::chart::Value;
use crate::delta::Delta;
use crate::module::{Module, Slots};
use crate::state::signed;

/// A module whose counters are booked: where they begin, and which of its slots are true.
#[derive(Clone, Copy, Debug)]
pub struct Booked {
    /// The row.
    pub module: &'static Module,
    /// Where its counters begin among those of a process.
    pub place: usize,
    /// The slots that are true.
    pub live: Slots,
}

/// How many values a group has, over all charts of all `booked`.
pub fn values(booked: &[Booked]) -> usize {
    booked.iter().flat_map(|one| one.module.shares).map(|share| share.values.len()).sum()
}

/// The totals of groups: of applications, say, or of cgroups.
#[derive(Debug)]
pub struct Account<'a> {
    /// Counters of a group, and values of a group.
    counters: usize,
    values: usize,
    totals: &'a mut [u64],
    changes: &'a mut [u64],
    sums: &'a mut [u64],
}

impl<'a> Account<'a> {
    /// An account of groups with so many counters and values each; as many groups as the slices have room for, and the
    /// slices are zero.
    pub fn new(
        (counters, values): (usize, usize),
        totals: &'a mut [u64],
        changes: &'a mut [u64],
        sums: &'a mut [u64],
    ) -> Self {
        Self { counters, values, totals, changes, sums }
    }

    /// Begins a tick, in which nothing has happened yet.
    pub fn begin(&mut self) {
        self.changes.fill(0);
    }

    /// Books what a process has done more.
    pub fn book(&mut self, group: u16, counter: usize, amount: u64) {
        let place = usize::from(group) * self.counters + counter;
        if let (Some(total), Some(change)) = (self.totals.get_mut(place), self.changes.get_mut(place)) {
            *total = total.wrapping_add(amount);
            *change = change.wrapping_add(amount);
        }
    }

    /// Ends a tick: adds up what is computed from its changes.
    pub fn settle(&mut self, booked: &[Booked]) {
        let groups = self.changes.chunks_exact(self.counters).zip(self.sums.chunks_exact_mut(self.values));
        for (changes, sums) in groups {
            let values = booked.iter().flat_map(|one| {
                let values = one.module.shares.iter().flat_map(|share| share.values);
                values.map(move |value| (one, value))
            });
            for (sum, (one, value)) in sums.iter_mut().zip(values) {
                if let Value::Sum((_, amount)) = value {
                    *sum = sum.wrapping_add(amount(&Delta(changes.get(one.place..).unwrap_or_default())));
                }
            }
        }
    }

    /// A group's value number `nth` of all, which is `value` of module `one`; `None` if a slot that it needs is not
    /// true, or when it says so itself.
    pub fn value(&self, group: u16, one: &Booked, nth: usize, value: &Value) -> Option<i64> {
        if !one.live.contains_all(value.needs()) {
            return None;
        }
        let first = usize::from(group) * self.counters + one.place;
        match value {
            Value::Counter(slot) => self.totals.get(first + slot).copied().map(signed),
            Value::Sum(..) => self.sums.get(usize::from(group) * self.values + nth).copied().map(signed),
            Value::Level((_, level)) => level(&Delta(self.changes.get(first..)?)),
        }
    }

    /// The total of a group's counter.
    pub fn total(&self, group: u16, counter: usize) -> u64 {
        self.totals.get(usize::from(group) * self.counters + counter).copied().unwrap_or(0)
    }

    /// Whether a group has ever done anything.
    pub fn active(&self, group: u16) -> bool {
        let first = usize::from(group) * self.counters;
        self.totals
            .get(first..first + self.counters)
            .is_some_and(|totals| totals.iter().any(|total| *total != 0))
    }

    /// Whether all that a group has ever done was done since the tick began.
    pub fn began(&self, group: u16) -> bool {
        let first = usize::from(group) * self.counters;
        let all = first..first + self.counters;
        self.active(group) && self.totals.get(all.clone()) == self.changes.get(all)
    }

    /// Forgets a group that is no more, so that another may take its number.
    pub fn forget(&mut self, group: u16) {
        let group = usize::from(group);
        for (slice, width) in [
            (&mut self.totals, self.counters),
            (&mut self.changes, self.counters),
            (&mut self.sums, self.values),
        ] {
            slice.get_mut(group * width..(group + 1) * width).unwrap_or_default().fill(0);
        }
    }
}
