// SPDX-License-Identifier: GPL-3.0-or-later
//! hardirq: time in hard interrupts, by line and by vector.

use crate::chart::{Chart, Dimension, Kind, Mode, Value};
use crate::hook::Hook::{RawTracepoint, Record};
use crate::hook::Probe;
use crate::memory::Keep;
use crate::module::Module;
use crate::table::{Drawn, Names, Table, lost};

// Nanoseconds, but for the last: interrupts of lines for which there was no room.
slots! {
    THERMAL_APIC = "thermal_apic",
    THRESHOLD_APIC = "threshold_apic",
    ERROR_APIC = "error_apic",
    DEFERRED_ERROR_APIC = "deferred_error_apic",
    SPURIOUS_APIC = "spurious_apic",
    CALL_FUNCTION = "call_function",
    CALL_FUNCTION_SINGLE = "call_function_single",
    RESCHEDULE = "reschedule",
    LOCAL_TIMER = "local_timer",
    IRQ_WORK = "irq_work",
    X86_PLATFORM_IPI = "x86_platform_ipi",
    IPI = "ipi",
    LOST = "lost",
}

const CHART: &str = "system.hardirq_latency";

pub(super) const MODULE: Module = Module {
    name: "hardirq",
    on_by_default: true,
    slots: SLOTS,
    probes: PROBES,
    charts: CHARTS,
    table: Some(Table {
        slots: &["ns"],
        capacity: 512,
        names: Names::Irq,
        needs: &[LOST],
        drawn: Drawn::Dimension { chart: CHART, divisor: MILLISECOND },
    }),
    // A start for each vector, and 16 places of a line and its start.
    keeps: &[Keep::PerCpu { map: "hardirq_starts", words: SLOTS.len() + 2 * 16 }],
    shares: &[],
};

const MILLISECOND: u32 = 1_000_000;

const fn line(event: &'static str, hooks: &'static [crate::hook::Hook]) -> Probe {
    Probe { event, slots: &[LOST], mode: Mode::Entry, hooks }
}

/// The beginning or the end of a vector: `$name` is the tracepoint. On other architectures the kernel has none.
#[cfg(any(target_arch = "x86_64", target_arch = "x86", target_arch = "aarch64", target_arch = "arm"))]
macro_rules! vector {
    ($slot:ident, $category:literal, $name:literal) => {
        Probe {
            event: $name,
            slots: &[$slot],
            mode: Mode::Entry,
            hooks: &[RawTracepoint($name), crate::hook::Hook::Tracepoint(concat!($category, "/", $name))],
        }
    };
}

