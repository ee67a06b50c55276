// SPDX-License-Identifier: GPL-3.0-or-later
//! Streaming to a real Netdata as the parent: the device is a node of its own there, values arrive, and after the
//! parent's restart it is back. Needs root, a kernel that takes BPF programs, netdata-core and netdata-web.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may end by a panic")]

#[path = "support/mod.rs"]
mod support;

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use support::machine::{Folder, holds_within, is_running, signal};
use support::run::{KMOTE, SOON};
use support::server::Netdata;

const KEY: &str = "11111111-2222-3333-4444-555555555555";
/// A parent's restart, and the wait before the next attempt.
const PATIENT: Duration = Duration::from_secs(40);

fn stream(port: u16, key: &str, state: &Folder) -> Child {
    let to = format!("127.0.0.1:{port}");
    let arguments =
        ["stream", "--to", &to, "--key", key, "--hostname", "the-device", "--modules", "process", "1"];
    let mut command = Command::new(KMOTE);
    command.args(arguments).env("NETDATA_LIB_DIR", state.path());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Ends it, and gives what it wrote to stdout and to stderr.
fn ended(mut child: Child) -> (String, String) {
    signal(child.id(), "TERM");
    assert!(holds_within(SOON, || child.try_wait().unwrap().is_some()), "SIGTERM is unheard");
    assert!(child.wait().unwrap().success());
    let (mut out, mut err) = (String::new(), String::new());
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    (out, err)
}

fn forks(parent: &Netdata) -> Option<u64> {
    let text =
        parent.try_get("/host/the-device/api/v1/allmetrics?format=prometheus&source=raw&timestamps=no")?;
    let line = text.lines().find(|line| {
        line.contains("chart=\"system.process_thread\"") && line.contains("dimension=\"process\"")
    })?;
    line.rsplit_once(' ')?.1.parse().ok()
}

#[test]
fn the_device_is_a_node_of_its_parent_and_comes_back_after_its_restart() {
    let mut parent = Netdata::start_parent(KEY);
    let state = Folder::new("state");
    let mut child = stream(parent.port(), KEY, &state);
    assert!(holds_within(PATIENT, || forks(&parent).is_some()), "no value arrives\n{}", parent.log());
    let nodes = parent.get("/api/v1/info");
    assert!(nodes.contains("the-device"), "{nodes}");

    let before = forks(&parent).unwrap();
    for _ in 0..50 {
        Command::new("/bin/true").status().unwrap();
    }
    let seen = holds_within(PATIENT, || forks(&parent).is_some_and(|now| now >= before + 50));
    assert!(seen, "50 processes are not seen: {before}, then {:?}", forks(&parent));

    parent.restart("TERM");
    assert!(child.try_wait().unwrap().is_none(), "it ends with its parent");
    assert!(holds_within(PATIENT, || forks(&parent).is_some()), "it does not come back\n{}", parent.log());
    let log = parent.log();
    assert!(!log.contains("PLUGINSD: '") || !log.contains("DISABLED"), "{log}");

    let id = child.id();
    let (out, err) = ended(child);
    assert_eq!(out, "", "stdout holds nothing");
    assert!(!is_running(id));
    assert_eq!(err.matches("kmote: streaming to").count(), 2, "{err}");
    assert!(err.contains("kmote: not streaming to"), "{err}");
}

#[test]
fn a_key_that_is_not_enabled_is_refused_in_one_clear_line() {
    let parent = Netdata::start_parent(KEY);
    assert!(holds_within(PATIENT, || parent.try_get("/api/v1/info").is_some()));
    let state = Folder::new("state");
    let child = stream(parent.port(), "99999999-2222-3333-4444-555555555555", &state);
    std::thread::sleep(Duration::from_secs(3));
    let (_, err) = ended(child);
    let lines: Vec<_> = err.lines().filter(|line| line.contains("not streaming")).collect();
    assert_eq!(lines.len(), 1, "{err}");
    assert!(lines[0].contains("does not permit it: enable the key in its stream.conf"), "{err}");
}

#[test]
fn a_parent_that_is_away_or_mute_keeps_it_from_nothing() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let state = Folder::new("state");
    let mute = stream(listener.local_addr().unwrap().port(), KEY, &state);
    let (mut peer, _) = listener.accept().unwrap();
    let mut said = [0; 2048];
    let length = peer.read(&mut said).unwrap();
    let request = String::from_utf8_lossy(&said[..length]).into_owned();
    assert!(request.starts_with("STREAM key=11111111-") && request.ends_with("\r\n\r\n"), "{request}");
    // It waits for an answer, and ends at once all the same.
    ended(mute);

    let absent = stream(listener.local_addr().unwrap().port(), KEY, &state);
    drop(listener.accept().unwrap());
    drop(listener);
    std::thread::sleep(Duration::from_secs(1));
    let (_, err) = ended(absent);
    assert!(err.contains("kmote: not streaming to 127.0.0.1:"), "{err}");

    // Garbage is no answer.
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let child = stream(listener.local_addr().unwrap().port(), KEY, &state);
    let (mut peer, _) = listener.accept().unwrap();
    let _ = peer.read(&mut said).unwrap();
    peer.write_all(b"SSH-2.0-OpenSSH_9.2\r\n").unwrap();
    drop(peer);
    std::thread::sleep(Duration::from_secs(1));
    let (_, err) = ended(child);
    assert!(err.contains("is not understood"), "{err}");
}
