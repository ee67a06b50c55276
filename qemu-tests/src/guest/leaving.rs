// SPDX-License-Identifier: GPL-3.0-or-later
//! A run with everything on: how soon it is gone when told to go, what it leaves, and that it spares its host's memory.

use std::fs;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::cgroup::Cgroup;
use super::kmote::{PROGRAM, every_module};
use super::remains::Remains;
use super::run::{Run, Subject};
use super::stream::Stream;
use super::sys;
use crate::row::Outcome;

/// Netdata waits 3 s at most, and people less.
const SOON: Duration = Duration::from_millis(900);
/// How often it is started and stopped, at moments that wander over its start.
const STARTS: u32 = 8;
/// Bytes in which it must do, as of its group: its own and the kernel's for it.
const ENOUGH: &str = "16777216";

/// Every module in return mode, and applications.
fn everything() -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(["1", "--modules", &every_module(), "--mode", "return", "--apps"]);
    command
}

impl Run {
    pub fn leaving(&mut self) {
        let subject = Subject { module: "-", mechanism: "end", work: "SIGTERM, everything on" };
        self.told_to_go(subject, 0);
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        self.told_to_go(Subject { work: "SIGTERM, everything on, every CPU busy", ..subject }, cpus);
        self.stopped_while_it_starts(Subject { work: "SIGTERM while it starts", ..subject });
        self.short_of_memory(Subject { mechanism: "memory", work: "everything on in 16 MB", ..subject });
        self.beside_a_hog(Subject { mechanism: "memory", work: "60 % of memory in use", ..subject });
    }

    /// While so many processes do nothing but use a CPU.
    fn told_to_go(&mut self, subject: Subject, busy: usize) {
        let before = Remains::now();
        let mut stream = Stream::start_command(&mut everything());
        stream.tick();
        stream.tick();
        let busy: Vec<_> = (0..busy).map(|_| sys::fork(spin)).collect();
        let start = Instant::now();
        sys::kill(stream.child.id(), libc::SIGTERM);
        let status = stream.drain();
        let took = start.elapsed();
        for pid in busy {
            sys::kill(pid as u32, libc::SIGKILL);
            sys::reap(pid);
        }
        println!("{}: {} ms", subject.work, took.as_millis());
        self.equal(subject, "exit status", &"exit status: 0", &status);
        self.equal(subject, "gone within 900 ms", &true, &(took <= SOON));
        self.nothing_left(subject, &before);
    }

    /// At whatever moment it is told: it ends by itself, or by the signal before it has taken that over.
    fn stopped_while_it_starts(&mut self, subject: Subject) {
        let before = Remains::now();
        let mut others = Vec::new();
        for nr in 0..STARTS {
            let mut stream = Stream::start_command(&mut everything());
            sleep(Duration::from_millis(u64::from(nr * 190)));
            sys::kill(stream.child.id(), libc::SIGTERM);
            let status = stream.drain();
            if !["exit status: 0", "signal: 15 (SIGTERM)"].contains(&status.as_str()) {
                others.push(status);
            }
        }
        self.equal(subject, "other ends than asked for", &"", &others.join(" "));
        self.nothing_left(subject, &before);
    }

    /// Nobody is killed for want of memory in a group that has little.
    fn short_of_memory(&mut self, subject: Subject) {
        let limited = Cgroup::new("little").and_then(|group| group.set("memory.max", ENOUGH).map(|()| group));
        let group = match limited {
            Ok(group) => group,
            Err(error) => {
                return self.send(subject, "all", "", "", Outcome::Skipped, error.to_string());
            }
        };
        let mut stream = Stream::start_command(&mut everything());
        if let Err(error) = group.set("cgroup.procs", &stream.child.id().to_string()) {
            println!("{}: {error}", subject.work);
        }
        let ticks = (0..5).filter(|_| stream.tick()).count();
        sys::kill(stream.child.id(), libc::SIGTERM);
        self.equal(subject, "exit status", &"exit status: 0", &stream.drain());
        self.equal(subject, "ticks", &5, &ticks);
        let killed = group
            .get("memory.events")
            .lines()
            .find_map(|line| line.strip_prefix("oom_kill ").map(str::to_owned));
        self.equal(subject, "processes killed", &"0", &killed.unwrap_or_else(|| "0".to_owned()));
    }

    /// What the machine is there for has most of the memory, and goes on.
    fn beside_a_hog(&mut self, subject: Subject) {
        let used = memory("MemTotal:").saturating_sub(memory("MemAvailable:"));
        let bytes = (memory("MemTotal:") / 5 * 3).saturating_sub(used);
        let before = killed();
        let hog = sys::fork(|| hog(bytes));
        let mut stream = Stream::start_command(&mut everything());
        let ticks = (0..5).filter(|_| stream.tick()).count();
        sys::kill(stream.child.id(), libc::SIGTERM);
        self.equal(subject, "exit status", &"exit status: 0", &stream.drain());
        self.equal(subject, "ticks", &5, &ticks);
        sys::kill(hog as u32, libc::SIGKILL);
        self.equal(subject, "how the other one ended", &libc::SIGKILL, &(sys::reap(hog) & 0x7f));
        self.equal(subject, "processes killed", &before, &killed());
    }
}

fn spin() -> i32 {
    loop {
        std::hint::spin_loop();
    }
}

/// Holds so much memory, all of it touched.
fn hog(bytes: usize) -> i32 {
    let memory = vec![1u8; bytes];
    loop {
        sleep(Duration::from_secs(1));
        std::hint::black_box(&memory);
    }
}

/// A line of /proc/meminfo, in bytes.
pub(super) fn memory(name: &str) -> usize {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap_or(0) * 1024
}

/// How many processes were killed for want of memory, where the kernel counts them.
fn killed() -> String {
    let text = fs::read_to_string("/proc/vmstat").unwrap_or_default();
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")).unwrap_or("not counted").to_owned()
}
