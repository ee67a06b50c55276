// SPDX-License-Identifier: GPL-3.0-or-later
//! Known amounts of work, and what kmote must count of each; one file a module.

mod cachestat;
mod dcstat;
mod disk;
mod fd;
mod filesystem;
mod hardirq;
mod mdflush;
mod mount;
mod oomkill;
mod process;
mod shm;
mod socket;
mod softirq;
mod swap;
mod sync;
mod vfs;

pub use mdflush::flush as flush_array;

use kmote_core::chart::Mode;

use crate::guest::counters::Counter;
use crate::guest::kmote::Kmote;
use crate::guest::place::Place;
use crate::guest::run::{Run, Subject};

/// A piece of work between two readings.
pub struct Step {
    pub name: &'static str,
    /// The disk that it needs.
    pub disk: Option<&'static str>,
    /// With fewer CPUs it makes no sense.
    pub cpus: usize,
    /// What happens before the first reading.
    pub prepare: fn(&mut Place),
    pub work: fn(&mut Place),
    /// What each slot must have grown by; a slot that is not named may do as it likes.
    pub expect: &'static [(&'static str, Expected)],
    /// The kernel's own counters, which must agree. If one does not, the guest was not quiet and the step is done
    /// again.
    pub counters: Vec<(Counter, i64)>,
}

impl Step {
    /// The kernel's counters now, those that this kernel has.
    pub fn count(&self) -> Vec<(Counter, i64, i64)> {
        self.counters.iter().filter_map(|(counter, by)| Some((*counter, *by, counter.read()?))).collect()
    }

    /// By how much they have changed: counter, expected, seen.
    pub fn since(&self, before: &[(Counter, i64, i64)]) -> Vec<(Counter, i64, i64)> {
        let seen = |counter: Counter, before: i64| counter.read().unwrap_or(before) - before;
        before.iter().map(|(counter, by, value)| (*counter, *by, seen(*counter, *value))).collect()
    }
}

#[derive(Clone, Copy, Debug)]
pub enum Expected {
    Exactly(u64),
    /// Where no equality can be asked for, and why.
    AtMost(u64, &'static str),
    Within(u64, u64, &'static str),
}

impl Expected {
    pub fn holds(self, seen: u64) -> bool {
        match self {
            Self::Exactly(n) => seen == n,
            Self::AtMost(n, _) => seen <= n,
            Self::Within(low, high, _) => (low..=high).contains(&seen),
        }
    }

    pub fn text(self) -> String {
        match self {
            Self::Exactly(n) => n.to_string(),
            Self::AtMost(n, _) => format!("≤{n}"),
            Self::Within(low, high, _) => format!("{low}–{high}"),
        }
    }

    pub fn why(self) -> &'static str {
        match self {
            Self::Exactly(_) => "",
            Self::AtMost(_, why) | Self::Within(_, _, why) => why,
        }
    }
}

/// A comparison that is more than steps, made while kmote is attached.
pub type Check = fn(&mut Run, Subject, &mut Kmote) -> Result<(), String>;

/// The module's own comparison, if it has one.
pub fn check(module: &str) -> Option<Check> {
    match module {
        "softirq" => Some(softirq::check),
        "hardirq" => Some(hardirq::check),
        "disk" => Some(disk::check),
        "mdflush" => Some(mdflush::check),
        _ => None,
    }
}

/// The steps of a module; in return mode only those that need it.
pub fn steps(module: &str, mode: Mode) -> Vec<Step> {
    match (module, mode) {
        ("process", Mode::Entry) => process::steps(),
        ("process", Mode::Return) => process::refusals(),
        ("cachestat", Mode::Entry) => cachestat::steps(),
        ("ext4" | "xfs" | "btrfs", Mode::Entry) => filesystem::steps(module),
        ("nfs", Mode::Entry) => filesystem::nfs_steps(),
        ("softirq", Mode::Entry) => softirq::steps(),
        ("fd", Mode::Entry) => fd::steps(),
        ("fd", Mode::Return) => fd::refused_steps(),
        ("mount", Mode::Entry) => mount::steps(),
        ("oomkill", Mode::Entry) => oomkill::steps(),
        ("shm", Mode::Entry) => shm::steps(),
        ("swap", Mode::Entry) => swap::steps(),
        ("vfs", Mode::Entry) => vfs::steps(),
        ("vfs", Mode::Return) => vfs::refused_steps(),
        ("dcstat", Mode::Entry) => dcstat::steps(),
        ("socket", Mode::Entry) => socket::steps(),
        ("socket", Mode::Return) => socket::refused_steps(),
        ("sync", Mode::Entry) => sync::steps(),
        _ => Vec::new(),
    }
}

/// The disk that a module's steps work on, where it is one module's own.
pub fn disk(module: &str) -> Option<&'static str> {
    match module {
        "ext4" | "xfs" | "nfs" | "btrfs" => Some(filesystem::disk(module)),
        // No disk, but kernel modules that must be there when kmote starts.
        "mdflush" => Some("mdflush"),
        _ => None,
    }
}

