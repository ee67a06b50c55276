// SPDX-License-Identifier: GPL-3.0-or-later
//! `/proc/<pid>/stat`: a process's name and parent.

/// What is read of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat<'a> {
    /// Its name; any bytes, spaces and parentheses among them.
    pub name: &'a [u8],
    /// Its parent's id; 0 for none.
    pub parent: u32,
}

/// Reads the file's text: `pid (name) state parent …`. The name ends at the last parenthesis: no later field has one.
pub fn parse(text: &[u8]) -> Option<Stat<'_>> {
    let open = text.iter().position(|byte| *byte == b'(')?;
    let close = text.iter().rposition(|byte| *byte == b')').filter(|close| *close > open)?;
    let (name, rest) = (text.get(open + 1..close)?, text.get(close + 1..)?);
    let mut fields = rest.split(|byte| *byte == b' ').filter(|field| !field.is_empty());
    let parent = core::str::from_utf8(fields.nth(1)?).ok()?;
    Some(Stat { name, parent: parent.trim_ascii_end().parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_kernel() {
        for (text, name, parent) in [
            ("1 (systemd) S 0 1 1 0 -1 4194560 …", "systemd", 0),
            ("360 (Plex Media Serv) S 1 360", "Plex Media Serv", 1),
            ("7 (a) b) S 1 7", "a) b", 1),
            ("8 (:-)) R 77 8\n", ":-)", 77),
            ("9 (() S 5", "(", 5),
            ("10 () Z 4294967 10", "", 4_294_967),
            ("11 (a\nb) S 3\n", "a\nb", 3),
        ] {
            assert_eq!(parse(text.as_bytes()), Some(Stat { name: name.as_bytes(), parent }), "{text}");
        }
        assert_eq!(parse(b"12 (\xff\xfe) S 3 12"), Some(Stat { name: b"\xff\xfe", parent: 3 }));
    }

    #[test]
    fn what_is_no_such_line() {
        for text in ["", "1", "1 (x", "1 )x( S 1", "1 (x)", "1 (x) S", "1 (x) S -1", "1 (x) S 99999999999"] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }
}
