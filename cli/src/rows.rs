// SPDX-License-Identifier: GPL-3.0-or-later
//! What is kept of a table between ticks: which keys there are, their names and counters. After start nothing grows.

use crate::names::Name;
use kmote_core::table::Table;
use std::ops::Range;

/// How far a row has come in Netdata's eyes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Not declared yet.
    New,
    /// Declared.
    Known,
    /// The key means nothing any more, or something else; to be declared obsolete and forgotten.
    Gone,
}

/// A key of a table.
#[derive(Debug)]
pub struct Row {
    /// The key.
    pub key: u64,
    /// Its name.
    pub name: Name,
    /// How far it has come.
    pub stage: Stage,
    /// When its chart was last sent, in microseconds; 0 for never.
    pub sent: u64,
}

/// Every how many ticks one row is asked whether it is still what it was.
const PATROL: u32 = 4;

/// The keys of a table, in their order.
#[derive(Debug)]
pub struct Rows {
    /// The table's row.
    pub table: &'static Table,
    /// The interval that its charts are declared with, in seconds.
    pub update_every: u32,
    rows: Vec<Row>,
    /// The counters of the rows, one after the other.
    counters: Vec<u64>,
    ticks: u32,
    next: usize,
}

impl Rows {
    /// No key yet, and room for all.
    pub fn new(table: &'static Table) -> Self {
        let (rows, counters) =
            (Vec::with_capacity(table.capacity), vec![0; table.capacity * table.slots.len()]);
        Self { table, update_every: 1, rows, counters, ticks: 0, next: 0 }
    }

    /// Forgets what was declared and sent, and when.
    pub fn forget_sent(&mut self) {
        for row in &mut self.rows {
            row.sent = 0;
            if row.stage == Stage::Known {
                row.stage = Stage::New;
            }
        }
    }

    /// Takes a read of the table; `name` is asked for the name of each new key. A key that is not in the read keeps its
    /// counters: the kernel side forgets none by itself.
    pub fn take(&mut self, keys: &[u64], values: &[u64], mut name: impl FnMut(u64) -> Name) {
        let slots = self.table.slots.len();
        for (&key, read) in keys.iter().zip(values.chunks_exact(slots)) {
            let place = match self.rows.binary_search_by_key(&key, |row| row.key) {
                Ok(place) => place,
                // Only while rows that are gone wait to be sent: the key comes with the next read.
                Err(_) if self.rows.len() == self.table.capacity => continue,
                Err(place) => {
                    self.rows.insert(place, Row { key, name: name(key), stage: Stage::New, sent: 0 });
                    let end = self.rows.len() * slots;
                    self.counters.copy_within(place * slots..end - slots, (place + 1) * slots);
                    place
                }
            };
            if let Some(counters) = self.counters.get_mut(range(place, slots)) {
                counters.copy_from_slice(read);
            }
        }
    }

    /// Now and then asks one row, in turn, for its name: if `name` now says another, the row is gone, and its key is
    /// returned, to be taken out of the map.
    pub fn patrol(&mut self, name: impl FnOnce(u64) -> Name) -> Option<u64> {
        self.ticks = self.ticks.wrapping_add(1);
        if self.rows.is_empty() || !self.ticks.is_multiple_of(PATROL) {
            return None;
        }
        self.next = (self.next + 1) % self.rows.len();
        let row = self.rows.get_mut(self.next)?;
        if row.name == name(row.key) {
            return None;
        }
        row.stage = Stage::Gone;
        Some(row.key)
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Every row with its counters.
    pub fn each(&self) -> impl Iterator<Item = (&Row, &[u64])> {
        self.rows.iter().zip(self.counters.chunks_exact(self.table.slots.len()))
    }

    /// The same, for the time of sending to be noted.
    pub fn each_mut(&mut self) -> impl Iterator<Item = (&mut Row, &[u64])> {
        self.rows.iter_mut().zip(self.counters.chunks_exact(self.table.slots.len()))
    }

    /// Whether a row has come or gone since the last time all were settled.
    pub fn unsettled(&self) -> bool {
        self.rows.iter().any(|row| row.stage != Stage::Known)
    }

    /// Takes what was declared for known, and forgets what was declared obsolete.
    pub fn settle(&mut self) {
        let slots = self.table.slots.len();
        for place in (0..self.rows.len()).rev() {
            match self.rows.get_mut(place) {
                Some(row) if row.stage == Stage::New => row.stage = Stage::Known,
                Some(row) if row.stage == Stage::Gone => {
                    let end = self.rows.len() * slots;
                    self.counters.copy_within((place + 1) * slots..end, place * slots);
                    self.rows.remove(place);
                }
                _ => {}
            }
        }
    }
}

const fn range(place: usize, slots: usize) -> Range<usize> {
    place * slots..(place + 1) * slots
}

#[cfg(test)]
mod tests {
    use super::*;
    use kmote_core::table::{Drawn, Names};

    static TABLE: Table = Table {
        slots: &["a", "b"],
        capacity: 3,
        names: Names::Irq,
        needs: &[],
        drawn: Drawn::Dimension { chart: "c", divisor: 1 },
    };

    fn named(key: u64) -> Name {
        Name::try_from(format!("n{key}").as_str()).unwrap()
    }

    fn seen(rows: &Rows) -> Vec<(u64, Stage, Vec<u64>)> {
        rows.each().map(|(row, counters)| (row.key, row.stage, counters.to_vec())).collect()
    }

    #[test]
    fn rows_come_in_the_order_of_their_keys_and_stay() {
        let mut rows = Rows::new(&TABLE);
        rows.take(&[7], &[70, 71], named);
        assert!(rows.unsettled());
        rows.settle();
        assert!(!rows.unsettled());
        rows.take(&[9, 4, 7], &[90, 91, 40, 41, 72, 73], named);
        let (new, known) = (Stage::New, Stage::Known);
        assert_eq!(seen(&rows), [(4, new, vec![40, 41]), (7, known, vec![72, 73]), (9, new, vec![90, 91])]);
        rows.take(&[4], &[42, 43], named);
        assert_eq!(seen(&rows)[1..], [(7, known, vec![72, 73]), (9, new, vec![90, 91])]);
        rows.take(&[1], &[10, 11], named);
        assert_eq!(rows.each().count(), 3, "no more than fit");
    }

    #[test]
    fn a_row_whose_name_changes_is_gone_and_makes_room() {
        let mut rows = Rows::new(&TABLE);
        rows.take(&[1, 2, 3], &[10, 11, 20, 21, 30, 31], named);
        rows.settle();
        let gone: Vec<_> = (0..3 * PATROL)
            .filter_map(|_| rows.patrol(|key| named(if key == 2 { 8 } else { key })))
            .collect();
        assert_eq!(gone, [2]);
        assert_eq!(seen(&rows)[1], (2, Stage::Gone, vec![20, 21]));
        rows.settle();
        rows.take(&[5], &[50, 51], named);
        let keys: Vec<_> = seen(&rows).into_iter().map(|(key, _, counters)| (key, counters)).collect();
        assert_eq!(keys, [(1, vec![10, 11]), (3, vec![30, 31]), (5, vec![50, 51])]);
    }

    #[test]
    fn an_empty_table_has_nothing_to_ask() {
        let mut rows = Rows::new(&TABLE);
        assert!((0..20).all(|_| rows.patrol(named).is_none()) && !rows.unsettled());
    }
}
