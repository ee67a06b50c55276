// SPDX-License-Identifier: GPL-3.0-or-later
//! A module whose kernel module comes late is attached under the sandbox: nothing of it may be refused by the sandbox.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use kmote_bpf::kernel::Kernel;
use kmote_bpf::object::attach_module;
use kmote_bpf::sandbox::{self, Needs};
use kmote_core::chart::Mode;
use kmote_core::module::Extent;
use kmote_core::modules::MODULES;
use std::path::Path;

/// What became of each module: its hooks, or why it cannot be had.
fn outcomes(kernel: &Kernel) -> Vec<String> {
    let became = |module| match attach_module(kernel, module, Extent::whole(Mode::Return), 0, None) {
        Ok(attached) => {
            let hooks = attached.outcomes.iter().flatten().map(|outcome| outcome.hook);
            format!("{}: {:?}", module.name, hooks.collect::<Vec<_>>())
        }
        Err(error) => error.to_string(),
    };
    MODULES.iter().map(became).collect()
}

/// Only this thread is confined, and it keeps its capabilities.
#[test]
fn the_sandbox_refuses_nothing_of_attaching() {
    let kernel = Kernel::ask(Path::new("/"), None);
    let free = outcomes(&kernel);
    sandbox::confine(Needs { attaching: true, ..Needs::default() }).unwrap();
    assert_eq!(outcomes(&kernel), free);
}
