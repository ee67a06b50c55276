// SPDX-License-Identifier: GPL-3.0-or-later
//! The exact bytes of each module for a script of reads: one golden file a module, which holds both.
//!
//! A line `read A B …` is a read of the module's slots, one second after the last; `lose SLOT …` takes slots away from
//! the next line on. The lines after it, up to the next of these, are what kmote writes then. `KMOTE_BLESS=1` writes
//! the files anew, for a person to look at.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use kmote_cli::output::Page;
use kmote_cli::protocol::Sent;
use kmote_core::chart::Mode;
use kmote_core::module::{Module, Slots};
use kmote_core::modules::MODULES;
use kmote_core::state::State;
use std::fs;
use std::path::PathBuf;

/// A module on a kernel that is made of the lines of a script.
struct Scripted {
    module: &'static Module,
    mode: Mode,
    live: Slots,
    state: State,
    sent: Vec<u64>,
    now: u64,
}

impl Scripted {
    fn new(module: &'static Module) -> Self {
        let live = (0..module.slots.len()).fold(Slots::default(), Slots::with);
        let sent = vec![0; module.charts.len()];
        Self { module, mode: Mode::Entry, live, state: State::default(), sent, now: 0 }
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
                self.sent_as().values(&mut out, &self.state, self.now, &mut self.sent).unwrap();
            }
            other => panic!("{other}: no such command"),
        }
        out.text().to_owned()
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
    ["announce", "lose", "read"]
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

#[test]
fn every_golden_file_has_its_module() {
    for entry in fs::read_dir(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden")).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap();
        assert!(MODULES.iter().any(|module| module.name == stem), "{}", path.display());
    }
}
