// SPDX-License-Identifier: GPL-3.0-or-later
//! Every way in which Netdata or a person ends the binary: at once, and with status 0.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Stdio;

use crate::support::machine::{holds_within, is_running, signal};
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

#[test]
fn sigkill_of_the_parent_ends_it() {
    let program = std::env::current_exe().unwrap();
    let mut parent = std::process::Command::new(program);
    parent.args(["--exact", "ends::parent_of_a_collector", "--ignored", "--nocapture"]);
    let mut parent = Running::start(parent);
    parent.wait_for("collector ", 1);
    let stdout = parent.stdout();
    let pid = stdout.split("collector ").nth(1).unwrap().lines().next().unwrap().parse().unwrap();
    assert!(is_running(pid));
    parent.signal("KILL");
    assert!(holds_within(SOON, || !is_running(pid)), "{pid} outlives its parent");
}

/// Not a test: the process that `sigkill_of_the_parent_ends_it` kills.
#[test]
#[ignore = "started by sigkill_of_the_parent_ends_it"]
fn parent_of_a_collector() {
    let running = announced();
    println!("collector {}", running.pid());
    std::thread::sleep(LONG);
    signal(running.pid(), "KILL");
}
