// SPDX-License-Identifier: GPL-3.0-or-later
//! The ids of functions in a stream of the kernel's BTF, without holding it.
//!
//! libbpf reads all of `/sys/kernel/btf/vmlinux` into memory, 5 MB and its index, to find one id. Here the
//! string section goes by once, then the type section, in pieces of any size. The format is the kernel's
//! `Documentation/bpf/btf.rst`, version 1.

use crate::sieve::Sieve;

/// Bytes of the header that are read.
pub const HEADER: usize = 24;

const MAGIC: u16 = 0xeb9f;
const KIND_STRUCT: u32 = 4;
const KIND_UNION: u32 = 5;
const KIND_FUNC: u32 = 12;
const KIND_PROTOTYPE: u32 = 13;

/// Where the sections of a BTF file lie, in bytes from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The type section's first byte.
    pub types: u64,
    /// The type section's length.
    pub types_length: u64,
    /// The string section's first byte.
    pub strings: u64,
    /// The string section's length.
    pub strings_length: u64,
}

impl Layout {
    /// Reads the header; `None` when it is not BTF version 1 of this machine's byte order.
    pub fn parse(header: &[u8; HEADER]) -> Option<Self> {
        let word =
            |at: usize| -> Option<u32> { Some(u32::from_ne_bytes(header.get(at..at + 4)?.try_into().ok()?)) };
        let magic = u16::from_ne_bytes([header[0], header[1]]);
        if magic != MAGIC || header[2] != 1 {
            return None;
        }
        let start = u64::from(word(4)?);
        Some(Self {
            types: start + u64::from(word(8)?),
            types_length: u64::from(word(12)?),
            strings: start + u64::from(word(16)?),
            strings_length: u64::from(word(20)?),
        })
    }
}

/// Finds where wanted names stand in the string section.
#[derive(Debug)]
pub struct Strings {
    name: [u8; 64],
    length: usize,
    offset: u32,
    sieve: Sieve,
}

impl Default for Strings {
    fn default() -> Self {
        Self { name: [0; 64], length: 0, offset: 0, sieve: Sieve::default() }
    }
}

impl Strings {
    /// Reads one more piece; puts the offset of each name seen of `wanted`, which is sorted, into `offsets`.
    pub fn feed(&mut self, mut piece: &[u8], wanted: &[&str], offsets: &mut [u32]) {
        while let Some(end) = piece.iter().position(|byte| *byte == 0) {
            self.take(&piece[..end]);
            self.settle(wanted, offsets);
            self.offset = self.offset.wrapping_add(self.length as u32).wrapping_add(1);
            self.length = 0;
            piece = &piece[end + 1..];
        }
        self.take(piece);
    }

    /// Takes a part of a name; of a name that is too long, the beginning.
    fn take(&mut self, part: &[u8]) {
        let room = self.name.get_mut(self.length..).unwrap_or_default();
        let fits = part.len().min(room.len());
        room[..fits].copy_from_slice(&part[..fits]);
        self.length = self.length.saturating_add(part.len());
    }

    fn settle(&mut self, wanted: &[&str], offsets: &mut [u32]) {
        let Some(name) = self.name.get(..self.length) else { return };
        if let Some(place) = self.sieve.find(wanted, name)
            && let Some(offset) = offsets.get_mut(place)
        {
            *offset = self.offset;
        }
    }
}

/// A record of the type section, as far as functions go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its id: records count from 1.
    pub id: u32,
    /// Where its name stands in the string section; 0: it has none.
    pub name: u32,
    kind: u32,
    members: usize,
    refers: u32,
}

impl Record {
    fn read(id: u32, bytes: &[u8; 12]) -> Self {
        let [n0, n1, n2, n3, i0, i1, i2, i3, r0, r1, r2, r3] = *bytes;
        let word = u32::from_ne_bytes;
        let info = word([i0, i1, i2, i3]);
        let (kind, members) = (info >> 24 & 0x1f, (info & 0xffff) as usize);
        Self { id, name: word([n0, n1, n2, n3]), kind, members, refers: word([r0, r1, r2, r3]) }
    }

    /// The id of its prototype, if it is a function.
    pub fn prototype(&self) -> Option<u32> {
        (self.kind == KIND_FUNC && self.name != 0).then_some(self.refers)
    }

