// SPDX-License-Identifier: GPL-3.0-or-later
//! kmote under test: `kmote slots` as a child, asked for a reading by a line.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, ExitStatus, Stdio};

use kmote_core::modules::MODULES;

use super::calls::{call, text};

pub const PROGRAM: &str = "/kmote";

/// What `--modules` is told when all are wanted.
pub fn every_module() -> String {
    MODULES.iter().map(|module| module.name).collect::<Vec<_>>().join(",")
}

/// Raw totals since attach, of the slots that are live.
pub type Reading = BTreeMap<String, u64>;

/// The bytes of the answer, in a reading, beside its slots.
pub const ANSWER: &str = "bytes of the answer";

/// How kmote reported one probe: `hook MODULE EVENT MECHANISM TARGET`, or `hook MODULE EVENT off REASON…`.
#[derive(Debug, PartialEq, Eq)]
pub struct HookLine {
    pub event: String,
    pub attached: Option<(String, String)>,
    pub reason: String,
}

pub struct Kmote {
    child: Child,
    // Sockets, into which we send and from which std receives: kmote counts read(2) and write(2).
    input: UnixStream,
    lines: BufReader<UnixStream>,
    pub hooks: Vec<HookLine>,
}

impl Kmote {
    /// Starts `kmote slots` for one module and waits until it is attached.
    pub fn start(module: &str, options: &[&str]) -> Result<Self, String> {
        let mut command = Command::new(PROGRAM);
        command.args(["slots", "--modules", module]).args(options);
        Self::start_command(&mut command)
    }

    /// The same with a command that the caller has prepared.
    pub fn start_command(command: &mut Command) -> Result<Self, String> {
        let pair = || UnixStream::pair().map_err(|e| e.to_string());
        let ((input, their_input), (output, their_output)) = (pair()?, pair()?);
        let spawned = command.stdin(OwnedFd::from(their_input)).stdout(OwnedFd::from(their_output)).spawn();
        // Theirs alone: its end must be seen.
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let child = spawned.map_err(|e| format!("{PROGRAM}: {e}"))?;
        let mut kmote = Self { child, input, lines: BufReader::new(output), hooks: Vec::new() };
        loop {
            match kmote.line() {
                None => return Err(format!("kmote slots ended before it was ready ({})", kmote.wait())),
                Some(line) if line == "ready" => return Ok(kmote),
                Some(line) => kmote.hooks.extend(parse_hook(&line)),
            }
        }
    }

    /// Asks for one reading.
    pub fn read(&mut self) -> Result<Reading, String> {
        let lines = self.read_lines()?;
        let bytes = lines.iter().map(|line| line.len() as u64 + 1).sum::<u64>() + "done\n".len() as u64;
        let slots = lines.iter().filter_map(|line| parse_slot(line));
        Ok(slots.chain([(ANSWER.to_owned(), bytes)]).collect())
    }

    /// Asks for one reading, as it is written.
    pub fn read_lines(&mut self) -> Result<Vec<String>, String> {
        let line = [self.input.as_raw_fd().into(), text(c"\n"), 1, libc::MSG_NOSIGNAL.into(), 0, 0];
        call(libc::SYS_sendto, &line).map_err(|e| format!("kmote's stdin: {e}"))?;
        let mut lines = Vec::new();
        loop {
            let Some(line) = self.line() else {
                return Err(format!("kmote slots ended in a reading ({})", self.wait()));
            };
            if line == "done" {
                return Ok(lines);
            }
            lines.push(line);
        }
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        match self.lines.read_line(&mut line) {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(line.trim_end().to_owned()),
        }
    }

    fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    /// Closes its stdin and waits for its end.
    pub fn finish(self) -> ExitStatus {
        let Self { mut child, input, lines, .. } = self;
        drop(input);
        let status = child.wait().unwrap();
        drop(lines);
        status
    }

    /// Ends it with no chance to clean up.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.wait();
    }
}

fn parse_hook(line: &str) -> Option<HookLine> {
    let mut words = line.strip_prefix("hook ")?.splitn(4, ' ');
    let (_module, event) = (words.next()?, words.next()?.to_owned());
    let (mechanism, rest) = (words.next()?.to_owned(), words.next().unwrap_or_default().to_owned());
    Some(match mechanism.as_str() {
        "off" => HookLine { event, attached: None, reason: rest },
        _ => HookLine { event, attached: Some((mechanism, rest)), reason: String::new() },
    })
}

fn parse_slot(line: &str) -> Option<(String, u64)> {
    let mut words = line.strip_prefix("slot ")?.split(' ').skip(1);
    Some((words.next()?.to_owned(), words.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let on = parse_hook("hook process exit fentry do_exit").unwrap();
        assert_eq!(on.attached, Some(("fentry".into(), "do_exit".into())));
        let off = parse_hook("hook process release off no such function").unwrap();
        assert_eq!((off.attached, off.reason.as_str()), (None, "no such function"));
        assert_eq!(parse_slot("slot process exit 23"), Some(("exit".into(), 23)));
        assert_eq!(parse_slot("hook process exit fentry do_exit"), None);
    }
}
