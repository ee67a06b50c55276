/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The kernel's fixed-size types as the BPF target has them. With this file the programs compile from libbpf's
 * copies of <linux/bpf.h> alone: no kernel headers on the building machine, and the same types whatever the
 * architecture.
 */
#pragma once
typedef __INT8_TYPE__ __s8;
typedef __INT16_TYPE__ __s16;
typedef __INT32_TYPE__ __s32;
typedef long long __s64;
typedef __UINT8_TYPE__ __u8;
typedef __UINT16_TYPE__ __u16;
typedef __UINT32_TYPE__ __u32;
typedef unsigned long long __u64;
typedef __u16 __le16;
typedef __u16 __be16;
typedef __u32 __le32;
typedef __u32 __be32;
typedef __u64 __le64;
typedef __u64 __be64;
typedef __u16 __sum16;
typedef __u32 __wsum;
#define __aligned_u64 __u64 __attribute__((aligned(8)))
