// SPDX-License-Identifier: GPL-3.0-or-later
//! System calls of the guest that std does not offer; the only unsafe code of the tests.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::fs::File;
use std::io::{Error, Read, Result};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr;
use std::time::Duration;

fn check(result: libc::c_long) -> Result<libc::c_long> {
    if result < 0 { Err(Error::last_os_error()) } else { Ok(result) }
}

pub fn mount(source: &str, target: &str, kind: &str, options: &str) -> Result<()> {
    mount_with(source, target, kind, options, libc::MS_NOATIME)
}

/// Lets a file be seen in the place of another one.
pub fn bind(source: &str, target: &str) -> Result<()> {
    mount_with(source, target, "", "", libc::MS_BIND)
}

fn mount_with(source: &str, target: &str, kind: &str, options: &str, flags: libc::c_ulong) -> Result<()> {
    let [source, target, kind, options] = [source, target, kind, options].map(|s| CString::new(s).unwrap());
    // SAFETY: four strings that end in a zero byte and outlive the call.
    let result = unsafe {
        libc::mount(source.as_ptr(), target.as_ptr(), kind.as_ptr(), flags, options.as_ptr().cast())
    };
    check(result.into()).map(drop)
}

pub fn unmount(target: &str) -> Result<()> {
    let target = CString::new(target).unwrap();
    // SAFETY: a string that ends in a zero byte and outlives the call.
    check(unsafe { libc::umount(target.as_ptr()) }.into()).map(drop)
}

pub fn load_module(module: &File) -> Result<()> {
    load_module_with(module, "")
}

pub fn load_module_with(module: &File, parameters: &str) -> Result<()> {
    super::symbols::release();
    let parameters = CString::new(parameters).unwrap();
    // SAFETY: an open file, a string of parameters that outlives the call, no flags.
    let result = unsafe { libc::syscall(libc::SYS_finit_module, module.as_raw_fd(), parameters.as_ptr(), 0) };
    check(result).map(drop)
}

/// Makes the file of a block device.
pub fn make_block_device(path: &str, major: u32, minor: u32) -> Result<()> {
    let path = CString::new(path).unwrap();
    // SAFETY: a string that ends in a zero byte and outlives the call.
    check(unsafe { libc::mknod(path.as_ptr(), libc::S_IFBLK | 0o600, libc::makedev(major, minor)).into() })
        .map(drop)
}

/// A request that writes numbers to an md array (include/uapi/linux/raid/md_u.h).
pub fn array_request(array: &File, number: u32, numbers: &[i32]) -> Result<()> {
    const MD_MAJOR: u32 = 9;
    let request = 1 << 30 | (size_of_val(numbers) as u32) << 16 | MD_MAJOR << 8 | number;
    // SAFETY: the numbers are as many as the request says, and outlive the call.
    check(unsafe { libc::ioctl(array.as_raw_fd(), request as _, numbers.as_ptr()) }.into()).map(drop)
}

/// Takes an md array apart.
pub fn stop_array(array: &File) -> Result<()> {
    // SAFETY: STOP_ARRAY takes no memory.
    check(unsafe { libc::ioctl(array.as_raw_fd(), 9 << 8 | 0x32, 0) }.into()).map(drop)
}

/// Lets bytes through a serial line as they are.
pub fn make_raw(line: &File) -> Result<()> {
    // SAFETY: a termios of zeroes is a value of that type, which the first call fills.
    let mut settings: libc::termios = unsafe { std::mem::zeroed() };
    // SAFETY: the settings live through the calls, which only read or write them.
    unsafe {
        check(libc::tcgetattr(line.as_raw_fd(), &raw mut settings).into())?;
        libc::cfmakeraw(&raw mut settings);
        check(libc::tcsetattr(line.as_raw_fd(), libc::TCSANOW, &raw const settings).into()).map(drop)
    }
}

