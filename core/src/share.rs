// SPDX-License-Identifier: GPL-3.0-or-later
//! What is drawn of each application, container and service, and where a process's counters lie in the kernel's table.

use crate::chart::{Kind, Mode, Value, quotable};
use crate::module::Module;

/// Words of a process's entry in the kernel's table that stand before its counters: parent and state, cgroup, name.
pub const HEADER: usize = 4;
/// The most words of an entry: programs make a new one on their stack of 512 bytes, where the key and some registers
/// lie too.
pub const MAX_WORDS: usize = 58;

/// A chart that is drawn of every group of processes.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// What stands above it.
    pub title: &'static str,
    /// What its axis is in.
    pub units: &'static str,
    /// The least mode in which it exists.
    pub mode: Mode,
    /// What Netdata multiplies and divides its numbers by.
    pub scale: (u32, u32),
    /// Its numbers, in the order of the dimensions of each look.
    pub values: &'static [Value],
    /// How an application's looks. Its id is what follows `app.<group>_ebpf_`.
    pub app: Look,
    /// How a container's looks. Its id is what follows `cgroup_<name>.`.
    pub cgroup: Look,
    /// How a systemd service's looks. Its id is what follows `systemd_<unit>.`.
    pub service: Look,
}

/// The words of a chart. Netdata gives the three kinds of groups different ones for the same numbers.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// The part of the chart's id that is the same for every group.
    pub id: &'static str,
    /// What groups it with the same chart of others.
    pub context: &'static str,
    /// The submenu that it stands in.
    pub family: &'static str,
    /// How it is drawn.
    pub kind: Kind,
    /// Where it stands: smaller is higher.
    pub priority: u32,
    /// Id and name of each dimension.
    pub dimensions: &'static [(&'static str, &'static str)],
}

/// The one dimension of most charts.
pub const CALLS: &[(&str, &str)] = &[("calls", "calls")];

/// The words of a chart, in the order of the specification's columns.
pub const fn look(
    id: &'static str,
    context: &'static str,
    family: &'static str,
    kind: Kind,
    priority: u32,
    dimensions: &'static [(&'static str, &'static str)],
) -> Look {
    Look { id, context, family, kind, priority, dimensions }
}

/// A chart of groups, and its looks: an application's, a container's, a service's.
pub const fn share(
    title: &'static str,
    units: &'static str,
    mode: Mode,
    values: &'static [Value],
    [app, cgroup, service]: [Look; 3],
) -> Share {
    Share { title, units, mode, scale: (1, 1), values, app, cgroup, service }
}

impl Module {
    /// How many of the module's slots, from the first on, every process has its own count of: up to the last one that
    /// a chart of groups needs.
    pub const fn shared_slots(&self) -> usize {
        let (mut span, mut share) = (0, 0);
        while share < self.shares.len() {
            let mut value = 0;
            while value < self.shares[share].values.len() {
                let needs = self.shares[share].values[value].needs();
                let mut need = 0;
                while need < needs.len() {
                    if needs[need] >= span {
                        span = needs[need] + 1;
                    }
                    need += 1;
                }
                value += 1;
            }
            share += 1;
        }
        span
    }
}

/// Where the counters of module `name` begin, among the counters of a process: after those of all modules that run by
/// default more readily. So an entry ends with the last module that runs, and what is switched off takes no room.
pub fn place(modules: &[Module], name: &str) -> Option<usize> {
    let ordered = |default: bool| modules.iter().filter(move |module| module.on_by_default == default);
    let mut place = 0;
    for module in ordered(true).chain(ordered(false)).filter(|module| module.shared_slots() > 0) {
        if module.name == name {
            return Some(place);
        }
        place += module.shared_slots();
    }
    None
}

/// Words of an entry in which the counters of all `modules` have room.
pub const fn words(modules: &[Module]) -> usize {
    let (mut words, mut module) = (HEADER, 0);
    while module < modules.len() {
        words += modules[module].shared_slots();
        module += 1;
    }
    words
}

/// Checks, at compile time, what is shared.
///
/// # Panics
/// In a constant context only, where a panic is an error of the build.
#[allow(clippy::panic)]
pub const fn check(modules: &[Module]) {
    assert!(words(modules) <= MAX_WORDS, "a process's entry is too long for a program's stack");
    let mut module = 0;
    while module < modules.len() {
        let mut share = 0;
        while share < modules[module].shares.len() {
            let row = &modules[module].shares[share];
            let looks = [&row.app, &row.cgroup, &row.service];
            let mut look = 0;
            while look < looks.len() {
                assert!(quotable(row.title) && quotable(looks[look].family), "a chart's words");
                assert!(looks[look].dimensions.len() == row.values.len(), "a dimension a number");
                look += 1;
            }
            assert!(modules[module].shared_slots() <= modules[module].slots.len(), "a slot is out of range");
            share += 1;
        }
        module += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::MODULES;

    const DIMENSION: &[(&str, &str)] = &[("d", "d")];
    const LOOK: Look = look("x", "app.x", "f", Kind::Line, 1, DIMENSION);

    const fn module(name: &'static str, on_by_default: bool, shares: &'static [Share]) -> Module {
        let slots = &["a", "b", "c"];
        Module { name, on_by_default, slots, probes: &[], charts: &[], table: None, keeps: &[], shares }
    }

    const fn counting(values: &'static [Value]) -> Share {
        share("T", "u", Mode::Entry, values, [LOOK; 3])
    }

    #[test]
    fn modules_that_are_off_stand_last_and_those_without_shares_nowhere() {
        let modules = [
            module("hot", false, &[const { counting(&[Value::Counter(2)]) }]),
            module("none", true, &[]),
            module("cheap", true, &[const { counting(&[Value::Counter(1)]) }]),
            module("last", false, &[const { counting(&[Value::Counter(0)]) }]),
        ];
        let places = ["hot", "none", "cheap", "last", "absent"].map(|name| place(&modules, name));
        assert_eq!(places, [Some(2), None, Some(0), Some(5), None]);
        assert_eq!(words(&modules), HEADER + 6);
    }

    #[test]
    fn identifiers_of_the_looks_are_given_once() {
        let shares = || MODULES.iter().flat_map(|module| module.shares);
        for pick in [|share: &Share| share.app, |share: &Share| share.cgroup, |share: &Share| share.service] {
            let mut ids: Vec<_> = shares().map(|share| pick(share).id).collect();
            ids.sort_unstable();
            let count = ids.len();
            ids.dedup();
            assert_eq!(ids.len(), count);
        }
    }
}
