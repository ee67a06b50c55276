// SPDX-License-Identifier: GPL-3.0-or-later
//! Where the work is done: the disks, and what one step leaves for the next.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Result};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

use super::nfs;
use super::ring::Ring;
use super::sys::{self, Mapping};

#[derive(Default)]
pub struct Place {
    /// Serial number of a disk → where its filesystem is mounted.
    mounted: BTreeMap<String, String>,
    /// CPUs at the start.
    pub cpus: usize,
    pub file: Option<File>,
    pub mapping: Option<Mapping>,
    pub zombie: Option<i32>,
    pub ring: Option<Ring>,
    /// Serial number of the disk that the steps work on.
    pub disk: String,
}

impl Place {
    /// Mounts the disks, each at `/mnt/SERIAL`. A kernel without nvme has none: what needs them is then skipped.
    pub fn find(disks: usize) -> Self {
        let cpus = std::thread::available_parallelism().map_or(1, |n| n.get());
        let mut place = Self { cpus, ..Self::default() };
        for _ in 0..50 {
            for (device, serial) in nvme_disks() {
                let target = format!("/mnt/{serial}");
                if !serial.starts_with("ext4") {
                    continue;
                }
                if place.mounted.contains_key(&serial) || fs::create_dir_all(&target).is_err() {
                    continue;
                }
                match sys::mount(&format!("/dev/{device}"), &target, "ext4", "") {
                    Ok(()) => {
                        place.mounted.insert(serial.clone(), target);
                        place.warm(&serial);
                    }
                    Err(error) => println!("mount {serial}: {error}"),
                }
            }
            if place.mounted.len() == disks {
                break;
            }
            sleep(Duration::from_millis(100));
        }
        place
    }

    /// Brings the filesystem's own blocks into memory, which the first file of a size reads.
    fn warm(&mut self, disk: &str) {
        self.cold_file(disk, 256);
        self.fresh_file(disk);
        self.file = None;
    }

    /// Makes the disk the one that the steps work on: loads what its filesystem needs, and mounts it. Without disk or
    /// modules it is not there, and what needs it is skipped.
    pub fn turn_to(&mut self, disk: &str) {
        self.disk = disk.to_owned();
        if self.has(disk) {
            return;
        }
        load_modules(&format!("/later/{disk}"));
        let target = format!("/mnt/{disk}");
        let mounted = match (disk, self.mounted.get("ext4-4k")) {
            ("nfs", Some(served)) => nfs::serve_and_mount(served, &target),
            _ => mount_disk(disk, &target),
        };
        match mounted {
            Ok(()) => drop(self.mounted.insert(disk.to_owned(), target)),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => println!("mount {disk}: {error}"),
        }
    }

    /// Puts a copy of a disk in memory in its place. Under a clock that counts instructions a disk takes no time or any,
    /// since the clock runs on to the next timer whenever all wait.
    pub fn in_memory(&mut self, disk: &str) -> io::Result<()> {
        let Some((device, _)) = nvme_disks().into_iter().find(|(_, serial)| serial == disk) else {
            return Ok(());
        };
        let is_brd = |path: &PathBuf| path.to_string_lossy().ends_with("-brd.ko");
        let mut modules = fs::read_dir("/later/mdflush")?.flatten().map(|entry| entry.path());
        let brd = modules.find(is_brd).ok_or(io::ErrorKind::NotFound)?;
        sys::load_module_with(&File::open(brd)?, "rd_size=65536")?;
        self.leave(disk);
        let mut memory = OpenOptions::new().write(true).open("/dev/ram0")?;
        io::copy(&mut File::open(format!("/dev/{device}"))?, &mut memory)?;
        let target = format!("/mnt/{disk}");
        sys::mount("/dev/ram0", &target, "ext4", "")?;
        self.mounted.insert(disk.to_owned(), target);
        self.warm(disk);
        Ok(())
    }

    /// Takes a disk away again.
    pub fn leave(&mut self, disk: &str) {
        (self.mapping, self.file) = (None, None);
        if let Some(target) = self.mounted.remove(disk) {
            sys::unmount(&target).unwrap();
        }
    }

    /// The file of the last step.
    pub fn path(&self) -> String {
        format!("{}/file", self.mounted[&self.disk])
    }

    /// Lets this process run on every CPU again.
    pub fn run_anywhere(&self) {
        sys::run_on(&(0..self.cpus).collect::<Vec<_>>());
    }

    pub fn has(&self, disk: &str) -> bool {
        self.mounted.contains_key(disk)
    }

    /// A new and empty file on a disk, with nothing else left to be written.
    pub fn fresh_file(&mut self, disk: &str) {
        (self.mapping, self.file) = (None, None);
        let path = format!("{}/file", self.mounted[disk]);
        let _ = fs::remove_file(&path);
        self.file = Some(OpenOptions::new().read(true).write(true).create_new(true).open(path).unwrap());
        sys::sync();
        // The freed blocks of the old file go with the second commit.
        sys::sync();
    }

    /// A file of so many pages, none of them in memory.
    pub fn cold_file(&mut self, disk: &str, pages: u64) {
        self.fresh_file(disk);
        self.write(pages);
        self.file().sync_all().unwrap();
        sys::sync();
        sys::advise(self.file(), libc::POSIX_FADV_DONTNEED);
        // No read-ahead: each page is read when it is asked for.
        sys::advise(self.file(), libc::POSIX_FADV_RANDOM);
    }

    pub fn file(&self) -> &File {
        self.file.as_ref().unwrap()
    }

    /// Writes page after page.
    pub fn write(&self, pages: u64) {
        for page in 0..pages {
            // From every CPU in turn.
            sys::run_on(&[page as usize * self.cpus / pages as usize]);
            self.file().write_all_at(&[page as u8; 4096], page * 4096).unwrap();
        }
        self.run_anywhere();
    }

    /// Reads page after page.
    pub fn read(&self, pages: u64) {
        let mut buffer = [0; 4096];
        for page in 0..pages {
            self.file().read_exact_at(&mut buffer, page * 4096).unwrap();
        }
    }
}

fn mount_disk(disk: &str, target: &str) -> Result<()> {
    let disks = nvme_disks();
    let (device, _) = disks.iter().find(|(_, serial)| serial == disk).ok_or(ErrorKind::NotFound)?;
    fs::create_dir_all(target)?;
    sys::mount(&format!("/dev/{device}"), target, disk, "")
}

/// Loads all modules of a folder, in the order of their names.
pub fn load_modules(folder: &str) {
    let mut modules: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().collect();
    modules.sort_by_key(fs::DirEntry::file_name);
    for module in modules {
        if let Err(error) = File::open(module.path()).and_then(|file| sys::load_module(&file)) {
            println!("{}: {error}", module.path().display());
        }
    }
}

fn nvme_disks() -> Vec<(String, String)> {
    let mut disks = Vec::new();
    for entry in fs::read_dir("/sys/block").into_iter().flatten().flatten() {
        if let Ok(serial) = fs::read_to_string(entry.path().join("device/serial")) {
            disks.push((entry.file_name().to_string_lossy().into_owned(), serial.trim().to_owned()));
        }
    }
    disks
}
