// SPDX-License-Identifier: GPL-3.0-or-later
//! What kmote itself takes while it runs: instructions and system calls a tick, start, end, memory.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

use super::load::Load;
use super::steps::Steps;
use crate::guest::bpf::Calls;
use crate::guest::kmote::{PROGRAM, every_module};
use crate::guest::run::{Run, Subject};
use crate::guest::sys;
use crate::guest::usage::{Memory, cpu_time, kernel_memory};
use crate::row::Outcome;

const WARM_UP: Duration = Duration::from_secs(15);
const WINDOW: u64 = 40;
const CALLS_WINDOW: u64 = 10;
const STEPPED_TICKS: u64 = 5;

/// A way to run kmote, what is to be reached by it, and what Netdata's own plugins take.
struct Setup {
    name: &'static str,
    modules: fn() -> String,
    options: &'static [&'static str],
    /// In user space.
    user: Option<u64>,
    first_begin: u64,
    gone: u64,
    incumbent: &'static [(&'static str, &'static str)],
}

/// Netdata 1.37.1 and 2.10.4, the last that is all C, each on 5.10 and 6.12: the same load, the same way of counting.
const SETUPS: [Setup; 4] = [
    Setup {
        name: "process,cachestat",
        modules: two,
        options: &[],
        user: Some(15_000),
        first_begin: 200,
        gone: 200,
        incumbent: &[
            (INSTRUCTIONS, "1.37.1: 75000–78000, 2.10.4: 153000–180000"),
            (CALLS, "1.37.1: 18, 2.10.4: 34"),
            (BYTES, "1.37.1: 501–504, 2.10.4: 539–541"),
            (BEGIN, "1.37.1: 752–890, 2.10.4: 1095–1324"),
            (GONE, "1.37.1: 223–968, 2.10.4: 1398–2320"),
            (HIGH, "1.37.1: 15908–20752, 2.10.4: 18760–28208"),
            (RESIDENT, "1.37.1: 11184–13196, 2.10.4: 10620–12460"),
            (MAPS, "1.37.1: 7188–8195 kB, 2.10.4: 8724–10499 kB"),
        ],
    },
    Setup {
        name: "process,cachestat, by applications",
        modules: two,
        options: &["--apps"],
        user: None,
        first_begin: 1000,
        gone: 900,
        incumbent: &[
            (INSTRUCTIONS, "1.37.1: 679000–725000, 2.10.4: 1378000–1390000"),
            (CALLS, "1.37.1: 164–206, 2.10.4: 115–130"),
            (BYTES, "1.37.1: 1520–1523, 2.10.4: 4635–5095"),
            (BEGIN, "1.37.1: 1107–1200, 2.10.4: 1146–2121"),
            (GONE, "1.37.1: 224–1252, 2.10.4: 1359–2413"),
            (HIGH, "1.37.1: 15880–20624, 2.10.4: 32696–47608"),
            (RESIDENT, "1.37.1: 11344–13288, 2.10.4: 24604–26852"),
            (MAPS, "1.37.1: 2580–2904 kB, 2.10.4: 5908–6488 kB"),
        ],
    },
    Setup {
        name: "every module",
        modules: every_module,
        options: &[],
        user: None,
        first_begin: 1000,
        gone: 900,
        incumbent: &[],
    },
    Setup {
        name: "every module, by applications",
        modules: every_module,
        options: &["--apps"],
        user: Some(400_000),
        first_begin: 1000,
        gone: 900,
        incumbent: &[
            (INSTRUCTIONS, "1.37.1: 5614000–6022000, 2.10.4: 5006000–5117000"),
            (CALLS, "1.37.1: 1556–1767, 2.10.4: 409–415"),
            (BYTES, "1.37.1: 9407–9452, 2.10.4: 23482–25538"),
            (BEGIN, "1.37.1: 1030–1410, 2.10.4: 3439–3526"),
            (GONE, "1.37.1: 3526–7131, 2.10.4: 1809–7987"),
            (HIGH, "1.37.1: 62688–72656, 2.10.4: 80048–97940"),
            (RESIDENT, "1.37.1: 44440–62400, 2.10.4: 27444–29108"),
            (MAPS, "1.37.1: 39400–51087 kB, 2.10.4: 30684–34995 kB"),
        ],
    },
];

