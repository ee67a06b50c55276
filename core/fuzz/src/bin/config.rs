// SPDX-License-Identifier: GPL-3.0-or-later
//! Fuzzes the readers of configuration and of the breaker's record: no panic, parts that lie in the text, and a record that
//! reads as what was written.
#![no_main]

use kmote_core::breaker::Record;
use kmote_core::config::{self, Line};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    for line in data.split(|byte| *byte == b'\n') {
        match config::line(line) {
            Line::Nothing => {}
            Line::Section(name) => assert!(!name.is_empty()),
            Line::Entry { key, value } => {
                assert!(!key.is_empty() && key.len() + value.len() < line.len());
                let _ = (config::boolean(value), config::number(value, 1, 86_400));
            }
            Line::Malformed(_, column) => assert!((1..=line.len() + 1).contains(&column)),
        }
    }
    if let Some(record) = Record::parse(data) {
        assert_eq!(Record::parse(record.to_string().as_bytes()), Some(record));
    }
    let (_, record) = Record::judge(Record::parse(data), "boot", "release");
    assert_eq!(Record::parse(record.to_string().as_bytes()), Some(record));
});
