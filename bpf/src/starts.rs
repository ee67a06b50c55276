// SPDX-License-Identifier: GPL-3.0-or-later
//! The map of what has begun, and the sweep of what never ends.
//!
//! The kernel may pass over the return of a function, when more threads are inside of it than it has records for. What
//! began then stays until its key begins again, and a thread that has ended does not.

use crate::sys;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

/// A map from what has begun to the moment, in nanoseconds of the clock that programs read.
#[derive(Debug)]
pub struct Starts {
    map: OwnedFd,
    capacity: usize,
}

impl Starts {
    /// The map of so many entries behind this descriptor.
    pub fn new(map: OwnedFd, capacity: usize) -> Self {
        Self { map, capacity }
    }

    /// Forgets what began longer ago than `age`.
    pub fn sweep(&self, age: Duration) {
        let (map, now) = (self.map.as_fd(), sys::monotonic());
        let limit = u64::try_from(age.as_nanos()).unwrap_or(u64::MAX);
        let next = |key| sys::next_key(map, key).ok().flatten();
        // Before a key that no start has, and a key ahead: after one that was taken out, the kernel would begin anew.
        let mut following = next(u64::MAX);
        for _ in 0..self.capacity {
            let Some(key) = following else { return };
            following = next(key);
            let mut began = [0];
            if sys::look_up(map, key, &mut began).is_ok() && now.saturating_sub(began[0]) > limit {
                // Whatever is gone already is as it should be.
                let _ = sys::remove(map, key);
            }
        }
    }
}
