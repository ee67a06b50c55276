// SPDX-License-Identifier: GPL-3.0-or-later
//! What this kernel offers: asked of it, never concluded from its version.

use crate::symbols::{Functions, Offsets, Typed, Wanted};
use crate::sys::{self, Errno};
use crate::tree::Tree;
use kmote_core::cpu_list;
use kmote_core::format;
use kmote_core::home;
use kmote_core::hook::{Field, Known, Mechanism, Member, Refusal};
use kmote_core::plan;
use std::cell::{Cell, OnceCell};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// How kprobes are made here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kprobes {
    /// By perf, through the PMU of this type (from 4.17); the bit asks for a return probe.
    Pmu(u32, u64),
    /// By a line in tracefs' `kprobe_events`.
    Events,
}

/// The facts of a kernel, gathered once; the two long lists are read when they are first asked for.
#[derive(Debug)]
pub struct Kernel {
    prefix: PathBuf,
    /// `uname -r`.
    pub release: String,
    /// How many CPUs there can ever be.
    pub cpus: usize,
    /// Bytes that maps may take.
    pub budget: u64,
    /// The kernel's words have 32 bits; ours may have where the kernel's have 64.
    pub narrow: bool,
    /// The events and their formats, where they can be read.
    pub tracefs: Option<Tree>,
    /// How kprobes are made, if at all.
    pub kprobes: Option<Kprobes>,
    /// Whether debugfs says that none of them fires.
    pub kprobes_off: bool,
    /// Whether the kernel's BTF can be read.
    pub btf: bool,
    /// The lockdown mode in force, where that can be told.
    pub lockdown: Option<String>,
    /// Our effective capabilities, a bit each.
    pub capabilities: u64,
    only: Option<String>,
    refused: Cell<[Option<Refusal>; Mechanism::ALL.len()]>,
    wanted: Wanted,
    functions: OnceCell<Option<Functions>>,
    typed: OnceCell<Option<Typed>>,
    offsets: OnceCell<Option<Offsets>>,
}

/// Where debugfs says whether kprobes fire.
const KPROBES_ENABLED: &str = "kprobes/enabled";

/// Capabilities that loading programs takes: the name, its bit.
pub const CAPABILITIES: &[(&str, u32)] = &[
    ("CAP_SYS_ADMIN", 21),
    ("CAP_SYS_RESOURCE", 24),
    ("CAP_SYSLOG", 34),
    ("CAP_PERFMON", 38),
    ("CAP_BPF", 39),
];

impl Kernel {
    /// Asks the kernel. `prefix` stands before `/proc` and `/sys`; `only` restricts the mechanisms to a family.
    pub fn ask(prefix: &Path, only: Option<&str>) -> Self {
        let under = |path: &str| prefix.join(path);
        let text = |path: &str| fs::read_to_string(under(path)).unwrap_or_default();
        let places = ["sys/kernel/tracing", "sys/kernel/debug/tracing"];
        let tracefs = Tree::find(prefix, c"tracefs", &places, "events");
        let debugfs = Tree::find(prefix, c"debugfs", &["sys/kernel/debug"], KPROBES_ENABLED);
        let cpus = cpu_list::count(text("sys/devices/system/cpu/possible").as_bytes()).unwrap_or(1);
        // Where the machine does not tell, it is taken for a large one.
        let memory = plan::memory_of(text("proc/meminfo").as_bytes()).unwrap_or(u64::MAX);
        Self {
            release: text("proc/sys/kernel/osrelease").trim().to_owned(),
            cpus,
            budget: plan::budget(memory, cpus),
            narrow: narrow(&under("proc/kallsyms")),
            kprobes: kprobes(prefix, tracefs.as_deref()),
            kprobes_off: debugfs
                .and_then(|root| fs::read_to_string(root.join(KPROBES_ENABLED)).ok())
                .is_some_and(|text| text.trim() == "0"),
            tracefs,
            btf: under("sys/kernel/btf/vmlinux").exists(),
            lockdown: in_brackets(&text("sys/kernel/security/lockdown")).map(str::to_owned),
            capabilities: effective(&text("proc/self/status")),
            only: only.map(str::to_owned),
            refused: Cell::default(),
            wanted: Wanted::default(),
            functions: OnceCell::new(),
            typed: OnceCell::new(),
            offsets: OnceCell::new(),
            prefix: prefix.to_owned(),
        }
    }

