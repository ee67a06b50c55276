// SPDX-License-Identifier: GPL-3.0-or-later
//! Runs the binary as Netdata does, with pipes for stdin, stdout and stderr, and watches it.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::machine::{holds_within, resident_kib, signal};
use super::protocol::{Stream, parse};

/// The binary under test.
pub const KMOTE: &str = env!("CARGO_BIN_EXE_kmote");
/// Every way to end must work within this time.
pub const SOON: Duration = Duration::from_secs(1);
/// Far more than any start or tick takes on a loaded machine.
pub const LONG: Duration = Duration::from_secs(20);

/// A folder that is not there.
const NOWHERE: &str = "/nonexistent";

/// A command line of the binary, without what Netdata may have set around the test.
pub fn kmote(arguments: &[&str]) -> Command {
    without_netdata(Command::new(KMOTE), arguments)
}

/// The same, started through another program's command line.
pub fn kmote_under(wrapper: &[&str], binary: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(wrapper[0]);
    command.args(&wrapper[1..]).arg(binary);
    without_netdata(command, arguments)
}

fn without_netdata(mut command: Command, arguments: &[&str]) -> Command {
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("NETDATA_")) {
        command.env_remove(name);
    }
    // Nor what the machine's own Netdata is told by its files.
    command.env("NETDATA_USER_CONFIG_DIR", NOWHERE).env("NETDATA_STOCK_CONFIG_DIR", NOWHERE);
    // Charts of kmote itself come every ten seconds at most; tests of ticks are about the others.
    command.env("NETDATA_INTERNALS_MONITORING", "NO");
    command.env("NETDATA_LIB_DIR", NOWHERE.to_owned() + "/nor-this");
    command.args(arguments);
    command
}

/// A running kmote, killed with the value.
pub struct Running {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Arc<Mutex<Vec<Arrival>>>,
    stderr: Arc<Mutex<Vec<Arrival>>>,
    readers: Vec<thread::JoinHandle<()>>,
}

/// Bytes of one read, and when they came.
#[derive(Debug, Clone)]
pub struct Arrival {
    pub at: SystemTime,
    pub text: String,
}

impl Running {
    /// Starts with three pipes.
    pub fn start(command: Command) -> Self {
        Self::start_with(command, Stdio::piped(), Stdio::piped())
    }

    /// Starts with other files for stdin and stdout; what is no pipe of ours is not watched.
    pub fn start_with(command: Command, stdin: Stdio, stdout: Stdio) -> Self {
        let (mut running, pipe) = Self::spawn(command, stdin, stdout);
        if let Some(pipe) = pipe {
            running.watch(pipe, Arc::clone(&running.stdout));
        }
        running
    }

    /// Starts with a stdout that the caller may read, leave or close.
    pub fn start_unread(command: Command) -> (Self, ChildStdout) {
        let (running, pipe) = Self::spawn(command, Stdio::piped(), Stdio::piped());
        (running, pipe.unwrap())
    }

    fn spawn(mut command: Command, stdin: Stdio, stdout: Stdio) -> (Self, Option<ChildStdout>) {
        let command = command.stdin(stdin).stdout(stdout).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|e| panic!("{command:?}: {e}"));
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let mut running =
            Self { child, stdin, stdout: Arc::default(), stderr: Arc::default(), readers: Vec::new() };
        running.watch(stderr.unwrap(), Arc::clone(&running.stderr));
        (running, stdout)
    }

    fn watch(&mut self, mut pipe: impl Read + Send + 'static, into: Arc<Mutex<Vec<Arrival>>>) {
        self.readers.push(thread::spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            while let Ok(count @ 1..) = pipe.read(&mut buffer) {
                let text = String::from_utf8_lossy(&buffer[..count]).into_owned();
                into.lock().unwrap().push(Arrival { at: SystemTime::now(), text });
            }
        }));
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, name: &str) {
        signal(self.pid(), name);
    }

    pub fn resident_kib(&self) -> u64 {
        resident_kib(self.pid())
    }

    /// Writes a line to stdin.
    pub fn say(&mut self, line: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Writes to stdin as it is.
    pub fn write(&mut self, text: &str) {
        self.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// Closes our end of stdin.
    pub fn hang_up(&mut self) {
        self.stdin = None;
    }

    /// Whether it has not ended.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits until stdout holds a text this many times.
    pub fn wait_for(&mut self, text: &str, times: usize) {
        let enough = holds_within(LONG, || {
            self.stdout().matches(text).count() >= times || self.child.try_wait().unwrap().is_some()
        });
        let (out, err) = (self.stdout(), self.stderr());
        assert!(
            enough && out.matches(text).count() >= times,
            "no {times} times {text}\nstdout:\n{out}\nstderr:\n{err}"
        );
    }

    pub fn stdout(&self) -> String {
        joined(&self.stdout)
    }

    pub fn stderr(&self) -> String {
        joined(&self.stderr)
    }

    /// Expects it to end by itself within the time.
    pub fn ends_within(mut self, limit: Duration) -> Ended {
        let start = Instant::now();
        let mut status = None;
        let ended = holds_within(limit, || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        let after = start.elapsed();
        assert!(
            ended,
            "still running after {after:?}\nstdout:\n{}\nstderr:\n{}",
            self.stdout(),
            self.stderr()
        );
        self.readers.drain(..).for_each(|reader| reader.join().unwrap());
        let arrivals = self.stdout.lock().unwrap().clone();
        Ended { status: status.unwrap(), arrivals, stdout: self.stdout(), stderr: self.stderr() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn joined(arrivals: &Mutex<Vec<Arrival>>) -> String {
    arrivals.lock().unwrap().iter().map(|arrival| arrival.text.as_str()).collect()
}

/// What a run left.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub arrivals: Vec<Arrival>,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    /// Expects this exit status and no signal; every line on stderr must say who speaks.
    pub fn with_status(self, code: i32) -> Self {
        assert_eq!(self.status.code(), Some(code), "{self:#?}");
        for line in self.stderr.lines() {
            assert!(line.starts_with("kmote: "), "a line on stderr without its speaker: {line}");
        }
        self
    }

    /// Expects nothing but valid protocol on stdout.
    pub fn stream(&self) -> Stream {
        parse(&self.stdout).unwrap_or_else(|fault| panic!("{fault:?}\n{}", self.stdout))
    }
}
