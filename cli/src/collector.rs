// SPDX-License-Identifier: GPL-3.0-or-later
//! The modules that count, their state, and what a tick says of them.

use crate::protocol::Sent;
use kmote_bpf::kernel::Kernel;
use kmote_bpf::object::{Attached, Error, attach_module};
use kmote_core::chart::Mode;
use kmote_core::module::{MAX_SLOTS, Module};
use kmote_core::state::State;
use ufmt::uWrite;

/// All modules that count, with the buffers that their reads need. Made once; after that nothing grows.
#[derive(Debug)]
pub struct Collector {
    running: Vec<Running>,
    mode: Mode,
    buffer: Vec<u64>,
    sums: [u64; MAX_SLOTS],
}

#[derive(Debug)]
struct Running {
    attached: Attached,
    state: State,
    /// When each chart was last sent, in microseconds; 0 for never.
    sent: Vec<u64>,
    /// Whether the last read failed, so that a lasting fault is said once.
    failed: bool,
}

impl Collector {
    /// Attaches the modules; those of which nothing can be had are in the second list, with the reason.
    pub fn start(kernel: &Kernel, modules: &[&'static Module], mode: Mode) -> (Self, Vec<Error>) {
        let (mut running, mut errors) = (Vec::new(), Vec::new());
        for module in modules {
            match attach_module(kernel, module, mode) {
                Ok(attached) => running.push(Running::new(attached)),
                Err(error) => errors.push(error),
            }
        }
        let words = running.iter().map(|module| module.attached.words()).max().unwrap_or(0);
        (Self { running, mode, buffer: vec![0; words], sums: [0; MAX_SLOTS] }, errors)
    }

    /// The modules as they were attached.
    pub fn attached(&self) -> impl Iterator<Item = &Attached> {
        self.running.iter().map(|running| &running.attached)
    }

    /// Forgets the modules of which nothing is attached, and gives their maps back.
    pub fn keep_what_counts(&mut self) {
        self.running.retain(|running| running.attached.counts());
    }

    /// Whether there is nothing to read.
    pub fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// Reads every module once. A module that cannot be read keeps its values, and `complain` hears of it once.
    pub fn read(&mut self, mut complain: impl FnMut(&Error)) {
        for running in &mut self.running {
            let read = running.attached.read(&mut self.buffer, &mut self.sums);
            if let (Err(error), false) = (&read, running.failed) {
                complain(error);
            }
            running.failed = read.is_err();
            if !running.failed {
                running.state.advance(running.attached.module, &self.sums);
            }
        }
    }

    /// Declares all charts that can be told.
    pub fn announce<W: uWrite>(&self, out: &mut W, update_every: u32) -> Result<(), W::Error> {
        self.running.iter().try_for_each(|running| running.sent_as(self.mode).announce(out, update_every))
    }

    /// Sends the values of the read made at `now` microseconds.
    pub fn values<W: uWrite>(&mut self, out: &mut W, now: u64) -> Result<(), W::Error> {
        for running in self.running.iter_mut().filter(|running| !running.failed) {
            let sent = running.sent_as(self.mode);
            sent.values(out, &running.state, now, &mut running.sent)?;
        }
        Ok(())
    }

    /// The last read of each module, slot by slot, where the slot is true: module, slot, total.
    pub fn totals(&mut self, mut each: impl FnMut(&str, &str, u64)) -> Result<(), Error> {
        for running in &self.running {
            let Attached { module, live, .. } = &running.attached;
            running.attached.read(&mut self.buffer, &mut self.sums)?;
            let slots = module.slots.iter().zip(self.sums).enumerate();
            slots
                .filter(|(slot, _)| live.contains(*slot))
                .for_each(|(_, (name, total))| each(module.name, name, total));
        }
        Ok(())
    }
}

impl Running {
    fn new(attached: Attached) -> Self {
        let charts = attached.module.charts.len();
        Self { attached, state: State::default(), sent: vec![0; charts], failed: false }
    }

    fn sent_as(&self, mode: Mode) -> Sent<'static> {
        Sent { module: self.attached.module, live: self.attached.live, mode }
    }
}
