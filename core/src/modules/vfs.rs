// SPDX-License-Identifier: GPL-3.0-or-later
//! vfs: what programs do with files, the bytes of it, and what fails.

use crate::chart::{Chart, Dimension, Kind, Mode, Value};
use crate::hook::Hook::{self, All, Fentry, FexitResult, Kprobe, Kretprobe, Record, Tracepoint};
use crate::hook::Probe;
use crate::module::Module;
use crate::share::{CALLS, Share, look, share};

slots! {
    UNLINK = "unlink",
    READ = "read",
    WRITE = "write",
    READ_BYTES = "read_bytes",
    WRITE_BYTES = "write_bytes",
    READ_ERROR = "read_error",
    WRITE_ERROR = "write_error",
    FSYNC = "fsync",
    FSYNC_ERROR = "fsync_error",
    OPEN = "open",
    OPEN_ERROR = "open_error",
    CREATE = "create",
    CREATE_ERROR = "create_error",
}

/// Off by default: every read and write is counted. Those of io_uring, splice and mapped memory do not pass here.
pub(super) const MODULE: Module = Module {
    name: "vfs",
    on_by_default: false,
    slots: SLOTS,
    probes: PROBES,
    charts: CHARTS,
    table: None,
    keeps: &[],
    shares: SHARES,
};

/// The same field of the exit records of system calls: those that read, or those that write.
macro_rules! ends {
    ($at:literal: $($name:literal),+) => {
        All(&[$(Record(&(concat!("syscalls/sys_exit_", $name), &[("ret", $at)]))),+])
    };
}

/// The entries of system calls.
macro_rules! begins {
    ($($name:literal),+) => {
        All(&[$(Tracepoint(concat!("syscalls/sys_enter_", $name))),+])
    };
}

const fn entry(event: &'static str, slots: &'static [usize], hooks: &'static [Hook]) -> Probe {
    Probe { event, slots, mode: Mode::Entry, hooks }
}

const fn error(event: &'static str, slots: &'static [usize], hooks: &'static [Hook]) -> Probe {
    Probe { event, slots, mode: Mode::Return, hooks }
}

const PROBES: &[Probe] = &[
    entry("unlink", &[UNLINK], &[Fentry("vfs_unlink"), Kprobe("vfs_unlink")]),
    entry(
        "read",
        &[READ],
        &[
            All(&[Fentry("vfs_read"), Fentry("vfs_readv")]),
            All(&[Kprobe("vfs_read"), Kprobe("vfs_readv")]),
            begins!("read", "pread64", "readv", "preadv", "preadv2"),
        ],
    ),
    entry(
        "write",
        &[WRITE],
        &[
            All(&[Fentry("vfs_write"), Fentry("vfs_writev")]),
            All(&[Kprobe("vfs_write"), Kprobe("vfs_writev")]),
            begins!("write", "pwrite64", "writev", "pwritev", "pwritev2"),
        ],
    ),
    // Bytes are what was moved and not what was asked for, so that they need the result in either mode.
    entry(
        "has_read",
        &[READ_BYTES, READ_ERROR],
        &[
            All(&[FexitResult("vfs_read"), FexitResult("vfs_readv")]),
            All(&[Kretprobe("vfs_read"), Kretprobe("vfs_readv")]),
            ends!(16: "read", "pread64", "readv", "preadv", "preadv2"),
            ends!(12: "read", "pread64", "readv", "preadv", "preadv2"),
        ],
    ),
    entry(
        "has_written",
        &[WRITE_BYTES, WRITE_ERROR],
        &[
            All(&[FexitResult("vfs_write"), FexitResult("vfs_writev")]),
            All(&[Kretprobe("vfs_write"), Kretprobe("vfs_writev")]),
            ends!(16: "write", "pwrite64", "writev", "pwritev", "pwritev2"),
            ends!(12: "write", "pwrite64", "writev", "pwritev", "pwritev2"),
        ],
    ),
    // The calls of programs: vfs_fsync is not called for them, and by v7.2 vfs_fsync_range no more for most.
    entry("fsync", &[FSYNC], syscalls!("fsync", "fdatasync")),
    error("fsync_error", &[FSYNC_ERROR], syscall_results!("fsync", "fdatasync")),
    entry("open", &[OPEN], &[Fentry("vfs_open"), Kprobe("vfs_open")]),
    error("open_error", &[OPEN_ERROR], &[FexitResult("vfs_open"), Kretprobe("vfs_open")]),
    // An open that creates does not pass vfs_create, but asks for leave as all do; without CONFIG_SECURITY nobody asks.
    entry(
        "create",
        &[CREATE],
        &[
            Fentry("security_inode_create"),
            Kprobe("security_inode_create"),
            Fentry("vfs_create"),
            Kprobe("vfs_create"),
        ],
    ),
    // Only mknod(2), and servers and filesystems in the kernel, fail here.
    error("create_error", &[CREATE_ERROR], &[FexitResult("vfs_create"), Kretprobe("vfs_create")]),
];

