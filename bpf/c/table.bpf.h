// SPDX-License-Identifier: GPL-3.0-or-later
// A table: counters of keys that are only known at run time. Bounded, and preallocated, since interrupts write to it.
#ifndef KMOTE_TABLE_BPF_H
#define KMOTE_TABLE_BPF_H

#include "module.bpf.h"

// Declares the map of a module's table, `<name>_rows`, from a 64-bit key to a `struct <name>_row` of __u64 only, and
// `row(key)`: the row of a key, a new one if need be; none when the table is full.
#define TABLE(name, capacity)                                                                                \
    struct {                                                                                                 \
        __uint(type, BPF_MAP_TYPE_HASH);                                                                     \
        __uint(max_entries, capacity);                                                                       \
        __type(key, __u64);                                                                                  \
        __type(value, struct name##_row);                                                                    \
    } name##_rows SEC(".maps");                                                                              \
    static __always_inline struct name##_row *row(__u64 key) {                                               \
        struct name##_row *found = bpf_map_lookup_elem(&name##_rows, &key);                                  \
        struct name##_row none = {};                                                                         \
        if (found)                                                                                           \
            return found;                                                                                    \
        bpf_map_update_elem(&name##_rows, &key, &none, BPF_NOEXIST);                                         \
        return bpf_map_lookup_elem(&name##_rows, &key);                                                      \
    }

#endif
