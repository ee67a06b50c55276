// SPDX-License-Identifier: GPL-3.0-or-later
//! The layers of configuration, each key of a stronger file in the place of the weaker one's, and what is wrong with them.

use super::files::{Scope, Text};
use super::keys::{self, Key};
use super::settings::{AS_MANY_AS_FIT, Origin, Setting, Settings};
use crate::apps::Layout;
use kmote_core::chart::Mode;
use kmote_core::config::{self, Line};
use kmote_core::module::{Module, Slots};
use kmote_core::modules::MODULES;
use std::collections::BTreeSet;
use std::rc::Rc;

/// The longest list of complaints; a file of another kind has one for each line.
const MOST: usize = 20;

/// What the files say of one module.
#[derive(Clone, Debug)]
pub struct OfModule {
    pub on: Setting<bool>,
    pub update_every: Option<Setting<u32>>,
    pub mode: Option<Setting<Mode>>,
    /// The slots that nobody wants.
    pub without: Setting<Slots>,
}

/// What the files say, without arguments and environment.
#[derive(Debug)]
pub struct Layers {
    pub update_every: Setting<u32>,
    pub mode: Setting<Mode>,
    pub kprobes: Setting<bool>,
    pub sandbox: Setting<bool>,
    pub apps: Setting<Layout>,
    pub cgroups: Setting<bool>,
    pub processes: Setting<u32>,
    pub budget: Setting<u32>,
    /// In the order of the table.
    pub modules: Vec<OfModule>,
    wrong: Vec<Wrong>,
    said: BTreeSet<String>,
}

/// A line that is not heeded.
#[derive(Debug)]
struct Wrong {
    path: Rc<str>,
    line: usize,
    what: String,
    /// Whose value stands instead.
    instead: Option<(Option<usize>, Target)>,
}

/// What a line would have set.
#[derive(Clone, Copy, Debug)]
enum Target {
    Key(Key),
    On,
    Slot(usize),
}

impl Default for Layers {
    fn default() -> Self {
        let built_in = |module: &Module| OfModule {
            on: Setting::new(module.on_by_default, Origin::BuiltIn),
            update_every: None,
            mode: None,
            without: Setting::new(Slots::default(), Origin::BuiltIn),
        };
        Self {
            update_every: Setting::new(1, Origin::BuiltIn),
            mode: Setting::new(Mode::Entry, Origin::BuiltIn),
            kprobes: Setting::new(true, Origin::BuiltIn),
            sandbox: Setting::new(true, Origin::BuiltIn),
            apps: Setting::new(Layout::Off, Origin::BuiltIn),
            cgroups: Setting::new(false, Origin::BuiltIn),
            processes: Setting::new(AS_MANY_AS_FIT, Origin::BuiltIn),
            budget: Setting::new(0, Origin::BuiltIn),
            modules: MODULES.iter().map(built_in).collect(),
            wrong: Vec::new(),
            said: BTreeSet::new(),
        }
    }
}

/// Where a line stands.
struct Place<'a> {
    text: &'a Text,
    section: &'a str,
    line: usize,
}

impl Place<'_> {
    /// Whether this is a module's section of our own file.
    fn is_ours(&self) -> bool {
        matches!(self.text.scope, Scope::Own) && keys::module(self.section).is_some()
    }
}

impl Layers {
    /// Puts a file on top.
    pub fn apply(&mut self, text: &Text) {
        let mut place = Place { text, section: "", line: 0 };
        for line in text.bytes.split(|byte| *byte == b'\n') {
            place.line += 1;
            match config::line(line) {
                Line::Nothing => {}
                Line::Section(name) => {
                    place.section = name;
                    self.enter(&place);
                }
                Line::Entry { key, value } => self.entry(&place, key, value),
                Line::Malformed(fault, column) => {
                    self.complain(
                        &place,
                        format!("at byte {column}: {fault}; the line is passed over"),
                        None,
                    );
                }
            }
        }
    }

