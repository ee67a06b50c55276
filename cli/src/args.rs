// SPDX-License-Identifier: GPL-3.0-or-later
//! What was asked for: arguments, and the variables that Netdata sets.

use kmote_core::chart::Mode;
use kmote_core::hook::Mechanism;
use kmote_core::module::Module;
use kmote_core::modules::MODULES;
use lexopt::prelude::*;
use std::ffi::OsString;
use std::path::PathBuf;

/// What kmote is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Collect, and speak Netdata's protocol: the default.
    Plugin,
    /// Say what can be counted here, and why the rest cannot.
    Check,
    /// Print the raw counters each time a line comes in.
    Slots,
    /// Print how it is called.
    Help,
    /// Print the version.
    Version,
}

/// All that was asked for.
#[derive(Clone, Debug)]
pub struct Options {
    /// What to do.
    pub command: Command,
    /// The interval in seconds: the largest of those given.
    pub update_every: u32,
    /// The modules, in the order of the table.
    pub modules: Vec<&'static Module>,
    /// After how many ticks to stop.
    pub ticks: Option<u64>,
    /// The family of mechanisms to restrict to.
    pub only: Option<&'static str>,
    /// Whether to see how calls end.
    pub mode: Mode,
    /// Print for machines.
    pub json: bool,
    /// What stands before `/proc` and `/sys`.
    pub prefix: PathBuf,
    /// Whether Netdata started us.
    pub by_netdata: bool,
}

/// How kmote is called.
pub const HELP: &str = "\
kmote: a tiny collector of kernel metrics by eBPF

kmote [SECONDS] [OPTIONS]   collect every SECONDS (1), and write Netdata's plugin protocol to stdout
kmote check [--json]        for people: what can be counted here, by which hook, and why the rest cannot
kmote slots                 for tests: print the raw counters each time a line comes on stdin

  --modules A,B    only these modules
  --only KIND      only hooks of one kind: fentry, raw_tp, kprobe or tp
  --mode MODE      entry (default), or return: also hook returns, for the charts of errors
  --ticks N        stop after N ticks
  --json           with check: for machines
  --help, --version

Environment: NETDATA_UPDATE_EVERY (the least interval), NETDATA_HOST_PREFIX (stands before /proc and /sys).
";

impl Options {
    /// Reads the arguments, without the program's name, and the environment. A failure is a sentence for the user.
    pub fn parse(
        arguments: impl IntoIterator<Item = OsString>,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, String> {
        let least = variable("NETDATA_UPDATE_EVERY").and_then(|value| value.to_str()?.parse().ok());
        let mut options = Self {
            command: Command::Plugin,
            update_every: least.unwrap_or(1).max(1),
            modules: MODULES.iter().collect(),
            ticks: None,
            only: None,
            mode: Mode::Entry,
            json: false,
            prefix: variable("NETDATA_HOST_PREFIX")
                .filter(|prefix| !prefix.is_empty())
                .unwrap_or("/".into())
                .into(),
            by_netdata: least.is_some(),
        };
        let mut parser = lexopt::Parser::from_args(arguments);
        while let Some(argument) = parser.next().map_err(|error| error.to_string())? {
            let name = match argument {
                Value(word) => {
                    options.take_word(&word.to_string_lossy())?;
                    continue;
                }
                Short('h') => "help".to_owned(),
                Short('V') => "version".to_owned(),
                Short(other) => return Err(unknown(&format!("-{other}"))),
                Long(name) => name.to_owned(),
            };
            match name.as_str() {
                "help" => options.command = Command::Help,
                "version" => options.command = Command::Version,
                "json" => options.json = true,
                name => options.take_valued(name, &mut parser)?,
            }
        }
        Ok(options)
    }

    fn take_valued(&mut self, name: &str, parser: &mut lexopt::Parser) -> Result<(), String> {
        if !["modules", "only", "mode", "ticks"].contains(&name) {
            return Err(unknown(&format!("--{name}")));
        }
        let value = parser.value().map_err(|error| error.to_string())?;
        let value = value.to_string_lossy();
        match name {
            "modules" => self.modules = modules(&value)?,
            "only" => self.only = Some(family(&value)?),
            "mode" => self.mode = mode(&value)?,
            _ => {
                let ticks = value.parse().ok().filter(|ticks| *ticks > 0);
                self.ticks =
                    Some(ticks.ok_or(format!("--ticks {value}: a whole number of at least 1 is wanted"))?);
            }
        }
        Ok(())
    }

    fn take_word(&mut self, word: &str) -> Result<(), String> {
        match word {
            "check" => self.command = Command::Check,
            "slots" => self.command = Command::Slots,
            _ => {
                let seconds = word.parse().ok().filter(|seconds| (1..=86_400).contains(seconds));
                let seconds: u32 = seconds.ok_or_else(|| {
                    format!("{word}: neither a command nor seconds from 1 to 86400; see kmote --help")
                })?;
                self.update_every = self.update_every.max(seconds);
            }
        }
        Ok(())
    }
}

fn unknown(option: &str) -> String {
    format!("{option}: no such option; see kmote --help")
}

/// The named modules, in the order of the table, each once.
fn modules(list: &str) -> Result<Vec<&'static Module>, String> {
    let names: Vec<_> = list.split(',').map(str::trim).collect();
    if let Some(stranger) = names.iter().find(|name| MODULES.iter().all(|module| module.name != **name)) {
        let known: Vec<_> = MODULES.iter().map(|module| module.name).collect();
        return Err(format!("--modules: there is no module \"{stranger}\"; there are: {}", known.join(", ")));
    }
    Ok(MODULES.iter().filter(|module| names.contains(&module.name)).collect())
}

