// SPDX-License-Identifier: GPL-3.0-or-later
//! The proof that the strict parser takes a valid stream and catches each fault.

use super::support::protocol::{Fault, Stream, parse};
use super::support::words::{MOST_BYTES, MOST_WORDS, split};

const CHART: &str = "CHART a.b '' 'A title' calls/s family a.b line 100 1 '' kmote.plugin process\n";
const COUNTER: &str = "DIMENSION n count incremental 1 1\n";
const LEVEL: &str = "DIMENSION l level absolute 1 1\n";

fn chart_then(rest: &str) -> Result<Stream, Fault> {
    parse(&format!("{CHART}{COUNTER}{LEVEL}{rest}"))
}

/// Expects the fault at this line, counted from the first line after the announcement.
fn fault_after_chart(rest: &str, line: usize, reason: &str) {
    assert_eq!(chart_then(rest).unwrap_err(), Fault { line: line + 3, reason: reason.into() }, "{rest}");
}

fn fault(text: &str, line: usize, reason: &str) {
    assert_eq!(parse(text).unwrap_err(), Fault { line, reason: reason.into() }, "{text}");
}

#[test]
fn a_valid_stream_is_read_as_it_stands() {
    let stream = chart_then(
        "BEGIN a.b\nSET n = 5\nSET l = -7\nEND\nBEGIN a.b 1000123\nSET n = 5\nSET l =\nEND\nDISABLE\n",
    )
    .unwrap();
    assert!(stream.disabled);
    assert_eq!(stream.charts.len(), 1);
    let chart = stream.chart("a.b").unwrap();
    assert_eq!((chart.title.as_str(), chart.priority, chart.update_every), ("A title", 100, 1));
    assert_eq!((chart.plugin.as_str(), chart.module.as_str()), ("kmote.plugin", "process"));
    assert_eq!(chart.dimension("n").unwrap().name, "count");
    assert_eq!(chart.dimension("l").unwrap().algorithm, "absolute");
    assert_eq!(chart.updates.len(), 2);
    assert_eq!(chart.updates[0].microseconds, None);
    assert_eq!(chart.updates[1].microseconds, Some(1_000_123));
    assert_eq!(chart.updates[1].values["l"], None);
    assert_eq!((chart.last("n"), chart.last("l"), chart.last("x")), (Some(5), Some(-7), None));
}

#[test]
fn an_empty_stream_and_a_bare_disable_are_valid() {
    assert!(!parse("").unwrap().disabled);
    let stream = parse("DISABLE\n").unwrap();
    assert!(stream.disabled && stream.charts.is_empty());
}

#[test]
fn commands_out_of_place_are_caught() {
    fault(COUNTER, 1, "DIMENSION outside CHART");
    fault("SET n = 1\n", 1, "SET outside BEGIN");
    fault("END\n", 1, "END outside BEGIN");
    fault("HELLO\n", 1, "unknown command HELLO");
    fault("chart\n", 1, "unknown command chart");
    fault("BEGIN a.b\n", 1, "BEGIN of the unknown chart a.b");
    fault("DISABLE\nDISABLE\n", 2, "a line after DISABLE");
    fault("DISABLE now\n", 1, "DISABLE takes nothing");
    fault_after_chart("SET n = 1\n", 1, "SET outside BEGIN");
    fault_after_chart("BEGIN a.b\nBEGIN a.b\n", 2, "BEGIN inside BEGIN");
    fault_after_chart("BEGIN a.b\nCHART a.c\n", 2, "CHART inside BEGIN");
    fault_after_chart("BEGIN a.b\nDISABLE\n", 2, "DISABLE inside BEGIN");
    fault_after_chart("BEGIN a.b\nSET n = 1\nEND\nDIMENSION m\n", 4, "DIMENSION outside CHART");
    fault_after_chart("BEGIN a.b\nSET n = 1\nEND\nSET n = 1\n", 4, "SET outside BEGIN");
    fault_after_chart("BEGIN a.b\nSET n = 1\n", 2, "the stream ends inside BEGIN");
}

