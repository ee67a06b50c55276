// SPDX-License-Identifier: GPL-3.0-or-later
//! nfs: how long reads, writes, opens and looks at attributes take; of opens, those of a name that the client knows:
//! what is looked up and opened at once does not come by the functions that Netdata hooks.

use super::filesystem::{
    FOURTH, OPEN, READ, WRITE, buckets, chart, charts, join, names, pairs, probe, row, timed,
};
use crate::chart::{Dimension, Value};
use crate::histogram::BUCKETS;
use crate::hook::Hook::{All, Fentry, Fexit, Kprobe, Kretprobe};
use crate::hook::Probe;
use crate::module::Module;

pub(super) const MODULE: Module = row(
    "nfs",
    const { &join([names!("read"), names!("write"), names!("open"), names!("attribute")]) },
    PROBES,
    charts!("nfs", 2168, "attribute", "filesystem.attributte_latency"),
);

const PROBES: &[Probe] = const {
    &pairs([
        timed!("read", "read_end", READ, "nfs_file_read"),
        timed!("write", "write_end", WRITE, "nfs_file_write"),
        OPENED,
        timed!("attribute", "attribute_end", FOURTH, "nfs_getattr"),
    ])
};

/// Version 4, whose functions are a kernel module of their own, has its own open, and never calls the other's.
const OPENED: [Probe; 2] = [
    probe(
        "open",
        &OPEN,
        &[
            All(&[Fentry("nfs_file_open"), Fentry("nfs4_file_open")]),
            All(&[Kprobe("nfs_file_open"), Kprobe("nfs4_file_open")]),
        ],
    ),
    probe(
        "open_end",
        &OPEN,
        &[
            All(&[Fexit("nfs_file_open"), Fexit("nfs4_file_open")]),
            All(&[Kretprobe("nfs_file_open"), Kretprobe("nfs4_file_open")]),
        ],
    ),
];
