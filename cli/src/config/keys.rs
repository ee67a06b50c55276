// SPDX-License-Identifier: GPL-3.0-or-later
//! The keys that are known: those that are heeded, and those of Netdata's plugin that have no meaning here, and why.

use kmote_core::module::Module;
use kmote_core::modules::MODULES;

/// A key that is heeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// Seconds from read to read.
    UpdateEvery,
    /// Entry or return.
    Mode,
    /// Whether kprobes are used at all.
    Kprobes,
    /// Whether privileges are dropped after the start.
    Sandbox,
    /// Whether work is counted by applications.
    Apps,
    /// Whether work is counted by containers and services.
    Cgroups,
    /// How many processes the kernel's table of them holds.
    Processes,
    /// Kilobytes of kernel memory that maps may take.
    Budget,
}

impl Key {
    /// What its values look like.
    pub const fn wanted(self) -> &'static str {
        match self {
            Self::UpdateEvery => "a whole number of seconds from 1 to 86400 is wanted",
            Self::Mode => "entry or return is wanted",
            Self::Kprobes | Self::Sandbox | Self::Cgroups => YES_OR_NO,
            Self::Apps => "yes, no or old is wanted",
            Self::Budget => {
                "a whole number of kB from 1 to 4194304 is wanted, or 0 for what fits the machine"
            }
            Self::Processes => "a whole number of processes from 64 to 1048576 is wanted",
        }
    }

    /// Whether a module may have its own.
    pub const fn of_modules(self) -> bool {
        matches!(self, Self::UpdateEvery | Self::Mode)
    }
}

/// What a boolean looks like.
pub const YES_OR_NO: &str = "yes or no is wanted";

/// The keys that are heeded under their names; the first name is the one that is printed.
pub const HEEDED: &[(&str, Key)] = &[
    ("update every", Key::UpdateEvery),
    ("ebpf load mode", Key::Mode),
    ("load", Key::Mode),
    ("kprobes", Key::Kprobes),
    ("sandbox", Key::Sandbox),
    ("apps", Key::Apps),
    ("cgroups", Key::Cgroups),
    ("pid table size", Key::Processes),
    ("kernel memory budget", Key::Budget),
];

/// The section of what is for all modules; in a module's file, for that one.
pub const GLOBAL: &str = "global";
/// The section that switches modules on and off.
pub const PROGRAMS: &str = "ebpf programs";

/// The section of a module's file that switches its calls on and off.
pub const SYSCALLS: &str = "syscalls";

/// The section, and the file, of filesystems, which are one module of Netdata's plugin and one each of ours.
pub const FILESYSTEM: &str = "filesystem";

/// Netdata's other names of modules, in `[ebpf programs]` and as file names.
const ALIASES: &[(&str, &str)] = &[
    ("network viewer", "socket"),
    ("network", "socket"),
    (FILESYSTEM, "ext4"),
    (FILESYSTEM, "xfs"),
    (FILESYSTEM, "nfs"),
    (FILESYSTEM, "zfs"),
    (FILESYSTEM, "btrfs"),
];

/// The module that is called so.
pub fn module(name: &str) -> Option<usize> {
    MODULES.iter().position(|module| module.name == name)
}

/// The modules that are switched by this name.
pub fn modules(name: &str) -> impl Iterator<Item = usize> {
    let is_it = move |module: &Module| {
        module.name == name || ALIASES.iter().any(|(alias, real)| *alias == name && *real == module.name)
    };
    MODULES.iter().enumerate().filter(move |(_, module)| is_it(module)).map(|(place, _)| place)
}

/// The names of a module's files, without `.conf`: the weaker first.
pub fn stems(module: &Module) -> impl Iterator<Item = &'static str> {
    let aliases = ALIASES.iter().filter(|(alias, real)| *real == module.name && !alias.contains(' '));
    aliases.map(|(alias, _)| *alias).chain([module.name])
}

/// A key of Netdata's plugin that is known, and not heeded.
struct Ignored {
    section: &'static str,
    /// The keys; none stands for all of the section.
    keys: &'static [&'static str],
    /// The values with which the key asks for nothing that kmote does not do anyway.
    harmless: &'static [&'static str],
    why: &'static str,
}

