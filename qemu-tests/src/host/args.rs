// SPDX-License-Identifier: GPL-3.0-or-later
//! The command line of the runner.

use std::path::PathBuf;
use std::time::Duration;

use kmote_core::modules::MODULES;
use lexopt::prelude::*;

use super::machine::Arch;
use crate::guest::run;

pub const HELP: &str = "\
Boots kernels and compares what kmote counts with the work that was done.

  cargo run --release -p qemu-tests -- [OPTIONS]

  --list             print the matrix and end
  --all              every kernel of the matrix (otherwise those marked default)
  --kernel NAME      this kernel; may be repeated
  --image PATH       a kernel of your own: bzImage, Image or vmlinuz
  --arch ARCH        its architecture: amd64 (default), arm64, armhf, riscv64, mipsel
  --modules DIR      its lib/modules/VERSION, if nvme or ext4 are not built in
  --cost             count instructions instead, an event and a tick (5.10 and 6.12 when no kernel is named)
  --show PIPE        compare nothing: let kmote write all its charts into PIPE.out while work goes on
  --seconds N        for so long (default 60)
  --only MODULE,…    only these modules of kmote; apps, footprint, sandbox, leaving and faults are names too, and
                     endurance, which is done only when named (ten minutes of 500 forks a second); may be repeated
  --kmote PATH       this static kmote instead of building one
  --guest PATH       this static guest program instead of building one
  --refresh          look for newer packages even if a kernel is in the cache
  --junit FILE       write the results as JUnit XML
  --console DIR      keep every guest's console output there
  --timeout SECONDS  for one guest (default 1800)
  --jobs N           guests at a time (default 2)
  --real-time        guests live by the host's clock, and not by one that counts their instructions and skips idle time
";

#[derive(Debug, Default)]
pub struct Args {
    pub help: bool,
    pub list: bool,
    pub all: bool,
    pub kernels: Vec<String>,
    pub image: Option<PathBuf>,
    pub arch: Option<Arch>,
    pub modules: Option<PathBuf>,
    pub cost: bool,
    pub show: Option<PathBuf>,
    pub seconds: u64,
    pub only: Vec<String>,
    pub kmote: Option<PathBuf>,
    pub guest: Option<PathBuf>,
    pub refresh: bool,
    pub junit: Option<PathBuf>,
    pub console: Option<PathBuf>,
    pub timeout: Duration,
    pub jobs: usize,
    pub real_time: bool,
}

pub fn parse(mut parser: lexopt::Parser) -> Result<Args, lexopt::Error> {
    let mut args = Args { timeout: Duration::from_secs(1800), jobs: 2, seconds: 60, ..Args::default() };
    while let Some(arg) = parser.next()? {
        match arg {
            Short('h') | Long("help") => args.help = true,
            Long("list") => args.list = true,
            Long("all") => args.all = true,
            Long("kernel") => args.kernels.push(parser.value()?.string()?),
            Long("image") => args.image = Some(parser.value()?.into()),
            Long("arch") => args.arch = Some(parser.value()?.parse()?),
            Long("modules") => args.modules = Some(parser.value()?.into()),
            Long("cost") => args.cost = true,
            Long("show") => args.show = Some(parser.value()?.into()),
            Long("seconds") => args.seconds = parser.value()?.parse()?,
            Long("only") => {
                let list = parser.value()?.string()?;
                args.only.extend(list.split(',').map(str::to_owned));
            }
            Long("kmote") => args.kmote = Some(parser.value()?.into()),
            Long("guest") => args.guest = Some(parser.value()?.into()),
            Long("refresh") => args.refresh = true,
            Long("junit") => args.junit = Some(parser.value()?.into()),
            Long("console") => args.console = Some(parser.value()?.into()),
            Long("timeout") => args.timeout = Duration::from_secs(parser.value()?.parse()?),
            Long("real-time") => args.real_time = true,
            Long("jobs") => args.jobs = parser.value()?.parse()?,
            _ => return Err(arg.unexpected()),
        }
    }
    if let Some(unknown) = args.only.iter().find(|name| !is_known(name)) {
        return Err(format!(
            "--only {unknown}: no such module; there are {}",
            names().collect::<Vec<_>>().join(", ")
        )
        .into());
    }
    Ok(args)
}

/// What `--only` may name.
fn names() -> impl Iterator<Item = &'static str> {
    MODULES
        .iter()
        .map(|module| module.name)
        .chain(run::OTHERS)
        .chain(run::ASKED)
        .chain(["rest", "tick", "crowds"])
}

fn is_known(name: &str) -> bool {
    names().any(|known| known == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_there_is() {
        let only = |list| parse(lexopt::Parser::from_args(["--only", list])).map(|args| args.only);
        assert_eq!(only("process,apps").unwrap(), ["process", "apps"]);
        let error = only("process,aps").unwrap_err().to_string();
        assert!(error.starts_with("--only aps: no such module; there are process, "), "{error}");
    }
}
