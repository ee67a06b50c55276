// SPDX-License-Identifier: GPL-3.0-or-later
//! sync: calls that write back what is dirty, good ones and refused ones.

use std::os::fd::AsRawFd;

use libc::c_long;

use super::Expected::Exactly;
use super::{Expected, Step};
use crate::guest::calls::{NO_FILE, Pages, SYNC_FILE_RANGE, done, refused};
use crate::guest::place::Place;

type Slots = [(&'static str, Expected); 6];

const fn slots(fsync: u64, fdatasync: u64, msync: u64, sync: u64, syncfs: u64, range: u64) -> Slots {
    [
        ("fsync", Exactly(fsync)),
        ("fdatasync", Exactly(fdatasync)),
        ("msync", Exactly(msync)),
        ("sync", Exactly(sync)),
        ("syncfs", Exactly(syncfs)),
        ("sync_file_range", Exactly(range)),
    ]
}

fn step(name: &'static str, work: fn(&mut Place), expect: &'static Slots) -> Step {
    Step { name, disk: Some("ext4-4k"), cpus: 1, prepare: file, work, expect, counters: Vec::new() }
}

pub fn steps() -> Vec<Step> {
    const NONE: Slots = slots(0, 0, 0, 0, 0, 0);
    const ALL: Slots = slots(5, 4, 3, 2, 6, 7);
    const REFUSED: Slots = slots(1, 2, 3, 0, 4, 5);
    vec![
        step("nothing", super::wait, &NONE),
        step("5 fsync, 4 fdatasync, 3 msync, 2 sync, 6 syncfs, 7 sync_file_range", calls, &ALL),
        step("on no file", refusals, &REFUSED),
    ]
}

fn file(place: &mut Place) {
    place.fresh_file("ext4-4k");
    place.write(1);
}

fn calls(place: &mut Place) {
    let file = c_long::from(place.file().as_raw_fd());
    done(5, libc::SYS_fsync, &[file]);
    done(4, libc::SYS_fdatasync, &[file]);
    let pages = Pages::new(1);
    done(3, libc::SYS_msync, &[pages.address(), 4096, libc::MS_SYNC.into()]);
    done(2, libc::SYS_sync, &[]);
    done(6, libc::SYS_syncfs, &[file]);
    done(7, SYNC_FILE_RANGE, &[file]);
}

fn refusals(_: &mut Place) {
    refused(1, libc::SYS_fsync, &[NO_FILE]);
    refused(2, libc::SYS_fdatasync, &[NO_FILE]);
    // It does not begin where a page does.
    refused(3, libc::SYS_msync, &[1, 4096, libc::MS_SYNC.into()]);
    refused(4, libc::SYS_syncfs, &[NO_FILE]);
    refused(5, SYNC_FILE_RANGE, &[NO_FILE]);
}
