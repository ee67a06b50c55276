// SPDX-License-Identifier: GPL-3.0-or-later
//! The cgroups that are drawn: met with their first process, told by their paths, given up once they are gone.

use kmote_core::apps::cgroup::{Kind, named};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirEntryExt;
use std::path::{Path, PathBuf};

/// The most that are drawn at a time, and number 0, which stands for all others.
pub const MOST: usize = 257;
/// Reads for which the number of one that is gone is not given to another: the last of its processes are booked by then.
const REST: u64 = 8;

/// For how many cgroups, whose processes are gone already, all directories are looked at in a read.
const SEARCHES: u32 = 8;
/// How many directories are looked at for one cgroup.
const SEARCHED: usize = 4096;

/// A name that is drawn.
pub type Name = heapless::Vec<u8, 128>;
/// A path. One that is longer is not drawn.
pub type Text = heapless::Vec<u8, 320>;
/// How many ids of cgroups that are not drawn are remembered, so that not every process of theirs is asked.
const UNDRAWN: usize = 64;

/// How far a cgroup has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It is there.
    Living,
    /// It is gone, and its charts are to be given up.
    Gone,
    /// Its charts were given up, at this read.
    Resting(u64),
}

/// A cgroup.
#[derive(Debug)]
pub struct Cgroup {
    id: u64,
    /// What it is.
    pub kind: Kind,
    /// Its name.
    pub name: Name,
    /// How far it has come.
    pub stage: Stage,
    path: Text,
}

/// All of them.
#[derive(Debug)]
pub struct Cgroups {
    /// The one of number n stands at n − 1.
    all: Vec<Cgroup>,
    /// Where they are mounted.
    root: PathBuf,
    /// Whether there is one hierarchy, so that the kernel's ids tell them apart.
    unified: bool,
    undrawn: [u64; UNDRAWN],
    next: usize,
    reads: u64,
    /// How many more may be searched for in this read.
    searches: u32,
    /// How many there was no room for.
    pub no_room: u64,
}

impl Cgroups {
    /// Those below a prefix.
    pub fn new(prefix: &Path, kernel_has_ids: bool) -> Self {
        let root = prefix.join("sys/fs/cgroup");
        let unified = kernel_has_ids && root.join("cgroup.controllers").exists();
        let (all, undrawn) = (Vec::with_capacity(MOST - 1), [0; UNDRAWN]);
        Self { all, root, unified, undrawn, next: 0, reads: 1, searches: SEARCHES, no_room: 0 }
    }

    /// The number of the cgroup of this id; 0 if it is not drawn. `ask` gives the path that /proc tells.
    pub fn number(&mut self, id: u64, ask: impl FnOnce() -> Option<Text>) -> u16 {
        if self.unified && self.undrawn.contains(&id) {
            return 0;
        }

        if let Some(place) =
            self.all.iter().position(|known| self.unified && known.id == id && known.stage == Stage::Living)
        {
            return number(place);
        }
        let Some(path) = ask().or_else(|| self.path_of(id)) else { return 0 };
        let Some(cgroup) = self.cgroup(id, &path) else {
            let places = self.undrawn.iter_mut();
            places.skip(self.next).take(1).for_each(|place| *place = id);
            self.next = (self.next + 1) % UNDRAWN;
            return 0;
        };
        let known =
            self.all.iter().position(|known| known.path == cgroup.path && known.stage == Stage::Living);
        known.or_else(|| self.put(cgroup)).map_or(0, number)
    }

    /// Where the cgroup of this id lies, whose last process may be gone. Not often in a read: it looks at all.
    fn path_of(&mut self, id: u64) -> Option<Text> {
        if !self.unified {
            return None;
        }
        self.searches = self.searches.checked_sub(1)?;
        let mut most = SEARCHED;
        let found = search(&self.root, id, &mut most)?;
        let below =
            found.as_os_str().as_encoded_bytes().strip_prefix(self.root.as_os_str().as_encoded_bytes())?;
        Text::from_slice(below).ok()
    }

    fn cgroup(&self, id: u64, path: &[u8]) -> Option<Cgroup> {
        let named = named(path)?;
        let mut name = Name::from_slice(named.prefix.as_bytes()).ok()?;
        let room = name.capacity() - name.len();
        name.extend_from_slice(named.name.get(..room.min(named.name.len()))?).ok()?;
        let mut whole = Text::from_slice(self.root.as_os_str().as_encoded_bytes()).ok()?;
        whole.extend_from_slice(path).ok()?;
        Some(Cgroup { id, kind: named.kind, name, stage: Stage::Living, path: whole })
    }

    fn put(&mut self, cgroup: Cgroup) -> Option<usize> {
        let rested =
            |known: &Cgroup| matches!(known.stage, Stage::Resting(since) if since + REST < self.reads);
        if let Some(place) = self.all.iter().position(rested) {
            *self.all.get_mut(place)? = cgroup;
            return Some(place);
        }
        if self.all.len() + 1 == MOST {
            self.no_room += 1;
            return None;
        }
        self.all.push(cgroup);
        Some(self.all.len() - 1)
    }

    /// Looks, in turn, whether one of them is still there.
    pub fn patrol(&mut self) {
        self.reads += 1;
        self.searches = SEARCHES;
        let turn = (self.reads as usize).checked_rem(self.all.len()).unwrap_or(0);
        let gone = |cgroup: &&mut Cgroup| {
            cgroup.stage == Stage::Living && !Path::new(OsStr::from_bytes(&cgroup.path)).exists()
        };
        if let Some(cgroup) = self.all.get_mut(turn).filter(gone) {
            cgroup.stage = Stage::Gone;
        }
    }

