// SPDX-License-Identifier: GPL-3.0-or-later
//! kmote, the binary: what was asked for is done, and how it went becomes an exit code.

use kmote_bpf::kernel::Kernel;
use kmote_bpf::{attach, sys};
use kmote_cli::args::{Format, Options};
use kmote_cli::breaker::Breaker;
use kmote_cli::config;
use kmote_cli::options::Command;
use kmote_cli::plugin::{self, Ending};
use kmote_cli::{check, manual, safety, slots};
use kmote_core::breaker::Verdict;
use std::env;
use std::io;
use std::process::ExitCode;

fn main() -> ExitCode {
    let options = match Options::parse(env::args_os().skip(1), |name| env::var_os(name)) {
        Ok(options) => options,
        Err(sentence) => {
            eprintln!("kmote: {sentence}");
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(Ending::Asked) => ExitCode::SUCCESS,
        Ok(Ending::Nothing) => ExitCode::FAILURE,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("kmote: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> io::Result<Ending> {
    match options.command {
        Command::Help => say(&manual::help()),
        Command::Version => say(concat!("kmote ", env!("CARGO_PKG_VERSION"), "\n")),
        Command::Man => say(&manual::page()),
        Command::Completions => say(&manual::completions(options.shell.unwrap_or_default())),
        Command::Config => say(&config::print(options)),
        Command::Check => {
            let (mut kernel, mut breaker) = armed(options, options.kprobes);
            kernel.budget = config::load(options).0.budget().unwrap_or(kernel.budget);
            let findings = check::run(&kernel, options);
            breaker.settle();
            say(&findings.text)?;
            Ok(if findings.works { Ending::Asked } else { Ending::Nothing })
        }
        Command::Slots => slots::run(&restrained(options), options).map(|()| Ending::Asked),
        Command::Collect | Command::Once | Command::Top | Command::Stream => collect(options),
    }
}

fn collect(options: &Options) -> io::Result<Ending> {
    let (settings, complaints) = config::load(options);
    for complaint in complaints {
        eprintln!("kmote: {complaint}");
    }
    if settings.wanted().is_empty() {
        eprintln!("kmote: every module is switched off; `kmote config` says where");
        let for_netdata = options.command == Command::Collect && options.format == Format::Netdata;
        return say(if for_netdata { "DISABLE\n" } else { "" }).map(|_| Ending::Nothing);
    }
    safety::die_first();
    sys::take_small_pages();
    let (mut kernel, breaker) = armed(options, settings.kprobes.value);
    kernel.budget = settings.budget().unwrap_or(kernel.budget);
    plugin::run(&kernel, &settings, options, breaker)
}

/// The facts of the kernel, without what is left alone for its sake; the record of this start is left before.
fn armed(options: &Options, kprobes: bool) -> (Kernel, Breaker) {
    let kernel = ask(options);
    let breaker = Breaker::arm(&options.directories.state, &options.prefix, &kernel.release);
    if let Some(sentence) = breaker.sentence() {
        eprintln!("kmote: {sentence}");
    }
    safety::restrain(&kernel, kprobes, options, breaker.verdict);
    (kernel, breaker)
}

/// The same for a test, which leaves nothing behind.
fn restrained(options: &Options) -> Kernel {
    let kernel = ask(options);
    safety::restrain(&kernel, options.kprobes, options, Verdict::Normal);
    kernel
}

/// Gathers the facts of the kernel, and makes room for what is loaded into it.
fn ask(options: &Options) -> Kernel {
    // Where this is refused, it is tried without: from 5.11 on the limit does not matter.
    let _ = sys::raise_locked_memory();
    let kernel = Kernel::ask(&options.prefix, options.only);
    attach::sweep(&kernel);
    kernel
}

fn say(text: &str) -> io::Result<Ending> {
    io::Write::write_all(&mut io::stdout(), text.as_bytes()).map(|()| Ending::Asked)
}
