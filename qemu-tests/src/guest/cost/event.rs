// SPDX-License-Identifier: GPL-3.0-or-later
//! Instructions an event: the work alone, with programs that do nothing at the same places, and with kmote's.
//!
//! How much longer the work takes is what whoever works pays, and it is as noisy as the work. What kmote's programs add
//! to those that do nothing is told by the kernel's own account of them (`kernel.bpf_stats_enabled`), which costs the
//! same in both and so falls out.

use std::collections::BTreeMap;
use std::fs;

use kmote_core::chart::Mode;
use kmote_core::hook::{Hook, Mechanism, Probe};
use kmote_core::module::Module;

use super::loops::Work;
use crate::guest::bpf::{self, Bare, Spent};
use crate::guest::kmote::{HookLine, Kmote};
use crate::guest::run::{Run, Subject};
use crate::row::Outcome;
use crate::workloads;

/// A way to run kmote.
pub struct Variant {
    pub name: &'static str,
    pub options: &'static [&'static str],
    pub mode: Mode,
    /// To reach: instructions over the bare mechanism.
    pub most: u64,
}

/// What programs spent, by the name that the kernel shows.
type Account = BTreeMap<String, Spent>;

impl Run {
    /// One module in one way.
    pub fn event_cost(&mut self, module: &'static Module, variant: &Variant) {
        let only = variant.options.strip_prefix(&["--only"]);
        let mine = |probe: &Probe| {
            let offered = |hook: &Hook| only.is_none_or(|only| only == [hook.mechanism().family()]);
            (variant.mode == Mode::Entry || probe.mode == variant.mode) && probe.hooks.iter().any(offered)
        };
        if !module.probes_in(variant.mode).any(|(_, probe)| mine(probe)) {
            return;
        }
        self.place.turn_to(workloads::disk(module.name).unwrap_or("ext4-4k"));
        let subject = Subject { module: module.name, mechanism: variant.name, work: "events" };
        let Some(work) = Work::of(module.name, variant.mode, &self.place) else {
            return self.send(subject, "all", "", "", Outcome::Skipped, "no work for it here".to_owned());
        };
        let subject = Subject { work: work.name, ..subject };
        if let Err(reason) = self.compare_cost(subject, module, &work, variant) {
            self.send(subject, "all", "", "", Outcome::Skipped, reason);
        }
    }

    fn compare_cost(
        &mut self,
        subject: Subject,
        module: &'static Module,
        work: &Work,
        variant: &Variant,
    ) -> Result<(), String> {
        let alone = work.least(&mut self.place);
        let before = bpf::program_ids();
        let kmote = Kmote::start(module.name, variant.options)?;
        let ids: Vec<u32> = bpf::program_ids().into_iter().filter(|id| !before.contains(id)).collect();
        let ours = work.least(&mut self.place);
        let account = self.account(work, || kmotes(&ids));
        let attached = places(module, &kmote.hooks);
        kmote.finish();

        let bares = attach(&attached)?;
        let bare = work.least(&mut self.place);
        let bare_account = self.account(work, || spent(&bares));
        drop(bares);
        let runs: u64 = account.values().map(|spent| spent.runs).sum();
        if work.timed && runs > 0 {
            let each = |with: u64| (with.saturating_sub(alone) * super::loops::REPEATS as u64) / runs;
            let text = format!("{} by programs that do nothing; the work alone takes {alone}", each(bare));
            self.most(subject, "an event makes the work longer by", None, each(ours), text);
        }
        for (event, place) in &attached {
            let spent = [&account, &bare_account]
                .map(|account| account.get(&shown(event)).copied().unwrap_or_default());
            let word = place.mechanism().word();
            let name =
                if variant.name == word { word.to_owned() } else { format!("{}: {word}", variant.name) };
            self.added(Subject { mechanism: &name, ..subject }, event, variant.most, spent);
        }
        Ok(())
    }

    fn added(&mut self, subject: Subject, event: &str, most: u64, [ours, bare]: [Spent; 2]) {
        let what = format!("{event}: ours over bare");
        match ours.each().zip(bare.each()) {
            Some((each, bare_each)) => {
                let text = format!("{each} and {bare_each} by the kernel's account, {} events", ours.runs);
                self.most(subject, &what, Some(most), each.saturating_sub(bare_each), text);
            }
            None => self.send(subject, &what, "", "", Outcome::Skipped, "did not come".to_owned()),
        }
    }

    /// What the programs spend on the work, as often as it is measured.
    fn account(&mut self, work: &Work, spent: impl Fn() -> Account) -> Account {
        const SWITCH: &str = "/proc/sys/kernel/bpf_stats_enabled";
        fs::write(SWITCH, "1").unwrap();
        let before = spent();
        work.least(&mut self.place);
        let after = spent();
        fs::write(SWITCH, "0").unwrap();
        after.into_iter().map(|(event, now)| (event.clone(), now.since(before[&event]))).collect()
    }
}

/// The name of an event's programs, as far as the kernel keeps it; several events may share it.
fn shown(event: &str) -> String {
    let mut name = format!("kmote_{event}");
    name.truncate(15);
    name
}

fn kmotes(ids: &[u32]) -> Account {
    let mut account = Account::new();
    for program in ids.iter().filter_map(|id| bpf::program(*id)) {
        let sum = account.entry(program.name).or_default();
        *sum = sum.and(program.spent);
    }
    account
}

fn spent(bares: &[(&str, Vec<Bare>)]) -> Account {
    let mut account = Account::new();
    for (event, bare) in bares.iter().flat_map(|(event, bares)| bares.iter().map(move |bare| (event, bare))) {
        let sum = account.entry(shown(event)).or_default();
        *sum = sum.and(bare.spent());
    }
    account
}

/// Where kmote says that it has attached.
fn places(module: &'static Module, lines: &[HookLine]) -> BTreeMap<&'static str, &'static Hook> {
    let mut found = BTreeMap::new();
    for probe in module.probes {
        let line = lines.iter().find(|line| line.event == probe.event);
        let Some((mechanism, targets)) = line.and_then(|line| line.attached.as_ref()) else { continue };
        let is_it = |hook: &&Hook| {
            let has = |target: &str| hook.places().any(|place| place.target() == target);
            hook.mechanism().word() == mechanism && targets.split('+').all(has)
        };
        if let Some(hook) = probe.hooks.iter().find(is_it) {
            found.insert(probe.event, hook);
        }
    }
    found
}

/// Programs that do nothing, at every place of every hook that this kernel has.
fn attach<'a>(hooks: &BTreeMap<&'a str, &Hook>) -> Result<Vec<(&'a str, Vec<Bare>)>, String> {
    let mut all = Vec::new();
    for (event, hook) in hooks {
        let mut bares = Vec::new();
        for place in hook.places() {
            let function = place.function().filter(|_| is_trampoline(&place)).and_then(bpf::function);
            match Bare::attach(&place, function) {
                Ok(bare) => bares.push(bare),
                // The kernel has not got all of them.
                Err(_) if hook.places().count() > 1 => {}
                Err(error) => return Err(format!("a bare program on {}: {error}", place.target())),
            }
        }
        all.push((*event, bares));
    }
    Ok(all)
}

fn is_trampoline(place: &Hook) -> bool {
    matches!(place.mechanism(), Mechanism::Fentry | Mechanism::Fexit)
}
