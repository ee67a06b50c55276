// SPDX-License-Identifier: GPL-3.0-or-later
//! `kmote check`: what can be counted on this machine, by which hook, and why the rest cannot.

use crate::args::Options;
use crate::collector::{Collector, Wanted};
use crate::own;
use crate::protocol::Sent;
use crate::report::{self, Standing};
use kmote_bpf::kernel::{CAPABILITIES, Kernel, Kprobes};
use kmote_bpf::object::{Attached, Error, Outcome};
use kmote_core::chart::{Chart, Mode};
use kmote_core::hook::{self, Kernel as _, Mechanism, Probe};
use kmote_core::module::{Module, Slots};
use std::fmt::Write;

/// What was found: the text, and whether at least one chart works.
#[derive(Debug)]
pub struct Findings {
    /// For stdout.
    pub text: String,
    /// Whether at least one chart works.
    pub works: bool,
}

/// A chart of the report.
struct Row {
    module: &'static str,
    chart: &'static str,
    standing: Standing,
    /// Why the whole chart is off, whatever its probes.
    reason: String,
    probes: Vec<ProbeRow>,
}

/// A probe that a chart needs.
struct ProbeRow {
    event: &'static str,
    mechanism: &'static str,
    target: String,
    attached: bool,
    reason: String,
}

/// Attaches everything once, to see, and lets it go.
pub fn run(kernel: &Kernel, options: &Options) -> Findings {
    let (modules, mode) = (options.all_or_named(), options.mode_or_entry());
    let (collector, errors) =
        Collector::start(kernel, &Wanted::all(modules.iter().copied(), mode), options.groups().as_ref());
    let mut rows = Vec::new();
    for module in &modules {
        let attached = collector.attached().find(|attached| attached.module.name == module.name);
        let error = errors.iter().find(|error| error.module == module.name);
        rows.extend(module.all_charts().map(|chart| row(module, chart, attached, error, mode)));
    }
    rows.extend(own::charts(kernel.counts_runs()).map(own_row));
    let works = rows.iter().any(|row| row.standing != Standing::Off && row.module != own::MODULE);
    if options.points {
        return Findings { text: points(&collector), works };
    }
    let text = if options.json {
        json(kernel, collector.memory(), &rows)
    } else {
        table(kernel, &report::memory(&collector, kernel.budget), &rows)
    };
    Findings { text, works }
}

/// Every place of the kernel that is hooked, in a line: the mechanism, the place, and for what.
fn points(collector: &Collector) -> String {
    let mut lines = Vec::new();
    for attached in collector.attached() {
        for (probe, outcome) in attached.module.probes.iter().zip(&attached.outcomes) {
            let Some(outcome) = outcome else { continue };
            let Some(hook) = outcome.hook.and_then(|place| probe.hooks.get(place)) else { continue };
            let (word, module) = (hook.mechanism().word(), attached.module.name);
            lines.extend(
                outcome
                    .targets
                    .iter()
                    .map(|target| format!("{word:<9} {target:<32} {module} {}\n", probe.event)),
            );
        }
    }
    lines.sort();
    lines.concat()
}

fn row(
    module: &'static Module,
    chart: &'static Chart,
    attached: Option<&Attached>,
    error: Option<&Error>,
    mode: Mode,
) -> Row {
    let sent = Sent { module, live: attached.map_or(Slots::default(), |attached| attached.live), mode };
    let outcomes = attached.map_or(&[][..], |attached| &attached.outcomes);
    let needed = module.probes.iter().enumerate().filter(|(_, probe)| report::needs(module, chart, probe));
    let probes: Vec<_> =
        needed.map(|(place, probe)| probe_row(probe, outcomes.get(place).and_then(Option::as_ref))).collect();
    let reason = match error {
        Some(error) => error.to_string(),
        None if chart.mode > mode => "exists with --mode return only".to_owned(),
        None => String::new(),
    };
    Row { module: module.name, chart: chart.id, standing: Standing::of(sent, chart), reason, probes }
}

