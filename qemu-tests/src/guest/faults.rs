// SPDX-License-Identifier: GPL-3.0-or-later
//! What goes wrong on real machines: what still lives, what is said, and what is left behind.

use std::fs;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use kmote_core::chart::Mode;
use kmote_core::modules::MODULES;

use super::kmote::{Kmote, PROGRAM, Reading};
use super::remains::Remains;
use super::run::{Run, Subject};
use super::stream::Stream;
use super::sys::{self, Limit};
use crate::row::Outcome;

const FORKS: u64 = 23;

/// A fault of the system: made, kmote asked, undone.
struct Fault {
    name: &'static str,
    make: fn() -> std::io::Result<()>,
    undo: fn() -> std::io::Result<()>,
    /// What kmote must name as the reason for every chart that it loses.
    word: &'static str,
}

const KPROBES: &str = "/sys/kernel/debug/kprobes/enabled";

const FAULTS: [Fault; 3] = [
    Fault {
        name: "no BTF file",
        make: || sys::mount("tmpfs", "/sys/kernel/btf", "tmpfs", ""),
        undo: || sys::unmount("/sys/kernel/btf"),
        word: "BTF",
    },
    Fault {
        name: "no tracefs",
        make: || sys::unmount("/sys/kernel/tracing").and(sys::unmount("/sys/kernel/debug")),
        undo: || {
            sys::mount("debugfs", "/sys/kernel/debug", "debugfs", "")?;
            sys::mount("tracefs", "/sys/kernel/tracing", "tracefs", "")
        },
        word: "tracefs",
    },
    // They attach all the same, and never fire.
    Fault {
        name: "kprobes disabled",
        make: || fs::write(KPROBES, "0"),
        undo: || fs::write(KPROBES, "1"),
        word: "kprobes",
    },
];

/// Limits of the process alone, and the word again, or one of several.
const LIMITS: [(&str, &[Limit], &str); 4] = [
    ("ulimit -l 64", &[Limit::LockedMemory(64 << 10)], "locked memory"),
    ("ulimit -n 32", &[Limit::Files(32)], "too many open files"),
    ("without CAP_SYS_ADMIN", &[Limit::Without(21)], "CAP_"),
    // Before v5.11 locked memory was counted, and CAP_SYS_RESOURCE is what raises its limit.
    ("CAP_BPF and CAP_PERFMON only", &[Limit::Only(&[38, 39])], "CAP_|locked memory"),
];

impl Run {
    pub fn faults(&mut self) {
        let whole = self.no_fault();
        for fault in &FAULTS {
            match (fault.make)() {
                Ok(()) => self.under(fault.name, &[], &whole, fault.word),
                Err(error) => self.skipped(fault.name, error.to_string()),
            }
            if let Err(error) = (fault.undo)() {
                println!("undo {}: {error}", fault.name);
            }
        }
        for (name, limits, word) in LIMITS {
            self.under(name, limits, &whole, word);
        }
        self.nobody();
        self.dead_kprobes();
        self.two_copies();
        self.stalled_reader();
        self.stopped();
        self.clock_set();
        self.lockdown(&whole);
    }

