// SPDX-License-Identifier: GPL-3.0-or-later
//! swap: how often the kernel reads from swap and writes to it.

use crate::chart::{Chart, Dimension, Kind, Mode, Value};
use crate::hook::Hook::{Fentry, Kprobe};
use crate::hook::Probe;
use crate::module::Module;

slots! { READ = "read", WRITE = "write" }

/// One call is one folio, which on newer kernels may be many pages; a page of zeroes is a call too, though on them it does
/// not reach the device.
pub(super) const MODULE: Module = Module {
    name: "swap",
    on_by_default: true,
    slots: SLOTS,
    probes: PROBES,
    charts: CHARTS,
    table: None,
    keeps: &[],
    shares: &[],
};

// No tracepoint sees either.
const PROBES: &[Probe] = &[
    Probe {
        event: "read",
        slots: &[READ],
        mode: Mode::Entry,
        // Renamed in v6.8.
        hooks: &[
            Fentry("swap_read_folio"),
            Fentry("swap_readpage"),
            Kprobe("swap_read_folio"),
            Kprobe("swap_readpage"),
        ],
    },
    Probe {
        event: "write",
        slots: &[WRITE],
        mode: Mode::Entry,
        // Renamed between v6.12 and v6.19.
        hooks: &[
            Fentry("swap_writeout"),
            Fentry("swap_writepage"),
            Kprobe("swap_writeout"),
            Kprobe("swap_writepage"),
        ],
    },
];

const CHARTS: &[Chart] = &[Chart {
    id: "mem.swapcalls",
    title: "Calls to access swap memory",
    units: "calls/s",
    family: "swap",
    context: "mem.swapcalls",
    kind: Kind::Line,
    priority: 1037,
    mode: Mode::Entry,
    dimensions: &[
        Dimension::new("read", "read", Value::Counter(READ)),
        Dimension::new("write", "write", Value::Counter(WRITE)),
    ],
}];
