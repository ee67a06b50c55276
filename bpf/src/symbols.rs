// SPDX-License-Identifier: GPL-3.0-or-later
//! Which of the functions that the modules hook a kernel has: by name in kallsyms, by id in its BTF.

use kmote_core::btf::{HEADER, Layout, Record, Strings, Types};
use kmote_core::hook::{Hook, Known, Member};
use kmote_core::kallsyms::Scanner;
use kmote_core::memory::Keep;
use kmote_core::modules::MODULES;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// How much of a file is read at once.
const PIECE: usize = 32 * 1024;

/// The names that some module hooks as functions, sorted, each once.
#[derive(Debug)]
pub struct Wanted(Vec<&'static str>);

impl Default for Wanted {
    fn default() -> Self {
        let probes = MODULES.iter().flat_map(|module| module.probes);
        let hooks = probes.flat_map(|probe| probe.hooks).flat_map(Hook::places);
        let mut names: Vec<_> = hooks.filter_map(|hook| hook.function()).collect();
        names.sort_unstable();
        names.dedup();
        Self(names)
    }
}

impl Wanted {
    fn place(&self, name: &str) -> Option<usize> {
        self.0.binary_search(&name).ok()
    }
}

/// The functions that kallsyms lists.
#[derive(Debug)]
pub struct Functions(Vec<bool>);

impl Functions {
    /// Reads kallsyms once, in pieces.
    pub fn scan(path: &Path, wanted: &Wanted) -> io::Result<Self> {
        let (mut file, mut scanner) = (File::open(path)?, Scanner::default());
        let (mut found, mut piece) = (vec![false; wanted.0.len()], vec![0; PIECE]);
        loop {
            match file.read(&mut piece)? {
                0 => break,
                length => scanner.feed(piece.get(..length).unwrap_or_default(), &wanted.0, &mut found),
            }
        }
        scanner.finish(&wanted.0, &mut found);
        Ok(Self(found))
    }

    /// Whether `name` is listed; a name that is not wanted was not looked for.
    pub fn knows(&self, wanted: &Wanted, name: &str) -> Known {
        match wanted.place(name).and_then(|place| self.0.get(place)) {
            Some(true) => Known::Present,
            Some(false) => Known::Absent,
            None => Known::Untold,
        }
    }
}

/// The functions that the kernel's BTF describes.
#[derive(Debug)]
pub struct Typed {
    ids: Vec<u32>,
    parameters: Vec<Option<usize>>,
}

impl Typed {
    /// Reads the BTF file in pieces: its strings, its types, and these again for the functions' prototypes, which may
    /// stand before or after them.
    pub fn scan(path: &Path, wanted: &Wanted) -> io::Result<Self> {
        let (file, layout) = open(path)?;
        let count = wanted.0.len();
        let (mut offsets, mut ids, mut prototypes) = (vec![0; count], vec![0; count], vec![0; count]);
        let (mut strings, mut types, mut parameters) =
            (Strings::default(), Types::default(), vec![None; count]);
        in_pieces(&file, layout.strings, layout.strings_length, |piece| {
            strings.feed(piece, &wanted.0, &mut offsets);
        })?;
        let index = in_order(&offsets);
        in_pieces(&file, layout.types, layout.types_length, |piece| {
            types.records(piece, |record| note(record, &index, &mut ids, &mut prototypes));
        })?;
        types = Types::default();
        let index = in_order(&prototypes);
        in_pieces(&file, layout.types, layout.types_length, |piece| {
            types.records(piece, |record| count_parameters(record, &index, &mut parameters));
        })?;
        Ok(Self { ids, parameters })
    }

    /// The id of a function.
    pub fn id(&self, wanted: &Wanted, name: &str) -> Option<u32> {
        wanted.place(name).and_then(|place| self.ids.get(place).copied()).filter(|id| *id != 0)
    }

    /// How many parameters a function has.
    pub fn parameters(&self, wanted: &Wanted, name: &str) -> Option<usize> {
        wanted.place(name).and_then(|place| self.parameters.get(place).copied()).flatten()
    }
}

/// Where kernel structures have the members that programs read, in bytes.
#[derive(Debug)]
pub struct Offsets(Vec<(Member, u64)>);

impl Offsets {
    /// Reads the BTF file once more. Of several structures of one name the first that has the member counts.
    pub fn scan(path: &Path) -> io::Result<Self> {
        let keeps = MODULES.iter().flat_map(|module| module.keeps);
        let wanted: Vec<Member> = keeps.flat_map(Keep::members).copied().collect();
        let mut names: Vec<_> = wanted.iter().flat_map(|(structure, member)| [*structure, *member]).collect();
        names.sort_unstable();
        names.dedup();
        let (file, layout) = open(path)?;
        let (mut strings, mut types) = (Strings::default(), Types::default());
        let (mut places, mut found) = (vec![0; names.len()], Vec::new());
        in_pieces(&file, layout.strings, layout.strings_length, |piece| {
            strings.feed(piece, &names, &mut places);
        })?;
        // A name at 0 is not in the section; members without a name stand there.
        let place = |name: &str| {
            let at = names.binary_search(&name).ok();
            at.and_then(|at| places.get(at).copied()).filter(|place| *place != 0)
        };
        let wanted: Vec<_> = wanted.iter().map(|both| (*both, place(both.0), place(both.1))).collect();
        in_pieces(&file, layout.types, layout.types_length, |piece| {
            types.members(piece, |member| {
                let is_it = |one: &&(Member, Option<u32>, Option<u32>)| {
                    (one.1, one.2) == (Some(member.of), Some(member.name))
                };
                let both = wanted.iter().find(is_it).map(|one| one.0);
                if let Some(both) = both.filter(|both| found.iter().all(|(known, _)| known != both)) {
                    found.push((both, member.offset));
                }
            });
        })?;
        Ok(Self(found))
    }

    /// The offset of a member.
    pub fn of(&self, member: &Member) -> Option<u64> {
        self.0.iter().find(|(known, _)| known == member).map(|(_, offset)| *offset)
    }
}

fn open(path: &Path) -> io::Result<(File, Layout)> {
    let (file, mut header) = (File::open(path)?, [0; HEADER]);
    file.read_exact_at(&mut header, 0)?;
    let layout = Layout::parse(&header).ok_or(io::ErrorKind::InvalidData)?;
    Ok((file, layout))
}

/// Numbers and their places, by the numbers; 0 is none. There are a hundred thousand records to look up.
fn in_order(numbers: &[u32]) -> Vec<(u32, usize)> {
    let places = numbers.iter().copied().enumerate().map(|(place, number)| (number, place));
    let mut index: Vec<_> = places.filter(|(number, _)| *number != 0).collect();
    index.sort_unstable();
    index
}

/// The places of a number.
fn places(index: &[(u32, usize)], number: u32) -> impl Iterator<Item = usize> {
    let first = index.partition_point(|(known, _)| *known < number);
    let rest = index.get(first..).unwrap_or_default().iter();
    rest.take_while(move |(known, _)| *known == number).map(|(_, place)| *place)
}

/// Takes the ids of a wanted function and of its prototype, of the first of several.
fn note(record: &Record, index: &[(u32, usize)], ids: &mut [u32], prototypes: &mut [u32]) {
    let Some(prototype) = record.prototype() else { return };
    let place = places(index, record.name).next();
    let found = place.and_then(|place| ids.get_mut(place).zip(prototypes.get_mut(place)));
    if let Some((id @ 0, refers)) = found {
        (*id, *refers) = (record.id, prototype);
    }
}

/// Functions may share a prototype.
fn count_parameters(record: &Record, index: &[(u32, usize)], parameters: &mut [Option<usize>]) {
    let Some(count) = record.parameters() else { return };
    for place in places(index, record.id) {
        if let Some(parameters) = parameters.get_mut(place) {
            *parameters = Some(count);
        }
    }
}

fn in_pieces(file: &File, start: u64, length: u64, mut each: impl FnMut(&[u8])) -> io::Result<()> {
    let (mut piece, mut at, end) = (vec![0; PIECE], start, start.saturating_add(length));
    while at < end {
        let most = usize::try_from(end - at).unwrap_or(PIECE).min(PIECE);
        let read = file.read_at(piece.get_mut(..most).unwrap_or_default(), at)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        each(piece.get(..read).unwrap_or_default());
        at += read as u64;
    }
    Ok(())
}
