// SPDX-License-Identifier: GPL-3.0-or-later
//! Lines and values of configuration files: Netdata's INI grammar.
//!
//! A line is read by itself, so there is no state and no line that spoils the next one.

use core::fmt;

/// What a line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// Blank, or a comment.
    Nothing,
    /// `[name]`
    Section(&'a str),
    /// `key = value`; the value may be empty.
    Entry {
        /// What stands before the first `=`.
        key: &'a str,
        /// What stands after it, without a comment.
        value: &'a str,
    },
    /// None of these: what is wrong, and at which byte, counted from 1.
    Malformed(Fault, usize),
}

/// What is wrong with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is not UTF-8.
    NotText,
    /// `[` without `]`.
    OpenSection,
    /// `[]`
    UnnamedSection,
    /// Something follows `]`.
    AfterSection,
    /// Neither a section nor an entry.
    NoEquals,
    /// `= value`
    NoKey,
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::NotText => "this is not UTF-8 text",
            Self::OpenSection => "the section's name has no closing bracket",
            Self::UnnamedSection => "the section has no name",
            Self::AfterSection => "nothing may follow a section's name",
            Self::NoEquals => "neither [section] nor key = value",
            Self::NoKey => "there is no key before the equals sign",
        })
    }
}

/// Reads a line, with or without its end.
pub fn line(bytes: &[u8]) -> Line<'_> {
    let text = match core::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => return Line::Malformed(Fault::NotText, error.valid_up_to() + 1),
    };
    // Some editors begin a file with a byte order mark.
    let begun = text.trim_start_matches(|letter: char| letter == '\u{feff}' || letter.is_whitespace());
    let column = |rest: &str| text.len() - rest.len() + 1;
    if begun.is_empty() || begun.starts_with('#') {
        return Line::Nothing;
    }
    if let Some(named) = begun.strip_prefix('[') {
        return section(named).unwrap_or_else(|(fault, rest)| Line::Malformed(fault, column(rest)));
    }
    match begun.split_once('=') {
        None => Line::Malformed(Fault::NoEquals, column(begun)),
        Some((key, _)) if key.trim().is_empty() => Line::Malformed(Fault::NoKey, column(begun)),
        Some((key, value)) => Line::Entry { key: key.trim(), value: without_comment(value).trim() },
    }
}

/// Reads what follows a `[`.
fn section(named: &str) -> Result<Line<'_>, (Fault, &str)> {
    let (name, after) = named.split_once(']').ok_or((Fault::OpenSection, named))?;
    if name.trim().is_empty() {
        return Err((Fault::UnnamedSection, named));
    }
    if !without_comment(after).trim().is_empty() {
        return Err((Fault::AfterSection, after));
    }
    Ok(Line::Section(name.trim()))
}

/// The text up to a `#` that follows a blank. Netdata takes such a comment for a part of the value, where it can only be
/// wrong: no value that is known holds one.
fn without_comment(text: &str) -> &str {
    let mut blank = false;
    for (at, letter) in text.char_indices() {
        if letter == '#' && blank {
            return text.get(..at).unwrap_or(text);
        }
        blank = letter.is_whitespace();
    }
    text
}

/// Yes or no, in any of Netdata's words for them.
pub fn boolean(word: &str) -> Option<bool> {
    let is_one_of = |words: &[&str]| words.iter().any(|known| word.eq_ignore_ascii_case(known));
    match () {
        () if is_one_of(&["yes", "on", "true", "auto", "on demand"]) => Some(true),
        () if is_one_of(&["no", "off", "false"]) => Some(false),
        () => None,
    }
}