    /// The cgroup of a number.
    pub fn get(&self, number: u16) -> Option<&Cgroup> {
        self.all.get(usize::from(number).checked_sub(1)?)
    }

    /// Lets the number of one whose charts were given up rest.
    pub fn rest(&mut self, number: u16) {
        let reads = self.reads;
        if let Some(cgroup) = usize::from(number).checked_sub(1).and_then(|place| self.all.get_mut(place)) {
            cgroup.stage = Stage::Resting(reads);
        }
    }

    /// One more than the highest number.
    pub fn count(&self) -> u16 {
        number(self.all.len())
    }
}

/// The directory of the cgroup of this id, below another. The id is the directory's number; before v5.5 (67c0496e87d1)
/// only its lower half is.
fn search(directory: &Path, id: u64, most: &mut usize) -> Option<PathBuf> {
    let is_directory = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    for entry in fs::read_dir(directory).ok()?.flatten().filter(is_directory) {
        *most = most.checked_sub(1)?;
        if entry.ino() == id || entry.ino() == id & u64::from(u32::MAX) {
            return Some(entry.path());
        }
        if let Some(found) = search(&entry.path(), id, most) {
            return Some(found);
        }
    }
    None
}

fn number(place: usize) -> u16 {
    u16::try_from(place + 1).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    /// Cgroups below a directory of this test's own, without ids.
    fn below(test: &str) -> (Cgroups, PathBuf) {
        let root = std::env::temp_dir().join(format!("kmote-cgroups-{test}-{}", std::process::id()));
        fs::create_dir_all(root.join("sys/fs/cgroup")).unwrap();
        (Cgroups::new(&root, true), root)
    }

    fn numbers(cgroups: &mut Cgroups, paths: &[&str]) -> Vec<u16> {
        paths.iter().map(|path| cgroups.number(1, || Text::from_slice(path.as_bytes()).ok())).collect()
    }

    #[test]
    fn one_number_a_cgroup_and_none_for_those_that_are_not_drawn() {
        let (mut cgroups, root) = below("numbers");
        let container = format!("/docker/{ID}");
        let paths = ["/system.slice/a.service", &container, "/", "/system.slice/a.service", "/init.scope"];
        assert_eq!(numbers(&mut cgroups, &paths), [1, 2, 0, 1, 0]);
        assert_eq!(cgroups.get(2).map(|cgroup| cgroup.name.as_slice()), Some(&b"0123456789ab"[..]));
        assert!(cgroups.get(0).is_none() && cgroups.get(3).is_none());
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_number_is_given_again_only_after_a_rest() {
        let (mut cgroups, root) = below("rest");
        let place = root.join("sys/fs/cgroup/system.slice/a.service");
        fs::create_dir_all(&place).unwrap();
        assert_eq!(numbers(&mut cgroups, &["/system.slice/a.service"]), [1]);
        cgroups.patrol();
        assert_eq!(cgroups.get(1).unwrap().stage, Stage::Living);
        fs::remove_dir_all(&root).unwrap();
        cgroups.patrol();
        assert_eq!(cgroups.get(1).unwrap().stage, Stage::Gone);
        cgroups.rest(1);
        assert_eq!(numbers(&mut cgroups, &["/system.slice/b.service"]), [2]);
        (0..=REST).for_each(|_| cgroups.patrol());
        assert_eq!(numbers(&mut cgroups, &["/system.slice/c.service"]), [1]);
    }

    #[test]
    fn a_cgroup_without_processes_is_found_by_its_number() {
        let (_, root) = below("search");
        let place = root.join("sys/fs/cgroup/system.slice/a.service");
        fs::create_dir_all(&place).unwrap();
        let second = root.join("sys/fs/cgroup/system.slice/b.service");
        fs::create_dir_all(&second).unwrap();
        fs::create_dir_all(root.join("sys/fs/cgroup/user.slice/x")).unwrap();
        fs::write(root.join("sys/fs/cgroup/cgroup.controllers"), "").unwrap();
        let mut cgroups = Cgroups::new(&root, true);
        let id = std::os::unix::fs::MetadataExt::ino(&fs::metadata(&place).unwrap());
        assert_eq!(cgroups.number(id | 7 << 32, || None), 1);
        // Two whose processes are gone by the same read, and more of which nothing is left.
        let other = std::os::unix::fs::MetadataExt::ino(&fs::metadata(&second).unwrap());
        assert_eq!(cgroups.number(other, || None), 2);
        for nowhere in 0..SEARCHES as u64 {
            assert_eq!(cgroups.number(id + 1_000_000 + nowhere, || None), 0);
        }
        assert_eq!(cgroups.searches, 0);
        assert_eq!((cgroups.number(id | 7 << 32, || None), cgroups.count()), (1, 3));
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn what_there_is_no_room_for_is_not_drawn() {
        let (mut cgroups, root) = below("room");
        let paths: Vec<_> = (0..300).map(|nr| format!("/system.slice/s{nr}.service")).collect();
        let given = numbers(&mut cgroups, &paths.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(given[255], 256);
        assert_eq!((&given[256..], cgroups.no_room), (&[0; 44][..], 44));
        fs::remove_dir_all(root).unwrap();
    }
}
