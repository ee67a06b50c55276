// SPDX-License-Identifier: GPL-3.0-or-later
//! A real Netdata starts the binary by itself, shows its charts with true numbers, and takes it along
//! when it ends. Needs root, a kernel that takes BPF programs, netdata-core and netdata-web.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may end by a panic")]

#[path = "../support/mod.rs"]
mod support;

mod anew;
mod groups;
mod work;

use std::collections::BTreeSet;
use std::fs;

use support::machine::{holds_within, is_running};
use support::run::{LONG, SOON};
use support::server::Netdata;
use work::{PAGES, PROCESSES, THREADS, Tick, ZOMBIES, around_ticks, work};

struct Expected {
    id: &'static str,
    units: &'static str,
    family: &'static str,
    priority: u32,
    module: &'static str,
    dimensions: &'static [(&'static str, &'static str)],
}

/// As in Netdata's own ebpf.plugin, so that its dashboards and alarms find them.
const CHARTS: &[Expected] = &[
    Expected {
        id: "system.process_thread",
        units: "calls/s",
        family: "processes",
        priority: 21002,
        module: "process",
        dimensions: &[("_do_fork", "process"), ("sys_clone", "thread")],
    },
    Expected {
        id: "system.exit",
        units: "calls/s",
        family: "processes",
        priority: 21003,
        module: "process",
        dimensions: &[("do_exit", "process"), ("release_task", "task")],
    },
    Expected {
        id: "system.process_status",
        units: "calls",
        family: "processes",
        priority: 21004,
        module: "process",
        dimensions: &[("process", "process"), ("zombie", "zombie")],
    },
    Expected {
        id: "mem.cachestat_dirties",
        units: "pages/s",
        family: "page_cache",
        priority: 21101,
        module: "cachestat",
        dimensions: &[("dirty", "dirty")],
    },
];

#[test]
fn netdata_shows_what_the_kernel_did_and_takes_the_collector_along() {
    let programs = loaded_programs();
    let mut netdata = Netdata::start();
    for chart in CHARTS {
        netdata.wait_for_chart(chart.id);
        shows_as_expected(&netdata, chart);
    }
    let ours: BTreeSet<_> = loaded_programs().difference(&programs).cloned().collect();

    let (before, after) = around_ticks(&netdata, work);
    processes_are_true(&netdata, &before, &after);
    pages_are_true(&before, &after);
    has_no_complaint(&netdata);

    let collectors = netdata.collectors();
    assert_eq!(collectors.len(), 1);
    assert!(netdata.end("TERM").success());
    assert!(holds_within(SOON, || !is_running(collectors[0])), "outlives Netdata's end by SIGTERM");
    has_no_complaint(&netdata);

    let mut netdata = Netdata::start();
    netdata.wait_for_chart("system.exit");
    let collectors = netdata.collectors();
    assert_eq!(collectors.len(), 1);
    netdata.end("KILL");
    assert!(holds_within(SOON, || !is_running(collectors[0])), "outlives Netdata's end by SIGKILL");
    assert!(!ours.is_empty(), "no program was loaded");
    let left = || ours.intersection(&loaded_programs()).cloned().collect::<Vec<_>>();
    assert!(holds_within(LONG, || left().is_empty()), "left in the kernel: {:?}", left());
}

fn shows_as_expected(netdata: &Netdata, chart: &Expected) {
    let text = netdata.get(&format!("/api/v1/chart?chart={}", chart.id));
    let lines: Vec<_> = text.lines().map(|line| line.trim().trim_end_matches(',')).collect();
    let quoted = |name: &str, value: &str| format!("\"{name}\": \"{value}\"");
    let mut wanted = vec![
        quoted("id", chart.id),
        quoted("units", chart.units),
        quoted("family", chart.family),
        quoted("context", chart.id),
        quoted("chart_type", "line"),
        quoted("plugin", "kmote.plugin"),
        quoted("module", chart.module),
        format!("\"priority\": {}", chart.priority),
        "\"update_every\": 1".into(),
    ];
    let dimensions = chart.dimensions.iter();
    wanted.extend(dimensions.map(|(id, name)| format!("\"{id}\": {{ \"name\": \"{name}\" }}")));
    for line in wanted {
        assert!(lines.contains(&line.as_str()), "no {line} in\n{text}");
    }
    let shown = lines.iter().filter(|line| line.contains("{ \"name\": ")).count();
    assert_eq!(shown, chart.dimensions.len(), "dimensions of\n{text}");
}

/// Between the work and what the whole machine can have done around it: equal when nothing else ran.
fn is_between(what: &str, value: i64, low: i64, high: i64) {
    println!("{what}: {low} <= {value} <= {high}");
    assert!(low <= value && value <= high, "{what}: {value} is not in {low}..={high}");
}

fn processes_are_true(netdata: &Netdata, before: &Tick, after: &Tick) {
    let change = |chart, dimension| after.value(chart, dimension) - before.value(chart, dimension);
    let (processes, threads) =
        (change("system.process_thread", "process"), change("system.process_thread", "thread"));
    let least = after.earlier.forks - before.later.forks;
    let most = after.later.forks - before.earlier.forks;
    is_between("tasks", processes + threads, least, most);
    let others = most - PROCESSES - THREADS;
    is_between("processes", processes, PROCESSES, PROCESSES + others);
    is_between("threads", threads, THREADS, THREADS + others);

    // What others do at the very tick: a task is freed a moment after its release, where that is what is
    // counted, and Netdata draws whole seconds, so that a late tick moves a part of it over the edge.
    let edge = others / 10;
    let least = after.earlier.releases - before.later.releases;
    let most = after.later.releases - before.earlier.releases;
    is_between("releases", change("system.exit", "task"), least - edge, most + edge);
    let others = others.max(most - (PROCESSES + THREADS - ZOMBIES));
    is_between("exits", change("system.exit", "process"), PROCESSES, PROCESSES + others);

    let points = netdata.points("system.process_status", before.second, after.second);
    assert_eq!(points.len() as u64, after.second - before.second, "{points:?}");
    let drawn = |name: &str| points.iter().map(|point| point[name]).sum::<f64>().round() as i64;
    is_between("zombies drawn", drawn("zombie"), ZOMBIES - others, ZOMBIES + others);
    is_between("processes drawn", drawn("process"), processes - edge, processes + edge);
}

fn pages_are_true(before: &Tick, after: &Tick) {
    let chart = "mem.cachestat_events";
    let change = |dimension| after.value(chart, dimension) - before.value(chart, dimension);
    let most = after.later.dirtied - before.earlier.dirtied;
    is_between("dirtied pages", change("dirtied"), PAGES, most);
    is_between("added pages", change("added"), PAGES, i64::MAX);
}

fn has_no_complaint(netdata: &Netdata) {
    assert_eq!(netdata.complaints(), Vec::<String>::new());
}

/// The BPF programs in the kernel: address and name.
fn loaded_programs() -> BTreeSet<String> {
    let symbols = fs::read_to_string("/proc/kallsyms").unwrap();
    symbols
        .lines()
        .filter(|line| line.contains(" bpf_prog_") && line.ends_with("[bpf]"))
        .map(Into::into)
        .collect()
}
