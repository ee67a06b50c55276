// SPDX-License-Identifier: GPL-3.0-or-later
//! Configuration files on disk, as the binary finds them.

use std::fs;
use std::path::Path;

use crate::support::machine::Folder;
use crate::support::run::{Ended, LONG, Running, kmote};

/// Files below a folder `etc` for the user's and `stock` for Netdata's.
fn run_with(folder: &Folder, arguments: &[&str]) -> Ended {
    let mut command = kmote(arguments);
    command
        .env("NETDATA_USER_CONFIG_DIR", folder.path().join("etc"))
        .env("NETDATA_STOCK_CONFIG_DIR", folder.path().join("stock"));
    Running::start(command).ends_within(LONG)
}

fn write(folder: &Folder, file: &str, text: &str) {
    let path = folder.path().join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn line_of<'a>(printed: &'a str, section: &str, key: &str) -> &'a str {
    let part = printed.split(&format!("[{section}]\n")).nth(1).unwrap_or_default();
    let mut lines = part.lines().take_while(|line| !line.starts_with('['));
    lines
        .find(|line| line.trim().starts_with(&format!("{key} = ")))
        .unwrap_or_else(|| panic!("no {key} in\n{printed}"))
}

/// Whether the printed line gives the value, and where it comes from.
fn says(line: &str, value: &str, origin: &Path) {
    assert!(line.contains(&format!("= {value} ")), "{line}");
    assert!(line.contains(&format!("# {}", origin.display())), "{line}");
}

#[test]
fn each_value_is_printed_with_its_origin() {
    let folder = Folder::new("configuration");
    write(&folder, "stock/ebpf.d.conf", "[global]\n update every = 5\n[ebpf programs]\n process = no\n");
    write(&folder, "stock/ebpf.d/cachestat.conf", "[global]\n update every = 20\n");
    write(&folder, "etc/ebpf.conf", "[ebpf programs]\n process = yes\n");
    write(&folder, "etc/kmote.conf", "[global]\n kprobes = no\n");
    let printed = run_with(&folder, &["config"]).with_status(0).stdout;
    let file = |name: &str| folder.path().join(name);
    says(line_of(&printed, "global", "update every"), "5", &file("stock/ebpf.d.conf:2"));
    says(line_of(&printed, "ebpf programs", "process"), "yes", &file("etc/ebpf.conf:2"));
    says(line_of(&printed, "cachestat", "update every"), "20", &file("stock/ebpf.d/cachestat.conf:2"));
    says(line_of(&printed, "global", "kprobes"), "no", &file("etc/kmote.conf:2"));
    // The old name counts only where the new one is not.
    write(&folder, "etc/ebpf.d.conf", "");
    let printed = run_with(&folder, &["config"]).with_status(0).stdout;
    says(line_of(&printed, "ebpf programs", "process"), "no", &file("stock/ebpf.d.conf:4"));
}

#[test]
fn a_bad_value_and_a_file_that_is_none_are_said_and_the_rest_runs() {
    let folder = Folder::new("configuration");
    write(
        &folder,
        "etc/ebpf.d.conf",
        "[global]\nupdate every = soon\n[ebpf programs]\ncachestat = no\nhardirq = no\n",
    );
    fs::create_dir(folder.path().join("etc/kmote.conf")).unwrap();
    write(&folder, "etc/ebpf.d/dns.conf", "[global]\nflow ttl = 20\n");
    let ended = run_with(&folder, &["--ticks", "1", "1"]).with_status(0);
    let path = folder.path().join("etc/ebpf.d.conf");
    let bad = format!(
        "kmote: {}:2: update every = soon: a whole number of seconds from 1 to 86400 is wanted; 1 is used",
        path.display()
    );
    assert!(ended.stderr.lines().any(|line| line == bad), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("ebpf.d/dns.conf: not read: kmote does not list queries"),
        "{}",
        ended.stderr
    );
    assert!(ended.stderr.contains("etc/kmote.conf: not read: not a regular file"), "{}", ended.stderr);
    let stream = ended.stream();
    assert!(stream.chart("system.process_thread").is_some());
    assert!(stream.chart("mem.cachestat_events").is_none(), "cachestat was switched off");
}

#[test]
fn with_every_module_off_nothing_is_loaded_and_netdata_is_told() {
    let folder = Folder::new("configuration");
    let config = run_with(&folder, &["config"]).with_status(0).stdout;
    write(&folder, "etc/kmote.conf", &config.replace(" = yes", " = no"));
    let record = folder.path().join("record");
    let mut command = crate::support::run::kmote_under(
        &["strace", "-f", "-o", record.to_str().unwrap()],
        crate::support::run::KMOTE,
        &["1"],
    );
    command.env("NETDATA_USER_CONFIG_DIR", folder.path().join("etc"));
    let ended = Running::start(command).ends_within(LONG).with_status(1);
    assert_eq!(ended.stdout, "DISABLE\n");
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    let record = fs::read_to_string(&record).unwrap();
    for call in ["bpf(", "perf_event_open(", "\"/proc/kallsyms", "getdents"] {
        assert!(!record.contains(call), "{call} in\n{record}");
    }
}

