// SPDX-License-Identifier: GPL-3.0-or-later
//! oomkill: how many processes the kernel kills for want of memory.

use crate::chart::{Chart, Dimension, Kind, Mode, Value};
use crate::hook::Hook::{Kprobe, RawTracepoint, Record};
use crate::hook::Probe;
use crate::module::Module;
use crate::share::{Share, look, share};

slots! { KILL = "kill" }

/// Of the whole host too; ebpf.plugin has such charts of applications and cgroups only.
pub(super) const MODULE: Module = Module {
    name: "oomkill",
    on_by_default: true,
    slots: SLOTS,
    probes: PROBES,
    charts: CHARTS,
    table: None,
    keeps: &[],
    shares: SHARES,
};

const PROBES: &[Probe] = &[Probe {
    event: "kill",
    slots: &[KILL],
    mode: Mode::Entry,
    // The tracepoint is of v4.14. Its record tells who is killed; the raw one's argument is a structure from v6.8 on.
    hooks: &[
        Record(&("oom/mark_victim", &[("pid", 8)])),
        RawTracepoint("mark_victim"),
        Kprobe("oom_kill_process"),
    ],
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

const KILLS: &[(&str, &str)] = &[("kills", "kills")];

const SHARES: &[Share] = &[share(
    "Processes killed for want of memory",
    "kills/s",
    Mode::Entry,
    &[Value::Counter(KILL)],
    [
        look("oomkill", "app.ebpf_oomkill", "mem", Kind::Stacked, 20072, KILLS),
        look("_ebpf_oomkill", "cgroup.oomkills", "mem", Kind::Line, 45600, KILLS),
        look("_ebpf_oomkill", "systemd.oomkills", "mem", Kind::Stacked, 20191, KILLS),
    ],
)];
