// SPDX-License-Identifier: GPL-3.0-or-later
//! fd: how often programs open and close files.

use crate::chart::{Chart, Dimension, Kind, Mode, Value};
use crate::hook::Hook::{All, Fentry, FexitResult, Kprobe, Kretprobe, Record, Tracepoint};
use crate::hook::Probe;
use crate::module::Module;
use crate::share::{CALLS, Share, look, share};

slots! { OPEN = "open", CLOSE = "close", OPEN_ERROR = "open_error", CLOSE_ERROR = "close_error" }

/// Calls are counted when they are made, whether they succeed or not. What the kernel closes by itself, when a program
/// ends for instance, is not counted.
pub(super) const MODULE: Module = Module {
    name: "fd",
    on_by_default: true,
    slots: SLOTS,
    probes: PROBES,
    charts: CHARTS,
    table: None,
    keeps: &[],
    shares: SHARES,
};

const PROBES: &[Probe] = &[
    Probe {
        event: "open",
        slots: &[OPEN],
        mode: Mode::Entry,
        // open, openat, openat2 and creat meet in do_sys_openat2 (since v5.6; before, in do_sys_open, which is a wrapper
        // now that nothing calls), and requests of io_uring are prepared once each.
        hooks: &[
            All(&[Fentry("do_sys_openat2"), Fentry("__io_openat_prep")]),
            All(&[Kprobe("do_sys_openat2"), Kprobe("__io_openat_prep")]),
            Kprobe("do_sys_open"),
            All(&[
                Tracepoint("syscalls/sys_enter_openat"),
                Tracepoint("syscalls/sys_enter_open"),
                Tracepoint("syscalls/sys_enter_creat"),
                Tracepoint("syscalls/sys_enter_openat2"),
            ]),
        ],
    },
    Probe {
        event: "close",
        slots: &[CLOSE],
        mode: Mode::Entry,
        // No inner function sees them all: close_fd is not called by close(2) any more by v6.12.
        hooks: &[
            All(&[
                Fentry("__x64_sys_close"),
                Fentry("__ia32_sys_close"),
                Fentry("__arm64_sys_close"),
                Fentry("__riscv_sys_close"),
                Fentry("io_close_prep"),
            ]),
            All(&[
                Kprobe("__x64_sys_close"),
                Kprobe("__ia32_sys_close"),
                Kprobe("__arm64_sys_close"),
                Kprobe("__riscv_sys_close"),
                Kprobe("sys_close"),
                Kprobe("io_close_prep"),
            ]),
            Tracepoint("syscalls/sys_enter_close"),
        ],
    },
    Probe {
        event: "open_error",
        slots: &[OPEN_ERROR],
        mode: Mode::Return,
        // Those of io_uring end elsewhere and are not seen.
        hooks: &[
            FexitResult("do_sys_openat2"),
            Kretprobe("do_sys_openat2"),
            Kretprobe("do_sys_open"),
            All(&[
                Record(&("syscalls/sys_exit_openat", &[("ret", 16)])),
                Record(&("syscalls/sys_exit_open", &[("ret", 16)])),
                Record(&("syscalls/sys_exit_creat", &[("ret", 16)])),
                Record(&("syscalls/sys_exit_openat2", &[("ret", 16)])),
            ]),
            // On 32-bit kernels.
            All(&[
                Record(&("syscalls/sys_exit_openat", &[("ret", 12)])),
                Record(&("syscalls/sys_exit_open", &[("ret", 12)])),
                Record(&("syscalls/sys_exit_creat", &[("ret", 12)])),
                Record(&("syscalls/sys_exit_openat2", &[("ret", 12)])),
            ]),
        ],
    },
    Probe {
        event: "close_error",
        slots: &[CLOSE_ERROR],
        mode: Mode::Return,
        hooks: syscall_results!("close"),
    },
];

const fn chart(
    id: &'static str,
    priority: u32,
    mode: Mode,
    title: &'static str,
    dimensions: &'static [Dimension],
) -> Chart {
    let (units, family, kind) = ("calls/s", "file_access", Kind::Line);
    Chart { id, title, units, family, context: id, kind, priority, mode, dimensions }
}

const CHARTS: &[Chart] = &[
    chart(
        "filesystem.file_descriptor",
        2195,
        Mode::Entry,
        "Open and close calls",
        &[
            Dimension::new("do_sys_open", "open", Value::Counter(OPEN)),
            Dimension::new("__close_fd", "close", Value::Counter(CLOSE)),
        ],
    ),
    chart(
        "filesystem.file_error",
        2196,
        Mode::Return,
        "Open fails",
        &[
            Dimension::new("do_sys_open", "open", Value::Counter(OPEN_ERROR)),
            Dimension::new("__close_fd", "close", Value::Counter(CLOSE_ERROR)),
        ],
    ),
];

const SHARES: &[Share] = &[
    share(
        "Number of open files",
        "calls/s",
        Mode::Entry,
        &[Value::Counter(OPEN)],
        [
            look("file_open", "app.ebpf_file_open", "fds", Kind::Stacked, 20220, CALLS),
            look("file_open", "cgroup.fd_open", "file_access", Kind::Line, 45400, &[("do_sys_open", "open")]),
            look("file_open", "systemd.service.fd_open", "file_access", Kind::Stacked, 20270, CALLS),
        ],
    ),
    share(
        "Fails to open files",
        "calls/s",
        Mode::Return,
        &[Value::Counter(OPEN_ERROR)],
        [
            look("file_open_error", "app.ebpf_file_open_error", "fds", Kind::Stacked, 20221, CALLS),
            look(
                "file_open_error",
                "cgroup.fd_open_error",
                "file_access",
                Kind::Line,
                45401,
                &[("do_sys_open", "open")],
            ),
            look(
                "file_open_error",
                "systemd.service.fd_open_error",
                "file_access",
                Kind::Stacked,
                20271,
                CALLS,
            ),
        ],
    ),
    share(
        "Files closed",
        "calls/s",
        Mode::Entry,
        &[Value::Counter(CLOSE)],
        [
            look("file_closed", "app.ebpf_file_closed", "fds", Kind::Stacked, 20222, CALLS),
            look(
                "file_closed",
                "cgroup.fd_close",
                "file_access",
                Kind::Line,
                45402,
                &[("__close_fd", "close")],
            ),
            look("file_closed", "systemd.service.fd_close", "file_access", Kind::Stacked, 20272, CALLS),
        ],
    ),
    share(
        "Fails to close files",
        "calls/s",
        Mode::Return,
        &[Value::Counter(CLOSE_ERROR)],
        [
            look("file_close_error", "app.ebpf_file_close_error", "fds", Kind::Stacked, 20223, CALLS),
            look(
                "file_close_error",
                "cgroup.fd_close_error",
                "file_access",
                Kind::Line,
                45403,
                &[("__close_fd", "close")],
            ),
            look(
                "file_close_error",
                "systemd.service.fd_close_error",
                "file_access",
                Kind::Stacked,
                20273,
                CALLS,
            ),
        ],
    ),
];
