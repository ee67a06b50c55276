// SPDX-License-Identifier: GPL-3.0-or-later
//! softirq: time in soft interrupts, which no one knows beforehand; but the kernel counts how often each vector ran.

use std::collections::BTreeMap;
use std::fs;
use std::net::UdpSocket;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::Expected::{AtMost, Within};
use super::{Expected, Step, nothing};
use crate::guest::kmote::Kmote;
use crate::guest::place::Place;
use crate::guest::run::{Run, Subject};
use crate::guest::sys;
use crate::row::Outcome;

const TIME: &str = "how long it takes depends on the machine";
/// Far more than the work takes, far less than a time that counts from a wrong beginning.
const MOST: u64 = 60_000_000_000;

const DATAGRAMS: usize = 23;

type Slots = [(&'static str, Expected)];

pub fn steps() -> Vec<Step> {
    const SOME: &Slots = &[
        ("timer", Within(1, MOST, TIME)),
        ("rcu", Within(1, MOST, TIME)),
        ("block", AtMost(MOST, TIME)),
        ("net_rx", AtMost(MOST, TIME)),
        ("sched", AtMost(MOST, TIME)),
        ("tasklet", AtMost(MOST, TIME)),
        ("hi", AtMost(MOST, TIME)),
        ("net_tx", AtMost(MOST, TIME)),
        ("irq_poll", AtMost(MOST, TIME)),
        ("hrtimer", AtMost(MOST, TIME)),
    ];
    vec![Step {
        name: "half a second of forks",
        disk: None,
        cpus: 1,
        prepare: nothing,
        work: forks,
        expect: SOME,
        counters: Vec::new(),
    }]
}

/// What ends is freed after an RCU grace period, and time goes by with ticks.
fn forks(_: &mut Place) {
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(500) {
        sys::reap(sys::fork(|| 0));
    }
}

/// A vector that did not run took no time, one that ran took some, and all of them less than there was.
pub fn check(run: &mut Run, subject: Subject, kmote: &mut Kmote) -> Result<(), String> {
    let subject = Subject { work: "23 datagrams", ..subject };
    let (around, start) = (vectors(), Instant::now());
    let before = kmote.read()?;
    let inside = vectors();
    send_datagrams();
    sleep(Duration::from_millis(200));
    let inside = ran(&inside, &vectors());
    let after = kmote.read()?;
    let (around, time) = (ran(&around, &vectors()), start.elapsed().as_nanos() as u64);
    run.equal(subject, "/proc/softirqs NET_RX rises", &true, &(inside.get("net_rx") > Some(&0)));
    let mut sum = 0;
    for (vector, before) in &before {
        let seen = after.get(vector).unwrap_or(&0).wrapping_sub(*before);
        sum += seen;
        let (expected, holds) = match (around.get(vector), inside.get(vector)) {
            (Some(0), _) => ("0", seen == 0),
            (_, Some(1..)) => ("≥1", seen > 0),
            // It ran between two readings that are not the same: either may be.
            _ => continue,
        };
        let outcome = if holds { Outcome::Passed } else { Outcome::Failed };
        run.send(subject, vector, expected, &seen.to_string(), outcome, TIME.to_owned());
    }
    let most = time * run.place.cpus as u64;
    let outcome = if sum <= most { Outcome::Passed } else { Outcome::Failed };
    run.send(subject, "sum of all", &format!("≤{most}"), &sum.to_string(), outcome, String::new());
    Ok(())
}

fn send_datagrams() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut buffer = [0; 8];
    for _ in 0..DATAGRAMS {
        socket.send_to(b"kmote", socket.local_addr().unwrap()).unwrap();
        socket.recv(&mut buffer).unwrap();
    }
}

/// How often each vector has run, over all CPUs, by kmote's name for it.
fn vectors() -> BTreeMap<String, u64> {
    let text = fs::read_to_string("/proc/softirqs").unwrap_or_default();
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    let sum = |numbers: &str| numbers.split_whitespace().filter_map(|word| word.parse::<u64>().ok()).sum();
    lines.map(|(name, numbers)| (name.trim().to_lowercase(), sum(numbers))).collect()
}

fn ran(before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    after.iter().map(|(name, count)| (name.clone(), count - before.get(name).unwrap_or(&0))).collect()
}
