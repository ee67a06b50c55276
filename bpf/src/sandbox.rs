// SPDX-License-Identifier: GPL-3.0-or-later
//! What a run gives up once it is under way: capabilities, new privileges, and all system calls but those of a tick.

use crate::sys::{self, Errno};

/// What a run needs besides reading maps and the kernel's texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// To write a file anew on each tick.
    pub files: bool,
    /// To attach programs later.
    pub attaching: bool,
    /// To connect to a parent again.
    pub network: bool,
}

/// Capabilities by which programs are attached, old kernels' and new ones'.
const ATTACHING: u64 = bit(21) | bit(38) | bit(39);
/// Sets of capabilities that may be needed to read a map, the smallest first: none from 5.19 (c8644cd0efe7), and before
/// where `kernel.unprivileged_bpf_disabled` is 0; else CAP_BPF from 5.8, or CAP_SYS_ADMIN.
const READING: [u64; 3] = [0, bit(39), bit(21)];

const fn bit(number: u32) -> u64 {
    1 << number
}

/// Gives up all capabilities without which `reads` still succeeds; gives those that are kept.
pub fn drop_capabilities(needs: Needs, mut reads: impl FnMut() -> bool) -> Result<u64, Errno> {
    let (_, all) = sys::capabilities()?;
    let attaching = if needs.attaching { ATTACHING & all } else { 0 };
    for reading in READING {
        let kept = (reading & all) | attaching;
        // Only the effective ones first: those that are permitted can be taken up again.
        sys::set_capabilities(kept, all)?;
        if reads() {
            sys::set_capabilities(kept, kept)?;
            return Ok(kept);
        }
    }
    sys::set_capabilities(all, all)?;
    Ok(all)
}

/// Lets this process make only the system calls of a tick, for good. Others fail with EPERM: what was overlooked shall cost
/// a value and not the process.
pub fn confine(needs: Needs) -> Result<(), Errno> {
    sys::confine(&filter(needs))
}

/// The number by which the kernel's filter knows this architecture (`AUDIT_ARCH_…`); `None` where we have none.
const ARCHITECTURE: Option<u32> = {
    if cfg!(target_arch = "x86_64") {
        Some(0xc000_003e)
    } else if cfg!(target_arch = "aarch64") {
        Some(0xc000_00b7)
    } else if cfg!(target_arch = "arm") {
        Some(0x4000_0028)
    } else if cfg!(target_arch = "riscv64") {
        Some(0xc000_00f3)
    } else if cfg!(target_arch = "x86") {
        Some(0x4000_0003)
    } else if cfg!(all(target_arch = "mips", target_endian = "little")) {
        Some(0x4000_0008)
    } else {
        None
    }
};

/// The number of the first call: MIPS has several tables, and that of its 32-bit programs begins at 4000.
#[cfg(target_pointer_width = "32")]
const FIRST: libc::c_long = if cfg!(target_arch = "mips") { 4000 } else { 0 };

// The libc crate lacks these for MIPS (arch/mips/kernel/syscalls/syscall_o32.tbl).
#[cfg(target_arch = "mips")]
const PREAD64: libc::c_long = FIRST + 200;
#[cfg(target_arch = "mips")]
const PWRITE64: libc::c_long = FIRST + 201;
#[cfg(target_arch = "mips")]
const FSTATAT64: libc::c_long = FIRST + 293;
#[cfg(not(target_arch = "mips"))]
const PREAD64: libc::c_long = libc::SYS_pread64;
#[cfg(not(target_arch = "mips"))]
const PWRITE64: libc::c_long = libc::SYS_pwrite64;
#[cfg(all(target_pointer_width = "32", not(target_arch = "mips")))]
const FSTATAT64: libc::c_long = libc::SYS_fstatat64;

/// Calls of every tick, of an end by request, and of a complaint.
const CALLS: &[libc::c_long] = &[
    libc::SYS_bpf,
    libc::SYS_brk,
    // For the child that detaches; without execve it can only be what we are.
    libc::SYS_clone,
    libc::SYS_clock_gettime,
    libc::SYS_close,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_fcntl,
    libc::SYS_fstat,
    libc::SYS_futex,
    libc::SYS_getdents64,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_getrandom,
    libc::SYS_getrusage,
    libc::SYS_lseek,
    libc::SYS_madvise,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_ppoll,
    PREAD64,
    PWRITE64,
    libc::SYS_read,
    libc::SYS_readlinkat,
    libc::SYS_restart_syscall,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_yield,
    libc::SYS_sigaltstack,
    libc::SYS_statx,
    libc::SYS_write,
    libc::SYS_writev,
    // The size of a terminal.
    libc::SYS_ioctl,
];

