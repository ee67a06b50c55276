// SPDX-License-Identifier: GPL-3.0-or-later
//! Which program of an object fits a hook: a rule of names.

use kmote_core::hook::Hook;

/// The most parameters of a function whose result is read: what the C side has programs for.
pub const MOST_PARAMETERS: usize = 6;

/// What decides among the programs of one event and mechanism.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// How many parameters the hook's function has, where a result is read.
    pub parameters: Option<usize>,
    /// The kernel's words have 32 bits.
    pub narrow: bool,
}

/// The names of the programs that fit `hook` of `event`, best first: `<event>_<mechanism>`, or `<event>` where one
/// program, which reads no context, serves all; `<event>_fexit<parameters>` where the result is read, which stands
/// after the arguments; `<event>_raw_tp<arguments>` where members of kernel structures are read; `<event>_<mechanism>32` on a 32-bit kernel, where registers and records lie elsewhere.
pub fn names(event: &str, hook: &Hook, facts: Facts) -> Vec<String> {
    let special = format!("{event}_{}", hook.mechanism().word());
    match (hook, facts.parameters) {
        (Hook::FexitResult(_), Some(parameters)) => vec![format!("{special}{parameters}")],
        (Hook::FexitResult(_), None) => Vec::new(),
        // Pointers are read as 64 bits.
        (Hook::RawMembers(..), _) if facts.narrow => Vec::new(),
        (Hook::RawMembers((_, arguments, _)), _) => vec![format!("{special}{arguments}")],
        _ if facts.narrow => vec![format!("{special}32"), special, event.to_owned()],
        _ => vec![special, event.to_owned()],
    }
}

/// The names of the programs that fit `hook` of `event` on one kernel or another.
pub fn all_names(event: &str, hook: &Hook) -> Vec<String> {
    let facts = (1..=MOST_PARAMETERS)
        .flat_map(|parameters| [true, false].map(|narrow| Facts { parameters: Some(parameters), narrow }));
    facts.flat_map(|facts| hook.places().flat_map(move |place| names(event, &place, facts))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Hook::*;

    #[test]
    fn the_names_of_what_fits() {
        for (hook, parameters, narrow, expected) in [
            (Fentry("f"), None, false, &["e_fentry", "e"][..]),
            (Kretprobe("f"), None, false, &["e_kretprobe", "e"]),
            (Kretprobe("f"), None, true, &["e_kretprobe32", "e_kretprobe", "e"]),
            (Record(&("c/t", &[])), None, true, &["e_tp32", "e_tp", "e"]),
            (FexitResult("f"), Some(4), false, &["e_fexit4"]),
            (FexitResult("f"), None, false, &[]),
            (RawMembers(&("t", 2, &[])), None, false, &["e_raw_tp2"]),
            (RawMembers(&("t", 2, &[])), None, true, &[]),
            (All(&[Kprobe("f"), Kprobe("g")]), None, false, &["e_kprobe", "e"]),
        ] {
            assert_eq!(names("e", &hook, Facts { parameters, narrow }), expected, "{hook:?}");
        }
    }
}
