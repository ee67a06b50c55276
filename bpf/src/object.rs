// SPDX-License-Identifier: GPL-3.0-or-later
//! A module on a kernel: its object opened, its map made, each of its probes put on the best hook that takes it.
//!
//! libbpf parses the object, makes the map and writes its descriptor into the instructions; it is not asked to load
//! programs. It loads an object's programs all or none, and for a trampoline it reads the whole BTF of the kernel into
//! memory. Loaded one by one, a refused program costs its own probe and nothing else.

use crate::attach::{Link, attach};
use crate::kernel::Kernel;
use crate::objects;
use crate::processes::Processes;
use crate::programs::{self, Facts};
use crate::starts::Starts;
use crate::sys::{self, Errno, Runs};
use crate::table::RowMap;
use crate::words;
use kmote_core::hook::{Hook, Mechanism, Probe, Refusal};
use kmote_core::memory::{self, Keep, STARTS};
use kmote_core::module::{Extent, Module, Slots};
use kmote_core::percpu;
use libbpf_rs::{ObjectBuilder, OpenObject};
use std::borrow::Cow;
use std::ffi::CString;
use std::fmt;
use std::os::fd::{AsFd, OwnedFd};

/// What became of one probe.
#[derive(Debug)]
pub struct Outcome {
    /// The place of the hook that it is attached to.
    pub hook: Option<usize>,
    /// The places of the hooks that were better and not to be had, and why.
    pub refused: Vec<(usize, Refusal)>,
    /// The functions or tracepoints where it is attached.
    pub targets: Vec<&'static str>,
    links: Vec<Link>,
}

impl Outcome {
    /// Whether the probe counts.
    pub fn attached(&self) -> bool {
        self.hook.is_some()
    }
}

/// A module whose probes were attached, as far as this kernel takes them.
#[derive(Debug)]
pub struct Attached {
    /// Its row.
    pub module: &'static Module,
    /// What became of each of its probes, in the order of the row; those of another mode are left out: `None`.
    pub outcomes: Vec<Option<Outcome>>,
    /// The slots that are true.
    pub live: Slots,
    /// The counters of keys that are only known at run time, while all that feeds them is attached.
    pub rows: Option<RowMap>,
    /// What its programs have seen begin.
    pub starts: Option<Starts>,
    map: OwnedFd,
    cpus: usize,
    shrink: u32,
}

/// In which phase a module failed as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The memory for it was planned.
    Plan,
    /// Its object was opened.
    Open,
    /// Its map was created.
    Prepare,
    /// Its map was read.
    Read,
}

/// A module that cannot be had at all: which, when and why.
#[derive(Debug)]
pub struct Error {
    /// The module's name.
    pub module: &'static str,
    /// When it failed.
    pub phase: Phase,
    /// Why.
    pub cause: Refusal,
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.phase {
            Phase::Plan => "it is left out",
            Phase::Open => "its object cannot be opened",
            Phase::Prepare => "its map cannot be created",
            Phase::Read => "its counters cannot be read",
        };
        write!(out, "{}: {what}: {}", self.module, words::refusal(&self.cause))
    }
}

/// Attaches what `kernel` takes of `extent` of `module`, with tables that are smaller by so many powers of two; if there
/// is a table of processes, each count is booked there too.
pub fn attach_module(
    kernel: &Kernel,
    module: &'static Module,
    extent: Extent,
    shrink: u32,
    processes: Option<&Processes>,
) -> Result<Attached, Error> {
    let failed = |phase, cause| Error { module: module.name, phase, cause };
    let mut object = open(module, processes).map_err(|errno| failed(Phase::Open, Refusal::Errno(errno)))?;
    make_smaller(&mut object, module, shrink).map_err(|errno| failed(Phase::Open, Refusal::Errno(errno)))?;
    sys::prepare(&mut object).map_err(|errno| failed(Phase::Prepare, prepare_refusal(kernel, errno)))?;
    let map = |name: String| {
        let name = CString::new(name).unwrap_or_default();
        sys::map(&object, &name).map_err(|errno| failed(Phase::Prepare, Refusal::Errno(errno)))
    };
    let counters = map(module.name.to_owned())?;
    for keep in module.keeps {
        if let Keep::Members { map: name, members } = *keep {
            // All bits: not known.
            let offsets: Vec<_> =
                members.iter().map(|member| kernel.offset(member).unwrap_or(u64::MAX)).collect();
            sys::write(map(name.to_owned())?.as_fd(), &offsets)
                .map_err(|errno| failed(Phase::Prepare, Refusal::Errno(errno)))?;
        }
    }
    let outcomes: Vec<_> = module
        .probes
        .iter()
        .map(|probe| extent.wants(probe).then(|| attach_probe(kernel, &object, probe, shrink, processes)))
        .collect();
    let attached = |place: usize| matches!(outcomes.get(place), Some(Some(outcome)) if outcome.attached());
    let live = module.live(attached);
    let table = module.table.as_ref().filter(|table| live.contains_all(table.needs));
    let rows =
        table.map(|table| Ok(RowMap::new(table, map(format!("{}_rows", module.name))?))).transpose()?;
    let starts =
        starts(module).map(|entries| Ok(Starts::new(map(STARTS.to_owned())?, entries))).transpose()?;
    Ok(Attached { module, live, rows, starts, outcomes, map: counters, cpus: kernel.cpus, shrink })
}

