// SPDX-License-Identifier: GPL-3.0-or-later
//! What was collected as a table for people: as wide as the terminal, one line for a chart or two.

use crate::number::Number;
use crate::view::{Chart, Dimension, View};
use kmote_core::histogram::LABELS;
use std::fmt::Write;

/// Where cells begin.
const MARGIN: usize = 26;
/// What a cell takes.
const CELL: usize = 27;
/// Of more charts of one context than this, only the busiest are shown.
const MANY: usize = 5;
/// Of a chart with more dimensions than this, only those that are not 0 are shown.
const FEW: usize = 6;
const NOTHING: &str = "nothing happened";
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const PLAIN_BARS: [char; 8] = ['.', ':', '-', '=', '+', '*', '#', '@'];

/// What is drawn on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// Letters in a line.
    pub columns: usize,
    /// Lines; none where they do not end.
    pub lines: Option<usize>,
    /// Whether bars may be letters beyond ASCII.
    pub unicode: bool,
}

/// The table.
pub fn draw(view: &View, heading: &str, screen: Screen) -> String {
    let mut lines = vec![cut(heading, screen.columns), String::new()];
    for (place, chart) in view.charts.iter().enumerate().filter(|(_, chart)| !is_silent(chart)) {
        let same: Vec<_> = view.charts.iter().filter(|other| other.context == chart.context).collect();
        let first = view.charts.iter().position(|other| other.context == chart.context);
        match same.len() {
            0..=MANY => lines.extend(chart_lines(chart, screen)),
            _ if first == Some(place) => lines.extend(busiest(&same, screen)),
            _ => {}
        }
    }
    if let Some(most) = screen.lines.filter(|most| lines.len() > *most) {
        let kept = most.saturating_sub(1);
        let more = format!("({} more lines: a taller window or --modules shows them)", lines.len() - kept);
        lines.truncate(kept);
        lines.push(cut(&more, screen.columns));
    }
    lines.join("\n") + "\n"
}

/// Whether a chart tells of what kmote itself has lost, and it has lost nothing.
fn is_silent(chart: &Chart) -> bool {
    chart.context.starts_with("netdata.")
        && chart.dimensions.iter().all(|one| one.shown().unwrap_or_default() == Number::default())
}

fn chart_lines(chart: &Chart, screen: Screen) -> Vec<String> {
    if chart.is_histogram() {
        return vec![margin(&chart.id) + &histogram(chart, screen)];
    }
    if let (true, [only]) = (chart.units == "%", chart.dimensions.as_slice()) {
        return vec![margin(&chart.id) + &percentage(only, screen)];
    }
    let many = chart.dimensions.len() > FEW;
    let stirs = |dimension: &&Dimension| !many || dimension.shown().unwrap_or_default() != Number::default();
    let cell = |dimension: &Dimension| cell(&dimension.name, dimension.shown(), &chart.units);
    match chart.dimensions.iter().filter(stirs).map(cell).collect::<Vec<_>>() {
        none if none.is_empty() => vec![margin(&chart.id) + NOTHING],
        cells => flow(&chart.id, cells, screen),
    }
}

/// The busiest of many charts of one kind, a cell each.
fn busiest(charts: &[&Chart], screen: Screen) -> Vec<String> {
    let amount =
        |chart: &Chart| chart.dimensions.iter().filter_map(Dimension::shown).map(Number::abs).sum::<Number>();
    let mut sorted: Vec<_> = charts.iter().map(|chart| (amount(chart), *chart)).collect();
    sorted.sort_by(|(a, _), (b, _)| b.cmp(a));
    let own_name = |chart: &Chart| match chart.labels.first() {
        Some((_, value)) => value.clone(),
        None => chart.id.split_once('.').map_or(chart.id.as_str(), |(_, name)| name).to_owned(),
    };
    let shown = sorted
        .iter()
        .take(MANY + 1)
        .map(|(amount, chart)| cell(&own_name(chart), Some(*amount), &chart.units));
    let context = charts.first().map_or("", |chart| chart.context.as_str());
    flow(context, shown.collect(), screen)
}