    /// What the kernel says of itself, with its builder's own number first where there is one.
    pub fn version(&self) -> String {
        let texts = ["proc/version_signature", "proc/version"].map(|path| self.prefix.join(path));
        let told = texts.iter().find_map(|path| fs::read_to_string(path).ok()).unwrap_or_default();
        told.trim().to_owned()
    }

    /// What stands before `/proc` and `/sys`.
    pub fn prefix(&self) -> &Path {
        &self.prefix
    }

    /// Remembers that no program of this mechanism is taken here, so that the next need not be tried.
    pub fn refuse(&self, mechanism: Mechanism, refusal: Refusal) {
        let mut refused = self.refused.get();
        if let Some(place) = refused.get_mut(mechanism.index()) {
            *place = Some(refusal);
        }
        self.refused.set(refused);
    }

    /// The id of a function in the kernel's BTF.
    pub fn type_id(&self, function: &str) -> Option<u32> {
        self.typed()?.id(&self.wanted, function)
    }

    /// Where a structure of the kernel has a member, in bytes, as its BTF tells.
    pub fn offset(&self, member: &Member) -> Option<u64> {
        let path = || self.prefix.join("sys/kernel/btf/vmlinux");
        self.offsets.get_or_init(|| Offsets::scan(&path()).ok()).as_ref()?.of(member)
    }

    /// How many parameters a function has, as the kernel's BTF tells.
    pub fn parameters(&self, function: &str) -> Option<usize> {
        self.typed()?.parameters(&self.wanted, function)
    }

    fn typed(&self) -> Option<&Typed> {
        let path = || self.prefix.join("sys/kernel/btf/vmlinux");
        self.typed.get_or_init(|| Typed::scan(&path(), &self.wanted).ok()).as_ref()
    }

    /// The directory that a loaded kernel module has.
    pub fn module(&self, name: &str) -> PathBuf {
        self.prefix.join("sys/module").join(name)
    }

    /// The id of a tracepoint, from tracefs.
    pub fn tracepoint_id(&self, place: &str) -> Option<u64> {
        let path = self.tracefs.as_ref()?.join("events").join(place).join("id");
        fs::read_to_string(path).ok()?.trim().parse().ok()
    }

    /// Whether the kernel counts the runs of programs, which costs it something and is off unless asked for.
    pub fn counts_runs(&self) -> bool {
        fs::read_to_string(self.prefix.join("proc/sys/kernel/bpf_stats_enabled"))
            .is_ok_and(|text| text.trim() == "1")
    }

    /// Whether we have the capability of this bit.
    pub fn capable(&self, bit: u32) -> bool {
        self.capabilities >> bit & 1 == 1
    }

    /// Why "operation not permitted" was said, in the order of what an operator can change.
    pub fn not_permitted(&self) -> Refusal {
        let [admin, perfmon, bpf] = [21, 38, 39].map(|bit| self.capable(bit));
        match () {
            () if admin || (bpf && perfmon) => self.not_permitted_though_capable(),
            () if bpf => Refusal::NoCapability("CAP_PERFMON"),
            () if perfmon => Refusal::NoCapability("CAP_BPF (before Linux 5.8: CAP_SYS_ADMIN)"),
            () => Refusal::NoCapability("CAP_BPF and CAP_PERFMON (before Linux 5.8: CAP_SYS_ADMIN)"),
        }
    }

    fn not_permitted_though_capable(&self) -> Refusal {
        match () {
            () if self.lockdown.as_deref() == Some("confidentiality") => Refusal::Lockdown,
            () if sys::locked_memory().is_some() && !sys::accounts_to_cgroups() => Refusal::LockedMemory,
            () if self.perf_wants_admin() && !self.capable(21) => {
                Refusal::NoCapability("CAP_SYS_ADMIN (kernel.perf_event_paranoid is above 2)")
            }
            () => Refusal::Policy,
        }
    }

