// SPDX-License-Identifier: GPL-3.0-or-later
//! BPF programs that do nothing, attached by bare system calls, and what the kernel says of any program.
#![allow(unsafe_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CString;
use std::fs::{self, File};
use std::io::{Error, Read, Result};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

use kmote_core::btf::{HEADER, Layout, Strings, Types};
use kmote_core::hook::{Hook, Mechanism};
use kmote_core::modules::MODULES;
use libc::c_long;

use super::sys::{Walk, next_id};

/// `union bpf_attr`, as far as any of these commands uses it, by its 64-bit words.
type Attr = [u64; 15];

const MAP_GET_NEXT_KEY: c_long = 4;
const PROG_LOAD: c_long = 5;
const PROG_GET_FD_BY_ID: c_long = 13;
const MAP_GET_FD_BY_ID: c_long = 14;
const OBJ_GET_INFO_BY_FD: c_long = 15;
const RAW_TRACEPOINT_OPEN: c_long = 17;

fn bpf(command: c_long, attr: &Attr) -> Result<File> {
    // SAFETY: the attributes and what they point to live through the call, and are as long as the size given.
    owned(unsafe { libc::syscall(libc::SYS_bpf, command, attr.as_ptr(), size_of::<Attr>()) })
}

fn owned(result: c_long) -> Result<File> {
    if result < 0 {
        return Err(Error::last_os_error());
    }
    // SAFETY: a descriptor that the kernel has just made; nobody else has it.
    Ok(unsafe { File::from_raw_fd(result as i32) })
}

/// Before v5.11 BPF counts as locked memory, of which a process may have 64 kB.
pub fn lock_any_memory() {
    let limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: `limit` is ours for the time of the call.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_MEMLOCK, &raw const limit) }, 0);
}

/// Two 32-bit fields, the first at the lower address.
const fn pair(first: u32, second: u32) -> u64 {
    let ([a, b, c, d], [e, f, g, h]) = (first.to_ne_bytes(), second.to_ne_bytes());
    u64::from_ne_bytes([a, b, c, d, e, f, g, h])
}

/// A program of two instructions, `r0 = 0; exit`, at one place.
pub struct Bare {
    program: File,
    _link: File,
}

impl Bare {
    /// Attaches one at a place of a hook; `function` is the id of its function in the kernel's BTF.
    pub fn attach(place: &Hook, function: Option<u32>) -> Result<Self> {
        // enum bpf_prog_type, enum bpf_attach_type.
        let (kind, attach_type) = match place.mechanism() {
            Mechanism::Fentry => (26, 24),
            Mechanism::Fexit => (26, 25),
            Mechanism::RawTracepoint => (17, 0),
            Mechanism::Kprobe | Mechanism::Kretprobe => (2, 0),
            Mechanism::Tracepoint => (5, 0),
        };
        let function = match kind {
            26 => function.ok_or_else(|| Error::other(format!("{} is not in the BTF", place.target())))?,
            _ => 0,
        };
        let program = load(kind, attach_type, function)?;
        let link = match place {
            Hook::RawTracepoint(name) | Hook::RawMembers((name, ..)) => raw_tracepoint(name, &program),
            Hook::Fentry(_) | Hook::Fexit(_) | Hook::FexitResult(_) => raw_tracepoint("", &program),
            Hook::Kprobe(name) => perf(kprobe(name, false)?, &program),
            Hook::Kretprobe(name) => perf(kprobe(name, true)?, &program),
            Hook::Tracepoint(place) | Hook::Record((place, _)) => perf(tracepoint(place)?, &program),
            Hook::All(_) | Hook::Syscalls(..) => Err(Error::other("several places")),
        }?;
        Ok(Self { program, _link: link })
    }

    pub fn spent(&self) -> Spent {
        Program::of(&self.program).map(|program| program.spent).unwrap_or_default()
    }
}

fn load(kind: u32, attach_type: u32, function: u32) -> Result<File> {
    let code = [0xb7_u64, 0x95].map(u64::to_le);
    let (licence, mut attr) = (c"GPL", Attr::default());
    attr[0] = pair(kind, code.len() as u32);
    attr[1] = code.as_ptr() as u64;
    attr[2] = licence.as_ptr() as u64;
    attr[8] = pair(0, attach_type);
    attr[13] = pair(0, function);
    // attach_btf_id lies at 108: the upper half of word 13.
    bpf(PROG_LOAD, &attr)
}

