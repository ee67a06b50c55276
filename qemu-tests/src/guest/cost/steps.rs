// SPDX-License-Identifier: GPL-3.0-or-later
//! How many instructions a process executes in user space, by going through them one by one.
#![allow(unsafe_code)]

use std::io::{Error, Result};
use std::ptr;

/// A process that is stopped between any two of its instructions; it goes on freely afterwards.
pub struct Steps(libc::pid_t);

impl Steps {
    pub fn of(pid: u32) -> Result<Self> {
        let pid = pid as libc::pid_t;
        request(libc::PTRACE_SEIZE as i32, pid)?;
        request(libc::PTRACE_INTERRUPT as i32, pid)?;
        stopped(pid)?;
        Ok(Self(pid))
    }

    /// Goes on by one instruction; a system call counts as one, and takes as long as it takes.
    pub fn step(&self) -> Result<()> {
        request(libc::PTRACE_SINGLESTEP as i32, self.0)?;
        stopped(self.0)
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        let _ = request(libc::PTRACE_DETACH as i32, self.0);
    }
}

fn request(request: i32, pid: libc::pid_t) -> Result<()> {
    let none = ptr::null_mut::<u8>();
    // SAFETY: none of these requests takes or gives memory.
    match unsafe { libc::ptrace(request as _, pid, none, none) } {
        -1 => Err(Error::last_os_error()),
        _ => Ok(()),
    }
}

fn stopped(pid: libc::pid_t) -> Result<()> {
    let mut status = 0;
    // SAFETY: `status` is ours for the time of the call.
    match unsafe { libc::waitpid(pid, &raw mut status, libc::__WALL) } {
        -1 => Err(Error::last_os_error()),
        _ if libc::WIFSTOPPED(status) => Ok(()),
        _ => Err(Error::other("it ended")),
    }
}
