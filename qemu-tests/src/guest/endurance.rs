// SPDX-License-Identifier: GPL-3.0-or-later
//! Ten minutes of processes that come and go: at the end kmote takes no more than at the start, and has lost nobody.

use std::fs;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::kmote::{PROGRAM, every_module};
use super::run::{Run, Subject};
use super::stream::Stream;
use super::usage::{Memory, cpu_time, map};
use super::{cgroup, sys};

const HOME: &str = "/tmp/endurance";
const GROUPS: &str = "busy: busy*\n";
const CHART: &str = "app.busy_ebpf_task_exit";

const MINUTES: usize = 10;
const SECONDS: u64 = 60;
/// Processes that begin and end in a second.
const RATE: u64 = 500;
/// Ticks after which nobody who has ended is in the table any more.
const QUIET: usize = 5;
/// Of a hundred: by how much a tick may be dearer in the last minute than in the second.
const DEARER: u64 = 3;

/// What was seen at the end of a minute.
#[derive(Debug)]
struct Sample {
    /// Instructions a tick while processes came and went.
    tick: u64,
    ended: i64,
    entries: usize,
    memory: Memory,
    files: usize,
}

impl Run {
    pub fn endurance(&mut self) {
        let subject = Subject { module: "apps", mechanism: "endurance", work: "500 forks a second" };
        fs::create_dir_all(HOME).unwrap();
        fs::write(format!("{HOME}/apps_groups.conf"), GROUPS).unwrap();
        cgroup::set_up().unwrap();
        let mut command = Command::new(PROGRAM);
        command.args(["1", "--modules", &every_module(), "--apps", "--cgroups"]);
        command.env("NETDATA_USER_CONFIG_DIR", HOME);
        let worker = sys::fork(work);
        sys::wait_until_stopped(worker);
        let mut stream = Stream::start_command(&mut command).of(CHART, None);
        // What it takes to start is over.
        sleep(Duration::from_secs(10));
        // The first minute is for what happens once: the group begins, files are read, charts are declared.
        let samples: Vec<_> = (0..=MINUTES).filter_map(|_| minute(worker, &mut stream)).collect();
        sys::kill(worker as u32, libc::SIGKILL);
        sys::reap(worker);
        sys::kill(stream.child.id(), libc::SIGTERM);
        self.equal(subject, "exit status", &"exit status: 0", &stream.drain());
        self.equal(subject, "minutes", &(MINUTES + 1), &samples.len());
        for pair in samples.windows(2) {
            let ended = pair[1].ended - pair[0].ended;
            self.equal(subject, "ends that the group's chart shows, in a minute", &(RATE * SECONDS), &ended);
        }
        let [first, .., last] = samples.as_slice() else { return };
        self.equal(
            subject,
            "VmRSS, kB, after 1 and 11 minutes",
            &first.memory.resident,
            &last.memory.resident,
        );
        self.equal(subject, "VmHWM, kB, after 1 and 11 minutes", &first.memory.peak, &last.memory.peak);
        self.equal(subject, "open files after 1 and 11 minutes", &first.files, &last.files);
        self.equal(subject, "entries of the table after 1 and 11 minutes", &first.entries, &last.entries);
        let most = samples[1].tick * (100 + DEARER) / 100;
        self.most(subject, "instructions a tick in the last minute", Some(most), last.tick, String::new());
    }
}

/// Processes come and go for a minute, and then there is quiet.
fn minute(worker: i32, stream: &mut Stream) -> Option<Sample> {
    let pid = stream.child.id();
    let before = cpu_time(pid);
    sys::kill(worker as u32, libc::SIGCONT);
    let ticks = (0..SECONDS).filter(|_| stream.tick()).count() as u64;
    let spent = cpu_time(pid) - before;
    sys::wait_until_stopped(worker);
    if !(0..QUIET).all(|_| stream.tick()) {
        return None;
    }
    let sample = Sample {
        tick: spent / ticks,
        ended: stream.value,
        entries: map(pid, "processes").map_or(0, |map| map.entries()),
        memory: Memory::of(pid),
        files: fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count(),
    };
    println!("{sample:?}");
    Some(sample)
}

/// A member of the group.
fn work() -> i32 {
    sys::rename(b"busy-worker");
    loop {
        sys::stop();
        let start = Instant::now();
        for second in 1..=SECONDS {
            (0..RATE).for_each(|_| {
                sys::reap(sys::fork(|| 0));
            });
            sleep(Duration::from_secs(second).saturating_sub(start.elapsed()));
        }
    }
}
