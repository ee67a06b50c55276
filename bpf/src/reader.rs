// SPDX-License-Identifier: GPL-3.0-or-later
//! What reads the kernel's table of processes: of those that are in it, the ones that have done something.

use crate::processes::Processes;
use crate::sys::{self, Batch, Errno};
use kmote_core::apps::ledger::{Fate, NO_ROOM};
use kmote_core::memory;
use std::os::fd::{AsFd, BorrowedFd};

/// How many entries are read by one call.
const BATCH: usize = 512;

/// What reads the table, and remembers from one read to the next whom to look at.
#[derive(Debug)]
pub struct Reader {
    keys: Vec<u64>,
    values: Vec<u64>,
    /// Whom to look at.
    due: Vec<u64>,
    round: u64,
    /// How often a mark found no room, until now.
    missed: u64,
    /// Whether that happened lately, so that all are looked at.
    all: bool,
}

/// Who is due is a number: the id, and below it this bit, unless it was marked since the last read. Who was marked is
/// looked at twice: what the mark was made for may be counted after the first.
const WATCHED: u64 = 1;

const fn fresh(id: u32) -> u64 {
    (id as u64) << 1
}

const fn watched(id: u32) -> u64 {
    fresh(id) | WATCHED
}

impl Processes {
    /// A reader of this table.
    pub fn reader(&self) -> Reader {
        let (keys, values) = (vec![0; BATCH], vec![0; BATCH * self.words]);
        let due = Vec::with_capacity(2 * self.capacity + memory::marked(self.capacity));
        Reader { keys, values, due, round: 1, missed: 0, all: false }
    }

    /// Shows `each` every entry that has changed since the last read, or that it has watched since, and removes those
    /// that it says. Those that do nothing cost nothing, unless so many others have changed that it is less work to read
    /// all, of which there are about `entries`. Whatever happens meanwhile, it ends.
    pub fn read(
        &self,
        reader: &mut Reader,
        entries: usize,
        mut each: impl FnMut(u32, &[u64]) -> Fate,
    ) -> Result<(), Errno> {
        let all = reader.begin(self)?;
        self.take_marks(reader)?;
        if all || self.walking_is_less(reader.due.len(), entries) {
            // All others are looked at now, and those that are to be watched join in.
            reader.due.retain(|due| *due & WATCHED == 0);
            reader.due.iter_mut().for_each(|due| *due |= WATCHED);
            return self.walk(reader, &mut each);
        }
        // Of two of one, that which was marked stands first.
        sort(&mut reader.due);
        reader.due.dedup_by_key(|due| *due >> 1);
        let Reader { values, due, .. } = reader;
        let Some(entry) = values.get_mut(..self.words) else { return Ok(()) };
        due.retain_mut(|due| {
            let (id, fresh) = ((*due >> 1) as u32, *due & WATCHED == 0);
            *due |= WATCHED;
            if !self.look_up(id, entry) {
                return fresh;
            }
            let fate = each(id, entry);
            self.settle(id, fate);
            fate == Fate::Watch || (fresh && fate == Fate::Rest)
        });
        Ok(())
    }

    /// Whether all entries are read sooner by batches than `due` of them by a call each, which takes five times an entry's
    /// share in a batch; and a batch looks into all buckets, of which about twenty take as long as an entry.
    fn walking_is_less(&self, due: usize, entries: usize) -> bool {
        self.batches.get() && due * 5 > entries + self.capacity.next_power_of_two() / 20
    }

    /// Shows `each` one entry, if it is there.
    pub fn read_one(&self, reader: &mut Reader, id: u32, each: impl FnOnce(&[u64]) -> Fate) {
        let Some(entry) = reader.values.get_mut(..self.words) else { return };
        if self.look_up(id, entry) {
            let fate = each(entry);
            self.settle(id, fate);
            reader.watch_if(fate, id);
        }
    }

    /// Takes out the marks that were made since the last read.
    fn take_marks(&self, reader: &mut Reader) -> Result<(), Errno> {
        let [_, marked, _] = &self.maps;
        if self.batches.get() {
            match reader.take_marks(marked.as_fd(), memory::marked(self.capacity)) {
                // Batches came with 5.6 (057996380a42): before, the command is unknown. The first call tells.
                Err(libc::EINVAL | libc::EOPNOTSUPP | 524) => self.batches.set(false),
                taken => return taken,
            }
        }
        for _ in 0..memory::marked(self.capacity) {
            // Linux 4.11 refuses to begin after none, so it begins after a key that the map has not.
            let Some(key) = sys::next_key(marked.as_fd(), u64::MAX)? else { break };
            let _ = sys::remove(marked.as_fd(), key);
            reader.due_now(fresh(key as u32));
        }
        Ok(())
    }

