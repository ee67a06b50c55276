// SPDX-License-Identifier: GPL-3.0-or-later
//! The addresses of a name: the question to a name server and its answer (RFC 1035), and the lines of a hosts file.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The longest question: a header, a name, its type and its class.
pub const QUESTION: usize = 12 + 255 + 4;
/// The longest answer over UDP.
pub const ANSWER: usize = 512;

/// What is asked for: addresses of four bytes, or of sixteen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A
    Four = 1,
    /// AAAA
    Sixteen = 28,
}

const INTERNET: u16 = 1;
const HEADER: usize = 12;
/// Of an answer's flags: that it is one, that it was cut off, and how it went.
const IS_ANSWER: u8 = 0x80;
const FAILED: u8 = 0x0f;

/// Writes the question for `name`; how long it is, `None` for what is no name of a host.
pub fn question(id: u16, name: &str, kind: Kind, out: &mut [u8; QUESTION]) -> Option<usize> {
    let [high, low] = id.to_be_bytes();
    // One question, and the server may ask others.
    out.get_mut(..HEADER)?.copy_from_slice(&[high, low, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    let mut at = HEADER;
    for label in name.trim_end_matches('.').split('.') {
        if label.is_empty() || label.len() > 63 {
            return None;
        }
        *out.get_mut(at)? = label.len() as u8;
        out.get_mut(at + 1..at + 1 + label.len())?.copy_from_slice(label.as_bytes());
        at += 1 + label.len();
    }
    out.get_mut(at..at + 5)?.copy_from_slice(&[0, 0, kind as u8, 0, INTERNET as u8]);
    Some(at + 5)
}

/// What an answer says.
#[derive(Clone, Debug)]
pub struct Answer<'a> {
    rest: &'a [u8],
    kind: Kind,
    left: u16,
}

/// Reads an answer to the question that was asked; `None` if it is to another one, or says that it failed.
pub fn answer<'a>(bytes: &'a [u8], asked: &[u8], kind: Kind) -> Option<Answer<'a>> {
    let (header, rest) = bytes.split_at_checked(HEADER)?;
    let is_ours = header.get(..2) == asked.get(..2) && rest.starts_with(asked.get(HEADER..)?);
    if !is_ours || header.get(2)? & IS_ANSWER == 0 || header.get(3)? & FAILED != 0 {
        return None;
    }
    let rest = rest.get(asked.len() - HEADER..)?;
    Some(Answer { rest, kind, left: u16::from_be_bytes([*header.get(6)?, *header.get(7)?]) })
}

impl Answer<'_> {
    fn record(&mut self) -> Option<Option<IpAddr>> {
        let rest = skip_name(self.rest)?;
        let (fixed, rest) = rest.split_at_checked(10)?;
        let number = |at: usize| Some(u16::from_be_bytes([*fixed.get(at)?, *fixed.get(at + 1)?]));
        let (kind, class, length) = (number(0)?, number(2)?, number(8)?);
        let (data, rest) = rest.split_at_checked(length.into())?;
        self.rest = rest;
        Some(((kind, class) == (self.kind as u16, INTERNET)).then(|| address(self.kind, data)).flatten())
    }
}

/// Every address; an alias before them says nothing that is needed.
impl Iterator for Answer<'_> {
    type Item = IpAddr;

    fn next(&mut self) -> Option<IpAddr> {
        while self.left > 0 {
            self.left -= 1;
            if let Some(address) = self.record()? {
                return Some(address);
            }
        }
        None
    }
}

/// What follows a name: labels to an empty one, or to a pointer at the rest of it.
fn skip_name(mut rest: &[u8]) -> Option<&[u8]> {
    loop {
        let (&length, after) = rest.split_first()?;
        match length {
            0 => return Some(after),
            0xc0.. => return after.get(1..),
            _ => rest = after.get(length.into()..)?,
        }
    }
}

/// An address of the asked kind; one of another length is none.
fn address(kind: Kind, data: &[u8]) -> Option<IpAddr> {
    match kind {
        Kind::Four => <[u8; 4]>::try_from(data).map(Ipv4Addr::from).map(IpAddr::from).ok(),
        Kind::Sixteen => <[u8; 16]>::try_from(data).map(Ipv6Addr::from).map(IpAddr::from).ok(),
    }
}

/// The addresses that a hosts file has for a name.
pub fn hosts<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = IpAddr> + 'a {
    words(text).filter_map(move |mut words| {
        let address = words.next()?.parse().ok()?;
        words.any(|alias| alias.eq_ignore_ascii_case(name)).then_some(address)
    })
}

/// What follows a word in `resolv.conf`, a line at a time.
pub fn configured<'a>(text: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> + 'a {
    words(text).filter_map(move |mut words| (words.next()? == key).then_some(words)).flatten()
}

