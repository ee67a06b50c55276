// SPDX-License-Identifier: GPL-3.0-or-later
// hardirq: nanoseconds in the handlers of each interrupt line, and in the vectors that have no line.
#include "table.bpf.h"

struct hardirq {
    __u64 thermal_apic;
    __u64 threshold_apic;
    __u64 error_apic;
    __u64 deferred_error_apic;
    __u64 spurious_apic;
    __u64 call_function;
    __u64 call_function_single;
    __u64 reschedule;
    __u64 local_timer;
    __u64 irq_work;
    __u64 x86_platform_ipi;
    __u64 ipi;
    __u64 lost;
};
COUNTERS(hardirq)

struct hardirq_row {
    __u64 ns;
};
TABLE(hardirq, 512)

// Interrupt lines nest rarely and not deep: those that do not share the low bits do not disturb each other.
#define PLACES 16

// What runs on a CPU: when each vector began, and the line in each place, plus 1, and when it began.
struct hardirq_starts {
    struct hardirq vectors;
    __u64 line[PLACES];
    __u64 began[PLACES];
};
PER_CPU(hardirq_starts, struct hardirq_starts)

static __always_inline int line_begins(__u64 irq) {
    struct hardirq_starts *starts = hardirq_starts_here();
    if (!starts)
        return 0;
    starts->line[irq & (PLACES - 1)] = irq + 1;
    starts->began[irq & (PLACES - 1)] = bpf_ktime_get_ns();
    return 0;
}

static __always_inline int line_ends(__u64 irq) {
    struct hardirq_starts *starts = hardirq_starts_here();
    struct hardirq *all = counters();
    struct hardirq_row *line;
    __u64 now = bpf_ktime_get_ns();
    if (!starts || !all || starts->line[irq & (PLACES - 1)] != irq + 1)
        return 0;
    // An end whose beginning is lost must not count from an older one.
    starts->line[irq & (PLACES - 1)] = 0;
    line = row(irq);
    if (line)
        ADD(line->ns, now - starts->began[irq & (PLACES - 1)]);
    else
        ADD(all->lost, 1);
    return 0;
}

PROGRAM_OF(irq_entry, raw_tp) { return line_begins((__u32)ctx[0]); }
PROGRAM_OF(irq_exit, raw_tp) { return line_ends((__u32)ctx[0]); }

// The record's irq, at offset 8, as the row says.
PROGRAM_OF(irq_entry, tp) { return line_begins(FIELD(__u32, 8)); }
PROGRAM_OF(irq_exit, tp) { return line_ends(FIELD(__u32, 8)); }

// The two programs of a vector, which read no context.
#define VECTOR(name)                                                                                         \
    PROGRAM(name##_entry) {                                                                                  \
        struct hardirq_starts *starts = hardirq_starts_here();                                               \
        if (starts)                                                                                          \
            starts->vectors.name = bpf_ktime_get_ns();                                                       \
        return 0;                                                                                            \
    }                                                                                                        \
    PROGRAM(name##_exit) {                                                                                   \
        struct hardirq_starts *starts = hardirq_starts_here();                                               \
        struct hardirq *all = counters();                                                                    \
        if (!starts || !all || !starts->vectors.name)                                                        \
            return 0;                                                                                        \
        ADD(all->name, bpf_ktime_get_ns() - starts->vectors.name);                                           \
        starts->vectors.name = 0;                                                                            \
        return 0;                                                                                            \
    }

#ifdef __TARGET_ARCH_x86
VECTOR(thermal_apic)
VECTOR(threshold_apic)
VECTOR(error_apic)
VECTOR(deferred_error_apic)
VECTOR(spurious_apic)
VECTOR(call_function)
VECTOR(call_function_single)
VECTOR(reschedule)
VECTOR(local_timer)
VECTOR(irq_work)
VECTOR(x86_platform_ipi)
#endif

#if defined(__TARGET_ARCH_arm) || defined(__TARGET_ARCH_arm64)
VECTOR(ipi)
#endif

LICENCE;
