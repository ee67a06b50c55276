// SPDX-License-Identifier: GPL-3.0-or-later
// Whose work it is: the table of processes, which all objects share that are compiled with -DATTRIBUTE.
//
// PLACE is where a module's counters begin among those of a process, PROCESS_COUNTERS how many those are; the
// build takes both from the rows. The loader makes the map, as long and as many as the modules that run and
// the memory allow.
#ifndef KMOTE_ATTRIBUTE_BPF_H
#define KMOTE_ATTRIBUTE_BPF_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

// A process, by its id. An entry outlives its process: user space takes it out once it has read it.
struct process_entry {
    __u32 parent; // 0: not seen to begin
    __u32 ended;
    __u64 cgroup; // 0: the kernel has no ids of cgroups
    __u64 name[2];
    __u64 counters[PROCESS_COUNTERS];
};

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 1);
    __type(key, __u64);
    __type(value, struct process_entry);
} processes SEC(".maps");

// The entry that counts what no room is left for; user space makes it first.
#define NO_ROOM ((__u64)0xffffffff)

static __always_inline struct process_entry *entry_of(__u64 id) {
    return bpf_map_lookup_elem(&processes, &id);
}

// Makes an entry, with the name and the cgroup of the current task. On the stack, since before 4.18 a value
// of a map may not be written from another map.
static __always_inline void enter(__u64 id, __u64 parent) {
    struct process_entry entry = {};
    entry.parent = parent;
    entry.cgroup = bpf_get_current_cgroup_id();
    bpf_get_current_comm(entry.name, sizeof(entry.name));
    bpf_map_update_elem(&processes, &id, &entry, BPF_NOEXIST);
}

// Books an amount on the current process.
static __always_inline void attribute(__u64 counter, __u64 amount) {
    __u64 id = bpf_get_current_pid_tgid() >> 32;
    struct process_entry *entry = entry_of(id);
    if (!entry) {
        enter(id, 0);
        entry = entry_of(id);
        if (!entry)
            entry = entry_of(NO_ROOM);
    }
    if (entry)
        __sync_fetch_and_add(&entry->counters[counter], amount);
}

#endif