/// How many entries a module's map of what has begun has, if it keeps one.
fn starts(module: &Module) -> Option<usize> {
    module.keeps.iter().find_map(|keep| match keep {
        Keep::Hash { map: STARTS, entries, .. } => Some(*entries),
        _ => None,
    })
}

/// Makes the maps with keys smaller than their rows say.
fn make_smaller(object: &mut OpenObject, module: &Module, shrink: u32) -> Result<(), Errno> {
    if shrink == 0 {
        return Ok(());
    }
    let tables = module.table.iter().map(|table| (format!("{}_rows", module.name), table.capacity));
    let kept = module.keeps.iter().filter_map(|keep| match keep {
        Keep::Hash { map, entries, .. } => Some(((*map).to_owned(), *entries)),
        _ => None,
    });
    for (name, entries) in tables.chain(kept) {
        let map = object.maps_mut().find(|map| map.name() == name.as_str());
        let entries = memory::shrunk(entries, shrink) as u32;
        map.map_or(Ok(()), |mut map| map.set_max_entries(entries)).map_err(|_| libc::EINVAL)?;
    }
    Ok(())
}

/// Opens a module's object, or the variant of it that books on processes, with their table lent to it.
fn open(module: &Module, processes: Option<&Processes>) -> Result<OpenObject, Errno> {
    let variant = processes.and_then(|_| objects::find(&format!("{}.apps", module.name)));
    let bytes = variant.or_else(|| objects::find(module.name)).ok_or(libc::ENOENT)?;
    // libbpf copies what it keeps.
    let mut object = ObjectBuilder::default().open_memory(&bytes).map_err(|_| libc::EINVAL)?;
    processes.map_or(Ok(()), |processes| processes.lend(&mut object))?;
    Ok(object)
}

/// What an errno of making a map means.
pub fn prepare_refusal(kernel: &Kernel, errno: Errno) -> Refusal {
    match errno {
        libc::EPERM => kernel.not_permitted(),
        libc::ENOSYS => Refusal::NotBuilt,
        // Of making a map only security modules say this.
        libc::EACCES => Refusal::Policy,
        other => Refusal::Errno(other),
    }
}

/// Tries the probe's hooks, best first, until one takes its program at each of its places.
fn attach_probe(
    kernel: &Kernel,
    object: &OpenObject,
    probe: &'static Probe,
    shrink: u32,
    processes: Option<&Processes>,
) -> Outcome {
    let (version, returns) = (sys::kernel_version(object), memory::shrunk(memory::RETURNS, shrink));
    let mut refused = Vec::new();
    let place = |place: Hook| {
        let code = instructions(kernel, object, probe, &place).ok_or(Refusal::NoProgram)?;
        let code = processes.map_or(Cow::Borrowed(code), |processes| processes.fit(code));
        Ok((place.target(), attach(kernel, &place, probe.event, &code, version, returns)?))
    };
    let trial = |hook: &'static Hook| hook.present(kernel).map(place).collect::<Result<Vec<_>, _>>();
    let settled = probe.settle(kernel, trial, |place, why| refused.push((place, why)));
    let (hook, places) = settled.unzip();
    let (targets, links) = places.unwrap_or_default().into_iter().unzip();
    Outcome { hook, refused, targets, links }
}

