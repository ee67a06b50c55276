// SPDX-License-Identifier: GPL-3.0-or-later
//! What goes wrong on real machines: what still lives, what is said, and what is left behind.

use std::fs;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use kmote_core::chart::Mode;
use kmote_core::modules::MODULES;

use super::kmote::{Kmote, PROGRAM};
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
        self.two_copies();
        self.stalled_reader();
        self.stopped();
        self.clock_set();
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
                self.counts(subject, &mut limited());
            }
            Expect::Nothing(word) => {
                self.equal(subject, "charts that are ok", &0, &ok);
                self.equal(subject, "kmote check fails", &true, &!output.status.success());
                self.equal(subject, &format!("it says {word}"), &true, &text.contains(word));
                let output = limited().arg("1").stdin(Stdio::null()).output().unwrap();
                let text = String::from_utf8_lossy(&output.stdout).into_owned();
                self.equal(subject, "the stream", &"DISABLE", &text.trim());
            }
        }
        if self.failed > failed {
            println!("{}{text}", String::from_utf8_lossy(&output.stderr));
        }
        self.nothing_left(subject, &before);
    }

    fn counts(&mut self, subject: Subject, command: &mut Command) {
        command.args(["slots", "--modules", "process"]);
        match Kmote::start_command(command) {
            Err(reason) => self.send(subject, "kmote slots", "ready", "", Outcome::Failed, reason),
            Ok(mut kmote) => {
                self.count_forks(subject, &mut [&mut kmote]);
                self.equal(subject, "exit status", &"exit status: 0", &kmote.finish());
            }
        }
    }

    /// Forks once, and each of the copies must have seen all of it.
    fn count_forks(&mut self, subject: Subject, copies: &mut [&mut Kmote]) {
        let process =
            |kmote: &mut Kmote| kmote.read().ok().and_then(|r| r.get("process").copied()).unwrap_or(0);
        let before: Vec<u64> = copies.iter_mut().map(|kmote| process(kmote)).collect();
        for _ in 0..FORKS {
            sys::reap(sys::fork(|| 0));
        }
        for (kmote, before) in copies.iter_mut().zip(before) {
            self.equal(subject, "process", &FORKS, &(process(kmote) - before));
        }
    }

    fn two_copies(&mut self) {
        let subject = Subject { module: "-", mechanism: "fault", work: "two copies at once" };
        match (Kmote::start("process", &[]), Kmote::start("process", &[])) {
            (Ok(mut one), Ok(mut two)) => {
                self.count_forks(subject, &mut [&mut one, &mut two]);
                // What the first one leaves must not be taken from the second.
                self.equal(subject, "exit status", &"exit status: 0", &one.finish());
                self.count_forks(subject, &mut [&mut two]);
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