/// A chart of kmote's own, which no probe feeds.
fn own_row((chart, reason): (&'static str, Option<&str>)) -> Row {
    let standing = if reason.is_some() { Standing::Off } else { Standing::Ok };
    Row { module: own::MODULE, chart, standing, reason: reason.unwrap_or("").to_owned(), probes: Vec::new() }
}

impl Row {
    /// Why the chart, or a part of it, is off.
    fn why(&self) -> String {
        if !self.reason.is_empty() {
            return self.reason.clone();
        }
        let lost = self.probes.iter().filter(|probe| !probe.attached);
        lost.map(|probe| format!("{}: {}", probe.event, probe.reason)).collect::<Vec<_>>().join("; ")
    }
}

fn probe_row(probe: &'static Probe, outcome: Option<&Outcome>) -> ProbeRow {
    let hook = outcome.and_then(|outcome| outcome.hook).and_then(|place| probe.hooks.get(place));
    ProbeRow {
        event: probe.event,
        mechanism: hook.map_or("", |hook| hook.mechanism().word()),
        target: outcome.map_or_else(String::new, report::targets),
        attached: hook.is_some(),
        reason: match outcome {
            Some(outcome) if hook.is_none() => report::why(probe, outcome),
            Some(_) => String::new(),
            None => "not tried".to_owned(),
        },
    }
}

/// The kernel's offers, as `(name, what)`.
fn offers(kernel: &Kernel) -> Vec<(&'static str, String)> {
    let yes_or =
        |refusal: Option<hook::Refusal>| refusal.map_or("yes".to_owned(), |refusal| format!("no: {refusal}"));
    let missing: Vec<_> =
        CAPABILITIES.iter().filter(|(_, bit)| !kernel.capable(*bit)).map(|(name, _)| *name).collect();
    let kprobes = match kernel.kprobes {
        Some(Kprobes::Pmu(..)) => "yes".to_owned(),
        Some(Kprobes::Events) => "yes, through tracefs".to_owned(),
        None => yes_or(kernel.without(Mechanism::Kprobe)),
    };
    vec![
        ("release", kernel.release.clone()),
        ("cpus", kernel.cpus.to_string()),
        ("btf", if kernel.btf { "yes" } else { "no" }.to_owned()),
        ("tracefs", kernel.tracefs.as_ref().map_or("not mounted".to_owned(), ToString::to_string)),
        ("lockdown", kernel.lockdown.clone().unwrap_or_else(|| "not told".to_owned())),
        ("kprobes", kprobes),
        ("fentry", yes_or(kernel.without(Mechanism::Fentry))),
        ("raw_tp", yes_or(kernel.without(Mechanism::RawTracepoint))),
        ("missing capabilities", if missing.is_empty() { "none".to_owned() } else { missing.join(", ") }),
    ]
}

fn table(kernel: &Kernel, memory: &str, rows: &[Row]) -> String {
    let mut text = String::new();
    for (name, what) in offers(kernel) {
        let _ = writeln!(text, "{name:<21} {what}");
    }
    let _ = writeln!(text, "{:<21} {memory}\n", "memory");
    let width = rows.iter().map(|row| row.chart.len()).max().unwrap_or(0);
    let mut notes = Notes::default();
    for row in rows {
        let line = format!("{:<width$}  {:<7}  {}", row.chart, row.standing.word(), notes.said_of(row));
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text.push('\n');
    for (note, number) in notes.0.iter().zip(1..) {
        let _ = writeln!(text, "({number}) {note}");
    }
    text
}

/// Why probes are lost, each reason once and under a number: most have it in common with many others.
#[derive(Default)]
struct Notes(Vec<String>);

impl Notes {
    /// What feeds a chart, or why nothing does.
    fn said_of(&mut self, row: &Row) -> String {
        if !row.reason.is_empty() {
            return row.reason.clone();
        }
        let said = row.probes.iter().map(|probe| match probe.attached {
            true if probe.target.is_empty() => format!("{} not in this kernel", probe.event),
            true => format!("{} by {} {}", probe.event, probe.mechanism, probe.target),
            false => format!("{} lost ({})", probe.event, self.number(&probe.reason)),
        });
        said.collect::<Vec<_>>().join(", ")
    }

    fn number(&mut self, reason: &str) -> usize {
        let known = self.0.iter().position(|note| note == reason);
        known.unwrap_or_else(|| {
            self.0.push(reason.to_owned());
            self.0.len() - 1
        }) + 1
    }
}

fn json(kernel: &Kernel, memory: u64, rows: &[Row]) -> String {
    let facts = offers(kernel)
        .into_iter()
        .map(|(name, what)| format!("{}:{}", quote(&name.replace(' ', "_")), quote(&what)));
    let charts = rows.iter().map(|row| {
        let probes = row.probes.iter().map(|probe| {
            format!(
                r#"{{"event":{},"mechanism":{},"target":{},"state":{},"reason":{}}}"#,
                quote(probe.event),
                quote(probe.mechanism),
                quote(&probe.target),
                quote(if probe.attached { "ok" } else { "off" }),
                quote(&probe.reason)
            )
        });
        format!(
            r#"{{"id":{},"module":{},"state":{},"reason":{},"probes":[{}]}}"#,
            quote(row.chart),
            quote(row.module),
            quote(row.standing.word()),
            quote(&row.why()),
            join(probes)
        )
    });
    format!(
        "{{\"kernel\":{{{}}},\"memory_bytes\":{memory},\"memory_budget\":{},\"charts\":[{}]}}\n",
        join(facts),
        kernel.budget,
        join(charts)
    )
}

fn join(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(",")
}

/// A JSON string.
pub(crate) fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            control if control < ' ' => {
                let _ = write!(quoted, "\\u{:04x}", control as u32);
            }
            other => quoted.push(other),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_strings() {
        for (text, expected) in
            [("a", "\"a\""), ("a\"b\\c", r#""a\"b\\c""#), ("x\ny", r#""x\u000ay""#), ("µ", "\"µ\"")]
        {
            assert_eq!(quote(text), expected);
        }
    }
}
