// SPDX-License-Identifier: GPL-3.0-or-later
//! The order of a guest's tests, and the rows that they send.

use kmote_core::chart::Mode;
use kmote_core::modules::MODULES;

use super::place::Place;
use super::remains::Remains;
use super::symbols;
use crate::row::{Outcome, Row, end_line};

/// Words of `--only`; the empty one leaves the choice to kmote.
const MECHANISMS: [&str; 5] = ["fentry", "raw_tp", "kprobe", "tp", ""];

/// What has rows beside the modules.
pub const OTHERS: [&str; 5] = ["apps", "footprint", "sandbox", "leaving", "faults"];
/// What is done only where it is asked for, since it takes long.
pub const ASKED: [&str; 1] = ["endurance"];

pub struct Run {
    pub place: Place,
    only: Vec<String>,
    /// Flags of the kernel, some with `=` and a number behind.
    flags: Vec<String>,
    rows: usize,
    pub failed: usize,
}

/// What a row is about: module, mechanism and work.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    pub module: &'a str,
    pub mechanism: &'a str,
    pub work: &'a str,
}

impl Run {
    pub fn new(place: Place, orders: &str) -> Self {
        let words = |key| {
            let values = orders.lines().filter_map(|line| line.split_once(' ')).filter(|(k, _)| *k == key);
            values.map(|(_, value)| value.to_owned()).collect()
        };
        Self { place, only: words("only"), flags: words("flag"), rows: 0, failed: 0 }
    }

    pub fn all(&mut self) {
        for module in MODULES {
            if self.wants(module.name) {
                if module.name == "xfs" {
                    self.coming();
                }
                for only in MECHANISMS {
                    self.mechanism(module, only, Mode::Entry);
                }
                for only in MECHANISMS {
                    self.mechanism(module, only, Mode::Return);
                }
            }
        }
        symbols::release();
        if self.wants("apps") {
            self.apps();
        }
        if self.wants("footprint") {
            self.footprint();
        }
        if self.only.iter().any(|name| name == "endurance") {
            self.endurance();
        }
        if self.wants("sandbox") {
            self.confined();
        }
        if self.wants("leaving") {
            self.leaving();
        }
        if self.wants("faults") {
            self.stream();
        }
        if self.wants("faults") {
            self.faults();
        }
    }

    pub fn end(&self) {
        println!("{}", end_line(self.rows));
    }

    pub fn wants(&self, module: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == module)
    }

    pub fn told(&self, flag: &str) -> bool {
        self.flags.iter().any(|f| f == flag)
    }

    /// Whether kmote is as `cross/build.sh` makes it.
    pub fn is_shipped(&self) -> bool {
        cfg!(not(target_arch = "x86_64")) || self.flags.iter().any(|flag| flag.starts_with("kmote="))
    }

    /// The number of a flag.
    pub fn number(&self, flag: &str) -> Option<u64> {
        self.flags.iter().find_map(|f| f.strip_prefix(flag)?.strip_prefix('=')?.parse().ok())
    }

    /// Whether a mechanism may be absent on this kernel.
    pub fn excused(&self, mechanism: &str) -> Option<String> {
        if self.told(&format!("no-{mechanism}")) {
            Some(format!("this kernel has no {mechanism} for functions"))
        } else {
            self.told("unknown").then(|| "not a kernel of the matrix".to_owned())
        }
    }

    /// Whether this one hook may be absent on this kernel.
    pub fn excused_hook(&self, mechanism: &str, module: &str, event: &str) -> Option<String> {
        let flag = format!("no-{mechanism}:{module}.{event}");
        let listed = self.flags.contains(&flag).then(|| format!("the matrix says {flag}"));
        listed.or_else(|| self.excused(mechanism))
    }

    pub fn nothing_left(&mut self, subject: Subject, before: &Remains) {
        for (what, more) in before.wait_for_none() {
            match more {
                Some(more) => self.equal(subject, what, &0, &more),
                None => self.send(
                    subject,
                    what,
                    "0",
                    "",
                    Outcome::Skipped,
                    "this kernel cannot list them".to_owned(),
                ),
            }
        }
    }

    pub fn equal(&mut self, subject: Subject, counted: &str, expected: &impl ToString, seen: &impl ToString) {
        let (expected, seen) = (expected.to_string(), seen.to_string());
        let outcome = if expected == seen { Outcome::Passed } else { Outcome::Failed };
        self.send(subject, counted, &expected, &seen, outcome, String::new());
    }

    /// A number that must not be greater than another, or that is only shown.
    pub fn most(&mut self, subject: Subject, what: &str, most: Option<u64>, seen: u64, beside: String) {
        let outcome = if most.is_none_or(|most| seen <= most) { Outcome::Passed } else { Outcome::Failed };
        let most = most.map_or(String::new(), |most| format!("≤{most}"));
        self.send(subject, what, &most, &seen.to_string(), outcome, beside);
    }

    pub fn send(
        &mut self,
        subject: Subject,
        counted: &str,
        expected: &str,
        seen: &str,
        outcome: Outcome,
        why: String,
    ) {
        let row = Row {
            module: subject.module.to_owned(),
            mechanism: subject.mechanism.to_owned(),
            work: subject.work.to_owned(),
            subject: counted.to_owned(),
            expected: expected.to_owned(),
            seen: seen.to_owned(),
            outcome,
            why,
        };
        self.rows += 1;
        self.failed += usize::from(outcome == Outcome::Failed);
        println!("{}", row.to_line());
    }
}
