// SPDX-License-Identifier: GPL-3.0-or-later
//! Netdata's external-plugin protocol: the bytes of charts and of values.

use kmote_core::chart::{Chart, Mode};
use kmote_core::module::{Module, Slots};
use kmote_core::state::State;
use ufmt::{uWrite, uwrite, uwriteln};

/// What Netdata shows as the plugin of our charts.
const PLUGIN: &str = "kmote.plugin";

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
        chart.mode <= self.mode && chart.dimensions.iter().any(told)
    }

    /// Declares the charts and those of their dimensions that can be told.
    pub fn announce<W: uWrite>(self, out: &mut W, update_every: u32) -> Result<(), W::Error> {
        for (_, _, chart) in self.charts() {
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
        }
        Ok(())
    }

    /// Sends the values of a tick, read at `now` microseconds of a steady clock. `sent` holds, a chart, when it was
    /// last sent, 0 for never; a chart without any value now is left out.
    pub fn values<W: uWrite>(
        self,
        out: &mut W,
        state: &State,
        now: u64,
        sent: &mut [u64],
    ) -> Result<(), W::Error> {
        for (place, first, chart) in self.charts() {
            let value = |(nth, dimension)| state.value(first + nth, dimension, self.live);
            if chart.dimensions.iter().enumerate().all(|dimension| value(dimension).is_none()) {
                continue;
            }
            uwrite!(out, "BEGIN {}", chart.id)?;
            if let Some(last) = sent.get_mut(place) {
                if *last != 0 {
                    uwrite!(out, " {}", now.saturating_sub(*last))?;
                }
                *last = now;
            }
            out.write_char('\n')?;
            for (nth, dimension) in chart.dimensions.iter().enumerate() {
                if let Some(value) = value((nth, dimension)) {
                    uwriteln!(out, "SET '{}' = {}", dimension.id, value)?;
                }
            }
            out.write_str("END\n")?;
        }
        Ok(())
    }
}
