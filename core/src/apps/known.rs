// SPDX-License-Identifier: GPL-3.0-or-later
//! The processes that are known, by their ids, each with the counters that were last read.

use super::entry::Name;

/// A process that was met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub id: u32,
    /// The name by which it was put into its group.
    pub name: Name,
    /// Its group.
    pub group: u16,
    /// Whether it is a manager, whose children are not of its group.
    pub manager: bool,
    /// Its cgroup's id, and number.
    pub cgroup: (u64, u16),
    /// Whether it was found to have ended, at the read before.
    pub ended: bool,
}

/// A process as numbers, since memory for numbers that are zero is not touched before it is used. A free place has the
/// next free one, counted from 1, in the last.
pub type Place = [u64; 5];

impl Process {
    const fn pack(&self) -> Place {
        let [first, second] = self.name.0;
        let flags = self.manager as u64 | (self.ended as u64) << 1;
        let groups = self.group as u64 | (self.cgroup.1 as u64) << 16;
        [self.id as u64 | groups << 32, first, second, self.cgroup.0, flags]
    }

    const fn unpack(&[head, first, second, cgroup, flags]: &Place) -> Self {
        Self {
            id: head as u32,
            name: Name([first, second]),
            group: (head >> 32) as u16,
            manager: flags & 1 != 0,
            cgroup: (cgroup, (head >> 48) as u16),
            ended: flags & 2 != 0,
        }
    }
}

/// All of them. A hash table of places, and the places, which are filled from the first on: memory that was never
/// needed is never touched.
#[derive(Debug)]
pub struct Known<'a> {
    /// A power of two and more than the places; 0 is empty, else a place counted from 1.
    index: &'a mut [u32],
    places: &'a mut [Place],
    counters: &'a mut [u64],
    width: usize,
    used: usize,
    free: u32,
    length: usize,
}

impl<'a> Known<'a> {
    /// Nobody yet, with room for as many as `places`, of `width` counters each. `index` is a power of two and longer.
    pub fn new(index: &'a mut [u32], places: &'a mut [Place], counters: &'a mut [u64], width: usize) -> Self {
        Self { index, places, counters, width, used: 0, free: 0, length: 0 }
    }

    /// How long an index for so many places must be.
    pub const fn index_length(places: usize) -> usize {
        (places * 2).next_power_of_two()
    }

    /// How many processes are known.
    pub const fn len(&self) -> usize {
        self.length
    }

    /// Whether none is.
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// How many places were ever taken: beyond them is nobody.
    pub const fn used(&self) -> usize {
        self.used
    }

    fn home(&self, id: u32) -> usize {
        // Fibonacci hashing: ids come in sequence and are spread by the golden ratio's upper bits.
        (id.wrapping_mul(0x9e37_79b9) >> 7) as usize & self.mask()
    }

    fn mask(&self) -> usize {
        self.index.len().wrapping_sub(1)
    }

    /// Where in the index the id stands, or the empty spot where it would.
    fn spot(&self, id: u32) -> Option<usize> {
        let mut at = self.home(id);
        for _ in 0..self.index.len() {
            match self.place_at(at) {
                Some(place) if self.get(place).is_some_and(|process| process.id != id) => {}
                _ => return Some(at),
            }
            at = (at + 1) & self.mask();
        }
        None
    }

    fn place_at(&self, at: usize) -> Option<usize> {
        self.index.get(at).filter(|place| **place != 0).map(|place| *place as usize - 1)
    }

    /// The place of a process.
    pub fn find(&self, id: u32) -> Option<usize> {
        self.place_at(self.spot(id)?)
    }

    /// The process at a place.
    pub fn get(&self, place: usize) -> Option<Process> {
        self.places.get(place).map(Process::unpack)
    }

    /// Writes down what has become of the process at a place.
    pub fn set(&mut self, place: usize, process: Process) {
        if let Some(kept) = self.places.get_mut(place) {
            *kept = process.pack();
        }
    }

    /// The counters that were last read of the process at a place.
    pub fn counters(&mut self, place: usize) -> &mut [u64] {
        self.counters.get_mut(place * self.width..(place + 1) * self.width).unwrap_or_default()
    }

