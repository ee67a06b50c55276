// SPDX-License-Identifier: GPL-3.0-or-later
//! When the binary ticks, and what a tick costs when nobody reads.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use crate::support::machine::Folder;
use crate::support::protocol::{Chart, Stream, parse};
use crate::support::run::{Arrival, LONG, Running, SOON, kmote};

/// A tick arrives at most this long after its second; see `almost_all`.
const LATE: f64 = 0.2;
const O_NONBLOCK: i32 = 0o4000;

/// On a loaded machine the scheduler may delay one tick of a run.
fn almost_all<T>(items: &[T], condition: impl Fn(&T) -> bool) -> bool {
    items.iter().filter(|item| !condition(item)).count() <= 1
}

/// Seconds since the last multiple of the interval.
fn lateness(arrival: &Arrival, interval: f64) -> f64 {
    arrival.at.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs_f64() % interval
}

fn ticks_on_time(interval: u64, ticks: usize, command: Command) -> Stream {
    let ended = Running::start(command).ends_within(LONG).with_status(0);
    let stream = ended.stream();
    assert!(!stream.charts.is_empty());
    for chart in &stream.charts {
        assert_eq!(chart.update_every, interval, "{}", chart.id);
        assert_eq!(chart.updates.len(), ticks, "{}", chart.id);
        let steps: Vec<_> = chart.updates.iter().filter_map(|update| update.microseconds).collect();
        let whole = interval * 1_000_000;
        assert!(almost_all(&steps, |step| step.abs_diff(whole) < 200_000), "{}: {steps:?}", chart.id);
    }
    let arrivals: Vec<_> = ended.arrivals.into_iter().filter(|part| part.text.contains("BEGIN")).collect();
    assert_eq!(arrivals.len(), ticks, "a tick is one write: {arrivals:#?}");
    let late: Vec<_> = arrivals.iter().map(|arrival| lateness(arrival, interval as f64)).collect();
    assert!(almost_all(&late, |late| *late < LATE), "{late:?}");
    stream
}

#[test]
fn ticks_fall_on_whole_seconds_and_are_valid_protocol() {
    let stream = ticks_on_time(1, 3, kmote(&["--modules", "process", "--ticks", "3", "1"]));
    let ids: Vec<_> = stream.charts.iter().map(|chart| chart.id.as_str()).collect();
    assert_eq!(ids, ["system.process_thread", "system.exit", "system.process_status"]);
    for chart in &stream.charts {
        assert_eq!((chart.plugin.as_str(), chart.module.as_str()), ("kmote.plugin", "process"));
    }
}

/// The kernel's switch for counting the runs of programs, set back with the value.
struct Counting(String);

const COUNTING: &str = "/proc/sys/kernel/bpf_stats_enabled";

impl Counting {
    fn on() -> Self {
        let before = fs::read_to_string(COUNTING).unwrap();
        fs::write(COUNTING, "1").unwrap();
        Self(before)
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        let _ = fs::write(COUNTING, &self.0);
    }
}

#[test]
fn its_own_charts_tell_what_its_programs_cost() {
    let _counting = Counting::on();
    let mut command = kmote(&["--modules", "process,softirq", "--ticks", "1", "10"]);
    command.env_remove("NETDATA_INTERNALS_MONITORING");
    let stream = Running::start(command).ends_within(LONG).with_status(0).stream();
    let own =
        |id: &str| stream.charts.iter().find(|chart| chart.id == id).unwrap_or_else(|| panic!("no {id}"));
    let of_module = |id: &str, module: &str| own(id).last(module).unwrap();
    assert_eq!(of_module("netdata.kmote_modules", "process"), 2);
    // The sum is exact; the kernel tells the parts by where its timer's interrupts found the process.
    let cpu = ["user", "system"].map(|part| own("netdata.kmote_cpu").last(part).unwrap());
    assert!(cpu.iter().sum::<i64>() > 0, "{cpu:?}");
    let maps = own("netdata.kmote_kernel_memory").last("maps").unwrap();
    assert!((1000..1_000_000).contains(&maps), "{maps} bytes");
    // A timer's interrupt comes on any machine.
    let (runs, time) = (
        of_module("netdata.kmote_program_runs", "softirq"),
        of_module("netdata.kmote_program_time", "softirq"),
    );
    assert!(runs > 0 && time > runs, "{runs} runs in {time} ns");
    assert_eq!(own("netdata.kmote_program_missed").units, "events/s");
}

#[test]
fn the_default_interval_is_one_second() {
    ticks_on_time(1, 2, kmote(&["--modules", "process", "--ticks", "2"]));
}

