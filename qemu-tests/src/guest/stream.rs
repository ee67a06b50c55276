// SPDX-License-Identifier: GPL-3.0-or-later
//! kmote as Netdata runs it: its stream is read as Netdata reads it, and its sums are compared with the work.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use super::counters::Counter::Tasks;
use super::kmote::PROGRAM;
use super::run::{Run, Subject};
use super::sys;

/// The chart and dimension that count new processes.
const CHART: &str = "system.process_thread";
const DIMENSION: &str = "_do_fork";

/// How often it is done again when the kernel's own counter says that something else was going on too.
const TRIES: usize = 5;

/// A running plugin.
pub struct Stream {
    pub child: Child,
    lines: BufReader<ChildStdout>,
    /// How often the chart was sent.
    pub ticks: usize,
    /// Its microseconds, as sent.
    pub intervals: Vec<u64>,
    /// The last value of the dimension.
    pub value: i64,
    /// How often the chart was declared.
    pub announced: usize,
    chart: &'static str,
    /// One dimension; all of them, added up, where it is not named.
    dimension: Option<&'static str>,
    sum: i64,
    inside: bool,
}

impl Stream {
    pub fn start(ticks: usize) -> Self {
        let mut command = Command::new(PROGRAM);
        command.args(["1", "--modules", "process", "--ticks", &ticks.to_string()]);
        Self::start_command(&mut command)
    }

    pub fn start_command(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self {
            child,
            lines,
            ticks: 0,
            intervals: Vec::new(),
            value: 0,
            announced: 0,
            chart: CHART,
            dimension: Some(DIMENSION),
            sum: 0,
            inside: false,
        }
    }

    /// The same for another chart.
    pub fn of(self, chart: &'static str, dimension: Option<&'static str>) -> Self {
        Self { chart, dimension, ..self }
    }

    /// Reads until the chart is declared once more; `false` at the end of the stream.
    pub fn declaration(&mut self) -> bool {
        let before = self.announced;
        let mut line = String::new();
        while self.announced == before && self.lines.read_line(&mut line).is_ok_and(|length| length > 0) {
            self.take(line.trim_end());
            line.clear();
        }
        self.announced > before
    }

    /// Reads on until the chart has been sent once more; `false` at the end of the stream.
    pub fn tick(&mut self) -> bool {
        let mut line = String::new();
        while self.lines.read_line(&mut line).is_ok_and(|length| length > 0) {
            if self.take(line.trim_end()) {
                return true;
            }
            line.clear();
        }
        false
    }

    /// Takes one line; says whether it ended the chart.
    fn take(&mut self, line: &str) -> bool {
        let words: Vec<&str> = line.split([' ', '=']).filter(|word| !word.is_empty()).collect();
        match words.as_slice() {
            ["CHART", chart, ..] => self.announced += usize::from(*chart == self.chart),
            ["BEGIN", chart, rest @ ..] => {
                self.inside = chart.trim_matches('\'') == self.chart;
                self.sum = 0;
                if self.inside {
                    self.intervals.extend(rest.first().and_then(|word| word.parse::<u64>().ok()));
                }
            }
            ["SET", dimension, value]
                if self.inside && self.dimension.is_none_or(|one| dimension.trim_matches('\'') == one) =>
            {
                self.sum += value.parse::<i64>().unwrap();
            }
            ["END", ..] if self.inside => {
                self.inside = false;
                self.value = self.sum;
                self.ticks += 1;
                return true;
            }
            _ => {}
        }
        false
    }

    /// Reads to the end; the exit status in words.
    pub fn drain(&mut self) -> String {
        while self.tick() {}
        self.child.wait().unwrap().to_string()
    }
}

impl Run {
    /// The number of processes that Netdata would add up is the number of forks.
    pub fn stream(&mut self) {
        let subject = Subject { module: "process", mechanism: "stream", work: "23 forks in 4 ticks" };
        for attempt in 1..=TRIES {
            let mut stream = Stream::start(4);
            stream.tick();
            let (before, tasks) = (stream.value, Tasks.read());
            for _ in 0..23 {
                sys::reap(sys::fork(|| 0));
            }
            let status = stream.drain();
            // Kernel threads come, more so where there are several CPUs.
            if Tasks.read().zip(tasks).is_some_and(|(now, then)| now != then + 23) && attempt < TRIES {
                continue;
            }
            self.equal(subject, "exit status", &"exit status: 0", &status);
            self.equal(subject, "sum of the SETs", &23, &(stream.value - before));
            break;
        }
    }
}