    /// Debian's and Android's kernels keep perf from everybody but the administrator when this setting is above 2.
    fn perf_wants_admin(&self) -> bool {
        let text =
            fs::read_to_string(self.prefix.join("proc/sys/kernel/perf_event_paranoid")).unwrap_or_default();
        text.trim().parse::<i32>().is_ok_and(|level| level > 2)
    }

    /// What an errno of loading a program means.
    pub fn load_refusal(&self, mechanism: Mechanism, errno: Errno) -> Refusal {
        match errno {
            libc::EPERM => self.not_permitted(),
            // Raw tracepoints came with 4.17, trampolines with 5.5: an unknown program type is invalid.
            libc::EINVAL if mechanism == Mechanism::RawTracepoint => Refusal::NotBuilt,
            libc::ENOENT => Refusal::NotTraceable,
            // Not the program's fault.
            libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::ENOSPC => Refusal::Errno(errno),
            _ => Refusal::Verifier(errno),
        }
    }
}

impl kmote_core::hook::Kernel for Kernel {
    fn without(&self, mechanism: Mechanism) -> Option<Refusal> {
        if self.only.as_deref().is_some_and(|only| only != mechanism.family()) {
            return Some(Refusal::Excluded);
        }
        if let Some(refusal) = self.refused.get().get(mechanism.index()).copied().flatten() {
            return Some(refusal);
        }
        match mechanism {
            Mechanism::Fentry | Mechanism::Fexit if !self.btf => Some(Refusal::NoBtf),
            Mechanism::Kprobe | Mechanism::Kretprobe if self.kprobes_off => Some(Refusal::SwitchedOff),
            Mechanism::Kprobe | Mechanism::Kretprobe if self.kprobes.is_none() => Some(match self.tracefs {
                None if self.prefix.join("sys/kernel/debug/kprobes").exists() => Refusal::NoTracefs,
                _ => Refusal::NotBuilt,
            }),
            Mechanism::Tracepoint if self.tracefs.is_none() => Some(Refusal::NoTracefs),
            _ => None,
        }
    }

    fn function(&self, name: &str) -> Known {
        let functions = self
            .functions
            .get_or_init(|| Functions::scan(&self.prefix.join("proc/kallsyms"), &self.wanted).ok());
        let known = functions.as_ref().map_or(Known::Untold, |functions| functions.knows(&self.wanted, name));
        // The list was read once; a module may have come since.
        let came = || home::of(name).is_some_and(|module| self.loaded(module) == Known::Present);
        if known == Known::Absent && came() { Known::Untold } else { known }
    }

    fn loaded(&self, module: &str) -> Known {
        if self.module(module).exists() { Known::Present } else { Known::Absent }
    }

    fn typed_function(&self, name: &str) -> Known {
        if self.type_id(name).is_some() { Known::Present } else { Known::Absent }
    }

    fn member(&self, member: &Member) -> Known {
        if self.offset(member).is_some() { Known::Present } else { Known::Absent }
    }

    fn tracepoint(&self, place: &str) -> Known {
        let Some(tracefs) = &self.tracefs else { return Known::Untold };
        if tracefs.join("events").join(place).exists() { Known::Present } else { Known::Absent }
    }

    fn record(&self, place: &str, fields: &[Field]) -> Known {
        let Some(tracefs) = &self.tracefs else { return Known::Untold };
        let path = tracefs.join("events").join(place).join("format");
        let Ok(text) = fs::read_to_string(path) else { return Known::Absent };
        let lies = |(field, at): &Field| format::offset(&text, field) == Some(*at);
        if fields.iter().all(lies) { Known::Present } else { Known::Absent }
    }

    /// A kernel of MIPS keeps errors as positive numbers, and that they are some in another register, which the record
    /// has not got (arch/mips/include/asm/syscall.h, `syscall_get_return_value`).
    fn signs_errors(&self) -> bool {
        !cfg!(any(target_arch = "mips", target_arch = "mips64"))
    }
}

