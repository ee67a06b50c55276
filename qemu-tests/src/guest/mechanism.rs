// SPDX-License-Identifier: GPL-3.0-or-later
//! One module by one mechanism: attach, work, compare, detach.

use std::collections::BTreeMap;
use std::fs;
use std::thread::sleep;
use std::time::Duration;

use kmote_core::chart::Mode;
use kmote_core::hook::{Mechanism, Probe};
use kmote_core::module::Module;

use super::bpf;
use super::kmote::{ANSWER, Kmote, Reading};
use super::remains::Remains;
use super::run::{Run, Subject};
use super::symbols;
use crate::row::Outcome;
use crate::workloads::{self, Step};

/// How often a step is tried when the kernel's own counter says that something else was going on too.
const TRIES: usize = 5;

/// This tracepoint fires after an RCU grace period.
const LATE: &str = "sched_process_free";

impl Run {
    /// One module by one mechanism: attaches, does all steps, detaches, looks for remains.
    pub fn mechanism(&mut self, module: &'static Module, only: &str, mode: Mode) {
        if let Some(disk) = workloads::disk(module.name) {
            self.place.turn_to(disk);
        }
        let mut steps = workloads::steps(module.name, mode);
        steps.retain(|step| step.cpus <= self.place.cpus);
        let probes: Vec<&Probe> =
            module.probes_in(mode).map(|(_, probe)| probe).filter(|p| offers(p, only)).collect();
        // Return mode is for the probes that only it has.
        if probes.is_empty() || mode == Mode::Return && probes.iter().all(|p| p.mode == Mode::Entry) {
            return;
        }
        let name = match (only, mode) {
            ("", Mode::Entry) => "best".to_owned(),
            ("", Mode::Return) => "return".to_owned(),
            (_, Mode::Entry) => only.to_owned(),
            (_, Mode::Return) => format!("{only} return"),
        };
        let mut options = Vec::new();
        if !only.is_empty() {
            options.extend(["--only", only]);
        }
        if mode == Mode::Return {
            options.extend(["--mode", "return"]);
        }
        let subject = Subject { module: module.name, mechanism: &name, work: "attach" };
        symbols::keep();
        let before = Remains::now();
        match Kmote::start(module.name, &options) {
            Err(reason) => self.refused(subject, only, reason),
            Ok(mut kmote) => {
                let live = self.attached(subject, module, &probes, &kmote);
                for step in &steps {
                    let subject = Subject { work: step.name, ..subject };
                    self.step(subject, step, &live, &mut kmote);
                }
                self.own_check(subject, module.name, steps.is_empty(), &mut kmote);
                let subject = Subject { work: "detach", ..subject };
                self.equal(subject, "exit status", &"exit status: 0", &kmote.finish());
                self.nothing_left(subject, &before);
            }
        }
        let killed = only.is_empty() && mode == Mode::Entry || (only, module.name) == ("kprobe", "process");
        if let Some(kmote) = killed.then(|| Kmote::start(module.name, &options).ok()).flatten() {
            kmote.kill();
            // The next start sweeps away what only a file of tracefs keeps.
            let _ = Kmote::start(module.name, &options).map(Kmote::finish);
            self.nothing_left(Subject { work: "SIGKILL", ..subject }, &before);
        }
    }

    fn own_check(&mut self, subject: Subject, module: &str, alone: bool, kmote: &mut Kmote) {
        let outcome = match workloads::check(module) {
            // The hooks' own rows say whether that is a failure.
            Some(_) if kmote.hooks.iter().all(|hook| hook.attached.is_none()) => return,
            Some(check) if subject.mechanism != "return" => check(self, subject, kmote),
            _ if alone => {
                let subject = Subject { work: "all", ..subject };
                return self.send(subject, "all", "", "", Outcome::Skipped, "no workload".to_owned());
            }
            _ => return,
        };
        if let Err(reason) = outcome {
            self.send(subject, "kmote slots", "a reading", "", Outcome::Failed, reason);
        }
    }

    fn refused(&mut self, subject: Subject, only: &str, reason: String) {
        let (outcome, why) = match self.excused(only) {
            Some(excuse) => (Outcome::Skipped, format!("{excuse}; {reason}")),
            None => (Outcome::Failed, reason),
        };
        self.send(subject, "kmote slots", "ready", "", outcome, why);
    }

