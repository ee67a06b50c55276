// SPDX-License-Identifier: GPL-3.0-or-later
//! A real Netdata shows every chart: kmote runs in a guest with a kernel that refuses nothing, under load, and what it
//! writes goes to a Netdata of the host. Needs netdata-core, netdata-web and what `qemu-tests` needs.
//!
//! `KMOTE_SECONDS` is for how long; without it, a minute.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may end by a panic")]

mod support;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use kmote_core::modules::MODULES;
use support::machine::{Folder, holds_within};
use support::server::Netdata;

/// OpenZFS is in none of Debian's kernels.
const NOWHERE: &str = "filesystem.zfs_";
/// One of each family of charts that are made when something is first seen, and of kmote's own.
const SEEN: [&str; 11] = [
    "disk_latency_io.nvme0n1",
    "app.other_ebpf_process_start",
    "cgroup_0123456789ab.process_create",
    "systemd_web.process_create",
    "netdata.kmote_modules",
    "netdata.kmote_kernel_memory",
    "netdata.kmote_cpu",
    "netdata.kmote_program_runs",
    "netdata.kmote_program_time",
    "netdata.kmote_program_missed",
    "netdata.kmote_disk_lost",
];
/// A guest is built and booted before its first chart.
const BUILT: Duration = Duration::from_secs(600);

#[test]
fn netdata_shows_every_chart_and_has_no_complaint() {
    let folder = Folder::new("charts");
    let pipe = folder.path().join("line");
    let ends = ["in", "out"].map(|end| pipe.with_extension(end));
    assert!(Command::new("mkfifo").args(&ends).status().unwrap().success());
    let netdata = Netdata::start_reading(&ends[1]);
    let seconds = std::env::var("KMOTE_SECONDS").unwrap_or_else(|_| "60".to_owned());
    let mut guest = start_guest(&pipe, &seconds);

    let (mut charts, mut complaints) = (BTreeSet::new(), Vec::new());
    let length = Duration::from_secs(seconds.parse().unwrap());
    let ended = holds_within(BUILT + length, || {
        charts.append(&mut netdata.charts());
        std::thread::sleep(Duration::from_secs(1));
        let said = netdata.complaints();
        let ended = guest.try_wait().unwrap().is_some();
        if !ended {
            complaints = said;
        }
        ended
    });
    assert!(ended, "the guest goes on");
    let status = guest.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&status.stdout);
    assert!(status.status.success(), "{said}\n{}", String::from_utf8_lossy(&status.stderr));

    let rows = MODULES.iter().flat_map(|module| module.all_charts());
    let fixed = rows.map(|chart| chart.id).filter(|id| id.contains('.') && !id.starts_with(NOWHERE));
    let missing: Vec<_> = fixed.chain(SEEN).filter(|id| !charts.contains(*id)).collect();
    println!("{} charts, {} s: {charts:?}", charts.len(), seconds);
    assert_eq!(missing, Vec::<&str>::new(), "not in Netdata");
    assert_eq!(complaints, Vec::<String>::new());
}

fn start_guest(pipe: &Path, seconds: &str) -> Child {
    let mut command = Command::new(env!("CARGO"));
    command.args(["run", "--quiet", "--profile", "guest", "--package", "qemu-tests", "--"]);
    command.args(["--kernel", "6.12", "--seconds", seconds, "--show"]).arg(pipe);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}