// Raw tracepoints first: of perf-attached programs one that interrupts another is lost.
const PROBES: &[Probe] = &[
    line(
        "irq_entry",
        &[RawTracepoint("irq_handler_entry"), Record(&("irq/irq_handler_entry", &[("irq", 8)]))],
    ),
    line("irq_exit", &[RawTracepoint("irq_handler_exit"), Record(&("irq/irq_handler_exit", &[("irq", 8)]))]),
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    vector!(THERMAL_APIC, "irq_vectors", "thermal_apic_entry"),
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    vector!(THERMAL_APIC, "irq_vectors", "thermal_apic_exit"),
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    vector!(THRESHOLD_APIC, "irq_vectors", "threshold_apic_entry"),
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    vector!(THRESHOLD_APIC, "irq_vectors", "threshold_apic_exit"),
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    vector!(ERROR_APIC, "irq_vectors", "error_apic_entry"),
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    vector!(ERROR_APIC, "irq_vectors", "error_apic_exit"),
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    vector!(DEFERRED_ERROR_APIC, "irq_vectors", "deferred_error_apic_entry"),
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    vector!(DEFERRED_ERROR_APIC, "irq_vectors", "deferred_error_apic_exit"),
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    vector!(SPURIOUS_APIC, "irq_vectors", "spurious_apic_entry"),
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    vector!(SPURIOUS_APIC, "irq_vectors", "spurious_apic_exit"),
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    vector!(CALL_FUNCTION, "irq_vectors", "call_function_entry"),
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    vector!(CALL_FUNCTION, "irq_vectors", "call_function_exit"),
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    vector!(CALL_FUNCTION_SINGLE, "irq_vectors", "call_function_single_entry"),
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    vector!(CALL_FUNCTION_SINGLE, "irq_vectors", "call_function_single_exit"),
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    vector!(RESCHEDULE, "irq_vectors", "reschedule_entry"),
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    vector!(RESCHEDULE, "irq_vectors", "reschedule_exit"),
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    vector!(LOCAL_TIMER, "irq_vectors", "local_timer_entry"),
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    vector!(LOCAL_TIMER, "irq_vectors", "local_timer_exit"),
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    vector!(IRQ_WORK, "irq_vectors", "irq_work_entry"),
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    vector!(IRQ_WORK, "irq_vectors", "irq_work_exit"),
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    vector!(X86_PLATFORM_IPI, "irq_vectors", "x86_platform_ipi_entry"),
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    vector!(X86_PLATFORM_IPI, "irq_vectors", "x86_platform_ipi_exit"),
    #[cfg(any(target_arch = "aarch64", target_arch = "arm"))]
    vector!(IPI, "ipi", "ipi_entry"),
    #[cfg(any(target_arch = "aarch64", target_arch = "arm"))]
    vector!(IPI, "ipi", "ipi_exit"),
];

const fn time(id: &'static str, slot: usize) -> Dimension {
    Dimension { divisor: MILLISECOND, ..Dimension::new(id, id, Value::Counter(slot)) }
}

const CHARTS: &[Chart] = &[
    Chart {
        id: CHART,
        title: "Hardware IRQ latency",
        units: "milliseconds",
        family: "interrupts",
        context: CHART,
        kind: Kind::Stacked,
        priority: 2900,
        mode: Mode::Entry,
        dimensions: &[
            #[cfg(not(any(target_arch = "aarch64", target_arch = "arm")))]
            time("apic_thermal", THERMAL_APIC),
            #[cfg(not(any(target_arch = "aarch64", target_arch = "arm")))]
            time("apic_threshold", THRESHOLD_APIC),
            #[cfg(not(any(target_arch = "aarch64", target_arch = "arm")))]
            time("apic_error", ERROR_APIC),
            #[cfg(not(any(target_arch = "aarch64", target_arch = "arm")))]
            time("apic_deferred_error", DEFERRED_ERROR_APIC),
            #[cfg(not(any(target_arch = "aarch64", target_arch = "arm")))]
            time("apic_spurious", SPURIOUS_APIC),
            #[cfg(not(any(target_arch = "aarch64", target_arch = "arm")))]
            time("func_call", CALL_FUNCTION),
            #[cfg(not(any(target_arch = "aarch64", target_arch = "arm")))]
            time("func_call_single", CALL_FUNCTION_SINGLE),
            #[cfg(not(any(target_arch = "aarch64", target_arch = "arm")))]
            time("reschedule", RESCHEDULE),
            #[cfg(not(any(target_arch = "aarch64", target_arch = "arm")))]
            time("local_timer", LOCAL_TIMER),
            #[cfg(not(any(target_arch = "aarch64", target_arch = "arm")))]
            time("irq_work", IRQ_WORK),
            #[cfg(not(any(target_arch = "aarch64", target_arch = "arm")))]
            time("x86_platform_ipi", X86_PLATFORM_IPI),
            #[cfg(any(target_arch = "aarch64", target_arch = "arm"))]
            time("ipi", IPI),
        ],
    },
    lost(
        "netdata.kmote_hardirq_lost",
        "Interrupts of lines that found no room in the table",
        &[Dimension::new("lost", "lost", Value::Counter(LOST))],
    ),
];
