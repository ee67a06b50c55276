// SPDX-License-Identifier: GPL-3.0-or-later
//! The pure part of kmote: numbers, names and choices, over fixed arrays.
//!
//! Nothing here allocates, fails or touches the system: the functions are total, and each is tested
//! with literal tables. What a file descriptor, a BPF map or Netdata's grammar is, is not known here.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod apps;
pub mod breaker;
pub mod btf;
pub mod chart;
pub mod config;
pub mod cpu_list;
pub mod delta;
pub mod deny;
pub mod dns;
pub mod format;
pub mod histogram;
pub mod home;
pub mod hook;
pub mod interrupts;
pub mod kallsyms;
pub mod memory;
pub mod module;
pub mod modules;
pub mod percpu;
pub mod plan;
pub mod ratio;
pub mod share;
pub mod sieve;
pub mod state;
pub mod table;
pub mod throttle;
pub mod tick;
