// SPDX-License-Identifier: GPL-3.0-or-later
//! An entry of the kernel's table of processes, as 64-bit words.

use super::pattern::NAME;
use crate::share::HEADER;

/// What stands before the counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The process that began it; 0 when that was not seen.
    pub parent: u32,
    /// The id of its cgroup; 0 where cgroups have none.
    pub cgroup: u64,
    /// Whether it has ended.
    pub ended: bool,
    /// Its name, as the kernel wrote it.
    pub name: Name,
}

/// A process's name: up to 15 bytes, then a zero. What follows that is left over from others, but for the last byte: in an
/// entry it says whether the process has ended, and here it is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Name(pub(super) [u64; 2]);

impl Name {
    /// The bytes of the name.
    pub fn bytes(&self, into: &mut [u8; 16]) -> usize {
        let (low, high) = into.split_at_mut(8);
        low.copy_from_slice(&self.0[0].to_ne_bytes());
        high.copy_from_slice(&self.0[1].to_ne_bytes());
        into.iter().position(|byte| *byte == 0).unwrap_or(NAME).min(NAME)
    }
}

impl Header {
    /// The words of an entry, and the counters that follow.
    pub fn parse(entry: &[u64]) -> Option<(Self, &[u64])> {
        let (header, counters) = entry.split_at_checked(HEADER)?;
        let [head, cgroup, first, second] = header.try_into().ok()?;
        // Two 32-bit numbers, in the order in which they lie in memory.
        let head: [[u8; 4]; 2] =
            [head.to_ne_bytes().first_chunk().copied()?, head.to_ne_bytes().last_chunk().copied()?];
        let [parent, _] = head.map(u32::from_ne_bytes);
        let mut last = second.to_ne_bytes();
        let ended = last.last_mut().map(core::mem::take).unwrap_or_default() != 0;
        Some((Self { parent, cgroup, ended, name: Name([first, u64::from_ne_bytes(last)]) }, counters))
    }
}

/// Words of a header, for tests of what reads it.
#[cfg(test)]
pub(super) fn words(parent: u32, cgroup: u64, ended: bool, name: &[u8]) -> [u64; HEADER] {
    let mut text = [0; 16];
    text[..name.len()].copy_from_slice(name);
    text[NAME] = u8::from(ended);
    let word = |at: usize| u64::from_ne_bytes(text[at..at + 8].try_into().unwrap());
    let [a, b, c, d] = parent.to_ne_bytes();
    // The round in which it was marked is nobody's business here.
    let [e, f, g, h] = 7u32.to_ne_bytes();
    [u64::from_ne_bytes([a, b, c, d, e, f, g, h]), cgroup, word(0), word(8)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name_of(words: &[u64]) -> Vec<u8> {
        let mut bytes = [0; 16];
        let length = Header::parse(words).unwrap().0.name.bytes(&mut bytes);
        bytes[..length].to_vec()
    }

    #[test]
    fn names_end_at_the_first_zero_or_after_fifteen_bytes() {
        for (written, name) in [
            (&b"nginx"[..], &b"nginx"[..]),
            (b"sh\0cd/x/y", b"sh"),
            (b"systemd-journal", b"systemd-journal"),
            (b"a b) (c", b"a b) (c"),
            (b"\xff\xfe\x01", b"\xff\xfe\x01"),
            (b"", b""),
        ] {
            assert_eq!(name_of(&words(1, 0, false, written)), name);
        }
    }

    #[test]
    fn a_header_and_its_counters() {
        let mut entry = words(7, 1 << 40, true, b"x").to_vec();
        entry.extend([3, 4]);
        let (header, counters) = Header::parse(&entry).unwrap();
        assert_eq!((header.parent, header.cgroup, header.ended, counters), (7, 1 << 40, true, &[3, 4][..]));
        assert_eq!(Header::parse(&entry[..3]), None);
    }
}