    /// Shows `each` every entry.
    fn walk(&self, reader: &mut Reader, each: &mut impl FnMut(u32, &[u64]) -> Fate) -> Result<(), Errno> {
        if self.batches.get() { self.walk_batches(reader, each) } else { self.walk_singly(reader, each) }
    }

    fn walk_batches(
        &self,
        reader: &mut Reader,
        each: &mut impl FnMut(u32, &[u64]) -> Fate,
    ) -> Result<(), Errno> {
        let (mut position, mut seen) = (None, 0);
        while seen <= self.capacity {
            let Reader { keys, values, .. } = reader;
            let (count, next) = sys::batch(self.entries(), self.words, position, keys, values, Batch::Read)?;
            let mut gone = 0;
            for place in 0..count {
                let entry = reader.values.chunks_exact(self.words).nth(place).unwrap_or_default();
                let id = reader.keys.get(place).map_or(NO_ROOM, |key| *key as u32);
                let fate = each(id, entry);
                if fate == Fate::Remove {
                    reader.keys.swap(gone, place);
                    gone += 1;
                }
                reader.watch_if(fate, id);
            }
            self.remove(reader.keys.get(..gone).unwrap_or_default());
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
        reader: &mut Reader,
        each: &mut impl FnMut(u32, &[u64]) -> Fate,
    ) -> Result<(), Errno> {
        let mut next = sys::next_key(self.entries(), u64::MAX)?;
        for _ in 0..self.capacity {
            let Some(key) = next else { break };
            // Before the removal: the key after one that is gone is the first.
            next = sys::next_key(self.entries(), key)?;
            self.read_one(reader, key as u32, |entry| each(key as u32, entry));
        }
        Ok(())
    }

    fn settle(&self, id: u32, fate: Fate) {
        if fate == Fate::Remove {
            self.remove(&[id.into()]);
        }
    }

    /// Whatever is gone already is as it should be; of several, the kernel would stop there.
    fn remove(&self, keys: &[u64]) {
        if keys.len() < 2 || sys::remove_batch(self.entries(), keys).is_err() {
            for key in keys {
                let _ = sys::remove(self.entries(), *key);
            }
        }
    }
}

impl Reader {
    /// Begins a read: what changes from here on is marked for the next. Whether all entries are to be looked at.
    fn begin(&mut self, processes: &Processes) -> Result<bool, Errno> {
        let [.., rounds] = &processes.maps;
        self.round += 1;
        sys::write(rounds.as_fd(), &[self.round])?;
        let missed = sys::second(rounds.as_fd())?;
        // As who is marked: twice.
        let all = self.all || missed != self.missed;
        self.all = missed != self.missed;
        self.missed = missed;
        Ok(all)
    }

