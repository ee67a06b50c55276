// SPDX-License-Identifier: GPL-3.0-or-later
//! What goes wrong on real machines: what still lives, what is said, and what is left behind.

use std::fs;
use std::process::{Command, Stdio};

use kmote_core::chart::Mode;
use kmote_core::modules::MODULES;

use super::kmote::{Kmote, PROGRAM};
use super::remains::Remains;
use super::run::{Run, Subject};
use super::sys::{self, Limit};
use crate::row::Outcome;

/// Modules that between them use every mechanism and that every kernel has.
const ASKED: [&str; 5] = ["process", "cachestat", "softirq", "sync", "fd"];

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
const LIMITS: [(&str, &[Limit], &str); 6] = [
    ("ulimit -l 64", &[Limit::LockedMemory(64 << 10)], "locked memory"),
    // The same where it may not be raised, and where it need not be.
    ("ulimit -l 64, fixed", &[Limit::LockedMemory(64 << 10), Limit::Without(24)], "locked memory"),
    ("ulimit -l unlimited, fixed", &[Limit::LockedMemory(u64::MAX), Limit::Without(24)], "none"),
    ("ulimit -n 32", &[Limit::Files(32)], "too many open files"),
    // Debian's perf_event_paranoid of 3 asks for CAP_SYS_ADMIN where CAP_PERFMON should do.
    ("without CAP_SYS_ADMIN", &[Limit::Without(21)], "CAP_|security policy"),
    // Before v5.11 locked memory was counted, and CAP_SYS_RESOURCE is what raises its limit.
    ("CAP_BPF and CAP_PERFMON only", &[Limit::Only(&[38, 39])], "CAP_|locked memory|security policy"),
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
        self.interruptions();
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

    fn skipped(&mut self, name: &str, why: String) {
        let subject = Subject { module: "-", mechanism: "fault", work: name };
        self.send(subject, "all", "", "", Outcome::Skipped, why);
    }
}

/// The charts that need no return hooks.
fn charts() -> impl Iterator<Item = &'static str> {
    let charts =
        MODULES.iter().filter(|module| ASKED.contains(&module.name)).flat_map(|module| module.charts);
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
        let mut command = Command::new(PROGRAM);
        sys::limit(&mut command, limits);
        command.args(["check", "--json", "--modules", &ASKED.join(",")]);
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