/// The program for an event and a place of a hook.
fn instructions<'a>(
    kernel: &Kernel,
    object: &'a OpenObject,
    probe: &Probe,
    place: &Hook,
) -> Option<&'a [libbpf_sys::bpf_insn]> {
    let parameters = place.function().and_then(|function| kernel.parameters(function));
    let names = programs::names(probe.event, place, Facts { parameters, narrow: kernel.narrow });
    let find =
        |name: &String| object.progs().find(|program| program.name() == name.as_str()).map(|p| p.insns());
    names.iter().find_map(find)
}

impl Attached {
    /// Whether anything of it counts.
    pub fn counts(&self) -> bool {
        self.outcomes.iter().flatten().any(Outcome::attached)
    }

    /// The kernel module for which it waits: a function that it hooks will come with it.
    pub fn awaits(&self) -> Option<&'static str> {
        let lost = self.outcomes.iter().flatten().filter(|outcome| !outcome.attached());
        lost.flat_map(|outcome| &outcome.refused).find_map(|(_, refusal)| match refusal {
            Refusal::NotLoaded(home) => Some(*home),
            _ => None,
        })
    }

    /// Bytes of kernel memory that its maps take, and the records of functions whose return is hooked by kprobe.
    pub fn memory(&self) -> u64 {
        let probes = self.module.probes.iter().zip(&self.outcomes);
        let hooked = probes.filter_map(|(probe, outcome)| {
            let outcome = outcome.as_ref()?;
            let hook = outcome.hook.and_then(|place| probe.hooks.get(place))?;
            (hook.mechanism() == Mechanism::Kretprobe).then_some(outcome.targets.len() as u64)
        });
        self.module.memory(self.cpus, self.shrink) + hooked.sum::<u64>() * memory::return_hook(self.shrink)
    }

    /// How many of its programs are attached so that the kernel takes long to detach them: it waits for every task to leave
    /// a trampoline, and for every CPU to have seen that a perf event is gone. Raw tracepoints go at once.
    pub fn slow(&self) -> usize {
        let outcomes = self.module.probes.iter().zip(&self.outcomes);
        let slow = outcomes.filter_map(|(probe, outcome)| {
            let outcome = outcome.as_ref()?;
            let mechanism = probe.hooks.get(outcome.hook?)?.mechanism();
            (mechanism != Mechanism::RawTracepoint).then_some(outcome.links.len())
        });
        slow.sum()
    }

    /// How often its programs ran, all together, where the kernel counts that.
    pub fn runs(&self) -> Runs {
        let links = self.outcomes.iter().flatten().flat_map(|outcome| &outcome.links);
        links.map(Link::runs).fold(Runs::default(), |sum, one| Runs {
            runs: sum.runs.wrapping_add(one.runs),
            nanoseconds: sum.nanoseconds.wrapping_add(one.nanoseconds),
            missed: sum.missed.wrapping_add(one.missed),
        })
    }

    /// How many 64-bit words a read of it needs.
    pub fn words(&self) -> usize {
        self.module.slots.len().saturating_mul(self.cpus)
    }

    /// Reads the counters, by one system call, into `buffer`, and their sums over all CPUs into `sums`.
    pub fn read(&self, buffer: &mut [u64], sums: &mut [u64]) -> Result<(), Error> {
        let slots = self.module.slots.len();
        let failed =
            |errno| Error { module: self.module.name, phase: Phase::Read, cause: Refusal::Errno(errno) };
        sys::read(self.map.as_fd(), slots, self.cpus, buffer).map_err(failed)?;
        let (Some(read), Some(sums)) = (buffer.get(..self.words()), sums.get_mut(..slots)) else {
            return Err(failed(libc::EINVAL));
        };
        percpu::sum(read, sums);
        Ok(())
    }

    /// Reads the keys of the table and their counters; how many there are. None without a table.
    pub fn read_rows(&self, keys: &mut [u64], values: &mut [u64]) -> Result<usize, Error> {
        let failed =
            |errno| Error { module: self.module.name, phase: Phase::Read, cause: Refusal::Errno(errno) };
        self.rows.as_ref().map_or(Ok(0), |rows| rows.read(keys, values).map_err(failed))
    }
}
