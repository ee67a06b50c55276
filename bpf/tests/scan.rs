// SPDX-License-Identifier: GPL-3.0-or-later
//! libbpf prints and scans by `native/stdio.c`: its own formats, with what libc's functions make of them.
#![allow(unsafe_code)]

// So that its archive, of which these functions are a part, is linked.
use libbpf_rs as _;
use std::ffi::{CStr, c_char, c_int, c_uint};

unsafe extern "C" {
    fn small_sscanf(text: *const c_char, format: *const c_char, ...) -> c_int;
    fn small_snprintf(to: *mut c_char, room: usize, format: *const c_char, ...) -> c_int;
}

/// The list of possible CPUs.
fn range(text: &CStr) -> (c_int, [c_int; 4]) {
    let [mut start, mut first, mut end, mut second] = [-7; 4];
    // SAFETY: text and format end with a zero, and each conversion has an int of ours to write to.
    let taken = unsafe {
        small_sscanf(
            text.as_ptr(),
            c"%d%n-%d%n".as_ptr(),
            &raw mut start,
            &raw mut first,
            &raw mut end,
            &raw mut second,
        )
    };
    (taken, [start, first, end, second])
}

#[test]
fn a_list_of_cpus() {
    assert_eq!(range(c"10-127,130"), (2, [10, 2, 127, 6]));
    assert_eq!(range(c"3,5-6"), (1, [3, 1, -7, -7]));
    assert_eq!(range(c"none"), (0, [-7; 4]));
}

#[test]
fn a_kernels_version() {
    for (text, format, expected) in [
        (c"Debian 6.12.117-1", c"Debian %u.%u.%u", (3, [6, 12, 117])),
        (c"Ubuntu 5.4.0-81.91 5.4.128", c"%*s %*s %u.%u.%u\n", (3, [5, 4, 128])),
        (c"4.19", c"%u.%u.%u", (2, [4, 19, 7])),
    ] {
        let mut numbers: [c_uint; 3] = [7; 3];
        let [major, minor, patch] = numbers.each_mut();
        // SAFETY: as above, with unsigned numbers.
        let taken = unsafe {
            small_sscanf(text.as_ptr(), format.as_ptr(), &raw mut *major, &raw mut *minor, &raw mut *patch)
        };
        assert_eq!((taken, numbers), expected, "{text:?}");
    }
}

#[test]
fn names_and_numbers() {
    let printed = |room: usize| {
        let mut to = [b'x' as c_char; 32];
        // SAFETY: the buffer has this room, and each conversion its argument.
        let length = unsafe {
            let (name, format) = (c"module".as_ptr(), c"%s.%.*s %d %x".as_ptr());
            small_snprintf(to.as_mut_ptr(), room, format, name, 2 as c_int, c"bss".as_ptr(), -5 as c_int, 255)
        };
        // SAFETY: what was printed ends with a zero within the buffer.
        (length, unsafe { CStr::from_ptr(to.as_ptr()) }.to_owned())
    };
    assert_eq!(printed(32), (15, c"module.bs -5 ff".to_owned()));
    assert_eq!(printed(7), (15, c"module".to_owned()), "cut off, and as long as it would be");
}
