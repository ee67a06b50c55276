// SPDX-License-Identifier: GPL-3.0-or-later
//! The first process of a guest: sets it up, runs every workload, switches it off.

pub mod calls;
pub mod cgroup;
mod coming;
pub mod counters;
mod faults;
pub mod kmote;
mod mechanism;
pub mod place;
pub mod remains;
pub mod run;
mod stream;
pub mod sys;

use std::fs;

use place::Place;
use run::Run;

/// The argument with which the program does nothing: what the exec workload runs.
pub const NOTHING: &str = "nothing";

/// Disks that the runner attaches.
const DISKS: usize = 2;

/// A panic here ends the kernel with a panic too: the runner then misses the closing line and shows the console.
pub fn main() -> ! {
    set_up();
    let mut run = Run::new(Place::find(DISKS), &fs::read_to_string("/orders").unwrap_or_default());
    run.all();
    run.end();
    sys::power_off()
}

fn set_up() {
    for (source, target, kind) in [
        ("proc", "/proc", "proc"),
        ("sysfs", "/sys", "sysfs"),
        ("devtmpfs", "/dev", "devtmpfs"),
        ("tmpfs", "/tmp", "tmpfs"),
        ("securityfs", "/sys/kernel/security", "securityfs"),
        ("debugfs", "/sys/kernel/debug", "debugfs"),
        ("tracefs", "/sys/kernel/tracing", "tracefs"),
    ] {
        if let Err(error) = sys::mount(source, target, kind, "") {
            println!("mount {target}: {error}");
        }
    }
    sys::loopback_up();
    place::load_modules("/modules");
}
