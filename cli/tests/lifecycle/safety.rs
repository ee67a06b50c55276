// SPDX-License-Identifier: GPL-3.0-or-later
//! What kmote gives up once it runs, whom the kernel kills first, and what a crash of the machine leaves behind.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::machine::{Folder, holds_within};
use crate::support::run::{KMOTE, LONG, Running, SOON, kmote, kmote_under};

fn status(pid: u32, field: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(&format!("{field}:")));
    line.unwrap_or_else(|| panic!("no {field} in\n{status}")).trim().to_owned()
}

fn started(arguments: &[&str]) -> Running {
    let mut running = Running::start(kmote(arguments));
    running.wait_for("BEGIN system.process_thread", 2);
    running
}

#[test]
fn it_gives_up_what_it_does_not_need() {
    let running = started(&["--modules", "process,cachestat,softirq", "1"]);
    let pid = running.pid();
    assert_eq!((status(pid, "NoNewPrivs"), status(pid, "Seccomp")), ("1".into(), "2".into()));
    // Reading a map takes CAP_BPF at most: before 5.19, where unprivileged_bpf_disabled is set.
    let [effective, permitted] =
        ["CapEff", "CapPrm"].map(|field| u64::from_str_radix(&status(pid, field), 16).unwrap());
    assert_eq!(effective, permitted);
    assert_eq!(effective & !(1 << 39 | 1 << 21), 0, "{effective:x}");
    assert_ne!(effective, u64::from_str_radix(&status(std::process::id(), "CapEff"), 16).unwrap());
    running.signal("TERM");
    let ended = running.ends_within(SOON).with_status(0);
    assert!(!ended.stderr.contains("are kept") && !ended.stderr.contains("not confined"), "{}", ended.stderr);
}

#[test]
fn it_keeps_all_when_told_so() {
    let running = started(&["--modules", "process", "--no-sandbox", "1"]);
    assert_eq!(status(running.pid(), "Seccomp"), status(std::process::id(), "Seccomp"));
    assert_eq!(status(running.pid(), "CapEff"), status(std::process::id(), "CapEff"));
}

#[test]
fn the_kernel_kills_it_first() {
    let running = started(&["--modules", "process", "1"]);
    assert_eq!(fs::read_to_string(format!("/proc/{}/oom_score_adj", running.pid())).unwrap(), "1000\n");
}

#[test]
fn every_module_and_every_view_runs_confined_and_complains_of_nothing() {
    let folder = Folder::new("confined");
    let file = folder.path().join("kmote.prom");
    let file = file.to_str().unwrap();
    for arguments in [
        &["--ticks", "3", "1", "--mode", "return", "--apps"][..],
        &["--ticks", "2", "1", "--format", "prometheus", "--output", file],
        &["--ticks", "2", "1", "--format", "openmetrics"],
        &["top", "--ticks", "2", "1"],
        &["once", "1"],
    ] {
        // The filter answers EPERM to what it does not let pass; strace would see it, and so would the reader of stderr.
        let folder = Folder::new("confined-strace");
        let record = folder.path().join("record");
        let mut command = Command::new("strace");
        command.args(["-f", "-o", record.to_str().unwrap(), env!("CARGO_BIN_EXE_kmote")]).args(arguments);
        command
            .env("NETDATA_USER_CONFIG_DIR", "/nonexistent")
            .env("NETDATA_STOCK_CONFIG_DIR", "/nonexistent");
        let ended = Running::start(command).ends_within(LONG);
        assert_eq!(ended.status.code(), Some(0), "{arguments:?}: {}", ended.stderr);
        let record = fs::read_to_string(&record).unwrap();
        let (_, confined) = record.split_once("PR_SET_SECCOMP").expect("the filter is set");
        let refused: Vec<_> = confined.lines().filter(|line| line.contains("EPERM")).collect();
        assert!(refused.is_empty(), "{arguments:?}: {refused:#?}");
        assert!(!ended.stderr.contains("not permitted"), "{}", ended.stderr);
    }
}

#[test]
fn the_kernel_accounts_what_is_said() {
    let kmote = started(&["1"]);
    let stderr = kmote.stderr();
    let said =
        stderr.lines().find_map(|line| line.strip_prefix("kmote: ")?.split_once(" kB of kernel memory"));
    let said: u64 = said.unwrap_or_else(|| panic!("{stderr}")).0.parse().unwrap();
    let maps = fs::read_dir(format!("/proc/{}/fdinfo", kmote.pid())).unwrap().filter_map(|file| {
        let text = fs::read_to_string(file.unwrap().path()).ok().filter(|text| text.contains("map_type"))?;
        let line = text.lines().find_map(|line| line.strip_prefix("memlock:"))?;
        line.trim().parse::<u64>().ok()
    });
    let accounted = maps.sum::<u64>() / 1024;
    assert!(
        accounted > 0 && said.abs_diff(accounted) <= accounted / 10,
        "{said} kB said, {accounted} accounted"
    );
}

