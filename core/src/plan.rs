// SPDX-License-Identifier: GPL-3.0-or-later
//! The plan of kernel memory: what all maps may take on this machine, and what gives way when they would take more.

use crate::memory;
use crate::module::{Extent, Module};

/// The most that maps may take on any machine.
const MOST: u64 = 16 << 20;
/// What they may take beside what each possible CPU adds.
const BASE: u64 = 8 << 20;
/// What a possible CPU adds.
const PER_CPU: u64 = 32 << 10;
/// By how many powers of two tables are made smaller, at most.
const SMALLEST: u32 = 4;

/// Bytes that maps may take on a machine of so much memory: a hundredth of it, and no more than its CPUs explain.
pub fn budget(memory: u64, cpus: usize) -> u64 {
    (memory / 100).min(MOST).min(BASE + PER_CPU * cpus as u64)
}

/// Bytes of memory that `/proc/meminfo` tells of.
pub fn memory_of(meminfo: &[u8]) -> Option<u64> {
    let mut lines = meminfo.split(|byte| *byte == b'\n');
    let told = lines.find_map(|line| line.strip_prefix(b"MemTotal:"))?.trim_ascii().strip_suffix(b" kB")?;
    core::str::from_utf8(told).ok()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// What is made of the modules that are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// By how many powers of two tables are smaller than their rows say.
    pub shrink: u32,
    /// The modules that are left out, a bit for each place.
    out: u64,
    /// Bytes that the others take, at most.
    pub bytes: u64,
}

impl Plan {
    /// Makes a plan for `budget` bytes and so many possible CPUs: tables get smaller, all alike; where that is not
    /// enough the largest module goes, and the next largest, until the rest fits.
    pub fn new(budget: u64, cpus: usize, wanted: &[(&Module, Extent)]) -> Self {
        let mut plan = Self { shrink: 0, out: 0, bytes: 0 };
        plan.sum(cpus, wanted);
        while plan.bytes > budget && plan.shrink < SMALLEST {
            plan.shrink += 1;
            plan.sum(cpus, wanted);
        }
        while plan.bytes > budget {
            let kept = wanted.iter().enumerate().filter(|(place, _)| plan.keeps(*place));
            let Some((largest, _)) = kept.max_by_key(|(_, one)| plan.bytes_of(cpus, one)) else { break };
            plan.out |= bit(largest);
            plan.sum(cpus, wanted);
        }
        plan
    }

    /// Whether the module at this place is not left out.
    pub const fn keeps(&self, place: usize) -> bool {
        self.out & bit(place) == 0
    }

    fn sum(&mut self, cpus: usize, wanted: &[(&Module, Extent)]) {
        let kept = wanted.iter().enumerate().filter(|(place, _)| self.keeps(*place));
        self.bytes = kept.map(|(_, one)| self.bytes_of(cpus, one)).sum();
    }

    fn bytes_of(&self, cpus: usize, (module, extent): &(&Module, Extent)) -> u64 {
        let returns = module.returns(*extent) * memory::return_hook(self.shrink);
        module.memory(cpus, self.shrink) + returns
    }
}

const fn bit(place: usize) -> u64 {
    1 << (place % 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Mode;
    use crate::modules::MODULES;

    const MB: u64 = 1 << 20;

    #[test]
    fn budgets() {
        for (memory, cpus, expected) in [
            (32 * MB, 1, 335_544),
            (64 * MB, 1, 671_088),
            (128 * MB, 2, 1_342_177),
            (512 * MB, 2, 5_368_709),
            (1024 * MB, 4, 8_519_680),
            (512 * MB, 256, 5_368_709),
            (4096 * MB, 64, 10_485_760),
            (65_536 * MB, 256, 16 * MB),
            (1 << 50, 8192, 16 * MB),
            (0, 1, 0),
        ] {
            assert_eq!(budget(memory, cpus), expected, "{memory} bytes, {cpus} CPUs");
        }
    }

    #[test]
    fn memory_as_the_kernel_tells_it() {
        for (text, expected) in [
            ("MemTotal:        8022520 kB\nMemFree:          123 kB\n", Some(8_215_060_480)),
            ("MemFree: 1 kB\nMemTotal: 58000 kB", Some(59_392_000)),
            ("MemTotal: 58000\n", None),
            ("MemTotal: -1 kB\n", None),
            ("MemTotal: 18446744073709551615 kB\n", None),
            ("", None),
        ] {
            assert_eq!(memory_of(text.as_bytes()), expected, "{text}");
        }
    }

    fn planned(memory: u64, cpus: usize, all: bool, mode: Mode) -> (Plan, Vec<&'static str>) {
        let wanted: Vec<_> = MODULES
            .iter()
            .filter(|module| all || module.on_by_default)
            .map(|module| (module, Extent::whole(mode)))
            .collect();
        let plan = Plan::new(budget(memory, cpus), cpus, &wanted);
        let out = wanted.iter().enumerate().filter(|(place, _)| !plan.keeps(*place));
        (plan, out.map(|(_, (module, _))| module.name).collect())
    }

    #[test]
    fn what_gives_way_from_64_mb_and_one_cpu_to_256_cpus() {
        for (memory, cpus, all, mode, shrink, out) in [
            (64 * MB, 1, false, Mode::Entry, 1, &[][..]),
            (32 * MB, 1, false, Mode::Entry, 2, &[]),
            (16 * MB, 1, false, Mode::Entry, 3, &[]),
            (8 * MB, 1, false, Mode::Entry, 4, &[]),
            (64 * MB, 1, true, Mode::Return, 3, &[]),
            (128 * MB, 4, true, Mode::Return, 2, &[]),
            (16 * MB, 1, true, Mode::Return, 4, &["nfs", "vfs", "mount", "socket"]),
            (
                32 * MB,
                256,
                true,
                Mode::Return,
                4,
                &["hardirq", "disk", "ext4", "xfs", "nfs", "zfs", "btrfs", "socket"],
            ),
            (32 * MB, 256, false, Mode::Entry, 4, &["hardirq"]),
            (512 * MB, 2, true, Mode::Return, 0, &[]),
            (512 * MB, 64, true, Mode::Return, 0, &[]),
            (512 * MB, 256, false, Mode::Entry, 0, &[]),
            (512 * MB, 256, true, Mode::Return, 1, &[]),
            (65_536 * MB, 256, true, Mode::Return, 0, &[]),
        ] {
            let (plan, left_out) = planned(memory, cpus, all, mode);
            assert!(plan.bytes <= budget(memory, cpus));
            assert_eq!(
                (plan.shrink, &left_out[..]),
                (shrink, out),
                "{} MB, {cpus} CPUs, all: {all}, {mode:?}",
                memory / MB
            );
        }
    }

    #[test]
    fn nothing_is_kept_where_nothing_may_be_taken() {
        let (plan, out) = planned(0, 1, true, Mode::Entry);
        assert_eq!((plan.bytes, out.len()), (0, MODULES.len()));
    }
}
