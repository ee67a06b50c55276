// SPDX-License-Identifier: GPL-3.0-or-later
//! Kernels that are known to be harmed, told by their full release, and what is left out on them.

use crate::hook::Mechanism;

/// A mechanism that is not used on some kernels.
struct Rule {
    /// Whether the rule is for this `uname -r`.
    holds: fn(&str) -> bool,
    mechanisms: &'static [Mechanism],
    reason: &'static str,
}

const RULES: &[Rule] = &[
    // Idle hosts panicked on an int3 that was run on return: netdata#13904 (4.18.0-240, -305), #15103 (-477).
    Rule {
        holds: is_el8,
        mechanisms: &[Mechanism::Kretprobe],
        reason: "return probes have crashed el8 kernels; --allow-kretprobes takes the risk",
    },
    // Ubuntu's HWE kernels for 18.04 die in a probe's read, at boot and so again and again: netdata#9634, #10258.
    Rule {
        holds: is_ubuntu_with_the_usercopy_bug,
        mechanisms: &[Mechanism::Kprobe, Mechanism::Kretprobe],
        reason: "probes crash this kernel; Ubuntu has newer ones",
    },
    // With every module on, Debian's 6.1 for mipsel died within seconds, twice of two, at the break behind a probe's copied
    // instruction. Handlers run with interrupts on there, and one interrupted probe is remembered, not two
    // (arch/mips/kernel/kprobes.c, `save_previous_kprobe`).
    Rule {
        holds: |_| cfg!(any(target_arch = "mips", target_arch = "mips64")),
        mechanisms: &[Mechanism::Kprobe, Mechanism::Kretprobe],
        reason: "probes have crashed kernels of MIPS",
    },
];

fn is_el8(release: &str) -> bool {
    release.starts_with("4.18.0-") && release.contains(".el8")
}

fn is_ubuntu_with_the_usercopy_bug(release: &str) -> bool {
    let build = release.strip_suffix("-generic").or_else(|| release.strip_suffix("-lowlatency"));
    matches!(build, Some("4.18.0-13" | "4.18.0-25"))
}

/// Why a mechanism is not used on the kernel of this release; `None`: it is.
pub fn reason(release: &str, mechanism: Mechanism) -> Option<&'static str> {
    let applies = |rule: &&Rule| rule.mechanisms.contains(&mechanism) && (rule.holds)(release);
    RULES.iter().find(applies).map(|rule| rule.reason)
}

/// The line, from 1, of a list of kernels with which the `version` of this kernel begins: Netdata brings such a list, as
/// `ebpf_kernel_reject_list.txt`, and its users add to it.
pub fn line(list: &[u8], version: &[u8]) -> Option<usize> {
    let begins = |line: &[u8]| {
        let line = line.trim_ascii();
        !line.is_empty() && version.starts_with(line)
    };
    list.split(|byte| *byte == b'\n').position(begins).map(|place| place + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_of_a_list() {
        const LIST: &[u8] = b"# of Netdata\nUbuntu 4.18.0\r\n\n  Linux version 5.4.0-1 \n";
        for (version, expected) in [
            ("Ubuntu 4.18.0-25.26~18.04.1-generic 4.18.20", Some(2)),
            ("Linux version 5.4.0-1-amd64 (gcc)", Some(4)),
            ("Linux version 4.18.0-25-generic (Ubuntu 4.18.0)", None),
            ("Ubuntu 4.18", None),
            ("", None),
        ] {
            assert_eq!(line(LIST, version.as_bytes()), expected, "{version}");
        }
        assert_eq!(line(b"", b"Linux"), None);
        assert_eq!(line(b"Linux", b"Linux version"), Some(1), "without a newline");
    }

    fn denied(release: &str) -> Vec<&'static str> {
        let all = Mechanism::ALL.into_iter();
        all.filter(|mechanism| reason(release, *mechanism).is_some()).map(Mechanism::word).collect()
    }

    #[test]
    fn kernels_by_their_full_release() {
        const RETURNS: &[&str] = &["kretprobe"];
        const PROBES: &[&str] = &["kprobe", "kretprobe"];
        for (release, expected) in [
            ("4.18.0-240.el8.x86_64", RETURNS),
            ("4.18.0-305.7.1.el8_4.x86_64", RETURNS),
            ("4.18.0-477.10.1.el8_8.x86_64", RETURNS),
            ("4.18.0-553.el8_10.aarch64", RETURNS),
            ("4.18.0-13-generic", PROBES),
            ("4.18.0-25-generic", PROBES),
            ("4.18.0-25-lowlatency", PROBES),
            ("4.18.20", &[]),
            ("4.18.0-14-generic", &[]),
            ("4.18.0-130-generic", &[]),
            ("5.14.0-503.el9.x86_64", &[]),
            ("3.10.0-1160.el7.x86_64", &[]),
            ("6.1.0-30-amd64", &[]),
            ("", &[]),
        ] {
            assert_eq!(denied(release), expected, "{release}");
        }
    }
}
