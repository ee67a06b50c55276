// SPDX-License-Identifier: GPL-3.0-or-later
//! Which functions occur in the text of `/proc/kallsyms`.

use crate::sieve::Sieve;

/// The longest name that is looked for; longer names in the stream are passed over.
const LONGEST: usize = 63;

/// Reads a stream of lines `address type name [module]` in pieces of any size.
#[derive(Debug)]
pub struct Scanner {
    column: Column,
    kind: u8,
    name: [u8; LONGEST],
    length: usize,
    sieve: Sieve,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Address,
    Kind,
    Name,
    Rest,
}

impl Default for Scanner {
    fn default() -> Self {
        let sieve = Sieve::default();
        Self { column: Column::Address, kind: 0, name: [0; LONGEST], length: 0, sieve }
    }
}

impl Scanner {
    /// Reads one more piece; marks in `found` the places of the functions seen of `wanted`, which is sorted.
    pub fn feed(&mut self, piece: &[u8], wanted: &[&str], found: &mut [bool]) {
        for &byte in piece {
            match (self.column, byte) {
                (_, b'\n') => {
                    self.settle(wanted, found);
                    (self.column, self.length) = (Column::Address, 0);
                }
                (Column::Address, b' ') => self.column = Column::Kind,
                (Column::Kind, b' ') => self.column = Column::Name,
                (Column::Kind, kind) => self.kind = kind,
                (Column::Name, b' ' | b'\t') => {
                    self.settle(wanted, found);
                    self.column = Column::Rest;
                }
                (Column::Name, byte) => {
                    if let Some(place) = self.name.get_mut(self.length) {
                        *place = byte;
                    }
                    self.length = self.length.saturating_add(1);
                }
                (Column::Address | Column::Rest, _) => {}
            }
        }
    }

    /// Ends the stream: a last line without a newline counts too.
    pub fn finish(&mut self, wanted: &[&str], found: &mut [bool]) {
        self.settle(wanted, found);
        *self = Self::default();
    }

    fn settle(&mut self, wanted: &[&str], found: &mut [bool]) {
        let is_text = matches!(self.kind, b't' | b'T' | b'w' | b'W');
        let Some(name) = self.name.get(..self.length).filter(|_| is_text && self.column == Column::Name)
        else {
            return;
        };
        if let Some(place) = self.sieve.find(wanted, name)
            && let Some(mark) = found.get_mut(place)
        {
            *mark = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: [&str; 4] = ["close_fd", "kernel_clone", "md_flush_request", "vfs_read"];
    const TEXT: &str = "ffffffff81000000 T _stext\nffffffff81abc000 t kernel_clone\n\
        0000000000000000 D close_fd\nffffffff81abd000 T vfs_readv\nffffffff81abe000 W vfs_read.cold\n\
        ffffffffc0000000 t md_flush_request\t[md_mod]\n\n garbage\nffffffff81000000 T vfs_read";

    fn scan(pieces: &[&[u8]]) -> [bool; 4] {
        let (mut scanner, mut found) = (Scanner::default(), [false; 4]);
        for piece in pieces {
            scanner.feed(piece, &WANTED, &mut found);
        }
        scanner.finish(&WANTED, &mut found);
        found
    }

    #[test]
    fn functions_are_found_and_data_and_longer_names_are_not() {
        assert_eq!(scan(&[TEXT.as_bytes()]), [false, true, true, true]);
    }

    #[test]
    fn any_split_of_the_bytes_finds_the_same() {
        let (text, whole) = (TEXT.as_bytes(), scan(&[TEXT.as_bytes()]));
        for first in 0..=text.len() {
            let (a, b) = text.split_at(first);
            assert_eq!(scan(&[a, b]), whole, "split at {first}");
        }
        for size in 1..20 {
            let pieces: Vec<_> = text.chunks(size).collect();
            assert_eq!(scan(&pieces), whole, "pieces of {size}");
        }
    }

    #[test]
    fn names_longer_than_any_wanted_are_passed_over() {
        let long = format!("0 T {}\n0 T vfs_read\n", "vfs_read".repeat(100));
        assert_eq!(scan(&[long.as_bytes()]), [false, false, false, true]);
        assert_eq!(scan(&[b"0 T vfs_rea"]), [false; 4]);
    }
}
