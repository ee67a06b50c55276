// SPDX-License-Identifier: GPL-3.0-or-later
//! How many system calls a tick takes, counted by strace.

use std::fs;

use crate::support::machine::Folder;
use crate::support::run::{KMOTE, LONG, Running, kmote_under};

/// The calls of each tick, as Netdata runs it: what follows a tick's write, up to and with the next tick's write.
fn calls_per_tick(modules: &str, ticks: usize) -> Vec<usize> {
    let folder = Folder::new("strace");
    let record = folder.path().join("record");
    let wrapper = ["strace", "-f", "-s", "4096", "-o", record.to_str().unwrap()];
    let arguments = ["--modules", modules, "--ticks", &ticks.to_string(), "1"];
    let mut command = kmote_under(&wrapper, KMOTE, &arguments);
    command.env("NETDATA_UPDATE_EVERY", "1");
    let ended = Running::start(command).ends_within(LONG).with_status(0);
    ended.stream();
    let record = fs::read_to_string(&record).unwrap();
    let calls: Vec<_> = record.lines().filter(|line| is_call(line)).collect();
    let writes: Vec<_> = (0..calls.len()).filter(|&at| is_tick(calls[at])).collect();
    assert_eq!(writes.len(), ticks, "{record}");
    let counts = writes.windows(2).map(|pair| pair[1] - pair[0]).collect();
    println!("{modules}: {counts:?}\n{}", calls[writes[0]..=writes[1]].join("\n"));
    counts
}

fn is_call(line: &str) -> bool {
    !line.contains("<... ") && !line.contains(" --- ") && !line.contains(" +++ ")
}

fn is_tick(line: &str) -> bool {
    line.contains(" write(") && line.contains("BEGIN ")
}

#[test]
fn a_tick_takes_at_most_one_call_a_module_and_three_more() {
    for (modules, count) in [("process", 1), ("process,cachestat", 2)] {
        for calls in calls_per_tick(modules, 4) {
            assert!(calls <= count + 3, "{modules}: {calls} system calls in a tick");
        }
    }
}