/// Of the machine on which it runs it sees only itself, and what libbpf asks for (a version, a token of delegated BPF).
#[test]
fn behind_a_prefix_nothing_else_is_read() {
    let folder = Folder::new("prefix");
    let prefix = folder.path().join("host");
    for file in
        ["proc/sys/kernel/osrelease", "sys/devices/system/cpu/possible", "proc/meminfo", "proc/self/status"]
    {
        let path = prefix.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, fs::read(Path::new("/").join(file)).unwrap()).unwrap();
    }
    let record = folder.path().join("record");
    let mut command = kmote_under(
        &["strace", "-f", "-e", "trace=%file", "-o", record.to_str().unwrap()],
        KMOTE,
        &["--apps", "--cgroups", "--modules", "process,cachestat,hardirq,disk", "--ticks", "3", "1"],
    );
    command.env("NETDATA_HOST_PREFIX", &prefix);
    let ended = Running::start(command).ends_within(LONG).with_status(0);
    assert!(ended.stdout.contains("\nBEGIN system.process_thread "), "{}", ended.stderr);
    let record = fs::read_to_string(&record).unwrap();
    assert!(record.contains(&format!("\"{}/proc", prefix.display())), "{record}");
    let known = ["/proc/self/", "/proc/version_signature", "/sys/fs/bpf"];
    let paths = record.lines().filter_map(|line| line.split('"').nth(1));
    let mut others = paths.filter(|path| path.starts_with("/proc") || path.starts_with("/sys"));
    let other = others.find(|path| !known.iter().any(|known| path.starts_with(known)));
    assert_eq!(other, None, "in\n{record}");
}

#[test]
fn sighup_ends_it_to_be_started_anew() {
    let running = started(&["--modules", "process", "1"]);
    running.signal("HUP");
    let ended = running.ends_within(SOON).with_status(0);
    assert!(ended.stderr.contains("kmote: SIGHUP: ends, to be started anew"), "{}", ended.stderr);
}

#[test]
fn a_crash_of_the_machine_while_attaching_is_not_repeated() {
    let folder = Folder::new("breaker");
    let record = folder.path().join("kmote.last-start");
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let start = |words: &[&str]| {
        let mut command = kmote(words);
        command.env("NETDATA_LIB_DIR", folder.path());
        Running::start(command)
    };
    let modules = ["--modules", "process", "1"];
    let mut running = start(&modules);
    running.wait_for("BEGIN ", 1);
    let text = || fs::read_to_string(&record).unwrap();
    assert!(text().starts_with("attaching "), "{}", text());
    // The process is killed, and the machine lives: that is no crash.
    running.signal("KILL");
    drop(running);
    let mut running = start(&modules);
    running.wait_for("BEGIN ", 1);
    running.signal("TERM");
    let ended = running.ends_within(SOON).with_status(0);
    assert!(!ended.stderr.contains("machine went down"), "{}", ended.stderr);
    assert!(text().starts_with("settled "), "{}", text());
    // Another boot began since.
    fs::write(&record, format!("attaching another-boot {} 0\n", release.trim())).unwrap();
    let ended = start(&["check", "--json"]).ends_within(LONG);
    assert_eq!(ended.stderr.matches("the machine went down soon after").count(), 1, "{}", ended.stderr);
    assert!(ended.stdout.contains("off, since the machine went down with it"), "{}", ended.stdout);
    // It is said and done once.
    let ended = start(&["check", "--json"]).ends_within(LONG);
    assert!(!ended.stderr.contains("machine went down"), "{}", ended.stderr);
}

#[test]
fn points_are_the_places_that_are_hooked_and_without_kprobes_none_is_one() {
    let ended =
        Running::start(kmote(&["check", "--points", "--no-kprobes"])).ends_within(LONG).with_status(0);
    assert!(
        ended.stdout.lines().any(|line| {
            line.split_whitespace().collect::<Vec<_>>()[..]
                == ["raw_tp", "task_newtask", "process", "newtask"]
        }),
        "{}",
        ended.stdout
    );
    assert!(ended.stdout.lines().all(|line| !line.contains("kprobe") && !line.contains("kretprobe")));
}

#[test]
fn a_file_that_cannot_be_written_is_said_once_and_the_run_goes_on() {
    let folder = Folder::new("unwritable");
    let file = folder.path().join("gone/kmote.prom");
    let arguments =
        ["--modules", "process", "--format", "prometheus", "--output", file.to_str().unwrap(), "1"];
    let mut running = Running::start(kmote(&arguments));
    assert!(
        holds_within(LONG, || running.stderr().contains("gone/kmote.prom: not written: ")),
        "{}",
        running.stderr()
    );
    std::thread::sleep(std::time::Duration::from_secs(3));
    assert!(running.is_running());
    fs::create_dir(folder.path().join("gone")).unwrap();
    assert!(holds_within(LONG, || file.exists()), "{}", running.stderr());
    running.signal("TERM");
    let ended = running.ends_within(SOON).with_status(0);
    assert_eq!(ended.stderr.matches("not written").count(), 1, "{}", ended.stderr);
}
