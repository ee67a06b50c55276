// SPDX-License-Identifier: GPL-3.0-or-later
//! The binary's life: how it starts, ticks and ends.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may end by a panic")]

mod support;

#[path = "support/protocol_faults.rs"]
mod protocol_faults;