/// Switches the loopback device on.
pub fn loopback_up() {
    // SAFETY: zeroes are a valid request; its name ends in a zero byte and it outlives both calls.
    unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = b'l' as libc::c_char;
        request.ifr_name[1] = b'o' as libc::c_char;
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM, 0);
        libc::ioctl(socket, libc::SIOCSIFFLAGS as _, &raw const request);
        libc::close(socket);
    }
}

pub fn unload_module(name: &str) -> Result<()> {
    super::symbols::release();
    let name = CString::new(name).unwrap();
    // SAFETY: a string that ends in a zero byte and outlives the call.
    check(unsafe { libc::syscall(libc::SYS_delete_module, name.as_ptr(), libc::O_NONBLOCK) }).map(drop)
}

/// Waits until what was written to the console is sent.
pub fn drain() {
    // SAFETY: takes no memory.
    unsafe { libc::tcdrain(libc::STDERR_FILENO) };
}

pub fn power_off() -> ! {
    // SAFETY: neither call takes memory of ours.
    unsafe {
        libc::sync();
        libc::reboot(libc::RB_POWER_OFF);
    }
    // Without a way to switch off, the end of the first process is a panic, which `panic=-1` turns into a reboot.
    std::process::exit(0)
}

pub fn sync() {
    // SAFETY: takes no arguments.
    unsafe { libc::sync() }
}

/// Runs `child` in a new process, which ends with what it returns.
pub fn fork(child: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the guest has one thread whenever it forks, so the child may do whatever the parent may.
    match unsafe { libc::fork() } {
        -1 => panic!("fork: {}", Error::last_os_error()),
        0 => {
            let status = child();
            // SAFETY: ends the child without running the parent's exit handlers.
            unsafe { libc::_exit(status) }
        }
        pid => pid,
    }
}

/// Replaces this process; returns only if that failed.
pub fn exec(program: &str, argument: &str) -> i32 {
    let [program, argument] = [program, argument].map(|s| CString::new(s).unwrap());
    let arguments = [program.as_ptr(), argument.as_ptr(), ptr::null()];
    let environment = [ptr::null()];
    // SAFETY: both lists end in a null pointer, their strings in a zero byte, and all outlive the call.
    unsafe { libc::execve(program.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
    127
}

/// Waits for a child to end and takes its status.
pub fn reap(pid: i32) -> i32 {
    let mut status = 0;
    // SAFETY: `status` is ours for the time of the call.
    check(unsafe { libc::waitpid(pid, &raw mut status, 0) }.into()).unwrap();
    status
}

/// Waits for a child to end and leaves it a zombie.
pub fn wait_for_zombie(pid: i32) {
    // SAFETY: zeroes are a valid siginfo_t.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let flags = libc::WEXITED | libc::WNOWAIT;
    // SAFETY: `info` is ours for the time of the call.
    check(unsafe { libc::waitid(libc::P_PID, pid as libc::id_t, &raw mut info, flags) }.into()).unwrap();
}

/// Gives this process another name.
pub fn rename(name: &[u8]) {
    let name = CString::new(name).unwrap();
    // SAFETY: a string that ends in a zero byte and outlives the call.
    check(unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) }.into()).unwrap();
}

/// Lets the children of this process live in a PID namespace of their own.
pub fn own_processes() {
    // SAFETY: takes no memory.
    check(unsafe { libc::unshare(libc::CLONE_NEWPID) }.into()).unwrap();
}

/// Stops this process until it is told to go on.
pub fn stop() {
    // SAFETY: takes no memory.
    check(unsafe { libc::raise(libc::SIGSTOP) }.into()).unwrap();
}

/// Waits until a child has stopped.
pub fn wait_until_stopped(pid: i32) {
    let mut status = 0;
    // SAFETY: `status` is ours for the time of the call.
    check(unsafe { libc::waitpid(pid, &raw mut status, libc::WUNTRACED) }.into()).unwrap();
}

pub fn kill(pid: u32, signal: i32) {
    // SAFETY: takes no memory.
    check(unsafe { libc::kill(pid as libc::pid_t, signal) }.into()).unwrap();
}

