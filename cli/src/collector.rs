// SPDX-License-Identifier: GPL-3.0-or-later
//! The modules that count, their state, and what a tick says of them.

use crate::apps::{Apps, Asked};
use crate::coming::{Coming, LOOK};
use crate::names::Namer;
use crate::protocol::{self, Numbers, Sent};
use crate::rows::{Rows, Stage};
use kmote_bpf::kernel::Kernel;
use kmote_bpf::object::{Attached, Error, Phase, attach_module};
use kmote_core::apps::life::LIFE;
use kmote_core::chart::Mode;
use kmote_core::hook::Refusal;
use kmote_core::module::{Extent, MAX_SLOTS, Module};
use kmote_core::plan::Plan;
use std::time::Duration;
use ufmt::uWrite;

/// What began so long ago and did not end never will, or nobody waits for it any more.
const FORGOTTEN: Duration = Duration::from_secs(600);

/// A module that is wanted, and how.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Its row.
    pub module: &'static Module,
    /// How much of it.
    pub extent: Extent,
    /// On every how many ticks it is read.
    pub ticks: u32,
}

impl Wanted {
    /// These modules, on every tick.
    pub fn all(modules: impl IntoIterator<Item = &'static Module>, mode: Mode) -> Vec<Self> {
        modules.into_iter().map(|module| Self { module, extent: Extent::whole(mode), ticks: 1 }).collect()
    }
}

/// All modules that count, with the buffers that their reads need. Made once; after that nothing grows.
#[derive(Debug)]
pub struct Collector {
    running: Vec<Running>,
    /// Boxed: it is large, and most runs have none.
    apps: Option<Box<Apps>>,
    /// By how many powers of two tables are smaller than usual.
    shrink: u32,
    comings: Vec<Coming>,
    /// When was last looked after what comes, in microseconds.
    looked: u64,
    buffer: Vec<u64>,
    keys: Vec<u64>,
    namer: Namer,
    sums: [u64; MAX_SLOTS],
}

#[derive(Debug)]
struct Running {
    attached: Attached,
    state: Numbers,
    /// The keys of its table.
    rows: Option<Rows>,
    mode: Mode,
    /// On every how many ticks it is read, and whether this is one.
    ticks: u32,
    due: bool,
    /// When each chart was last sent, in microseconds; 0 for never.
    moments: Vec<u64>,
    /// Whether the last read failed, so that a lasting fault is said once.
    failed: bool,
    /// Whether its charts are declared.
    announced: bool,
}

impl Collector {
    /// Attaches the modules; those of which nothing can be had are in the second list, with the reason.
    ///
    /// If groups of processes are asked for, the modules share a table of processes, and one more row keeps it.
    pub fn start(kernel: &Kernel, wanted: &[Wanted], asked: Option<&Asked>) -> (Self, Vec<Error>) {
        let (mut running, mut errors) = (Vec::new(), Vec::new());
        let (plan, wanted) = planned(kernel, wanted, asked.is_some(), &mut errors);
        // Before anything is attached: what comes meanwhile is then noticed.
        let comings = wanted.iter().filter_map(|one| Coming::new(kernel, one)).collect();
        let room = kernel.budget.saturating_sub(plan.bytes);
        let table = asked
            .and_then(|asked| asked.table(kernel, &wanted, room).map_err(|error| errors.push(error)).ok());
        let extent = Extent::whole(Mode::Entry);
        let keeper = table.as_ref().map(|_| Wanted { module: &LIFE, extent, ticks: 1 });
        for one in wanted.iter().chain(&keeper) {
            match attach_module(kernel, one.module, one.extent, plan.shrink, table.as_ref()) {
                Ok(attached) => running.push(Running::new(attached, one)),
                Err(error) => errors.push(error),
            }
        }
        let attached = running.iter().map(|running| (&running.attached, running.mode));
        let apps = asked.zip(table).map(|(asked, table)| Apps::new(kernel, asked, table, attached));
        let namer = Namer::new(kernel.prefix());
        let (buffer, keys, sums) = (Vec::new(), Vec::new(), [0; MAX_SLOTS]);
        let shrink = plan.shrink;
        let mut collector = Self { running, apps, shrink, comings, looked: 0, buffer, keys, namer, sums };
        collector.make_room();
        (collector, errors)
    }

    /// By how many powers of two tables are smaller than usual, to fit into the budget of kernel memory.
    pub const fn shrink(&self) -> u32 {
        self.shrink
    }

    /// Bytes of kernel memory that maps take, and returns that are hooked.
    pub fn memory(&self) -> u64 {
        let table = self.apps.as_ref().map_or(0, |apps| apps.table().0);
        self.attached().filter(|attached| attached.counts()).map(Attached::memory).sum::<u64>() + table
    }

