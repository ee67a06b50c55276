// SPDX-License-Identifier: GPL-3.0-or-later
//! ext4, xfs, btrfs and nfs: files read, written, opened and synced, and reads that take a known time.
//!
//! The sum over an operation's buckets is the number of operations; a name with a star stands for it.

use std::fs::OpenOptions;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::thread;
use std::time::Duration;

use super::Expected::Exactly;
use super::{Expected, Step, nothing, wait};
use crate::guest::place::Place;
use crate::guest::sys::SlowPages;

const PAGES: u64 = 64;
const OPENS: u64 = 23;
const SYNCS: u64 = 7;
const THREADS: u64 = 8;
const SLOW: u64 = 2;

/// Near the lower end of the bucket from 1 to 2 s: a busy machine only makes it longer.
const DELAY: Duration = Duration::from_millis(1100);

// All at once inside of the function: told apart by thread, and the kernel has a record for each return.
const READ_AT_ONCE: &[(&str, Expected)] =
    &[("read_*", Exactly(THREADS)), ("read_21", Exactly(THREADS)), ("read_lost", Exactly(0))];
const SLOWLY: &[(&str, Expected)] =
    &[("read_*", Exactly(SLOW)), ("read_21", Exactly(SLOW)), ("read_lost", Exactly(0))];

type Slots = [(&'static str, Expected); 8];

/// So many operations of each kind, none of them untimed; the fourth kind by the names of its slots.
const fn slots(
    read: u64,
    write: u64,
    open: u64,
    (fourth, lost, other): (&'static str, &'static str, u64),
) -> Slots {
    [
        ("read_*", Exactly(read)),
        ("write_*", Exactly(write)),
        ("open_*", Exactly(open)),
        (fourth, Exactly(other)),
        ("read_lost", Exactly(0)),
        ("write_lost", Exactly(0)),
        ("open_lost", Exactly(0)),
        (lost, Exactly(0)),
    ]
}

const fn syncs(count: u64) -> (&'static str, &'static str, u64) {
    ("sync_*", "sync_lost", count)
}

const fn looks(count: u64) -> (&'static str, &'static str, u64) {
    ("attribute_*", "attribute_lost", count)
}

/// The disk of a filesystem.
pub fn disk(module: &str) -> &'static str {
    match module {
        "xfs" => "xfs",
        "btrfs" => "btrfs",
        "nfs" => "nfs",
        _ => "ext4-4k",
    }
}

fn step_on(
    disk: &'static str,
    name: &'static str,
    prepare: fn(&mut Place),
    work: fn(&mut Place),
    expect: &'static [(&'static str, Expected)],
) -> Step {
    Step { name, disk: Some(disk), cpus: 1, prepare, work, expect, counters: Vec::new() }
}

/// Of nfs, the fourth operation is a look at attributes. Opens are those of version 4, of a name that the client knows.
pub fn nfs_steps() -> Vec<Step> {
    const NONE: Slots = slots(0, 0, 0, looks(0));
    const WRITTEN: Slots = slots(0, PAGES, 0, looks(0));
    const READ: Slots = slots(PAGES, 0, 0, looks(0));
    const OPENED: Slots = slots(0, 0, OPENS, looks(0));
    const LOOKED_AT: Slots = slots(0, 0, 0, looks(OPENS));
    let step = |name, prepare, work, expect| step_on("nfs", name, prepare, work, expect);
    vec![
        step("nothing", nothing, wait, &NONE),
        step("64 pages written", fresh, |p| p.write(PAGES), &WRITTEN),
        step("64 pages read", cold, |p| p.read(PAGES), &READ),
        step("23 opens", fresh, open, &OPENED),
        step("23 looks at attributes", fresh, look, &LOOKED_AT),
        step("8 threads read for 1.1 s", warm, read_at_once, READ_AT_ONCE),
        step("2 reads of 1.1 s", warm, read_slowly, SLOWLY),
    ]
}

fn look(place: &mut Place) {
    let path = place.path();
    for _ in 0..OPENS {
        std::fs::metadata(&path).unwrap();
    }
}

pub fn steps(module: &str) -> Vec<Step> {
    const NONE: Slots = slots(0, 0, 0, syncs(0));
    const WRITTEN: Slots = slots(0, PAGES, 0, syncs(0));
    const READ: Slots = slots(PAGES, 0, 0, syncs(0));
    const OPENED: Slots = slots(0, 0, OPENS, syncs(0));
    const SYNCED: Slots = slots(0, SYNCS, 0, syncs(SYNCS));
    // A write that must be on the disk when it ends syncs by itself: one operation inside another.
    const WRITTEN_THROUGH: Slots = slots(0, SYNCS, 1, syncs(SYNCS));
    let disk = disk(module);
    let step = |name, prepare, work, expect| step_on(disk, name, prepare, work, expect);
    vec![
        step("nothing", nothing, wait, &NONE),
        step("64 pages written", fresh, |p| p.write(PAGES), &WRITTEN),
        step("64 pages read", cold, |p| p.read(PAGES), &READ),
        step("64 pages read again", warm, |p| p.read(PAGES), &READ),
        step("23 opens", fresh, open, &OPENED),
        step("7 writes and syncs", fresh, sync, &SYNCED),
        step("7 writes to the disk", fresh, write_through, &WRITTEN_THROUGH),
        step("8 threads read for 1.1 s", warm, read_at_once, READ_AT_ONCE),
        step("2 reads of 1.1 s", warm, read_slowly, SLOWLY),
    ]
}

fn fresh(place: &mut Place) {
    place.fresh_file(&place.disk.clone());
}

fn cold(place: &mut Place) {
    place.cold_file(&place.disk.clone(), PAGES);
}

fn warm(place: &mut Place) {
    cold(place);
    place.read(PAGES);
}

fn open(place: &mut Place) {
    let path = place.path();
    for _ in 0..OPENS {
        OpenOptions::new().read(true).open(&path).unwrap();
    }
}

fn sync(place: &mut Place) {
    for nr in 0..SYNCS {
        place.file().write_all_at(&[nr as u8; 4096], nr * 4096).unwrap();
        place.file().sync_all().unwrap();
    }
}

fn write_through(place: &mut Place) {
    let file = OpenOptions::new().write(true).custom_flags(libc::O_SYNC).open(place.path()).unwrap();
    for nr in 0..SYNCS {
        file.write_all_at(&[nr as u8; 4096], nr * 4096).unwrap();
    }
}

/// The reads wait for the pages that they read into: each for its own, for as long as it takes to bring it.
fn read_slowly(place: &mut Place) {
    let pages = SlowPages::new(SLOW as usize).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| (0..SLOW).for_each(|_| pages.bring(1, DELAY)));
        for nr in 0..SLOW as usize {
            pages.read(place.file(), nr);
        }
    });
}

/// The same by as many threads, all of which wait at once.
fn read_at_once(place: &mut Place) {
    let (pages, file) = (SlowPages::new(THREADS as usize).unwrap(), place.file());
    thread::scope(|scope| {
        scope.spawn(|| pages.bring(THREADS as usize, DELAY));
        for nr in 0..THREADS as usize {
            let pages = &pages;
            scope.spawn(move || pages.read(file, nr));
        }
    });
}
