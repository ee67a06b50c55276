// SPDX-License-Identifier: GPL-3.0-or-later
//! The command-line side of kmote: arguments, the tick, Netdata's protocol, and reports for people.

pub mod apps;
pub mod args;
pub mod breaker;
pub mod check;
pub mod collector;
pub mod coming;
pub mod config;
pub mod exposition;
pub mod lifeline;
pub mod manual;
pub mod names;
pub mod number;
pub mod options;
pub mod output;
pub mod own;
pub mod plugin;
pub mod protocol;
pub mod report;
pub mod rows;
pub mod safety;
pub mod sink;
pub mod slots;
pub mod stream;
pub mod top;
pub mod view;