fn two() -> String {
    "process,cachestat".to_owned()
}

const INSTRUCTIONS: &str = "instructions a tick";
const USER: &str = "of these in user space";
const CALLS: &str = "system calls a tick";
const BYTES: &str = "bytes a tick";
const BEGIN: &str = "first BEGIN after exec, ms";
const GONE: &str = "SIGTERM to gone, ms";
const HIGH: &str = "VmHWM, kB";
const RESIDENT: &str = "VmRSS, kB";
const MAPS: &str = "kernel memory of maps";

/// What came on kmote's stdout.
#[derive(Default)]
struct Stream {
    bytes: u64,
    first_chart: Option<Instant>,
    first_begin: Option<Instant>,
    /// The line that begins a tick, but for its time, and how often it came.
    head: String,
    ticks: u64,
}

impl Run {
    pub fn tick_cost(&mut self) {
        if !self.place.has("ext4-4k") {
            let subject = Subject { module: "-", mechanism: "-", work: "a tick" };
            return self.send(subject, "all", "", "", Outcome::Skipped, "no disk ext4-4k".to_owned());
        }
        let load = Load::start();
        for setup in &SETUPS {
            self.setup_cost(setup);
        }
        load.stop();
    }

    fn setup_cost(&mut self, setup: &Setup) {
        let modules = (setup.modules)();
        let subject = Subject { module: setup.name, mechanism: "best", work: "update every 1 s" };
        let beside = |what| {
            let found = setup.incumbent.iter().find(|(name, _)| *name == what);
            found.map_or(String::new(), |(_, figures)| format!("Netdata {figures}"))
        };
        let start = Instant::now();
        let kmote = Running::start(&modules, setup.options);
        let (pid, stream) = (kmote.child.id(), &kmote.stream);
        sleep(WARM_UP);
        let milliseconds = |moment: Option<Instant>| moment.unwrap().duration_since(start).as_millis() as u64;
        let start_up = cpu_time(pid);
        let before = (cpu_time(pid), stream.lock().unwrap().bytes);
        sleep(Duration::from_secs(WINDOW));
        let after = (cpu_time(pid), stream.lock().unwrap().bytes);
        let calls = Calls::of(pid).and_then(|calls| {
            let before = calls.count()?;
            sleep(Duration::from_secs(CALLS_WINDOW));
            Ok((calls.count()? - before).div_ceil(CALLS_WINDOW))
        });
        let user = user_instructions(pid, stream);
        let memory = Memory::of(pid);
        let (maps, programs) = kernel_memory(pid);

        let tick = (after.0 - before.0) / WINDOW;
        self.most(subject, INSTRUCTIONS, None, tick, beside(INSTRUCTIONS));
        match user {
            Ok(user) => self.most(subject, USER, setup.user, user, String::new()),
            Err(error) => self.send(subject, USER, "", "", Outcome::Skipped, error.to_string()),
        }
        match calls {
            Ok(calls) => self.most(subject, CALLS, None, calls, beside(CALLS)),
            Err(error) => self.send(subject, CALLS, "", "", Outcome::Skipped, error.to_string()),
        }
        self.most(subject, BYTES, None, (after.1 - before.1) / WINDOW, beside(BYTES));
        let (chart, begin) = {
            let stream = stream.lock().unwrap();
            (milliseconds(stream.first_chart), milliseconds(stream.first_begin))
        };
        self.most(subject, "first CHART after exec, ms", None, chart, String::new());
        self.most(subject, BEGIN, Some(setup.first_begin), begin, beside(BEGIN));
        self.most(subject, "instructions of the first 15 s", None, start_up, String::new());
        self.most(subject, HIGH, None, memory.peak, beside(HIGH));
        self.most(subject, RESIDENT, None, memory.resident, beside(RESIDENT));
        self.planned(subject, &modules, setup.options, maps, &beside(MAPS));
        self.most(subject, "kernel memory of programs, kB", None, programs / 1024, String::new());

        self.most(subject, GONE, Some(setup.gone), kmote.stop(), beside(GONE));
    }

