// SPDX-License-Identifier: GPL-3.0-or-later
//! What kmote takes of a small machine's memory while it collects.

use std::process::Command;

use super::kmote::PROGRAM;
use super::leaving::memory;
use super::run::{Run, Subject};
use super::stream::Stream;
use super::sys;
use super::usage::{Memory, kernel_memory};

/// In kilobytes, by a file as it is shipped, with every module: once it collects, and at most.
const RESIDENT: u64 = 768;
const PEAK: u64 = 1536;
const TICKS: usize = 12;

impl Run {
    /// With what is on by default, with every module, and with groups.
    pub fn footprint(&mut self) {
        let modules: Vec<_> = kmote_core::modules::MODULES.iter().map(|module| module.name).collect();
        let every = modules.join(",");
        let subject = Subject { module: "-", mechanism: "footprint", work: "the machine" };
        // What the kernel has left for everybody, itself and its file of modules taken away.
        for key in ["MemTotal:", "MemAvailable:"] {
            self.most(subject, key, None, memory(key) as u64 / 1024, "kB".to_owned());
        }
        self.take_measure("as it comes", true, &[]);
        self.take_measure("every module", true, &["--modules", &every]);
        self.take_measure("every module, and groups", false, &["--modules", &every, "--apps", "--cgroups"]);
    }

    /// Starts it, lets it collect, and looks; `bounded` where there is a goal.
    fn take_measure(&mut self, work: &str, bounded: bool, options: &[&str]) {
        let subject = Subject { module: "-", mechanism: "footprint", work };
        // What cargo builds for the host's own architecture brings another C library along.
        let bounded = bounded && self.is_shipped();
        let mut stream = Stream::start_command(Command::new(PROGRAM).arg("1").args(options));
        let ticks = (0..TICKS).filter(|_| stream.tick()).count();
        let pid = stream.child.id();
        let (memory, (maps, programs)) = (Memory::of(pid), kernel_memory(pid));
        sys::kill(pid, libc::SIGTERM);
        self.equal(subject, "ticks", &TICKS, &ticks);
        self.equal(subject, "exit status", &"exit status: 0", &stream.drain());
        self.most(subject, "VmHWM, kB", bounded.then_some(PEAK), memory.peak, String::new());
        self.most(subject, "VmRSS, kB", bounded.then_some(RESIDENT), memory.resident, String::new());
        self.most(subject, "kernel memory of maps, kB", None, maps / 1024, String::new());
        self.most(subject, "kernel memory of programs, kB", None, programs / 1024, String::new());
    }
}
