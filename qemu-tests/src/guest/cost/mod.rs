// SPDX-License-Identifier: GPL-3.0-or-later
//! What kmote costs, in instructions: the runner boots with `-icount shift=0`, and a nanosecond is an instruction.

mod crowd;
mod event;
mod load;
mod loops;
mod rest;
mod steps;
mod tick;

use kmote_core::chart::Mode;
use kmote_core::modules::MODULES;

use super::bpf;
use super::run::Run;
use event::Variant;

/// To reach: instructions over the bare mechanism, and the same when each count is booked on a process too.
const MOST: u64 = 30;
const MOST_BOOKED: u64 = 120;

const VARIANTS: [Variant; 6] = [
    Variant { name: "fentry", options: &["--only", "fentry"], mode: Mode::Entry, most: MOST },
    Variant { name: "raw_tp", options: &["--only", "raw_tp"], mode: Mode::Entry, most: MOST },
    Variant { name: "kprobe", options: &["--only", "kprobe"], mode: Mode::Entry, most: MOST },
    Variant { name: "tp", options: &["--only", "tp"], mode: Mode::Entry, most: MOST },
    Variant { name: "return", options: &["--mode", "return"], mode: Mode::Return, most: MOST },
    Variant { name: "apps", options: &["--apps"], mode: Mode::Entry, most: MOST_BOOKED },
];

impl Run {
    pub fn cost(&mut self) {
        bpf::lock_any_memory();
        if let Err(error) = self.place.in_memory("ext4-4k") {
            println!("no disk in memory: {error}");
        }
        let wanted: Vec<_> = MODULES.iter().filter(|module| self.wants(module.name)).collect();
        for module in wanted {
            VARIANTS.iter().for_each(|variant| self.event_cost(module, variant));
        }
        if self.wants("rest") {
            self.rest();
        }
        if self.wants("tick") {
            self.tick_cost();
        }
        if self.wants("crowds") {
            self.crowd_cost();
        }
    }
}
