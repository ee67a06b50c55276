// SPDX-License-Identifier: GPL-3.0-or-later
//! process: tasks that begin, end and are released.

use crate::chart::Kind::{Line, Stacked};
use crate::chart::{Chart, Dimension, Kind, Mode, Value};
use crate::delta::Delta;
use crate::hook::Hook::{Fentry, FexitResult, Kprobe, Kretprobe, RawTracepoint, Record, Tracepoint};
use crate::hook::Probe;
use crate::memory::Keep;
use crate::module::Module;
use crate::share::{CALLS, Share, look, share};

slots! {
    PROCESS = "process",
    THREAD = "thread",
    EXEC = "exec",
    EXIT = "exit",
    EXIT_PROCESS = "exit_process",
    RELEASE = "release",
    PROCESS_ERROR = "process_error",
    THREAD_ERROR = "thread_error",
}

pub(super) const MODULE: Module = Module {
    name: "process",
    on_by_default: true,
    slots: SLOTS,
    probes: PROBES,
    charts: CHARTS,
    table: None,
    keeps: &[Keep::Hash { map: "clones", words: (1, 1), entries: 256 }],
    shares: SHARES,
};

const PROBES: &[Probe] = &[
    Probe {
        event: "newtask",
        slots: &[PROCESS, THREAD],
        mode: Mode::Entry,
        // The clone flags, which tell a thread from a process, are the second argument on every kernel from el7 to 7.3.
        hooks: &[RawTracepoint("task_newtask"), Record(&("task/task_newtask", &[("clone_flags", 32)]))],
    },
    Probe {
        event: "exec",
        slots: &[EXEC],
        mode: Mode::Entry,
        hooks: &[RawTracepoint("sched_process_exec"), Tracepoint("sched/sched_process_exec")],
    },
    Probe {
        event: "exit",
        slots: &[EXIT, EXIT_PROCESS],
        mode: Mode::Entry,
        hooks: &[
            Fentry("do_exit"),
            RawTracepoint("sched_process_exit"),
            Kprobe("do_exit"),
            Tracepoint("sched/sched_process_exit"),
        ],
    },
    Probe {
        event: "release",
        slots: &[RELEASE],
        mode: Mode::Entry,
        // sched_process_free runs when the last reference goes, after an RCU grace period: later, but once a task.
        hooks: &[
            Fentry("release_task"),
            Kprobe("release_task"),
            RawTracepoint("sched_process_free"),
            Tracepoint("sched/sched_process_free"),
        ],
    },
    // Whether a process or a thread is asked for stands in the arguments, whether there will be one in the result.
    Probe {
        event: "clone",
        slots: &[PROCESS_ERROR, THREAD_ERROR],
        mode: Mode::Return,
        hooks: &[Fentry("kernel_clone"), Kprobe("kernel_clone"), Kprobe("_do_fork"), Kprobe("do_fork")],
    },
    Probe {
        event: "clone_error",
        slots: &[PROCESS_ERROR, THREAD_ERROR],
        mode: Mode::Return,
        hooks: &[
            FexitResult("kernel_clone"),
            Kretprobe("kernel_clone"),
            Kretprobe("_do_fork"),
            Kretprobe("do_fork"),
        ],
    },
];

const fn chart(
    id: &'static str,
    priority: u32,
    mode: Mode,
    title: &'static str,
    units: &'static str,
    dimensions: &'static [Dimension],
) -> Chart {
    Chart { id, title, units, family: "processes", context: id, kind: Kind::Line, priority, mode, dimensions }
}

