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
COUNT(slow)

// The result is the entry that was found, or null.
AT_RETURN(found) {
    struct dcstat *all = counters();
    if (all && result == 0)
        ADD(all->miss, 1);
    return 0;
}

LICENCE;