#[test]
fn wrong_announcements_are_caught() {
    fault("CHART a.b\n", 1, "CHART with 1 words instead of 12");
    fault(&CHART.replace("a.b ''", "ab ''"), 1, "chart id ab is not type.id");
    fault(&CHART.replace("a.b ''", "a.b.c ''"), 1, "chart id a.b.c is not type.id");
    fault(&CHART.replace("'A title'", "''"), 1, "a.b without title");
    fault(&CHART.replace("kmote.plugin", "''"), 1, "a.b without plugin or module");
    fault(&CHART.replace(" line ", " bar "), 1, r#"'bar' is none of ["line", "area", "stacked", "heatmap"]"#);
    fault(&CHART.replace(" 100 ", " high "), 1, "'high' is no number that fits");
    fault(&CHART.replace(" 100 1 ", " 100 0 "), 1, "0 where a positive number must stand");
    fault(
        &CHART.replace("1 ''", "1 bold"),
        1,
        r#"'bold' is none of ["", "obsolete", "store_first", "hidden"]"#,
    );
    fault(CHART, 1, "a.b has no dimension");
    fault(&format!("{CHART}{CHART}"), 2, "a.b has no dimension");
    fault(&format!("{CHART}BEGIN a.b\n"), 2, "a.b has no dimension");
    fault(&format!("{CHART}{COUNTER}{COUNTER}"), 3, "dimension n of a.b is announced twice");
    fault(&format!("{CHART}DIMENSION n\n"), 2, "DIMENSION with 1 words instead of 3 to 6");
    fault(
        &format!("{CHART}{}", COUNTER.replace("incremental", "sum")),
        2,
        r#"'sum' is none of ["absolute", "incremental", "percentage-of-absolute-row", "percentage-of-incremental-row"]"#,
    );
    fault(&format!("{CHART}{}", COUNTER.replace("1 1", "0 1")), 2, "dimension n with a factor of 0");
    fault(&format!("{CHART}{}", COUNTER.replace(" n ", " n.m ")), 2, "dimension id 'n.m' with name 'count'");
    fault_after_chart(CHART, 1, "a.b is announced twice");
}

#[test]
fn a_chart_is_declared_again_whole_when_dimensions_come_or_go() {
    let more = COUNTER.replace(" n ", " m ");
    let gone = more.replace("1 1", "1 1 obsolete");
    let again = |lines: &str| format!("{CHART}{lines}BEGIN a.b\nSET n = 1\nEND\n");
    let grown = format!("{CHART}{COUNTER}{LEVEL}{more}");
    assert_eq!(chart_then(&grown).unwrap().charts[0].dimensions.len(), 3);
    let shrunk = format!("{grown}{}", again(&format!("{COUNTER}{LEVEL}{gone}")));
    assert_eq!(chart_then(&shrunk).unwrap().charts[0].dimensions.len(), 2);
    fault_after_chart(&again(&format!("{COUNTER}{LEVEL}")), 4, "a.b is announced twice");
    let without = "a.b is declared again without dimension l";
    fault_after_chart(&again(&format!("{COUNTER}{more}")), 4, without);
    fault_after_chart(&again(LEVEL), 2, "dimension l of a.b is out of place");
    fault_after_chart(&CHART.replace("line", "area"), 1, "a.b is announced twice");
    fault_after_chart(&shrunk.replace("SET n", "SET m"), 10, "SET of the unknown dimension m");
}

#[test]
fn obsolete_charts_take_no_values_until_they_come_back() {
    let obsolete = CHART.replace("1 ''", "1 obsolete");
    fault(&obsolete, 1, "a.b is obsolete before it was announced");
    fault_after_chart(&format!("{obsolete}BEGIN a.b\n"), 2, "BEGIN of the obsolete chart a.b");
    fault_after_chart(&format!("{obsolete}{obsolete}"), 2, "a.b is announced twice");
    let stream = chart_then(&format!("{obsolete}{CHART}BEGIN a.b\nSET n = 1\nEND\n")).unwrap();
    assert_eq!(stream.charts[0].updates.len(), 1);
}

#[test]
fn wrong_updates_are_caught() {
    let first = "BEGIN a.b\nSET n = 5\nEND\n";
    fault_after_chart("BEGIN a.b 1000000\n", 1, "the first BEGIN of a.b has microseconds");
    fault_after_chart(&format!("{first}BEGIN a.b\n"), 4, "a later BEGIN of a.b has no microseconds");
    fault_after_chart(&format!("{first}BEGIN a.b 0\n"), 4, "a BEGIN of a.b after 0 microseconds");
    fault_after_chart(&format!("{first}BEGIN a.b -5\n"), 4, "'-5' is no number that fits");
    fault_after_chart("BEGIN a.b 1 2\n", 1, "BEGIN takes a chart and microseconds");
    fault_after_chart("BEGIN a.b\nEND\n", 2, "an update of a.b without a SET");
    fault_after_chart("BEGIN a.b\nSET n = 1\nEND 5\n", 3, "END takes nothing");
    fault_after_chart("BEGIN a.b\nSET x = 1\n", 2, "SET of the unknown dimension x");
    fault_after_chart("BEGIN a.b\nSET n = 1\nSET n = 1\n", 3, "n is set twice");
    fault_after_chart("BEGIN a.b\nSET n 1\n", 2, "SET without ` = `");
    fault_after_chart("BEGIN a.b\nSET n = 1.5\n", 2, "'1.5' is no number that fits");
    fault_after_chart("BEGIN a.b\nSET n = +1\n", 2, "'+1' is no number that fits");
    fault_after_chart(
        "BEGIN a.b\nSET l = 9223372036854775808\n",
        2,
        "'9223372036854775808' is no number that fits",
    );
    fault_after_chart("BEGIN a.b\nSET n = -1\n", 2, "counter n of a.b is negative");
    fault_after_chart(
        &format!("{first}BEGIN a.b 1000000\nSET n = 4\n"),
        5,
        "counter n of a.b fell from 5 to 4",
    );
}

#[test]
fn lines_that_netdata_would_misread_are_caught() {
    fault("\n", 1, "an empty line");
    fault("DISABLE", 1, "a line without its end");
    fault("DISABLE\r\n", 1, r"character '\r'");
    fault("CHART a\tb\n", 1, r"character '\t'");
    fault("CHART µ\n", 1, "character 'µ'");
    fault("CHART a\\b\n", 1, r"character '\\'");
    fault("CHART 'a b\n", 1, "an open quote");
    fault("CHART 'a'b\n", 1, "a word glued to 'a'");
    fault("CHART it's\n", 1, "a quote inside it's");
    let (most, more) = ("w ".repeat(MOST_WORDS), "w ".repeat(MOST_WORDS + 1));
    assert_eq!(split(&most).unwrap().len(), 20);
    assert_eq!(split(&more), Err("21 words".into()));
    assert!(split(&"w".repeat(MOST_BYTES - 2)).is_ok());
    assert_eq!(split(&"w".repeat(MOST_BYTES - 1)), Err("a line of 15360 bytes".into()));
    assert_eq!(split("SET a='b c' \"d'e\"").unwrap(), ["SET", "a", "b c", "d'e"]);
}
