// SPDX-License-Identifier: GPL-3.0-or-later
//! dcstat: how often the directory cache had the name that was looked up.

use crate::chart::{Chart, Dimension, Kind, Mode, Value};
use crate::delta::Delta;
use crate::hook::Hook::{Fentry, FexitResult, Kprobe, Kretprobe};
use crate::hook::Probe;
use crate::module::Module;
use crate::ratio::percent;
use crate::share::{Share, look, share};

slots! { REFERENCE = "reference", SLOW = "slow", MISS = "miss" }

/// Off by default: every component of every path is looked up.
pub(super) const MODULE: Module = Module {
    name: "dcstat",
    on_by_default: false,
    slots: SLOTS,
    probes: PROBES,
    charts: CHARTS,
    table: None,
    keeps: &[],
    shares: SHARES,
};

// No tracepoint sees either.
const PROBES: &[Probe] = &[
    Probe {
        event: "reference",
        slots: &[REFERENCE],
        mode: Mode::Entry,
        // A function of one file: the compiler may have changed it and marked its name.
        hooks: &[
            Fentry("lookup_fast"),
            Kprobe("lookup_fast"),
            Kprobe("lookup_fast.isra.0"),
            Kprobe("lookup_fast.constprop.0"),
        ],
    },
    Probe {
        event: "slow",
        slots: &[SLOW],
        mode: Mode::Entry,
        hooks: &[Fentry("d_lookup"), Kprobe("d_lookup")],
    },
    Probe {
        event: "found",
        slots: &[MISS],
        mode: Mode::Entry,
        // What was not found is told by the result alone.
        hooks: &[FexitResult("d_lookup"), Kretprobe("d_lookup")],
    },
];

const fn chart(
    id: &'static str,
    priority: u32,
    title: &'static str,
    units: &'static str,
    dimensions: &'static [Dimension],
) -> Chart {
    let (family, kind, mode) = ("directory cache", Kind::Line, Mode::Entry);
    Chart { id, title, units, family, context: id, kind, priority, mode, dimensions }
}

const CHARTS: &[Chart] = &[
    chart(
        "filesystem.dc_hit_ratio",
        21200,
        "Percentage of files inside directory cache",
        "%",
        &[Dimension::new("ratio", "ratio", Value::Level(&(&[REFERENCE, MISS], ratio)))],
    ),
    chart(
        "filesystem.dc_reference",
        21201,
        "Variables used to calculate hit ratio",
        "files",
        &[
            Dimension::new("reference", "reference", Value::Counter(REFERENCE)),
            Dimension::new("slow", "slow", Value::Counter(SLOW)),
            Dimension::new("miss", "miss", Value::Counter(MISS)),
        ],
    ),
];

/// Percent of an interval's references that were no misses; no value when there were none.
fn ratio(delta: &Delta<'_>) -> Option<i64> {
    percent(delta[REFERENCE].saturating_sub(delta[MISS]), delta[REFERENCE]).map(i64::from)
}

const SHARES: &[Share] = &[
    share(
        "Percentage of files inside directory cache",
        "%",
        Mode::Entry,
        &[Value::Level(&(&[REFERENCE, MISS], ratio))],
        [
            look("dc_hit", "app.ebpf_dc_hit", "directory cache", Kind::Line, 20265, &[("ratio", "ratio")]),
            look(
                "dc_hit_ratio",
                "cgroup.dc_ratio",
                "directory cache",
                Kind::Line,
                45700,
                &[("ratio", "ratio")],
            ),
            look(
                "dc_hit_ratio",
                "systemd.service.dc_ratio",
                "directory cache",
                Kind::Line,
                21200,
                &[("percentage", "percentage")],
            ),
        ],
    ),
    share(
        "Files looked up",
        "files/s",
        Mode::Entry,
        &[Value::Counter(REFERENCE)],
        [
            look(
                "dc_reference",
                "app.ebpf_dc_reference",
                "directory cache",
                Kind::Stacked,
                20266,
                &[("files", "files")],
            ),
            look(
                "dc_reference",
                "cgroup.dc_reference",
                "directory cache",
                Kind::Line,
                45701,
                &[("reference", "reference")],
            ),
            look(
                "dc_reference",
                "systemd.service.dc_reference",
                "directory cache",
                Kind::Line,
                21201,
                &[("files", "files")],
            ),
        ],
    ),
    share(
        "Files looked up outside of the directory cache",
        "files/s",
        Mode::Entry,
        &[Value::Counter(SLOW)],
        [
            look(
                "not_cache",
                "app.ebpf_dc_not_cache",
                "directory cache",
                Kind::Stacked,
                20267,
                &[("files", "files")],
            ),
            look(
                "dc_not_cache",
                "cgroup.dc_not_cache",
                "directory cache",
                Kind::Line,
                45702,
                &[("slow", "slow")],
            ),
            look(
                "dc_not_cache",
                "systemd.service.dc_not_cache",
                "directory cache",
                Kind::Line,
                21202,
                &[("files", "files")],
            ),
        ],
    ),
    share(
        "Files not found",
        "files/s",
        Mode::Entry,
        &[Value::Counter(MISS)],
        [
            look(
                "not_found",
                "app.ebpf_dc_not_found",
                "directory cache",
                Kind::Stacked,
                20268,
                &[("files", "files")],
            ),
            look(
                "dc_not_found",
                "cgroup.dc_not_found",
                "directory cache",
                Kind::Line,
                45703,
                &[("miss", "miss")],
            ),
            look(
                "dc_not_found",
                "systemd.service.dc_not_found",
                "directory cache",
                Kind::Line,
                21203,
                &[("files", "files")],
            ),
        ],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_of_an_interval() {
        for (reference, miss, expected) in [
            (0, 0, None),
            (0, 5, None),
            (100, 0, Some(100)),
            (100, 1, Some(99)),
            (3, 1, Some(66)),
            (5, 5, Some(0)),
            (5, 6, Some(0)),
            (u64::MAX, 0, Some(100)),
            (u64::MAX, u64::MAX, Some(0)),
        ] {
            let mut changes = [0; 3];
            changes[REFERENCE] = reference;
            changes[MISS] = miss;
            assert_eq!(ratio(&Delta(&changes)), expected, "{miss} misses of {reference}");
        }
    }
}
