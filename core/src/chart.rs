// SPDX-License-Identifier: GPL-3.0-or-later
//! What Netdata draws: charts, their dimensions, and how a value follows from the slots.

use crate::delta::Delta;

/// How a dimension's number follows from the slots. The kind implies Netdata's algorithm, so that no
/// dimension can be declared with a wrong one.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// A slot as it is: a monotone total. `incremental`.
    Counter(usize),
    /// An amount of each interval that is computed from the named slots and accumulated. `incremental`.
    Sum(&'static Formula<u64>),
    /// A state of each interval, computed from the named slots; `None` is no value this time. `absolute`.
    Level(&'static Formula<Option<i64>>),
}

/// The slots that a value is computed from, and how.
pub type Formula<T> = (&'static [usize], fn(&Delta<'_>) -> T);

impl Value {
    /// The slots without which the value cannot be told.
    pub const fn needs(&self) -> &[usize] {
        match self {
            Self::Counter(slot) => core::slice::from_ref(slot),
            Self::Sum((slots, _)) | Self::Level((slots, _)) => slots,
        }
    }

    /// Netdata's algorithm for it.
    pub const fn algorithm(&self) -> &'static str {
        match self {
            Self::Counter(_) | Self::Sum(..) => "incremental",
            Self::Level(..) => "absolute",
        }
    }
}

/// One line of a chart.
#[derive(Clone, Copy, Debug)]
pub struct Dimension {
    /// The id, which is for ever: alarms and history hang on it, whatever kernel symbol is hooked.
    pub id: &'static str,
    /// The word that dashboards show.
    pub name: &'static str,
    /// Where the number comes from.
    pub value: Value,
    /// What Netdata multiplies the number by; −1 mirrors it below the axis.
    pub multiplier: i32,
    /// What Netdata divides it by.
    pub divisor: u32,
}

impl Dimension {
    /// A dimension that is drawn as it is sent.
    pub const fn new(id: &'static str, name: &'static str, value: Value) -> Self {
        Self { id, name, value, multiplier: 1, divisor: 1 }
    }
}

/// How Netdata draws a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A line a dimension.
    Line,
    /// Dimensions on top of each other.
    Stacked,
}

impl Kind {
    /// Netdata's word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Stacked => "stacked",
        }
    }
}

/// Which programs are loaded: those that count calls, or also those that see how calls end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Entry hooks only: the default.
    Entry,
    /// Return hooks too, for the charts of errors.
    Return,
}

/// A chart, under Netdata's own ids (`shared/spec`, v2.9.0).
#[derive(Clone, Copy, Debug)]
pub struct Chart {
    /// `type.id`.
    pub id: &'static str,
    /// What stands above it.
    pub title: &'static str,
    /// What its axis is in.
    pub units: &'static str,
    /// The submenu that it stands in.
    pub family: &'static str,
    /// What groups it with the same chart of other hosts.
    pub context: &'static str,
    /// How it is drawn.
    pub kind: Kind,
    /// Where it stands: smaller is higher.
    pub priority: u32,
    /// The least mode in which it exists.
    pub mode: Mode,
    /// Its lines.
    pub dimensions: &'static [Dimension],
}

/// Whether a text can stand between quotes on a line of the protocol: it is not empty, and printable ASCII without a quote
/// or a backslash.
pub const fn quotable(text: &str) -> bool {
    let (bytes, mut place) = (text.as_bytes(), 0);
    while place < bytes.len() {
        if !matches!(bytes[place], b' '..=b'~') || matches!(bytes[place], b'\'' | b'"' | b'\\') {
            return false;
        }
        place += 1;
    }
    !bytes.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_stand_between_quotes() {
        for (text, expected) in [
            ("Start process", true),
            ("", false),
            ("kmote's", false),
            ("a\"b", false),
            ("a\\", false),
            ("µs", false),
        ] {
            assert_eq!(quotable(text), expected, "{text}");
        }
    }
}