    /// Makes the buffers as large as the largest module needs.
    fn make_room(&mut self) {
        let words = self.running.iter().map(|module| module.attached.words()).max().unwrap_or(0);
        let tables = || self.running.iter().filter_map(|module| module.rows.as_ref().map(|rows| rows.table));
        let words = tables().map(|table| table.capacity * table.slots.len()).fold(words, usize::max);
        let keys = tables().map(|table| table.capacity).max().unwrap_or(0);
        self.buffer.resize(words.max(self.buffer.len()), 0);
        self.keys.resize(keys.max(self.keys.len()), 0);
    }

    /// The modules as they were attached, and in which mode.
    pub fn modes(&self) -> impl Iterator<Item = (&Attached, Mode)> {
        self.running.iter().map(|running| (&running.attached, running.mode))
    }

    /// The modules as they were attached.
    pub fn attached(&self) -> impl Iterator<Item = &Attached> {
        self.running.iter().map(|running| &running.attached)
    }

    /// Forgets the modules of which nothing is attached, and gives their maps back. What waits for a kernel module is
    /// still looked after.
    pub fn keep_what_counts(&mut self) {
        let waits = |coming: &Coming| self.running.iter().any(|one| one.is(coming) && one.waits());
        self.comings.retain(waits);
        self.running.retain(|running| running.attached.counts());
    }

    /// Whether programs may be attached later.
    pub const fn attaches_later(&self) -> bool {
        !self.comings.is_empty()
    }

    /// Whether every module can be read, with the privileges of now.
    pub fn can_read(&mut self) -> bool {
        self.totals(|_, _, _| {}).is_ok()
    }

    /// Whether there is nothing to read, and nothing will come.
    pub fn is_empty(&self) -> bool {
        self.running.is_empty() && self.comings.is_empty()
    }

    /// Looks now and then, by `now` in microseconds, whether kernel modules came or went, and attaches anew what hooks
    /// their functions; `each` hears of it. Sweeps out what never ended. Whether there are charts to declare.
    pub fn look(&mut self, kernel: &Kernel, now: u64, mut each: impl FnMut(&Attached, Mode)) -> bool {
        if u128::from(now.saturating_sub(self.looked)) < LOOK.as_micros() {
            return false;
        }
        self.looked = now;
        self.running.iter().filter_map(|one| one.attached.starts.as_ref()).for_each(|s| s.sweep(FORGOTTEN));
        let mut comings = std::mem::take(&mut self.comings);
        for coming in &mut comings {
            if coming.changed() {
                self.attach_anew(kernel, coming, &mut each);
            }
        }
        self.comings = comings;
        self.running.iter().any(|running| !running.announced)
    }

    /// Detaches a module and attaches what can be had of it now; what it has counted is kept.
    fn attach_anew(&mut self, kernel: &Kernel, coming: &mut Coming, each: impl FnOnce(&Attached, Mode)) {
        if let Some(place) = self.running.iter().position(|running| running.is(coming)) {
            let mut old = self.running.remove(place);
            old.advance(&mut self.buffer, &mut self.sums);
            std::mem::swap(&mut coming.state, &mut old.state);
            coming.state.begin_anew();
        }
        let Wanted { module, extent, .. } = coming.wanted;
        let attached = attach_module(kernel, module, extent, self.shrink, None);
        let Ok(attached) = attached.map_err(|error| eprintln!("kmote: {error}")) else { return };
        each(&attached, extent.mode);
        if attached.counts() {
            let mut running = Running::new(attached, &coming.wanted);
            std::mem::swap(&mut running.state, &mut coming.state);
            self.running.push(running);
            self.make_room();
        }
    }

    /// Turns to the tick of this number: the modules that are read on every second one, say, are due on even ones. All are
    /// due before the first turn.
    pub fn turn(&mut self, tick: u64) {
        for running in &mut self.running {
            running.due = tick.is_multiple_of(u64::from(running.ticks.max(1)));
        }
    }

    /// Reads every module that is due once. A module that cannot be read keeps its values, and `complain` hears of it once.
    pub fn read(&mut self, mut complain: impl FnMut(&Error)) {
        for running in self.running.iter_mut().filter(|running| running.due) {
            let mut read = running.attached.read(&mut self.buffer, &mut self.sums);
            if let (Ok(()), Some(rows)) = (&read, &mut running.rows) {
                read = take_rows(&running.attached, rows, &self.namer, &mut self.keys, &mut self.buffer);
            }
            if let (Err(error), false) = (&read, running.failed) {
                complain(error);
            }
            running.failed = read.is_err();
            if !running.failed {
                running.state.advance(running.attached.module, &self.sums);
            }
        }
        if let Some(apps) = &mut self.apps {
            apps.read(complain);
        }
    }

    /// The groups of processes, if they were asked for, to look at.
    pub fn groups(&self) -> Option<&Apps> {
        self.apps.as_deref()
    }

    /// The groups of processes, if they were asked for.
    pub fn apps(&mut self) -> Option<&mut Apps> {
        self.apps.as_deref_mut()
    }

    /// Forgets what was sent, and when: what follows is the first of another stream.
    pub fn forget_sent(&mut self) {
        for running in &mut self.running {
            running.announced = false;
            running.moments.fill(0);
            running.rows.iter_mut().for_each(Rows::forget_sent);
        }
        self.apps.iter_mut().for_each(|apps| apps.forget_sent());
    }

