// SPDX-License-Identifier: GPL-3.0-or-later
//! Everything at once under the sandbox: what it gives up, and that it costs no chart and no word on stderr.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use super::kmote::{PROGRAM, every_module};
use super::run::{Run, Subject};
use super::sys;

/// CAP_SYS_ADMIN and CAP_BPF: reading a map takes one of them before 5.19 where `unprivileged_bpf_disabled` is set.
const READING: u64 = 1 << 21 | 1 << 39;
/// The same and CAP_PERFMON: modules of filesystems are attached when these are loaded.
const ATTACHING: u64 = READING | 1 << 38;

/// What a run of a few ticks showed.
struct Seen {
    status: String,
    /// Charts that had values.
    charts: BTreeSet<String>,
    stderr: String,
    exit: String,
}

impl Run {
    pub fn confined(&mut self) {
        let subject =
            Subject { module: "-", mechanism: "sandbox", work: "every module, return mode, applications" };
        let every = every_module();
        let arguments = ["1", "--modules", &every, "--mode", "return", "--apps"];
        let free = observe(&[&arguments[..], &["--no-sandbox"]].concat());
        let confined = observe(&arguments);
        self.gives_up(subject, &confined, ATTACHING);
        self.equal(subject, "charts with values", &free.charts.len(), &compared(&free, &confined));
        let refused = confined.stderr.lines().filter(|line| line.contains("not permitted")).count();
        self.equal(subject, "complaints of EPERM", &0, &refused);
        self.equal(subject, "exit status", &"exit status: 0", &confined.exit);
        let subject = Subject { work: "one module", ..subject };
        self.gives_up(subject, &observe(&["1", "--modules", "process"]), READING);
    }

    fn gives_up(&mut self, subject: Subject, seen: &Seen, allowed: u64) {
        let capabilities = u64::from_str_radix(&field(&seen.status, "CapPrm"), 16).unwrap_or(u64::MAX);
        self.equal(
            subject,
            "capabilities beyond those for maps",
            &"0",
            &format!("{:x}", capabilities & !allowed),
        );
        self.equal(subject, "NoNewPrivs", &1, &field(&seen.status, "NoNewPrivs"));
        self.equal(subject, "Seccomp", &2, &field(&seen.status, "Seccomp"));
    }
}

/// How many charts a run showed if they are those of another run, and else which are missing or too many.
fn compared(expected: &Seen, seen: &Seen) -> String {
    match expected.charts.symmetric_difference(&seen.charts).cloned().collect::<Vec<_>>() {
        none if none.is_empty() => seen.charts.len().to_string(),
        others => others.join(" "),
    }
}

fn field(status: &str, name: &str) -> String {
    let line = status.lines().find_map(|line| line.strip_prefix(&format!("{name}:")));
    line.unwrap_or("absent").trim().to_owned()
}

/// Runs it until it has sent four ticks; its status is taken then.
fn observe(arguments: &[&str]) -> Seen {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (lines, mut errors) = (BufReader::new(child.stdout.take().unwrap()), child.stderr.take().unwrap());
    let (mut charts, mut ticks) = (BTreeSet::new(), 0);
    for line in lines.lines().map_while(Result::ok) {
        let Some(chart) = line.strip_prefix("BEGIN ").and_then(|rest| rest.split(' ').next()) else {
            continue;
        };
        ticks += usize::from(chart == "system.process_thread");
        if ticks == 4 {
            break;
        }
        // What an application is, and whether a disk was used, is not the same in two runs.
        if chart.starts_with("system.") || chart.starts_with("mem.") || chart.starts_with("filesystem.") {
            charts.insert(chart.to_owned());
        }
    }
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    sys::kill(child.id(), libc::SIGTERM);
    let exit = child.wait().map(|status| status.to_string()).unwrap_or_default();
    let mut stderr = String::new();
    let _ = errors.read_to_string(&mut stderr);
    Seen { status, charts, stderr, exit }
}
