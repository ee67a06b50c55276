// SPDX-License-Identifier: GPL-3.0-or-later
//! The results of all kernels: a table for people, JUnit XML for machines, one closing line.

use std::fmt::Write;

use super::verdict::aligned;
use crate::row::{Outcome, Row};

/// What became of one kernel.
pub struct Result {
    pub kernel: String,
    /// The package and version, or the path.
    pub origin: String,
    pub rows: Vec<Row>,
    pub seconds: f64,
}

pub fn count(results: &[Result], outcome: Outcome) -> usize {
    results.iter().flat_map(|r| &r.rows).filter(|row| row.outcome == outcome).count()
}

/// One row a comparison, columns aligned.
pub fn table(result: &Result) -> String {
    let header = ["kernel", "module", "mechanism", "work", "counted", "expected", "seen", ""];
    let lines = result.rows.iter().map(|row| {
        let ok = match (row.outcome, row.why.is_empty()) {
            (Outcome::Passed, true) => "ok".to_owned(),
            (Outcome::Passed, false) => format!("ok ({})", row.why),
            (Outcome::Failed, true) => "FAILED".to_owned(),
            (Outcome::Failed, false) => format!("FAILED: {}", row.why),
            (Outcome::Skipped, _) => format!("skipped: {}", row.why),
        };
        let fields =
            [&result.kernel, &row.module, &row.mechanism, &row.work, &row.subject, &row.expected, &row.seen];
        let mut cells: Vec<String> = fields.map(Clone::clone).to_vec();
        cells.push(ok);
        cells
    });
    let lines: Vec<Vec<String>> = std::iter::once(header.map(str::to_owned).to_vec()).chain(lines).collect();
    aligned(&lines)
}

pub fn closing_line(results: &[Result]) -> String {
    let number = |outcome| count(results, outcome);
    let (passed, failed, skipped) =
        (number(Outcome::Passed), number(Outcome::Failed), number(Outcome::Skipped));
    format!("{passed} passed, {failed} failed, {skipped} skipped")
}

pub fn junit(results: &[Result]) -> String {
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for result in results {
        let one = std::slice::from_ref(result);
        let _ = writeln!(
            xml,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\" time=\"{:.1}\">\n    \
             <properties><property name=\"kernel\" value=\"{}\"/></properties>",
            escape(&result.kernel),
            result.rows.len(),
            count(one, Outcome::Failed),
            count(one, Outcome::Skipped),
            result.seconds,
            escape(&result.origin)
        );
        for row in &result.rows {
            xml.push_str(&test_case(&result.kernel, row));
        }
        xml.push_str("  </testsuite>\n");
    }
    xml + "</testsuites>\n"
}

fn test_case(kernel: &str, row: &Row) -> String {
    let class = escape(&format!("{kernel}.{}.{}", row.module, row.mechanism));
    let name = escape(&format!("{}: {}", row.work, row.subject));
    let message = match row.outcome {
        Outcome::Passed => return format!("    <testcase classname=\"{class}\" name=\"{name}\"/>\n"),
        Outcome::Failed => {
            let text = format!("expected {}, seen {} {}", row.expected, row.seen, row.why);
            format!("<failure message=\"{}\"/>", escape(text.trim_end()))
        }
        Outcome::Skipped => format!("<skipped message=\"{}\"/>", escape(&row.why)),
    };
    format!("    <testcase classname=\"{class}\" name=\"{name}\">{message}</testcase>\n")
}

fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    // XML has no place for control characters, escaped or not.
    text.chars().filter(|c| !c.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result() -> Result {
        let row = |outcome, seen: &str, why: &str| Row {
            module: "process".into(),
            mechanism: "kprobe".into(),
            work: "23 forks".into(),
            subject: "exit".into(),
            expected: "23".into(),
            seen: seen.into(),
            outcome,
            why: why.into(),
        };
        let rows = vec![
            row(Outcome::Passed, "23", ""),
            row(Outcome::Failed, "22", ""),
            row(Outcome::Skipped, "", "no <kprobe> & none"),
        ];
        Result { kernel: "6.12".into(), origin: "linux \"6.12\"".into(), rows, seconds: 1.0 }
    }

    #[test]
    fn the_table_names_the_row_that_failed() {
        let table = table(&result());
        assert!(
            table.contains("6.12    process  kprobe     23 forks  exit     23        22    FAILED\n"),
            "{table}"
        );
        assert_eq!(closing_line(&[result()]), "1 passed, 1 failed, 1 skipped");
    }

    #[test]
    fn junit_is_escaped() {
        let xml = junit(&[result()]);
        assert!(xml.contains("tests=\"3\" failures=\"1\" skipped=\"1\""), "{xml}");
        assert!(xml.contains("<failure message=\"expected 23, seen 22\"/>"), "{xml}");
        assert!(xml.contains("no &lt;kprobe&gt; &amp; none"), "{xml}");
        assert!(xml.contains("value=\"linux &quot;6.12&quot;\""), "{xml}");
    }
}
