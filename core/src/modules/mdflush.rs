// SPDX-License-Identifier: GPL-3.0-or-later
//! mdflush: flushes of md arrays.

use crate::chart::{Chart, Dimension, Kind, Mode, Value};
use crate::hook::Hook::{Fentry, Kprobe};
use crate::hook::Probe;
use crate::memory::Keep;
use crate::module::Module;
use crate::table::{Drawn, Names, Table, lost};

// Flushes of arrays of which this kernel does not tell the number, and of those for which there was no room.
slots! { UNKNOWN = "unknown", LOST = "lost" }

const CHART: &str = "mdstat.mdstat_flush";

pub(super) const MODULE: Module = Module {
    name: "mdflush",
    on_by_default: true,
    slots: SLOTS,
    probes: PROBES,
    charts: CHARTS,
    table: Some(Table {
        slots: &["flushes"],
        capacity: 64,
        names: Names::Disk,
        needs: &[LOST],
        drawn: Drawn::Dimension { chart: CHART, divisor: 1 },
    }),
    keeps: &[Keep::Members {
        map: "mdflush_offsets",
        members: &[
            ("bio", "bi_bdev"),
            ("block_device", "bd_disk"),
            ("bio", "bi_disk"),
            ("gendisk", "major"),
            ("gendisk", "first_minor"),
        ],
    }],
    shares: &[],
};

const PROBES: &[Probe] = &[Probe {
    event: "flush",
    slots: &[UNKNOWN, LOST],
    mode: Mode::Entry,
    hooks: &[Fentry("md_flush_request"), Kprobe("md_flush_request")],
}];

const CHARTS: &[Chart] = &[
    Chart {
        id: CHART,
        title: "MD flushes",
        units: "flushes",
        family: "flush (eBPF)",
        context: CHART,
        kind: Kind::Stacked,
        priority: 2101,
        mode: Mode::Entry,
        dimensions: &[Dimension::new("unknown", "unknown", Value::Counter(UNKNOWN))],
    },
    lost(
        "netdata.kmote_mdflush_lost",
        "Flushes of arrays that found no room in the table",
        &[Dimension::new("lost", "lost", Value::Counter(LOST))],
    ),
];
