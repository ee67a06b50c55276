// SPDX-License-Identifier: GPL-3.0-or-later
//! How the kernel's table of processes learns who begins, is renamed and ends: a row like a module's, of its own.

use crate::chart::{Chart, Dimension, Kind, Mode, Value};
use crate::hook::Hook::{RawTracepoint, Record, Tracepoint};
use crate::hook::Probe;
use crate::module::Module;

const BORN: usize = 0;
const NAMED: usize = 1;
/// The slot of the ends that were seen.
pub const ENDED: usize = 2;

/// Attached when groups of processes are asked for. Each probe that is lost costs something: a process that was not seen
/// to begin has the parent that /proc tells, one that was not seen to be renamed keeps its group, and the end of one
/// that was not seen is noticed some minutes later.
pub const LIFE: Module = Module {
    name: "apps",
    on_by_default: false,
    slots: &["born", "named", "ended"],
    probes: &[
        Probe {
            event: "born",
            slots: &[BORN],
            mode: Mode::Entry,
            // The record has the new process's id; the raw tracepoint's argument is a structure that changes.
            // The clone flags are a long of the kernel, which need not be one of ours.
            hooks: &[
                Record(&("task/task_newtask", &[("pid", 8), ("clone_flags", 32)])),
                Record(&("task/task_newtask", &[("pid", 8), ("clone_flags", 28)])),
            ],
        },
        Probe {
            event: "named",
            slots: &[NAMED],
            mode: Mode::Entry,
            hooks: &[
                RawTracepoint("task_rename"),
                Record(&("task/task_rename", &[("pid", 8), ("newcomm", 28)])),
            ],
        },
        Probe {
            event: "ended",
            slots: &[ENDED],
            mode: Mode::Entry,
            hooks: &[RawTracepoint("sched_process_exit"), Tracepoint("sched/sched_process_exit")],
        },
    ],
    charts: &[Chart {
        id: "netdata.kmote_processes",
        title: "Processes seen to begin, to get another name and to end",
        units: "events/s",
        family: "kmote",
        context: "netdata.kmote_processes",
        kind: Kind::Line,
        priority: 140_100,
        mode: Mode::Entry,
        dimensions: &[
            Dimension::new("born", "born", Value::Counter(BORN)),
            Dimension::new("named", "named", Value::Counter(NAMED)),
            Dimension::new("ended", "ended", Value::Counter(ENDED)),
        ],
    }],
    table: None,
    keeps: &[],
    shares: &[],
};
