// SPDX-License-Identifier: GPL-3.0-or-later
// swap: pages asked from swap and given to it.
#include "module.bpf.h"

struct swap {
    __u64 read;
    __u64 write;
};
COUNTERS(swap)

COUNT(read)
COUNT(write)

LICENCE;