#[test]
fn netdatas_interval_is_the_floor() {
    let mut command = kmote(&["--modules", "process", "--ticks", "2", "1"]);
    command.env("NETDATA_UPDATE_EVERY", "2");
    ticks_on_time(2, 2, command);
}

#[test]
fn a_longer_interval_than_netdatas_stands() {
    let mut command = kmote(&["--modules", "process", "--ticks", "1", "3"]);
    command.env("NETDATA_UPDATE_EVERY", "2");
    ticks_on_time(3, 1, command);
}

fn microseconds(chart: &Chart) -> u64 {
    chart.updates.iter().filter_map(|update| update.microseconds).sum()
}

#[test]
fn a_late_tick_is_one_tick() {
    let mut running = Running::start(kmote(&["--modules", "process", "--ticks", "3", "1"]));
    running.wait_for("BEGIN system.exit", 1);
    running.signal("STOP");
    sleep(Duration::from_millis(3_500));
    running.signal("CONT");
    let stream = running.ends_within(LONG).with_status(0).stream();
    for chart in &stream.charts {
        assert_eq!(chart.updates.len(), 3);
        let steps: Vec<_> = chart.updates.iter().filter_map(|update| update.microseconds).collect();
        assert!(steps[0] >= 3_000_000, "{}: {steps:?}", chart.id);
        assert!(steps[1] <= 1_200_000, "{}: {steps:?}", chart.id);
    }
}

/// A pipe in a file, filled to the brim, so that the very first write finds no room.
struct FullPipe {
    _folder: Folder,
    reader: File,
    filled: usize,
    writer: File,
}

impl FullPipe {
    fn new() -> Self {
        let folder = Folder::new("pipe");
        let path = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let reader = OpenOptions::new().read(true).write(true).custom_flags(O_NONBLOCK).open(&path).unwrap();
        let mut filler = OpenOptions::new().write(true).custom_flags(O_NONBLOCK).open(&path).unwrap();
        let writer = OpenOptions::new().write(true).open(&path).unwrap();
        let mut filled = 0;
        for size in [4096, 1] {
            while let Ok(count) = filler.write(&vec![b'x'; size]) {
                filled += count;
            }
        }
        Self { _folder: folder, reader, filled, writer }
    }

    fn stdout(&self) -> Stdio {
        self.writer.try_clone().unwrap().into()
    }

    /// Takes what is there, without the filling.
    fn drain(&mut self) -> String {
        let mut bytes = Vec::new();
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = self.reader.read(&mut buffer) {
            let skipped = count.min(self.filled);
            self.filled -= skipped;
            bytes.extend_from_slice(&buffer[skipped..count]);
        }
        String::from_utf8(bytes).unwrap()
    }
}

#[test]
fn a_reader_that_stalls_costs_no_memory_and_does_not_hold_up_the_end() {
    let pipe = FullPipe::new();
    let command = kmote(&["--modules", "process", "1"]);
    let mut running = Running::start_with(command, Stdio::piped(), pipe.stdout());
    sleep(Duration::from_secs(2));
    let early = running.resident_kib();
    sleep(Duration::from_secs(3));
    assert!(running.is_running(), "{}", running.stderr());
    assert_eq!(running.resident_kib(), early);
    running.signal("TERM");
    running.ends_within(SOON).with_status(0);
}

#[test]
fn a_stalled_reader_that_hangs_up_stdin_ends_it() {
    let pipe = FullPipe::new();
    let command = kmote(&["--modules", "process", "1"]);
    let mut running = Running::start_with(command, Stdio::piped(), pipe.stdout());
    sleep(Duration::from_secs(2));
    running.hang_up();
    running.ends_within(SOON).with_status(0);
}

#[test]
fn a_reader_that_comes_back_finds_whole_ticks_and_no_burst() {
    let mut pipe = FullPipe::new();
    let command = kmote(&["--modules", "process", "1"]);
    let running = Running::start_with(command, Stdio::piped(), pipe.stdout());
    sleep(Duration::from_secs(4));
    let mut text = String::new();
    for _ in 0..30 {
        text += &pipe.drain();
        sleep(Duration::from_millis(100));
    }
    running.signal("TERM");
    running.ends_within(SOON).with_status(0);
    text += &pipe.drain();
    let stream = parse(&text).unwrap_or_else(|fault| panic!("{fault:?}\n{text}"));
    let chart = stream.chart("system.process_thread").unwrap();
    assert!((2..=4).contains(&chart.updates.len()), "a burst after the stall:\n{text}");
    assert!(microseconds(chart) <= 8_000_000, "{text}");
}
