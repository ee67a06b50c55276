// SPDX-License-Identifier: GPL-3.0-or-later
//! The table of modules.

use crate::module::{Module, check};
use crate::share;

/// Names the slots of a module once: a constant for each, its place, and `SLOTS`, their names.
macro_rules! slots {
    ($($name:ident = $text:literal),+ $(,)?) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, clippy::enum_variant_names)]
        enum Place { $($name),+ }
        // One that only another architecture feeds is not used here.
        $(#[allow(dead_code)] const $name: usize = Place::$name as usize;)+
        const SLOTS: &[&str] = &[$($text),+];
    };
}

/// What this architecture's kernels call the function of a system call, on a 64-bit kernel that of 32-bit programs besides,
/// since v4.17 (x86), v4.19 (arm64) and v6.6 (riscv64).
#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
macro_rules! functions {
    ($name:literal) => {
        concat!("__x64_sys_", $name, " __ia32_sys_", $name, " __ia32_compat_sys_", $name, " ")
    };
}
#[cfg(any(target_arch = "aarch64", target_arch = "arm"))]
macro_rules! functions {
    ($name:literal) => {
        concat!("__arm64_sys_", $name, " __arm64_compat_sys_", $name, " ")
    };
}
#[cfg(any(target_arch = "riscv64", target_arch = "riscv32"))]
macro_rules! functions {
    ($name:literal) => {
        concat!("__riscv_sys_", $name, " ")
    };
}
// The others, mips among them, kept the names of older kernels.
#[cfg(not(any(
    target_arch = "x86_64",
    target_arch = "x86",
    target_arch = "aarch64",
    target_arch = "arm",
    target_arch = "riscv64",
    target_arch = "riscv32"
)))]
macro_rules! functions {
    ($name:literal) => {
        ""
    };
}

/// The functions of system calls, each by its name alone, as one hook: as above, and as older kernels call them. Some calls
/// have a function of their own for 32-bit programs.
macro_rules! places {
    ($mechanism:ident, $($name:literal),+) => {
        $crate::hook::Hook::Syscalls($crate::hook::Mechanism::$mechanism, concat!($(
            functions!($name), "sys_", $name, " compat_sys_", $name, " ",
        )+))
    };
}

/// The hooks that see the entry of system calls; tracepoints do not see those of 32-bit programs on x86-64.
macro_rules! syscalls {
    ($($name:literal),+) => {
        &[
            places!(Fentry, $($name),+),
            places!(Kprobe, $($name),+),
            $crate::hook::Hook::Syscalls(
                $crate::hook::Mechanism::Tracepoint,
                concat!($("syscalls/sys_enter_", $name, " "),+),
            ),
        ]
    };
}

/// The hooks that see how system calls end.
macro_rules! syscall_results {
    ($($name:literal),+) => {
        &[
            places!(Fexit, $($name),+),
            places!(Kretprobe, $($name),+),
            $crate::hook::Hook::All(&[
                $($crate::hook::Hook::Record(&(concat!("syscalls/sys_exit_", $name), &[("ret", 16)])),)+
            ]),
            // On 32-bit kernels.
            $crate::hook::Hook::All(&[
                $($crate::hook::Hook::Record(&(concat!("syscalls/sys_exit_", $name), &[("ret", 12)])),)+
            ]),
        ]
    };
}

mod btrfs;
mod cachestat;
mod dcstat;
mod disk;
mod ext4;
mod fd;
mod filesystem;
mod hardirq;
mod mdflush;
mod mount;
mod nfs;
mod oomkill;
mod process;
mod shm;
mod socket;
mod softirq;
mod swap;
mod sync;
mod vfs;
mod xfs;
mod zfs;

/// All modules, in the order in which they are attached and sent.
///
/// Not a constant: each crate that names one would have a copy of the whole table.
pub static MODULES: &[Module] = &[
    process::MODULE,
    fd::MODULE,
    cachestat::MODULE,
    sync::MODULE,
    swap::MODULE,
    softirq::MODULE,
    hardirq::MODULE,
    disk::MODULE,
    mdflush::MODULE,
    shm::MODULE,
    ext4::MODULE,
    xfs::MODULE,
    nfs::MODULE,
    zfs::MODULE,
    btrfs::MODULE,
    vfs::MODULE,
    dcstat::MODULE,
    mount::MODULE,
    oomkill::MODULE,
    socket::MODULE,
];

const _: () = check(MODULES);
const _: () = share::check(MODULES);
