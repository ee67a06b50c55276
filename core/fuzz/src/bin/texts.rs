// SPDX-License-Identifier: GPL-3.0-or-later
//! Fuzzes the readers of the kernel's small texts: no panic, counts that the text can hold, and the same handlers of an
//! interrupt line whatever the split.
#![no_main]

use kmote_core::interrupts::Finder;
use kmote_core::{cpu_list, deny, format, plan};
use kmote_fuzz::{pieces, whole};
use libfuzzer_sys::fuzz_target;

fn handlers<'a>(mut all: impl Iterator<Item = &'a [u8]>) -> Option<Vec<u8>> {
    let mut finder = Finder::new(16);
    all.find_map(|piece| finder.feed(piece).map(<[u8]>::to_vec))
}

fuzz_target!(|data: &[u8]| {
    if let Some(cpus) = cpu_list::count(data) {
        assert!(cpus >= 1);
    }
    if let Some(memory) = plan::memory_of(data) {
        assert!(memory % 1024 == 0 && plan::budget(memory, 1) <= memory / 100);
    }
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = format::offset(text, "clone_flags");
    }
    if let Some(line) = deny::line(data, b"Ubuntu 4.18.0-25.26") {
        assert!(data.iter().filter(|byte| **byte == b'\n').count() >= line - 1);
    }
    assert_eq!(handlers(pieces(data)), handlers(std::iter::once(whole(data))));
});
