// SPDX-License-Identifier: GPL-3.0-or-later
//! Fuzzes the scanner of BTF: no panic, and the same ids whatever the split.
#![no_main]

use kmote_core::btf::{HEADER, Layout, Strings, Types};
use kmote_fuzz::{pieces, whole};
use libfuzzer_sys::fuzz_target;

const WANTED: [&str; 2] = ["a", "vfs_read"];

fn names<'a>(all: impl Iterator<Item = &'a [u8]>) -> [u32; 2] {
    let (mut strings, mut offsets) = (Strings::default(), [0; 2]);
    all.for_each(|piece| strings.feed(piece, &WANTED, &mut offsets));
    offsets
}

fn ids<'a>(all: impl Iterator<Item = &'a [u8]>) -> [u32; 2] {
    let (mut types, mut ids) = (Types::default(), [0; 2]);
    all.for_each(|piece| types.feed(piece, &[1, 257], &mut ids));
    ids
}

fuzz_target!(|data: &[u8]| {
    if let Some(header) = data.first_chunk::<HEADER>() {
        let _ = Layout::parse(header);
    }
    assert_eq!(names(pieces(data)), names(std::iter::once(whole(data))));
    assert_eq!(ids(pieces(data)), ids(std::iter::once(whole(data))));
});
