// SPDX-License-Identifier: GPL-3.0-or-later
//! softirq: time in soft interrupts, by vector.

use crate::chart::{Chart, Dimension, Kind, Mode, Value};
use crate::hook::Hook::{RawTracepoint, Record};
use crate::hook::Probe;
use crate::memory::Keep;
use crate::module::Module;

// Nanoseconds, in the kernel's order of vectors (include/linux/interrupt.h).
slots! {
    HI = "hi",
    TIMER = "timer",
    NET_TX = "net_tx",
    NET_RX = "net_rx",
    BLOCK = "block",
    IRQ_POLL = "irq_poll",
    TASKLET = "tasklet",
    SCHED = "sched",
    HRTIMER = "hrtimer",
    RCU = "rcu",
}

const ALL: &[usize] = &[HI, TIMER, NET_TX, NET_RX, BLOCK, IRQ_POLL, TASKLET, SCHED, HRTIMER, RCU];

/// Time in a hard interrupt that comes in between counts too, as in Netdata.
pub(super) const MODULE: Module = Module {
    name: "softirq",
    on_by_default: true,
    slots: SLOTS,
    probes: PROBES,
    charts: CHARTS,
    table: None,
    keeps: &[Keep::PerCpu { map: "softirq_starts", words: SLOTS.len() }],
    shares: &[],
};

// Raw tracepoints first: of perf-attached programs one that interrupts another is lost.
const PROBES: &[Probe] = &[
    Probe {
        event: "entry",
        slots: ALL,
        mode: Mode::Entry,
        hooks: &[RawTracepoint("softirq_entry"), Record(&("irq/softirq_entry", &[("vec", 8)]))],
    },
    Probe {
        event: "exit",
        slots: ALL,
        mode: Mode::Entry,
        hooks: &[RawTracepoint("softirq_exit"), Record(&("irq/softirq_exit", &[("vec", 8)]))],
    },
];

const fn vector(id: &'static str, slot: usize) -> Dimension {
    Dimension { divisor: 1_000_000, ..Dimension::new(id, id, Value::Counter(slot)) }
}

const CHARTS: &[Chart] = &[Chart {
    id: "system.softirq_latency",
    title: "Software IRQ latency",
    units: "milliseconds",
    family: "softirqs",
    context: "system.softirq_latency",
    kind: Kind::Stacked,
    priority: 951,
    mode: Mode::Entry,
    dimensions: &[
        vector("HI", HI),
        vector("TIMER", TIMER),
        vector("NET_TX", NET_TX),
        vector("NET_RX", NET_RX),
        vector("BLOCK", BLOCK),
        vector("IRQ_POLL", IRQ_POLL),
        vector("TASKLET", TASKLET),
        vector("SCHED", SCHED),
        vector("HRTIMER", HRTIMER),
        vector("RCU", RCU),
    ],
}];
