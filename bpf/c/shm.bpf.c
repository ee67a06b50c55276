// SPDX-License-Identifier: GPL-3.0-or-later
// shm: system calls of System V shared memory.
#include "module.bpf.h"

struct shm {
    __u64 get;
    __u64 at;
    __u64 dt;
    __u64 ctl;
};
COUNTERS(shm)

COUNT(get)
COUNT(at)
COUNT(dt)
COUNT(ctl)

LICENCE;
