// SPDX-License-Identifier: GPL-3.0-or-later
//! One program on one hook: loaded as what its mechanism asks for, attached, and kept by its descriptors.

use crate::kernel::{Kernel, Kprobes};
use crate::sys::{self, Errno, Load, PerfEvent, Runs};
use kmote_core::hook::{Hook, Mechanism, Refusal, missing};
use libbpf_sys as raw;
use std::ffi::{CStr, CString};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The longest name of a program that the kernel keeps.
const NAME: usize = 15;

/// An attached program; dropping it detaches it.
#[derive(Debug)]
pub struct Link {
    // Fields are dropped in this order: the event is closed before its line in tracefs is taken back.
    _attachment: OwnedFd,
    program: OwnedFd,
    _line: Option<ProbeLine>,
}

impl Link {
    /// How often its program ran, where the kernel counts that.
    pub fn runs(&self) -> Runs {
        sys::runs(self.program.as_fd())
    }
}

/// A line of ours in `kprobe_events`; taken back when dropped.
#[derive(Debug)]
struct ProbeLine {
    events: PathBuf,
    name: String,
}

impl Drop for ProbeLine {
    fn drop(&mut self) {
        // A line that the kernel will not give back now is swept away by the next start.
        let _ = append(&self.events, &format!("-:kprobes/{}\n", self.name));
    }
}

/// Loads and attaches `instructions` at `hook` as the program of `event`; a return by kprobe with records for so many
/// threads inside of the function.
pub fn attach(
    kernel: &Kernel,
    hook: &Hook,
    event: &str,
    instructions: &[raw::bpf_insn],
    kernel_version: u32,
    returns: usize,
) -> Result<Link, Refusal> {
    let (mechanism, name) = (hook.mechanism(), program_name(event));
    let (kind, attach_type) = match mechanism {
        Mechanism::Fentry => (raw::BPF_PROG_TYPE_TRACING, raw::BPF_TRACE_FENTRY),
        Mechanism::Fexit => (raw::BPF_PROG_TYPE_TRACING, raw::BPF_TRACE_FEXIT),
        Mechanism::RawTracepoint => (raw::BPF_PROG_TYPE_RAW_TRACEPOINT, 0),
        Mechanism::Kprobe | Mechanism::Kretprobe => (raw::BPF_PROG_TYPE_KPROBE, 0),
        Mechanism::Tracepoint => (raw::BPF_PROG_TYPE_TRACEPOINT, 0),
    };
    let target = match (mechanism, hook.function()) {
        (Mechanism::Fentry | Mechanism::Fexit, Some(function)) => {
            kernel.type_id(function).ok_or(Refusal::NoTypedFunction)?
        }
        _ => 0,
    };
    let load = Load { name: &name, kind, attach_type, target, kernel_version };
    let older = |errno| sys::load(&reading_anything(instructions).ok_or(errno)?, &load);
    let program = sys::load(instructions, &load).or_else(older).map_err(|errno| {
        let refusal = kernel.load_refusal(mechanism, errno);
        if mechanism_wide(&refusal) {
            kernel.refuse(mechanism, refusal);
        }
        refusal
    })?;
    let (attachment, line) = connect(kernel, hook, attach_type, program.as_fd(), returns)
        .map_err(|errno| attach_refusal(kernel, hook, errno))?;
    Ok(Link { _attachment: attachment, program, _line: line })
}

/// The program as kernels before v5.5 (6ae08ae3dea2) take it, which know only a read of whatever address; `None` where it
/// reads nothing. All addresses are the kernel's own, so that the newer call is the one to try first.
fn reading_anything(instructions: &[raw::bpf_insn]) -> Option<Vec<raw::bpf_insn>> {
    let reads = |instruction: &raw::bpf_insn| {
        u32::from(instruction.code) == raw::BPF_JMP | raw::BPF_CALL
            && instruction.src_reg() == 0
            && instruction.imm == raw::BPF_FUNC_probe_read_kernel as i32
    };
    instructions.iter().any(reads).then(|| {
        let older = |one: &raw::bpf_insn| match reads(one) {
            true => raw::bpf_insn { imm: raw::BPF_FUNC_probe_read as i32, ..*one },
            false => *one,
        };
        instructions.iter().map(older).collect()
    })
}