const CHARTS: &[Chart] = &[
    chart(
        "system.process_thread",
        21002,
        Mode::Entry,
        "Start process",
        "calls/s",
        &[
            Dimension::new("_do_fork", "process", Value::Counter(PROCESS)),
            Dimension::new("sys_clone", "thread", Value::Counter(THREAD)),
        ],
    ),
    chart(
        "system.exit",
        21003,
        Mode::Entry,
        "Exit process",
        "calls/s",
        &[
            Dimension::new("do_exit", "process", Value::Counter(EXIT_PROCESS)),
            Dimension::new("release_task", "task", Value::Counter(RELEASE)),
        ],
    ),
    chart(
        "system.process_status",
        21004,
        Mode::Entry,
        "Processes begun, and tasks ended but not yet released, in the interval",
        "calls",
        &[
            Dimension::new(
                "process",
                "process",
                Value::Level(&(&[PROCESS], |delta| Some(clamp(delta[PROCESS])))),
            ),
            Dimension::new(
                "zombie",
                "zombie",
                Value::Level(&(&[EXIT, RELEASE], |delta| Some(unreleased(delta)))),
            ),
        ],
    ),
    chart(
        "system.task_error",
        21005,
        Mode::Return,
        "Fails to create process",
        "calls/s",
        &[
            Dimension::new("_do_fork", "process", Value::Counter(PROCESS_ERROR)),
            Dimension::new("sys_clone", "thread", Value::Counter(THREAD_ERROR)),
        ],
    ),
];

/// A process that forks has begun the new one; one that waits for another has released it.
const SHARES: &[Share] = &[
    share(
        "Processes started",
        "calls/s",
        Mode::Entry,
        &[Value::Counter(PROCESS)],
        [
            look("process_start", "app.ebpf_process_start", "processes", Stacked, 20161, CALLS),
            look(
                "process_create",
                "cgroup.process_create",
                "processes",
                Line,
                45000,
                &[("_do_fork", "process")],
            ),
            look("process_create", "systemd.service.process_create", "process", Stacked, 20065, CALLS),
        ],
    ),
    share(
        "Threads started",
        "calls/s",
        Mode::Entry,
        &[Value::Counter(THREAD)],
        [
            look("thread_start", "app.ebpf_thread_start", "processes", Stacked, 20162, CALLS),
            look(
                "thread_create",
                "cgroup.thread_create",
                "processes",
                Line,
                45001,
                &[("sys_clone", "thread")],
            ),
            look("thread_create", "systemd.service.thread_create", "process", Stacked, 20066, CALLS),
        ],
    ),
    share(
        "Tasks that ended",
        "calls/s",
        Mode::Entry,
        &[Value::Counter(EXIT)],
        [
            look("task_exit", "app.ebpf_task_exit", "processes", Stacked, 20163, CALLS),
            look("task_exit", "cgroup.task_exit", "processes", Line, 45002, &[("do_exit", "process")]),
            look("task_exit", "systemd.service.task_exit", "process", Stacked, 20068, CALLS),
        ],
    ),
    share(
        "Tasks released",
        "calls/s",
        Mode::Entry,
        &[Value::Counter(RELEASE)],
        [
            look("task_released", "app.ebpf_task_released", "processes", Stacked, 20164, CALLS),
            look("task_close", "cgroup.task_close", "processes", Line, 45003, &[("release_task", "task")]),
            look("task_close", "systemd.service.task_close", "process", Stacked, 20067, CALLS),
        ],
    ),
    share(
        "Processes and threads that could not be started",
        "calls/s",
        Mode::Return,
        &[Value::Sum(&(&[PROCESS_ERROR, THREAD_ERROR], |delta| {
            delta[PROCESS_ERROR].saturating_add(delta[THREAD_ERROR])
        }))],
        [
            look("task_error", "app.ebpf_task_error", "processes", Stacked, 20165, CALLS),
            look("task_error", "cgroup.task_error", "processes", Line, 45004, &[("do_exit", "process")]),
            look("task_error", "systemd.service.task_error", "process", Stacked, 20069, CALLS),
        ],
    ),
];

fn clamp(amount: u64) -> i64 {
    i64::try_from(amount).unwrap_or(i64::MAX)
}

/// Tasks that began to exit less those that were released, which is below 0 when older zombies are reaped.
fn unreleased(delta: &Delta<'_>) -> i64 {
    clamp(delta[EXIT]) - clamp(delta[RELEASE])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ended_and_was_not_released() {
        for (exit, release, expected) in
            [(0, 0, 0), (5, 5, 0), (5, 4, 1), (4, 5, -1), (u64::MAX, 0, i64::MAX), (0, u64::MAX, -i64::MAX)]
        {
            let mut changes = [0; 8];
            changes[EXIT] = exit;
            changes[RELEASE] = release;
            assert_eq!(unreleased(&Delta(&changes)), expected, "{exit} − {release}");
        }
    }
}
