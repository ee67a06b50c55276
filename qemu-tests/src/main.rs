// SPDX-License-Identifier: GPL-3.0-or-later
//! Boots kernels in QEMU and compares what kmote counts with the work that was done.
//!
//! One program, two roles: on the host it fetches kernels, boots them and reports; as `/init` of a guest it does
//! the work and reads kmote.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable)]
#![deny(unsafe_code)]

mod guest;
mod host;
mod row;
mod workloads;

use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(guest::NOTHING) {
        return ExitCode::SUCCESS;
    }
    if let Some(status) = std::env::args().nth(1).and_then(|order| guest::act(&order)) {
        return ExitCode::from(status as u8);
    }
    match std::env::args().next().as_deref() {
        Some("/init") if std::process::id() == 1 => guest::main(),
        _ => host::main(),
    }
}
