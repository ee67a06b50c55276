// SPDX-License-Identifier: GPL-3.0-or-later
//! disk: requests of a device that takes 35 ms for each, however they came about, of a virtio disk, and flushes of nvme.

use std::fs::{self, File, OpenOptions};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use crate::guest::kmote::{HookLine, Kmote, Reading};
use crate::guest::run::{Run, Subject};
use crate::guest::sys;
use crate::row::Outcome;

const DEVICE: &str = "nullb0";
/// The runner attaches one.
const VIRTIO: &str = "vda";
const DELAY: &str = "irqmode=2 completion_nsec=35000000 nr_devices=1 submit_queues=1 gb=1";
const BUCKET: &str = "32ms->65ms";
const READS: u64 = 23;
const FLUSHES: u64 = 5;
/// Of a guest that stood still for a moment the times are wrong, and so it is done again.
const TRIES: usize = 5;

#[repr(align(4096))]
struct Pages([u8; 1 << 20]);

pub fn check(run: &mut Run, subject: Subject, kmote: &mut Kmote) -> Result<(), String> {
    if let Err(reason) = load() {
        run.send(subject, "all", "", "", Outcome::Skipped, format!("no null_blk: {reason}"));
    } else {
        delayed(run, Subject { work: "23 reads of 35 ms", ..subject }, kmote)?;
        let direct = open(DEVICE, libc::O_DIRECT);
        counted(run, Subject { work: "1 MiB at once", ..subject }, kmote, DEVICE, || {
            direct.write_all_at(&Box::new(Pages([7; 1 << 20])).0, 0).unwrap();
        })?;
        counted(run, Subject { work: "1 MiB in pieces", ..subject }, kmote, DEVICE, || {
            let buffered = open(DEVICE, 0);
            (0..256).for_each(|page| buffered.write_all_at(&[page as u8; 4096], page * 4096).unwrap());
            buffered.sync_all().unwrap();
        })?;
        // By device and sector two requests for one place are one.
        let by_sector =
            |hook: &HookLine| hook.attached.as_ref().is_some_and(|(mechanism, _)| mechanism == "tp");
        if !kmote.hooks.iter().any(by_sector) {
            counted(run, Subject { work: "2 threads read one place", ..subject }, kmote, DEVICE, || {
                thread::scope(|scope| drop([(); 2].map(|()| scope.spawn(|| read(&direct, 0)))));
            })?;
        }
        drop(direct);
        leaves(run, Subject { work: "the disk goes", ..subject }, kmote)?;
    }
    on_virtio(run, Subject { work: "virtio: 23 reads and 1 MiB", ..subject }, kmote)?;
    flushed(run, Subject { work: "5 flushes", ..subject }, kmote)
}

/// Another driver: another kind of queue, and completions by another interrupt.
fn on_virtio(run: &mut Run, subject: Subject, kmote: &mut Kmote) -> Result<(), String> {
    if !comes(VIRTIO) {
        run.send(subject, "all", "", "", Outcome::Skipped, "no virtio disk in this guest".to_owned());
        return Ok(());
    }
    let direct = open(VIRTIO, libc::O_DIRECT);
    counted(run, subject, kmote, VIRTIO, || {
        (0..READS).for_each(|nr| read(&direct, nr));
        direct.write_all_at(&Box::new(Pages([7; 1 << 20])).0, 0).unwrap();
    })
}

/// Each read falls into the bucket of the delay.
fn delayed(run: &mut Run, subject: Subject, kmote: &mut Kmote) -> Result<(), String> {
    let direct = open(DEVICE, libc::O_DIRECT);
    for rest in (0..TRIES).rev() {
        let before = kmote.read()?;
        (0..READS).for_each(|nr| read(&direct, nr));
        let after = kmote.read()?;
        let bucket = format!("{DEVICE}:{BUCKET}");
        let of_bucket = |reading: &Reading| reading.get(&bucket).copied().unwrap_or(0);
        let seen = of_bucket(&after) - of_bucket(&before);
        if seen == READS || rest == 0 {
            run.equal(subject, BUCKET, &READS, &seen);
            run.equal(subject, "all buckets", &READS, &(sum(&after, DEVICE) - sum(&before, DEVICE)));
            break;
        }
    }
    Ok(())
}

