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

// Up to 15 bytes, then a zero. Where that of the longest is, an entry has a 1 once its process has ended.
#define LONGEST_NAME 15
#define ENDED        LONGEST_NAME
struct process_name {
    __u64 words[2];
};
#define BYTES(name) ((char *)&(name))

// A process, by its id. An entry outlives its process: user space takes it out once it has read it.
struct process_entry {
    __u32 parent; // 0: not seen to begin
    __u32 round;  // in which it was marked last
    __u64 cgroup; // 0: the kernel has no ids of cgroups
    struct process_name name;
    __u64 counters[PROCESS_COUNTERS];
};

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 1);
    __type(key, __u64);
    __type(value, struct process_entry);
} processes SEC(".maps");

// Whose entry has changed since user space last began a read: it looks at these only, and takes them out.
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 1);
    __type(key, __u64);
    __type(value, __u64);
} marked SEC(".maps");

// The number of the read that comes next, which user space writes, and how often there was no room among the marked,
// so that it must look at all.
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 2);
    __type(key, __u32);
    __type(value, __u64);
} rounds SEC(".maps");

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
    bpf_get_current_comm(&entry.name, sizeof(entry.name));
    bpf_map_update_elem(&processes, &id, &entry, BPF_NOEXIST);
}

// Marks a changed entry, once a round.
static __always_inline void mark(struct process_entry *entry, __u64 id) {
    __u32 first = 0, second = 1;
    __u64 nothing = 0, *round = bpf_map_lookup_elem(&rounds, &first);
    if (!round || entry->round == (__u32)*round)
        return;
    entry->round = *round;
    if (!bpf_map_update_elem(&marked, &id, &nothing, BPF_ANY))
        return;
    round = bpf_map_lookup_elem(&rounds, &second);
    if (round)
        __sync_fetch_and_add(round, 1);
}

// The marked entry of a process, or else of what has no room.
static __always_inline struct process_entry *marked_or_no_room(struct process_entry *entry, __u64 id) {
    if (!entry) {
        id = NO_ROOM;
        entry = entry_of(id);
    }
    if (entry)
        mark(entry, id);
    return entry;
}

// The entry on which to book what the current process does.
static __always_inline struct process_entry *current_entry(void) {
    __u64 id = bpf_get_current_pid_tgid() >> 32;
    struct process_entry *entry = entry_of(id);
    if (!entry) {
        enter(id, 0);
        entry = entry_of(id);
    }
    return marked_or_no_room(entry, id);
}

// Books an amount there.
static __always_inline void book(struct process_entry *entry, __u64 counter, __u64 amount) {
    if (amount)
        __sync_fetch_and_add(&entry->counters[counter], amount);
}

#endif
