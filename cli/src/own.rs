// SPDX-License-Identifier: GPL-3.0-or-later
//! kmote's own charts: how its modules stand, what it takes of the kernel's memory, and what it and its programs cost.

use crate::collector::Collector;
use crate::protocol::{PLUGIN, Sent, since};
use crate::report::Standing;
use kmote_bpf::kernel::Kernel;
use kmote_bpf::sys::{self, Runs};
use kmote_core::chart::quotable;
use ufmt::{uWrite, uwrite, uwriteln};

/// Seconds between two rounds of these charts, at least: Netdata's plugin sends its own as often.
const EVERY: u32 = 10;

/// A chart of our own.
struct Own {
    id: &'static str,
    title: &'static str,
    units: &'static str,
    priority: u32,
}

const MODULES: Own = own("netdata.kmote_modules", "Modules: 2 all charts, 1 some, 0 none", "state", 140_000);
const MEMORY: Own = own("netdata.kmote_kernel_memory", "Kernel memory taken by maps", "bytes", 140_005);
const CPU: Own = own("netdata.kmote_cpu", "CPU time of kmote itself", "milliseconds/s", 140_006);

/// A chart of what the kernel counts of the programs of each module.
struct OfPrograms {
    own: Own,
    divisor: u32,
    value: fn(&Runs) -> u64,
}

const OF_PROGRAMS: [OfPrograms; 3] = [
    OfPrograms {
        own: own("netdata.kmote_program_runs", "Runs of the programs", "runs/s", 140_007),
        divisor: 1,
        value: |runs| runs.runs,
    },
    OfPrograms {
        own: own("netdata.kmote_program_time", "CPU time of the programs", "milliseconds/s", 140_008),
        divisor: 1_000_000,
        value: |runs| runs.nanoseconds,
    },
    OfPrograms {
        own: own("netdata.kmote_program_missed", "Events that the programs missed", "events/s", 140_009),
        divisor: 1,
        value: |runs| runs.missed,
    },
];

/// The module that they bear on the wire.
pub const MODULE: &str = "kmote";

/// The ids of these charts, and why one is off.
pub fn charts(counted: bool) -> impl Iterator<Item = (&'static str, Option<&'static str>)> {
    let uncounted =
        (!counted).then_some("the kernel counts no runs of programs: set kernel.bpf_stats_enabled to 1");
    let always = [&MODULES, &MEMORY, &CPU].map(|chart| (chart.id, None));
    always.into_iter().chain(OF_PROGRAMS.iter().map(move |chart| (chart.own.id, uncounted)))
}

const NO_ROOM: Own =
    own("netdata.kmote_no_room", "Counts for whose process or cgroup there was no room", "counts/s", 140_101);

/// In a constant context only, where a panic is an error of the build.
#[allow(clippy::panic)]
const fn own(id: &'static str, title: &'static str, units: &'static str, priority: u32) -> Own {
    assert!(quotable(title) && quotable(units), "a chart's words");
    Own { id, title, units, priority }
}

/// The state of these charts.
#[derive(Debug)]
pub struct SelfCharts {
    /// On every how many ticks they are sent, and the ticks left until then.
    ticks: u32,
    left: u32,
    update_every: u32,
    /// Bytes of kernel memory that maps may take.
    budget: u64,
    /// All modules that were asked for; those of which nothing was to be had too.
    modules: Vec<&'static str>,
    /// Whether the kernel counts the runs of programs (`kernel.bpf_stats_enabled`).
    counted: bool,
    /// Of each attached module, as they were read last.
    runs: Vec<Runs>,
    moments: [u64; 7],
}

impl SelfCharts {
    /// Charts of these modules that are sent every ten seconds, or on every tick where ticks are rarer.
    pub fn new(modules: Vec<&'static str>, update_every: u32, kernel: &Kernel) -> Self {
        let (budget, counted) = (kernel.budget, kernel.counts_runs());
        let ticks = EVERY.div_ceil(update_every.max(1));
        let update_every = ticks.saturating_mul(update_every);
        let runs = vec![Runs::default(); modules.len()];
        Self { ticks, left: ticks, update_every, budget, modules, counted, runs, moments: [0; 7] }
    }

    /// Forgets when they were sent: what follows is the first of another stream.
    pub fn forget_sent(&mut self) {
        self.moments = [0; 7];
    }

