// SPDX-License-Identifier: GPL-3.0-or-later
//! A module: its slots, its probes and its charts, as one row of constants; and the check of the table.

use crate::chart::{Chart, Mode, quotable};
use crate::hook::{Mechanism, Probe};
use crate::memory::{self, Keep};
use crate::share::Share;
use crate::table::{Drawn, Table};

/// The most slots a module has: 4 operations × 24 buckets, and some to spare.
pub const MAX_SLOTS: usize = 128;
/// The most dimensions a module has, over all its charts.
pub const MAX_DIMENSIONS: usize = 128;
/// The most functions that one hook of a row finds in a kernel: of two system calls, each for native and for 32-bit
/// programs. Names of other architectures are not there.
const MOST_RETURNS: u64 = 4;
/// The longest name of a module: the kernel keeps 15 bytes of a map's.
const MAX_NAME: usize = 15;

/// A metric: what the kernel counts for it and what is drawn of it.
#[derive(Clone, Copy, Debug)]
pub struct Module {
    /// Netdata's name for it; the same stem names its object, map, golden file, workload and config key.
    pub name: &'static str,
    /// Whether it runs when no configuration speaks of it: what costs little does.
    pub on_by_default: bool,
    /// The counters, in the order of the C structure.
    pub slots: &'static [&'static str],
    /// What feeds them.
    pub probes: &'static [Probe],
    /// What is drawn.
    pub charts: &'static [Chart],
    /// Counters of keys that are only known at run time.
    pub table: Option<Table>,
    /// What its programs keep from one event to the next.
    pub keeps: &'static [Keep],
    /// What is drawn of it for each group of processes.
    pub shares: &'static [Share],
}

/// A set of slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slots([u64; MAX_SLOTS / 64]);

/// How much of a module is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Whether to see how calls end.
    pub mode: Mode,
    /// The slots that nobody wants: a probe that feeds no other is left out.
    pub without: Slots,
}

impl Extent {
    /// All of it, in a mode.
    pub const fn whole(mode: Mode) -> Self {
        Self { mode, without: Slots([0; MAX_SLOTS / 64]) }
    }

    /// Whether a probe is wanted.
    pub fn wants(&self, probe: &Probe) -> bool {
        let wanted = probe.slots.is_empty() || !self.without.contains_all(probe.slots);
        probe.mode <= self.mode && wanted
    }
}

impl Slots {
    /// The set without `slot`.
    pub const fn without(mut self, slot: usize) -> Self {
        self.0[slot % MAX_SLOTS / 64] &= !(1 << (slot % 64));
        self
    }

    /// The set with `slot` in it too.
    pub const fn with(mut self, slot: usize) -> Self {
        self.0[slot % MAX_SLOTS / 64] |= 1 << (slot % 64);
        self
    }

    /// Whether `slot` is in it.
    pub const fn contains(self, slot: usize) -> bool {
        slot < MAX_SLOTS && self.0[slot / 64] >> (slot % 64) & 1 == 1
    }

    /// Whether all of `slots` are in it.
    pub fn contains_all(self, slots: &[usize]) -> bool {
        slots.iter().all(|slot| self.contains(*slot))
    }
}

impl Module {
    /// The slots that are true when of its probes exactly those are attached for which `attached` says so: a slot
    /// that several probes feed needs them all.
    pub fn live(&self, attached: impl Fn(usize) -> bool) -> Slots {
        let (mut fed, mut starved) = (Slots::default(), Slots::default());
        for (place, probe) in self.probes.iter().enumerate() {
            let set = if attached(place) { &mut fed } else { &mut starved };
            *set = probe.slots.iter().fold(*set, |set, slot| set.with(*slot));
        }
        let ([a, b], [without_a, without_b]) = (fed.0, starved.0);
        Slots([a & !without_a, b & !without_b])
    }

    /// Bytes of kernel memory that its maps take on a machine of so many possible CPUs, where tables are smaller by so
    /// many powers of two.
    pub fn memory(&self, cpus: usize, shrink: u32) -> u64 {
        let entries = |table: &Table| memory::shrunk(table.capacity, shrink);
        let table = self.table.map_or(0, |table| memory::hash(1 + table.slots.len(), entries(&table), cpus));
        let keeps: u64 = self.keeps.iter().map(|keep| keep.bytes(cpus, shrink)).sum();
        memory::percpu_array(self.slots.len(), cpus) + table + keeps
    }

    /// How many functions it hooks at their return by kprobe, at most, where the kernel has nothing better.
    pub fn returns(&self, extent: Extent) -> u64 {
        let hooked = |probe: &&Probe| extent.wants(probe);
        let at_return = |probe: &Probe| {
            let hooks = probe.hooks.iter().filter(|hook| hook.mechanism() == Mechanism::Kretprobe);
            hooks.map(|hook| (hook.places().count() as u64).min(MOST_RETURNS)).max().unwrap_or(0)
        };
        self.probes.iter().filter(hooked).map(at_return).sum()
    }

