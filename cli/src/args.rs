// SPDX-License-Identifier: GPL-3.0-or-later
//! What was asked for: arguments, and the variables that Netdata sets.

use crate::apps::{Asked, Layout};
use crate::collector::Wanted;
use crate::config::Directories;
use crate::options::{COMMANDS, Command, FORMATS, KINDS, MODES, OPTIONS, Operand, OptionRow, SHELLS};
use crate::stream::is_uuid;
use kmote_core::chart::Mode;
use kmote_core::config::number;
use kmote_core::module::Module;
use kmote_core::modules::MODULES;
use lexopt::prelude::*;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::parent_id;
use std::path::PathBuf;

/// In what form ticks are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Netdata's plugin protocol.
    Netdata,
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// Prometheus' text format 0.0.4, which node_exporter's textfile collector reads.
    Prometheus,
}

/// All that was asked for.
#[derive(Clone, Debug)]
pub struct Options {
    /// What to do.
    pub command: Command,
    /// The interval that was asked for.
    pub seconds: Option<u32>,
    /// The least interval, as Netdata has it.
    pub least: Option<u32>,
    /// The modules that were named, in the order of the table.
    pub modules: Option<Vec<&'static Module>>,
    /// After how many ticks to stop.
    pub ticks: Option<u64>,
    /// The family of mechanisms to restrict to.
    pub only: Option<&'static str>,
    /// Whether to see how calls end.
    pub mode: Option<Mode>,
    /// Whether to count by applications, whatever the configuration says.
    pub apps: Layout,
    /// Whether to count by containers and services, whatever the configuration says.
    pub cgroups: bool,
    /// In what form to write.
    pub format: Format,
    /// Where expositions go; nowhere is stdout.
    pub output: Option<PathBuf>,
    /// The parent to stream to, its key, and the name of this node.
    pub to: Option<String>,
    /// The API key at the parent.
    pub key: Option<String>,
    /// The name of this node there.
    pub hostname: Option<String>,
    /// Whether kprobes may be used.
    pub kprobes: bool,
    /// Whether return probes may be used where they are known to crash the kernel.
    pub allow_kretprobes: bool,
    /// Whether privileges may be dropped.
    pub sandbox: bool,
    /// List hooked places only.
    pub points: bool,
    /// Print for machines.
    pub json: bool,
    /// The shell that completions are for.
    pub shell: Option<&'static str>,
    /// What stands before `/proc` and `/sys`.
    pub prefix: PathBuf,
    /// Where files are looked for.
    pub directories: Directories,
    /// Who started us: asked first of all, since whoever dies while we start must be missed.
    pub parent: u32,
    /// Whether Netdata started us.
    pub by_netdata: bool,
    /// Whether to draw what we ourselves cost.
    pub own: bool,
}