    /// Declares them.
    pub fn announce<W: uWrite>(&self, out: &mut W, collector: &Collector) -> Result<(), W::Error> {
        self.declare(out, &MODULES)?;
        self.modules.iter().try_for_each(|name| dimension(out, name, "absolute", 1))?;
        self.declare(out, &MEMORY)?;
        dimension(out, "maps", "absolute", 1)?;
        dimension(out, "budget", "absolute", 1)?;
        self.declare(out, &CPU)?;
        dimension(out, "user", "incremental", 1000)?;
        dimension(out, "system", "incremental", 1000)?;
        if let Some(groups) = collector.groups() {
            self.declare(out, &NO_ROOM)?;
            groups.no_room().iter().try_for_each(|(name, _)| dimension(out, name, "incremental", 1))?;
        }
        if self.counted {
            for chart in &OF_PROGRAMS {
                self.declare(out, &chart.own)?;
                let mut names = collector.attached().map(|attached| attached.module.name);
                names.try_for_each(|name| dimension(out, name, "incremental", chart.divisor))?;
            }
        }
        Ok(())
    }

    fn declare<W: uWrite>(&self, out: &mut W, chart: &Own) -> Result<(), W::Error> {
        uwrite!(out, "CHART {} '' '{}' '{}' 'kmote' ", chart.id, chart.title, chart.units)?;
        uwriteln!(
            out,
            "'{}' line {} {} '' '{}' '{}'",
            chart.id,
            chart.priority,
            self.update_every,
            PLUGIN,
            MODULE
        )
    }

    /// Sends them if this tick, at `now` microseconds, is one of theirs.
    pub fn values<W: uWrite>(
        &mut self,
        out: &mut W,
        collector: &Collector,
        now: u64,
    ) -> Result<(), W::Error> {
        self.left -= 1;
        if self.left > 0 {
            return Ok(());
        }
        self.left = self.ticks;
        let [modules, memory, cpu, no_room, of_programs @ ..] = &mut self.moments;
        begin(out, &MODULES, modules, now)?;
        self.modules.iter().try_for_each(|name| set(out, name, standing(collector, name)))?;
        out.write_str("END\n")?;
        begin(out, &MEMORY, memory, now)?;
        set(out, "maps", collector.memory())?;
        set(out, "budget", self.budget)?;
        out.write_str("END\n")?;
        let usage = sys::usage();
        begin(out, &CPU, cpu, now)?;
        set(out, "user", usage.user)?;
        set(out, "system", usage.system)?;
        out.write_str("END\n")?;
        if let Some(groups) = collector.groups() {
            begin(out, &NO_ROOM, no_room, now)?;
            groups.no_room().iter().try_for_each(|(name, count)| set(out, name, *count))?;
            out.write_str("END\n")?;
        }
        if self.counted {
            self.runs
                .iter_mut()
                .zip(collector.attached())
                .for_each(|(runs, attached)| *runs = attached.runs());
            for (chart, moment) in OF_PROGRAMS.iter().zip(of_programs) {
                begin(out, &chart.own, moment, now)?;
                let mut runs = collector.attached().zip(&self.runs);
                runs.try_for_each(|(attached, runs)| set(out, attached.module.name, (chart.value)(runs)))?;
                out.write_str("END\n")?;
            }
        }
        Ok(())
    }
}

/// How a module stands: 2 when all its charts are whole, 0 when none is to be had, 1 between.
fn standing(collector: &Collector, name: &str) -> u64 {
    let Some((attached, mode)) = collector.modes().find(|(attached, _)| attached.module.name == name) else {
        return 0;
    };
    let sent = Sent { module: attached.module, live: attached.live, mode };
    let charts = || attached.module.charts.iter().filter(|chart| chart.mode <= mode);
    let all = |standing| charts().all(|chart| Standing::of(sent, chart) == standing);
    match () {
        () if all(Standing::Ok) => 2,
        () if all(Standing::Off) => 0,
        () => 1,
    }
}

fn dimension<W: uWrite>(out: &mut W, name: &str, algorithm: &str, divisor: u32) -> Result<(), W::Error> {
    uwriteln!(out, "DIMENSION '{}' '{}' {} 1 {}", name, name, algorithm, divisor)
}

fn begin<W: uWrite>(out: &mut W, chart: &Own, last: &mut u64, now: u64) -> Result<(), W::Error> {
    uwrite!(out, "BEGIN {}", chart.id)?;
    since(out, last, now)
}

fn set<W: uWrite>(out: &mut W, name: &str, value: u64) -> Result<(), W::Error> {
    uwriteln!(out, "SET '{}' = {}", name, (value & i64::MAX as u64) as i64)
}
