// SPDX-License-Identifier: GPL-3.0-or-later
//! Metrics as Prometheus' own programs take them: promtool reads them, and a real Prometheus scrapes them through a real
//! node_exporter. Needs root, a kernel that takes BPF programs, prometheus and prometheus-node-exporter.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may end by a panic")]

#[path = "../support/mod.rs"]
mod support;

mod stack;

use kmote_cli::args::Format;
use kmote_cli::exposition;
use kmote_cli::view::View;
use kmote_core::histogram::LABELS;
use stack::{Stack, promtool, promtool_tsdb};
use std::process::Command;
use std::time::Duration;
use support::machine::holds_within;
use support::run::{LONG, Running, SOON, kmote};

fn written(format: &str) -> String {
    let arguments = ["--modules", "process,cachestat", "--format", format, "--ticks", "1", "1"];
    Running::start(kmote(&arguments)).ends_within(LONG).with_status(0).stdout
}

#[test]
fn promtool_takes_the_text_format() {
    let text = written("prometheus");
    assert!(text.contains("# TYPE kmote_system_process_thread_calls_total counter\n"), "{text}");
    promtool(&text);
}

#[test]
fn promtool_takes_openmetrics() {
    let text = written("openmetrics");
    assert!(text.ends_with("# EOF\n") && text.contains("# UNIT "), "{text}");
    let samples = text.lines().filter(|line| !line.starts_with('#')).count();
    assert!(samples >= 8, "{text}");
    assert_eq!(promtool_tsdb(&text), samples);
}

#[test]
fn promtool_takes_histograms_and_odd_names() {
    let mut sent = String::new();
    for disk in ["sda", "we\\ird\"one"] {
        sent += &format!(
            "CHART disk_latency_io.{disk} '' 'Disk latency' 'calls/s' '{disk}' 'disk.latency_io' stacked 1 1\n"
        );
        LABELS.iter().for_each(|label| sent += &format!("DIMENSION '{label}' '{label}' incremental 1 1\n"));
        sent += &format!("BEGIN disk_latency_io.{disk}\n");
        LABELS.iter().zip(1..).for_each(|(label, value)| sent += &format!("SET '{label}' = {value}\n"));
        sent += "END\n";
    }
    let mut view = View::default();
    view.take(&sent);
    let [mut open, mut text] = [String::new(), String::new()];
    exposition::write(&view, Format::OpenMetrics, &mut open);
    exposition::write(&view, Format::Prometheus, &mut text);
    assert_eq!(promtool_tsdb(&open), 2 * LABELS.len());
    promtool(&text);
}

#[test]
fn prometheus_scrapes_it_through_node_exporter() {
    let stack = Stack::start();
    let file = stack.textfiles().join("kmote.prom");
    let arguments =
        ["--modules", "process", "--format", "prometheus", "--output", file.to_str().unwrap(), "1"];
    let mut running = Running::start(kmote(&arguments));
    let value = || {
        let text = std::fs::read_to_string(&file).ok()?;
        let name = "kmote_system_process_thread_calls_total{dimension=\"_do_fork\"} ";
        text.lines().find_map(|line| line.strip_prefix(name)?.parse::<u64>().ok())
    };
    assert!(holds_within(LONG, || value().is_some()), "{}", running.stderr());
    let before = value().unwrap();
    for _ in 0..50 {
        assert!(Command::new("true").status().unwrap().success());
    }
    assert!(holds_within(LONG, || value().unwrap() >= before + 50), "{:?} after {before}", value());
    // Held still, the file says one number, and so must Prometheus: this one, not one like it.
    running.signal("STOP");
    let expected = value().unwrap();
    let query = "kmote_system_process_thread_calls_total%7Bdimension=%22_do_fork%22%7D";
    let answers = || stack.query(query);
    let arrived = holds_within(LONG, || answers().contains(&format!(",\"{expected}\"]")));
    assert!(arrived, "{expected} is not in {}", answers());
    let kind = stack.metadata("kmote_system_process_thread_calls_total");
    assert!(kind.contains("\"type\":\"counter\"") && kind.contains("\"help\":\"Start process.\""), "{kind}");
    running.signal("CONT");
    assert!(!holds_within(Duration::from_millis(200), || !running.is_running()));
    running.signal("TERM");
    running.ends_within(SOON).with_status(0);
    assert!(!file.exists(), "metrics that nobody makes any more stay");
}
