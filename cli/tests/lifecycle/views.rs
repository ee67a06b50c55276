// SPDX-License-Identifier: GPL-3.0-or-later
//! What people and scripts see: `kmote top` and `kmote once`.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::run::{Ended, KMOTE, LONG, Running, SOON, kmote, kmote_under};

fn run(arguments: &[&str]) -> Ended {
    Running::start(kmote(arguments)).ends_within(LONG).with_status(0)
}

#[test]
fn once_reads_twice_and_says_what_happened_between() {
    let start = Instant::now();
    let mut running = Running::start(kmote(&["once", "2", "--modules", "process"]));
    let mut begun = 0;
    while running.is_running() {
        assert!(Command::new("true").status().unwrap().success());
        begun += 1;
    }
    let ended = running.ends_within(LONG).with_status(0);
    assert!(start.elapsed() >= Duration::from_secs(2));
    let exits = ended
        .stdout
        .lines()
        .find(|line| line.starts_with("system.exit ") && line.contains(" do_exit "))
        .unwrap();
    let words: Vec<_> = exits.split_whitespace().collect();
    let [_, _, rate, units] = words[..] else { panic!("{exits}") };
    assert_eq!(units, "calls/s");
    // The two seconds are most of the time that it ran, and what else the machine does comes on top.
    let rate = rate.parse::<f64>().unwrap();
    assert!(begun > 10 && rate * 2.0 >= f64::from(begun) / 4.0, "{begun} processes, {exits}");
}

#[test]
fn once_is_json_when_asked() {
    let ended = run(&["once", "1", "--json", "--modules", "process"]);
    assert!(
        ended
            .stdout
            .starts_with("{\"system.process_thread\":{\"units\":\"calls/s\",\"dimensions\":{\"_do_fork\":")
    );
    assert!(ended.stdout.ends_with("}}}\n") && ended.stdout.lines().count() == 1, "{}", ended.stdout);
}

#[test]
fn top_is_plain_and_80_columns_wide_where_there_is_no_terminal() {
    let ended = run(&["top", "1", "--ticks", "2"]);
    assert!(!ended.stdout.contains('\x1b'), "{}", ended.stdout);
    assert_eq!(ended.stdout.matches("kmote ").count(), 2, "a heading for each tick:\n{}", ended.stdout);
    assert!(ended.stdout.contains("system.process_thread"));
    assert!(ended.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ended.stdout);
}

#[test]
fn top_gives_the_terminal_back() {
    let line = format!("{KMOTE} top --modules process 60");
    let mut running = Running::start(kmote_under(&["script", "-qec"], &line, &["/dev/null"]));
    running.wait_for("\x1b[?1049h", 1);
    // ^C, which the terminal makes a signal of.
    std::thread::sleep(Duration::from_millis(500));
    running.write("\x03");
    let ended = running.ends_within(SOON * 2);
    assert!(ended.stdout.contains("\x1b[?1049l"), "{:?}", ended.stdout);
}