/// The same where they have other names: before the calls that take a directory, and on 32 bits.
#[cfg(target_arch = "x86_64")]
const MORE: &[libc::c_long] = &[
    libc::SYS_mmap,
    libc::SYS_newfstatat,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_readlink,
    libc::SYS_access,
    libc::SYS_poll,
];
#[cfg(all(target_pointer_width = "64", not(target_arch = "x86_64")))]
const MORE: &[libc::c_long] = &[libc::SYS_mmap, libc::SYS_newfstatat];
// The last three are clock_gettime64, ppoll_time64 and futex_time64, which have one number on all architectures, counted
// from the first call.
#[cfg(target_pointer_width = "32")]
const MORE: &[libc::c_long] = &[
    libc::SYS_mmap2,
    libc::SYS__llseek,
    libc::SYS_fstat64,
    FSTATAT64,
    libc::SYS_stat64,
    libc::SYS_lstat64,
    libc::SYS_fcntl64,
    libc::SYS_readlink,
    libc::SYS_access,
    libc::SYS_poll,
    FIRST + 403,
    FIRST + 414,
    FIRST + 422,
];

/// Calls by which a file is put in the place of another.
const FILES: &[libc::c_long] = &[libc::SYS_renameat2, libc::SYS_unlinkat, libc::SYS_ftruncate];
#[cfg(any(target_arch = "x86_64", target_arch = "x86", target_arch = "arm", target_arch = "mips"))]
const MORE_FILES: &[libc::c_long] = &[libc::SYS_rename, libc::SYS_renameat, libc::SYS_unlink];
#[cfg(target_arch = "aarch64")]
const MORE_FILES: &[libc::c_long] = &[libc::SYS_renameat];
#[cfg(not(any(
    target_arch = "x86_64",
    target_arch = "x86",
    target_arch = "arm",
    target_arch = "mips",
    target_arch = "aarch64"
)))]
const MORE_FILES: &[libc::c_long] = &[];

/// Calls by which a connection is made, after a look-up of a name.
const NETWORK: &[libc::c_long] = &[
    libc::SYS_bind,
    libc::SYS_connect,
    libc::SYS_getpeername,
    libc::SYS_getsockname,
    libc::SYS_getsockopt,
    libc::SYS_mprotect,
    libc::SYS_recvfrom,
    libc::SYS_recvmmsg,
    libc::SYS_recvmsg,
    libc::SYS_sendmmsg,
    libc::SYS_sendmsg,
    libc::SYS_sendto,
    libc::SYS_setsockopt,
    libc::SYS_shutdown,
    libc::SYS_socket,
    libc::SYS_uname,
    #[cfg(target_arch = "x86")]
    libc::SYS_socketcall,
];

/// Calls by which a program is attached: its event, and what libbpf does to open an object.
const ATTACHES: &[libc::c_long] =
    &[libc::SYS_perf_event_open, libc::SYS_memfd_create, libc::SYS_dup3, libc::SYS_mprotect, libc::SYS_uname];

/// Calls that open a file, and which of their arguments has the flags.
#[cfg(any(target_arch = "x86_64", target_arch = "x86", target_arch = "arm", target_arch = "mips"))]
const OPENS: &[(libc::c_long, u32)] = &[(libc::SYS_openat, 2), (libc::SYS_open, 1)];
#[cfg(not(any(target_arch = "x86_64", target_arch = "x86", target_arch = "arm", target_arch = "mips")))]
const OPENS: &[(libc::c_long, u32)] = &[(libc::SYS_openat, 2)];

/// Flags of opening that change something.
const WRITING: u32 = (libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC | libc::O_APPEND) as u32;

const ALLOW: libc::sock_filter = answer(libc::SECCOMP_RET_ALLOW);
const REFUSE: libc::sock_filter = answer(libc::SECCOMP_RET_ERRNO | libc::EPERM as u32);

const fn answer(what: u32) -> libc::sock_filter {
    libc::sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k: what }
}

