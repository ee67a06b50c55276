// SPDX-License-Identifier: GPL-3.0-or-later
//! The only unsafe code of kmote: libbpf's and the kernel's calls behind safe functions.
//!
//! Each returns the errno of a failure as a positive number.

use libbpf_rs::{AsRawLibbpf, OpenObject};
use libbpf_sys as raw;
use std::ffi::CStr;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// The flag of `open` that makes reads and writes return instead of waiting.
pub const O_NONBLOCK: i32 = libc::O_NONBLOCK;

/// The errno of a failed call.
pub type Errno = i32;

/// What libbpf or a system call returned: a number, or −1 with errno set.
fn checked(result: i32) -> Result<i32, Errno> {
    match result {
        0.. => Ok(result),
        -1 => Err(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)),
        errno => Err(-errno),
    }
}

fn owned(result: i32) -> Result<OwnedFd, Errno> {
    let fd = checked(result)?;
    // SAFETY: the call that gave it has just made this descriptor, so nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Creates the object's maps and writes their descriptors into its programs, without loading any program.
pub fn prepare(object: &mut OpenObject) -> Result<(), Errno> {
    // SAFETY: the pointer is that of an open object, which `object` keeps alive and which we hold alone.
    checked(unsafe { raw::bpf_object__prepare(object.as_libbpf_object().as_ptr()) }).map(drop)
}

/// The version that a kernel before 5.0 wants to see in a kprobe program.
pub fn kernel_version(object: &OpenObject) -> u32 {
    // SAFETY: as above; the call only reads.
    unsafe { raw::bpf_object__kversion(object.as_libbpf_object().as_ptr()) }
}

/// A descriptor of our own of the prepared object's map of this name; it outlives the object.
pub fn map(object: &OpenObject, name: &CStr) -> Result<OwnedFd, Errno> {
    // SAFETY: the object is alive, the name is a C string; the call only reads.
    let fd = checked(unsafe {
        raw::bpf_object__find_map_fd_by_name(object.as_libbpf_object().as_ptr(), name.as_ptr())
    })?;
    // SAFETY: the object owns this open descriptor and is borrowed for the whole function.
    let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
    borrowed.try_clone_to_owned().map_err(|error| error.raw_os_error().unwrap_or(libc::EIO))
}

/// What a program is loaded as.
#[derive(Clone, Copy, Debug)]
pub struct Load<'a> {
    /// The name that the kernel shows of it.
    pub name: &'a CStr,
    /// `BPF_PROG_TYPE_…`
    pub kind: u32,
    /// `BPF_TRACE_FENTRY` and the like; else 0.
    pub attach_type: u32,
    /// The id of the target in the kernel's BTF; else 0.
    pub target: u32,
    /// What `kernel_version` said.
    pub kernel_version: u32,
}

/// Loads instructions as a program.
pub fn load(instructions: &[raw::bpf_insn], load: &Load<'_>) -> Result<OwnedFd, Errno> {
    let mut options = raw::bpf_prog_load_opts {
        sz: size_of::<raw::bpf_prog_load_opts>() as raw::size_t,
        expected_attach_type: load.attach_type,
        attach_btf_id: load.target,
        kern_version: load.kernel_version,
        ..Default::default()
    };
    // SAFETY: all pointers are of live values, the count is that of the slice, and the kernel verifies the program.
    owned(unsafe {
        raw::bpf_prog_load(
            load.kind,
            load.name.as_ptr(),
            c"GPL".as_ptr(),
            instructions.as_ptr(),
            instructions.len() as raw::size_t,
            &mut options,
        )
    })
}

/// Whether the kernel accounts BPF memory to cgroups (from 5.11) and not to `RLIMIT_MEMLOCK`: the helper
/// `bpf_ktime_get_coarse_ns` came with the same version, as libbpf knows (`probe_memcg_account`).
pub fn accounts_to_cgroups() -> bool {
    knows(raw::BPF_PROG_TYPE_SOCKET_FILTER, raw::BPF_FUNC_ktime_get_coarse_ns)
}