const fn chart(
    id: &'static str,
    priority: u32,
    mode: Mode,
    title: &'static str,
    units: &'static str,
    dimensions: &'static [Dimension],
) -> Chart {
    Chart { id, title, units, family: "vfs", context: id, kind: Kind::Line, priority, mode, dimensions }
}

const CHARTS: &[Chart] = &[
    chart(
        "filesystem.vfs_deleted_objects",
        2150,
        Mode::Entry,
        "Remove files",
        "calls/s",
        &[Dimension::new("vfs_unlink", "delete", Value::Counter(UNLINK))],
    ),
    chart(
        "filesystem.vfs_io",
        2151,
        Mode::Entry,
        "Calls to IO",
        "calls/s",
        &[
            Dimension::new("vfs_read", "read", Value::Counter(READ)),
            Dimension::new("vfs_write", "write", Value::Counter(WRITE)),
        ],
    ),
    chart(
        "filesystem.vfs_io_bytes",
        2152,
        Mode::Entry,
        "Bytes written and read",
        "bytes/s",
        &[
            Dimension::new("vfs_read", "read", Value::Counter(READ_BYTES)),
            Dimension { multiplier: -1, ..Dimension::new("vfs_write", "write", Value::Counter(WRITE_BYTES)) },
        ],
    ),
    chart(
        "filesystem.vfs_io_error",
        2153,
        Mode::Return,
        "Fails to write or read",
        "calls/s",
        &[
            Dimension::new("vfs_read", "read", Value::Counter(READ_ERROR)),
            Dimension::new("vfs_write", "write", Value::Counter(WRITE_ERROR)),
        ],
    ),
    chart(
        "filesystem.vfs_fsync",
        2154,
        Mode::Entry,
        "Calls to fsync(2) and fdatasync(2)",
        "calls/s",
        &[Dimension::new("vfs_fsync", "fsync", Value::Counter(FSYNC))],
    ),
    chart(
        "filesystem.vfs_fsync_error",
        2155,
        Mode::Return,
        "Sync error",
        "calls/s",
        &[Dimension::new("vfs_fsync", "fsync", Value::Counter(FSYNC_ERROR))],
    ),
    chart(
        "filesystem.vfs_open",
        2156,
        Mode::Entry,
        "Calls to vfs_open",
        "calls/s",
        &[Dimension::new("vfs_open", "open", Value::Counter(OPEN))],
    ),
    chart(
        "filesystem.vfs_open_error",
        2157,
        Mode::Return,
        "Open error",
        "calls/s",
        &[Dimension::new("vfs_open", "open", Value::Counter(OPEN_ERROR))],
    ),
    chart(
        "filesystem.vfs_create",
        2158,
        Mode::Entry,
        "Create files",
        "calls/s",
        &[Dimension::new("vfs_create", "create", Value::Counter(CREATE))],
    ),
    chart(
        "filesystem.vfs_create_error",
        2159,
        Mode::Return,
        "Create error",
        "calls/s",
        &[Dimension::new("vfs_create", "create", Value::Counter(CREATE_ERROR))],
    ),
];

