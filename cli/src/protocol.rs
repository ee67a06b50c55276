// SPDX-License-Identifier: GPL-3.0-or-later
//! Netdata's external-plugin protocol: the bytes of charts and of values.

use crate::rows::{Row, Rows, Stage};
use kmote_core::chart::{Chart, Mode, Value};
use kmote_core::module::{Module, Slots};
use kmote_core::state::{self, State};
use kmote_core::table::Drawn;
use ufmt::{uWrite, uwrite, uwriteln};

/// What Netdata shows as the plugin of our charts.
pub(crate) const PLUGIN: &str = "kmote.plugin";

/// The state of a module, in numbers that are made once.
pub type Numbers = State<Box<[u64]>>;

/// The state of a module before its first read.
pub fn state(module: &Module) -> Numbers {
    State::new(module, vec![0; state::numbers(module)].into())
}

/// A module as the protocol sees it: its row, and what of it is sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent<'a> {
    /// The row.
    pub module: &'a Module,
    /// The slots that are true.
    pub live: Slots,
    /// The mode, which decides on the charts of errors.
    pub mode: Mode,
}

impl<'a> Sent<'a> {
    /// The charts that have a dimension whose slots are all true, with the place of each chart's first dimension.
    fn charts(self) -> impl Iterator<Item = (usize, usize, &'a Chart)> {
        let mut first = 0;
        let places = self.module.charts.iter().enumerate().map(move |(place, chart)| {
            first += chart.dimensions.len();
            (place, first - chart.dimensions.len(), chart)
        });
        places.filter(move |(_, _, chart)| self.sends(chart))
    }

    /// Whether a chart is made at all.
    pub fn sends(self, chart: &Chart) -> bool {
        let told = |dimension: &kmote_core::chart::Dimension| self.live.contains_all(dimension.value.needs());
        let any = chart.dimensions.iter().any(told) || self.divisor(chart).is_some();
        chart.mode <= self.mode && any
    }

    /// What the rows of the module's table are divided by, if they are dimensions of this chart.
    fn divisor(self, chart: &Chart) -> Option<u32> {
        let table = self.module.table.filter(|table| self.live.contains_all(table.needs))?;
        match table.drawn {
            Drawn::Dimension { chart: id, divisor } if id == chart.id => Some(divisor),
            _ => None,
        }
    }

    /// Declares the charts and those of their dimensions that can be told.
    pub fn announce<W: uWrite>(self, out: &mut W, update_every: u32) -> Result<(), W::Error> {
        self.charts().try_for_each(|(_, _, chart)| self.declare(out, chart, update_every, None))
    }

    /// Declares a chart whole: Netdata takes a dimension only within its chart. Dimensions of `rows` stand last.
    fn declare<W: uWrite>(
        self,
        out: &mut W,
        chart: &Chart,
        update_every: u32,
        rows: Option<&Rows>,
    ) -> Result<(), W::Error> {
        uwriteln!(
            out,
            "CHART {} '' '{}' '{}' '{}' '{}' {} {} {} '' '{}' '{}'",
            chart.id,
            chart.title,
            chart.units,
            chart.family,
            chart.context,
            chart.kind.word(),
            chart.priority,
            update_every,
            PLUGIN,
            self.module.name
        )?;
        for dimension in chart.dimensions.iter().filter(|d| self.live.contains_all(d.value.needs())) {
            uwriteln!(
                out,
                "DIMENSION '{}' '{}' {} {} {}",
                dimension.id,
                dimension.name,
                dimension.value.algorithm(),
                dimension.multiplier,
                dimension.divisor
            )?;
        }
        let (divisor, rows) = (self.divisor(chart).unwrap_or(1), rows.into_iter().flat_map(Rows::each));
        for (row, _) in rows {
            let (name, option) = (row.name.as_str(), option(row));
            uwriteln!(out, "DIMENSION '{}' '{}' incremental 1 {}{}", name, name, divisor, option)?;
        }
        Ok(())
    }

