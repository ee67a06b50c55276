// SPDX-License-Identifier: GPL-3.0-or-later
//! hardirq: time in hard interrupts, which no one knows beforehand; but the kernel counts how often each came.

use std::collections::BTreeMap;
use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::guest::kmote::{Kmote, Reading};
use crate::guest::run::{Run, Subject};
use crate::row::Outcome;

const TIME: &str = "how long it takes depends on the machine";
const DISK: &str = "ext4-4k";
const PAGES: u64 = 23;

/// A line or a vector that did not come took no time, one that came took some, and all of them less than there was.
pub fn check(run: &mut Run, subject: Subject, kmote: &mut Kmote) -> Result<(), String> {
    let subject = Subject { work: "23 pages read", ..subject };
    let disk = run.place.has(DISK);
    if disk {
        run.place.cold_file(DISK, PAGES);
    }
    let (around, start) = (interrupts(), Instant::now());
    let before = by_interrupt(&kmote.read()?);
    let inside = interrupts();
    if disk {
        run.place.read(PAGES);
    }
    sleep(Duration::from_millis(300));
    let inside = came(&inside, &interrupts());
    let after = by_interrupt(&kmote.read()?);
    let (around, time) = (came(&around, &interrupts()), start.elapsed().as_nanos() as u64);
    if disk {
        let reads = inside.iter().any(|(name, count)| name.parse::<u32>().is_ok() && *count >= PAGES);
        run.equal(subject, "a line of /proc/interrupts rises by 23", &true, &reads);
    }
    let mut sum = 0;
    for (name, total) in &after {
        let seen = total - before.get(name).unwrap_or(&0);
        sum += seen;
        let (expected, holds) = match (around.get(name), inside.get(name)) {
            (Some(0), _) => ("0", seen == 0),
            (_, Some(1..)) => ("≥1", seen > 0),
            // It came between two readings that are not the same, or /proc/interrupts does not have it.
            _ => continue,
        };
        let outcome = if holds { Outcome::Passed } else { Outcome::Failed };
        run.send(subject, name, expected, &seen.to_string(), outcome, TIME.to_owned());
    }
    for name in
        inside.iter().filter(|(name, count)| **count > 0 && name.parse::<u32>().is_ok()).map(|(n, _)| n)
    {
        run.equal(subject, &format!("line {name} is known"), &true, &after.contains_key(name));
    }
    let most = time * run.place.cpus as u64;
    let outcome = if sum <= most { Outcome::Passed } else { Outcome::Failed };
    run.send(subject, "sum of all", &format!("≤{most}"), &sum.to_string(), outcome, String::new());
    Ok(())
}

/// kmote's vectors, and its lines by their number: the last part of `NAME_NUMBER:ns`.
fn by_interrupt(reading: &Reading) -> BTreeMap<String, u64> {
    let name = |slot: &str| match slot.strip_suffix(":ns") {
        Some(line) => line.rsplit('_').next().unwrap_or_default().to_owned(),
        None => slot.to_owned(),
    };
    reading.iter().filter(|(slot, _)| *slot != "lost").map(|(slot, total)| (name(slot), *total)).collect()
}

/// How often each has come, over all CPUs, by kmote's name for it.
fn interrupts() -> BTreeMap<String, u64> {
    let text = fs::read_to_string("/proc/interrupts").unwrap_or_default();
    let cpus = text.lines().next().map_or(0, |line| line.split_whitespace().count());
    let mut counts = BTreeMap::new();
    for (name, rest) in text.lines().skip(1).filter_map(|line| line.trim().split_once(':')) {
        let count = rest.split_whitespace().take(cpus).filter_map(|word| word.parse::<u64>().ok()).sum();
        // Two of kmote's vectors are one of the kernel's, and so is not compared: CAL.
        let vector = match name {
            "LOC" => "local_timer",
            "RES" => "reschedule",
            "IWI" => "irq_work",
            "TRM" => "thermal_apic",
            "THR" => "threshold_apic",
            "DFR" => "deferred_error_apic",
            "SPU" => "spurious_apic",
            line => line,
        };
        counts.insert(vector.to_owned(), count);
    }
    counts
}

fn came(before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    after.iter().map(|(name, count)| (name.clone(), count - before.get(name).unwrap_or(&0))).collect()
}
