// SPDX-License-Identifier: GPL-3.0-or-later
// sync: system calls that write back what is dirty.
#include "module.bpf.h"

struct sync {
    __u64 fsync;
    __u64 fdatasync;
    __u64 msync;
    __u64 sync;
    __u64 syncfs;
    __u64 sync_file_range;
};
COUNTERS(sync)

COUNT(fsync)
COUNT(fdatasync)
COUNT(msync)

// Not named like its counter: the map has that name.
PROGRAM(sync_call) {
    struct sync *all = counters();
    if (all)
        ADD(all->sync, 1);
    return 0;
}

COUNT(syncfs)
COUNT(sync_file_range)

LICENCE;
