// SPDX-License-Identifier: GPL-3.0-or-later
//! zfs: how long reads, writes, opens and syncs take.

use super::filesystem::{
    FOURTH, OPEN, READ, WRITE, buckets, chart, charts, join, names, pairs, probe, row, timed,
};
use crate::chart::{Dimension, Value};
use crate::histogram::BUCKETS;
use crate::hook::Hook::{Fentry, Fexit, Kprobe, Kretprobe};
use crate::hook::Probe;
use crate::module::Module;

pub(super) const MODULE: Module = row(
    "zfs",
    const { &join([names!("read"), names!("write"), names!("open"), names!("sync")]) },
    PROBES,
    charts!("zfs", 2172, "sync", "filesystem.sync_latency"),
);

const PROBES: &[Probe] = const {
    &pairs([
        timed!("read", "read_end", READ, "zpl_iter_read", "zpl_read"),
        timed!("write", "write_end", WRITE, "zpl_iter_write", "zpl_write"),
        timed!("open", "open_end", OPEN, "zpl_open"),
        timed!("sync", "sync_end", FOURTH, "zpl_fsync"),
    ])
};
