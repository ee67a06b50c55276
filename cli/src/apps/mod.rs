// SPDX-License-Identifier: GPL-3.0-or-later
//! Whose work it was: groups of processes, what they have done, and their charts.

mod cgroups;
mod draw;
mod old;
mod proc;

use crate::collector::Wanted;
use crate::config::Directories;
use crate::output::{Full, PAGE, Page};
use cgroups::{Cgroups, MOST, Stage};
use draw::Face;
use kmote_bpf::kernel::Kernel;
use kmote_bpf::object::{Attached, Error, Phase, prepare_refusal};
use kmote_bpf::processes::Processes;
use kmote_bpf::reader::Reader;
use kmote_core::apps::account::{self, Account, Booked};
use kmote_core::apps::cgroup::Kind;
use kmote_core::apps::groups::{BUILT_IN, Faults, Groups, MAX_GROUPS};
use kmote_core::apps::known::Known;
use kmote_core::apps::ledger::Ledger;
use kmote_core::apps::life::{self, LIFE};
use kmote_core::chart::Mode;
use kmote_core::hook::Refusal;
use kmote_core::memory;
use kmote_core::modules::MODULES;
use kmote_core::share::{self, Share};
use old::{OldCharts, Source};
use proc::Proc;
use std::fs;
use std::rc::Rc;

/// Bytes of kernel memory for the table of processes, whatever the number of CPUs.
pub const BUDGET: u64 = 4 << 20;

/// How many processes are looked after at a time, in case the end of one was not seen.
const PATROL: usize = 64;
/// In every how many reads: in the others kmote does nothing of its own accord.
const PATROL_EVERY: u64 = 16;
/// In how many rounds all are looked after, where no end is seen.
const ROUNDS: usize = 4;

/// How applications are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Not at all.
    Off,
    /// Each in charts of its own, as Netdata has it from 1.44 on.
    New,
    /// Each as a dimension of all charts, as before.
    Old,
}

/// What is asked for of groups.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The groups file's text; `None` for that which is built in.
    pub file: Option<Vec<u8>>,
    /// How applications are drawn.
    pub apps: Layout,
    /// Whether containers and services are.
    pub cgroups: bool,
    /// How many processes the table is to hold; `None` for as many as the budget allows.
    pub processes: Option<u32>,
}

impl Asked {
    /// With the user's file, else that which came with Netdata.
    pub fn new(directories: &Directories, apps: Layout, cgroups: bool, processes: Option<u32>) -> Self {
        let files =
            [&directories.user, &directories.stock].map(|directory| directory.join("apps_groups.conf"));
        Self { file: files.into_iter().find_map(|file| fs::read(file).ok()), apps, cgroups, processes }
    }

