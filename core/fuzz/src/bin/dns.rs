// SPDX-License-Identifier: GPL-3.0-or-later
//! Fuzzes what comes from the network: an answer of a name server. No panic, and no more addresses than it has bytes for.
#![no_main]

use kmote_core::dns::{self, Kind, QUESTION};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    for (kind, size) in [(Kind::Four, 4), (Kind::Sixteen, 16)] {
        let mut asked = [0; QUESTION];
        let Some(length) = dns::question(0x1234, "parent.lan", kind, &mut asked) else { unreachable!() };
        let asked = &asked[..length];
        // As it came, and behind the head of an answer to this question, which few inputs would hit upon.
        let mut fitting = asked.to_vec();
        fitting[2] |= 0x80;
        fitting[7] = data.first().copied().unwrap_or(0);
        fitting.extend(data);
        for answer in [data, &fitting] {
            let found = dns::answer(answer, asked, kind).map_or(0, |found| found.count());
            assert!(found * (10 + size) <= answer.len());
        }
    }
    if let Ok(text) = std::str::from_utf8(data) {
        assert!(dns::hosts(text, "parent").count() <= text.lines().count());
        let _ = dns::configured(text, "nameserver").count();
    }
});
