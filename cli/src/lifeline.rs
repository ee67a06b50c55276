// SPDX-License-Identifier: GPL-3.0-or-later
//! Waiting for the next tick, and for whatever says that it is time to go.

use kmote_bpf::sys::{self, Watch};
use kmote_core::tick;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::process::parent_id;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The longest time for which a dead parent goes unnoticed.
const PULSE: Duration = Duration::from_millis(500);

/// What ends the process by request: signals, the other ends of stdin and stdout, Netdata's word, a dead parent.
#[derive(Debug)]
pub struct Lifeline {
    signals: OwnedFd,
    stdin: Option<File>,
    talks: bool,
    word: [u8; 4],
    parent: Option<u32>,
    over: bool,
}

impl Lifeline {
    /// Takes the signals and stdin over. The process ends with `parent`.
    pub fn new(parent: Option<u32>) -> io::Result<Self> {
        let stdin = io::stdin();
        let inherited = stdin.as_fd().try_clone_to_owned().ok().map(File::from);
        // Where stdin hangs up with the parent, nobody need look after it.
        let hangs_up = inherited.as_ref().is_some_and(hangs_up);
        Ok(Self {
            signals: sys::stop_signals().map_err(io::Error::from_raw_os_error)?,
            // Whoever reads a terminal from the background is stopped by it.
            talks: !stdin.is_terminal(),
            stdin: inherited,
            word: [0; 4],
            parent: parent.filter(|_| !hangs_up),
            over: false,
        })
    }

    /// Waits for the next multiple of `interval` of the clock on the wall; `false` when it is time to go instead.
    pub fn until_tick(&mut self, stdout: BorrowedFd<'_>, interval: Duration) -> io::Result<bool> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let left = tick::wait(now.as_nanos() as u64, interval.as_nanos() as u64);
        self.pause(stdout, Duration::from_nanos(left))
    }

    /// Waits for `time`; `false` when it is time to go instead.
    pub fn pause(&mut self, stdout: BorrowedFd<'_>, time: Duration) -> io::Result<bool> {
        let end = Instant::now() + time;
        while let Some(left) = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
            if !self.wait(&mut Watch::closing(&stdout), Some(left))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Waits for `time`, whatever becomes of stdout.
    pub fn sleep(&mut self, time: Duration) -> io::Result<()> {
        let end = Instant::now() + time;
        while let Some(left) =
            end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero() && !self.over)
        {
            self.wait(&mut Watch::nothing(), Some(left))?;
        }
        Ok(())
    }

    /// Waits at most `limit` for what `watch` watches, and gives it back; `None` when it is time to go.
    pub fn until(&mut self, mut watch: Watch, limit: Duration) -> io::Result<Option<Watch>> {
        self.wait(&mut watch, Some(limit))?;
        Ok((!self.over).then_some(watch))
    }

    /// Whether a signal, stdin or a dead parent said that it is time to go.
    pub const fn is_over(&self) -> bool {
        self.over
    }

    /// Waits until `stdout` takes more; `false` when it is time to go instead.
    pub fn until_room(&mut self, stdout: BorrowedFd<'_>) -> io::Result<bool> {
        self.wait(&mut Watch::room(&stdout), None)
    }

    /// Whether what ended it asks to begin anew: SIGHUP.
    pub fn asks_anew(&self) -> bool {
        sys::asks_anew(self.signals.as_fd())
    }

    /// One wait of at most `limit`; `false` when it is time to go.
    fn wait(&mut self, other: &mut Watch, limit: Option<Duration>) -> io::Result<bool> {
        let stdin = match &self.stdin {
            Some(stdin) if self.talks => Watch::input(stdin),
            Some(stdin) => Watch::closing(stdin),
            None => Watch::nothing(),
        };
        let mut watches = [Watch::input(&self.signals), stdin, *other];
        let limit = if self.parent.is_some() {
            limit.map_or(Some(PULSE), |limit| Some(limit.min(PULSE)))
        } else {
            limit
        };
        sys::wait(&mut watches, limit).map_err(io::Error::from_raw_os_error)?;
        let [signals, stdin, seen] = watches;
        *other = seen;
        let orphaned = self.parent.is_some_and(|parent| parent != parent_id());
        self.over |= signals.readable() || orphaned || !self.hear(stdin);
        Ok(!self.over && !seen.closed())
    }

    /// Hears what stdin says; `false` when it hangs up or says `QUIT`.
    fn hear(&mut self, stdin: Watch) -> bool {
        if !stdin.readable() {
            return !stdin.closed();
        }
        let mut said = [0; 512];
        match self.stdin.as_mut().map(|stdin| stdin.read(&mut said)) {
            // The end of a file, or of /dev/null, is not a hang-up.
            Some(Ok(0)) if !stdin.closed() => {
                self.stdin = None;
                true
            }
            Some(Ok(0)) => false,
            Some(Ok(length)) => !said.iter().take(length).any(|byte| self.is_quit(*byte)),
            Some(Err(_)) | None => true,
        }
    }

    /// Whether this byte completes a line that is Netdata's `QUIT`.
    fn is_quit(&mut self, byte: u8) -> bool {
        let ends = byte == b'\n' && self.word == *b"QUIT";
        // A line is told by its first four bytes, shifted in after a newline; any fifth byte spoils them.
        match byte {
            b'\n' | b'\r' => self.word = [0; 4],
            _ => match self.word.iter_mut().find(|place| **place == 0) {
                Some(place) => *place = byte,
                None => self.word = [b' '; 4],
            },
        }
        ends
    }
}

/// Whether the other end of a descriptor can close.
fn hangs_up(file: &File) -> bool {
    file.metadata().is_ok_and(|data| data.file_type().is_fifo() || data.file_type().is_socket())
}

/// The number of the tick that is now, counted by the clock on the wall: on every machine the same multiples.
pub fn tick_number(interval: Duration) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    tick::number(now.as_nanos() as u64, interval.as_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quits(said: &[u8]) -> bool {
        let mut lifeline = Lifeline {
            signals: File::open("/dev/null").unwrap().into(),
            stdin: None,
            talks: false,
            word: [0; 4],
            parent: None,
            over: false,
        };
        said.iter().any(|byte| lifeline.is_quit(*byte))
    }

    #[test]
    fn only_a_line_that_is_quit_quits() {
        for (said, expected) in [
            (&b"QUIT\n"[..], true),
            (b"FUNCTION a 1 \"b\"\nQUIT\n", true),
            (b"\n\nQUIT\n", true),
            (b"QUITE\n", false),
            (b"NOT QUIT\n", false),
            (b"QUIT", false),
            (b"QUI\nT\n", false),
            (b"", false),
        ] {
            assert_eq!(quits(said), expected, "{:?}", String::from_utf8_lossy(said));
        }
    }
}
