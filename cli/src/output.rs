// SPDX-License-Identifier: GPL-3.0-or-later
//! stdout: a page of fixed size, written whole, that never blocks the process from being stopped.

use kmote_bpf::sys;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use ufmt::uWrite;

/// Bytes of a page: all charts of all modules fit, with as many keys as their tables hold (128 disks of 24 buckets take
/// 300 kB in the tick that declares them). What is not written to is not resident.
pub const PAGE: usize = 1024 * 1024;

/// What is sent at once: text in memory of a fixed size, of which only what is written to is resident.
#[derive(Debug)]
pub struct Page {
    bytes: Box<[u8]>,
    length: usize,
}

impl Default for Page {
    fn default() -> Self {
        Self { bytes: vec![0; PAGE].into_boxed_slice(), length: 0 }
    }
}

impl Page {
    /// Forgets the text.
    pub fn clear(&mut self) {
        self.length = 0;
    }

    /// The text.
    pub fn text(&self) -> &str {
        // Whole texts are written and nothing else, so that it is one.
        str::from_utf8(self.bytes.get(..self.length).unwrap_or_default()).unwrap_or_default()
    }
}

/// The text does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

impl uWrite for Page {
    type Error = Full;

    fn write_str(&mut self, text: &str) -> Result<(), Full> {
        // A String would look after its capacity, which takes longer than the copying: most texts are short.
        let end = self.length + text.len();
        self.bytes.get_mut(self.length..end).ok_or(Full)?.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

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

    /// Takes a connection over, which must not wait.
    pub fn peer(stream: TcpStream) -> Self {
        Self(File::from(OwnedFd::from(stream)))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_takes_what_fits_and_never_grows() {
        let mut page = Page::default();
        let half = "x".repeat(PAGE / 2);
        assert_eq!(page.write_str(&half), Ok(()));
        assert_eq!(page.write_str(&half), Ok(()));
        assert_eq!(page.write_str("y"), Err(Full));
        assert_eq!((page.text().len(), page.bytes.len()), (PAGE, PAGE));
        page.clear();
        assert_eq!(page.write_str("y"), Ok(()));
        assert_eq!(page.text(), "y");
    }
}