/// A whole number in digits alone, from `least` to `most`.
pub fn number(word: &str, least: u32, most: u32) -> Option<u32> {
    let digits = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let value = if digits { word.parse().ok()? } else { return None };
    (least..=most).contains(&value).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn entry<'a>(key: &'a str, value: &'a str) -> Line<'a> {
        Line::Entry { key, value }
    }

    #[test]
    fn lines_as_people_write_them() {
        use Fault::*;
        for (text, expected) in [
            ("", Line::Nothing),
            (" \t\r\n", Line::Nothing),
            ("# update every = 1", Line::Nothing),
            ("   #", Line::Nothing),
            ("[global]", Line::Section("global")),
            ("\u{feff}[global]\r\n", Line::Section("global")),
            (" [ ebpf programs ]  # which", Line::Section("ebpf programs")),
            ("    update every = 5\n", entry("update every", "5")),
            ("apps=yes", entry("apps", "yes")),
            ("apps = yes # all of them", entry("apps", "yes")),
            ("apps = yes#2", entry("apps", "yes#2")),
            ("apps = # none", entry("apps", "")),
            ("apps =", entry("apps", "")),
            ("a = b = c", entry("a", "b = c")),
            ("ips = !127.0.0.1/8 fc00::/7", entry("ips", "!127.0.0.1/8 fc00::/7")),
            ("größe = ü", entry("größe", "ü")),
            ("; apps", Line::Malformed(NoEquals, 1)),
            ("  apps", Line::Malformed(NoEquals, 3)),
            ("= 5", Line::Malformed(NoKey, 1)),
            ("\t = 5", Line::Malformed(NoKey, 3)),
            ("[global", Line::Malformed(OpenSection, 2)),
            ("[", Line::Malformed(OpenSection, 2)),
            ("[ ]", Line::Malformed(UnnamedSection, 2)),
            ("[global] x = 1", Line::Malformed(AfterSection, 9)),
        ] {
            assert_eq!(line(text.as_bytes()), expected, "{text:?}");
        }
        assert_eq!(line(b"apps = \xff"), Line::Malformed(NotText, 8));
        assert_eq!(line(b"\x7fELF\x02\x01\x01\0"), Line::Malformed(NoEquals, 1));
    }

    #[test]
    fn booleans() {
        for (word, expected) in [
            ("yes", Some(true)),
            ("YES", Some(true)),
            ("on", Some(true)),
            ("true", Some(true)),
            ("auto", Some(true)),
            ("on demand", Some(true)),
            ("no", Some(false)),
            ("Off", Some(false)),
            ("false", Some(false)),
            ("", None),
            ("1", None),
            ("y", None),
            ("yes!", None),
        ] {
            assert_eq!(boolean(word), expected, "{word}");
        }
    }

    #[test]
    fn numbers() {
        for (word, expected) in [
            ("1", Some(1)),
            ("86400", Some(86400)),
            ("005", Some(5)),
            ("0", None),
            ("86401", None),
            ("-1", None),
            ("+1", None),
            ("1.5", None),
            ("abc", None),
            ("5s", None),
            ("", None),
            ("99999999999", None),
            ("٣", None),
        ] {
            assert_eq!(number(word, 1, 86400), expected, "{word}");
        }
    }

    /// A source of numbers that is the same in every run.
    struct Random(u64);

    impl Random {
        fn below(&mut self, end: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % end
        }

        fn text(&mut self, letters: &str, most: usize) -> String {
            let letters: Vec<_> = letters.chars().collect();
            (0..self.below(most + 1)).map(|_| letters[self.below(letters.len())]).collect()
        }
    }

    #[test]
    fn any_bytes_are_a_line_whose_parts_lie_in_it() {
        let mut random = Random(1);
        for _ in 0..100_000 {
            let letters = b"[]=# \t\r\nab\xff\xc3\xbc\0";
            let bytes: Vec<u8> =
                (0..random.below(12)).map(|_| letters[random.below(letters.len())]).collect();
            let whole = String::from_utf8_lossy(&bytes).into_owned();
            match line(&bytes) {
                Line::Nothing => {}
                Line::Section(name) => assert!(!name.trim().is_empty() && whole.contains(name), "{whole:?}"),
                Line::Entry { key, value } => {
                    assert!(!key.is_empty() && whole.contains(key) && whole.contains(value), "{whole:?}");
                    assert_eq!((key, value), (key.trim(), value.trim()));
                    assert!(!key.contains('='));
                }
                Line::Malformed(_, column) => assert!((1..=bytes.len() + 1).contains(&column), "{whole:?}"),
            }
        }
    }

    #[test]
    fn what_was_written_is_read_whatever_blanks_and_comments_stand_around() {
        let mut random = Random(2);
        for _ in 0..20_000 {
            let key = format!("k{}", random.text("ab ]#", 5)).trim().to_owned();
            let value = random.text("xy=[]-", 6);
            let [before, between, after] = [0; 3].map(|_| random.text(" \t", 3));
            let comment = ["", " # c", "\t#=]"][random.below(3)];
            let written = format!("{before}{key}{between}={after}{value}{comment}\r\n");
            assert_eq!(line(written.as_bytes()), entry(&key, &value), "{written:?}");
        }
    }
}
