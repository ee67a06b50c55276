// SPDX-License-Identifier: GPL-3.0-or-later
// Power-of-two latency buckets, as core/src/histogram.rs has them; bpf/tests/histogram.rs compares the two.
//
// Without a branch: old verifiers follow both ways of each, and a logarithm by comparisons takes seconds.
#ifndef KMOTE_HISTOGRAM_BPF_H
#define KMOTE_HISTOGRAM_BPF_H

#define BUCKETS 24

// One latency: how often it fell into each bucket, and how often it could not be told.
struct histogram {
    __u64 bucket[BUCKETS];
    __u64 lost;
};

// Sets every bit below the highest that is set.
static __always_inline __u64 smear(__u64 bits) {
    bits |= bits >> 1;
    bits |= bits >> 2;
    bits |= bits >> 4;
    bits |= bits >> 8;
    bits |= bits >> 16;
    return bits | bits >> 32;
}

// How many of the low 32 bits are set.
static __always_inline __u64 population(__u64 bits) {
    bits -= bits >> 1 & 0x55555555;
    bits = (bits & 0x33333333) + (bits >> 2 & 0x33333333);
    bits = (bits + (bits >> 4)) & 0x0f0f0f0f;
    bits += bits >> 8;
    return (bits + (bits >> 16)) & 0x1f;
}

// Nanoseconds as whole microseconds, rounded up: what took longer than a bound is beyond it.
static __always_inline __u64 microseconds(__u64 nanoseconds) { return (nanoseconds + 999) / 1000; }

// ceil(log2), at most the last bucket. Of 0, the second factor leaves nothing.
static __always_inline __u64 bucket_of(__u64 microseconds) {
    return population(smear(microseconds - 1) & smear(microseconds) & ((1 << (BUCKETS - 1)) - 1));
}

// Counts a latency. The verifier learns the bucket's bounds right before the access: the mask first, as up
// to 4.14 it sets the upper bound anew. The barriers keep the compiler, which knows better, from dropping it.
static __always_inline void count_latency(struct histogram *histogram, __u64 nanoseconds) {
    __u64 bucket = bucket_of(microseconds(nanoseconds));
    asm volatile("" : "+r"(bucket));
    bucket &= 31;
    asm volatile("" : "+r"(bucket));
    if (bucket < BUCKETS)
        __sync_fetch_and_add(&histogram->bucket[bucket], 1);
}

#endif