/// Whether programs can ask for the current cgroup's id (from 4.18).
pub fn knows_cgroups() -> bool {
    knows(raw::BPF_PROG_TYPE_RAW_TRACEPOINT, raw::BPF_FUNC_get_current_cgroup_id)
}

/// Whether programs of a kind may call a helper that takes no arguments.
fn knows(kind: u32, helper: u32) -> bool {
    let [mut call, mut exit] = [raw::bpf_insn::default(); 2];
    call.code = (raw::BPF_JMP | raw::BPF_CALL) as u8;
    call.imm = helper as i32;
    exit.code = (raw::BPF_JMP | raw::BPF_EXIT) as u8;
    load(&[call, exit], &Load { name: c"kmote_facts", kind, attach_type: 0, target: 0, kernel_version: 0 })
        .is_ok()
}

/// Attaches a program to a raw tracepoint; closing the descriptor detaches it.
pub fn attach_raw_tracepoint(name: &CStr, program: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    // SAFETY: a C string and an open descriptor.
    owned(unsafe { raw::bpf_raw_tracepoint_open(name.as_ptr(), program.as_raw_fd()) })
}

/// Attaches a program to the function that it was loaded for; closing the descriptor detaches it.
pub fn attach_trampoline(program: BorrowedFd<'_>, attach_type: u32) -> Result<OwnedFd, Errno> {
    // SAFETY: an open descriptor; null options are allowed.
    owned(unsafe { raw::bpf_link_create(program.as_raw_fd(), 0, attach_type, std::ptr::null()) })
}

// include/uapi/linux/perf_event.h; the numbers differ between architectures.
const PERF_EVENT_IOC_ENABLE: libc::Ioctl = libc::_IO(b'$' as u32, 0);
const PERF_EVENT_IOC_SET_BPF: libc::Ioctl = libc::_IOW::<u32>(b'$' as u32, 8);

/// What a perf event is opened on.
#[derive(Clone, Copy, Debug)]
pub enum PerfEvent<'a> {
    /// An event of tracefs, by its id.
    Tracepoint(u64),
    /// A function, through the kprobe PMU: its type, and the bit of `config` that asks for the return.
    Kprobe {
        /// `/sys/bus/event_source/devices/kprobe/type`
        pmu: u32,
        /// 0, or the bit of `format/retprobe`
        config: u64,
        /// The function.
        function: &'a CStr,
    },
}

/// Opens the event, hangs the program on it and switches it on; closing the descriptor undoes all of it.
pub fn attach_perf_event(event: PerfEvent<'_>, program: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    let mut attributes =
        raw::perf_event_attr { size: size_of::<raw::perf_event_attr>() as u32, ..Default::default() };
    match event {
        PerfEvent::Tracepoint(id) => {
            attributes.type_ = raw::PERF_TYPE_TRACEPOINT;
            attributes.config = id;
        }
        PerfEvent::Kprobe { pmu, config, function } => {
            attributes.type_ = pmu;
            attributes.config = config;
            attributes.__bindgen_anon_3.config1 = function.as_ptr() as u64;
        }
    }
    let any_process: libc::pid_t = -1;
    // SAFETY: the attributes and the name in them live through the call. A program on a tracepoint or a probe runs on
    // every CPU, whichever the event is opened on.
    let result = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &attributes,
            any_process,
            0,
            -1,
            raw::PERF_FLAG_FD_CLOEXEC as libc::c_ulong,
        )
    };
    let opened = owned(result as i32)?;
    // SAFETY: both requests take a number and act on our own descriptor.
    checked(unsafe { libc::ioctl(opened.as_raw_fd(), PERF_EVENT_IOC_SET_BPF as _, program.as_raw_fd()) })?;
    // SAFETY: as above.
    checked(unsafe { libc::ioctl(opened.as_raw_fd(), PERF_EVENT_IOC_ENABLE as _, 0) })?;
    Ok(opened)
}

