// SPDX-License-Identifier: GPL-3.0-or-later
//! How much kernel memory a map takes, planned before it is taken.

use crate::hook::Member;

/// Bytes of a map's own structure, as 6.18 on x86-64 accounts them (`memlock` in `/proc/PID/fdinfo`): of an array, and
/// of a hash map. Others are as large, give or take a hundred bytes; before 5.11 whole pages are charged.
const ARRAY: u64 = 320;
const HASH: u64 = 912;

/// Bytes of kernel memory for a per-CPU array of one value of `slots` counters on `cpus` possible CPUs.
///
/// One value of whole 8-byte words a CPU, and the map itself (`array_map_mem_usage` in kernel/bpf/arraymap.c).
pub const fn percpu_array(slots: usize, cpus: usize) -> u64 {
    ARRAY + slots as u64 * 8 * cpus as u64
}

/// Bytes of kernel memory for a preallocated hash map of `entries`, each of `words` 64-bit words of key and value.
///
/// An element has a header of 48 bytes, each CPU has one to spare, and the buckets, 16 bytes each, are as many as the
/// next power of two (`htab_map_alloc` in kernel/bpf/hashtab.c).
pub const fn hash(words: usize, entries: usize, cpus: usize) -> u64 {
    let elements = (entries + cpus) as u64 * (48 + 8 * words as u64);
    let buckets = entries.next_power_of_two() as u64 * 16;
    HASH + elements + buckets
}

/// How many of so many processes can be marked as changed from one read to the next; when more are, all are read.
pub const fn marked(processes: usize) -> usize {
    let quarter = processes / 4;
    if quarter < 64 { 64 } else { quarter }
}

/// Bytes of kernel memory for a table of so many processes, each of `words` 64-bit words with its id: the entries, those
/// that are marked, and the numbers of the reads.
pub const fn processes(words: usize, entries: usize, cpus: usize) -> u64 {
    hash(words, entries, cpus) + hash(2, marked(entries), cpus) + percpu_array(2, 1)
}

/// For how many processes, of so many words each, a table may have room, to take at most `budget` bytes.
pub const fn entries(budget: u64, words: usize, cpus: usize) -> usize {
    let (mut fits, mut too_many) = (0, 1 << 24);
    while too_many - fits > 1 {
        let middle = usize::midpoint(fits, too_many);
        if processes(words, middle, cpus) <= budget {
            fits = middle;
        } else {
            too_many = middle;
        }
    }
    fits
}

/// How many threads may be inside of a function whose return is hooked by kprobe; more are passed over.
pub const RETURNS: usize = 1024;

/// The fewest entries of a map that is made smaller, or of records of returns.
const FEWEST: usize = 16;

/// How many of `entries` there are when maps are smaller by so many powers of two.
pub const fn shrunk(entries: usize, shrink: u32) -> usize {
    let fewer = entries >> shrink;
    if fewer > FEWEST || fewer == entries { fewer } else { FEWEST }
}

/// Bytes of kernel memory for a hooked return: a record of at most 64 bytes for each (`struct kretprobe_instance`).
pub const fn return_hook(shrink: u32) -> u64 {
    shrunk(RETURNS, shrink) as u64 * 64
}

/// The name of a hash map that keeps by a 64-bit key when something began, in nanoseconds since boot. What never ends is
/// swept out of it.
pub const STARTS: &str = "starts";

/// A map in which a module's programs keep what they need from one event to the next; nobody else reads it.
#[derive(Clone, Copy, Debug)]
pub enum Keep {
    /// A structure a CPU.
    PerCpu {
        /// The map's name.
        map: &'static str,
        /// Its 64-bit words.
        words: usize,
    },
    /// A hash map, preallocated.
    Hash {
        /// The map's name.
        map: &'static str,
        /// 64-bit words of a key and of a value.
        words: (usize, usize),
        /// How many keys fit.
        entries: usize,
    },
    /// Where kernel structures have these members, in bytes, which the loader writes; all bits of what is not known.
    Members {
        /// The map's name.
        map: &'static str,
        /// The members, in the order of the C structure.
        members: &'static [Member],
    },
}

impl Keep {
    /// The members whose offsets it holds.
    pub const fn members(&self) -> &'static [Member] {
        match self {
            Self::Members { members, .. } => members,
            Self::PerCpu { .. } | Self::Hash { .. } => &[],
        }
    }

    /// Bytes of kernel memory for it, where maps are smaller by so many powers of two.
    pub const fn bytes(&self, cpus: usize, shrink: u32) -> u64 {
        match *self {
            Self::PerCpu { words, .. } => percpu_array(words, cpus),
            Self::Hash { words: (key, value), entries, .. } => {
                hash(key + value, shrunk(entries, shrink), cpus)
            }
            Self::Members { members, .. } => percpu_array(members.len(), 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_map_grows_by_its_entries_and_hardly_by_cpus() {
        for (words, entries, cpus, bytes) in [
            // As 6.18 on two CPUs accounts them.
            (2, 512, 2, 42_000),
            (25, 128, 2, 35_200),
            (2, 4096, 2, 328_720),
            (2, 512, 64, 45_968),
        ] {
            assert_eq!(hash(words, entries, cpus), bytes, "{words} words, {entries} entries, {cpus} CPUs");
        }
    }

    #[test]
    fn maps_shrink_to_a_least_size() {
        for (entries, shrink, expected) in [
            (4096, 0, 4096),
            (4096, 4, 256),
            (128, 3, 16),
            (64, 4, 16),
            (16, 1, 16),
            (8, 0, 8),
            (1024, 1, 512),
        ] {
            assert_eq!(shrunk(entries, shrink), expected, "{entries} >> {shrink}");
        }
        assert_eq!((return_hook(0), return_hook(4)), (65_536, 4096));
    }

    #[test]
    fn a_budget_holds_so_many_entries_and_not_one_more() {
        for (budget, words, cpus, expected) in
            [(4 << 20, 18, 2, 17_001), (4 << 20, 18, 256, 16_688), (4 << 20, 59, 64, 7_445), (0, 18, 2, 0)]
        {
            let entries = entries(budget, words, cpus);
            assert_eq!(entries, expected, "{budget} bytes, {words} words, {cpus} CPUs");
            assert!(entries == 0 || processes(words, entries, cpus) <= budget);
            assert!(processes(words, entries + 1, cpus) > budget);
        }
    }

    #[test]
    fn a_module_takes_half_a_kilobyte_and_256_cpus_do_not_make_it_big() {
        for (slots, cpus, bytes) in [(8, 2, 448), (10, 2, 480), (6, 256, 12_608), (96, 256, 196_928)] {
            assert_eq!(percpu_array(slots, cpus), bytes, "{slots} slots on {cpus} CPUs");
        }
    }
}
