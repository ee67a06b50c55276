/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Comes before each of libbpf's sources and compiles out what kmote does not use.
 */
/* Before libbpf_internal.h, which forbids names that these use. */
#include <linux/bpf_perf_event.h>
#include <sys/epoll.h>

#include "libbpf_internal.h"
#include <linux/kernel.h>

/* Its messages, 58 KB: kmote says itself, in its own words, what failed, and never shows libbpf's. */
#undef __pr
#define __pr(level, fmt, ...)                                                                                \
    do {                                                                                                     \
        if (0)                                                                                               \
            libbpf_print(level, fmt, ##__VA_ARGS__);                                                         \
    } while (0)

/*
 * Its table of section names, 20 KB with all ways to attach that hang on it: kmote's sections have no meaning
 * to libbpf, and kmote attaches by itself.
 */
#undef ARRAY_SIZE
#define ARRAY_SIZE(array) (__builtin_strcmp(#array, "section_defs") ? sizeof(array) / sizeof((array)[0]) : 0)
