// SPDX-License-Identifier: GPL-3.0-or-later
//! xfs: how long reads, writes, opens and syncs take.

use super::filesystem::{
    FOURTH, OPEN, READ, WRITE, buckets, chart, charts, join, names, pairs, probe, row, timed,
};
use crate::chart::{Dimension, Value};
use crate::histogram::BUCKETS;
use crate::hook::Hook::{Fentry, Fexit, Kprobe, Kretprobe};
use crate::hook::Probe;
use crate::module::Module;

pub(super) const MODULE: Module = row(
    "xfs",
    const { &join([names!("read"), names!("write"), names!("open"), names!("sync")]) },
    PROBES,
    charts!("xfs", 2164, "sync", "filesystem.sync_latency"),
);

const PROBES: &[Probe] = const {
    &pairs([
        timed!("read", "read_end", READ, "xfs_file_read_iter", "xfs_file_aio_read"),
        timed!("write", "write_end", WRITE, "xfs_file_write_iter", "xfs_file_aio_write"),
        timed!("open", "open_end", OPEN, "xfs_file_open"),
        timed!("sync", "sync_end", FOURTH, "xfs_file_fsync"),
    ])
};
