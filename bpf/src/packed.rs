// SPDX-License-Identifier: GPL-3.0-or-later
//! The objects as they lie in the binary: packed into one, since they have much in common, to less than a tenth.
//!
//! A byte below 0x80 says that as many bytes and one more follow as they are. A byte from 0x80 on stands for a run of
//! bytes that occurred before. Its low six bits are how many more than 3 it has; if all are set, a number follows that
//! is added. Then, unless its bit 0x40 is set, a number follows that says how far back the run begins; else it begins
//! as far back as the last one. Numbers have seven bits a byte, the lowest first, and 0x80 in all bytes but the last.

/// The first `length` of the bytes that were packed.
pub fn unpack(packed: &[u8], length: usize) -> Vec<u8> {
    let (mut bytes, mut rest, mut distance) = (Vec::with_capacity(length), packed, 1);
    while let Some((&control, after)) = rest.split_first().filter(|_| bytes.len() < length) {
        rest = after;
        if control < 0x80 {
            let (plain, after) = rest.split_at(rest.len().min(usize::from(control) + 1));
            bytes.extend_from_slice(plain);
            rest = after;
            continue;
        }
        let few = usize::from(control & 0x3f);
        let more = if few == 0x3f { number(&mut rest) } else { 0 };
        if control & 0x40 == 0 {
            distance = number(&mut rest);
        }
        let room = length.saturating_sub(bytes.len());
        repeat(&mut bytes, distance, more.saturating_add(few + 3).min(room));
    }
    bytes.truncate(length);
    bytes
}

fn number(rest: &mut &[u8]) -> usize {
    let (mut number, mut shift) = (0, 0);
    while let Some((&byte, after)) = rest.split_first() {
        *rest = after;
        number |= usize::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
        shift += 7;
        if byte < 0x80 {
            break;
        }
    }
    number
}

/// Appends what begins `distance` bytes before the end, which may run on into what is being appended.
fn repeat(bytes: &mut Vec<u8>, distance: usize, length: usize) {
    let begin = bytes.len().saturating_sub(distance);
    for place in begin..begin + length {
        let byte = bytes.get(place).copied().unwrap_or_default();
        bytes.push(byte);
    }
}

#[cfg(test)]
#[path = "../native/pack.rs"]
mod pack;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packed::pack::pack;

    #[test]
    fn comes_back_as_it_was() {
        let far: Vec<u8> = (0..100_000_u32).flat_map(|n| (n % 70_000).to_le_bytes()).collect();
        for bytes in [&b""[..], b"a", b"abcabcabcabc", &[0; 1000], &[7; 131], &far] {
            assert_eq!(unpack(&pack(bytes), bytes.len()), bytes);
            assert_eq!(unpack(&pack(bytes), bytes.len() / 3), bytes[..bytes.len() / 3]);
        }
    }

    #[test]
    fn is_smaller() {
        assert_eq!(pack(&[0; 66]), [0, 0, 0xc0 | 62]);
        assert_eq!(pack(&[0; 67]), [0, 0, 0xff, 0]);
        assert_eq!(pack(b"abcdabcdabcd"), [&[3][..], b"abcd", &[0x80 | 5, 4]].concat());
    }

    #[test]
    fn broken_bytes_end_it() {
        for bytes in [&[5, 1][..], &[0x80], &[0x80, 1], &[0xbf, 0xff, 0xff], &[0xff; 30]] {
            assert!(unpack(bytes, 9).len() <= 9);
        }
    }
}
