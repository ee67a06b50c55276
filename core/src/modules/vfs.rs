// SPDX-License-Identifier: GPL-3.0-or-later
//! vfs: what programs do with files, the bytes of it, and what fails.

use crate::chart::{Chart, Dimension, Kind, Mode, Value};
use crate::hook::Hook::{self, All, Fentry, FexitResult, Kprobe, Kretprobe, Record, Tracepoint};
use crate::hook::Probe;
use crate::module::Module;

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
    shares: &[],
};

/// The same field of the exit records of system calls: those that read, or those that write.
macro_rules! ends {
    ($at:literal: $($name:literal),+) => {
        All(&[$(Record("syscalls", concat!("sys_exit_", $name), &[("ret", $at)])),+])
    };
}

/// The entries of system calls.
macro_rules! begins {
    ($($name:literal),+) => {
        All(&[$(Tracepoint("syscalls", concat!("sys_enter_", $name))),+])
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
