// SPDX-License-Identifier: GPL-3.0-or-later
//! cachestat: how often the page cache had what was asked of it.

use crate::chart::Kind::{Line, Stacked};
use crate::chart::{Chart, Dimension, Kind, Mode, Value};
use crate::delta::Delta;
use crate::hook::Hook::{Fentry, Kprobe, RawTracepoint, Tracepoint};
use crate::hook::Probe;
use crate::module::Module;
use crate::ratio::percent;
use crate::share::{Share, look, share};

slots! { ACCESSED = "accessed", ADDED = "added", DIRTIED = "dirtied", BUFFER_DIRTIED = "buffer_dirtied" }

const ALL: &[usize] = &[ACCESSED, ADDED, DIRTIED, BUFFER_DIRTIED];

/// One event is one folio, which from v5.18 (793917d997df) on may be many pages on filesystems with large folios;
/// reads and writes of one page at a time make folios of one page.
pub(super) const MODULE: Module = Module {
    name: "cachestat",
    on_by_default: true,
    slots: SLOTS,
    probes: PROBES,
    charts: CHARTS,
    table: None,
    keeps: &[],
    shares: SHARES,
};

const PROBES: &[Probe] = &[
    Probe {
        event: "accessed",
        slots: &[ACCESSED],
        mode: Mode::Entry,
        // No tracepoint sees this. Since v5.16 (76580b6529db) mark_page_accessed is a wrapper that the core does not call.
        hooks: &[
            Fentry("folio_mark_accessed"),
            Fentry("mark_page_accessed"),
            Kprobe("folio_mark_accessed"),
            Kprobe("mark_page_accessed"),
        ],
    },
    Probe {
        event: "added",
        slots: &[ADDED],
        mode: Mode::Entry,
        // Since v5.16 (9dd3d069406c) add_to_page_cache_lru is a wrapper that is attached and never fires.
        hooks: &[
            Fentry("filemap_add_folio"),
            Fentry("add_to_page_cache_lru"),
            RawTracepoint("mm_filemap_add_to_page_cache"),
            Kprobe("filemap_add_folio"),
            Kprobe("add_to_page_cache_lru"),
            Tracepoint("filemap/mm_filemap_add_to_page_cache"),
        ],
    },
    Probe {
        event: "dirtied",
        slots: &[DIRTIED],
        mode: Mode::Entry,
        // Since v5.16 (203a31516616) the work of account_page_dirtied is done in __folio_mark_dirty.
        hooks: &[
            Fentry("__folio_mark_dirty"),
            Fentry("account_page_dirtied"),
            RawTracepoint("writeback_dirty_folio"),
            RawTracepoint("writeback_dirty_page"),
            Kprobe("__folio_mark_dirty"),
            Kprobe("account_page_dirtied"),
            Tracepoint("writeback/writeback_dirty_folio"),
            Tracepoint("writeback/writeback_dirty_page"),
        ],
    },
    Probe {
        event: "buffer_dirtied",
        slots: &[BUFFER_DIRTIED],
        mode: Mode::Entry,
        hooks: &[
            Fentry("mark_buffer_dirty"),
            RawTracepoint("block_dirty_buffer"),
            Kprobe("mark_buffer_dirty"),
            Tracepoint("block/block_dirty_buffer"),
        ],
    },
];

const fn chart(
    id: &'static str,
    priority: u32,
    title: &'static str,
    units: &'static str,
    dimensions: &'static [Dimension],
) -> Chart {
    let (family, kind, mode) = ("page_cache", Kind::Line, Mode::Entry);
    Chart { id, title, units, family, context: id, kind, priority, mode, dimensions }
}

const CHARTS: &[Chart] = &[
    chart(
        "mem.cachestat_ratio",
        21100,
        "Hit ratio",
        "%",
        &[Dimension::new("ratio", "ratio", Value::Level(&(ALL, |delta| Some(Outcome::of(delta).ratio()))))],
    ),
    chart(
        "mem.cachestat_dirties",
        21101,
        "Number of dirty pages",
        "pages/s",
        &[Dimension::new("dirty", "dirty", Value::Counter(BUFFER_DIRTIED))],
    ),
    chart(
        "mem.cachestat_hits",
        21102,
        "Number of accessed files",
        "hits/s",
        &[Dimension::new("hit", "hit", Value::Sum(&(ALL, |delta| Outcome::of(delta).hits)))],
    ),
    chart(
        "mem.cachestat_misses",
        21103,
        "Files out of page cache",
        "misses/s",
        &[Dimension::new("miss", "miss", Value::Sum(&(ALL, |delta| Outcome::of(delta).misses)))],
    ),
    chart(
        "mem.cachestat_events",
        21104,
        "Page cache events",
        "events/s",
        &[
            Dimension::new("accessed", "accessed", Value::Counter(ACCESSED)),
            Dimension::new("added", "added", Value::Counter(ADDED)),
            Dimension::new("dirtied", "dirtied", Value::Counter(DIRTIED)),
            Dimension::new("buffer_dirtied", "buffers dirtied", Value::Counter(BUFFER_DIRTIED)),
        ],
    ),
];