/// An expectation `slot@target` is of kernels and mechanisms that count the slot there: others see less.
pub fn parted(key: &str) -> (&str, &str) {
    key.split_once('@').unwrap_or((key, ""))
}

/// What the readings themselves add to a slot: kmote reads a line of one byte, and answers in two pieces.
pub fn of_reading(module: &str, slot: &str, answer: u64) -> u64 {
    match (module, slot) {
        ("vfs", "read" | "read_bytes") => 1,
        ("vfs", "write") => 2,
        ("vfs", "write_bytes") => answer,
        _ => 0,
    }
}

fn nothing(_: &mut Place) {}

/// Long enough for a tick of anything that runs by itself.
fn wait(_: &mut Place) {
    std::thread::sleep(std::time::Duration::from_millis(300));
}

/// Slots that no work in a guest can be made to move, and why.
#[cfg(test)]
const UNMOVED: &[(&str, &[&str], &str)] = &[
    (
        "softirq",
        &["hi", "net_tx", "net_rx", "block", "irq_poll", "tasklet", "sched", "hrtimer"],
        "depends on devices and on how many CPUs there are",
    ),
    ("mdflush", &["lost", "unknown"], "every kernel with BTF tells the number of an array"),
    ("disk", &["lost", "unknown"], "what is lost cannot be made to be lost by a known number"),
    (
        "hardirq",
        &[
            "thermal_apic",
            "threshold_apic",
            "error_apic",
            "deferred_error_apic",
            "spurious_apic",
            "call_function",
            "call_function_single",
            "reschedule",
            "local_timer",
            "irq_work",
            "x86_platform_ipi",
            "ipi",
            "lost",
        ],
        "depends on devices; what moved is compared with the kernel's own counts",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use kmote_core::modules::MODULES;

    /// What no kernel of the matrix has: OpenZFS is in none of Debian's kernels.
    const NOWHERE: [&str; 1] = ["zfs"];

    /// Whether an expectation speaks of a slot; that of a sum over buckets speaks of each of them. What is lost cannot
    /// be made to be lost by a known number.
    fn speaks_of(name: &str, slot: &str) -> bool {
        let (name, _) = parted(name);
        match name.strip_suffix('*') {
            Some(stem) => {
                slot.strip_prefix(stem).is_some_and(|rest| rest.parse::<u8>().is_ok() || rest == "lost")
            }
            None => name == slot,
        }
    }

    #[test]
    fn every_module_has_a_workload_that_moves_every_slot() {
        for module in MODULES.iter().filter(|module| !NOWHERE.contains(&module.name)) {
            let steps: Vec<Step> =
                [Mode::Entry, Mode::Return].into_iter().flat_map(|m| steps(module.name, m)).collect();
            for slot in module.slots {
                let moved = steps
                    .iter()
                    .flat_map(|step| step.expect)
                    .any(|(name, expected)| speaks_of(name, slot) && !expected.holds(0));
                let excused =
                    UNMOVED.iter().any(|(name, slots, _)| *name == module.name && slots.contains(slot));
                assert!(moved != excused, "{} {slot}: moved {moved}, excused {excused}", module.name);
            }
            for (name, _) in steps.iter().flat_map(|step| step.expect) {
                let known = module.slots.iter().any(|slot| speaks_of(name, slot));
                assert!(known, "{} has no slot {name}", module.name);
            }
        }
    }
}
