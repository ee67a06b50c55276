// SPDX-License-Identifier: GPL-3.0-or-later
//! The raw counters, read each time a line comes on stdin: for exact tests of kernels and of kmote.

use crate::args::Options;
use crate::collector::Collector;
use crate::report;
use kmote_bpf::kernel::Kernel;
use std::io::{self, BufRead, Write};

/// Prints a line `hook MODULE EVENT MECHANISM TARGET` for each probe (`hook MODULE EVENT off REASON` for a lost one)
/// and `ready`; then, for each line of stdin, a line `slot MODULE NAME TOTAL` for each true slot, a line `group MODULE
/// NAME TOTAL GROUP` for each of an application's, one `cgroup …` for each of a cgroup's, and `done`.
pub fn run(kernel: &Kernel, options: &Options) -> io::Result<()> {
    let (mut collector, errors) = Collector::start(kernel, &options.wanted(), options.groups().as_ref());
    let mut out = io::stdout().lock();
    for error in &errors {
        eprintln!("kmote: {error}");
    }
    for attached in collector.attached() {
        for (probe, outcome) in attached.module.probes.iter().zip(&attached.outcomes) {
            let Some(outcome) = outcome else { continue };
            let hook = outcome.hook.and_then(|place| probe.hooks.get(place));
            let words = match hook {
                Some(hook) => format!("{} {}", hook.mechanism().word(), report::targets(outcome)),
                None => format!("off {}", report::why(probe, outcome)),
            };
            writeln!(out, "hook {} {} {words}", attached.module.name, probe.event)?;
        }
    }
    writeln!(out, "ready")?;
    out.flush()?;
    for line in io::stdin().lock().lines() {
        line?;
        let mut text = String::new();
        let read = collector.totals(|module, slot, total| text += &format!("slot {module} {slot} {total}\n"));
        if let Err(error) = read {
            eprintln!("kmote: {error}");
        }
        collector.settle();
        if let Some(apps) = collector.apps() {
            apps.read(|error| eprintln!("kmote: {error}"));
            apps.totals(|kind, name, module, slot, total| {
                text += &format!("{kind} {module} {slot} {total} {}\n", String::from_utf8_lossy(name));
            });
            text += &format!("known {}\n", apps.known());
        }
        out.write_all(text.as_bytes())?;
        writeln!(out, "done")?;
        out.flush()?;
    }
    Ok(())
}
