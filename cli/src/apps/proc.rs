// SPDX-License-Identifier: GPL-3.0-or-later
//! What /proc tells of a process: read when it is first met, no further than it is needed, into memory taken at start.

use super::cgroups::{Cgroups, Text};
use kmote_bpf::processes::Processes;
use kmote_core::apps::cgroup::path;
use kmote_core::apps::entry::Header;
use kmote_core::apps::ledger::Source;
use kmote_core::apps::stat;
use std::fmt::Write;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::rc::Rc;

/// The most that is read of a file: a line of `stat` is shorter, and patterns are about the beginning of a command line.
const LONGEST: usize = 4096;
/// `PROC_PID_INIT_INO` of include/linux/proc_ns.h: the namespace in which the kernel's own ids are counted.
const FIRST_NAMESPACE: &str = "pid:[4026531836]";

/// /proc, and the kernel's table.
#[derive(Debug)]
pub struct Proc {
    processes: Rc<Processes>,
    entry: Vec<u64>,
    /// `<prefix>/proc/`, and what was last asked for.
    path: String,
    root: usize,
    text: Vec<u8>,
    /// Whether the ids there are those of the kernel.
    same_ids: bool,
    /// The cgroups, if they are asked for.
    pub cgroups: Option<Box<Cgroups>>,
}

impl Proc {
    /// The /proc below a prefix.
    pub fn new(prefix: &Path, processes: Rc<Processes>) -> Self {
        let mut path = format!("{}/", prefix.join("proc").display());
        let (root, entry) = (path.len(), vec![0; processes.words]);
        path.reserve(32);
        let first = fs::read_link(prefix.join("proc/1/ns/pid"));
        let same_ids = first.is_ok_and(|namespace| namespace.as_os_str() == FIRST_NAMESPACE);
        Self { processes, entry, path, root, text: vec![0; LONGEST], same_ids, cgroups: None }
    }

    /// Whether the ids in this /proc are those of the kernel. Where they are not, it is not read.
    pub const fn same_ids(&self) -> bool {
        self.same_ids
    }

    fn name(&mut self, process: u32, file: &str) {
        self.path.truncate(self.root);
        let _ = write!(self.path, "{process}{file}");
    }

    /// Reads a file of a process; one that is gone is `None`.
    fn read(&mut self, process: u32, file: &str) -> Option<&mut [u8]> {
        if !self.same_ids {
            return None;
        }
        self.name(process, file);
        let length = File::open(&self.path).and_then(|mut file| file.read(&mut self.text)).ok()?;
        self.text.get_mut(..length)
    }
}

impl Source for Proc {
    fn header(&mut self, process: u32) -> Option<Header> {
        let found = self.processes.look_up(process, &mut self.entry);
        found.then(|| Header::parse(&self.entry)).flatten().map(|(header, _)| header)
    }

    fn stat(&mut self, process: u32, name: &mut [u8; 16]) -> Option<(usize, u32)> {
        let stat = stat::parse(self.read(process, "/stat")?)?;
        let length = stat.name.len().min(name.len());
        let (kept, read) = (name.get_mut(..length)?, stat.name.get(..length)?);
        kept.copy_from_slice(read);
        Some((length, stat.parent))
    }

    fn command_line(&mut self, process: u32) -> Option<&[u8]> {
        let line = self.read(process, "/cmdline")?;
        line.iter_mut().filter(|byte| **byte == 0).for_each(|byte| *byte = b' ');
        Some(line.trim_ascii_end()).filter(|line| !line.is_empty())
    }

    fn cgroup(&mut self, process: u32, id: u64) -> u16 {
        let Some(mut cgroups) = self.cgroups.take() else { return 0 };
        let number = cgroups.number(id, || Text::from_slice(path(self.read(process, "/cgroup")?)?).ok());
        self.cgroups = Some(cgroups);
        number
    }

    fn lives(&mut self, process: u32) -> bool {
        self.name(process, "");
        !self.same_ids || Path::new(&self.path).exists()
    }
}