    /// Its charts, and the one that each key of its table has of its own.
    pub fn all_charts(&self) -> impl Iterator<Item = &'static Chart> {
        let of_keys = self.table.and_then(|table| match table.drawn {
            Drawn::Chart(chart) => Some(chart),
            Drawn::Dimension { .. } => None,
        });
        self.charts.iter().chain(of_keys)
    }

    /// What a chart draws: the slots that each of its dimensions needs, and those that the keys of the table need.
    pub fn drawn(&self, chart: &'static Chart) -> impl Iterator<Item = &'static [usize]> {
        let keys = self.table.filter(|table| match table.drawn {
            Drawn::Chart(own) => own.id == chart.id,
            Drawn::Dimension { chart: id, .. } => id == chart.id,
        });
        let own = keys.is_some_and(|table| matches!(table.drawn, Drawn::Chart(_)));
        // The dimensions of a key's own chart count slots of the table.
        let dimensions = if own { &[] } else { chart.dimensions };
        dimensions.iter().map(|dimension| dimension.value.needs()).chain(keys.map(|table| table.needs))
    }

    /// The probes that are attached in `mode`.
    pub fn probes_in(&self, mode: Mode) -> impl Iterator<Item = (usize, &'static Probe)> {
        self.probes.iter().enumerate().filter(move |(_, probe)| probe.mode <= mode)
    }
}

/// Checks the table of modules at compile time: names, slots in range and fed, ids neither empty nor repeated.
///
/// # Panics
/// In a constant context only, where a panic is an error of the build.
#[allow(clippy::panic)]
pub const fn check(modules: &[Module]) {
    let mut m = 0;
    while m < modules.len() {
        let module = &modules[m];
        assert!(!module.name.is_empty() && module.name.len() <= MAX_NAME, "a module's name: 1 to 15 bytes");
        assert!(
            !module.slots.is_empty() && module.slots.len() <= MAX_SLOTS,
            "a module's slots: 1 to MAX_SLOTS"
        );
        assert!(!module.charts.is_empty(), "a module draws something");
        check_probes(module);
        check_charts(module, modules, m);
        check_table(module);
        m += 1;
    }
}

const fn check_table(module: &Module) {
    let Some(table) = module.table else { return };
    assert!(!table.slots.is_empty() && table.capacity > 0, "a table has slots and room");
    check_slots(table.needs, module);
    if let Drawn::Dimension { chart, divisor } = table.drawn {
        let mut c = 0;
        while c < module.charts.len() && !equal(module.charts[c].id, chart) {
            c += 1;
        }
        assert!(c < module.charts.len() && divisor != 0, "the keys are drawn in a chart of the module");
    }
}

const fn check_probes(module: &Module) {
    let mut p = 0;
    while p < module.probes.len() {
        let probe = &module.probes[p];
        assert!(!probe.event.is_empty() && !probe.hooks.is_empty(), "a probe has a name and hooks");
        check_slots(probe.slots, module);
        let mut h = 0;
        while h < probe.hooks.len() {
            assert!(!probe.hooks[h].target().is_empty(), "a hook has a target");
            h += 1;
        }
        p += 1;
    }
}

const fn check_slots(slots: &[usize], module: &Module) {
    assert!(!slots.is_empty(), "a value or a probe needs slots");
    let mut s = 0;
    while s < slots.len() {
        assert!(slots[s] < module.slots.len(), "a slot is out of range");
        s += 1;
    }
}

const fn check_charts(module: &Module, modules: &[Module], m: usize) {
    let (mut c, mut dimensions) = (0, 0);
    while c < module.charts.len() {
        let chart = &module.charts[c];
        assert!(quotable(chart.title) && quotable(chart.units) && quotable(chart.family), "a chart's words");
        assert!(!chart.dimensions.is_empty(), "a chart has dimensions");
        assert!(occurrences(modules, m, chart.id) == 1, "a chart's id is given once");
        let mut d = 0;
        while d < chart.dimensions.len() {
            let dimension = &chart.dimensions[d];
            assert!(quotable(dimension.id) && quotable(dimension.name), "a dimension's words");
            assert!(dimension.multiplier != 0 && dimension.divisor != 0, "Netdata takes 0 for 1");
            check_slots(dimension.value.needs(), module);
            d += 1;
        }
        dimensions += d;
        c += 1;
    }
    assert!(dimensions <= MAX_DIMENSIONS, "too many dimensions in a module");
}

/// How often a chart id is given up to and with module `last`.
const fn occurrences(modules: &[Module], last: usize, id: &str) -> usize {
    let (mut m, mut count) = (0, 0);
    while m <= last {
        let mut c = 0;
        while c < modules[m].charts.len() {
            count += equal(modules[m].charts[c].id, id) as usize;
            c += 1;
        }
        m += 1;
    }
    count
}

const fn equal(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook::Hook;

    const fn probe(event: &'static str, slots: &'static [usize]) -> Probe {
        Probe { event, slots, mode: Mode::Entry, hooks: &[Hook::Kprobe("f")] }
    }

    #[test]
    fn a_slot_lives_while_all_that_feed_it_are_attached() {
        let module = Module {
            name: "m",
            on_by_default: true,
            slots: &["a", "b", "c", "d"],
            probes: const { &[probe("both", &[0, 1]), probe("second", &[1]), probe("third", &[2])] },
            charts: &[],
            table: None,
            keeps: &[],
            shares: &[],
        };
        for (attached, live) in [
            (&[][..], [false, false, false, false]),
            (&[0, 1, 2], [true, true, true, false]),
            (&[0, 2], [true, false, true, false]),
            (&[1], [false, false, false, false]),
        ] {
            let slots = module.live(|place| attached.contains(&place));
            assert_eq!([0, 1, 2, 3].map(|slot| slots.contains(slot)), live, "{attached:?}");
        }
    }

    #[test]
    fn sets_of_slots() {
        let set = Slots::default().with(3).with(127);
        assert!(set.contains_all(&[3, 127]) && set.contains_all(&[]));
        assert!(!set.contains_all(&[3, 4]) && !set.contains(128));
    }
}
