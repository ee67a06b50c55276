// SPDX-License-Identifier: GPL-3.0-or-later
//! The kernel side of kmote: what a kernel offers, and how a module's programs are chosen, loaded, attached and read.

pub mod attach;
pub mod kernel;
pub mod object;
pub mod packed;
pub mod processes;
pub mod programs;
pub mod reader;
pub mod sandbox;
pub mod starts;
pub mod symbols;
pub mod sys;
pub mod table;
pub mod tree;
pub mod words;

/// The BPF objects, compiled from `c/*.bpf.c` by the build script.
pub mod objects {
    use crate::packed::unpack;

    include!(concat!(env!("OUT_DIR"), "/objects.rs"));

    /// The stems of the objects' source files, sorted.
    pub fn names() -> impl Iterator<Item = &'static str> {
        PLACES.iter().map(|(name, ..)| *name)
    }

    /// An object's ELF bytes, aligned as what is allocated is, because libelf reads the headers where they lie.
    pub fn find(wanted: &str) -> Option<Vec<u8>> {
        let (_, begin, end) = PLACES.iter().find(|(name, ..)| *name == wanted)?;
        let mut bytes = unpack(PACKED, *end);
        bytes.drain(..*begin);
        Some(bytes)
    }
}
