// SPDX-License-Identifier: GPL-3.0-or-later
//! kmote, the binary: what was asked for is done, and how it went becomes an exit code.

use kmote_bpf::kernel::Kernel;
use kmote_bpf::{attach, sys};
use kmote_cli::args::{Command, HELP, Options};
use kmote_cli::plugin::{self, Ending};
use kmote_cli::{check, slots};
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
    kmote_bpf::object::quiet();
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
        Command::Help => return say(HELP),
        Command::Version => return say(concat!("kmote ", env!("CARGO_PKG_VERSION"), "\n")),
        Command::Plugin | Command::Check | Command::Slots => {}
    }
    // Where this is refused, it is tried without: from 5.11 on the limit does not matter.
    let _ = sys::raise_locked_memory();
    let kernel = Kernel::ask(&options.prefix, options.only);
    attach::sweep(&kernel);
    match options.command {
        Command::Check => {
            let findings = check::run(&kernel, options);
            say(&findings.text)?;
            Ok(if findings.works { Ending::Asked } else { Ending::Nothing })
        }
        Command::Slots => slots::run(&kernel, options).map(|()| Ending::Asked),
        _ => plugin::run(&kernel, options),
    }
}

fn say(text: &str) -> io::Result<Ending> {
    io::Write::write_all(&mut io::stdout(), text.as_bytes()).map(|()| Ending::Asked)
}
