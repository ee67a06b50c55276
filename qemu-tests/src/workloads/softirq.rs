// SPDX-License-Identifier: GPL-3.0-or-later
//! softirq: time in soft interrupts, which no one knows beforehand; that it is counted, and not more than passed.

use std::time::{Duration, Instant};

use super::Expected::{AtMost, Within};
use super::{Expected, Step, nothing};
use crate::guest::place::Place;
use crate::guest::sys;

const TIME: &str = "how long it takes depends on the machine";
/// Far more than the work takes, far less than a time that counts from a wrong beginning.
const MOST: u64 = 60_000_000_000;

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
