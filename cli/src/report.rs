// SPDX-License-Identifier: GPL-3.0-or-later
//! What is lost, in one line a reason on stderr: what, why, and what it costs.

use crate::apps::Apps;
use crate::collector::Collector;
use crate::protocol::Sent;
use kmote_bpf::object::{Attached, Error, Outcome};
use kmote_bpf::words;
use kmote_core::chart::{Chart, Mode};
use kmote_core::hook::{Probe, Refusal};
use kmote_core::module::Module;
use kmote_core::throttle::Throttle;
use std::fmt;
use std::time::Instant;

/// Says at start what is lost, and how much of the kernel's memory the rest takes.
pub fn start(collector: &Collector, errors: &[Error], budget: u64) {
    for error in errors {
        eprintln!("kmote: {error}");
    }
    lacks(&collector.modes().collect::<Vec<_>>());
    if collector.memory() > 0 {
        eprintln!("kmote: {}", memory(collector, budget));
    }
    if let Some(apps) = collector.groups() {
        apps.complaints().iter().for_each(|complaint| eprintln!("kmote: {complaint}"));
    }
}

/// Says what is lost of modules, each of which is wanted in a mode.
fn lacks(modes: &[(&Attached, Mode)]) {
    for (attached, _) in modes {
        if let Some(home) = waits_for(attached) {
            eprintln!("kmote: {} waits: the kernel module {home} is not loaded", attached.module.name);
        }
    }
    for loss in losses(modes) {
        eprintln!("kmote: not counted: {}: {}; {}", loss.probes.join(", "), loss.why, loss.costs());
    }
}

/// How much of the kernel's memory is taken, of how much, and what gave way.
pub fn memory(collector: &Collector, budget: u64) -> String {
    let mut said = format!(
        "{} kB of kernel memory for maps, of a budget of {} kB",
        collector.memory() / 1024,
        budget / 1024
    );
    if let Some((bytes, processes)) = collector.groups().map(Apps::table) {
        said += &format!("; {} kB of it for a table of {processes} processes", bytes / 1024);
    }
    if let shrink @ 1.. = collector.shrink() {
        said += &format!("; to fit, tables are 1/{} of their size", 1 << shrink);
    }
    said
}

/// The kernel module without which there is nothing of a module to attach.
fn waits_for(attached: &Attached) -> Option<&'static str> {
    attached.awaits().filter(|_| !attached.counts())
}

/// Says what a module counts now, since a kernel module came or went.
pub fn came(attached: &Attached, mode: Mode) {
    if attached.counts() {
        eprintln!("kmote: {} is attached anew, since a kernel module came or went", attached.module.name);
    }
    lacks(&[(attached, mode)]);
}

/// Says what lasts or comes again and again once an hour.
#[derive(Debug)]
pub struct Complaints {
    throttle: Throttle,
    start: Instant,
}

impl Default for Complaints {
    fn default() -> Self {
        Self { throttle: Throttle::default(), start: Instant::now() }
    }
}

impl Complaints {
    /// Says it, unless it was said within the hour.
    pub fn say(&mut self, complaint: &impl fmt::Display) {
        let sentence = complaint.to_string();
        if self.throttle.allows(&sentence, self.start.elapsed().as_secs()) {
            eprintln!("kmote: {sentence}");
        }
    }
}

/// The probes of an attached module that found no hook.
pub fn lost(attached: &Attached) -> impl Iterator<Item = (&'static Probe, &Outcome)> {
    let probes = attached.module.probes.iter().zip(&attached.outcomes);
    probes
        .filter_map(|(probe, outcome)| Some((probe, outcome.as_ref()?)))
        .filter(|(_, outcome)| !outcome.attached())
}

/// Probes that are lost for one reason, which is one line: a machine that refuses a mechanism refuses it to all.
#[derive(Debug, Default)]
struct Loss {
    why: String,
    probes: Vec<String>,
    off: Vec<&'static str>,
    partial: Vec<&'static str>,
}