    fn enter(&mut self, place: &Place<'_>) {
        let (section, ours) = (place.section, place.is_ours());
        if section != keys::GLOBAL && section != keys::PROGRAMS && !ours && !keys::ignored_section(section) {
            self.once(place, format!("[{section}]"), "there is no such section here; it is passed over");
        }
    }

    fn entry(&mut self, place: &Place<'_>, key: &str, value: &str) {
        let of = match (place.text.scope, place.section) {
            (Scope::Main | Scope::Own, keys::PROGRAMS) if keys::modules(key).next().is_some() => {
                return self.switch(place, key, value);
            }
            (Scope::Main | Scope::Own, keys::GLOBAL) => None,
            (Scope::Module(module), keys::FILESYSTEM) => return self.take_out(place, module, key, value),
            (Scope::Module(module), keys::SYSCALLS) => {
                return match slot(module, key) {
                    Some(slot) => self.single(place, module, slot, key, value),
                    None => self.other(place, key, value),
                };
            }
            (Scope::Module(module), keys::GLOBAL) => keys::module(module.name),
            (Scope::Own, section) if keys::module(section).is_some() => keys::module(section),
            _ => return self.other(place, key, value),
        };
        match keys::HEEDED.iter().find(|(name, known)| *name == key && (of.is_none() || known.of_modules())) {
            Some((_, known)) => self.set(place, of, *known, key, value),
            None => {
                match of.and_then(|of| MODULES.get(of)).and_then(|module| Some((module, slot(module, key)?)))
                {
                    Some((module, slot)) if matches!(place.text.scope, Scope::Own) => {
                        self.single(place, module, slot, key, value);
                    }
                    _ => self.other(place, key, value),
                }
            }
        }
    }

    /// One slot of a module: `[syscalls]` of its file, and its own section in ours.
    fn single(&mut self, place: &Place<'_>, module: &Module, slot: usize, key: &str, value: &str) {
        let of = keys::module(module.name);
        let Some(on) = config::boolean(value) else {
            return self.bad(place, key, value, keys::YES_OR_NO, (of, Target::Slot(slot)));
        };
        if let Some(of) = of.and_then(|of| self.modules.get_mut(of)) {
            let before = of.without.value;
            let after = if on { before.without(slot) } else { before.with(slot) };
            of.without = Setting::new(after, origin(place));
        }
    }

    /// `[ebpf programs]`
    fn switch(&mut self, place: &Place<'_>, key: &str, value: &str) {
        let Some(on) = config::boolean(value) else {
            let of = keys::modules(key).next();
            return self.bad(place, key, value, keys::YES_OR_NO, (of, Target::On));
        };
        for module in keys::modules(key) {
            if let Some(of) = self.modules.get_mut(module) {
                of.on = Setting::new(on, origin(place));
            }
        }
    }

    /// `[filesystem]`, which takes single ones out.
    fn take_out(&mut self, place: &Place<'_>, module: &Module, key: &str, value: &str) {
        if key.strip_suffix("dist") == Some(module.name) && config::boolean(value) == Some(false) {
            self.switch(place, module.name, value);
        }
    }

    fn set(&mut self, place: &Place<'_>, of: Option<usize>, known: Key, key: &str, value: &str) {
        let origin = origin(place);
        let taken = match known {
            Key::UpdateEvery => config::number(value, 1, 86_400).map(|seconds| {
                let setting = Setting::new(seconds, origin);
                match of.and_then(|module| self.modules.get_mut(module)) {
                    Some(module) => module.update_every = Some(setting),
                    None => {
                        self.update_every = setting;
                        self.modules.iter_mut().for_each(|module| module.update_every = None);
                    }
                }
            }),
            Key::Mode => mode(value).map(|mode| {
                let setting = Setting::new(mode, origin);
                match of.and_then(|module| self.modules.get_mut(module)) {
                    Some(module) => module.mode = Some(setting),
                    None => {
                        self.mode = setting;
                        self.modules.iter_mut().for_each(|module| module.mode = None);
                    }
                }
            }),
            Key::Kprobes => config::boolean(value).map(|on| self.kprobes = Setting::new(on, origin)),
            Key::Sandbox => config::boolean(value).map(|on| self.sandbox = Setting::new(on, origin)),
            Key::Apps => layout(value).map(|layout| self.apps = Setting::new(layout, origin)),
            Key::Cgroups => config::boolean(value).map(|on| self.cgroups = Setting::new(on, origin)),
            Key::Budget => config::number(value, 0, 1 << 22)
                .map(|kilobytes| self.budget = Setting::new(kilobytes, origin)),
            Key::Processes => config::number(value, 64, 1 << 20)
                .map(|processes| self.processes = Setting::new(processes, origin)),
        };
        if taken.is_none() {
            self.bad(place, key, value, known.wanted(), (of, Target::Key(known)));
        }
    }