/// Whether a refusal at load holds for every program of the mechanism: the kernel said no to the kind, not to the code.
const fn mechanism_wide(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::Policy | Refusal::NoCapability(_) | Refusal::Lockdown | Refusal::NotBuilt)
}

fn program_name(event: &str) -> CString {
    let mut name = format!("kmote_{event}");
    name.truncate(NAME);
    CString::new(name).unwrap_or_default()
}

fn connect(
    kernel: &Kernel,
    hook: &Hook,
    attach_type: u32,
    program: BorrowedFd<'_>,
    returns: usize,
) -> Result<(OwnedFd, Option<ProbeLine>), Errno> {
    let target = CString::new(hook.target()).unwrap_or_default();
    let attachment = match hook {
        Hook::Fentry(_) | Hook::Fexit(_) | Hook::FexitResult(_) => {
            sys::attach_trampoline(program, attach_type)?
        }
        Hook::RawTracepoint(_) | Hook::RawMembers(..) => sys::attach_raw_tracepoint(&target, program)?,
        Hook::Tracepoint(place) | Hook::Record((place, _)) => {
            let id = kernel.tracepoint_id(place).ok_or(libc::ENOENT)?;
            sys::attach_perf_event(PerfEvent::Tracepoint(id), program)?
        }
        Hook::Kprobe(_) | Hook::Kretprobe(_) => {
            let returns = matches!(hook, Hook::Kretprobe(_)).then_some(returns);
            return connect_kprobe(kernel, &target, returns, program);
        }
        // Its places are attached one by one.
        Hook::All(_) | Hook::Syscalls(..) => return Err(libc::EINVAL),
    };
    Ok((attachment, None))
}

fn connect_kprobe(
    kernel: &Kernel,
    function: &CStr,
    returns: Option<usize>,
    program: BorrowedFd<'_>,
) -> Result<(OwnedFd, Option<ProbeLine>), Errno> {
    let name = function.to_str().map_err(|_| libc::EINVAL)?;
    // The kernel's own limit of threads inside is one a CPU, or ten; another can be set in tracefs only, since v4.12, up
    // to 4096.
    if let Some(returns) = returns
        && let Ok(connected) = connect_line(kernel, &format!("r{returns}"), name, program)
    {
        return Ok(connected);
    }
    let at_return = returns.is_some();
    match kernel.kprobes {
        Some(Kprobes::Pmu(pmu, bit)) => {
            let event = PerfEvent::Kprobe { pmu, config: if at_return { bit } else { 0 }, function };
            sys::attach_perf_event(event, program).map(|attachment| (attachment, None))
        }
        _ => connect_line(kernel, if at_return { "r" } else { "p" }, name, program),
    }
}

/// Makes a probe by a line in tracefs; `kind` is `p` or `r`, and may have a limit after it.
fn connect_line(
    kernel: &Kernel,
    kind: &str,
    function: &str,
    program: BorrowedFd<'_>,
) -> Result<(OwnedFd, Option<ProbeLine>), Errno> {
    let events = kernel.tracefs.as_ref().ok_or(libc::ENOENT)?.join("kprobe_events");
    // Two modules may hook one function, each by a line of its own.
    let nr = LINES.fetch_add(1, Ordering::Relaxed);
    let (process, letter) = (std::process::id(), kind.get(..1).unwrap_or_default());
    let mut name = format!("{PREFIX}{process}_{nr}_{letter}_{function}");
    name.truncate(MOST_NAME);
    append(&events, &format!("{kind}:kprobes/{name} {function}\n"))?;
    let line = ProbeLine { events, name };
    let id = kernel.tracepoint_id(&format!("kprobes/{}", line.name)).ok_or(libc::ENOENT)?;
    Ok((sys::attach_perf_event(PerfEvent::Tracepoint(id), program)?, Some(line)))
}

/// How many lines were made so far.
static LINES: AtomicUsize = AtomicUsize::new(0);
/// The longest name of an event that the kernel takes (MAX_EVENT_NAME_LEN of kernel/trace/trace_probe.h).
const MOST_NAME: usize = 63;

