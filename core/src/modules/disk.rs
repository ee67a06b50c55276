// SPDX-License-Identifier: GPL-3.0-or-later
//! disk: how long each disk takes from the issue of a request to its completion.

use crate::chart::{Chart, Dimension, Kind, Mode, Value};
use crate::histogram::{BUCKETS, LABELS};
use crate::hook::Hook::{RawMembers, Record};
use crate::hook::{Member, Probe};
use crate::memory::{Keep, STARTS};
use crate::module::Module;
use crate::table::{Drawn, Names, Table, lost};

// Requests for which there was no room, and those that belong to no disk with a number.
slots! { LOST = "lost", UNKNOWN = "unknown" }

/// Requests of loop devices and ram disks are not counted: what is below them is, or there is nothing.
pub(super) const MODULE: Module = Module {
    name: "disk",
    on_by_default: true,
    slots: SLOTS,
    probes: PROBES,
    charts: CHARTS,
    table: Some(Table {
        slots: &LABELS,
        capacity: 128,
        names: Names::Disk,
        needs: &[LOST],
        drawn: Drawn::Chart(&Chart {
            id: "disk_latency_io",
            title: "Disk latency",
            units: "calls/s",
            family: "disk",
            context: "disk.latency_io",
            kind: Kind::Stacked,
            priority: 2095,
            mode: Mode::Entry,
            dimensions: &DIMENSIONS,
        }),
    }),
    keeps: &[
        Keep::Hash { map: STARTS, words: (1, 1), entries: 4096 },
        Keep::Members {
            map: "disk_offsets",
            members: &[RQ_DISK, QUEUE, QUEUE_DISK, LENGTH, MAJOR, FIRST_MINOR],
        },
    ],
    shares: &[],
};

const RQ_DISK: Member = ("request", "rq_disk");
const QUEUE: Member = ("request", "q");
const QUEUE_DISK: Member = ("request_queue", "disk");
const LENGTH: Member = ("request", "__data_len");
const MAJOR: Member = ("gendisk", "major");
const FIRST_MINOR: Member = ("gendisk", "first_minor");

/// Up to v5.16 a request has its disk; since v5.17 (f3fa33acca9f) its queue has.
const OWN: &[Member] = &[RQ_DISK, LENGTH, MAJOR, FIRST_MINOR];
const BY_QUEUE: &[Member] = &[QUEUE, QUEUE_DISK, LENGTH, MAJOR, FIRST_MINOR];

// By its address a request is itself, whatever happens to it. By device and sector two may be one: two flushes, or two
// reads of one place.
const PROBES: &[Probe] = &[
    Probe {
        event: "issue",
        slots: &[LOST, UNKNOWN],
        mode: Mode::Entry,
        // Since v5.11 (a54895fa057c), and v5.10.137, without the queue.
        hooks: &[
            RawMembers(&("block_rq_issue", 2, OWN)),
            RawMembers(&("block_rq_issue", 1, OWN)),
            RawMembers(&("block_rq_issue", 1, BY_QUEUE)),
            Record(&("block/block_rq_issue", &[("dev", 8), ("sector", 16), ("nr_sector", 24)])),
        ],
    },
    Probe {
        event: "complete",
        slots: &[LOST, UNKNOWN],
        mode: Mode::Entry,
        hooks: &[
            RawMembers(&("block_rq_complete", 3, OWN)),
            RawMembers(&("block_rq_complete", 3, BY_QUEUE)),
            Record(&("block/block_rq_complete", &[("dev", 8), ("sector", 16), ("nr_sector", 24)])),
        ],
    },
];

const DIMENSIONS: [Dimension; BUCKETS] = {
    let mut all = [Dimension::new(LABELS[0], LABELS[0], Value::Counter(0)); BUCKETS];
    let mut bucket = 1;
    while bucket < BUCKETS {
        all[bucket] = Dimension::new(LABELS[bucket], LABELS[bucket], Value::Counter(bucket));
        bucket += 1;
    }
    all
};

const CHARTS: &[Chart] = &[lost(
    "netdata.kmote_disk_lost",
    "Requests that found no room, or belong to no disk",
    &[
        Dimension::new("lost", "lost", Value::Counter(LOST)),
        Dimension::new("unknown", "unknown", Value::Counter(UNKNOWN)),
    ],
)];