/// Reads the one value of a per-CPU array into `values`, which must hold `words` for each possible CPU.
///
/// `values` is larger than what the kernel writes, or `EINVAL`.
pub fn read(map: BorrowedFd<'_>, words: usize, cpus: usize, values: &mut [u64]) -> Result<(), Errno> {
    if words.checked_mul(cpus).is_none_or(|needed| needed > values.len()) {
        return Err(libc::EINVAL);
    }
    let first: u32 = 0;
    // SAFETY: the key lives through the call, and the kernel writes `words` 64-bit words for each of `cpus` possible CPUs,
    // for which there is room.
    checked(unsafe {
        raw::bpf_map_lookup_elem(map.as_raw_fd(), (&raw const first).cast(), values.as_mut_ptr().cast())
    })
    .map(drop)
}

/// Reads a hash map of 64-bit keys to `words` 64-bit words by one call; returns how many keys there were, at most as
/// many as both buffers have room for.
pub fn read_batch(
    map: BorrowedFd<'_>,
    words: usize,
    keys: &mut [u64],
    values: &mut [u64],
) -> Result<usize, Errno> {
    batch(map, words, None, keys, values, Batch::Read).map(|(count, _)| count)
}

/// What becomes of the keys that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Batch {
    /// They stay.
    Read,
    /// They are taken out.
    Take,
}

/// Reads a part of such a map, from a position or from the beginning; returns how many keys there were, at most as many
/// as both buffers have room for, and the position after them, `None` at the end.
pub fn batch(
    map: BorrowedFd<'_>,
    words: usize,
    position: Option<u32>,
    keys: &mut [u64],
    values: &mut [u64],
    what: Batch,
) -> Result<(usize, Option<u32>), Errno> {
    let call = match what {
        Batch::Read => raw::bpf_map_lookup_batch,
        Batch::Take => raw::bpf_map_lookup_and_delete_batch,
    };
    let room = keys.len().min(values.len().checked_div(words).unwrap_or(0));
    let mut count = u32::try_from(room).unwrap_or(u32::MAX);
    let (mut from, mut next) = (position.unwrap_or(0), 0u32);
    let from = if position.is_some() { &raw mut from } else { std::ptr::null_mut() };
    // SAFETY: the kernel writes at most `count` keys of 8 bytes and values of `words` × 8 bytes, for which there is room,
    // and a position of 4 bytes; null for the first position means the beginning, and null options are allowed.
    let result = checked(unsafe {
        call(
            map.as_raw_fd(),
            from.cast(),
            (&raw mut next).cast(),
            keys.as_mut_ptr().cast(),
            values.as_mut_ptr().cast(),
            &raw mut count,
            std::ptr::null(),
        )
    });
    let count = (count as usize).min(room);
    match result {
        Ok(_) => Ok((count, Some(next))),
        // The end of the map was reached.
        Err(libc::ENOENT) => Ok((count, None)),
        Err(errno) => Err(errno),
    }
}

/// Makes a hash map of 64-bit keys to `words` 64-bit words.
pub fn create_hash(name: &CStr, words: usize, entries: usize) -> Result<OwnedFd, Errno> {
    let size = |number: usize| u32::try_from(number).map_err(|_| libc::E2BIG);
    let (value, entries) = (size(words.saturating_mul(8))?, size(entries)?);
    // SAFETY: a C string, numbers, and null options, which are allowed.
    owned(unsafe {
        raw::bpf_map_create(raw::BPF_MAP_TYPE_HASH, name.as_ptr(), 8, value, entries, std::ptr::null())
    })
}

/// Makes an array of two 64-bit words.
pub fn create_pair(name: &CStr) -> Result<OwnedFd, Errno> {
    // SAFETY: a C string, numbers, and null options, which are allowed.
    owned(unsafe { raw::bpf_map_create(raw::BPF_MAP_TYPE_ARRAY, name.as_ptr(), 4, 8, 2, std::ptr::null()) })
}

