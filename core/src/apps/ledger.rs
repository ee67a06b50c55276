// SPDX-License-Identifier: GPL-3.0-or-later
//! The ledger: who is in which group, and what each read of the kernel's table adds to it.

use super::account::Account;
use super::entry::Header;
use super::groups::{Groups, OTHER, Standing};
use super::known::{Known, Process};
use crate::delta::between;

/// The key of the entry that counts what the table had no room for.
pub const NO_ROOM: u32 = u32::MAX;
/// How far up the parents a group is looked for.
const GENERATIONS: u32 = 32;
/// What becomes of an entry that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It stays, and is not looked at before it is marked again.
    Rest,
    /// It stays, and is to be looked at in the next read too.
    Watch,
    /// Its process is no more and all of it was read.
    Remove,
}

/// What is asked about a process besides its entry.
pub trait Source {
    /// The entry of another process in the kernel's table.
    fn header(&mut self, process: u32) -> Option<Header>;
    /// Its name, as many bytes as are returned first, and its parent, from /proc; `None` when it is gone.
    fn stat(&mut self, process: u32, name: &mut [u8; 16]) -> Option<(usize, u32)>;
    /// Its command line, from /proc.
    fn command_line(&mut self, process: u32) -> Option<&[u8]>;
    /// The number of its cgroup, whose id is given; 0 for one that is not drawn.
    fn cgroup(&mut self, process: u32, id: u64) -> u16;
    /// Whether it exists.
    fn lives(&mut self, process: u32) -> bool;
}

/// Who is in which group, and what the groups have done.
#[derive(Debug)]
pub struct Ledger<'a> {
    groups: Groups<'a>,
    known: Known<'a>,
    /// What applications have done.
    pub apps: Account<'a>,
    /// What cgroups have done.
    pub cgroups: Account<'a>,
    /// What processes did that the table had no room for.
    no_room: u64,
    /// The place of the process that is looked after next.
    turn: usize,
}

impl<'a> Ledger<'a> {
    /// A ledger in which nobody is known.
    pub fn new(groups: Groups<'a>, known: Known<'a>, apps: Account<'a>, cgroups: Account<'a>) -> Self {
        Self { groups, known, apps, cgroups, no_room: 0, turn: 0 }
    }

