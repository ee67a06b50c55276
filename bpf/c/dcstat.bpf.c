// SPDX-License-Identifier: GPL-3.0-or-later
// dcstat: names looked up in the directory cache, and names that it had not.
#include "registers.bpf.h"

struct dcstat {
    __u64 reference;
    __u64 slow;
    __u64 miss;
};
COUNTERS(dcstat)

COUNT(reference)

// The result is the entry that was found, or null.
AT_RETURN(slow) {
    struct dcstat *all = counters();
    if (!all)
        return 0;
    ADD(all->slow, 1);
    if (result == 0)
        ADD(all->miss, 1);
    return 0;
}

LICENCE;