const NO: &[&str] = &["no", "off", "false"];
const YES: &[&str] = &["yes", "on", "true"];
const ANY: &[&str] = &["*"];

const fn ignored(
    section: &'static str,
    keys: &'static [&'static str],
    harmless: &'static [&'static str],
    why: &'static str,
) -> Ignored {
    Ignored { section, keys, harmless, why }
}

const IGNORED: &[Ignored] = &[
    ignored(GLOBAL, &["disable apps"], YES, "its new name is apps"),
    // Heeded where they are for all modules.
    ignored(GLOBAL, &["apps", "cgroups"], NO, "it is for all modules, in ebpf.d.conf or kmote.conf"),
    ignored(GLOBAL, &["kernel memory budget"], &[], "it is for all modules, in ebpf.d.conf or kmote.conf"),
    ignored(GLOBAL, &["pid table size"], ANY, "there is one table, of which ebpf.d.conf or kmote.conf tells"),
    ignored(
        GLOBAL,
        &["btf path"],
        &["/sys/kernel/btf", "/sys/kernel/btf/"],
        "kmote asks the running kernel for its BTF",
    ),
    ignored(
        GLOBAL,
        &["ebpf type format", "ebpf object flavor"],
        &["auto", "buffer"],
        "kmote has one object for all kernels",
    ),
    ignored(
        GLOBAL,
        &["ebpf co-re tracing"],
        &["trampoline"],
        "kmote takes the cheapest hook that the kernel offers; --only restricts it",
    ),
    ignored(GLOBAL, &["collect pid"], &["real parent"], "kmote attributes work to the process that did it"),
    ignored(GLOBAL, &["maps per core"], YES, "kmote's counters are per CPU, so that none is lost"),
    ignored(GLOBAL, &["lifetime"], &["300"], "kmote runs until it is stopped"),
    ignored(
        GLOBAL,
        &[
            "socket monitoring table size",
            "udp connection table size",
            "bandwidth table size",
            "ipv4 connection table size",
            "ipv6 connection table size",
            "maximum dimensions",
        ],
        ANY,
        "kmote has no table of connections",
    ),
    ignored(
        PROGRAMS,
        &["network connections", "network connection monitoring", "dns"],
        NO,
        "kmote does not list connections",
    ),
    ignored("network connections", &[], ANY, "kmote does not list connections"),
    ignored("service name", &[], ANY, "kmote does not list connections"),
    ignored("ipc", &[], ANY, "kmote needs no other plugin"),
    ignored(SYSCALLS, &[], YES, "no such call is counted here; each is switched in the file of its module"),
    ignored("filesystem", &[], YES, "kmote watches the filesystems that the kernel has"),
];

/// Files of Netdata's plugin for what kmote has not got.
pub const OTHER_FILES: &[(&str, &str)] =
    &[("functions.conf", "kmote has no functions"), ("dns.conf", "kmote does not list queries")];

/// Netdata's modules, some of which kmote may not have.
const THEIRS: &[&str] = &[
    "network viewer",
    "cachestat",
    "dcstat",
    "disk",
    "fd",
    "filesystem",
    "hardirq",
    "mdflush",
    "mount",
    "oomkill",
    "process",
    "shm",
    "socket",
    "softirq",
    "swap",
    "sync",
    "vfs",
];

/// Why a key of Netdata's plugin says nothing to us: `None` when the key is not known at all, `Some(None)` when its
/// value asks for nothing that is missed.
pub fn ignored_key(section: &str, key: &str, value: &str) -> Option<Option<&'static str>> {
    let is_it = |row: &&Ignored| row.section == section && (row.keys.is_empty() || row.keys.contains(&key));
    if let Some(row) = IGNORED.iter().find(is_it) {
        let harmless = row.harmless.iter().any(|word| *word == "*" || word.eq_ignore_ascii_case(value));
        return Some((!harmless).then_some(row.why));
    }
    let theirs = section == PROGRAMS && THEIRS.contains(&key);
    theirs.then(|| (!NO.contains(&value)).then_some("kmote has no such module"))
}

/// Whether a section is known, though nothing in it may be heeded.
pub fn ignored_section(section: &str) -> bool {
    IGNORED.iter().any(|row| row.section == section)
}