    /// Gives a process that is not there a place, with counters of zero; `None` when all are taken.
    pub fn insert(&mut self, process: Process) -> Option<usize> {
        let spot = self.spot(process.id).filter(|spot| self.place_at(*spot).is_none())?;
        let place = match self.free {
            0 if self.used < self.places.len() => {
                self.used += 1;
                self.used - 1
            }
            0 => return None,
            free => free as usize - 1,
        };
        if self.free != 0 {
            self.free = self.places.get(place).map_or(0, |[.., next]| *next as u32);
        }
        self.set(place, process);
        self.counters(place).fill(0);
        *self.index.get_mut(spot)? = u32::try_from(place + 1).ok()?;
        self.length += 1;
        Some(place)
    }

    /// Forgets a process.
    pub fn remove(&mut self, id: u32) {
        let Some((mut hole, place)) = self.spot(id).and_then(|spot| Some((spot, self.place_at(spot)?)))
        else {
            return;
        };
        if let Some([.., next]) = self.places.get_mut(place) {
            *next = self.free.into();
        }
        self.free = u32::try_from(place + 1).unwrap_or(0);
        self.length = self.length.saturating_sub(1);
        // What stands behind the hole and could not stand nearer its home moves up into it.
        let mut at = hole;
        loop {
            at = (at + 1) & self.mask();
            let moved =
                self.place_at(at).and_then(|place| self.get(place)).map(|process| self.home(process.id));
            let Some(home) = moved else { break };
            let from_home = at.wrapping_sub(home) & self.mask();
            let from_hole = at.wrapping_sub(hole) & self.mask();
            if from_home >= from_hole {
                self.index.swap(hole, at);
                hole = at;
            }
        }
        if let Some(spot) = self.index.get_mut(hole) {
            *spot = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn it_agrees_with_a_map_whatever_comes_and_goes() {
        let (mut index, mut places) = ([0; 128], [[0; 5]; 50]);
        let mut counters = [0; 50];
        let mut known = Known::new(&mut index, &mut places, &mut counters, 1);
        let (mut model, mut random) = (BTreeMap::new(), 1u64);
        for step in 0..10_000u64 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // Few ids, some of them a table's length apart.
            let id = (random >> 60) as u32 * 128 + (random >> 50 & 7) as u32;
            match (random >> 40 & 1, model.contains_key(&id)) {
                (0, true) => {
                    known.remove(id);
                    model.remove(&id);
                }
                (1, false) => {
                    let place = known.insert(Process { id, ..Process::default() });
                    assert_eq!(place.is_some(), model.len() < 50);
                    if let Some(place) = place {
                        assert_eq!(known.counters(place), [0]);
                        known.counters(place)[0] = step;
                        model.insert(id, step);
                    }
                }
                _ => {}
            }
            assert_eq!(known.len(), model.len());
            for (id, expected) in &model {
                let place = known.find(*id).unwrap();
                assert_eq!((known.get(place).unwrap().id, known.counters(place)[0]), (*id, *expected));
            }
            assert!(model.contains_key(&id) || known.find(id).is_none());
        }
    }

    #[test]
    fn a_process_is_what_it_was() {
        let name = Name([u64::MAX, 1]);
        for process in [
            Process { id: u32::MAX, name, group: 7, manager: true, cgroup: (u64::MAX, 9), ended: false },
            Process { id: 1, name, group: u16::MAX, manager: false, cgroup: (3, u16::MAX), ended: true },
            Process::default(),
        ] {
            assert_eq!(Process::unpack(&process.pack()), process);
        }
    }

    #[test]
    fn a_place_that_was_given_back_is_taken_before_a_new_one() {
        let (mut index, mut places, mut counters) = ([0; 8], [[0; 5]; 3], []);
        let mut known = Known::new(&mut index, &mut places, &mut counters, 0);
        let put = |known: &mut Known<'_>, id| known.insert(Process { id, ..Process::default() });
        assert_eq!([1, 2].map(|id| put(&mut known, id)), [Some(0), Some(1)]);
        known.remove(1);
        known.remove(7);
        assert_eq!([3, 4, 5].map(|id| put(&mut known, id)), [Some(0), Some(2), None]);
        assert_eq!(put(&mut known, 3), None, "who is there is not put again");
    }
}
