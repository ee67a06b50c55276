/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Comes before each of libbpf's sources: its messages are compiled out, 58 KB of the binary. kmote says
 * itself, in its own words, what failed; it never shows libbpf's.
 */
/* Before libbpf_internal.h, which forbids names that these use. */
#include <linux/bpf_perf_event.h>
#include <sys/epoll.h>

#include "libbpf_internal.h"

#undef __pr
#define __pr(level, fmt, ...)                                                                                \
    do {                                                                                                     \
        if (0)                                                                                               \
            libbpf_print(level, fmt, ##__VA_ARGS__);                                                         \
    } while (0)
