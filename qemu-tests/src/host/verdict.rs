// SPDX-License-Identifier: GPL-3.0-or-later
//! The matrix in one look: a row a module and mechanism, a column a kernel; in each cell how many comparisons were
//! equal, how many not, or why there are none.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::report::Result;
use crate::row::{Outcome, Row};

#[derive(Default)]
struct Cell {
    equal: usize,
    not: usize,
    skipped: Vec<usize>,
}

type Key<'a> = (&'a str, &'a str);

pub fn table(results: &[Result]) -> String {
    let (mut reasons, mut lines) = (Vec::new(), Vec::<(Key, BTreeMap<usize, Cell>)>::new());
    for (nr, row) in results.iter().enumerate().flat_map(|(nr, r)| r.rows.iter().map(move |row| (nr, row))) {
        let key = (row.module.as_str(), row.mechanism.as_str());
        let place = lines.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
            lines.push((key, BTreeMap::new()));
            lines.len() - 1
        });
        take(lines[place].1.entry(nr).or_default(), row, &mut reasons);
    }
    let head = results.iter().map(|result| result.kernel.clone());
    let head = ["module", "mechanism"].map(str::to_owned).into_iter().chain(head).collect();
    let body = lines.iter().map(|((module, mechanism), cells)| {
        let cells = (0..results.len()).map(|nr| cells.get(&nr).map_or_else(|| "-".to_owned(), text));
        [module, mechanism].map(|word| (*word).to_owned()).into_iter().chain(cells).collect()
    });
    let mut text = aligned(&std::iter::once(head).chain(body).collect::<Vec<_>>());
    text.push_str("N= comparisons equal, N≠ not equal, [N] skipped for this reason:\n");
    for (nr, reason) in reasons.iter().enumerate() {
        let _ = writeln!(text, "[{}] {reason}", nr + 1);
    }
    text
}

fn take(cell: &mut Cell, row: &Row, reasons: &mut Vec<String>) {
    match row.outcome {
        Outcome::Passed => cell.equal += 1,
        Outcome::Failed => cell.not += 1,
        Outcome::Skipped => {
            // What kmote itself says comes behind.
            let why = row.why.split(';').next().unwrap_or_default().to_owned();
            let nr = reasons.iter().position(|known| *known == why).unwrap_or_else(|| {
                reasons.push(why);
                reasons.len() - 1
            });
            if !cell.skipped.contains(&nr) {
                cell.skipped.push(nr);
            }
        }
    }
}

fn text(cell: &Cell) -> String {
    let mut words = Vec::new();
    if cell.equal > 0 {
        words.push(format!("{}=", cell.equal));
    }
    if cell.not > 0 {
        words.push(format!("{}≠", cell.not));
    }
    words.extend(cell.skipped.iter().map(|nr| format!("[{}]", nr + 1)));
    words.join(" ")
}

/// Lines of cells, each as wide as the widest of its column.
pub fn aligned(lines: &[Vec<String>]) -> String {
    let columns = lines.first().map_or(0, Vec::len);
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for line in lines {
        let cells = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        let _ = writeln!(text, "{}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_a_kernel() {
        let row = |mechanism: &str, outcome, why: &str| Row {
            module: "fd".into(),
            mechanism: mechanism.into(),
            work: String::new(),
            subject: String::new(),
            expected: String::new(),
            seen: String::new(),
            outcome,
            why: why.into(),
        };
        let result =
            |kernel: &str, rows| Result { kernel: kernel.into(), origin: String::new(), rows, seconds: 0.0 };
        let passed = row("tp", Outcome::Passed, "");
        let failed = row("tp", Outcome::Failed, "");
        let skipped = row("fentry", Outcome::Skipped, "no fentry; said so");
        let results = [
            result("5.10", vec![passed.clone(), failed, skipped]),
            result("6.12", vec![passed.clone(), passed]),
        ];
        assert_eq!(
            table(&results),
            "module  mechanism  5.10   6.12\n\
             fd      tp         1= 1≠  2=\n\
             fd      fentry     [1]    -\n\
             N= comparisons equal, N≠ not equal, [N] skipped for this reason:\n\
             [1] no fentry\n"
        );
    }
}