    /// How many parameters it has, if it is a prototype.
    pub fn parameters(&self) -> Option<usize> {
        (self.kind == KIND_PROTOTYPE).then_some(self.members)
    }
}

/// A member of a structure or union.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Where the structure's name stands in the string section.
    pub of: u32,
    /// Where its own name does.
    pub name: u32,
    /// Its offset in bytes.
    pub offset: u64,
}

/// The structure whose members come next.
#[derive(Clone, Copy, Debug, Default)]
struct Structure {
    name: u32,
    members: usize,
    bit_fields: bool,
}

impl Structure {
    fn read(self, bytes: &[u8; 12]) -> Member {
        let [n0, n1, n2, n3, _, _, _, _, o0, o1, o2, o3] = *bytes;
        let word = u32::from_ne_bytes;
        // With bit fields, the upper byte is the size of one.
        let bits = word([o0, o1, o2, o3]) & if self.bit_fields { 0xff_ffff } else { u32::MAX };
        Member { of: self.name, name: word([n0, n1, n2, n3]), offset: u64::from(bits / 8) }
    }
}

/// Finds the ids of functions in the type section.
#[derive(Debug, Default)]
pub struct Types {
    structure: Structure,
    record: [u8; 12],
    filled: usize,
    skip: usize,
    id: u32,
    lost: bool,
}

impl Types {
    /// Reads one more piece; where a function's name stands at one of `offsets` (0: not wanted), its id goes to
    /// the same place of `ids`, the first of several.
    pub fn feed(&mut self, piece: &[u8], offsets: &[u32], ids: &mut [u32]) {
        self.records(piece, |record| {
            if record.prototype().is_some()
                && let Some(place) = offsets.iter().position(|offset| *offset == record.name)
                && let Some(id @ 0) = ids.get_mut(place)
            {
                *id = record.id;
            }
        });
    }

    /// Reads one more piece and gives each record that ends in it. After a kind that is not known nothing more comes,
    /// as its size is not known either.
    pub fn records(&mut self, piece: &[u8], each: impl FnMut(&Record)) {
        self.units(piece, each, |_| {});
    }

    /// The same for members of structures.
    pub fn members(&mut self, piece: &[u8], each: impl FnMut(&Member)) {
        self.units(piece, |_| {}, each);
    }

    fn units(&mut self, mut piece: &[u8], mut each: impl FnMut(&Record), mut member: impl FnMut(&Member)) {
        while !piece.is_empty() && !self.lost {
            let skipped = self.skip.min(piece.len());
            self.skip -= skipped;
            piece = &piece[skipped..];
            let taken = (self.record.len() - self.filled).min(piece.len());
            self.record[self.filled..self.filled + taken].copy_from_slice(&piece[..taken]);
            self.filled += taken;
            piece = &piece[taken..];
            if self.filled == self.record.len() {
                self.filled = 0;
                if self.structure.members > 0 {
                    self.structure.members -= 1;
                    member(&self.structure.read(&self.record));
                } else {
                    each(&self.settle());
                }
            }
        }
    }

    fn settle(&mut self) -> Record {
        self.id = self.id.wrapping_add(1);
        let record = Record::read(self.id, &self.record);
        match (record.kind, trailer(record.kind, record.members)) {
            (KIND_STRUCT | KIND_UNION, _) => {
                let bit_fields = self.record[7] >> 7 == 1 && cfg!(target_endian = "little")
                    || self.record[4] >> 7 == 1 && cfg!(target_endian = "big");
                self.structure = Structure { name: record.name, members: record.members, bit_fields };
            }
            (_, Some(bytes)) => self.skip = bytes,
            (_, None) => self.lost = true,
        }
        record
    }
}