/// The second word of such an array.
pub fn second(map: BorrowedFd<'_>) -> Result<u64, Errno> {
    let (second, mut value) = (1u32, 0u64);
    // SAFETY: key and value live through the call and have the sizes of the map's.
    checked(unsafe {
        raw::bpf_map_lookup_elem(map.as_raw_fd(), (&raw const second).cast(), (&raw mut value).cast())
    })
    .map(|_| value)
}

/// Writes the value of `key`, which has as many words as those of the map.
pub fn insert(map: BorrowedFd<'_>, key: u64, value: &[u64]) -> Result<(), Errno> {
    // SAFETY: key and value live through the call, and the caller gives a whole value of the map.
    checked(unsafe {
        raw::bpf_map_update_elem(map.as_raw_fd(), (&raw const key).cast(), value.as_ptr().cast(), 0)
    })
    .map(drop)
}

/// The key after `key` in a hash map of 64-bit keys; after a key that it has not got, the first one.
pub fn next_key(map: BorrowedFd<'_>, key: u64) -> Result<Option<u64>, Errno> {
    let mut next = 0u64;
    // SAFETY: both keys live through the call and have the size of the map's.
    let result = checked(unsafe {
        raw::bpf_map_get_next_key(map.as_raw_fd(), (&raw const key).cast(), (&raw mut next).cast())
    });
    match result {
        Ok(_) => Ok(Some(next)),
        Err(libc::ENOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Reads the value of `key`, which has as many words as `value`.
pub fn look_up(map: BorrowedFd<'_>, key: u64, value: &mut [u64]) -> Result<(), Errno> {
    // SAFETY: the key lives through the call, and the caller gives room for a value of the map.
    checked(unsafe {
        raw::bpf_map_lookup_elem(map.as_raw_fd(), (&raw const key).cast(), value.as_mut_ptr().cast())
    })
    .map(drop)
}

/// Writes the first value of an array of as many words as `value` has.
pub fn write(map: BorrowedFd<'_>, value: &[u64]) -> Result<(), Errno> {
    let first: u32 = 0;
    // SAFETY: key and value live through the call, and the caller gives a value of the map's size.
    checked(unsafe {
        raw::bpf_map_update_elem(map.as_raw_fd(), (&raw const first).cast(), value.as_ptr().cast(), 0)
    })
    .map(drop)
}

/// Removes `key` and its value.
pub fn remove(map: BorrowedFd<'_>, key: u64) -> Result<(), Errno> {
    // SAFETY: the key lives through the call.
    checked(unsafe { raw::bpf_map_delete_elem(map.as_raw_fd(), (&raw const key).cast()) }).map(drop)
}

/// Removes several keys and their values; ends at the first that is not there.
pub fn remove_batch(map: BorrowedFd<'_>, keys: &[u64]) -> Result<(), Errno> {
    let mut count = u32::try_from(keys.len()).map_err(|_| libc::E2BIG)?;
    // SAFETY: as many keys as `count` says live through the call, and null options are allowed.
    checked(unsafe {
        raw::bpf_map_delete_batch(map.as_raw_fd(), keys.as_ptr().cast(), &raw mut count, std::ptr::null())
    })
    .map(drop)
}

/// Gives back the pages of the program's own file, of which most serve the start alone. What is needed still comes again
/// from the page cache when it is touched.
pub fn forget_start() {
    unsafe extern "C" {
        static __executable_start: u8;
        static etext: u8;
    }
    // Whole pages, also where one has 64 KB, and none that the writable part begins in.
    const PAGE: usize = 1 << 16;
    let start = (&raw const __executable_start).addr().next_multiple_of(PAGE);
    let length = ((&raw const etext).addr() & !(PAGE - 1)).saturating_sub(start);
    // SAFETY: between these marks of the linker lie code and constants, mapped from the file and never written.
    unsafe { libc::madvise(std::ptr::with_exposed_provenance_mut(start), length, libc::MADV_DONTNEED) };
}

/// Nanoseconds of the clock that programs read.
pub fn monotonic() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure lives through the call, which fills it.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// How often a program ran, and for how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    /// Runs since it was loaded.
    pub runs: u64,
    /// Nanoseconds in all of them.
    pub nanoseconds: u64,
    /// Events that no run saw, because another program was at work on that CPU (told since v5.12, 9ed9e9ba2337).
    pub missed: u64,
}

/// How often a program ran, which the kernel counts while `kernel.bpf_stats_enabled` is on; 0 where it cannot tell.
pub fn runs(program: BorrowedFd<'_>) -> Runs {
    let mut info = raw::bpf_prog_info::default();
    let mut size = size_of::<raw::bpf_prog_info>() as u32;
    // SAFETY: the structure, which the kernel fills up to its size, and the size live through the call.
    let result = unsafe { raw::bpf_prog_get_info_by_fd(program.as_raw_fd(), &mut info, &mut size) };
    match result {
        0 => Runs { runs: info.run_cnt, nanoseconds: info.run_time_ns, missed: info.recursion_misses },
        _ => Runs::default(),
    }
}

/// What this process used of the CPU so far, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// In its own code.
    pub user: u64,
    /// In the kernel, on its behalf.
    pub system: u64,
}

/// What this process used of the CPU so far.
pub fn usage() -> Usage {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: a structure of numbers, for which zeroes are values, lives through the call, which fills it.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    let microseconds =
        |time: libc::timeval| (time.tv_sec as u64).saturating_mul(1_000_000) + time.tv_usec as u64;
    Usage { user: microseconds(usage.ru_utime), system: microseconds(usage.ru_stime) }
}

/// Mounts a filesystem of the kernel's own, like tracefs, in no folder: only its descriptor leads there.
pub fn mount_apart(kind: &CStr) -> Result<OwnedFd, Errno> {
    const FSOPEN_CLOEXEC: libc::c_long = 1;
    const FSCONFIG_CMD_CREATE: libc::c_long = 6;
    const FSMOUNT_CLOEXEC: libc::c_long = 1;
    // SAFETY: the name is a C string that lives through the call.
    let context = owned(unsafe { libc::syscall(libc::SYS_fsopen, kind.as_ptr(), FSOPEN_CLOEXEC) } as i32)?;
    let fd = context.as_raw_fd();
    // SAFETY: this command takes neither key nor value, so both may be null.
    let made = unsafe { libc::syscall(libc::SYS_fsconfig, fd, FSCONFIG_CMD_CREATE, 0_usize, 0_usize, 0) };
    checked(made as i32)?;
    // SAFETY: the call takes numbers.
    owned(unsafe { libc::syscall(libc::SYS_fsmount, fd, FSMOUNT_CLOEXEC, 0) } as i32)
}

/// Makes a child that shares all our descriptors; true in the child.
pub fn fork() -> Result<bool, Errno> {
    // SAFETY: kmote has one thread, so the child's copy of its memory is whole; the other arguments are none.
    checked(unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) } as i32)
        .map(|child| child == 0)
}

