// SPDX-License-Identifier: GPL-3.0-or-later
//! Fuzzes the math of every module: whatever is read, no panic, and percentages from 0 to 100.
#![no_main]

use kmote_core::module::Slots;
use kmote_core::modules::MODULES;
use kmote_core::state::{State, numbers};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut read =
        data.chunks_exact(8).map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap_or_default()));
    for module in MODULES {
        let mut state = State::new(module, vec![0; numbers(module)]);
        let mut live = Slots::default();
        (0..module.slots.len()).for_each(|slot| live = live.with(slot));
        for _ in 0..4 {
            let totals: Vec<u64> = module.slots.iter().map(|_| read.next().unwrap_or(1)).collect();
            state.advance(module, &totals);
            let charts =
                module.charts.iter().flat_map(|chart| chart.dimensions.iter().map(move |d| (chart, d)));
            for (place, (chart, dimension)) in charts.enumerate() {
                let value = state.value(place, dimension, live);
                assert!(
                    chart.units != "%" || value.is_none_or(|value| (0..=100).contains(&value)),
                    "{value:?}"
                );
            }
        }
    }
});
