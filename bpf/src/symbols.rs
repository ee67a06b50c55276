// SPDX-License-Identifier: GPL-3.0-or-later
//! Which of the functions that the modules hook a kernel has: by name in kallsyms, by id in its BTF.

use kmote_core::btf::{HEADER, Layout, Strings, Types};
use kmote_core::hook::{Hook, Known};
use kmote_core::kallsyms::Scanner;
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
        let functions = probes.flat_map(|probe| probe.hooks).filter_map(|hook| match hook {
            Hook::Fentry(name) | Hook::Fexit(name) | Hook::Kprobe(name) | Hook::Kretprobe(name) => {
                Some(*name)
            }
            Hook::RawTracepoint(_) | Hook::Tracepoint(..) | Hook::Record(..) => None,
        });
        let mut names: Vec<_> = functions.collect();
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
pub struct Typed(Vec<u32>);

impl Typed {
    /// Reads the BTF file once, its strings and then its types, in pieces.
    pub fn scan(path: &Path, wanted: &Wanted) -> io::Result<Self> {
        let file = File::open(path)?;
        let mut header = [0; HEADER];
        file.read_exact_at(&mut header, 0)?;
        let layout = Layout::parse(&header).ok_or(io::ErrorKind::InvalidData)?;
        let (mut offsets, mut ids) = (vec![0; wanted.0.len()], vec![0; wanted.0.len()]);
        let (mut strings, mut types) = (Strings::default(), Types::default());
        in_pieces(&file, layout.strings, layout.strings_length, |piece| {
            strings.feed(piece, &wanted.0, &mut offsets);
        })?;
        in_pieces(&file, layout.types, layout.types_length, |piece| types.feed(piece, &offsets, &mut ids))?;
        Ok(Self(ids))
    }

    /// The id of a function.
    pub fn id(&self, wanted: &Wanted, name: &str) -> Option<u32> {
        wanted.place(name).and_then(|place| self.0.get(place).copied()).filter(|id| *id != 0)
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
