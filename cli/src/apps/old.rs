// SPDX-License-Identifier: GPL-3.0-or-later
//! The bytes of the charts of applications as Netdata had them before 1.44: one for each number, a dimension a group.

use super::{Drawn, kept};
use crate::protocol::{PLUGIN, since};
use kmote_core::apps::account::{Account, Booked};
use kmote_core::apps::groups::Groups;
use kmote_core::apps::old;
use kmote_core::chart::Value;
use kmote_core::table::clean;
use ufmt::{uWrite, uwrite, uwriteln};

/// When each chart was last sent, in microseconds; 0 for never.
#[derive(Debug)]
pub struct OldCharts(&'static mut [u64]);

/// What they are made of.
#[derive(Debug)]
pub struct Source<'a> {
    pub groups: &'a Groups<'a>,
    pub account: &'a Account<'a>,
    pub update_every: u32,
    /// Whether a group has begun in this interval.
    pub begun: bool,
}

impl OldCharts {
    /// Of so many numbers.
    pub fn new(values: usize) -> Self {
        Self(kept(0, values))
    }

    /// Forgets what was sent, and when.
    pub fn forget_sent(&mut self) {
        self.0.fill(0);
    }

    /// Writes those of one share of a module, which is `drawn`.
    pub fn write<W: uWrite>(
        &mut self,
        out: &mut W,
        now: u64,
        from: &Source<'_>,
        one: &Booked,
        drawn: &Drawn,
    ) -> Result<(), W::Error> {
        let numbers = drawn.share.values.iter().enumerate();
        for ((nth, value), last) in numbers.zip(self.0.iter_mut().skip(drawn.first)) {
            let of = |group| from.account.value(group, one, drawn.first + nth, value);
            let active = || from.active().filter_map(|group| Some((group, of(group)?)));
            if active().next().is_none() {
                continue;
            }
            if *last == 0 || from.begun {
                from.declare(out, one, drawn, (nth, value), active().map(|(group, _)| group))?;
            }
            uwrite!(out, "BEGIN apps.{}", old::id(drawn.share, nth))?;
            since(out, last, now)?;
            let is_total = !matches!(value, Value::Level(..));
            for (group, number) in active() {
                out.write_str("SET '")?;
                from.name(out, group)?;
                // As in the layout of today, a group begins with zero.
                let number = if is_total && from.account.began(group) { 0 } else { number };
                uwriteln!(out, "' = {}", number)?;
            }
            out.write_str("END\n")?;
        }
        Ok(())
    }
}

impl Source<'_> {
    /// The groups that have ever done anything.
    fn active(&self) -> impl Iterator<Item = u16> {
        let all = 0..u16::try_from(self.groups.count()).unwrap_or(u16::MAX);
        all.filter(|group| self.account.active(*group))
    }

    fn name<W: uWrite>(&self, out: &mut W, group: u16) -> Result<(), W::Error> {
        clean(self.groups.name(group)).try_for_each(|letter| out.write_char(letter))
    }

    fn declare<W: uWrite>(
        &self,
        out: &mut W,
        one: &Booked,
        drawn: &Drawn,
        (nth, value): (usize, &Value),
        groups: impl Iterator<Item = u16>,
    ) -> Result<(), W::Error> {
        let (share, module) = (drawn.share, one.module);
        let (family, first) = old::module(module.name);
        let before = module.shares.iter().take_while(|other| !std::ptr::eq(*other, share));
        let place = before.map(|other| other.values.len()).sum::<usize>() + nth;
        let priority = first + place as u32;
        uwrite!(out, "CHART apps.{} '' '{}' '{}' ", old::id(share, nth), share.title, share.units)?;
        uwrite!(out, "'{}' '' {} {} {} ", family, old::kind(share), priority, self.update_every)?;
        uwriteln!(out, "'' '{}' '{}'", PLUGIN, module.name)?;
        for group in groups {
            out.write_str("DIMENSION '")?;
            self.name(out, group)?;
            uwriteln!(out, "' '' {} {} {}", value.algorithm(), share.scale.0, share.scale.1)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Page;
    use kmote_core::module::Slots;
    use kmote_core::modules::MODULES;

    #[test]
    fn a_group_that_begins_is_declared_and_begins_with_zero() {
        let module = MODULES.iter().find(|module| module.name == "swap").unwrap();
        let one = Booked { module, place: 0, live: Slots::default().with(0).with(1) };
        let drawn = Drawn { booked: 0, share: &module.shares[1], first: 1 };
        let groups = Groups::parse(b"web: nginx\nthe shell: sh\n");
        let (mut totals, mut changes, mut sums) = ([0; 6], [0; 6], [0; 6]);
        let mut account = Account::new((2, 2), &mut totals, &mut changes, &mut sums);
        let mut old = OldCharts::new(2);
        let mut tick = |now, booked: &[(u16, u64)]| {
            account.begin();
            booked.iter().for_each(|(group, amount)| account.book(*group, 1, *amount));
            let begun = (0..3).any(|group| account.began(group));
            let (groups, account) = (&groups, &account);
            let mut out = Page::default();
            old.write(&mut out, now, &Source { groups, account, update_every: 1, begun }, &one, &drawn)
                .unwrap();
            out.text().to_owned()
        };
        const CHART: &str = "CHART apps.swap_write_call '' 'Pages given to swap' 'calls/s' 'swap (eBPF)' '' stacked 20192 1 '' 'kmote.plugin' 'swap'\n";
        const WEB: &str = "DIMENSION 'web' '' incremental 1 1\n";
        const SHELL: &str = "DIMENSION 'the_shell' '' incremental 1 1\n";
        assert_eq!(tick(1_000_000, &[]), "");
        assert_eq!(
            tick(2_000_000, &[(1, 5)]),
            format!("{CHART}{WEB}BEGIN apps.swap_write_call\nSET 'web' = 0\nEND\n")
        );
        assert_eq!(
            tick(3_000_000, &[(1, 1), (2, 3)]),
            format!(
                "{CHART}{WEB}{SHELL}BEGIN apps.swap_write_call 1000000\nSET 'web' = 6\nSET 'the_shell' = 0\nEND\n"
            )
        );
        assert_eq!(
            tick(4_000_000, &[]),
            "BEGIN apps.swap_write_call 1000000\nSET 'web' = 6\nSET 'the_shell' = 3\nEND\n"
        );
    }
}