fn family(word: &str) -> Result<&'static str, String> {
    let families = Mechanism::ALL.map(Mechanism::family);
    let found = families.into_iter().find(|family| *family == word);
    found.ok_or_else(|| format!("--only {word}: one of fentry, raw_tp, kprobe, tp is wanted"))
}

fn mode(word: &str) -> Result<Mode, String> {
    match word {
        "entry" => Ok(Mode::Entry),
        "return" => Ok(Mode::Return),
        other => Err(format!("--mode {other}: entry or return is wanted")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str], variables: &[(&str, &str)]) -> Result<Options, String> {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        };
        Options::parse(arguments.iter().map(OsString::from), variable)
    }

    #[test]
    fn the_interval_is_the_largest_of_those_given() {
        for (arguments, variable, expected) in [
            (&[][..], None, 1),
            (&["1"], None, 1),
            (&["5"], None, 5),
            (&[], Some("2"), 2),
            (&["1"], Some("2"), 2),
            (&["5"], Some("2"), 5),
            (&["1"], Some("0"), 1),
            (&["1"], Some("abc"), 1),
        ] {
            let variables: Vec<_> =
                variable.map(|value| ("NETDATA_UPDATE_EVERY", value)).into_iter().collect();
            assert_eq!(
                parse(arguments, &variables).unwrap().update_every,
                expected,
                "{arguments:?} {variable:?}"
            );
        }
    }

    #[test]
    fn options_are_read() {
        let options = parse(
            &[
                "check",
                "--json",
                "--modules",
                "cachestat,process",
                "--only=tp",
                "--mode",
                "return",
                "--ticks=3",
            ],
            &[("NETDATA_HOST_PREFIX", "/host")],
        )
        .unwrap();
        assert_eq!(options.command, Command::Check);
        assert_eq!(
            options.modules.iter().map(|module| module.name).collect::<Vec<_>>(),
            ["process", "cachestat"]
        );
        assert!(options.json && options.only == Some("tp") && options.mode == Mode::Return);
        assert_eq!((options.ticks, options.prefix), (Some(3), PathBuf::from("/host")));
        assert_eq!(parse(&[], &[]).unwrap().prefix, PathBuf::from("/"));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (arguments, part) in [
            (&["--frobnicate"][..], "--frobnicate: no such option"),
            (&["-x"], "-x: no such option"),
            (&["0"], "0: neither a command nor seconds"),
            (&["1.5"], "1.5: neither"),
            (&["99999999999"], "99999999999: neither"),
            (&["--modules", "proces"], "no module \"proces\"; there are: process, "),
            (&["--only", "ftrace"], "one of fentry, raw_tp, kprobe, tp"),
            (&["--mode", "both"], "entry or return"),
            (&["--ticks", "0"], "at least 1"),
            (&["--ticks"], "missing argument"),
        ] {
            let said = parse(arguments, &[]).unwrap_err();
            assert!(said.contains(part), "{arguments:?}: {said}");
        }
    }
}
