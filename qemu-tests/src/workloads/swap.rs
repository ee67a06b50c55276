// SPDX-License-Identifier: GPL-3.0-or-later
//! swap: pages of a process that go to a swap file and come back.

use std::fs::{self, OpenOptions};
use std::io::Result;
use std::os::unix::fs::FileExt;
use std::thread::sleep;
use std::time::Duration;

use super::Expected::Exactly;
use super::{Expected, Step};
use crate::guest::calls::{Pages, call, text};
use crate::guest::cgroup::Cgroup;
use crate::guest::counters::Counter::{SwappedIn, SwappedOut};
use crate::guest::counters::value;
use crate::guest::place::Place;
use crate::guest::sys;

const OUT: u64 = 1000;
const IN: u64 = 500;

type Slots = [(&'static str, Expected); 2];

fn step(name: &'static str, work: fn(&mut Place), expect: &'static Slots, read: i64, written: i64) -> Step {
    let counters = vec![(SwappedIn, read), (SwappedOut, written)];
    Step { name, disk: Some("ext4-4k"), cpus: 1, prepare: have_swap, work, expect, counters }
}

pub fn steps() -> Vec<Step> {
    const NONE: Slots = [("read", Exactly(0)), ("write", Exactly(0))];
    const SWAPPED: Slots = [("read", Exactly(IN)), ("write", Exactly(OUT))];
    vec![
        step("nothing", super::wait, &NONE, 0, 0),
        step("1000 pages out, 500 in", swap, &SWAPPED, IN as i64, OUT as i64),
    ]
}

const FILE: &std::ffi::CStr = c"/mnt/ext4-4k/swap";

/// A swap file, on; and pages come back one by one, as they are asked for.
fn have_swap(_: &mut Place) {
    if fs::read_to_string("/proc/swaps").is_ok_and(|swaps| swaps.lines().count() > 1) {
        return;
    }
    let path = FILE.to_str().unwrap();
    let pages: u64 = 2 * OUT;
    let file = OpenOptions::new().write(true).create(true).truncate(true).open(path).unwrap();
    (0..pages).for_each(|page| file.write_all_at(&[0; 4096], page * 4096).unwrap());
    // include/linux/swap.h, union swap_header: after the boot block the version, the last page, the number of bad ones.
    let header = [1, pages as u32 - 1, 0].map(u32::to_ne_bytes).concat();
    file.write_all_at(&header, 1024).unwrap();
    file.write_all_at(b"SWAPSPACE2", 4096 - 10).unwrap();
    file.sync_all().unwrap();
    fs::write("/proc/sys/vm/page-cluster", "0").unwrap();
    call(libc::SYS_swapon, &[text(FILE), 0]).unwrap();
}

fn swap(_: &mut Place) {
    let group = Cgroup::new("swap").unwrap();
    let child = sys::fork(|| i32::from(go_and_come(&group).is_err()));
    assert_eq!(sys::reap(child), 0);
}

/// What the process has or gets besides stays; the pages go, first to the swap cache, then out of it.
fn go_and_come(group: &Cgroup) -> Result<()> {
    call(libc::SYS_mlockall, &[libc::MCL_CURRENT.into()])?;
    let pages = Pages::new(OUT as usize);
    call(libc::SYS_mlockall, &[libc::MCL_FUTURE.into()])?;
    group.join()?;
    pages.fill();
    pages.advise(libc::MADV_PAGEOUT)?;
    while value("/proc/vmstat", "nr_writeback").is_some_and(|pages| pages > 0) {
        sleep(Duration::from_millis(10));
    }
    group.set("memory.high", "0")?;
    group.set("memory.high", "max")?;
    pages.read(IN as usize);
    Ok(())
}
