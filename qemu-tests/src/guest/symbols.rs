// SPDX-License-Identifier: GPL-3.0-or-later
//! The kernel's list of symbols, cut down to what kmote looks for in it.
//!
//! Reading the whole list is nine tenths of a start of kmote, and a guest starts it a hundred times. So it reads the list
//! once, and lays what is wanted of it over the file. Whoever changes what is in the list takes that away first.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};

use kmote_core::hook::Hook;
use kmote_core::modules::MODULES;

use super::sys;

const LIST: &str = "/proc/kallsyms";
const KEPT: &str = "/tmp/kallsyms";

/// Lays the short list over the long one, if it does not lie there yet.
pub fn keep() {
    if fs::exists(KEPT).unwrap() {
        return;
    }
    let probes = MODULES.iter().flat_map(|module| module.probes);
    let places = probes.flat_map(|probe| probe.hooks).flat_map(Hook::places);
    let wanted: BTreeSet<_> = places.filter_map(|place| place.function()).map(str::as_bytes).collect();
    let (mut list, mut line, mut kept) =
        (BufReader::new(File::open(LIST).unwrap()), Vec::new(), String::new());
    while list.read_until(b'\n', &mut line).unwrap() > 0 {
        let name = line.split(|byte| byte.is_ascii_whitespace()).nth(2).unwrap_or_default();
        if wanted.contains(name) {
            let _ = write!(kept, "{}", String::from_utf8_lossy(&line));
        }
        line.clear();
    }
    fs::write(KEPT, kept).unwrap();
    sys::bind(KEPT, LIST).unwrap();
}

/// Shows the long list again.
pub fn release() {
    if fs::remove_file(KEPT).is_ok() {
        sys::unmount(LIST).unwrap();
    }
}
