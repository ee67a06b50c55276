// SPDX-License-Identifier: GPL-3.0-or-later
//! What a tick takes where there are many processes: idle ones must not matter, busy ones no more than in proportion.

use std::fs::File;
use std::thread::sleep;
use std::time::Duration;

use super::tick::Running;
use crate::guest::bpf::Calls;
use crate::guest::kmote::every_module;
use crate::guest::run::{Run, Subject};
use crate::guest::sys;
use crate::guest::usage::{Memory, cpu_time, kernel_memory, map};
use crate::row::Outcome;

const CROWDS: [usize; 3] = [10, 1_000, 10_000];
/// For all of a crowd to begin and to be met.
const WARM_UP: Duration = Duration::from_secs(20);
const WINDOW: u64 = 10;
/// By how many times what a process takes may be more in a larger crowd.
const STEEPER: u64 = 2;

/// What was seen of a crowd.
#[derive(Clone, Copy)]
struct Seen {
    size: usize,
    tick: u64,
}

impl Run {
    pub fn crowd_cost(&mut self) {
        let idle = CROWDS.map(|size| self.crowd(size, "idle", idle));
        let subject = Subject { module: "every module, by applications", mechanism: "best", work: "crowds" };
        // As with ten of them, but for what a tick takes more or less by itself.
        let most = idle[0].tick * 11 / 10;
        self.most(subject, "instructions a tick, 10000 idle", Some(most), idle[2].tick, String::new());
        let busy = CROWDS.map(|size| self.crowd(size, "at work each second", busy));
        let each = |seen: Seen| seen.tick.saturating_sub(idle[0].tick) / seen.size as u64;
        for seen in busy {
            let what = format!("instructions a tick for each of {} at work", seen.size);
            let most = (seen.size > busy[1].size).then(|| each(busy[1]) * STEEPER);
            self.most(subject, &what, most, each(seen), String::new());
        }
    }

    /// A crowd that begins after kmote, so that each of them is in the table.
    fn crowd(&mut self, size: usize, kind: &str, act: fn() -> i32) -> Seen {
        let work = format!("{size} processes, {kind}");
        let subject = Subject { module: "every module, by applications", mechanism: "best", work: &work };
        let leader = sys::fork(|| lead(size, act));
        sys::wait_until_stopped(leader);
        let kmote = Running::start(&every_module(), &["--apps"]);
        let pid = kmote.child.id();
        kmote.wait_for_first();
        sys::kill(leader as u32, libc::SIGCONT);
        sys::wait_until_stopped(leader);
        sleep(WARM_UP);
        let before = cpu_time(pid);
        sleep(Duration::from_secs(WINDOW));
        let tick = (cpu_time(pid) - before) / WINDOW;
        let calls = Calls::of(pid).and_then(|calls| {
            let before = calls.count()?;
            sleep(Duration::from_secs(WINDOW));
            Ok((calls.count()? - before).div_ceil(WINDOW))
        });
        let entries = map(pid, "processes").map_or(0, |map| map.entries() as u64);
        let none = String::new;
        self.most(subject, "instructions a tick", None, tick, none());
        match calls {
            Ok(calls) => self.most(subject, "system calls a tick", None, calls, none()),
            Err(error) => {
                self.send(subject, "system calls a tick", "", "", Outcome::Skipped, error.to_string());
            }
        }
        self.most(subject, "entries of the table", None, entries, none());
        self.most(subject, "kernel memory of maps, kB", None, kernel_memory(pid).0 / 1024, none());
        self.most(subject, "VmRSS, kB", None, Memory::of(pid).resident, none());
        sys::kill(leader as u32, libc::SIGCONT);
        sys::reap(leader);
        kmote.stop();
        Seen { size, tick }
    }
}

/// Begins a crowd when it is told to go on, and when it is told so again, ends it.
fn lead(size: usize, act: fn() -> i32) -> i32 {
    sys::stop();
    let crowd: Vec<_> = (0..size).map(|_| sys::fork(act)).collect();
    sys::stop();
    crowd.iter().for_each(|member| sys::kill(*member as u32, libc::SIGKILL));
    crowd.into_iter().for_each(|member| {
        sys::reap(member);
    });
    0
}

fn idle() -> i32 {
    sleep(Duration::from_secs(1_000_000));
    0
}

/// Does a little of what is counted, and waits.
fn busy() -> i32 {
    loop {
        assert!(File::open("/none").is_err());
        sleep(Duration::from_secs(1));
    }
}
