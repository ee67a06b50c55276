// SPDX-License-Identifier: GPL-3.0-or-later
//! The runner: fetches kernels one after the other, boots them side by side, prints what came of it.

mod apt;
mod args;
mod binaries;
mod command;
mod cpio;
mod fetch;
mod initramfs;
mod machine;
mod matrix;
mod modules;
mod report;
mod sources;
mod verdict;
mod vm;

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Instant;

use crate::row::{Line, Outcome, Row, parse};
use args::Args;
use fetch::Image;
use initramfs::Binaries;
use machine::Arch;
use matrix::Kernel;

/// Where costs are counted: the kernels on which those of Netdata's own plugin are known.
const COST_KERNELS: [&str; 2] = ["5.10", "6.12"];
/// MiB of memory there: room for ten thousand processes.
const COST_MEMORY: u32 = 2048;

pub fn main() -> ExitCode {
    let outcome =
        args::parse(lexopt::Parser::from_env()).map_err(|e| e.to_string()).and_then(|args| run(&args));
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(reason) => {
            eprintln!("qemu-tests: {reason}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Result<bool, String> {
    if args.help {
        print!("{}", args::HELP);
        return Ok(true);
    }
    if args.list {
        for kernel in matrix::kernels()? {
            let arch = kernel.arch.machine().name;
            println!(
                "{:14} {arch:8} {:18} {:40} {}",
                kernel.name,
                kernel.suite,
                kernel.pattern,
                kernel.flags.join(" ")
            );
        }
        return Ok(true);
    }
    let results = test_all(args, &selected(args)?)?;
    if let Some(path) = &args.junit {
        fs::write(path, report::junit(&results)).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    println!("{}", verdict::table(&results));
    println!("{}", report::closing_line(&results));
    Ok(report::count(&results, Outcome::Failed) == 0 && report::count(&results, Outcome::Passed) > 0)
}

/// The kernels that the command line asks for.
fn selected(args: &Args) -> Result<Vec<Kernel>, String> {
    if let Some(path) = &args.image {
        let arch = args.arch.unwrap_or(Arch::Amd64);
        let name = path.file_name().map_or_else(|| "image".into(), |n| n.to_string_lossy().into_owned());
        let flags = vec!["unknown".to_owned()];
        return Ok(vec![Kernel { name, arch, suite: String::new(), pattern: String::new(), flags }]);
    }
    let all = matrix::kernels()?;
    if let Some(unknown) = args.kernels.iter().find(|name| all.iter().all(|k| &k.name != *name)) {
        return Err(format!("no kernel {unknown} in the matrix; --list shows it"));
    }
    let wanted = |k: &Kernel| match args.kernels.is_empty() {
        true if args.cost => COST_KERNELS.contains(&k.name.as_str()),
        true => args.all || k.has("default"),
        false => args.kernels.contains(&k.name),
    };
    Ok(all.into_iter().filter(wanted).collect())
}

fn test_all(args: &Args, kernels: &[Kernel]) -> Result<Vec<report::Result>, String> {
    if let Some(dir) = &args.console {
        fs::create_dir_all(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    }
    let binaries = binaries(args, kernels)?;
    let (ready, queue) = mpsc::channel::<(usize, Result<Image, String>)>();
    let queue = Mutex::new(queue);
    let results = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..args.jobs.max(1) {
            scope.spawn(|| {
                loop {
                    let Ok((nr, image)) = queue.lock().unwrap().recv() else { return };
                    let kernel = &kernels[nr];
                    let result = test_one(args, kernel, image, &binaries[nr]);
                    // The table of a kernel comes out as one piece.
                    let mut results = results.lock().unwrap();
                    println!(
                        "== {}: {}, {:.0} s\n{}",
                        result.kernel,
                        result.origin,
                        result.seconds,
                        report::table(&result)
                    );
                    results.push((nr, result));
                }
            });
        }
        for (nr, kernel) in kernels.iter().enumerate() {
            let _ = ready.send((nr, image(args, kernel)));
        }
        drop(ready);
    });
    let mut results = results.into_inner().unwrap();
    results.sort_by_key(|(nr, _)| *nr);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

fn image(args: &Args, kernel: &Kernel) -> Result<Image, String> {
    match &args.image {
        Some(path) => Ok(Image {
            path: path.clone(),
            modules: args.modules.clone(),
            origin: path.display().to_string(),
        }),
        None => fetch::image(kernel, args.refresh),
    }
}

/// Each program is built once, before the first boot.
fn binaries(args: &Args, kernels: &[Kernel]) -> Result<Vec<Binaries>, String> {
    let mut built = HashMap::new();
    kernels.iter().map(|kernel| programs(args, kernel, &mut built)).collect()
}

fn programs(args: &Args, kernel: &Kernel, built: &mut HashMap<String, PathBuf>) -> Result<Binaries, String> {
    let (arch, shipped) = (kernel.arch, kernel.value("kmote"));
    let name = arch.machine().name;
    let mut once = |what: String, given: &Option<PathBuf>, build: &dyn Fn() -> Result<PathBuf, String>| {
        let known = given.as_ref().or(built.get(&what)).cloned();
        let path = known.map_or_else(build, Ok)?;
        built.insert(what, path.clone());
        Ok::<_, String>(path)
    };
    Ok(Binaries {
        kmote: once(format!("{name} {shipped:?}"), &args.kmote, &|| binaries::kmote(arch, shipped))?,
        guest: once(name.to_owned(), &args.guest, &|| binaries::guest(arch))?,
    })
}

fn test_one(
    args: &Args,
    kernel: &Kernel,
    image: Result<Image, String>,
    binaries: &Binaries,
) -> report::Result {
    let start = Instant::now();
    let (origin, rows) = match image {
        Ok(image) => (image.origin.clone(), boot(args, kernel, &image, binaries)),
        Err(reason) if kernel.has("optional") => {
            ("unavailable".into(), vec![verdict(Outcome::Skipped, "fetch", reason)])
        }
        Err(reason) => ("unavailable".into(), vec![verdict(Outcome::Failed, "fetch", reason)]),
    };
    report::Result { kernel: kernel.name.clone(), origin, rows, seconds: start.elapsed().as_secs_f64() }
}

fn boot(args: &Args, kernel: &Kernel, image: &Image, binaries: &Binaries) -> Vec<Row> {
    let cpus = kernel.number("cpus").unwrap_or(1);
    let outcome = initramfs::build(image, binaries, &orders(args, kernel)).and_then(|initramfs| {
        vm::run(&vm::Boot {
            arch: kernel.arch,
            kernel: &image.path,
            initramfs: &initramfs,
            cpus,
            maxcpus: kernel.number("maxcpus").unwrap_or(cpus),
            memory: kernel.number("memory").unwrap_or(if args.cost { COST_MEMORY } else { 512 }),
            // Whoever reads a pipe has a clock of his own.
            icount: !args.real_time && args.show.is_none(),
            pipe: args.show.as_deref(),
            timeout: args.timeout,
            console: args.console.as_ref().map(|dir| dir.join(format!("{}.log", kernel.name))),
        })
    });
    let (console, failure) = match outcome {
        Ok(console) => (console, None),
        Err(text) => (text.clone(), Some(text)),
    };
    let (mut rows, end) = read_console(&console);
    if let Some(reason) = failure {
        rows.push(verdict(Outcome::Failed, "boot", reason.lines().next().unwrap_or_default().to_owned()));
    } else if end != Some(rows.len()) {
        let reason = format!("the guest says it sent {end:?} rows, {} came", rows.len());
        rows.push(verdict(Outcome::Failed, "console", reason));
    }
    if rows.iter().any(|row| row.outcome == Outcome::Failed) {
        eprintln!("-- console of {}\n{console}\n-- end of console of {}", kernel.name, kernel.name);
    }
    rows
}

/// What the guest is told, a word and its value a line.
fn orders(args: &Args, kernel: &Kernel) -> String {
    let only = if args.only.is_empty() { kernel.only() } else { args.only.clone() };
    let only = only.into_iter().map(|module| format!("only {module}\n"));
    let flags = kernel.flags.iter().map(|flag| format!("flag {flag}\n"));
    let cost = args.cost.then(|| "flag cost\n".to_owned());
    let show = args.show.is_some().then(|| format!("flag show={}\n", args.seconds));
    only.chain(flags).chain(cost).chain(show).collect()
}

fn read_console(console: &str) -> (Vec<Row>, Option<usize>) {
    let (mut rows, mut end) = (Vec::new(), None);
    for line in console.lines().filter_map(parse) {
        match line {
            Line::Row(row) => rows.push(row),
            Line::End(count) => end = Some(count),
        }
    }
    (rows, end)
}

/// A row about the run itself.
fn verdict(outcome: Outcome, work: &str, why: String) -> Row {
    Row {
        module: "-".into(),
        mechanism: "-".into(),
        work: work.into(),
        subject: "-".into(),
        expected: String::new(),
        seen: String::new(),
        outcome,
        why,
    }
}
