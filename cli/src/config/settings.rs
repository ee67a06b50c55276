// SPDX-License-Identifier: GPL-3.0-or-later
//! The settings that count in the end, each with where it comes from.

use super::Directories;
use super::keys::Key;
use super::layers::{Layers, OfModule};
use crate::apps::{Asked, Layout};
use crate::args::Options;
use crate::collector::Wanted;
use kmote_core::chart::Mode;
use kmote_core::module::{Extent, Module, Slots};
use kmote_core::modules::MODULES;
use std::fmt;
use std::rc::Rc;

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// From nowhere else.
    BuiltIn,
    /// A file and its line.
    File(Rc<str>, usize),
    /// A variable of the environment.
    Variable(&'static str),
    /// An argument.
    Argument(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => out.write_str("built in"),
            Self::File(path, line) => write!(out, "{path}:{line}"),
            Self::Variable(name) => write!(out, "the environment's {name}"),
            Self::Argument(name) => write!(out, "the argument {name}"),
        }
    }
}

/// A value and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// Where it comes from.
    pub origin: Origin,
}

impl<T> Setting<T> {
    /// A value from somewhere.
    pub const fn new(value: T, origin: Origin) -> Self {
        Self { value, origin }
    }
}

/// What counts for one module.
#[derive(Clone, Debug)]
pub struct ModuleSettings {
    /// Its row.
    pub module: &'static Module,
    /// Whether it runs.
    pub on: Setting<bool>,
    /// Seconds from read to read: a multiple of what counts for all.
    pub update_every: Setting<u32>,
    /// Its mode.
    pub mode: Setting<Mode>,
    /// The slots that nobody wants.
    pub without: Setting<Slots>,
}

/// What counts.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Seconds from tick to tick.
    pub update_every: Setting<u32>,
    /// The mode of modules that have none of their own.
    pub mode: Setting<Mode>,
    /// Whether kprobes are used at all.
    pub kprobes: Setting<bool>,
    /// Whether privileges are dropped after the start.
    pub sandbox: Setting<bool>,
    /// Whether and how work is counted by applications.
    pub apps: Setting<Layout>,
    /// Whether work is counted by containers and services.
    pub cgroups: Setting<bool>,
    /// How many processes the kernel's table of them holds.
    pub processes: Setting<u32>,
    /// Kilobytes of kernel memory that maps may take; 0 for what fits the machine.
    pub budget: Setting<u32>,
    /// In the order of the table.
    pub modules: Vec<ModuleSettings>,
}

/// The number that Netdata's files come with, and nobody has chosen: as many processes as the budget of memory allows.
pub const AS_MANY_AS_FIT: u32 = 32_768;

impl Settings {
    /// What follows from the files, the environment and the arguments: an argument wins, but the interval is the largest of
    /// all that are given, because Netdata passes one always and takes no shorter one.
    pub fn new(layers: &Layers, options: &Options) -> Self {
        let asked = options.seconds.map(|seconds| Setting::new(seconds, Origin::Argument("SECONDS")));
        let least =
            options.least.map(|seconds| Setting::new(seconds, Origin::Variable("NETDATA_UPDATE_EVERY")));
        let update_every =
            [asked, least].into_iter().flatten().fold(layers.update_every.clone(), |largest, other| {
                if other.value > largest.value { other } else { largest }
            });
        let switched = |on: bool, name, setting: &Setting<bool>| {
            if on { setting.clone() } else { Setting::new(false, Origin::Argument(name)) }
        };
        let mode = options.mode.map(|mode| Setting::new(mode, Origin::Argument("--mode")));
        let modules = MODULES.iter().zip(&layers.modules).map(|(module, of)| ModuleSettings {
            module,
            on: on(module, of, options),
            update_every: slower(&update_every, of.update_every.as_ref()),
            mode: mode.clone().or_else(|| of.mode.clone()).unwrap_or_else(|| layers.mode.clone()),
            without: of.without.clone(),
        });
        Self {
            modules: modules.collect(),
            mode: mode.clone().unwrap_or_else(|| layers.mode.clone()),
            kprobes: switched(options.kprobes, "--no-kprobes", &layers.kprobes),
            sandbox: switched(options.sandbox, "--no-sandbox", &layers.sandbox),
            apps: match options.apps {
                Layout::Off => layers.apps.clone(),
                layout => Setting::new(layout, Origin::Argument("--apps")),
            },
            cgroups: turned_on(options.cgroups, "--cgroups", &layers.cgroups),
            processes: layers.processes.clone(),
            budget: layers.budget.clone(),
            update_every,
        }
    }

