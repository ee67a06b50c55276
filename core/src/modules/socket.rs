// SPDX-License-Identifier: GPL-3.0-or-later
//! socket: connections, calls and bytes of TCP and UDP.

use crate::chart::{Chart, Dimension, Kind, Mode, Value};
use crate::hook::Hook::{
    self, All, Fentry, FexitResult, Kprobe, Kretprobe, RawTracepoint, Record, Tracepoint,
};
use crate::hook::{Field, NOWHERE, Probe};
use crate::module::Module;
use crate::share::{CALLS, Share, look, share};

// Those that processes have counts of stand first.
slots! {
    CONNECT_V4 = "connect_v4",
    CONNECT_V6 = "connect_v6",
    RECEIVED = "received",
    RECEIVED_BYTES = "received_bytes",
    SENT = "sent",
    SENT_BYTES = "sent_bytes",
    UDP_RECEIVED = "udp_received",
    UDP_RECEIVED_BYTES = "udp_received_bytes",
    UDP_SENT = "udp_sent",
    UDP_SENT_BYTES = "udp_sent_bytes",
    ACCEPTED = "accepted",
    RECEIVE_ERROR = "receive_error",
    SEND_ERROR = "send_error",
    CLOSE = "close",
    RETRANSMIT = "retransmit",
    UDP_RECEIVE_ERROR = "udp_receive_error",
    UDP_SEND_ERROR = "udp_send_error",
}

/// Off by default: every send and receive is counted.
///
/// Received are the calls that brought bytes, by whatever way out of the socket: recv, splice, zero copy, users in the
/// kernel. One that waits for more than there is (MSG_WAITALL) is counted at each wait, with all bytes so far.
pub(super) const MODULE: Module = Module {
    name: "socket",
    on_by_default: false,
    slots: SLOTS,
    probes: PROBES,
    charts: CHARTS,
    table: None,
    keeps: &[],
    shares: SHARES,
};

const fn entry(event: &'static str, slots: &'static [usize], hooks: &'static [Hook]) -> Probe {
    Probe { event, slots, mode: Mode::Entry, hooks }
}

const fn error(event: &'static str, slots: &'static [usize], hooks: &'static [Hook]) -> Probe {
    Probe { event, slots, mode: Mode::Return, hooks }
}

/// Fields of the records of sock_send_length and sock_recv_length, since v6.3.
const MESSAGE: &[Field] = &[("family", 16), ("protocol", 18), ("ret", 20), ("flags", 24)];

