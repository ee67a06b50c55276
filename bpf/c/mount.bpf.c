// SPDX-License-Identifier: GPL-3.0-or-later
// mount: filesystems mounted and unmounted, and what failed of it.
#include "registers.bpf.h"

struct mount {
    __u64 mount;
    __u64 umount;
    __u64 mount_error;
    __u64 umount_error;
};
COUNTERS(mount)

// Not named like their counters: the map has such a name.
PROGRAM(mounting) {
    struct mount *all = counters();
    if (all)
        ADD(all->mount, 1);
    return 0;
}

PROGRAM(unmounting) {
    struct mount *all = counters();
    if (all)
        ADD(all->umount, 1);
    return 0;
}

AT_SYSCALL_RETURN(mounted) {
    struct mount *all = counters();
    if (all && (int)result < 0)
        ADD(all->mount_error, 1);
    return 0;
}

AT_SYSCALL_RETURN(unmounted) {
    struct mount *all = counters();
    if (all && (int)result < 0)
        ADD(all->umount_error, 1);
    return 0;
}

LICENCE;
