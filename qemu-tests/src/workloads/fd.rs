// SPDX-License-Identifier: GPL-3.0-or-later
//! fd: files opened by each call that opens, and closed.

use std::mem::size_of;

use libc::c_long;

use super::Expected::Exactly;
use super::{Expected, Step, nothing};
use crate::guest::calls::{NO_FILE, address, call, done, refused, text};
use crate::guest::place::Place;
use crate::guest::ring::Ring;
use crate::guest::sys;

type Slots = [(&'static str, Expected); 2];

const fn slots(open: u64, close: u64) -> Slots {
    [("open", Exactly(open)), ("close", Exactly(close))]
}

fn step(name: &'static str, work: fn(&mut Place), expect: &'static [(&'static str, Expected)]) -> Step {
    Step { name, disk: None, cpus: 1, prepare: nothing, work, expect, counters: Vec::new() }
}

pub fn steps() -> Vec<Step> {
    const NONE: Slots = slots(0, 0);
    const OPENED: Slots = slots(5, 5);
    const REFUSED: Slots = slots(3, 2);
    // The tracepoints of system calls do not see them; v5.10 has no function of its own for closing them.
    const RING: &[(&str, Expected)] =
        &[("open@__io_openat_prep", Exactly(3)), ("close@io_close_prep", Exactly(3))];
    // What a process leaves open is closed by the kernel: no call.
    const LEFT: Slots = slots(4, 0);
    vec![
        step("nothing", super::wait, &NONE),
        step("5 files by openat", |_| (0..5).for_each(|_| close(open())), &OPENED),
        #[cfg(target_arch = "x86_64")]
        step("5 files by open and creat", by_old_calls, &OPENED),
        step("5 times openat2, where there is such a call", by_openat2, &OPENED),
        Step { prepare: have_ring, ..step("3 files by io_uring, where there is one", by_ring, RING) },
        step("refused", refusals, &REFUSED),
        step("4 files left open", left, &LEFT),
    ]
}

/// Calls that fail: counted only in return mode.
pub fn refused_steps() -> Vec<Step> {
    const GOOD: [(&str, Expected); 3] =
        [("open_error", Exactly(0)), ("close_error", Exactly(0)), ("open", Exactly(5))];
    const REFUSED: [(&str, Expected); 4] = [
        ("open_error", Exactly(3)),
        ("close_error", Exactly(2)),
        ("open", Exactly(3)),
        ("close", Exactly(2)),
    ];
    vec![
        step("5 files", |_| (0..5).for_each(|_| close(open())), &GOOD),
        step("3 opens and 2 closes refused", refusals, &REFUSED),
    ]
}

const NULL: &std::ffi::CStr = c"/dev/null";

fn open() -> c_long {
    call(libc::SYS_openat, &[libc::AT_FDCWD.into(), text(NULL), libc::O_RDONLY.into(), 0]).unwrap()
}

fn close(file: c_long) {
    done(1, libc::SYS_close, &[file]);
}

#[cfg(target_arch = "x86_64")]
fn by_old_calls(_: &mut Place) {
    for _ in 0..3 {
        close(call(libc::SYS_open, &[text(NULL), libc::O_RDONLY.into(), 0]).unwrap());
    }
    for _ in 0..2 {
        close(call(libc::SYS_creat, &[text(NULL), 0o600]).unwrap());
    }
}

/// Since v5.6; before, by openat.
fn by_openat2(_: &mut Place) {
    // struct open_how: flags, mode, resolve.
    let how = [libc::O_RDONLY as u64, 0, 0];
    let arguments = [libc::AT_FDCWD.into(), text(NULL), address(&how), size_of::<[u64; 3]>() as c_long];
    for _ in 0..5 {
        close(call(libc::SYS_openat2, &arguments).unwrap_or_else(|_| open()));
    }
}

fn have_ring(place: &mut Place) {
    place.ring = place.ring.take().or_else(|| Ring::new().ok());
}

/// Where there is no io_uring, by the calls.
fn by_ring(place: &mut Place) {
    for _ in 0..3 {
        match &place.ring {
            Some(ring) => {
                let file = ring.open(NULL).unwrap();
                ring.close(file).unwrap();
            }
            None => close(open()),
        }
    }
}

fn refusals(_: &mut Place) {
    refused(3, libc::SYS_openat, &[libc::AT_FDCWD.into(), text(c"/none"), libc::O_RDONLY.into(), 0]);
    refused(2, libc::SYS_close, &[NO_FILE]);
}

fn left(_: &mut Place) {
    sys::reap(sys::fork(|| {
        (0..4).for_each(|_| _ = open());
        0
    }));
}
