// SPDX-License-Identifier: GPL-3.0-or-later
//! swap: how often the kernel reads from swap and writes to it.

use crate::chart::{Chart, Dimension, Kind, Mode, Value};
use crate::hook::Hook::{Fentry, Kprobe};
use crate::hook::Probe;
use crate::module::Module;
use crate::share::{CALLS, Share, look, share};

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
    shares: SHARES,
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

/// A page that the kernel writes to make room is booked on the kernel, or on who wanted the room.
const SHARES: &[Share] = &[
    share(
        "Pages asked from swap",
        "calls/s",
        Mode::Entry,
        &[Value::Counter(READ)],
        [
            look("call_swap_readpage", "app.ebpf_call_swap_readpage", "mem", Kind::Stacked, 20070, CALLS),
            look("swap_read_call", "cgroup.swap_read", "swap", Kind::Line, 45100, &[("read", "read")]),
            look("swap_read_call", "systemd.service.swap_read", "swap", Kind::Stacked, 20191, CALLS),
        ],
    ),
    share(
        "Pages given to swap",
        "calls/s",
        Mode::Entry,
        &[Value::Counter(WRITE)],
        [
            look("call_swap_writepage", "app.ebpf_call_swap_writepage", "mem", Kind::Stacked, 20071, CALLS),
            look("swap_write_call", "cgroup.swap_write", "swap", Kind::Line, 45101, &[("write", "write")]),
            look("swap_write_call", "systemd.service.swap_write", "swap", Kind::Stacked, 20192, CALLS),
        ],
    ),
];
