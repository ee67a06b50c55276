// SPDX-License-Identifier: GPL-3.0-or-later
// process: tasks that begin, exec, end and are released, and clones that fail.
#include "registers.bpf.h"
#include "kernel.bpf.h"

struct process {
    __u64 process;
    __u64 thread;
    __u64 exec;
    __u64 exit;
    __u64 exit_process;
    __u64 release;
    __u64 process_error;
    __u64 thread_error;
};
COUNTERS(process)

static __always_inline int new_task(__u64 flags) {
    struct process *all = counters();
    if (!all)
        return 0;
    int is_thread = !!(flags & CLONE_THREAD);
    ADD_BOTH(all->thread, is_thread, all->process, !is_thread);
    return 0;
}

PROGRAM_OF(newtask, raw_tp) { return new_task(ctx[1]); }

// The record's clone_flags, at offset 32, as the row says.
PROGRAM_OF(newtask, tp) { return new_task(ctx[4]); }

COUNT(exec)

PROGRAM(exit) {
    struct process *all = counters();
    __u64 id = bpf_get_current_pid_tgid();
    if (!all)
        return 0;
    ADD_BOTH(all->exit, 1, all->exit_process, (__u32)id == id >> 32);
    return 0;
}

COUNT(release)

// The flags with which each thread is in a call that makes a task; of what does not fit, an error counts as a
// process's.
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 256);
    __type(key, __u64);
    __type(value, __u64);
} clones SEC(".maps");

// What only a kernel's addresses have, of 64 bits and of 32, and hardly any flags: the latter is CLONE_IO.
#define ADDRESS_BITS (1ULL << 63 | 1ULL << 31)

static __always_inline int remember(__u64 flags) {
    __u64 thread = bpf_get_current_pid_tgid();
    bpf_map_update_elem(&clones, &thread, &flags, BPF_ANY);
    return 0;
}

// kernel_clone(struct kernel_clone_args *), which begins with the flags.
PROGRAM_OF(clone, fentry) {
    __u64 flags = 0;
    bpf_probe_read_kernel(&flags, sizeof(flags), (void *)ctx[0]);
    return remember(flags);
}

// Before v5.3 the flags themselves.
AT_ENTRY_BY_PROBE(clone, 1, 1) {
    __u64 flags = first;
    if (first & ADDRESS_BITS)
        bpf_probe_read_kernel(&flags, sizeof(flags), (void *)(unsigned long)first);
    return remember(flags);
}

AT_RETURN(clone_error) {
    struct process *all = counters();
    __u64 thread = bpf_get_current_pid_tgid();
    __u64 *known = bpf_map_lookup_elem(&clones, &thread);
    __u64 flags = known ? *known : 0;
    if (known)
        bpf_map_delete_elem(&clones, &thread);
    if (!all || (int)result >= 0)
        return 0;
    int is_thread = !!(flags & CLONE_THREAD);
    ADD_BOTH(all->thread_error, is_thread, all->process_error, !is_thread);
    return 0;
}

LICENCE;
