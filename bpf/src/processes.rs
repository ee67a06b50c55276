// SPDX-License-Identifier: GPL-3.0-or-later
//! The kernel's table of processes: made before the programs that share it, walked once a tick.

use crate::sys::{self, Errno};
use kmote_core::apps::ledger::{Fate, NO_ROOM};
use libbpf_rs::OpenObject;
use libbpf_sys as raw;
use std::borrow::Cow;
use std::cell::Cell;
use std::os::fd::{AsFd, OwnedFd};

/// The map's name in every object that shares it.
const MAP: &str = "processes";
/// How many entries are read by one call.
const BATCH: usize = 512;

/// The table.
#[derive(Debug)]
pub struct Processes {
    map: OwnedFd,
    /// 64-bit words of an entry.
    pub words: usize,
    /// How many entries fit, with that of what does not.
    pub capacity: usize,
    /// Whether the programs note the current cgroup.
    cgroups: bool,
    batches: Cell<bool>,
}

/// Buffers for a walk.
#[derive(Debug)]
pub struct Buffers {
    keys: Vec<u64>,
    values: Vec<u64>,
}

impl Processes {
    /// Makes a table of `capacity` entries of `words`; `cgroups` says whether cgroups are wanted.
    pub fn create(words: usize, capacity: usize, cgroups: bool) -> Result<Self, Errno> {
        let map = sys::create_hash(c"processes", words, capacity)?;
        sys::insert(map.as_fd(), NO_ROOM.into(), &vec![0; words])?;
        let cgroups = cgroups && sys::knows_cgroups();
        Ok(Self { map, words, capacity, cgroups, batches: Cell::new(true) })
    }

    /// Whether the kernel notes cgroups in the table.
    pub const fn notes_cgroups(&self) -> bool {
        self.cgroups
    }

    /// Lets `object` use this table, if it has programs that do.
    pub fn lend(&self, object: &mut OpenObject) -> Result<(), Errno> {
        let map = object.maps_mut().find(|map| map.name() == MAP);
        map.map_or(Ok(()), |mut map| map.reuse_fd(self.map.as_fd()).map_err(|_| libc::EINVAL))
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

    /// Buffers for walks over this table.
    pub fn buffers(&self) -> Buffers {
        Buffers { keys: vec![0; BATCH], values: vec![0; BATCH * self.words] }
    }

    /// Shows `each` every entry, and removes those that it says. Whatever happens meanwhile, it ends.
    pub fn walk(
        &self,
        buffers: &mut Buffers,
        mut each: impl FnMut(u32, &[u64]) -> Fate,
    ) -> Result<(), Errno> {
        if self.batches.get() {
            match self.walk_batches(buffers, &mut each) {
                // Batches came with 5.6 (057996380a42): before, the command is unknown. The first call tells.
                Err(libc::EINVAL | libc::EOPNOTSUPP | 524) => self.batches.set(false),
                walked => return walked,
            }
        }
        self.walk_singly(buffers, &mut each)
    }

    fn walk_batches(
        &self,
        buffers: &mut Buffers,
        each: &mut impl FnMut(u32, &[u64]) -> Fate,
    ) -> Result<(), Errno> {
        let (mut position, mut seen) = (None, 0);
        while seen <= self.capacity {
            let Buffers { keys, values } = buffers;
            let (count, next) = sys::batch(self.map.as_fd(), self.words, position, keys, values)?;
            for (key, entry) in keys.iter().zip(values.chunks_exact(self.words)).take(count) {
                self.settle(*key, each(*key as u32, entry));
            }
            seen += count.max(1);
            position = next;
            if position.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn walk_singly(
        &self,
        buffers: &mut Buffers,
        each: &mut impl FnMut(u32, &[u64]) -> Fate,
    ) -> Result<(), Errno> {
        let map = self.map.as_fd();
        let Some(entry) = buffers.values.get_mut(..self.words) else { return Ok(()) };
        // Linux 4.11 refuses to begin after none, so it begins after a key that the map has not.
        let mut next = sys::next_key(map, u64::MAX)?;
        for _ in 0..self.capacity {
            let Some(key) = next else { break };
            // Before the removal: the key after one that is gone is the first.
            next = sys::next_key(map, key)?;
            if sys::look_up(map, key, entry).is_ok() {
                self.settle(key, each(key as u32, entry));
            }
        }
        Ok(())
    }

    fn settle(&self, key: u64, fate: Fate) {
        if fate == Fate::Remove {
            // Whatever is gone already is as it should be.
            let _ = sys::remove(self.map.as_fd(), key);
        }
    }

    /// Reads the entry of a process; whether there is one.
    pub fn look_up(&self, process: u32, entry: &mut [u64]) -> bool {
        entry.len() == self.words && sys::look_up(self.map.as_fd(), process.into(), entry).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_without_ids_of_cgroups_is_not_asked_for_them() {
        let map = std::fs::File::open("/dev/null").unwrap().into();
        let mut processes =
            Processes { map, words: 6, capacity: 1, cgroups: false, batches: Cell::new(true) };
        let call = |imm| raw::bpf_insn { code: 0x85, imm, ..Default::default() };
        let code = [call(14), call(80), call(1)];
        let seen =
            |processes: &Processes| processes.fit(&code).iter().map(|i| (i.code, i.imm)).collect::<Vec<_>>();
        assert_eq!(seen(&processes), [(0x85, 14), (0xb7, 0), (0x85, 1)]);
        processes.cgroups = true;
        assert_eq!(seen(&processes), [(0x85, 14), (0x85, 80), (0x85, 1)]);
    }
}
