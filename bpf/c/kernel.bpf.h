// SPDX-License-Identifier: GPL-3.0-or-later
// The few facts of the kernel that programs read, each with its source.
#ifndef KMOTE_KERNEL_BPF_H
#define KMOTE_KERNEL_BPF_H

// include/uapi/linux/sched.h: the new task is a thread of the caller's process.
#define CLONE_THREAD 0x00010000

// include/linux/socket.h
#define AF_INET  2
#define AF_INET6 10
#define MSG_PEEK 2

// include/uapi/linux/in.h
#define IPPROTO_TCP 6
#define IPPROTO_UDP 17

// include/net/tcp_states.h
#define TCP_ESTABLISHED 1
#define TCP_SYN_SENT    2
#define TCP_SYN_RECV    3

// include/net/sock.h: a socket begins with two addresses, a hash and two ports, 16 bytes on every kernel
// since v3.9.
#define SOCKET_FAMILY_AT 16

// The address family of a socket, which for an IPv6 socket that talks IPv4 is IPv6.
static __always_inline int family_of(__u64 socket) {
    __u16 family = 0;
    bpf_probe_read_kernel(&family, sizeof(family), (void *)(unsigned long)(socket + SOCKET_FAMILY_AT));
    return family;
}

#endif