/// Asks for a new task with flags that the kernel refuses.
pub fn refused_clone(flags: i32) {
    let none = ptr::null::<u8>();
    // SAFETY: the kernel refuses these flags before it looks at any pointer; if it did not, the child would be a
    // copy that goes on here, as after fork.
    let result = unsafe { libc::syscall(libc::SYS_clone, libc::c_long::from(flags), none, none, none, none) };
    assert_eq!(result, -1, "clone({flags:#x}) was not refused");
}

pub fn advise(file: &File, advice: i32) {
    // SAFETY: takes no memory. The error comes as the result.
    assert_eq!(unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, advice) }, 0);
}

/// A file mapped whole and shared.
pub struct Mapping {
    start: *mut u8,
    length: usize,
}

impl Mapping {
    pub fn new(file: &File, length: usize) -> Self {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the kernel chooses the place; the mapping lives as long as the value.
        let start =
            unsafe { libc::mmap(ptr::null_mut(), length, protection, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        assert!(start != libc::MAP_FAILED, "mmap: {}", Error::last_os_error());
        Self { start: start.cast(), length }
    }

    /// Reads one byte of each page.
    pub fn touch(&self) {
        for offset in (0..self.length).step_by(4096) {
            // SAFETY: inside of the mapping, and the file is as long as it.
            unsafe { self.start.add(offset).read_volatile() };
        }
    }

    /// Writes one byte of each page.
    pub fn soil(&self) {
        for offset in (0..self.length).step_by(4096) {
            // SAFETY: inside of the mapping, and the file is as long as it.
            unsafe { self.start.add(offset).write_volatile(7) };
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and nothing refers to it any more.
        unsafe { libc::munmap(self.start.cast(), self.length) };
    }
}

/// Pages that come only when somebody brings them (userfaultfd(2)): whoever touches one waits until then.
pub struct SlowPages {
    start: *mut u8,
    count: usize,
    faults: File,
}

// SAFETY: the pages are only handed to the kernel, which takes care of its own order.
unsafe impl Sync for SlowPages {}

impl SlowPages {
    pub fn new(count: usize) -> Result<Self> {
        let (length, protection) = (count * 4096, libc::PROT_READ | libc::PROT_WRITE);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: the kernel chooses the place; the mapping lives as long as the value.
        let start = unsafe { libc::mmap(ptr::null_mut(), length, protection, flags, -1, 0) };
        assert!(start != libc::MAP_FAILED, "mmap: {}", Error::last_os_error());
        // SAFETY: takes no memory; the descriptor that comes of it is nobody else's.
        let faults = unsafe { File::from_raw_fd(check(libc::syscall(libc::SYS_userfaultfd, 0))? as RawFd) };
        let pages = Self { start: start.cast(), count, faults };
        // UFFDIO_API: the version, features; UFFDIO_REGISTER: the range, UFFDIO_REGISTER_MODE_MISSING.
        pages.request(0xc018_aa3f, &mut [0xaa, 0, 0, 0])?;
        pages.request(0xc020_aa00, &mut [start as u64, length as u64, 1, 0])?;
        Ok(pages)
    }

    fn request(&self, number: u32, words: &mut [u64; 4]) -> Result<()> {
        // SAFETY: the words are at least as many as these requests read and write.
        check(unsafe { libc::ioctl(self.faults.as_raw_fd(), number as _, words.as_mut_ptr()) }.into())
            .map(drop)
    }

    /// Brings so many pages so long after the last of them was touched.
    pub fn bring(&self, count: usize, after: Duration) {
        // struct uffd_msg: the address is its third word.
        let mut messages = vec![[0; 32]; count];
        messages.iter_mut().for_each(|message| (&self.faults).read_exact(message).unwrap());
        std::thread::sleep(after);
        for message in messages {
            let address = u64::from_ne_bytes(message[16..24].try_into().unwrap());
            // UFFDIO_ZEROPAGE: the range.
            self.request(0xc020_aa04, &mut [address & !4095, 4096, 0, 0]).unwrap();
        }
    }

    /// Reads into a page.
    pub fn read(&self, file: &File, page: usize) {
        // SAFETY: the page is inside of the mapping, and only the kernel writes to it.
        let result = unsafe { libc::pread(file.as_raw_fd(), self.start.add(page * 4096).cast(), 4096, 0) };
        assert_eq!(result, 4096, "pread: {}", Error::last_os_error());
    }
}

impl Drop for SlowPages {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and nothing refers to it any more.
        unsafe { libc::munmap(self.start.cast(), self.count * 4096) };
    }
}

/// Lets this process run on these CPUs only.
pub fn run_on(cpus: &[usize]) {
    // SAFETY: zeroes are an empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for cpu in cpus {
        // SAFETY: the set is ours; the guest's CPUs are far fewer than it has places.
        unsafe { libc::CPU_SET(*cpu, &mut set) };
    }
    // SAFETY: the set is ours for the time of the call.
    check(unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) }.into()).unwrap();
}