/// Closes stdin, stdout and stderr, for whoever waits at their other ends.
pub fn close_standard() {
    for fd in 0..=2 {
        // SAFETY: nothing in this process uses them any more; an error means that one was closed already.
        unsafe { libc::close(fd) };
    }
}

/// Takes pages of the usual size alone. A kernel that gives huge ones whenever it can would make 2 MB of each table of which
/// a few entries are in use. Where the kernel does not know of it (before 3.15) it does not matter.
pub fn take_small_pages() {
    let (yes, no): (libc::c_ulong, libc::c_ulong) = (1, 0);
    // SAFETY: takes no memory.
    unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, yes, no, no, no) };
}

/// Lets this process lock as much memory as it likes; before 5.11 the kernel charges maps to that limit.
pub fn raise_locked_memory() -> Result<(), Errno> {
    let unlimited = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the structure lives through the call.
    checked(unsafe { libc::setrlimit(libc::RLIMIT_MEMLOCK, &unlimited) }).map(drop)
}

/// How much memory this process may lock, in bytes; `None` when there is no limit.
pub fn locked_memory() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure lives through the call, which fills it.
    let known = checked(unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &mut limit) }).is_ok();
    (known && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

// include/uapi/linux/capability.h, version 3.
#[repr(C)]
struct CapabilityHeader {
    version: u32,
    process: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct CapabilityWord {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

const CAPABILITIES_OF_SELF: CapabilityHeader = CapabilityHeader { version: 0x2008_0522, process: 0 };

/// The effective and the permitted capabilities of this process, a bit each.
pub fn capabilities() -> Result<(u64, u64), Errno> {
    let (header, mut words) = (CAPABILITIES_OF_SELF, [CapabilityWord::default(); 2]);
    // SAFETY: the header and the two words of version 3 live through the call.
    checked(unsafe { libc::syscall(libc::SYS_capget, &raw const header, words.as_mut_ptr()) } as i32)?;
    let [low, high] = words;
    let join = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
    Ok((join(low.effective, high.effective), join(low.permitted, high.permitted)))
}

/// Sets the capabilities of this process; it has only one thread. What is not permitted any more is gone for good.
pub fn set_capabilities(effective: u64, permitted: u64) -> Result<(), Errno> {
    let word = |shift: u32| CapabilityWord {
        effective: (effective >> shift) as u32,
        permitted: (permitted >> shift) as u32,
        inheritable: 0,
    };
    let (header, words) = (CAPABILITIES_OF_SELF, [word(0), word(32)]);
    // SAFETY: the header and the two words of version 3 live through the call.
    checked(unsafe { libc::syscall(libc::SYS_capset, &raw const header, words.as_ptr()) } as i32).map(drop)
}

/// Gives up new privileges, and all system calls but those that `filter` lets pass.
pub fn confine(filter: &[libc::sock_filter]) -> Result<(), Errno> {
    let (yes, no): (libc::c_ulong, libc::c_ulong) = (1, 0);
    // SAFETY: the call takes numbers.
    checked(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, yes, no, no, no) })?;
    if filter.is_empty() {
        return Err(libc::ENOSYS);
    }
    let length = filter.len().try_into().map_err(|_| libc::EINVAL)?;
    let program = libc::sock_fprog { len: length, filter: filter.as_ptr().cast_mut() };
    let mode = libc::SECCOMP_MODE_FILTER as libc::c_ulong;
    // SAFETY: the program is the slice, which lives through the call; the kernel copies and checks it.
    checked(unsafe { libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program) }).map(drop)
}