const PROBES: &[Probe] = &[
    // By the change of state before the call that takes the connection, since that call waits and needs a return hook.
    entry(
        "accepted",
        &[ACCEPTED],
        &[
            RawTracepoint("inet_sock_set_state"),
            FexitResult("inet_csk_accept"),
            Record(&("sock/inet_sock_set_state", &[("oldstate", 16), ("newstate", 20)])),
            Kretprobe("inet_csk_accept"),
        ],
    ),
    // The change of state misses calls that find no way to the other end, hence last.
    entry(
        "connect_v4",
        &[CONNECT_V4],
        &[
            Fentry("tcp_v4_connect"),
            Kprobe("tcp_v4_connect"),
            RawTracepoint("inet_sock_set_state"),
            Record(&("sock/inet_sock_set_state", &[("newstate", 20), ("family", 28)])),
        ],
    ),
    entry(
        "connect_v6",
        &[CONNECT_V6],
        &[
            Fentry("tcp_v6_connect"),
            Kprobe("tcp_v6_connect"),
            RawTracepoint("inet_sock_set_state"),
            Record(&("sock/inet_sock_set_state", &[("newstate", 20), ("family", 28)])),
        ],
    ),
    // The tracepoint does not see splice.
    entry(
        "received",
        &[RECEIVED, RECEIVED_BYTES],
        &[
            Fentry("tcp_cleanup_rbuf"),
            Kprobe("tcp_cleanup_rbuf"),
            Record(&("sock/sock_recv_length", MESSAGE)),
        ],
    ),
    error("receive_error", &[RECEIVE_ERROR], &[FexitResult("tcp_recvmsg"), Kretprobe("tcp_recvmsg")]),
    // A socket that does not wait takes less than it is given: by fexit, which costs as little as fentry, bytes are what
    // it took; by kprobe what it was given.
    entry(
        "sent",
        &[SENT, SENT_BYTES],
        &[FexitResult("tcp_sendmsg"), Kprobe("tcp_sendmsg"), Record(&("sock/sock_send_length", MESSAGE))],
    ),
    // sendfile and splice had a way of their own before v6.5.
    entry(
        "sent_page",
        &[SENT, SENT_BYTES],
        &[FexitResult("tcp_sendpage"), Kretprobe("tcp_sendpage"), NOWHERE],
    ),
    error("send_error", &[SEND_ERROR], &[FexitResult("tcp_sendmsg"), Kretprobe("tcp_sendmsg")]),
    entry("close", &[CLOSE], &[Fentry("tcp_close"), Kprobe("tcp_close")]),
    entry(
        "retransmit",
        &[RETRANSMIT],
        &[
            Fentry("tcp_retransmit_skb"),
            RawTracepoint("tcp_retransmit_skb"),
            Kprobe("tcp_retransmit_skb"),
            Tracepoint("tcp/tcp_retransmit_skb"),
        ],
    ),
    // Both families' datagrams are given away by one function, with their length; before v4.10 only the results tell.
    entry(
        "udp_received",
        &[UDP_RECEIVED, UDP_RECEIVED_BYTES],
        &[
            Fentry("skb_consume_udp"),
            Kprobe("skb_consume_udp"),
            Record(&("sock/sock_recv_length", MESSAGE)),
            All(&[Kretprobe("udp_recvmsg"), Kretprobe("udpv6_recvmsg")]),
        ],
    ),
    error(
        "udp_receive_error",
        &[UDP_RECEIVE_ERROR],
        &[
            All(&[FexitResult("udp_recvmsg"), FexitResult("udpv6_recvmsg")]),
            All(&[Kretprobe("udp_recvmsg"), Kretprobe("udpv6_recvmsg")]),
        ],
    ),
    entry(
        "udp_sent",
        &[UDP_SENT, UDP_SENT_BYTES],
        &[Fentry("udp_sendmsg"), Kprobe("udp_sendmsg"), Record(&("sock/sock_send_length", MESSAGE))],
    ),
    entry(
        "udp6_sent",
        &[UDP_SENT, UDP_SENT_BYTES],
        &[
            Fentry("udpv6_sendmsg"),
            Kprobe("udpv6_sendmsg"),
            NOWHERE,
            Record(&("sock/sock_send_length", MESSAGE)),
        ],
    ),
    error(
        "udp_send_error",
        &[UDP_SEND_ERROR],
        &[
            All(&[FexitResult("udp_sendmsg"), FexitResult("udpv6_sendmsg")]),
            All(&[Kretprobe("udp_sendmsg"), Kretprobe("udpv6_sendmsg")]),
        ],
    ),
];

const fn chart(
    id: &'static str,
    priority: u32,
    mode: Mode,
    title: &'static str,
    units: &'static str,
    dimensions: &'static [Dimension],
) -> Chart {
    Chart { id, title, units, family: "kernel", context: id, kind: Kind::Line, priority, mode, dimensions }
}

/// Bytes, drawn as kilobits.
const fn kilobits(id: &'static str, name: &'static str, slot: usize, multiplier: i32) -> Dimension {
    Dimension { multiplier, divisor: 1000, ..Dimension::new(id, name, Value::Counter(slot)) }
}

const RECEIVING: i32 = 8;
const SENDING: i32 = -8;

