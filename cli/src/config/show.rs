// SPDX-License-Identifier: GPL-3.0-or-later
//! The effective configuration as text, which is a file that can be used as it is.

use super::files::Text;
use super::keys::{self, HEEDED, Key};
use super::settings::{Origin, Settings, yes_or_no};
use std::fmt::Write;

/// Where the comments begin.
const WIDTH: usize = 28;

/// The effective settings, the files that were read, and what is wrong with them.
pub fn text(settings: &Settings, texts: &[Text], complaints: &[String]) -> String {
    let mut out = String::new();
    for text in texts {
        let _ = writeln!(out, "# read: {}", text.path);
    }
    for complaint in complaints {
        let _ = writeln!(out, "# {complaint}");
    }
    let _ = writeln!(out, "[{}]", keys::GLOBAL);
    let origins = [
        (Key::UpdateEvery, &settings.update_every.origin),
        (Key::Mode, &settings.mode.origin),
        (Key::Kprobes, &settings.kprobes.origin),
        (Key::Sandbox, &settings.sandbox.origin),
        (Key::Apps, &settings.apps.origin),
        (Key::Cgroups, &settings.cgroups.origin),
        (Key::Processes, &settings.processes.origin),
        (Key::Budget, &settings.budget.origin),
    ];
    for (key, origin) in origins {
        entry(&mut out, name(key), &settings.shown(key, None), origin);
    }
    let _ = writeln!(out, "[{}]", keys::PROGRAMS);
    for of in &settings.modules {
        entry(&mut out, of.module.name, yes_or_no(of.on.value), &of.on.origin);
    }
    for (place, of) in settings.modules.iter().enumerate() {
        let own = [
            (Key::UpdateEvery, &of.update_every.origin, of.update_every.value != settings.update_every.value),
            (Key::Mode, &of.mode.origin, of.mode.value != settings.mode.value),
        ];
        let slots = of.module.slots.iter().enumerate();
        let mut without = slots.filter(|(slot, _)| of.without.value.contains(*slot)).peekable();
        if own.iter().any(|(_, _, differs)| *differs) || without.peek().is_some() {
            let _ = writeln!(out, "[{}]", of.module.name);
        }
        for (key, origin, _) in own.iter().filter(|(_, _, differs)| *differs) {
            entry(&mut out, name(*key), &settings.shown(*key, Some(place)), origin);
        }
        for (_, slot) in without {
            entry(&mut out, slot, "no", &of.without.origin);
        }
    }
    out
}

fn name(key: Key) -> &'static str {
    HEEDED.iter().find(|(_, known)| *known == key).map_or("", |(name, _)| name)
}

fn entry(out: &mut String, key: &str, value: &str, origin: &Origin) {
    let entry = format!("    {key} = {value}");
    let _ = writeln!(out, "{entry:<WIDTH$} # {origin}");
}
