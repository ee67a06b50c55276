// SPDX-License-Identifier: GPL-3.0-or-later
//! What a process takes, as the kernel tells of it.

use std::collections::BTreeMap;
use std::fs;

use super::bpf::Map;

/// Nanoseconds that all threads of a process have run, in user space and in the kernel.
pub fn cpu_time(pid: u32) -> u64 {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let texts = tasks.map(|task| fs::read_to_string(task.path().join("schedstat")).unwrap());
    texts.map(|text| text.split_whitespace().next().unwrap().parse::<u64>().unwrap()).sum()
}

/// A process's own memory, in kilobytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// `VmHWM`
    pub peak: u64,
    /// `VmRSS`
    pub resident: u64,
}

impl Memory {
    pub fn of(pid: u32) -> Self {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let kilobytes = |key| {
            let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap();
            line.split_whitespace().next().unwrap().parse().unwrap()
        };
        Self { peak: kilobytes("VmHWM:"), resident: kilobytes("VmRSS:") }
    }
}

/// Bytes of the maps and of the programs that a process holds, as the kernel counts them.
pub fn kernel_memory(pid: u32) -> (u64, u64) {
    let (mut maps, mut programs) = (BTreeMap::new(), BTreeMap::new());
    for text in held(pid) {
        let Some(bytes) = field(&text, "memlock:") else { continue };
        match (field(&text, "map_id:"), field(&text, "prog_id:")) {
            (Some(id), None) => maps.insert(id, bytes),
            (_, Some(id)) => programs.insert(id, bytes),
            // Before v5.6 the ids are not told.
            (None, None) => maps.insert(1 << 32 | maps.len() as u64, bytes),
        };
    }
    (maps.values().sum(), programs.values().sum())
}

/// The map of this name that a process holds.
pub fn map(pid: u32, name: &str) -> Option<Map> {
    let ids = held(pid).into_iter().filter_map(|text| field(&text, "map_id:"));
    ids.filter_map(|id| Map::of(id as u32).ok()).find(|map| map.name == name)
}

/// What the kernel tells of each file that a process has open.
fn held(pid: u32) -> Vec<String> {
    let entries = fs::read_dir(format!("/proc/{pid}/fdinfo")).unwrap().flatten();
    entries.filter_map(|entry| fs::read_to_string(entry.path()).ok()).collect()
}

fn field(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(key)).and_then(|value| value.trim().parse().ok())
}
