// SPDX-License-Identifier: GPL-3.0-or-later
//! shm: segments made, attached, detached and removed.

use libc::c_long;

use super::Expected::Exactly;
use super::{Expected, Step, nothing};
use crate::guest::calls::{SHMAT, SHMCTL, SHMDT, SHMGET, call, done, refused};
use crate::guest::place::Place;
use crate::guest::sys;

type Slots = [(&'static str, Expected); 4];

const fn slots(get: u64, at: u64, dt: u64, ctl: u64) -> Slots {
    [("get", Exactly(get)), ("at", Exactly(at)), ("dt", Exactly(dt)), ("ctl", Exactly(ctl))]
}

fn step(name: &'static str, work: fn(&mut Place), expect: &'static Slots) -> Step {
    Step { name, disk: None, cpus: 1, prepare: nothing, work, expect, counters: Vec::new() }
}

pub fn steps() -> Vec<Step> {
    const NONE: Slots = slots(0, 0, 0, 0);
    const USED: Slots = slots(2, 6, 6, 4);
    const REFUSED: Slots = slots(1, 2, 3, 4);
    // What a process leaves attached is detached by the kernel: no call.
    const LEFT: Slots = slots(1, 1, 0, 1);
    vec![
        step("nothing", super::wait, &NONE),
        step("2 segments, 3 times attached each", used, &USED),
        step("refused", refusals, &REFUSED),
        step("left attached", left, &LEFT),
    ]
}

/// A segment of one page.
fn segment() -> c_long {
    call(SHMGET, &[libc::IPC_PRIVATE.into(), 4096, 0o600]).unwrap()
}

fn attach(segment: c_long) -> c_long {
    call(SHMAT, &[segment, 0, 0]).unwrap()
}

fn used(_: &mut Place) {
    for _ in 0..2 {
        let segment = segment();
        for _ in 0..3 {
            done(1, SHMDT, &[attach(segment)]);
        }
        refused(1, SHMCTL, &[segment, -1, 0]);
        done(1, SHMCTL, &[segment, libc::IPC_RMID.into(), 0]);
    }
}

fn refusals(_: &mut Place) {
    const NO_SEGMENT: c_long = -1;
    // Of no size.
    refused(1, SHMGET, &[libc::IPC_PRIVATE.into(), 0, 0]);
    refused(2, SHMAT, &[NO_SEGMENT, 0, 0]);
    refused(3, SHMDT, &[0]);
    refused(4, SHMCTL, &[NO_SEGMENT, libc::IPC_RMID.into(), 0]);
}

fn left(_: &mut Place) {
    let segment = segment();
    sys::reap(sys::fork(|| {
        attach(segment);
        0
    }));
    done(1, SHMCTL, &[segment, libc::IPC_RMID.into(), 0]);
}
