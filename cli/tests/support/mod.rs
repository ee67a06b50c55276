// SPDX-License-Identifier: GPL-3.0-or-later
//! What the tests of the binary share: the strict reading of its output, and ways to run and end it.
#![allow(dead_code, reason = "each test file uses its own part")]

pub mod announcement;
pub mod machine;
pub mod protocol;
pub mod run;
pub mod server;
pub mod words;