    /// Sends the values of a tick, read at `now` microseconds of a steady clock. `sent` holds, a chart, when it was
    /// last sent, 0 for never; a chart without any value now is left out. Rows that came or went are declared first.
    pub fn values<W: uWrite>(
        self,
        out: &mut W,
        state: &Numbers,
        now: u64,
        sent: &mut [u64],
        mut rows: Option<&mut Rows>,
    ) -> Result<(), W::Error> {
        for (place, first, chart) in self.charts() {
            let mut rows = rows.as_deref_mut().filter(|_| self.divisor(chart).is_some());
            if let Some(rows) = rows.as_deref_mut().filter(|rows| rows.unsettled()) {
                self.declare(out, chart, rows.update_every, Some(rows))?;
                rows.settle();
            }
            let value = |(nth, dimension)| state.value(first + nth, dimension, self.live);
            let none = chart.dimensions.iter().enumerate().all(|dimension| value(dimension).is_none());
            if none && rows.as_ref().is_none_or(|rows| rows.is_empty()) {
                continue;
            }
            uwrite!(out, "BEGIN {}", chart.id)?;
            if let Some(last) = sent.get_mut(place) {
                since(out, last, now)?;
            }
            for (nth, dimension) in chart.dimensions.iter().enumerate() {
                if let Some(value) = value((nth, dimension)) {
                    uwriteln!(out, "SET '{}' = {}", dimension.id, value)?;
                }
            }
            for (row, counters) in rows.iter().flat_map(|rows| rows.each()) {
                uwriteln!(out, "SET '{}' = {}", row.name.as_str(), signed(counters.first()))?;
            }
            out.write_str("END\n")?;
        }
        match rows {
            Some(rows) => self.charts_of_rows(out, now, rows),
            None => Ok(()),
        }
    }

    /// Declares and sends the charts of rows that have one of their own.
    fn charts_of_rows<W: uWrite>(self, out: &mut W, now: u64, rows: &mut Rows) -> Result<(), W::Error> {
        let Drawn::Chart(chart) = rows.table.drawn else { return Ok(()) };
        let update_every = rows.update_every;
        for (row, counters) in rows.each_mut() {
            if row.stage != Stage::Known {
                self.declare_row(out, chart, row, update_every)?;
            }
            if row.stage == Stage::Gone {
                continue;
            }
            uwrite!(out, "BEGIN {}.{}", chart.id, row.name.as_str())?;
            since(out, &mut row.sent, now)?;
            for dimension in chart.dimensions {
                if let Value::Counter(slot) = dimension.value {
                    uwriteln!(out, "SET '{}' = {}", dimension.id, signed(counters.get(slot)))?;
                }
            }
            out.write_str("END\n")?;
        }
        rows.settle();
        Ok(())
    }

    fn declare_row<W: uWrite>(
        self,
        out: &mut W,
        chart: &Chart,
        row: &Row,
        update_every: u32,
    ) -> Result<(), W::Error> {
        let name = row.name.as_str();
        uwrite!(out, "CHART {}.{} '' '{}' '{}' '{}' ", chart.id, name, chart.title, chart.units, name)?;
        uwrite!(out, "'{}' {} {} ", chart.context, chart.kind.word(), chart.priority)?;
        let options = if row.stage == Stage::Gone { "obsolete" } else { "" };
        uwriteln!(out, "{} '{}' '{}' '{}'", update_every, options, PLUGIN, self.module.name)?;
        // What goes needs no dimensions.
        for dimension in chart.dimensions.iter().filter(|_| row.stage != Stage::Gone) {
            let (multiplier, divisor) = (dimension.multiplier, dimension.divisor);
            uwrite!(out, "DIMENSION '{}' '{}' ", dimension.id, dimension.name)?;
            uwriteln!(out, "{} {} {}", dimension.value.algorithm(), multiplier, divisor)?;
        }
        Ok(())
    }
}

/// Ends a `BEGIN` with the microseconds since it was last sent, and notes that it is sent now.
pub(crate) fn since<W: uWrite>(out: &mut W, last: &mut u64, now: u64) -> Result<(), W::Error> {
    if *last != 0 {
        uwrite!(out, " {}", now.saturating_sub(*last))?;
    }
    *last = now;
    out.write_char('\n')
}

/// The words of a row's dimension that tell Netdata to forget it.
const fn option(row: &Row) -> &'static str {
    match row.stage {
        Stage::Gone => " 'obsolete'",
        Stage::New | Stage::Known => "",
    }
}

/// Netdata reads a signed number.
fn signed(counter: Option<&u64>) -> i64 {
    counter.map_or(0, |counter| (counter & i64::MAX as u64) as i64)
}
