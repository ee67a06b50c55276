// SPDX-License-Identifier: GPL-3.0-or-later
//! ext4: how long reads, writes, opens and syncs take; what is read by mapping or by splice is not a read.

use super::filesystem::{
    FOURTH, OPEN, READ, WRITE, buckets, chart, charts, join, names, pairs, probe, row, timed,
};
use crate::chart::{Dimension, Value};
use crate::histogram::BUCKETS;
use crate::hook::Hook::{Fentry, Fexit, Kprobe, Kretprobe};
use crate::hook::Probe;
use crate::module::Module;

pub(super) const MODULE: Module = row(
    "ext4",
    const { &join([names!("read"), names!("write"), names!("open"), names!("sync")]) },
    PROBES,
    charts!("ext4", 2160, "sync", "filesystem.sync_latency"),
);

const PROBES: &[Probe] = const {
    &pairs([
        timed!("read", "read_end", READ, "ext4_file_read_iter", "ext4_file_read"),
        timed!("write", "write_end", WRITE, "ext4_file_write_iter", "ext4_file_write"),
        timed!("open", "open_end", OPEN, "ext4_file_open"),
        timed!("sync", "sync_end", FOURTH, "ext4_sync_file"),
    ])
};