/// Cells after a name, as many in a line as fit.
fn flow(name: &str, cells: Vec<String>, screen: Screen) -> Vec<String> {
    let in_a_line = (screen.columns.saturating_sub(MARGIN) / CELL).max(1);
    let line = |(place, cells): (usize, &[String])| {
        let begin = margin(if place == 0 { name } else { "" });
        (begin + &cells.concat()).trim_end().to_owned()
    };
    cells.chunks(in_a_line).enumerate().map(line).collect()
}

fn margin(name: &str) -> String {
    let width = MARGIN - 1;
    format!("{:<width$} ", cut(name, width))
}

fn cell(name: &str, value: Option<Number>, units: &str) -> String {
    let number = value.map_or("-".to_owned(), |value| short(value) + suffix(units));
    format!("{:<15}{number:>10}  ", cut(name, 14))
}

fn percentage(dimension: &Dimension, screen: Screen) -> String {
    let Some(percent) = dimension.shown() else { return "-".to_owned() };
    let width = screen.columns.saturating_sub(MARGIN + 7).min(50);
    let full = percent.times(width as i64, 100).rounded().min(width);
    format!("{:>5} {}{}", format!("{}%", short(percent)), "#".repeat(full), ".".repeat(width - full))
}

/// A bar for each bucket, as high as its share of the fullest, and where the middle and the slowest lie.
fn histogram(chart: &Chart, screen: Screen) -> String {
    let grown: Vec<_> = chart.dimensions.iter().map(Dimension::grown).collect();
    let (all, most) = (grown.iter().sum::<u64>(), grown.iter().copied().max().unwrap_or(0));
    if all == 0 {
        return NOTHING.to_owned();
    }
    let bars = if screen.unicode { BARS } else { PLAIN_BARS };
    let bar = |count: &u64| match *count {
        0 => ' ',
        count => {
            let height = count.saturating_mul(bars.len() as u64).div_ceil(most);
            bars.get((height as usize).saturating_sub(1)).copied().unwrap_or(' ')
        }
    };
    let picture: String = grown.iter().map(bar).collect();
    let rate: Number = chart.dimensions.iter().filter_map(Dimension::shown).sum();
    format!("|{picture}| {}/s half {} 99% {}", short(rate), below(&grown, all, 50), below(&grown, all, 99))
}

/// The upper edge of the bucket up to which so many percent of all lie.
fn below(grown: &[u64], all: u64, percent: u64) -> &'static str {
    let mut count = 0;
    let reaches = |bucket: &u64| {
        count += bucket;
        count.saturating_mul(100) >= all.saturating_mul(percent)
    };
    let bucket = grown.iter().position(reaches).unwrap_or(LABELS.len() - 1);
    LABELS.get(bucket).and_then(|label| label.split_once("->")).map_or("", |(_, edge)| edge)
}

/// A number of at most five letters.
fn short(value: Number) -> String {
    let thousandths = |thousandths: i64| Number::of(thousandths).times(1, 1000);
    let (scaled, letter) = match value.abs() {
        size if size >= Number::of(999_500_000) => (value.times(1, 1_000_000_000), "G"),
        size if size >= Number::of(999_500) => (value.times(1, 1_000_000), "M"),
        size if size >= thousandths(999_500) => (value.times(1, 1000), "k"),
        _ => (value, ""),
    };
    let decimals = match scaled.abs() {
        size if size >= thousandths(99_950) || (letter.is_empty() && size.is_whole()) => 0,
        size if size >= thousandths(9_995) => 1,
        _ => 2,
    };
    format!("{scaled:.decimals$}{letter}")
}

/// What follows a number of these units.
fn suffix(units: &str) -> &'static str {
    match units {
        // Milliseconds of a total: so many in each second.
        "milliseconds" => "ms/s",
        "%" => "%",
        units if units.ends_with("/s") => "/s",
        _ => "",
    }
}

fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['~']).collect()
}

/// A line for each number, in columns that a script can split at blanks.
pub fn lines(view: &View) -> String {
    let mut out = String::new();
    for chart in &view.charts {
        for dimension in &chart.dimensions {
            let value = dimension.shown().map_or("-".to_owned(), |value| format!("{value:.3}"));
            let _ = writeln!(out, "{:<32} {:<20} {value:>16} {}", chart.id, dimension.id, chart.units);
        }
    }
    out
}

/// The same as JSON.
pub fn json(view: &View) -> String {
    let quote = crate::check::quote;
    let charts = view.charts.iter().map(|chart| {
        let dimensions = chart.dimensions.iter().map(|dimension| {
            let value = dimension.shown().map_or("null".to_owned(), |value| value.to_string());
            format!("{}:{value}", quote(&dimension.id))
        });
        let dimensions = dimensions.collect::<Vec<_>>().join(",");
        format!("{}:{{\"units\":{},\"dimensions\":{{{dimensions}}}}}", quote(&chart.id), quote(&chart.units))
    });
    format!("{{{}}}\n", charts.collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NARROW: Screen = Screen { columns: 80, lines: None, unicode: true };

    /// Id, context, units, and for each dimension its name and two values.
    type Sent<'a> = (&'a str, &'a str, &'a str, &'a [(&'a str, i64, i64)]);

    fn view(charts: &[Sent<'_>]) -> View {
        let mut view = View::default();
        let ticks = [0, 1].map(|tick| {
            let mut text = String::new();
            for (id, context, units, dimensions) in charts {
                let kind = if *units == "%" { "absolute" } else { "incremental" };
                let _ = writeln!(text, "CHART {id} '' 't' '{units}' 'f' '{context}' line 1 1");
                for (name, ..) in *dimensions {
                    let _ = writeln!(text, "DIMENSION '{name}' '{name}' {kind} 1 1");
                }
                let _ = writeln!(text, "BEGIN {id} 1000000");
                for (name, first, second) in *dimensions {
                    let _ = writeln!(text, "SET '{name}' = {}", [first, second][tick]);
                }
            }
            text
        });
        ticks.iter().for_each(|text| view.take(text));
        view
    }

    #[test]
    fn numbers_are_short() {
        for (thousandths, expected) in [
            (0, "0"),
            (1000, "1"),
            (-3000, "-3"),
            (123, "0.12"),
            (9_999, "10.0"),
            (12_340, "12.3"),
            (123_400, "123"),
            (999_400, "999"),
            (999_600, "1.00k"),
            (12_345_000, "12.3k"),
            (999_600_000, "1.00M"),
            (1_000_000_000_000, "1.00G"),
            (1_000_000_000_000_000_000, "1000000G"),
        ] {
            assert_eq!(short(Number::of(thousandths).times(1, 1000)), expected, "{thousandths}");
        }
    }

    #[test]
    fn a_table_of_80_columns() {
        let mut buckets: Vec<_> = LABELS.map(|label| (label, 0, 0)).to_vec();
        buckets[6].2 = 98;
        buckets[7].2 = 50;
        buckets[11].2 = 2;
        let view = view(&[
            ("system.process_thread", "a", "calls/s", &[("process", 10, 22), ("thread", 5, 5)]),
            ("mem.cachestat_ratio", "b", "%", &[("ratio", 98, 75)]),
            (
                "mem.cachestat_events",
                "c",
                "events/s",
                &[("accessed", 0, 123_456), ("added", 0, 7), ("buffers dirtied", 0, 1)],
            ),
            ("disk_latency_io.sda", "d", "calls/s", &buckets),
        ]);
        let expected = "\
kmote

system.process_thread     process              12/s  thread                0/s
mem.cachestat_ratio         75% ###################################............
mem.cachestat_events      accessed           123k/s  added                 7/s
                          buffers dirti~        1/s
disk_latency_io.sda       |      █▅   ▁            | 150/s half 64us 99% 2ms
";
        let drawn = draw(&view, "kmote", NARROW);
        assert_eq!(drawn, expected);
        assert!(drawn.lines().all(|line| line.chars().count() <= 80));
        let plain = draw(&view, "kmote", Screen { unicode: false, ..NARROW });
        assert!(plain.is_ascii() && plain.contains("|      @+   .            |"), "{plain}");
    }

    #[test]
    fn nothing_yet_and_nothing_happened() {
        let mut view = View::default();
        view.take("CHART a.b '' 't' 'calls/s' 'f' 'a.b' line 1 1\nDIMENSION 'x' 'x' incremental 1 1\n");
        assert!(
            draw(&view, "kmote", NARROW).ends_with("a.b                       x                       -\n")
        );
        let buckets: Vec<_> = LABELS.map(|label| (label, 3, 3)).to_vec();
        let idle = self::view(&[("d.l", "d", "calls/s", &buckets)]);
        assert!(draw(&idle, "kmote", NARROW).contains("nothing happened"));
    }

    #[test]
    fn of_many_dimensions_those_that_stir_are_shown_and_of_kmote_itself_what_is_wrong() {
        let names: Vec<_> = (0..8).map(|vector| format!("v{vector}")).collect();
        let values: Vec<_> = names.iter().map(|name| (name.as_str(), 0, i64::from(name == "v3"))).collect();
        let idle: Vec<_> = names.iter().map(|name| (name.as_str(), 5, 5)).collect();
        let view = view(&[
            ("a.b", "a", "calls/s", &values),
            ("a.c", "c", "calls/s", &idle),
            ("netdata.kmote_lost", "netdata.kmote_lost", "calls/s", &[("lost", 0, 0)]),
            ("netdata.kmote_missed", "netdata.kmote_missed", "calls/s", &[("lost", 0, 2)]),
        ]);
        let expected = "\
kmote

a.b                       v3                    1/s
a.c                       nothing happened
netdata.kmote_missed      lost                  2/s
";
        assert_eq!(draw(&view, "kmote", NARROW), expected);
    }

    #[test]
    fn a_low_window_says_what_it_does_not_show() {
        let names: Vec<_> = (0..20).map(|chart| format!("a.{chart}")).collect();
        let charts: Vec<_> =
            names.iter().map(|name| (name.as_str(), name.as_str(), "calls/s", &[("x", 0, 1)][..])).collect();
        let drawn = draw(&view(&charts), "kmote", Screen { lines: Some(10), ..NARROW });
        assert_eq!(drawn.lines().count(), 10);
        assert!(drawn.ends_with("(13 more lines: a taller window or --modules shows them)\n"), "{drawn}");
    }

    #[test]
    fn of_many_charts_of_a_kind_the_busiest_are_shown() {
        let names: Vec<_> = (0..30).map(|app| format!("app.app{app}")).collect();
        let values: Vec<_> = (0..30).map(|app| [("calls", 0, app)]).collect();
        let charts: Vec<_> = names
            .iter()
            .zip(&values)
            .map(|(name, value)| (name.as_str(), "app.calls", "calls/s", &value[..]))
            .collect();
        let drawn = draw(&view(&charts), "kmote", NARROW);
        assert!(
            drawn
                .contains("app.calls                 app29                29/s  app28                28/s\n"),
            "{drawn}"
        );
        assert!(drawn.contains("app24 ") && !drawn.contains("app23 "));
    }

    #[test]
    fn lines_and_json_for_scripts() {
        let view = view(&[("a.b", "a.b", "calls/s", &[("x y", 1, 4), ("z", 0, 0)])]);
        let text = lines(&view);
        assert_eq!(text.lines().count(), 2);
        assert!(text.starts_with("a.b "), "{text}");
        assert!(text.contains("           3.000 calls/s\n"), "{text}");
        assert_eq!(json(&view), "{\"a.b\":{\"units\":\"calls/s\",\"dimensions\":{\"x y\":3,\"z\":0}}}\n");
    }
}
