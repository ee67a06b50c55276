// SPDX-License-Identifier: GPL-3.0-or-later
//! A filesystem whose kernel module comes, goes and comes again while kmote runs, which must not hold it.

use std::fs::{self, File};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use kmote_core::deny;
use kmote_core::hook::Mechanism;

use super::kmote::{Kmote, PROGRAM};
use super::run::{Run, Subject};
use super::stream::Stream;
use super::sys;
use crate::row::Outcome;

const MODULE: &str = "xfs";
/// What kmote says goes there.
const SAID: &str = "/tmp/said";
const CHART: &str = "filesystem.xfs_write_latency";
const PAGES: u64 = 64;
/// So many ticks at most are read until all is counted.
const TICKS: usize = 100;

impl Run {
    /// Comes before anything else that needs the module.
    pub fn coming(&mut self) {
        let subject = Subject { module: MODULE, mechanism: "stream", work: "the kernel module is away" };
        if !fs::exists(format!("/later/{MODULE}")).unwrap() || fs::exists(directory()).unwrap() {
            return;
        }
        // A function of a module that can be unloaded is hooked by a probe or not at all.
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        if let Some(reason) = deny::reason(release.trim(), Mechanism::Kprobe) {
            self.send(subject, "check says so", "true", "", Outcome::Skipped, reason.to_owned());
            return;
        }
        let check = Command::new(PROGRAM).args(["check", "--modules", MODULE]).output().unwrap();
        let said = String::from_utf8_lossy(&check.stdout).contains("the kernel module xfs is not loaded");
        self.equal(subject, "check says so", &true, &said);
        let mut command = Command::new(PROGRAM);
        command.args(["1", "--modules", MODULE]).stderr(File::create(SAID).unwrap());
        let mut stream = Stream::start_command(&mut command).of(CHART, None);
        if self.comes(Subject { work: "it comes", ..subject }, &mut stream) {
            self.goes(Subject { work: "it goes", ..subject });
            self.comes(Subject { work: "it comes again", ..subject }, &mut stream);
        }
        sys::kill(stream.child.id(), libc::SIGTERM);
        self.equal(subject, "exit status", &"exit status: 0", &stream.drain());
    }

    /// Loads and mounts it, and waits until its charts are sent. Whether they are: the console says why not.
    fn comes(&mut self, subject: Subject, stream: &mut Stream) -> bool {
        let (begin, value) = (Instant::now(), stream.value);
        self.place.turn_to(MODULE);
        self.equal(subject, "mounted", &true, &self.place.has(MODULE));
        if !self.place.has(MODULE) {
            return false;
        }
        if !hooks_anything() {
            sleep(Duration::from_secs(60));
            let said = fs::read_to_string(SAID).unwrap();
            let lost = said.lines().any(|line| line.starts_with(&format!("kmote: not counted: {MODULE} ")));
            self.equal(subject, "says that it is not counted", &true, &lost);
            return false;
        }
        stream.declaration();
        stream.tick();
        let in_time = begin.elapsed() < Duration::from_secs(60);
        self.equal(subject, "counts within a minute", &true, &in_time);
        self.equal(subject, "the total has not fallen", &true, &(stream.value >= value));
        let before = stream.value;
        self.place.fresh_file(MODULE);
        self.place.write(PAGES);
        // Ticks went by while the disk was waited for; and one more must not bring any more.
        for _ in 0..TICKS {
            if stream.value - before >= PAGES as i64 {
                break;
            }
            stream.tick();
        }
        stream.tick();
        self.equal(subject, "sum of the SETs", &PAGES, &(stream.value - before));
        self.equal(subject, "references", &"1", &references());
        true
    }

    fn goes(&mut self, subject: Subject) {
        self.place.leave(MODULE);
        self.equal(subject, "references", &"0", &references());
        let unloaded = sys::unload_module(MODULE).map_err(|error| error.to_string());
        self.equal(subject, "unloaded", &"Ok(())", &format!("{unloaded:?}"));
    }
}

/// Whether this kernel lets functions of the module be hooked, now that it is there.
fn hooks_anything() -> bool {
    let kmote = Kmote::start(MODULE, &[]).unwrap();
    let any = kmote.hooks.iter().any(|hook| hook.attached.is_some());
    kmote.finish();
    any
}

fn directory() -> String {
    format!("/sys/module/{MODULE}")
}

/// How many hold the module; its mount is one.
fn references() -> String {
    fs::read_to_string(directory() + "/refcnt").unwrap_or_default().trim().to_owned()
}
