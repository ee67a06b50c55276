// SPDX-License-Identifier: GPL-3.0-or-later
//! What was collected as OpenMetrics 1.0, and as Prometheus' older text format.

use crate::args::Format;
use crate::number::Number;
use crate::view::{Chart, Dimension, View};
use kmote_core::histogram::BUCKETS;
use std::fmt::{Display, Write};

/// Writes all metrics into `out`.
///
/// Charts of one context are one metric; a chart whose id is not its context is told apart by the label `chart`, and
/// dimensions by the label `dimension`.
pub fn write(view: &View, format: Format, out: &mut String) {
    let open = format == Format::OpenMetrics;
    for (place, chart) in view.charts.iter().enumerate() {
        let same = |other: &&Chart| other.context == chart.context;
        if view.charts.iter().take(place).any(|other| same(&other)) {
            continue;
        }
        if chart.is_histogram() {
            let name = format!("{}_seconds", name(&chart.context));
            head(out, open, &name, "histogram", "seconds", &chart.title);
            view.charts.iter().filter(same).for_each(|chart| histogram(out, open, &name, chart));
            continue;
        }
        let (unit, (numerator, denominator)) = unit(&chart.units);
        let total = chart.dimensions.iter().any(|dimension| dimension.total);
        let name = with_unit(name(&chart.context), &unit);
        // The older format wants the suffix in the metric's name, the newer one only in that of its samples.
        let declared = if total && !open { format!("{name}_total") } else { name.clone() };
        head(out, open, &declared, if total { "counter" } else { "gauge" }, &unit, &chart.title);
        for chart in view.charts.iter().filter(same) {
            for dimension in chart.dimensions.iter().filter(|dimension| dimension.total == total) {
                let Some(value) = dimension.value() else { continue };
                let suffix = if total { "_total" } else { "" };
                // The axis has two sides; a counter has one.
                let value = if total { value.abs() } else { value };
                let _ = write!(out, "{name}{suffix}");
                labels(out, chart, &[("dimension", &dimension.id)]);
                let _ = writeln!(out, " {}", value.times(numerator, denominator));
            }
        }
    }
    if open {
        out.push_str("# EOF\n");
    }
}

fn head(out: &mut String, open: bool, name: &str, kind: &str, unit: &str, help: &str) {
    let _ = writeln!(out, "# TYPE {name} {kind}");
    if open && !unit.is_empty() {
        let _ = writeln!(out, "# UNIT {name} {unit}");
    }
    let _ = writeln!(out, "# HELP {name} {}.", escaped(help.trim_end_matches('.'), open));
}

/// Cumulative buckets; their sum is not known, as only buckets are counted.
fn histogram(out: &mut String, open: bool, name: &str, chart: &Chart) {
    let Some(values) = chart.dimensions.iter().map(Dimension::value).collect::<Option<Vec<_>>>() else {
        return;
    };
    let count = |buckets: usize| values.iter().take(buckets).copied().sum::<Number>();
    for bucket in 0..values.len() {
        let edge = if bucket + 1 == BUCKETS { "+Inf".to_owned() } else { seconds(bucket) };
        let _ = write!(out, "{name}_bucket");
        labels(out, chart, &[("le", &edge)]);
        let _ = writeln!(out, " {}", count(bucket + 1));
    }
    // OpenMetrics has a count only together with a sum.
    if !open {
        let _ = write!(out, "{name}_count");
        labels(out, chart, &[]);
        let _ = writeln!(out, " {}", count(BUCKETS));
    }
}

/// The upper edge of a bucket, 2^k µs, in seconds.
fn seconds(bucket: usize) -> String {
    Number::of(1 << bucket.min(BUCKETS)).times(1, 1_000_000).to_string()
}

/// The base unit of a chart's units, and the fraction by which its numbers are multiplied to be in it.
fn unit(units: &str) -> (String, (i64, i64)) {
    let base = units.strip_suffix("/s").unwrap_or(units);
    let (unit, factor) = match base {
        "%" | "percentage" => ("ratio", (1, 100)),
        "milliseconds" => ("seconds", (1, 1000)),
        "microseconds" => ("seconds", (1, 1_000_000)),
        "KiB" | "kilobytes" => ("bytes", (1024, 1)),
        "kilobits" => ("bytes", (125, 1)),
        other => (other, (1, 1)),
    };
    (clean(&unit.to_ascii_lowercase()), factor)
}

/// A metric's name ends in its unit.
fn with_unit(name: String, unit: &str) -> String {
    if unit.is_empty() || name.ends_with(&format!("_{unit}")) { name } else { format!("{name}_{unit}") }
}

fn name(context: &str) -> String {
    // Charts of kmote itself have its name in theirs.
    format!("kmote_{}", clean(context.strip_prefix("netdata.kmote_").unwrap_or(context)))
}

fn clean(word: &str) -> String {
    word.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect()
}

