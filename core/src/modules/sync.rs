// SPDX-License-Identifier: GPL-3.0-or-later
//! sync: how often programs ask to write back what is dirty.

use crate::chart::{Chart, Dimension, Kind, Mode, Value};
use crate::hook::Hook::{self, Fentry, Kprobe, Tracepoint};
use crate::hook::Probe;
use crate::module::Module;

slots! {
    FSYNC = "fsync",
    FDATASYNC = "fdatasync",
    MSYNC = "msync",
    SYNC = "sync",
    SYNCFS = "syncfs",
    SYNC_FILE_RANGE = "sync_file_range",
}

pub(super) const MODULE: Module = Module {
    name: "sync",
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
    probe("fsync", &[FSYNC], syscalls!("fsync")),
    probe("fdatasync", &[FDATASYNC], syscalls!("fdatasync")),
    probe("msync", &[MSYNC], syscalls!("msync")),
    // Without arguments the names for 64-bit and for 32-bit programs are two of one function: to take both would count
    // twice. On x86 it has a third name, the only one that can be traced.
    probe(
        "sync_call",
        &[SYNC],
        &[
            Fentry("__do_sys_sync"),
            Fentry("__arm64_sys_sync"),
            Fentry("__riscv_sys_sync"),
            Kprobe("__do_sys_sync"),
            Kprobe("__x64_sys_sync"),
            Kprobe("__ia32_sys_sync"),
            Kprobe("__arm64_sys_sync"),
            Kprobe("__riscv_sys_sync"),
            Kprobe("sys_sync"),
            Tracepoint("syscalls/sys_enter_sync"),
        ],
    ),
    probe("syncfs", &[SYNCFS], syscalls!("syncfs")),
    // Arm and powerpc have the arguments in another order, 32-bit programs on x86 have offsets in halves.
    probe(
        "sync_file_range",
        &[SYNC_FILE_RANGE],
        syscalls!("sync_file_range", "sync_file_range2", "ia32_sync_file_range"),
    ),
];

const fn chart(
    id: &'static str,
    priority: u32,
    title: &'static str,
    dimensions: &'static [Dimension],
) -> Chart {
    let (units, family, kind, mode) = ("calls/s", "synchronization (eBPF)", Kind::Line, Mode::Entry);
    Chart { id, title, units, family, context: id, kind, priority, mode, dimensions }
}

const CHARTS: &[Chart] = &[
    chart(
        "mem.file_sync",
        21300,
        "Calls to fsync(2) and fdatasync(2)",
        &[
            Dimension::new("fsync", "fsync", Value::Counter(FSYNC)),
            Dimension::new("fdatasync", "fdatasync", Value::Counter(FDATASYNC)),
        ],
    ),
    chart(
        "mem.memory_map",
        21301,
        "Calls to msync(2)",
        &[Dimension::new("msync", "msync", Value::Counter(MSYNC))],
    ),
    chart(
        "mem.sync",
        21302,
        "Calls to sync(2) and syncfs(2)",
        &[
            Dimension::new("sync", "sync", Value::Counter(SYNC)),
            Dimension::new("syncfs", "syncfs", Value::Counter(SYNCFS)),
        ],
    ),
    chart(
        "mem.file_segment",
        21303,
        "Calls to sync_file_range(2)",
        &[Dimension::new("sync_file_range", "sync_file_range", Value::Counter(SYNC_FILE_RANGE))],
    ),
];