/// As many requests as the kernel counts, and none lost.
fn counted(
    run: &mut Run,
    subject: Subject,
    kmote: &mut Kmote,
    device: &str,
    work: impl Fn(),
) -> Result<(), String> {
    let (before, kernel) = (kmote.read()?, requests(device));
    work();
    let (after, kernel) = (kmote.read()?, requests(device) - kernel);
    run.equal(subject, "the kernel counts some", &true, &(kernel > 0));
    run.equal(subject, "all buckets", &kernel, &(sum(&after, device) - sum(&before, device)));
    run.equal(subject, "lost", &before.get("lost").copied().unwrap_or(1), &after["lost"]);
    Ok(())
}

/// A disk that is no more has no row.
fn leaves(run: &mut Run, subject: Subject, kmote: &mut Kmote) -> Result<(), String> {
    sys::unload_module("null_blk").map_err(|error| format!("null_blk stays: {error}"))?;
    let mut left = true;
    for _ in 0..100 {
        left = left && kmote.read()?.keys().any(|slot| slot.starts_with(DEVICE));
    }
    run.equal(subject, "its row is left", &false, &left);
    Ok(())
}

/// A flush has no sectors, and is a request of its own.
fn flushed(run: &mut Run, subject: Subject, kmote: &mut Kmote) -> Result<(), String> {
    let Some(disk) = quiet_disk() else {
        run.send(subject, "all", "", "", Outcome::Skipped, "no disk without a mount".to_owned());
        return Ok(());
    };
    let device = File::open(format!("/dev/{disk}")).unwrap();
    let before = kmote.read()?;
    (0..FLUSHES).for_each(|_| device.sync_all().unwrap());
    let after = kmote.read()?;
    run.equal(subject, "all buckets", &FLUSHES, &(sum(&after, &disk) - sum(&before, &disk)));
    Ok(())
}

/// The slow device; a module that is there already is not loaded again.
fn load() -> Result<(), String> {
    load_all();
    if comes(DEVICE) { Ok(()) } else { Err(format!("/dev/{DEVICE} does not come")) }
}

/// Loads what the disks need.
fn load_all() {
    let folder = fs::read_dir("/later/disk").into_iter().flatten();
    let mut modules: Vec<PathBuf> = folder.flatten().map(|entry| entry.path()).collect();
    modules.sort();
    for module in modules {
        let options = if module.to_string_lossy().ends_with("null_blk.ko") { DELAY } else { "" };
        let loaded = File::open(&module).and_then(|file| sys::load_module_with(&file, options));
        if let Err(error) = loaded.or_else(there_already) {
            println!("{}: {error}", module.display());
        }
    }
}

fn there_already(error: Error) -> Result<(), Error> {
    if error.kind() == ErrorKind::AlreadyExists { Ok(()) } else { Err(error) }
}

fn comes(device: &str) -> bool {
    (0..100).any(|_| {
        let there = fs::metadata(format!("/dev/{device}")).is_ok();
        if !there {
            thread::sleep(Duration::from_millis(50));
        }
        there
    })
}

fn open(device: &str, flags: i32) -> File {
    OpenOptions::new().read(true).write(true).custom_flags(flags).open(format!("/dev/{device}")).unwrap()
}

fn read(direct: &File, page: u64) {
    let mut pages = Box::new(Pages([0; 1 << 20]));
    direct.read_exact_at(&mut pages.0[..4096], page * 4096).unwrap();
}

/// All requests of a disk that kmote has timed.
fn sum(reading: &Reading, disk: &str) -> u64 {
    let of_disk = |slot: &String| slot.strip_prefix(disk).is_some_and(|rest| rest.starts_with(':'));
    reading.iter().filter(|(slot, _)| of_disk(slot)).map(|(_, count)| count).sum()
}

/// Reads, writes and discards that a disk has completed (Documentation/block/stat.rst).
fn requests(disk: &str) -> u64 {
    let text = fs::read_to_string(format!("/sys/block/{disk}/stat")).unwrap_or_default();
    let fields: Vec<u64> = text.split_whitespace().filter_map(|field| field.parse().ok()).collect();
    [0, 4, 11].iter().filter_map(|place| fields.get(*place)).sum()
}

/// An nvme disk on which nothing is mounted.
fn quiet_disk() -> Option<String> {
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    let disks = fs::read_dir("/sys/block").ok()?.flatten();
    let names = disks.map(|disk| disk.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("nvme")).find(|name| !mounts.contains(&format!("/dev/{name} ")))
}