    /// The groups.
    pub const fn groups(&self) -> &Groups<'a> {
        &self.groups
    }

    /// Begins a read of the table.
    pub fn begin(&mut self) {
        self.apps.begin();
        self.cgroups.begin();
    }

    /// Takes an entry of the table.
    ///
    /// A process adds what it has done more to the group that it was in until now. One that has ended may go once a read
    /// has found it ended and the next has found nothing more: the last of its work is done after its end is noted.
    pub fn take(&mut self, id: u32, entry: &[u64], source: &mut impl Source) -> Fate {
        let Some((header, counters)) = Header::parse(entry) else { return Fate::Watch };
        let place = self.known.find(id).or_else(|| self.meet(id, &header, source, GENERATIONS));
        let Some(place) = place else { return Fate::Watch };
        let changed = self.book(place, counters);
        self.follow(place, &header, source);
        let Some(process) = self.known.get(place) else { return Fate::Watch };
        if process.ended && header.ended && !changed {
            self.known.remove(id);
            return Fate::Remove;
        }
        if process.ended != header.ended {
            self.known.set(place, Process { ended: header.ended, ..process });
        }
        if changed || header.ended { Fate::Watch } else { Fate::Rest }
    }

    /// Whose turn it is to be looked after, in case an end was not seen: all have theirs, one after the other. `None` where
    /// nobody is, or one whose end is known.
    pub fn turn(&mut self) -> Option<u32> {
        self.turn = (self.turn + 1).checked_rem(self.known.used()).unwrap_or(0);
        let process = self.known.get(self.turn).filter(|process| !process.ended && process.id != NO_ROOM)?;
        (self.known.find(process.id) == Some(self.turn)).then_some(process.id)
    }

    /// Takes an entry in its turn: one that does nothing and whose process does not exist any more may go.
    pub fn look_after(&mut self, id: u32, entry: &[u64], source: &mut impl Source) -> Fate {
        match self.take(id, entry, source) {
            Fate::Rest if !source.lives(id) => {
                self.known.remove(id);
                Fate::Remove
            }
            fate => fate,
        }
    }

    /// The sum of the counts that belong to nobody, since the table had no room for who did it.
    pub const fn no_room(&self) -> u64 {
        self.no_room
    }

    /// How many processes are known.
    pub const fn known(&self) -> usize {
        self.known.len()
    }

    /// Adds what the process has done more to its groups; says whether that was anything.
    fn book(&mut self, place: usize, counters: &[u64]) -> bool {
        let Some(process) = self.known.get(place) else { return false };
        let (group, cgroup, mut changed) = (process.group, process.cgroup.1, false);
        let last = self.known.counters(place);
        for (counter, (last, now)) in
            last.iter_mut().zip(counters).enumerate().filter(|(_, (last, now))| *last != *now)
        {
            let amount = between(*last, *now);
            if process.id == NO_ROOM {
                self.no_room = self.no_room.saturating_add(amount);
            }
            self.apps.book(group, counter, amount);
            self.cgroups.book(cgroup, counter, amount);
            (*last, changed) = (*now, true);
        }
        changed
    }

    /// Puts a process that goes by another name, or has moved to another cgroup, where it now belongs.
    fn follow(&mut self, place: usize, header: &Header, source: &mut impl Source) {
        let Some(process) = self.known.get(place) else { return };
        let mut now = process;
        if process.name != header.name {
            (now.group, now.manager) = self.classify(process.id, Some(header), source, GENERATIONS);
            now.name = header.name;
        }
        if process.cgroup.0 != header.cgroup {
            now.cgroup = (header.cgroup, source.cgroup(process.id, header.cgroup));
        }
        if now != process {
            self.known.set(place, now);
        }
    }

    /// Meets a process for the first time: finds its groups, and remembers it. `None` when there is no room.
    fn meet(
        &mut self,
        id: u32,
        header: &Header,
        source: &mut impl Source,
        generations: u32,
    ) -> Option<usize> {
        let (group, manager) = self.classify(id, Some(header), source, generations);
        let cgroup = (header.cgroup, if id == NO_ROOM { 0 } else { source.cgroup(id, header.cgroup) });
        let process = Process { id, name: header.name, group, manager, cgroup, ..Process::default() };
        // Where parents go round in a circle, it was met on the way.
        self.known.find(id).or_else(|| self.known.insert(process))
    }

    /// The group of a process that is not known or has changed, and whether it is a manager.
    ///
    /// One that was not seen to begin is asked for in /proc: what the kernel noted then may be the name of a thread.
    fn classify(
        &mut self,
        id: u32,
        header: Option<&Header>,
        source: &mut impl Source,
        generations: u32,
    ) -> (u16, bool) {
        if id == NO_ROOM || generations == 0 {
            return (OTHER, false);
        }
        let mut name = [0; 16];
        let seen = header.filter(|header| header.parent != 0);
        let told = seen.map(|header| (header.name.bytes(&mut name), header.parent));
        let told = told.or_else(|| source.stat(id, &mut name));
        let told = told.or_else(|| header.map(|header| (header.name.bytes(&mut name), 0)));
        let Some((length, parent)) = told else { return (OTHER, false) };
        let asked = &mut *source;
        let line = move || {
            let source = asked;
            source.command_line(id)
        };
        match self.groups.standing(name.get(..length).unwrap_or_default(), line) {
            Standing::Manager => (OTHER, true),
            Standing::Member(group) => (group, false),
            Standing::Unnamed if parent == 0 || parent == id => (OTHER, false),
            Standing::Unnamed => (self.inherited(parent, source, generations - 1), false),
        }
    }

    /// The group that the children of a process are of.
    fn inherited(&mut self, parent: u32, source: &mut impl Source, generations: u32) -> u16 {
        let place = self.known.find(parent).or_else(|| {
            let header = source.header(parent)?;
            self.meet(parent, &header, source, generations)
        });
        let found =
            place.and_then(|place| self.known.get(place)).map(|process| (process.group, process.manager));
        match found.unwrap_or_else(|| self.classify(parent, None, source, generations)) {
            (_, true) => OTHER,
            (group, false) => group,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::entry::words;
    use super::*;
    use std::collections::BTreeMap;

    /// A machine as literals: what /proc tells, and the table.
    #[derive(Default)]
    struct Literal {
        proc: BTreeMap<u32, (&'static str, u32, &'static str)>,
        table: BTreeMap<u32, [u64; 6]>,
        asked: u32,
        line: String,
    }

    impl Source for Literal {
        fn header(&mut self, process: u32) -> Option<Header> {
            Header::parse(self.table.get(&process)?).map(|(header, _)| header)
        }
        fn stat(&mut self, process: u32, name: &mut [u8; 16]) -> Option<(usize, u32)> {
            self.asked += 1;
            let (text, parent, _) = self.proc.get(&process)?;
            name[..text.len()].copy_from_slice(text.as_bytes());
            Some((text.len(), *parent))
        }
        fn command_line(&mut self, process: u32) -> Option<&[u8]> {
            self.line = self.proc.get(&process)?.2.to_owned();
            Some(self.line.as_bytes())
        }
        fn cgroup(&mut self, _: u32, id: u64) -> u16 {
            id as u16
        }
        fn lives(&mut self, process: u32) -> bool {
            self.proc.contains_key(&process)
        }
    }

    impl Literal {
        fn put(&mut self, id: u32, parent: u32, name: &str, counters: [u64; 2]) {
            let mut entry = [0; 6];
            entry[..4].copy_from_slice(&words(parent, 0, false, name.as_bytes()));
            entry[4..].copy_from_slice(&counters);
            self.table.insert(id, entry);
        }
        fn end(&mut self, id: u32) {
            let entry = self.table.get_mut(&id).unwrap();
            let parent = Header::parse(entry).unwrap().0.parent;
            entry[3] |= words(parent, 0, true, b"")[3];
        }
        /// Moves a process to a cgroup.
        fn moved(&mut self, id: u32, cgroup: u64) {
            self.table.get_mut(&id).unwrap()[1] = cgroup;
        }
        /// A read of the whole table, as the kernel side does it; says who is to be looked at again.
        fn read(&mut self, ledger: &mut Ledger<'_>) -> Vec<u32> {
            ledger.begin();
            let mut watched = Vec::new();
            for (id, entry) in self.table.clone() {
                match ledger.take(id, &entry, self) {
                    Fate::Remove => _ = self.table.remove(&id),
                    Fate::Watch => watched.push(id),
                    Fate::Rest => {}
                }
            }
            watched
        }
        /// Looks after so many.
        fn patrol(&mut self, ledger: &mut Ledger<'_>, turns: usize) {
            for _ in 0..turns {
                let Some(id) = ledger.turn() else { continue };
                if ledger.look_after(id, &self.table[&id].clone(), self) == Fate::Remove {
                    self.table.remove(&id);
                }
            }
        }
    }

    const FILE: &[u8] = b"web: nginx\nshell: bash\nmade: *make*\n";

    /// Runs a test with a ledger of `FILE` for 64 processes, of two counters.
    fn with_ledger(test: impl FnOnce(&mut Ledger<'_>, &mut Literal)) {
        let (mut index, mut places, mut counters) = ([0; 128], [[0; 5]; 64], [0; 128]);
        let (mut totals, mut changes) = ([[0; 8]; 2], [[0; 8]; 2]);
        let [[apps, cgroups], [apps_changes, cgroups_changes]] = [totals.each_mut(), changes.each_mut()];
        let mut ledger = Ledger::new(
            Groups::parse(FILE),
            Known::new(&mut index, &mut places, &mut counters, 2),
            Account::new((2, 0), apps, apps_changes, &mut []),
            Account::new((2, 0), cgroups, cgroups_changes, &mut []),
        );
        test(&mut ledger, &mut Literal::default());
    }

    /// The first counter of other, web, shell and made.
    fn totals(ledger: &Ledger<'_>) -> [u64; 4] {
        [0, 1, 2, 3].map(|group| ledger.apps.total(group, 0))
    }

    #[test]
    fn a_process_books_on_its_group_and_ends_there() {
        with_ledger(|ledger, machine| {
            machine.put(10, 1, "nginx", [100, 0]);
            machine.put(11, 1, "nginx", [50, 0]);
            machine.read(ledger);
            assert_eq!(totals(ledger), [0, 150, 0, 0]);
            // The last of its work is done after its end is noted.
            machine.end(11);
            machine.table.get_mut(&11).unwrap()[4] = 70;
            machine.read(ledger);
            machine.table.get_mut(&11).unwrap()[4] = 71;
            machine.put(10, 1, "nginx", [130, 0]);
            machine.read(ledger);
            assert_eq!(totals(ledger), [0, 201, 0, 0]);
            assert!(machine.table.contains_key(&11), "it did something since");
            assert_eq!(machine.read(ledger), [], "neither the one that is idle nor the one that is gone");
            assert!(!machine.table.contains_key(&11));
            // Its id comes back for another.
            machine.put(11, 1, "bash", [5, 0]);
            machine.read(ledger);
            assert_eq!(totals(ledger), [0, 201, 5, 0]);
        });
    }

    #[test]
    fn children_inherit_and_those_of_managers_do_not() {
        with_ledger(|ledger, machine| {
            machine.put(1, 0, "systemd", [1, 0]);
            machine.put(10, 1, "bash", [0, 0]);
            // A chain whose middle is read later than its end, and is gone from /proc.
            machine.put(30, 10, "sh", [0, 0]);
            machine.put(20, 30, "true", [3, 0]);
            machine.put(40, 1, "agetty", [7, 0]);
            machine.read(ledger);
            assert_eq!(totals(ledger), [8, 0, 3, 0]);
            assert_eq!(machine.asked, 1, "of those that were seen to begin, /proc is not asked");
        });
    }

    #[test]
    fn who_was_there_before_is_looked_up() {
        with_ledger(|ledger, machine| {
            machine.proc.insert(10, ("bash", 1, "bash"));
            machine.proc.insert(11, ("sleep", 10, "sleep 9"));
            machine.proc.insert(12, ("python3", 1, "python3 /opt/make.py"));
            machine.put(11, 0, "worker", [4, 0]);
            machine.put(12, 0, "python3", [6, 0]);
            machine.put(13, 0, "gone", [9, 0]);
            machine.put(14, 0, "nginx", [2, 0]);
            machine.read(ledger);
            assert_eq!(totals(ledger), [9, 2, 4, 6]);
        });
    }

    #[test]
    fn exec_in_place_moves_what_comes_next() {
        with_ledger(|ledger, machine| {
            machine.put(10, 1, "bash", [5, 0]);
            machine.read(ledger);
            machine.put(10, 1, "nginx", [6, 0]);
            machine.read(ledger);
            machine.put(10, 1, "nginx", [9, 0]);
            machine.moved(10, 3);
            machine.read(ledger);
            machine.put(10, 1, "nginx", [9, 20]);
            machine.moved(10, 3);
            machine.read(ledger);
            assert_eq!(totals(ledger), [0, 3, 6, 0]);
            assert_eq!([0, 3].map(|cgroup| ledger.cgroups.total(cgroup, 0)), [9, 0]);
            assert_eq!(ledger.cgroups.total(3, 1), 20);
        });
    }

    #[test]
    fn what_found_no_room_is_others() {
        with_ledger(|ledger, machine| {
            machine.put(NO_ROOM, 0, "", [40, 2]);
            machine.read(ledger);
            machine.patrol(ledger, 8);
            assert_eq!((totals(ledger), machine.table.len()), ([40, 0, 0, 0], 1));
            assert_eq!(ledger.no_room(), 42);
        });
    }

    #[test]
    fn an_end_that_was_not_seen_is_noticed() {
        with_ledger(|ledger, machine| {
            machine.proc.insert(10, ("nginx", 1, ""));
            machine.put(10, 0, "nginx", [1, 0]);
            machine.put(11, 0, "nginx", [2, 0]);
            machine.put(12, 1, "nginx", [4, 0]);
            machine.end(12);
            assert_eq!(machine.read(ledger), [10, 11, 12]);
            // The one whose end is known has its two reads.
            machine.patrol(ledger, 8);
            assert_eq!(machine.table.keys().copied().collect::<Vec<_>>(), [10, 12]);
            assert_eq!((totals(ledger), ledger.known()), ([0, 7, 0, 0], 2));
            assert_eq!(machine.read(ledger), []);
            assert_eq!(machine.table.keys().copied().collect::<Vec<_>>(), [10]);
        });
    }

    #[test]
    fn parents_in_a_circle_end() {
        with_ledger(|ledger, machine| {
            machine.proc.insert(2, ("a", 3, ""));
            machine.proc.insert(3, ("b", 2, ""));
            machine.put(2, 0, "a", [1, 0]);
            machine.read(ledger);
            assert_eq!(totals(ledger), [1, 0, 0, 0]);
        });
    }

    /// An hour of 500 processes a second, at a read a second: nothing is lost and the table does not fill.
    #[test]
    fn an_hour_of_short_processes() {
        let (mut index, mut places, mut counters) = (vec![0; 4096], vec![[0; 5]; 2048], vec![0; 4096]);
        let (mut totals, mut changes) = (vec![0; 8], vec![0; 8]);
        let mut ledger = Ledger::new(
            Groups::parse(FILE),
            Known::new(&mut index, &mut places, &mut counters, 2),
            Account::new((2, 0), &mut totals, &mut changes, &mut []),
            Account::new((2, 0), &mut [], &mut [], &mut []),
        );
        let mut machine = Literal::default();
        machine.proc.insert(2, ("bash", 1, ""));
        machine.put(2, 1, "bash", [0, 0]);
        let mut most = 0;
        for second in 0..3600u32 {
            for nr in 0..500 {
                let id = 1000 + (second * 500 + nr) % 30_000;
                machine.put(id, 2, if nr % 5 == 0 { "nginx" } else { "true" }, [1, 0]);
                machine.end(id);
            }
            machine.read(&mut ledger);
            most = most.max(machine.table.len());
        }
        assert_eq!(self::totals(&ledger), [0, 3600 * 100, 3600 * 400, 0]);
        assert_eq!(most, 501, "those of one second, and the shell");
    }
}
