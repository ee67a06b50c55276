// SPDX-License-Identifier: GPL-3.0-or-later
//! How much kernel memory a map takes, planned before it is taken.

/// A page of kernel memory, in bytes, on all architectures that kmote is built for by default.
const PAGE: u64 = 4096;

/// Bytes of kernel memory for a per-CPU array of one value of `slots` counters on `cpus` possible CPUs.
///
/// One value of whole 8-byte words a CPU, and the map itself, a structure of under a page
/// (`array_map_alloc` in kernel/bpf/arraymap.c), rounded up to whole pages.
pub const fn percpu_array(slots: usize, cpus: usize) -> u64 {
    let values = slots as u64 * 8 * cpus as u64;
    PAGE + values.div_ceil(PAGE) * PAGE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_module_takes_two_pages_and_256_cpus_do_not_make_it_big() {
        for (slots, cpus, bytes) in [(6, 2, 8192), (4, 1, 8192), (6, 256, 16384), (96, 256, 200_704)] {
            assert_eq!(percpu_array(slots, cpus), bytes, "{slots} slots on {cpus} CPUs");
        }
    }
}
