// SPDX-License-Identifier: GPL-3.0-or-later
//! shm: how often programs use System V shared memory.

use crate::chart::{Chart, Dimension, Kind, Mode, Value};
use crate::hook::{Hook, Probe};
use crate::module::Module;
use crate::share::{CALLS, Share, look, share};

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
    shares: SHARES,
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

const SHARES: &[Share] = &[
    share(
        "Calls to shmget(2)",
        "calls/s",
        Mode::Entry,
        &[Value::Counter(GET)],
        [
            look("shmget_call", "app.ebpf_shmget_call", "ipc shm", Kind::Stacked, 20191, CALLS),
            look("shmget_call", "cgroup.shmget", "ipc shm", Kind::Line, 45800, &[("get", "get")]),
            look("shmget_call", "systemd.service.shmget", "ipc shm", Kind::Stacked, 20191, CALLS),
        ],
    ),
    share(
        "Calls to shmat(2)",
        "calls/s",
        Mode::Entry,
        &[Value::Counter(AT)],
        [
            look("shmat_call", "app.ebpf_shmat_call", "ipc shm", Kind::Stacked, 20192, CALLS),
            look("shmat_call", "cgroup.shmat", "ipc shm", Kind::Line, 45801, &[("at", "at")]),
            look("shmat_call", "systemd.service.shmat", "ipc shm", Kind::Stacked, 20192, CALLS),
        ],
    ),
    share(
        "Calls to shmdt(2)",
        "calls/s",
        Mode::Entry,
        &[Value::Counter(DT)],
        [
            look("shmdt_call", "app.ebpf_shmdt_call", "ipc shm", Kind::Stacked, 20193, CALLS),
            look("shmdt_call", "cgroup.shmdt", "ipc shm", Kind::Line, 45802, &[("dt", "dt")]),
            look("shmdt_call", "systemd.service.shmdt", "ipc shm", Kind::Stacked, 20193, CALLS),
        ],
    ),
    share(
        "Calls to shmctl(2)",
        "calls/s",
        Mode::Entry,
        &[Value::Counter(CTL)],
        [
            look("shmctl_call", "app.ebpf_shmctl_call", "ipc shm", Kind::Stacked, 20194, CALLS),
            look("shmctl_call", "cgroup.shmctl", "ipc shm", Kind::Line, 45803, &[("ctl", "ctl")]),
            look("shmctl_call", "systemd.service.shmctl", "ipc shm", Kind::Stacked, 20194, CALLS),
        ],
    ),
];
