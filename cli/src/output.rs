// SPDX-License-Identifier: GPL-3.0-or-later
//! stdout: a page of fixed size, written whole, that never blocks the process from being stopped.

use kmote_bpf::sys;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};

/// Bytes of a page: all charts of all modules fit.
pub const PAGE: usize = 64 * 1024;

/// What is sent at once.
pub type Page = heapless::String<PAGE>;

/// Our end of stdout.
#[derive(Debug)]
pub struct Output(File);

impl Output {
    /// Takes stdout over.
    ///
    /// A pipe or a terminal is opened anew, so that the description which does not wait is ours alone: the mode
    /// belongs to the description, and a shell shares its terminal's with us.
    pub fn stdout() -> io::Result<Self> {
        let inherited = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        let kind = inherited.metadata()?.file_type();
        if kind.is_fifo() || kind.is_char_device() {
            let anew = OpenOptions::new().write(true).custom_flags(sys::O_NONBLOCK).open("/proc/self/fd/1");
            if let Ok(file) = anew {
                return Ok(Self(file));
            }
        }
        if kind.is_fifo() || kind.is_socket() {
            sys::set_nonblocking(inherited.as_fd()).map_err(io::Error::from_raw_os_error)?;
        }
        Ok(Self(inherited))
    }

    /// Writes all of `text`, calling `wait` for room whenever there is none; `false` when `wait` says that it is over.
    ///
    /// A reader that has gone is an error of kind `BrokenPipe`.
    pub fn send(
        &mut self,
        text: &str,
        mut wait: impl FnMut(BorrowedFd<'_>) -> io::Result<bool>,
    ) -> io::Result<bool> {
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            match self.0.write(rest) {
                Ok(written) => rest = rest.get(written..).unwrap_or_default(),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if !wait(self.0.as_fd())? {
                        return Ok(false);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

impl AsFd for Output {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
