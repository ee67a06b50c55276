// SPDX-License-Identifier: GPL-3.0-or-later
//! Hooks, and the choice among them from what a kernel offers.

use crate::chart::Mode;
use crate::home;
use core::fmt;

/// A way to run a program at an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// A trampoline at a function's entry: cheapest; needs BTF (x86 from 5.5, arm64 from 6.x).
    Fentry,
    /// The same at its return, with arguments and result.
    Fexit,
    /// A tracepoint without its record: as cheap; from 4.17.
    RawTracepoint,
    /// A breakpoint at a function's entry, by perf.
    Kprobe,
    /// The same at its return.
    Kretprobe,
    /// A tracepoint with its record, by perf; dearest.
    Tracepoint,
}

impl Mechanism {
    /// All of them, in the order of `index`.
    pub const ALL: [Self; 6] =
        [Self::Fentry, Self::Fexit, Self::RawTracepoint, Self::Kprobe, Self::Kretprobe, Self::Tracepoint];

    /// The word for it: in programs' names, in options and in reports.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Fentry => "fentry",
            Self::Fexit => "fexit",
            Self::RawTracepoint => "raw_tp",
            Self::Kprobe => "kprobe",
            Self::Kretprobe => "kretprobe",
            Self::Tracepoint => "tp",
        }
    }

    /// The word of `--only` that allows it: a function's entry and return go together.
    pub const fn family(self) -> &'static str {
        match self {
            Self::Fentry | Self::Fexit => "fentry",
            Self::RawTracepoint => "raw_tp",
            Self::Kprobe | Self::Kretprobe => "kprobe",
            Self::Tracepoint => "tp",
        }
    }

    /// Its place in `ALL`.
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// A mechanism and its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// Function entry by trampoline.
    Fentry(&'static str),
    /// Function return by trampoline.
    Fexit(&'static str),
    /// The same with a program that reads the result, which stands after the arguments: the kernel's BTF tells how many
    /// they are, since prototypes change.
    FexitResult(&'static str),
    /// Raw tracepoint, by its name alone.
    RawTracepoint(&'static str),
    /// The same with a program that reads so many arguments, and members of kernel structures, whose offsets must be known.
    /// A tracepoint that has fewer arguments refuses it, so that the form with more stands first.
    RawMembers(&'static (&'static str, u8, &'static [Member])),
    /// Function entry by kprobe.
    Kprobe(&'static str),
    /// Function return by kprobe.
    Kretprobe(&'static str),
    /// Classic tracepoint: category, slash and name, its place under `events` in tracefs.
    Tracepoint(&'static str),
    /// The same with a program that reads fields of its record, which must lie at these offsets.
    Record(&'static (&'static str, &'static [Field])),
    /// Several places of one mechanism that only together see the event. Those that the kernel has not got are passed
    /// over, since nothing happens there; all others must be taken, and at least one.
    All(&'static [Hook]),
    /// The same in short for system calls: their functions or tracepoints, with blanks between; at return the result is
    /// read.
    Syscalls(Mechanism, &'static str),
}

/// Stands last in a probe whose event does not happen on a kernel that has none of the places before it: there nothing is
/// missed, and the slots stay true.
pub const NOWHERE: Hook = Hook::All(&[]);

/// A field of a tracepoint's record and its offset in bytes, as the event's `format` file gives it. Offsets differ
/// between 32 and 64 bits and change between stable updates of one version, so no version number tells them.
pub type Field = (&'static str, usize);

/// A structure of the kernel and a member of it; the kernel's BTF tells its offset.
pub type Member = (&'static str, &'static str);

impl Hook {
    /// How it is attached.
    pub const fn mechanism(&self) -> Mechanism {
        match self {
            Self::Fentry(_) => Mechanism::Fentry,
            Self::Fexit(_) | Self::FexitResult(_) => Mechanism::Fexit,
            Self::RawTracepoint(_) | Self::RawMembers(..) => Mechanism::RawTracepoint,
            Self::Kprobe(_) => Mechanism::Kprobe,
            Self::Kretprobe(_) => Mechanism::Kretprobe,
            Self::Tracepoint(..) | Self::Record(..) | Self::All([]) => Mechanism::Tracepoint,
            Self::All([first, ..]) => first.mechanism(),
            Self::Syscalls(mechanism, _) => *mechanism,
        }
    }

    /// The function's or the tracepoint's name, without the category; the first of several.
    pub const fn target(&self) -> &'static str {
        match self {
            Self::Fentry(name) | Self::Fexit(name) | Self::FexitResult(name) => name,
            Self::Kprobe(name) | Self::Kretprobe(name) => name,
            Self::RawTracepoint(name) | Self::RawMembers((name, ..)) => name,
            Self::Tracepoint(place) | Self::Record((place, _)) => after_slash(place),
            Self::All([first, ..]) => first.target(),
            Self::All([]) => "nowhere",
            Self::Syscalls(_, names) => after_slash(first_word(names)),
        }
    }

    /// The function's name, if it hooks a function.
    pub const fn function(&self) -> Option<&'static str> {
        match self {
            Self::Fentry(name) | Self::Fexit(name) | Self::FexitResult(name) => Some(name),
            Self::Kprobe(name) | Self::Kretprobe(name) => Some(name),
            _ => None,
        }
    }

    /// The places where it hooks: itself, or its several.
    pub fn places(&self) -> impl DoubleEndedIterator<Item = Self> + use<> {
        let mechanism = self.mechanism();
        let (itself, several, syscalls) = match *self {
            Self::All(places) => (None, places, ""),
            Self::Syscalls(_, names) => (None, &[][..], names),
            place => (Some(place), &[][..], ""),
        };
        let syscalls = syscalls.split_ascii_whitespace().map(move |name| syscall(mechanism, name));
        itself.into_iter().chain(several.iter().copied()).chain(syscalls)
    }
}

/// One of `Syscalls`.
const fn syscall(mechanism: Mechanism, name: &'static str) -> Hook {
    match mechanism {
        Mechanism::Fentry => Hook::Fentry(name),
        Mechanism::Fexit => Hook::FexitResult(name),
        Mechanism::RawTracepoint => Hook::RawTracepoint(name),
        Mechanism::Kprobe => Hook::Kprobe(name),
        Mechanism::Kretprobe => Hook::Kretprobe(name),
        Mechanism::Tracepoint => Hook::Tracepoint(name),
    }
}

/// A tracepoint's name, without the category.
const fn after_slash(place: &str) -> &str {
    let mut begin = place.len();
    while begin > 0 && place.as_bytes()[begin - 1] != b'/' {
        begin -= 1;
    }
    place.split_at(begin).1
}

const fn first_word(words: &str) -> &str {
    let mut end = 0;
    while end < words.len() && words.as_bytes()[end] != b' ' {
        end += 1;
    }
    words.split_at(end).0
}

/// An event of a module: what is counted, and the hooks that see it, best first.
///
/// The order *is* the preference. A function that the kernel renamed is one more hook; the newer name stands
/// before the older one, because the older one may live on as a wrapper that nobody calls.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// Its name; the program for it is `<event>_<mechanism>`, or `<event>` where the program reads no context.
    pub event: &'static str,
    /// The slots that are true only while this probe is attached.
    pub slots: &'static [usize],
    /// The least mode in which it is attached.
    pub mode: Mode,
    /// Where to hook.
    pub hooks: &'static [Hook],
}

/// What is known of a name without trying it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// The kernel lists it.
    Present,
    /// The kernel lists such names, and not this one.
    Absent,
    /// The list cannot be read: try it.
    Untold,
}

/// What a kernel offers, as far as it can be told without trying.
pub trait Kernel {
    /// Why a mechanism cannot be used at all; `None` when it is worth a try.
    fn without(&self, mechanism: Mechanism) -> Option<Refusal>;
    /// Whether the kernel's symbols have this function.
    fn function(&self, name: &str) -> Known;
    /// Whether the kernel's BTF has this function.
    fn typed_function(&self, name: &str) -> Known;
    /// Whether the kernel has the tracepoint at this place: its category, a slash and its name.
    fn tracepoint(&self, place: &str) -> Known;
    /// Whether this kernel module is loaded; of one that is built in it may say anything.
    fn loaded(&self, _module: &str) -> Known {
        Known::Untold
    }
    /// Whether it can be told where this structure has this member.
    fn member(&self, _member: &Member) -> Known {
        Known::Absent
    }
    /// Whether this tracepoint's record has all `fields` where they are said to be.
    fn record(&self, place: &str, fields: &[Field]) -> Known;
    /// Whether the result of a system call, as its record has it, tells an error by its sign.
    fn signs_errors(&self) -> bool {
        true
    }
}

/// The field of a system call's exit that has its result.
const RESULT: &str = "ret";

/// Why a hook is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// `--only` names another mechanism.
    Excluded,
    /// It is not to be used, for this reason.
    Denied(&'static str),
    /// The kernel was built without it.
    NotBuilt,
    /// Kprobes are switched off in debugfs: they attach and never fire.
    SwitchedOff,
    /// No `/sys/kernel/btf/vmlinux`.
    NoBtf,
    /// The kernel's symbols do not have the function.
    NoFunction,
    /// The kernel's BTF does not have the function.
    NoTypedFunction,
    /// The function lives in this kernel module, which is not loaded.
    NotLoaded(&'static str),
    /// The function lives in this loaded kernel module, and nobody could unload it under a trampoline.
    InModule(&'static str),
    /// There is no such tracepoint.
    NoTracepoint,
    /// The kernel's BTF does not tell where a structure has a member.
    NoMember,
    /// The tracepoint's record has other fields, or has them elsewhere.
    OtherRecord,
    /// The tracepoint's record does not tell an error from a result.
    NoSign,
    /// Neither tracefs nor debugfs is mounted or readable.
    NoTracefs,
    /// The module has no program for this mechanism.
    NoProgram,
    /// Lockdown: the mode in force.
    Lockdown,
    /// Not permitted; the named capability is missing.
    NoCapability(&'static str),
    /// Not permitted though the capabilities are there: the machine's security policy.
    Policy,
    /// `RLIMIT_MEMLOCK` is too low and may not be raised.
    LockedMemory,
    /// The kernel's kprobe blacklist, or a function that cannot be traced.
    NotTraceable,
    /// Another program holds the tracepoint (one program each before 4.15).
    Busy,
    /// This kernel does not support the attachment (arm64 before 6.x).
    NotSupported,
    /// The verifier refused the program; the errno.
    Verifier(i32),
    /// Anything else: the errno.
    Errno(i32),
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Excluded => out.write_str("excluded by --only"),
            Self::Denied(reason) => out.write_str(reason),
            Self::NotBuilt => out.write_str("this kernel was built without it"),
            Self::SwitchedOff => {
                out.write_str("kprobes are switched off: write 1 to /sys/kernel/debug/kprobes/enabled")
            }
            Self::NoBtf => out.write_str("the kernel has no BTF"),
            Self::NoFunction => out.write_str("no such function"),
            Self::NoTypedFunction => out.write_str("no such function in the kernel's BTF"),
            Self::NotLoaded(module) => write!(out, "the kernel module {module} is not loaded"),
            Self::InModule(module) => write!(out, "it would keep the kernel module {module} from being unloaded"),
            Self::NoTracepoint => out.write_str("no such tracepoint"),
            Self::NoMember => out.write_str("the kernel's BTF does not tell where to read"),
            Self::OtherRecord => out.write_str("the tracepoint's record is laid out otherwise"),
            Self::NoSign => out.write_str("the tracepoint's record does not tell errors from results"),
            Self::NoTracefs => out.write_str("tracefs is not mounted: mount it on /sys/kernel/tracing"),
            Self::NoProgram => out.write_str("no program for it"),
            Self::Lockdown => out.write_str("refused by kernel lockdown"),
            Self::NoCapability(name) => write!(out, "missing capability {name}"),
            Self::Policy => out.write_str("refused by this machine's security policy"),
            Self::LockedMemory => {
                out.write_str("the locked memory limit is too low: raise it with `ulimit -l unlimited` or LimitMEMLOCK=infinity")
            }
            Self::NotTraceable => out.write_str("the kernel does not let this function be traced"),
            Self::Busy => out.write_str("another program holds it"),
            Self::NotSupported => out.write_str("this kernel cannot attach it"),
            Self::Verifier(errno) => write!(out, "the verifier refused the program (errno {errno})"),
            Self::Errno(errno) => write!(out, "errno {errno}"),
        }
    }
}

impl Hook {
    /// Why `kernel` will not take this hook, as far as it can be told without trying.
    pub fn refusal(&self, kernel: &impl Kernel) -> Option<Refusal> {
        if let Some(refusal) = kernel.without(self.mechanism()) {
            return Some(refusal);
        }
        let (known, refusal) = match self {
            // Only what the BTF lacks is looked for in the long list of all symbols.
            Self::Fentry(name) | Self::Fexit(name) | Self::FexitResult(name) => {
                let absent = kernel.typed_function(name) == Known::Absent;
                return absent.then(|| untyped(name, kernel));
            }
            Self::Kprobe(name) | Self::Kretprobe(name) => (kernel.function(name), missing(name, kernel)),
            // Raw tracepoints are listed nowhere for certain: the trial tells.
            Self::RawTracepoint(_) => (Known::Untold, Refusal::NoTracepoint),
            Self::RawMembers((_, _, members)) => {
                let told = members.iter().all(|member| kernel.member(member) == Known::Present);
                (if told { Known::Untold } else { Known::Absent }, Refusal::NoMember)
            }
            Self::Tracepoint(place) => (kernel.tracepoint(place), Refusal::NoTracepoint),
            Self::Record((place, fields)) => {
                if kernel.tracepoint(place) == Known::Absent {
                    return Some(Refusal::NoTracepoint);
                }
                if fields.iter().any(|(name, _)| *name == RESULT) && !kernel.signs_errors() {
                    return Some(Refusal::NoSign);
                }
                (kernel.record(place, fields), Refusal::OtherRecord)
            }
            Self::All(_) | Self::Syscalls(..) => return refusal_of_all(self, kernel),
        };
        (known == Known::Absent).then_some(refusal)
    }

    /// Whether the kernel has no such place, so that nothing happens there. A function that only its BTF lacks is
    /// called all the same.
    fn absent(&self, kernel: &impl Kernel) -> bool {
        match self {
            Self::Fentry(name) | Self::Fexit(name) | Self::FexitResult(name) => {
                kernel.typed_function(name) == Known::Absent
                    && kernel.function(name) != Known::Present
                    && !matches!(untyped(name, kernel), Refusal::InModule(_))
            }
            Self::Kprobe(name) | Self::Kretprobe(name) => kernel.function(name) == Known::Absent,
            Self::Tracepoint(place) | Self::Record((place, _)) => kernel.tracepoint(place) == Known::Absent,
            Self::RawTracepoint(_) | Self::RawMembers(..) => false,
            Self::All(_) | Self::Syscalls(..) => self.places().all(|place| place.absent(kernel)),
        }
    }

    /// The places of this hook that `kernel` has: they are to be taken all.
    pub fn present(&self, kernel: &impl Kernel) -> impl Iterator<Item = Self> {
        self.places().filter(|place| place.refusal(kernel).is_none())
    }
}

/// Why a function is missing.
pub fn missing(function: &str, kernel: &impl Kernel) -> Refusal {
    let away = home::of(function).filter(|module| kernel.loaded(module) == Known::Absent);
    away.map_or(Refusal::NoFunction, Refusal::NotLoaded)
}

/// Why the kernel's BTF lacks a function: those of modules are not in it.
fn untyped(function: &str, kernel: &impl Kernel) -> Refusal {
    let Some(module) = home::of(function) else { return Refusal::NoTypedFunction };
    match kernel.function(function) {
        Known::Absent => missing(function, kernel),
        _ if kernel.loaded(module) == Known::Present => Refusal::InModule(module),
        _ => Refusal::NoTypedFunction,
    }
}

/// Why `kernel` will not take these places: it has none of them, or refuses one that it has.
fn refusal_of_all(several: &Hook, kernel: &impl Kernel) -> Option<Refusal> {
    let (mut present, mut missing) = (false, Refusal::NoProgram);
    for place in several.places().rev() {
        match place.refusal(kernel) {
            None => present = true,
            Some(refusal) if place.absent(kernel) => missing = refusal,
            Some(refusal) => return Some(refusal),
        }
    }
    (!present).then_some(missing)
}

impl Probe {
    /// Settles on a hook: the first, in the order of preference, that `kernel` does not refuse and whose `trial`
    /// succeeds; its place in `hooks`, and what the trial gave. Each better hook and why it was not taken goes to
    /// `refused`.
    ///
    /// Neither kallsyms nor BTF proves that a hook attaches, so any failure falls through to the next hook.
    pub fn settle<T>(
        &self,
        kernel: &impl Kernel,
        mut trial: impl FnMut(&'static Hook) -> Result<T, Refusal>,
        mut refused: impl FnMut(usize, Refusal),
    ) -> Option<(usize, T)> {
        for (place, hook) in self.hooks.iter().enumerate() {
            let refusal = match hook {
                Hook::All([]) if self.absent(place, kernel) => None,
                _ => hook.refusal(kernel),
            };
            match refusal.map_or_else(|| trial(hook), Err) {
                Ok(taken) => return Some((place, taken)),
                Err(refusal) => refused(place, refusal),
            }
        }
        None
    }

    /// Whether the kernel has none of the first `count` hooks.
    fn absent(&self, count: usize, kernel: &impl Kernel) -> bool {
        self.hooks.iter().take(count).all(|hook| hook.absent(kernel))
    }

    /// The hook that is tried first on `kernel`; its place in `hooks`.
    pub fn choose(&self, kernel: &impl Kernel) -> Option<usize> {
        self.settle(kernel, |_| Ok(()), |_, _| {}).map(|(place, ())| place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Hook::*;

    /// A kernel as literals.
    struct Literal {
        mechanisms: &'static [Mechanism],
        functions: &'static [&'static str],
        typed: &'static [&'static str],
        tracepoints: Option<&'static [&'static str]>,
    }

    /// A kernel that has nothing but these functions in these loaded modules.
    struct Modular {
        functions: &'static [&'static str],
        typed: &'static [&'static str],
        modules: &'static [&'static str],
    }

    impl Kernel for Modular {
        fn without(&self, _: Mechanism) -> Option<Refusal> {
            None
        }
        fn function(&self, name: &str) -> Known {
            listed(self.functions, name)
        }
        fn typed_function(&self, name: &str) -> Known {
            listed(self.typed, name)
        }
        fn tracepoint(&self, _: &str) -> Known {
            Known::Absent
        }
        fn loaded(&self, module: &str) -> Known {
            listed(self.modules, module)
        }
        fn record(&self, _: &str, _: &[Field]) -> Known {
            Known::Absent
        }
    }

    #[test]
    fn functions_of_modules_are_hooked_without_holding_the_module() {
        use Refusal::{InModule, NoFunction, NoTypedFunction, NotLoaded};
        const OPEN: &[&str] = &["xfs_file_open"];
        for (case, functions, typed, modules, fentry, kprobe) in [
            ("not loaded", &[][..], &[][..], &[][..], Some(NotLoaded("xfs")), Some(NotLoaded("xfs"))),
            ("loaded", OPEN, &[], &["xfs"], Some(InModule("xfs")), None),
            ("loaded, renamed", &[], &[], &["xfs"], Some(NoFunction), Some(NoFunction)),
            ("built in", OPEN, OPEN, &[], None, None),
            ("built in, no BTF of it", OPEN, &[], &[], Some(NoTypedFunction), None),
        ] {
            let kernel = Modular { functions, typed, modules };
            assert_eq!(Fentry("xfs_file_open").refusal(&kernel), fentry, "{case}");
            assert_eq!(Kprobe("xfs_file_open").refusal(&kernel), kprobe, "{case}");
        }
    }

    #[test]
    fn of_several_modules_those_that_are_loaded_are_hooked() {
        const FENTRY: Hook = All(&[Fentry("nfs_file_open"), Fentry("nfs4_file_open")]);
        const KPROBE: Hook = All(&[Kprobe("nfs_file_open"), Kprobe("nfs4_file_open")]);
        let both: &[&str] = &["nfs_file_open", "nfs4_file_open"];
        for (functions, typed, modules, fentry, kprobe) in [
            (&[][..], &[][..], &[][..], 0, 0),
            (&both[..1], &[], &["nfs"], 0, 1),
            (both, &[], &["nfs", "nfsv4"], 0, 2),
            (both, &both[..1], &["nfsv4"], 0, 2),
            (both, both, &[], 2, 2),
        ] {
            let kernel = Modular { functions, typed, modules };
            let taken = |hook: &'static Hook| match hook.refusal(&kernel) {
                None => hook.present(&kernel).count(),
                Some(_) => 0,
            };
            assert_eq!((taken(&FENTRY), taken(&KPROBE)), (fentry, kprobe), "{functions:?} {modules:?}");
        }
    }

    fn listed(names: &[&str], name: &str) -> Known {
        if names.contains(&name) { Known::Present } else { Known::Absent }
    }

    impl Kernel for Literal {
        fn without(&self, mechanism: Mechanism) -> Option<Refusal> {
            (!self.mechanisms.contains(&mechanism)).then_some(Refusal::NotBuilt)
        }
        fn function(&self, name: &str) -> Known {
            listed(self.functions, name)
        }
        fn typed_function(&self, name: &str) -> Known {
            listed(self.typed, name)
        }
        fn tracepoint(&self, place: &str) -> Known {
            let name = after_slash(place);
            self.tracepoints.map_or(Known::Untold, |names| listed(names, name))
        }
        fn record(&self, place: &str, fields: &[Field]) -> Known {
            let name = after_slash(place);
            listed(&["task_newtask 32"], &format!("{name} {}", fields[0].1))
        }
    }

    #[test]
    fn a_record_must_be_laid_out_as_the_program_reads_it() {
        let kernel = Literal {
            mechanisms: &[Mechanism::Tracepoint],
            functions: &[],
            typed: &[],
            tracepoints: Some(&["task_newtask"]),
        };
        for (hook, expected) in [
            (Record(&("task/task_newtask", &[("clone_flags", 32)])), None),
            (Record(&("task/task_newtask", &[("clone_flags", 28)])), Some(Refusal::OtherRecord)),
            (Record(&("task/task_gone", &[("clone_flags", 32)])), Some(Refusal::NoTracepoint)),
        ] {
            assert_eq!(hook.refusal(&kernel), expected, "{hook:?}");
        }
    }

    /// One whose records are all as they should be, but for their results.
    struct Unsigned;

    impl Kernel for Unsigned {
        fn without(&self, _: Mechanism) -> Option<Refusal> {
            None
        }
        fn function(&self, _: &str) -> Known {
            Known::Present
        }
        fn typed_function(&self, _: &str) -> Known {
            Known::Present
        }
        fn tracepoint(&self, _: &str) -> Known {
            Known::Present
        }
        fn record(&self, _: &str, _: &[Field]) -> Known {
            Known::Present
        }
        fn signs_errors(&self) -> bool {
            false
        }
    }

    #[test]
    fn a_result_without_a_sign_counts_no_error() {
        for (hook, expected) in [
            (Record(&("syscalls/sys_exit_close", &[("ret", 12)])), Some(Refusal::NoSign)),
            (All(&[Record(&("syscalls/sys_exit_close", &[("ret", 12)]))]), Some(Refusal::NoSign)),
            (Record(&("task/task_newtask", &[("clone_flags", 32)])), None),
            (Tracepoint("syscalls/sys_enter_close"), None),
            (Kretprobe("sys_close"), None),
        ] {
            assert_eq!(hook.refusal(&Unsigned), expected, "{hook:?}");
        }
    }

    const PROBE: Probe = Probe {
        event: "added",
        slots: &[0],
        mode: Mode::Entry,
        hooks: &[
            Fentry("filemap_add_folio"),
            Fentry("add_to_page_cache_lru"),
            RawTracepoint("mm_filemap_add_to_page_cache"),
            Kprobe("filemap_add_folio"),
            Kprobe("add_to_page_cache_lru"),
            Tracepoint("filemap/mm_filemap_add_to_page_cache"),
        ],
    };
    const NEW: &[&str] = &["filemap_add_folio", "add_to_page_cache_lru"];
    const OLD: &[&str] = &["add_to_page_cache_lru"];
    const POINTS: Option<&[&str]> = Some(&["mm_filemap_add_to_page_cache"]);

    #[test]
    fn of_several_places_the_absent_are_passed_over_and_no_other() {
        const SEVERAL: Hook = All(&[Fentry("x64"), Fentry("arm64"), Fentry("ring")]);
        for (functions, typed, expected, present) in [
            (&["x64", "ring"][..], &["x64", "ring"][..], None, &["x64", "ring"][..]),
            (&["arm64"], &["arm64"], None, &["arm64"]),
            // It is called, but only its name is known: without it the count would be short.
            (&["x64", "ring"], &["x64"], Some(Refusal::NoTypedFunction), &["x64"]),
            (&[], &[], Some(Refusal::NoTypedFunction), &[]),
        ] {
            let kernel = Literal { mechanisms: &Mechanism::ALL, functions, typed, tracepoints: None };
            assert_eq!(SEVERAL.refusal(&kernel), expected, "{functions:?}, {typed:?}");
            let seen: Vec<_> = SEVERAL.present(&kernel).map(|place| place.target()).collect();
            assert_eq!(seen, present);
        }
        let kernel = Literal { mechanisms: &[], functions: &["x64"], typed: &["x64"], tracepoints: None };
        assert_eq!(SEVERAL.refusal(&kernel), Some(Refusal::NotBuilt));
    }

    #[test]
    fn system_calls_are_the_same_as_all_their_places() {
        for (short, long) in [
            (Syscalls(Mechanism::Fentry, "a b "), All(&[Fentry("a"), Fentry("b")])),
            (Syscalls(Mechanism::Fexit, "a b"), All(&[FexitResult("a"), FexitResult("b")])),
            (Syscalls(Mechanism::Kprobe, "a"), All(&[Kprobe("a")])),
            (Syscalls(Mechanism::Kretprobe, "a b"), All(&[Kretprobe("a"), Kretprobe("b")])),
            (Syscalls(Mechanism::Tracepoint, "syscalls/a"), All(&[Tracepoint("syscalls/a")])),
        ] {
            assert!(short.places().eq(long.places()), "{short:?}");
            assert_eq!((short.mechanism(), short.target()), (long.mechanism(), long.target()));
            for mechanisms in [&Mechanism::ALL[..], &[]] {
                for names in [&["b"][..], &["a", "b"], &[]] {
                    let (functions, typed, tracepoints) = (names, names, Some(names));
                    let kernel = Literal { mechanisms, functions, typed, tracepoints };
                    assert_eq!(short.refusal(&kernel), long.refusal(&kernel), "{short:?} {names:?}");
                    assert_eq!(short.absent(&kernel), long.absent(&kernel), "{short:?} {names:?}");
                }
            }
        }
    }

    #[test]
    fn what_happens_nowhere_is_not_missed() {
        const SIX: Probe = Probe { hooks: &[Fentry("six"), Kprobe("six"), NOWHERE], ..PROBE };
        for (functions, mechanisms, expected) in [
            (&["six"][..], &Mechanism::ALL[..], Some(1)),
            (&[], &Mechanism::ALL, Some(2)),
            (&[], &[], Some(2)),
            // It is there and cannot be hooked.
            (&["six"], &[], None),
        ] {
            let kernel = Literal { mechanisms, functions, typed: &[], tracepoints: None };
            assert_eq!(SIX.choose(&kernel), expected, "{functions:?} {mechanisms:?}");
        }
    }

    #[test]
    fn the_best_hook_of_each_kernel() {
        use Mechanism as M;
        let all: &[M] = &M::ALL;
        for (kernel, mechanisms, functions, typed, tracepoints, expected) in [
            ("6.12", all, NEW, NEW, POINTS, Some(0)),
            ("5.10", all, OLD, OLD, POINTS, Some(1)),
            ("armhf 6.12, no BTF", &[M::RawTracepoint, M::Kprobe, M::Tracepoint], NEW, &[], POINTS, Some(2)),
            ("4.9, no raw tracepoints", &[M::Kprobe, M::Tracepoint], OLD, &[], POINTS, Some(4)),
            ("kprobes off, tracefs hidden", &[M::Tracepoint], &[], &[], None, Some(5)),
            ("kprobes off, tracepoint gone", &[M::Tracepoint], &[], &[], Some(&[]), None),
            ("nothing", &[], NEW, NEW, POINTS, None),
        ] {
            let kernel_facts = Literal { mechanisms, functions, typed, tracepoints };
            assert_eq!(PROBE.choose(&kernel_facts), expected, "{kernel}");
        }
    }

    #[test]
    fn a_failed_trial_falls_through_to_the_next_hook() {
        let kernel = Literal { mechanisms: &Mechanism::ALL, functions: OLD, typed: NEW, tracepoints: POINTS };
        let (mut tried, mut refused) = (Vec::new(), Vec::new());
        let fail_but_last = |hook: &Hook| {
            tried.push(*hook);
            if hook.mechanism() == Mechanism::Tracepoint { Ok("taken") } else { Err(Refusal::NotSupported) }
        };
        let settled = PROBE.settle(&kernel, fail_but_last, |place, refusal| refused.push((place, refusal)));
        assert_eq!(settled, Some((5, "taken")));
        assert_eq!(
            tried,
            [0, 1, 2, 4, 5].map(|place| PROBE.hooks[place]),
            "the absent function is not tried"
        );
        let why = |place| if place == 3 { Refusal::NoFunction } else { Refusal::NotSupported };
        assert_eq!(refused, [0, 1, 2, 3, 4].map(|place| (place, why(place))));
    }

    #[test]
    fn a_probe_that_nothing_takes_is_lost_with_all_its_reasons() {
        let kernel = Literal { mechanisms: &Mechanism::ALL, functions: OLD, typed: NEW, tracepoints: POINTS };
        let mut reasons = 0;
        assert_eq!(PROBE.settle(&kernel, |_| Err::<(), _>(Refusal::Busy), |_, _| reasons += 1), None);
        assert_eq!(reasons, PROBE.hooks.len());
    }

    #[test]
    fn the_words_name_what_to_do() {
        for (refusal, words) in [
            (Refusal::NoCapability("CAP_BPF"), "missing capability CAP_BPF"),
            (Refusal::NoTracefs, "tracefs is not mounted: mount it on /sys/kernel/tracing"),
            (Refusal::Errno(7), "errno 7"),
        ] {
            assert_eq!(refusal.to_string(), words);
        }
    }

    #[test]
    fn mechanisms_stand_at_their_index() {
        for (place, mechanism) in Mechanism::ALL.iter().enumerate() {
            assert_eq!(mechanism.index(), place);
        }
    }
}
