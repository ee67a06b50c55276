// SPDX-License-Identifier: GPL-3.0-or-later
//! The first process of a guest: sets it up, runs every workload, switches it off.

mod apps;
mod bpf;
pub mod calls;
pub mod cgroup;
mod coming;
mod confined;
mod cost;
pub mod counters;
mod endurance;
mod faults;
mod footprint;
mod interruptions;
pub mod kmote;
mod leaving;
mod mechanism;
mod nfs;
pub mod place;
pub mod remains;
pub mod ring;
pub mod run;
mod show;
mod stream;
mod symbols;
pub mod sys;
mod usage;

use std::fs;

use place::Place;
use run::Run;

/// The argument with which the program does nothing: what the exec workload runs.
pub const NOTHING: &str = "nothing";

/// With a number after it: the argument with which the program forks so often.
pub const FORKS: &str = "forks ";
/// The same, after a stop.
pub const PAUSED_FORKS: &str = "pause, then fork ";

/// Does what a program of the population is told to, if these are orders for one.
pub fn act(order: &str) -> Option<i32> {
    let forks = order.strip_prefix(FORKS).map(|count| apps::forks(count.parse().unwrap()));
    let paused = || order.strip_prefix(PAUSED_FORKS).map(|count| apps::paused_forks(count.parse().unwrap()));
    forks.or_else(paused).or_else(|| order.strip_prefix(apps::FAMILY).map(apps::go_on))
}

/// Disks that the runner attaches.
const DISKS: usize = 2;

/// After a panic the runner misses the closing line, and shows the console.
pub fn main() -> ! {
    std::panic::set_hook(Box::new(|panic| {
        eprintln!("{panic}");
        // The end of the first process ends the kernel, and with it what the line has not sent yet. A child's is its own.
        if std::process::id() == 1 {
            sys::drain();
            sys::power_off();
        }
    }));
    set_up();
    let mut run = Run::new(Place::find(DISKS), &fs::read_to_string("/orders").unwrap_or_default());
    match run.number("show") {
        Some(seconds) => run.show(seconds),
        None if run.told("cost") => run.cost(),
        None => run.all(),
    }
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
