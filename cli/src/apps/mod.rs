// SPDX-License-Identifier: GPL-3.0-or-later
//! Whose work it was: groups of processes, what they have done, and their charts.

mod draw;
mod proc;

use crate::collector::Wanted;
use crate::config::Directories;
use crate::output::{Full, PAGE, Page};
use draw::Face;
use kmote_bpf::kernel::Kernel;
use kmote_bpf::object::{Attached, Error, Phase, prepare_refusal};
use kmote_bpf::processes::{Buffers, Processes};
use kmote_core::apps::account::{self, Account, Booked};
use kmote_core::apps::groups::{BUILT_IN, Faults, Groups, MAX_GROUPS};
use kmote_core::apps::known::Known;
use kmote_core::apps::ledger::Ledger;
use kmote_core::apps::life::LIFE;
use kmote_core::chart::Mode;
use kmote_core::hook::Refusal;
use kmote_core::memory;
use kmote_core::modules::MODULES;
use kmote_core::share::{self, Share};
use proc::Proc;
use std::fs;
use std::rc::Rc;

/// Bytes of kernel memory for the table of processes, whatever the number of CPUs.
pub const BUDGET: u64 = 4 << 20;

/// What is asked for of groups.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The groups file's text; `None` for that which is built in.
    pub file: Option<Vec<u8>>,
    /// How many processes the table is to hold; `None` for as many as the budget allows.
    pub processes: Option<u32>,
}

impl Asked {
    /// With the user's file, else that which came with Netdata.
    pub fn new(directories: &Directories, processes: Option<u32>) -> Self {
        let files =
            [&directories.user, &directories.stock].map(|directory| directory.join("apps_groups.conf"));
        Self { file: files.into_iter().find_map(|file| fs::read(file).ok()), processes }
    }

    /// Makes the kernel's table for the modules that are wanted.
    pub fn table(&self, kernel: &Kernel, wanted: &[Wanted]) -> Result<Processes, Error> {
        let end = |one: &Wanted| {
            share::place(MODULES, one.module.name).map(|place| place + one.module.shared_slots())
        };
        let counters = wanted.iter().filter_map(end).max().unwrap_or(0);
        let words = share::HEADER + counters;
        // With the key, and with the entry of what finds no room.
        let most = match self.processes {
            Some(processes) => processes as usize + 1,
            None => memory::entries(BUDGET, 1 + words, kernel.cpus),
        };
        Processes::create(words, most.max(2), false).map_err(|errno| Error {
            module: LIFE.name,
            phase: Phase::Prepare,
            cause: prepare_refusal(kernel, errno),
        })
    }
}

/// A chart of groups that can be told, and its numbers' place among those of a group.
#[derive(Clone, Copy, Debug)]
struct Drawn {
    booked: usize,
    share: &'static Share,
    first: usize,
}

/// All groups.
#[derive(Debug)]
pub struct Apps {
    processes: Rc<Processes>,
    proc: Proc,
    buffers: Buffers,
    ledger: Ledger<'static>,
    booked: Vec<Booked>,
    drawn: Vec<Drawn>,
    /// When each group's charts were last sent, in microseconds; 0 for never.
    moments: Vec<u64>,
    update_every: u32,
    cpus: usize,
    /// The next group to be sent.
    next: usize,
    /// Whether the last read failed, so that a lasting fault is said once.
    failed: bool,
}

/// Memory that is kept to the end. Of zeroes only, which the system gives without touching them.
fn kept<T: Clone>(zero: T, length: usize) -> &'static mut [T] {
    Box::leak(vec![zero; length].into_boxed_slice())
}

