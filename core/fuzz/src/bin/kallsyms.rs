// SPDX-License-Identifier: GPL-3.0-or-later
//! Fuzzes the scanner of kallsyms: no panic, and the same functions whatever the split.
#![no_main]

use kmote_core::kallsyms::Scanner;
use kmote_fuzz::{pieces, whole};
use libfuzzer_sys::fuzz_target;

const WANTED: [&str; 3] = ["a", "kernel_clone", "vfs_read"];

fn scan<'a>(all: impl Iterator<Item = &'a [u8]>) -> [bool; 3] {
    let (mut scanner, mut found) = (Scanner::default(), [false; 3]);
    all.for_each(|piece| scanner.feed(piece, &WANTED, &mut found));
    scanner.finish(&WANTED, &mut found);
    found
}

fuzz_target!(|data: &[u8]| assert_eq!(scan(pieces(data)), scan(std::iter::once(whole(data)))));