const SHARES: &[Share] = &[
    share(
        "Hit ratio",
        "%",
        Mode::Entry,
        &[Value::Level(&(ALL, |delta| Some(Outcome::of(delta).ratio())))],
        [
            look(
                "cachestat_hit_ratio",
                "app.ebpf_cachestat_hit_ratio",
                "page_cache",
                Line,
                20260,
                &[("ratio", "ratio")],
            ),
            look(
                "cachestat_ratio",
                "cgroup.cachestat_ratio",
                "page_cache",
                Line,
                45200,
                &[("ratio", "ratio")],
            ),
            look(
                "cachestat_ratio",
                "systemd.service.cachestat_ratio",
                "page_cache",
                Line,
                21100,
                &[("percentage", "percentage")],
            ),
        ],
    ),
    share(
        "Number of dirty pages",
        "pages/s",
        Mode::Entry,
        &[Value::Counter(BUFFER_DIRTIED)],
        [
            look(
                "cachestat_dirty_pages",
                "app.ebpf_cachestat_dirty_pages",
                "page_cache",
                Line,
                20261,
                &[("pages", "pages")],
            ),
            look(
                "cachestat_dirties",
                "cgroup.cachestat_dirties",
                "page_cache",
                Line,
                45201,
                &[("dirty", "dirty")],
            ),
            look(
                "cachestat_dirties",
                "systemd.service.cachestat_dirties",
                "page_cache",
                Line,
                21101,
                &[("pages", "pages")],
            ),
        ],
    ),
    share(
        "Number of accessed files",
        "hits/s",
        Mode::Entry,
        &[Value::Sum(&(ALL, |delta| Outcome::of(delta).hits))],
        [
            look(
                "cachestat_access",
                "app.ebpf_cachestat_access",
                "page_cache",
                Stacked,
                20262,
                &[("hits", "hits")],
            ),
            look("cachestat_hits", "cgroup.cachestat_hits", "page_cache", Line, 45202, &[("hit", "hit")]),
            look(
                "cachestat_hits",
                "systemd.service.cachestat_hits",
                "page_cache",
                Line,
                21102,
                &[("hits", "hits")],
            ),
        ],
    ),
    share(
        "Files out of page cache",
        "misses/s",
        Mode::Entry,
        &[Value::Sum(&(ALL, |delta| Outcome::of(delta).misses))],
        [
            look(
                "cachestat_misses",
                "app.ebpf_cachestat_misses",
                "page_cache",
                Stacked,
                20263,
                &[("misses", "misses")],
            ),
            look(
                "cachestat_misses",
                "cgroup.cachestat_misses",
                "page_cache",
                Line,
                45203,
                &[("miss", "miss")],
            ),
            look(
                "cachestat_misses",
                "systemd.service.cachestat_misses",
                "page_cache",
                Line,
                21103,
                &[("misses", "misses")],
            ),
        ],
    ),
];

/// What an interval's accesses came to, by the formula of bcc's cachestat, which Netdata's is:
/// total = accessed − buffers dirtied, misses = added − dirtied, hits = the rest; read-ahead adds more pages than
/// were asked for, so misses end at the total.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    hits: u64,
    misses: u64,
}

impl Outcome {
    fn of(delta: &Delta<'_>) -> Self {
        let total = delta[ACCESSED].saturating_sub(delta[BUFFER_DIRTIED]);
        let misses = delta[ADDED].saturating_sub(delta[DIRTIED]).min(total);
        Self { hits: total - misses, misses }
    }

    /// Percent of accesses that were hits; 100 when there were none, as Netdata's users asked for (decision 3).
    fn ratio(&self) -> i64 {
        percent(self.hits, self.hits.saturating_add(self.misses)).map_or(100, i64::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(accessed: u64, buffer_dirtied: u64, added: u64, dirtied: u64) -> (u64, u64, i64) {
        let mut changes = [0; 4];
        changes[ACCESSED] = accessed;
        changes[BUFFER_DIRTIED] = buffer_dirtied;
        changes[ADDED] = added;
        changes[DIRTIED] = dirtied;
        let outcome = Outcome::of(&Delta(&changes));
        (outcome.hits, outcome.misses, outcome.ratio())
    }

    #[test]
    fn the_seeds_formula() {
        const MAX: u64 = u64::MAX;
        for ((a, b, c, d), expected) in [
            ((15949, 172, 29659, 172), (0, 15777, 0)),
            ((12799, 276, 34966, 276), (0, 12523, 0)),
            ((75070, 500, 59871, 499), (15198, 59372, 20)),
            ((6530, 3719, 1832, 3709), (2811, 0, 100)),
            ((1, 0, 0, 5), (1, 0, 100)),
            ((1 << 63, 0, 0, 0), (1 << 63, 0, 100)),
            // Read once, more than memory holds: each page is accessed twice, once as it is added (bcc#2366).
            ((1_357_000, 100, 675_000, 20), (681_920, 674_980, 50)),
            ((2673, 5748, 2023, 5741), (0, 0, 100)),
            ((0, 0, 0, 0), (0, 0, 100)),
            ((100, 0, 0, 0), (100, 0, 100)),
            ((100, 0, 100, 0), (0, 100, 0)),
            ((1000, 0, 1, 0), (999, 1, 99)),
            ((0, 0, 100, 0), (0, 0, 100)),
            ((MAX, 0, MAX, 0), (0, MAX, 0)),
            ((MAX, 0, 0, MAX), (MAX, 0, 100)),
            ((MAX, MAX, MAX, MAX), (0, 0, 100)),
            ((0, MAX, 0, MAX), (0, 0, 100)),
        ] {
            assert_eq!(outcome(a, b, c, d), expected, "({a}, {b}, {c}, {d})");
        }
    }

    #[test]
    fn hits_and_misses_make_up_the_total_whatever_was_counted() {
        let mut random = 7u64;
        let mut next = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            random >> (random >> 58)
        };
        for _ in 0..10_000 {
            let (a, b, c, d) = (next(), next(), next(), next());
            let (hits, misses, ratio) = outcome(a, b, c, d);
            assert_eq!(hits.checked_add(misses), Some(a.saturating_sub(b)));
            assert!((0..=100).contains(&ratio));
        }
    }
}
