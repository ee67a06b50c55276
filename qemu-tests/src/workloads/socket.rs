// SPDX-License-Identifier: GPL-3.0-or-later
//! socket: known bytes by TCP and UDP over the loopback, by IPv4, IPv6 and IPv4 from IPv6 sockets.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::thread::sleep;
use std::time::Duration;

use libc::c_long;

use super::Expected::{Exactly, Within};
use super::{Expected, Step};
use crate::guest::calls::{address, call, done};
use crate::guest::counters::Counter::Retransmitted;
use crate::guest::place::Place;

type Slots = [(&'static str, Expected)];

fn step(name: &'static str, work: fn(&mut Place), expect: &'static Slots) -> Step {
    let counters = vec![(Retransmitted, 0)];
    Step { name, disk: None, cpus: 1, prepare: up, work, expect, counters }
}

/// What TCP did: connections in, out by IPv4 and IPv6, closed; calls, and bytes in each direction.
const fn tcp(
    (accepted, v4, v6, close): (u64, u64, u64, u64),
    calls: u64,
    bytes: u64,
) -> [(&'static str, Expected); 12] {
    [
        ("accepted", Exactly(accepted)),
        ("connect_v4", Exactly(v4)),
        ("connect_v6", Exactly(v6)),
        ("close", Exactly(close)),
        ("received", Exactly(calls)),
        ("received_bytes", Exactly(bytes)),
        ("sent", Exactly(calls)),
        ("sent_bytes", Exactly(bytes)),
        ("retransmit", Exactly(0)),
        ("udp_received", Exactly(0)),
        ("udp_sent", Exactly(0)),
        ("udp_sent_bytes", Exactly(0)),
    ]
}

const fn udp(calls: u64, bytes: u64) -> [(&'static str, Expected); 7] {
    [
        ("udp_received", Exactly(calls)),
        ("udp_received_bytes", Exactly(bytes)),
        ("udp_sent", Exactly(calls)),
        ("udp_sent_bytes", Exactly(bytes)),
        ("received", Exactly(0)),
        ("sent", Exactly(0)),
        ("connect_v4", Exactly(0)),
    ]
}

pub fn steps() -> Vec<Step> {
    const NONE: [(&str, Expected); 12] = tcp((0, 0, 0, 0), 0, 0);
    const V4: [(&str, Expected); 12] = tcp((2, 2, 0, 5), 6, 6000);
    const V6: [(&str, Expected); 12] = tcp((1, 0, 1, 3), 3, 3000);
    // The tracepoint of receiving does not see splice.
    const SPLICED: &Slots = &[
        ("received@tcp_cleanup_rbuf", Exactly(1)),
        ("received_bytes@tcp_cleanup_rbuf", Exactly(1000)),
        ("sent", Exactly(1)),
        ("sent_bytes", Exactly(1000)),
    ];
    const PAGES: &str = "how many calls it makes is the kernel's choice";
    const SENDFILE: &Slots = &[
        ("sent", Within(1, 5000, PAGES)),
        ("sent_bytes", Exactly(5000)),
        ("received", Within(1, 5000, PAGES)),
        ("received_bytes", Exactly(5000)),
    ];
    const DATAGRAMS: [(&str, Expected); 7] = udp(7, 700);
    const V6_DATAGRAMS: [(&str, Expected); 7] = udp(3, 300);
    const AGAIN: &Slots = &[("retransmit", Exactly(1)), ("connect_v4", Exactly(3)), ("sent", Exactly(0))];
    vec![
        step("nothing", super::wait, &NONE),
        step("2 connections, 3 × 1000 bytes each", |_| talk(2, V4_HERE, V4_HERE), &V4),
        step("1 connection by IPv6", |_| talk(1, V6_HERE, V6_HERE), &V6),
        step("1 connection by IPv4 from an IPv6 socket", |_| talk(1, V4_HERE, V4_FROM_V6), &V6),
        step("1000 bytes spliced out of a connection", |_| splice(), SPLICED),
        step("5000 bytes by sendfile", |_| sendfile(), SENDFILE),
        step("7 × 100 bytes by UDP", |_| datagrams(7, V4_HERE, V4_HERE), &DATAGRAMS),
        step("3 × 100 bytes by UDP, IPv6", |_| datagrams(3, V6_HERE, V6_HERE), &V6_DATAGRAMS),
        step("3 × 100 bytes by UDP, IPv4 from IPv6", |_| datagrams(3, V4_HERE, V4_FROM_V6), &V6_DATAGRAMS),
        Step { counters: vec![(Retransmitted, 1)], ..step("1 segment sent again", |_| send_again(), AGAIN) },
    ]
}

/// Calls that fail: counted only in return mode.
pub fn refused_steps() -> Vec<Step> {
    const REFUSED: &Slots = &[
        ("send_error", Exactly(2)),
        ("receive_error", Exactly(3)),
        ("udp_send_error", Exactly(4)),
        ("udp_receive_error", Exactly(5)),
    ];
    const GOOD: &Slots = &[
        ("send_error", Exactly(0)),
        ("receive_error", Exactly(0)),
        ("udp_send_error", Exactly(0)),
        ("udp_receive_error", Exactly(0)),
        ("sent_bytes", Exactly(3000)),
        ("udp_sent_bytes", Exactly(300)),
    ];
    let good = |_: &mut Place| {
        talk(1, V4_HERE, V4_HERE);
        datagrams(3, V4_HERE, V4_HERE);
    };
    vec![step("good calls", good, GOOD), step("refused", |_| refusals(), REFUSED)]
}

const V4_HERE: Ipv6Addr = Ipv6Addr::UNSPECIFIED;
const V6_HERE: Ipv6Addr = Ipv6Addr::LOCALHOST;
const V4_FROM_V6: Ipv6Addr = Ipv4Addr::LOCALHOST.to_ipv6_mapped();

/// The address on the loopback; what is unspecified is IPv4's.
fn here(address: Ipv6Addr, port: u16) -> SocketAddr {
    match address {
        V4_HERE => (Ipv4Addr::LOCALHOST, port).into(),
        other => (other, port).into(),
    }
}

/// Switches the loopback on, and ends what else talks there: a mounted nfs renews its lease every few seconds.
fn up(place: &mut Place) {
    if place.has("nfs") {
        place.leave("nfs");
        // Both ends close their sockets a while after.
        sleep(Duration::from_secs(3));
    }
    // struct ifreq: a name of 16 bytes, then flags.
    let mut request = [0u8; 40];
    request[..2].copy_from_slice(b"lo");
    request[16..18].copy_from_slice(&(libc::IFF_UP as u16).to_ne_bytes());
    let socket = UdpSocket::bind(here(V4_HERE, 0)).or_else(|_| UdpSocket::bind("0.0.0.0:0")).unwrap();
    done(1, libc::SYS_ioctl, &[socket.as_raw_fd().into(), libc::SIOCSIFFLAGS as c_long, address(&request)]);
}

fn connect(listener: &TcpListener, to: Ipv6Addr) -> (TcpStream, TcpStream) {
    let port = listener.local_addr().unwrap().port();
    let client = TcpStream::connect(here(to, port)).unwrap();
    (client, listener.accept().unwrap().0)
}

/// Connections that carry three times 1000 bytes each, taken as they come.
fn talk(connections: usize, at: Ipv6Addr, to: Ipv6Addr) {
    let listener = TcpListener::bind(here(at, 0)).unwrap();
    for _ in 0..connections {
        let (mut client, mut server) = connect(&listener, to);
        for _ in 0..3 {
            assert_eq!(client.write(&[7; 1000]).unwrap(), 1000);
            assert_eq!(server.read(&mut [0; 4096]).unwrap(), 1000);
        }
    }
}

fn splice() {
    let listener = TcpListener::bind(here(V4_HERE, 0)).unwrap();
    let (mut client, server) = connect(&listener, V4_HERE);
    let (out, pipe) = std::io::pipe().unwrap();
    assert_eq!(client.write(&[7; 1000]).unwrap(), 1000);
    let arguments = [server.as_raw_fd().into(), 0, pipe.as_raw_fd().into(), 0, 1000, 0];
    assert_eq!(call(libc::SYS_splice, &arguments).unwrap(), 1000);
    drop(OwnedFd::from(out));
}

fn sendfile() {
    fs::write("/tmp/sent", [7; 5000]).unwrap();
    let file = File::open("/tmp/sent").unwrap();
    let listener = TcpListener::bind(here(V4_HERE, 0)).unwrap();
    let (client, mut server) = connect(&listener, V4_HERE);
    let arguments = [client.as_raw_fd().into(), file.as_raw_fd().into(), 0, 5000];
    assert_eq!(call(libc::SYS_sendfile, &arguments).unwrap(), 5000);
    let mut left = 5000;
    while left > 0 {
        left -= server.read(&mut [0; 8192]).unwrap();
    }
}

/// Datagrams of 100 bytes; the first is looked at before it is taken.
fn datagrams(count: usize, at: Ipv6Addr, to: Ipv6Addr) {
    let server = UdpSocket::bind(here(at, 0)).unwrap();
    let any = if to == V4_HERE { "0.0.0.0:0" } else { "[::]:0" };
    let client = UdpSocket::bind(any).unwrap();
    let to = here(to, server.local_addr().unwrap().port());
    for nr in 0..count {
        assert_eq!(client.send_to(&[7; 100], to).unwrap(), 100);
        if nr == 0 {
            assert_eq!(server.peek_from(&mut [0; 200]).unwrap().0, 100);
        }
        assert_eq!(server.recv_from(&mut [0; 200]).unwrap().0, 100);
    }
}

/// Where two connections wait already, the third is not heard: its first segment goes again after a second, and after
/// three, or two, once more.
fn send_again() {
    let listener = TcpListener::bind(here(V4_HERE, 0)).unwrap();
    done(1, libc::SYS_listen, &[listener.as_raw_fd().into(), 1]);
    let at = listener.local_addr().unwrap();
    let _waiting = [(); 2].map(|()| TcpStream::connect(at).unwrap());
    let third = TcpStream::connect_timeout(&at, Duration::from_millis(1500));
    assert!(third.is_err(), "the third connection was heard");
    sleep(Duration::from_millis(10));
}

fn refusals() {
    let listener = TcpListener::bind(here(V4_HERE, 0)).unwrap();
    let (mut client, mut server) = connect(&listener, V4_HERE);
    client.shutdown(Shutdown::Write).unwrap();
    for _ in 0..2 {
        client.write(&[7; 10]).unwrap_err();
    }
    client.set_nonblocking(true).unwrap();
    for _ in 0..3 {
        client.read(&mut [0; 10]).unwrap_err();
    }
    assert_eq!(server.read(&mut [0; 10]).unwrap(), 0);
    let socket = UdpSocket::bind(here(V4_HERE, 0)).unwrap();
    let to = socket.local_addr().unwrap();
    for _ in 0..4 {
        socket.send_to(&[7; 70_000], to).unwrap_err();
    }
    socket.set_nonblocking(true).unwrap();
    for _ in 0..5 {
        socket.recv_from(&mut [0; 10]).unwrap_err();
    }
}
