// SPDX-License-Identifier: GPL-3.0-or-later
//! The charts of applications as Netdata had them before 1.44: one for each number, with a dimension for each group.

use crate::share::Share;

/// A module's charts: its family, and the priority of its first number's; the others follow.
const MODULES: &[(&str, &str, u32)] = &[
    ("process", "process (eBPF)", 20065),
    ("fd", "file (eBPF)", 20061),
    ("cachestat", "page cache (eBPF)", 20090),
    ("dcstat", "directory cache (eBPF)", 20100),
    ("swap", "swap (eBPF)", 20191),
    ("shm", "ipc shm (eBPF)", 20191),
    ("socket", "net (eBPF)", 20080),
    ("vfs", "vfs (eBPF)", 20065),
    ("oomkill", "mem (eBPF)", 20020),
];

/// The family of a module's charts, and the priority of the first.
pub fn module(name: &str) -> (&'static str, u32) {
    MODULES
        .iter()
        .find(|(module, ..)| *module == name)
        .map_or(("", 20000), |(_, family, first)| (*family, *first))
}

/// What follows `apps.` in the id of the chart of a share's number `nth`: the same as follows a container's name, but for
/// these.
pub fn id(share: &Share, nth: usize) -> &'static str {
    match (share.cgroup.id, nth) {
        ("_ebpf_oomkill", _) => "oomkills",
        ("total_bandwidth", 0) => "total_bandwidth_recv",
        ("total_bandwidth", _) => "total_bandwidth_sent",
        (id, _) => id,
    }
}

/// How it is drawn.
pub fn kind(share: &Share) -> &'static str {
    if share.units == "%" { "line" } else { "stacked" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::MODULES as ROWS;

    #[test]
    fn every_number_has_a_chart_with_an_id_of_its_own() {
        let (mut seen, mut all) = (Vec::new(), Vec::new());
        for row in ROWS.iter().filter(|row| !row.shares.is_empty()) {
            let (family, first) = module(row.name);
            assert_ne!(family, "", "{}", row.name);
            let numbers =
                row.shares.iter().flat_map(|share| (0..share.values.len()).map(move |nth| (share, nth)));
            for (place, (share, nth)) in numbers.enumerate() {
                all.push(id(share, nth));
                seen.push((id(share, nth), kind(share), first + place as u32));
            }
        }
        for expected in [
            ("process_create", "stacked", 20065),
            ("task_close", "stacked", 20068),
            ("file_closed", "stacked", 20063),
            ("cachestat_ratio", "line", 20090),
            ("cachestat_misses", "stacked", 20093),
            ("dc_hit_ratio", "line", 20100),
            ("dc_not_found", "stacked", 20103),
            ("swap_write_call", "stacked", 20192),
            ("shmctl_call", "stacked", 20194),
            ("total_bandwidth_recv", "stacked", 20082),
            ("file_deleted", "stacked", 20065),
            ("vfs_create_error", "stacked", 20077),
            ("oomkills", "stacked", 20020),
        ] {
            assert!(seen.contains(&expected), "{expected:?} of {seen:?}");
        }
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
