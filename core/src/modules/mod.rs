// SPDX-License-Identifier: GPL-3.0-or-later
//! The table of modules.

use crate::module::{Module, check};
use crate::share;

/// Names the slots of a module once: a constant for each, its place, and `SLOTS`, their names.
macro_rules! slots {
    ($($name:ident = $text:literal),+ $(,)?) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, clippy::enum_variant_names)]
        enum Place { $($name),+ }
        $(const $name: usize = Place::$name as usize;)+
        const SLOTS: &[&str] = &[$($text),+];
    };
}

mod cachestat;
mod process;
mod softirq;

/// All modules, in the order in which they are attached and sent.
pub const MODULES: &[Module] = &[process::MODULE, cachestat::MODULE, softirq::MODULE];

const _: () = check(MODULES);
const _: () = share::check(MODULES);
