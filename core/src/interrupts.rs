// SPDX-License-Identifier: GPL-3.0-or-later
//! The handlers of an interrupt line in `/proc/interrupts`, for kernels that do not tell them in sysfs: before v4.9
//! (ecb3f394c5db), or without sparse interrupt numbers. A line may be longer than any buffer: a number a CPU.

/// Finds one line in the pieces of the file.
#[derive(Debug, Default)]
pub struct Finder {
    wanted: u64,
    number: Option<u64>,
    state: State,
    blanks: usize,
    handlers: heapless::Vec<u8, 64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Before the colon.
    #[default]
    Number,
    /// After that of another line.
    Other,
    /// After that of the wanted line.
    Wanted,
    /// All of it was seen.
    Found,
}

impl Finder {
    /// Looks for the line of this number.
    pub fn new(wanted: u64) -> Self {
        Self { wanted, ..Self::default() }
    }

    /// Reads one more piece; the handlers, once their line is complete.
    pub fn feed(&mut self, piece: &[u8]) -> Option<&[u8]> {
        for &byte in piece {
            match (self.state, byte) {
                (State::Found, _) => break,
                (State::Wanted, b'\n') => self.state = State::Found,
                (_, b'\n') => (self.state, self.number) = (State::Number, None),
                (State::Number, b':') if self.number == Some(self.wanted) => self.state = State::Wanted,
                (State::Number, b'0'..=b'9') => {
                    let before = self.number.unwrap_or(0);
                    self.number = Some(before.wrapping_mul(10).wrapping_add(u64::from(byte - b'0')));
                }
                (State::Number, b' ') => {}
                (State::Number, _) => self.state = State::Other,
                (State::Other, _) => {}
                (State::Wanted, byte) => self.take(byte),
            }
        }
        (self.state == State::Found).then_some(&self.handlers)
    }

    /// The handlers stand after the last two blanks; a handler's name may have one within.
    fn take(&mut self, byte: u8) {
        self.blanks = if byte == b' ' { self.blanks + 1 } else { 0 };
        if self.blanks == 2 {
            self.handlers.clear();
        } else if self.blanks < 2 {
            // Of a long list the beginning tells.
            let _ = self.handlers.push(byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &[u8] = b"           CPU0       CPU1       \n\
          0:         11          0   IO-APIC-edge      timer\n \
         16:          0          0   IO-APIC  16-fasteoi   ehci_hcd:usb1, uhci_hcd\n \
        250:     123456    7890123   PCI-MSI 524289-edge      nvme 0 io5\n\
        NMI:          0          0   Non-maskable interrupts\n";

    #[test]
    fn handlers_are_found_whatever_the_pieces() {
        for (number, expected) in [
            (0, Some("timer")),
            (16, Some("ehci_hcd:usb1, uhci_hcd")),
            (250, Some("nvme 0 io5")),
            (1, None),
            (25, None),
        ] {
            for size in 1..100 {
                let mut finder = Finder::new(number);
                let found = FILE.chunks(size).find_map(|piece| finder.feed(piece).map(<[u8]>::to_vec));
                let found = found.map(|bytes| String::from_utf8(bytes).unwrap());
                assert_eq!(found.as_deref(), expected, "{number} in pieces of {size}");
            }
        }
    }

    #[test]
    fn a_line_of_many_cpus_is_read_by_its_end() {
        let line = format!("  7:{}   PCI-MSI-edge      {}\n", " 4294967295".repeat(8192), "x".repeat(100));
        let mut finder = Finder::new(7);
        assert_eq!(finder.feed(line.as_bytes()), Some("x".repeat(64).as_bytes()));
    }
}
