// SPDX-License-Identifier: GPL-3.0-or-later
//! Counters of keys that are only known at run time: the row of such a table, the walk over it, and ids that are clean.

use crate::chart::{Chart, Dimension, Kind, Mode};

/// Counters of keys that are only known at run time: an IRQ, a disk, an array.
///
/// The kernel side is a hash map named `<module>_rows`, from a 64-bit key to a structure of 64-bit counters.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// The counters of a key, in the order of the C structure.
    pub slots: &'static [&'static str],
    /// How many keys fit. The programs count in a slot of the module what does not.
    pub capacity: usize,
    /// What a key is, and so where its name comes from.
    pub names: Names,
    /// The slots of the module that are true only while all that feeds the table is attached.
    pub needs: &'static [usize],
    /// What is drawn of a key.
    pub drawn: Drawn,
}

/// What a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// The number of an interrupt line.
    Irq,
    /// A device number as the kernel has it: major << 20 | minor.
    Disk,
}

/// What is drawn of a key.
#[derive(Clone, Copy, Debug)]
pub enum Drawn {
    /// Its first counter as a dimension, after those that are always there.
    Dimension {
        /// The id of the chart.
        chart: &'static str,
        /// What Netdata divides the number by.
        divisor: u32,
    },
    /// A chart of its own: `<id>.<name>`, in a family of that name; its dimensions count slots of the table.
    Chart(&'static Chart),
}

/// The chart of what a module with bounded maps could not keep.
pub const fn lost(id: &'static str, title: &'static str, dimensions: &'static [Dimension]) -> Chart {
    Chart {
        id,
        title,
        units: "events/s",
        family: "kmote",
        context: "netdata.kmote_lost",
        kind: Kind::Line,
        priority: 140_100,
        mode: Mode::Entry,
        dimensions,
    }
}

/// Walks over a map of at most `capacity` keys: `next` gives the key after one, and `each` sees every key.
///
/// It begins after a key that no map has, since Linux 4.11 refuses to begin after none. However the keys change
/// under it, it ends: after `capacity` steps at the latest.
pub fn walk(capacity: usize, mut next: impl FnMut(u64) -> Option<u64>, mut each: impl FnMut(u64)) {
    let mut key = u64::MAX;
    for _ in 0..capacity {
        match next(key) {
            Some(following) => key = following,
            None => return,
        }
        each(key);
    }
}

/// A name as a part of an id: letters, digits, `_` and `-` as they are, all else as `_`. Not the point either, which parts
/// a chart's type from its id, and which Netdata asks to leave out of dimensions. Bytes, since the kernel promises no
/// encoding.
pub fn clean(name: &[u8]) -> impl Iterator<Item = char> {
    name.iter().map(|&byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' => char::from(byte),
        _ => '_',
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walked(capacity: usize, next: impl FnMut(u64) -> Option<u64>) -> Vec<u64> {
        let mut seen = Vec::new();
        walk(capacity, next, |key| seen.push(key));
        seen
    }

    #[test]
    fn a_walk_sees_every_key_and_ends() {
        let listed = |keys: &'static [u64]| {
            move |key| match keys.iter().position(|known| *known == key) {
                Some(place) => keys.get(place + 1).copied(),
                None => keys.first().copied(),
            }
        };
        assert_eq!(walked(8, listed(&[])), []);
        assert_eq!(walked(8, listed(&[4, 2, 9])), [4, 2, 9]);
        assert_eq!(walked(2, listed(&[4, 2, 9])), [4, 2], "no more than fit");
        let cycle = |key| Some(if key == u64::MAX { 1 } else { key % 3 + 1 });
        assert_eq!(walked(5, cycle), [1, 2, 3, 1, 2]);
        assert_eq!(walked(4, |_| Some(7)), [7; 4], "a key that is its own successor");
    }

    #[test]
    fn ids_are_clean() {
        for (name, id) in [
            ("nvme0q1", "nvme0q1"),
            ("mlx5_comp40@pci:0000:86:00.0", "mlx5_comp40_pci_0000_86_00_0"),
            ("nvme 0 io5", "nvme_0_io5"),
            ("core=0,0", "core_0_0"),
            ("x'y\\", "x_y_"),
            ("cciss!c0d0", "cciss_c0d0"),
            ("é", "__"),
            ("", ""),
        ] {
            assert_eq!(clean(name.as_bytes()).collect::<String>(), id);
        }
    }
}