    /// A key that is not heeded.
    fn other(&mut self, place: &Place<'_>, key: &str, value: &str) {
        match keys::ignored_key(place.section, key, value) {
            Some(None) => {}
            Some(Some(why)) => self.once(place, format!("{key} = {value}"), why),
            // Said of the section as a whole.
            None if !place.is_ours() && !["", keys::GLOBAL, keys::PROGRAMS].contains(&place.section) => {}
            None => self.once(place, key.to_owned(), "there is no such key here; it is passed over"),
        }
    }

    /// Says something once of all files. In a stock file nobody meant it.
    fn once(&mut self, place: &Place<'_>, what: String, why: &str) {
        if !place.text.stock && self.said.insert(what.clone()) {
            self.complain(place, format!("{what}: {why}"), None);
        }
    }

    fn bad(&mut self, place: &Place<'_>, key: &str, value: &str, wanted: &str, of: (Option<usize>, Target)) {
        self.complain(place, format!("{key} = {value}: {wanted}"), Some(of));
    }

    fn complain(&mut self, place: &Place<'_>, what: String, instead: Option<(Option<usize>, Target)>) {
        // One file may be read for several modules.
        if self.wrong.iter().any(|wrong| wrong.path == place.text.path && wrong.line == place.line) {
            return;
        }
        self.wrong.push(Wrong { path: Rc::clone(&place.text.path), line: place.line, what, instead });
    }

    /// A sentence for each line that is not heeded, and for a bad value what stands instead.
    pub fn complaints(&self, settings: &Settings) -> Vec<String> {
        let sentence = |wrong: &Wrong| {
            let instead = wrong.instead.map(|(module, target)| match target {
                Target::On => settings.shown_on(module),
                Target::Slot(slot) => settings.shown_slot(module, slot),
                Target::Key(key) => settings.shown(key, module),
            });
            let instead = instead.map(|value| format!("; {value} is used")).unwrap_or_default();
            format!("{}:{}: {}{instead}", wrong.path, wrong.line, wrong.what)
        };
        let mut all: Vec<_> = self.wrong.iter().take(MOST).map(sentence).collect();
        if let more @ 1.. = self.wrong.len().saturating_sub(MOST) {
            all.push(format!("and {more} more lines of the configuration are not heeded"));
        }
        all
    }
}

fn origin(place: &Place<'_>) -> Origin {
    Origin::File(Rc::clone(&place.text.path), place.line)
}

/// The slot of this name, or of the rest of it: Netdata's `shmget` is shm's `get`.
fn slot(module: &Module, name: &str) -> Option<usize> {
    module.slots.iter().position(|slot| *slot == name || name.strip_prefix(module.name) == Some(slot))
}

fn layout(word: &str) -> Option<Layout> {
    let on = || config::boolean(word).map(|on| if on { Layout::New } else { Layout::Off });
    if word.eq_ignore_ascii_case("old") { Some(Layout::Old) } else { on() }
}

fn mode(word: &str) -> Option<Mode> {
    match word {
        "entry" => Some(Mode::Entry),
        "return" => Some(Mode::Return),
        _ => None,
    }
}
