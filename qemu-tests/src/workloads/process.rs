// SPDX-License-Identifier: GPL-3.0-or-later
//! process: tasks begun, ended and released.

use std::fs;
use std::thread;

use super::Expected::Exactly;
use super::{Expected, Step, nothing, wait};
use crate::guest::counters::Counter::{Tasks, TasksNow};
use crate::guest::place::Place;
use crate::guest::{NOTHING, sys};

const FORKS: u64 = 23;
const THREADS: u64 = 7;
const EXECS: u64 = 5;

type Slots = [(&'static str, Expected); 6];

const fn slots(process: u64, thread: u64, exec: u64, exit: u64, exit_process: u64, release: u64) -> Slots {
    [
        ("process", Exactly(process)),
        ("thread", Exactly(thread)),
        ("exec", Exactly(exec)),
        ("exit", Exactly(exit)),
        ("exit_process", Exactly(exit_process)),
        ("release", Exactly(release)),
    ]
}

/// `tasks` are made in the step, and `more` of them are left at its end.
fn step(name: &'static str, work: fn(&mut Place), expect: &'static Slots, tasks: u64, more: i64) -> Step {
    let counters = vec![(Tasks, tasks as i64), (TasksNow, more)];
    Step { name, disk: None, cpus: 1, prepare: nothing, work, expect, counters }
}

pub fn steps() -> Vec<Step> {
    const NONE: Slots = slots(0, 0, 0, 0, 0, 0);
    const FORKED: Slots = slots(FORKS, 0, 0, FORKS, FORKS, FORKS);
    const THREADED: Slots = slots(0, THREADS, 0, THREADS, 0, THREADS);
    const EXECUTED: Slots = slots(EXECS, 0, EXECS, EXECS, EXECS, EXECS);
    // The thread takes the process over: its leader ends for it, and so do two tasks with the pid of a process.
    const TAKEN_OVER: Slots = slots(1, 1, 1, 2, 2, 2);
    const ENDED: Slots = slots(1, 0, 0, 1, 1, 0);
    const REAPED: Slots = slots(0, 0, 0, 0, 0, 1);
    vec![
        step("nothing", wait, &NONE, 0, 0),
        step("23 forks", forks, &FORKED, FORKS, 0),
        step("7 threads", threads, &THREADED, THREADS, 0),
        step("5 forks with exec", execs, &EXECUTED, EXECS, 0),
        step("exec by a thread", exec_by_thread, &TAKEN_OVER, 2, 0),
        Step { prepare: reap, ..step("a zombie", leave_zombie, &ENDED, 1, 1) },
        Step { prepare: have_zombie, ..step("the zombie reaped", reap, &REAPED, 0, -1) },
        Step { cpus: 2, prepare: plug, ..step("23 forks, a CPU goes", forks_unplugged, &FORKED, FORKS, 0) },
        Step { cpus: 2, prepare: plug, ..step("nothing, the CPU is back", wait, &NONE, 0, 0) },
    ]
}

/// Clones that fail: counted only in return mode.
pub fn refusals() -> Vec<Step> {
    const PROCESSES: [(&str, Expected); 3] =
        [("process_error", Exactly(3)), ("thread_error", Exactly(0)), ("process", Exactly(0))];
    const THREADS: [(&str, Expected); 3] =
        [("process_error", Exactly(0)), ("thread_error", Exactly(2)), ("thread", Exactly(0))];
    let step = |name, work, expect| Step {
        name,
        disk: None,
        cpus: 1,
        prepare: nothing,
        work,
        expect,
        counters: vec![(Tasks, 0), (TasksNow, 0)],
    };
    vec![
        step(
            "3 processes refused",
            |_| (0..3).for_each(|_| sys::refused_clone(libc::CLONE_NEWNS | libc::CLONE_FS)),
            &PROCESSES,
        ),
        // A thread must share its signal handlers.
        step("2 threads refused", |_| (0..2).for_each(|_| sys::refused_clone(libc::CLONE_THREAD)), &THREADS),
    ]
}

/// One after the other, on each CPU in turn.
fn forks(place: &mut Place) {
    for nr in 0..FORKS as usize {
        sys::run_on(&[nr % place.cpus]);
        sys::reap(sys::fork(|| 0));
    }
    place.run_anywhere();
}

const PLUG: &str = "/sys/devices/system/cpu/cpu1/online";

fn plug(place: &mut Place) {
    // It fails if the CPU is there already.
    let _ = fs::write(PLUG, "1");
    place.run_anywhere();
    wait(place);
}

/// Some on a CPU that then goes, the others elsewhere: what it has counted stays in the sum.
fn forks_unplugged(place: &mut Place) {
    for nr in 0..FORKS {
        if nr == FORKS / 2 {
            place.run_anywhere();
            fs::write(PLUG, "0").unwrap();
        }
        sys::run_on(&[usize::from(nr < FORKS / 2)]);
        sys::reap(sys::fork(|| 0));
    }
    place.run_anywhere();
}

fn threads(_: &mut Place) {
    for _ in 0..THREADS {
        thread::spawn(|| {}).join().unwrap();
    }
    // A join returns before the kernel has released the task; its directory goes with the release.
    while fs::read_dir("/proc/self/task").unwrap().count() > 1 {
        thread::yield_now();
    }
}

fn execs(_: &mut Place) {
    for _ in 0..EXECS {
        let status = sys::reap(sys::fork(|| sys::exec("/init", NOTHING)));
        assert_eq!(status, 0, "exec of /init");
    }
}

fn exec_by_thread(_: &mut Place) {
    let child = sys::fork(|| thread::spawn(|| sys::exec("/init", NOTHING)).join().unwrap());
    assert_eq!(sys::reap(child), 0, "exec of /init by a thread");
}

fn leave_zombie(place: &mut Place) {
    let child = sys::fork(|| 0);
    sys::wait_for_zombie(child);
    place.zombie = Some(child);
}

fn have_zombie(place: &mut Place) {
    if place.zombie.is_none() {
        leave_zombie(place);
    }
}

fn reap(place: &mut Place) {
    if let Some(child) = place.zombie.take() {
        sys::reap(child);
    }
}
