// SPDX-License-Identifier: GPL-3.0-or-later
//! Whether the machine went down the last time that probes were attached, from the record that was left then.

use core::fmt;

/// How many crashes on one kernel it takes until kprobes stay off on it.
const LASTING: u8 = 2;

/// What is written before probes are attached, and again once the machine has survived them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Whether the machine has survived.
    pub settled: bool,
    /// The kernel's id of this boot.
    pub boot: &'a str,
    /// The kernel's release.
    pub release: &'a str,
    /// How many crashes in a row this kernel had.
    pub crashes: u8,
}

impl fmt::Display for Record<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.settled { "settled" } else { "attaching" };
        writeln!(out, "{state} {} {} {}", self.boot, self.release, self.crashes)
    }
}

/// What the record of the last start means for this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing is known against kprobes.
    Normal,
    /// The machine went down while probes were attached: this time without kprobes.
    Once,
    /// It went down more than once: without kprobes until the kernel changes or the record is removed.
    Lasting,
}

impl<'a> Record<'a> {
    /// Reads a record; `None` when it is none.
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let mut words = core::str::from_utf8(bytes).ok()?.split_ascii_whitespace();
        let settled = match words.next()? {
            "settled" => true,
            "attaching" => false,
            _ => return None,
        };
        let (boot, release) = (words.next()?, words.next()?);
        Some(Self { settled, boot, release, crashes: words.next()?.parse().ok()? })
    }

    /// What the last record means in this boot of this kernel, and the record of this start.
    ///
    /// A record of the same boot that never settled is a process that was killed, not a machine.
    pub fn judge(last: Option<Record<'_>>, boot: &'a str, release: &'a str) -> (Verdict, Self) {
        let last = last.filter(|last| last.release == release);
        let crashed = last.is_some_and(|last| !last.settled && last.boot != boot);
        let crashes = last.map_or(0, |last| last.crashes).saturating_add(crashed.into());
        let verdict = match crashes {
            LASTING.. => Verdict::Lasting,
            _ if crashed => Verdict::Once,
            _ => Verdict::Normal,
        };
        // Without kprobes there is nothing to survive.
        (verdict, Self { settled: verdict != Verdict::Normal, boot, release, crashes })
    }

    /// The record once the machine has survived: what it survived is forgiven.
    pub fn survived(self) -> Self {
        let crashes = if self.settled { self.crashes } else { 0 };
        Self { settled: true, crashes, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: &str = "6.1.0-30-amd64";

    fn judge(last: &str, boot: &str) -> (Verdict, String) {
        let (verdict, record) = Record::judge(Record::parse(last.as_bytes()), boot, KERNEL);
        (verdict, record.to_string())
    }

    #[test]
    fn what_a_record_means() {
        use Verdict::*;
        for (last, verdict, next) in [
            ("", Normal, "attaching now 6.1.0-30-amd64 0\n"),
            ("nonsense", Normal, "attaching now 6.1.0-30-amd64 0\n"),
            ("settled x 6.1.0-30-amd64 0", Normal, "attaching now 6.1.0-30-amd64 0\n"),
            ("attaching now 6.1.0-30-amd64 0", Normal, "attaching now 6.1.0-30-amd64 0\n"),
            ("attaching x 6.1.0-30-amd64 0", Once, "settled now 6.1.0-30-amd64 1\n"),
            ("settled x 6.1.0-30-amd64 1", Normal, "attaching now 6.1.0-30-amd64 1\n"),
            ("attaching x 6.1.0-30-amd64 1", Lasting, "settled now 6.1.0-30-amd64 2\n"),
            ("settled x 6.1.0-30-amd64 2", Lasting, "settled now 6.1.0-30-amd64 2\n"),
            ("attaching x 6.1.0-29-amd64 1", Normal, "attaching now 6.1.0-30-amd64 0\n"),
            ("settled x 6.1.0-29-amd64 2", Normal, "attaching now 6.1.0-30-amd64 0\n"),
            ("attaching x 6.1.0-30-amd64 255", Lasting, "settled now 6.1.0-30-amd64 255\n"),
            ("attaching x 6.1.0-30-amd64 -1", Normal, "attaching now 6.1.0-30-amd64 0\n"),
        ] {
            assert_eq!(judge(last, "now"), (verdict, next.to_owned()), "{last}");
        }
    }

    #[test]
    fn a_machine_that_crashes_at_every_start_stays_up_from_the_third_boot_on() {
        let (mut record, mut crashes) = (String::new(), Vec::new());
        for boot in ["1", "2", "3", "4", "5", "6"] {
            let (verdict, next) = judge(&record, boot);
            crashes.push(verdict == Verdict::Normal);
            record = next;
        }
        assert_eq!(crashes, [true, false, true, false, false, false]);
    }

    #[test]
    fn what_was_survived_is_forgiven() {
        let (verdict, record) = Record::judge(Record::parse(b"settled x 6.1.0-30-amd64 1"), "now", KERNEL);
        assert_eq!(verdict, Verdict::Normal);
        assert_eq!(record.survived().to_string(), "settled now 6.1.0-30-amd64 0\n");
        let (verdict, record) = Record::judge(Record::parse(b"settled x 6.1.0-30-amd64 2"), "now", KERNEL);
        assert_eq!(verdict, Verdict::Lasting);
        assert_eq!(record.survived().to_string(), "settled now 6.1.0-30-amd64 2\n");
    }
}
