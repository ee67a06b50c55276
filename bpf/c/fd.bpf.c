// SPDX-License-Identifier: GPL-3.0-or-later
// fd: files opened and closed by programs, and what failed of it.
#include "registers.bpf.h"

struct fd {
    __u64 open;
    __u64 close;
    __u64 open_error;
    __u64 close_error;
};
COUNTERS(fd)

COUNT(open)
COUNT(close)

AT_RETURN(open_error) {
    struct fd *all = counters();
    if (all && (int)result < 0)
        ADD(all->open_error, 1);
    return 0;
}
AT_SYSCALL_EXIT(open_error)

AT_SYSCALL_RETURN(close_error) {
    struct fd *all = counters();
    if (all && (int)result < 0)
        ADD(all->close_error, 1);
    return 0;
}

LICENCE;
