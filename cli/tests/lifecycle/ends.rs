// SPDX-License-Identifier: GPL-3.0-or-later
//! Every way in which Netdata or a person ends the binary: at once, and with status 0.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::thread::sleep;

use crate::support::machine::{holds_within, is_running};
use crate::support::run::{LONG, Running, SOON, kmote};

/// An interval so long that no end can be noticed by a tick.
const SLOW: [&str; 3] = ["--modules", "process", "60"];
const ANNOUNCED: &str = "CHART system.process_status";

fn announced() -> Running {
    let mut running = Running::start(kmote(&SLOW));
    running.wait_for(ANNOUNCED, 1);
    running
}

#[test]
fn sigterm_ends_it() {
    let running = announced();
    running.signal("TERM");
    running.ends_within(SOON).with_status(0).stream();
}

/// More than 30 tracepoints, each of which takes the kernel a grace period to let go.
#[test]
fn sigterm_ends_it_before_all_is_detached() {
    let mut running =
        Running::start(kmote(&["--only", "tp", "--modules", "fd,sync,shm,vfs,mount,socket", "60"]));
    running.wait_for("CHART ip.total_udp_bandwidth", 1);
    running.signal("TERM");
    running.ends_within(SOON).with_status(0).stream();
}

#[test]
fn sigint_ends_it() {
    let running = announced();
    running.signal("INT");
    running.ends_within(SOON).with_status(0).stream();
}

#[test]
fn a_hang_up_of_stdin_ends_it() {
    let mut running = announced();
    running.hang_up();
    running.ends_within(SOON).with_status(0).stream();
}

#[test]
fn a_hang_up_of_a_socket_on_stdin_ends_it() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut running = Running::start_with(kmote(&SLOW), OwnedFd::from(theirs).into(), Stdio::piped());
    running.wait_for(ANNOUNCED, 1);
    drop(ours);
    running.ends_within(SOON).with_status(0).stream();
}

#[test]
fn quit_on_stdin_ends_it_and_other_lines_do_not() {
    let mut running = announced();
    running.say("FUNCTION 1 10 \"nothing\"");
    assert!(!holds_within(SOON / 2, || !running.is_running()), "ended by a line that is not QUIT");
    running.say("QUIT");
    running.ends_within(SOON).with_status(0).stream();
}

#[test]
fn a_reader_that_goes_away_ends_it() {
    let (mut running, pipe) = Running::start_unread(kmote(&SLOW));
    assert!(!holds_within(SOON, || !running.is_running()), "ended while its reader was there");
    drop(pipe);
    running.ends_within(SOON).with_status(0);
}

#[test]
fn stdin_from_dev_null_is_no_hang_up() {
    let command = kmote(&["--modules", "process", "--ticks", "2", "1"]);
    let ended = Running::start_with(command, Stdio::null(), Stdio::piped()).ends_within(LONG).with_status(0);
    for chart in ended.stream().charts {
        assert_eq!(chart.updates.len(), 2, "{}", chart.id);
    }
}

/// Kills a process of ours that started a collector, and expects the end of both.
fn ends_with_its_parent(parent: &str) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", parent, "--ignored", "--nocapture"]);
    let mut parent = Running::start(command);
    parent.wait_for(" started\n", 1);
    let stdout = parent.stdout();
    let (_, said) = stdout.split_once("collector ").unwrap();
    let pid = said.split_whitespace().next().unwrap().parse().unwrap();
    assert!(is_running(pid));
    parent.signal("KILL");
    assert!(holds_within(SOON, || !is_running(pid)), "{pid} outlives its parent");
}

fn stay_its_parent(collector: &Running) {
    println!("collector {} started", collector.pid());
    sleep(LONG);
    collector.signal("KILL");
}

#[test]
fn sigkill_of_the_parent_ends_it() {
    ends_with_its_parent("ends::parent_with_pipes");
}

#[test]
fn sigkill_of_a_netdata_without_pipes_ends_it() {
    ends_with_its_parent("ends::parent_without_pipes");
}

/// Not a test: the process that `sigkill_of_the_parent_ends_it` kills.
#[test]
#[ignore = "started by sigkill_of_the_parent_ends_it"]
fn parent_with_pipes() {
    stay_its_parent(&announced());
}

/// Not a test: the process that `sigkill_of_a_netdata_without_pipes_ends_it` kills.
#[test]
#[ignore = "started by sigkill_of_a_netdata_without_pipes_ends_it"]
fn parent_without_pipes() {
    let mut command = kmote(&SLOW);
    command.env("NETDATA_UPDATE_EVERY", "1");
    let mut collector = Running::start_with(command, Stdio::null(), Stdio::null());
    assert!(!holds_within(SOON, || !collector.is_running()), "{}", collector.stderr());
    stay_its_parent(&collector);
}