fn kprobes(prefix: &Path, tracefs: Option<&Path>) -> Option<Kprobes> {
    let pmu = prefix.join("sys/bus/event_source/devices/kprobe");
    let number = |path: &Path| fs::read_to_string(path).ok()?.trim().parse().ok();
    if let Some(kind) = number(&pmu.join("type")) {
        let format = fs::read_to_string(pmu.join("format/retprobe")).unwrap_or_default();
        let bit: u32 = format.trim().strip_prefix("config:").and_then(|bit| bit.parse().ok()).unwrap_or(0);
        return Some(Kprobes::Pmu(kind, 1u64.checked_shl(bit).unwrap_or(1)));
    }
    tracefs?.join("kprobe_events").exists().then_some(Kprobes::Events)
}

/// Whether the addresses in kallsyms have 8 digits; `uname -m` would tell what a 32-bit program is to believe.
fn narrow(kallsyms: &Path) -> bool {
    let mut start = [0; 9];
    let read = File::open(kallsyms).and_then(|mut file| file.read_exact(&mut start));
    read.map_or(usize::BITS == 32, |()| start[8] == b' ')
}

/// The word in brackets: the kernel marks so the one of several that is in force.
fn in_brackets(text: &str) -> Option<&str> {
    text.split_once('[')?.1.split_once(']').map(|(word, _)| word)
}

/// `CapEff` of `/proc/self/status`.
fn effective(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Debian and Ubuntu have levels of perf_event_paranoid above 2; CAP_BPF and CAP_PERFMON came with 5.8.
    #[test]
    fn what_is_not_permitted_is_told_by_what_lacks() {
        const NONE: u64 = 0;
        const BPF: u64 = 1 << 39;
        const PERFMON: u64 = 1 << 38;
        const BOTH: u64 = BPF | PERFMON;
        const ADMIN: u64 = 1 << 21;
        const RESOURCE: u64 = 1 << 24;
        let prefix = std::env::temp_dir().join(format!("kmote-permitted-{}", std::process::id()));
        fs::create_dir_all(prefix.join("proc/self")).unwrap();
        fs::create_dir_all(prefix.join("proc/sys/kernel")).unwrap();
        fs::create_dir_all(prefix.join("sys/kernel/security")).unwrap();
        let both = "missing capability CAP_BPF and CAP_PERFMON (before Linux 5.8: CAP_SYS_ADMIN)";
        let admin = "missing capability CAP_SYS_ADMIN (kernel.perf_event_paranoid is above 2)";
        let policy = "refused by this machine's security policy";
        for (capabilities, paranoid, lockdown, expected) in [
            (NONE, "2", "", both),
            (NONE, "4", "", both),
            (RESOURCE, "3", "", both),
            (BPF, "2", "", "missing capability CAP_PERFMON"),
            (PERFMON, "2", "", "missing capability CAP_BPF (before Linux 5.8: CAP_SYS_ADMIN)"),
            (BOTH, "2", "", policy),
            (BOTH, "3", "", admin),
            (BOTH | RESOURCE, "4", "", admin),
            (ADMIN, "4", "", policy),
            (ADMIN, "2", "none integrity [confidentiality]", "refused by kernel lockdown"),
            (ADMIN, "2", "[none] integrity confidentiality", policy),
        ] {
            fs::write(prefix.join("proc/self/status"), format!("CapEff:\t{capabilities:016x}\n")).unwrap();
            fs::write(prefix.join("proc/sys/kernel/perf_event_paranoid"), paranoid).unwrap();
            fs::write(prefix.join("sys/kernel/security/lockdown"), lockdown).unwrap();
            let kernel = Kernel::ask(&prefix, None);
            assert_eq!(
                kernel.not_permitted().to_string(),
                expected,
                "{capabilities:x} {paranoid} {lockdown}"
            );
            // SELinux refuses a map with another errno than the kernel's own rules.
            assert_eq!(crate::object::prepare_refusal(&kernel, libc::EACCES), Refusal::Policy);
        }
        fs::remove_dir_all(&prefix).unwrap();
    }

    #[test]
    fn texts_of_the_kernel() {
        assert_eq!(in_brackets("none [integrity] confidentiality\n"), Some("integrity"));
        assert_eq!(in_brackets(""), None);
        assert_eq!(effective("CapPrm:\t1\nCapEff:\t000001fffeffffff\n"), 0x1ff_feff_ffff);
        assert_eq!(effective(""), 0);
    }
}
