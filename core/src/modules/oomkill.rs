// SPDX-License-Identifier: GPL-3.0-or-later
//! oomkill: how many processes the kernel kills for want of memory.

use crate::chart::{Chart, Dimension, Kind, Mode, Value};
use crate::hook::Hook::{Kprobe, RawTracepoint, Tracepoint};
use crate::hook::Probe;
use crate::module::Module;

slots! { KILL = "kill" }

/// Of the whole host; ebpf.plugin has such charts of applications and cgroups only.
pub(super) const MODULE: Module = Module {
    name: "oomkill",
    on_by_default: true,
    slots: SLOTS,
    probes: PROBES,
    charts: CHARTS,
    table: None,
    keeps: &[],
    shares: &[],
};

const PROBES: &[Probe] = &[Probe {
    event: "kill",
    slots: &[KILL],
    mode: Mode::Entry,
    // The tracepoint is of v4.14.
    hooks: &[RawTracepoint("mark_victim"), Tracepoint("oom/mark_victim"), Kprobe("oom_kill_process")],
}];

const CHARTS: &[Chart] = &[Chart {
    id: "mem.oomkill",
    title: "Processes killed for want of memory",
    units: "kills/s",
    family: "OOM kills",
    context: "mem.oomkill",
    kind: Kind::Line,
    priority: 1038,
    mode: Mode::Entry,
    dimensions: &[Dimension::new("kills", "kills", Value::Counter(KILL))],
}];