    /// A row for each probe; the slots that must count now.
    fn attached(
        &mut self,
        subject: Subject,
        module: &Module,
        probes: &[&Probe],
        kmote: &Kmote,
    ) -> BTreeMap<String, String> {
        let mut dead = Vec::new();
        let mut live = BTreeMap::new();
        for probe in module.probes {
            let names = probe.slots.iter().map(|slot| module.slots[*slot].to_owned());
            let hook = kmote.hooks.iter().find(|hook| hook.event == probe.event);
            match hook.and_then(|hook| hook.attached.as_ref()) {
                Some((_, target)) => live.extend(names.map(|name| (name, target.clone()))),
                None => dead.extend(names),
            }
            if !probes.iter().any(|p| p.event == probe.event) {
                continue;
            }
            let counted = format!("hook {}", probe.event);
            match hook.map(|hook| (&hook.attached, &hook.reason)) {
                Some((Some((mechanism, target)), _)) => {
                    let seen = format!("{mechanism} {target}");
                    self.send(subject, &counted, "attached", &seen, Outcome::Passed, String::new());
                }
                Some((None, reason)) => {
                    let mechanism = probe.hooks.iter().find(|h| fits(h.mechanism(), subject.mechanism));
                    let family = mechanism.map_or("", |h| h.mechanism().family());
                    let excuse = self.excused_hook(family, module.name, probe.event);
                    let (outcome, why) = match excuse.or_else(|| absent(probe, subject.mechanism)) {
                        Some(excuse) => (Outcome::Skipped, format!("{excuse}; {reason}")),
                        // By choice: see hook::Refusal::InModule.
                        None if reason.contains("from being unloaded") || away(reason) => {
                            (Outcome::Skipped, reason.clone())
                        }
                        None => (Outcome::Failed, reason.clone()),
                    };
                    self.send(subject, &counted, "attached", "off", outcome, why);
                }
                None => self.send(subject, &counted, "attached", "no line", Outcome::Failed, String::new()),
            }
        }
        live.retain(|name, _| !dead.contains(name));
        live
    }

    fn step(&mut self, subject: Subject, step: &Step, live: &BTreeMap<String, String>, kmote: &mut Kmote) {
        if let Some(disk) = step.disk.filter(|disk| !self.place.has(disk)) {
            let why = format!("no disk {disk} in this guest");
            return self.send(subject, "all", "", "", Outcome::Skipped, why);
        }
        for rest in (0..TRIES).rev() {
            (step.prepare)(&mut self.place);
            self.wait_for_the_dead(live, kmote);
            let (counted, missed) = (step.count(), bpf::missed());
            let Ok(before) = kmote.read() else { break };
            (step.work)(&mut self.place);
            let Ok(after) = self.settled(step, live, &before, kmote) else { break };
            let kernel = step.since(&counted);
            let quiet = kernel.iter().all(|(_, expected, seen)| expected == seen);
            // A perf program that interrupts another on its CPU is not run, and this tracepoint fires in a softirq. Nor
            // is one that is running there already, for a task that was preempted in it; the kernel counts those.
            let lost = subject.mechanism == "tp" && late_slots(step, live, &before, &after)
                || bpf::missed() > missed;
            if quiet && !lost || rest == 0 {
                for (counter, expected, seen) in kernel {
                    self.equal(Subject { mechanism: "kernel", ..subject }, counter.name(), &expected, &seen);
                }
                return self.compare(subject, step, live, &before, &after);
            }
        }
        self.send(subject, "all", "", "", Outcome::Failed, "kmote slots ended early".to_owned());
    }

    /// Waits until tasks of the step before have gone for good, where their going is what is counted.
    fn wait_for_the_dead(&self, live: &BTreeMap<String, String>, kmote: &mut Kmote) {
        let mut last = None;
        for _ in 0..20 {
            let reading = kmote.read().ok();
            if live.values().all(|target| target != LATE) || last == reading {
                return;
            }
            last = reading;
            sleep(Duration::from_millis(100));
        }
    }