/// A limit that a child begins with.
#[derive(Clone, Copy)]
pub enum Limit {
    LockedMemory(u64),
    Files(u64),
    /// Without one capability.
    Without(libc::c_ulong),
    /// With these capabilities and no other.
    Only(&'static [libc::c_ulong]),
    User(u32),
}

/// Puts limits on what a command will run.
pub fn limit(command: &mut Command, limits: &'static [Limit]) {
    // SAFETY: between fork and exec only system calls are made; nothing is allocated.
    unsafe { command.pre_exec(move || limits.iter().try_for_each(|limit| apply(*limit))) };
}

fn apply(limit: Limit) -> Result<()> {
    let resource = |resource, value| {
        let limit = libc::rlimit { rlim_cur: value as libc::rlim_t, rlim_max: value as libc::rlim_t };
        // SAFETY: `limit` is ours for the time of the call.
        check(unsafe { libc::setrlimit(resource, &raw const limit) }.into()).map(drop)
    };
    match limit {
        Limit::LockedMemory(bytes) => resource(libc::RLIMIT_MEMLOCK, bytes),
        Limit::Files(count) => resource(libc::RLIMIT_NOFILE, count),
        Limit::Without(capability) => keep(|c| c != capability),
        Limit::Only(capabilities) => keep(|c| capabilities.contains(&c)),
        // SAFETY: takes no memory.
        Limit::User(id) => check(unsafe { libc::setuid(id) }.into()).map(drop),
    }
}

/// Takes capabilities out of the bounding set, from which root gets its own at exec.
fn keep(wanted: impl Fn(libc::c_ulong) -> bool) -> Result<()> {
    for capability in (0..64).filter(|c| !wanted(*c)) {
        // SAFETY: takes no memory.
        match check(unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) }.into()) {
            // The kernel knows no more capabilities than this.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => break,
            result => drop(result?),
        }
    }
    Ok(())
}

/// Sets the clock of the wall forward or back.
pub fn shift_clock(seconds: i64) {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is ours for the time of the call.
    check(unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut now) }.into()).unwrap();
    now.tv_sec += seconds as libc::time_t;
    // SAFETY: `now` is ours for the time of the call.
    check(unsafe { libc::clock_settime(libc::CLOCK_REALTIME, &raw const now) }.into()).unwrap();
}

/// The commands of bpf(2) that walk over what exists.
#[derive(Clone, Copy)]
pub enum Walk {
    Programs = 11,
    Links = 31,
}

/// The id after `id`; `None` after the last one. An error where the kernel has no such walk.
pub fn next_id(walk: Walk, id: u32) -> Result<Option<u32>> {
    // The head of `union bpf_attr` for these commands: start_id, next_id, open_flags.
    let mut attr = [id, 0, 0];
    let (size, pointer) = (size_of_val(&attr), attr.as_mut_ptr());
    // SAFETY: `attr` is as long as the size given, and ours for the time of the call.
    match check(unsafe { libc::syscall(libc::SYS_bpf, walk as libc::c_int, pointer, size) }) {
        Ok(_) => Ok(Some(attr[1])),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
        Err(error) => Err(error),
    }
}
