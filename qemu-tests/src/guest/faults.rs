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
    expect: Expect,
}

/// What must be left of kmote under a fault.
#[derive(Clone, Copy)]
enum Expect {
    /// Every chart, and true counts.
    Everything,
    /// As much as the kernel lets through, but that truly.
    Truth,
    /// No chart; `kmote check` says this word.
    Nothing(&'static str),
}

fn nothing() -> std::io::Result<()> {
    Ok(())
}

const FAULTS: [Fault; 4] = [
    Fault { name: "no fault", make: nothing, undo: nothing, expect: Expect::Everything },
    Fault {
        name: "no BTF file",
        make: || sys::mount("tmpfs", "/sys/kernel/btf", "tmpfs", ""),
        undo: || sys::unmount("/sys/kernel/btf"),
        expect: Expect::Everything,
    },
    Fault {
        name: "no tracefs",
        make: || sys::unmount("/sys/kernel/tracing").and(sys::unmount("/sys/kernel/debug")),
        undo: || {
            sys::mount("debugfs", "/sys/kernel/debug", "debugfs", "").and(sys::mount(
                "tracefs",
                "/sys/kernel/tracing",
                "tracefs",
                "",
            ))
        },
        expect: Expect::Everything,
    },
    Fault {
        name: "kprobes disabled",
        make: || fs::write("/sys/kernel/debug/kprobes/enabled", "0"),
        undo: || fs::write("/sys/kernel/debug/kprobes/enabled", "1"),
        expect: Expect::Everything,
    },
];

/// Limits of the process alone.
const LIMITS: [(&str, &[Limit], Expect); 5] = [
    ("ulimit -l 64", &[Limit::LockedMemory(64 << 10)], Expect::Everything),
    ("ulimit -n 32", &[Limit::Files(32)], Expect::Everything),
    ("without CAP_SYS_ADMIN", &[Limit::Without(21)], Expect::Everything),
    ("CAP_BPF and CAP_PERFMON only", &[Limit::Only(&[38, 39])], Expect::Everything),
    ("as nobody", &[Limit::User(65534)], Expect::Nothing("CAP_")),
];

impl Run {
    pub fn faults(&mut self) {
        for fault in &FAULTS {
            match (fault.make)() {
                Ok(()) => self.under(fault.name, &[], fault.expect),
                Err(error) => self.skipped(fault.name, error.to_string()),
            }
            if let Err(error) = (fault.undo)() {
                println!("undo {}: {error}", fault.name);
            }
        }
        for (name, limits, expect) in LIMITS {
            self.under(name, limits, expect);
        }
        self.dead_kprobes();
        self.two_copies();
        self.stalled_reader();
        self.stopped();
        self.clock_set();
        self.lockdown();
    }

    /// Asks kmote which charts live, and lets it count.
    fn under(&mut self, name: &str, limits: &'static [Limit], expect: Expect) {
        let subject = Subject { module: "-", mechanism: "fault", work: name };
        let before = Remains::now();
        let failed = self.failed;
        let limited = || {
            let mut command = Command::new(PROGRAM);
            sys::limit(&mut command, limits);
            command
        };
        let output = limited().args(["check", "--json"]).stdin(Stdio::null()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let ok = chart_ids().iter().filter(|id| state(&text, id) == Some("ok")).count();
        match expect {
            Expect::Everything => {
                self.equal(subject, "charts that are ok", &chart_ids().len(), &ok);
                self.equal(subject, "kmote check", &"exit status: 0", &output.status);
                self.counts(subject, &mut limited(), Outcome::Failed);
            }
            Expect::Truth => self.counts(subject, &mut limited(), Outcome::Skipped),
            Expect::Nothing(word) => {
                self.equal(subject, "charts that are ok", &0, &ok);
                self.equal(subject, "kmote check fails", &true, &!output.status.success());
                self.equal(subject, &format!("it says {word}"), &true, &text.contains(word));
                let output = limited().args(["1", "--ticks", "1"]).stdin(Stdio::null()).output().unwrap();
                let text = String::from_utf8_lossy(&output.stdout).into_owned();
                self.equal(subject, "the stream", &"DISABLE", &text.trim());
            }
        }
        if self.failed > failed {
            println!("{}{text}", String::from_utf8_lossy(&output.stderr));
        }
        self.nothing_left(subject, &before);
    }

    fn counts(&mut self, subject: Subject, command: &mut Command, off: Outcome) {
        command.args(["slots", "--modules", "process"]);
        match Kmote::start_command(command) {
            Err(reason) => self.send(subject, "kmote slots", "ready", "", Outcome::Failed, reason),
            Ok(mut kmote) => {
                self.count_forks(subject, &mut [&mut kmote], off);
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

    /// Kprobes that attach and never fire: whoever asks for nothing else must be told, not be shown zeroes.
    fn dead_kprobes(&mut self) {
        let name = "kprobes disabled, --only kprobe";
        const SWITCH: &str = "/sys/kernel/debug/kprobes/enabled";
        if let Err(error) = fs::write(SWITCH, "0") {
            return self.skipped(name, error.to_string());
        }
        let subject = Subject { module: "process", mechanism: "fault", work: name };
        let attached = Kmote::start("process", &["--only", "kprobe"]).map(|kmote| {
            let count = kmote.hooks.iter().filter(|hook| hook.attached.is_some()).count();
            kmote.finish();
            count
        });
        self.equal(subject, "hooks said to be attached", &0, &attached.unwrap_or(0));
        let _ = fs::write(SWITCH, "1");
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

    /// The kernel shuts itself up; there is no way back, so this comes last.
    /// Confidentiality forbids kprobes and perf's events, and leaves trampolines and raw tracepoints.
    fn lockdown(&mut self) {
        const SWITCH: &str = "/sys/kernel/security/lockdown";
        for (level, expect) in [("integrity", Expect::Everything), ("confidentiality", Expect::Truth)] {
            let name = format!("lockdown {level}");
            match fs::write(SWITCH, level) {
                Ok(()) => self.under(&name, &[], expect),
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

fn chart_ids() -> Vec<&'static str> {
    let charts = MODULES.iter().flat_map(|module| module.charts);
    charts.filter(|chart| chart.mode == Mode::Entry).map(|chart| chart.id).collect()
}

/// The state of a chart in the text of `kmote check --json`.
fn state<'a>(json: &'a str, chart: &str) -> Option<&'a str> {
    let (_, rest) = json.split_once(&format!("\"id\":\"{chart}\""))?;
    let (_, rest) = rest.split_once("\"state\":\"")?;
    Some(rest.split_once('"')?.0)
}