impl Options {
    /// Reads the arguments, without the program's name, and the environment. A failure is a sentence for the user.
    pub fn parse(
        arguments: impl IntoIterator<Item = OsString>,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, String> {
        let mut options = Self::unasked(&variable);
        let mut parser = lexopt::Parser::from_args(arguments);
        while let Some(argument) = parser.next().map_err(|error| error.to_string())? {
            let row = match argument {
                Value(word) => {
                    options.take_word(&word.to_string_lossy())?;
                    continue;
                }
                Short(letter) => {
                    OPTIONS.iter().find(|row| row.letter == Some(letter)).ok_or(format!("-{letter}"))
                }
                Long(name) => OPTIONS.iter().find(|row| row.name == name).ok_or(format!("--{name}")),
            };
            let row = row.map_err(|option| format!("{option}: no such option; see kmote --help"))?;
            if row.operand == Operand::None {
                options.take_switch(row);
            } else {
                let operand = parser.value().map_err(|error| error.to_string())?;
                options.take_operand(row, &operand)?;
            }
        }
        options.agree()
    }

    fn unasked(variable: &impl Fn(&str) -> Option<OsString>) -> Self {
        let least = variable("NETDATA_UPDATE_EVERY");
        Self {
            command: Command::Collect,
            seconds: None,
            least: least.as_ref().and_then(|word| number(word.to_str()?, 1, 86_400)),
            modules: None,
            ticks: None,
            only: None,
            mode: None,
            apps: Layout::Off,
            cgroups: false,
            format: Format::Netdata,
            output: None,
            to: None,
            key: None,
            hostname: None,
            kprobes: true,
            allow_kretprobes: false,
            sandbox: true,
            points: false,
            json: false,
            shell: None,
            prefix: variable("NETDATA_HOST_PREFIX")
                .filter(|prefix| !prefix.is_empty())
                .unwrap_or("/".into())
                .into(),
            directories: Directories::new(variable),
            parent: parent_id(),
            by_netdata: least.is_some(),
            own: variable("NETDATA_INTERNALS_MONITORING").is_none_or(|value| value != "NO"),
        }
    }

    fn take_switch(&mut self, row: &OptionRow) {
        match row.name {
            "help" => self.command = Command::Help,
            "version" => self.command = Command::Version,
            "apps" => self.apps = Layout::New,
            "old-apps" => self.apps = Layout::Old,
            "cgroups" => self.cgroups = true,
            "no-kprobes" => self.kprobes = false,
            "allow-kretprobes" => self.allow_kretprobes = true,
            "no-sandbox" => self.sandbox = false,
            "points" => self.points = true,
            _ => self.json = true,
        }
    }

    fn take_operand(&mut self, row: &OptionRow, operand: &OsStr) -> Result<(), String> {
        let text = operand.to_string_lossy();
        let wrong = |wanted: &str| format!("--{} {text}: {wanted} is wanted", row.name);
        let one_of = |words: &[&'static str]| {
            let found = words.iter().copied().find(|word| *word == text);
            found.ok_or_else(|| wrong(&format!("one of {}", words.join(", "))))
        };
        match row.name {
            "modules" => self.modules = Some(modules(&text)?),
            "only" => self.only = Some(one_of(KINDS)?),
            "mode" => self.mode = Some(if one_of(MODES)? == "return" { Mode::Return } else { Mode::Entry }),
            "format" => {
                self.format = match one_of(FORMATS)? {
                    "openmetrics" => Format::OpenMetrics,
                    "prometheus" => Format::Prometheus,
                    _ => Format::Netdata,
                }
            }
            "output" => self.output = Some(operand.into()),
            "to" => {
                let is_port = |(_, port): (&str, &str)| port.parse::<u16>().is_ok();
                let parent = text.rsplit_once(':').filter(|at| is_port(*at)).map(|_| text.to_string());
                self.to = Some(parent.ok_or_else(|| wrong("HOST:PORT"))?);
            }
            "key" => {
                self.key =
                    Some(Some(text.to_string()).filter(|key| is_uuid(key)).ok_or_else(|| wrong("a UUID"))?)
            }
            "hostname" => self.hostname = Some(text.to_string()),
            _ => {
                let ticks = text.parse().ok().filter(|ticks| *ticks > 0);
                self.ticks = Some(ticks.ok_or_else(|| wrong("a whole number of at least 1"))?);
            }
        }
        Ok(())
    }

    fn take_word(&mut self, word: &str) -> Result<(), String> {
        if self.command == Command::Completions
            && let Some(shell) = SHELLS.iter().find(|shell| **shell == word)
        {
            self.shell = Some(shell);
        } else if let Some(row) = COMMANDS.iter().find(|row| !row.word.is_empty() && row.word == word) {
            self.command = row.command;
        } else {
            let seconds = number(word, 1, 86_400);
            self.seconds = Some(seconds.ok_or_else(|| {
                format!("{word}: neither a command nor seconds from 1 to 86400; see kmote --help")
            })?);
        }
        Ok(())
    }

    /// What cannot be asked for together.
    fn agree(self) -> Result<Self, String> {
        if self.output.is_some() && self.format == Format::Netdata {
            return Err("--output: --format openmetrics or prometheus is wanted with it".to_owned());
        }
        if self.command == Command::Stream && (self.to.is_none() || self.key.is_none()) {
            return Err("stream: --to HOST:PORT and --key UUID are wanted".to_owned());
        }
        if self.command == Command::Completions && self.shell.is_none() {
            return Err(format!("completions: one of {} is wanted", SHELLS.join(", ")));
        }
        Ok(self)
    }

    /// The modules that were named, or else all.
    pub fn all_or_named(&self) -> Vec<&'static Module> {
        self.modules.clone().unwrap_or_else(|| MODULES.iter().collect())
    }

    /// The mode that was asked for, or else entry.
    pub fn mode_or_entry(&self) -> Mode {
        self.mode.unwrap_or(Mode::Entry)
    }

    /// The modules that were named, or else all, whatever the configuration says.
    pub fn wanted(&self) -> Vec<Wanted> {
        Wanted::all(self.all_or_named(), self.mode_or_entry())
    }

