// SPDX-License-Identifier: GPL-3.0-or-later
//! oomkill: processes that want more memory than their group may have.

use super::Expected::Exactly;
use super::{Expected, Step, nothing};
use crate::guest::calls::Pages;
use crate::guest::cgroup::Cgroup;
use crate::guest::counters::Counter::Killed;
use crate::guest::place::Place;
use crate::guest::sys;

type Slots = [(&'static str, Expected); 1];

fn step(name: &'static str, work: fn(&mut Place), expect: &'static Slots, killed: i64) -> Step {
    Step { name, disk: None, cpus: 1, prepare: nothing, work, expect, counters: vec![(Killed, killed)] }
}

pub fn steps() -> Vec<Step> {
    const NONE: Slots = [("kill", Exactly(0))];
    const KILLED: Slots = [("kill", Exactly(2))];
    vec![
        step("a process killed by another", |_| _ = sys::reap(sys::fork(end)), &NONE, 0),
        step("2 processes out of memory", |_| (0..2).for_each(|_| starve()), &KILLED, 2),
    ]
}

fn end() -> i32 {
    sys::kill(std::process::id(), libc::SIGKILL);
    0
}

fn starve() {
    let group = Cgroup::new("oom").unwrap();
    group.set("memory.max", "8M").unwrap();
    // A kernel without swap has no such file.
    let _ = group.set("memory.swap.max", "0");
    let child = sys::fork(|| {
        let joined = group.join().is_ok();
        Pages::new(4096).fill();
        i32::from(joined)
    });
    assert_eq!(sys::reap(child) & 0x7f, libc::SIGKILL, "the process was not killed");
}
