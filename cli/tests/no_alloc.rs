// SPDX-License-Identifier: GPL-3.0-or-later
//! After start nothing is allocated: 1,000 ticks of everything this machine lets us attach, counted by the allocator.
#![allow(unsafe_code)]

use kmote_bpf::kernel::Kernel;
use kmote_cli::apps::{self, Asked};
use kmote_cli::collector::{Collector, Wanted};
use kmote_cli::output::Page;
use kmote_core::chart::Mode;
use kmote_core::modules::MODULES;
use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's allocator, which counts its calls.
struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is the system allocator's own; the counter is atomic.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// One test in this file: another thread's allocations would be counted too.
#[test]
fn a_thousand_ticks_allocate_nothing() {
    let _ = kmote_bpf::sys::raise_locked_memory();
    let kernel = Kernel::ask(Path::new("/"), None);
    for apps in [apps::Layout::New, apps::Layout::Old] {
        let asked = Asked { file: None, apps, cgroups: true, processes: None };
        let (mut collector, _) = Collector::start(&kernel, &Wanted::all(MODULES, Mode::Return), Some(&asked));
        collector.keep_what_counts();
        assert!(!collector.is_empty(), "this test attaches programs: run it as root, on a kernel with BPF");
        // Somebody must have done something, or no group shows; on a quiet machine nobody else does.
        for _ in 0..3 {
            assert!(Command::new("true").status().unwrap().success());
        }
        let mut page = Page::default();
        collector.announce(&mut page, 1).unwrap();
        collector.read(|error| panic!("{error}"));
        let (before, mut bytes, mut groups) = (ALLOCATIONS.load(Ordering::Relaxed), 0, 0);
        for tick in 1..=1000 {
            page.clear();
            assert!(
                !collector
                    .look(&kernel, tick * 1_000_000, |attached, _| panic!("{} came", attached.module.name))
            );
            collector.read(|error| panic!("{error}"));
            collector.values(&mut page, tick * 1_000_000).unwrap();
            bytes += page.text().len();
            page.clear();
            while collector.apps().unwrap().write(&mut page, tick * 1_000_000).unwrap() {
                groups += page.text().len();
                page.clear();
            }
        }
        let allocations = ALLOCATIONS.load(Ordering::Relaxed) - before;
        assert_eq!(allocations, 0, "allocations in 1,000 ticks");
        assert!(bytes > 100_000 && groups > 100_000, "the ticks wrote {bytes} bytes, and {groups} of groups");
        println!(
            "1000 ticks, {apps:?}: {allocations} allocations, {} bytes a tick and {} of groups",
            bytes / 1000,
            groups / 1000
        );
    }
}
