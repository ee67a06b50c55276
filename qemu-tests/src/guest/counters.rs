// SPDX-License-Identifier: GPL-3.0-or-later
//! What the kernel itself counts, to compare kmote with and to know whether the guest was quiet.

use std::fs;

/// A counter of the kernel's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// All tasks ever made.
    Tasks,
    /// Tasks that exist, zombies too.
    TasksNow,
    /// Pages ever dirtied.
    PagesDirtied,
    /// Pages ever read from swap.
    SwappedIn,
    /// Pages ever written to swap.
    SwappedOut,
    /// Processes ever killed for want of memory.
    Killed,
    /// Segments that TCP ever sent again.
    Retransmitted,
}

impl Counter {
    pub fn name(self) -> &'static str {
        match self {
            Self::Tasks => "/proc/stat processes",
            Self::TasksNow => "/proc/loadavg tasks",
            Self::PagesDirtied => "/proc/vmstat nr_dirtied",
            Self::SwappedIn => "/proc/vmstat pswpin",
            Self::SwappedOut => "/proc/vmstat pswpout",
            Self::Killed => "/proc/vmstat oom_kill",
            Self::Retransmitted => "/proc/net/snmp RetransSegs",
        }
    }

    /// Its value now; `None` where this kernel does not tell it exactly.
    pub fn read(self) -> Option<i64> {
        match self {
            Self::Tasks => value("/proc/stat", "processes"),
            // The fourth word is `running/all`.
            Self::TasksNow => {
                let text = fs::read_to_string("/proc/loadavg").ok()?;
                text.split_whitespace().nth(3)?.split_once('/')?.1.parse().ok()
            }
            // Each CPU keeps a part of its own until it is asked for it (since v4.8, 52b6f46bc163).
            Self::PagesDirtied => {
                fs::write("/proc/sys/vm/stat_refresh", "1").ok()?;
                value("/proc/vmstat", "nr_dirtied")
            }
            Self::SwappedIn => value("/proc/vmstat", "pswpin"),
            Self::SwappedOut => value("/proc/vmstat", "pswpout"),
            // Since v4.13.
            Self::Killed => value("/proc/vmstat", "oom_kill"),
            Self::Retransmitted => column("/proc/net/snmp", "Tcp:", "RetransSegs"),
        }
    }
}

/// The number after a key in a file of such lines.
pub fn value(path: &str, key: &str) -> Option<i64> {
    let text = fs::read_to_string(path).ok()?;
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.find(|(name, _)| *name == key)?.1.trim().parse().ok()
}

/// The number under a heading, in a file of pairs of lines: headings, numbers.
fn column(path: &str, kind: &str, heading: &str) -> Option<i64> {
    let text = fs::read_to_string(path).ok()?;
    let mut lines = text.lines().filter(|line| line.starts_with(kind));
    let place = lines.next()?.split(' ').position(|word| word == heading)?;
    lines.next()?.split(' ').nth(place)?.parse().ok()
}
