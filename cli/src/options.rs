// SPDX-License-Identifier: GPL-3.0-or-later
//! The one table of commands and options: arguments are read by it, and help, manual and completions are made from it.

/// What kmote is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Collect, and write each tick in some format: the default.
    Collect,
    /// Say what can be counted here, and why the rest cannot.
    Check,
    /// Show rates on a terminal.
    Top,
    /// Read twice, and print a summary.
    Once,
    /// Collect, and stream to a Netdata parent.
    Stream,
    /// Print the effective configuration, and where each value comes from.
    Config,
    /// Print the raw counters each time a line comes in.
    Slots,
    /// Print the manual page.
    Man,
    /// Print completions for a shell.
    Completions,
    /// Print how it is called.
    Help,
    /// Print the version.
    Version,
}

/// A command as the user writes it.
#[derive(Debug)]
pub struct CommandRow {
    /// The word; empty for the default.
    pub word: &'static str,
    /// What it asks for.
    pub command: Command,
    /// What may follow it.
    pub operands: &'static str,
    /// What it does.
    pub does: &'static str,
}

const fn command(
    word: &'static str,
    command: Command,
    operands: &'static str,
    does: &'static str,
) -> CommandRow {
    CommandRow { word, command, operands, does }
}

/// All commands.
pub const COMMANDS: &[CommandRow] = &[
    command("", Command::Collect, "[SECONDS]", "collect, and write Netdata's plugin protocol to stdout"),
    command("top", Command::Top, "[SECONDS]", "for people: rates, ratios and latencies, live"),
    command(
        "once",
        Command::Once,
        "[SECONDS]",
        "for scripts: read twice, SECONDS apart, and print what happened",
    ),
    command(
        "stream",
        Command::Stream,
        "--to HOST:PORT --key UUID",
        "collect, and be a node of a Netdata parent",
    ),
    command("check", Command::Check, "", "what can be counted here, by which hook, and why the rest cannot"),
    command("config", Command::Config, "", "the effective configuration, and where each value comes from"),
    command("slots", Command::Slots, "", "for tests: print the raw counters each time a line comes on stdin"),
    command("man", Command::Man, "", "print the manual page"),
    command("completions", Command::Completions, "SHELL", "print completions for bash, zsh or fish"),
];

/// The shells that completions are made for.
pub const SHELLS: &[&str] = &["bash", "zsh", "fish"];

/// What an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// Nothing: it is a switch.
    None,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// Modules of the table, separated by commas.
    Modules,
    /// A whole number.
    Number,
    /// A file's path.
    File,
    /// Any text.
    Text,
}

/// An option.
#[derive(Debug)]
pub struct OptionRow {
    /// Its name, without the dashes.
    pub name: &'static str,
    /// Its letter.
    pub letter: Option<char>,
    /// How its operand is written in help.
    pub shown: &'static str,
    /// What it takes.
    pub operand: Operand,
    /// What it does.
    pub does: &'static str,
}

const fn option(name: &'static str, shown: &'static str, operand: Operand, does: &'static str) -> OptionRow {
    OptionRow { name, letter: None, shown, operand, does }
}

const fn switch(name: &'static str, letter: Option<char>, does: &'static str) -> OptionRow {
    OptionRow { name, letter, shown: "", operand: Operand::None, does }
}

/// What `--only` takes.
pub const KINDS: &[&str] = &["fentry", "raw_tp", "kprobe", "tp"];
/// What `--mode` takes.
pub const MODES: &[&str] = &["entry", "return"];
/// What `--format` takes.
pub const FORMATS: &[&str] = &["netdata", "openmetrics", "prometheus"];

/// All options.
pub const OPTIONS: &[OptionRow] = &[
    option("modules", "A,B", Operand::Modules, "only these modules, whatever the configuration says"),
    option("only", "KIND", Operand::OneOf(KINDS), "only hooks of one kind: fentry, raw_tp, kprobe or tp"),
    option(
        "mode",
        "MODE",
        Operand::OneOf(MODES),
        "entry, or return: also hook returns, for the charts of errors",
    ),
    option(
        "format",
        "FORMAT",
        Operand::OneOf(FORMATS),
        "write netdata (the protocol), openmetrics or prometheus",
    ),
    option("output", "FILE", Operand::File, "write each exposition to FILE, always whole, instead of stdout"),
    option("ticks", "N", Operand::Number, "stop after N ticks"),
    option("to", "HOST:PORT", Operand::Text, "with stream: the parent"),
    option("key", "UUID", Operand::Text, "with stream: the API key that the parent's stream.conf enables"),
    option("hostname", "NAME", Operand::Text, "with stream: the name of this node, if not the machine's"),
    switch("apps", None, "also count by applications: groups of processes, as apps_groups.conf has them"),
    switch(
        "old-apps",
        None,
        "the same, in the charts of Netdata before 1.44: apps.*, a dimension an application",
    ),
    switch("cgroups", None, "also count by containers and services, which their cgroups tell"),
    switch("no-kprobes", None, "use no kprobe, for hosts that patch their kernel live"),
    switch("allow-kretprobes", None, "use return probes on kernels that they have crashed, too"),
    switch("no-sandbox", None, "keep privileges after the start"),
    switch("points", None, "with check: only the list of the places in the kernel that are hooked"),
    switch("json", None, "with check and once: for machines"),
    switch("help", Some('h'), "print this"),
    switch("version", Some('V'), "print the version"),
];

/// A variable of the environment that is heeded.
#[derive(Debug)]
pub struct VariableRow {
    /// Its name.
    pub name: &'static str,
    /// What it says.
    pub says: &'static str,
}

const fn variable(name: &'static str, says: &'static str) -> VariableRow {
    VariableRow { name, says }
}

/// All variables.
pub const VARIABLES: &[VariableRow] = &[
    variable("NETDATA_UPDATE_EVERY", "the least interval"),
    variable("NETDATA_HOST_PREFIX", "stands before /proc and /sys"),
    variable("NETDATA_USER_CONFIG_DIR", "where ebpf.d.conf, ebpf.d/*.conf and kmote.conf are (/etc/netdata)"),
    variable("NETDATA_STOCK_CONFIG_DIR", "where Netdata's own are (/usr/lib/netdata/conf.d)"),
    variable("NETDATA_LIB_DIR", "where the last start and the node's GUID are noted (/var/lib/kmote)"),
];
