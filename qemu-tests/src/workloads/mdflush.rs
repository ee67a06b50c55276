// SPDX-License-Identifier: GPL-3.0-or-later
//! mdflush: flushes of a real array, a mirror of two ram disks.

use std::fs::{File, OpenOptions};
use std::path::Path;

use crate::guest::kmote::Kmote;
use crate::guest::run::{Run, Subject};
use crate::guest::sys;
use crate::row::Outcome;

const FLUSHES: u64 = 23;
const ARRAY: &str = "/dev/md0";

pub fn check(run: &mut Run, subject: Subject, kmote: &mut Kmote) -> Result<(), String> {
    let subject = Subject { work: "23 flushes", ..subject };
    let before = kmote.read()?;
    if !before.contains_key("lost") {
        run.send(subject, "all", "", "", Outcome::Skipped, "not attached".to_owned());
        return Ok(());
    }
    let array = match build() {
        Ok(array) => array,
        Err(reason) => {
            run.send(subject, "all", "", "", Outcome::Skipped, format!("no array: {reason}"));
            return Ok(());
        }
    };
    (0..FLUSHES).for_each(|_| array.sync_all().unwrap());
    let after = kmote.read()?;
    let told = Path::new("/sys/kernel/btf/vmlinux").exists();
    for (slot, expected) in
        [("md0:flushes", FLUSHES * u64::from(told)), ("unknown", FLUSHES * u64::from(!told)), ("lost", 0)]
    {
        let count = |reading: &crate::guest::kmote::Reading| reading.get(slot).copied().unwrap_or(0);
        run.equal(subject, slot, &expected, &(count(&after) - count(&before)));
    }
    sys::stop_array(&array).map_err(|error| format!("{ARRAY} does not stop: {error}"))
}

/// The same without anybody who looks.
pub fn flush() -> Result<(), String> {
    let array = build()?;
    (0..FLUSHES).for_each(|_| array.sync_all().unwrap());
    sys::stop_array(&array).map_err(|error| format!("{ARRAY} does not stop: {error}"))
}

/// A mirror without a superblock, which nobody has to write.
fn build() -> Result<File, String> {
    let say = |what: &'static str| move |error: std::io::Error| format!("{what}: {error}");
    let open = |path: &str| OpenOptions::new().read(true).write(true).open(path);
    if !Path::new(ARRAY).exists() {
        sys::make_block_device(ARRAY, 9, 0).map_err(say("mknod"))?;
    }
    let array = open(ARRAY).map_err(say(ARRAY))?;
    // struct mdu_array_info_s: version 0.90; level 1, 8 MiB, two disks, number 0, not persistent; state clean.
    let info = [0, 90, 0, 0, 1, 8192, 2, 2, 0, 1, 0, 1, 2, 2, 0, 0, 0, 0];
    sys::array_request(&array, 0x23, &info).map_err(say("SET_ARRAY_INFO"))?;
    for nr in 0..2 {
        // struct mdu_disk_info_s: number, major and minor, place, active and in sync.
        sys::array_request(&array, 0x21, &[nr, 1, nr, nr, 6]).map_err(say("ADD_NEW_DISK"))?;
    }
    // struct mdu_param_s, which the kernel does not look at.
    sys::array_request(&array, 0x30, &[0; 3]).map_err(say("RUN_ARRAY"))?;
    Ok(array)
}
