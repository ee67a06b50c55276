// SPDX-License-Identifier: GPL-3.0-or-later
//! What BPF things exist in the kernel, to see that kmote leaves none behind.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::sys::{Walk, next_id};

/// All that a process could leave in the kernel. `None` where the kernel cannot list it.
#[derive(Debug, PartialEq, Eq)]
pub struct Remains {
    programs: Option<Vec<u32>>,
    links: Option<Vec<u32>>,
    kprobe_events: Option<String>,
}

/// A kernel takes up to a tenth of a second to detach one program, and one run may have 200.
const PATIENCE: Duration = Duration::from_secs(60);

impl Remains {
    pub fn now() -> Self {
        Self {
            programs: ids(Walk::Programs),
            links: ids(Walk::Links),
            kprobe_events: fs::read_to_string("/sys/kernel/tracing/kprobe_events").ok(),
        }
    }

    /// Waits until all is as before, since the kernel frees with delay; says what is more, kind by kind.
    pub fn wait_for_none(&self) -> Vec<(&'static str, Option<usize>)> {
        let start = Instant::now();
        loop {
            let now = Self::now();
            if now == *self || start.elapsed() > PATIENCE {
                return self.compare(&now);
            }
            sleep(Duration::from_millis(20));
        }
    }

    fn compare(&self, now: &Self) -> Vec<(&'static str, Option<usize>)> {
        let more = |before: &Option<Vec<u32>>, now: &Option<Vec<u32>>| {
            let (before, now) = (before.as_ref()?, now.as_ref()?);
            Some(now.iter().filter(|id| !before.contains(id)).count())
        };
        let events = self.kprobe_events.as_ref().zip(now.kprobe_events.as_ref());
        let events =
            events.map(|(before, now)| now.lines().filter(|l| !before.lines().any(|b| b == *l)).count());
        vec![
            ("programs left", more(&self.programs, &now.programs)),
            ("links left", more(&self.links, &now.links)),
            ("kprobe events left", events),
        ]
    }
}

fn ids(walk: Walk) -> Option<Vec<u32>> {
    let mut found = Vec::new();
    let mut last = 0;
    while let Some(id) = next_id(walk, last).ok()? {
        found.push(id);
        last = id;
    }
    Some(found)
}
