// SPDX-License-Identifier: GPL-3.0-or-later
//! A module that breaks while it runs: the others go on, and it is said once. Run as root, on a kernel with BPF.
#![allow(unsafe_code, clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use kmote_bpf::kernel::Kernel;
use kmote_cli::collector::{Collector, Wanted};
use kmote_cli::output::Page;
use kmote_core::chart::Mode;
use kmote_core::modules::MODULES;
use std::collections::BTreeSet;
use std::fs;
use std::os::fd::AsRawFd;
use std::path::Path;

/// The modules' maps of counters.
fn counters() -> Vec<i32> {
    let is_map = |fd: &i32| {
        fs::read_to_string(format!("/proc/self/fdinfo/{fd}"))
            .is_ok_and(|text| text.contains("\nmap_type:\t6\n") && text.contains("\nkey_size:\t4\n"))
    };
    let open = fs::read_dir("/proc/self/fd").unwrap();
    open.filter_map(|one| one.unwrap().file_name().to_str()?.parse().ok()).filter(is_map).collect()
}

#[test]
fn each_module_that_cannot_be_read_costs_its_own_charts_and_one_complaint() {
    let _ = kmote_bpf::sys::raise_locked_memory();
    let kernel = Kernel::ask(Path::new("/"), None);
    // These keep no other map of this kind.
    let names = ["process", "cachestat", "oomkill"];
    let rows = MODULES.iter().filter(|module| names.contains(&module.name));
    let (mut collector, _) = Collector::start(&kernel, &Wanted::all(rows, Mode::Entry), None);
    collector.keep_what_counts();
    let modules: Vec<_> = collector.attached().map(|attached| attached.module.name).collect();
    assert!(modules.len() > 1, "this test attaches programs: run it as root, on a kernel with BPF");
    let maps = counters();
    assert_eq!(maps.len(), modules.len());
    let begun = |page: &Page, name: &str| {
        let module = MODULES.iter().find(|module| module.name == name).unwrap();
        module.charts.iter().any(|chart| page.text().contains(&format!("BEGIN {} ", chart.id)))
    };
    let (mut page, mut tick) = (Page::default(), 0);
    let mut turn = |collector: &mut Collector| {
        let mut complaints = Vec::new();
        for _ in 0..3 {
            tick += 1_000_000;
            page.clear();
            collector.read(|error| complaints.push(error.to_string()));
            collector.values(&mut page, tick).unwrap();
        }
        (complaints, modules.iter().map(|name| begun(&page, name)).collect::<Vec<_>>())
    };
    assert_eq!(turn(&mut collector), (vec![], vec![true; modules.len()]));
    let other = fs::File::open("/dev/null").unwrap();
    let mut broken = BTreeSet::new();
    for map in &maps {
        // SAFETY: both are open; what was the map is closed, and the collector finds another file under its number.
        let (kept, done) = unsafe {
            let kept = libc::dup(*map);
            (kept, libc::dup2(other.as_raw_fd(), *map))
        };
        assert!(kept >= 0 && done == *map);
        let (complaints, seen) = turn(&mut collector);
        assert_eq!(complaints.len(), 1, "{complaints:?}");
        let (name, what) = complaints[0].split_once(": ").unwrap();
        assert!(what.starts_with("its counters cannot be read"), "{complaints:?}");
        let expected: Vec<_> = modules.iter().map(|module| *module != name).collect();
        assert_eq!(seen, expected, "{name}");
        broken.insert(name.to_owned());
        // SAFETY: the same, back again.
        assert_eq!(unsafe { libc::dup2(kept, *map) }, *map);
        // SAFETY: a descriptor of ours that nobody uses any more.
        assert_eq!(unsafe { libc::close(kept) }, 0);
        assert_eq!(turn(&mut collector), (vec![], vec![true; modules.len()]), "whole again");
    }
    assert_eq!(broken, modules.iter().map(|name| (*name).to_owned()).collect());
}
