// SPDX-License-Identifier: GPL-3.0-or-later
// The few facts of the kernel that programs read, each with its source.
#ifndef KMOTE_KERNEL_BPF_H
#define KMOTE_KERNEL_BPF_H

// include/uapi/linux/sched.h: the new task is a thread of the caller's process.
#define CLONE_THREAD 0x00010000

#endif