    /// What `kmote check` says that the maps take is what the kernel says, but for a tenth.
    fn planned(&mut self, subject: Subject, modules: &str, options: &[&str], maps: u64, beside: &str) {
        let mut check = Command::new(PROGRAM);
        let check = check.args(["check", "--json", "--modules", modules]).args(options).output().unwrap();
        let text = String::from_utf8_lossy(&check.stdout).into_owned();
        let number = text.split_once("\"memory_bytes\":").and_then(|(_, rest)| rest.split_once(','));
        let planned: u64 = number.map_or(0, |(number, _)| number.parse().unwrap());
        let outcome = if planned.abs_diff(maps) * 10 <= maps { Outcome::Passed } else { Outcome::Failed };
        let (planned, maps) = (planned.to_string(), maps.to_string());
        let what = "kernel memory of maps, bytes: planned and seen";
        self.send(subject, what, &planned, &maps, outcome, beside.to_owned());
    }
}

/// kmote as Netdata runs it, and who reads what it says.
pub struct Running {
    pub child: Child,
    stream: Arc<Mutex<Stream>>,
    reader: JoinHandle<()>,
}

impl Running {
    pub fn start(modules: &str, options: &[&str]) -> Self {
        let mut child = Command::new(PROGRAM)
            .args(["1", "--modules", modules])
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create("/tmp/errors").unwrap())
            .spawn()
            .unwrap();
        let stream = Arc::new(Mutex::new(Stream::default()));
        let (output, shared) = (child.stdout.take().unwrap(), stream.clone());
        let reader = thread::spawn(move || follow(output, &shared));
        Self { child, stream, reader }
    }

    /// Until values came, and all is attached.
    pub fn wait_for_first(&self) {
        while self.stream.lock().unwrap().first_begin.is_none() {
            sleep(Duration::from_millis(100));
        }
    }

    /// Ends it, and the thread too: who forks has one. Milliseconds until it was gone.
    pub fn stop(mut self) -> u64 {
        let start = Instant::now();
        sys::kill(self.child.id(), libc::SIGTERM);
        self.child.wait().unwrap();
        let gone = start.elapsed().as_millis() as u64;
        self.reader.join().unwrap();
        gone
    }
}

/// Reads to the end.
fn follow(output: ChildStdout, stream: &Mutex<Stream>) {
    let mut lines = BufReader::with_capacity(65536, output);
    let mut line = String::new();
    while lines.read_line(&mut line).is_ok_and(|length| length > 0) {
        let mut stream = stream.lock().unwrap();
        stream.bytes += line.len() as u64;
        if line.starts_with("CHART") && stream.first_chart.is_none() {
            stream.first_chart = Some(Instant::now());
        }
        if line.starts_with("BEGIN") && stream.first_begin.is_none() {
            stream.first_begin = Some(Instant::now());
            stream.head = begun(&line).to_owned();
        }
        stream.ticks += u64::from(line.starts_with("BEGIN") && begun(&line) == stream.head);
        drop(stream);
        line.clear();
    }
}

/// The chart that a line begins.
fn begun(line: &str) -> &str {
    line.split_whitespace().nth(1).unwrap_or_default()
}

/// Goes through some ticks instruction by instruction.
fn user_instructions(pid: u32, stream: &Mutex<Stream>) -> std::io::Result<u64> {
    let ticks = || stream.lock().unwrap().ticks;
    let steps = Steps::of(pid)?;
    let until = |tick| -> std::io::Result<u64> {
        let mut count = 0;
        while ticks() < tick {
            steps.step()?;
            count += 1;
        }
        Ok(count)
    };
    let first = ticks() + 1;
    until(first)?;
    Ok(until(first + STEPPED_TICKS)? / STEPPED_TICKS)
}
