// SPDX-License-Identifier: GPL-3.0-or-later
//! Fuzzes the readers of the kernel's small texts: no panic, and counts that the text can hold.
#![no_main]

use kmote_core::{cpu_list, format};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Some(cpus) = cpu_list::count(data) {
        assert!(cpus >= 1);
    }
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = format::offset(text, "clone_flags");
    }
});
