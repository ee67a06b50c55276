// SPDX-License-Identifier: GPL-3.0-or-later
// oomkill: processes killed for want of memory.
#include "module.bpf.h"

struct oomkill {
    __u64 kill;
};
COUNTERS(oomkill)

COUNT(kill)

LICENCE;
