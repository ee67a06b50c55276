// SPDX-License-Identifier: GPL-3.0-or-later
// The device number of a disk, read from its struct gendisk without relocations.
#ifndef KMOTE_GENDISK_BPF_H
#define KMOTE_GENDISK_BPF_H

#include "module.bpf.h"

// include/linux/kdev_t.h: what a device number is inside the kernel.
#define DEVICE(major, minor) ((__u64)(major) << 20 | (minor))

// A pointer in kernel memory; 0 if it cannot be read.
static __always_inline __u64 pointer_at(__u64 structure, __u64 offset) {
    __u64 pointer = 0;
    if (!structure || offset == UNKNOWN)
        return 0;
    bpf_probe_read_kernel(&pointer, sizeof(pointer), (void *)(structure + offset));
    return pointer;
}

// An int in kernel memory; 0 if it cannot be read.
static __always_inline __u32 number_at(__u64 structure, __u64 offset) {
    __u32 number = 0;
    if (!structure || offset == UNKNOWN)
        return 0;
    bpf_probe_read_kernel(&number, sizeof(number), (void *)(structure + offset));
    return number;
}

#endif
