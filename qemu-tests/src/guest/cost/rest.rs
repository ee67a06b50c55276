// SPDX-License-Identifier: GPL-3.0-or-later
//! How often kmote's programs run while nothing goes on, by the chart in which kmote tells of it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::guest::kmote::{PROGRAM, every_module};
use crate::guest::run::{Run, Subject};
use crate::guest::sys;
use crate::row::Outcome;

const CHART: &str = "netdata.kmote_program_runs";
/// It comes every ten seconds; the first belongs to the start, and a minute lies between these.
const FIRST: usize = 2;
const LAST: usize = 8;

impl Run {
    pub fn rest(&mut self) {
        let subject = Subject { module: "-", mechanism: "best", work: "nothing, for a minute" };
        if fs::write("/proc/sys/kernel/bpf_stats_enabled", "1").is_err() {
            let why = "this kernel does not count the runs of programs".to_owned();
            return self.send(subject, "all", "", "", Outcome::Skipped, why);
        }
        let mut kmote = Command::new(PROGRAM)
            .args(["1", "--modules", &every_module()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create("/tmp/errors").unwrap())
            .spawn()
            .unwrap();
        let totals = follow(BufReader::new(kmote.stdout.take().unwrap()));
        sys::kill(kmote.id(), libc::SIGTERM);
        kmote.wait().unwrap();
        fs::write("/proc/sys/kernel/bpf_stats_enabled", "0").unwrap();
        self.equal(subject, "modules are told of", &true, &!totals.is_empty());
        for (module, [first, last]) in totals {
            self.most(Subject { module: &module, ..subject }, "events", None, last - first, String::new());
        }
    }
}

/// The totals of each module as they were sent first and last.
fn follow(lines: impl BufRead) -> BTreeMap<String, [u64; 2]> {
    let (mut totals, mut sent, mut inside) = (BTreeMap::new(), 0, false);
    for line in lines.lines().map(Result::unwrap) {
        let words: Vec<&str> = line.split([' ', '=', '\'']).filter(|word| !word.is_empty()).collect();
        match words.as_slice() {
            ["BEGIN", chart, ..] => {
                inside = *chart == CHART;
                sent += usize::from(inside);
            }
            ["SET", module, value] if inside && sent >= FIRST => {
                let value = value.parse().unwrap();
                totals.entry((*module).to_owned()).or_insert([value; 2])[1] = value;
            }
            ["END"] if inside && sent == LAST => break,
            _ => {}
        }
    }
    totals
}
