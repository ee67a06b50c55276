// SPDX-License-Identifier: GPL-3.0-or-later
//! The map of a table, and how it is read: in one call where the kernel has batches, key by key elsewhere.

use crate::sys::{self, Errno};
use kmote_core::table::{Table, walk};
use std::cell::Cell;
use std::os::fd::{AsFd, OwnedFd};

/// The map of a module's table.
#[derive(Debug)]
pub struct RowMap {
    /// The table's row.
    pub table: &'static Table,
    map: OwnedFd,
    batches: Cell<bool>,
}

impl RowMap {
    /// A table behind this descriptor.
    pub fn new(table: &'static Table, map: OwnedFd) -> Self {
        Self { table, map, batches: Cell::new(true) }
    }

    /// Reads every key and its counters; both buffers have room for the table's capacity. Returns how many there are.
    /// By single keys one may come twice, or be left out, when keys change meanwhile: the next read is right again.
    pub fn read(&self, keys: &mut [u64], values: &mut [u64]) -> Result<usize, Errno> {
        if self.batches.get() {
            match sys::read_batch(self.map.as_fd(), self.table.slots.len(), keys, values) {
                // Batches came with 5.6 (057996380a42): before, the command is unknown; 524 is a map without them.
                Err(libc::EINVAL | libc::EOPNOTSUPP | 524) => self.batches.set(false),
                read => return read,
            }
        }
        self.read_singly(keys, values)
    }

    fn read_singly(&self, keys: &mut [u64], values: &mut [u64]) -> Result<usize, Errno> {
        let (map, slots) = (self.map.as_fd(), self.table.slots.len());
        let (mut count, mut failure) = (0, None);
        let next = |key| match sys::next_key(map, key) {
            Ok(next) => next,
            Err(errno) => {
                failure = Some(errno);
                None
            }
        };
        walk(self.table.capacity, next, |key| {
            let Some(row) = values.get_mut(count * slots..(count + 1) * slots) else { return };
            if let (Some(place), Ok(())) = (keys.get_mut(count), sys::look_up(map, key, row)) {
                *place = key;
                count += 1;
            }
        });
        failure.map_or(Ok(count), Err)
    }

    /// Takes a key out, with its counters.
    pub fn remove(&self, key: u64) {
        // Whatever is gone already is as it should be.
        let _ = sys::remove(self.map.as_fd(), key);
    }
}
