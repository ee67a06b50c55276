// SPDX-License-Identifier: GPL-3.0-or-later
// process: tasks that begin, exec, end and are released, and clones that fail.
#include "module.bpf.h"
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
    if (flags & CLONE_THREAD)
        ADD(all->thread, 1);
    else
        ADD(all->process, 1);
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
    ADD(all->exit, 1);
    if ((__u32)id == id >> 32)
        ADD(all->exit_process, 1);
    return 0;
}

COUNT(release)

// kernel_clone(struct kernel_clone_args *): its first field is the flags, since v5.3 (7f192e3cd316).
PROGRAM_OF(clone_error, fexit) {
    struct process *all = counters();
    __u64 flags = 0;
    if (!all || (int)ctx[1] >= 0)
        return 0;
    bpf_probe_read_kernel(&flags, sizeof(flags), (void *)ctx[0]);
    if (flags & CLONE_THREAD)
        ADD(all->thread_error, 1);
    else
        ADD(all->process_error, 1);
    return 0;
}

LICENCE;