/// Bytes that follow a record of `kind` with `members`; `None` for a kind after `BTF_KIND_ENUM64`.
const fn trailer(kind: u32, members: usize) -> Option<usize> {
    match kind {
        // Int, variable, declaration tag: one word.
        1 | 14 | 17 => Some(4),
        // Array: element, index, count.
        3 => Some(12),
        // Struct, union, data section, 64-bit enum: three words a member.
        4 | 5 | 15 | 19 => Some(members * 12),
        // Enum, function prototype: two words a member.
        6 | 13 => Some(members * 8),
        // Pointer, forward, typedef, volatile, const, restrict, function, float, type tag: nothing.
        2 | 7..=12 | 16 | 18 => Some(0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: [&str; 3] = ["absent", "kernel_clone", "vfs_read"];
    const STRINGS: &[u8] = b"\0int\0vfs_read\0struct_of_that_name\0kernel_clone\0vfs_readv\0";

    fn record(name: u32, kind: u32, members: u32, trailer: usize) -> Vec<u8> {
        let words = [name, kind << 24 | members, 4];
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        bytes.extend(core::iter::repeat_n(0xaa, trailer));
        bytes
    }

    fn types() -> Vec<u8> {
        [
            record(1, 1, 0, 4),
            record(5, 4, 2, 24),
            record(14, 13, 3, 24),
            record(5, 12, 1, 0),
            record(15, 12, 1, 0),
            record(5, 12, 0, 0),
        ]
        .concat()
    }

    fn find(strings: &[&[u8]], types: &[&[u8]]) -> ([u32; 3], [u32; 3]) {
        let (mut offsets, mut ids) = ([0; 3], [0; 3]);
        let (mut names, mut records) = (Strings::default(), Types::default());
        for piece in strings {
            names.feed(piece, &WANTED, &mut offsets);
        }
        for piece in types {
            records.feed(piece, &offsets, &mut ids);
        }
        (offsets, ids)
    }

    #[test]
    fn the_first_function_of_a_name_is_found_and_a_struct_of_that_name_is_not() {
        assert_eq!(find(&[STRINGS], &[&types()]), ([0, 34, 5], [0, 0, 4]));
    }

    #[test]
    fn any_split_of_the_bytes_finds_the_same() {
        let whole = find(&[STRINGS], &[&types()]);
        for size in 1..40 {
            let (strings, all): (Vec<_>, Vec<u8>) = (STRINGS.chunks(size).collect(), types());
            let records: Vec<_> = all.chunks(size).collect();
            assert_eq!(find(&strings, &records), whole, "pieces of {size}");
        }
    }

    #[test]
    fn a_function_leads_to_its_parameters() {
        let (mut function, mut parameters) = (None, None);
        let types = [record(0, 13, 3, 24), record(5, 12, 1, 0)].concat();
        // The last word of a record of ours is 4: the prototype's id is set here.
        let types = [&types[..types.len() - 4], &1u32.to_ne_bytes()].concat();
        Types::default().records(&types, |record| {
            function = function.or(record.prototype());
            parameters = parameters.or(record.parameters().map(|count| (record.id, count)));
        });
        assert_eq!((function, parameters), (Some(1), Some((1, 3))));
    }

    #[test]
    fn members_of_structures_are_told_in_bytes_whatever_the_pieces() {
        // A structure, one with bit fields, and a function between them.
        let member = |name: u32, bits: u32| [name, 1, bits].map(u32::to_ne_bytes).concat();
        let types = [
            record(5, 4, 2, 0),
            member(1, 0),
            member(14, 192),
            record(15, 12, 1, 0),
            record(14, 1 << 7 | 4, 1, 0),
            member(1, 3 << 24 | 72),
        ]
        .concat();
        let expected =
            [(5, 1, 0), (5, 14, 24), (14, 1, 9)].map(|(of, name, offset)| Member { of, name, offset });
        for size in 1..types.len() + 1 {
            let (mut reader, mut seen) = (Types::default(), Vec::new());
            types.chunks(size).for_each(|piece| reader.members(piece, |member| seen.push(*member)));
            assert_eq!(seen, expected, "pieces of {size}");
        }
    }

    #[test]
    fn nothing_is_found_after_a_kind_of_unknown_size() {
        let unknown = [record(0, 31, 0, 0), record(5, 12, 0, 0)].concat();
        assert_eq!(find(&[STRINGS], &[&unknown]).1, [0; 3]);
    }

    #[test]
    fn headers() {
        let mut header = [0; HEADER];
        header[..2].copy_from_slice(&MAGIC.to_ne_bytes());
        header[2] = 1;
        for (at, word) in [(4, 24u32), (8, 0), (12, 100), (16, 100), (20, 50)] {
            header[at..at + 4].copy_from_slice(&word.to_ne_bytes());
        }
        let layout = Layout { types: 24, types_length: 100, strings: 124, strings_length: 50 };
        assert_eq!(Layout::parse(&header), Some(layout));
        header[2] = 2;
        assert_eq!(Layout::parse(&header), None);
        assert_eq!(Layout::parse(&[0; HEADER]), None);
    }
}