    /// The groups of processes, if they are asked for.
    pub fn groups(&self, directories: &Directories) -> Option<Asked> {
        let processes = Some(self.processes.value).filter(|processes| *processes != AS_MANY_AS_FIT);
        let (apps, cgroups) = (self.apps.value, self.cgroups.value);
        (apps != Layout::Off || cgroups).then(|| Asked::new(directories, apps, cgroups, processes))
    }

    /// The modules that run, and how.
    pub fn wanted(&self) -> Vec<Wanted> {
        let running = self.modules.iter().filter(|of| of.on.value);
        let ticks = |of: &ModuleSettings| of.update_every.value / self.update_every.value.max(1);
        let extent = |of: &ModuleSettings| Extent { mode: of.mode.value, without: of.without.value };
        running.map(|of| Wanted { module: of.module, extent: extent(of), ticks: ticks(of).max(1) }).collect()
    }

    /// The value of a key, of a module or of all, as it is written.
    pub fn shown(&self, key: Key, module: Option<usize>) -> String {
        let of = module.and_then(|module| self.modules.get(module));
        match key {
            Key::UpdateEvery => of.map_or(self.update_every.value, |of| of.update_every.value).to_string(),
            Key::Mode => mode_word(of.map_or(self.mode.value, |of| of.mode.value)).to_owned(),
            Key::Kprobes => yes_or_no(self.kprobes.value).to_owned(),
            Key::Sandbox => yes_or_no(self.sandbox.value).to_owned(),
            Key::Apps => layout_word(self.apps.value).to_owned(),
            Key::Cgroups => yes_or_no(self.cgroups.value).to_owned(),
            Key::Processes => self.processes.value.to_string(),
            Key::Budget => self.budget.value.to_string(),
        }
    }

    /// Whether a slot of a module is wanted, as it is written.
    pub fn shown_slot(&self, module: Option<usize>, slot: usize) -> String {
        let of = module.and_then(|module| self.modules.get(module));
        yes_or_no(!of.is_some_and(|of| of.without.value.contains(slot))).to_owned()
    }

    /// Bytes of kernel memory that maps may take, where it is given.
    pub fn budget(&self) -> Option<u64> {
        Some(u64::from(self.budget.value) << 10).filter(|bytes| *bytes > 0)
    }

    /// Whether a module runs, as it is written.
    pub fn shown_on(&self, module: Option<usize>) -> String {
        let on = module.and_then(|module| self.modules.get(module)).is_some_and(|of| of.on.value);
        yes_or_no(on).to_owned()
    }
}

/// What a switch of the arguments turns on, whatever the files say.
fn turned_on(on: bool, name: &'static str, setting: &Setting<bool>) -> Setting<bool> {
    if on { Setting::new(true, Origin::Argument(name)) } else { setting.clone() }
}

fn on(module: &'static Module, of: &OfModule, options: &Options) -> Setting<bool> {
    match &options.modules {
        Some(named) => {
            Setting::new(named.iter().any(|other| other.name == module.name), Origin::Argument("--modules"))
        }
        None => of.on.clone(),
    }
}

/// A module's own interval: never shorter than what counts for all, and a multiple of it, as it is read on its ticks.
fn slower(all: &Setting<u32>, own: Option<&Setting<u32>>) -> Setting<u32> {
    match own {
        Some(own) if own.value > all.value => {
            let ticks = own.value.div_ceil(all.value.max(1));
            Setting::new(all.value.saturating_mul(ticks), own.origin.clone())
        }
        _ => all.clone(),
    }
}

/// The word of a boolean.
pub const fn yes_or_no(value: bool) -> &'static str {
    if value { "yes" } else { "no" }
}

/// The word of a layout.
const fn layout_word(layout: Layout) -> &'static str {
    match layout {
        Layout::Off => "no",
        Layout::New => "yes",
        Layout::Old => "old",
    }
}

/// The word of a mode.
pub const fn mode_word(mode: Mode) -> &'static str {
    match mode {
        Mode::Entry => "entry",
        Mode::Return => "return",
    }
}
