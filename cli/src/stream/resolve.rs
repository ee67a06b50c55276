// SPDX-License-Identifier: GPL-3.0-or-later
//! The addresses of a parent: as they are written, from the hosts file, or from a name server.
//!
//! libc would wait for its servers without looking at our signals; this waits on the lifeline.

use crate::lifeline::Lifeline;
use kmote_bpf::sys::{self, Watch};
use kmote_core::dns::{self, ANSWER, Kind, QUESTION};
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

/// How long a server may take, and how often each is asked.
const PATIENCE: Duration = Duration::from_secs(2);
const ROUNDS: usize = 2;
/// The most servers and endings that are tried, as libc has it.
const SERVERS: usize = 3;
const ENDINGS: usize = 6;
const PORT: u16 = 53;

/// The addresses of `HOST:PORT`; none where nobody knows the name.
pub fn addresses(to: &str, lifeline: &mut Lifeline) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = to.parse() {
        return Ok(vec![address]);
    }
    let invalid = || io::Error::new(io::ErrorKind::InvalidInput, "not HOST:PORT");
    let (host, port) = to.rsplit_once(':').ok_or_else(invalid)?;
    let port = port.parse().map_err(|_| invalid())?;
    let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let mut found: Vec<_> = dns::hosts(&text("/etc/hosts"), host).collect();
    if found.is_empty() && host == "localhost" {
        found = vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    }
    if found.is_empty() {
        found = look_up(host, &text("/etc/resolv.conf"), lifeline)?;
    }
    Ok(found.into_iter().map(|address| SocketAddr::new(address, port)).collect())
}

/// Asks the servers of `resolv.conf` for the name, with each of its endings if it is a short one.
fn look_up(host: &str, settings: &str, lifeline: &mut Lifeline) -> io::Result<Vec<IpAddr>> {
    let mut servers: Vec<_> =
        dns::configured(settings, "nameserver").filter_map(|one| one.parse().ok()).take(SERVERS).collect();
    if servers.is_empty() {
        servers.push(Ipv4Addr::LOCALHOST.into());
    }
    let endings = ["search", "domain"].into_iter().flat_map(|key| dns::configured(settings, key));
    let endings = endings.take(if host.contains('.') { 0 } else { ENDINGS });
    let names: Vec<_> = endings.map(|ending| format!("{host}.{ending}")).chain([host.to_owned()]).collect();
    for name in &names {
        for kind in [Kind::Four, Kind::Sixteen] {
            let found = ask_all(&servers, name, kind, lifeline)?;
            if !found.is_empty() || lifeline.is_over() {
                return Ok(found);
            }
        }
    }
    Ok(Vec::new())
}

fn ask_all(servers: &[IpAddr], name: &str, kind: Kind, lifeline: &mut Lifeline) -> io::Result<Vec<IpAddr>> {
    let mut last = Ok(Vec::new());
    for server in servers.iter().cycle().take(servers.len() * ROUNDS) {
        match ask(*server, name, kind, lifeline) {
            Ok(Some(found)) => return Ok(found),
            Ok(None) if lifeline.is_over() => break,
            Ok(None) => last = Err(io::ErrorKind::TimedOut.into()),
            Err(error) => last = Err(error),
        }
    }
    last
}

/// Asks one server; `None` if it did not answer in time.
fn ask(server: IpAddr, name: &str, kind: Kind, lifeline: &mut Lifeline) -> io::Result<Option<Vec<IpAddr>>> {
    let (mut question, mut answer) = ([0; QUESTION], [0; ANSWER]);
    // Besides the port, which the kernel chooses, what an answer must have that is none of ours to guess.
    let id = (sys::monotonic() / 1000) as u16;
    let Some(length) = dns::question(id, name, kind, &mut question) else { return Ok(Some(Vec::new())) };
    let asked = question.get(..length).unwrap_or_default();
    let any: IpAddr =
        if server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind(SocketAddr::new(any, 0))?;
    socket.connect(SocketAddr::new(server, PORT))?;
    socket.send(asked)?;
    if !lifeline.until(Watch::input(&socket), PATIENCE)?.is_some_and(|watch| watch.readable()) {
        return Ok(None);
    }
    let read = socket.recv(&mut answer)?;
    let answer = dns::answer(answer.get(..read).unwrap_or_default(), asked, kind);
    Ok(Some(answer.map(Iterator::collect).unwrap_or_default()))
}