    /// The charts that this kernel has when nothing is wrong.
    fn no_fault(&mut self) -> Vec<&'static str> {
        let subject = Subject { module: "-", mechanism: "fault", work: "no fault" };
        let found = Found::ask(&[]);
        let lost: Vec<_> = charts().filter(|id| found.state(id) != Some("ok")).collect();
        let excuse = ["fentry", "kprobe"].iter().find_map(|mechanism| self.excused(mechanism));
        match excuse {
            Some(excuse) if !lost.is_empty() => {
                self.send(subject, "charts not ok", "", &lost.join(" "), Outcome::Skipped, excuse);
            }
            _ => self.equal(subject, "charts not ok", &"", &lost.join(" ")),
        }
        charts().filter(|id| found.state(id) == Some("ok")).collect()
    }

    /// Every chart is ok, or kmote names the reason; and what it counts is true.
    fn under(&mut self, name: &str, limits: &'static [Limit], whole: &[&'static str], word: &str) {
        let subject = Subject { module: "-", mechanism: "fault", work: name };
        let before = Remains::now();
        let found = Found::ask(limits);
        let explained = |id: &&str| {
            found.state(id) == Some("ok") || word.split('|').any(|word| found.reason(id).contains(word))
        };
        let lost: Vec<_> = whole.iter().filter(|id| !explained(id)).copied().collect();
        self.equal(subject, "charts lost for no reason told", &"", &lost.join(" "));
        if !lost.is_empty() {
            println!("{}{}", found.errors, found.text);
        }
        self.equal(subject, "kmote check", &"exit status: 0", &found.status);
        let mut command = Command::new(PROGRAM);
        sys::limit(&mut command, limits);
        self.counts(subject, &mut command);
        self.nothing_left(subject, &before);
    }

    /// No privilege: no chart, the reason, and the word that keeps Netdata from trying again.
    fn nobody(&mut self) {
        const NOBODY: &[Limit] = &[Limit::User(65534)];
        let subject = Subject { module: "-", mechanism: "fault", work: "as nobody" };
        let found = Found::ask(NOBODY);
        let ok = charts().filter(|id| found.state(id) == Some("ok")).count();
        self.equal(subject, "charts that are ok", &0, &ok);
        self.equal(subject, "kmote check fails", &true, &(found.status != "exit status: 0"));
        let unexplained = charts().filter(|id| !found.reason(id).contains("CAP_")).count();
        self.equal(subject, "charts without CAP_ in their reason", &0, &unexplained);
        let mut command = Command::new(PROGRAM);
        sys::limit(&mut command, NOBODY);
        let output = command.args(["1", "--ticks", "1"]).stdin(Stdio::null()).output().unwrap();
        self.equal(subject, "the stream", &"DISABLE", &String::from_utf8_lossy(&output.stdout).trim());
    }

    fn counts(&mut self, subject: Subject, command: &mut Command) {
        command.args(["slots", "--modules", "process"]);
        match Kmote::start_command(command) {
            Err(reason) => self.send(subject, "kmote slots", "ready", "", Outcome::Failed, reason),
            Ok(mut kmote) => {
                self.count_forks(subject, &mut [&mut kmote], Outcome::Skipped);
                self.equal(subject, "exit status", &"exit status: 0", &kmote.finish());
            }
        }
    }

    /// Forks, and each of the copies must have seen all of it, in every slot; what it means if a slot is off, the caller says.
    fn count_forks(&mut self, subject: Subject, copies: &mut [&mut Kmote], off: Outcome) {
        let before: Vec<Reading> = copies.iter_mut().map(|kmote| kmote.read().unwrap_or_default()).collect();
        for _ in 0..FORKS {
            sys::reap(sys::fork(|| 0));
        }
        for (kmote, before) in copies.iter_mut().zip(before) {
            let seen = late_reading(kmote, &before);
            for slot in ["process", "exit", "exit_process", "release"] {
                match seen.get(slot).zip(before.get(slot)) {
                    Some((after, before)) => self.equal(subject, slot, &FORKS, &(after - before)),
                    None => self.send(subject, slot, "23", "", off, "its hook is off".to_owned()),
                }
            }
        }
    }

    /// Whoever asks for kprobes alone must be told that they are off, not be shown zeroes.
    fn dead_kprobes(&mut self) {
        let name = "kprobes disabled, --only kprobe";
        if let Err(error) = fs::write(KPROBES, "0") {
            return self.skipped(name, error.to_string());
        }
        let subject = Subject { module: "process", mechanism: "fault", work: name };
        let attached = Kmote::start("process", &["--only", "kprobe"]).map(|kmote| {
            let count = kmote.hooks.iter().filter(|hook| hook.attached.is_some()).count();
            kmote.finish();
            count
        });
        self.equal(subject, "hooks said to be attached", &0, &attached.unwrap_or(0));
        let _ = fs::write(KPROBES, "1");
    }

    fn two_copies(&mut self) {
        let subject = Subject { module: "-", mechanism: "fault", work: "two copies at once" };
        match (Kmote::start("process", &[]), Kmote::start("process", &[])) {
            (Ok(mut one), Ok(mut two)) => {
                self.count_forks(subject, &mut [&mut one, &mut two], Outcome::Failed);
                // What the first one leaves must not be taken from the second.
                self.equal(subject, "exit status", &"exit status: 0", &one.finish());
                self.count_forks(subject, &mut [&mut two], Outcome::Failed);
                two.finish();
            }
            (one, two) => {
                let reason = one.err().or(two.err()).unwrap_or_default();
                self.send(subject, "kmote slots", "ready", "", Outcome::Failed, reason);
            }
        }
    }

    /// Nobody reads for ten seconds.
    fn stalled_reader(&mut self) {
        self.interrupted("reader stalls for 10 s", |_| sleep(Duration::from_secs(10)));
    }

    /// The process is stopped for five ticks, as by a suspend: one late tick, and no burst.
    fn stopped(&mut self) {
        self.interrupted("stopped for 5 ticks", |stream| {
            sys::kill(stream.child.id(), libc::SIGSTOP);
            sleep(Duration::from_secs(5));
            sys::kill(stream.child.id(), libc::SIGCONT);
        });
    }

    fn clock_set(&mut self) {
        self.interrupted("clock set by an hour and back", |stream| {
            sys::shift_clock(3600);
            stream.tick();
            sys::shift_clock(-3600);
        });
    }

    /// The kernel shuts itself up; there is no way back, so this comes last. Confidentiality forbids kprobes and
    /// perf's events, and leaves trampolines and raw tracepoints.
    fn lockdown(&mut self, whole: &[&'static str]) {
        for level in ["integrity", "confidentiality"] {
            let name = format!("lockdown {level}");
            match fs::write("/sys/kernel/security/lockdown", level) {
                Ok(()) => self.under(&name, &[], whole, "lockdown"),
                Err(error) => self.skipped(&name, error.to_string()),
            }
        }
    }

    /// Runs a stream, disturbs it, and looks whether its ticks and sums are right all the same.
    fn interrupted(&mut self, name: &str, disturb: fn(&mut Stream)) {
        let subject = Subject { module: "process", mechanism: "fault", work: name };
        let mut stream = Stream::start(14);
        stream.tick();
        let before = stream.value;
        for _ in 0..FORKS {
            sys::reap(sys::fork(|| 0));
        }
        let start = std::time::Instant::now();
        disturb(&mut stream);
        for _ in 0..2 {
            stream.tick();
        }
        sys::kill(stream.child.id(), libc::SIGTERM);
        let status = stream.drain();
        let seconds = start.elapsed().as_secs() as usize + 2;
        self.equal(subject, "exit status", &"exit status: 0", &status);
        self.equal(subject, "sum of the SETs", &(FORKS as i64), &(stream.value - before));
        self.equal(subject, "no burst of ticks", &true, &(stream.ticks <= seconds));
        // No tick before its time: 1 s, less what a loaded guest wakes up late for the one before.
        let total: u64 = stream.intervals.iter().sum();
        self.equal(subject, "no hour in the intervals", &true, &(total < 60_000_000));
    }

    fn skipped(&mut self, name: &str, why: String) {
        let subject = Subject { module: "-", mechanism: "fault", work: name };
        self.send(subject, "all", "", "", Outcome::Skipped, why);
    }
}

