// SPDX-License-Identifier: GPL-3.0-or-later
// What the programs of all filesystems share: how long four operations take. FILESYSTEM is the row's name,
// FOURTH the operation besides read, write and open.
#ifndef KMOTE_FILESYSTEM_BPF_H
#define KMOTE_FILESYSTEM_BPF_H

#include "module.bpf.h"
#include "histogram.bpf.h"

struct FILESYSTEM {
    struct histogram read;
    struct histogram write;
    struct histogram open;
    struct histogram FOURTH;
};
COUNTERS(FILESYSTEM)

// When a thread began an operation: it has at most one of each kind under way, and finds it again on any CPU.
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 1024);
    __type(key, __u64);
    __type(value, __u64);
} starts SEC(".maps");

static __always_inline __u64 this_thread(__u64 operation) {
    return (__u32)bpf_get_current_pid_tgid() | operation << 32;
}

// include/uapi/asm-generic/errno-base.h
#define EEXIST 17

// An operation inside another of its kind, or after one whose return was not seen, takes its place: that one
// is lost, and this one is timed.
static __always_inline void begin(struct histogram *histogram, __u64 operation) {
    __u64 thread = this_thread(operation), now = bpf_ktime_get_ns();
    // Up to v6.3 (d7ba4cc900bf) the upper half of the result may be anything.
    if ((int)bpf_map_update_elem(&starts, &thread, &now, BPF_NOEXIST) != -EEXIST)
        return;
    bpf_map_update_elem(&starts, &thread, &now, BPF_ANY);
    ADD(histogram->lost, 1);
}

// Without a start there was no room for it.
static __always_inline void end(struct histogram *histogram, __u64 operation) {
    __u64 now = bpf_ktime_get_ns(), thread = this_thread(operation);
    __u64 *start = bpf_map_lookup_elem(&starts, &thread);
    if (!start) {
        ADD(histogram->lost, 1);
        return;
    }
    now -= *start;
    bpf_map_delete_elem(&starts, &thread);
    count_latency(histogram, now);
}

#define TIMED(operation, number)                                                                             \
    PROGRAM(operation) {                                                                                     \
        typeof(counters()) all = counters();                                                                 \
        if (all)                                                                                             \
            begin(&all->operation, number);                                                                  \
        return 0;                                                                                            \
    }                                                                                                        \
    PROGRAM(operation##_end) {                                                                               \
        typeof(counters()) all = counters();                                                                 \
        if (all)                                                                                             \
            end(&all->operation, number);                                                                    \
        return 0;                                                                                            \
    }

// One more expansion, so that FOURTH is its value when it becomes a part of a name.
#define TIMED_AS(operation, number) TIMED(operation, number)

TIMED(read, 0)
TIMED(write, 1)
TIMED(open, 2)
TIMED_AS(FOURTH, 3)

LICENCE;

#endif