    /// The groups of processes, if the arguments ask for them, whatever the configuration says.
    pub fn groups(&self) -> Option<Asked> {
        let (apps, cgroups) = (self.apps, self.cgroups);
        (apps != Layout::Off || cgroups).then(|| Asked::new(&self.directories, apps, cgroups, None))
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use kmote_core::hook::Mechanism;

    fn parse(arguments: &[&str], variables: &[(&str, &str)]) -> Result<Options, String> {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        };
        Options::parse(arguments.iter().map(OsString::from), variable)
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
                "--no-kprobes",
            ],
            &[("NETDATA_HOST_PREFIX", "/host"), ("NETDATA_UPDATE_EVERY", "2")],
        )
        .unwrap();
        assert_eq!(options.command, Command::Check);
        assert_eq!(
            options.modules.unwrap().iter().map(|module| module.name).collect::<Vec<_>>(),
            ["process", "cachestat"]
        );
        assert!(options.json && options.only == Some("tp") && options.mode == Some(Mode::Return));
        assert!(!options.kprobes && options.sandbox && !options.allow_kretprobes);
        assert_eq!((options.ticks, options.prefix), (Some(3), PathBuf::from("/host")));
        assert_eq!((options.seconds, options.least, options.by_netdata), (None, Some(2), true));
        assert_eq!(parse(&[], &[]).unwrap().prefix, PathBuf::from("/"));
    }

    #[test]
    fn intervals() {
        for (arguments, variable, expected) in [
            (&[][..], None, (None, None)),
            (&["1"], None, (Some(1), None)),
            (&[], Some("2"), (None, Some(2))),
            (&["5"], Some("2"), (Some(5), Some(2))),
            (&["1"], Some("0"), (Some(1), None)),
            (&["1"], Some("abc"), (Some(1), None)),
            (&["1"], Some("1.5"), (Some(1), None)),
            (&["1"], Some("-1"), (Some(1), None)),
        ] {
            let variables: Vec<_> =
                variable.map(|value| ("NETDATA_UPDATE_EVERY", value)).into_iter().collect();
            let options = parse(arguments, &variables).unwrap();
            assert_eq!((options.seconds, options.least), expected, "{arguments:?} {variable:?}");
        }
    }

    #[test]
    fn formats_and_shells() {
        let options = parse(&["--format", "openmetrics", "--output", "/run/x.prom"], &[]).unwrap();
        assert_eq!((options.format, options.output), (Format::OpenMetrics, Some("/run/x.prom".into())));
        assert_eq!(parse(&["completions", "zsh"], &[]).unwrap().shell, Some("zsh"));
        assert_eq!(parse(&["-V"], &[]).unwrap().command, Command::Version);
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
            (&["stream"], "--to HOST:PORT and --key UUID are wanted"),
            (&["--to", "parent"], "HOST:PORT is wanted"),
            (&["--to", "parent:99999"], "HOST:PORT is wanted"),
            (&["--key", "1"], "a UUID is wanted"),
            (&["--mode", "both"], "one of entry, return"),
            (&["--format", "xml"], "one of netdata, openmetrics, prometheus"),
            (&["--output", "x"], "--format openmetrics"),
            (&["--ticks", "0"], "at least 1"),
            (&["--ticks"], "missing argument"),
            (&["completions"], "one of bash, zsh, fish"),
        ] {
            let said = parse(arguments, &[]).unwrap_err();
            assert!(said.contains(part), "{arguments:?}: {said}");
        }
    }

    #[test]
    fn the_kinds_are_those_of_the_mechanisms() {
        let families = Mechanism::ALL.map(Mechanism::family);
        assert!(families.iter().all(|family| KINDS.contains(family)));
        assert!(KINDS.iter().all(|kind| families.contains(kind)));
    }

    #[test]
    fn every_option_of_the_table_is_taken() {
        for row in OPTIONS {
            let operand = match row.operand {
                Operand::None => None,
                Operand::OneOf(words) => words.last().copied(),
                Operand::Modules => Some("process"),
                Operand::Number => Some("3"),
                Operand::File => Some("f"),
                Operand::Text => {
                    Some(if row.name == "to" { "parent:1" } else { "11111111-2222-3333-4444-555555555555" })
                }
            };
            let option = format!("--{}", row.name);
            let mut arguments = vec![option.as_str()];
            arguments.extend(operand);
            arguments.extend((row.name == "output").then_some("--format=prometheus"));
            let (asked, unasked) = (parse(&arguments, &[]), parse(&[], &[]));
            assert_ne!(format!("{asked:?}"), format!("{unasked:?}"), "{arguments:?} changes nothing");
        }
    }
}
