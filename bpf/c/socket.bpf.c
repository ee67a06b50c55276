// SPDX-License-Identifier: GPL-3.0-or-later
// socket: connections, calls and bytes of TCP and UDP.
#include "registers.bpf.h"
#include "kernel.bpf.h"

struct socket {
    __u64 connect_v4;
    __u64 connect_v6;
    __u64 received;
    __u64 received_bytes;
    __u64 sent;
    __u64 sent_bytes;
    __u64 udp_received;
    __u64 udp_received_bytes;
    __u64 udp_sent;
    __u64 udp_sent_bytes;
    // What follows is not counted by processes.
    __u64 accepted;
    __u64 receive_error;
    __u64 send_error;
    __u64 close;
    __u64 retransmit;
    __u64 udp_receive_error;
    __u64 udp_send_error;
};
COUNTERS(socket)

// No call takes or gives more.
#define MOST_BYTES 0x7fffffff

// A connection that came in is established, whoever accepts it then.
static __always_inline int accepted_if(int yes) {
    struct socket *all = counters();
    if (all && yes)
        ADD(all->accepted, 1);
    return 0;
}

// inet_sock_set_state(socket, old state, new state)
PROGRAM_OF(accepted, raw_tp) {
    return accepted_if((int)ctx[1] == TCP_SYN_RECV && (int)ctx[2] == TCP_ESTABLISHED);
}

// The record's oldstate and newstate, where the row says.
PROGRAM_OF(accepted, tp) {
    return accepted_if(FIELD(int, 16) == TCP_SYN_RECV && FIELD(int, 20) == TCP_ESTABLISHED);
}

AT_RETURN(accepted) { return accepted_if(result != 0); }

// An IPv6 socket that talks IPv4 comes by here too, after it was counted as what it is.
AT_ENTRY(connect_v4, 1, 1) {
    struct socket *all = counters();
    if (all && family_of(first) == AF_INET)
        ADD(all->connect_v4, 1);
    return 0;
}

COUNT(connect_v6)

// Where the calls cannot be hooked, those that found a way to the other end.
static __always_inline int connecting_v4(int state, int family) {
    struct socket *all = counters();
    if (all && state == TCP_SYN_SENT && family == AF_INET)
        ADD(all->connect_v4, 1);
    return 0;
}

static __always_inline int connecting_v6(int state, int family) {
    struct socket *all = counters();
    if (all && state == TCP_SYN_SENT && family == AF_INET6)
        ADD(all->connect_v6, 1);
    return 0;
}

PROGRAM_OF(connect_v4, raw_tp) { return connecting_v4((int)ctx[2], family_of(ctx[0])); }
PROGRAM_OF(connect_v6, raw_tp) { return connecting_v6((int)ctx[2], family_of(ctx[0])); }

// The record's newstate and family, where the row says.
PROGRAM_OF(connect_v4, tp) { return connecting_v4(FIELD(int, 20), FIELD(__u16, 28)); }
PROGRAM_OF(connect_v6, tp) { return connecting_v6(FIELD(int, 20), FIELD(__u16, 28)); }

static __always_inline int received_bytes(int bytes) {
    struct socket *all = counters();
    if (!all || bytes <= 0)
        return 0;
    ADD_BOTH(all->received, 1, all->received_bytes, bytes);
    return 0;
}

// tcp_cleanup_rbuf(socket, copied): called before each wait for data too, with nothing copied yet.
AT_ENTRY(received, 2, 2) { return received_bytes((int)first); }

// The record of a message that was sent or received, its fields where the row says: bytes, or an error below 0.
#define IS_OF(number) (FIELD(__u16, 18) == (number))
#define MESSAGE_BYTES FIELD(int, 20)

PROGRAM_OF(received, tp) {
    int is_peek = FIELD(int, 24) & MSG_PEEK;
    return IS_OF(IPPROTO_TCP) && !is_peek ? received_bytes(MESSAGE_BYTES) : 0;
}

AT_RETURN(receive_error) {
    struct socket *all = counters();
    if (all && (int)result < 0)
        ADD(all->receive_error, 1);
    return 0;
}

static __always_inline int sent_bytes(int bytes) {
    struct socket *all = counters();
    if (!all)
        return 0;
    ADD_BOTH(all->sent, 1, all->sent_bytes, bytes > 0 ? bytes : 0);
    return 0;
}

AT_RETURN_BY_FEXIT(sent) { return sent_bytes((int)result); }

PROGRAM_OF(sent, tp) { return IS_OF(IPPROTO_TCP) ? sent_bytes(MESSAGE_BYTES) : 0; }

// tcp_sendpage(socket, page, offset, size, flags)
AT_RETURN(sent_page) { return sent_bytes((int)result); }

// tcp_sendmsg(socket, message, size)
AT_ENTRY_BY_PROBE(sent, 3, 3) { return sent_bytes(first <= MOST_BYTES ? (int)first : 0); }

AT_RETURN(send_error) {
    struct socket *all = counters();
    if (all && (int)result < 0)
        ADD(all->send_error, 1);
    return 0;
}

COUNT(close)
COUNT(retransmit)

static __always_inline int udp_received_bytes(int bytes) {
    struct socket *all = counters();
    if (!all || bytes < 0)
        return 0;
    ADD_BOTH(all->udp_received, 1, all->udp_received_bytes, bytes);
    return 0;
}

// skb_consume_udp(socket, buffer, bytes): below 0 when the datagram was only looked at.
AT_ENTRY(udp_received, 3, 3) { return udp_received_bytes((int)first); }

PROGRAM_OF(udp_received, tp) {
    int is_peek = FIELD(int, 24) & MSG_PEEK;
    return IS_OF(IPPROTO_UDP) && !is_peek ? udp_received_bytes(MESSAGE_BYTES) : 0;
}

AT_RETURN_BY_PROBE(udp_received) { return udp_received_bytes((int)result); }

AT_RETURN(udp_receive_error) {
    struct socket *all = counters();
    if (all && (int)result < 0)
        ADD(all->udp_receive_error, 1);
    return 0;
}

static __always_inline int udp_sent_bytes(__u64 bytes) {
    struct socket *all = counters();
    if (!all)
        return 0;
    ADD_BOTH(all->udp_sent, 1, all->udp_sent_bytes, bytes <= MOST_BYTES ? bytes : 0);
    return 0;
}

// udp_sendmsg(socket, message, size), which udpv6_sendmsg calls for an IPv6 socket that talks IPv4.
AT_ENTRY(udp_sent, 1, 3) { return family_of(first) == AF_INET ? udp_sent_bytes(second) : 0; }

AT_ENTRY(udp6_sent, 3, 3) { return udp_sent_bytes(first); }

static __always_inline int udp_sent_by(int family, int wanted, int bytes) {
    return family == wanted && bytes >= 0 ? udp_sent_bytes(bytes) : 0;
}

PROGRAM_OF(udp_sent, tp) {
    return IS_OF(IPPROTO_UDP) ? udp_sent_by(FIELD(__u16, 16), AF_INET, MESSAGE_BYTES) : 0;
}

PROGRAM_OF(udp6_sent, tp) {
    return IS_OF(IPPROTO_UDP) ? udp_sent_by(FIELD(__u16, 16), AF_INET6, MESSAGE_BYTES) : 0;
}

AT_RETURN(udp_send_error) {
    struct socket *all = counters();
    if (all && (int)result < 0)
        ADD(all->udp_send_error, 1);
    return 0;
}

LICENCE;
