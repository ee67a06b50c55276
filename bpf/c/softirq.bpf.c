// SPDX-License-Identifier: GPL-3.0-or-later
// softirq: nanoseconds in each soft interrupt's action.
#include "module.bpf.h"

struct softirq {
    __u64 hi;
    __u64 timer;
    __u64 net_tx;
    __u64 net_rx;
    __u64 block;
    __u64 irq_poll;
    __u64 tasklet;
    __u64 sched;
    __u64 hrtimer;
    __u64 rcu;
};
COUNTERS(softirq)

// When the action that now runs on a CPU began, by vector; 0 for none that we saw begin.
PER_CPU(softirq_starts, struct softirq)

#define VECTORS (sizeof(struct softirq) / sizeof(__u64))

static __always_inline int begin(__u64 vector) {
    __u64 *starts = (__u64 *)softirq_starts_here();
    if (starts && vector < VECTORS)
        starts[vector] = bpf_ktime_get_ns();
    return 0;
}

static __always_inline int end(__u64 vector) {
    __u64 *starts = (__u64 *)softirq_starts_here();
    __u64 *all = (__u64 *)counters();
    if (!starts || !all || vector >= VECTORS || !starts[vector])
        return 0;
    ADD(all[vector], bpf_ktime_get_ns() - starts[vector]);
    // An end whose beginning is lost must not count from an older one.
    starts[vector] = 0;
    return 0;
}

PROGRAM_OF(entry, raw_tp) { return begin(ctx[0]); }
PROGRAM_OF(exit, raw_tp) { return end(ctx[0]); }

// The record's vec, at offset 8, as the row says.
PROGRAM_OF(entry, tp) { return begin(FIELD(__u32, 8)); }
PROGRAM_OF(exit, tp) { return end(FIELD(__u32, 8)); }

LICENCE;