/// What the names of our lines in `kprobe_events` begin with; our process id follows.
const PREFIX: &str = "kmote_";

/// Takes back lines in `kprobe_events` that a kmote left which was killed. Other tools' lines, and those of a
/// process that lives, stay.
pub fn sweep(kernel: &Kernel) {
    let Some(events) = kernel.tracefs.as_ref().map(|tracefs| tracefs.join("kprobe_events")) else { return };
    for line in fs::read_to_string(&events).unwrap_or_default().lines() {
        if let Some(name) = stale(line, |process| Path::new("/proc").join(process).exists()) {
            let _ = append(&events, &format!("-:kprobes/{name}\n"));
        }
    }
}

/// The name of a line of ours whose process is gone.
fn stale(line: &str, lives: impl Fn(&str) -> bool) -> Option<&str> {
    let name = line.split_once(":kprobes/")?.1.split_whitespace().next()?;
    let process = name.strip_prefix(PREFIX)?.split('_').next()?;
    let is_number = !process.is_empty() && process.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && !lives(process)).then_some(name)
}

fn append(path: &Path, line: &str) -> Result<(), Errno> {
    // Appended: opening this file with truncation would take away the probes of all other tools.
    let written =
        OpenOptions::new().append(true).open(path).and_then(|mut file| file.write_all(line.as_bytes()));
    written.map_err(|error| error.raw_os_error().unwrap_or(libc::EIO))
}

/// What an errno of attaching means.
fn attach_refusal(kernel: &Kernel, hook: &Hook, errno: Errno) -> Refusal {
    match (hook.mechanism(), errno) {
        (_, libc::EPERM | libc::EACCES) => kernel.not_permitted(),
        (_, 524 | libc::EOPNOTSUPP) => Refusal::NotSupported,
        (Mechanism::RawTracepoint | Mechanism::Tracepoint, libc::ENOENT) => Refusal::NoTracepoint,
        (Mechanism::Tracepoint, libc::EEXIST | libc::EBUSY) => Refusal::Busy,
        (Mechanism::Kprobe | Mechanism::Kretprobe, libc::ENOENT) => missing(hook.target(), kernel),
        (Mechanism::RawTracepoint, libc::EINVAL) => Refusal::NotSupported,
        (_, libc::EINVAL | libc::EBUSY | libc::EADDRNOTAVAIL) => Refusal::NotTraceable,
        (_, other) => Refusal::Errno(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_lines_of_the_dead_are_stale() {
        let lives = |process: &str| process == "7";
        for (line, expected) in [
            ("p:kprobes/kmote_12_0_p_vfs_read vfs_read", Some("kmote_12_0_p_vfs_read")),
            ("r1024:kprobes/kmote_12_3_r_vfs_read vfs_read", Some("kmote_12_3_r_vfs_read")),
            ("p:kprobes/kmote_7_0_p_vfs_read vfs_read", None),
            ("p:kprobes/kmote_x vfs_read", None),
            ("p:kprobes/kmote_ vfs_read", None),
            ("p:other/kmote_12_p_vfs_read vfs_read", None),
            ("p:kprobes/libbpf_12_0_vfs_read vfs_read", None),
            ("", None),
        ] {
            assert_eq!(stale(line, lives), expected, "{line}");
        }
    }

    #[test]
    fn reads_of_the_kernel_have_an_older_call() {
        let call = |imm| raw::bpf_insn { code: 0x85, imm, ..Default::default() };
        let calls = |code: &[raw::bpf_insn]| code.iter().map(|one| one.imm).collect::<Vec<_>>();
        let mut number = raw::bpf_insn { code: 0xb7, imm: 113, ..Default::default() };
        number.set_dst_reg(1);
        let older = reading_anything(&[call(14), call(113), number]).unwrap();
        assert_eq!((calls(&older), older[2].code, older[2].dst_reg()), (vec![14, 4, 113], 0xb7, 1));
        assert!(reading_anything(&[call(14), call(1), number]).is_none());
    }

    #[test]
    fn names_fit_the_kernel() {
        assert_eq!(program_name("added").as_bytes(), b"kmote_added");
        assert_eq!(program_name("buffer_dirtied").as_bytes(), b"kmote_buffer_di");
    }
}
