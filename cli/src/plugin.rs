// SPDX-License-Identifier: GPL-3.0-or-later
//! The main job: to collect, for Netdata, for Prometheus, or for a person who looks.

use crate::args::Options;
use crate::breaker::Breaker;
use crate::collector::Collector;
use crate::config::Settings;
use crate::lifeline::{self, Lifeline};
use crate::options::Command;
use crate::output::{Output, Page};
use crate::own::SelfCharts;
use crate::report::{self, Complaints};
use crate::safety;
use crate::sink::Sink;
use crate::stream::{self, Parent};
use kmote_bpf::kernel::Kernel;
use kmote_bpf::sandbox::Needs;
use kmote_bpf::sys;
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
pub fn run(kernel: &Kernel, settings: &Settings, options: &Options, breaker: Breaker) -> io::Result<Ending> {
    let (every, streams) = (interval(settings, options), options.command == Command::Stream);
    let mut sink = Sink::new(options, &kernel.release, every);
    if sink.streams() && io::stdout().is_terminal() && !options.by_netdata && !streams {
        eprintln!(
            "kmote: what follows is Netdata's plugin protocol; for people there are `kmote top` and `kmote check`"
        );
    }
    let mut lifeline = Lifeline::new(options.by_netdata.then_some(options.parent))?;
    let mut output = Output::stdout()?;
    let mut wanted = settings.wanted();
    if sink.compares() {
        wanted.iter_mut().for_each(|one| one.ticks = 1);
    }
    let groups = settings.groups(&options.directories);
    let (mut collector, errors) = Collector::start(kernel, &wanted, groups.as_ref());
    if sink.compares() {
        report::start_briefly(&collector, &errors);
    } else {
        report::start(&collector, &errors, kernel.budget);
    }
    collector.keep_what_counts();
    let names = settings.wanted().iter().map(|wanted| wanted.module.name).collect();
    let own = (options.own && !sink.compares())
        .then(|| SelfCharts::new(names, settings.update_every.value, kernel));
    let parent = if streams { Some(Parent::new(options, &kernel.release, every)?) } else { None };
    let ending = if collector.is_empty() {
        let said = if sink.streams() && !streams { "DISABLE\n" } else { "" };
        disable(&mut lifeline, &mut output, said)
    } else {
        let mut run = Run {
            kernel,
            collector,
            own,
            lifeline,
            output,
            every,
            ticks: options.ticks,
            start: Instant::now(),
            sandbox: settings.sandbox.value.then_some(Needs { network: streams, ..Needs::default() }),
            breaker,
            complaints: Complaints::default(),
        };
        let ending = match &parent {
            Some(parent) => stream::run(&mut run, &mut sink, parent),
            None => run.collect(&mut sink),
        };
        run.breaker.settle();
        if run.lifeline.asks_anew() {
            eprintln!("kmote: SIGHUP: ends, to be started anew with the configuration of then");
        }
        let ending = run.send(sink.end()).and(ending);
        run.leave();
        ending
    };
    match ending {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(Ending::Asked),
        other => other,
    }
}

/// The interval: a person who looks means what was asked for, not what is configured for Netdata.
fn interval(settings: &Settings, options: &Options) -> u32 {
    match options.command {
        Command::Top | Command::Once => options.seconds.unwrap_or(1),
        _ => settings.update_every.value,
    }
}

/// Waits until the parent has ended: whoever closes a shared descriptor last is the one who detaches.
fn outlive(parent: u32) {
    for _ in 0..PATIENCE.as_millis() {
        if std::os::unix::process::parent_id() != parent {
            break;
        }
        let _ = sys::wait(&mut [], Some(Duration::from_millis(1)));
    }
}

fn disable(lifeline: &mut Lifeline, output: &mut Output, said: &str) -> io::Result<Ending> {
    eprintln!("kmote: nothing can be collected on this machine; `kmote check` says why");
    output.send(said, |stdout| lifeline.until_room(stdout)).map(|_| Ending::Nothing)
}

/// A run: what is read, when, and where it goes.
pub(crate) struct Run<'a> {
    kernel: &'a Kernel,
    collector: Collector,
    own: Option<SelfCharts>,
    pub(crate) lifeline: Lifeline,
    output: Output,
    every: u32,
    pub(crate) ticks: Option<u64>,
    start: Instant,
    /// What a confined run needs, until it is confined.
    sandbox: Option<Needs>,
    breaker: Breaker,
    complaints: Complaints,
}

/// More programs than these are detached by a child: the kernel takes a tenth of a second for one.
const FEW: usize = 2;
/// How long that child lets its parent end. It takes far less, but where a debugger or a full machine holds it.
const PATIENCE: Duration = Duration::from_secs(1);