    fn take_marks(&mut self, marked: BorrowedFd<'_>, most: usize) -> Result<(), Errno> {
        let (mut position, mut seen) = (None, 0);
        while seen <= most {
            let (count, next) =
                sys::batch(marked, 1, position, &mut self.keys, &mut self.values, Batch::Take)?;
            for place in 0..count {
                let id = self.keys.get(place).map_or(NO_ROOM, |key| *key as u32);
                self.due_now(fresh(id));
            }
            seen += count.max(1);
            position = next;
            if position.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn watch_if(&mut self, fate: Fate, id: u32) {
        if fate == Fate::Watch {
            self.due_now(watched(id));
        }
    }

    /// There is room for all: what is not taken into it is not lost, since then all are looked at.
    fn due_now(&mut self, due: u64) {
        if self.due.len() < self.due.capacity() {
            self.due.push(due);
        } else {
            self.all = true;
        }
    }
}

/// Sorts by combing: in less code than the library's sorts take, and in hardly more time.
fn sort(due: &mut [u64]) {
    let (mut gap, mut moved) = (due.len(), true);
    while gap > 1 || moved {
        gap = (gap * 10 / 13).max(1);
        moved = false;
        for later in gap..due.len() {
            let earlier = later - gap;
            if due.get(earlier) > due.get(later) {
                due.swap(earlier, later);
                moved = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table of the kernel's, as programs would write to it: run as root, on a kernel with BPF.
    struct Kernel {
        processes: Processes,
        reader: Reader,
        /// How many entries the reader is told that there are: too many for all to be read because of a few.
        entries: usize,
    }

    impl Kernel {
        fn new(capacity: usize) -> Self {
            let processes = Processes::create(6, capacity, false).unwrap();
            Self { reader: processes.reader(), processes, entries: 10_000 }
        }
        fn put(&self, id: u64) {
            sys::insert(self.processes.entries(), id, &[id; 6]).unwrap();
        }
        fn mark(&self, id: u64) -> bool {
            sys::insert(self.processes.maps[1].as_fd(), id, &[0]).is_ok()
        }
        /// Notes that marks found no room, as programs do.
        fn miss(&self, times: u64) {
            // An array's key is the lower half of this one.
            sys::insert(self.processes.maps[2].as_fd(), 1u64.to_le(), &[times]).unwrap();
        }
        /// Who is looked at in a read, each with the same fate.
        fn read(&mut self, fate: Fate) -> Vec<u32> {
            let mut seen = Vec::new();
            let each = |id: u32, entry: &[u64]| {
                assert!(id == NO_ROOM || entry == [id.into(); 6]);
                seen.push(id);
                fate
            };
            self.processes.read(&mut self.reader, self.entries, each).unwrap();
            seen.sort_unstable();
            seen
        }
    }

    #[test]
    fn those_that_were_marked_are_looked_at_twice_and_watched_ones_until_they_rest() {
        for batches in [true, false] {
            let mut kernel = Kernel::new(2000);
            kernel.processes.batches.set(batches);
            (1..=1500).for_each(|id| kernel.put(id));
            assert_eq!(kernel.read(Fate::Watch), []);
            assert!([7, 1234].map(|id| kernel.mark(id)) == [true; 2]);
            assert_eq!(kernel.read(Fate::Rest), [7, 1234]);
            assert!(kernel.mark(8));
            assert_eq!(kernel.read(Fate::Rest), [7, 8, 1234]);
            assert_eq!(kernel.read(Fate::Watch), [8]);
            assert!([8, 9].map(|id| kernel.mark(id)) == [true; 2]);
            assert_eq!(kernel.read(Fate::Watch), [8, 9]);
            assert_eq!(kernel.read(Fate::Rest), [8, 9]);
            assert_eq!(kernel.read(Fate::Rest), []);
            assert!(kernel.mark(9));
            assert_eq!(kernel.read(Fate::Remove), [9]);
            assert_eq!(kernel.read(Fate::Rest), []);
            assert!(!kernel.processes.look_up(9, &mut [0; 6]));
        }
    }

    #[test]
    fn where_most_have_changed_all_are_read_and_the_ended_go_together() {
        let mut kernel = Kernel::new(2000);
        (kernel.entries, _) = (300, (1..=300).for_each(|id| kernel.put(id)));
        assert!((1..=90).all(|id| kernel.mark(id)));
        let all: Vec<u32> = (1..=300).chain([NO_ROOM]).collect();
        assert_eq!(kernel.read(Fate::Rest), all);
        // Those that were marked once more, and of them there are too many again.
        assert_eq!(kernel.read(Fate::Remove), all);
        assert_eq!(kernel.read(Fate::Rest), []);
        assert!((1..=300).all(|id| !kernel.processes.look_up(id, &mut [0; 6])));
        // One that is gone does not keep the others from going.
        (1..=3).for_each(|id| kernel.put(id));
        kernel.processes.remove(&[1, 77, 2, 3]);
        assert!((1..=3).all(|id| !kernel.processes.look_up(id, &mut [0; 6])));
    }

    #[test]
    fn sorted_whatever_it_was() {
        let mut random = 1u64;
        for length in [0, 1, 2, 3, 10, 100, 5000] {
            let mut due: Vec<u64> = (0..length)
                .map(|_| {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    random >> 52
                })
                .collect();
            let mut expected = due.clone();
            expected.sort_unstable();
            sort(&mut due);
            assert_eq!(due, expected);
        }
    }

    #[test]
    fn when_a_mark_finds_no_room_all_are_looked_at_twice() {
        for batches in [true, false] {
            let mut kernel = Kernel::new(2000);
            kernel.processes.batches.set(batches);
            (1..=1500).for_each(|id| kernel.put(id));
            let room = memory::marked(2000) as u64;
            assert!((1..=room).all(|id| kernel.mark(id)));
            assert!(!kernel.mark(room + 1), "there is no room for one more");
            kernel.miss(1);
            let all: Vec<u32> = (1..=1500).chain([NO_ROOM]).collect();
            assert_eq!(kernel.read(Fate::Rest), all);
            assert_eq!(kernel.read(Fate::Rest), all);
            assert_eq!(kernel.read(Fate::Rest), []);
        }
    }
}