    /// The reading after the work. What is late is waited for.
    fn settled(
        &self,
        step: &Step,
        live: &BTreeMap<String, String>,
        before: &Reading,
        kmote: &mut Kmote,
    ) -> Result<Reading, String> {
        for _ in 0..100 {
            let reading = kmote.read()?;
            if !late_slots(step, live, before, &reading) {
                return Ok(reading);
            }
            sleep(Duration::from_millis(20));
        }
        kmote.read()
    }

    fn compare(
        &mut self,
        subject: Subject,
        step: &Step,
        live: &BTreeMap<String, String>,
        a: &Reading,
        b: &Reading,
    ) {
        for (key, expected) in step.expect {
            let (slot, only_by) = workloads::parted(key);
            let target = live.get(&slot.replace('*', "0"));
            if !target.is_some_and(|target| target.contains(only_by)) {
                continue;
            }
            let Some((before, after)) = total(a, slot).zip(total(b, slot)) else {
                self.send(subject, slot, &expected.text(), "no line", Outcome::Failed, String::new());
                continue;
            };
            // The tracepoints of system calls do not see those that a file of 32 bits makes on a kernel of 64
            // (arch_trace_is_compat_syscall): those of kmote, here.
            let unseen = subject.mechanism.starts_with("tp") && self.told("compat");
            let answer = a.get(ANSWER).copied().unwrap_or(0);
            let own = if unseen { 0 } else { workloads::of_reading(subject.module, slot, answer) };
            let seen = after.wrapping_sub(before).wrapping_sub(own);
            let outcome = if expected.holds(seen) { Outcome::Passed } else { Outcome::Failed };
            self.send(subject, slot, &expected.text(), &seen.to_string(), outcome, expected.why().to_owned());
        }
    }
}

/// An excuse for a probe that the mechanism hooks by tracepoints only, of which this kernel has none.
fn absent(probe: &Probe, mechanism: &str) -> Option<String> {
    let is_tracepoint = |m: Mechanism| matches!(m, Mechanism::RawTracepoint | Mechanism::Tracepoint);
    let categories: Vec<_> = fs::read_dir("/sys/kernel/tracing/events").ok()?.flatten().collect();
    let exists = |name: &str| categories.iter().any(|category| category.path().join(name).exists());
    let hooks = probe.hooks.iter().filter(|hook| hook.places().next().is_some());
    let mut fitting = hooks.filter(|hook| fits(hook.mechanism(), mechanism));
    let none = fitting.all(|hook| is_tracepoint(hook.mechanism()) && !exists(hook.target()));
    none.then(|| "this kernel has no such tracepoint".to_owned())
}

/// Whether a hook is off because of a kernel module that is truly not loaded.
fn away(reason: &str) -> bool {
    let rest =
        reason.split_once("the kernel module ").and_then(|(_, rest)| rest.split_once(" is not loaded"));
    rest.is_some_and(|(module, _)| !fs::exists(format!("/sys/module/{module}")).unwrap())
}

/// The value of a slot; of a name with a star, the sum over the buckets of that name.
fn total(reading: &Reading, slot: &str) -> Option<u64> {
    let Some(stem) = slot.strip_suffix('*') else { return reading.get(slot).copied() };
    let is_bucket = |name: &str| name.strip_prefix(stem).is_some_and(|rest| rest.parse::<u8>().is_ok());
    reading.iter().filter(|(name, _)| is_bucket(name)).map(|(_, value)| *value).reduce(|a, b| a + b)
}

/// Whether a slot that is fed late is not yet what is expected.
fn late_slots(step: &Step, live: &BTreeMap<String, String>, before: &Reading, now: &Reading) -> bool {
    step.expect.iter().any(|(slot, expected)| {
        let by = now.get(*slot).unwrap_or(&0) - before.get(*slot).unwrap_or(&0);
        live.get(*slot).is_some_and(|target| target == LATE) && !expected.holds(by)
    })
}

/// Whether a probe has a hook that `--only` leaves.
fn offers(probe: &Probe, only: &str) -> bool {
    let mut hooks = probe.hooks.iter().filter(|hook| hook.places().next().is_some());
    only.is_empty() || hooks.any(|hook| hook.mechanism().family() == only)
}

fn fits(mechanism: Mechanism, name: &str) -> bool {
    name.strip_suffix(" return").unwrap_or(name) == mechanism.family() || matches!(name, "best" | "return")
}