impl Run<'_> {
    /// Ends the run. Whoever waits for our end does not wait until all is detached, which takes seconds where many
    /// functions are hooked: a child shares the descriptors, so that ours go at once, and closes its own one by one.
    fn leave(self) {
        let Self { collector, lifeline, output, .. } = self;
        let slow: usize = collector.attached().map(|attached| attached.slow()).sum();
        if slow <= FEW {
            return;
        }
        drop((lifeline, output));
        let parent = std::process::id();
        match sys::fork() {
            Ok(true) => {
                sys::close_standard();
                outlive(parent);
                drop(collector);
                std::process::exit(0);
            }
            Ok(false) => std::mem::forget(collector),
            Err(_) => drop(collector),
        }
    }

    /// Begins anew on another output, which knows of no chart yet.
    pub(crate) fn begin_anew(&mut self, output: Output) {
        self.output = output;
        self.collector.forget_sent();
        self.own.iter_mut().for_each(SelfCharts::forget_sent);
    }

    /// The loop: wait, read, write.
    pub(crate) fn collect(&mut self, sink: &mut Sink) -> io::Result<Ending> {
        let (start, interval) = (self.start, Duration::from_secs(self.every.into()));
        let mut page = Page::default();
        self.collector.announce(&mut page, self.every).map_err(|_| full())?;
        self.own.iter().try_for_each(|own| own.announce(&mut page, &self.collector)).map_err(|_| full())?;
        let mut going = self.send(sink.begin())? && self.send(sink.take(page.text()))?;
        self.collector.read(|error| self.complaints.say(error));
        if let Some(apps) = self.collector.apps() {
            apps.set_interval(self.every);
        }
        if sink.compares() {
            going = going && self.tick(&mut page, start, sink)?;
        }
        if let Some(needs) = self.sandbox.take() {
            let needs = Needs { files: sink.file().is_some(), ..needs };
            safety::confine(self.kernel, &mut self.collector, needs);
        }
        sys::forget_start();
        let mut ticks = if sink.once() { 1 } else { self.ticks.unwrap_or(u64::MAX) };
        while going && ticks > 0 && self.wait(sink, interval)? {
            self.collector.turn(lifeline::tick_number(interval));
            going = self.tick(&mut page, start, sink)? && self.end_tick(sink)?;
            ticks -= 1;
        }
        Ok(Ending::Asked)
    }

    /// Waits for the next tick; one summary is of a whole interval, and not of what is left until the clock's next.
    fn wait(&mut self, sink: &Sink, interval: Duration) -> io::Result<bool> {
        let stdout = self.output.as_fd();
        if sink.once() {
            self.lifeline.pause(stdout, interval)
        } else {
            self.lifeline.until_tick(stdout, interval)
        }
    }

    /// Reads, and hands the values to the sink; `false` when it is time to go instead.
    fn tick(&mut self, page: &mut Page, start: Instant, sink: &mut Sink) -> io::Result<bool> {
        page.clear();
        if self.collector.look(self.kernel, microseconds(start), report::came) {
            self.collector.announce(page, self.every).map_err(|_| full())?;
        }
        self.collector.read(|error| self.complaints.say(error));
        let now = microseconds(start);
        self.collector.values(page, now).map_err(|_| full())?;
        self.own.iter_mut().try_for_each(|own| own.values(page, &self.collector, now)).map_err(|_| full())?;
        let mut going = self.send(sink.take(page.text()))?;
        while going && self.write_groups(page, microseconds(start))? {
            going = self.send(sink.take(page.text()))?;
        }
        Ok(going)
    }

    /// Lets the sink write what it makes of a whole tick. A file that cannot be written now may be written later.
    fn end_tick(&mut self, sink: &mut Sink) -> io::Result<bool> {
        self.breaker.look();
        let file = sink.file().map(|path| path.display().to_string());
        match (sink.tick(), file) {
            (Ok(text), _) => self.output.send(text, |stdout| self.lifeline.until_room(stdout)),
            (Err(error), Some(path)) => {
                self.complaints.say(&format!("{path}: not written: {error}"));
                Ok(true)
            }
            (Err(error), None) => Err(error),
        }
    }

    /// Writes the next page of groups; `false` once there is none.
    fn write_groups(&mut self, page: &mut Page, now: u64) -> io::Result<bool> {
        page.clear();
        self.collector.apps().map_or(Ok(false), |apps| apps.write(page, now).map_err(|_| full()))
    }

    /// Writes a text; `false` when it is time to go instead.
    fn send(&mut self, text: &str) -> io::Result<bool> {
        self.output.send(text, |stdout| self.lifeline.until_room(stdout))
    }
}

/// Microseconds since `start`, at least 1: 0 means never.
fn microseconds(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX).max(1)
}

fn full() -> io::Error {
    io::Error::new(ErrorKind::OutOfMemory, "the output does not fit into its page")
}
