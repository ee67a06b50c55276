// SPDX-License-Identifier: GPL-3.0-or-later
//! The exact bytes of each module for a script of reads: one golden file a module, which holds both.
//!
//! A line `read A B …` is a read of the module's slots, one second after the last; `lose SLOT …` takes slots away from
//! the next line on. `row KEY NAME A B …` is a row of the next read of its table, and `gone KEY` takes its meaning away.
//! The lines after it, up to the next of these, are what kmote writes then. `KMOTE_BLESS=1` writes
//! the files anew, for a person to look at.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use kmote_cli::names::Name;
use kmote_cli::output::Page;
use kmote_cli::protocol::{self, Numbers, Sent};
use kmote_cli::rows::Rows;
use kmote_core::chart::Mode;
use kmote_core::module::{Module, Slots};
use kmote_core::modules::MODULES;
use std::fs;
use std::path::PathBuf;

/// A module on a kernel that is made of the lines of a script.
struct Scripted {
    module: &'static Module,
    mode: Mode,
    live: Slots,
    state: Numbers,
    rows: Option<Rows>,
    /// The rows of the next read: names and counters of each key.
    next: Vec<(u64, String, Vec<u64>)>,
    sent: Vec<u64>,
    now: u64,
}

impl Scripted {
    fn new(module: &'static Module) -> Self {
        let live = (0..module.slots.len()).fold(Slots::default(), Slots::with);
        let sent = vec![0; module.charts.len()];
        let rows = module.table.as_ref().map(Rows::new);
        Self {
            module,
            mode: Mode::Entry,
            live,
            state: protocol::state(module),
            rows,
            next: Vec::new(),
            sent,
            now: 0,
        }
    }

    /// What is written because of a line of the script.
    fn answer(&mut self, line: &str) -> String {
        let mut words = line.split(' ');
        let (command, rest): (_, Vec<_>) = (words.next().unwrap(), words.collect());
        let mut out = Page::default();
        match command {
            "announce" => {
                self.mode = if rest.contains(&"return") { Mode::Return } else { Mode::Entry };
                self.sent_as().announce(&mut out, 1).unwrap();
            }
            "lose" => {
                let lost: Vec<_> = rest.iter().map(|name| self.slot(name)).collect();
                let kept = (0..self.module.slots.len())
                    .filter(|slot| self.live.contains(*slot) && !lost.contains(slot));
                self.live = kept.fold(Slots::default(), Slots::with);
            }
            "read" => {
                let read: Vec<u64> = rest.iter().map(|number| number.parse().unwrap()).collect();
                assert_eq!(read.len(), self.module.slots.len(), "{line}: one number a slot");
                self.now += 1_000_000;
                self.state.advance(self.module, &read);
                self.read_rows();
                let (sent, rows) = (self.sent_as(), self.rows.as_mut());
                sent.values(&mut out, &self.state, self.now, &mut self.sent, rows).unwrap();
            }
            "row" => {
                let numbers = rest[2..].iter().map(|number| number.parse().unwrap()).collect();
                self.next.push((rest[0].parse().unwrap(), rest[1].to_owned(), numbers));
            }
            "gone" => self.patrol(rest[0].parse().unwrap()),
            other => panic!("{other}: no such command"),
        }
        out.text().to_owned()
    }

    /// Takes what `row` lines have gathered.
    fn read_rows(&mut self) {
        let Some(rows) = &mut self.rows else { return assert!(self.next.is_empty(), "rows without a table") };
        let next = std::mem::take(&mut self.next);
        let keys: Vec<u64> = next.iter().map(|(key, ..)| *key).collect();
        let values: Vec<u64> = next.iter().flat_map(|(_, _, numbers)| numbers.clone()).collect();
        let name = |key| &next.iter().find(|(known, ..)| *known == key).unwrap().1;
        rows.take(&keys, &values, |key| Name::try_from(name(key).as_str()).unwrap());
    }

    /// Lets the patrol come by until it finds that this key has another name now.
    fn patrol(&mut self, key: u64) {
        let rows = self.rows.as_mut().unwrap();
        let names: Vec<_> = rows.each().map(|(row, _)| (row.key, row.name.clone())).collect();
        let name = |asked| names.iter().find(|(known, _)| *known == asked && asked != key);
        let now = |asked| name(asked).map_or(Name::new(), |(_, name)| name.clone());
        assert!((0..1000).any(|_| rows.patrol(now) == Some(key)), "{key} is gone");
    }

    fn sent_as(&self) -> Sent<'static> {
        Sent { module: self.module, live: self.live, mode: self.mode }
    }

    fn slot(&self, name: &str) -> usize {
        self.module
            .slots
            .iter()
            .position(|slot| *slot == name)
            .unwrap_or_else(|| panic!("{name}: no such slot"))
    }
}

fn is_command(line: &str) -> bool {
    ["announce", "lose", "read", "row", "gone"]
        .iter()
        .any(|command| line == *command || line.starts_with(&format!("{command} ")))
}

fn file_of(module: &Module) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{}.txt", module.name))
}

#[test]
fn every_module_writes_its_golden_bytes() {
    for module in MODULES {
        let path = file_of(module);
        let golden = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut scripted = Scripted::new(module);
        let commands = golden.lines().filter(|line| is_command(line));
        let written: String = commands.map(|line| format!("{line}\n{}", scripted.answer(line))).collect();
        if std::env::var_os("KMOTE_BLESS").is_some() {
            fs::write(&path, &written).unwrap();
            continue;
        }
        assert_eq!(written, golden, "{}", path.display());
        assert!(
            golden.contains("\nBEGIN ") && golden.contains("\nlose "),
            "{}: a script reads and loses",
            path.display()
        );
    }
}

/// More than two days of ticks: every chart begins and ends once on each, and the last is written as the first was.
#[test]
fn two_hundred_thousand_ticks_are_as_the_first() {
    const TICKS: u64 = 200_000;
    for name in ["process", "cachestat"] {
        let module = MODULES.iter().find(|module| module.name == name).unwrap();
        let mut scripted = Scripted::new(module);
        let sent = scripted.sent_as();
        let mut page = Page::default();
        let mut tick = |nr: u64| {
            let read: Vec<_> = (1..=module.slots.len() as u64).map(|slot| (nr % 97 + slot) * nr).collect();
            scripted.state.advance(module, &read);
            page.clear();
            sent.values(&mut page, &scripted.state, nr * 1_000_000, &mut scripted.sent, None).unwrap();
            let count = |word: &str| page.text().lines().filter(|line| line.starts_with(word)).count();
            (count("BEGIN "), count("SET "), count("END"))
        };
        tick(1);
        let first = tick(2);
        assert!(first.0 > 1 && first.1 >= first.0 && first.2 == first.0, "{name}: {first:?}");
        assert!((3..=TICKS).all(|nr| tick(nr) == first), "{name}: a tick unlike the first");
    }
}

#[test]
fn every_golden_file_has_its_module() {
    for entry in fs::read_dir(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden")).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap();
        assert!(MODULES.iter().any(|module| module.name == stem), "{}", path.display());
    }
}
