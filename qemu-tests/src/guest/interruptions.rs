// SPDX-License-Identifier: GPL-3.0-or-later
//! What comes in between while kmote runs: other copies, slow readers, stops, and clocks that jump.

use std::thread::sleep;
use std::time::{Duration, Instant};

use super::kmote::{Kmote, Reading};
use super::run::{Run, Subject};
use super::stream::Stream;
use super::sys;
use crate::row::Outcome;

const FORKS: u64 = 23;

impl Run {
    pub fn interruptions(&mut self) {
        self.two_copies();
        self.stalled_reader();
        self.stopped();
        self.clock_set();
    }

    fn two_copies(&mut self) {
        let subject = Subject { module: "-", mechanism: "fault", work: "two copies at once" };
        match (Kmote::start("process", &[]), Kmote::start("process", &[])) {
            (Ok(mut one), Ok(mut two)) => {
                self.count_forks(subject, &mut [&mut one, &mut two], Outcome::Failed);
                // What the first one leaves must not be taken from the second.
                self.equal(subject, "exit status", &"exit status: 0", &one.finish());
                self.count_forks(subject, &mut [&mut two], Outcome::Failed);
                two.finish();
            }
            (one, two) => {
                let reason = one.err().or(two.err()).unwrap_or_default();
                self.send(subject, "kmote slots", "ready", "", Outcome::Failed, reason);
            }
        }
    }

    /// Nobody reads for ten seconds.
    fn stalled_reader(&mut self) {
        self.interrupted("reader stalls for 10 s", |_| sleep(Duration::from_secs(10)));
    }

    /// The process is stopped for five ticks, as by a suspend: one late tick, and no burst.
    fn stopped(&mut self) {
        self.interrupted("stopped for 5 ticks", |stream| {
            sys::kill(stream.child.id(), libc::SIGSTOP);
            sleep(Duration::from_secs(5));
            sys::kill(stream.child.id(), libc::SIGCONT);
        });
    }

    fn clock_set(&mut self) {
        self.interrupted("clock set by an hour and back", |stream| {
            sys::shift_clock(3600);
            stream.tick();
            sys::shift_clock(-3600);
        });
    }

    /// Runs a stream, disturbs it, and looks whether its ticks and sums are right all the same.
    fn interrupted(&mut self, name: &str, disturb: fn(&mut Stream)) {
        let subject = Subject { module: "process", mechanism: "fault", work: name };
        let mut stream = Stream::start(14);
        stream.tick();
        let before = stream.value;
        for _ in 0..FORKS {
            sys::reap(sys::fork(|| 0));
        }
        let start = Instant::now();
        disturb(&mut stream);
        for _ in 0..2 {
            stream.tick();
        }
        sys::kill(stream.child.id(), libc::SIGTERM);
        let status = stream.drain();
        let seconds = start.elapsed().as_secs() as usize + 2;
        self.equal(subject, "exit status", &"exit status: 0", &status);
        self.equal(subject, "sum of the SETs", &(FORKS as i64), &(stream.value - before));
        self.equal(subject, "no burst of ticks", &true, &(stream.ticks <= seconds));
        // No tick before its time: 1 s, less what a loaded guest wakes up late for the one before.
        let total: u64 = stream.intervals.iter().sum();
        self.equal(subject, "no hour in the intervals", &true, &(total < 60_000_000));
    }

    /// Forks, and each of the copies must have seen all of it, in every slot; what it means if a slot is off, the caller says.
    pub fn count_forks(&mut self, subject: Subject, copies: &mut [&mut Kmote], off: Outcome) {
        let before: Vec<Reading> = copies.iter_mut().map(|kmote| settled(kmote)).collect();
        for _ in 0..FORKS {
            sys::reap(sys::fork(|| 0));
        }
        for (kmote, before) in copies.iter_mut().zip(before) {
            let seen = late_reading(kmote, &before);
            for slot in ["process", "exit", "exit_process", "release"] {
                match seen.get(slot).zip(before.get(slot)) {
                    Some((after, before)) => self.equal(subject, slot, &FORKS, &(after - before)),
                    None => self.send(subject, slot, "23", "", off, "its hook is off".to_owned()),
                }
            }
        }
    }
}

/// A reading, once nobody is released any more who ended before: a copy that has just gone, too.
fn settled(kmote: &mut Kmote) -> Reading {
    let mut reading = kmote.read().unwrap_or_default();
    for _ in 0..20 {
        sleep(Duration::from_millis(100));
        let next = kmote.read().unwrap_or_default();
        if next.get("release") == reading.get("release") {
            return next;
        }
        reading = next;
    }
    reading
}

/// A reading, once all tasks are released: one of the hooks sees that only after an RCU grace period.
fn late_reading(kmote: &mut Kmote, before: &Reading) -> Reading {
    for _ in 0..100 {
        let reading = kmote.read().unwrap_or_default();
        if reading
            .get("release")
            .zip(before.get("release"))
            .is_none_or(|(after, before)| after - before >= FORKS)
        {
            return reading;
        }
        sleep(Duration::from_millis(20));
    }
    kmote.read().unwrap_or_default()
}
