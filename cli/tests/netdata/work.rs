// SPDX-License-Identifier: GPL-3.0-or-later
//! A known amount of work, and the kernel's own numbers around the ticks before and after it.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::support::machine::{holds_within, is_running};
use crate::support::run::LONG;
use crate::support::server::Netdata;

/// The work of a round: whole processes, of which some stay unreaped for a while; threads; pages.
pub const PROCESSES: i64 = 300;
pub const ZOMBIES: i64 = 40;
pub const THREADS: i64 = 200;
pub const PAGES: i64 = 1024;

/// The kernel's own numbers for what the charts tell.
#[derive(Debug, Clone, Copy)]
pub struct Kernel {
    pub forks: i64,
    pub releases: i64,
    pub dirtied: i64,
}

impl Kernel {
    fn now() -> Self {
        // The counters of dirtied pages lag behind on each CPU until this file is touched.
        let _ = fs::read("/proc/sys/vm/stat_refresh");
        let dirtied = number_after("/proc/vmstat", "nr_dirtied ");
        loop {
            let (forks, tasks) = (forks(), tasks());
            if forks == self::forks() {
                return Self { forks, releases: forks - tasks, dirtied };
            }
        }
    }
}

fn forks() -> i64 {
    number_after("/proc/stat", "processes ")
}

/// Tasks that were created and not yet released.
fn tasks() -> i64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap();
    text.split(['/', ' ']).nth(4).unwrap().parse().unwrap()
}

fn number_after(path: &str, name: &str) -> i64 {
    let text = fs::read_to_string(path).unwrap();
    text.lines().find_map(|line| line.strip_prefix(name)).unwrap().parse().unwrap()
}

/// A tick of the collector: what it sent, and the kernel's numbers shortly before and after it.
pub struct Tick {
    pub second: u64,
    pub values: HashMap<(&'static str, String), i64>,
    pub earlier: Kernel,
    pub later: Kernel,
}

impl Tick {
    fn next(netdata: &Netdata) -> Self {
        assert!(holds_within(LONG, || time_of_the_last_tick(netdata).is_some()), "no tick");
        wait_for_the_middle_of_a_second();
        let earlier = Kernel::now();
        let last = time_of_the_last_tick(netdata);
        assert!(holds_within(LONG, || time_of_the_last_tick(netdata) != last), "no next tick");
        let later = Kernel::now();
        wait_for_the_middle_of_a_second();
        let mut values = HashMap::new();
        for chart in ["system.process_thread", "system.exit", "mem.cachestat_events"] {
            let collected = netdata.collected(chart).into_iter();
            values.extend(collected.map(|(name, sent)| ((chart, name), sent.value)));
        }
        Self { second: time_of_the_last_tick(netdata).unwrap() / 1000, values, earlier, later }
    }

    pub fn value(&self, chart: &'static str, dimension: &str) -> i64 {
        self.values[&(chart, dimension.into())]
    }
}

/// None until Netdata takes the chart for old enough to tell others about it.
fn time_of_the_last_tick(netdata: &Netdata) -> Option<u64> {
    netdata.collected("system.exit").values().map(|sent| sent.milliseconds).max()
}

fn wait_for_the_middle_of_a_second() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().subsec_millis();
    sleep(Duration::from_millis(u64::from((1500 - now) % 1000)));
}

/// Takes a tick, does the work, and takes a tick when an idle one has gone by.
pub fn around_ticks(netdata: &Netdata, work: impl FnOnce() -> Vec<Child>) -> (Tick, Tick) {
    let before = Tick::next(netdata);
    let zombies = work();
    Tick::next(netdata);
    let after = Tick::next(netdata);
    // Netdata draws a second when the next one has come.
    Tick::next(netdata);
    for mut zombie in zombies {
        zombie.wait().unwrap();
    }
    (before, after)
}

/// Hands out the processes that ended and wait to be reaped.
pub fn work() -> Vec<Child> {
    let mut processes: Vec<_> = (0..PROCESSES).map(|_| Command::new("true").spawn().unwrap()).collect();
    let zombies = processes.split_off((PROCESSES - ZOMBIES) as usize);
    for mut process in processes {
        process.wait().unwrap();
    }
    for zombie in &zombies {
        assert!(holds_within(LONG, || !is_running(zombie.id())));
    }
    for _ in 0..THREADS {
        std::thread::spawn(|| {}).join().unwrap();
    }
    write_pages(Path::new(env!("CARGO_TARGET_TMPDIR")));
    zombies
}

/// Page by page, so that each page is a folio of its own.
fn write_pages(folder: &Path) {
    let path = folder.join("kmote-netdata-pages");
    let _ = fs::remove_file(&path);
    let mut file = fs::File::create(&path).unwrap();
    (0..PAGES).for_each(|_| file.write_all(&[7; 4096]).unwrap());
    fs::remove_file(&path).unwrap();
}
