// SPDX-License-Identifier: GPL-3.0-or-later
// cachestat: folios accessed, added to the page cache and dirtied, and buffers dirtied.
#include "module.bpf.h"

struct cachestat {
    __u64 accessed;
    __u64 added;
    __u64 dirtied;
    __u64 buffer_dirtied;
};
COUNTERS(cachestat)

COUNT(accessed)
COUNT(added)
COUNT(dirtied)
COUNT(buffer_dirtied)

LICENCE;
