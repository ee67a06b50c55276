// SPDX-License-Identifier: GPL-3.0-or-later
//! System calls by their numbers: what a workload counts is then what it wrote down, and not what a library makes of it.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::io::{Error, Result};
use std::ptr;

use libc::c_long;

/// The call's number for `sync_file_range`, whose arguments stand in another order on arm.
#[cfg(target_arch = "arm")]
pub const SYNC_FILE_RANGE: c_long = 341;
#[cfg(not(target_arch = "arm"))]
pub const SYNC_FILE_RANGE: c_long = libc::SYS_sync_file_range;

// Calls that the libc crate has no numbers of for MIPS (arch/mips/kernel/syscalls/syscall_o32.tbl).
#[cfg(target_arch = "mips")]
mod numbers {
    use libc::c_long;

    pub const PREAD64: c_long = 4200;
    pub const PWRITE64: c_long = 4201;
    // Since v5.1 (0d6040d46817); before, all went through ipc(2).
    pub const SHMGET: c_long = 4395;
    pub const SHMCTL: c_long = 4396;
    pub const SHMAT: c_long = 4397;
    pub const SHMDT: c_long = 4398;
}
#[cfg(not(target_arch = "mips"))]
mod numbers {
    pub use libc::{
        SYS_pread64 as PREAD64, SYS_pwrite64 as PWRITE64, SYS_shmat as SHMAT, SYS_shmctl as SHMCTL,
        SYS_shmdt as SHMDT, SYS_shmget as SHMGET,
    };
}
pub use numbers::{PREAD64, PWRITE64, SHMAT, SHMCTL, SHMDT, SHMGET};

/// A file descriptor that is none.
pub const NO_FILE: c_long = -1;

/// Makes a system call. Its arguments are numbers, or addresses of what lives through the call.
pub fn call(number: c_long, arguments: &[c_long]) -> Result<c_long> {
    let argument = |place: usize| arguments.get(place).copied().unwrap_or(0);
    let [a, b, c, d, e, f] = [0, 1, 2, 3, 4, 5].map(argument);
    // SAFETY: the workloads give addresses of live values only, of the size that the call reads or writes.
    let result = unsafe {
        match number {
            // With 7 arguments there, for which libc's syscall has no room.
            #[cfg(target_arch = "mips")]
            SYNC_FILE_RANGE => libc::sync_file_range(a as i32, b.into(), c.into(), d as u32).into(),
            _ => libc::syscall(number, a, b, c, d, e, f),
        }
    };
    match result {
        -1 => Err(Error::last_os_error()),
        result => Ok(result),
    }
}

/// Makes a system call that must succeed, so many times.
pub fn done(times: usize, number: c_long, arguments: &[c_long]) {
    for _ in 0..times {
        call(number, arguments).unwrap_or_else(|error| panic!("system call {number}: {error}"));
    }
}

/// Makes a system call that must fail, so many times.
pub fn refused(times: usize, number: c_long, arguments: &[c_long]) {
    for _ in 0..times {
        assert!(call(number, arguments).is_err(), "system call {number} was not refused");
    }
}

/// The address of a string.
pub fn text(string: &CStr) -> c_long {
    string.as_ptr() as c_long
}

/// The address of anything.
pub fn address<T: ?Sized>(value: &T) -> c_long {
    ptr::from_ref(value).cast::<u8>() as c_long
}

/// Anonymous memory in small pages.
pub struct Pages {
    start: *mut u8,
    count: usize,
}

impl Pages {
    pub fn new(count: usize) -> Self {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: the kernel chooses the place; the mapping lives as long as the value.
        let start = unsafe { libc::mmap(ptr::null_mut(), count * 4096, protection, flags, -1, 0) };
        assert!(start != libc::MAP_FAILED, "mmap: {}", Error::last_os_error());
        let pages = Self { start: start.cast(), count };
        // A kernel without huge pages refuses, and has small ones anyway.
        let _ = pages.advise(libc::MADV_NOHUGEPAGE);
        pages
    }

    pub fn address(&self) -> c_long {
        self.start as c_long
    }

    pub fn advise(&self, advice: i32) -> Result<c_long> {
        call(libc::SYS_madvise, &[self.start as c_long, (self.count * 4096) as c_long, advice.into()])
    }

    /// Writes to each page, and no zeroes, which some kernels do not swap.
    pub fn fill(&self) {
        for page in 0..self.count {
            // SAFETY: inside of the mapping.
            unsafe { self.start.add(page * 4096).cast::<u64>().write_volatile(page as u64 + 1) };
        }
    }

    /// Reads from the first pages.
    pub fn read(&self, count: usize) {
        for page in 0..count.min(self.count) {
            // SAFETY: inside of the mapping.
            let seen = unsafe { self.start.add(page * 4096).cast::<u64>().read_volatile() };
            assert_eq!(seen, page as u64 + 1);
        }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and nothing refers to it any more.
        unsafe { libc::munmap(self.start.cast(), self.count * 4096) };
    }
}