/// A reading, once all tasks are released: one of the hooks sees that only after an RCU grace period.
fn late_reading(kmote: &mut Kmote, before: &Reading) -> Reading {
    for _ in 0..100 {
        let reading = kmote.read().unwrap_or_default();
        if reading
            .get("release")
            .zip(before.get("release"))
            .is_none_or(|(after, before)| after - before >= FORKS)
        {
            return reading;
        }
        sleep(Duration::from_millis(20));
    }
    kmote.read().unwrap_or_default()
}

/// The charts that need no return hooks.
fn charts() -> impl Iterator<Item = &'static str> {
    let charts = MODULES.iter().flat_map(|module| module.charts);
    charts.filter(|chart| chart.mode == Mode::Entry).map(|chart| chart.id)
}

/// What `kmote check --json` found.
struct Found {
    status: String,
    text: String,
    errors: String,
}

impl Found {
    fn ask(limits: &'static [Limit]) -> Self {
        let names: Vec<_> = MODULES.iter().map(|module| module.name).collect();
        let mut command = Command::new(PROGRAM);
        sys::limit(&mut command, limits);
        command.args(["check", "--json", "--modules", &names.join(",")]);
        let output = command.stdin(Stdio::null()).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { status: output.status.to_string(), text: text(&output.stdout), errors: text(&output.stderr) }
    }

    fn state(&self, chart: &str) -> Option<&str> {
        self.field(chart, "\"state\":\"")
    }

    fn reason(&self, chart: &str) -> &str {
        self.field(chart, "\"reason\":\"").unwrap_or_default()
    }

    /// The first field of this name behind the chart's id.
    fn field(&self, chart: &str, key: &str) -> Option<&str> {
        let (_, rest) = self.text.split_once(&format!("\"id\":\"{chart}\""))?;
        let (_, rest) = rest.split_once(key)?;
        Some(rest.split_once('"')?.0)
    }
}
