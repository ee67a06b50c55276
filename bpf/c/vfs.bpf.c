// SPDX-License-Identifier: GPL-3.0-or-later
// vfs: what programs do with files, the bytes of it, and what failed.
#include "registers.bpf.h"

struct vfs {
    __u64 unlink;
    __u64 read;
    __u64 write;
    __u64 read_bytes;
    __u64 write_bytes;
    __u64 read_error;
    __u64 write_error;
    __u64 fsync;
    __u64 fsync_error;
    __u64 open;
    __u64 open_error;
    __u64 create;
    __u64 create_error;
};
COUNTERS(vfs)

COUNT(unlink)
COUNT(read)
COUNT(write)
COUNT(fsync)
COUNT(open)
COUNT(create)

// A result is bytes, 0 at the end of a file, or an error below 0; no call moves more than INT_MAX bytes.
AT_RETURN(has_read) {
    struct vfs *all = counters();
    int bytes = (int)result;
    if (all && bytes)
        ADD_BOTH(all->read_bytes, bytes > 0 ? bytes : 0, all->read_error, bytes < 0);
    return 0;
}
AT_SYSCALL_EXIT(has_read)

AT_RETURN(has_written) {
    struct vfs *all = counters();
    int bytes = (int)result;
    if (all && bytes)
        ADD_BOTH(all->write_bytes, bytes > 0 ? bytes : 0, all->write_error, bytes < 0);
    return 0;
}
AT_SYSCALL_EXIT(has_written)

AT_SYSCALL_RETURN(fsync_error) {
    struct vfs *all = counters();
    if (all && (int)result < 0)
        ADD(all->fsync_error, 1);
    return 0;
}

AT_RETURN(open_error) {
    struct vfs *all = counters();
    if (all && (int)result < 0)
        ADD(all->open_error, 1);
    return 0;
}

AT_RETURN(create_error) {
    struct vfs *all = counters();
    if (all && (int)result < 0)
        ADD(all->create_error, 1);
    return 0;
}

LICENCE;
