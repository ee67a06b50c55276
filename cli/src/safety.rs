// SPDX-License-Identifier: GPL-3.0-or-later
//! That kmote never harms its host: what it leaves alone, what it gives up, and who dies first.

use crate::args::Options;
use crate::collector::Collector;
use crate::config::{self, Directories};
use kmote_bpf::kernel::{Kernel, Kprobes};
use kmote_bpf::sandbox::{self, Needs};
use kmote_bpf::words;
use kmote_core::breaker::Verdict;
use kmote_core::deny;
use kmote_core::hook::{Mechanism, Refusal};
use std::fs;

/// The score of a process that the kernel kills before all others when memory runs out.
const FIRST: &str = "1000";

/// Leaves alone what is switched off, what is known to harm this kernel, and what the machine went down with.
pub fn restrain(kernel: &Kernel, kprobes: bool, options: &Options, verdict: Verdict) {
    if let Some(sentence) = listed(&kernel.version(), &options.directories) {
        eprintln!("kmote: {sentence}");
        let refusal = Refusal::Denied("this kernel is on Netdata's list of those to leave alone");
        Mechanism::ALL.into_iter().for_each(|mechanism| kernel.refuse(mechanism, refusal));
        return;
    }
    for mechanism in Mechanism::ALL {
        if let Some(reason) = reason(&kernel.release, mechanism, kprobes, options.allow_kretprobes, verdict) {
            kernel.refuse(mechanism, Refusal::Denied(reason));
        }
    }
}

/// Where Netdata's list has this kernel, as it says of itself.
fn listed(version: &str, directories: &Directories) -> Option<String> {
    let (path, list) = config::kernels(directories)?;
    let line = deny::line(&list, version.as_bytes())?;
    Some(format!("{}:{line}: this kernel is to be left alone: {version}", path.display()))
}

/// Why a mechanism is left alone.
fn reason(
    release: &str,
    mechanism: Mechanism,
    kprobes: bool,
    allow_kretprobes: bool,
    verdict: Verdict,
) -> Option<&'static str> {
    let by_breakpoint = matches!(mechanism, Mechanism::Kprobe | Mechanism::Kretprobe);
    match () {
        () if by_breakpoint && !kprobes => Some("switched off, by --no-kprobes or the configuration"),
        () if by_breakpoint && verdict != Verdict::Normal => Some("off, since the machine went down with it"),
        () if allow_kretprobes && mechanism == Mechanism::Kretprobe => None,
        () => deny::reason(release, mechanism),
    }
}

/// Lets the kernel kill us before what the machine is there for.
pub fn die_first() {
    // Where this is refused nothing is lost but the order.
    let _ = fs::write("/proc/self/oom_score_adj", FIRST);
}

/// Gives up what the ticks do not need; says what could not be given up.
pub fn confine(kernel: &Kernel, collector: &mut Collector, needs: Needs) {
    // Lines in kprobe_events are taken back at the end.
    let files = needs.files || kernel.kprobes == Some(Kprobes::Events);
    let needs = Needs { files, attaching: collector.attaches_later(), ..needs };
    if let Err(errno) = sandbox::drop_capabilities(needs, || collector.can_read()) {
        eprintln!("kmote: capabilities are kept: {}", words::errno(errno));
    }
    if let Err(errno) = sandbox::confine(needs) {
        eprintln!("kmote: system calls are not confined: {}", words::errno(errno));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Mechanism::{Fentry, Kprobe, Kretprobe, RawTracepoint};

    #[test]
    fn what_is_left_alone() {
        use Verdict::{Lasting, Normal, Once};
        const EL8: &str = "4.18.0-305.7.1.el8_4.x86_64";
        const NEW: &str = "6.12.0-amd64";
        for (release, mechanism, kprobes, allowed, verdict, expected) in [
            (NEW, Kprobe, true, false, Normal, false),
            (NEW, Kprobe, false, false, Normal, true),
            (NEW, Kretprobe, false, true, Normal, true),
            (NEW, Kprobe, true, false, Once, true),
            (NEW, Kretprobe, true, true, Lasting, true),
            (NEW, Fentry, false, false, Lasting, false),
            (NEW, RawTracepoint, false, false, Lasting, false),
            (EL8, Kretprobe, true, false, Normal, true),
            (EL8, Kretprobe, true, true, Normal, false),
            (EL8, Kprobe, true, false, Normal, false),
            ("4.18.0-25-generic", Kprobe, true, true, Normal, true),
        ] {
            let left = reason(release, mechanism, kprobes, allowed, verdict).is_some();
            assert_eq!(left, expected, "{mechanism:?} on {release}: {kprobes} {allowed} {verdict:?}");
        }
    }
}
