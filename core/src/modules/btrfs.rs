// SPDX-License-Identifier: GPL-3.0-or-later
//! btrfs: how long reads, writes, opens and syncs take.

use super::filesystem::{
    FOURTH, OPEN, READ, WRITE, buckets, chart, charts, join, names, pairs, probe, row, timed,
};
use crate::chart::{Dimension, Value};
use crate::histogram::BUCKETS;
use crate::hook::Hook::{Fentry, Fexit, Kprobe, Kretprobe};
use crate::hook::Probe;
use crate::module::Module;

pub(super) const MODULE: Module = row(
    "btrfs",
    const { &join([names!("read"), names!("write"), names!("open"), names!("sync")]) },
    PROBES,
    charts!("btrfs", 2176, "sync", "filesystem.sync_latency"),
);

const PROBES: &[Probe] = const {
    &pairs([
        timed!("read", "read_end", READ, "btrfs_file_read_iter"),
        timed!("write", "write_end", WRITE, "btrfs_file_write_iter", "btrfs_file_aio_write"),
        timed!("open", "open_end", OPEN, "btrfs_file_open"),
        timed!("sync", "sync_end", FOURTH, "btrfs_sync_file"),
    ])
};
