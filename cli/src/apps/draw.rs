// SPDX-License-Identifier: GPL-3.0-or-later
//! The bytes of a group's charts: an application's, a container's, a service's.

use crate::protocol::{PLUGIN, since};
use kmote_core::apps::groups::chart_name;
use kmote_core::chart::Value;
use kmote_core::share::{Look, Share};
use kmote_core::table::clean;
use ufmt::{uWrite, uwrite, uwriteln};

/// A group as it is drawn.
#[derive(Clone, Copy, Debug)]
pub enum Face<'a> {
    /// An application, by the name that the groups file gives it.
    App(&'a [u8]),
    /// A container, by its name.
    Container(&'a [u8]),
    /// A service, by its unit's name.
    Service(&'a [u8]),
}

impl Face<'_> {
    const fn look(self, share: &Share) -> Look {
        match self {
            Self::App(_) => share.app,
            Self::Container(_) => share.cgroup,
            Self::Service(_) => share.service,
        }
    }

    fn id<W: uWrite>(self, out: &mut W, share: &Share) -> Result<(), W::Error> {
        match self {
            Self::App(name) => {
                out.write_str("app.")?;
                chart_name(name).try_for_each(|letter| out.write_char(letter))?;
                out.write_str("_ebpf_")?;
            }
            Self::Container(name) => write_type(out, "cgroup_", name)?,
            Self::Service(name) => write_type(out, "systemd_", name)?,
        }
        out.write_str(self.look(share).id)
    }

    fn label<W: uWrite>(self, out: &mut W) -> Result<(), W::Error> {
        let (key, name) = match self {
            Self::App(name) => ("app_group", name),
            Self::Container(name) => ("cgroup_name", name),
            Self::Service(name) => ("service_name", name),
        };
        uwrite!(out, "CLABEL '{}' '", key)?;
        clean(name).try_for_each(|letter| out.write_char(letter))?;
        out.write_str("' 1\nCLABEL_COMMIT\n")
    }

    /// Declares one of its charts; an obsolete one is taken back.
    pub fn declare<W: uWrite>(
        self,
        out: &mut W,
        module: &str,
        share: &Share,
        update_every: u32,
        obsolete: bool,
    ) -> Result<(), W::Error> {
        let look = self.look(share);
        out.write_str("CHART ")?;
        self.id(out, share)?;
        uwrite!(out, " '' '{}' '{}' '{}' ", share.title, share.units, look.family)?;
        uwrite!(out, "'{}' {} {} {} ", look.context, look.kind.word(), look.priority, update_every)?;
        let options = if obsolete { "obsolete" } else { "" };
        uwriteln!(out, "'{}' '{}' '{}'", options, PLUGIN, module)?;
        self.label(out)?;
        for ((id, name), value) in look.dimensions.iter().zip(share.values) {
            uwrite!(out, "DIMENSION '{}' '{}' {} ", id, name, value.algorithm())?;
            uwriteln!(out, "{} {}", share.scale.0, share.scale.1)?;
        }
        Ok(())
    }

    /// Sends the values of one of its charts. When the group has begun in this interval, totals are sent as zero: Netdata
    /// takes the first for the beginning.
    pub fn send<W: uWrite>(
        self,
        out: &mut W,
        share: &Share,
        now: u64,
        last: &mut u64,
        began: bool,
        value: impl Fn(usize, &Value) -> Option<i64>,
    ) -> Result<(), W::Error> {
        out.write_str("BEGIN ")?;
        self.id(out, share)?;
        since(out, last, now)?;
        for (nth, ((id, _), kind)) in self.look(share).dimensions.iter().zip(share.values).enumerate() {
            let is_total = !matches!(kind, Value::Level(..));
            if let Some(value) = value(nth, kind) {
                uwriteln!(out, "SET '{}' = {}", id, if began && is_total { 0 } else { value })?;
            }
        }
        out.write_str("END\n")
    }
}

/// The type of a chart, in which a dot would end it.
fn write_type<W: uWrite>(out: &mut W, before: &str, name: &[u8]) -> Result<(), W::Error> {
    out.write_str(before)?;
    chart_name(name).try_for_each(|letter| out.write_char(letter))?;
    out.write_char('.')
}
