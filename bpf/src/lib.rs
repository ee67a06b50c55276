// SPDX-License-Identifier: GPL-3.0-or-later
//! The kernel side of kmote: what a kernel offers, and how a module's programs are chosen, loaded, attached and read.

pub mod attach;
pub mod kernel;
pub mod object;
pub mod packed;
pub mod processes;
pub mod programs;
pub mod sandbox;
pub mod starts;
pub mod symbols;
pub mod sys;
pub mod table;
pub mod words;

/// The BPF objects, compiled from `c/*.bpf.c` by the build script: `(module's name, packed ELF)`.
pub mod objects {
    use crate::packed::Packed;

    include!(concat!(env!("OUT_DIR"), "/objects.rs"));
}
