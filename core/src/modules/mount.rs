// SPDX-License-Identifier: GPL-3.0-or-later
//! mount: how often filesystems are mounted and unmounted, and how often that fails.

use crate::chart::{Chart, Dimension, Kind, Mode, Value};
use crate::hook::{Hook, Probe};
use crate::module::Module;

slots! { MOUNT = "mount", UMOUNT = "umount", MOUNT_ERROR = "mount_error", UMOUNT_ERROR = "umount_error" }

/// Errors are counted in either mode, as in Netdata. Of the newer interface (since v5.2) the last step is counted,
/// move_mount(2), which puts a filesystem in its place; a failure of the steps before it is not seen.
pub(super) const MODULE: Module = Module {
    name: "mount",
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

// Calls are counted at their entry: a result that is lost, as kretprobes lose them, costs no call.
const PROBES: &[Probe] = &[
    probe("mounting", &[MOUNT], syscalls!("mount", "move_mount")),
    probe("mounted", &[MOUNT_ERROR], syscall_results!("mount", "move_mount")),
    // umount2(2) is the kernel's umount; umount(2) without flags is its oldumount.
    probe("unmounting", &[UMOUNT], syscalls!("umount", "oldumount")),
    probe("unmounted", &[UMOUNT_ERROR], syscall_results!("umount", "oldumount")),
];

const fn chart(
    id: &'static str,
    priority: u32,
    title: &'static str,
    dimensions: &'static [Dimension],
) -> Chart {
    let (units, family, kind, mode) = ("calls/s", "mount (eBPF)", Kind::Line, Mode::Entry);
    Chart { id, title, units, family, context: id, kind, priority, mode, dimensions }
}

const CHARTS: &[Chart] = &[
    chart(
        "mount_points.call",
        2190,
        "Calls to mount and umount syscalls",
        &[
            Dimension::new("mount", "mount", Value::Counter(MOUNT)),
            Dimension::new("umount", "umount", Value::Counter(UMOUNT)),
        ],
    ),
    chart(
        "mount_points.error",
        2191,
        "Errors to mount and umount file systems",
        &[
            Dimension::new("mount", "mount", Value::Counter(MOUNT_ERROR)),
            Dimension::new("umount", "umount", Value::Counter(UMOUNT_ERROR)),
        ],
    ),
];