const SHARES: &[Share] = &[
    share(
        "Files removed",
        "calls/s",
        Mode::Entry,
        &[Value::Counter(UNLINK)],
        [
            look("call_vfs_unlink", "app.ebpf_call_vfs_unlink", "vfs", Kind::Stacked, 20275, CALLS),
            look("file_deleted", "cgroup.vfs_unlink", "vfs", Kind::Line, 45500, &[("vfs_unlink", "delete")]),
            look("file_deleted", "systemd.service.vfs_unlink", "vfs", Kind::Stacked, 20065, CALLS),
        ],
    ),
    share(
        "Writes",
        "calls/s",
        Mode::Entry,
        &[Value::Counter(WRITE)],
        [
            look("call_vfs_write", "app.ebpf_call_vfs_write", "vfs", Kind::Stacked, 20276, CALLS),
            look("vfs_write_call", "cgroup.vfs_write", "vfs", Kind::Line, 45501, &[("vfs_write", "write")]),
            look("vfs_write_call", "systemd.service.vfs_write", "vfs", Kind::Stacked, 20066, CALLS),
        ],
    ),
    share(
        "Fails to write",
        "calls/s",
        Mode::Return,
        &[Value::Counter(WRITE_ERROR)],
        [
            look("call_vfs_write_error", "app.ebpf_call_vfs_write_error", "vfs", Kind::Stacked, 20277, CALLS),
            look(
                "vfs_write_error",
                "cgroup.vfs_write_error",
                "vfs",
                Kind::Line,
                45502,
                &[("vfs_write", "write")],
            ),
            look("vfs_write_error", "systemd.service.vfs_write_error", "vfs", Kind::Stacked, 20067, CALLS),
        ],
    ),
    share(
        "Reads",
        "calls/s",
        Mode::Entry,
        &[Value::Counter(READ)],
        [
            look("call_vfs_read", "app.ebpf_call_vfs_read", "vfs", Kind::Stacked, 20278, CALLS),
            look("vfs_read_call", "cgroup.vfs_read", "vfs", Kind::Line, 45503, &[("vfs_read", "read")]),
            look("vfs_read_call", "systemd.service.vfs_read", "vfs", Kind::Stacked, 20068, CALLS),
        ],
    ),
    share(
        "Fails to read",
        "calls/s",
        Mode::Return,
        &[Value::Counter(READ_ERROR)],
        [
            look("call_vfs_read_error", "app.ebpf_call_vfs_read_error", "vfs", Kind::Stacked, 20279, CALLS),
            look(
                "vfs_read_error",
                "cgroup.vfs_read_error",
                "vfs",
                Kind::Line,
                45504,
                &[("vfs_read", "read")],
            ),
            look("vfs_read_error", "systemd.service.vfs_read_error", "vfs", Kind::Stacked, 20069, CALLS),
        ],
    ),
    share(
        "Bytes written",
        "bytes/s",
        Mode::Entry,
        &[Value::Counter(WRITE_BYTES)],
        [
            look(
                "call_vfs_write_bytes",
                "app.ebpf_call_vfs_write_bytes",
                "vfs",
                Kind::Stacked,
                20280,
                &[("writes", "writes")],
            ),
            look(
                "vfs_write_bytes",
                "cgroup.vfs_write_bytes",
                "vfs",
                Kind::Line,
                45505,
                &[("vfs_write", "write")],
            ),
            look(
                "vfs_write_bytes",
                "systemd.service.vfs_write_bytes",
                "vfs",
                Kind::Stacked,
                20070,
                &[("bytes", "bytes")],
            ),
        ],
    ),
    share(
        "Bytes read",
        "bytes/s",
        Mode::Entry,
        &[Value::Counter(READ_BYTES)],
        [
            look(
                "call_vfs_read_bytes",
                "app.ebpf_call_vfs_read_bytes",
                "vfs",
                Kind::Stacked,
                20281,
                &[("reads", "reads")],
            ),
            look(
                "vfs_read_bytes",
                "cgroup.vfs_read_bytes",
                "vfs",
                Kind::Line,
                45506,
                &[("vfs_read", "read")],
            ),
            look(
                "vfs_read_bytes",
                "systemd.service.vfs_read_bytes",
                "vfs",
                Kind::Stacked,
                20071,
                &[("bytes", "bytes")],
            ),
        ],
    ),
    share(
        "Calls to fsync(2) and fdatasync(2)",
        "calls/s",
        Mode::Entry,
        &[Value::Counter(FSYNC)],
        [
            look("call_vfs_fsync", "app.ebpf_call_vfs_fsync", "vfs", Kind::Stacked, 20282, CALLS),
            look("vfs_fsync", "cgroup.vfs_fsync", "vfs", Kind::Line, 45507, &[("vfs_fsync", "fsync")]),
            look("vfs_fsync", "systemd.service.vfs_fsync", "vfs", Kind::Stacked, 20072, CALLS),
        ],
    ),
    share(
        "Fails to sync",
        "calls/s",
        Mode::Return,
        &[Value::Counter(FSYNC_ERROR)],
        [
            look("call_vfs_fsync_error", "app.ebpf_call_vfs_fsync_error", "vfs", Kind::Stacked, 20283, CALLS),
            look(
                "vfs_fsync_error",
                "cgroup.vfs_fsync_error",
                "vfs",
                Kind::Line,
                45508,
                &[("vfs_fsync", "fsync")],
            ),
            look("vfs_fsync_error", "systemd.service.vfs_fsync_error", "vfs", Kind::Stacked, 20073, CALLS),
        ],
    ),
    share(
        "Files opened",
        "calls/s",
        Mode::Entry,
        &[Value::Counter(OPEN)],
        [
            look("call_vfs_open", "app.ebpf_call_vfs_open", "vfs", Kind::Stacked, 20284, CALLS),
            look("vfs_open", "cgroup.vfs_open", "vfs", Kind::Line, 45509, &[("vfs_open", "open")]),
            look("vfs_open", "systemd.service.vfs_open", "vfs", Kind::Stacked, 20074, CALLS),
        ],
    ),
    share(
        "Fails to open",
        "calls/s",
        Mode::Return,
        &[Value::Counter(OPEN_ERROR)],
        [
            look("call_vfs_open_error", "app.ebpf_call_vfs_open_error", "vfs", Kind::Stacked, 20285, CALLS),
            look(
                "vfs_open_error",
                "cgroup.vfs_open_error",
                "vfs",
                Kind::Line,
                45510,
                &[("vfs_open", "open")],
            ),
            look("vfs_open_error", "systemd.service.vfs_open_error", "vfs", Kind::Stacked, 20075, CALLS),
        ],
    ),
    share(
        "Files created",
        "calls/s",
        Mode::Entry,
        &[Value::Counter(CREATE)],
        [
            look("call_vfs_create", "app.ebpf_call_vfs_create", "vfs", Kind::Stacked, 20286, CALLS),
            look("vfs_create", "cgroup.vfs_create", "vfs", Kind::Line, 45511, &[("vfs_create", "create")]),
            look("vfs_create", "systemd.service.vfs_create", "vfs", Kind::Stacked, 20076, CALLS),
        ],
    ),
    share(
        "Fails to create",
        "calls/s",
        Mode::Return,
        &[Value::Counter(CREATE_ERROR)],
        [
            look(
                "call_vfs_create_error",
                "app.ebpf_call_vfs_create_error",
                "vfs",
                Kind::Stacked,
                20287,
                CALLS,
            ),
            look(
                "vfs_create_error",
                "cgroup.vfs_create_error",
                "vfs",
                Kind::Line,
                45512,
                &[("vfs_create", "create")],
            ),
            look("vfs_create_error", "systemd.service.vfs_create_error", "vfs", Kind::Stacked, 20077, CALLS),
        ],
    ),
];
