// SPDX-License-Identifier: GPL-3.0-or-later
//! One io_uring: a request at a time, and its result.
#![allow(unsafe_code)]

use std::io::{Error, Result};
use std::ptr;

use libc::c_long;

use super::calls::call;

/// What a request is about (include/uapi/linux/io_uring.h).
const OPEN: u8 = 18;
const CLOSE: u8 = 19;

const ENTRIES: usize = 4;
const ENTRIES_AT: c_long = 0x1000_0000;
const GET_EVENTS: c_long = 1;

pub struct Ring {
    file: c_long,
    /// Both queues, which one mapping holds since v5.4.
    queues: *mut u32,
    requests: *mut [u32; 16],
    /// Places in the queues, in bytes: tail and array of requests, head and array of results.
    tail: usize,
    array: usize,
    head: usize,
    results: usize,
}

impl Ring {
    /// An error where the kernel has none, or before v5.4.
    pub fn new() -> Result<Self> {
        // struct io_uring_params: ten words, then the places of the queue of requests and of that of results.
        let mut parameters = [0u32; 30];
        let file = call(libc::SYS_io_uring_setup, &[ENTRIES as c_long, parameters.as_mut_ptr() as c_long])?;
        let queues = map(file, 0, 4096)?.cast();
        let requests = map(file, ENTRIES_AT, ENTRIES * 64)?.cast();
        let [tail, array] = [11, 16].map(|word| parameters[word] as usize);
        let [head, results] = [20, 25].map(|word| parameters[word] as usize);
        Ok(Self { file, queues, requests, tail, array, head, results })
    }

    /// Makes a request and waits for its result: file, address, length, flags as the operation takes them.
    fn request(&self, operation: u8, file: c_long, at: u64, length: u32, flags: u32) -> Result<i32> {
        let [low, high] = [at as u32, (at >> 32) as u32];
        let mut request = [0u32; 16];
        request[..8].copy_from_slice(&[operation.into(), file as u32, 0, 0, low, high, length, flags]);
        let word = |place: usize| self.queues.wrapping_byte_add(place);
        // SAFETY: the kernel gave these places in mappings that live as long as the ring, and while no call is under way
        // nobody else reads or writes them.
        let head = unsafe {
            self.requests.write_volatile(request);
            word(self.array).write_volatile(0);
            word(self.array + 4).write_volatile(0);
            word(self.array + 8).write_volatile(0);
            word(self.array + 12).write_volatile(0);
            word(self.tail).write_volatile(word(self.tail).read_volatile().wrapping_add(1));
            word(self.head).read_volatile()
        };
        call(libc::SYS_io_uring_enter, &[self.file, 1, 1, GET_EVENTS, 0, 0])?;
        // There are twice as many results as requests: each is 16 bytes, the number its third word.
        let place = self.results + head as usize % (2 * ENTRIES) * 16 + 8;
        // SAFETY: as above.
        let result = unsafe {
            word(self.head).write_volatile(head.wrapping_add(1));
            word(place).read_volatile() as i32
        };
        if result < 0 { Err(Error::from_raw_os_error(-result)) } else { Ok(result) }
    }

    /// Opens a file to read.
    pub fn open(&self, path: &std::ffi::CStr) -> Result<i32> {
        self.request(OPEN, libc::AT_FDCWD.into(), path.as_ptr() as u64, 0, libc::O_RDONLY as u32)
    }

    pub fn close(&self, file: i32) -> Result<i32> {
        self.request(CLOSE, file.into(), 0, 0, 0)
    }
}

fn map(file: c_long, at: c_long, length: usize) -> Result<*mut u8> {
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_POPULATE);
    // SAFETY: the kernel chooses the place; a guest keeps it until its end.
    let start = unsafe { libc::mmap(ptr::null_mut(), length, protection, flags, file as i32, at as _) };
    if start == libc::MAP_FAILED { Err(Error::last_os_error()) } else { Ok(start.cast()) }
}