/// Blocks the signals that end a process by request, and gives a descriptor that is readable once one came.
pub fn stop_signals() -> Result<OwnedFd, Errno> {
    let mut set = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigemptyset fills the set before the others read it; all pointers live through their calls.
    let fd = unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGQUIT, libc::SIGHUP] {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        checked(libc::sigprocmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut()))?;
        libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
    };
    owned(fd)
}

/// Whether one of the signals that came asks to begin anew: SIGHUP.
pub fn asks_anew(signals: BorrowedFd<'_>) -> bool {
    let mut came = std::mem::MaybeUninit::<libc::signalfd_siginfo>::uninit();
    let size = size_of::<libc::signalfd_siginfo>();
    // SAFETY: there is room for one structure, and it is looked at only when the call filled it.
    unsafe {
        libc::read(signals.as_raw_fd(), came.as_mut_ptr().cast(), size) == size as isize
            && came.assume_init().ssi_signo == libc::SIGHUP as u32
    }
}

/// Makes reads and writes of an open descriptor return instead of waiting.
pub fn set_nonblocking(fd: BorrowedFd<'_>) -> Result<(), Errno> {
    // SAFETY: both calls take and give numbers, on an open descriptor.
    unsafe {
        let flags = checked(libc::fcntl(fd.as_raw_fd(), libc::F_GETFL))?;
        checked(libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK)).map(drop)
    }
}