/// Loads a word of `struct seccomp_data`: 0 the call's number, 4 the architecture, 16 + 8 × n its arguments.
const fn load(offset: u32) -> libc::sock_filter {
    libc::sock_filter { code: (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16, jt: 0, jf: 0, k: offset }
}

/// Goes on over `then` instructions when the word is `value`, else over `otherwise`.
const fn when(value: u32, then: u8, otherwise: u8) -> libc::sock_filter {
    let code = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    libc::sock_filter { code, jt: then, jf: otherwise, k: value }
}

/// The same when the word has one of these bits.
const fn when_any(bits: u32, then: u8, otherwise: u8) -> libc::sock_filter {
    let code = (libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K) as u16;
    libc::sock_filter { code, jt: then, jf: otherwise, k: bits }
}

/// The filter; empty where the architecture is not known.
fn filter(needs: Needs) -> Vec<libc::sock_filter> {
    let Some(architecture) = ARCHITECTURE else { return Vec::new() };
    // The arguments are 64 bits wide; the flags are in the low half.
    let low = if cfg!(target_endian = "big") { 4 } else { 0 };
    let writes = needs.files || needs.attaching;
    let mut calls = [CALLS, MORE].concat();
    if writes {
        calls.extend([FILES, MORE_FILES].concat());
        calls.extend(OPENS.iter().map(|(call, _)| *call));
    }
    if needs.network {
        calls.extend(NETWORK);
    }
    if needs.attaching {
        calls.extend(ATTACHES);
    }
    let mut filter = vec![load(4), when(architecture, 1, 0), REFUSE, load(0)];
    filter.extend(calls.iter().flat_map(|call| [when(*call as u32, 0, 1), ALLOW]));
    if !writes {
        for (call, argument) in OPENS {
            let flags = load(16 + 8 * argument + low);
            filter.extend([when(*call as u32, 0, 4), flags, when_any(WRITING, 1, 0), ALLOW, REFUSE]);
        }
    }
    filter.push(REFUSE);
    filter
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel would do with a call: the filter, run as the kernel runs it.
    fn judge(needs: Needs, call: libc::c_long, flags: i32) -> bool {
        let filter = filter(needs);
        let (mut word, mut at) = (0u32, 0usize);
        loop {
            let instruction = filter[at];
            at += 1;
            match u32::from(instruction.code) {
                code if code == libc::BPF_LD | libc::BPF_W | libc::BPF_ABS => {
                    word = match instruction.k {
                        0 => call as u32,
                        4 => ARCHITECTURE.unwrap(),
                        _ => flags as u32,
                    }
                }
                code if code == libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K => {
                    at += usize::from(if word == instruction.k { instruction.jt } else { instruction.jf });
                }
                code if code == libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K => {
                    at +=
                        usize::from(if word & instruction.k != 0 { instruction.jt } else { instruction.jf });
                }
                _ => return instruction.k == libc::SECCOMP_RET_ALLOW,
            }
        }
    }

    #[test]
    fn calls_of_a_tick_and_no_others() {
        let (tick, files) = (Needs::default(), Needs { files: true, ..Needs::default() });
        let network = Needs { network: true, ..Needs::default() };
        let attaching = Needs { attaching: true, ..Needs::default() };
        let (read, create) =
            (libc::O_RDONLY | libc::O_CLOEXEC, libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC);
        for (needs, call, flags, expected) in [
            (tick, libc::SYS_bpf, 0, true),
            (tick, libc::SYS_write, 0, true),
            (tick, libc::SYS_ppoll, 0, true),
            (tick, libc::SYS_exit_group, 0, true),
            (tick, libc::SYS_openat, read, true),
            (tick, libc::SYS_openat, create, false),
            (tick, libc::SYS_openat, libc::O_RDWR, false),
            (tick, libc::SYS_execve, 0, false),
            (tick, libc::SYS_clone, 0, true),
            (tick, libc::SYS_execveat, 0, false),
            (tick, libc::SYS_socket, 0, false),
            (tick, libc::SYS_kill, 0, false),
            (tick, libc::SYS_ptrace, 0, false),
            (tick, libc::SYS_mount, 0, false),
            (tick, libc::SYS_perf_event_open, 0, false),
            (tick, libc::SYS_renameat2, 0, false),
            (files, libc::SYS_openat, create, true),
            (files, libc::SYS_renameat2, 0, true),
            (files, libc::SYS_execve, 0, false),
            (files, libc::SYS_perf_event_open, 0, false),
            (attaching, libc::SYS_perf_event_open, 0, true),
            (attaching, libc::SYS_execve, 0, false),
            (network, libc::SYS_connect, 0, true),
            (network, libc::SYS_openat, create, false),
            (network, libc::SYS_execve, 0, false),
        ] {
            assert_eq!(judge(needs, call, flags), expected, "call {call} with {flags:#x}, {needs:?}");
        }
    }
}