fn raw_tracepoint(name: &str, program: &File) -> Result<File> {
    let name = CString::new(name).unwrap();
    let mut attr = Attr::default();
    attr[0] = if name.is_empty() { 0 } else { name.as_ptr() as u64 };
    attr[1] = pair(program.as_raw_fd() as u32, 0);
    bpf(RAW_TRACEPOINT_OPEN, &attr)
}

/// `struct perf_event_attr`, by its 64-bit words.
type Event = [u64; 16];

fn open_event(event: &Event, pid: c_long, cpu: c_long) -> Result<File> {
    const CLOSE_ON_EXEC: c_long = 8;
    // SAFETY: the attributes and the name that they may point to live through the call.
    owned(unsafe { libc::syscall(libc::SYS_perf_event_open, event.as_ptr(), pid, cpu, -1, CLOSE_ON_EXEC) })
}

fn event(kind: u32, config: u64) -> Event {
    let mut event = Event::default();
    event[0] = pair(kind, size_of::<Event>() as u32);
    event[1] = config;
    event
}

fn number(path: &str) -> Result<u64> {
    fs::read_to_string(path)?.trim().parse().map_err(Error::other)
}

fn tracepoint(place: &str) -> Result<File> {
    open_event(&tracepoint_event(place)?, -1, 0)
}

fn tracepoint_event(place: &str) -> Result<Event> {
    // PERF_TYPE_TRACEPOINT.
    Ok(event(2, number(&format!("/sys/kernel/tracing/events/{place}/id"))?))
}

fn kprobe(name: &str, at_return: bool) -> Result<File> {
    let kind = number("/sys/bus/event_source/devices/kprobe/type")?;
    let name = CString::new(name).unwrap();
    // The bit is the one that `format/retprobe` of this device names, 0 since it exists.
    let mut event = event(kind as u32, u64::from(at_return));
    event[7] = name.as_ptr() as u64;
    open_event(&event, -1, 0)
}

fn perf(event: File, program: &File) -> Result<File> {
    const SET_BPF: c_long = 0x4004_2408;
    const ENABLE: c_long = 0x2400;
    for (request, argument) in [(SET_BPF, program.as_raw_fd()), (ENABLE, 0)] {
        // SAFETY: neither request takes memory.
        if unsafe { libc::ioctl(event.as_raw_fd(), request as _, argument) } < 0 {
            return Err(Error::last_os_error());
        }
    }
    Ok(event)
}

/// Counts the system calls of one process.
pub struct Calls(File);

impl Calls {
    pub fn of(pid: u32) -> Result<Self> {
        open_event(&tracepoint_event("raw_syscalls/sys_enter")?, pid as c_long, -1).map(Self)
    }

    pub fn count(&self) -> Result<u64> {
        let mut count = [0; 8];
        (&self.0).read_exact(&mut count)?;
        Ok(u64::from_ne_bytes(count))
    }
}

/// What programs spent while `kernel.bpf_stats_enabled` was on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// In nanoseconds; under `-icount shift=0` that is, in instructions.
    pub time: u64,
    pub runs: u64,
}

impl Spent {
    pub fn since(self, before: Self) -> Self {
        Self { time: self.time - before.time, runs: self.runs - before.runs }
    }

    pub fn and(self, other: Self) -> Self {
        Self { time: self.time + other.time, runs: self.runs + other.runs }
    }

    /// A run's; `None` if there was no run.
    pub fn each(self) -> Option<u64> {
        (self.runs > 0).then(|| (self.time + self.runs / 2) / self.runs)
    }
}

/// A program as the kernel tells of it.
pub struct Program {
    pub name: String,
    pub spent: Spent,
    /// How often the kernel has left it out, since it was running on that CPU already (since v5.12, 9ed9e9ba2337).
    missed: u64,
}

impl Program {
    fn of(program: &File) -> Result<Self> {
        // struct bpf_prog_info up to its recursion_misses.
        let mut info = [0_u64; 27];
        tell(program, &mut info)?;
        Ok(Self {
            name: text(&info[8..10]),
            spent: Spent { time: info[24], runs: info[25] },
            missed: info[26],
        })
    }
}

