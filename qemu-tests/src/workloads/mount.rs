// SPDX-License-Identifier: GPL-3.0-or-later
//! mount: filesystems mounted by the old and by the new interface, unmounted, and refused.

use std::fs;

use libc::c_long;

use super::Expected::Exactly;
use super::{Expected, Step};
use crate::guest::calls::{NO_FILE, call, done, refused, text};
use crate::guest::place::Place;

type Slots = [(&'static str, Expected); 4];

const fn slots(mount: u64, umount: u64, mount_error: u64, umount_error: u64) -> Slots {
    [
        ("mount", Exactly(mount)),
        ("umount", Exactly(umount)),
        ("mount_error", Exactly(mount_error)),
        ("umount_error", Exactly(umount_error)),
    ]
}

fn step(name: &'static str, work: fn(&mut Place), expect: &'static Slots) -> Step {
    Step { name, disk: None, cpus: 1, prepare: folder, work, expect, counters: Vec::new() }
}

pub fn steps() -> Vec<Step> {
    const NONE: Slots = slots(0, 0, 0, 0);
    const MOUNTED: Slots = slots(3, 3, 0, 0);
    const REFUSED: Slots = slots(2, 4, 2, 4);
    const MOVED: Slots = slots(3, 2, 1, 0);
    let mut steps = vec![
        step("nothing", super::wait, &NONE),
        step("3 mounts", mounts, &MOUNTED),
        step("2 mounts and 4 unmounts refused", refusals, &REFUSED),
    ];
    if has_new_interface() {
        steps.push(step("2 mounts by move_mount, 1 refused", moves, &MOVED));
    }
    steps
}

const PLACE: &std::ffi::CStr = c"/tmp/mounted";

fn folder(_: &mut Place) {
    fs::create_dir_all("/tmp/mounted").unwrap();
}

fn mounts(_: &mut Place) {
    for _ in 0..3 {
        done(1, libc::SYS_mount, &[text(c"none"), text(PLACE), text(c"tmpfs"), 0, 0]);
        done(1, libc::SYS_umount2, &[text(PLACE), 0]);
    }
}

fn refusals(_: &mut Place) {
    refused(2, libc::SYS_mount, &[text(c"none"), text(PLACE), text(c"no such filesystem"), 0, 0]);
    // Not a mount.
    refused(4, libc::SYS_umount2, &[text(PLACE), 0]);
}

/// Since v5.2.
fn has_new_interface() -> bool {
    call(libc::SYS_fsopen, &[text(c"tmpfs"), 0]).map(|file| done(1, libc::SYS_close, &[file])).is_ok()
}

fn moves(_: &mut Place) {
    const CREATE: c_long = 6;
    const FROM_EMPTY_PATH: c_long = 4;
    for _ in 0..2 {
        let context = call(libc::SYS_fsopen, &[text(c"tmpfs"), 0]).unwrap();
        done(1, libc::SYS_fsconfig, &[context, CREATE, 0, 0, 0]);
        let mount = call(libc::SYS_fsmount, &[context, 0, 0]).unwrap();
        let there = [mount, text(c""), libc::AT_FDCWD.into(), text(PLACE), FROM_EMPTY_PATH];
        done(1, libc::SYS_move_mount, &there);
        done(1, libc::SYS_close, &[mount]);
        done(1, libc::SYS_close, &[context]);
        done(1, libc::SYS_umount2, &[text(PLACE), 0]);
    }
    refused(1, libc::SYS_move_mount, &[NO_FILE, text(c""), libc::AT_FDCWD.into(), text(PLACE), 4]);
}
