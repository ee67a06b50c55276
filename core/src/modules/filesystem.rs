// SPDX-License-Identifier: GPL-3.0-or-later
//! What the rows of all filesystems share: four operations, the latency of each as a histogram.

use crate::chart::{Chart, Dimension, Kind, Mode, Value};
use crate::histogram::{BUCKETS, LABELS};
use crate::hook::{Hook, Probe};
use crate::memory::{Keep, STARTS};
use crate::module::Module;

/// Slots of an operation: its buckets, and the operations that could not be timed.
const STRIDE: usize = BUCKETS + 1;

/// Slots of a filesystem.
pub(super) const COUNT: usize = 4 * STRIDE;

pub(super) const READ: [usize; STRIDE] = places(0);
pub(super) const WRITE: [usize; STRIDE] = places(1);
pub(super) const OPEN: [usize; STRIDE] = places(2);
/// `sync`; of nfs, `attribute`.
pub(super) const FOURTH: [usize; STRIDE] = places(3);

/// When each thread began what it is at: as many operations can be under way at once as fit.
const KEEPS: &[Keep] = &[Keep::Hash { map: STARTS, words: (1, 1), entries: 1024 }];

/// A filesystem's row. Files are what busy machines are busy with: off by default.
pub(super) const fn row(
    name: &'static str,
    slots: &'static [&'static str],
    probes: &'static [Probe],
    charts: &'static [Chart],
) -> Module {
    Module { name, on_by_default: false, slots, probes, charts, table: None, keeps: KEEPS, shares: &[] }
}

const fn places(operation: usize) -> [usize; STRIDE] {
    let (mut all, mut nth) = ([0; STRIDE], 0);
    while nth < STRIDE {
        all[nth] = operation * STRIDE + nth;
        nth += 1;
    }
    all
}

/// The names of an operation's slots.
macro_rules! names {
    ($operation:literal) => {
        names!($operation: "0" "1" "2" "3" "4" "5" "6" "7" "8" "9" "10" "11" "12" "13" "14" "15" "16" "17" "18" "19"
            "20" "21" "22" "23" "lost")
    };
    ($operation:literal: $($bucket:literal)+) => { [$(concat!($operation, "_", $bucket)),+] };
}

/// The names of a filesystem's slots, from those of its operations.
pub(super) const fn join(operations: [[&'static str; STRIDE]; 4]) -> [&'static str; COUNT] {
    let (mut all, mut nth) = ([""; COUNT], 0);
    while nth < COUNT {
        all[nth] = operations[nth / STRIDE][nth % STRIDE];
        nth += 1;
    }
    all
}

/// One end of a pair: an operation's slots are true only while both its entry and its return are seen.
pub(super) const fn probe(event: &'static str, slots: &'static [usize], hooks: &'static [Hook]) -> Probe {
    Probe { event, slots, mode: Mode::Entry, hooks }
}

/// Entry and return of the functions that do one operation, the newest name first.
///
/// A function in the kernel itself is hooked by trampoline. One in a loadable module is not in the kernel's BTF and is
/// hooked by kprobes: a trampoline would hold the module, and nobody could unload it while kmote runs.
macro_rules! timed {
    ($entry:literal, $return:literal, $slots:expr, $($function:literal),+) => {
        [
            probe($entry, &$slots, &[$(Fentry($function),)+ $(Kprobe($function)),+]),
            probe($return, &$slots, &[$(Fexit($function),)+ $(Kretprobe($function)),+]),
        ]
    };
}

/// The probes of a filesystem, from those of its operations.
pub(super) const fn pairs(operations: [[Probe; 2]; 4]) -> [Probe; 8] {
    let [[a, b], [c, d], [e, f], [g, h]] = operations;
    [a, b, c, d, e, f, g, h]
}

/// A dimension for each bucket of an operation.
pub(super) const fn buckets(slots: [usize; STRIDE]) -> [Dimension; BUCKETS] {
    let mut all = [Dimension::new("", "", Value::Counter(0)); BUCKETS];
    let mut nth = 0;
    while nth < BUCKETS {
        all[nth] = Dimension::new(LABELS[nth], LABELS[nth], Value::Counter(slots[nth]));
        nth += 1;
    }
    all
}

/// A chart's words: id, title, family and context.
pub(super) type Words = (&'static str, &'static str, &'static str, &'static str);

pub(super) const fn chart(words: Words, priority: u32, dimensions: &'static [Dimension]) -> Chart {
    let (id, title, family, context) = words;
    let (units, kind, mode) = ("calls/s", Kind::Stacked, Mode::Entry);
    Chart { id, title, units, family, context, kind, priority, mode, dimensions }
}

/// The charts of a filesystem: one an operation, and one of what could not be timed.
macro_rules! charts {
    ($name:literal, $priority:literal, $fourth:literal, $context:literal) => {
        &[
            charts!(@ $name, "read", "filesystem.read_latency", $priority, READ),
            charts!(@ $name, "write", "filesystem.write_latency", $priority + 1, WRITE),
            charts!(@ $name, "open", "filesystem.open_latency", $priority + 2, OPEN),
            charts!(@ $name, $fourth, $context, $priority + 3, FOURTH),
            chart(
                (
                    concat!("filesystem.", $name, "_untimed"),
                    concat!($name, " requests whose latency could not be told"),
                    concat!($name, "_latency"),
                    "filesystem.untimed",
                ),
                $priority + 20,
                &[
                    Dimension::new("read", "read", Value::Counter(READ[BUCKETS])),
                    Dimension::new("write", "write", Value::Counter(WRITE[BUCKETS])),
                    Dimension::new("open", "open", Value::Counter(OPEN[BUCKETS])),
                    Dimension::new($fourth, $fourth, Value::Counter(FOURTH[BUCKETS])),
                ],
            ),
        ]
    };
    (@ $name:literal, $operation:literal, $context:literal, $priority:expr, $slots:ident) => {
        chart(
            (
                concat!("filesystem.", $name, "_", $operation, "_latency"),
                concat!($name, " latency for each ", $operation, " request."),
                concat!($name, "_latency"),
                $context,
            ),
            $priority,
            const { &buckets($slots) },
        )
    };
}

pub(super) use {charts, names, timed};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_has_its_name_and_its_place() {
        const SLOTS: [&str; COUNT] = join([names!("a"), names!("b"), names!("c"), names!("d")]);
        for (place, name) in [
            (READ[0], "a_0"),
            (READ[23], "a_23"),
            (WRITE[0], "b_0"),
            (OPEN[24], "c_lost"),
            (FOURTH[24], "d_lost"),
        ] {
            assert_eq!(SLOTS[place], name);
        }
        let all = [READ, WRITE, OPEN, FOURTH].concat();
        assert_eq!(all, (0..COUNT).collect::<Vec<_>>());
    }

    #[test]
    fn a_bucket_is_drawn_under_its_label() {
        let drawn = buckets(WRITE);
        for (nth, dimension) in drawn.iter().enumerate() {
            assert_eq!(dimension.id, LABELS[nth]);
            assert_eq!(dimension.value.needs(), [STRIDE + nth]);
        }
    }
}
