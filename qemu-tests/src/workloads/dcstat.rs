// SPDX-License-Identifier: GPL-3.0-or-later
//! dcstat: paths of known length walked, and names that are not there.

use std::fs;

use super::Expected::Exactly;
use super::{Expected, Step};
use crate::guest::calls::{done, text};
use crate::guest::place::Place;

type Slots = [(&'static str, Expected); 3];

const fn slots(reference: u64, slow: u64, miss: u64) -> Slots {
    [("reference", Exactly(reference)), ("slow", Exactly(slow)), ("miss", Exactly(miss))]
}

fn step(name: &'static str, work: fn(&mut Place), expect: &'static Slots) -> Step {
    Step { name, disk: None, cpus: 1, prepare: tree, work, expect, counters: Vec::new() }
}

const TIMES: u64 = 10;

pub fn steps() -> Vec<Step> {
    const NONE: Slots = slots(0, 0, 0);
    const WALKED: Slots = slots(5 * TIMES, 0, 0);
    // The last name of what is made or removed is looked up another way, in full.
    const MADE: Slots = slots(2 * 2 * TIMES, 2 * TIMES, TIMES);
    vec![
        step("nothing", super::wait, &NONE),
        step("10 paths of 5 names", walk, &WALKED),
        step("10 folders made and removed, below 2 names", make, &MADE),
    ]
}

const FILE: &std::ffi::CStr = c"/tmp/one/two/three/file";
const FOLDER: &std::ffi::CStr = c"/tmp/one/new";

fn tree(_: &mut Place) {
    fs::create_dir_all("/tmp/one/two/three").unwrap();
    fs::write(FILE.to_str().unwrap(), "").unwrap();
}

fn walk(_: &mut Place) {
    done(TIMES as usize, libc::SYS_faccessat, &[libc::AT_FDCWD.into(), text(FILE), 0]);
}

fn make(_: &mut Place) {
    for _ in 0..TIMES {
        done(1, libc::SYS_mkdirat, &[libc::AT_FDCWD.into(), text(FOLDER), 0o700]);
        done(1, libc::SYS_unlinkat, &[libc::AT_FDCWD.into(), text(FOLDER), libc::AT_REMOVEDIR.into()]);
    }
}
