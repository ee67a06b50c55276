// SPDX-License-Identifier: GPL-3.0-or-later
//! vfs: bytes read and written by every call that moves them, files made, opened, synced and removed.

use std::fs::{self, OpenOptions, Permissions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;

use libc::c_long;

use super::Expected::Exactly;
use super::{Expected, Step, nothing};
use crate::guest::calls::{NO_FILE, PREAD64, PWRITE64, address, call, done, refused, text};
use crate::guest::place::Place;
use crate::guest::sys;

type Slots = [(&'static str, Expected); 8];

const fn slots(
    (read, read_bytes): (u64, u64),
    (write, write_bytes): (u64, u64),
    (open, create, unlink): (u64, u64, u64),
    fsync: u64,
) -> Slots {
    [
        ("read", Exactly(read)),
        ("read_bytes", Exactly(read_bytes)),
        ("write", Exactly(write)),
        ("write_bytes", Exactly(write_bytes)),
        ("open", Exactly(open)),
        ("create", Exactly(create)),
        ("unlink", Exactly(unlink)),
        ("fsync", Exactly(fsync)),
    ]
}

type Some = [(&'static str, Expected)];

fn step(name: &'static str, prepare: fn(&mut Place), work: fn(&mut Place), expect: &'static Some) -> Step {
    Step { name, disk: None, cpus: 1, prepare, work, expect, counters: Vec::new() }
}

pub fn steps() -> Vec<Step> {
    const NONE: Slots = slots((0, 0), (0, 0), (0, 0, 0), 0);
    const WRITTEN: Slots = slots((0, 0), (4, 4000), (0, 0, 0), 0);
    const READ: Slots = slots((6, 3500), (0, 0), (0, 0, 0), 0);
    const SYNCED: Slots = slots((0, 0), (0, 0), (0, 0, 0), 5);
    const MADE: Slots = slots((0, 0), (0, 0), (7, 4, 4), 0);
    vec![
        step("nothing", file, super::wait, &NONE),
        step("4 × 1000 bytes written", file, write, &WRITTEN),
        step("3500 bytes read by 6 calls", written, read, &READ),
        step("2 fsync, 3 fdatasync", file, sync, &SYNCED),
        step("7 files opened, 4 of them made, and removed", nothing, make, &MADE),
    ]
}

/// Calls that fail: counted only in return mode.
pub fn refused_steps() -> Vec<Step> {
    const REFUSED: [(&str, Expected); 5] = [
        ("read_error", Exactly(2)),
        ("write_error", Exactly(3)),
        ("fsync_error", Exactly(4)),
        ("open_error", Exactly(2)),
        ("create_error", Exactly(3)),
    ];
    const GOOD: [(&str, Expected); 5] = [
        ("read_error", Exactly(0)),
        ("write_error", Exactly(0)),
        ("fsync_error", Exactly(0)),
        ("open_error", Exactly(0)),
        ("create_error", Exactly(0)),
    ];
    vec![
        step("4 × 1000 bytes written", file, write, &GOOD),
        step("7 files opened, 4 of them made, and removed", nothing, make, &GOOD),
        step("refused", pipe, refusals, &REFUSED),
    ]
}

const HERE: c_long = libc::AT_FDCWD as c_long;

fn file(place: &mut Place) {
    let _ = fs::remove_file("/tmp/file");
    let options = OpenOptions::new().read(true).write(true).create(true).truncate(true).open("/tmp/file");
    place.file = Some(options.unwrap());
}

fn written(place: &mut Place) {
    file(place);
    fs::write("/tmp/file", [7; 3500]).unwrap();
}

/// By write, pwrite64, writev and pwritev.
fn write(place: &mut Place) {
    let file = c_long::from(place.file().as_raw_fd());
    let bytes = [7u8; 1000];
    let halves = halves(&bytes);
    done(1, libc::SYS_write, &[file, address(&bytes), 1000]);
    done(1, PWRITE64, &at(&[file, address(&bytes), 1000], 1000));
    done(1, libc::SYS_writev, &[file, address(&halves), 2]);
    // The offset is in two longs on every architecture.
    done(1, libc::SYS_pwritev, &[file, address(&halves), 2, 0, 0]);
}

/// By read, pread64, readv and preadv; then what is left, and nothing.
fn read(place: &mut Place) {
    let file = c_long::from(place.file().as_raw_fd());
    let bytes = [0u8; 1000];
    let halves = halves(&bytes);
    let read = |number, arguments: &[c_long], expected| {
        assert_eq!(call(number, arguments).unwrap(), expected, "system call {number}");
    };
    read(libc::SYS_read, &[file, address(&bytes), 1000], 1000);
    read(libc::SYS_readv, &[file, address(&halves), 2], 1000);
    read(libc::SYS_preadv, &[file, address(&halves), 2, 3000, 0], 500);
    read(PREAD64, &at(&[file, address(&bytes), 1000], 3500), 0);
    read(libc::SYS_lseek, &[file, 2500, 0], 2500);
    read(libc::SYS_read, &[file, address(&bytes), 1000], 1000);
    read(libc::SYS_read, &[file, address(&bytes), 1000], 0);
}

/// Two halves for the calls that take a list.
fn halves(bytes: &[u8; 1000]) -> [c_long; 4] {
    [address(bytes), 500, address(&bytes[500]), 500]
}

/// Arguments with an offset after them: on 32 bits two registers that begin with an even one, the low half first.
fn at(arguments: &[c_long; 3], offset: c_long) -> Vec<c_long> {
    let padding: &[c_long] = if size_of::<c_long>() == 4 { &[0] } else { &[] };
    [arguments, padding, &[offset, 0]].concat()
}

fn sync(place: &mut Place) {
    let file = c_long::from(place.file().as_raw_fd());
    done(2, libc::SYS_fsync, &[file]);
    done(3, libc::SYS_fdatasync, &[file]);
}

fn open(flags: i32) -> c_long {
    call(libc::SYS_openat, &[HERE, text(c"/tmp/made"), flags.into(), 0o600]).unwrap()
}

/// Four times made, opened, or made by mknod, and removed.
fn make(_: &mut Place) {
    for _ in 0..3 {
        for flags in [libc::O_CREAT | libc::O_EXCL | libc::O_RDWR, libc::O_RDONLY] {
            done(1, libc::SYS_close, &[open(flags)]);
        }
        done(1, libc::SYS_unlinkat, &[HERE, text(c"/tmp/made"), 0]);
    }
    done(1, libc::SYS_mknodat, &[HERE, text(c"/tmp/made"), (libc::S_IFREG | 0o600) as c_long, 0]);
    done(1, libc::SYS_close, &[open(libc::O_RDONLY)]);
    done(1, libc::SYS_unlinkat, &[HERE, text(c"/tmp/made"), 0]);
}

/// A pipe without a reader, which cannot be opened to write without waiting, and a folder that is root's.
fn pipe(place: &mut Place) {
    written(place);
    let _ = fs::remove_file("/tmp/pipe");
    fs::create_dir_all("/tmp/closed").unwrap();
    fs::set_permissions("/tmp/closed", Permissions::from_mode(0o755)).unwrap();
    done(1, libc::SYS_mknodat, &[HERE, text(c"/tmp/pipe"), (libc::S_IFIFO | 0o600) as c_long, 0]);
}

fn refusals(place: &mut Place) {
    let file = c_long::from(place.file().as_raw_fd());
    const NOWHERE: c_long = 1;
    refused(2, PREAD64, &at(&[file, NOWHERE, 1000], 0));
    refused(3, libc::SYS_write, &[file, NOWHERE, 1000]);
    refused(4, libc::SYS_fsync, &[NO_FILE]);
    let flags = libc::O_WRONLY | libc::O_NONBLOCK;
    refused(2, libc::SYS_openat, &[HERE, text(c"/tmp/pipe"), flags.into(), 0]);
    // Nobody but root may write there.
    let child = sys::fork(|| {
        done(1, libc::SYS_setresuid, &[65534, 65534, 65534]);
        refused(
            3,
            libc::SYS_mknodat,
            &[HERE, text(c"/tmp/closed/made"), (libc::S_IFREG | 0o600) as c_long, 0],
        );
        0
    });
    assert_eq!(sys::reap(child), 0);
}
