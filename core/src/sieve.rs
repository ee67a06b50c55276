// SPDX-License-Identifier: GPL-3.0-or-later
//! Most of the names that are not wanted, told at a glance: the kernel's lists have a hundred thousand, and comparing
//! each with those that are wanted is most of the work of reading them.

/// A bit for each wanted name, which a few others share.
#[derive(Debug)]
pub struct Sieve {
    bits: [u64; 64],
    filled: bool,
}

impl Default for Sieve {
    fn default() -> Self {
        Self { bits: [0; 64], filled: false }
    }
}

impl Sieve {
    /// The place of `name` in `wanted`, which is sorted and always the same.
    pub fn find(&mut self, wanted: &[&str], name: &[u8]) -> Option<usize> {
        if !self.filled {
            self.fill(wanted);
        }
        let (word, bit) = place(name);
        if self.bits[word] & bit == 0 {
            return None;
        }
        wanted.binary_search_by(|want| want.as_bytes().cmp(name)).ok()
    }

    fn fill(&mut self, wanted: &[&str]) {
        for want in wanted {
            let (word, bit) = place(want.as_bytes());
            self.bits[word] |= bit;
        }
        self.filled = true;
    }
}

/// A name's word and bit, by its length and three of its bytes, well mixed.
fn place(name: &[u8]) -> (usize, u64) {
    let byte = |at: usize| name.get(at).map_or(0, |byte| u32::from(*byte));
    let length = name.len();
    let key = length as u32
        | byte(length.wrapping_sub(1)) << 8
        | byte(length.wrapping_sub(3)) << 16
        | byte(length / 2) << 24;
    let mixed = key.wrapping_mul(0x9e37_79b1) >> 20;
    ((mixed >> 6) as usize & 63, 1 << (mixed & 63))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook::Hook;
    use crate::modules::MODULES;

    #[test]
    fn every_wanted_name_is_found_and_no_other() {
        let probes = MODULES.iter().flat_map(|module| module.probes);
        let hooks = probes.flat_map(|probe| probe.hooks).flat_map(Hook::places);
        let mut wanted: Vec<_> = hooks.filter_map(|hook| hook.function()).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let mut sieve = Sieve::default();
        for (place, name) in wanted.iter().enumerate() {
            assert_eq!(sieve.find(&wanted, name.as_bytes()), Some(place));
        }
        for other in ["", "a", "vfs_rea", "vfs_readd", "zzz", "\u{ff}"] {
            assert_eq!(sieve.find(&wanted, other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn most_names_that_are_not_wanted_are_told_at_a_glance() {
        let wanted: Vec<String> = (100..500).map(|nr| format!("wanted_{nr}")).collect();
        let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
        let mut sieve = Sieve::default();
        sieve.fill(&wanted);
        let others = (0..10_000).map(|nr| format!("other_function_{}", nr * nr));
        let passed = others.filter(|name| {
            let (word, bit) = place(name.as_bytes());
            sieve.bits[word] & bit != 0
        });
        assert!(passed.count() < 1500);
    }
}