impl Apps {
    /// Begins with what was attached to this table.
    pub fn new<'a>(
        kernel: &Kernel,
        asked: &Asked,
        processes: Processes,
        attached: impl Iterator<Item = (&'a Attached, Mode)>,
    ) -> Self {
        let (mut booked, mut drawn, mut first) = (Vec::new(), Vec::new(), 0);
        for (attached, mode) in attached {
            let Some(place) = share::place(MODULES, attached.module.name) else { continue };
            let one = Booked { module: attached.module, place, live: attached.live };
            for share in one.module.shares {
                let told = share.values.iter().any(|value| one.live.contains_all(value.needs()));
                if told && share.mode <= mode {
                    drawn.push(Drawn { booked: booked.len(), share, first });
                }
                first += share.values.len();
            }
            booked.push(one);
        }
        let processes = Rc::new(processes);
        let text: &'static [u8] = asked.file.clone().map_or(BUILT_IN, |text| text.leak());
        let (width, places) = (processes.words.saturating_sub(share::HEADER), processes.capacity);
        let (index, counters) = (kept(0, Known::index_length(places)), kept(0, places * width));
        let known = Known::new(index, kept([0; 5], places), counters, width);
        let values = account::values(&booked);
        let account = |groups: usize| {
            let (totals, changes) = (kept(0, groups * width), kept(0, groups * width));
            Account::new((width, values), totals, changes, kept(0, groups * values))
        };
        let ledger = Ledger::new(Groups::parse(text), known, account(MAX_GROUPS), account(1));
        Self {
            buffers: processes.buffers(),
            moments: vec![0; MAX_GROUPS * drawn.len()],
            proc: Proc::new(kernel.prefix(), Rc::clone(&processes)),
            processes,
            ledger,
            booked,
            drawn,
            update_every: 1,
            cpus: kernel.cpus,
            next: usize::MAX,
            failed: false,
        }
    }

    /// What in the groups file could not be taken.
    pub const fn faults(&self) -> Faults {
        self.ledger.groups().faults
    }

    /// Whether /proc tells of processes by the ids that the kernel has for them.
    pub const fn same_ids(&self) -> bool {
        self.proc.same_ids()
    }

    /// Bytes of kernel memory that the table takes, and how many processes it holds.
    pub fn table(&self) -> (u64, usize) {
        let Processes { words, capacity, .. } = *self.processes;
        (memory::hash(1 + words, capacity, self.cpus), capacity - 1)
    }

    /// Forgets what was sent, and when.
    pub fn forget_sent(&mut self) {
        self.moments.fill(0);
    }

    /// Says in which interval charts are sent.
    pub fn set_interval(&mut self, update_every: u32) {
        self.update_every = update_every;
    }

    /// Reads the table. If it cannot be read, the groups keep their values, and `complain` hears of it once.
    pub fn read(&mut self, complain: impl FnOnce(&Error)) {
        let Self { processes, proc, buffers, ledger, .. } = self;
        ledger.begin();
        let read = processes.walk(buffers, |id, entry| ledger.take(id, entry, proc));
        ledger.apps.settle(&self.booked);
        if let (Err(errno), false) = (read, self.failed) {
            complain(&Error { module: LIFE.name, phase: Phase::Read, cause: Refusal::Errno(errno) });
        }
        self.failed = read.is_err();
        self.next = 0;
    }

    /// Writes the next groups' charts, as made of the read at `now` microseconds, until the page is half full; `false`
    /// once there is no more to write.
    pub fn write(&mut self, page: &mut Page, now: u64) -> Result<bool, Full> {
        let count = self.ledger.groups().count();
        while self.next < count && page.text().len() < PAGE / 2 {
            self.write_group(page, now, self.next)?;
            self.next += 1;
        }
        Ok(!page.text().is_empty())
    }

    fn write_group(&mut self, page: &mut Page, now: u64, group: usize) -> Result<(), Full> {
        let number = u16::try_from(group).unwrap_or(u16::MAX);
        if !self.ledger.apps.active(number) {
            return Ok(());
        }
        let face = Face::App(self.ledger.groups().name(number));
        let moments = self.moments.chunks_exact_mut(self.drawn.len().max(1)).nth(group).unwrap_or_default();
        for (drawn, last) in self.drawn.iter().zip(moments) {
            let Some(one) = self.booked.get(drawn.booked) else { continue };
            let value = |nth, value: &_| self.ledger.apps.value(number, one, drawn.first + nth, value);
            if drawn.share.values.iter().enumerate().all(|(nth, kind)| value(nth, kind).is_none()) {
                continue;
            }
            if *last == 0 {
                face.declare(page, one.module.name, drawn.share, self.update_every)?;
            }
            face.send(page, drawn.share, now, last, value)?;
        }
        Ok(())
    }

    /// The totals of every group that has done anything: group, module, slot, total.
    pub fn totals(&self, mut each: impl FnMut(&[u8], &str, &str, u64)) {
        for group in 0..u16::try_from(self.ledger.groups().count()).unwrap_or(0) {
            for one in self.booked.iter().filter(|_| self.ledger.apps.active(group)) {
                let slots = one.module.slots.iter().enumerate().take(one.module.shared_slots());
                for (slot, name) in slots.filter(|(slot, _)| one.live.contains(*slot)) {
                    let total = self.ledger.apps.total(group, one.place + slot);
                    each(self.ledger.groups().name(group), one.module.name, name, total);
                }
            }
        }
    }
}
