// SPDX-License-Identifier: GPL-3.0-or-later
//! The kernel's table of processes: made before the programs that share it; once a tick, what has changed is read.

use crate::sys::{self, Errno};
use kmote_core::apps::ledger::NO_ROOM;
use kmote_core::memory;
use libbpf_rs::OpenObject;
use libbpf_sys as raw;
use std::borrow::Cow;
use std::cell::Cell;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The names of the maps in every object that shares them: the entries, the marked, the numbers of reads.
const MAPS: [&str; 3] = ["processes", "marked", "rounds"];

/// The table.
#[derive(Debug)]
pub struct Processes {
    pub(crate) maps: [OwnedFd; 3],
    /// 64-bit words of an entry.
    pub words: usize,
    /// How many entries fit, with that of what does not.
    pub capacity: usize,
    /// Whether the programs note the current cgroup.
    cgroups: bool,
    pub(crate) batches: Cell<bool>,
}

impl Processes {
    /// Makes a table of `capacity` entries of `words`; `cgroups` says whether cgroups are wanted.
    pub fn create(words: usize, capacity: usize, cgroups: bool) -> Result<Self, Errno> {
        let entries = sys::create_hash(c"processes", words, capacity)?;
        sys::insert(entries.as_fd(), NO_ROOM.into(), &vec![0; words])?;
        let marked = sys::create_hash(c"marked", 1, memory::marked(capacity))?;
        let rounds = sys::create_pair(c"rounds")?;
        sys::write(rounds.as_fd(), &[1])?;
        let cgroups = cgroups && sys::knows_cgroups();
        Ok(Self { maps: [entries, marked, rounds], words, capacity, cgroups, batches: Cell::new(true) })
    }

    pub(crate) fn entries(&self) -> BorrowedFd<'_> {
        let [entries, ..] = &self.maps;
        entries.as_fd()
    }

    /// Whether the kernel notes cgroups in the table.
    pub const fn notes_cgroups(&self) -> bool {
        self.cgroups
    }

    /// Lets `object` use this table, if it has programs that do.
    pub fn lend(&self, object: &mut OpenObject) -> Result<(), Errno> {
        for (name, lent) in MAPS.iter().zip(&self.maps) {
            if let Some(mut map) = object.maps_mut().find(|map| map.name() == *name) {
                map.reuse_fd(lent.as_fd()).map_err(|_| libc::EINVAL)?;
            }
        }
        Ok(())
    }

    /// The program as this kernel takes it: where cgroups have no ids (before 4.18), or nobody asks for them, the call
    /// that gives the current one is a zero.
    pub fn fit<'a>(&self, code: &'a [raw::bpf_insn]) -> Cow<'a, [raw::bpf_insn]> {
        let asks = |instruction: &raw::bpf_insn| {
            u32::from(instruction.code) == raw::BPF_JMP | raw::BPF_CALL
                && instruction.src_reg() == 0
                && instruction.imm == raw::BPF_FUNC_get_current_cgroup_id as i32
        };
        if self.cgroups || !code.iter().any(asks) {
            return Cow::Borrowed(code);
        }
        let zero =
            raw::bpf_insn { code: (raw::BPF_ALU64 | raw::BPF_MOV | raw::BPF_K) as u8, ..Default::default() };
        Cow::Owned(
            code.iter().map(|instruction| if asks(instruction) { zero } else { *instruction }).collect(),
        )
    }

    /// Reads the entry of a process; whether there is one.
    pub fn look_up(&self, process: u32, entry: &mut [u64]) -> bool {
        entry.len() == self.words && sys::look_up(self.entries(), process.into(), entry).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_without_ids_of_cgroups_is_not_asked_for_them() {
        let maps = [(); 3].map(|()| std::fs::File::open("/dev/null").unwrap().into());
        let mut processes =
            Processes { maps, words: 6, capacity: 1, cgroups: false, batches: Cell::new(true) };
        let call = |imm| raw::bpf_insn { code: 0x85, imm, ..Default::default() };
        let code = [call(14), call(80), call(1)];
        let seen =
            |processes: &Processes| processes.fit(&code).iter().map(|i| (i.code, i.imm)).collect::<Vec<_>>();
        assert_eq!(seen(&processes), [(0x85, 14), (0xb7, 0), (0x85, 1)]);
        processes.cgroups = true;
        assert_eq!(seen(&processes), [(0x85, 14), (0x85, 80), (0x85, 1)]);
    }
}
