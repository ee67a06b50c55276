// SPDX-License-Identifier: GPL-3.0-or-later
//! Attribution: whose work was it.

pub mod account;
pub mod cgroup;
pub mod entry;
pub mod groups;
pub mod known;
pub mod ledger;
pub mod life;
pub mod old;
pub mod pattern;
pub mod stat;
