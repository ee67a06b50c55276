// SPDX-License-Identifier: GPL-3.0-or-later
//! The command-line side of kmote: arguments, the tick, Netdata's protocol, and reports for people.

pub mod args;
pub mod check;
pub mod collector;
pub mod lifeline;
pub mod names;
pub mod output;
pub mod plugin;
pub mod protocol;
pub mod report;
pub mod rows;
pub mod slots;
