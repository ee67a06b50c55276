// SPDX-License-Identifier: GPL-3.0-or-later
//! shm: how often programs use System V shared memory.

use crate::chart::{Chart, Dimension, Kind, Mode, Value};
use crate::hook::{Hook, Probe};
use crate::module::Module;

slots! { GET = "get", AT = "at", DT = "dt", CTL = "ctl" }

/// A call through the old ipc(2), which 32-bit programs on x86 may still use, is not seen.
pub(super) const MODULE: Module = Module {
    name: "shm",
    on_by_default: true,
    slots: SLOTS,
    probes: PROBES,
    charts: CHARTS,
    table: None,
    keeps: &[],
    shares: &[],
};

const fn probe(event: &'static str, slots: &'static [usize], hooks: &'static [Hook]) -> Probe {
    Probe { event, slots, mode: Mode::Entry, hooks }
}

const PROBES: &[Probe] = &[
    probe("get", &[GET], syscalls!("shmget")),
    probe("at", &[AT], syscalls!("shmat")),
    probe("dt", &[DT], syscalls!("shmdt")),
    probe("ctl", &[CTL], syscalls!("shmctl", "old_shmctl")),
];

const CHARTS: &[Chart] = &[Chart {
    id: "system.shared_memory_calls",
    title: "Calls to shared memory system calls",
    units: "calls/s",
    family: "ipc shared memory",
    context: "system.shared_memory_calls",
    kind: Kind::Line,
    priority: 1207,
    mode: Mode::Entry,
    dimensions: &[
        Dimension::new("get", "get", Value::Counter(GET)),
        Dimension::new("at", "at", Value::Counter(AT)),
        Dimension::new("dt", "dt", Value::Counter(DT)),
        Dimension::new("ctl", "ctl", Value::Counter(CTL)),
    ],
}];
