// SPDX-License-Identifier: GPL-3.0-or-later
//! An object as it lies in the binary: packed, to less than a third.
//!
//! A byte below 0x80 says that as many bytes and one more follow as they are. A byte from 0x80 on stands for a run of as
//! many bytes more than 3 that occurred before; the two bytes after it, the lower first, say how far back it begins.

/// A packed object.
#[derive(Debug)]
pub struct Packed {
    /// How many bytes it has when unpacked.
    pub length: usize,
    /// What the build script packed.
    pub bytes: &'static [u8],
}

impl Packed {
    /// The object's ELF bytes.
    pub fn unpack(&self) -> Vec<u8> {
        let mut object = Vec::with_capacity(self.length);
        let mut rest = self.bytes;
        while let Some((&control, after)) = rest.split_first() {
            rest = match (control, after) {
                (..0x80, after) => {
                    let (plain, after) = after.split_at(after.len().min(usize::from(control) + 1));
                    object.extend_from_slice(plain);
                    after
                }
                (0x80.., [low, high, after @ ..]) => {
                    let distance = usize::from(u16::from_le_bytes([*low, *high]));
                    repeat(&mut object, distance, usize::from(control) + 3 - 0x80);
                    after
                }
                (0x80.., _) => &[],
            };
        }
        object
    }
}

/// Appends what begins `distance` bytes before the end, which may run on into what is being appended.
fn repeat(object: &mut Vec<u8>, distance: usize, length: usize) {
    let begin = object.len().saturating_sub(distance);
    for place in begin..begin + length {
        let byte = object.get(place).copied().unwrap_or_default();
        object.push(byte);
    }
}

#[cfg(test)]
#[path = "../native/pack.rs"]
mod pack;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packed::pack::pack;

    fn packed(bytes: &[u8]) -> Packed {
        Packed { length: bytes.len(), bytes: pack(bytes).leak() }
    }

    #[test]
    fn comes_back_as_it_was() {
        let far: Vec<u8> = (0..100_000_u32).flat_map(|n| (n % 70_000).to_le_bytes()).collect();
        for bytes in [&b""[..], b"a", b"abcabcabcabc", &[0; 1000], &[7; 131], &far] {
            assert_eq!(packed(bytes).unpack(), bytes);
        }
    }

    #[test]
    fn is_smaller() {
        assert_eq!(packed(&[0; 1000]).bytes.len(), 2 + 7 * 3 + 3);
        assert_eq!(packed(b"abcdabcdabcd").bytes, [&[3][..], b"abcd", &[0x80 + 8 - 3, 4, 0]].concat());
    }

    #[test]
    fn broken_bytes_end_it() {
        for bytes in [&[5, 1][..], &[0x80], &[0x80, 1], &[0x80, 1, 0]] {
            assert!(Packed { length: 9, bytes }.unpack().len() <= 3);
        }
    }
}
