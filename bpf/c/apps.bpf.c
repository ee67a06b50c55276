// SPDX-License-Identifier: GPL-3.0-or-later
// apps: processes that begin, get another name and end, noted in the table of processes.
#include "attribute.bpf.h"
#include "module.bpf.h"
#include "kernel.bpf.h"

struct apps {
    __u64 born;
    __u64 named;
    __u64 ended;
};
COUNTERS(apps)

// Gives an entry the name and the cgroup of the current task, which lives.
static __always_inline void take_on_current(struct process_entry *entry) {
    struct process_name name;
    bpf_get_current_comm(&name, sizeof(name));
    entry->cgroup = bpf_get_current_cgroup_id();
    entry->name = name;
}

// In the forking process, before the new one runs. Its id may be that of one that ended and is still in the
// table.
static __always_inline int begin(__u64 id, __u64 flags) {
    struct apps *all = counters();
    __u64 parent = bpf_get_current_pid_tgid() >> 32;
    if (!all || flags & CLONE_THREAD)
        return 0;
    ADD(all->born, 1);
    struct process_entry *entry = entry_of(id);
    if (!entry) {
        enter(id, parent);
        entry = entry_of(id);
    } else {
        entry->parent = parent;
        take_on_current(entry);
    }
    if (entry)
        mark(entry, id);
    return 0;
}

// The record's pid and clone_flags, a long of the kernel, as the row says.
PROGRAM_OF(born, tp) { return begin(FIELD(__u32, 8), FIELD(__u64, 32)); }
PROGRAM_OF(born, tp32) { return begin(FIELD(__u32, 8), FIELD(__u32, 28)); }

// Names the current process; a thread's name is its own. What follows the name's zero byte is not ours to
// look at.
static __always_inline int rename(const void *text) {
    struct apps *all = counters();
    __u64 id = bpf_get_current_pid_tgid();
    struct process_name name = {};
    if (!all || (__u32)id != id >> 32)
        return 0;
    id >>= 32;
    struct process_entry *entry = entry_of(id);
    if (!entry || bpf_probe_read_kernel(&name, LONGEST_NAME, text))
        return 0;
    entry->cgroup = bpf_get_current_cgroup_id();
    entry->name = name;
    mark(entry, id);
    ADD(all->named, 1);
    return 0;
}

// At exec and prctl, with the task and the new name. Others may name a task too: a kernel thread is named by
// its maker.
PROGRAM_OF(named, raw_tp) {
    // On 32 bits the helper extends the sign of the pointer, and the context does not.
    __u64 task = bpf_get_current_task();
    if (ctx[0] != task && ctx[0] != (__u32)task)
        return 0;
    return rename((void *)ctx[1]);
}

// The record's pid and newcomm, at offsets 8 and 28, as the row says.
PROGRAM_OF(named, tp) {
    if (FIELD(__u32, 8) != (__u32)bpf_get_current_pid_tgid())
        return 0;
    return rename((char *)ctx + 28);
}

PROGRAM(ended) {
    struct apps *all = counters();
    __u64 id = bpf_get_current_pid_tgid();
    if (!all || (__u32)id != id >> 32)
        return 0;
    ADD(all->ended, 1);
    id >>= 32;
    struct process_entry *entry = entry_of(id);
    if (!entry)
        return 0;
    // Another has made the entry, and knew no more than the id.
    if (!BYTES(entry->name)[0])
        take_on_current(entry);
    BYTES(entry->name)[ENDED] = 1;
    mark(entry, id);
    return 0;
}

LICENCE;