#[test]
fn a_kernel_on_netdatas_list_is_left_alone() {
    let folder = Folder::new("configuration");
    let version =
        fs::read_to_string("/proc/version_signature").or_else(|_| fs::read_to_string("/proc/version"));
    let version = version.unwrap();
    let beginning: String = version.chars().take(20).collect();
    let list = "etc/ebpf.d/ebpf_kernel_reject_list.txt";
    write(&folder, list, &format!("Ubuntu 0.1\n{beginning}\n"));
    let ended = run_with(&folder, &["1"]).with_status(1);
    assert_eq!(ended.stdout, "DISABLE\n");
    let said = format!("kmote: {}:2: this kernel is to be left alone: ", folder.path().join(list).display());
    assert!(ended.stderr.contains(&said), "{}", ended.stderr);
    write(&folder, list, "Ubuntu 0.1\n");
    let ended = run_with(&folder, &["--ticks", "1", "1"]).with_status(0);
    assert!(!ended.stderr.contains("left alone"), "{}", ended.stderr);
}

#[test]
fn over_the_budget_of_kernel_memory_tables_shrink_and_then_modules_go() {
    let folder = Folder::new("configuration");
    let said = |budget: u32, asked: &str| {
        write(&folder, "etc/kmote.conf", &format!("[global]\nkernel memory budget = {budget}\n"));
        run_with(&folder, &["--modules", asked, "--ticks", "1", "1"]).with_status(0)
    };
    let memory = |ended: &Ended| {
        let line =
            ended.stderr.lines().find(|line| line.contains("of kernel memory for maps")).unwrap_or_default();
        let line = line.strip_prefix("kmote: ").unwrap_or_default().to_owned();
        let taken: u32 = line.split(' ').next().unwrap_or_default().parse().unwrap();
        (taken, line)
    };
    let whole = memory(&said(4096, "process,softirq,hardirq"));
    assert!(whole.1.ends_with("kB of kernel memory for maps, of a budget of 4096 kB"), "{}", whole.1);
    let small = memory(&said(30, "process,softirq,hardirq"));
    assert!(
        small.0 <= 30 && small.1.ends_with("of a budget of 30 kB; to fit, tables are 1/4 of their size"),
        "{}",
        small.1
    );
    let ended = said(6, "process,softirq,hardirq");
    let out = "kmote: hardirq: it is left out: its maps find no room in the budget of kernel memory";
    assert!(ended.stderr.lines().any(|line| line == out), "{}", ended.stderr);
    assert!(memory(&ended).0 <= 6, "{}", ended.stderr);
    let stream = ended.stream();
    assert!(
        stream.chart("system.process_thread").is_some() && stream.chart("system.hardirq_latency").is_none()
    );
    let check = run_with(&folder, &["check", "--modules", "process,softirq,hardirq"]).stdout;
    assert!(check.contains("of a budget of 6 kB; to fit, tables are 1/16 of their size"), "{check}");
    assert!(check.contains("hardirq: it is left out: its maps find no room"), "{check}");
}

#[test]
fn a_call_that_is_switched_off_is_not_counted() {
    let folder = Folder::new("configuration");
    write(&folder, "etc/ebpf.d/process.conf", "[syscalls]\nrelease = no\n");
    let ended = run_with(&folder, &["--modules", "process", "--ticks", "1", "1"]).with_status(0);
    let stream = ended.stream();
    let dimensions = |chart: &str| {
        let chart = stream.chart(chart);
        chart.map(|chart| chart.dimensions.iter().map(|one| one.id.as_str()).collect::<Vec<_>>())
    };
    assert_eq!(dimensions("system.process_thread"), Some(vec!["_do_fork", "sys_clone"]));
    assert_eq!(dimensions("system.exit"), Some(vec!["do_exit"]), "without its tasks, which are released");
    assert!(!ended.stderr.contains("not counted"), "{}", ended.stderr);
}

#[test]
fn a_module_with_a_longer_interval_is_sent_on_its_own_ticks() {
    let folder = Folder::new("configuration");
    write(&folder, "etc/kmote.conf", "[cachestat]\nupdate every = 2\n[process]\nload = return\n");
    let ended = run_with(&folder, &["--modules", "process,cachestat", "--ticks", "4", "1"]).with_status(0);
    let stream = ended.stream();
    assert_eq!(stream.chart("system.process_thread").unwrap().updates.len(), 4);
    let slow = stream.chart("mem.cachestat_dirties").unwrap();
    assert_eq!(slow.updates.len(), 2);
    assert_eq!(slow.update_every, 2);
}
