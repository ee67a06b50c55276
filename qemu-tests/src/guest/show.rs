// SPDX-License-Identifier: GPL-3.0-or-later
//! Everything that kmote shows, told to whoever reads the second serial line, while the work of all modules goes round.

use std::fs::{self, OpenOptions};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use kmote_core::chart::Mode;
use kmote_core::modules::MODULES;

use super::FORKS;
use super::cgroup;
use super::kmote::{PROGRAM, every_module};
use super::place::Place;
use super::run::{Run, Subject};
use super::sys;
use crate::workloads;

/// The second serial line, by the names that the machines give it.
const LINES: [&str; 2] = ["/dev/ttyS1", "/dev/ttyAMA1"];

impl Run {
    /// Shows for so many seconds what it counts, with every module, every error and every group.
    pub fn show(&mut self, seconds: u64) {
        let subject = Subject { module: "-", mechanism: "show", work: "all work of all modules" };
        for module in MODULES {
            if let Some(disk) = workloads::disk(module.name) {
                self.place.turn_to(disk);
            }
        }
        cgroup::set_up().unwrap();
        // Charts of what kmote's programs cost exist where the kernel counts that.
        let _ = fs::write("/proc/sys/kernel/bpf_stats_enabled", "1");
        let line = LINES.iter().find_map(|path| OpenOptions::new().write(true).open(path).ok()).unwrap();
        sys::make_raw(&line).unwrap();
        let mut kmote = Command::new(PROGRAM);
        kmote.args(["1", "--modules", &every_module(), "--mode", "return", "--apps", "--cgroups"]);
        let mut kmote = kmote.stdin(Stdio::null()).stdout(line).spawn().unwrap();
        let (begin, mut rounds) = (Instant::now(), 0);
        while begin.elapsed() < Duration::from_secs(seconds) {
            self.place.round();
            rounds += 1;
        }
        self.equal(subject, "at least one round", &true, &(rounds > 0));
        self.equal(subject, "still running", &true, &kmote.try_wait().is_ok_and(|status| status.is_none()));
        sys::kill(kmote.id(), libc::SIGTERM);
        self.equal(subject, "exit status", &"exit status: 0", &kmote.wait().unwrap());
    }
}

impl Place {
    /// The work of every module once.
    fn round(&mut self) {
        for module in MODULES {
            if let Some(disk) = workloads::disk(module.name) {
                self.turn_to(disk);
            }
            for group in [cgroup::SERVICE, cgroup::CONTAINER] {
                cgroup::inside(group, || sys::exec("/init", &format!("{FORKS}5")));
            }
            for mode in [Mode::Entry, Mode::Return] {
                workloads::steps(module.name, mode).iter().for_each(|step| self.take(step));
            }
        }
        if let Err(reason) = workloads::flush_array() {
            println!("no array: {reason}");
        }
    }

    fn take(&mut self, step: &workloads::Step) {
        if step.cpus <= self.cpus && step.disk.is_none_or(|disk| self.has(disk)) {
            (step.prepare)(self);
            (step.work)(self);
        }
    }
}
