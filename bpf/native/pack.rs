// SPDX-License-Identifier: GPL-3.0-or-later
//! Packs the objects for the binary; `src/packed.rs` has the format, and takes them apart.

use std::collections::HashMap;

/// Of the places where the same bytes stood before, so many are tried, the latest first.
const TRIED: usize = 48;
/// How many bytes are looked up: the longer find what is equal far away, the shorter what is equal at all.
const KEYS: [usize; 2] = [16, 4];

/// A run that occurred before: its length, and how far back it begins.
#[derive(Clone, Copy, Default)]
struct Run {
    length: usize,
    distance: usize,
}

/// Packs bytes: at each place the run that saves most, else a byte as it is.
pub fn pack(bytes: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    let mut seen: HashMap<&[u8], Vec<usize>> = HashMap::new();
    let (mut plain, mut at, mut last) = (0, 0, 1);
    while at < bytes.len() {
        let run = best_run(bytes, at, last, &seen);
        let step = if saved(run, last) > 0 { run.length } else { 1 };
        if step > 1 {
            put_plain(&mut packed, &bytes[plain..at]);
            put_run(&mut packed, run, last);
            (plain, last) = (at + step, run.distance);
        }
        for place in at..at + step {
            for key in KEYS.iter().filter_map(|length| bytes.get(place..place + length)) {
                seen.entry(key).or_default().push(place);
            }
        }
        at += step;
    }
    put_plain(&mut packed, &bytes[plain..]);
    packed
}

fn best_run(bytes: &[u8], at: usize, last: usize, seen: &HashMap<&[u8], Vec<usize>>) -> Run {
    let keys = KEYS.iter().filter_map(|length| bytes.get(at..at + length));
    let places = keys.filter_map(|key| seen.get(key)).flat_map(|places| places.iter().rev().take(TRIED));
    let again = at.checked_sub(last);
    let run = |place: usize| {
        let equal = bytes[place..].iter().zip(&bytes[at..]).take_while(|(a, b)| a == b);
        Run { length: equal.count(), distance: at - place }
    };
    let runs = again.into_iter().chain(places.copied()).map(run);
    runs.fold(Run::default(), |best, one| if saved(one, last) > saved(best, last) { one } else { best })
}

/// By how many bytes a run is shorter than what it stands for.
fn saved(run: Run, last: usize) -> isize {
    let mut packed = Vec::new();
    put_run(&mut packed, run, last);
    if run.length < 3 { 0 } else { run.length as isize - packed.len() as isize }
}

fn put_run(packed: &mut Vec<u8>, run: Run, last: usize) {
    let (length, same) = (run.length.saturating_sub(3), run.distance == last);
    packed.push(0x80 | if same { 0x40 } else { 0 } | length.min(0x3f) as u8);
    if length >= 0x3f {
        put_number(packed, length - 0x3f);
    }
    if !same {
        put_number(packed, run.distance);
    }
}

fn put_number(packed: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        packed.push(number as u8 | 0x80);
        number >>= 7;
    }
    packed.push(number as u8);
}

fn put_plain(packed: &mut Vec<u8>, bytes: &[u8]) {
    for part in bytes.chunks(0x80) {
        packed.push((part.len() - 1) as u8);
        packed.extend(part);
    }
}