    /// Makes the kernel's table for the modules that are wanted, of at most `room` bytes unless its size is given.
    pub fn table(&self, kernel: &Kernel, wanted: &[Wanted], room: u64) -> Result<Processes, Error> {
        let end = |one: &Wanted| {
            share::place(MODULES, one.module.name).map(|place| place + one.module.shared_slots())
        };
        let counters = wanted.iter().filter_map(end).max().unwrap_or(0);
        let words = share::HEADER + counters;
        // With the key, and with the entry of what finds no room.
        let most = match self.processes {
            Some(processes) => processes as usize + 1,
            None => memory::entries(BUDGET.min(room), 1 + words, kernel.cpus),
        };
        Processes::create(words, most.max(2), self.cgroups).map_err(|errno| Error {
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
    reader: Reader,
    ledger: Ledger<'static>,
    booked: Vec<Booked>,
    drawn: Vec<Drawn>,
    /// How applications are drawn.
    apps: Layout,
    old: OldCharts,
    /// When each chart of each application, and of each cgroup, was last sent, in microseconds; 0 for never.
    moments: [Vec<u64>; 2],
    update_every: u32,
    cpus: usize,
    /// How many processes are looked after now and then, whether they have done anything or not.
    patrol: usize,
    reads: u64,
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
    /// Begins with what was attached to this table. Never inlined: its frame would be on the stack of runs without groups.
    #[inline(never)]
    pub fn new<'a>(
        kernel: &Kernel,
        asked: &Asked,
        processes: Processes,
        attached: impl Iterator<Item = (&'a Attached, Mode)>,
    ) -> Box<Self> {
        let (mut booked, mut drawn, mut first) = (Vec::new(), Vec::new(), 0);
        let mut ends = false;
        for (attached, mode) in attached {
            ends |= attached.module.name == LIFE.name && attached.live.contains(life::ENDED);
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
        let drawn_cgroups = if asked.cgroups { MOST } else { 1 };
        let ledger = Ledger::new(Groups::parse(text), known, account(MAX_GROUPS), account(drawn_cgroups));
        let mut proc = Proc::new(kernel.prefix(), Rc::clone(&processes));
        proc.cgroups =
            asked.cgroups.then(|| Box::new(Cgroups::new(kernel.prefix(), processes.notes_cgroups())));
        Box::new(Self {
            reader: processes.reader(),
            patrol: if ends { PATROL } else { places.div_ceil(ROUNDS) },
            reads: 0,
            moments: [if asked.apps == Layout::New { MAX_GROUPS } else { 0 }, drawn_cgroups]
                .map(|groups| vec![0; groups * drawn.len()]),
            proc,
            apps: asked.apps,
            old: OldCharts::new(if asked.apps == Layout::Old { values } else { 0 }),
            processes,
            ledger,
            booked,
            drawn,
            update_every: 1,
            cpus: kernel.cpus,
            next: usize::MAX,
            failed: false,
        })
    }

    /// What an operator should know at start: what was asked for and is not to be had.
    pub fn complaints(&self) -> Vec<String> {
        let Faults { groups, patterns, lines, prefixes } = self.ledger.groups().faults;
        let counted = [
            (lines, "lines have no name or no pattern"),
            (groups, "patterns are of groups beyond the 200th; what they match is counted as other"),
            (patterns, "patterns are more than there is room for; they are not heeded"),
            (prefixes, "names or patterns begin with - or +, which means nothing any more"),
        ];
        let mut all: Vec<_> = counted
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("apps_groups.conf: {count} {what}"))
            .collect();
        if !self.proc.same_ids() {
            all.push(
                "/proc is of another PID namespace: groups are found by the names that the kernel notes"
                    .to_owned(),
            );
        }
        all
    }

    /// Bytes of kernel memory that the table takes, and how many processes it holds.
    pub fn table(&self) -> (u64, usize) {
        let (words, capacity) = (self.processes.words, self.processes.capacity);
        (memory::processes(1 + words, capacity, self.cpus), capacity - 1)
    }

    /// How many processes are in the table, as of the last read.
    pub const fn known(&self) -> usize {
        self.ledger.known()
    }

    /// What belongs to nobody for want of room: counts of processes, and how often a cgroup was met that is not drawn.
    pub fn no_room(&self) -> [(&'static str, u64); 2] {
        let cgroups = self.proc.cgroups.as_ref().map_or(0, |cgroups| cgroups.no_room);
        [("processes", self.ledger.no_room()), ("cgroups", cgroups)]
    }

    /// Forgets what was sent, and when.
    pub fn forget_sent(&mut self) {
        self.moments.iter_mut().for_each(|moments| moments.fill(0));
        self.old.forget_sent();
    }

    /// Says in which interval charts are sent.
    pub fn set_interval(&mut self, update_every: u32) {
        self.update_every = update_every;
    }

    /// Reads the table. If it cannot be read, the groups keep their values, and `complain` hears of it once.
    pub fn read(&mut self, complain: impl FnOnce(&Error)) {
        let Self { processes, proc, reader, ledger, .. } = self;
        ledger.begin();
        let read = processes.read(reader, ledger.known(), |id, entry| ledger.take(id, entry, proc));
        self.reads += 1;
        let patrol = if self.reads.is_multiple_of(PATROL_EVERY) { self.patrol } else { 0 };
        for _ in 0..patrol {
            if let Some(id) = ledger.turn() {
                processes.read_one(reader, id, |entry| ledger.look_after(id, entry, proc));
            }
        }
        ledger.apps.settle(&self.booked);
        ledger.cgroups.settle(&self.booked);
        if let Some(cgroups) = &mut proc.cgroups {
            cgroups.patrol();
        }
        if let (Err(errno), false) = (read, self.failed) {
            complain(&Error { module: LIFE.name, phase: Phase::Read, cause: Refusal::Errno(errno) });
        }
        self.failed = read.is_err();
        self.next = 0;
    }

    /// Writes the next groups' charts, as made of the read at `now` microseconds, until the page is half full; `false`
    /// once there is no more to write.
    pub fn write(&mut self, page: &mut Page, now: u64) -> Result<bool, Full> {
        let apps = match self.apps {
            Layout::Off => 0,
            Layout::New => self.ledger.groups().count(),
            Layout::Old => self.drawn.len(),
        };
        let cgroups = self.proc.cgroups.as_ref().map_or(0, |cgroups| usize::from(cgroups.count()));
        while self.next < apps + cgroups && page.text().len() < PAGE / 2 {
            match u16::try_from(self.next.wrapping_sub(apps)) {
                Ok(cgroup) if self.next >= apps => self.write_cgroup(page, now, cgroup)?,
                _ if self.apps == Layout::Old => self.write_old(page, now, self.next)?,
                _ => self.write_app(page, now, self.next)?,
            }
            self.next += 1;
        }
        Ok(!page.text().is_empty())
    }

    fn write_app(&mut self, page: &mut Page, now: u64, group: usize) -> Result<(), Full> {
        let group = u16::try_from(group).unwrap_or(u16::MAX);
        let face = Face::App(self.ledger.groups().name(group));
        let [moments, _] = &mut self.moments;
        let charts = Charts { drawn: &self.drawn, booked: &self.booked, update_every: self.update_every };
        charts.write(page, now, face, &self.ledger.apps, group, moments)
    }

    fn write_old(&mut self, page: &mut Page, now: u64, place: usize) -> Result<(), Full> {
        let drawn = self.drawn.get(place);
        let Some((drawn, one)) = drawn.and_then(|drawn| Some((drawn, self.booked.get(drawn.booked)?))) else {
            return Ok(());
        };
        let (groups, account) = (self.ledger.groups(), &self.ledger.apps);
        let begun = (0..MAX_GROUPS as u16).any(|group| account.began(group));
        let source = Source { groups, account, update_every: self.update_every, begun };
        self.old.write(page, now, &source, one, drawn)
    }

    fn write_cgroup(&mut self, page: &mut Page, now: u64, number: u16) -> Result<(), Full> {
        let Some(cgroup) = self.proc.cgroups.as_ref().and_then(|cgroups| cgroups.get(number)) else {
            return Ok(());
        };
        let face = match cgroup.kind {
            Kind::Container => Face::Container(&cgroup.name),
            Kind::Service => Face::Service(&cgroup.name),
        };
        let [_, moments] = &mut self.moments;
        let charts = Charts { drawn: &self.drawn, booked: &self.booked, update_every: self.update_every };
        match cgroup.stage {
            Stage::Living => return charts.write(page, now, face, &self.ledger.cgroups, number, moments),
            Stage::Resting(_) => return Ok(()),
            Stage::Gone => charts.give_up(page, face, number, moments)?,
        }
        self.ledger.cgroups.forget(number);
        if let Some(cgroups) = &mut self.proc.cgroups {
            cgroups.rest(number);
        }
        Ok(())
    }

    /// The totals of everything that has done anything: of applications under `group`, of cgroups under `cgroup`: the
    /// kind, its name, module, slot, total.
    pub fn totals(&self, mut each: impl FnMut(&str, &[u8], &str, &str, u64)) {
        let groups = self.ledger.groups();
        for group in 0..u16::try_from(groups.count()).unwrap_or(0) {
            self.totals_of(&self.ledger.apps, group, |module, slot, total| {
                each("group", groups.name(group), module, slot, total);
            });
        }
        let Some(cgroups) = &self.proc.cgroups else { return };
        for number in 0..cgroups.count() {
            let name = cgroups.get(number).map_or(&b"other"[..], |cgroup| &cgroup.name);
            self.totals_of(&self.ledger.cgroups, number, |module, slot, total| {
                each("cgroup", name, module, slot, total);
            });
        }
    }

    fn totals_of(&self, account: &Account<'_>, group: u16, mut each: impl FnMut(&str, &str, u64)) {
        for one in self.booked.iter().filter(|_| account.active(group)) {
            let slots = one.module.slots.iter().enumerate().take(one.module.shared_slots());
            for (slot, name) in slots.filter(|(slot, _)| one.live.contains(*slot)) {
                each(one.module.name, name, account.total(group, one.place + slot));
            }
        }
    }
}

/// The charts that every group has.
struct Charts<'a> {
    drawn: &'a [Drawn],
    booked: &'a [Booked],
    update_every: u32,
}

impl Charts<'_> {
    /// Writes those of a group, if it has ever done anything; each is declared first when it is new.
    fn write(
        &self,
        page: &mut Page,
        now: u64,
        face: Face<'_>,
        account: &Account<'_>,
        group: u16,
        moments: &mut [u64],
    ) -> Result<(), Full> {
        if !account.active(group) {
            return Ok(());
        }
        let began = account.began(group);
        for (drawn, last) in self.drawn.iter().zip(self.moments(group, moments)) {
            let Some(one) = self.booked.get(drawn.booked) else { continue };
            let value = |nth, value: &_| account.value(group, one, drawn.first + nth, value);
            if drawn.share.values.iter().enumerate().all(|(nth, kind)| value(nth, kind).is_none()) {
                continue;
            }
            if *last == 0 {
                face.declare(page, one.module.name, drawn.share, self.update_every, false)?;
            }
            face.send(page, drawn.share, now, last, began, value)?;
        }
        Ok(())
    }

    /// Gives up those of a group that is gone.
    fn give_up(&self, page: &mut Page, face: Face<'_>, group: u16, moments: &mut [u64]) -> Result<(), Full> {
        for (drawn, last) in
            self.drawn.iter().zip(self.moments(group, moments)).filter(|(_, last)| **last != 0)
        {
            let Some(one) = self.booked.get(drawn.booked) else { continue };
            face.declare(page, one.module.name, drawn.share, self.update_every, true)?;
            *last = 0;
        }
        Ok(())
    }

    fn moments<'m>(&self, group: u16, moments: &'m mut [u64]) -> &'m mut [u64] {
        moments.chunks_exact_mut(self.drawn.len().max(1)).nth(group.into()).unwrap_or_default()
    }
}
