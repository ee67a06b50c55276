// SPDX-License-Identifier: GPL-3.0-or-later
//! cachestat: pages of files accessed, added and dirtied, and buffers dirtied.
//!
//! The files are the step's own, on disks that nothing else uses; everything is written back before the first
//! reading, so that the journal's next commit is seconds away.

use super::Expected::Exactly;
use super::{Expected, Step, wait};
use crate::guest::counters::Counter::PagesDirtied;
use crate::guest::place::Place;
use crate::guest::sys::{self, Mapping};

const PAGES: u64 = 96;
const LENGTH: usize = PAGES as usize * 4096;

type Slots = [(&'static str, Expected)];

fn step(
    name: &'static str,
    prepare: fn(&mut Place),
    work: fn(&mut Place),
    expect: &'static Slots,
    dirtied: u64,
) -> Step {
    Step {
        name,
        disk: Some("ext4-4k"),
        cpus: 1,
        prepare,
        work,
        expect,
        counters: vec![(PagesDirtied, dirtied as i64)],
    }
}

pub fn steps() -> Vec<Step> {
    const NONE: &Slots = &[
        ("accessed", Exactly(0)),
        ("added", Exactly(0)),
        ("dirtied", Exactly(0)),
        ("buffer_dirtied", Exactly(0)),
    ];
    // What is accessed besides, when the journal and the inode's block are looked up, is not ours to say.
    const WRITTEN: &Slots =
        &[("added", Exactly(PAGES)), ("dirtied", Exactly(PAGES)), ("buffer_dirtied", Exactly(PAGES))];
    // Four blocks a page.
    const WRITTEN_1K: &Slots =
        &[("added", Exactly(PAGES)), ("dirtied", Exactly(PAGES)), ("buffer_dirtied", Exactly(4 * PAGES))];
    // The pages are dirty already: only their buffers are marked again.
    const REWRITTEN: &Slots =
        &[("added", Exactly(0)), ("dirtied", Exactly(0)), ("buffer_dirtied", Exactly(PAGES))];
    const READ: &Slots = &[
        ("accessed", Exactly(PAGES)),
        ("added", Exactly(PAGES)),
        ("dirtied", Exactly(0)),
        ("buffer_dirtied", Exactly(0)),
    ];
    const READ_AGAIN: &Slots = &[
        ("accessed", Exactly(PAGES)),
        ("added", Exactly(0)),
        ("dirtied", Exactly(0)),
        ("buffer_dirtied", Exactly(0)),
    ];
    // Every page that a process has touched counts as accessed when it is unmapped.
    const UNMAPPED: &Slots = &[
        ("accessed", Exactly(PAGES)),
        ("added", Exactly(0)),
        ("dirtied", Exactly(0)),
        ("buffer_dirtied", Exactly(0)),
    ];
    const SOILED: &Slots =
        &[("added", Exactly(0)), ("dirtied", Exactly(PAGES)), ("buffer_dirtied", Exactly(PAGES))];
    vec![
        step("nothing", |_| sys::sync(), wait, NONE, 0),
        step("96 pages written", |p| p.fresh_file("ext4-4k"), |p| p.write(PAGES), WRITTEN, PAGES),
        step("written again", written, |p| p.write(PAGES), REWRITTEN, 0),
        Step {
            disk: Some("ext4-1k"),
            ..step(
                "96 pages written, 1k blocks",
                |p| p.fresh_file("ext4-1k"),
                |p| p.write(PAGES),
                WRITTEN_1K,
                PAGES,
            )
        },
        step("96 pages read", cold, |p| p.read(PAGES), READ, 0),
        step("read again", warm, |p| p.read(PAGES), READ_AGAIN, 0),
        step("96 pages unmapped", mapped, |p| p.mapping = None, UNMAPPED, 0),
        step("96 mapped pages written", mapped, |p| p.mapping.as_ref().unwrap().soil(), SOILED, PAGES),
    ]
}

fn written(place: &mut Place) {
    place.fresh_file("ext4-4k");
    place.write(PAGES);
}

fn cold(place: &mut Place) {
    place.cold_file("ext4-4k", PAGES);
}

fn warm(place: &mut Place) {
    cold(place);
    place.read(PAGES);
}

fn mapped(place: &mut Place) {
    warm(place);
    let mapping = Mapping::new(place.file(), LENGTH);
    mapping.touch();
    place.mapping = Some(mapping);
}