// Netdata counts priorities up as it makes charts: those of the errors are of its mode `return`, all others of `entry`.
// Its inbound connections of UDP are not drawn: UDP accepts none.
const CHARTS: &[Chart] = &[
    chart(
        "ip.inbound_conn",
        21070,
        Mode::Entry,
        "Inbound connections",
        "connections/s",
        &[Dimension::new("inet_csk_accept_tcp", "connected_tcp", Value::Counter(ACCEPTED))],
    ),
    chart(
        "ip.tcp_outbound_conn",
        21071,
        Mode::Entry,
        "TCP outbound connections",
        "connections/s",
        &[
            Dimension::new("tcp_connect_v4", "connected_V4", Value::Counter(CONNECT_V4)),
            Dimension::new("tcp_connect_v6", "connected_V6", Value::Counter(CONNECT_V6)),
        ],
    ),
    chart(
        "ip.tcp_functions",
        21072,
        Mode::Entry,
        "TCP calls",
        "calls/s",
        &[
            Dimension::new("tcp_cleanup_rbuf", "received", Value::Counter(RECEIVED)),
            Dimension::new("tcp_sendmsg", "sent", Value::Counter(SENT)),
            Dimension::new("tcp_close", "close", Value::Counter(CLOSE)),
        ],
    ),
    chart(
        "ip.total_tcp_bandwidth",
        21073,
        Mode::Entry,
        "TCP bandwidth",
        "kilobits/s",
        &[
            kilobits("tcp_cleanup_rbuf", "received", RECEIVED_BYTES, RECEIVING),
            kilobits("tcp_sendmsg", "sent", SENT_BYTES, SENDING),
        ],
    ),
    chart(
        "ip.tcp_error",
        21074,
        Mode::Return,
        "TCP errors",
        "calls/s",
        &[
            Dimension::new("tcp_cleanup_rbuf", "received", Value::Counter(RECEIVE_ERROR)),
            Dimension::new("tcp_sendmsg", "sent", Value::Counter(SEND_ERROR)),
        ],
    ),
    chart(
        "ip.tcp_retransmit",
        21074,
        Mode::Entry,
        "Packages retransmitted",
        "calls/s",
        &[Dimension::new("tcp_retransmit_skb", "retransmitted", Value::Counter(RETRANSMIT))],
    ),
    chart(
        "ip.udp_functions",
        21075,
        Mode::Entry,
        "UDP calls",
        "calls/s",
        &[
            Dimension::new("udp_recvmsg", "received", Value::Counter(UDP_RECEIVED)),
            Dimension::new("udp_sendmsg", "sent", Value::Counter(UDP_SENT)),
        ],
    ),
    chart(
        "ip.total_udp_bandwidth",
        21076,
        Mode::Entry,
        "UDP bandwidth",
        "kilobits/s",
        &[
            kilobits("udp_recvmsg", "received", UDP_RECEIVED_BYTES, RECEIVING),
            kilobits("udp_sendmsg", "sent", UDP_SENT_BYTES, SENDING),
        ],
    ),
    chart(
        "ip.udp_error",
        21078,
        Mode::Return,
        "UDP errors",
        "calls/s",
        &[
            Dimension::new("udp_recvmsg", "received", Value::Counter(UDP_RECEIVE_ERROR)),
            Dimension::new("udp_sendmsg", "sent", Value::Counter(UDP_SEND_ERROR)),
        ],
    ),
];