/// What the kernel tells of an object, as far as there is room.
fn tell(object: &File, info: &mut [u64]) -> Result<()> {
    let mut attr = Attr::default();
    attr[0] = pair(object.as_raw_fd() as u32, size_of_val(info) as u32);
    attr[1] = info.as_mut_ptr() as u64;
    // SAFETY: `info` is as long as the size given, and ours for the time of the call.
    let result =
        unsafe { libc::syscall(libc::SYS_bpf, OBJ_GET_INFO_BY_FD, attr.as_ptr(), size_of::<Attr>()) };
    if result < 0 { Err(Error::last_os_error()) } else { Ok(()) }
}

/// A name, as it lies in memory.
fn text(words: &[u64]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned()
}

/// A map that somebody else has made.
pub struct Map {
    map: File,
    pub name: String,
}

impl Map {
    pub fn of(id: u32) -> Result<Self> {
        let mut attr = Attr::default();
        attr[0] = pair(id, 0);
        let map = bpf(MAP_GET_FD_BY_ID, &attr)?;
        // struct bpf_map_info up to its name.
        let mut info = [0; 5];
        tell(&map, &mut info)?;
        Ok(Self { map, name: text(&info[3..5]) })
    }

    /// How many keys it has, none longer than 64 bits, while nobody changes them.
    pub fn entries(&self) -> usize {
        // One key, and the one after it.
        let (mut keys, mut count) = ([0_u64; 2], 0);
        let mut attr = Attr::default();
        attr[0] = pair(self.map.as_raw_fd() as u32, 0);
        attr[2] = (&raw mut keys[1]) as u64;
        // SAFETY: the attributes and both keys, of at most 64 bits each, live through the call.
        while unsafe { libc::syscall(libc::SYS_bpf, MAP_GET_NEXT_KEY, attr.as_ptr(), size_of::<Attr>()) } == 0
        {
            count += 1;
            keys[0] = keys[1];
            attr[1] = (&raw mut keys[0]) as u64;
        }
        count
    }
}

/// The ids of all programs that there are.
pub fn program_ids() -> Vec<u32> {
    let mut ids = Vec::new();
    while let Ok(Some(id)) = next_id(Walk::Programs, ids.last().copied().unwrap_or(0)) {
        ids.push(id);
    }
    ids
}

/// How often the kernel has left out a program, of all that there are.
pub fn missed() -> u64 {
    program_ids().into_iter().filter_map(program).map(|program| program.missed).sum()
}

/// What the kernel tells of the program of this id, if it is still there.
pub fn program(id: u32) -> Option<Program> {
    let mut attr = Attr::default();
    attr[0] = pair(id, 0);
    Program::of(&bpf(PROG_GET_FD_BY_ID, &attr).ok()?).ok()
}

/// The id of a function that some module of kmote hooks, in the kernel's BTF.
pub fn function(name: &str) -> Option<u32> {
    static IDS: OnceLock<BTreeMap<&str, u32>> = OnceLock::new();
    IDS.get_or_init(|| functions().unwrap_or_default()).get(name).copied()
}

fn functions() -> Option<BTreeMap<&'static str, u32>> {
    let probes = MODULES.iter().flat_map(|module| module.probes);
    let places = probes.flat_map(|probe| probe.hooks).flat_map(Hook::places);
    let names: Vec<_> =
        places.filter_map(|hook| hook.function()).collect::<BTreeSet<_>>().into_iter().collect();
    let file = File::open("/sys/kernel/btf/vmlinux").ok()?;
    let mut header = [0; HEADER];
    file.read_exact_at(&mut header, 0).ok()?;
    let layout = Layout::parse(&header)?;
    let (mut offsets, mut ids) = (vec![0; names.len()], vec![0; names.len()]);
    let (mut strings, mut types) = (Strings::default(), Types::default());
    in_pieces(&file, layout.strings, layout.strings_length, |piece| {
        strings.feed(piece, &names, &mut offsets);
    })?;
    in_pieces(&file, layout.types, layout.types_length, |piece| types.feed(piece, &offsets, &mut ids))?;
    Some(names.into_iter().zip(ids).filter(|(_, id)| *id != 0).collect())
}

/// In pieces, since memory once taken makes every later fork of this process dearer.
fn in_pieces(file: &File, start: u64, length: u64, mut each: impl FnMut(&[u8])) -> Option<()> {
    let mut piece = [0; 16384];
    for at in (0..length).step_by(piece.len()) {
        let piece = &mut piece[..(length - at).min(16384) as usize];
        file.read_exact_at(piece, start + at).ok()?;
        each(piece);
    }
    Some(())
}