/// Lines and columns of a terminal; `None` where there is none, or it does not know.
pub fn window(terminal: BorrowedFd<'_>) -> Option<(u16, u16)> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the descriptor is open, and the structure that the call fills lives through it.
    checked(unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCGWINSZ, &raw mut size) }).ok()?;
    (size.ws_row > 0 && size.ws_col > 0).then_some((size.ws_row, size.ws_col))
}

/// Begins to connect a TCP socket that never waits; it is connected once there is room to write on it.
pub fn connect(address: SocketAddr) -> Result<OwnedFd, Errno> {
    let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: the call takes and gives numbers.
    let socket = owned(unsafe { libc::socket(family, kind, 0) })?;
    let result = match address {
        SocketAddr::V4(address) => {
            let at = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: address.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(address.ip().octets()) },
                sin_zero: [0; 8],
            };
            // SAFETY: the address lives through the call, and its size is its own.
            unsafe {
                libc::connect(socket.as_raw_fd(), (&raw const at).cast(), size_of_val(&at) as libc::socklen_t)
            }
        }
        SocketAddr::V6(address) => {
            let at = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: address.port().to_be(),
                sin6_flowinfo: address.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: address.ip().octets() },
                sin6_scope_id: address.scope_id(),
            };
            // SAFETY: as above.
            unsafe {
                libc::connect(socket.as_raw_fd(), (&raw const at).cast(), size_of_val(&at) as libc::socklen_t)
            }
        }
    };
    match checked(result) {
        Ok(_) | Err(libc::EINPROGRESS) => Ok(socket),
        Err(errno) => Err(errno),
    }
}

/// One descriptor of a `wait`, and what is waited for on it and seen.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Watch(libc::pollfd);

impl Watch {
    /// Watches for input, and for the other end's closing.
    pub fn input(fd: &impl AsFd) -> Self {
        Self::on(fd.as_fd().as_raw_fd(), libc::POLLIN)
    }

    /// Watches for the other end's closing only.
    pub fn closing(fd: &impl AsFd) -> Self {
        Self::on(fd.as_fd().as_raw_fd(), 0)
    }

    /// Watches for room to write, and for the other end's closing.
    pub fn room(fd: &impl AsFd) -> Self {
        Self::on(fd.as_fd().as_raw_fd(), libc::POLLOUT)
    }

    /// Watches nothing.
    pub fn nothing() -> Self {
        Self::on(-1, 0)
    }

    fn on(fd: RawFd, events: i16) -> Self {
        Self(libc::pollfd { fd, events, revents: 0 })
    }

    /// Whether there is input.
    pub fn readable(&self) -> bool {
        self.0.revents & libc::POLLIN != 0
    }

    /// Whether there is room to write.
    pub fn writable(&self) -> bool {
        self.0.revents & libc::POLLOUT != 0
    }

    /// Whether the other end is closed, or the descriptor is no good.
    pub fn closed(&self) -> bool {
        self.0.revents & (libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) != 0
    }
}

/// Waits until something happens on one of `watches`, or for `limit` (`None`: without end). An interruption is an
/// ordinary return.
pub fn wait(watches: &mut [Watch], limit: Option<Duration>) -> Result<(), Errno> {
    let limit = limit.map(|limit| libc::timespec {
        tv_sec: limit.as_secs().try_into().unwrap_or(i32::MAX.into()),
        tv_nsec: limit.subsec_nanos() as _,
    });
    let limit = limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: Watch is a pollfd in all but name, the count is the slice's, and limit is null or points to a live value.
    let result = unsafe {
        libc::ppoll(watches.as_mut_ptr().cast(), watches.len() as libc::nfds_t, limit, std::ptr::null())
    };
    match checked(result) {
        Ok(_) | Err(libc::EINTR) => Ok(()),
        Err(errno) => Err(errno),
    }
}