/// Retransmissions are left out: the kernel makes them by a timer, whoever runs then.
const SHARES: &[Share] = &[
    share(
        "TCP connections over IPv4 begun",
        "connections/s",
        Mode::Entry,
        &[Value::Counter(CONNECT_V4)],
        [
            look(
                "call_tcp_v4_connection",
                "app.ebpf_call_tcp_v4_connection",
                "net",
                Kind::Stacked,
                20130,
                &[("connections", "connections")],
            ),
            look(
                "outbound_conn_v4",
                "cgroup.net_conn_ipv4",
                "network",
                Kind::Line,
                45300,
                &[("connections", "connections")],
            ),
            look(
                "outbound_conn_v4",
                "systemd.service.net_conn_ipv4",
                "net",
                Kind::Stacked,
                20080,
                &[("connections", "connections")],
            ),
        ],
    ),
    share(
        "TCP connections over IPv6 begun",
        "connections/s",
        Mode::Entry,
        &[Value::Counter(CONNECT_V6)],
        [
            look(
                "call_tcp_v6_connection",
                "app.ebpf_call_tcp_v6_connection",
                "net",
                Kind::Stacked,
                20131,
                &[("connections", "connections")],
            ),
            look(
                "outbound_conn_v6",
                "cgroup.net_conn_ipv6",
                "network",
                Kind::Line,
                45301,
                &[("connections", "connections")],
            ),
            look(
                "outbound_conn_v6",
                "systemd.service.net_conn_ipv6",
                "net",
                Kind::Stacked,
                20081,
                &[("connections", "connections")],
            ),
        ],
    ),
    Share {
        scale: (8, 1000),
        ..share(
            "Bytes received and sent",
            "kilobits/s",
            Mode::Entry,
            &[
                Value::Sum(&(&[RECEIVED_BYTES, UDP_RECEIVED_BYTES], |delta| {
                    delta[RECEIVED_BYTES].saturating_add(delta[UDP_RECEIVED_BYTES])
                })),
                Value::Sum(&(&[SENT_BYTES, UDP_SENT_BYTES], |delta| {
                    delta[SENT_BYTES].saturating_add(delta[UDP_SENT_BYTES])
                })),
            ],
            [
                look(
                    "sock_bandwidth",
                    "app.ebpf_sock_total_bandwidth",
                    "net",
                    Kind::Stacked,
                    20132,
                    &[("received", "received"), ("sent", "sent")],
                ),
                look(
                    "total_bandwidth",
                    "cgroup.net_total_bandwidth",
                    "network",
                    Kind::Line,
                    45302,
                    &[("received", "received"), ("sent", "sent")],
                ),
                look(
                    "total_bandwidth",
                    "systemd.service.net_total_bandwidth",
                    "net",
                    Kind::Stacked,
                    20082,
                    &[("received", "received"), ("sent", "sent")],
                ),
            ],
        )
    },
    share(
        "Calls to tcp_sendmsg",
        "calls/s",
        Mode::Entry,
        &[Value::Counter(SENT)],
        [
            look("call_tcp_sendmsg", "app.ebpf_call_tcp_sendmsg", "net", Kind::Stacked, 20133, CALLS),
            look("bandwidth_tcp_send", "cgroup.net_tcp_send", "network", Kind::Line, 45304, CALLS),
            look("bandwidth_tcp_send", "systemd.service.net_tcp_send", "net", Kind::Stacked, 20085, CALLS),
        ],
    ),
    share(
        "Calls to tcp_cleanup_rbuf",
        "calls/s",
        Mode::Entry,
        &[Value::Counter(RECEIVED)],
        [
            look(
                "call_tcp_cleanup_rbuf",
                "app.ebpf_call_tcp_cleanup_rbuf",
                "net",
                Kind::Stacked,
                20134,
                CALLS,
            ),
            look("bandwidth_tcp_recv", "cgroup.net_tcp_recv", "network", Kind::Line, 45303, CALLS),
            look("bandwidth_tcp_recv", "systemd.service.net_tcp_recv", "net", Kind::Stacked, 20084, CALLS),
        ],
    ),
    share(
        "Calls to udp_sendmsg",
        "calls/s",
        Mode::Entry,
        &[Value::Counter(UDP_SENT)],
        [
            look("call_udp_sendmsg", "app.ebpf_call_udp_sendmsg", "net", Kind::Stacked, 20136, CALLS),
            look("bandwidth_udp_send", "cgroup.net_udp_send", "network", Kind::Line, 45306, CALLS),
            look("bandwidth_udp_send", "systemd.service.net_udp_send", "net", Kind::Stacked, 20087, CALLS),
        ],
    ),
    share(
        "Calls to udp_recvmsg",
        "calls/s",
        Mode::Entry,
        &[Value::Counter(UDP_RECEIVED)],
        [
            look("call_udp_recvmsg", "app.ebpf_call_udp_recvmsg", "net", Kind::Stacked, 20137, CALLS),
            look("bandwidth_udp_recv", "cgroup.net_udp_recv", "network", Kind::Line, 45307, CALLS),
            look("bandwidth_udp_recv", "systemd.service.net_udp_recv", "net", Kind::Stacked, 20088, CALLS),
        ],
    ),
];
