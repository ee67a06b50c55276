// SPDX-License-Identifier: GPL-3.0-or-later
//! The sweep of what never ends, on a map of the kernel: run as root, on a kernel with BPF.
#![allow(unsafe_code, clippy::unwrap_used, clippy::panic)]

use kmote_bpf::starts::Starts;
use kmote_bpf::sys;
use libbpf_sys as raw;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

fn hash_map(entries: u32) -> OwnedFd {
    // SAFETY: a C string, null options; the descriptor that comes of it is nobody else's.
    unsafe {
        let fd =
            raw::bpf_map_create(raw::BPF_MAP_TYPE_HASH, c"starts".as_ptr(), 8, 8, entries, std::ptr::null());
        assert!(fd >= 0, "map: {fd}");
        OwnedFd::from_raw_fd(fd)
    }
}

fn put(map: &OwnedFd, key: u64, value: u64) {
    // SAFETY: key and value live through the call and have the sizes of the map's.
    let result = unsafe {
        raw::bpf_map_update_elem(map.as_raw_fd(), (&raw const key).cast(), (&raw const value).cast(), 0)
    };
    assert_eq!(result, 0);
}

#[test]
fn what_began_too_long_ago_is_swept_out_of_a_full_map() {
    const ENTRIES: u64 = 64;
    let map = hash_map(ENTRIES as u32);
    let (now, second) = (sys::monotonic(), 1_000_000_000);
    // The odd ones began a minute ago, and 0 before the machine did.
    for key in 0..ENTRIES {
        put(&map, key, if key % 2 == 1 { now - 60 * second } else { now });
    }
    put(&map, 0, 0);
    let starts = Starts::new(map.try_clone().unwrap(), ENTRIES as usize);
    let left =
        |map: &OwnedFd| (0..ENTRIES).filter(|key| sys::look_up(map.as_fd(), *key, &mut [0]).is_ok()).count();
    starts.sweep(Duration::from_secs(3600));
    assert_eq!(left(&map), if now > 3600 * second { 63 } else { 64 });
    starts.sweep(Duration::from_secs(30));
    assert_eq!(left(&map), 31);
    assert!(
        (0..ENTRIES).all(|key| sys::look_up(map.as_fd(), key, &mut [0]).is_ok() == (key % 2 == 0 && key > 0))
    );
}
