// SPDX-License-Identifier: GPL-3.0-or-later
//! Attribution: whose work was it.

pub mod entry;
pub mod groups;
pub mod life;
pub mod pattern;
pub mod stat;
