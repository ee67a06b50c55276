// SPDX-License-Identifier: GPL-3.0-or-later
// What every module's programs share: the counters of one per-CPU struct, and how a program is declared.
//
// A program that reads no context serves every mechanism under the name of its event, since the loader gives it its
// type; one that does is named <event>_<mechanism>. Kernel symbols stand in the Rust row only.
// Written for -mcpu=v1 and Linux 3.10-el7 and 4.9 on: no loop, no sub-function, no global data, no relocation but
// to maps, keys on the stack.
#ifndef KMOTE_MODULE_BPF_H
#define KMOTE_MODULE_BPF_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#ifdef ATTRIBUTE
#include "attribute.bpf.h"
#endif

// Declares the map of a module's counters, under the module's name: one `struct <name>` a CPU, of __u64 only.
#define COUNTERS(name)                                                                                       \
    struct {                                                                                                 \
        __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);                                                             \
        __uint(max_entries, 1);                                                                              \
        __type(key, __u32);                                                                                  \
        __type(value, struct name);                                                                          \
    } name SEC(".maps");                                                                                     \
    static __always_inline struct name *counters(void) {                                                     \
        __u32 first = 0;                                                                                     \
        return bpf_map_lookup_elem(&name, &first);                                                           \
    }

// Declares a map in which a module's programs keep one value a CPU, and its look-up, `<name>_here`.
#define PER_CPU(name, value_type)                                                                            \
    struct {                                                                                                 \
        __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);                                                             \
        __uint(max_entries, 1);                                                                              \
        __type(key, __u32);                                                                                  \
        __type(value, value_type);                                                                           \
    } name SEC(".maps");                                                                                     \
    static __always_inline value_type *name##_here(void) {                                                   \
        __u32 first = 0;                                                                                     \
        return bpf_map_lookup_elem(&name, &first);                                                           \
    }

// Adds to one counter, of `all`, of this CPU. Atomic, since the program may be interrupted between its read and its write.
#define ADD_HERE(counter, amount) __sync_fetch_and_add(&(counter), (amount))

// Adds to two counters, of `all`, amounts of which either may be zero.
#define ADD_BOTH_HERE(one, amount, other, other_amount)                                                      \
    ({                                                                                                       \
        if (amount)                                                                                          \
            ADD_HERE(one, amount);                                                                           \
        if (other_amount)                                                                                    \
            ADD_HERE(other, other_amount);                                                                   \
    })

#ifdef ATTRIBUTE
#define SLOT(counter) ((__u64 *)&(counter) - (__u64 *)all)
// The same, and books it on the current process under the same number, counted from PLACE. The second form looks for the
// process once.
#define ADD(counter, amount)                                                                                 \
    ({                                                                                                       \
        __u64 _amount = (amount);                                                                            \
        ADD_HERE(counter, _amount);                                                                          \
        struct process_entry *_mine = SLOT(counter) < SHARED_SLOTS ? current_entry() : NULL;                 \
        if (_mine)                                                                                           \
            book(_mine, PLACE + SLOT(counter), _amount);                                                     \
    })
#define ADD_BOTH(one, amount, other, other_amount)                                                           \
    ({                                                                                                       \
        __u64 _amount = (amount), _other_amount = (other_amount);                                            \
        ADD_BOTH_HERE(one, _amount, other, _other_amount);                                                   \
        struct process_entry *_mine = current_entry();                                                       \
        if (_mine) {                                                                                         \
            book(_mine, PLACE + SLOT(one), _amount);                                                         \
            book(_mine, PLACE + SLOT(other), _other_amount);                                                 \
        }                                                                                                    \
    })
#else
#define ADD(counter, amount)                       ADD_HERE(counter, amount)
#define ADD_BOTH(one, amount, other, other_amount) ADD_BOTH_HERE(one, amount, other, other_amount)
#endif

// Declares the map in which the loader tells where kernel structures have the members of the row, in bytes, and its
// look-up, `offsets()`: a `struct <name>_offsets` of a __u64 a member, named <structure>_<member>.
#define OFFSETS(name)                                                                                        \
    struct {                                                                                                 \
        __uint(type, BPF_MAP_TYPE_ARRAY);                                                                    \
        __uint(max_entries, 1);                                                                              \
        __type(key, __u32);                                                                                  \
        __type(value, struct name##_offsets);                                                                \
    } name##_offsets SEC(".maps");                                                                           \
    static __always_inline struct name##_offsets *offsets(void) {                                            \
        __u32 first = 0;                                                                                     \
        return bpf_map_lookup_elem(&name##_offsets, &first);                                                 \
    }

// A member whose offset this kernel does not tell.
#define UNKNOWN ((__u64) - 1)

// Of programs the BTF needs nothing: the types of functions and of what they use are a third of the objects.
#define WITHOUT_TYPES __attribute__((nodebug))

// A program of an event, whose context is not read.
#define PROGRAM(event) SEC("event") WITHOUT_TYPES int event(void *ctx)

// A program of an event and a mechanism, which reads its context as 64-bit words: the arguments, for raw_tp, fentry
// and fexit (for fexit followed by the result); the record, for tp.
#define PROGRAM_OF(event, mechanism) SEC("event") WITHOUT_TYPES int event##_##mechanism(__u64 *ctx)

// A field of the record, for tp.
#define FIELD(type, offset) (*(type *)((char *)ctx + (offset)))

// A program that counts its event, and nothing else.
#define COUNT(event)                                                                                         \
    PROGRAM(event) {                                                                                         \
        typeof(counters()) all = counters();                                                                 \
        if (all)                                                                                             \
            ADD(all->event, 1);                                                                              \
        return 0;                                                                                            \
    }

#define LICENCE char licence[] SEC("license") = "GPL"

#endif
