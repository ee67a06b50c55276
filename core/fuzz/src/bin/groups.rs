// SPDX-License-Identifier: GPL-3.0-or-later
//! Fuzzes the readers of processes: the groups file, /proc/<pid>/stat and cgroup, and an entry of the kernel's table.
#![no_main]

use kmote_core::apps::entry::Header;
use kmote_core::apps::groups::{Groups, MAX_GROUPS, Standing};
use kmote_core::apps::{cgroup, stat};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let (subject, file) = data.split_at(data.len().min(16));
    let groups = Box::new(Groups::parse(file));
    assert!((1..=MAX_GROUPS).contains(&groups.count()));
    for line in [None, Some(subject)] {
        if let Standing::Member(group) = groups.standing(subject, || line) {
            assert!(usize::from(group) < groups.count());
        }
    }
    if let Some(stat) = stat::parse(data) {
        assert!(stat.name.len() < data.len());
    }
    if let Some(path) = cgroup::path(data) {
        let _ = cgroup::named(path);
    }
    if let Some(named) = cgroup::named(data) {
        assert!(named.name.len() <= data.len());
    }
    let words: Vec<u64> =
        data.chunks_exact(8).map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap_or_default())).collect();
    if let Some((header, _)) = Header::parse(&words) {
        assert!(header.name.bytes(&mut [0; 16]) <= 15);
    }
});