impl Loss {
    /// Which charts it costs, and of which it costs a part.
    fn costs(&self) -> String {
        let named = |word: &str, charts: &[&str]| {
            (!charts.is_empty()).then(|| format!("{word}: {}", charts.join(", ")))
        };
        let costs = [named("off", &self.off), named("partial", &self.partial)];
        costs.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    fn add(&mut self, attached: &Attached, probe: &Probe, mode: Mode) {
        self.probes.push(format!("{} {}", attached.module.name, probe.event));
        let sent = Sent { module: attached.module, live: attached.live, mode };
        let module = attached.module;
        for chart in module.all_charts().filter(|chart| chart.mode <= mode && needs(module, chart, probe)) {
            let charts = match Standing::of(sent, chart) {
                Standing::Off => &mut self.off,
                Standing::Partial => &mut self.partial,
                Standing::Ok => continue,
            };
            if !charts.contains(&chart.id) {
                charts.push(chart.id);
            }
        }
    }
}

fn losses(modes: &[(&Attached, Mode)]) -> Vec<Loss> {
    let mut losses: Vec<Loss> = Vec::new();
    for (attached, mode) in modes.iter().copied().filter(|(attached, _)| waits_for(attached).is_none()) {
        for (probe, outcome) in lost(attached) {
            let why = why(probe, outcome);
            match losses.iter_mut().find(|loss| loss.why == why) {
                Some(loss) => loss.add(attached, probe, mode),
                None => {
                    let mut loss = Loss { why, ..Loss::default() };
                    loss.add(attached, probe, mode);
                    losses.push(loss);
                }
            }
        }
    }
    losses
}

/// Says the same to a person who looks, in a line.
pub fn start_briefly(collector: &Collector, errors: &[Error]) {
    let probes = collector.attached().map(|attached| lost(attached).count()).sum::<usize>() + errors.len();
    if probes > 0 {
        eprintln!("kmote: {probes} of the probes could not be attached; `kmote check` says why");
    }
}

/// Whether a chart has a dimension that a probe feeds.
pub fn needs(module: &Module, chart: &'static Chart, probe: &Probe) -> bool {
    module.drawn(chart).flatten().any(|slot| probe.slots.contains(slot))
}

/// Why none of a probe's hooks was taken: each mechanism and each reason once. A hook that the kernel has not got is
/// not a reason where another of the same mechanism was refused.
pub fn why(probe: &Probe, outcome: &Outcome) -> String {
    let mut said: Vec<String> = Vec::new();
    for (place, refusal) in outcome.refused.iter().filter(|(_, refusal)| *refusal != Refusal::Excluded) {
        let hook = probe.hooks.get(*place).filter(|hook| hook.places().next().is_some());
        let Some(hook) = hook else { continue };
        let words = words::refusal(refusal);
        let line = match refusal {
            Refusal::NotLoaded(_) => words,
            Refusal::NoFunction | Refusal::NoTypedFunction | Refusal::NoTracepoint => {
                format!("{} {}: {words}", hook.mechanism().word(), hook.target())
            }
            _ => format!("{}: {words}", hook.mechanism().word()),
        };
        if !said.contains(&line) {
            said.push(line);
        }
    }
    if said.is_empty() { "no hook of the kind that --only asks for".to_owned() } else { said.join(", ") }
}

/// Where a probe is attached, as it is written in reports; nothing where its event does not exist.
pub fn targets(outcome: &Outcome) -> String {
    outcome.targets.join("+")
}

/// How much of a chart can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// All its dimensions.
    Ok,
    /// Some of them.
    Partial,
    /// None.
    Off,
}

impl Standing {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Partial => "partial",
            Self::Off => "off",
        }
    }

    /// That of a chart.
    pub fn of(sent: Sent<'_>, chart: &'static Chart) -> Self {
        let told = |slots: &&[usize]| sent.live.contains_all(slots);
        match sent.module.drawn(chart).filter(told).count() {
            0 => Self::Off,
            _ if chart.mode > sent.mode => Self::Off,
            told if told == sent.module.drawn(chart).count() => Self::Ok,
            _ => Self::Partial,
        }
    }
}