fn labels(out: &mut String, chart: &Chart, own: &[(&str, &str)]) {
    let id = (chart.id != chart.context).then_some(("chart", chart.id.as_str()));
    let given = chart.labels.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let mut between = '{';
    for (name, value) in id.into_iter().chain(given).chain(own.iter().copied()) {
        let _ = write!(out, "{between}{}=\"{}\"", clean(name), escaped(value, true));
        between = ',';
    }
    if between == ',' {
        out.push('}');
    }
}

/// A text with its special letters escaped; quotes are special except in the help of the older format.
fn escaped(text: &str, quotes: bool) -> impl Display {
    let text = text.replace('\\', "\\\\").replace('\n', "\\n");
    if quotes { text.replace('"', "\\\"") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kmote_core::histogram::LABELS;

    fn written(sent: &str, format: Format) -> String {
        let (mut view, mut out) = (View::default(), String::new());
        view.take(sent);
        write(&view, format, &mut out);
        out
    }

    const SENT: &str = "\
CHART mem.cachestat_hits '' 'Number of \"accessed\" files' 'hits/s' 'page_cache' 'mem.cachestat_hits' line 1 1
DIMENSION 'hit' 'hit' incremental 1 1
CHART mem.cachestat_ratio '' 'Hit ratio' '%' 'page_cache' 'mem.cachestat_ratio' line 1 1
DIMENSION 'ratio' 'ratio' absolute 1 1
CHART system.softirq_latency '' 'Software IRQ latency' 'milliseconds' 'softirqs' 'system.softirq_latency' stacked 1 1
DIMENSION 'HI' 'HI' incremental 1 1000000
DIMENSION 'RCU' 'RCU' incremental 1 1000000
BEGIN mem.cachestat_hits 1000000
SET 'hit' = 123
END
BEGIN mem.cachestat_ratio 1000000
SET 'ratio' = 98
END
BEGIN system.softirq_latency 1000000
SET 'HI' = 2500000000
SET 'RCU' =
END
";

    #[test]
    fn openmetrics() {
        let expected = "\
# TYPE kmote_mem_cachestat_hits counter
# UNIT kmote_mem_cachestat_hits hits
# HELP kmote_mem_cachestat_hits Number of \\\"accessed\\\" files.
kmote_mem_cachestat_hits_total{dimension=\"hit\"} 123
# TYPE kmote_mem_cachestat_ratio gauge
# UNIT kmote_mem_cachestat_ratio ratio
# HELP kmote_mem_cachestat_ratio Hit ratio.
kmote_mem_cachestat_ratio{dimension=\"ratio\"} 0.98
# TYPE kmote_system_softirq_latency_seconds counter
# UNIT kmote_system_softirq_latency_seconds seconds
# HELP kmote_system_softirq_latency_seconds Software IRQ latency.
kmote_system_softirq_latency_seconds_total{dimension=\"HI\"} 2.5
# EOF
";
        assert_eq!(written(SENT, Format::OpenMetrics), expected);
    }

    #[test]
    fn names_of_charts_of_kmote_itself() {
        assert_eq!(name("netdata.kmote_cpu"), "kmote_cpu");
        assert_eq!(name("mem.cachestat_hits"), "kmote_mem_cachestat_hits");
    }

    #[test]
    fn the_older_text_format() {
        let text = written(SENT, Format::Prometheus);
        assert!(text.starts_with(
            "# TYPE kmote_mem_cachestat_hits_total counter\n\
             # HELP kmote_mem_cachestat_hits_total Number of \"accessed\" files.\n\
             kmote_mem_cachestat_hits_total{dimension=\"hit\"} 123\n"
        ));
        assert!(!text.contains("# UNIT") && !text.contains("# EOF"));
    }

    #[test]
    fn histograms_are_cumulative_and_in_seconds() {
        let head = |disk: &str| {
            format!(
                "CHART disk_latency_io.{disk} '' 'Disk latency' 'calls/s' '{disk}' 'disk.latency_io' stacked 1 1\n"
            )
        };
        let buckets: String =
            LABELS.iter().map(|label| format!("DIMENSION '{label}' '{label}' incremental 1 1\n")).collect();
        let values: String =
            LABELS.iter().zip(1..).map(|(label, value)| format!("SET '{label}' = {value}\n")).collect();
        let sent = ["sda", "sdb"]
            .map(|disk| format!("{}{buckets}BEGIN disk_latency_io.{disk}\n{values}END\n", head(disk)))
            .concat();
        let text = written(&sent, Format::OpenMetrics);
        let name = "kmote_disk_latency_io_seconds";
        assert_eq!(text.matches("# TYPE ").count(), 1);
        assert_eq!(text.matches(&format!("{name}_bucket")).count(), 2 * BUCKETS);
        for (disk, edge, count) in
            [("sda", "0.000001", 1), ("sda", "0.000002", 3), ("sdb", "4.194304", 276), ("sdb", "+Inf", 300)]
        {
            let line = format!("{name}_bucket{{chart=\"disk_latency_io.{disk}\",le=\"{edge}\"}} {count}\n");
            assert!(text.contains(&line), "no {line} in\n{text}");
        }
        assert!(!text.contains("_count"));
        assert!(written(&sent, Format::Prometheus).contains("_count{chart=\"disk_latency_io.sda\"} 300\n"));
    }
}
