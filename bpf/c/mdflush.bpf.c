// SPDX-License-Identifier: GPL-3.0-or-later
// mdflush: flushes of md arrays.
#include "table.bpf.h"
#include "gendisk.bpf.h"
#include "registers.bpf.h"

struct mdflush {
    __u64 unknown;
    __u64 lost;
};
COUNTERS(mdflush)

struct mdflush_row {
    __u64 flushes;
};
TABLE(mdflush, 64)

struct mdflush_offsets {
    __u64 bio_bi_bdev;
    __u64 block_device_bd_disk;
    __u64 bio_bi_disk;
    __u64 gendisk_major;
    __u64 gendisk_first_minor;
};
OFFSETS(mdflush)

// Since v5.12 (309dca309fc3) a bio has a block device, before a disk.
static __always_inline __u64 device_of(struct mdflush_offsets *at, __u64 bio) {
    __u64 disk = at->bio_bi_bdev != UNKNOWN
                     ? pointer_at(pointer_at(bio, at->bio_bi_bdev), at->block_device_bd_disk)
                     : pointer_at(bio, at->bio_bi_disk);
    return DEVICE(number_at(disk, at->gendisk_major), number_at(disk, at->gendisk_first_minor));
}

// md_flush_request(struct mddev *, struct bio *). The bio is on its way to the array, and so its disk is the
// array: struct bio is told by the kernel's own BTF, struct mddev by that of a module, if at all.
AT_ENTRY(flush, 1, 2) {
    struct mdflush *all = counters();
    struct mdflush_offsets *at = offsets();
    struct mdflush_row *array;
    __u64 device;
    (void)first;
    if (!all || !at)
        return 0;
    device = device_of(at, second);
    if (!device) {
        ADD(all->unknown, 1);
        return 0;
    }
    array = row(device);
    if (array)
        ADD(array->flushes, 1);
    else
        ADD(all->lost, 1);
    return 0;
}

LICENCE;
