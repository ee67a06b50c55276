// SPDX-License-Identifier: GPL-3.0-or-later
//! A result: one comparison of an expected with a seen number, and its way over the serial console.

/// What a guest's lines begin with, so that the kernel's own messages are not taken for results.
const PREFIX: &str = "@kmote\t";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    Failed,
    Skipped,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub module: String,
    pub mechanism: String,
    /// What was done, for instance `23 forks`.
    pub work: String,
    /// What was compared: a slot of kmote or a counter of the kernel.
    pub subject: String,
    pub expected: String,
    pub seen: String,
    pub outcome: Outcome,
    /// Why it was skipped, or why no equality can be asked for.
    pub why: String,
}

/// A line of a guest.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    Row(Row),
    /// The guest ran to its end and had sent so many rows.
    End(usize),
}

impl Row {
    pub fn to_line(&self) -> String {
        let outcome = match self.outcome {
            Outcome::Passed => "passed",
            Outcome::Failed => "failed",
            Outcome::Skipped => "skipped",
        };
        let fields =
            [&self.module, &self.mechanism, &self.work, &self.subject, &self.expected, &self.seen, &self.why];
        let fields = fields.map(|field| field.replace(['\t', '\n', '\r'], " "));
        format!("{PREFIX}row\t{outcome}\t{}", fields.join("\t"))
    }
}

pub fn end_line(rows: usize) -> String {
    format!("{PREFIX}end\t{rows}")
}

/// Reads a line of the console; `None` if it is not one of ours.
pub fn parse(line: &str) -> Option<Line> {
    let at = line.find(PREFIX)?;
    let mut fields = line[at + PREFIX.len()..].trim_end_matches(['\r', '\n']).split('\t');
    match fields.next()? {
        "end" => Some(Line::End(fields.next()?.parse().ok()?)),
        "row" => {
            let outcome = match fields.next()? {
                "passed" => Outcome::Passed,
                "failed" => Outcome::Failed,
                "skipped" => Outcome::Skipped,
                _ => return None,
            };
            let mut next = || fields.next().map(str::to_owned);
            Some(Line::Row(Row {
                module: next()?,
                mechanism: next()?,
                work: next()?,
                subject: next()?,
                expected: next()?,
                seen: next()?,
                why: next()?,
                outcome,
            }))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_survives_the_console() {
        let row = Row {
            module: "process".into(),
            mechanism: "fentry".into(),
            work: "23 forks".into(),
            subject: "exit".into(),
            expected: "23".into(),
            seen: "22".into(),
            outcome: Outcome::Failed,
            why: String::new(),
        };
        let line = format!("{}\r\n", row.to_line());
        assert_eq!(parse(&line), Some(Line::Row(row)));
    }

    #[test]
    fn other_lines_are_not_ours() {
        assert_eq!(parse("[    1.0] random: crng init done"), None);
        assert_eq!(parse("@kmote\trow\tpassed\tonly\tthree"), None);
        assert_eq!(parse("[ 1.0] x @kmote\tend\t7"), Some(Line::End(7)));
    }
}