    /// Declares all charts that can be told and are not declared yet.
    pub fn announce<W: uWrite>(&mut self, out: &mut W, update_every: u32) -> Result<(), W::Error> {
        self.running.iter_mut().filter(|running| !running.announced).try_for_each(|running| {
            running.announced = true;
            let update_every = update_every.saturating_mul(running.ticks);
            running.rows.iter_mut().for_each(|rows| rows.update_every = update_every);
            running.sent().announce(out, update_every)
        })
    }

    /// Sends the values of the read made at `now` microseconds.
    pub fn values<W: uWrite>(&mut self, out: &mut W, now: u64) -> Result<(), W::Error> {
        for running in self.running.iter_mut().filter(|running| running.due && !running.failed) {
            let sent = running.sent();
            sent.values(out, &running.state, now, &mut running.moments, running.rows.as_mut())?;
        }
        Ok(())
    }

    /// Takes what came for known, and forgets what went, where nobody is told.
    pub fn settle(&mut self) {
        self.running.iter_mut().filter_map(|running| running.rows.as_mut()).for_each(Rows::settle);
    }

    /// The last read of each module, slot by slot, where the slot is true: module, slot, total.
    /// Of a table, the rows: a slot is `NAME:SLOT`.
    pub fn totals(&mut self, mut each: impl FnMut(&str, &str, u64)) -> Result<(), Error> {
        for running in &mut self.running {
            let Attached { module, live, .. } = &running.attached;
            running.attached.read(&mut self.buffer, &mut self.sums)?;
            let slots = module.slots.iter().zip(self.sums).enumerate();
            slots
                .filter(|(slot, _)| live.contains(*slot))
                .for_each(|(_, (name, total))| each(module.name, name, total));
            let Some(rows) = &mut running.rows else { continue };
            take_rows(&running.attached, rows, &self.namer, &mut self.keys, &mut self.buffer)?;
            for (row, counters) in rows.each().filter(|(row, _)| row.stage != Stage::Gone) {
                for (slot, total) in rows.table.slots.iter().zip(counters) {
                    each(module.name, &format!("{}:{slot}", row.name), *total);
                }
            }
        }
        Ok(())
    }
}

impl Running {
    fn new(attached: Attached, wanted: &Wanted) -> Self {
        let (moments, ticks) = (vec![0; attached.module.charts.len()], wanted.ticks);
        let rows = attached.rows.as_ref().map(|rows| Rows::new(rows.table));
        Self {
            state: protocol::state(attached.module),
            attached,
            rows,
            mode: wanted.extent.mode,
            ticks,
            due: true,
            moments,
            failed: false,
            announced: false,
        }
    }

    fn is(&self, coming: &Coming) -> bool {
        self.attached.module.name == coming.wanted.module.name
    }

    /// Whether more of it may be had, or less, as kernel modules come and go.
    fn waits(&self) -> bool {
        self.attached.counts() || self.attached.awaits().is_some()
    }

    /// Reads its counters.
    fn advance(&mut self, buffer: &mut [u64], sums: &mut [u64]) {
        if self.attached.read(buffer, sums).is_ok() {
            self.state.advance(self.attached.module, sums);
        }
    }

    fn sent(&self) -> Sent<'static> {
        Sent { module: self.attached.module, live: self.attached.live, mode: self.mode }
    }
}

/// Plans the kernel's memory. What finds no room is an error each; where there are to be groups of processes, a quarter
/// is kept for their table.
fn planned(kernel: &Kernel, wanted: &[Wanted], groups: bool, errors: &mut Vec<Error>) -> (Plan, Vec<Wanted>) {
    let room = kernel.budget - if groups { kernel.budget / 4 } else { 0 };
    let pairs: Vec<_> = wanted.iter().map(|one| (one.module, one.extent)).collect();
    let plan = Plan::new(room, kernel.cpus, &pairs);
    let (mut kept, mut place) = (wanted.to_vec(), 0);
    kept.retain(|one| {
        let keeps = plan.keeps(place);
        if !keeps {
            let cause = Refusal::Denied("its maps find no room in the budget of kernel memory");
            errors.push(Error { module: one.module.name, phase: Phase::Plan, cause });
        }
        place += 1;
        keeps
    });
    (plan, kept)
}

/// Reads the table of a module, and asks now and then whether a key still means what it did.
fn take_rows(
    attached: &Attached,
    rows: &mut Rows,
    namer: &Namer,
    keys: &mut [u64],
    values: &mut [u64],
) -> Result<(), Error> {
    let count = attached.read_rows(keys, values)?;
    let names = rows.table.names;
    rows.take(keys.get(..count).unwrap_or_default(), values, |key| namer.name(names, key));
    if let (Some(key), Some(map)) = (rows.patrol(|key| namer.name(names, key)), &attached.rows) {
        map.remove(key);
    }
    Ok(())
}
