// SPDX-License-Identifier: GPL-3.0-or-later
//! The binary's life: how it starts, ticks and ends. Needs root and a kernel that takes BPF programs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may end by a panic")]

#[path = "../support/mod.rs"]
mod support;

#[path = "../support/protocol_faults.rs"]
mod protocol_faults;

mod configuration;
mod ends;
mod safety;
mod starts;
mod system_calls;
mod ticks;
mod views;
