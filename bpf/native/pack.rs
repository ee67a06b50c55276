// SPDX-License-Identifier: GPL-3.0-or-later
//! Packs an object for the binary; `src/packed.rs` has the format, and takes it apart.

use std::collections::HashMap;

const SHORTEST: usize = 4;
const LONGEST: usize = 130;
const FARTHEST: usize = 0xffff;

/// Packs bytes: at each place the longest run that occurred before, else a byte as it is.
pub fn pack(bytes: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    let mut seen: HashMap<&[u8], Vec<usize>> = HashMap::new();
    let (mut plain, mut at) = (0, 0);
    while at < bytes.len() {
        let (length, distance) = longest_run(bytes, at, &seen);
        let step = if length < SHORTEST { 1 } else { length };
        if step > 1 {
            put_plain(&mut packed, &bytes[plain..at]);
            packed.push((length + 0x80 - 3) as u8);
            packed.extend((distance as u16).to_le_bytes());
            plain = at + length;
        }
        for place in at..at + step {
            if let Some(key) = bytes.get(place..place + SHORTEST) {
                seen.entry(key).or_default().push(place);
            }
        }
        at += step;
    }
    put_plain(&mut packed, &bytes[plain..]);
    packed
}

/// The length of the longest earlier run that continues like `at`, and how far back it begins.
fn longest_run(bytes: &[u8], at: usize, seen: &HashMap<&[u8], Vec<usize>>) -> (usize, usize) {
    let places = bytes.get(at..at + SHORTEST).and_then(|key| seen.get(key));
    let near = places.into_iter().flatten().rev().take_while(|place| at - **place <= FARTHEST);
    let equal = |place: usize| {
        bytes[place..].iter().zip(&bytes[at..]).take(LONGEST).take_while(|(a, b)| a == b).count()
    };
    // Of runs that are equally long the nearest, which comes first.
    near.fold((0, 0), |best, place| {
        let length = equal(*place);
        if length > best.0 { (length, at - place) } else { best }
    })
}

fn put_plain(packed: &mut Vec<u8>, bytes: &[u8]) {
    for part in bytes.chunks(0x80) {
        packed.push((part.len() - 1) as u8);
        packed.extend(part);
    }
}