/// The words of each line, without comments.
fn words(text: &str) -> impl Iterator<Item = core::str::SplitAsciiWhitespace<'_>> {
    text.lines().map(|line| line.split(['#', ';']).next().unwrap_or_default().split_ascii_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(name: &str, kind: Kind) -> Option<Vec<u8>> {
        let mut out = [0; QUESTION];
        question(0x1234, name, kind, &mut out).map(|length| out[..length].to_vec())
    }

    #[test]
    fn questions() {
        let expected = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x06parent\x03lan\0\0\x01\0\x01";
        assert_eq!(asked("parent.lan.", Kind::Four).unwrap(), expected);
        assert!(asked("parent", Kind::Sixteen).unwrap().ends_with(b"\x06parent\0\0\x1c\0\x01"));
        let long = "x".repeat(63);
        for (name, fits) in [
            ("", false),
            ("a..b", false),
            (&*format!("{long}x"), false),
            (&*[&*long; 3].join("."), true),
            (&*[&*long; 5].join("."), false),
        ] {
            assert_eq!(asked(name, Kind::Four).is_some(), fits, "{name}");
        }
    }

    /// An answer to `asked`: an alias, and the address.
    fn told(asked: &[u8], flags: u8, address: &[u8]) -> Vec<u8> {
        let mut bytes = asked.to_vec();
        bytes[2..8].copy_from_slice(&[0x81, flags, 0, 1, 0, 2]);
        bytes.extend(b"\xc0\x0c\0\x05\0\x01\0\0\0\x09\0\x04\x01p\xc0\x0c");
        let kind = if address.len() == 4 { 1 } else { 28 };
        bytes.extend([1, b'p', 0xc0, 12, 0, kind, 0, 1, 0, 0, 0, 9, 0, address.len() as u8]);
        bytes.extend(address);
        bytes
    }

    #[test]
    fn answers() {
        let ours = asked("parent.lan", Kind::Four).unwrap();
        let all = |bytes: &[u8], kind| answer(bytes, &ours, kind).map(|answer| answer.collect::<Vec<_>>());
        let told_four = told(&ours, 0x80, &[10, 0, 0, 7]);
        assert_eq!(all(&told_four, Kind::Four), Some(vec![IpAddr::from([10, 0, 0, 7])]));
        assert_eq!(all(&told_four, Kind::Sixteen), Some(vec![]));
        let one = IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1u16]);
        let mut sixteen = [0; 16];
        sixteen[15] = 1;
        assert_eq!(all(&told(&ours, 0x80, &sixteen), Kind::Sixteen), Some(vec![one]));
        let mut short = told(&ours, 0x80, &[10, 0, 0, 7]);
        let at = short.len() - 4 - 9;
        assert_eq!(std::mem::replace(&mut short[at], Kind::Sixteen as u8), 1);
        assert_eq!(all(&short, Kind::Sixteen), Some(vec![]), "four bytes for an address of sixteen");
        assert_eq!(all(&told(&ours, 0x83, &[10, 0, 0, 7]), Kind::Four), None, "no such name");
        let other = told(&asked("other.lan", Kind::Four).unwrap(), 0x80, &[10, 0, 0, 7]);
        assert_eq!(all(&other, Kind::Four), None, "an answer to another question");
        for length in 0..told_four.len() {
            assert_ne!(all(&told_four[..length], Kind::Four), Some(vec![IpAddr::from([10, 0, 0, 7])]));
        }
    }

    #[test]
    fn whatever_comes_it_ends() {
        let ours = asked("a", Kind::Four).unwrap();
        let mut random = 1u64;
        for _ in 0..20_000 {
            let mut bytes = told(&ours, 0x80, &[1, 2, 3, 4]);
            for _ in 0..3 {
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let at = (random >> 40) as usize % bytes.len();
                bytes[at] = (random >> 32) as u8;
            }
            let count = answer(&bytes, &ours, Kind::Four).map_or(0, Iterator::count);
            assert!(count <= bytes.len());
        }
    }

    #[test]
    fn files() {
        let text = "127.0.0.1 localhost # here\n::1 localhost\n# 1.2.3.4 parent\n10.0.0.7\tparent.lan Parent\nx parent\n";
        let of = |name| hosts(text, name).map(|address| address.to_string()).collect::<Vec<_>>();
        assert_eq!(of("localhost"), ["127.0.0.1", "::1"]);
        assert_eq!((of("parent"), of("here"), of("#")), (vec!["10.0.0.7".to_owned()], vec![], vec![]));
        let text = "; by dhcp\nsearch lan home.arpa\nnameserver 10.0.0.1\nnameserver fe80::1 # second\n";
        assert_eq!(configured(text, "nameserver").collect::<Vec<_>>(), ["10.0.0.1", "fe80::1"]);
        assert_eq!(configured(text, "search").collect::<Vec<_>>(), ["lan", "home.arpa"]);
    }
}
