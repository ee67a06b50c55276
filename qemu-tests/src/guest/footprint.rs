// SPDX-License-Identifier: GPL-3.0-or-later
//! What kmote takes of a small machine's memory while it collects.

use std::fs;
use std::process::Command;
use std::time::Instant;

use super::kmote::{PROGRAM, every_module};
use super::leaving::memory;
use super::run::{Run, Subject};
use super::stream::Stream;
use super::sys;
use super::usage::{Memory, kernel_memory};

/// In kilobytes, by a file as it is shipped, with every module: once it collects, and at most.
const RESIDENT: u64 = 768;
const PEAK: u64 = 1536;
/// With groups, for which there is no goal: less than one huge page.
const GROUPS: u64 = 2048;
const TICKS: usize = 12;
/// Bytes of memory of a machine for which that is not too much.
const ROOMY: usize = 256 << 20;
/// Where a kernel that has huge pages keeps when it gives them.
const HUGE_PAGES: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
const HOME: &str = "/tmp/footprint";

impl Run {
    /// With what is on by default, with every module, and with groups.
    pub fn footprint(&mut self) {
        let every = every_module();
        let subject = Subject { module: "-", mechanism: "footprint", work: "the machine" };
        // What the kernel has left for everybody, itself and its file of modules taken away.
        for key in ["MemTotal:", "MemAvailable:"] {
            self.most(subject, key, None, memory(key) as u64 / 1024, "kB".to_owned());
        }
        // As distributions have it on machines with more memory; and there the table of processes is as large.
        let before = fs::read_to_string(HUGE_PAGES).unwrap_or_default();
        let _ = fs::write(HUGE_PAGES, "always");
        self.take_measure("as it comes", RESIDENT, &[]);
        self.take_measure("every module", RESIDENT, &["--modules", &every]);
        self.take_measure("every module, and groups", GROUPS, &["--modules", &every, "--apps", "--cgroups"]);
        // The word in brackets is what holds.
        let _ = fs::write(HUGE_PAGES, before.split(['[', ']']).nth(1).unwrap_or_default());
    }

    /// Starts it, lets it collect, and looks; `most` is for what is resident.
    fn take_measure(&mut self, work: &str, most: u64, options: &[&str]) {
        let subject = Subject { module: "-", mechanism: "footprint", work };
        // What cargo builds for the host's own architecture brings another C library along.
        let bounded = self.is_shipped();
        let mut command = Command::new(PROGRAM);
        command.arg("1").args(options);
        if memory("MemTotal:") > ROOMY {
            fs::create_dir_all(HOME).unwrap();
            fs::write(format!("{HOME}/kmote.conf"), "[global]\n pid table size = 8000\n").unwrap();
            command.env("NETDATA_USER_CONFIG_DIR", HOME);
        }
        let start = Instant::now();
        let mut stream = Stream::start_command(&mut command);
        let first = stream.tick().then(|| start.elapsed().as_millis() as u64);
        let ticks = 1 + (1..TICKS).filter(|_| stream.tick()).count();
        let pid = stream.child.id();
        let (memory, (maps, programs)) = (Memory::of(pid), kernel_memory(pid));
        sys::kill(pid, libc::SIGTERM);
        self.equal(subject, "ticks", &TICKS, &ticks);
        self.equal(subject, "exit status", &"exit status: 0", &stream.drain());
        // A tick is at a full second of the clock, so that up to one of it is waiting.
        self.most(subject, "first values, ms", None, first.unwrap_or(0), String::new());
        self.most(subject, "VmHWM, kB", bounded.then_some(most.max(PEAK)), memory.peak, String::new());
        self.most(subject, "VmRSS, kB", bounded.then_some(most), memory.resident, String::new());
        self.most(subject, "kernel memory of maps, kB", None, maps / 1024, String::new());
        self.most(subject, "kernel memory of programs, kB", None, programs / 1024, String::new());
    }
}
