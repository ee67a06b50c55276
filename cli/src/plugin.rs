// SPDX-License-Identifier: GPL-3.0-or-later
//! The main job: Netdata's plugin.

use crate::args::Options;
use crate::collector::Collector;
use crate::config::Settings;
use crate::lifeline::{self, Lifeline};
use crate::output::{Output, Page};
use crate::report;
use kmote_bpf::kernel::Kernel;
use std::io::{self, ErrorKind, IsTerminal};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By request.
    Asked,
    /// Nothing can be collected here, and that will not change by itself.
    Nothing,
}

/// Collects until told to stop.
pub fn run(kernel: &Kernel, settings: &Settings, options: &Options) -> io::Result<Ending> {
    if io::stdout().is_terminal() && !options.by_netdata {
        eprintln!("kmote: what follows is Netdata's plugin protocol; for people there is `kmote check`");
    }
    let mut lifeline = Lifeline::new(options.by_netdata)?;
    let mut output = Output::stdout()?;
    let (mut collector, errors) =
        Collector::start(kernel, &settings.wanted(), settings.groups(&options.directories).as_ref());
    report::start(&collector, &errors);
    collector.keep_what_counts();
    let ending = if collector.is_empty() {
        disable(&mut lifeline, &mut output)
    } else {
        collect(kernel, &mut collector, &mut lifeline, &mut output, settings, options.ticks)
    };
    match ending {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(Ending::Asked),
        other => other,
    }
}

fn disable(lifeline: &mut Lifeline, output: &mut Output) -> io::Result<Ending> {
    eprintln!("kmote: nothing can be collected on this machine; `kmote check` says why");
    output.send("DISABLE\n", |stdout| lifeline.until_room(stdout)).map(|_| Ending::Nothing)
}

/// The loop: wait, read, write.
fn collect(
    kernel: &Kernel,
    collector: &mut Collector,
    lifeline: &mut Lifeline,
    output: &mut Output,
    settings: &Settings,
    ticks: Option<u64>,
) -> io::Result<Ending> {
    let every = settings.update_every.value;
    let (start, interval) = (Instant::now(), Duration::from_secs(every.into()));
    let mut page = Page::default();
    collector.announce(&mut page, every).map_err(|_| full())?;
    let mut going = output.send(page.text(), |stdout| lifeline.until_room(stdout))?;
    collector.read(report::fault);
    if let Some(apps) = collector.apps() {
        apps.set_interval(every);
    }
    let mut ticks = ticks.unwrap_or(u64::MAX);
    while going && ticks > 0 && lifeline.until_tick(output.as_fd(), interval)? {
        page.clear();
        if collector.look(kernel, microseconds(start), report::came) {
            collector.announce(&mut page, every).map_err(|_| full())?;
        }
        collector.turn(lifeline::tick_number(interval));
        collector.read(report::fault);
        collector.values(&mut page, microseconds(start)).map_err(|_| full())?;
        going = output.send(page.text(), |stdout| lifeline.until_room(stdout))?;
        while going && write_groups(collector, &mut page, microseconds(start))? {
            going = output.send(page.text(), |stdout| lifeline.until_room(stdout))?;
        }
        ticks -= 1;
    }
    Ok(Ending::Asked)
}

/// Writes the next page of groups; `false` once there is none.
fn write_groups(collector: &mut Collector, page: &mut Page, now: u64) -> io::Result<bool> {
    page.clear();
    collector.apps().map_or(Ok(false), |apps| apps.write(page, now).map_err(|_| full()))
}

/// Microseconds since `start`, at least 1: 0 means never.
fn microseconds(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX).max(1)
}

fn full() -> io::Error {
    io::Error::new(ErrorKind::OutOfMemory, "the output does not fit into its page")
}
